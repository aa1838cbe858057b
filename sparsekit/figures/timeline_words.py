"""What a timeline says: its title, its finding and its table, from the same sums; times in nanoseconds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.displays import IDLE, NO_OPERATORS
from ..base.formatting import format_bytes, format_count, format_duration, format_ratio, format_share, format_value, number
from ..profiler.groups import grouped
from .marks import Table
from .text import clean
from .timeline_data import APART, LANES, Timeline

if TYPE_CHECKING:
    from ..profiler.columns import Columns

COLUMNS = ("lane", "operator", "layer", "calls", "own time", "share", "moved", "storage types")
#: Rows of a table about markers, counters and what became dense.
MOST_MARKS = 20


class Sum(NamedTuple):
    """Calls of one operator in one layer and lane with the same storage types."""

    run: int
    lane: str
    name: str
    layer: str
    storage: str
    calls: int
    own: int
    bytes: int

    @property
    def place(self) -> str:
        """The operator with its layer."""
        return f"{self.name} in {self.layer}" if self.layer else self.name


class Counter(NamedTuple):
    """The values of one counter; ``odd`` of them are no numbers."""

    name: str
    unit: str
    times: list[float]
    values: list[float]
    odd: int

    def say(self, value: float) -> str:
        """Write one value with its unit."""
        return f"{format_value(value)} {self.unit}".strip()


def duration(nanoseconds: float) -> str:
    """Write a length of time."""
    return format_duration(nanoseconds / 1000)


def sums_of(columns: Columns) -> list[Sum]:
    """Exact sums of all events, those that take most own time first."""
    groups = grouped(columns, "run", "lane", "name", "layer", "storage")
    texts = [columns.texts(groups[name]) for name in ("lane", "name", "layer", "storage")]
    rows = zip(groups["run"].tolist(), *texts, *(groups[name].tolist() for name in ("calls", "own", "bytes")), strict=True)
    sums = [Sum(run, lane or "other", name or "?", layer, types, *numbers) for run, lane, name, layer, types, *numbers in rows]
    return sorted(sums, key=lambda entry: (-entry.own, entry[:5]))


def _by_lane(sums: Iterable[Sum]) -> dict[str, int]:
    """Own time by lane, in the order of the lanes."""
    totals: dict[str, int] = {}
    for entry in sums:
        totals[entry.lane] = totals.get(entry.lane, 0) + entry.own
    return {lane: totals[lane] for lane in sorted(totals, key=lambda lane: LANES.index(lane) if lane in LANES else len(LANES))}


def _work(sums: Iterable[Sum]) -> list[Sum]:
    return [entry for entry in sums if entry.lane not in APART]


def shares_of(sums: Sequence[Sum]) -> dict[tuple[int, str], str]:
    """What part of the work of its run each lane is, by run and lane."""
    shares: dict[tuple[int, str], str] = {}
    for run in {entry.run for entry in sums}:
        mine = [entry for entry in sums if entry.run == run]
        total = sum(entry.own for entry in _work(mine))
        shares |= {(run, lane): "apart" if lane in APART else format_share(own, total) for lane, own in _by_lane(mine).items()}
    return shares


def counters_of(timeline: Timeline, run: int) -> list[Counter]:
    """The counters of a run, in the order in which they first came."""
    columns, marks = timeline.columns, timeline.columns.marks
    counters: dict[str, Counter] = {}
    mine = np.flatnonzero((marks.run == run) & columns.where_text(["counter"])[marks.kind])
    for place in mine[np.argsort(marks.time[mine], kind="stable")].tolist():
        name, unit = columns.strings[marks.name[place]] or "?", columns.strings[marks.unit[place]]
        counter = counters.setdefault(name, Counter(name, unit, [], [], 0))
        said = read(columns.strings[marks.value[place]])
        value = number(said, math.nan) if isinstance(said, (int, float)) else math.nan
        if math.isfinite(value):
            counter.times.append(float(marks.time[place] + timeline.shift[run]))
            counter.values.append(value)
        else:
            counters[name] = counter._replace(odd=counter.odd + 1)
    return list(counters.values())


def read(text: str) -> object:  # object: any value that JSON can hold
    """The value of a text of JSON; None if it is none."""
    try:
        value: object = json.loads(text) if text else None  # object: as above
    except (ValueError, RecursionError):
        return None
    return value


# --------------------------------------------------------------------------- title and finding


def title_of(timeline: Timeline) -> str:
    """The title of a timeline that was given none: of several runs what was recorded, which is no claim about another run."""
    if timeline.common:
        return "What workers and servers did"
    if len(timeline.columns.runs) < 2:
        return "Where the time goes"
    runs = [run for run in timeline.runs if run.length > 0]
    long, short = (pick(runs, key=lambda run: run.length, default=None) for pick in (max, min))
    if long is None or short is None or long.length <= short.length * 1.05:
        return f"The same work, {format_count(len(timeline.runs))} ways"
    return f"{long.name} took {format_ratio(long.length / short.length)} as long as {short.name}"


def finding_of(timeline: Timeline, sums: Sequence[Sum]) -> str:
    """What a timeline shows, in sentences."""
    if not sums:
        words = NO_OPERATORS
    elif timeline.common:
        return _processes(timeline, sums)
    elif len(timeline.columns.runs) > 1:
        return _compared(timeline, sums)
    else:
        words = _shares(timeline, sums)
    return words + _marked(timeline)


def _shares(timeline: Timeline, sums: Sequence[Sum]) -> str:
    """How the time of one run is shared by lanes, its longest operator, and what became dense."""
    work = _work(sums)
    total = sum(entry.own for entry in work)
    idle = f" {NO_OPERATORS}" if all(entry.lane in IDLE for entry in sums) else ""
    apart = _apart(sums)
    if total <= 0:
        return (f"{format_count(sum(entry.calls for entry in sums))} events were recorded, "
                f"none of measurable duration.{apart}{idle}")  # fmt: skip
    parts = [f"{clean(lane)} {format_share(own, total)}" for lane, own in _by_lane(work).items() if own > 0]
    most = next((entry for entry in work if entry.lane != "user"), work[0])
    words = (f"{', '.join(parts)}: the longest operator is {clean(most.place)} ({most.lane}), "
             f"{format_share(most.own, total)} of {duration(total)}.{apart}")
    return words + _dense(timeline.columns) + idle


def _apart(sums: Iterable[Sum]) -> str:
    names = {"compile": "compilation", "profiler": "the profiler itself"}
    totals = _by_lane(entry for entry in sums if entry.lane in APART)
    parts = [f"{names[lane]} {duration(own)}" for lane, own in totals.items() if own > 0]
    return f" Apart from that: {', '.join(parts)}." if parts else ""


def _dense(columns: Columns) -> str:
    """How many calls made a sparse array dense, and how many of them by nature."""
    calls = np.bincount(columns.events.kind, minlength=len(columns.kinds))
    dense = int(calls[columns.kinds.became_dense != 0].sum())
    natural = int(calls[columns.where_text(["dense by nature"])[columns.kinds.became_dense]].sum())
    if not dense:
        return ""
    words = f" {format_count(dense)} {'call' if dense == 1 else 'calls'} made a sparse array dense"
    return words + (", dense by nature." if natural == dense else f", {format_count(natural)} by nature." if natural else ".")


def _marked(timeline: Timeline) -> str:
    """What was marked in a run; empty where nothing was."""
    columns = timeline.columns
    counters = counters_of(timeline, 0)
    parts = [_course(counter) for counter in counters[:3]]
    markers = int((~columns.where_text(["counter"])[columns.marks.kind]).sum())
    silent = 0 if _dense(columns) else int((columns.ledger.time >= 0).sum())  # what calls made dense is counted already
    for count, word in ((len(counters) - 3, "more counter"), (markers, "marker"), (silent, "silent change")):
        if count > 0:
            parts.append(f"{format_count(count)} {word}{'s' * (count != 1)}{' from sparse to dense' * (word == 'silent change')}")
    return f" Marked: {', '.join(parts)}." if parts else ""


def _course(counter: Counter) -> str:
    name = clean(counter.name)
    if not counter.values:
        return f"{name}, never a number"
    first, last = f"from {format_value(counter.values[0])} to ", counter.say(counter.values[-1])
    return f"{name} {first if len(counter.values) > 1 else ''}{last}"


def _compared(timeline: Timeline, sums: Sequence[Sum]) -> str:
    """How long each of several recorded runs took, and where the longest spent its time."""
    runs = [run for run in timeline.runs if run.length > 0]
    if not runs:
        return NO_OPERATORS
    words = "One step, as recorded: " if timeline.parts else "As recorded: "
    words += ", ".join(f"{run.name} {duration(run.length)}" for run in runs)
    long = max(runs, key=lambda run: run.length)
    work = [entry for entry in _work(sums) if entry.run == long.number]
    if work and (total := sum(entry.own for entry in work)) > 0:
        words += f". Of {long.name}, {format_share(work[0].own, total)} in {clean(work[0].place)} ({work[0].lane})"
    small = [run.name for run in runs if run.length < long.length / 8]
    return f"{words}.{f' In the picture, {_listed(small)} is also magnified.' if small else ''}"


def _listed(names: Sequence[str]) -> str:
    return f"each of {', '.join(names)}" if len(names) > 1 else names[0]


def _processes(timeline: Timeline, sums: Sequence[Sum]) -> str:
    """Who of several processes waited, who served, and how well their clocks agree."""
    columns = timeline.columns
    names = columns.texts(columns.runs.name)
    view = timeline.view
    words = f"{format_count(len(names))} processes in {duration(view[1] - view[0])}."
    lanes = [_by_lane(entry for entry in sums if entry.run == run) for run in range(len(names))]
    waits = [totals.get("wait", 0) for totals in lanes]
    most = int(np.argmax(waits))
    if waits[most] > 0:
        whom = max((entry for entry in sums if entry.run == most and entry.lane == "wait"), key=lambda entry: entry.calls).name
        length = next((run.length for run in timeline.runs if run.number == most), 0.0)
        words += (f" {clean(names[most]).capitalize()} spent {format_share(waits[most], length)} of its time waiting, mostly "
                  f"{clean(whom.removeprefix('wait '))}.")
    served = [sum(totals.get(lane, 0) for lane in ("serve", "apply", "snapshot")) for totals in lanes]
    if any("serve" in totals for totals in lanes):
        busiest = int(np.argmax(served))
        words += f" {clean(names[busiest]).capitalize()} worked {format_share(served[busiest], view[1] - view[0])} of that time."
    errors = columns.runs.error[columns.runs.error > 0]
    return f"{words} Clocks agree within {duration(int(errors.max()))}." if len(errors) else words


# --------------------------------------------------------------------------- the table


def table_of(timeline: Timeline, sums: Sequence[Sum], rows: int) -> Table:
    """Own time by operator, and what was marked; of several runs own time by run and lane."""
    if len(timeline.columns.runs) > 1:
        name = "process" if timeline.common else "run"
        columns: tuple[str, ...] = (name, "lane", "events", "own time", "share", "moved")
        part = ", one training step (the median one)" if timeline.parts else ""
        return Table(columns, _lane_rows(timeline, sums), f"Own time by {name} and lane{part}")
    marked = _mark_rows(timeline)
    columns = (*COLUMNS[:-1], f"{COLUMNS[-1]} or values") if marked else COLUMNS
    caption = "Operators by own time, the whole run" + ("; markers below" if marked else "")
    return Table(columns, [*_operator_rows(timeline.columns, sums, rows), *marked], caption)


def _lane_rows(timeline: Timeline, sums: Sequence[Sum]) -> Iterable[tuple[str, ...]]:
    columns = timeline.columns
    lengths = {run.number: run.length for run in timeline.runs}
    for run, name in enumerate(columns.texts(columns.runs.name)):
        mine = [entry for entry in sums if entry.run == run]
        total = sum(entry.own for entry in _work(mine))
        for lane, own in _by_lane(mine).items():
            some = [entry for entry in mine if entry.lane == lane]
            share = "apart" if lane in APART else format_share(own, total)
            yield (name, lane, format_count(sum(entry.calls for entry in some)), duration(own), share,
                   format_bytes(sum(entry.bytes for entry in some)))
        length = duration(lengths[run]) if run in lengths else ""
        yield (name, "from start to end", format_count(sum(entry.calls for entry in mine)), length, "",
               format_bytes(sum(entry.bytes for entry in mine)))


def _operator_rows(columns: Columns, sums: Sequence[Sum], most: int) -> list[tuple[str, ...]]:
    """The operators that took most own time; what is left is summed in rows of its own, never left out."""
    work = _work(sums)
    total = sum(entry.own for entry in work)
    words = columns.texts(columns.kinds.became_dense)
    dense = {tuple(_names(columns, kind)): word for kind, word in enumerate(words) if word}
    shown = work[:most] if len(work) > most + 1 else work
    rows = []
    for entry in shown:
        how = dense.get((entry.lane, entry.name, entry.layer, entry.storage))
        said = "" if not how else " (became dense by nature)" if how == "dense by nature" else " (became dense)"
        rows.append(_row((entry.lane, entry.name, entry.layer), [entry], format_share(entry.own, total),
                         f"{entry.storage}{said}"))  # fmt: skip
    if others := work[len(shown):]:
        rows.append(_row(("all", f"{len(others)} others", ""), others,
                         format_share(sum(entry.own for entry in others), total), ""))  # fmt: skip
    for lane in APART:
        if some := [entry for entry in sums if entry.lane == lane]:
            rows.append(_row((lane, some[0].name if len({entry.name for entry in some}) == 1 else "all", ""), some, "apart", ""))
    return rows


def _names(columns: Columns, kind: int) -> list[str]:
    return [columns.strings[getattr(columns.kinds, name)[kind]] for name in ("lane", "name", "layer", "storage")]


def _row(names: tuple[str, str, str], sums: Sequence[Sum], share: str, types: str) -> tuple[str, ...]:
    calls, own, moved = (sum(getattr(entry, name) for entry in sums) for name in ("calls", "own", "bytes"))
    return (*names, format_count(calls), duration(own), share, format_bytes(moved), types.replace("->", "→"))


def _mark_rows(timeline: Timeline) -> list[tuple[str, ...]]:
    """Counters, markers, and what became dense; what is left after some rows is summed in a row of its own."""
    columns = timeline.columns
    entries = [("counter", counter.name, len(counter.values) + counter.odd, _values(counter))
               for counter in counters_of(timeline, 0)]  # fmt: skip
    groups: dict[tuple[str, str, str], list[float]] = {}
    marks, ledger = columns.marks, columns.ledger
    for place in np.flatnonzero(~columns.where_text(["counter"])[marks.kind]).tolist():
        value = read(columns.strings[marks.value[place]])
        words = ", ".join(filter(None, ("" if value is None else str(value), columns.strings[marks.line[place]])))
        groups.setdefault(("marker", columns.strings[marks.name[place]] or "?", words), []).append(float(marks.time[place]))
    for place in np.flatnonzero(ledger.time >= 0).tolist():
        key = "became dense", columns.strings[ledger.op[place]] or "?", dense_words(columns, place)
        groups.setdefault(key, []).append(float(ledger.time[place]))
    for (kind, name, words), times in groups.items():
        when = f"at {duration(min(times))}" + (f" to {duration(max(times))}" if len(times) > 1 else "")
        entries.append((kind, name, len(times), f"{words}; {when}" if words else when))
    shown = entries[:MOST_MARKS] if len(entries) > MOST_MARKS + 1 else entries
    rows: list[tuple[str, ...]] = [(kind, name, "", format_count(count), "", "", "", words) for kind, name, count, words in shown]
    left = sum(count for _, _, count, _ in entries[len(shown):])
    return [*rows, ("all", f"{len(entries) - len(shown)} other marks", "", format_count(left), "", "", "", "")] if left else rows


def _values(counter: Counter) -> str:
    odd = [f"{format_count(counter.odd)} no number{'s' * (counter.odd != 1)}"] if counter.odd else []
    if not counter.values:
        return ", ".join(odd)
    least, most = min(counter.values), max(counter.values)
    mean = math.fsum(value / len(counter.values) for value in counter.values)
    between = [f"{format_value(least)} to {format_value(most)}", f"mean {format_value(mean)}"] if least < most else []
    return ", ".join([f"last {counter.say(counter.values[-1])}", *between, *odd])


def dense_words(columns: Columns, place: int) -> str:
    """What is said of an array that silently became dense."""
    ledger = columns.ledger
    source, target, kind, line = (columns.strings[getattr(ledger, name)[place]] for name in ("source", "target", "kind", "line"))
    moved = f"{format_bytes(int(ledger.bytes_before[place]))} → {format_bytes(int(ledger.bytes_after[place]))}"
    return ", ".join(filter(None, (f"{source or '?'} → {target or '?'}", moved, kind, line)))
