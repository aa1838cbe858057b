"""Stopping cleanly on a signal, at the next call of ``check``; each step of a stage is one, and moves its progress bar.

An exception that a signal handler raises can be lost: Python prints and drops it inside the callback of a weak reference,
and a compiled kernel turns it into another error.  So the handler only records the signal, and ``check`` raises.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeAlias

from ..base.progress import Progress

#: Ends a step of a stage, with a note on it.
Advance: TypeAlias = Callable[[str], None]

_received: list[int] = []


def check() -> None:
    """Stop here if a signal has arrived.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    SystemExit
        After SIGTERM (status 143) or SIGHUP (129).
    """
    if _received:
        _stop(_received[0])


def _stop(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _note(number: int, frame: object) -> None:
    """Record a signal; the third one stops immediately."""
    _received.append(number)
    if len(_received) > 2:
        _stop(number)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let ``check`` stop the code inside on a signal; outside the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    _received.clear()
    # Ignored signals stay ignored: with `nohup` the end of the terminal must not stop the work.
    before = {number: signal.signal(number, _note) for number in sorted(wanted) if signal.getsignal(number) is not signal.SIG_IGN}
    try:
        yield
    finally:
        _received.clear()
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stage(name: str, total: int, stream: TextIO | None = None) -> Iterator[Advance]:
    """Show a progress bar inside a ``with`` block, and remove it at the end; gives what ends a step.

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

    def advance(note: str) -> None:
        check()
        shown.note = lambda: note
        shown.advance()

    try:
        if stream.isatty():
            shown.show()
        yield advance
    finally:
        shown.close()
