"""A picture of what workers and servers did at the same time, with the lanes of each process below its name."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.displays import NO_OPERATORS
from ..base.formatting import format_count, format_duration, format_share
from .display import Display
from .lanes import LanePainter, Palette, axis, legend
from .layout import APART, Event, Window, clean, lane_totals, typical_window
from .svg import Drawing, fit, heading, is_narrow, page_width
from .theme import INK, LINE, MUTED, OTHER, SERIES, STRIPE, lane_order

__all__ = ["processes_figure", "step_window"]

LEFTS, RIGHT, ROW = {False: 96.0, True: 84.0}, 24.0, 19.0

#: Processes that are drawn, and steps that a run must have for one of them to be drawn large.
MOST, LEAST = 12, 3

#: What a process may be doing: the lanes, and a colour.
ACTIVITIES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("compute", ("forward", "backward", "update"), SERIES[0]),
    ("read and copy", ("io", "transfer", "convert"), SERIES[5]),
    ("exchange with servers", ("exchange",), SERIES[1]),
    ("wait for workers", ("wait",), OTHER),
    ("serve", ("serve",), SERIES[2]),
    ("journal", ("journal",), SERIES[4]),
    ("apply a step", ("apply",), SERIES[3]),
    ("compile, or the profiler", APART, MUTED),
    ("the user's spans", ("user",), LINE),
)  # fmt: skip
_ACTIVITY = {lane: words for words, lanes, _ in ACTIVITIES for lane in lanes}


def processes_figure(
    processes: Mapping[str, Iterable[Mapping[str, Any]] | None],
    title: str = "",
    window: str | tuple[float, float] = "auto",
    errors: Mapping[str, float | None] | None = None,
) -> Display:
    """Draw what several processes did at the same time.

    Parameters
    ----------
    processes : mapping of str to iterable of dict
        Records of each process by name, in the order to draw.  All times must be on one clock.
    title : str, optional
    window : {"auto", "all"} or tuple of two floats
        Part of the run that is drawn large.  "auto" draws the median step of the first process that pushes to servers, "all"
        everything, and a tuple the span of time in microseconds.
    errors : mapping of str to float, optional
        Largest possible error of the times of each process, in microseconds.

    Returns
    -------
    Display
        The picture and a table of the time of each process by lane.
    """
    runs = {str(name): clean(records) for name, records in dict(processes).items()}
    finding = _finding(runs, errors or {})
    chosen = step_window(runs.values(), window)
    title = str(title) or "What workers and servers did"
    return Display(lambda: _Processes(runs, chosen).draw(title, finding), finding,
                   ("process", "lane", "events", "own time", "of its time"), _rows(runs),
                   "Own time by process and lane, the whole run")


def step_window(runs: Iterable[list[Event]], choice: object) -> Window:
    """What to draw large: a step of the first process that pushes to servers; everything; or a span."""
    found = list(runs)
    every = [event for events in found for event in events]
    if choice == "auto":
        for events in found:
            ends = [event.end for event in events if event.lane == "exchange" and event.name.startswith("push")]
            if len(ends) > LEAST:
                return _median_step(ends)
    return typical_window(every, choice if isinstance(choice, (tuple, list)) else "all")


def _median_step(ends: Sequence[float]) -> Window:
    steps = sorted(range(1, len(ends)), key=lambda i: (ends[i] - ends[i - 1], i))
    middle = steps[(len(steps) - 1) // 2]
    room = 0.05 * (ends[middle] - ends[middle - 1])
    return Window(ends[middle - 1] - room, ends[middle] + room, f"step {middle + 1} of {len(ends)}, a median one")


def _span(events: Sequence[Event]) -> float:
    return max((event.end for event in events), default=0.0) - min((event.start for event in events), default=0.0)


def _finding(runs: Mapping[str, list[Event]], errors: Mapping[str, float | None]) -> str:
    every = [event for events in runs.values() for event in events]
    if not every:
        return NO_OPERATORS
    words = f"{format_count(len(runs))} processes in {format_duration(_span(every))}."
    waits = {name: sum(event.own for event in events if event.lane == "wait") for name, events in runs.items()}
    most = max(waits, key=lambda name: waits[name])
    if waits[most] > 0:
        whom = statistics.mode(event.name for event in runs[most] if event.lane == "wait")
        words += f" {most.capitalize()} spent {format_share(waits[most], _span(runs[most]))} of its time waiting, mostly "
        words += f"{whom.removeprefix('wait ')}."
    work = {name: totals["serve"] + totals.get("apply", 0.0) + totals.get("journal", 0.0) for name, events in runs.items()
            if "serve" in (totals := lane_totals(events))}
    if work:
        busiest = max(work, key=lambda name: work[name])
        words += f" {busiest.capitalize()} worked {format_share(work[busiest], _span(every))} of that time."
    known = [error for error in errors.values() if error]
    return f"{words} Clocks agree within {format_duration(max(known))}." if known else words


def _rows(runs: Mapping[str, list[Event]]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, events in runs.items():
        whole = _span(events)
        for lane, own in lane_totals(events).items():
            count = sum(event.lane == lane for event in events)
            found.append((name, lane, format_count(count), format_duration(own), format_share(own, whole) if whole > 0 else ""))
    return found


class _Activities(Palette):
    """Colours by what a process is doing, rather than by storage types."""

    def __init__(self) -> None:
        self.colors = {words: color for words, _, color in ACTIVITIES} | {"other": OTHER}
        self.codes = {}

    def key(self, event: Event) -> str:
        """What a process is doing; strips move events to a lane of their own."""
        return _ACTIVITY.get(str(event.record.get("lane")), "other")

    def legend(self, present: set[str]) -> list[tuple[str, str, str]]:
        """Letter, activity and colour of what is present, in their order."""
        return [("", words, color) for words, _, color in ACTIVITIES if words in present]


class _Processes:
    """One drawing in progress; ``y`` is how far down it has come."""

    def __init__(self, runs: dict[str, list[Event]], window: Window) -> None:
        self.names = list(runs)[:MOST]
        self.left_out = len(runs) - len(self.names)
        self.runs, self.window = runs, window
        every = [event for events in runs.values() for event in events]
        self.whole = Window(min((e.start for e in every), default=0.0), max((e.end for e in every), default=0.0), "")
        self.palette = _Activities()
        self.drawing = Drawing(page_width())
        self.left = LEFTS[is_narrow()]
        self.y = 0.0
        self.notes: list[str] = []
        self.joined = False

    def draw(self, title: str, finding: str) -> str:
        """Draw it all and give the SVG document."""
        drawing, plot = self.drawing, page_width() - self.left - RIGHT
        self.y = heading(drawing, title, finding)
        if self.whole.end <= self.whole.start:
            return drawing.finish(self.y + 6, finding)
        if self.window.reason:
            self._overview(plot)
        top = self.y + 8
        heights = [self._height(name) for name in self.names]
        axis(drawing, self.left, plot, top, self.y + sum(heights), self.window.end - self.window.start)
        for name, height in zip(self.names, heights, strict=True):
            self._process(name, plot)
            self.y += height
        self.y += 22
        present = {self.palette.key(event) for name in self.names for event in self._inside(name)}
        self.y = legend(drawing, self.palette, present, any(e.fallback for n in self.names for e in self._inside(n)), self.y)
        self._said()
        return drawing.finish(self.y + 14, finding)

    def _inside(self, name: str) -> list[Event]:
        return [event for event in self.runs[name] if event.end > self.window.start and event.start < self.window.end]

    def _overview(self, plot: float) -> None:
        """Draw the whole run, a line for each process, and mark the part that is shown large below."""
        drawing = self.drawing
        painter = LanePainter(drawing, self.palette, self.left, plot, self.whole)
        top = self.y + 2
        for name in self.names:
            drawing.text(self.left - 10, self.y + 11, fit(name, self.left - 20, 11), size=11, fill=MUTED, text_anchor="end")
            outer = [event._replace(lane=name) for event in self.runs[name] if event.lane not in ("journal", "apply", "wait")]
            inner = [event._replace(lane=name) for event in self.runs[name] if event.lane in ("journal", "apply", "wait")]
            painter.strip(outer, self.y + 4, 8.0)
            self._over(painter, inner)
            self.y += 15
        left, right = painter.x(self.window.start), painter.x(self.window.end)
        drawing.rect(left - 1, top - 2, max(right - left, 2) + 2, self.y - top + 4, "none", stroke=INK, stroke_width=1.5, rx=2.0)
        for start, end in ((left, self.left), (right, drawing.width - RIGHT)):
            drawing.line(start, self.y + 2, end, self.y + 20, stroke=MUTED, stroke_dasharray="3 3")
        self.y += 22

    def _over(self, painter: LanePainter, events: Sequence[Event]) -> None:
        """Draw what lies inside other events over them."""
        boxes: dict[str, list[tuple[float, float, float, float]]] = {}
        for event in events:
            x = painter.x(event.start)
            box = x, self.y + 4, max(painter.x(event.end) - x, 0.7), 8.0
            boxes.setdefault(self.palette.colors[self.palette.key(event)], []).append(box)
        for color, found in boxes.items():
            self.drawing.boxes(found, color)

    def _lanes(self, name: str) -> list[str]:
        return lane_order(event.lane for event in self._inside(name))

    def _height(self, name: str) -> float:
        """Measure a process by drawing it on nothing."""
        scratch = LanePainter(Drawing(1), self.palette, self.left, page_width() - self.left - RIGHT, self.window)
        return 34.0 + scratch.lanes(self._inside(name), self._lanes(name), 0, 0, {}, ROW, guides=False) + 10

    def _process(self, name: str, plot: float) -> None:
        drawing, y, size = self.drawing, self.y, 13 if is_narrow() else 15
        drawing.rect(12, y + 4, drawing.width - 24, 26, STRIPE, rx=3.0)
        drawing.text(20, y + 22, fit(name, 0.4 * drawing.width, size), size=size, font_weight="bold")
        drawing.text(drawing.width - 24, y + 21, self._shares(name), size=12, fill=MUTED, text_anchor="end")
        painter = LanePainter(drawing, self.palette, self.left, plot, self.window)
        painter.lanes(self._inside(name), self._lanes(name), y + 34, 0, {}, ROW, guides=False)
        self.joined = self.joined or bool(painter.notes)
        self.notes += [f"{name}: {painter.left_out}"] if painter.left_out else []
        for lane, (first, last) in painter.extents.items():
            drawing.text(self.left - 10, (first + last) / 2 + 4, fit(lane, self.left - 20, 12), size=12, text_anchor="end")

    def _shares(self, name: str) -> str:
        """The largest activities of a process, as shares of its time in the part drawn."""
        sums: dict[str, float] = {}
        for event in self._inside(name):
            length = min(event.end, self.window.end) - max(event.start, self.window.start)
            words = self.palette.key(event)
            sums[words] = sums.get(words, 0.0) + (length * event.own / event.duration if event.duration > 0 else 0.0)
        whole = self.window.end - self.window.start
        ranked = sorted(sums, key=lambda words: (-sums[words], words))[:2 if is_narrow() else 3]
        return ", ".join(f"{words} {format_share(sums[words], whole)}" for words in ranked if sums[words] > 0.005 * whole)

    def _said(self) -> None:
        """The caption: what is drawn and what is left out."""
        notes = list(self.notes)
        if self.window.reason:
            begin = format_duration(max(0.0, self.window.start - self.whole.start))
            notes.insert(0, f"Large: {self.window.reason}, from {begin}. Shares refer to the part drawn large.")
        if self.joined:
            notes.append("Neighbours that touch at this scale are drawn as one block, in the colour of the longest.")
        if self.left_out:
            notes.append(f"{format_count(self.left_out)} more processes are not drawn; the table has all of them.")
        for note in notes[:4]:
            self.y = self.drawing.note(self.y + 16, note, step=18) - 16
