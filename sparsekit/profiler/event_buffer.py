"""The event buffer of a recorder: a flat list of plain items, and its reader, which makes records of events.

Notes follow each other without borders: ``STRIDE`` items for what happened, one weak reference for an array that died.
"""

from __future__ import annotations

import collections
import math
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from .allocations import Allocation, Sparse, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import CodeType

    from ..base.types import Array, Attrs, DType, Shape
    from ..core.hooks import Account, Densification, Piece, Recipe
    from .allocations import Entry
    from .types import NoteItem

#: Kinds of notes.
SPAN, ASSIGN, DENSIFY, FLOWED, MARKER, COUNTER = "span", "assign", "densify", "flowed", "marker", "counter"

#: Stands for an input that was left out.
NOTHING: tuple[None, tuple[int, ...], None] = (None, (), None)


class Operator(Protocol):
    """What the profiler reads of an operator's record."""

    name: str
    lane: str | None


class Plan(Protocol):
    """What the profiler reads of a plan of the dispatcher."""

    @property
    def op(self) -> Operator:
        """Its operator."""
    @property
    def attrs(self) -> Attrs:
        """The operator's attributes."""
    @property
    def fallback(self) -> bool:
        """Whether sparse inputs became dense first, because no row fits."""


#: The user's line: a code object, or one with its instruction.
Place: TypeAlias = "CodeType | tuple[CodeType, int] | None"


class Operation(NamedTuple):
    """One operator that ran.

    Attributes
    ----------
    plan : Plan
    start, end : int
        Readings of the clock, in nanoseconds.
    lane, layer : str
    node : int or None
    thread : int
    inputs : sequence of Allocation, View or Sparse
    outputs : Allocation, View or Sparse, or a list of them if there are several
    deaths : int
        How many allocations had been freed by then.
    place : code object, or what ``hooks.caller`` gave, or None
    instruction : int
        That of the code object, if ``place`` is one.
    """

    plan: Plan
    start: int
    end: int
    lane: str
    layer: str
    node: int | None
    thread: int
    inputs: tuple[Entry, ...] | list[Entry]
    outputs: Entry | list[Entry]
    deaths: int
    place: Place
    instruction: int


class Span(NamedTuple):
    """Anything else that took time: a compilation, a transfer, a batch read."""

    name: str
    arguments: dict[str, Any]  # Any: plain data of whoever noted the span


class Assignment(NamedTuple):
    """What an array serves as; ``before`` says that it did so before the profile began."""

    entry: Entry
    role: str
    owner: str
    before: bool


class Densified(NamedTuple):
    """A sparse array became the dense ``entry``."""

    record: Densification
    entry: Entry | None


class Flow(NamedTuple):
    """Values of one dense array were written to another by no operator."""

    source: Entry
    target: Entry


class Mark(NamedTuple):
    """A marker, or the new value of a counter."""

    name: str
    value: Any  # Any: what the user marked
    unit: str


class Note(NamedTuple):
    """Whatever happened that is not an operator; the kind is that of the content, or one of ``MARKER`` and ``COUNTER``."""

    kind: str
    start: int
    end: int
    lane: str
    layer: str
    thread: int
    content: Span | Assignment | Densified | Flow | Mark
    deaths: int
    place: tuple[CodeType, int] | None


class _TableState:
    """What stands for the arrays of a table.

    Attributes
    ----------
    entries, buffers : dict
        By slot and by number, in the run that is read.
    kept : dict
        By number, the buffers that the last run left to be read by others.
    reached : int
        How far that run has been read.
    begun : int
        When it began.
    """

    __slots__ = ("begun", "buffers", "entries", "kept", "reached")

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.buffers: dict[int, Allocation] = {}
        self.kept: dict[int, Allocation] = {}
        self.reached = self.begun = 0


#: Items that one event takes; a death takes one.
STRIDE = 14

#: Stands in the first place if there are more inputs than two or none, and in that of the layout for several outputs.
MANY = "many"

#: First of the five items that stand for a view when it is first met: its weak reference, what stands for its base, and
#: its layout or shape, and element type.
VIEW = "view"

#: First of the five items that stand for an array of another library: the weak reference to what holds its memory, the bytes
#: of that, and the array's shape and element type.
HELD = "held"

#: In the place of the layout: a sparse array that is first met, described by the result.
SPARSE = "sparse"

