"""What a timeline is drawn from: when each event began on the axis, in which row it stands, and what its arrays are."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..profiler.columns import Strings, merged
from .text import clean

if TYPE_CHECKING:
    from ..base.types import Array
    from ..profiler.columns import Columns

#: Lanes in the order in which a step of training passes through them; unknown ones follow.
LANES = ("user", "io", "transfer", "convert", "forward", "backward", "update", "exchange", "wait", "serve", "snapshot", "apply",
         "compile", "profiler")
#: Lanes that are no part of the work: shares leave out their time.
APART = ("compile", "profiler")
#: What the arrays of an operator are, as ``palette.KINDS`` calls it.
STORAGE = ("dense", "needed", "sparse", "none")
DENSE, NEEDED, SPARSE, NONE = range(len(STORAGE))
#: Roles of arrays that have to be dense.
HAS_TO_BE = ("parameter", "optimizer state", "label")
#: An array with less than this share of the elements of the largest one is small.
SMALL = 0.01
#: Rows of a run from which on its threads share their lanes, and runs that are drawn.
MOST_ROWS, MOST_RUNS = 16, 12
#: Steps that a run must have for one of them to be drawn alone, and events that are few enough to draw all of several runs.
LEAST_STEPS, FEW_EVENTS = 3, 60

_TORCH_STEP = re.compile(r"ProfilerStep#\d+")


class Row(NamedTuple):
    """A row of events of one kind of work, of one thread where several do it; ``events`` are their numbers by start."""

    name: str
    lane: str
    events: Array


class Run(NamedTuple):
    """One run or process: ``first`` and ``last`` are where its work begins and ends on the axis, ``steps`` their ends."""

    number: int
    name: str
    kind: str
    first: float
    last: float
    rows: list[Row]
    steps: Array

    @property
    def length(self) -> float:
        """Nanoseconds from the beginning to the end of its work."""
        return self.last - self.first

    @property
    def median_step(self) -> tuple[int, float, float] | None:
        """Place, beginning and end of the step of median length; None if there are too few."""
        if len(self.steps) < LEAST_STEPS:
            return None
        lengths = self.steps[:, 1] - self.steps[:, 0]
        place = int(np.argsort(lengths, kind="stable")[(len(lengths) - 1) // 2])
        return place, float(self.steps[place, 0]), float(self.steps[place, 1])


def together(runs: Mapping[str, Columns]) -> Columns:
    """The tables of several runs as those of one profile, each run under its name."""
    columns = merged(list(runs.values()))
    names = [f"{name} {own}".strip() for name, tables in runs.items() for own in tables.texts(tables.runs.name)]
    strings = Strings(columns.strings)
    changed = columns.changed({"runs": {"name": np.array([strings.number(name) for name in names], np.int32)}})
    return type(columns)(changed.tables, strings.all())


def part_of(columns: Columns, start: float, end: float) -> Columns:
    """What began in a part of the time, in nanoseconds, without what is known only in sums."""
    taken = {name: np.flatnonzero((times >= start) & (times < end)) for name, times in (
        ("events", columns.events.start), ("marks", columns.marks.time), ("ledger", columns.ledger.time))}
    return columns.taken({**taken, "folded": np.zeros(0, np.int64)})


def steps_of(timeline: Timeline) -> Timeline | None:
    """The median step of each of several runs; None if they are processes of one run, or one of them has few events or steps."""
    runs, start = timeline.runs, timeline.start
    steps = [run.median_step for run in runs]
    if len(runs) < 2 or timeline.common or timeline.left_out or not all(steps):
        return None
    if min(sum(len(row.events) for row in run.rows) for run in runs) <= FEW_EVENTS:
        return None
    columns, where = timeline.columns, np.zeros(len(start), bool)
    spans = columns.where_text(["user"])[columns.kinds.lane[columns.events.kind]]
    for run, step in zip(runs, steps, strict=True):
        if step is not None:
            where |= (columns.events.run == run.number) & (start >= step[1]) & (start < step[2])
    if not all((where & spans & (columns.events.run == run.number)).any() for run in runs):
        where &= ~spans  # a span lasts until the next step begins, so a run with spans would seem longer than one without
    nothing = np.zeros(0, np.int64)
    taken = columns.taken({"events": np.flatnonzero(where), "folded": nothing, "marks": nothing, "ledger": nothing})
    words = [f"step {step[0] + 1:,} of {len(run.steps):,}" for run, step in zip(runs, steps, strict=True) if step]
    return Timeline(taken, words)


def storage_of(columns: Columns) -> Array:
    """What the arrays of each kind of event are: a place in ``STORAGE``.

    An array counts if it is not small and the operator goes through all of it.  An operator with a sparse array is dense only if
    it has a dense array as large as that one, or made a sparse array dense.
    """
    arrays, kinds = columns.arrays, columns.kinds
    sparse = ~columns.where_text(["", "default"])[arrays.stype]
    needed = columns.where_text(HAS_TO_BE)[arrays.role]
    cells = [float(math.prod(shape)) for shape in arrays.shape.lists()]
    large = SMALL * max(cells, default=0.0)
    sizes = arrays.bytes.tolist()
    storage = np.full(len(kinds), NONE, np.int8)
    rows = zip(kinds.inputs.lists(), kinds.outputs.lists(), kinds.bytes.tolist(), kinds.became_dense.tolist(), strict=True)
    for kind, (inputs, outputs, moved, dense) in enumerate(rows):
        both = [place for place in (*inputs, *outputs) if place >= 0 and cells[place] >= large]
        stored = [cells[place] for place in both if sparse[place]]
        least = min(stored, default=0.0)
        full = [place for place in both if not sparse[place] and sizes[place] <= moved and cells[place] >= least]
        if dense or any(not needed[place] for place in full):
            storage[kind] = DENSE
        elif stored:
            storage[kind] = SPARSE
        elif full:
            storage[kind] = NEEDED
    return storage


class Timeline:
    """The events of a profile on the axis of a timeline.

    Parameters
    ----------
    columns : Columns
        Of one run, of several, which then begin together, or of workers and servers of one run, which have a common clock.
    parts : sequence of str, optional
        What of each run the columns have, if not all.

    Attributes
    ----------
    storage : array
        Of each kind of event its place in ``STORAGE``.
    start, end : array
        Nanoseconds of each event on the axis.
    level : array
        How many events of its row each stands inside, 2 at most.
    holds : array
        Whether an event has others of its row inside.
    shift : array
        What each run's own times lack to those of the axis.
    runs : list of Run
        Those that are drawn.
    common : bool
        Whether the runs are processes on a common clock.
    """

    def __init__(self, columns: Columns, parts: Sequence[str] = ()) -> None:
        self.columns, self.parts = columns, parts
        events, runs = columns.events, columns.runs
        self.storage = storage_of(columns)
        self.common = any(kind in ("worker", "server") for kind in columns.texts(runs.process))
        lanes = {number: (LANES.index(text) if text in LANES else len(LANES)) for number, text in enumerate(columns.strings)}
        self._order = np.array([lanes[number] for number in range(len(columns.strings))], np.int64)[columns.kinds.lane]
        self.apart = columns.where_text(APART)[columns.kinds.lane]
        self.start = events.start.astype(float)
        self.shift = np.zeros(max(len(runs), 1))
        spans = [self._span(run) for run in range(len(runs))]
        if len(runs) > 1 and not self.common:
            self.shift = -np.array([first for first, _ in spans])
            self.start = self.start + self.shift[events.run]
        self.end = self.start + events.duration
        self.level = np.zeros(len(events), np.int8)
        self.holds = np.zeros(len(events), bool)
        self.runs = [self._run(run, first + float(self.shift[run]), last + float(self.shift[run]))
                     for run, (first, last) in enumerate(spans[:MOST_RUNS])]  # fmt: skip
        self.left_out = len(runs) - len(self.runs)

    @property
    def view(self) -> tuple[float, float]:
        """The part of the axis on which anything is."""
        shown = [run for run in self.runs if run.last > run.first] or self.runs
        first = min((run.first for run in shown), default=0.0)
        last = max((run.last for run in shown), default=0.0)
        room = 0.004 * (last - first) if len(self.columns.marks) + len(self.columns.ledger) else 0.0  # for dots at the ends
        return first - room, last + room if last > first else first + 1.0

    def _span(self, run: int) -> tuple[float, float]:
        """From the first to the last of a run; of several runs without compilation and the profiler's work at the ends."""
        columns, events = self.columns, self.columns.events
        mine = events.run == run
        work = mine & ~self.apart[events.kind]
        chosen = work if len(columns.runs) > 1 and work.any() else mine
        starts, ends = self.start[chosen], self.start[chosen] + events.duration[chosen]
        if len(columns.runs) == 1:
            times = [table.time[(table.run == run) & (table.time >= 0)].astype(float)
                     for table in (columns.marks, columns.ledger)]  # fmt: skip
            starts, ends = (np.concatenate([ends_of, *times]) for ends_of in (starts, ends))
        return (float(starts.min()), float(ends.max())) if len(starts) else (0.0, 0.0)

    def _run(self, run: int, first: float, last: float) -> Run:
        columns = self.columns
        mine = np.flatnonzero(columns.events.run == run)
        name = columns.strings[columns.runs.name[run]]
        kind = columns.strings[columns.runs.process[run]]
        return Run(run, clean(name) or (f"run {run + 1}" if len(columns.runs) > 1 else ""), kind, first, last,
                   self._rows(mine, first, last), self._steps(mine, last))

    def _rows(self, mine: Array, first: float, last: float) -> list[Row]:
        """The rows of what is on the axis: one for each lane, and for each thread if that does not make too many."""
        mine = mine[(self.end[mine] >= first) & (self.start[mine] <= last)]
        kinds, events = self.columns.kinds, self.columns.events
        lane, order, thread = kinds.lane[events.kind[mine]], self._order[events.kind[mine]], events.thread[mine]
        threads = np.unique(thread)
        several, texts = len(threads), len(self.columns.strings)
        keys = (order * texts + lane) * several + np.searchsorted(threads, thread)
        rows, place = np.unique(keys, return_inverse=True)
        if len(rows) > MOST_ROWS:
            several = 1
            rows, place = np.unique(order * texts + lane, return_inverse=True)
        drawn = []
        lanes = (rows // max(several, 1) % texts).tolist()
        for number, (word, key) in enumerate(zip(lanes, rows.tolist(), strict=True)):
            name = self.columns.strings[word] or "other"
            chosen = mine[place == number]
            chosen = chosen[np.lexsort((-events.duration[chosen], self.start[chosen]))]
            for thread_number in np.unique(events.thread[chosen]):
                self._nest(chosen[events.thread[chosen] == thread_number])
            drawn.append(Row(f"{name} · {key % several}" if lanes.count(word) > 1 else name, name, chosen))
        return drawn

    def _nest(self, row: Array) -> None:
        """Note which events of a thread in a row stand inside others."""
        self.holds[row[:-1]] = self.start[row[1:]] < self.end[row[:-1]]
        for level in (1, 2):
            inside = row[self.level[row] == level - 1]
            if len(inside) > 1:
                reach = np.maximum.accumulate(self.end[inside])[:-1]
                self.level[inside[1:][self.start[inside[1:]] < reach]] = level

    def _steps(self, mine: Array, last: float) -> Array:
        """Beginnings and ends of the steps of training: those that were recorded, or those that the lanes show."""
        columns, events = self.columns, self.columns.events
        name, lane = columns.kinds.name[events.kind[mine]], columns.kinds.lane[events.kind[mine]]
        texts = columns.strings
        named = np.array([text == "step" or bool(_TORCH_STEP.fullmatch(text)) for text in texts], bool)
        spans = mine[named[name] & columns.where_text(["user"])[lane]]
        if len(spans):
            reach = np.maximum.accumulate(self.end[spans])
            outer = spans[np.append(True, self.end[spans[1:]] > reach[:-1])]
            return np.stack([self.start[outer], self.end[outer]], axis=1)
        is_in = {word: columns.where_text([word])[lane] for word in ("forward", "backward", "update")}
        ends = is_in["update"] if is_in["update"].any() else is_in["backward"]
        passes = np.flatnonzero(is_in["forward"] | is_in["backward"] | ends)
        after = np.flatnonzero(ends[passes][:-1] & is_in["forward"][passes][1:])
        leading = np.flatnonzero(columns.where_text(["forward", "io", "convert", "transfer"])[lane])
        if not len(after) or not len(leading):
            return np.zeros((0, 2))
        # A step begins with what its forward pass reads.
        begins = leading[np.searchsorted(leading, np.append(-1, passes[after]), side="right")]
        starts = self.start[mine[begins]]
        return np.stack([starts, np.append(starts[1:], last)], axis=1)
