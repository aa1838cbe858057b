"""The refusal of host work while the work of a GPU is captured.

A captured piece of work is repeated without Python: whatever the host computed meanwhile, or sent to the device, would be
repeated as it was.
"""

from __future__ import annotations

import threading

from .errors import SparsekitError

__all__ = ["CaptureError", "refuse", "state"]


class CaptureError(SparsekitError):
    """A piece of work needs the host at every run, so it cannot be captured."""


class _State(threading.local):
    """Whether this thread captures GPU work.

    Attributes
    ----------
    active : bool
        Whether work is captured now.
    rehearsed : bool
        Whether work is captured now, or done as it will be captured.
    """

    active = False
    rehearsed = False


state = _State()


def refuse(what: str) -> None:
    """Raise ``CaptureError`` if work is captured now; ``what`` says what the host would do."""
    if state.active:
        raise CaptureError(f"{what}.", hint="it runs separately, between captured pieces.")
