"""Processes for variants of a program, forked from one that has imported what they import.

The imports of a program take longer than most steps.  Each variant still has a process of its own, which begins as a fresh
interpreter does: with nothing but what modules define.  ``python -m sparsekit.fixes.origin`` is the process that others are
forked from; where processes do not fork safely, each is a fresh interpreter.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import IO, Protocol, Self

from ..base.platform import KILL, can_fork, end_group, forked, place_of

#: Libraries that only define something when they are imported, and take long for it: no threads, no state that a fork breaks.
LIBRARIES = ("numba", "numpy", "scipy", "sparsekit", "torch")


class Process(Protocol):
    """What is started: the part of ``subprocess.Popen`` that ``processes.asked`` uses."""

    pid: int
    returncode: int | None
    stdin: IO[bytes] | None

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None: ...
    def communicate(self, *, timeout: float) -> tuple[bytes, bytes]:
        """What it writes to its output and its errors until it ends."""
    def kill(self) -> None:
        """End it."""


def environment_of_processes() -> dict[str, str]:
    """The environment of what is started: this one's, with the folders that modules are found in here."""
    return {"PYTHONHASHSEED": "0", **os.environ, "PYTHONPATH": os.pathsep.join(folder or os.getcwd() for folder in sys.path)}


def fresh() -> Process:
    """A fresh interpreter that waits for a request."""
    return subprocess.Popen([sys.executable, "-P", "-m", "sparsekit.fixes.runner"], bufsize=0, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment_of_processes(),
                            start_new_session=True)


def imported() -> list[str]:
    """The modules of ``LIBRARIES`` that this process has imported, in that order."""
    return [name for name in list(sys.modules) if name.partition(".")[0] in LIBRARIES]


class Origin:
    """Starts processes for one program; use it as a context manager.

    Parameters
    ----------
    modules : sequence of str
        What the program imports.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self._modules = list(modules)
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            end_group(self._process.pid)
            self._process.communicate()

    def start(self) -> Process:
        """A process that waits for a request: a fresh interpreter where none can be forked."""
        if not can_fork():
            return fresh()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "sparsekit.fixes.origin", *self._modules], env=environment_of_processes(), text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            return _Forked(self._process)
        except (OSError, ValueError):  # it was ended, by an import or by the system
            return fresh()


class _Forked:
    """A process that was forked from another one's; the attributes of ``Process``."""

    def __init__(self, origin: subprocess.Popen[str]) -> None:
        assert origin.stdin is not None
        assert origin.stdout is not None
        self._origin, self._said = origin, origin.stdout
        self.returncode: int | None = None
        (read, feed), (self._out, wrote), (self._err, told) = os.pipe(), os.pipe(), os.pipe()
        self.stdin: IO[bytes] | None = os.fdopen(feed, "wb", buffering=0)
        files = [place_of(descriptor) for descriptor in (read, wrote, told)]
        try:
            print(json.dumps([files, os.getcwd(), environment_of_processes()]), file=origin.stdin, flush=True)
            self.pid = int(self._said.readline())
        except BaseException:
            self.stdin.close()
            self._close()
            raise
        finally:
            for descriptor in (read, wrote, told):
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait()
        self._close()

    def _close(self) -> None:
        os.close(self._out)
        os.close(self._err)

    def communicate(self, *, timeout: float) -> tuple[bytes, bytes]:
        """What the process writes until it closes its files."""
        end = time.monotonic() + timeout
        pieces: dict[int, list[bytes]] = {self._out: [], self._err: []}
        with selectors.DefaultSelector() as selector:
            for descriptor in pieces:
                selector.register(descriptor, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(max(0.0, end - time.monotonic()))
                if not ready:
                    raise subprocess.TimeoutExpired("", timeout)
                for key, _ in ready:
                    piece = os.read(key.fd, 1 << 20)
                    pieces[key.fd].append(piece)
                    if not piece:
                        selector.unregister(key.fd)
        self._wait()
        return b"".join(pieces[self._out]), b"".join(pieces[self._err])

    def kill(self) -> None:
        """End the process, if it has not ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, KILL)

    def _wait(self) -> None:
        if self.returncode is None:
            said = self._said.readline()
            self.returncode = int(said) if said else self._origin.wait()


def main(modules: Iterable[str]) -> None:
    """Import these modules, then fork a process for each line of the input, and say its number, and its status when it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what an import prints is no answer
    for name in modules:
        with contextlib.suppress(Exception):  # the program says so, if it misses it
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is imported is never garbage: children share its memory
    for files, folder, environment in _lines():
        opened = [os.open(file, flags) for file, flags in zip(files, (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)]
        pid = forked()
        if not pid:
            answers.close()
            _begin(opened, folder, environment)
        for descriptor in opened:
            os.close(descriptor)
        print(pid, file=answers, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=answers, flush=True)


def _lines() -> Iterator[tuple[list[str], str, dict[str, str]]]:
    while line := sys.stdin.readline():
        yield json.loads(line)


def _begin(opened: list[int], folder: str, environment: Mapping[str, str]) -> None:
    """Go on as ``python -m sparsekit.fixes.runner`` does, with these files as input, output and errors; never returns."""
    for place, descriptor in enumerate(opened):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = dict.fromkeys([*environment["PYTHONPATH"].split(os.pathsep), *sys.path])
    for name in ("random", "numpy.random"):
        if name in sys.modules:
            sys.modules[name].seed()  # as of a process of its own
    from . import runner

    runner.main()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
