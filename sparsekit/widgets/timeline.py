"""A picture of when each operator ran, with one lane per phase of training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.formatting import format_count, format_duration, format_share
from .describe import (
    OPERATOR_COLUMNS,
    arrays,
    describe_array,
    group,
    operator_rows,
    own_time,
    place,
    share_sentence,
)
from .display import Display
from .lanes import LanePainter, Palette, legend
from .layout import APART, Event, Window, clean, culprits, lane_totals, typical_window
from .mark_lanes import MarkLanes, heights, left_out
from .marks import Mark, around, mark_columns, mark_rows, marks_sentence, read_marks, series_of
from .svg import Drawing, fit, heading, is_narrow, page_width, wrap
from .theme import INK, LINE, MUTED, PAPER

__all__ = ["timeline_figure"]

#: Room for names on the left, and for shares on the right, on a wide and on a narrow page.
MARGINS = {False: (96.0, 168.0), True: (84.0, 46.0)}


def timeline_figure(
    records: Iterable[Mapping[str, Any]] | None,
    title: str = "",
    window: str = "auto",
    rows: int = 12,
    marks: Iterable[Mapping[str, Any]] | None = None,
) -> Display:
    """Draw when each operator ran, in the colour of the storage types of its arrays.

    An arrow goes from an operator that made a sparse array dense to each that reads it.

    Parameters
    ----------
    records : iterable of dict
        ``prof.records``.
    title : str, optional
        Heading.
    window : {"auto", "step", "all"} or tuple of two floats
        Part of the run that is drawn large: "step" the median training step, "all" everything, and a tuple the span of time in
        microseconds.  "auto" is "step" if there are many events, and "all" otherwise.  The strip at the top always shows the
        whole run.
    rows : int
        Number of rows of the table.
    marks : iterable of dict, optional
        Events at one point in time: ``prof.marks``, and ``prof.ledger_events`` with a ``kind`` ``"densification"`` and a
        ``name``.  Markers and densifications are drawn as labelled signs in the large part.  Counters are drawn as step lines
        over the whole run.

    Returns
    -------
    Display
        The picture and a table of the operators by own time.
    """
    events, found = clean(records), read_marks(marks)
    chosen = typical_window(events, window)
    finding = share_sentence(events) + marks_sentence(found)
    cells = [*operator_rows(events, rows), *mark_rows(found, len(OPERATOR_COLUMNS))]
    caption = "Operators by own time, the whole run" + ("; markers below" if found else "")
    return Display(lambda: _Timeline(events, chosen, found).draw(str(title), finding), finding,
                   mark_columns(OPERATOR_COLUMNS, found), cells, caption)


def _inside(events: Sequence[Event], window: Window) -> list[Event]:
    """What the part that is drawn large has of the run."""
    return [event for event in events if event.end >= window.start and event.start <= window.end]


def _own(event: Event) -> float:
    """Own time of an event, in microseconds."""
    return event.own


def _ranked(events: Sequence[Event]) -> list[list[Event]]:
    """The calls of the three operators that took most of the run, in the order of the table."""
    found = [(key, calls) for key, calls in group(events).items() if key[0] not in APART and own_time(calls) > 0]
    return [calls for _, calls in sorted(found, key=lambda item: (-own_time(item[1]), item[0]))[:3]]


class _Timeline:
    """One drawing in progress; ``y`` is how far down it has come."""

    def __init__(self, events: list[Event], window: Window, marks: Sequence[Mark] = ()) -> None:
        self.events, self.marks, self.series = events, marks, series_of(marks)
        self.whole = around(events, marks)
        self.window = window if window.reason else self.whole
        self.inside = _inside(events, self.window)
        self.palette = Palette()
        self.ranked = _ranked(events)
        found = set(map(id, self.inside))
        self.edges = [(events[source], event) for event, source in zip(events, culprits(events), strict=True)
                      if source >= 0 and events[source] is not event and found >= {id(event), id(events[source])}]
        self.drawing = Drawing(page_width())
        self.left, self.room = MARGINS[is_narrow()]
        self.right = page_width() - self.room
        self.y = 0.0
        self.notes: list[str] = []

    def draw(self, title: str, finding: str) -> str:
        """Draw it all and give the SVG document."""
        self.y = heading(self.drawing, title or "Where the time goes", finding) - 2
        if not self.events and not self.marks:
            return self.drawing.finish(self.y + 14, finding)
        if self.window.reason:
            self._overview()
        self._lanes()
        self._longest()
        self._legend()
        self._notes()
        return self.drawing.finish(self.y + 12, finding)

    def _overview(self) -> None:
        """Draw the whole run as a strip and mark the part that is shown large below."""
        drawing, y = self.drawing, self.y
        length = format_duration(self.whole.end - self.whole.start)
        drawing.text(self.left - 10, y + 14, "whole run", size=12, fill=MUTED, text_anchor="end")
        painter = LanePainter(drawing, self.palette, self.left, self.right - self.left, self.whole)
        bottom = painter.strip(self.events, y + 2)
        lanes = self._mark_lanes(painter)
        bottom = lanes.counters(self.series, lanes.signs(self.marks, bottom + 2))
        drawing.text(self.right + 8, y + 14, length, size=11 if is_narrow() else 12, fill=MUTED)
        left, right = painter.x(self.window.start), painter.x(self.window.end)
        drawing.rect(
            left - 1, y, max(right - left, 2) + 2, bottom - y + 2, "none", stroke=INK, stroke_width=1.5, rx=2.0
        )
        below = bottom + 20
        for start, end in ((left, self.left), (right, self.right)):
            drawing.line(start, bottom + 2, end, below, stroke=MUTED, stroke_dasharray="3 3")
        self.y = below + 2

    def _lanes(self) -> None:
        drawing, right = self.drawing, self.right
        painter = LanePainter(drawing, self.palette, self.left, right - self.left, self.window)
        totals = lane_totals(self.events)
        whole = sum(own for lane, own in totals.items() if lane not in APART)
        drawing.text(right + 8, self.y + 8, "share" if is_narrow() else "own time, whole run", size=10.5, fill=MUTED)
        top = self.y + 14
        drawn = (self._drawn(calls) for calls in self.ranked)
        badges = {id(event): i + 1 for i, event in enumerate(drawn) if event is not None}
        series = () if self.window.reason else self.series
        room = heights(self.marks, series, self.window)
        bottom = painter.lanes(self.inside, list(totals), top, drawing.width - 16, badges, room=room)
        painter.edges(self.edges, self.inside)
        lanes = self._mark_lanes(painter)
        lanes.lines(self.marks, top, bottom)
        below = lanes.signs(self.marks, bottom - room, len(totals) % 2 == 0)
        lanes.counters(series, below)
        for lane, (first, last) in painter.extents.items():
            middle, size = (first + last) / 2, 12 if is_narrow() else 13
            drawing.text(self.left - 10, middle + 4.5, fit(lane, self.left - 22, size), size=size, text_anchor="end")
            self._share(right + 8, middle, totals[lane], 0.0 if lane in APART else whole)
        self.y = bottom + 24
        self.notes += painter.notes

    def _mark_lanes(self, painter: LanePainter) -> MarkLanes:
        return MarkLanes(self.drawing, painter, self.right + 8, self.drawing.width - 12)

    def _share(self, x: float, y: float, own: float, whole: float) -> None:
        label = format_share(own, whole) if whole > 0 else "apart"
        if is_narrow():
            self.drawing.text(x, y + 4.5, label, size=12, font_weight="bold" if whole > 0 else None)
            return
        room = 28.0
        length = room * own / whole if whole > 0 else 0.0
        if whole > 0:
            self.drawing.rect(x, y - 5, room, 10, LINE, rx=2.0)
            self.drawing.rect(x, y - 5, length, 10, INK, rx=min(2.0, length / 2))
        self.drawing.text(x + room + 8, y + 4.5, label, size=13, font_weight="bold" if whole > 0 else None)
        self.drawing.text(self.drawing.width - 20, y + 4.5, format_duration(own), size=11, fill=MUTED, text_anchor="end")

    def _drawn(self, calls: Sequence[Event]) -> Event | None:
        """The longest of some calls that is drawn large."""
        end, start = self.window.end, self.window.start
        return max((event for event in calls if event.end >= start and event.start <= end), key=_own, default=None)

    def _longest(self) -> None:
        """What the operators took that took most of the run, as the table has it, with the call that is drawn."""
        drawing = self.drawing
        whole = sum(event.own for event in self.events if event.lane not in APART)
        for i, calls in enumerate(self.ranked):
            y, shown = self.y + 20, self._drawn(calls)
            event, own = shown or max(calls, key=_own), sum(map(_own, calls))
            drawing.add("circle", cx=30.0, cy=y - 4.5, r=8.0, fill=INK)
            drawing.text(30, y - 0.5, str(i + 1), size=11, fill=PAPER, text_anchor="middle", font_weight="bold")
            words = f"{place(event)} ({event.lane}): {format_duration(own)}, {format_share(own, whole)}"
            if len(calls) > 1:
                words += f", in {format_count(len(calls))} calls; "
                words += "none is drawn" if shown is None else f"the numbered one took {format_duration(event.duration)}"
            lines = wrap(words, drawing.width - 66, 13, 2 if is_narrow() else 1)
            for line in lines:
                drawing.text(46, y, line, size=13, font_weight="bold")
                y += 16
            y, self.y = y - 16, self.y + 16 * (len(lines) - 1)
            before = " and ".join(describe_array(a) for a in arrays(event, "inputs")[:2])
            after = ", ".join(describe_array(a) for a in arrays(event, "outputs")[:1])
            if before or after:
                self.y += drawing.note(y + 17, f"{before} → {after}", 12, 46) - y - 17
            self.y += 22
        self.y += 10 if self.ranked else 0

    def _legend(self) -> None:
        present = set(map(self.palette.key, self.inside))
        dense = any(event.fallback for event in self.inside)
        self.y = legend(self.drawing, self.palette, present, dense, self.y, bool(self.edges))

    def _notes(self) -> None:
        shown, whole = len(self.inside), len(self.events)
        notes = [*self.notes, *filter(None, [left_out(self.series)])]
        if self.window.reason:
            from_start = format_duration(self.window.start - self.whole.start)
            notes.insert(
                0,
                f"Large: {self.window.reason}, from {from_start}; {format_count(shown)} of "
                f"{format_count(whole)} events.",
            )
        for note in notes:
            self.y = self.drawing.note(self.y + 18, note) - 18
        self.y += 6
