"""The recorder: notes events as cheaply as it can, and leaves every question for later.

An operator costs one ``extend`` of one flat list by ``STRIDE`` items.  No tuple stays behind, so
the garbage collector has almost nothing more to do than without a profiler.  An array is noted as
the weak reference that was made when it was first met; its shape and dtype are noted once.

When an array dies, its weak reference is appended to ``dead`` by the interpreter itself, and each
event notes how long that list was.  So the order of allocations and frees is known exactly,
without a single Python call when memory is freed.

``drain`` hands the events over as tuples in which arrays are *entries*:

``(weak reference, shape, dtype)``
    A dense array that owns its memory.
``(entry of the owner, shape, dtype)``
    A view; its memory is charged to the array that owns it.
``(stype, shape, component entries, (role, owner) or None)``
    A sparse array.
``(None, shape, dtype)``
    Something that has no memory worth following, such as a scalar.
"""

from __future__ import annotations

import gc
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

#: Items that one event takes.
STRIDE = 15

#: Stands in the first place if there are more inputs than two or none, and in that of the shape for several outputs.
MANY: Any = "many"

#: First of the four items that stand for a view.
VIEW = "view"

#: Events digested in one go: few enough to stay in the processor's cache.
SLICE = 4096

#: Events that may wait before they are digested; about 400 bytes each.
WAITING = 100_000


