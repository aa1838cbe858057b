"""Memory over time: allocations, frees and roles, replayed from the recorder's events in the order in which they happened."""

from __future__ import annotations

import collections
import itertools
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .allocations import UNCOUNTED, Allocation, AllocationKind, Sparse, View
from .columns import SCHEMA
from .columns import dtype_of as column_type
from .describe import dtype_of, size_of
from .event_buffer import Assignment, Note, Operation

if TYPE_CHECKING:
    from ..base.types import Array, Shape
    from .allocations import Entry
    from .columns import Given

#: Allocations and frees that are kept one by one, of 16 bytes each; above that, states between the highest ones are left out.
MAX_CHANGES = 4_000_000

#: States that stand for the older half of so many changes.
COARSE = 4096

#: Kinds of results that are kept at hand.
MOST_MOLDS = 10_000

ROLE_OF_OUTPUT = {"forward": "activation", "io": "input", "transfer": "input"}
#: Columns of the table of changes, without that of the run.
_CHANGES = {name: column_type(SCHEMA["changes"][name]) for name in ("time", "holding", "count", "met")}
_ROLE_OF_INPUT = {"forward": "input", "io": "input", "transfer": "input"}
_NO_ROLES: dict[str, str] = {}


class Holding(NamedTuple):
    """What pieces of memory that are alike have in common, as a row of the table of that name."""

    role: str
    owner: str
    layer: str
    stype: str
    component: str
    shape: Shape
    part: Shape
    dtype: str
    bytes: int


