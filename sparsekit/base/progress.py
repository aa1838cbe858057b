"""How far a piece of work is: tqdm's bar on a terminal and in a notebook, a line now and then anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from .formatting import format_bytes
from .optional import whole_import

#: Seconds between two drawings of the bar, and between two lines in a log.
REDRAW, RELOG = 0.2, 10.0


def in_notebook(stream: object) -> bool:  # object: the type's name tells, as ipykernel need not be installed
    """Whether what is written to a stream appears below a notebook's cell."""
    return type(stream).__name__ == "OutStream"


class Progress:
    """Shows how much of a piece of work is done; a terminal or notebook without tqdm shows nothing.

    Parameters
    ----------
    name : str
    total : int, optional
        How much there is to do, where that is known.
    unit : str
        What is counted; ``"B"`` is bytes.
    each : int
        How many of the unit one step of ``advance`` is.
    done : int
        How much was done before.
    shown : bool
        False shows nothing.
    stream : text file, optional
        Standard error if not given.

    Attributes
    ----------
    note : callable
        Gives what stands at the end of the line, when it is drawn.
    """

    def __init__(self, name: str, total: int | None = None, unit: str = "B", each: int = 1, done: int = 0,
                 shown: bool = True, stream: TextIO | None = None) -> None:
        self.name, self.total, self.done, self.unit = name, total, done, unit
        self.note: Callable[[], str] = str
        self._each, self._before = each, done
        self._stream: TextIO = sys.stderr if stream is None else stream
        self._shown = shown
        self._drawn = self._stream.isatty() or in_notebook(self._stream)
        self._bar: Any = None  # Any: tqdm has no types, and need not be installed
        self._start = self._last = time.monotonic()

    def advance(self, count: int = 1) -> None:
        """So much more is done."""
        self.done += count
        now = time.monotonic()
        if now - self._last > (REDRAW if self._drawn else RELOG):
            self._last = now
            self.show()

    def show(self) -> None:
        """Draw the bar as it stands, or write a line of a log."""
        if not self._shown:
            return
        if not self._drawn:
            print(self.text(), file=self._stream, flush=True)
            return
        self._bar = self._bar or self._made()
        if self._bar is not None:
            self._bar.n, self._bar.total = self.done, self.total
            self._bar.set_postfix_str(self.note())

    def text(self) -> str:
        """A line of a log: name, how much, note."""
        written, note = format_bytes if self.unit == "B" else str, self.note()
        return (f"{self.name}: {written(self.done)}" + (f" of {written(self.total)}" if self.total else "")
                + (f", {note}" if note else ""))

    def _made(self) -> Any:  # Any: as the bar
        """tqdm's bar, which is drawn when it is told to; None without tqdm."""
        try:
            tqdm = whole_import("tqdm").tqdm
        except ImportError:
            self._shown = False
            return None
        # tqdm's thread would draw the bar while this one works, and a forked child would not have it.
        bar = type("Bar", (tqdm,), {"monitor_interval": 0})(
            desc=self.name, total=self.total, initial=self._before, unit=self.unit, file=self._stream, leave=False,
            unit_scale=self.unit == "B" or (self._each > 1 and self._each), dynamic_ncols=True)
        bar.start_t -= time.monotonic() - self._start
        return bar

    def close(self, logged: bool = False) -> None:
        """Take the bar away; ``logged`` lets a log say how much was done in all."""
        if self._bar is not None:
            self._bar.close()
        elif logged and self.done and not self._drawn:
            self.show()