class Recorder:
    """What ``core.hooks.sink`` is while a profiler runs.

    Parameters
    ----------
    lines : bool
        Note the user's line of each operator outside the backward pass.
    digest : callable
        ``digest(events, dead)`` takes the events noted so far; called when many are waiting.  An operator
        is ``(plan, start, end, lane, layer, node id, thread, inputs, outputs, deaths, place, instruction)``,
        where outputs is a list unless there is one, and place is a code object with its instruction, or what
        ``hooks.caller`` gave; everything else begins with one of the five names of
        this module and has its content in the place of the inputs.
    waiting : int
        Number of events that may wait.

    Attributes
    ----------
    dead : list of weak references
        In the order in which their arrays were freed; None once digested.
    """

    def __init__(self, lines: bool, digest: Callable[[list[Any], list[Any]], None], waiting: int = WAITING) -> None:
        self._notes: list[Any] = []
        self._extend = self._notes.extend
        self.dead: list[Any] = []
        self.lines = lines
        self.waiting = waiting
        self._digest = digest
        self._lock = threading.Lock()
        self._known: dict[int, Any] = {}
        self._entries: dict[int, tuple[Any, ...]] = {}
        self._met: dict[int, tuple[Any, ...]] = {}
        self._wholes: dict[int, tuple[Any, Any]] = {}
        self._buried = 0
        self._lasting: dict[int, tuple[Any, str, str]] = {}
        self._meet = self._make_meet()
        self.op = self._make_op()

    def _make_op(self) -> Callable[..., None]:
        """Build the hot function; a closure, because looking up cells is faster than attributes."""
        extend, dead, notes, state = self._notes.extend, self.dead, self._notes, hooks.state
        known, meet, drain, caller, inner = self._known, self._meet, self.drain, hooks.caller, hooks.inner
        get, died, reference, frame_at = known.get, dead.append, weakref.ref, sys._getframe
        lines, limit, ident, ndarray = self.lines, self.waiting * STRIDE, get_ident, np.ndarray

        def op(plan: Any, start: int, end: int, inputs: Any, outputs: Any, node: Any) -> None:
            """Note that an operator ran."""
            # The loops over arrays are written out for the counts that nearly every operator has.
            count = len(inputs)
            if count == 2:
                array, other = inputs
                first = get(id(array))
                if first is None or first() is not array:
                    first = meet(array)
                second = get(id(other))
                if second is None or second() is not other:
                    second = meet(other)
            elif count == 1:
                (array,) = inputs
                first = get(id(array))
                if first is None or first() is not array:
                    first = meet(array)
                second = None
            else:
                first, second = MANY, [meet(array) for array in inputs]
            shape = dtype = None
            if len(outputs) == 1:
                (array,) = outputs
                given = get(id(array))
                if given is None or given() is not array:
                    if array.__class__ is ndarray and array.base is None:
                        given = known[id(array)] = reference(array, died)
                        shape, dtype = array.shape, array.dtype
                    else:
                        given = meet(array)
            else:
                given, shape = [meet(array) for array in outputs], MANY
            place, instruction = None, 0
            lane = state.lane
            if lines and lane != "backward":
                place = state.caller
                if place is None:
                    try:
                        # The caller of the front end's function that called the dispatcher that called this.
                        frame = frame_at(3)
                        place = frame.f_code
                        if inner(place.co_filename) is False:
                            instruction = frame.f_lasti
                        else:
                            place = caller(frame)
                    except ValueError:  # no front end in between
                        place = caller()
            extend((plan, start, end, lane, state.layer, node and node.id, ident(), first, second, given, shape, dtype,
                    len(dead), place, instruction))
            if len(notes) > limit:
                drain(True)

        return op

    def span(self, name: str, lane: str, start: int, end: int, args: dict[str, Any]) -> None:
        """Note anything else that took time."""
        self._note(SPAN, start, end, lane, (str(name), args))

    def densify(self, record: Any) -> None:
        """Note that a sparse array silently became dense."""
        now = time.perf_counter_ns()
        self._note(DENSIFY, now, now, hooks.state.lane, record)

    def mark(self, kind: str, name: str, value: Any, unit: str = "") -> None:
        """Note an instant: a marker or the new value of a counter, in ``unit``."""
        now = time.perf_counter_ns()
        self._note(kind, now, now, "user", (str(name), value, unit))

    def assign(self, array: Any, role: str, owner: str, before: bool = False) -> None:
        """Note that an NDArray serves as ``role`` for ``owner``, however its components change.

        ``before`` says that it did so before the profile began.
        """
        store = array._store
        # Inputs come and go with each batch, and keep their components.
        if role != "input" and store.__class__ is not np.ndarray and getattr(store, "stype", "default") != "default":
            self._lasting[id(store)] = (weakref.ref(store), role, owner)
        now = time.perf_counter_ns()
        self._extend((ASSIGN, now, now, "", "", None, get_ident(), (self._meet(store), role, owner, before), None, None,
                      None, None, len(self.dead), None, 0))

    def _note(self, kind: str, start: int, end: int, lane: str, content: Any) -> None:
        self._extend((kind, start, end, lane, hooks.state.layer, None, get_ident(), content, None, None, None,
                      None, len(self.dead), None, 0))
        if len(self._notes) > self.waiting * STRIDE:
            self.drain(True)

    def _make_meet(self) -> Callable[[Any], Any]:
        """Build the function that gives what stands for a store in a note; called for what is new or no plain array."""
        known, met, lasting, get = self._known, self._met, self._lasting, self._known.get
        reference, died, ndarray, met_before = weakref.ref, self.dead.append, np.ndarray, self._met.get

        def owner(store: Any) -> Any:
            try:
                made = known[id(store)] = reference(store, died)
            except TypeError:
                return None, store.shape, store.dtype
            return made, store.shape, store.dtype

        def part(array: Any) -> Any:
            given = get(id(array))
            if given is not None and given() is array:
                return given
            if array.__class__ is ndarray and array.base is None:
                made = known[id(array)] = reference(array, died)
                return made, array.shape, array.dtype
            return meet(array)

        def sparse(store: Any) -> Any:
            data, indices = store.data, store.indices
            found = met_before(id(data))
            # The same store with the same components: nothing else can have changed.
            if found is not None and found[3] == id(store) and found[0]() is data and found[1]() is indices:
                return found[2]
            parts: tuple[Any, ...] = (part(data), part(indices))
            if len(store.components) == 3:
                parts = (*parts, part(store.indptr))
            role = lasting.get(id(store))
            if role is not None and role[0]() is not store:
                role = None
            whole = store.stype, store.shape, parts, role
            if data.__class__ is ndarray and indices.__class__ is ndarray:
                met[id(data)] = reference(data), reference(indices), whole, id(store)
            return whole

        def meet(store: Any) -> Any:
            found = get(id(store))
            if found is not None and found() is store:
                return found
            if store.__class__ is ndarray:
                base = store.base
            elif hasattr(store, "components"):
                return sparse(store)
            elif store is None or not hasattr(store, "dtype"):
                return NOTHING
            else:
                base = getattr(store, "base", None)
            # A view belongs to the array that owns the memory; a base that is no array (numba's, a file's)
            # cannot be followed, so the array itself stands for it.
            if base is not None and (base.__class__ is ndarray or hasattr(base, "dtype")):
                return VIEW, meet(base), store.shape, store.dtype
            return owner(store)

        return meet

    def drain(self, tell: bool = False) -> None:
        """Hand over the waiting events; returns at once if another thread is doing so.

        ``tell`` notes the time it took as an event of the profiler lane.
        """
        if not self._lock.acquire(blocking=False):
            return
        begin = time.perf_counter_ns()
        # Much is made here that stays; the garbage collector would look at all of it again and again.
        collects = gc.isenabled()
        gc.disable()
        try:
            notes = self._notes[:]
            # Other threads only append, so what was copied is what stands in front.
            del self._notes[: len(notes)]
            before = self._buried
            dying = self.dead[before:]
            for begins in range(0, len(notes), SLICE * STRIDE):
                ends = min(begins + SLICE * STRIDE, len(notes))
                self._wholes.clear()
                self._digest([self._unfold(notes[place: place + STRIDE]) for place in range(begins, ends, STRIDE)],
                             self.dead)
            self._forget(before, dying)
        finally:
            if collects:
                gc.enable()
            self._lock.release()
        if tell:
            self.span("digest", "profiler", begin, time.perf_counter_ns(), {})

    def _unfold(self, note: list[Any]) -> tuple[Any, ...]:
        """The tuple form of one note."""
        (plan, start, end, lane, layer, node, thread, first, second, given, shape, dtype, deaths, place,
         instruction) = note
        unfold = self._entry_of
        if type(plan) is str:
            content = (unfold(first[0]), *first[1:]) if plan == ASSIGN else first
            return plan, start, end, lane, layer, node, thread, content, None, deaths, None, 0
        if first is MANY:
            inputs: Any = [unfold(part) for part in second]
        elif second is None:
            inputs = (unfold(first),)
        else:
            inputs = (unfold(first), unfold(second))
        if shape is MANY:
            outputs: Any = [unfold(part) for part in given]
        elif shape is None:
            outputs = unfold(given)
        else:
            outputs = self._entries[id(given)] = given, shape, dtype
        return plan, start, end, lane, layer, node, thread, inputs, outputs, deaths, place, instruction

    def _entry_of(self, part: Any) -> Any:
        if part.__class__ is weakref.ref:
            found = self._entries.get(id(part))
            if found is None:
                # Another thread met the array first, but its note comes later.
                array = part()
                found = NOTHING if array is None else (part, array.shape, array.dtype)
            return found
        if part[0].__class__ is weakref.ref:
            self._entries[id(part[0])] = part
            return part
        if part[0] is VIEW:
            return self._entry_of(part[1]), part[2], part[3]
        if len(part) == 4:
            # A sparse array that several events mention is one entry, as long as these are digested.
            made = self._wholes.get(id(part))
            if made is None:
                stype, shape, parts, lasting = part
                role = None if lasting is None else lasting[1:]
                entry = stype, tuple(shape), tuple([self._entry_of(item) for item in parts]), role
                made = self._wholes[id(part)] = part, entry
            return made[1]
        return part

    def _forget(self, before: int, dying: list[Any]) -> None:
        """Drop what was kept about arrays whose death has been digested; their addresses may come again."""
        for place, reference in enumerate(dying, before):
            if self.dead[place] is not None:
                break
            self._entries.pop(id(reference), None)
            self._buried = place + 1
        for remembered in (self._known, self._met):
            if len(remembered) > 10_000:
                for key, value in list(remembered.items()):
                    if (value if value.__class__ is weakref.ref else value[0])() is None:
                        remembered.pop(key, None)
