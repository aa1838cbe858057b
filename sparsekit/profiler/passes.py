"""When forward and backward passes begin and end, told to whoever watches a training loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..core import hooks

__all__ = ["watch_passes"]


@contextmanager
def watch_passes(note: Callable[[str, bool], None]) -> Iterator[None]:
    """Call ``note`` with ``"forward"`` or ``"backward"`` and whether it begins, for the passes of this thread.

    Of several watchers, the one that began last is told.
    """
    thread = threading.get_ident()

    def told(name: str, begins: bool) -> None:
        if threading.get_ident() == thread:
            note(name, begins)

    with hooks.sink_lock:
        before, hooks.passes = hooks.passes, told
    try:
        yield
    finally:
        with hooks.sink_lock:
            if hooks.passes is told:
                hooks.passes = before
