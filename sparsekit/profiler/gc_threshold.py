"""The threshold of the garbage collector while a recorder runs."""

from __future__ import annotations

import gc

__all__ = ["Collector"]

#: Objects that a recorder is allowed at least until it looks again.
LEAST = 100


class Collector:
    """Raises the number of new objects at which Python's garbage collector runs, by those that a recorder made.

    A recorder keeps an object or two an event, and up to sixty a step of a table that Python interrupts.  None can be garbage,
    but the collector counts them like any others: it would run twenty times as often as without a profiler, and walk over them
    again and again, which took a third of all that recording costs.

    Four fifths of the new objects are taken for the recorder's.  So the collector runs later than it would, but at the latest
    when there are five times as many new objects as usual.
    """

    def __init__(self) -> None:
        self._own = 0
        self._usual = gc.get_threshold()
        self._raised: tuple[int, ...] | None = None

    def begin(self) -> None:
        """A recorder begins to make objects."""
        self._own, self._usual = 0, gc.get_threshold()
        self._raise(LEAST)

    def look(self) -> None:
        """Look how many objects are new, as the recorder does now and then."""
        if self._raised is None:
            return
        if gc.get_threshold() != self._raised:
            self._usual = gc.get_threshold()  # another part of the program has set the threshold
        before, self._own = self._own, gc.get_count()[0] * 4 // 5
        self._raise(max(LEAST, self._own - before))  # as many again until the next time

    def end(self) -> None:
        """The recorder is done, or pauses."""
        if gc.get_threshold() == self._raised:
            gc.set_threshold(*self._usual)
        self._raised = None

    def _raise(self, ahead: int) -> None:
        first, *older = self._usual
        # Zero means never.
        self._raised = (first and first + self._own + ahead, *older)
        gc.set_threshold(*self._raised)
