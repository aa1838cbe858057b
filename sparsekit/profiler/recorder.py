"""The recorder: notes events at minimal cost, and defers all evaluation.

An operator costs one ``extend`` of one flat list by ``STRIDE`` items.  No tuple stays behind, so
the garbage collector has almost nothing more to do than without a profiler.  A result is noted as a
weak reference made there and then, once, with its element type; its array object is marked with the
time of that event, and from then on that number is all that has to be noted of it.

When an array dies, its weak reference is appended to the same list by the interpreter itself, between
the events.  So the order of allocations and frees is known exactly, without a single Python call when
memory is freed.

``drain`` has the notes read (``event_buffer.Reader``) and hands over what they tell.
"""

from __future__ import annotations

import gc
import itertools
import operator
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.forking import across_fork
from ..base.signal_safe import undisturbed
from ..base.weak_references import weak_references
from ..core import hooks
from .event_buffer import (
    ASSIGN,
    DENSIFY,
    FLOWED,
    FREED,
    MANY,
    MET,
    NOTHING,
    READ,
    SPAN,
    SPARSE,
    STRIDE,
    TABLE,
    VIEW,
    Reader,
    owner_of,
)

if TYPE_CHECKING:
    import collections

    from ..base.types import Array, Attrs
    from ..core.hooks import Event, Timed
    from .allocations import Allocation
    from .event_buffer import Note, Operation, Place, Plan
    from .torch_types import Torch, TorchReference
    from .types import Marked, Node, NoteItem

#: Held while the notes of any recorder are digested, or digested data are read; a single lock, which a fork waits for.
_digesting = threading.Lock()
across_fork(lambda: _digesting)

#: Nanoseconds between updates of the garbage collector's threshold and of the count of waiting events.
PERIOD = 1_000_000

#: Operators of tables between such updates.
OFTEN = 1000

#: Events that may wait before they are digested; about 300 bytes each.
WAITING = 100_000

#: Objects that a recorder is allowed at least until it looks at the garbage collector again.
LEAST_OBJECTS = 100


class _Collector:
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
        self._raise(LEAST_OBJECTS)

    def look(self) -> None:
        """Look how many objects are new, as the recorder does now and then."""
        if self._raised is None:
            return
        if gc.get_threshold() != self._raised:
            self._usual = gc.get_threshold()  # another part of the program has set the threshold
        before, self._own = self._own, gc.get_count()[0] * 4 // 5
        self._raise(max(LEAST_OBJECTS, self._own - before))  # as many again until the next time

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


