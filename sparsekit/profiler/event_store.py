"""The data of a run while it is recorded: what the recorder noted becomes columns of events, kinds, arrays and memory."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..core import hooks
from . import describe
from .allocations import CREATED, RANKS, Allocation, Origin, Sparse, View
from .clock import Clock
from .columns import NONE, Columns, Strings, build
from .event_buffer import Densified, Flow, Mark, Note, Operation, Plan, Span
from .event_rows import EventRows
from .groups import COSTS, Sums
from .memory import ROLE_OF_OUTPUT, MemoryTracker
from .nesting import Nesting
from .source_location import line_of

if TYPE_CHECKING:
    import collections
    from collections.abc import Hashable, Mapping, Sequence
    from types import CodeType

    from ..base.types import JSON, Array
    from .allocations import Entry
    from .columns import Given
    from .torch_graph import TorchGraph
    from .types import ArrayRecord, KindRecord

    #: What decides the kind of an event: an operator's plan and arrays by number, or a span's name; and where it ran.
    KindKey: TypeAlias = tuple[int | str, ...]

#: Densifications and marks kept in full, with their times; beyond that they are only counted.
MOST_NOTES = 100_000

NO_NODE = -1

#: Types of attributes in which the calls of an operator may differ that are of one kind; of an update all numbers.
_FLOATS = frozenset((float, np.float32, np.float64))
_NUMBERS = _FLOATS | {int, np.int64}


class Log:
    """Stores the events of a recorder, and gives them as columns.

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
        self.marks: list[tuple[int, int, str, str, str, str, str]] = []
        # What came after those that are kept in full: how often each densification, how many marks.
        self.more_densifications: dict[hooks.Densification, int] = {}
        self.more_marks = 0
        self.nesting = Nesting()
        self.rows = EventRows()
        self._clock = clock
        self._kinds: list[KindRecord] = []
        self._kind_of: dict[KindKey, int] = {}
        self._kept_alive: dict[int, Plan | CodeType] = {}
        # By the address of a plan: the first that is like it but for numbers, and the number of the text of its own attributes.
        self._plans: dict[int, tuple[Plan, int]] = {}
        self._alike: dict[Hashable, Plan] = {}
        # Number 0 separates inputs from outputs in a key, so descriptions count from 1.
        self._arrays: list[describe.ArrayKey | None] = [None]
        self._array_of: dict[Hashable, int] = {}
        # Arguments of single events, as JSON.
        self._arguments = Strings()
        self._lines: dict[tuple[int, int | None], str] = {}
        self._threads: dict[int, int] = {}
        self._forward_lines: dict[int, str] = {}
        # By kind: number, total, own, shortest and longest time, and bytes of their own, of events that are not kept.
        self._folded: dict[int, list[int]] = {}

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
        if len(self.rows) > self.capacity:
            self._fold(len(self.rows) - self.capacity // 2)

    @property
    def events(self) -> int:
        """Number of events, also of those that are not kept."""
        return self.rows.total

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
        first, own = self._plans.get(id(plan)) or self._plan(plan)
        if own:
            self.rows.sparse_columns["arguments"][self.rows.total] = own
        made_in = plan.op.lane or lane
        if len(inputs) == 2 and not isinstance(outputs, list):
            left, right = inputs
            key: KindKey = (id(first), lane, layer, thread, line, left.number or self._array(left),
                            right.number or self._array(right), 0, outputs.number or self._array(outputs, made_in))
        else:
            listed = outputs if isinstance(outputs, list) else (outputs,)
            key = (id(first), lane, layer, thread, line, *[entry.number or self._array(entry) for entry in inputs], 0,
                   *[entry.number or self._array(entry, made_in) for entry in listed])
        kind = self._kind_of.get(key)
        if kind is None:
            arrays = [int(number) for number in key[5:]]
            border = arrays.index(0)
            sides = [[number for number in side if self._arrays[number] is not None]
                     for side in (arrays[:border], arrays[border + 1:])]
            taken, produced = ([self._arrays[number] for number in side] for side in sides)
            listed = outputs if isinstance(outputs, list) else [outputs]
            record = _operator_kind(first, lane, layer, thread, line, taken, produced,  # type: ignore[arg-type]  # none is None
                                    [not _is_one_of(entry, inputs) for entry in listed])
            kind = self._add_kind(key, {**record, "taken": sides[0], "given": sides[1]})
        self._pass_on(inputs, outputs if isinstance(outputs, list) else (outputs,), self._kinds[kind])
        self._append(kind, thread, start, end, NO_NODE if node is None else node, len(inputs), False)

    def _plan(self, plan: Plan) -> tuple[Plan, int]:
        """The first plan that differs from this one in numbers alone, and the number of the text that has those of this one.

        So all steps of an optimizer whose learning rate changes are of one kind.  Whole numbers decide what other operators
        than updates move and compute.  The number is 0 if none differs.
        """
        left_out = _NUMBERS if plan.op.lane == "update" else _FLOATS
        try:
            alike = (id(plan.op), plan.fallback, getattr(plan, "dense", ""), getattr(plan, "training", False), tuple([
                (name, None if value.__class__ in left_out else value) for name, value in plan.attrs.items()]))
            first = self._alike.setdefault(alike, plan)
        except TypeError:  # an attribute has no hash
            first = plan
        other = {name: describe.plain(value) for name, value in plan.attrs.items() if value is not first.attrs[name]}
        own = self._arguments.number(json.dumps(other)) if other else 0
        self._kept_alive[id(plan)] = plan
        self._plans[id(plan)] = first, own
        return first, own

    def _pass_on(self, inputs: Sequence[Entry], outputs: Sequence[Entry], kind: KindRecord) -> None:
        """Note who wrote the inputs, and what results have of them.

        Origins are a sparse input of this event, or those of its inputs.  The number of an event that made a sparse array dense
        goes on to results as large.
        """
        taken: list[Allocation | None] = []
        origin, all_known, conversion, least = None, True, None, 0
        for entry in inputs:
            memory = entry if entry.__class__ is Allocation else entry.owner if entry.__class__ is View else None
            if memory is not None:
                input_origin = memory.origin
                if conversion is None and memory.conversion is not None:
                    conversion, least = memory.conversion, math.prod(memory.shape)
            else:
                input_origin = None if entry.__class__ is View else self._sparse_origin(kind, entry)
            source = memory if memory is not None or entry.__class__ is View else _source(entry)
            self.rows.made_by.append(NONE if source is None else source.maker)
            taken.append(memory)
            if input_origin is None:
                all_known = False
            elif origin is None or RANKS[input_origin.kind] > RANKS[origin.kind]:
                origin = input_origin
        if not taken:
            origin = kind.get("origin")
            if origin is None:
                origin = kind["origin"] = Origin(CREATED, kind["name"], kind["line"], "", ())
        elif not all_known and origin is not None and origin.kind == CREATED:
            origin = None  # what it was also computed from may have been sparse
        if kind["converts"]:
            conversion, least = self.rows.total, 0
        if conversion is not None:
            self.rows.sparse_columns["conversion"][self.rows.total] = conversion
        sparse = origin is not None and origin.kind in hooks.KINDS
        for entry in outputs:
            memory = entry if entry.__class__ is Allocation else entry.owner if entry.__class__ is View else _source(entry)
            if memory is None:
                continue
            memory.maker = self.rows.total
            new = memory not in taken
            # What is written to, or looked at as a view, keeps its own origin unless something sparse was written there.
            if entry.__class__ is not Sparse and (new or sparse):
                memory.origin = origin
            if new:
                memory.conversion = conversion if math.prod(memory.shape) >= least else None

    def _sparse_origin(self, kind: KindRecord, entry: Entry) -> Origin:
        """The origin that a sparse input gives the results of a kind of event."""
        origin = kind.get("origin")
        if origin is None:
            kind_of = kind["became_dense"] or hooks.ASKED
            origin = kind["origin"] = Origin(kind_of, kind["name"], kind["line"], entry.stype, entry.shape)
        return origin

    def _array(self, entry: Entry, made_in: str = "") -> int:
        """Number of the description of an array, made in a lane; equal arrays share one."""
        source = entry if entry.__class__ is Allocation else _memory(entry) or _source(entry)
        role, owner = ("", "") if source is None else source.given or (source.kind.role, "")
        if made_in and not owner and isinstance(entry, View):  # in memory that was first used for something else
            role = ROLE_OF_OUTPUT.get(made_in, "workspace")
        # describe.dtype_of keeps each element type alive, so that their addresses are unique.
        short = None if entry.__class__ is Sparse else (entry.shape, id(entry.dtype), role, owner)  # type: ignore[union-attr]  # dense
        number = self._array_of.get(short)
        if number is None:
            key = describe.key_of(entry, role, owner)
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
        line = self._lines.get(key)
        if line is None:
            self._kept_alive[id(code)] = code
            line = self._lines[key] = line_of(code, instruction)
        return line

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
                "inputs": [], "outputs": [], "bytes": 0, "flops": 0, "dense_flops": 0, "line": line, "thread": thread,
                "taken": [], "given": []})
        if arguments:
            moved = arguments.get("bytes")
            if type(moved) is int and moved > 0:
                self.rows.sparse_columns["moved"][self.rows.total] = moved
            text = _json({str(name): describe.plain(value) for name, value in arguments.items()})
            self.rows.sparse_columns["arguments"][self.rows.total] = self._arguments.number(text)
        self._append(kind, thread, start, end, NO_NODE, 0, event.lane == "compile")

    def _add_kind(self, key: KindKey, kind: KindRecord) -> int:
        self._kinds.append(kind)
        self._kind_of[key] = len(self._kinds) - 1
        return len(self._kinds) - 1

    def _append(self, kind: int, thread: int, start: int, end: int, node: int, inputs: int, compiling: bool) -> None:
        start, own, compiled = self.nesting.add(thread, start, end, compiling)
        end = max(end, start)  # operators of a table are noted after what was compiled between them
        self.rows.append(kind, start, end - start, own, max(end - start - compiled, 0), node, inputs)

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
        conversion, maker = next(((owner.conversion, owner.maker) for owner, _ in source.owners()), (None, NONE))
        for allocation, _ in target.owners():
            allocation.conversion, allocation.maker = conversion, maker
            if origin is not None or (allocation.origin is not None and allocation.origin.kind == CREATED):
                allocation.origin = origin

    def _mark(self, event: Note, content: Mark, now: int) -> None:
        if len(self.marks) < MOST_NOTES:
            name, value, unit = content
            self.marks.append((now, self.thread(event.thread), event.kind, name, json.dumps(describe.plain(value)), unit,
                               self._line_of(event)))
        else:
            self.more_marks += 1

    def _fold(self, count: int) -> None:
        """Turn the oldest events into totals."""
        sums, moved = self.rows.fold(count, self._thread_of_kind())
        for kind in np.flatnonzero(sums.calls).tolist():
            _fold_into(self._folded.setdefault(kind, [0] * 6), [int(column[kind]) for column in (*sums, moved)])
        # Of the latest operators the gradients may still come.
        for node in list(self._forward_lines)[:max(0, len(self._forward_lines) - self.capacity)]:
            del self._forward_lines[node]

    def _thread_of_kind(self) -> Array:
        return np.array([kind["thread"] for kind in self._kinds], np.int64)

    # ------------------------------------------------------------------- as columns

    def columns(self, wall: int, overhead: int, about: Mapping[str, JSON], process: Sequence[tuple[int, int]]) -> Columns:
        """All that was recorded so far.

        Parameters
        ----------
        wall, overhead : int
            Nanoseconds that were profiled, and that the profiler took.
        about : dict
            Plain data, which the row of the run has as JSON.
        process : list
            Times, and the bytes that the whole process held then.
        """
        ledger = [(time, thread, 1, *record) for time, thread, record in self.densifications]
        ledger += [(NONE, NONE, times, *record) for record, times in self.more_densifications.items()]
        changes = self.memory.changes()
        return build(
            Strings(self._arguments.all()),
            runs={"wall": [wall], "overhead": [overhead], "events": [self.rows.total], "error": [NONE],
                  "more_marks": [self.more_marks], "about": [_json(about)]},
            arrays=self._array_columns(), kinds=self._kind_columns(), events=self.rows.columns(self._thread_of_kind()),
            folded=self._folded_columns(), holdings=self.memory.holdings(),
            changes={**changes, "run": np.zeros(len(changes["time"]), np.int64)},
            ledger=_table(("time", "thread", "times", *hooks.Densification._fields), ledger),
            marks=_table(("time", "thread", "kind", "name", "value", "unit", "line"), self.marks),
            process_memory=_table(("time", "bytes"), process),
            temporaries=_table(("op", "layer", "arrays", "bytes", "most"),
                               [(*key, *sums) for key, sums in self.memory.temporaries.items()]),
            gradient_rows=_table(("parameter", "rows"), list(self.memory.gradient_rows.items())))

    def _array_columns(self) -> dict[str, Given]:
        # The first stands for inputs that were left out, which no kind has.
        keys = [key or _NO_ARRAY for key in self._arrays]
        return {
            "stype": [key.stype for key in keys], "shape": [key.shape for key in keys], "dtype": [key.dtype for key in keys],
            "index_dtype": [key.index_dtype or "" for key in keys], "stored": [key.nnz for key in keys],
            "rows": [NONE if key.rows is None else key.rows for key in keys],
            "bytes": [sum(size for _, size in key.components) for key in keys],
            "components": [[name for name, _ in key.components] for key in keys],
            "sizes": [[size for _, size in key.components] for key in keys],
            "role": [key.role for key in keys], "owner": [key.owner for key in keys]}

    def _kind_columns(self) -> dict[str, Given]:
        kinds = self._kinds
        # Names of fields, which a TypedDict wants to see written out.
        plain: dict[str, Given] = {name: [kind[name] for kind in kinds] for name in _PLAIN_OF_KIND}  # type: ignore[literal-required]
        return {**plain, "type": [kind["kind"] for kind in kinds], "attrs": [_json(kind["attrs"]) for kind in kinds],
                "storage": [describe.storage(kind["inputs"], kind["outputs"]) for kind in kinds],
                "inputs": [kind["taken"] for kind in kinds], "outputs": [kind["given"] for kind in kinds]}

    def _folded_columns(self) -> dict[str, Given]:
        rows: list[tuple[Any, ...]] = []  # Any: texts and numbers
        for number, (*sums, moved) in self._folded.items():
            kind = self._kinds[number]
            rows.append((kind["name"], kind["lane"], kind["layer"], describe.storage(kind["inputs"], kind["outputs"]), *sums,
                         sums[0] * kind["bytes"] + moved, sums[0] * kind["flops"], sums[0] * kind["dense_flops"]))
        return _table(("name", "lane", "layer", "storage", *Sums._fields, *COSTS), rows)


