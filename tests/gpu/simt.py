"""Device functions run by a machine that has threads, warps, blocks and schedules, and sees every access to memory.

``machine/simt.h`` gives a C++ compiler CUDA's words, so that it takes the text of the ``.cu`` files as it is, and
``machine/simt.cpp`` runs what it makes of them.  A fault (a race, an access outside all arrays, to what nobody has
written, a barrier that a thread passes by) raises ``Fault``.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import device_library
import numpy as np
from capturing import done

from sparsekit.kernels.gpu import launch

COMPILER = shutil.which("g++") or shutil.which("clang++")
#: Bytes that memory moves at once.
SECTOR = 32

MACHINE = Path(__file__).with_name("machine")

#: Optimized a little, as NVIDIA's compiler would: what does not change in a loop is read once.  Additions and
#: multiplications stay apart.
OPTIONS = ("-std=c++17", "-O1", "-w", "-fPIC", "-fno-math-errno", "-ffp-contract=off")


class Fault(AssertionError):
    """What a launch did that a GPU would not forgive."""


class Argument(ctypes.Structure):
    """An array or a number, as the machine takes it."""

    _fields_ = (("host", ctypes.c_void_p), ("bytes", ctypes.c_int64), ("granule", ctypes.c_int32), ("written", ctypes.c_int32),
                ("blank", ctypes.c_int32))


class Plan(ctypes.Structure):
    """A launch."""

    _fields_ = (("call", ctypes.c_void_p), ("shared_memory", ctypes.c_void_p), ("arguments", ctypes.c_void_p),
                *((name, ctypes.c_int32) for name in ("count", "blocks", "threads", "resident")), ("seed", ctypes.c_uint64),
                ("preempt", ctypes.c_int32), ("counting", ctypes.c_int32))


class Counts(ctypes.Structure):
    """What a launch did to memory.

    ``requests`` are instructions of warps and ``sectors`` the pieces of 32 bytes that they ask for; ``fetched`` those that
    a block's share of the nearest cache, 16 KiB, does not hold, ``stored`` those that are written, ``distinct`` each once.
    ``compulsory`` are the bytes of all elements that are read, and of all that are written, each once; ``longest`` is how
    many loads the busiest thread does.
    """

    _fields_ = tuple((name, ctypes.c_int64) for name in (
        "accesses", "requests", "sectors", "fetched", "stored", "distinct", "compulsory", "longest", "switches"))


class Schedule(NamedTuple):
    """How threads take turns: blocks and threads a block, blocks that run at once, and a seed; 0 is one by one, in order."""

    blocks: int | None = None
    threads: int = launch.THREADS
    resident: int = 3
    seed: int = 0
    preempt: int = 0


#: What cupy's stand-in uses: two blocks of two warps, out of order.
USUAL = Schedule(2, 64, 2, 1, 5)


def build(folder: Path, name: str, texts: dict[str, str], options: tuple[str, ...], *libraries: str) -> Path:
    """A shared library of C++ texts, linked with others; made once in the folder, whoever asks for the same."""
    key = hashlib.sha256(repr((COMPILER, texts, options, libraries)).encode()).hexdigest()[:16]
    made = folder / f"{name}-{key}.so"
    if not made.exists():
        text = folder / f"{name}-{key}-{os.getpid()}.cpp"
        text.write_text("".join(texts.values()), encoding="utf-8")
        parts = text.with_suffix(".o"), text.with_suffix(".so")
        for command in (["-c", *options, "-o", str(parts[0]), str(text)],
                        ["-shared", "-o", str(parts[1]), str(parts[0]), *libraries]):
            ran = subprocess.run([COMPILER, *command], capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stderr[:4000]
        os.replace(parts[1], made)
    return made


def called(kinds: tuple[str, ...], symbol: str) -> str:
    """The text of a function that calls an entry point with arguments that lie behind an array of addresses."""
    parts: list[str] = []
    for kind in kinds:
        many, kind = (launch.NUMBERS, "double") if kind == "numbers" else (1, kind)
        parts += [f"({kind})from[{len(parts) + part}]" if kind.endswith("*") else f"*({kind}*)from[{len(parts) + part}]"
                  for part in range(many)]
    call = f"{symbol}({', '.join(parts)});"
    return f'extern "C" __attribute__((no_sanitize("thread"))) void call_{symbol}(void** from) {{ {call} }}\n'


class Machine:
    """Compiles texts and runs their entry points; keeps what it compiled in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        source = (MACHINE / "simt.cpp").read_text(encoding="utf-8")
        self._path = build(folder, "machine", {"simt.cpp": source}, (*OPTIONS, "-O2"))
        self._machine = ctypes.CDLL(str(self._path))
        self._words = (MACHINE / "simt.h").read_text(encoding="utf-8").replace("#pragma once", "")

    def program(self, text: str, symbols: dict[str, tuple[str, ...]]) -> dict[str, Launcher]:
        """Functions that launch the entry points of a text, whose arguments have these C++ types."""
        calls = "".join(called(kinds, symbol) for symbol, kinds in symbols.items())
        texts = {"words": self._words, "text": text, "calls": calls}
        made = ctypes.CDLL(str(build(self._folder, "kernels", texts, (*OPTIONS, "-fsanitize=thread"), str(self._path))))
        return {symbol: Launcher(self._machine, made, symbol, kinds) for symbol, kinds in symbols.items()}