class Recorder:
    """What ``core.hooks.sink`` is while a profiler runs.

    Parameters
    ----------
    lines : bool
        Note the user's line of each operator outside the backward pass.
    digest : callable
        ``digest(events, dead)`` takes the events noted so far, and what was freed; see ``event_buffer.Reader``.  Called when
        many are waiting.
    waiting : int
        Number of events that may wait.

    Attributes
    ----------
    reader : Reader
    lock : Lock
        Held while notes are digested, or digested data are read.
    """

    def __init__(self, lines: bool, digest: Callable[[list[Operation | Note], collections.deque[Allocation]], None],
                 waiting: int = WAITING) -> None:
        self._notes: list[Any] = []  # Any: one flat list of items of all types
        self._noted: list[list[Any] | None] = []  # Any: the same, of what was noted before each end, and a None behind each
        self._items = 0  # of these lists
        self._extend = self._notes.extend
        self._died = self._notes.append
        self.lines = lines
        self._waiting = waiting
        self._digest = digest
        self.lock = _digesting
        self.reader = Reader()
        self._lasting: dict[int, tuple[weakref.ref[Any], str, str]] = {}  # Any: sparse stores
        self._collector = _Collector()
        # Operators of tables that wait, which take one note together, and how many there were at the last update.
        self._tabled = self._looked = self._due = 0
        #: Bytes that each table keeps between runs, by what stands for its memory.
        self.reserved: dict[object, int] = {}  # object: as in ``Timed``
        self._meet = self._make_meet()
        self._prepare()

    @property
    def waiting(self) -> int:
        """Number of events that may wait."""
        return self._waiting

    @waiting.setter
    def waiting(self, waiting: int) -> None:
        self._waiting = waiting
        self._prepare()

    @property
    def anything(self) -> bool:
        """Whether anything waits to be handed over."""
        return bool(self._notes) or any(self._noted)

    def begin(self) -> None:
        """Begin to note, or go on: forget how arrays are marked, as another recorder may have marked them meanwhile."""
        self._prepare()
        self._collector.begin()

    def end(self) -> None:
        """Nothing is noted from now on."""
        self._collector.end()
        # They refer to the recorder, which is to go with its last user, and not when the collector comes by.
        self.op = self.call = _ended
        self._put_aside()
        self._items = sum(map(len, filter(None, self._noted)))

    def _put_aside(self) -> None:
        """Have what waits in a list of its own, as its weak references append to ``_notes``: a cycle, which goes late.

        One call, so that nothing comes between copying and clearing, neither an interrupt nor another thread.
        """
        self._noted.extend(map(operator.call, (self._notes.copy, self._notes.clear)))

    def _prepare(self) -> None:
        self._began = time.perf_counter_ns()
        self.op = self._make_op()
        self.call = self._make_call()

    def _more(self, now: int) -> int:
        """What is done now and then while noting: tell the collector, hand over; gives when to come again."""
        self._collector.look()
        if (len(self._notes) + self._items) // STRIDE + self._tabled > self.waiting:
            self.hand_over()
        return now + PERIOD

    def _make_op(self) -> Callable[..., None]:
        """Build the function for stores, as the general way of an operator and programs have them."""
        extend, meet, more, state = self._extend, self._meet, self._more, hooks.state
        lines, due, caller = self.lines, 0, hooks.caller

        # Any: stores, and ``meet`` asks what they are
        def op(plan: Plan, start: int, end: int, inputs: Sequence[Any], outputs: Sequence[Any], node: Node | None) -> None:
            """Note that an operator ran."""
            nonlocal due
            here = state.__dict__
            count = len(inputs)
            first: Any  # Any: items of the flat list, as the next two
            second: Any = None  # Any: as above
            result: Any  # Any: as above
            if count == 2:
                first, second = meet(inputs[0]), meet(inputs[1])
            elif count == 1:
                first = meet(inputs[0])
            else:
                first, second = MANY, [meet(store) for store in inputs]
            many = None
            if len(outputs) == 1:
                result = meet(outputs[0])
            else:
                result, many = [meet(store) for store in outputs], MANY
            lane, place = here["lane"], None
            if lines and lane != "backward":
                place = here["caller"] or caller()
            extend((plan, start, end, lane, here["layer"], node and node.id, here["thread"], first, second, result, many, None,
                    place, 0))
            if start > due:
                due = more(start)

        return op

    def _make_call(self) -> Callable[..., None]:
        """Build the hot function; a closure, because looking up cells is faster than attributes.

        It is written out, because each call of a function costs a twentieth of all that it does.
        """
        extend, meet, introduce, more = self._extend, self._meet, self._introduce, self._more
        died, reference, references, frame_at = self._died, weakref.ref, weakref.getweakrefcount, sys._getframe
        lines, due, ndarray, state, inner = self.lines, 0, np.ndarray, hooks.state, hooks.inner
        caller, based, described = hooks.caller, self._base, self._described
        began = self._began

        def call(plan: Plan, start: int, end: int, inputs: Sequence[Marked], array: Marked, node: Node | None) -> None:
            """Note that an operator ran on array objects, and gave a new one."""
            nonlocal due
            here = state.__dict__
            count = len(inputs)
            left: Any  # Any: an array, or None where there are no inputs
            first: Any  # Any: items of the flat list, as those below
            second: Any  # Any: as above
            third: Any  # Any: as above
            result: Any  # Any: as above
            layout: Any  # Any: as above
            place: Any  # Any: as above
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
                first, second = MANY, [source._seen if source._seen >= began else introduce(source) for source in inputs]
            if node is None:
                node = here["node"]
            lane, place, instruction = here["lane"], None, 0
            if lane != "backward" and lines:
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
            store = array._store
            if references(store):
                # It was there before: nearly always what the operator wrote to.
                result = (first if first is not MANY else second[0]) if count and left._store is store else meet(store)
                extend((plan, start, end, lane, here["layer"], node and node.id, here["thread"], first, second, result, None,
                        None, place, instruction))
            elif store.__class__ is ndarray:
                result, layout = reference(store, died), array._layout
                base = store.base
                if base is not None:
                    # Nearly always a view of the input, which is known.
                    is_input = first.__class__ is int and left._store is base
                    result, layout = (VIEW, result, first if is_input else based(base), layout, store.dtype), VIEW
                extend((plan, start, end, lane, here["layer"], node and node.id, here["thread"], first, second, result, layout,
                        store.dtype, place, instruction))
                # Last, so that an interrupt cannot leave a mark without a note.
                array._seen = start
            else:
                sparse = hasattr(store, "components")
                result = described(store) if sparse else meet(store)
                extend((plan, start, end, lane, here["layer"], node and node.id, here["thread"], first, second, result,
                        SPARSE if sparse else None, None, place, instruction))
                if sparse:
                    store._seen = start
            if start > due:
                due = more(start)

        return call

    def _introduce(self, array: Marked) -> NoteItem:
        """What stands for an array object that this recorder has not marked; from now on a number, unless it is sparse."""
        store = array._store
        if store.__class__ is not np.ndarray and hasattr(store, "components"):
            return self._sparse(store)
        part = self._meet(store)
        owner = owner_of(part)
        if owner.__class__ is not weakref.ref:
            return part
        mark = self.reader.numbers.get(id(owner))
        if mark is None:
            mark = self.reader.numbers[id(owner)] = time.perf_counter_ns()
            self._extend((MET, mark, mark, "", "", None, 0, (mark, part), None, None, None, None, None, 0))
        # Only now, so that no other thread can note it before the note that says what it means.
        array._seen = mark
        return mark

    def span(self, name: str, lane: str, start: int, end: int, args: Attrs) -> None:
        """Note anything else that took time."""
        self._note(SPAN, start, end, lane, (str(name), args))

    def read(self, name: str, start: int, arrays: Iterable[tuple[Marked, str]], args: Attrs) -> None:
        """Note that a batch was read: one note for the span and for what its arrays are."""
        introduce, began = self._introduce, self._began
        parts = [(array._seen if array._seen >= began else introduce(array), owner) for array, owner in arrays]
        self._note(READ, start, time.perf_counter_ns(), "io", (name, args), parts)

    def densify(self, record: hooks.Densification, store: object = None) -> None:  # object: ``meet`` asks what it is
        """Note that a sparse array implicitly became the dense ``store``."""
        now = time.perf_counter_ns()
        self._note(DENSIFY, now, now, hooks.state.lane, record, None if store is None else self._meet(store))

    def flowed(self, source: Array, target: Array) -> None:
        """Note that values of one dense store were written to another by no operator."""
        now = time.perf_counter_ns()
        self._note(FLOWED, now, now, "", self._meet(source), self._meet(target))

    def mark(self, kind: str, name: str, value: object, unit: str = "") -> None:  # object: what the user marks
        """Note an instant: a marker or the new value of a counter, in ``unit``."""
        now = time.perf_counter_ns()
        self._note(kind, now, now, "user", (str(name), value, unit))

    def assign(self, array: Marked, role: str, owner: str, mark: int = 0, before: bool = False) -> None:
        """Note that an NDArray serves as ``role`` for ``owner``, however its components change.

        ``mark`` is what its components were known by in another array that they come from, and ``before`` says that
        it had that role before the profile began.
        """
        missed = array._layout.missed
        store, now = array._store if missed is None else missed.store_of(array), time.perf_counter_ns()
        sparse = store.__class__ is not np.ndarray and hasattr(store, "components")
        # Inputs come and go with each batch, and keep their components.
        if sparse and role != "input":
            held = self._lasting.get(id(store))
            if held is None or held[0]() is not store or held[1:] != (role, owner):
                self._lasting[id(store)] = (weakref.ref(store), role, owner)
                mark = 0
            store._seen = mark
        # Any: an item of the flat list
        part: Any = self._sparse(store) if sparse else self._meet(store)
        self._extend((ASSIGN, now, now, "", "", None, hooks.state.__dict__["thread"], (part, role, owner, before), None, None,
                      None, None, None, 0))
        if not sparse and part.__class__ is not weakref.ref and part[0].__class__ is weakref.ref:
            array._seen = now

    def holder(self, memory: Torch) -> TorchReference:
        """The weak reference that stands for memory of another library; the caller makes one for each piece of it."""
        return weakref.ref(memory, self._died)

    def foreign(self, plan: Plan, start: int, end: int, where: tuple[str, str, int | None, Place], inputs: list[NoteItem],
                outputs: list[NoteItem]) -> None:
        """Note that an operator of another library ran; ``where`` is its lane, layer, recorded node and the user's line."""
        lane, layer, node, place = where
        if len(outputs) == 1:
            result, many = outputs[0], None
        else:
            result, many = outputs, MANY
        self._extend((plan, start, end, lane, layer, node, hooks.state.__dict__["thread"], MANY, inputs, result, many, None,
                      place, 0))
        if start > self._due:
            self._due = self._more(start)

    def foreign_role(self, part: NoteItem, role: str, owner: str, before: bool) -> None:
        """Note what an array of another library serves as, as ``assign`` does."""
        now = time.perf_counter_ns()
        self._extend((ASSIGN, now, now, "", "", None, hooks.state.__dict__["thread"], (part, role, owner, before), None, None,
                      None, None, None, 0))

    def foreign_dense(self, record: hooks.Densification, part: NoteItem) -> None:
        """Note that a sparse array of another library implicitly became the dense one that ``part`` stands for."""
        now = time.perf_counter_ns()
        self._note(DENSIFY, now, now, hooks.state.lane, record, part)

    # object: items of the flat list
    def _note(self, kind: str, start: int, end: int, lane: str, content: object, parts: object = None) -> None:
        here = hooks.state.__dict__
        placed = self.lines and kind not in (DENSIFY, FLOWED) and lane != "profiler"
        place = (here["caller"] or hooks.caller()) if placed else None
        self._extend((kind, start, end, lane, here["layer"], None, here["thread"], content, parts, None, None, None, place, 0))
        if (len(self._notes) + self._items) // STRIDE + self._tabled > self.waiting:
            self.hand_over()

    # Any: stores, and ``meet`` asks what they are
    def table(self, timed: Timed, ran: tuple[tuple[Event, ...], int, int, int], slots: Sequence[int],
              arrays: Sequence[Marked], left: Sequence[int], results: Sequence[Any],  # Any: as above
              stores: Sequence[tuple[int, Any]] = (), views: Sequence[tuple[int, Any]] = (), kept: Sequence[Marked] = (),
              depth: int = 2) -> None:
        """Note that operators of a table ran: one note for all of them; ``slots`` are those of ``arrays`` and ``kept``."""
        events, start, stop, first = ran
        marks = [array._seen if array._seen >= self._began else self._introduce(array) for array in kept]
        extra = None
        if stores or views:
            extra = ([(slot, self._meet(store)) for slot, store in stores],
                     [(slot, [self._reference(getattr(store, name)) for name in store.components] if hasattr(store, "components")
                       else [self._reference(store)]) for slot, store in views])
        common = slots, marks, left, timed.token, (events, start, stop), timed.account
        self.reserved[timed.token] = timed.reserved
        self._note_table(timed, common, arrays, first, results, extra, depth + 1)

    # Any: what is the same for many notes
    def _note_table(self, timed: Timed, common: tuple[Any, ...], arrays: Sequence[Marked], first: int,
                    results: Sequence[Any], extra: tuple[Any, Any] | None, depth: int) -> None:  # Any: as above; parts of a note
        here, began = hooks.state.__dict__, self._began
        marks: list[Any] = []  # Any: items of the flat list
        for array in arrays:
            mark: Any = array._seen  # Any: as above
            marks.append(mark if mark >= began else self._introduce(array))
        place = (here["caller"] or hooks.caller(depth=depth)) if self.lines else None
        died, copies = self._died, []  # which nothing has met
        for store in results:
            copies.append((weakref.ref(store, died), store.shape, store.dtype) if store.__class__ is np.ndarray
                          else self._meet(store))
        self._extend((TABLE, common, marks, here["lane"], first, copies, here["thread"], timed.readings.tobytes(), extra, None,
                      None, None, place, 0))
        _, start, stop = common[4]
        self._tabled += stop - start
        if self._tabled > self._looked + OFTEN:
            self._looked = self._tabled
            self._more(0)

    def freed(self, token: object) -> None:  # object: stands for the memory of a table
        """Note that nothing reads any more what the last run of a table kept in its memory."""
        now = time.perf_counter_ns()
        self._extend((FREED, now, now, "", "", None, 0, token, None, None, None, None, None, 0))

    def _reference(self, array: Array) -> weakref.ref[Array]:
        """The weak reference that stands for a view of a table's memory."""
        existing: list[weakref.ref[Array]] = [candidate for candidate in weak_references(array)
                                              if candidate.__callback__ is self._died]
        return existing[0] if existing else weakref.ref(array, self._died)

    def _base(self, base: object) -> Any:  # object: whatever owns the memory of a view; Any: an item of the flat list
        """What stands for the array that a view's memory belongs to; None if that cannot be followed.

        For a base that is not an array (numba's, a file's), the view itself is noted.
        """
        return self._meet(base) if base.__class__ is np.ndarray or hasattr(base, "dtype") else None

    def _make_meet(self) -> Callable[[Any], Any]:  # Any: a store, asked there what it is; an item of the flat list
        """Build the function that gives what stands for a store: the weak reference made when it was first met, or more."""
        reference, references, count, died = weakref.ref, weak_references, weakref.getweakrefcount, self._died
        ndarray, itself = np.ndarray, weakref.ref(self)

        def meet(store: Any) -> Any:  # Any: as above
            if count(store):
                for existing in references(store):
                    if existing.__callback__ is died:
                        return existing
            if store.__class__ is ndarray:
                base = store.base
            elif hasattr(store, "components"):
                return itself()._sparse(store)  # type: ignore[union-attr]  # the recorder has this function
            elif store is None or not hasattr(store, "dtype"):
                return NOTHING
            else:
                base = getattr(store, "base", None)
            try:
                new = reference(store, died)
            except TypeError:
                return None, store.shape, store.dtype
            if base is None:
                return new, store.shape, store.dtype
            return VIEW, new, itself()._base(base), store.shape, store.dtype  # type: ignore[union-attr]  # as above

        return meet

    def _sparse(self, store: Any) -> int:  # Any: what has components, which ``assign`` and ``meet`` ask
        """The number that stands for a sparse store as long as its components are not replaced, which takes the mark away."""
        mark: int = store._seen
        if mark >= self._began:
            return mark
        mark = time.perf_counter_ns()
        self._extend((MET, mark, mark, "", "", None, 0, (mark, self._described(store)), None, None, None, None, None, 0))
        store._seen = mark
        return mark

    def _described(self, store: Any) -> tuple[Any, ...]:  # Any: as in ``_sparse``; items of the flat list
        """A sparse store by its storage type, shape, components and lasting role."""
        meet, role = self._meet, self._lasting.get(id(store))
        parts = tuple([meet(getattr(store, name)) for name in store.components])
        return store.stype, store.shape, parts, None if role is None or role[0]() is not store else role[1:]

    def hand_over(self) -> None:
        """Hand over the waiting events, unless another thread holds the lock."""

        def work() -> int:
            if not self.lock.acquire(blocking=False):
                return 0
            try:
                begin = time.perf_counter_ns()
                self.drain()
                return begin
            finally:
                self.lock.release()

        begin = undisturbed(work)
        if begin:
            self.span("digest", "profiler", begin, time.perf_counter_ns(), {})

    def drain(self) -> None:
        """Hand over the waiting events; the caller holds the lock, and cannot be interrupted."""
        # Much is made here that stays; the garbage collector would look at all of it again and again.
        collects = gc.isenabled()
        gc.disable()
        try:
            self._tabled = self._looked = 0
            self._put_aside()
            parts = self._noted[:]
            # Other threads only append, so what was copied is what stands in front.
            del self._noted[: len(parts)]
            notes, self._items = [*itertools.chain.from_iterable(filter(None, parts))], 0
            place = 0
            while place < len(notes):
                events: list[Operation | Note] = []
                place = self.reader.read(notes, place, events)
                self._digest(events, self.reader.dead)
            if len(self._lasting) > 10_000:
                self._lasting = {key: held for key, held in list(self._lasting.items()) if held[0]() is not None}
        finally:
            if collects:
                gc.enable()


def _ended(*_: object) -> None:  # object: arguments of ``op`` or of ``call``
    """What an operator is noted by that began while a profiler recorded and ended after it."""