#: What is said of a kind as it is, and of an array that was left out.
_PLAIN_OF_KIND = ("name", "lane", "layer", "line", "became_dense", "fallback", "converts", "bytes", "flops", "dense_flops")
_NO_ARRAY = describe.ArrayKey("", (), "", 0, None, (), None)


def _json(value: Mapping[str, JSON]) -> str:
    return json.dumps(describe.without_folders(dict(value)), separators=(",", ":"), allow_nan=False) if value else ""


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Given]:  # Any: texts and numbers
    """The columns of rows of the only run."""
    return {"run": [0] * len(rows), **{name: [row[place] for row in rows] for place, name in enumerate(names)}}


def _fold_into(before: list[int], added: list[int]) -> None:
    """Add the sums of more events of a kind."""
    calls, total, own, shortest, longest, moved = added
    before[3] = min(before[3], shortest) if before[0] else shortest
    before[4] = max(before[4], longest)
    before[0], before[1], before[2], before[5] = before[0] + calls, before[1] + total, before[2] + own, before[5] + moved


def _operator_kind(plan: Plan, lane: str, layer: str, thread: int, line: str, taken: list[describe.ArrayKey],
                   produced: list[describe.ArrayKey], is_new: list[bool]) -> KindRecord:
    """What all calls of a kind have in common; ``is_new`` says which results are new arrays, and not inputs written in place."""
    inputs, outputs = ([describe.describe(key) for key in side] for side in (taken, produced))
    useful, dense = describe.flops(plan.op, plan.attrs, inputs, outputs)
    fallback = bool(plan.fallback)
    became_dense = hooks.FALLBACK if fallback else _by_nature(plan, lane, inputs, outputs)
    return {
        "name": plan.op.name, "kind": "op", "lane": plan.op.lane or lane, "layer": layer,
        "attrs": {name: describe.plain(value) for name, value in plan.attrs.items()}, "fallback": fallback,
        "became_dense": became_dense, "converts": bool(became_dense) or _asked(plan.op.lane or lane, inputs, outputs),
        "inputs": inputs, "outputs": outputs, "bytes": _moved(plan, inputs, outputs, is_new),
        "flops": useful, "dense_flops": dense, "line": line, "thread": thread, "taken": [], "given": [],
    }


