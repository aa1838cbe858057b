"""The data of a run: packed columns of events, exact totals of folded events, memory."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..core import hooks
from . import describe
from .allocations import CREATED, RANKS, Allocation, Origin, Sparse, View
from .clock import Clock
from .event_buffer import Densified, Flow, Mark, Note, Operation, Plan, Span
from .memory import MemoryTracker
from .nesting import Nesting, depths
from .source_location import line_of

if TYPE_CHECKING:
    import collections
    from collections.abc import Hashable, Sequence
    from types import CodeType

    from ..base.types import JSON
    from .allocations import Entry
    from .torch_graph import TorchGraph
    from .types import ArrayRecord, KindRecord, MarkRecord, Record

    #: What decides the kind of an event: an operator's plan and arrays by number, or a span's name; and where it ran.
    KindKey: TypeAlias = tuple[int | str, ...]

    #: The events kept: the number of the first, and start, duration, own time, kind and node of each.
    Columns: TypeAlias = tuple[int, array[int], array[int], array[int], array[int], array[int]]

__all__ = ["Log", "Total"]

#: Densifications and marks kept in full, with their times; beyond that they are only counted.
MOST_NOTES = 100_000

NO_NODE = -1


class Total:
    """Exact totals of one kind of event."""

    __slots__ = ("bytes", "calls", "dense_flops", "flops", "maximum", "minimum", "own", "total")

    def __init__(self) -> None:
        self.calls = self.total = self.own = self.bytes = self.flops = self.dense_flops = self.maximum = 0
        self.minimum = -1

    def add(self, net: int, own: int, kind: KindRecord | Record) -> None:
        """Count one event; ``net`` and ``own`` in nanoseconds."""
        self.calls += 1
        self.total += net
        self.own += own
        self.minimum = net if self.minimum < 0 else min(self.minimum, net)
        self.maximum = max(self.maximum, net)
        self.bytes += kind["bytes"]
        self.flops += kind["flops"]
        self.dense_flops += kind["dense_flops"]

    def merge(self, other: Total) -> None:
        """Add what another total counted."""
        self.minimum = other.minimum if self.minimum < 0 else min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        for name in ("calls", "total", "own", "bytes", "flops", "dense_flops"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Key(NamedTuple):
    """The key of a total."""

    name: str
    lane: str
    layer: str
    storage: str


class Log:
    """Stores the events of a recorder, and returns records and totals.

    Parameters
    ----------
    clock : Clock
    capacity : int
        Events kept one by one; older ones are folded into totals.
    """

    def __init__(self, clock: Clock, capacity: int) -> None:
        self.memory = MemoryTracker()
        #: The graph of a PyTorch program, if one is recorded.
        self.graph: TorchGraph | None = None
        self.capacity = capacity
        self.densifications: list[tuple[int, int, hooks.Densification]] = []
        self.densified = 0
        self.marks: list[MarkRecord] = []
        # What came after those that are kept in full: how often each densification, how many marks.
        self.more_densifications: dict[hooks.Densification, int] = {}
        self.more_marks = 0
        self.nesting = Nesting()
        self.folded: dict[Key, Total] = {}
        self.folded_events = 0
        self.events = 0
        self._clock = clock
        self._kinds: list[KindRecord] = []
        self._kind_of: dict[KindKey, int] = {}
        self._keys: list[Key] = []
        self._kept_alive: dict[int, Plan | CodeType] = {}
        # Number 0 separates inputs from outputs in a key, so descriptions count from 1.
        self._arrays: list[describe.ArrayKey | None] = [None]
        self._array_of: dict[Hashable, int] = {}
        self._arguments: dict[int, dict[str, JSON]] = {}
        # Bytes that a span says it moved, by the number of the event: they differ from call to call.
        self._moved: dict[int, int] = {}
        # Of an event that makes a sparse array dense, or reads such an array: the number of the former.
        self._conversions: dict[int, int] = {}
        self._lines: dict[tuple[int, int | None], str] = {}
        self._threads: dict[int, int] = {}
        self._forward_lines: dict[int, str] = {}
        self._clear_columns()

    def _clear_columns(self) -> None:
        self.start, self.duration, self.own, self.net = array("q"), array("q"), array("q"), array("q")
        self.kind, self.node = array("l"), array("q")

    def digest(self, events: list[Operation | Note], dead: collections.deque[Allocation]) -> None:
        """Take events in the order in which they ended, and out of ``dead`` the allocations freed meanwhile."""
        self.memory.prepare(events)
        at, replay, operator, graph = self._clock.at, self.memory.replay, self._operator, self.graph
        first, pause = self._clock.first_stretch()
        for event in events:
            # Until the first pause, the clock only subtracts.
            start, end = event.start - first, event.end - first
            if start < 0 or end > pause:
                start, end = at(event.start), at(event.end)
            replay(event, dead, start, end)
            if isinstance(event, Operation):
                operator(event, start, end)
            elif isinstance(event.content, Span):
                self._span(event, event.content, start, end)
            elif isinstance(event.content, Densified):
                self._densified(event, event.content, start)
            elif isinstance(event.content, Flow):
                self._flowed(*event.content)
            elif isinstance(event.content, Mark):
                self._mark(event, event.content, start)
            if graph is not None:
                graph.add(event)
        if len(self.start) > self.capacity:
            self._fold(len(self.start) - self.capacity // 2)

    def thread(self, ident: int) -> int:
        """Small number of a thread, in order of appearance."""
        return self._threads.setdefault(ident, len(self._threads))

    def _operator(self, event: Operation, start: int, end: int) -> None:
        plan, _, _, lane, layer, node, ident, inputs, outputs, _, place, instruction = event
        if place is None:
            line = ""
        else:
            code, at = place if isinstance(place, tuple) else (place, instruction)
            line = self._lines.get((id(code), at)) or self._line(code, at)
        if node is not None and lane != "update":
            # A backward operator has the line of the forward operator it belongs to.
            if lane == "backward":
                line = line or self._forward_lines.get(node, "")
            elif len(self._forward_lines) < 4 * self.capacity:
                self._forward_lines[node] = line
        thread = self._threads.get(ident)
        if thread is None:
            thread = self.thread(ident)
        if len(inputs) == 2 and not isinstance(outputs, list):
            left, right = inputs
            key: KindKey = (id(plan), lane, layer, thread, line, left.number or self._array(left),
                                    right.number or self._array(right), 0, outputs.number or self._array(outputs))
        else:
            listed = outputs if isinstance(outputs, list) else (outputs,)
            key = (id(plan), lane, layer, thread, line, *[entry.number or self._array(entry) for entry in inputs], 0,
                   *[entry.number or self._array(entry) for entry in listed])
        kind = self._kind_of.get(key)
        if kind is None:
            self._kept_alive[id(plan)] = plan
            arrays = key[5:]
            border = arrays.index(0)
            taken, given = ([found for number in side if (found := self._arrays[int(number)]) is not None]
                            for side in (arrays[:border], arrays[border + 1:]))
            listed = outputs if isinstance(outputs, list) else [outputs]
            kind = self._add_kind(key, _operator_kind(plan, lane, layer, thread, line, taken, given,
                                                      [not _is_one_of(entry, inputs) for entry in listed]))
        self._trace(inputs, outputs, self._kinds[kind])
        self._follow(inputs, outputs if isinstance(outputs, list) else [outputs], self._kinds[kind]["converts"])
        self._append(kind, thread, start, end, NO_NODE if node is None else node)

    def _trace(self, inputs: Sequence[Entry], outputs: Entry | list[Entry], kind: KindRecord) -> None:
        """Note the origins of results: a sparse input of this event, or the origins of its inputs."""
        found, known, taken = None, True, []
        for given in inputs:
            if isinstance(given, Sparse):
                origin = kind.get("origin")
                if origin is None:
                    origin = kind["origin"] = Origin(kind["became_dense"] or hooks.ASKED, kind["name"], kind["line"],
                                                     given.stype, given.shape)
            else:
                owner = given if isinstance(given, Allocation) else given.owner
                taken.append(owner)
                origin = None if owner is None else owner.origin
            if origin is None:
                known = False
            elif found is None or RANKS[origin.kind] > RANKS[found.kind]:
                found = origin
        if not inputs:
            found = kind.get("origin")
            if found is None:
                found = kind["origin"] = Origin(CREATED, kind["name"], kind["line"], "", ())
        elif found is not None and not known and found.kind == CREATED:
            found = None  # what it was also computed from may have been sparse
        for entry in outputs if isinstance(outputs, list) else (outputs,):
            allocation = entry if isinstance(entry, Allocation) else entry.owner if isinstance(entry, View) else None
            # What is written to, or looked at as a view, keeps its own origin unless something sparse was written there.
            if allocation is not None and (allocation not in taken or (found is not None and found.kind in hooks.KINDS)):
                allocation.origin = found

    def _follow(self, inputs: Sequence[Entry], outputs: Sequence[Entry], converts: bool) -> None:
        """Note that the next event makes a sparse array dense, or reads such an array, and pass that on to results as large."""
        taken = [_memory(entry) for entry in inputs]
        known = next((found for found in taken if found is not None and found.conversion is not None), None)
        number = self.events if converts else None if known is None else known.conversion
        least = 0 if converts or known is None else math.prod(known.shape)
        if number is not None:
            self._conversions[self.events] = number
        for entry in outputs:
            made = _memory(entry)
            # What is written to where it is keeps what it was.
            if made is not None and made not in taken:
                made.conversion = number if math.prod(made.shape) >= least else None

    def _array(self, entry: Entry) -> int:
        """Number of the description of an array; equal arrays share one."""
        # describe.dtype_of keeps each element type alive, so that their addresses are unique.
        short = None if isinstance(entry, Sparse) else (entry.shape, id(entry.dtype))
        number = self._array_of.get(short)
        if number is None:
            key = describe.key_of(entry)
            number = self._array_of.get(key)
            if number is None:
                self._arrays.append(key)
                number = self._array_of[key] = len(self._arrays) - 1
            if short is not None:
                self._array_of[short] = number
        entry.number = number
        return number

    def _line(self, code: CodeType, instruction: int | None) -> str:
        key = (id(code), instruction)
        found = self._lines.get(key)
        if found is None:
            self._kept_alive[id(code)] = code
            found = self._lines[key] = line_of(code, instruction)
        return found

    def _line_of(self, event: Note) -> str:
        """The user's line of an event that is not an operator."""
        return "" if event.place is None else self._line(*event.place)

    def _span(self, event: Note, content: Span, start: int, end: int) -> None:
        name, arguments = content
        thread = self.thread(event.thread)
        line = self._line_of(event)
        key = (name, event.lane, event.layer, thread, line)
        kind = self._kind_of.get(key)
        if kind is None:
            kind = self._add_kind(key, {
                "name": name, "kind": "span", "lane": event.lane, "layer": event.layer, "attrs": {}, "fallback": False,
                "became_dense": "", "converts": False,
                "inputs": [], "outputs": [], "bytes": 0, "flops": 0, "dense_flops": 0, "line": line, "thread": thread})
        if arguments:
            moved = arguments.get("bytes")
            if type(moved) is int and moved > 0:
                self._moved[self.events] = moved
            self._arguments[self.events] = {str(name): describe.plain(value) for name, value in arguments.items()}
        self._append(kind, thread, start, end, NO_NODE)

    def _add_kind(self, key: KindKey, kind: KindRecord) -> int:
        self._kinds.append(kind)
        self._keys.append(Key(kind["name"], kind["lane"], kind["layer"],
                              describe.storage(kind["inputs"], kind["outputs"])))
        self._kind_of[key] = len(self._kinds) - 1
        return len(self._kinds) - 1

    def _append(self, kind: int, thread: int, start: int, end: int, node: int) -> None:
        compiling = self._kinds[kind]["lane"] == "compile"
        start, own, compiled = self.nesting.add(thread, start, end, compiling)
        self.start.append(start)
        self.duration.append(end - start)
        self.own.append(own)
        self.net.append(end - start - compiled)
        self.kind.append(kind)
        self.node.append(node)
        self.events += 1

    def _densified(self, event: Note, content: Densified, now: int) -> None:
        self.densified += 1
        record, entry = content
        for allocation, _ in entry.owners() if entry is not None else ():
            allocation.origin = Origin(record.kind, record.op, record.line, record.source, record.shape)
        if len(self.densifications) < MOST_NOTES:
            self.densifications.append((now, self.thread(event.thread), record))
        else:
            self.more_densifications[record] = self.more_densifications.get(record, 0) + 1

    def _flowed(self, source: Entry, target: Entry) -> None:
        """Values were copied without an operator: the target gets the origin of the source, or none."""
        origin = next((allocation.origin for allocation, _ in source.owners()), None)
        conversion = next((allocation.conversion for allocation, _ in source.owners()), None)
        for allocation, _ in target.owners():
            allocation.conversion = conversion
            if origin is not None or (allocation.origin is not None and allocation.origin.kind == CREATED):
                allocation.origin = origin

    def _mark(self, event: Note, content: Mark, now: int) -> None:
        if len(self.marks) < MOST_NOTES:
            name, value, unit = content
            self.marks.append({"kind": event.kind, "name": name, "time": now / 1000, "value": describe.plain(value),
                               "unit": unit, "thread": self.thread(event.thread), "line": self._line_of(event)})
        else:
            self.more_marks += 1

    def _fold(self, count: int) -> None:
        """Turn the oldest events into totals."""
        first = self.events - len(self.start)
        for place in range(count):
            key = self._keys[self.kind[place]]
            total = self.folded.get(key)
            if total is None:
                total = self.folded[key] = Total()
            total.add(self.net[place], self.own[place], self._kinds[self.kind[place]])
            self._arguments.pop(first + place, None)
            self._conversions.pop(first + place, None)
            total.bytes += self._moved.pop(first + place, 0)
        for column in (self.start, self.duration, self.own, self.net, self.kind, self.node):
            del column[:count]
        self.folded_events += count
        # Of the latest operators the gradients may still come.
        for node in list(self._forward_lines)[:max(0, len(self._forward_lines) - self.capacity)]:
            del self._forward_lines[node]

    def totals(self) -> dict[Key, Total]:
        """Totals of all events, folded or not."""
        totals: dict[Key, Total] = {}
        for key, folded in self.folded.items():
            totals.setdefault(key, Total()).merge(folded)
        if len(self.kind):
            self._add_kept(totals)
        first = self.events - len(self.start)
        for number, moved in self._moved.items():
            totals[self._keys[self.kind[number - first]]].bytes += moved
        return totals

    def _add_kept(self, totals: dict[Key, Total]) -> None:
        """Add the events kept to the totals, all of one kind at once."""
        kinds, net, own = (np.array(column, np.int64) for column in (self.kind, self.net, self.own))
        order = np.argsort(kinds, kind="stable")
        kinds, net, own = kinds[order], net[order], own[order]
        begins = np.flatnonzero(np.r_[True, kinds[1:] != kinds[:-1]])
        counts = np.diff(np.r_[begins, len(kinds)])
        columns = (np.add.reduceat(net, begins), np.add.reduceat(own, begins), np.minimum.reduceat(net, begins),
                   np.maximum.reduceat(net, begins))
        # In the order in which the kinds first came, as one by one.
        for place in np.argsort(order[begins], kind="stable").tolist():
            found = totals.setdefault(self._keys[kinds[begins[place]]], Total())
            made, kind, calls = Total(), self._kinds[kinds[begins[place]]], int(counts[place])
            made.calls = calls
            made.total, made.own, made.minimum, made.maximum = (int(column[place]) for column in columns)
            made.bytes, made.flops, made.dense_flops = (calls * kind[name] for name in ("bytes", "flops", "dense_flops"))
            found.merge(made)

    def covered(self) -> int:
        """Nanoseconds in which anything but the user's own spans ran."""
        apart = np.array([kind["lane"] != "user" for kind in self._kinds], bool)
        total = sum(folded.own for key, folded in self.folded.items() if key.lane != "user")
        if not len(self.start):
            return total
        kept = apart[np.array(self.kind, np.int64)]
        start = np.array(self.start, np.int64)[kept]
        end = start + np.array(self.duration, np.int64)[kept]
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        begin = np.maximum(start[1:], reach[:-1])
        first = int(end[order][0] - start[0]) if len(start) else 0
        return total + first + int(np.maximum(end[order][1:] - begin, 0).sum())

    def columns(self) -> Columns:
        """A copy of the events kept: the number of the first, then start, duration, own time, kind and node of each."""
        first = self.events - len(self.start)
        return first, self.start[:], self.duration[:], self.own[:], self.kind[:], self.node[:]

    def records(self, columns: Columns | None = None) -> list[Record]:
        """The events kept, as plain records sorted by start; parents come before what they contain."""
        first, starts, durations, owns, kinds, nodes = columns or self.columns()
        threads = [self._kinds[kind]["thread"] for kind in kinds]
        depth = depths(threads, starts, durations)
        order = sorted(range(len(starts)), key=lambda i: (starts[i], depth[i], threads[i], i))
        known = self._kinds
        return [self._record(first + i, starts[i], durations[i], owns[i], known[kinds[i]], nodes[i], depth[i]) for i in order]

    def _record(self, number: int, start: int, duration: int, own: int, kind: KindRecord, node: int,
                depth: int) -> Record:
        record: Record = {
            "name": kind["name"], "kind": kind["kind"], "lane": kind["lane"],
            "start": start / 1000, "duration": duration / 1000, "self": own / 1000, "depth": depth, "layer": kind["layer"],
            "node": None if node == NO_NODE else node, "attrs": self._arguments.get(number) or kind["attrs"],
            "fallback": kind["fallback"], "became_dense": kind["became_dense"],
            "inputs": kind["inputs"], "outputs": kind["outputs"],
            "bytes": kind["bytes"] or self._moved.get(number, 0), "flops": kind["flops"], "dense_flops": kind["dense_flops"],
            "line": kind["line"], "thread": kind["thread"],
        }
        if number in self._conversions:
            record["conversion"] = self._conversions[number]
        return record

    def names(self) -> Iterator[tuple[int, str, str]]:
        """Order of arrival, name and lane of the events kept."""
        for place, kind in enumerate(self.kind):
            yield place, self._kinds[kind]["name"], self._kinds[kind]["lane"]


