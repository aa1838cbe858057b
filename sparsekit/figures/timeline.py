"""The timeline: when each operator ran, in a run, in several runs beside each other, or in processes on one clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base import checks
from ..base.formatting import counted, format_bytes, format_count, format_density, format_ratio, format_shape
from .figure import Figure
from .interaction import Choice, Interaction
from .marks import Axis, Dots, Line, Panel, Rect, Table, Text
from .palette import MEANING
from .text import clean
from .timeline_data import APART, STORAGE, Row, Run, Timeline, part_of, steps_of, together
from .timeline_words import counters_of, dense_words, duration, finding_of, read, shares_of, sums_of, table_of, title_of

if TYPE_CHECKING:
    from ..base.types import Array
    from ..profiler.columns import Columns

#: Pixels of a row.
ROW = 21.0
#: What each kind of a bar means: arrays that are small beside those of others have no colour here.
MEANINGS = {**MEANING, "none": "no array, or only small ones"}
#: What a live view of several runs may show.
ONE_STEP, WHOLE = "one step", "whole runs"
#: So many events in view are drawn one by one, however short, and the longest of more; of a part that is drawn again fewer.
FEW, FEWER = 1000, 400
#: Columns of a view into which shorter events are summed.
COLUMNS = 500
#: Arrows, counters, and dots of a row.
MOST_ARROWS, MOST_COUNTERS, MOST_DOTS = 24, 3, 120
#: A run that fills less than this share of the view is drawn again, and a step of a run that fills less than the other one.
SHORT, STEP = 1 / 8, 1 / 2
#: Arrays and operators that are told of a mark; letters of a name, and of one that leaves room beside it.
MOST_TOLD, MOST_LETTERS, SHORT_NAME = 12, 24, 16


class _Placed(NamedTuple):
    """A row at its height on the axis of rows."""

    run: Run
    row: Row
    y: float


class _Again(NamedTuple):
    """A part of a run that is drawn again, larger: from where to where, and its words if it stands below all rows."""

    run: Run
    part: tuple[float, float]
    words: str


def timeline_figure(columns: Columns | Mapping[str, Columns], title: str = "", window: tuple[float, float] | None = None,
                    rows: int = 12) -> Figure:  # fmt: skip
    """Draw when each operator ran, on a true scale of time.

    An arrow goes from an operator that made a sparse array dense to each that reads it.  Where there are many events, neighbours
    that are too short to see are summed to bars, as high as the share of time that they take.

    Of several runs with many steps, the median step of each is drawn, and a live view also shows the whole runs.

    Parameters
    ----------
    columns : Columns or mapping of str to Columns
        ``prof.tables``, or those of several runs by name, which begin together.
    title : str, optional
    window : pair of float, optional
        Draw only what began between two times of the profile, in microseconds.
    rows : int
        Rows of operators in the table of one run.

    Returns
    -------
    Figure
        The live view asks for more detail where a reader zooms, and tells of each operator its arrays and who made them.
    """
    rows = int(checks.amount_of("rows", rows, 1, 1e6, whole=True))
    tables = together(columns) if isinstance(columns, Mapping) else columns
    everything = Timeline(part_of(tables, *(round(end * 1000) for end in window)) if window else tables)
    steps = steps_of(everything)
    shown = {name: _Shown(timeline, title, rows) for name, timeline in ((ONE_STEP, steps), (WHOLE, everything)) if timeline}
    first = next(iter(shown))
    if window and len(tables.events) and not len(everything.columns.events):
        words = f"Nothing began from {duration(1000 * window[0])} to {duration(1000 * window[1])} after the start"
        shown[WHOLE].finding = f"{words}; {format_count(len(tables.events))} events began at other times."

    def draw(view: tuple[float, float] | None, values: Mapping[str, str]) -> Figure:
        return shown[values.get("show", first)].figure(view)

    def select(key: str, values: Mapping[str, str]) -> dict[str, str] | Table | None:
        return _told(shown[values.get("show", first)].timeline, key)

    figure = draw(None, {})
    figure.interaction = Interaction(draw, select, (Choice("show", "show", tuple(shown), first),) if steps else ())
    return figure


class _Shown:
    """What is said of a timeline, whatever part of it is in view."""

    def __init__(self, timeline: Timeline, title: str, rows: int) -> None:
        sums = sums_of(timeline.columns)
        self.timeline, self.title, self.finding = timeline, str(title) or title_of(timeline), finding_of(timeline, sums)
        self.table, self.shares = table_of(timeline, sums, rows), shares_of(sums)

    def figure(self, view: tuple[float, float] | None) -> Figure:
        """The picture of a part of the axis; None is for all of it."""
        figure = Figure(self.title, self.finding, table=self.table)
        _Picture(figure, self.timeline, self.shares, view).draw()
        return figure


class _Picture:
    """The marks of one view."""

    def __init__(self, figure: Figure, timeline: Timeline, shares: Mapping[tuple[int, str], str],
                 window: tuple[float, float] | None) -> None:  # fmt: skip
        self.figure, self.timeline, self.shares = figure, timeline, shares
        full_view = timeline.view
        self.view = full_view if window is None else (max(window[0], full_view[0]), min(window[1], full_view[1]))
        if not self.view[0] < self.view[1]:
            self.view = full_view
        self.is_whole = self.view[1] - self.view[0] > 0.995 * (full_view[1] - full_view[0])
        self.placed: list[_Placed] = []
        self.boxes: dict[tuple[int, int], Rect] = {}
        self.summed = False
        self.hidden = 0

    def draw(self) -> None:
        """All panels."""
        y, insets, below = 0.0, list[_Again](), list[_Again]()
        figure, several = self.figure, len(self.timeline.columns.runs) > 1
        figure.panels = [Panel(self.view, (0.0, 1.0), ROW, zooms=True)]
        for run in self.timeline.runs:
            again = self._again(run)
            if several:
                name = clean(run.name, MOST_LETTERS)
                part = f"{self.timeline.parts[run.number]}, " if self.timeline.parts else ""
                words = name if self.timeline.common else f"{name}: {part}{duration(run.length)}"
                figure.add(Text(0, "ink", self.view[0], y + 0.65, words, bold=True))
                y += 2.0 if again and len(name + part) > SHORT_NAME else 1.25  # above a box it is said how much it magnifies
            placed = [_Placed(run, row, y + place) for place, row in enumerate(run.rows)]
            self.placed += placed
            y += len(placed)
            if again and several:
                insets.append(again)
                y += 1.0
            elif again:
                below.append(again)
                figure.add(*(Line(0, "ink", [end, end], [0.0, y], width=1.0) for end in again.part))
            y = self._instants(run, y)
        y += 0.5 if (self.timeline.columns.events.conversion >= 0).any() else 0.0  # for arrows below the last row
        figure.panels[0] = Panel(self.view, (0.0, max(y, 1.0)), max(y, 1.0) * ROW, zooms=True)
        figure.add(Axis(0, "left", ticks=self._names(self.placed), grid=False), Axis(0, "right", ticks=self._shares()),
                   Axis(0, "bottom", "time"))  # fmt: skip
        self._events(0, self.placed, self.view, FEW)
        for again in insets:
            self._inset(again, FEWER // len(insets))
        for again in below:
            self._below(again)
        self._arrows()
        self._words()

    def _again(self, run: Run) -> _Again | None:
        """What of a run is too short to see in the whole: all of it, a step, or all but what is no work."""
        length, step = self.view[1] - self.view[0], run.median_step
        if not self.is_whole or not run.rows:
            return None
        if len(self.timeline.columns.runs) > 1:
            short = not self.timeline.common and 0 < run.length < SHORT * length
            return _Again(run, (run.first, run.last), "") if short else None
        if step and 0 < step[2] - step[1] < STEP * length:
            words = f"step {format_count(step[0] + 1)} of {format_count(len(run.steps))}, the median one"
            return _Again(run, (step[1], step[2]), words)
        part = self._work(run, length / 2)
        return _Again(run, part, "the operators") if 0 < part[1] - part[0] < SHORT * length else None

    def _work(self, run: Run, long: float) -> tuple[float, float]:
        """Where the operators of a run are, without those before a long compilation."""
        timeline = self.timeline
        lanes = [(row.lane in APART, row.events) for row in run.rows if row.lane != "user"]
        apart, work = (np.concatenate([np.zeros(0, np.int64), *(events for is_apart, events in lanes if is_apart == wanted)])
                       for wanted in (True, False))  # fmt: skip
        compiled = apart[timeline.end[apart] - timeline.start[apart] > long]
        work = work[timeline.start[work] >= timeline.end[compiled].max(initial=-np.inf)]
        return (float(timeline.start[work].min()), float(timeline.end[work].max())) if len(work) else (0.0, 0.0)

    def _names(self, placed: Sequence[_Placed]) -> tuple[tuple[float, str], ...]:
        return tuple((placed_row.y + 0.5, clean(placed_row.row.name, MOST_LETTERS)) for placed_row in placed)

    def _shares(self) -> tuple[tuple[float, str], ...]:
        seen: set[tuple[int, str]] = set()
        shares = []
        for placed_row in self.placed:
            key = placed_row.run.number, placed_row.row.lane
            if key not in seen:
                shares.append((placed_row.y + 0.5, self.shares.get(key, "")))
            seen.add(key)
        return tuple(shares)

    # ------------------------------------------------------------------- parts that are drawn again

    def _inset(self, again: _Again, budget: int) -> None:
        """A short run again, to the right of itself."""
        placed = [placed_row for placed_row in self.placed if placed_row.run.number == again.run.number]
        top, bottom = placed[0].y, placed[-1].y + 1
        low, high = self.view
        left = max(again.part[1] + 0.06 * (high - low), low + 0.36 * (high - low))
        number = len(self.figure.panels)
        place = 0, left, high, top, bottom
        self.figure.panels.append(Panel(again.part, (top, bottom), 0.0, within=place, framed=True, magnifies=0))
        for y in (top, bottom):
            self.figure.add(Line(0, "muted", [again.part[1], left], [y, y], dash=2))
        self.figure.add(Axis(number, "bottom", "time"))
        self._events(number, placed, again.part, budget)

    def _below(self, again: _Again) -> None:
        """A part again, as wide as the whole."""
        start, end, (low, high) = self.timeline.start, self.timeline.end, again.part
        rows = [row for row in again.run.rows if ((start[row.events] < high) & (end[row.events] > low)).any()]
        placed = [_Placed(again.run, row, float(place)) for place, row in enumerate(rows)]
        length = high - low
        factor = format_ratio((self.view[1] - self.view[0]) / length).removesuffix("×")
        words = f"Magnified {factor} times: {again.words}, {duration(length)}"
        number = len(self.figure.panels)
        self.figure.panels.append(Panel(again.part, (0.0, float(len(placed))), len(placed) * ROW, words, framed=True))
        self.figure.add(Axis(number, "left", ticks=self._names(placed), grid=False), Axis(number, "bottom", "time"))
        self._events(number, placed, again.part, FEWER)

    # ------------------------------------------------------------------- events

    def _events(self, panel: int, placed: Sequence[_Placed], view: tuple[float, float], budget: int) -> None:
        """The events in view: a bar for each that is wide enough, and sums of the others."""
        timeline = self.timeline
        groups = [np.zeros(0, np.int64), *(placed_row.row.events for placed_row in placed)]
        events = np.concatenate(groups)
        row = np.repeat(np.arange(len(groups)), [len(some) for some in groups]) - 1
        start, end = timeline.start[events], timeline.end[events]
        inside = ((end > view[0]) & (start < view[1])) | ((start == end) & (start >= view[0]) & (end <= view[1]))
        events, row = events[inside], row[inside]
        cell = (view[1] - view[0]) / COLUMNS
        lengths = timeline.end[events] - timeline.start[events]
        alone = np.ones(len(events), bool)
        if len(events) > budget:
            alone = lengths >= cell
            if np.count_nonzero(alone) > budget:
                alone[np.argsort(-lengths, kind="stable")[budget:]] = False
        order = np.argsort(timeline.level[events], kind="stable")
        for place in order[alone[order]].tolist():
            self._bar(panel, int(events[place]), placed[row[place]].y, view, cell)
        short = np.flatnonzero(~alone & (timeline.level[events] == 0))
        self.hidden += 0 if panel else int(np.count_nonzero(~alone)) - len(short)
        if len(short):
            self._sums(panel, events[short], row[short], placed, view, budget)

    def _bar(self, panel: int, event: int, y: float, view: tuple[float, float], cell: float) -> None:
        timeline, kinds = self.timeline, self.timeline.columns.kinds
        kind = int(timeline.columns.events.kind[event])
        start, end = (float(min(max(times[event], view[0]), view[1])) for times in (timeline.start, timeline.end))
        edge = 0.09 + 0.12 * int(timeline.level[event])
        name, words = _called(timeline.columns, event), MEANINGS[STORAGE[timeline.storage[kind]]]
        took = duration(float(timeline.end[event] - timeline.start[event]))
        moved = int(kinds.bytes[kind] + timeline.columns.events.moved[event])
        line = timeline.columns.strings[kinds.line[kind]]
        said = (f"{name}: {took}", f"{format_bytes(moved)} moved" if moved else "", words, line)
        box = Rect(panel, STORAGE[timeline.storage[kind]], start, max(end, start + 0.012 * cell), y + edge, y + 1 - edge,
                   ", ".join(filter(None, said)), f"event {event}",
                   "" if timeline.holds[event] else timeline.columns.strings[kinds.name[kind]])  # fmt: skip
        self.boxes[panel, event] = box
        self.figure.add(box)

    def _sums(self, panel: int, events: Array, row: Array, placed: Sequence[_Placed], view: tuple[float, float],
              budget: int) -> None:  # fmt: skip
        """Short events: in each column of each row a bar as high as the share of time that arrays of each kind take."""
        self.summed = True
        rows, place = np.unique(row, return_inverse=True)
        for count in (COLUMNS >> halved for halved in range(9)):
            low, high, calls = self._heights(events, np.ravel(place), len(rows), view, count)
            begin = np.ones(high.shape, bool)
            begin[:, 1:] = (np.diff(high, axis=1) != 0) | (np.diff(low, axis=1) != 0)
            if np.count_nonzero(begin & (high > low)) <= budget:
                break
        cell = (view[1] - view[0]) / count
        for number, kind in np.argwhere(calls.any(1)).tolist():
            (run, lane, y), begins = placed[rows[number]], np.flatnonzero(begin[number, :, kind])
            bars = zip(begins.tolist(), np.append(begins[1:], count).tolist(),
                       np.add.reduceat(calls[number, :, kind], begins).tolist(), strict=True)  # fmt: skip
            for first, last, of in bars:
                if of:
                    x0, x1 = view[0] + first * cell, view[0] + last * cell
                    words = f"{counted(of, 'short call')}, {lane.lane}: {MEANINGS[STORAGE[kind]]}"
                    key = f"sum {run.number} {lane.name} {x0:.0f} {x1:.0f}"
                    self.figure.add(Rect(panel, STORAGE[kind], x0, x1, y + 0.91 - 0.82 * float(high[number, first, kind]),
                                         y + 0.91 - 0.82 * float(low[number, first, kind]), words, key))  # fmt: skip

    def _heights(self, events: Array, row: Array, rows: int, view: tuple[float, float], count: int) -> tuple[Array, Array, Array]:
        """By row, column and kind of arrays: from where to where a bar reaches, and its calls."""
        timeline, kinds = self.timeline, len(STORAGE)
        cell = (view[1] - view[0]) / count
        column = np.clip(((timeline.start[events] - view[0]) / cell).astype(np.int64), 0, count - 1)
        flat = (row * count + column) * kinds + timeline.storage[timeline.columns.events.kind[events]]
        lengths = (timeline.end[events] - timeline.start[events]) / cell
        time, calls = (np.bincount(flat, weights, rows * count * kinds).reshape(rows, count, kinds)
                       for weights in (lengths, None))  # fmt: skip
        # In eighths, so that neighbours can be one bar.
        time = time / np.maximum(time.sum(2, keepdims=True), 1)
        high = np.where(calls > 0, np.maximum(np.round(time * 8), 1), 0) / 8
        low = np.minimum(np.cumsum(high, 2) - high, 1)
        return low, np.minimum(low + high, 1), calls

    def _arrows(self) -> None:
        """From each event that made an array dense to those that read it, among those that are drawn alone."""
        events = self.timeline.columns.events
        pairs = [(panel, int(source), event) for panel, event in self.boxes
                 if (source := events.conversion[event]) >= 0 and source != event and (panel, int(source)) in self.boxes]
        for panel, source, event in sorted(pairs, key=lambda pair: -events.duration[pair[2]])[:MOST_ARROWS]:
            maker, reader, t = self.boxes[panel, source], self.boxes[panel, event], np.linspace(0, 1, 17)
            wide = abs(self.figure.panels[panel].x[1] - self.figure.panels[panel].x[0])
            x0, x1 = maker.x1, reader.x0 + min((reader.x1 - reader.x0) / 2, 0.006 * wide)
            same = abs(maker.y0 - reader.y0) < 0.5
            y0, y1 = (maker.y1, reader.y1) if same else (maker.y1, reader.y0) if reader.y0 > maker.y0 else (maker.y0, reader.y1)
            x = x0 + (x1 - x0) * (t if same else t * t * (3 - 2 * t))
            words = f"made dense by {_called(self.timeline.columns, source)}, read by {_called(self.timeline.columns, event)}"
            self.figure.add(Line(panel, "ink", x, y0 + (y1 - y0) * t + (0.4 * np.sin(np.pi * t) if same else 0.0), words,
                                 maker.key, arrow=True))  # fmt: skip
        if pairs:
            self.figure.legend["arrow"] = "made dense → read here"

    # ------------------------------------------------------------------- instants

    def _instants(self, run: Run, y: float) -> float:
        """Markers, arrays that became dense, and counters, in rows of their own; gives where they end."""
        columns, names = self.timeline.columns, list[tuple[float, str]]()
        marks, ledger = columns.marks, columns.ledger
        markers = np.flatnonzero((marks.run == run.number) & ~columns.where_text(["counter"])[marks.kind])
        dense = np.flatnonzero((ledger.run == run.number) & (ledger.time >= 0))
        for name, kind, key, table, rows, texts in (("markers", "ink", "mark", marks, markers, marks.name),
                                                    ("became dense", "dense", "ledger", ledger, dense, ledger.op)):
            times = table.time[rows] + self.timeline.shift[run.number]
            seen = (times >= self.view[0]) & (times <= self.view[1])
            if len(rows):
                self._dots(y, kind, key, rows[seen], times[seen], columns.texts(texts[rows[seen]]))
                names.append((y + 0.5, name))
                y += 1
        for counter in counters_of(self.timeline, run.number)[:MOST_COUNTERS]:
            if counter.values:
                self._counter(y, counter.times, counter.values, f"{counter.name}: last {counter.say(counter.values[-1])}")
                names.append((y + 0.5, clean(counter.name, MOST_LETTERS)))
                y += 1
        if names:
            self.figure.add(Axis(0, "left", ticks=tuple(names), grid=False))
        return y

    def _dots(self, y: float, kind: str, key: str, rows: Array, times: Array, names: Sequence[str]) -> None:
        """A dot for each instant, and its name where there is room until the next; of many in one place the first."""
        most = max(MOST_DOTS // len(self.timeline.runs), 8)
        column = ((times - self.view[0]) / (self.view[1] - self.view[0]) * most).astype(np.int64)
        _, first, count = np.unique(column, return_index=True, return_counts=True)
        places = [self.view[0], *times[first].tolist(), self.view[1]]
        turned = len(first) and places[-2] - places[-3] > places[-1] - places[-2]  # the last name stands left of its dot
        gap = 0.026 * (self.view[1] - self.view[0])  # more than the dot's radius on a page of 390 pixels
        for at, (place, many) in enumerate(zip(first.tolist(), count.tolist(), strict=True), 1):
            (before, time, after), name = places[at - 1: at + 2], clean(names[place]) or "?"
            words = f"{name} and {format_count(many - 1)} more" if many > 1 else name
            self.figure.add(Dots(0, kind, [time], [y + 0.5], 4.0, f"{words}, at {duration(time)}", f"{key} {rows[place]}"))
            left = turned and at == len(first)
            room = time - before if left else after - time
            if turned and 1 < len(first) <= at + 1:  # the last two names share what is between their dots
                room /= 2
            room = max(room - 2 * gap, 0.0)
            x, anchor = (time - gap, "end") if left else (time + gap, "start")
            self.figure.add(Text(0, "muted", x, y + 0.5, name, anchor, room=room))

    def _counter(self, y: float, times: Sequence[float], values: Sequence[float], words: str) -> None:
        """A step line between the least and the greatest value, of many values with the extremes of each column."""
        at, level = np.array(times), np.array(values)
        low, high = float(level.min()), float(level.max())
        if len(at) > 2 * COLUMNS:
            column = ((at - at[0]) / max(float(at[-1] - at[0]), 1.0) * COLUMNS).astype(np.int64)
            begins = np.flatnonzero(np.diff(column, prepend=-1))
            kept = np.unique([begin + pick(level[begin:end]) for pick in (np.argmin, np.argmax)
                              for begin, end in zip(begins, np.append(begins[1:], len(at)), strict=True)])  # fmt: skip
            at, level = at[kept], level[kept]
        half = high / 2 - low / 2 or 1.0
        scaled = y + 0.85 - 0.7 * (level / 2 - low / 2) / half if high > low else np.full(len(at), y + 0.5)
        x = np.append(np.repeat(at, 2)[1:], max(self.timeline.view[1], float(at[-1])))
        self.figure.add(Line(0, "ink", x, np.repeat(scaled, 2), words, width=1.4))

    def _words(self) -> None:
        """The legend and the notes."""
        self.figure.legend["none"] = MEANINGS["none"]
        notes, timeline = [], self.timeline
        if timeline.parts:
            notes.append("Of each run the median step is drawn.")
        if self.summed:
            notes.append("Many short calls are one bar, as high as the share of time that they take.")
        if self.hidden:
            notes.append(f"{format_count(self.hidden)} short calls inside others are not drawn.")
        if timeline.left_out:
            noun = "processes" if timeline.common else "runs"
            notes.append(f"{format_count(timeline.left_out)} more {noun} are in the table only.")
        if folded := int(timeline.columns.folded.calls.sum()):
            notes.append(f"{format_count(folded)} older events are in the sums only.")
        self.figure.notes = notes


# --------------------------------------------------------------------------- what a live view tells


def _called(columns: Columns, event: int) -> str:
    """An event's operator with its layer."""
    kind = columns.events.kind[event]
    name, layer = (columns.strings[getattr(columns.kinds, field)[kind]] for field in ("name", "layer"))
    return f"{clean(name) or '?'} in {clean(layer)}" if layer else clean(name) or "?"


