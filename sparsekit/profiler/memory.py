"""Memory by owner over time: replayed from the recorder's events, exact at the peak."""

from __future__ import annotations

import collections
import itertools
import os
import sys
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.memory_model import LASTING, Kind
from ..core import hooks
from .allocations import UNCOUNTED, Allocation, AllocationKind, Sparse, View
from .describe import dtype_of, size_of
from .event_buffer import Assignment, Note, Operation
from .memory_timeline import Lives

if TYPE_CHECKING:
    from .allocations import Entry
    from .types import Alive, Memory

__all__ = ["MAX_SAMPLES", "MemoryTracker", "process_bytes", "process_peak_bytes"]

#: Samples kept of the curve; above twice that many, neighbours are merged into the higher one.
MAX_SAMPLES = 4096

#: Allocations and frees that are kept; eight bytes each.
MOST_LIVES = 4_000_000

#: Kinds of results that are kept at hand.
MOST_MOLDS = 10_000

_ROLE_OF_OUTPUT = {"forward": "activation", "io": "input", "transfer": "input"}
_ROLE_OF_INPUT = {"forward": "input", "io": "input", "transfer": "input"}
_NO_ROLES: dict[str, str] = {}
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def _row(allocation: Allocation) -> Alive:
    """The line of the table of what was alive."""
    kind = allocation.kind
    return {"owner": kind.owner, "role": kind.role, "stype": kind.stype, "shape": list(kind.shape),
            "component": kind.component, "dtype": dtype_of(allocation.dtype)[1], "bytes": kind.bytes, "layer": kind.layer}


