"""The recorder: notes events as cheaply as it can, and leaves every question for later.

An operator costs one ``extend`` of one flat list by ``STRIDE`` items.  No tuple stays behind, so
the garbage collector has almost nothing more to do than without a profiler.  A result is noted as a
weak reference made there and then, once, with its element type; its array object is marked with the
time of that event, and from then on that number is all that has to be noted of it.

When an array dies, its weak reference is appended to the same list by the interpreter itself, between
the events.  So the order of allocations and frees is known exactly, without a single Python call when
memory is freed.

``drain`` hands the events over as tuples in which arrays are objects: ``pieces.Piece``, ``View`` and ``Sparse``.
"""

from __future__ import annotations

import collections
import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import hooks
from .pieces import Piece, Sparse, View

__all__ = ["ASSIGN", "COUNTER", "DENSIFY", "MARKER", "SPAN", "Recorder"]

#: First element of the tuples that are no operator events.
SPAN, ASSIGN, DENSIFY, MARKER, COUNTER = "span", "assign", "densify", "marker", "counter"

#: Stands for an input that was left out.
NOTHING: tuple[Any, ...] = (None, (), None)

#: Items that one event takes; a death takes one.
STRIDE = 14

#: Stands in the first place if there are more inputs than two or none, and in that of the layout for several outputs.
MANY: Any = "many"

#: First of the five items that stand for a view when it is first met: its weak reference, what stands for its base, and
#: its layout or shape, and element type.
VIEW = "view"

#: In the place of the layout: a sparse array that is first met, described by the result.
SPARSE = "sparse"

#: First of a note that says which number stands for an array from now on.
MET = "met"

#: First of a note that a batch was read: a span, and roles of its arrays.
READ = "read"

#: Events digested in one go: few enough to stay in the processor's cache.
SLICE = 4096