def _told(timeline: Timeline, key: str) -> dict[str, str] | Table | None:
    """What a live view says of a mark; None for a key that there is not."""
    kind, _, subject = key.partition(" ")
    if kind == "sum":
        return _told_of_sum(timeline, subject)
    columns = timeline.columns
    table = {"event": columns.events, "mark": columns.marks, "ledger": columns.ledger}.get(kind)
    if table is None or not subject.isdecimal() or len(subject) > 9 or int(subject) >= len(table):
        return None
    row = int(subject)
    if kind == "event":
        return _told_of_event(timeline, row)
    at = duration(float(table.time[row] + timeline.shift[table.run[row]]))
    if kind == "mark":
        words = {name: columns.strings[getattr(columns.marks, name)[row]] for name in ("kind", "name", "value", "line")}
        return {"at": at, **{name: text for name, text in words.items() if text}}
    details = {"operator": columns.strings[columns.ledger.op[row]], "at": at, "became dense": dense_words(columns, row)}
    return details | {name: columns.strings[getattr(columns.ledger, name)[row]] for name in ("reason", "remedy")}


def _told_of_event(timeline: Timeline, event: int) -> dict[str, str]:
    """The arrays of an event, its line, and what made the arrays that it reads."""
    columns, events, kinds = timeline.columns, timeline.columns.events, timeline.columns.kinds
    kind = int(events.kind[event])
    made_by = events.made_by.of(event).tolist()
    took, own = duration(float(events.duration[event])), duration(float(events.own[event]))
    took = took if took == own else f"{took}, {own} of it its own"
    details = {"operator": _called(columns, event), "lane": columns.strings[kinds.lane[kind]], "took": took,
               "at": f"{float(timeline.start[event]) / 1000:,.1f} µs", "storage": MEANINGS[STORAGE[timeline.storage[kind]]],
               "moved": format_bytes(int(kinds.bytes[kind] + events.moved[event])), "line": columns.strings[kinds.line[kind]],
               "became dense": columns.strings[kinds.became_dense[kind]]}  # fmt: skip
    for side, arrays in (("input", kinds.inputs.of(kind).tolist()), ("output", kinds.outputs.of(kind).tolist())):
        for place, array in enumerate(arrays[:MOST_TOLD]):
            maker = made_by[place] if side == "input" and place < len(made_by) else -1
            words = f", made by {_called(columns, maker)}, {duration(float(timeline.start[maker]))}" if maker >= 0 else ""
            details[f"{side} {place}"] = f"{_array(columns, array)}{words}"
        if len(arrays) > MOST_TOLD:
            details[f"more {side}s"] = format_count(len(arrays) - MOST_TOLD)
    source = int(events.conversion[event])
    if source >= 0 and source != event:
        line = columns.strings[kinds.line[events.kind[source]]]
        details["made dense by"] = f"{_called(columns, source)}{f', {line}' if line else ''}"
    details |= _arguments(columns.strings[kinds.attrs[kind]], columns.strings[events.arguments[event]])
    return {name: text for name, text in details.items() if text}


