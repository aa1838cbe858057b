"""One picture of several profiles on a common time axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.displays import NO_OPERATORS
from ..base.formatting import format_count, format_duration, format_ratio, format_share
from .describe import group, own_time, place
from .display import Display
from .lanes import LanePainter, Palette, axis, legend
from .layout import APART, Event, Window, clean, lane_totals, stepped, typical_window
from .svg import Drawing, fit, heading, is_narrow, page_width
from .theme import MUTED, PAPER, STRIPE, lane_order

__all__ = ["timelines_figure"]

#: Room for names on the left, on a wide and on a narrow page, and what stays free on the right.
LEFTS, RIGHT = {False: 96.0, True: 84.0}, 24.0
ROW = 19.0
#: The part of the plot that a magnified run fills, and the room for the words above it.
MAGNIFIED, SAID = 0.55, 20.0
#: The least share of the picture that a run must fill to be readable.
SLIVER = 0.3


class _ComparedRun:
    """One profile, cut to the part that is compared."""

    def __init__(self, name: str, events: list[Event]) -> None:
        self.name, self.all = name, events
        self.events: list[Event] = []
        self.window = Window(0.0, 0.0, "")
        #: How many times as wide it is drawn again; 1 if it is not.
        self.factor = 1.0

    @property
    def length(self) -> float:
        """What is drawn of it, in microseconds."""
        return max(0.0, self.window.end - self.window.start)

    @property
    def recorded(self) -> float:
        """Own time of what is drawn."""
        return sum(event.own for event in self.events)

    def cut(self, choice: object) -> None:
        """Take the requested part of its own time."""
        self.window = window = _without_compilation(self.all, typical_window(self.all, choice))
        work = (event for event in self.all if event.lane not in APART)
        self.events = [event for event in work if event.end > window.start and event.start < window.end]

    def magnify(self, longest: float) -> None:
        """Find how many times as wide it is drawn again, in the figures that are written, beside a run of this length."""
        share = self.length / longest if longest > 0 else 0.0
        if self.events and 0 < share < SLIVER:
            factor = MAGNIFIED / share
            self.factor = float(round(factor) if factor >= 9.95 else round(factor, 1))

    @property
    def magnified(self) -> str:
        """The same in words; empty if it is not magnified."""
        return f"drawn {format_ratio(self.factor).removesuffix('×')} times as wide" if self.factor > 1 else ""


def _without_compilation(events: Sequence[Event], window: Window) -> Window:
    """Cut what stands apart off both ends of a whole run, or runs would start at different times."""
    work = [event for event in events if event.lane not in APART]
    if window.reason or not work:
        return window
    return Window(work[0].start, max(event.end for event in work), "")


def timelines_figure(
    profiles: Mapping[str, Iterable[Mapping[str, Any]] | None],
    title: str = "",
    window: list[Any] | str | tuple[Any, ...] = "auto",
) -> Display:
    """Draw several profiles one below the other on one common time axis.

    A profile that is too short to see on that axis is also drawn magnified beside it, and picture and finding say how many times
    as wide.

    Parameters
    ----------
    profiles : mapping of str to iterable of dict
        Name of each run -> its ``prof.records``, in the order to draw.
    title : str, optional
    window : {"auto", "step", "all"} or tuple of two floats
        "step" draws the median step, "all" everything, and a tuple the span of time in microseconds.  "auto" draws
        the median step of each run if all of them have many events and at least three training steps, and everything otherwise.

    Returns
    -------
    Display
        The picture and a table with one column per run.
    """
    runs = [_ComparedRun(str(name), clean(records)) for name, records in dict(profiles).items()]
    if window == "auto":
        some = [stepped(run.all) for run in runs]
        window = "step" if some and all(some) else "all"
    for run in runs:
        run.cut(window)
    finding = _finding(runs, window) + _magnified(runs)
    title = str(title) or _title(runs, window)
    return Display(lambda: _Comparison(runs).draw(title, finding), finding, ("lane", *(run.name for run in runs)),
                   _table(runs), "Own time by lane" + _what(window))


def _magnified(runs: Sequence[_ComparedRun]) -> str:
    """Have short runs magnified; a sentence that says by how much."""
    longest = max((run.length for run in runs), default=0.0)
    for run in runs:
        run.magnify(longest)
    said = [f"{run.name} is also {run.magnified}" for run in runs if run.magnified]
    return f" In the picture, {', '.join(said)}." if said else ""


def _what(window: object) -> str:
    return ", one training step (the median one)" if window == "step" else ""


def faster(times: Mapping[str, float]) -> str:
    """Title of a comparison of two runs or more: which is the fastest, and by how much; empty where they take as long."""
    times = {name: time for name, time in times.items() if time > 0}
    longest, shortest = (pick(times, key=lambda name: times[name], default="") for pick in (max, min))
    if not times or times[longest] <= times[shortest] * 1.05:
        return ""
    return f"{shortest}: {format_ratio(times[longest] / times[shortest])} faster than {longest}"


def _title(runs: Sequence[_ComparedRun], window: object) -> str:
    lengths = {run.name: run.length for run in runs if run.length > 0}
    return faster(lengths) or ("One training step" if window == "step" else "The same work") + f", {format_count(len(runs))} ways"


def _finding(runs: Sequence[_ComparedRun], window: object) -> str:
    found = [run for run in runs if run.length > 0]
    if not found:
        return NO_OPERATORS
    words = "One training step takes " if window == "step" else "Recorded time: "
    words += ", ".join(f"{run.name} {format_duration(run.length)}" for run in found)
    longest, shortest = (pick(found, key=lambda run: run.length) for pick in (max, min))
    if longest.length > shortest.length * 1.05:
        words += f": {longest.name} takes {format_ratio(longest.length / shortest.length)} as long as {shortest.name}"
    calls = max(group(longest.events).values(), key=own_time, default=())
    if calls and longest.recorded > 0:
        words += f", {format_share(own_time(calls), longest.recorded)} of it in {place(calls[0])} ({calls[0].lane})"
    return words + "."


def _table(runs: Sequence[_ComparedRun]) -> list[tuple[str, ...]]:
    totals = [lane_totals(run.events) for run in runs]
    lanes = lane_order(lane for total in totals for lane in total)
    rows = [(lane, *(format_duration(t[lane]) if lane in t else "" for t in totals)) for lane in lanes]
    rows.append(("from start to end", *(format_duration(run.length) for run in runs)))
    rows.append(("events", *(format_count(len(run.events)) for run in runs)))
    dense = [sum(event.fallback for event in run.events) for run in runs]
    return [*rows, ("became dense", *map(format_count, dense))] if any(dense) else rows


class _Comparison:
    """One drawing in progress; ``y`` is how far down it has come."""

    def __init__(self, runs: list[_ComparedRun]) -> None:
        self.runs = runs
        self.length = max((run.length for run in runs), default=0.0)
        self.palette = Palette()
        self.drawing = Drawing(page_width())
        self.left = LEFTS[is_narrow()]
        self.y = 0.0
        self.notes: list[str] = []

    def draw(self, title: str, finding: str) -> str:
        """Draw it all and give the SVG document."""
        drawing, plot = self.drawing, page_width() - self.left - RIGHT
        self.y = heading(drawing, title, finding)
        if self.length <= 0:
            return drawing.finish(self.y + 6, finding)
        heights = [self._height(run) for run in self.runs]
        axis(drawing, self.left, plot, self.y + 8, self.y + sum(heights), self.length)
        for run, height in zip(self.runs, heights, strict=True):
            self._run(run, height)
            self.y += height
        self.y += 22
        self._legend()
        self._said()
        return drawing.finish(self.y + 14, finding)

    def _lanes(self, run: _ComparedRun) -> list[str]:
        return lane_order(event.lane for event in run.events)

    def _height(self, run: _ComparedRun) -> float:
        """Measure a run by drawing it on nothing."""
        scratch = LanePainter(Drawing(1), self.palette, self.left, 100, run.window)
        return self._top(run) + scratch.lanes(run.events, self._lanes(run), 0, 0, {}, ROW, guides=False) + 10

    def _top(self, run: _ComparedRun) -> float:
        """From the top of a run to its lanes."""
        return 34.0 + (SAID if run.magnified else 0.0)

    def _run(self, run: _ComparedRun, height: float) -> None:
        drawing, plot, y = self.drawing, page_width() - self.left - RIGHT, self.y
        top, bottom, size = y + self._top(run), y + height - 6, 13 if is_narrow() else 15
        drawing.rect(12, y + 4, drawing.width - 24, 26, STRIPE, rx=3.0)
        drawing.text(20, y + 22, fit(run.name, drawing.width / 2, size), size=size, font_weight="bold")
        drawing.text(drawing.width - 24, y + 22, format_duration(run.length), size=size, font_weight="bold", text_anchor="end")
        width = plot * run.length / self.length
        painter = LanePainter(drawing, self.palette, self.left, width, run.window)
        painter.lanes(run.events, self._lanes(run), top, 0, {}, ROW, guides=False)
        self.notes += [f"{run.name}: {painter.left_out}"] if painter.left_out else []
        for lane, (first, last) in painter.extents.items():
            drawing.text(self.left - 10, (first + last) / 2 + 4, fit(lane, self.left - 20, 12), size=12, text_anchor="end")
        if run.magnified:
            self._magnified(run, top, bottom, self.left + width)

    def _magnified(self, run: _ComparedRun, top: float, bottom: float, end: float) -> None:
        """Draw the run again in the empty space to its right, and say above it how many times as wide."""
        drawing = self.drawing
        width = (end - self.left) * run.factor
        left = drawing.width - RIGHT - 8 - width
        drawing.rect(
            left - 6, top - 1, width + 12, bottom - top + 2, PAPER, stroke=MUTED, stroke_dasharray="4 3", rx=3.0
        )
        for near, far in ((top, top), (bottom, bottom)):
            drawing.line(end + 2, near, left - 6, far, stroke=MUTED, stroke_dasharray="4 3")
        painter = LanePainter(drawing, self.palette, left, width, run.window)
        painter.lanes(run.events, self._lanes(run), top, 0, {}, ROW, guides=False)
        drawing.text(left - 6, top - 7, run.magnified, size=12, font_weight="bold")

    def _said(self) -> None:
        """The caption: what is drawn and what is left out."""
        apart = {run.name: sum(e.own for e in run.all if e.lane in APART) for run in self.runs}
        words = ", ".join(f"{name} {format_duration(own)}" for name, own in apart.items() if own > 0)
        apart_note = [f"Not drawn: compilation and the profiler itself ({words})."] if words else []
        drawn = "; ".join(f"{run.name}: {run.window.reason}" for run in self.runs if run.window.reason)
        for note in [*([f"Drawn: {drawn}."] if drawn else []), *self.notes, *apart_note]:
            self.y = self.drawing.note(self.y + 16, note, step=18) - 16

    def _legend(self) -> None:
        present = {self.palette.key(event) for run in self.runs for event in run.events}
        fallback = any(event.fallback for run in self.runs for event in run.events)
        self.y = legend(self.drawing, self.palette, present, fallback, self.y)
