"""The columns of a profile as plain rows: records of events, memory, ledger, marks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.lazy import computed_once
from ..core.hooks import Densification
from .columns import NONE
from .describe import ArrayKey, describe
from .groups import covered
from .memory import highest
from .memory_timeline import Lives

if TYPE_CHECKING:
    from ..base.types import JSON, Array, Plain
    from .columns import Columns, Ragged
    from .types import Alive, ArrayRecord, KindRecord, MarkRecord, Memory, Record

#: Samples of the curve of memory, and rows of what was alive at the peak.
MAX_SAMPLES, MAX_ALIVE = 4096, 100_000


class Process(NamedTuple):
    """One process of a merged profile.

    Attributes
    ----------
    name : str
        ``"worker 0"``, ``"server 1"``, or what ``merge`` was told.
    kind : {"worker", "server", "process"}
    number : int
        Rank of a worker, index of a server, else the place among the others.
    offset : float
        Microseconds from the start of the merged profile to that of this process's own; negative if it began before.
    error : float or None
        Largest possible error of its times, in microseconds, relative to the first server's clock; None if unknown.
    about : dict
        Plain data about the process: the counts of a server, or the ``rank`` of a worker.
    """

    name: str
    kind: str
    number: int
    offset: float
    error: float | None
    about: dict[str, JSON]


class Part(NamedTuple):
    """The data of one process; times are those of the merged profile."""

    process: Process
    data: Stored


class Stored:
    """The data of a profile at one moment; times in microseconds.

    Parameters
    ----------
    columns : Columns
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def refresh(self) -> Stored:
        """Do nothing: the data are final."""
        return self

    def aside(self) -> Stored:
        """The same data, whose records are freed with it; records that exist already stay."""
        return self if "records" in self.__dict__ else Stored(self.columns)

    # ------------------------------------------------------------------- runs

    @computed_once
    def about(self) -> list[dict[str, Any]]:  # Any: plain data, of which each field has a type of its own
        """What each run says about itself: ``environment idle_bytes process_peak_bytes devices table_bytes graph process``."""
        return [_mapping(text) for text in self._texts(self.columns.runs.about)]

    @computed_once
    def parts(self) -> list[Part]:
        """The processes of a merged profile; empty for others."""
        runs = self.columns.runs
        kinds = self._texts(runs.process)
        if not any(kinds):
            return []
        processes = []
        for run, (name, kind) in enumerate(zip(self._texts(runs.name), kinds, strict=True)):
            error = int(runs.error[run])
            process = Process(name, kind, int(runs.number[run]), runs.offset[run] / 1000, None if error < 0 else error / 1000,
                              self._told(run, "process"))
            processes.append(Part(process, Stored(self.columns.only(run))))
        return processes

    def _told(self, run: int, field: str) -> dict[str, JSON]:
        """An object that a run says about itself; empty if it does not."""
        value = self.about[run].get(field)
        return value if isinstance(value, dict) else {}

    def _worked(self) -> list[int]:
        """The runs that a share of time is asked of: not those of servers, which mostly wait."""
        kinds = self._texts(self.columns.runs.process)
        return [run for run, kind in enumerate(kinds) if kind != "server"] or list(range(len(kinds)))

    @property
    def wall(self) -> float:
        """Time that was profiled; of several processes from the first's beginning to the last's end."""
        runs, events = self.columns.runs, self.columns.events
        if not self.parts:
            return int(runs.wall.max(initial=0)) / 1000
        ends = np.maximum(runs.offset, 0) + runs.wall
        return max(int(ends.max(initial=0)), int((events.start + events.duration).max(initial=0))) / 1000

    @computed_once
    def accounted(self) -> float:
        """Share of the wall time covered by any event but the user's own spans, or by the profiler itself."""
        runs = self.columns.runs
        wall = int(runs.wall[self._worked()].sum())
        shares = [min(int(runs.wall[run]), covered(self.columns, run) + int(runs.overhead[run])) for run in self._worked()]
        return sum(shares) / wall if wall else 0.0

    @property
    def overhead(self) -> float:
        """Time that the profiler took."""
        return int(self.columns.runs.overhead.sum()) / 1000

    @property
    def events(self) -> int:
        """Number of events, also of those that are not kept."""
        return int(self.columns.runs.events.sum())

    @property
    def folded(self) -> int:
        """Number of events that are not kept."""
        return int(self.columns.folded.calls.sum())

    @computed_once
    def environment(self) -> dict[str, str]:
        """Versions of what took part."""
        return {str(name): str(version) for run in reversed(range(len(self.about)))
                for name, version in self._told(run, "environment").items()}

    @property
    def graph(self) -> list[Plain]:
        """Nodes of the graph of a PyTorch program; empty if none was recorded."""
        nodes = self.about[0].get("graph") if self.about else None
        return nodes if isinstance(nodes, list) else []

    def _texts(self, numbers: Array) -> list[str]:
        return self.columns.texts(numbers)

    # ------------------------------------------------------------------- events

    @computed_once
    def records(self) -> list[Record]:
        """A record for each event that is kept, sorted by start; parents come before what they contain."""
        events = self.columns.events
        names = self._texts(self.columns.runs.name)
        columns = (events.run, events.thread, events.kind, events.start, events.duration, events.own, events.depth, events.node,
                   events.moved, events.arguments, events.conversion)
        shared, arguments = self.kinds(), self._json(events.arguments)
        event_records: list[Record] = []
        for run, thread, kind, start, duration, own, depth, node, moved, own_arguments, conversion in zip(
                *(column.tolist() for column in columns), strict=True):
            # The fields that only the recorder has are left out.
            record: Record = {**shared[kind], "thread": thread, "start": start / 1000, "duration": duration / 1000,  # type: ignore[typeddict-item]
                              "self": own / 1000, "depth": depth, "node": None if node < 0 else node}
            if own_arguments:
                record["attrs"] = {**record["attrs"], **arguments[own_arguments]}
            if moved:
                record["bytes"] += moved
            if conversion != NONE:
                record["conversion"] = conversion
            if names[run]:
                record["process"] = names[run]
            event_records.append(record)
        return event_records

    def _json(self, numbers: Array) -> dict[int, dict[str, JSON]]:
        """What some texts of JSON stand for, by their numbers."""
        return {number: _mapping(self.columns.strings[number]) for number in np.unique(numbers).tolist() if number}

    def kinds(self) -> list[KindRecord]:
        """What the events of each kind have in common."""
        kinds, arrays = self.columns.kinds, self._arrays()
        attrs = self._json(kinds.attrs)
        texts = {name: self._texts(getattr(kinds, name)) for name in ("name", "type", "lane", "layer", "line", "became_dense")}
        numbers = {name: getattr(kinds, name).tolist() for name in ("attrs", "fallback", "bytes", "flops", "dense_flops")}
        records: list[Any] = []  # Any: a KindRecord without the fields that only the recorder has
        for place, (inputs, outputs) in enumerate(zip(kinds.inputs.lists(), kinds.outputs.lists(), strict=True)):
            records.append({
                **{name: values[place] for name, values in texts.items() if name != "type"}, "kind": texts["type"][place],
                **{name: values[place] for name, values in numbers.items()}, "attrs": attrs.get(numbers["attrs"][place], {}),
                "fallback": bool(numbers["fallback"][place]),
                "inputs": [arrays[number] for number in inputs], "outputs": [arrays[number] for number in outputs]})
        return records

    def _arrays(self) -> list[ArrayRecord]:
        arrays = self.columns.arrays
        texts = [self._texts(getattr(arrays, name)) for name in ("stype", "dtype", "index_dtype", "role", "owner")]
        numbers = [arrays.stored.tolist(), arrays.rows.tolist()]
        lists = [column.lists() for column in (arrays.shape, arrays.components, arrays.sizes)]
        records: list[ArrayRecord] = []
        for stype, dtype, index, role, owner, stored, rows, shape, parts, sizes in zip(*texts, *numbers, *lists, strict=True):
            components = tuple(zip(self.columns.texts(parts), sizes, strict=False))
            records.append(describe(ArrayKey(stype, tuple(shape), dtype, stored, index or None, components,
                                             None if rows < 0 else rows, role, owner)))
        return records

    # ------------------------------------------------------------------- ledger and marks

    @computed_once
    def _ledger(self) -> list[tuple[int, int, int, Densification]]:
        ledger = self.columns.ledger
        texts = {name: self._texts(getattr(ledger, name))
                 for name in ("op", "line", "kind", "source", "target", "reason", "remedy")}
        numbers = [getattr(ledger, name).tolist() for name in ("time", "thread", "times", "bytes_before", "bytes_after")]
        return [(time, thread, times, Densification(
            **{name: values[place] for name, values in texts.items()}, shape=tuple(shape), bytes_before=before,
            bytes_after=after)) for place, (time, thread, times, before, after, shape) in enumerate(
                zip(*numbers, ledger.shape.lists(), strict=True))]

    @property
    def densifications(self) -> list[tuple[float, int, Densification]]:
        """Time and thread of each array that silently became dense, and what is known of it."""
        entries = [(time / 1000, thread, record) for time, thread, _, record in self._ledger if time >= 0]
        return sorted(entries, key=lambda entry: entry[:2])

    @property
    def more_densifications(self) -> dict[Densification, int]:
        """How often each came that is only counted."""
        counts: dict[Densification, int] = {}
        for time, _, times, record in self._ledger:
            if time < 0:
                counts[record] = counts.get(record, 0) + times
        return counts

    @property
    def densified(self) -> int:
        """Number of arrays that silently became dense."""
        return int(self.columns.ledger.times.sum())

    @computed_once
    def marks(self) -> list[MarkRecord]:
        """Markers and values of counters."""
        marks = self.columns.marks
        texts = [self._texts(getattr(marks, name)) for name in ("kind", "name", "value", "unit", "line")]
        records: list[MarkRecord] = [
            {"kind": kind, "name": name, "time": time / 1000, "value": _parsed(value), "unit": unit,
             "thread": thread, "line": line}
            for time, thread, kind, name, value, unit, line in zip(
                marks.time.tolist(), marks.thread.tolist(), *texts, strict=True)]
        return sorted(records, key=lambda mark: (mark["time"], mark["thread"])) if self.parts else records

    @property
    def more_marks(self) -> int:
        """Number of marks that are not kept."""
        return int(self.columns.runs.more_marks.sum())

    # ------------------------------------------------------------------- memory

    @property
    def gradient_rows(self) -> dict[str, int]:
        """Most rows that a row_sparse gradient of each parameter stored."""
        most_rows: dict[str, int] = {}
        table = self.columns.gradient_rows
        for parameter, rows in zip(self._texts(table.parameter), table.rows.tolist(), strict=True):
            most_rows[parameter] = max(rows, most_rows.get(parameter, 0))
        return most_rows

    @computed_once
    def memories(self) -> list[Memory]:
        """The memory of each run."""
        return [_memory_of(self.columns, run, about) for run, about in enumerate(self.about)]

    @property
    def memory(self) -> Memory:
        """The memory of the run, of several that of the one that held the most."""
        return max(self.memories, key=lambda memory: memory["peak_bytes"])

    @property
    def has_lives(self) -> bool:
        """Whether the lifetime of each array is known: not of several processes, and not of other profilers."""
        return not self.parts and (not len(self.columns.holdings) or bool(self.columns.holdings.dtype.any()))

    @computed_once
    def lives(self) -> Lives:
        """The allocations and frees in their order, with the batches."""
        kinds, (numbers, first, times) = self.kinds(), np.unique(self.columns.events.kind, return_index=True, return_counts=True)
        order = np.argsort(first)
        return Lives(self.columns).seen([kinds[number] for number in numbers[order].tolist()], times[order].tolist())

    @property
    def kept_bytes(self) -> int:
        """Bytes that operators allocated and that are still held at the end, minus freed bytes of earlier arrays."""
        changes = self.columns.changes
        sizes = self.columns.holdings.bytes[changes.holding] * changes.count
        return int(sizes[changes.met == 0].sum())


