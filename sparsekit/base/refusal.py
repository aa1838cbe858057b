"""The error for what runs by itself: outside of a table of compiled calls, or of a captured graph."""

from __future__ import annotations

import threading


class _Refusals(threading.local):
    """How many refusals this thread has met: a rule that catches one must not be lowered or captured all the same."""

    count = 0


refusals = _Refusals()


class Refused(Exception):
    """An operator can be neither lowered to rows of a table nor captured; the message says why, for ``explain``."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        refusals.count += 1


def reason_of(error: Exception) -> str:
    """What ``explain`` says of an operator that raised this while it was lowered or captured."""
    said = str(error).partition("\n")[0]
    return said if isinstance(error, Refused) else f"{type(error).__name__}: {said}"
