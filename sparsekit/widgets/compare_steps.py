"""Runs aligned step by step: the marks of their steps in a picture, sentences and tables about them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ..base.formatting import format_count, format_duration, format_ratio, format_share, format_tick, number
from .align import Alignment
from .describe import place
from .layout import Event, Window, is_step, ticks
from .svg import Drawing, text_width
from .theme import INK, LINE, MUTED, PAPER, lane_order

__all__ = ["STEP_CAPTION", "StepMarks", "step_finding", "step_medians", "step_table"]

STEP_CAPTION = "Duration of each step, then own time by lane, a step"
#: Rows of steps in a table; the others are summed up in one.
ROWS = 10
#: Steps narrower than so many pixels get no label of their own.
NARROW = 26.0

Runs = Sequence[tuple[str, Sequence[Event]]]


class StepMarks:
    """Which steps a picture shows, and how they are marked in it.

    Parameters
    ----------
    steps : Alignment
    runs : sequence of sequences of Event
        What is drawn of each run, on its own time.
    window : {"auto", "step", "all"} or tuple of two floats
        Some steps around the median one, that one, everything, or a span of the common axis, in microseconds.
    """

    #: Pixels above the runs for the names of the steps.
    HEAD = 14.0

    def __init__(self, steps: Alignment, runs: Sequence[Sequence[Event]], window: object) -> None:
        self.steps = steps
        whole = list(range(len(steps.slots) - steps.tail))
        if isinstance(window, (tuple, list)) and len(window) == 2:
            first, last = sorted(number(value) for value in window)
            self.window = Window(first, last, "")
            self.slots = [i for i in whole if steps.slots[i].end > first and steps.slots[i].start < last]
        elif window == "all":
            begin = min((steps.shown(i, events[0].start) for i, events in enumerate(runs) if events), default=0.0)
            self.window = Window(min(begin, 0.0), steps.slots[-1].end, "")
            self.slots = whole
        else:
            self.slots = steps.typical(1) if window == "step" else steps.typical()
            self.window = steps.window(self.slots)
        #: Pixels that a run needs for the durations of its steps.
        self.room = 18.0 if len(self.slots) > 1 else 0.0
        self.hatched = False

    @property
    def said(self) -> str:
        """Which steps are drawn, and how that is to be read; complete once every run is drawn."""
        names = [self.steps.slots[i].label for i in self.slots]
        whole = len(self.steps.slots) - self.steps.tail
        if not names:
            return ""
        which = f"Step {names[0]}" if len(names) == 1 else f"Steps {names[0]} to {names[-1]}"
        words = "" if len(names) == whole else f"{which}, of {format_count(whole)} in the table. "
        words += "Each step begins at the same place in every run" if self.room else "It begins at the same place in every run"
        return words + ("; hatched: the run had ended." if self.hatched else ".")

    def _inside(self) -> list[int]:
        """Slots of which something is drawn, what follows the steps among them."""
        return [i for i, slot in enumerate(self.steps.slots)
                if slot.start < self.window.end and (slot.end > self.window.start or slot.start >= self.window.start)]

    def axis(self, drawing: Drawing, left: float, width: float, top: float, bottom: float, length: float) -> None:
        """Draw where each step begins, its name above, and below it times that count from there."""
        scale = width / length
        drawing.line(left, bottom, left + width, bottom, stroke=MUTED)
        reached = above = -1.0
        for i in self._inside():
            slot = self.steps.slots[i]
            x = left + (slot.start - self.window.start) * scale
            if x < left - 1 or (x < above and slot.length * scale < NARROW / 4):
                continue
            drawing.line(x, top - 10, x, bottom + 4, stroke=MUTED, stroke_width=1.2)
            label = self.name(i)
            if x >= above and x + 4 + text_width(label, 11.5) < drawing.width - 8:
                drawing.text(x + 4, top - 2, label, size=11.5, font_weight="bold")
                above = x + text_width(label, 11.5) + 14
            room = min(slot.length * scale, left + width - x)
            for position in ticks(slot.length, max(1, int(room / 90))):
                at = x + position * scale
                if at > left + width + 1 or at < reached or (position and x + room - at < NARROW):
                    continue
                if position:
                    drawing.line(at, top, at, bottom + 4, stroke=LINE, stroke_width=0.7)
                words = format_tick(position, ticks(slot.length, max(1, int(room / 90)))[1] if position else 1.0)
                drawing.text(at, bottom + 17, words, size=11, fill=MUTED, text_anchor="middle")
                reached = at + text_width(words, 11) / 2 + 12

    def name(self, slot: int) -> str:
        """What a slot is called: ``"step 5"``."""
        tail = self.steps.tail and slot == len(self.steps.slots) - 1
        return "after the steps" if tail else f"step {self.steps.slots[slot].label}"

    def run(self, drawing: Drawing, run: int, left: float, scale: float, top: float, bottom: float, hatched: bool) -> None:
        """Mark in one run how long each step took, and the gaps behind those that were over early."""
        for start, end in self.steps.gaps(run) if hatched else ():
            first, last = max(start, self.window.start), min(end, self.window.end)
            if (last - first) * scale > 1:
                self.hatched = True
                x, width = left + (first - self.window.start) * scale, (last - first) * scale
                drawing.rect(x, top, width, bottom - top, PAPER, fill_opacity="0.75")
                drawing.rect(x, top, width, bottom - top, drawing.hatch(LINE, 7, 1.2))
        if not self.room:
            return
        for slot in self._inside():
            step = self.steps.in_slot(run, slot)
            if step is not None:
                x = left + (self.steps.slots[slot].start - self.window.start) * scale
                self._took(drawing, x, step.duration * scale, self.steps.slots[slot].length * scale, top - 8, step.duration)

    @staticmethod
    def _took(drawing: Drawing, x: float, width: float, room: float, y: float, duration: float) -> None:
        """A line as long as the step, with its ends, and the duration on it, or behind it if it is too short."""
        words = format_duration(duration)
        taken = text_width(words, 11.5)
        if room < taken + 8:
            return
        inside = width >= taken + 24
        drawing.line(x, y, x + width, y, stroke=MUTED)
        for end in (x, x + width):
            drawing.line(end, y - 4, end, y + 4, stroke=MUTED)
        if inside:
            drawing.rect(x + (width - taken) / 2 - 4, y - 6, taken + 8, 12, PAPER)
        if inside or width + taken + 10 <= room:
            at = x + width / 2 if inside else x + width + 6
            drawing.text(at, y + 4, words, size=11.5, fill=INK, text_anchor="middle" if inside else None)


def _medians(runs: Runs, steps: Alignment) -> list[float | None]:
    """Median duration of the steps that all runs have, of each run."""
    found: list[float | None] = []
    for run in range(len(runs)):
        common = [step for slot in steps.common if (step := steps.in_slot(run, slot))]
        own = [step.duration for step in common or steps.steps[run]]
        found.append(statistics.median(own) if own else None)
    return found


def _in_steps(run: int, events: Sequence[Event], steps: Alignment) -> list[Event]:
    """Events of one run that lie in steps which all runs have."""
    wanted = set(steps.common) or set(range(len(steps.slots) - steps.tail))
    return [event for event in events if steps.slot_of(run, event.start) in wanted]


def step_medians(runs: Runs, steps: Alignment) -> dict[str, float]:
    """The median time of a step of each run that has steps, in microseconds."""
    return {runs[run][0]: took for run, took in enumerate(_medians(runs, steps)) if took is not None}


def step_finding(runs: Runs, steps: Alignment) -> str:
    """Say what a step takes in each run, how far apart they are, and where the longest spends most."""
    found = [(took, run) for run, took in enumerate(_medians(runs, steps)) if took is not None]
    count = len(steps.common)
    words = "One step side by side, it" if count == 1 else f"{format_count(count)} steps side by side, the median one"
    words += " takes "
    words += ", ".join(f"{runs[run][0]} {format_duration(took)}" for took, run in found)
    (longest, slow), (shortest, fast) = max(found), min(found)
    if longest > shortest * 1.05 and shortest > 0:
        words += f": {runs[slow][0]} takes {format_ratio(longest / shortest)} as long as {runs[fast][0]}"
    own: dict[str, float] = {}
    for event in _in_steps(slow, runs[slow][1], steps):
        # A step's own time is what passed between the operators in it.
        key = "no operator" if event.lane == "user" and is_step(event) else f"{place(event)} ({event.lane})"
        own[key] = own.get(key, 0.0) + event.own
    if own and sum(own.values()) > 0:
        top = max(own, key=lambda key: own[key])
        words += f", {format_share(own[top], sum(own.values()))} of it in {top}"
    counts = [(runs[run][0], len(steps.steps[run])) for _, run in found]
    if len({number for _, number in counts}) > 1:
        words += f". Steps: {', '.join(f'{name} {format_count(number)}' for name, number in counts)}"
    return words + "."


def step_table(runs: Runs, steps: Alignment) -> list[tuple[str, ...]]:
    """A row for each step with its duration in every run, then what a step takes in each lane."""
    slots = list(range(len(steps.slots) - steps.tail))
    # Where runs share only some steps, those are the ones to see.
    first = 0 if len(slots) <= ROWS + 1 else min(min(steps.common, default=0), len(slots) - ROWS)
    shown = slots if len(slots) <= ROWS + 1 else slots[first:first + ROWS]
    rows = [(f"step {steps.slots[slot].label}", *(_duration(steps, run, [slot]) for run in range(len(runs)))) for slot in shown]
    rest = slots[:first] + slots[first + len(shown):]
    if rest:
        rows.append((f"{format_count(len(rest))} more, their median", *(_duration(steps, run, rest) for run in range(len(runs)))))
    rows.append(("median step", *("" if took is None else format_duration(took) for took in _medians(runs, steps))))
    inside = [_in_steps(run, events, steps) for run, (_, events) in enumerate(runs)]
    counts = [max(1, len(steps.common) or len(found)) for found in steps.steps]
    for lane in lane_order(event.lane for events in inside for event in events):
        own = [[event.own for event in events if event.lane == lane] for events in inside]
        rows.append((lane, *(format_duration(sum(found) / n) if found else "" for found, n in zip(own, counts, strict=True))))
    rows.append(("events in all", *(format_count(len(events)) for _, events in runs)))
    dense = [sum(event.fallback for event in events) for _, events in runs]
    return [*rows, ("became dense", *map(format_count, dense))] if any(dense) else rows


def _duration(steps: Alignment, run: int, slots: Sequence[int]) -> str:
    found = [step.duration for slot in slots if (step := steps.in_slot(run, slot))]
    return format_duration(statistics.median(found)) if found else ""