class Launcher:
    """One entry point.

    Parameters
    ----------
    machine, program : ctypes.CDLL
    symbol : str
        Of the entry point.
    kinds : tuple of str
        C++ types of its arguments.
    """

    def __init__(self, machine: ctypes.CDLL, program: ctypes.CDLL, symbol: str, kinds: tuple[str, ...]) -> None:
        self._machine, self.symbol, self._program = machine, symbol, program
        self._call = ctypes.cast(getattr(program, f"call_{symbol}"), ctypes.c_void_p)
        self._shared = ctypes.cast(program.simt_shared_memory, ctypes.c_void_p)
        self._written = [kind.endswith("*") and not kind.startswith("const ")
                         for kind in kinds for _ in range(launch.NUMBERS if kind == "numbers" else 1)]

    def run(self, blocks: int, values: list[np.ndarray | np.generic], schedule: Schedule = USUAL, counting: bool = False,
            blank: tuple[int, ...] = ()) -> Counts:
        """Launch it; the schedule's blocks are at most so many.  ``blank`` are the places of arrays that hold nothing yet."""
        given = (Argument * len(values))()
        numbers = []
        for place, value in enumerate(values):
            if isinstance(value, np.ndarray):
                assert value.flags.c_contiguous
                given[place] = Argument(value.ctypes.data, value.nbytes, value.itemsize, self._written[place], place in blank)
            else:
                numbers.append(np.array(value))
                given[place] = Argument(numbers[-1].ctypes.data, -1, 0, 0, 0)
        grid = blocks if schedule.blocks is None else min(schedule.blocks, blocks)
        plan = Plan(self._call, self._shared, ctypes.addressof(given), len(values), grid, schedule.threads, schedule.resident,
                    schedule.seed, schedule.preempt, counting)
        counts, said = Counts(), ctypes.create_string_buffer(1000)
        if self._machine.simt_run(ctypes.byref(plan), ctypes.byref(counts), said, len(said)):
            raise Fault(f"{self.symbol}: {said.value.decode()}")
        return counts


class Library:
    """The functions compiled so far; others are compiled one by one when asked for."""

    def __init__(self, machine: Machine, text: str | None = None) -> None:
        self._machine, self._text, self._found = machine, text or launch.library(), {}
        self.schedule, self.launched = USUAL, set()
        self.counting = None

    def prepare(self, types: list[tuple[str, str]], names: Iterable[str] | None = None) -> None:
        """Compile functions for these types of values and indices in one go; all functions, unless some are named."""
        kernels = device_library.kernels()
        keys = [(name, device_library.kinds_of(kernels[name], launch.TYPES[value], launch.TYPES[index]))
                for value, index in types for name in names or sorted(kernels)]
        keys += [(name, tuple("const double*" if kind == "numbers" else kind for kind in kinds))  # as graphs take numbers
                 for name, kinds in keys if "numbers" in kinds]
        symbols = {key: f"run_{key[0]}_{number}" for number, key in enumerate(dict.fromkeys(keys)) if key not in self._found}
        if not symbols:
            return
        entries = [launch.entry_point(name, kinds, symbol) for (name, kinds), symbol in symbols.items()]
        made = self._machine.program(self._text + "".join(entries), {symbol: kinds for (_, kinds), symbol in symbols.items()})
        self._found.update({key: made[symbol] for key, symbol in symbols.items()})

    def launcher(self, name: str, kinds: tuple[str, ...]) -> Launcher:
        """What launches one function with arguments of these types."""
        key = (name, kinds)
        if key not in self._found:
            text = self._text + launch.entry_point(name, kinds, f"run_{name}")
            self._found[key] = self._machine.program(text, {f"run_{name}": kinds})[f"run_{name}"]
        return self._found[key]

    def compiled(self, name, kinds):
        """What ``launch._compiled`` gives on a GPU: a function of blocks, threads and arguments."""
        launcher = self.launcher(name, kinds)

        def run(blocks, _threads, values):
            self.launched.add(name)
            hosts = [getattr(value, "_host", value) for value in values]
            if self.counting is not None:
                self.counting(name, launcher.run(blocks[0], hosts, Schedule(resident=1), counting=True))
            else:
                done(lambda: launcher.run(blocks[0], hosts, self.schedule), name)

        return run