def _operator_kind(plan: Plan, lane: str, layer: str, thread: int, line: str, taken: list[describe.ArrayKey],
                   given: list[describe.ArrayKey], made: list[bool]) -> KindRecord:
    """What all calls of a kind have in common; ``made`` says which results are new arrays, and not inputs written in place."""
    inputs, outputs = ([describe.describe(key) for key in side] for side in (taken, given))
    useful, dense = describe.flops(plan.op, plan.attrs, inputs, outputs)
    fallback = bool(plan.fallback)
    became_dense = hooks.FALLBACK if fallback else _by_nature(plan, lane, inputs, outputs)
    return {
        "name": plan.op.name, "kind": "op", "lane": plan.op.lane or lane, "layer": layer,
        "attrs": {name: describe.plain(value) for name, value in plan.attrs.items()}, "fallback": fallback,
        "became_dense": became_dense, "converts": bool(became_dense) or _asked(plan.op.lane or lane, inputs, outputs),
        "inputs": inputs, "outputs": outputs, "bytes": _moved(plan, inputs, outputs, made),
        "flops": useful, "dense_flops": dense, "line": line, "thread": thread,
    }


def _moved(plan: Plan, inputs: list[ArrayRecord], outputs: list[ArrayRecord], made: list[bool]) -> int:
    """Bytes that a call reads and writes."""
    op: Any = plan.op  # Any: the record of an operator of this library or of PyTorch, which have more than a name
    own, place = getattr(op, "moved", None), getattr(op, "selects", None)
    if own is not None:
        return int(own(inputs, outputs))
    if getattr(op, "mutates", ()):
        stypes = ["default" if plan.fallback else array["stype"] for array in inputs]
        reads, writes = op.visits(plan.attrs, stypes, getattr(plan, "training", False))
        return describe.moved_in_place(inputs, [array for array, new in zip(outputs, made, strict=True) if new], reads, writes)
    if place is not None and inputs[place]["stype"] == "default" and not plan.fallback:
        return describe.selected(inputs, outputs, place)
    return describe.moved(inputs, outputs, plan.fallback, in_place=not all(made))


