"""Progress of the demo's stages, at whose steps it can be stopped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ..base.progress import Progress
from .interrupt import check

__all__ = ["Stage", "stage"]


class Stage:
    """One piece of work; ``advance`` says that some of it is done."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown

    def advance(self, note: str = "", by: int = 1) -> None:
        """Note that ``by`` more are done; stop here if a signal requested it."""
        check()
        if note:
            self._shown.note = lambda: note
        self._shown.advance(by)

    def shorten(self, total: int) -> None:
        """There is less to do than was thought."""
        self._shown.total = total


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
    stream = sys.stdout if stream is None else stream
    shown = Progress(f"  {name}", total, " steps", stream=stream)
    try:
        if stream.isatty():
            shown.show()
        yield Stage(shown)
    finally:
        shown.close()
