"""The recorder: notes events as cheaply as it can, and leaves every question for later.

An operator costs one tuple on a list.  What the tuple names are *entries*, small descriptions of
arrays that are shared by all the events an array takes part in:

``(weak reference, shape, dtype)``
    A dense array that owns its memory.
``(entry of the owner, shape, dtype)``
    A view; its memory is charged to the array that owns it.
``(stype, shape, component entries, (role, owner) or None)``
    A sparse array.
``(None, shape, dtype)``
    Something that has no memory worth following, such as a scalar.

When an array dies, its weak reference is appended to ``dead`` by the interpreter itself, and each
event notes how long that list was.  So the order of allocations and frees is known exactly,
without a single Python call when memory is freed.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from _thread import get_ident
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import hooks

__all__ = ["ASSIGN", "COUNTER", "DENSIFY", "MARKER", "SPAN", "Recorder"]

#: First element of the tuples that are no operator events.
SPAN, ASSIGN, DENSIFY, MARKER, COUNTER = "span", "assign", "densify", "marker", "counter"

#: Entry of an input that was left out.
NOTHING: tuple[Any, ...] = (None, (), None)

#: Events waiting as tuples before they are packed; about 700 bytes each.
WAITING = 100_000


class Recorder:
    """What ``core.hooks.sink`` is while a profiler runs.

    Parameters
    ----------
    lines : bool
        Note the user's line of each operator outside the backward pass.
    digest : callable
        ``digest(events, dead)`` takes the events noted so far; called when many are waiting.
    waiting : int
        Number of events that may wait.

    Attributes
    ----------
    events : list of tuple
        Operators: ``(plan, start, end, lane, layer, node id, thread, inputs, outputs, deaths, code,
        instruction)``.  Everything else begins with one of the five names of this module and has
        the same length.
    dead : list of weak references
        In the order in which their arrays were freed; None once digested.
    """

    def __init__(self, lines: bool, digest: Callable[[list[Any], list[Any]], None], waiting: int = WAITING) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.dead: list[Any] = []
        self.lines = lines
        self.waiting = waiting
        self._digest = digest
        self._lock = threading.Lock()
        self._known: dict[int, tuple[Any, ...]] = {}
        self._lasting: dict[int, tuple[Any, str, str]] = {}
        self._inner: dict[str, bool] = {}
        self.op = self._make_op()

    def _make_op(self) -> Callable[..., None]:
        """Build the hot function; a closure, because looking up cells is faster than attributes."""
        append, dead, events, state = self.events.append, self.dead, self.events, hooks.state
        known, meet, caller, drain = self._known, self.entry, self._caller, self.drain
        get, died, reference = known.get, dead.append, weakref.ref
        lines, waiting, ident, ndarray = self.lines, self.waiting, get_ident, np.ndarray

        def op(plan: Any, start: int, end: int, inputs: Any, outputs: Any, node: Any) -> None:
            """Note that an operator ran."""
            # One entry per array; the loop is written out for the counts nearly every operator has.
            if len(inputs) == 2:
                first, second = inputs
                entry = get(id(first))
                if entry is None or entry[0]() is not first:
                    entry = meet(first)
                other = get(id(second))
                if other is None or other[0]() is not second:
                    other = meet(second)
                taken: Any = (entry, other)
            else:
                taken = []
                for array in inputs:
                    entry = get(id(array))
                    if entry is None or entry[0]() is not array:
                        entry = meet(array)
                    taken.append(entry)
            if len(outputs) == 1:
                (array,) = outputs
                given: Any = get(id(array))
                if given is None or given[0]() is not array:
                    if array.__class__ is ndarray and array.base is None:
                        given = known[id(array)] = (reference(array, died), array.shape, array.dtype)
                    else:
                        given = meet(array)
            else:
                given = [meet(array) for array in outputs]
            lane = state.lane
            if lines and lane != "backward":
                code, instruction = caller()
            else:
                code = instruction = None
            append((plan, start, end, lane, state.layer, None if node is None else node.id, ident(),
                    taken, given, len(dead), code, instruction))
            if len(events) > waiting:
                drain(True)

        return op

    def span(self, name: str, lane: str, start: int, end: int, args: dict[str, Any]) -> None:
        """Note anything else that took time."""
        self._note(SPAN, start, end, lane, (str(name), args))

    def densify(self, record: Any) -> None:
        """Note that a sparse array silently became dense."""
        now = time.perf_counter_ns()
        self._note(DENSIFY, now, now, hooks.state.lane, record)

    def mark(self, kind: str, name: str, value: Any) -> None:
        """Note an instant: a marker or the new value of a counter."""
        now = time.perf_counter_ns()
        self._note(kind, now, now, "user", (str(name), value))

    def assign(self, array: Any, role: str, owner: str) -> None:
        """Note that an NDArray serves as ``role`` for ``owner``, however its components change."""
        store = array._store
        if getattr(store, "stype", "default") != "default":
            self._lasting[id(store)] = (weakref.ref(store), role, owner)
        now = time.perf_counter_ns()
        self._note(ASSIGN, now, now, hooks.state.lane, (self.entry(store), role, owner))

    def _note(self, kind: str, start: int, end: int, lane: str, content: Any) -> None:
        self.events.append((kind, start, end, lane, hooks.state.layer, None, get_ident(), content, None,
                            len(self.dead), None, None))
        if len(self.events) > self.waiting:
            self.drain(True)

    def entry(self, store: Any) -> tuple[Any, ...]:
        """The entry of a store, made if the store is new."""
        found = self._known.get(id(store))
        if found is not None and found[0]() is store:
            return found
        if store.__class__ is not np.ndarray:
            stype = getattr(store, "stype", None)
            if stype is not None and hasattr(store, "components"):
                parts = tuple([self.entry(getattr(store, name)) for name in store.components])
                return stype, tuple(store.shape), parts, self._lasting_role(store)
            if store is None or not hasattr(store, "dtype"):
                return NOTHING
        base = getattr(store, "base", None)
        # A view belongs to the array that owns the memory; a base that is no array (numba's, a file's)
        # cannot be followed, so the array itself stands for it.
        if base is not None and hasattr(base, "dtype"):
            return self.entry(base), store.shape, store.dtype
        try:
            made = self._known[id(store)] = (weakref.ref(store, self.dead.append), store.shape, store.dtype)
        except TypeError:
            return None, store.shape, store.dtype
        return made

    def _lasting_role(self, store: Any) -> tuple[str, str] | None:
        found = self._lasting.get(id(store))
        if found is None or found[0]() is not store:
            return None
        return found[1], found[2]

    def _caller(self) -> tuple[Any, int]:
        """Code and instruction of the nearest caller outside sparsekit; lines are worked out later."""
        inner = self._inner
        frame: Any = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            hidden = inner.get(code.co_filename)
            if hidden is None:
                module = frame.f_globals.get("__name__", "")
                hidden = inner[code.co_filename] = module.partition(".")[0] == "sparsekit"
            if not hidden:
                return code, frame.f_lasti
            frame = frame.f_back
        return None, 0

    def drain(self, tell: bool = False) -> None:
        """Hand over the waiting events; returns at once if another thread is doing so.

        ``tell`` notes the time it took as an event of the profiler lane.
        """
        if not self._lock.acquire(blocking=False):
            return
        begin = time.perf_counter_ns()
        try:
            events = self.events[:]
            # Other threads only append, so what was copied is what stands in front.
            del self.events[: len(events)]
            if events:
                self._digest(events, self.dead)
            self._forget()
        finally:
            self._lock.release()
        if tell:
            self.span("digest", "profiler", begin, time.perf_counter_ns(), {})

    def _forget(self) -> None:
        """Drop the entries of arrays that died; their addresses may never come again."""
        if len(self._known) > 10_000:
            for key, entry in list(self._known.items()):
                if entry[0]() is None:
                    self._known.pop(key, None)