def _is_one_of(entry: Entry, inputs: Sequence[Entry]) -> bool:
    """Whether a result is one of the inputs, or lies in its memory."""
    owners = {owner for owner, _ in entry.owners()}
    return any(entry is one or not owners.isdisjoint(owner for owner, _ in one.owners()) for one in inputs)


def _memory(entry: Entry) -> Allocation | None:
    """The memory of a dense array; None where it is sparse or not tracked."""
    return entry if isinstance(entry, Allocation) else entry.owner if isinstance(entry, View) else None


def _asked(lane: str, inputs: list[ArrayRecord], outputs: list[ArrayRecord]) -> bool:
    """Whether this is a conversion to dense that the program asks for."""
    return (lane == "convert" and any(array["stype"] != "default" for array in inputs)
            and any(array["stype"] == "default" for array in outputs))


def _by_nature(plan: Plan, lane: str, inputs: list[ArrayRecord], outputs: list[ArrayRecord]) -> str:
    """Whether a dense result holds a sparse input by the nature of the operator; as ``core.dispatch`` notes it."""
    kind = getattr(plan, "dense", "")
    if not kind or (kind == hooks.ASKED and lane != "backward"):
        return ""
    largest = max((math.prod(array["shape"]) for array in outputs if array["stype"] == "default"), default=-1)
    held = any(array["stype"] != "default" and math.prod(array["shape"]) <= largest for array in inputs)
    return hooks.NATURAL if held else ""
