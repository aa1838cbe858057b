"""The event buffer of a recorder: a flat list of plain items, and its reader, which makes tuples of events.

Notes follow each other without borders: ``STRIDE`` items for what happened, one weak reference for an array that died.
"""

from __future__ import annotations

import collections
import weakref
from typing import Any

from .allocations import Allocation, Sparse, View

__all__ = ["ASSIGN", "COUNTER", "DENSIFY", "FLOWED", "MANY", "MARKER", "MET", "NOTHING", "READ", "SPAN", "SPARSE", "STRIDE",
           "VIEW", "Reader", "owner_of"]

#: First element of the tuples of events other than operators.
SPAN, ASSIGN, DENSIFY, FLOWED, MARKER, COUNTER = "span", "assign", "densify", "flowed", "marker", "counter"

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

#: First of a note that assigns a number to an array.
MET = "met"

#: First of a note that a batch was read: a span, and roles of its arrays.
READ = "read"

#: Events digested in one go: few enough to stay in the processor's cache.
SLICE = 4096


class Reader:
    """Turns notes into events, and maps references and numbers to arrays while these live.

    An operator becomes ``(plan, start, end, lane, layer, node id, thread, inputs, outputs, deaths, place, instruction)``,
    where arrays are ``allocations.Allocation``, ``View`` and ``Sparse``, outputs is a list unless there is one, deaths is
    how many allocations had been freed by then, and place is a code object with its instruction, or what ``hooks.caller``
    gave.  Everything else begins with one of five names of this module and has its content in the place of the inputs.

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
        self._entries: dict[int, Any] = {}
        self._marked: dict[int, Any] = {}

    def read(self, notes: list[Any], place: int, events: list[Any]) -> int:
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
                    self._stand_for(number, unfold(part), owner_of(part))
                    continue
                content = first
                if plan is READ:
                    events += [(ASSIGN, end, end, "", "", None, thread, (unfold(part), "input", owner, False), None,
                                self._deaths, None, 0) for part, owner in second]
                    plan = SPAN
                elif plan is DENSIFY:
                    content = first, None if second is None else unfold(second)
                elif plan is FLOWED:
                    content = unfold(first), unfold(second)
                elif plan is ASSIGN:
                    entry = unfold(first[0])
                    content = (entry, *first[1:])
                    if entry.__class__ is Allocation:
                        self._stand_for(start, entry, entry.reference)
                events.append((plan, start, end, lane, layer, node, thread, content, None, self._deaths, where, 0))
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
                self._stand_for(start, outputs, owner_of(given))
            else:
                made = marked[start] = Allocation(given, layout.shape, dtype, [start])
                outputs = entries.setdefault(id(given), made)
                if outputs is not made:  # another thread's note of the same array came first
                    marked[start] = outputs
                    outputs.marks.append(start)
            events.append((plan, start, end, lane, layer, node, thread, inputs, outputs, self._deaths, where, instruction))
        return place

    def entry(self, reference: Any) -> Any:
        """What stands for the array of a weak reference; None if nothing does."""
        return self._entries.get(id(reference))

    def _free(self, reference: Any) -> None:
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

    def _piece(self, reference: Any, shape: tuple[int, ...], dtype: Any) -> Allocation:
        made = self._entries[id(reference)] = Allocation(reference, shape, dtype, [])
        return made

    def _view(self, reference: Any, base: Any, shape: Any, dtype: Any) -> Any:
        shape = shape if shape.__class__ is tuple else shape.shape
        if base is None:
            return self._piece(reference, shape, dtype)
        owners = self._entry_of(base).owners()
        made = self._entries[id(reference)] = View(owners[0][0] if owners else None, shape, dtype, reference)
        return made


def owner_of(part: Any) -> Any:
    """The weak reference with whose array a part is forgotten."""
    if part.__class__ is weakref.ref:
        return part
    return part[1] if part[0] is VIEW else owner_of(part[2][0]) if len(part) == 4 else part[0]
