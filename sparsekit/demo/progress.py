"""Progress bars of the demo's stages; each step is a point at which the demo can be stopped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ..base.progress import Progress
from .interrupt import check

__all__ = ["Stage", "stage"]


class Stage:
    """One stage of the demo, with its progress bar."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown

    def advance(self, note: str = "", by: int = 1) -> None:
        """Advance the bar by ``by`` steps, or stop here if a signal has arrived."""
        check()
        if note:
            self._shown.note = lambda: note
        self._shown.advance(by)

    def shorten(self, total: int) -> None:
        """Set a smaller number of steps."""
        self._shown.total = total


@contextmanager
def stage(name: str, total: int, stream: TextIO | None = None) -> Iterator[Stage]:
    """Show a progress bar inside a ``with`` block, and remove it at the end.

    Parameters
    ----------
    name : str
    total : int
        Number of steps.
    stream : text file, optional
        By default standard output; the bar is shown at once only on a terminal.
    """
    stream = sys.stdout if stream is None else stream
    shown = Progress(f"  {name}", total, " steps", stream=stream)
    try:
        if stream.isatty():
            shown.show()
        yield Stage(shown)
    finally:
        shown.close()
