"""CUDA C++ compiled for the types of a call, and run on cupy's current stream.

The ``.cu`` files beside this one hold templates of device functions; ``step_source.py`` makes those of optimizer steps.  A call
names one; its arguments' types make the signature, for which a small entry point is compiled by NVRTC, once for each signature
and kind of device, and kept by cupy on disk.  Nothing here waits for the device.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import capture
from ...base.errors import DTypeError
from .. import for_device
from . import step_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.types import Array, DType

#: Threads a block; a multiple of the 32 threads of a warp, which the teams of ``prelude.cu`` need.
THREADS = 256

#: Most blocks of a launch; the loops of kernels take as many turns as it needs beyond.
BLOCKS = 1 << 20

#: Most threads that share a row: a warp.
WARP = 32

#: Columns that a team of threads adds up of a row that is longer; as in ``prelude.cu``.
PIECE = 1024

#: Numbers that an optimizer step may take.
NUMBERS = 12

#: The C++ type of each element type, by its name.
TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short",
    "int32": "int", "uint32": "unsigned int", "int64": "long long", "uint64": "unsigned long long",
    "float16": "Half", "float32": "float", "float64": "double",
}

#: The same by the letter of the type, which numpy has at hand, where a name is made anew by each ``dtype.name``.
LETTERS = {letter: TYPES[np.dtype(letter).name] for letter in np.typecodes["AllInteger"] + "?efd"}

OPTIONS = ("--std=c++17",)

#: Files that others build on.
FIRST = ("prelude.cu", "grouped.cu")

#: What words of a kernel's parameters stand for; all others for arrays.
POINTER, COUNT, NUMBER, SEVERAL = range(4)
WORDS = {"count": COUNT, "number": NUMBER, "numbers": SEVERAL}

#: Every kernel, by its name.
KERNELS: dict[str, Kernel] = {}


def xp() -> Any:  # Any: cupy's names beyond those of ArrayModule; it has no types
    """The array module of GPUs."""
    return for_device("gpu").xp


@functools.cache
def library() -> str:
    """The text of all device functions."""
    folder = Path(__file__).parent
    names = sorted(path.name for path in folder.glob("*.cu") if path.name not in FIRST)
    texts = [(folder / name).read_text(encoding="utf-8") for name in (*FIRST, *names)]
    return "\n".join([*texts, step_source.device_functions()])


def entry_point(name: str, kinds: tuple[str, ...], symbol: str) -> str:
    """The text of the entry point ``symbol`` that calls a device function with arguments of these C++ types."""
    parameters, passed, before = [], [], ""
    for place, kind in enumerate(kinds):
        if kind == "numbers":
            parts = [f"a{place}_{part}" for part in range(NUMBERS)]
            parameters += [f"double {part}" for part in parts]
            before = f"    const double numbers[{NUMBERS}] = {{{', '.join(parts)}}};\n"
            passed.append("numbers")
        else:
            parameters.append(f"{kind} a{place}")
            passed.append(f"a{place}")
    return f'extern "C" __global__ void {symbol}({", ".join(parameters)}) {{\n{before}    {name}({", ".join(passed)});\n}}\n'


@functools.cache
def _compiled(name: str, kinds: tuple[str, ...]) -> Callable[..., None]:
    symbol = f"run_{name}"
    kernel: Callable[..., None] = xp().RawKernel(library() + entry_point(name, kinds, symbol), symbol, options=OPTIONS)
    return kernel


def lanes_for(average: float) -> int:
    """How many threads share a row of so many values: a power of two up to a warp."""
    lanes = 1
    while lanes < WARP and lanes < average:
        lanes *= 2
    return lanes


def pieces_of(rows: int, width: int, dtype: DType, sums: int = 1) -> tuple[Any, ...]:  # Any: two numbers, and arrays
    """In how many pieces rows are added up, how many threads share one, and room for so many kinds of sums of these."""
    pieces = -(-width // PIECE)
    parts = xp().empty((sums, rows, pieces if pieces > 1 else 0), np.float64 if dtype == np.float64 else np.float32)
    return max(pieces, 1), lanes_for(width), *parts


def wide_type(dtype: DType) -> type[np.generic]:
    """The type in which parts of results of a type are kept."""
    if dtype.kind == "f":
        return np.float64 if dtype == np.float64 else np.float32
    return np.uint64 if dtype == np.uint64 else np.int64


class Kernel:
    """A device function, compiled for the types it is called with.

    Parameters
    ----------
    name : str
        Of the template in a ``.cu`` file.
    parameters : str
        A word each: ``data``, ``index``, ``pointer``, ``place`` and ``part`` for arrays (values, columns, row starts, int64
        places, sums of values in a type as wide as these need), with a final ``*`` for those that it writes; ``count`` for a
        whole number, ``number`` for a real one, ``numbers`` for those of an optimizer step: in ordinary memory, from where they
        travel with the launch, or as float64 on the device, where work that is captured finds the latest ones.
    """

    def __init__(self, name: str, parameters: str) -> None:
        self.name, self.parameters = name, tuple(parameters.split())
        self._signatures: dict[str, tuple[str, ...]] = {}
        self._words = [(WORDS.get(word, POINTER), word.endswith("*")) for word in self.parameters]
        KERNELS[name] = self

    # Any: an array, a number or several numbers, as the word of ``parameters`` says
    def __call__(self, threads: int, *arguments: Any) -> None:
        """Start so many threads; arrays that are not contiguous are copied, and copied back if they are written."""
        if threads <= 0:
            return
        letters, values = "", []
        back: list[tuple[Array, Array]] = []
        for (kind, written), argument in zip(self._words, arguments, strict=True):
            if kind == POINTER:
                array = argument
                if not argument.flags.c_contiguous:
                    array = xp().ascontiguousarray(argument)
                    if written:
                        back.append((argument, array))
                letters += array.dtype.char
                values.append(array)
            elif kind == COUNT:
                values.append(np.int64(argument))
            elif kind == NUMBER:
                values.append(np.float64(argument))
            elif isinstance(argument, xp().ndarray):
                letters += "*"
                values.append(argument)
            else:
                capture.refuse("an optimizer's numbers travel with the launch")
                values += [np.float64(number) for number in (*argument, *[0.0] * (NUMBERS - len(argument)))]
        kinds = self._signatures.get(letters)
        if kinds is None:
            kinds = self._signatures[letters] = self._kinds(letters)
        _compiled(self.name, kinds)((min((threads + THREADS - 1) // THREADS, BLOCKS),), (THREADS,), tuple(values))
        for argument, array in back:
            argument[...] = array

    def _kinds(self, letters: str) -> tuple[str, ...]:
        """The C++ types of the parameters for arrays of these types, a letter each; ``*`` for numbers that lie on the device."""
        left, kinds = iter(letters), []
        on_device = "*" in letters
        for word, (kind, written) in zip(self.parameters, self._words, strict=True):
            if kind == POINTER:
                kinds.append(self._pointer(next(left), written))
            elif word == "numbers" and on_device:
                kinds.append("const double*")
                next(left)
            else:
                kinds.append({"count": "long long", "number": "double"}.get(word, word))
        return tuple(kinds)

    def _pointer(self, letter: str, written: bool) -> str:
        c_type = LETTERS.get(letter)
        if c_type is None:
            raise DTypeError(f"The kernel {self.name} takes no arrays of {np.dtype(letter)}.",
                             hint="cast the values to float32 or float64 with astype().")
        return f"{c_type}*" if written else f"const {c_type}*"