def _parsed(text: str) -> JSON:
    """What a text of JSON stands for; None if it is none: a file may hold anything."""
    try:
        value: JSON = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return value


def _mapping(text: str) -> dict[str, JSON]:
    """The object that a text of JSON stands for; an empty one if it is none."""
    value = _parsed(text)
    return value if isinstance(value, dict) else {}


def _memory_of(columns: Columns, run: int, about: dict[str, Any]) -> Memory:  # Any: plain data
    """The memory of one run as plain data."""
    mine = columns.changes.run == run
    time, holding, count = (getattr(columns.changes, name)[mine] for name in ("time", "holding", "count"))
    steps = columns.holdings.bytes[holding] * count
    totals = np.cumsum(steps)
    peak = int(np.argmax(totals)) if len(totals) else 0
    temporaries = columns.temporaries
    own = np.flatnonzero(temporaries.run == run).tolist()
    notes = columns.process_memory
    processes = np.flatnonzero(notes.run == run)
    memory: Memory = {
        "peak_bytes": max(int(totals[peak]), 0) if len(totals) else 0,
        "peak_time": int(time[peak]) / 1000 if len(totals) else 0.0,
        "samples": _samples(columns, time, holding, steps), "idle_bytes": int(about.get("idle_bytes") or 0),
        "at_peak": _alive(columns, holding[: peak + 1], count[: peak + 1]),
        "process_peak_bytes": about.get("process_peak_bytes"),
        "temporaries": sorted(
            ({"op": columns.strings[temporaries.op[i]], "layer": columns.strings[temporaries.layer[i]],
              "arrays": int(temporaries.arrays[i]), "bytes": int(temporaries.bytes[i]), "most": int(temporaries.most[i])}
             for i in own),
            key=lambda row: (-row["bytes"], row["op"], row["layer"])),
        "process_samples": [[now / 1000, held] for now, held in zip(
            notes.time[processes].tolist(), notes.bytes[processes].tolist(), strict=True)]}
    for name in ("devices", "table_bytes"):
        if about.get(name):
            memory[name] = about[name]
    return memory


