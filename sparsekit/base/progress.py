"""How far a piece of work is: a line that is drawn over itself on a terminal and in a notebook, some lines anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

__all__ = ["Batches", "Progress", "bar", "in_notebook", "size_text", "wipe"]

WIDTH = 24
#: Seconds between two drawings, and between two lines in a log.
REDRAW, RELOG = 0.2, 10.0


def size_text(count: float) -> str:
    """Bytes in words: ``1.5 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def bar(done: int, total: int) -> str:
    """A share as ``[####....]``."""
    full = min(WIDTH, WIDTH * done // max(1, total))
    return f"[{'#' * full}{'.' * (WIDTH - full)}]"


def wipe(stream: Any) -> None:
    """Take a line away that was drawn over itself."""
    stream.write("\r" + " " * 100 + "\r")
    stream.flush()


def in_notebook(stream: Any) -> bool:
    """Whether what is written to a stream appears below a notebook's cell."""
    return type(stream).__name__ == "OutStream"


class Progress:
    """Bytes done of a piece of work.

    Parameters
    ----------
    name : str
    total : int, optional
        Bytes in all, where that is known.
    shown : bool
        False shows nothing.
    stream : text file, optional
        Standard error if not given.
    """

    def __init__(self, name: str, total: int | None = None, shown: bool = True, stream: TextIO | None = None) -> None:
        self.name, self.total, self.done = name, total, 0
        self._stream: Any = sys.stderr if stream is None else stream
        self._shown = shown
        self._redrawn = bool(self._stream.isatty()) or in_notebook(self._stream)
        self._last = self._start = time.monotonic()

    def advance(self, count: int) -> None:
        """So many bytes more are done."""
        self.done += count
        now = time.monotonic()
        if self._shown and now - self._last > (REDRAW if self._redrawn else RELOG):
            self._last = now
            self._write(self.text(now))

    def text(self, now: float) -> str:
        """What is shown: name, bar, bytes, speed."""
        speed = f"{size_text(self.done / max(now - self._start, 1e-6))}/s"
        if not self.total:
            return f"{self.name}: {size_text(self.done)}, {speed}"
        return f"{self.name} {bar(self.done, self.total)} {size_text(self.done)} of {size_text(self.total)}, {speed}"

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text:<100}" if self._redrawn else f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Take the line away, and say in a log what was done."""
        if self._shown and self._redrawn:
            wipe(self._stream)
        elif self._shown and self.done:
            self._write(self.text(time.monotonic()))


class Batches(Progress):
    """Batches of an epoch done, with their speed and what else is to be said.

    Parameters
    ----------
    name : str
    total : int, optional
        Batches of the epoch, where that is known.
    batch_size : int
        Samples of each.
    stream : text file, optional
        Standard error if not given.

    Attributes
    ----------
    note : callable
        Gives what stands at the end of the line, when it is drawn.
    """

    def __init__(self, name: str, total: int | None, batch_size: int, stream: TextIO | None = None) -> None:
        super().__init__(name, total, stream=stream)
        self._batch_size = batch_size
        self.note: Callable[[], str] = str

    def text(self, now: float) -> str:
        """What is shown: name, bar, batches, samples per second, note."""
        speed = self.done * self._batch_size / max(now - self._start, 1e-6)
        drawn, of = (f"{bar(self.done, self.total)} ", f" of {self.total:,}") if self.total else ("", "")
        return f"{self.name} {drawn}{self.done:,}{of} batches, {speed:,.0f} samples/s{self.note()}"