def _moved(plan: Plan, inputs: list[ArrayRecord], outputs: list[ArrayRecord], is_new: list[bool]) -> int:
    """Bytes that a call reads and writes."""
    op: Any = plan.op  # Any: the record of an operator of this library or of PyTorch, which have more than a name
    own, place = getattr(op, "moved", None), getattr(op, "selects", None)
    if own is not None:
        return int(own(inputs, outputs))
    if getattr(op, "mutates", ()):
        stypes = ["default" if plan.fallback else array["stype"] for array in inputs]
        reads, writes = op.visits(plan.attrs, stypes, getattr(plan, "training", False))
        return describe.moved_in_place(inputs, [array for array, new in zip(outputs, is_new, strict=True) if new], reads, writes)
    if place is not None and inputs[place]["stype"] == "default" and not plan.fallback:
        return describe.selected(inputs, outputs, place)
    return describe.moved(inputs, outputs, plan.fallback, in_place=not all(is_new))


def _is_one_of(entry: Entry, inputs: Sequence[Entry]) -> bool:
    """Whether a result is one of the inputs, or lies in its memory."""
    owners = {owner for owner, _ in entry.owners()}
    return any(entry is other or not owners.isdisjoint(owner for owner, _ in other.owners()) for other in inputs)


def _memory(entry: Entry) -> Allocation | None:
    """The memory of a dense array; None where it is sparse or not tracked."""
    return entry if isinstance(entry, Allocation) else entry.owner if isinstance(entry, View) else None


def _source(entry: Entry) -> Allocation | None:
    """The memory of an array, of a sparse one that of its values."""
    return next((owner for owner, _ in entry.owners()), None)


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