def _samples(columns: Columns, time: Array, holding: Array, steps: Array) -> list[list[Any]]:  # Any: as ``types.Sample``
    """Time, bytes, and bytes by role: the last state of each moment, and a higher one before it; of long runs fewer."""
    if not len(time):
        return []
    totals = np.cumsum(steps)
    last = np.append(np.flatnonzero(np.diff(time)), len(time) - 1)
    begins = np.append(0, last[:-1] + 1)
    highs = np.maximum.reduceat(totals, begins)
    rises = highs > np.maximum(totals[last], np.append(0, totals[last[:-1]]))
    higher = [begin + int(np.argmax(totals[begin: end + 1])) for begin, end in zip(
        begins[rises].tolist(), last[rises].tolist(), strict=True)]
    tops = np.unique(np.append(last, np.array(higher, np.int64)))
    if len(tops) > MAX_SAMPLES:
        tops = tops[highest(np.diff(totals[tops], prepend=0), MAX_SAMPLES // 2)]
    roles = columns.holdings.role[holding]
    levels = {columns.strings[role]: np.cumsum(np.where(roles == role, steps, 0))[tops].tolist()
              for role in np.unique(roles).tolist()}
    return [[now / 1000, total, {role: levels[role][place] for role in sorted(levels) if levels[role][place]}]
            for place, (now, total) in enumerate(zip(time[tops].tolist(), totals[tops].tolist(), strict=True))]


def _alive(columns: Columns, holding: Array, count: Array) -> list[Alive]:
    """What is there after some changes, largest first."""
    holdings = columns.holdings
    alive = np.bincount(holding, count, len(holdings)).astype(np.int64)
    shape: Ragged = holdings.shape
    rows: list[Alive] = []
    for number in sorted(np.flatnonzero(alive > 0).tolist(), key=lambda number: -int(holdings.bytes[number])):
        words = {name: columns.strings[getattr(holdings, name)[number]]
                 for name in ("owner", "role", "stype", "component", "dtype", "layer")}
        # The names of the texts are those of the fields.
        row: Alive = {**words, "shape": shape.of(number).tolist(), "bytes": int(holdings.bytes[number])}  # type: ignore[typeddict-item]
        if words["dtype"]:  # traces of other profilers only say how much there was
            rows += [row.copy() for _ in range(min(int(alive[number]), MAX_ALIVE - len(rows)))]
    return sorted(rows, key=lambda row: (-row["bytes"], row["role"], row["owner"], row["component"], row["shape"]))
