"""Stopping cleanly: a signal asks, the work stops at the next place where it safely can.

An exception that a signal handler raises at any instant can be lost: Python prints and forgets it inside
a weak reference's callback, and a compiled kernel turns it into another error.  So the handler only
takes note, and ``check`` raises between two pieces of work.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["check", "stoppable"]

_asked: list[int] = []


def check() -> None:
    """Stop here if a signal requested it.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    SystemExit
        After a request to end (status 143), or when the terminal was closed (129).
    """
    if _asked:
        _stop(_asked[0])


def _stop(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _note(number: int, frame: object) -> None:
    """Note an interrupt; the third one stops at once."""
    _asked.append(number)
    if len(_asked) > 2:
        _stop(number)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let ``check`` stop what runs inside; elsewhere than in the main thread signals stay as they are."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    _asked.clear()
    # What is ignored stays so: `nohup` means that the end of the terminal is not to stop the work.
    before = {number: signal.signal(number, _note) for number in sorted(wanted) if signal.getsignal(number) is not signal.SIG_IGN}
    try:
        yield
    finally:
        _asked.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