def _array(columns: Columns, place: int) -> str:
    """One array in words: ``"csr 10 × 1,000,000, 100 stored (0.001 %), 1.29 kB, input"``."""
    arrays = columns.arrays
    if place < 0:
        return "not known"
    shape, stype, stored = arrays.shape.of(place).tolist(), columns.strings[arrays.stype[place]], int(arrays.stored[place])
    size = float(np.prod(np.array(shape, float)))
    words = [f"{'dense' if stype in ('default', '') else stype} {format_shape(shape)}", columns.strings[arrays.dtype[place]]]
    if stype not in ("default", "") and stored >= 0:
        words.append(f"{format_count(stored)} stored ({format_density(stored / size if size else 0.0)})")
    words += [format_bytes(int(arrays.bytes[place])), columns.strings[arrays.role[place]], columns.strings[arrays.owner[place]]]
    return ", ".join(filter(None, words))


def _arguments(*texts: str) -> dict[str, str]:
    """What a call was given beside arrays; the second text has what differs from the first."""
    arguments = {name: value for text in texts if isinstance(told := read(text), dict) for name, value in told.items()}
    said = ", ".join(f"{name}={value}" for name, value in arguments.items())
    return {"arguments": clean(said, 500)} if said else {}


def _told_of_sum(timeline: Timeline, subject: str) -> Table | None:
    """The operators of which a bar is the sum, those that take most time first."""
    run, _, subject = subject.partition(" ")
    name, *ends = subject.rsplit(" ", 2)
    row = next((row for candidate in timeline.runs if str(candidate.number) == run
                for row in candidate.rows if row.name == name), None)  # fmt: skip
    if row is None or len(ends) != 2 or not all(end.lstrip("-").isdecimal() and len(end) < 20 for end in ends):
        return None
    low, high = map(float, ends)
    events = row.events[(timeline.start[row.events] >= low - 1) & (timeline.start[row.events] < high + 1)]
    columns = timeline.columns
    kinds, first, place = np.unique(columns.events.kind[events], return_index=True, return_inverse=True)
    own = np.bincount(np.ravel(place), columns.events.own[events], len(kinds))
    calls = np.bincount(np.ravel(place), minlength=len(kinds))
    rows = [(_called(columns, int(events[first[at]])), format_count(int(calls[at])), duration(float(own[at])),
             format_bytes(int(calls[at] * columns.kinds.bytes[kinds[at]])), columns.strings[columns.kinds.line[kinds[at]]])
            for at in np.argsort(-own, kind="stable")[:MOST_TOLD].tolist()]  # fmt: skip
    return Table(("operator", "calls", "own time", "moved", "line"), rows, f"Short calls in {name}")