#: Events that may wait before they are digested; about 300 bytes each.
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
        where outputs is a list unless there is one, deaths is how many pieces of memory had been freed by then, and place
        is a code object with its instruction, or what ``hooks.caller`` gave; everything else begins with one of the five
        names of this module and has its content in the place of the inputs.
    waiting : int
        Number of events that may wait.

    Attributes
    ----------
    dead : deque of Piece
        In the order in which they were freed, as far as events were handed over; who digests takes them out.
    """

    def __init__(self, lines: bool, digest: Callable[[list[Any], Any], None], waiting: int = WAITING) -> None:
        self._notes: list[Any] = []
        self._extend = self._notes.extend
        self._died = self._notes.append
        self.dead: collections.deque[Piece] = collections.deque()
        self.lines = lines
        self._waiting = waiting
        self._digest = digest
        self._lock = threading.Lock()
        # How many were in ``dead``; what a weak reference, by its address, or a number in a note stands for; the number
        # given to an array that was met again, by the address of its weak reference.
        self._deaths = 0
        self._entries: dict[int, Any] = {}
        self._marked: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._lasting: dict[int, tuple[Any, str, str]] = {}
        self._meet = self._make_meet()
        self.begin()

    @property
    def waiting(self) -> int:
        """Number of events that may wait."""
        return self._waiting

    @waiting.setter
    def waiting(self, waiting: int) -> None:
        self._waiting = waiting
        self.begin()

    def begin(self) -> None:
        """Forget how arrays are marked: another recorder may have marked them meanwhile."""
        self._began = time.perf_counter_ns()
        self.op = self._make_op()
        self.call = self._make_call()

    def _make_op(self) -> Callable[..., None]:
        """Build the function for stores, as the general way of an operator and programs have them."""
        extend, notes, meet, drain, state = self._extend, self._notes, self._meet, self.drain, hooks.state
        lines, limit, caller = self.lines, self.waiting * STRIDE, hooks.caller

        def op(plan: Any, start: int, end: int, inputs: Any, outputs: Any, node: Any) -> None:
            """Note that an operator ran."""
            here = state.__dict__
            count = len(inputs)
            second = None
            if count == 2:
                first, second = meet(inputs[0]), meet(inputs[1])
            elif count == 1:
                first = meet(inputs[0])
            else:
                first, second = MANY, [meet(store) for store in inputs]
            many = None
            if len(outputs) == 1:
                given = meet(outputs[0])
            else:
                given, many = [meet(store) for store in outputs], MANY
            lane, place = here["lane"], None
            if lines and lane != "backward":
                place = here["caller"] or caller()
            extend((plan, start, end, lane, here["layer"], node and node.id, here["thread"], first, second, given, many, None,
                    place, 0))
            if len(notes) > limit:
                drain(True)

        return op

    def _make_call(self) -> Callable[..., None]:
        """Build the hot function; a closure, because looking up cells is faster than attributes.

        It is written out, because each call of a function costs a twentieth of all that it does.
        """
        extend, notes, meet, introduce, drain = self._extend, self._notes, self._meet, self._introduce, self.drain
        died, reference, references, frame_at = self._died, weakref.ref, weakref.getweakrefcount, sys._getframe
        lines, limit, ndarray, state, inner = self.lines, self.waiting * STRIDE, np.ndarray, hooks.state, hooks.inner
        caller, based, described = hooks.caller, self._base, self._described
        began = self._began

        def call(plan: Any, start: int, end: int, inputs: Any, array: Any, node: Any) -> None:
            """Note that an operator ran on array objects, and gave a new one."""
            here = state.__dict__
            count = len(inputs)
            if count == 2:
                left, right = inputs
                first = left._seen
                if first < began:
                    first = introduce(left)
                second = right._seen
                if second < began:
                    second = introduce(right)
            elif count == 1:
                (left,) = inputs
                first, second = left._seen, None
                if first < began:
                    first = introduce(left)
            elif count == 3:
                left, middle, right = inputs
                first = left._seen
                if first < began:
                    first = introduce(left)
                second = middle._seen
                if second < began:
                    second = introduce(middle)
                third = right._seen
                first, second = MANY, (first, second, third if third >= began else introduce(right))
            else:
                left = inputs[0] if count else None
                first, second = MANY, [one._seen if one._seen >= began else introduce(one) for one in inputs]
            store = array._store
            if references(store):
                # It was there before: nearly always what the operator wrote to.
                layout = dtype = None
                given = (first if first is not MANY else second[0]) if count and left._store is store else meet(store)
            elif store.__class__ is ndarray:
                given, layout, dtype = reference(store, died), array._layout, store.dtype
                base = store.base
                if base is not None:
                    # Nearly always a view of the input, which is known.
                    known = first.__class__ is int and left._store is base
                    given, layout = (VIEW, given, first if known else based(base), layout, dtype), VIEW
                array._seen = start
            elif hasattr(store, "components"):
                given, layout, dtype = described(store), SPARSE, None
                store._seen = start
            else:
                given, layout, dtype = meet(store), None, None
            if node is None:
                node = here["node"]
            lane, place, instruction = here["lane"], None, 0
            if lines and lane != "backward":
                place = here["caller"]
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
            extend((plan, start, end, lane, here["layer"], node and node.id, here["thread"], first, second, given, layout,
                    dtype, place, instruction))
            if len(notes) > limit:
                drain(True)

        return call

    def _introduce(self, array: Any) -> Any:
        """What stands for an array object that this recorder has not marked; from now on a number, unless it is sparse."""
        store = array._store
        if store.__class__ is not np.ndarray and hasattr(store, "components"):
            mark = store._seen
            return mark if mark >= self._began else self._sparse(store)
        part = self._meet(store)
        owner = _owner(part)
        if owner.__class__ is not weakref.ref:
            return part
        mark = self._numbers.get(id(owner))
        if mark is None:
            mark = self._numbers[id(owner)] = time.perf_counter_ns()
            self._extend((MET, mark, mark, "", "", None, 0, (mark, part), None, None, None, None, None, 0))
        # Only now, so that no other thread can note it before the note that says what it means.
        array._seen = mark
        return mark

    def span(self, name: str, lane: str, start: int, end: int, args: dict[str, Any]) -> None:
        """Note anything else that took time."""
        self._note(SPAN, start, end, lane, (str(name), args))

    def read(self, name: str, start: int, arrays: Any, args: dict[str, Any]) -> None:
        """Note that a batch was read: one note for the span and for what its arrays are."""
        introduce, began = self._introduce, self._began
        parts = [(one._seen if one._seen >= began else introduce(one), owner) for one, owner in arrays]
        here = hooks.state.__dict__
        self._extend((READ, start, time.perf_counter_ns(), "io", here["layer"], None, here["thread"], (name, args), parts, None,
                      None, None, None, 0))
        if len(self._notes) > self.waiting * STRIDE:
            self.drain(True)

    def densify(self, record: Any) -> None:
        """Note that a sparse array silently became dense."""
        now = time.perf_counter_ns()
        self._note(DENSIFY, now, now, hooks.state.lane, record)

    def mark(self, kind: str, name: str, value: Any, unit: str = "") -> None:
        """Note an instant: a marker or the new value of a counter, in ``unit``."""
        now = time.perf_counter_ns()
        self._note(kind, now, now, "user", (str(name), value, unit))

    def assign(self, array: Any, role: str, owner: str, mark: int = 0, before: bool = False) -> None:
        """Note that an NDArray serves as ``role`` for ``owner``, however its components change.

        ``mark`` is what its components were known by in another array that they come from, and ``before`` says that
        it had that role before the profile began.
        """
        store, now = array._store, time.perf_counter_ns()
        sparse = store.__class__ is not np.ndarray and hasattr(store, "components")
        # Inputs come and go with each batch, and keep their components.
        if sparse and role != "input":
            held = self._lasting.get(id(store))
            if held is None or held[0]() is not store or held[1:] != (role, owner):
                self._lasting[id(store)] = (weakref.ref(store), role, owner)
                mark = 0
            store._seen = mark
        part: Any = self._sparse(store) if sparse else self._meet(store)
        self._extend((ASSIGN, now, now, "", "", None, hooks.state.__dict__["thread"], (part, role, owner, before), None, None,
                      None, None, None, 0))
        if not sparse and part.__class__ is not weakref.ref and part[0].__class__ is weakref.ref:
            array._seen = now

    def _note(self, kind: str, start: int, end: int, lane: str, content: Any) -> None:
        self._extend((kind, start, end, lane, hooks.state.layer, None, hooks.state.thread, content, None, None, None,
                      None, None, 0))
        if len(self._notes) > self.waiting * STRIDE:
            self.drain(True)

    def _base(self, base: Any) -> Any:
        """What stands for the array that a view's memory belongs to; None if that cannot be followed.

        That is so for a base that is no array (numba's, a file's): the view itself stands for it.
        """
        return self._meet(base) if base.__class__ is np.ndarray or hasattr(base, "dtype") else None

    def _make_meet(self) -> Callable[[Any], Any]:
        """Build the function that gives what stands for a store: the weak reference made when it was first met, or more."""
        reference, references, count, died = weakref.ref, weakref.getweakrefs, weakref.getweakrefcount, self._died
        ndarray = np.ndarray
        sparse, based = self._sparse, self._base

        def meet(store: Any) -> Any:
            if count(store):
                for found in references(store):
                    if found.__callback__ is died:
                        return found
            if store.__class__ is ndarray:
                base = store.base
            elif hasattr(store, "components"):
                return sparse(store)
            elif store is None or not hasattr(store, "dtype"):
                return NOTHING
            else:
                base = getattr(store, "base", None)
            try:
                made = reference(store, died)
            except TypeError:
                return None, store.shape, store.dtype
            return (made, store.shape, store.dtype) if base is None else (VIEW, made, based(base), store.shape, store.dtype)

        return meet

    def _sparse(self, store: Any) -> int:
        """The number that stands for a sparse store as long as its components are not replaced, which takes the mark away."""
        mark: int = store._seen
        if mark >= self._began:
            return mark
        mark = time.perf_counter_ns()
        self._extend((MET, mark, mark, "", "", None, 0, (mark, self._described(store)), None, None, None, None, None, 0))
        store._seen = mark
        return mark

    def _described(self, store: Any) -> tuple[Any, ...]:
        """A sparse store by its storage type, shape, components and lasting role."""
        meet, role = self._meet, self._lasting.get(id(store))
        parts = tuple([meet(getattr(store, name)) for name in store.components])
        return store.stype, store.shape, parts, None if role is None or role[0]() is not store else role[1:]

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
            place = 0
            while place < len(notes):
                events: list[Any] = []
                place = self._unfold(notes, place, events)
                self._digest(events, self.dead)
            if len(self._lasting) > 10_000:
                self._lasting = {key: held for key, held in list(self._lasting.items()) if held[0]() is not None}
        finally:
            if collects:
                gc.enable()
            self._lock.release()
        if tell:
            self.span("digest", "profiler", begin, time.perf_counter_ns(), {})

    def _unfold(self, notes: list[Any], place: int, events: list[Any]) -> int:
        """Append the tuple form of some notes to ``events``; gives where the next begins."""
        unfold, count, reference = self._entry_of, len(notes), weakref.ref
        entries, marked = self._entries, self._marked
        while place < count and len(events) < SLICE:
            plan = notes[place]
            if plan.__class__ is reference:
                self._free(plan)
                place += 1
                continue
            _, start, end, lane, layer, node, thread, first, second, given, layout, dtype, where, instruction = notes[
                place: place + STRIDE]
            place += STRIDE
            if plan.__class__ is str:
                if plan is MET:
                    number, part = first
                    self._stand_for(number, unfold(part), _owner(part))
                    continue
                content = first
                if plan is READ:
                    events += [(ASSIGN, end, end, "", "", None, thread, (unfold(part), "input", owner, False), None,
                                self._deaths, None, 0) for part, owner in second]
                    plan = SPAN
                elif plan is ASSIGN:
                    entry = unfold(first[0])
                    content = (entry, *first[1:])
                    if entry.__class__ is Piece:
                        self._stand_for(start, entry, entry.reference)
                events.append((plan, start, end, lane, layer, node, thread, content, None, self._deaths, None, 0))
                continue
            if first is MANY:
                inputs: Any = [unfold(part) for part in second]
            elif second is None:
                inputs = (marked.get(first) or unfold(first),) if first.__class__ is int else (unfold(first),)
            elif first.__class__ is int and second.__class__ is int:
                inputs = marked.get(first) or unfold(first), marked.get(second) or unfold(second)
            else:
                inputs = unfold(first), unfold(second)
            if layout is None:
                outputs = unfold(given)
            elif layout is MANY:
                outputs = [unfold(part) for part in given]
            elif layout is VIEW or layout is SPARSE:
                outputs = unfold(given)
                self._stand_for(start, outputs, _owner(given))
            else:
                made = marked[start] = Piece(given, layout.shape, dtype, [start])
                outputs = entries.setdefault(id(given), made)
                if outputs is not made:  # another thread's note of the same array came first
                    marked[start] = outputs
                    outputs.marks.append(start)
            events.append((plan, start, end, lane, layer, node, thread, inputs, outputs, self._deaths, where, instruction))
        return place

    def _free(self, reference: Any) -> None:
        """Forget an array that was freed, whose address may come again, and note it if it had memory of its own."""
        entry = self._entries.pop(id(reference), None)
        self._numbers.pop(id(reference), None)
        if entry is None:
            return
        for number in entry.marks:
            self._marked.pop(number, None)
        if entry.__class__ is Piece:
            self.dead.append(entry)
            self._deaths += 1

    def _stand_for(self, number: int, entry: Any, owner: Any) -> None:
        """Remember what a number stands for, until its array is freed."""
        self._marked[number] = entry
        held = self._entries.get(id(owner))
        if held is not None:
            held.marks.append(number)

    def _entry_of(self, part: Any) -> Any:
        if part.__class__ is int:
            return self._marked.get(part) or View(None, (), None)
        if part.__class__ is weakref.ref:
            found = self._entries.get(id(part))
            if found is None:
                # Another thread met the array first, but its note comes later.
                array = part()
                if array is None:
                    return View(None, (), None)
                owned = getattr(array, "base", None) is None
                found = self._piece(part, array.shape, array.dtype) if owned else View(None, array.shape, array.dtype)
            return found
        if part[0].__class__ is weakref.ref:
            return self._entries.get(id(part[0])) or self._piece(*part)
        if part[0] is VIEW:
            return self._entries.get(id(part[1])) or self._view(*part[1:])
        if len(part) == 4:
            stype, shape, parts, role = part
            return Sparse(stype, tuple(shape), tuple([self._entry_of(item) for item in parts]), role)
        return View(None, *part[1:])

    def _piece(self, reference: Any, shape: tuple[int, ...], dtype: Any) -> Piece:
        made = self._entries[id(reference)] = Piece(reference, shape, dtype, [])
        return made

    def _view(self, reference: Any, base: Any, shape: Any, dtype: Any) -> Any:
        shape = shape if shape.__class__ is tuple else shape.shape
        if base is None:
            return self._piece(reference, shape, dtype)
        owners = self._entry_of(base).owners()
        made = self._entries[id(reference)] = View(owners[0][0] if owners else None, shape, dtype, reference)
        return made


def _owner(part: Any) -> Any:
    """The weak reference with whose array a part is forgotten."""
    if part.__class__ is weakref.ref:
        return part
    return part[1] if part[0] is VIEW else _owner(part[2][0]) if len(part) == 4 else part[0]
