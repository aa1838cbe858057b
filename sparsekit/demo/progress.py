"""Progress of long work: a bar on a terminal, a few lines anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from ..base.progress import RELOG, bar, wipe
from .interrupt import check

__all__ = ["Line", "Stage", "stage"]

#: Seconds between two drawings of the line.
REDRAW = 0.1


class Stage:
    """One piece of work; ``advance`` says that some of it is done."""

    def __init__(self, name: str, total: int, stream: TextIO) -> None:
        self.name, self.total, self.stream = name, total, stream
        self.done = 0
        self.note = ""
        self.last = time.monotonic()

    def advance(self, note: str = "", by: int = 1) -> None:
        """Note that ``by`` more are done; stop here if a signal requested it."""
        check()
        self.done += by
        self.note = note or self.note
        self.show()

    def shorten(self, total: int) -> None:
        """There is less to do than was thought."""
        self.total = total

    def show(self) -> None:
        """In a log: a line now and then, to show progress."""
        if time.monotonic() - self.last > RELOG and self.done < self.total:
            self.last = time.monotonic()
            note = f", {self.note}" if self.note else ""
            print(f"  {self.name}: {self.done} of {self.total}{note}", file=self.stream, flush=True)

    def close(self) -> None:
        """Remove the progress line."""


class Line(Stage):
    """A bar of characters that is drawn over itself."""

    def show(self) -> None:
        """Draw the bar."""
        now = time.monotonic()
        if self.done < self.total and now - self.last < REDRAW:
            return
        self.last = now
        self.stream.write(f"\r  {self.name:<22} {bar(self.done, self.total)} {self.done} of {self.total} {self.note[:24]:<24}")
        self.stream.flush()

    def close(self) -> None:
        """Wipe the line."""
        wipe(self.stream)


class _Bar(Stage):
    """tqdm's bar."""

    def __init__(self, name: str, total: int, stream: TextIO, tqdm: Any) -> None:
        super().__init__(name, total, stream)
        self.bar = tqdm.tqdm(total=total, desc=f"  {name}", file=stream, leave=False, dynamic_ncols=True,
                             bar_format="{desc:<22} |{bar:24}| {n_fmt} of {total_fmt}, {remaining} left{postfix}")

    def show(self) -> None:
        self.bar.set_postfix_str(self.note, refresh=False)
        self.bar.update(self.done - self.bar.n)

    def shorten(self, total: int) -> None:
        super().shorten(total)
        self.bar.total = total
        self.bar.refresh()

    def close(self) -> None:
        self.bar.close()


@contextmanager
def stage(name: str, total: int, stream: TextIO | None = None) -> Iterator[Stage]:
    """Show the progress of a piece of work, and take it away at its end.

    Parameters
    ----------
    name : str
    total : int
        How often ``advance`` will be called.
    stream : text file, optional
        Standard output if not given; a bar only if it is a terminal.
    """
    shown = _stage(name, total, sys.stdout if stream is None else stream)
    try:
        shown.show()
        yield shown
    finally:
        shown.close()


def _stage(name: str, total: int, stream: TextIO) -> Stage:
    if not stream.isatty():
        return Stage(name, total, stream)
    try:
        import tqdm
    except ImportError:
        return Line(name, total, stream)
    return _Bar(name, total, stream, tqdm)
