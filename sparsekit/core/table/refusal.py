"""The error for what a table cannot do."""

from __future__ import annotations

import threading

__all__ = ["Refused", "refusals"]


class _Refusals(threading.local):
    """How many refusals this thread has met: a rule that catches one must not be lowered all the same."""

    count = 0


refusals = _Refusals()


class Refused(Exception):
    """An operator cannot be lowered to rows of a table; the message says why, for ``explain``."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        refusals.count += 1
