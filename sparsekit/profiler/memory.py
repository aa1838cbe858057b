"""Who owned which bytes, when: replayed from the recorder's events, exact at the peak."""

from __future__ import annotations

import math
import os
import sys
from array import array
from collections.abc import Iterator
from typing import Any
from weakref import ReferenceType

from ..core import hooks
from .describe import dtype_of
from .lives import Kind, Lives
from .recorder import ASSIGN

__all__ = ["MAX_SAMPLES", "MemoryTracker", "process_bytes", "process_peak_bytes"]

#: Samples kept of the curve; above twice that many, neighbours are merged into the higher one.
MAX_SAMPLES = 4096

#: Allocations and frees that are kept; eight bytes each.
MOST_LIVES = 4_000_000

#: Roles whose owners what_if needs to know; those of others would make each layer's arrays a kind of their own.
LASTING = ("parameter", "gradient", "optimizer state")

_ROLE_OF_OUTPUT = {"forward": "activation", "io": "input", "transfer": "input"}
_ROLE_OF_INPUT = {"forward": "input", "io": "input", "transfer": "input"}
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_COMPONENTS = {"csr": ("data", "indices", "indptr"), "row_sparse": ("data", "indices")}


class Buffer:
    """One piece of memory that arrays lie in."""

    __slots__ = ("born", "bytes", "component", "entry", "kind", "layer", "owner", "role", "shape", "stype", "time")

    def __init__(self, entry: Any, size: int, born: int, time: int) -> None:
        self.entry, self.bytes, self.born, self.time = entry, size, born, time
        self.kind = -1
        self.role = self.owner = self.layer = self.component = ""
        self.stype, self.shape = "default", tuple(entry[1])

    def row(self) -> dict[str, Any]:
        """The line of the table of what was alive."""
        return {"owner": self.owner, "role": self.role, "stype": self.stype, "shape": list(self.shape),
                "component": self.component, "dtype": dtype_of(self.entry[2])[1], "bytes": self.bytes, "layer": self.layer}


def _bytes(entry: tuple[Any, ...]) -> int:
    return int(math.prod(entry[1])) * dtype_of(entry[2])[2]


def parts_of(entry: tuple[Any, ...]) -> Iterator[tuple[Any, str]]:
    """The owning entries behind an entry, with the component each is."""
    if len(entry) == 4:
        for name, part in zip(_COMPONENTS.get(entry[0], ()), entry[2], strict=False):
            yield from ((owner, name) for owner, _ in parts_of(part))
        return
    while type(entry[0]) is tuple:
        entry = entry[0]
    if entry[0] is not None:
        yield entry, "data"