class MemoryTracker:
    """Replays allocations, frees and roles in the order in which they happened.

    An array counts from the end of the event that first mentions it until it is freed.  One that had its
    role before the profile began (a parameter) counts from the very start, if any event mentions it at all:
    arrays of other models are not part of this run, and only summed up as idle.  What is
    freed between two operators goes before the second one allocates; what is freed inside an
    operator (the dense copies of a fallback) goes after, since it was there together with the result.
    """

    def __init__(self) -> None:
        self.total = 0
        self.peak = 0
        self.peak_time = 0
        self.samples: list[tuple[int, int, dict[str, int]]] = []
        #: When arrays were met that no operator made, and their bytes: they were there before, or came from other libraries.
        self.found: list[tuple[int, int]] = []
        #: Most rows that a row_sparse gradient of each parameter stored.
        self.gradient_rows: dict[str, int] = {}
        self._roles: dict[str, int] = {}
        # What was there before, kept apart: it adds the same to every moment.  Allocations that no event mentioned yet:
        self._before: dict[Allocation, int] = {}
        #: For row_sparse gradients among these: the parameter, and the rows.
        self._rows_before: dict[Allocation, tuple[str, int]] = {}
        self._base_roles: dict[str, int] = {}
        self._alive: dict[Allocation, None] = {}
        self._gone_since_peak: list[Allocation] = []
        self._consumed = 0
        self._count = 0
        self._peak_count = 0
        self._last_start: dict[int, int] = {}
        self._now = 0
        self._changed = False
        #: Arrays made and freed inside one event: (operator, layer) -> [number, bytes, most bytes in one event].
        self.temporaries: dict[tuple[str, str], list[int]] = {}
        # Allocations and frees in their order, for lives(); the kinds by their content.
        self._order = array("l")
        self._kinds: dict[Kind, int] = {}
        self._base: dict[int, int] = {}
        # What an operator makes, by the addresses of its plan and of the element type, which are kept alive.
        self._allocation_kinds: dict[tuple[Any, ...], tuple[AllocationKind, Any]] = {}

    def prepare(self, events: list[Operation | Note]) -> None:
        """Learn the roles first: a role holds for the whole life of an array, also before it was given."""
        for event in events:
            if isinstance(event, Operation):
                for entry in event.inputs:
                    if isinstance(entry, Sparse) and entry.given is not None:
                        self._give(entry, *entry.given)
                outputs = event.outputs
                for entry in outputs if isinstance(outputs, list) else (outputs,):
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
        given = role, owner
        for allocation, _ in entry.owners():
            if allocation.given != given:
                allocation.given = given
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
            before = self.total
            for entry in event.inputs:
                if not entry.known:
                    self._meet(entry, event, _ROLE_OF_INPUT, end)
            if self.total > before and len(self.found) < MOST_LIVES:
                self.found.append((end, self.total - before))
            outputs = event.outputs
            if isinstance(outputs, list):
                for entry in outputs:
                    if not entry.known:
                        self._meet(entry, event, _ROLE_OF_OUTPUT, end)
            elif not outputs.known:
                self._meet(outputs, event, _ROLE_OF_OUTPUT, end)
        elif isinstance(event.content, Assignment) and not event.content.before and not event.content.entry.known:
            self._meet(event.content.entry, event, _NO_ROLES, end)
        if self._changed:
            self._sample(end)
        if released and inside:
            self._note_temporaries(event, dead, start)
            self._bury(dead, event.deaths, end)

    def _note_temporaries(self, event: Operation | Note, dead: collections.deque[Allocation], start: int) -> None:
        """Count what was made since ``start`` and is already freed: the dense copies of a fallback, for instance."""
        found = [allocation for allocation in itertools.islice(dead, event.deaths - self._consumed)
                 if allocation.kind is not UNCOUNTED and allocation.born and allocation.time >= start]
        if not found or isinstance(event, Note):
            return
        size = sum(allocation.kind.bytes for allocation in found)
        count = self.temporaries.setdefault((event.plan.op.name, event.layer), [0, 0, 0])
        count[:] = count[0] + len(found), count[1] + size, max(count[2], size)

    def _meet(self, entry: Entry, event: Operation | Note, roles: dict[str, str], now: int) -> None:
        """Count the memory of an array that an event mentions for the first time."""
        entry.known = True
        if entry.__class__ is Allocation:
            if not entry.freed:
                self._count_in(entry, "data", entry, event, roles, now)
            return
        for allocation, component in entry.owners():
            if not allocation.known:
                allocation.known = True
                if not allocation.freed:
                    self._count_in(allocation, component, entry, event, roles, now)

    def _count_in(self, allocation: Allocation, component: str, whole: Entry, event: Operation | Note, roles: dict[str, str],
                  now: int) -> None:
        allocation.kind = kind = self._kind_of(allocation, component, whole, event, roles)
        self._count += 1
        self._alive[allocation] = None
        if self._before and self._before.pop(allocation, None) is not None:
            if allocation in self._rows_before:
                self._note_rows(*self._rows_before.pop(allocation))
            self._base_roles[kind.role] = self._base_roles.get(kind.role, 0) + kind.bytes
            self._base[kind.number] = self._base.get(kind.number, 0) + 1
            return
        allocation.born, allocation.time = self._count, now
        if len(self._order) < MOST_LIVES:
            self._order.append(kind.number + 1)
        self.total += kind.bytes
        self._roles[kind.role] = self._roles.get(kind.role, 0) + kind.bytes
        self._changed = True
        if self.total > self.peak:
            self.peak, self.peak_time, self._peak_count = self.total, max(now, self._now), self._count
            self._gone_since_peak.clear()

    def _kind_of(self, allocation: Allocation, component: str, whole: Entry, event: Operation | Note, roles: dict[str, str]
                 ) -> AllocationKind:
        layer, op = event.layer, event.plan.op if isinstance(event, Operation) else None
        what = event.plan if isinstance(event, Operation) else event.kind
        stype, shape = ("default", allocation.shape) if whole.__class__ is View else (whole.stype, whole.shape)
        key = (id(what), event.lane, layer, id(roles), allocation.given, component, stype, shape, allocation.shape,
               id(allocation.dtype))
        found = self._allocation_kinds.get(key)
        if found is not None:
            return found[0]
        if len(self._allocation_kinds) > MOST_MOLDS:
            self._allocation_kinds.clear()
        if allocation.given is not None:
            role, owner = allocation.given
        else:
            role = roles.get((op.lane if op is not None else "") or event.lane, "workspace")
            # The name of an array without a role: ``dot in dense0``.
            name = op.name if op is not None else ""
            owner = f"{name} in {layer}" if name and layer else name or layer
        made = AllocationKind(role, owner, layer, stype, tuple(shape), component)
        self._number(made, allocation)
        self._allocation_kinds[key] = made, (what, allocation.dtype)
        return made

    def _number(self, kind: AllocationKind, allocation: Allocation) -> None:
        """Fill in the bytes of a kind of allocation, and the number of all that decides them."""
        kind.bytes = size_of(allocation)
        # Other owners what_if need not know: they would make each layer's arrays a kind of their own.
        owner = kind.owner if kind.role in LASTING else ""
        key = Kind(kind.role, owner, kind.stype, kind.shape, kind.component, tuple(allocation.shape),
                   dtype_of(allocation.dtype)[1], kind.bytes)
        kind.number = self._kinds.setdefault(key, len(self._kinds))

    def _change_role(self, allocation: Allocation, role: str, owner: str) -> None:
        before = allocation.kind
        allocation.kind = kind = AllocationKind(role, owner, before.layer, before.stype, before.shape, before.component)
        self._number(kind, allocation)
        roles = self._roles if allocation.born else self._base_roles
        roles[before.role] = roles.get(before.role, 0) - kind.bytes
        roles[role] = roles.get(role, 0) + kind.bytes
        if before.number == kind.number:
            return
        if not allocation.born:
            self._base[before.number] -= 1
            self._base[kind.number] = self._base.get(kind.number, 0) + 1
        elif len(self._order) < MOST_LIVES:
            self._order.append(-before.number - 1)
            self._order.append(kind.number + 1)

    def lives(self) -> Lives | None:
        """The lifetime of each array; None if there were too many to keep."""
        return Lives(list(self._kinds), self._order, self._base) if len(self._order) < MOST_LIVES else None

    def _bury(self, dead: collections.deque[Allocation], count: int, now: int) -> None:
        roles, order = self._roles, self._order
        while self._consumed < count and dead:
            allocation = dead.popleft()
            self._consumed += 1
            allocation.freed = True
            if self._before:
                self._before.pop(allocation, None)
                self._rows_before.pop(allocation, None)
            kind = allocation.kind
            if kind is UNCOUNTED:
                continue
            del self._alive[allocation]
            self.total -= kind.bytes
            if len(order) < MOST_LIVES:
                order.append(-kind.number - 1)
            roles[kind.role] = roles.get(kind.role, 0) - kind.bytes
            self._changed = True
            if allocation.born <= self._peak_count:
                self._gone_since_peak.append(allocation)
        if self._changed:
            self._sample(now)

    def _sample(self, now: int) -> None:
        self._changed = False
        if now > self._now:
            self._now = now
        samples, made = self.samples, (self._now, self.total, self._roles.copy())
        if samples and samples[-1][0] == self._now:
            if samples[-1][1] < self.total:
                samples[-1] = made
            return
        samples.append(made)
        if len(samples) > 2 * MAX_SAMPLES:
            pairs = zip(samples[0:-1:2], samples[1::2], strict=False)
            samples[: len(samples) // 2 * 2] = [max(pair, key=lambda sample: sample[1]) for pair in pairs]

    def finish(self, dead: collections.deque[Allocation], now: int) -> None:
        """Take the frees since the last event."""
        self._bury(dead, self._consumed + len(dead), now)

    def at_peak(self) -> list[Alive]:
        """What was alive at the peak, largest first."""
        alive = [allocation for allocation in self._alive if allocation.born <= self._peak_count]
        rows = [_row(allocation) for allocation in (*alive, *self._gone_since_peak)]
        return sorted(rows, key=lambda row: (-row["bytes"], row["role"], row["owner"], row["component"], row["shape"]))

    def _all_roles(self, roles: dict[str, int]) -> dict[str, int]:
        names = sorted({*self._base_roles, *roles})
        sums = {name: self._base_roles.get(name, 0) + roles.get(name, 0) for name in names}
        return {name: size for name, size in sums.items() if size}

    def profile(self) -> Memory:
        """The memory profile as plain data; times in microseconds."""
        base = sum(self._base_roles.values())
        samples = [(0, 0, {}), *self.samples] if base else self.samples
        devices = {name: figures() for name, figures in sorted(hooks.device_memory.items())}
        made: Memory = {
            "found": [[0, base], *([now / 1000, size] for now, size in self.found)],
            "peak_bytes": base + self.peak,
            "peak_time": self.peak_time / 1000,
            "samples": [[now / 1000, base + total, self._all_roles(roles)] for now, total, roles in samples],
            "idle_bytes": sum(self._before.values()),
            "at_peak": self.at_peak(),
            "process_peak_bytes": process_peak_bytes(),
            "temporaries": [{"op": op, "layer": layer, "arrays": arrays, "bytes": size, "most": most}
                            for (op, layer), (arrays, size, most) in sorted(
                                self.temporaries.items(), key=lambda item: (-item[1][1], item[0]))],
        }
        return {"devices": devices, **made} if devices else made


def process_bytes() -> int | None:
    """Memory that the whole process holds now, in bytes; None where the system does not say."""
    try:
        file = os.open("/proc/self/statm", os.O_RDONLY)  # a stream takes several times as long, and profilers begin and end often
        try:
            return int(os.read(file, 256).split()[1]) * PAGE
        finally:
            os.close(file)
    except (OSError, ValueError, IndexError):
        return None


def process_peak_bytes() -> int | None:
    """Most memory that the whole process ever held, in bytes; None where the system does not say."""
    try:
        with open("/proc/self/status", "rb") as stream:
            for line in stream:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
