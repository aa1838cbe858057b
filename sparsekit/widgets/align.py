"""Alignment of several runs step by step: the same step of each begins at the same place.

No time is stretched.  Where a step of one run is over before the longest one, a gap follows, and what ran
across the gap keeps its own duration.  Which step is which:

* the steps that ``prof.step()`` ended (or ``torch.profiler`` noted), if every run has some.  They are matched by their
  number, so that a run recorded from step 5 on lies beside step 5 of one that was recorded whole; by their order, if no
  number is in all runs.  Of steps inside others the outer ones count;
* else, if every run trains for at least two steps, those recognised by their forward pass, backward pass and update;
* else none, and the runs begin together.  Two runs that call operators in another order, or other operators, have no
  pair of events that a reader would know to be the same, which is why nothing finer is guessed at.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from ..base.errors import UnknownNameError
from .layout import APART, ROUNDING, Event, TrainingStep, Window, recorded_steps, steps

__all__ = ["ALIGN", "Alignment", "Slot", "align", "checked"]

#: Ways to align runs.
ALIGN = ("auto", "start", "step")
#: Steps that a picture shows at once.
FEW = 4
#: The least share of the picture that a run must fill to be readable.
SLIVER = 0.3


class Slot(NamedTuple):
    """The place of one step: where it begins in every run, and how long it is in the run that needs longest."""

    label: str
    start: float
    length: float

    @property
    def end(self) -> float:
        """Where the place ends."""
        return self.start + self.length


class _Track(NamedTuple):
    """One run: the times at which the distance to the common axis grows, the distances, and the steps."""

    breaks: list[float]
    shifts: list[float]
    slots: list[int]
    steps: list[TrainingStep]


def checked(choice: str) -> str:
    """Return ``choice`` if it is a way to align runs.

    Raises
    ------
    UnknownNameError
        If it is not one of ``ALIGN``.
    """
    if choice not in ALIGN:
        raise UnknownNameError.of("way to align runs", choice, ALIGN)
    return choice


class Alignment:
    """Where the events of several runs lie on one axis, on which 0 is the beginning of the first step.

    Attributes
    ----------
    kind : {"recorded", "recognised", "none"}
        What the steps are.
    reason : str
        Why there are no steps, or how they were matched, if that needs an explanation.
    slots : list of Slot
        The places of all steps, and last the one of what follows them, if anything does (``tail``).
    steps : list of list of TrainingStep
        Of each run.
    common : list of int
        Positions of the slots that every run which has events has a step in.
    """

    def __init__(self, kind: str, reason: str, found: Sequence[list[TrainingStep]] = (), ends: Sequence[float] = ()) -> None:
        self.kind, self.reason, self.tail = kind, reason, False
        self.slots: list[Slot] = []
        self.steps = [list(some) for some in found]
        self._tracks: list[_Track] = [_Track([], [], [], []) for _ in found]
        if kind != "none":
            self._lay(ends)
        sets = [set(track.slots[: len(track.steps)]) for track in self._tracks if track.steps]
        self.common = sorted(set.intersection(*sets)) if sets else []

    def __bool__(self) -> bool:
        return bool(self.slots)

    def _lay(self, ends: Sequence[float]) -> None:
        """Give every step a slot, in order, each after all that came before it in any run."""
        places = self._match()
        last: list[tuple[float, float]] = [(0.0, 0.0)] * len(self.steps)  # where each run's latest step lies, and when it began
        used = [0] * len(self.steps)
        for label, wanted in places:
            start = max((place + self._span(run, used[run] - 1) for run, (place, _) in enumerate(last) if used[run]), default=0.0)
            for run, at in wanted:
                step = self.steps[run][at]
                self._tracks[run].breaks.append(step.start)
                self._tracks[run].shifts.append(start - step.start)
                self._tracks[run].slots.append(len(self.slots))
                self._tracks[run].steps.append(step)
                last[run], used[run] = (start, step.start), at + 1
            length = max(self._span(run, at) for run, at in wanted)
            self.slots.append(Slot(label, start, length))
        self._lay_tail(ends)

    def _span(self, run: int, at: int) -> float:
        """Time from the beginning of a step to the next one, or to its end if it is the last."""
        found = self.steps[run]
        return max(0.0, found[at + 1].start - found[at].start if at + 1 < len(found) else found[at].duration)

    def _match(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """Which steps share a place: a label, and pairs of run and position, in the order to draw."""
        numbers = [[step.number for step in some] for some in self.steps if some]
        rising = all(None not in own and own == sorted(set(own), key=int) for own in numbers)  # type: ignore[arg-type]
        shared = set.intersection(*map(set, numbers)) if rising else set()
        if rising and not shared:
            self.reason = "No step number occurs in all runs, so the recorded steps are matched by their order."
        groups: dict[int, list[tuple[int, int]]] = {}
        for run, some in enumerate(self.steps):
            for at, step in enumerate(some):
                groups.setdefault(step.number if shared and step.number is not None else at, []).append((run, at))
        return [(self._label(key, pairs, bool(shared)), pairs) for key, pairs in sorted(groups.items())]

    def _label(self, key: int, pairs: Sequence[tuple[int, int]], numbered: bool) -> str:
        own = dict.fromkeys(self.steps[run][at].number for run, at in pairs)
        if numbered or None in own:
            return str(key if numbered else key + 1)
        return "/".join(map(str, own))

    def _lay_tail(self, ends: Sequence[float]) -> None:
        """What follows the last step begins together too, after all steps of all runs."""
        start = max(slot.end for slot in self.slots)
        length = 0.0
        for track, end in zip(self._tracks, ends, strict=True):
            if track.steps and end > track.steps[-1].end + ROUNDING:
                track.breaks.append(track.steps[-1].end)
                track.shifts.append(start - track.steps[-1].end)
                track.slots.append(len(self.slots))
                length = max(length, end - track.steps[-1].end)
                self.tail = True
        if self.tail:
            self.slots.append(Slot("after", start, length))

    def shown(self, run: int, time: float) -> float:
        """Where on the axis what begins at ``time`` of a run lies."""
        track = self._tracks[run]
        return time + track.shifts[max(0, bisect_right(track.breaks, time) - 1)] if track.breaks else time

    def place(self, run: int, event: Event) -> Event:
        """Give an event as it lies on the axis; ``gap`` is what of its length did not pass."""
        track = self._tracks[run]
        if not track.breaks:
            return event
        first = max(0, bisect_right(track.breaks, event.start) - 1)
        # What ends where a step begins ends before the gap.
        last = max(first, bisect_left(track.breaks, event.end - ROUNDING) - 1)
        gap = track.shifts[last] - track.shifts[first]
        return event._replace(start=event.start + track.shifts[first], duration=event.duration + gap, gap=gap)

    def slot_of(self, run: int, time: float) -> int:
        """Position of the slot that ``time`` of a run belongs to; -1 before its first step."""
        track = self._tracks[run]
        found = bisect_right(track.breaks, time) - 1
        return track.slots[found] if found >= 0 else -1

    def gaps(self, run: int) -> list[tuple[float, float]]:
        """Beginning and end of each gap of a run, on the axis: where its step is over and the place is not."""
        track = self._tracks[run]
        found = []
        for i, step in enumerate(track.steps):
            slot = self.slots[track.slots[i]]
            over = slot.start + (track.breaks[i + 1] if i + 1 < len(track.breaks) else step.end) - step.start
            if slot.end > over:
                found.append((over, slot.end))
        return found

    def in_slot(self, run: int, slot: int) -> TrainingStep | None:
        """Give the step of a run that lies in a slot, if it has one."""
        track = self._tracks[run]
        at = bisect_left(track.slots, slot)
        return track.steps[at] if at < len(track.steps) and track.slots[at] == slot else None

    def columns(self, run: int) -> list[tuple[int, float, float, float]]:
        """Slot, beginning, end and distance to the axis of each step of a run, and of what follows them."""
        track = self._tracks[run]
        ends = [step.end for step in track.steps]
        ends += track.breaks[len(ends):]
        return list(zip(track.slots, track.breaks, ends, track.shifts, strict=True))

    def typical(self, few: int = FEW) -> list[int]:
        """Slots to draw large: up to ``few`` around the median one; that one alone if some run is too short to be read then."""
        found = self.common or list(range(len(self.slots) - self.tail))
        order = sorted(range(len(found)), key=lambda i: (self.slots[found[i]].length, i))
        middle = order[(len(order) - 1) // 2]
        first = 0 if len(found) <= few else min(max(0, middle - (few > 1)), len(found) - few)
        chosen = [slot for i, slot in enumerate(found[first:first + few]) if slot - found[first] == i]
        whole = sum(self.slots[slot].length for slot in chosen)
        for run, track in enumerate(self._tracks):
            if track.steps and sum(step.duration for slot in chosen if (step := self.in_slot(run, slot))) < SLIVER * whole:
                return [found[middle]]
        return chosen

    def window(self, slots: Sequence[int]) -> Window:
        """The part of the axis that some neighbouring slots take."""
        return Window(self.slots[slots[0]].start, max(self.slots[slots[-1]].end, self.slots[slots[0]].start), "")


def align(runs: Sequence[Sequence[Event]], names: Sequence[str] = (), recognise: bool = True) -> Alignment:
    """Align the steps of several runs; the docstring of this module has the rules.

    Parameters
    ----------
    runs : sequence of sequences of Event
        Of each run, sorted by start.  Runs without events take no part.
    names : sequence of str, optional
        Of the runs, for the reason why nothing can be aligned.
    recognise : bool
        Whether steps that nothing recorded are looked for.
    """
    running = [i for i, events in enumerate(runs) if events]
    if len(running) < 2:
        return Alignment("none", "There is no second run to align with." if running else "", [[] for _ in runs])
    ends = [max((event.end for event in events if event.lane not in APART), default=0.0) for events in runs]
    recorded = [recorded_steps(events) for events in runs]
    if all(recorded[i] for i in running):
        return Alignment("recorded", "", recorded, ends)
    if recognise:
        found = [[TrainingStep(None, *pair) for pair in steps(events)] for events in runs]
        if all(len(found[i]) >= 2 for i in running):
            return Alignment("recognised", "Steps are recognised by their forward pass, backward pass and update. "
                             "prof.step() records where a step ends.", found, ends)
    without = [str(names[i]) if i < len(names) else str(i + 1) for i in running if not recorded[i]]
    return Alignment("none", f"No steps were recorded in {' and '.join(without[:3])}: call prof.step() at the end of each.",
                     [[] for _ in runs])