class MemoryTracker:
    """Replays allocations, frees and roles in the order in which they happened.

    An array counts from the end of the event that first mentions it until it is freed.  One that had its
    role before the profile began (a parameter) counts from the very start, if any event mentions it at all:
    what belongs to other models is no part of this run, and only summed up as idle.  What is
    freed between two operators goes before the second one allocates; what is freed inside an
    operator (the dense copies of a fallback) goes after, since it was there together with the result.
    """

    def __init__(self) -> None:
        self.total = 0
        self.peak = 0
        self.peak_time = 0
        self.samples: list[tuple[int, int, dict[str, int]]] = []
        #: Most rows that a row_sparse gradient of each parameter stored.
        self.gradient_rows: dict[str, int] = {}
        self._roles: dict[str, int] = {}
        # What was there before, kept apart: it adds the same to every moment.
        self._before: dict[int, int] = {}
        self._base_roles: dict[str, int] = {}
        self._buffers: dict[int, Buffer] = {}
        self._gone_since_peak: list[Buffer] = []
        self._assigned: dict[int, tuple[str, str]] = {}
        self._freed: set[int] = set()
        # Sparse arrays met while these events are digested; their entries live as long.
        self._met: set[int] = set()
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
        # The same by what is at hand; dtype_of keeps each element type alive, so that their addresses are unique.
        self._short: dict[tuple[Any, ...], int] = {}
        self._base: dict[int, int] = {}
        self._places: dict[tuple[int, str], tuple[Any, str]] = {}

    def prepare(self, events: list[tuple[Any, ...]]) -> None:
        """Learn the roles first: a role holds for the whole life of an array, also before it was given."""
        self._freed.clear()
        self._met.clear()
        for event in events:
            if type(event[0]) is not str:
                for entry in event[7]:
                    if len(entry) == 4 and entry[3] is not None:
                        self._give(entry, *entry[3])
                for entry in event[8] if type(event[8]) is list else (event[8],):
                    if len(entry) == 4 and entry[3] is not None:
                        self._give(entry, *entry[3])
                if event[3] == "update" or event[0].op.lane == "update":
                    self._infer(event)
            elif event[0] == ASSIGN:
                entry, role, owner, before = event[7]
                self._give(entry, role, owner)
                if before:
                    self._before.update({id(part[0]): _bytes(part) for part, _ in parts_of(entry)})

    def _give(self, entry: tuple[Any, ...], role: str, owner: str) -> None:
        if role == "gradient" and entry[0] == "row_sparse":
            rows = int(entry[2][1][1][0])
            self.gradient_rows[owner] = max(rows, self.gradient_rows.get(owner, 0))
        for part, _ in parts_of(entry):
            self._assigned[id(part[0])] = (role, owner)
            held = self._buffers.get(id(part[0]))
            if held is not None:
                self._change_role(held, role, owner)

    def _infer(self, event: tuple[Any, ...]) -> None:
        """An update of a parameter takes its gradient second and its optimizer state after that."""
        inputs = event[7]
        owners = [self._assigned.get(id(part[0])) for part, _ in parts_of(inputs[0])] if inputs else []
        if not owners or owners[0] is None or owners[0][0] != "parameter":
            return
        for place, entry in enumerate(inputs[1:]):
            role = "gradient" if place == 0 else "optimizer state"
            if tuple(entry[1]) == tuple(inputs[0][1]) and not any(
                    id(part[0]) in self._assigned for part, _ in parts_of(entry)):
                self._give(entry, role, owners[0][1])

    def replay(self, event: tuple[Any, ...], dead: list[Any], start: int, end: int) -> None:
        """Take one event; ``start`` and ``end`` are in profile time."""
        thread = event[6]
        inside = start < self._last_start.get(thread, -1)
        self._last_start[thread] = start
        buried = event[9] > self._consumed
        if buried and not inside:
            self._bury(dead, event[9], start)
        if type(event[0]) is not str:
            self._meet_operator(event, end)
        elif event[0] == ASSIGN and not event[7][3]:
            for part, component in parts_of(event[7][0]):
                self._meet(part, component, event[7][0], event, "workspace", end)
        if self._changed:
            self._sample(end)
        if buried and inside:
            self._note_temporaries(event, dead, start)
            self._bury(dead, event[9], end)

    def _note_temporaries(self, event: tuple[Any, ...], dead: list[Any], start: int) -> None:
        """Count what was made since ``start`` and is already freed: the dense copies of a fallback, for instance."""
        found = [held for reference in dead[self._consumed: event[9]]
                 if (held := self._buffers.get(id(reference))) is not None and held.born and held.time >= start]
        if not found or type(event[0]) is str:
            return
        size = sum(held.bytes for held in found)
        count = self.temporaries.setdefault((event[0].op.name, event[4]), [0, 0, 0])
        count[:] = count[0] + len(found), count[1] + size, max(count[2], size)

    def _meet_operator(self, event: tuple[Any, ...], end: int) -> None:
        buffers, outputs = self._buffers, event[8]
        for roles, entries in ((_ROLE_OF_INPUT, event[7]),
                               (_ROLE_OF_OUTPUT, outputs if type(outputs) is list else (outputs,))):
            for entry in entries:
                # Nearly always the array is known, or a dense one that owns its memory.
                if id(entry[0]) in buffers or id(entry) in self._met:
                    continue
                role = roles.get(event[0].op.lane or event[3], "workspace")
                if type(entry[0]) is ReferenceType:
                    self._meet(entry, "data", entry, event, role, end)
                else:
                    for part, component in parts_of(entry):
                        self._meet(part, component, entry, event, role, end)
                    if len(entry) == 4:
                        self._met.add(id(entry))

    def _meet(self, part: Any, component: str, whole: Any, event: Any, role: str, now: int) -> None:
        key = id(part[0])
        if key in self._buffers or key in self._freed:
            return
        self._count += 1
        earlier = self._before.pop(key, None) is not None
        made = self._buffers[key] = Buffer(part, _bytes(part), 0 if earlier else self._count, now)
        made.layer = event[4]
        given = self._assigned.get(key)
        if given is not None:
            made.role, made.owner = given
        else:
            made.role, made.owner = role, self._place(event)
        made.component = component
        if len(whole) == 4:
            made.stype, made.shape = whole[0], tuple(whole[1])
        made.kind = number = self._kind(made)
        if earlier:
            self._base_roles[made.role] = self._base_roles.get(made.role, 0) + made.bytes
            self._base[number] = self._base.get(number, 0) + 1
            return
        if len(self._order) < MOST_LIVES:
            self._order.append(number + 1)
        self.total += made.bytes
        self._roles[made.role] = self._roles.get(made.role, 0) + made.bytes
        self._changed = True
        if self.total > self.peak:
            self.peak, self.peak_time, self._peak_count = self.total, max(now, self._now), self._count
            self._gone_since_peak.clear()

    def _place(self, event: tuple[Any, ...]) -> str:
        """What an array without a role of its own is called by: ``dot in dense0``."""
        key = (id(event[0]), event[4])
        found = self._places.get(key)
        if found is None:
            name = event[0].op.name if type(event[0]) is not str else ""
            text = f"{name} in {event[4]}" if name and event[4] else name or event[4]
            found = self._places[key] = event[0], text
        return found[1]

    def _change_role(self, held: Buffer, role: str, owner: str) -> None:
        roles = self._roles if held.born else self._base_roles
        roles[held.role] = roles.get(held.role, 0) - held.bytes
        roles[role] = roles.get(role, 0) + held.bytes
        held.role, held.owner = role, owner
        before, held.kind = held.kind, self._kind(held)
        if before != held.kind and held.born and len(self._order) < MOST_LIVES:
            self._order.append(-before - 1)
            self._order.append(held.kind + 1)
        elif before != held.kind:
            self._base[before] -= 1
            self._base[held.kind] = self._base.get(held.kind, 0) + 1

    def _kind(self, held: Buffer) -> int:
        entry = held.entry
        owner = held.owner if held.role in LASTING else ""
        short = (held.role, owner, held.stype, held.component, held.shape, entry[1], id(entry[2]))
        number = self._short.get(short)
        if number is None:
            key = (held.role, owner, held.stype, held.shape, held.component, tuple(entry[1]), dtype_of(entry[2])[1], held.bytes)
            number = self._short[short] = self._kinds.setdefault(key, len(self._kinds))
        return number

    def lives(self) -> Lives | None:
        """The life of each array; None if there were too many to keep."""
        return Lives(list(self._kinds), self._order, self._base) if len(self._order) < MOST_LIVES else None

    def _bury(self, dead: list[Any], count: int, now: int) -> None:
        for place in range(self._consumed, min(count, len(dead))):
            reference, dead[place] = dead[place], None
            key = id(reference)
            self._freed.add(key)
            self._assigned.pop(key, None)
            self._before.pop(key, None)
            held = self._buffers.pop(key, None)
            if held is not None:
                self.total -= held.bytes
                if len(self._order) < MOST_LIVES:
                    self._order.append(-held.kind - 1)
                self._roles[held.role] = self._roles.get(held.role, 0) - held.bytes
                self._changed = True
                if held.born <= self._peak_count:
                    self._gone_since_peak.append(held)
            self._consumed = place + 1
        if self._changed:
            self._sample(now)

    def _sample(self, now: int) -> None:
        self._changed = False
        self._now = max(self._now, now)
        roles = self._roles.copy()
        if self.samples and self.samples[-1][0] == self._now:
            self.samples[-1] = max(self.samples[-1], (self._now, self.total, roles), key=lambda sample: sample[1])
            return
        self.samples.append((self._now, self.total, roles))
        if len(self.samples) > 2 * MAX_SAMPLES:
            pairs = zip(self.samples[0:-1:2], self.samples[1::2], strict=False)
            self.samples[: len(self.samples) // 2 * 2] = [max(pair, key=lambda sample: sample[1]) for pair in pairs]

    def finish(self, dead: list[Any], now: int) -> None:
        """Take the frees since the last event."""
        self._bury(dead, len(dead), now)

    def at_peak(self) -> list[dict[str, Any]]:
        """What was alive at the peak, largest first."""
        alive = [held for held in self._buffers.values() if held.born <= self._peak_count]
        rows = [held.row() for held in (*alive, *self._gone_since_peak)]
        return sorted(rows, key=lambda row: (-row["bytes"], row["role"], row["owner"], row["component"], row["shape"]))

    def _all_roles(self, roles: dict[str, int]) -> dict[str, int]:
        names = sorted({*self._base_roles, *roles})
        sums = {name: self._base_roles.get(name, 0) + roles.get(name, 0) for name in names}
        return {name: size for name, size in sums.items() if size}

    def profile(self) -> dict[str, Any]:
        """The memory profile as plain data; times in microseconds."""
        base = sum(self._base_roles.values())
        samples = [(0, 0, {}), *self.samples] if base else self.samples
        devices = {name: figures() for name, figures in sorted(hooks.device_memory.items())}
        return {
            **({"devices": devices} if devices else {}),
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


def process_bytes() -> int | None:
    """Memory that the whole process holds now, in bytes; None where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return None


def process_peak_bytes() -> int | None:
    """Most memory that the whole process ever held, in bytes; None where the system does not say."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as stream:
            for line in stream:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