#: First of a note that assigns a number to an array.
MET = "met"

#: First of a note that a batch was read: a span, and roles of its arrays.
READ = "read"

#: First of a note that operators of a table ran, and of one that nothing reads what a table kept.
TABLE, FREED = "table", "freed"

#: Events digested in one go: few enough to stay in the processor's cache.
SLICE = 4096


class Reader:
    """Turns notes into events, and maps references and numbers to arrays while these live.

    An operator becomes an ``Operation``, everything else a ``Note``; arrays are ``allocations.Allocation``, ``View`` and
    ``Sparse``.

    Attributes
    ----------
    dead : deque of Allocation
        In the order in which they were freed; the consumer of the events removes them.
    numbers : dict
        By the address of a weak reference, the number that was given to an array met again.
    """

    def __init__(self) -> None:
        self.dead: collections.deque[Allocation] = collections.deque()
        self.numbers: dict[int, int] = {}
        # How many were in ``dead``; what a weak reference, by its address, or a number in a note stands for.
        self._deaths = 0
        self._entries: dict[int, Allocation | View] = {}
        self._marked: dict[int, Entry] = {}
        #: By the object that stands for a table, which is kept alive.
        self._tables: dict[object, _TableState] = {}

    # Any: notes are one flat list of items of all types
    def read(self, notes: list[Any], place: int, events: list[Operation | Note]) -> int:
        """Append the records of some notes to ``events``; gives where the next begins."""
        unfold, count, reference, new = self._entry_of, len(notes), weakref.ref, tuple.__new__
        entries, marked = self._entries, self._marked
        while place < count and len(events) < SLICE:
            plan = notes[place]
            if plan.__class__ is reference:
                self._free(plan)
                place += 1
                continue
            _, start, end, lane, layer, node, thread, first, second, result, layout, dtype, where, instruction = notes[
                place: place + STRIDE]
            place += STRIDE
            if plan.__class__ is str:
                if plan is MET:
                    number, part = first
                    self._stand_for(number, unfold(part), owner_of(part))
                    continue
                if plan is TABLE:
                    self._table(start, [unfold(part) for part in (*end, *start[1])], layer, [unfold(part) for part in node],
                                first, second, (lane, thread, where), events)
                    continue
                if plan is FREED:
                    state = self._tables.get(first)
                    if state is not None:
                        self._bury(state.kept.values())
                        state.kept = {}
                    continue
                content: Span | Assignment | Densified | Flow | Mark
                if plan is READ:
                    events += [Note(ASSIGN, end, end, "", "", thread, Assignment(unfold(part), "input", owner, False),
                                    self._deaths, None) for part, owner in second]
                    plan, content = SPAN, Span(*first)
                elif plan is SPAN:
                    content = Span(*first)
                elif plan is DENSIFY:
                    content = Densified(first, None if second is None else unfold(second))
                elif plan is FLOWED:
                    content = Flow(unfold(first), unfold(second))
                elif plan is ASSIGN:
                    entry = unfold(first[0])
                    content = Assignment(entry, *first[1:])
                    if entry.__class__ is Allocation:
                        self._stand_for(start, entry, entry.reference)
                else:
                    content = Mark(*first)
                events.append(Note(plan, start, end, lane, layer, thread, content, self._deaths, where))
                continue
            if first is MANY:
                inputs: tuple[Entry, ...] | list[Entry] = [unfold(part) for part in second]
            elif second is None:
                inputs = (marked.get(first) or unfold(first),) if first.__class__ is int else (unfold(first),)
            elif first.__class__ is int and second.__class__ is int:
                inputs = marked.get(first) or unfold(first), marked.get(second) or unfold(second)
            else:
                inputs = unfold(first), unfold(second)
            if layout is None:
                outputs: Entry | list[Entry] = unfold(result)
            elif layout is MANY:
                outputs = [unfold(part) for part in result]
            elif layout is VIEW or layout is SPARSE:
                outputs = entry = unfold(result)
                self._stand_for(start, entry, owner_of(result))
            else:
                allocation = marked[start] = Allocation(result, layout.shape, dtype, [start])
                outputs = held = entries.setdefault(id(result), allocation)
                if held is not allocation:  # another thread's note of the same array came first
                    marked[start] = held
                    held.marks.append(start)
            events.append(new(Operation, (plan, start, end, lane, layer, node, thread, inputs, outputs, self._deaths, where,
                                          instruction)))
        return place

    # Any: what ``Recorder.table`` notes of many runs at once; items of the flat list
    def _table(self, common: tuple[Any, ...], brought: Sequence[Entry], first: int, copies: Sequence[Entry], noted: bytes,
               extra: tuple[Any, Any] | None, where: tuple[str, int, Place],  # Any: as above
               events: list[Operation | Note]) -> None:
        """Append the operations of a table, as ``Recorder.table`` noted them."""
        slots, _, left, token, (ran, start, stop), account = common
        results = dict(zip(left, copies, strict=True))
        lane, thread, place = where
        state = self._tables.get(token)
        if state is None:
            state = self._tables[token] = _TableState()
        began, moments, sizes = account.read(noted)
        if not start:
            state.entries, state.buffers, state.reached, state.begun = {}, {}, 0, began
        elif state.begun != began:
            return  # the run began before this recorder did, in another thread
        entries, recipes, constants, new = state.entries, account.recipes, account.constants, tuple.__new__
        entries.update(zip(slots, brought, strict=False))
        stores, views = extra or ((), ())
        entries.update([(slot, self._entry_of(part)) for slot, part in stores])
        if not (moments[start + 1: stop + 1] > moments[start: stop]).all():  # no two at once, to keep their order
            steps = np.arange(len(moments))
            moments = np.maximum.accumulate(moments - steps) + steps
        times = moments.tolist()
        for event in ran[state.reached: start]:
            self._release(event.freed, state)
        for number, (plan, own, layer, link, taken, written, freed) in enumerate(ran[start: stop], start):
            begun, ended = times[number: number + 2]
            for slot in written:
                entries[slot] = results.pop(slot) if slot in results else self._made(recipes[slot], state, account, sizes)
            inputs = [entries[slot] if slot in entries else self._made(constants[slot], state, account, sizes) for slot in taken]
            outputs = entries[written[0]] if len(written) == 1 else [entries[slot] for slot in written]
            node, own = first + link if first and link >= 0 else None, own or lane
            events.append(new(Operation, (plan, begun, ended, own, layer, node, thread, inputs, outputs,
                                          self._deaths, None if own == "backward" else place, 0)))
            for slot in written:
                if recipes[slot].parameter and recipes[slot].stype == "default":
                    events.append(Note(ASSIGN, ended, ended, "", "", thread, Assignment(
                        entries[slot], "gradient", recipes[slot].parameter, False), self._deaths, None))
            if freed:
                self._release(freed, state)
        state.reached = stop
        for slot, target in results.items():  # copied when the operator had been read
            events.append(Note(FLOWED, times[-1], times[-1], "", "", thread, Flow(entries[slot], target), self._deaths, None))
        for slot, references in views:
            entry = entries[slot]
            parts: Sequence[Any] = entry.parts or (entry,)  # Any: dense entries
            for part, reference in zip(parts, references, strict=True):
                if self._entries.get(id(reference)).__class__ is not Allocation:
                    self._entries[id(reference)] = View(_owner(part), part.shape, part.dtype, reference)

    def _made(self, recipe: Recipe, state: _TableState, account: Account, sizes: Sequence[int]) -> Entry:
        """What an operator of a table gave."""
        if recipe.same >= 0:
            return state.entries[recipe.same]
        parts = [self._part(piece, state, account, sizes) for piece in recipe.pieces]
        if recipe.stype == "default":
            return parts[0]
        return Sparse(recipe.stype, recipe.shape, tuple(parts), ("gradient", recipe.parameter) if recipe.parameter else None)

    def _part(self, piece: Piece, state: _TableState, account: Account, sizes: Sequence[int]) -> Allocation | View:
        shape = piece.shape
        if shape is None:
            shape = tuple([length if size < 0 else sizes[size] * length for size, length in piece.lengths])
        if piece.buffer < 0:
            slot, place = piece.owner
            entry = state.entries.get(slot)
            return View(None if entry is None else _owner(entry.parts[place] if entry.parts else entry), shape, piece.dtype)
        owner = state.buffers.get(piece.buffer)
        if owner is not None:
            return View(owner, shape, piece.dtype)
        allocation = state.buffers[piece.buffer] = Allocation(None, shape, piece.dtype, [])
        if piece.buffer in account.kept:
            if piece.buffer in state.kept:
                self._bury([state.kept[piece.buffer]])
            state.kept[piece.buffer] = allocation
        return allocation

    def _release(self, numbers: Iterable[int], state: _TableState) -> None:
        """Note that nothing uses some buffers any more."""
        self._bury([state.buffers.pop(number) for number in numbers if number in state.buffers])

    def _bury(self, allocations: Iterable[Allocation]) -> None:
        """Note that memory of tables is not in use any more."""
        for allocation in allocations:
            self.dead.append(allocation)
            self._deaths += 1

    def entry(self, reference: weakref.ref[Array]) -> Allocation | View | None:
        """What stands for the array of a weak reference; None if nothing does."""
        return self._entries.get(id(reference))

    def _free(self, reference: weakref.ref[Array]) -> None:
        """Forget an array that was freed, whose address may come again, and note it if it had memory of its own."""
        entry = self._entries.pop(id(reference), None)
        self.numbers.pop(id(reference), None)
        if entry is None:
            return
        for number in entry.marks:
            self._marked.pop(number, None)
        if entry.__class__ is Allocation:
            self.dead.append(entry)
            self._deaths += 1

    def _stand_for(self, number: int, entry: Entry, owner: weakref.ref[Array] | None) -> None:
        """Remember what a number stands for, until its array is freed."""
        self._marked[number] = entry
        held = self._entries.get(id(owner))
        if held is not None:
            held.marks.append(number)

    def _entry_of(self, part: Any) -> Entry:  # Any: an item of the flat list, a number, a weak reference or a tuple
        if part.__class__ is int:
            return self._marked.get(part) or View(None, (), None)
        if part.__class__ is weakref.ref:
            entry = self._entries.get(id(part))
            if entry is None:
                # Another thread met the array first, but its note comes later.
                array = part()
                if array is None:
                    return View(None, (), None)
                owned = getattr(array, "base", None) is None
                entry = self._piece(part, array.shape, array.dtype) if owned else View(None, array.shape, array.dtype)
            return entry
        if part[0].__class__ is weakref.ref:
            return self._entries.get(id(part[0])) or self._piece(*part)
        if part[0] is VIEW:
            return self._entries.get(id(part[1])) or self._view(*part[1:])
        if part[0] is HELD:
            return self._held(*part[1:])
        if len(part) == 4:
            stype, shape, parts, role = part
            return Sparse(stype, tuple(shape), tuple([self._entry_of(item) for item in parts]), role)
        return View(None, *part[1:])

    def _piece(self, reference: weakref.ref[Array], shape: Shape, dtype: DType) -> Allocation:
        allocation = self._entries[id(reference)] = Allocation(reference, shape, dtype, [])
        return allocation

    # Any: items of the flat list, as in ``_entry_of``; a shape or a layout
    def _view(self, reference: weakref.ref[Array], base: Any, shape: Any, dtype: DType) -> Allocation | View:
        shape = shape if shape.__class__ is tuple else shape.shape
        if base is None:
            return self._piece(reference, shape, dtype)
        owners = self._entry_of(base).owners()
        view = self._entries[id(reference)] = View(owners[0][0] if owners else None, shape, dtype, reference)
        return view

    # Any: whatever holds the memory
    def _held(self, reference: weakref.ref[Any], size: int, shape: Shape, dtype: DType) -> Allocation | View:
        """An array of another library: the memory itself if it fills that, and else a view."""
        memory = self._entries.get(id(reference))
        if not isinstance(memory, Allocation):
            fills = math.prod(shape) * dtype.itemsize == size
            memory = self._piece(reference, shape if fills else (size // dtype.itemsize,), dtype)
        return memory if memory.shape == shape and memory.dtype is dtype else View(memory, shape, dtype)


def _owner(entry: Entry) -> Allocation | None:
    """The allocation that a dense array lies in."""
    return entry if isinstance(entry, Allocation) else getattr(entry, "owner", None)


def owner_of(part: NoteItem) -> weakref.ref[Array] | None:
    """The weak reference with whose array a part is forgotten."""
    if part.__class__ is weakref.ref:
        return part
    return part[1] if part[0] is VIEW or part[0] is HELD else owner_of(part[2][0]) if len(part) == 4 else part[0]
