"""Whether the kernel of an update has run, which an interrupt between it and the count of the update needs to know."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable


class _Written(threading.local):
    """What the kernels of the calling thread's updates say.

    Attributes
    ----------
    mark : callable
        Says that a kernel has run.  It is a function of C, which another one can call with no signal's handler in between.
    """

    def __init__(self) -> None:
        self._done = bytearray(1)
        self.mark: Callable[[], object] = functools.partial(self._done.__setitem__, 0, 1)  # object: None

    def forget(self) -> None:
        """Begin an update."""
        self._done[0] = 0

    def __bool__(self) -> bool:
        return bool(self._done[0])


written = _Written()