class MemoryTracker:
    """Replays allocations, frees and roles in the order in which they happened.

    An array counts from the end of the event that first mentions it until it is freed.  One that had its
    role before the profile began (a parameter) counts from the very start, if any event mentions it at all:
    arrays of other models are not part of this run, and only summed up as idle.  What is
    freed between two operators goes before the second one allocates; what is freed inside an
    operator (the dense copies of a fallback) goes after, since it was there together with the result.
    """

    def __init__(self) -> None:
        #: Most rows that a row_sparse gradient of each parameter stored.
        self.gradient_rows: dict[str, int] = {}
        #: Arrays made and freed inside one event: (operator, layer) -> [number, bytes, most bytes in one event].
        self.temporaries: dict[tuple[str, str], list[int]] = {}
        # Allocations that were there before and that no event mentioned yet.
        self._before: dict[Allocation, int] = {}
        #: For row_sparse gradients among these: the parameter, and the rows.
        self._rows_before: dict[Allocation, tuple[str, int]] = {}
        self._consumed = 0
        self._count = 0
        self._last_start: dict[int, int] = {}
        self._now = 0
        # Since the last reading: when each piece of memory came or went, and 4 times the number of its holding, + 2 if no
        # operator made it, + 1 if it went.
        self._times, self._codes = array("q"), array("q")
        # What has been read; what it begins with, which was there from the beginning; and how many of the next are put together.
        self._changes = {name: np.zeros(0, dtype) for name, dtype in _CHANGES.items()}
        self._first: list[tuple[int, int]] = []
        self._coarse = 0
        self._base: dict[int, int] = {}
        self._holdings: dict[Holding, int] = {}
        # What an operator makes, by the addresses of its plan and of the element type, which are kept alive.
        self._allocation_kinds: dict[tuple[Any, ...], tuple[AllocationKind, Any]] = {}

    def prepare(self, events: list[Operation | Note]) -> None:
        """Learn the roles first: a role holds for the whole life of an array, also before it was given."""
        for event in events:
            if isinstance(event, Operation):
                outputs = event.outputs
                for entry in (*event.inputs, *outputs) if isinstance(outputs, list) else (*event.inputs, outputs):
                    if isinstance(entry, Sparse) and entry.given is not None:
                        self._give(entry, *entry.given)
                if (event.lane == "update" or event.plan.op.lane == "update") and not getattr(event.plan, "tells_roles", False):
                    self._infer(event)
            elif isinstance(event.content, Assignment):
                entry, role, owner, before = event.content
                idle = [allocation for allocation, _ in entry.owners() if not allocation.known] if before else []
                self._before.update({allocation: size_of(allocation) for allocation in idle})
                self._give(entry, role, owner, idle)

    def _give(self, entry: Entry, role: str, owner: str, idle: Sequence[Allocation] = ()) -> None:
        if role == "gradient" and entry.stype == "row_sparse":
            rows = int(entry.parts[1].shape[0])
            if idle:  # of another model, perhaps
                self._rows_before.update(dict.fromkeys(idle, (owner, rows)))
            else:
                self._note_rows(owner, rows)
        assigned = role, owner
        entry.number = 0  # it is described anew
        for allocation, _ in entry.owners():
            if allocation.given != assigned:
                allocation.given = assigned
                allocation.number = 0
                if allocation.known and not allocation.freed:
                    self._change_role(allocation, role, owner)

    def _note_rows(self, owner: str, rows: int) -> None:
        self.gradient_rows[owner] = max(rows, self.gradient_rows.get(owner, 0))

    def _infer(self, event: Operation) -> None:
        """An update of a parameter takes its gradient second and its optimizer state after that."""
        inputs = event.inputs
        owners = [allocation.given for allocation, _ in inputs[0].owners()] if inputs else []
        if not owners or owners[0] is None or owners[0][0] != "parameter":
            return
        for place, entry in enumerate(inputs[1:]):
            role = "gradient" if place == 0 else "optimizer state"
            if tuple(entry.shape) == tuple(inputs[0].shape) and all(allocation.given is None for allocation, _ in entry.owners()):
                self._give(entry, role, owners[0][1])

    def replay(self, event: Operation | Note, dead: collections.deque[Allocation], start: int, end: int) -> None:
        """Take one event; ``start`` and ``end`` are in profile time."""
        thread = event.thread
        inside = start < self._last_start.get(thread, -1)
        self._last_start[thread] = start
        released = event.deaths > self._consumed
        if released and not inside:
            self._bury(dead, event.deaths, start)
        if isinstance(event, Operation):
            for entry in event.inputs:
                if not entry.known:
                    self._meet(entry, event, _ROLE_OF_INPUT, end, 1)
            outputs = event.outputs
            for entry in outputs if isinstance(outputs, list) else (outputs,):
                if not entry.known:
                    self._meet(entry, event, ROLE_OF_OUTPUT, end, 0)
        elif isinstance(event.content, Assignment) and not event.content.before and not event.content.entry.known:
            self._meet(event.content.entry, event, _NO_ROLES, end, 0)
        if released and inside:
            self._note_temporaries(event, dead, start)
            self._bury(dead, event.deaths, end)

    def _note_temporaries(self, event: Operation | Note, dead: collections.deque[Allocation], start: int) -> None:
        """Count what was made since ``start`` and is already freed: the dense copies of a fallback, for instance."""
        freed = [allocation for allocation in itertools.islice(dead, event.deaths - self._consumed)
                 if allocation.kind is not UNCOUNTED and allocation.born and allocation.time >= start]
        if not freed or isinstance(event, Note):
            return
        size = sum(allocation.kind.bytes for allocation in freed)
        count = self.temporaries.setdefault((event.plan.op.name, event.layer), [0, 0, 0])
        count[:] = count[0] + len(freed), count[1] + size, max(count[2], size)

    def _meet(self, entry: Entry, event: Operation | Note, roles: dict[str, str], now: int, met: int) -> None:
        """Count the memory of an array that an event mentions for the first time; ``met`` says that no operator made it."""
        entry.known = True
        if entry.__class__ is Allocation:
            if not entry.freed:
                self._count_in(entry, "data", entry, event, roles, now, met)
            return
        for allocation, component in entry.owners():
            if not allocation.known:
                allocation.known = True
                if not allocation.freed:
                    self._count_in(allocation, component, entry, event, roles, now, met)

    def _count_in(self, allocation: Allocation, component: str, entry: Entry, event: Operation | Note, roles: dict[str, str],
                  now: int, met: int) -> None:
        allocation.kind = kind = self._kind_of(allocation, component, entry, event, roles)
        self._count += 1
        if self._before and self._before.pop(allocation, None) is not None:
            if allocation in self._rows_before:
                self._note_rows(*self._rows_before.pop(allocation))
            self._base[kind.number] = self._base.get(kind.number, 0) + 1
            return
        allocation.born, allocation.time = self._count, now
        self._change(now, 4 * kind.number + 2 * met)

    def _change(self, now: int, code: int) -> None:
        """Note that a piece of memory came or went."""
        if now > self._now:
            self._now = now
        self._times.append(self._now)
        self._codes.append(code)
        if len(self._codes) + len(self._changes["time"]) - len(self._first) - self._coarse > MAX_CHANGES:
            self._leave_out()

    def _kind_of(self, allocation: Allocation, component: str, entry: Entry, event: Operation | Note, roles: dict[str, str]
                 ) -> AllocationKind:
        layer, op = event.layer, event.plan.op if isinstance(event, Operation) else None
        source = event.plan if isinstance(event, Operation) else event.kind
        stype, shape = ("default", allocation.shape) if entry.__class__ is View else (entry.stype, entry.shape)
        key = (id(source), event.lane, layer, id(roles), allocation.given, component, stype, shape, allocation.shape,
               id(allocation.dtype))
        cached = self._allocation_kinds.get(key)
        if cached is not None:
            return cached[0]
        if len(self._allocation_kinds) > MOST_MOLDS:
            self._allocation_kinds.clear()
        if allocation.given is not None:
            role, owner = allocation.given
        else:
            role = roles.get((op.lane if op is not None else "") or event.lane, "workspace")
            # The name of an array without a role: ``dot in dense0``.
            name = op.name if op is not None else ""
            owner = f"{name} in {layer}" if name and layer else name or layer
        kind = AllocationKind(role, owner, layer, stype, tuple(shape), component)
        self._number(kind, allocation)
        self._allocation_kinds[key] = kind, (source, allocation.dtype)
        return kind

    def _number(self, kind: AllocationKind, allocation: Allocation) -> None:
        """Fill in the bytes of a kind of allocation, and the number of its holding."""
        kind.bytes = size_of(allocation)
        key = Holding(kind.role, kind.owner, kind.layer, kind.stype, kind.component, tuple(kind.shape), tuple(allocation.shape),
                      dtype_of(allocation.dtype)[1], kind.bytes)
        kind.number = self._holdings.setdefault(key, len(self._holdings))

    def _change_role(self, allocation: Allocation, role: str, owner: str) -> None:
        before = allocation.kind
        allocation.kind = kind = AllocationKind(role, owner, before.layer, before.stype, before.shape, before.component)
        self._number(kind, allocation)
        if before.number == kind.number:
            return
        if allocation.born:
            self._change(self._now, 4 * before.number + 1)
            self._change(self._now, 4 * kind.number)
        else:
            self._base[before.number] -= 1
            self._base[kind.number] = self._base.get(kind.number, 0) + 1

    def _bury(self, dead: collections.deque[Allocation], count: int, now: int) -> None:
        times, codes, self._now = self._times, self._codes, max(now, self._now)
        for _ in range(min(count - self._consumed, len(dead))):
            allocation = dead.popleft()
            self._consumed += 1
            allocation.freed = True
            if self._before:
                self._before.pop(allocation, None)
                self._rows_before.pop(allocation, None)
            kind = allocation.kind
            if kind is not UNCOUNTED:
                times.append(self._now)
                codes.append(4 * kind.number + 1)

    def finish(self, dead: collections.deque[Allocation], now: int) -> None:
        """Take the frees since the last event."""
        self._bury(dead, self._consumed + len(dead), now)

    @property
    def idle_bytes(self) -> int:
        """Bytes of what was there before and took no part."""
        return sum(self._before.values())

    def _leave_out(self) -> None:
        """Put the older half of the changes together: of each stretch the highest state and the last one stay."""
        changes = self.changes()
        begin = len(self._first) + self._coarse
        half = begin + (len(changes["time"]) - begin + 1) // 2
        times, numbers, counts, met = (changes[name][begin:half].astype(np.int64) for name in _CHANGES)
        sizes = np.array([holding.bytes for holding in self._holdings], np.int64)
        pieces: list[Array] = []
        place = 0
        for last in highest(counts * sizes[numbers], COARSE).tolist():
            part = slice(place, last + 1)
            both, which = np.unique(numbers[part] * 2 + met[part], return_inverse=True)
            sums = np.bincount(which, counts[part], len(both)).astype(np.int64)
            # Those that went first: a state in between must not be higher than both of its neighbours.
            order = np.argsort(sums > 0, kind="stable")
            order = order[sums[order] != 0]
            pieces.append(np.array([np.full(len(order), times[last]), both[order] // 2, sums[order], both[order] % 2]))
            place = last + 1
        together = np.concatenate(pieces, axis=1)
        self._coarse += together.shape[1]
        self._changes = {name: np.concatenate([changes[name][:begin], rows.astype(changes[name].dtype), changes[name][half:]])
                         for name, rows in zip(_CHANGES, together, strict=True)}

    def holdings(self) -> dict[str, Given]:
        """The table of holdings."""
        return {field: [getattr(holding, field) for holding in self._holdings] for field in Holding._fields}

    def changes(self) -> Mapping[str, Array]:
        """The table of changes, whose arrays must not be changed; what was there before comes first."""
        base = [(number, count) for number, count in self._base.items() if count]
        if base == self._first and not self._codes:
            return dict(self._changes)
        before = ([0] * len(base), [number for number, _ in base], [count for _, count in base], [1] * len(base))
        self._changes = {
            name: np.concatenate([np.array(first, _CHANGES[name]), older[len(self._first):], self._latest(name)])
            for (name, older), first in zip(self._changes.items(), before, strict=True)}
        self._first, self._times, self._codes = base, array("q"), array("q")
        for values in self._changes.values():
            values.flags.writeable = False  # whoever reads the profile has these arrays too
        return dict(self._changes)

    def _latest(self, name: str) -> Array:
        """A column of the changes since the last reading."""
        if name == "time":
            return np.frombuffer(self._times, np.int64)
        codes = np.frombuffer(self._codes, np.int64)
        values: Array = codes >> 2 if name == "holding" else 1 - 2 * (codes & 1) if name == "count" else codes >> 1 & 1
        return values.astype(_CHANGES[name])


def highest(steps: Array, most: int) -> Array:
    """Places of at most ``2 * most`` states of a sum of steps: in each stretch the highest, and the last; all if they are few."""
    if len(steps) <= 2 * most:
        return np.arange(len(steps))
    begins = np.linspace(0, len(steps), most, endpoint=False).astype(np.int64)
    sums = np.cumsum(steps)
    tops = [int(begin + np.argmax(sums[begin:end])) for begin, end in itertools.pairwise([*begins.tolist(), len(steps)])]
    return np.unique([*tops, *(begins[1:] - 1).tolist(), len(steps) - 1])
