"""Layout of the events of a timeline: lanes, rows, steps, and merged small events."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.formatting import number
from .theme import lane_order

__all__ = [
    "APART",
    "Event",
    "EventBox",
    "TrainingStep",
    "Window",
    "clean",
    "culprits",
    "lane_totals",
    "merge",
    "place_rows",
    "recorded_steps",
    "stepped",
    "steps",
    "ticks",
    "training_steps",
    "typical_window",
]


#: Lanes that are not part of the work itself: shares exclude their time.
APART = ("compile", "profiler")
#: Clocks are read in whole nanoseconds and rounded to microseconds.
ROUNDING = 1e-3

_TORCH = re.compile(r"ProfilerStep#(\d+)")


class Event(NamedTuple):
    """One record, with every field that layout needs present and finite; times in microseconds."""

    name: str
    kind: str
    lane: str
    start: float
    duration: float
    own: float
    layer: str
    fallback: bool
    record: Mapping[str, Any]
    #: Number of what links a forward operator to its backward ones, or None; as the record has it, unchecked.
    node: Any = None

    @property
    def end(self) -> float:
        """When it ended."""
        return self.start + self.duration


class Window(NamedTuple):
    """The part of a profile that is drawn, and why that part."""

    start: float
    end: float
    reason: str


class EventBox(NamedTuple):
    """A rectangle of the picture: one event, or ``size`` neighbours that are too narrow to draw alone."""

    event: Event
    start: float
    end: float
    size: int


def _fields(record: Mapping[str, Any]) -> tuple[str, str, str, str, bool]:
    """Name, kind, lane, layer and whether it made a sparse array dense: what calls of one kind share."""
    name, lane = str(record.get("name") or "?"), str(record.get("lane") or "other")
    return name, str(record.get("kind") or "op"), lane, str(record.get("layer") or ""), bool(
        record.get("became_dense", record.get("fallback")))


def _event(fields: tuple[str, str, str, str, bool], own: tuple[Any, Any, Any, Any], record: Mapping[str, Any]) -> Event:
    name, kind, lane, layer, fallback = fields
    length = max(0.0, number(own[1]))
    net = min(length, max(0.0, number(own[2], length)))
    return Event(name, kind, lane, number(own[0]), length, net, layer, fallback, record, own[3])


def _is_pair(item: tuple[Any, ...]) -> bool:
    return (isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Mapping)
            and isinstance(item[1], tuple) and len(item[1]) == 4)  # fmt: skip


def clean(records: Iterable[Any] | None) -> list[Event]:
    """Read records into events sorted by start, parents before what lies inside them.

    Of very many events there may be pairs instead of records: a record that several share, and the event's own ``start``,
    ``duration``, ``self`` and ``node``.
    """
    events = []
    shared: dict[int, tuple[str, str, str, str, bool]] = {}
    for record in records or ():
        if isinstance(record, Mapping):
            own = record.get("start"), record.get("duration"), record.get("self"), record.get("node")
            events.append(_event(_fields(record), own, record))
        elif _is_pair(record):
            # Events keep the record, so that no address comes twice.
            fields = shared.get(id(record[0]))
            if fields is None:
                fields = shared[id(record[0])] = _fields(record[0])
            events.append(_event(fields, record[1], record[0]))
    events.sort(key=lambda event: (event.start, -event.duration))
    return events


def _makes_dense(event: Event) -> bool:
    given = event.record.get("inputs")
    sparse = any(isinstance(array, Mapping) and array.get("stype") != "default" for array in given if array) if isinstance(
        given, (list, tuple)) else False
    return event.fallback or (event.lane == "convert" and sparse)


def culprits(events: Iterable[Event]) -> list[int]:
    """Where the event stands that made a sparse array dense, for each event that reads what it made, and for itself.

    -1 for all other events, and for those whose conversion is not among the events.
    """
    found: list[int] = []
    first: dict[int, int] = {}
    for place, event in enumerate(events):
        number = event.record.get("conversion")
        if type(number) is not int:
            found.append(-1)
            continue
        if number not in first and _makes_dense(event):
            first[number] = place
        found.append(first.get(number, -1))
    return found


def lane_totals(events: Iterable[Event]) -> dict[str, float]:
    """Add up the own time of the events of each lane, in display order; microseconds."""
    totals: dict[str, float] = {}
    for event in events:
        totals[event.lane] = totals.get(event.lane, 0.0) + event.own
    return {lane: totals[lane] for lane in lane_order(totals)}


def place_rows(events: Sequence[Event], most: int = 4) -> list[int]:
    """Give each event a row within its lane so that events of one row do not overlap.

    What lies inside another event lands below it, and so does what another thread did
    at the same time.  Rows beyond ``most`` share the last one.
    """
    ends: dict[str, list[float]] = {}
    rows = []
    for event in events:
        lane = ends.setdefault(event.lane, [])
        # A nanosecond of slack: clocks are read in whole nanoseconds and rounded to microseconds.
        row = next((i for i, end in enumerate(lane) if end <= event.start + 1e-3), len(lane))
        if row == len(lane) and row < most:
            lane.append(event.end)
        row = min(row, most - 1)
        lane[row] = max(lane[row], event.end)
        rows.append(row)
    return rows


def steps(events: Sequence[Event]) -> list[tuple[float, float]]:
    """Find the training steps: each ends where the next one reads its batch or runs forward again.

    Where there are updates, only what follows one begins a step: between backward pass and update, gradients are clipped
    by operators that run forward, and some models run several passes for one update.
    """
    rank = {"forward", "backward", "update"}
    ends = "update" if any(event.lane == "update" for event in events) else "backward"
    leading = {"forward", "io", "convert", "transfer"}
    starts: list[float] = []
    began = reached = -1.0
    covered = -math.inf
    for event in events:
        if (event.lane not in rank and event.lane not in leading) or event.start < covered:
            continue
        if began < 0 and event.lane in leading:
            began = event.start
        if event.lane in rank:
            covered = event.end
            if event.lane == ends:
                reached, began = 1.0, -1.0
            elif event.lane != "forward":
                reached = max(reached, 0.0)
            elif reached != 0:
                starts.append(began)
                reached = 0.0
    if not starts:
        return []
    last = max(event.end for event in events)
    return list(zip(starts, [*starts[1:], last], strict=True))


class TrainingStep(NamedTuple):
    """One step of one run; times in microseconds."""

    number: int | None
    start: float
    end: float

    @property
    def duration(self) -> float:
        """How long it took."""
        return self.end - self.start


def recorded_steps(events: Sequence[Event]) -> list[TrainingStep]:
    """Find the steps that were recorded as spans of the user; spans inside another step do not count."""
    found = [step for event in events if event.lane == "user" and (step := _step(event)) is not None]
    # A user's own spans of that name may stand inside those that the profiler numbers.
    found = [step for step in found if step.number is not None] or found
    kept: list[TrainingStep] = []
    for step in found:
        if not kept or step.end > kept[-1].end + ROUNDING:
            kept.append(step)
    return kept


def _step(event: Event) -> TrainingStep | None:
    if event.name == "step":
        attributes = event.record.get("attrs")
        number = attributes.get("step") if isinstance(attributes, dict) else None
        return TrainingStep(number if type(number) is int and 0 <= number < 1 << 53 else None, event.start, event.end)
    found = _TORCH.fullmatch(event.name)
    return TrainingStep(int(found[1][:15]), event.start, event.end) if found else None


def training_steps(events: Sequence[Event]) -> list[TrainingStep]:
    """The steps of one run: those that were recorded, or if none were, those that are recognised by their lanes."""
    return recorded_steps(events) or [TrainingStep(None, *pair) for pair in steps(events)]


def typical_window(events: Sequence[Event], choice: object = "auto", few: int = 60) -> Window:
    """Choose what to draw.

    Parameters
    ----------
    events : sequence of Event
    choice : {"auto", "all", "step"} or tuple of two floats
        Everything; the training step of median duration; a span of microseconds; or ("auto")
        the step where there are more than ``few`` events and at least three steps and it shows
        every lane that takes a fifth of the run or more, and otherwise everything, without a
        compilation that came first and took long.
    few : int
        Events that fit a picture one by one.
    """
    start = min((event.start for event in events), default=0.0)
    end = max((event.end for event in events), default=0.0)
    if isinstance(choice, (tuple, list)) and len(choice) == 2:
        first, last = sorted(number(value) for value in choice)
        return Window(first, last, "the chosen span")
    found = training_steps(events) if choice == "step" or (choice == "auto" and stepped(events, few)) else []
    if found:
        order = sorted(range(len(found)), key=lambda i: (found[i].duration, i))
        middle = order[(len(order) - 1) // 2]
        step = found[middle]
        inside = max((e.end for e in events if step.start <= e.start < step.end), default=end)
        reason = f"step {middle + 1 if step.number is None else step.number} of {len(found)}, the median one"
        window = Window(step.start, min(inside, step.end), reason)
        if choice == "step" or _typical(events, window):
            return window
    work = next((event.start for event in events if event.lane not in APART), start)
    if choice == "auto" and work - start > 0.3 * (end - start):
        return Window(work, end, "what follows compilation")
    return Window(start, end, "")


def _typical(events: Sequence[Event], window: Window, large: float = 0.2) -> bool:
    """Whether the window contains each lane that took a large share of the run."""
    totals = {lane: own for lane, own in lane_totals(events).items() if lane not in APART}
    whole = sum(totals.values())
    inside = {event.lane for event in events if event.end > window.start and event.start < window.end}
    return all(lane in inside for lane, own in totals.items() if own >= large * whole)


def stepped(events: Sequence[Event], few: int = 60) -> bool:
    """Whether one training step is more readable than the whole run: many events, and at least three steps."""
    return len(events) > few and len(training_steps(events)) >= 3


def merge(events: Sequence[Event], least: float) -> list[EventBox]:
    """Join neighbours of one row that are shorter than ``least`` microseconds and touch on screen.

    A joined block takes the colour of the event in it that lasted longest; ``size`` says
    how many it stands for, so that the caption can.
    """
    blocks: list[EventBox] = []
    for event in events:
        last = blocks[-1] if blocks else None
        small = event.duration < least
        joins = last is not None and small and last.end - last.start < least and event.start - last.end < least / 2
        if last is not None and joins:
            longest = event if event.duration > last.event.duration else last.event
            blocks[-1] = EventBox(longest, last.start, max(last.end, event.end), last.size + 1)
        else:
            blocks.append(EventBox(event, event.start, event.end, 1))
    return blocks


def ticks(length: float, most: int = 8) -> list[float]:
    """Give round positions from 0 to ``length``, at most ``most`` + 1 of them."""
    if not length > 0 or not math.isfinite(length):
        return [0.0]
    rough = length / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.9999)
    return [step * i for i in range(int(length / step * 1.000001) + 1)]
