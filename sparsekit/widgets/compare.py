"""Several profiles -> one picture on one time axis: dense beside sparse beside row-sparse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .describe import place
from .display import Display
from .lanes import LanePainter, axis, legend, shared_palette
from .layout import APART, Event, Window, clean, lane_totals, stepped, typical_window
from .svg import Drawing, fit, wrap
from .theme import MUTED, STRIPE, lane_order
from .units import format_count, format_duration, format_ratio, format_share

__all__ = ["timelines_figure"]

WIDTH, LEFT, RIGHT = 1000.0, 96.0, 24.0
ROW = 19.0
#: A profile shorter than this share of the axis is drawn a second time, magnified.
SLIVER = 0.3


class _Run:
    """One profile, cut to the part that is compared."""

    def __init__(self, name: str, records: Any, window: Any) -> None:
        self.name = name
        self.all = clean(records)
        self.window = _without_compilation(self.all, typical_window(self.all, window))
        inside = [e for e in self.all if e.end > self.window.start and e.start < self.window.end]
        self.events = [e for e in inside if e.lane not in APART]
        self.recorded = sum(e.own for e in self.events)
        self.length = max(0.0, self.window.end - self.window.start)


def _without_compilation(events: Sequence[Event], window: Window) -> Window:
    """Cut what stands apart off both ends of a whole run, or runs would start at different times."""
    work = [event for event in events if event.lane not in APART]
    if window.reason or not work:
        return window
    return Window(work[0].start, max(event.end for event in work), "")


def timelines_figure(
    profiles: Mapping[str, Iterable[Mapping[str, Any]] | None],
    title: str = "",
    window: Any = "auto",
) -> Display:
    """Draw several profiles one below the other on one common time axis.

    What is too short to see on that axis is drawn a second time beside it, magnified.

    Parameters
    ----------
    profiles : mapping of str to iterable of dict
        Name of each run -> its ``prof.records``, in the order to draw.
    title : str, optional
    window : {"auto", "step", "all"} or tuple of two floats
        As for ``timeline_figure``; "auto" takes the median step of every run if each has steps.

    Returns
    -------
    Display
        The picture and a table with one column per run.
    """
    if window == "auto":
        some = [stepped(clean(records)) for records in dict(profiles).values()]
        window = "step" if some and all(some) else "all"
    runs = [_Run(str(name), records, window) for name, records in dict(profiles).items()]
    finding = _finding(runs, window)
    svg = _Comparison(runs, window).draw(str(title) or _title(runs, window), finding)
    columns = ("lane", *(run.name for run in runs))
    return Display(svg, finding, columns, _table(runs), "Own time by lane" + _what(window))


def _what(window: Any) -> str:
    return ", one training step (the median one)" if window == "step" else ""


def _title(runs: Sequence[_Run], window: Any) -> str:
    return ("One training step" if window == "step" else "The same work") + f", {format_count(len(runs))} ways"


def _finding(runs: Sequence[_Run], window: Any) -> str:
    found = [run for run in runs if run.length > 0]
    if not found:
        return "No events were recorded."
    words = "One training step takes " if window == "step" else "Recorded time: "
    words += ", ".join(f"{run.name} {format_duration(run.length)}" for run in found)
    longest, shortest = (pick(found, key=lambda run: run.length) for pick in (max, min))
    if longest.length > shortest.length * 1.05:
        words += f": {longest.name} takes {format_ratio(longest.length / shortest.length)} as long as {shortest.name}"
    top = max(longest.events, key=lambda event: event.own, default=None)
    if top is not None and longest.recorded > 0:
        share = format_share(top.own, longest.recorded)
        words += f", {share} of it in {place(top)} ({top.lane})"
    return words + "."


def _table(runs: Sequence[_Run]) -> list[tuple[str, ...]]:
    totals = [lane_totals(run.events) for run in runs]
    lanes = lane_order(lane for total in totals for lane in total)
    rows = [(lane, *(format_duration(t[lane]) if lane in t else "" for t in totals)) for lane in lanes]
    rows.append(("from start to end", *(format_duration(run.length) for run in runs)))
    rows.append(("events", *(format_count(len(run.events)) for run in runs)))
    dense = [sum(event.fallback for event in run.events) for run in runs]
    return [*rows, ("became dense", *map(format_count, dense))] if any(dense) else rows


class _Comparison:
    def __init__(self, runs: list[_Run], window: Any) -> None:
        self.runs = runs
        self.length = max((run.length for run in runs), default=0.0)
        self.palette = shared_palette(run.events for run in runs)
        self.drawing = Drawing(WIDTH)
        self.y = 0.0
        self.hidden = 0
        self.window = window

    def draw(self, title: str, finding: str) -> str:
        drawing = self.drawing
        drawing.text(20, 32, fit(title, WIDTH - 40, 19), size=19, font_weight="bold")
        for i, line in enumerate(wrap(finding, WIDTH - 40, 13)):
            drawing.text(20, 53 + 17 * i, line, size=13, fill=MUTED)
            self.y = 70.0 + 17 * i
        if self.length <= 0:
            return drawing.finish(self.y + 6, finding)
        heights = [self._height(run) for run in self.runs]
        axis(drawing, LEFT, WIDTH - LEFT - RIGHT, self.y + 8, self.y + sum(heights), self.length)
        for run, height in zip(self.runs, heights, strict=True):
            self._run(run, self.y, height)
            self.y += height
        self.y += 22
        self._legend()
        self._left_out()
        return drawing.finish(self.y + 14, finding)

    def _lanes(self, run: _Run) -> list[str]:
        return lane_order(event.lane for event in run.events)

    def _height(self, run: _Run) -> float:
        """Measure a run by drawing it on nothing."""
        scratch = LanePainter(Drawing(1), self.palette, LEFT, 100, run.window)
        return 36 + scratch.lanes(run.events, self._lanes(run), 0, 0, {}, ROW, guides=False) + 8

    def _run(self, run: _Run, y: float, height: float) -> None:
        drawing, plot = self.drawing, WIDTH - LEFT - RIGHT
        drawing.rect(12, y + 4, WIDTH - 24, 26, STRIPE, rx=3.0)
        drawing.text(20, y + 22, fit(run.name, 500, 15), size=15, font_weight="bold")
        drawing.text(WIDTH - 24, y + 22, format_duration(run.length), size=15, font_weight="bold", text_anchor="end")
        width = plot * run.length / self.length
        painter = LanePainter(drawing, self.palette, LEFT, width, run.window)
        painter.lanes(run.events, self._lanes(run), y + 34, 0, {}, ROW, guides=False)
        for lane, (first, last) in painter.extents.items():
            drawing.text(LEFT - 10, (first + last) / 2 + 4, fit(lane, LEFT - 20, 12), size=12, text_anchor="end")
        if 0 < width < SLIVER * plot and run.events:
            self._magnified(run, y + 34, y + height - 6, LEFT + width)

    def _magnified(self, run: _Run, top: float, bottom: float, end: float) -> None:
        """Draw the run again in the empty space to its right, and say how much larger."""
        drawing = self.drawing
        left = max(end + 70, LEFT + 190)
        width = WIDTH - RIGHT - 8 - left
        factor = format_ratio(width / max(end - LEFT, 1e-9))
        drawing.rect(
            left - 6, top - 1, width + 12, bottom - top + 2, "#ffffff", stroke=MUTED, stroke_dasharray="4 3", rx=3.0
        )
        for near, far in ((top, top), (bottom, bottom)):
            drawing.line(end + 2, near, left - 6, far, stroke=MUTED, stroke_dasharray="4 3")
        painter = LanePainter(drawing, self.palette, left, width, run.window)
        painter.lanes(run.events, self._lanes(run), top, 0, {}, ROW, guides=False)
        middle = (end + left - 6) / 2
        drawing.text(middle, (top + bottom) / 2, factor, size=15, text_anchor="middle", font_weight="bold")
        drawing.text(middle, (top + bottom) / 2 + 15, "magnified", size=11, text_anchor="middle", fill=MUTED)

    def _left_out(self) -> None:
        """Own up to what is not drawn."""
        apart = {run.name: sum(e.own for e in run.all if e.lane in APART) for run in self.runs}
        words = ", ".join(f"{name} {format_duration(own)}" for name, own in apart.items() if own > 0)
        if words:
            note = fit(f"Not drawn: compilation and the profiler itself ({words}).", WIDTH - 40, 11.5)
            self.drawing.text(20, self.y + 16, note, size=11.5, fill=MUTED)
            self.y += 18

    def _legend(self) -> None:
        present = {event.name for run in self.runs for event in run.events}
        fallback = any(event.fallback for run in self.runs for event in run.events)
        self.y = legend(self.drawing, self.palette, present, fallback, self.y)
