"""Sentences and table rows about events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.displays import IDLE, NO_OPERATORS
from ..base.formatting import format_bytes, format_count, format_density, format_duration, format_shape, format_share, number
from .layout import APART, Event, lane_totals

__all__ = [
    "OPERATOR_COLUMNS",
    "STORAGE",
    "arrays",
    "describe_array",
    "group",
    "operator_rows",
    "operator_totals",
    "own_time",
    "place",
    "share_sentence",
    "storage",
    "storage_kind",
]

#: Storage types remembered by the addresses of descriptions: those of a run are few, those of a file are all different.
MOST_KNOWN = 10_000

#: What an operator's arrays may be, taken together.
STORAGE = ("csr", "row_sparse", "csr and row_sparse", "other sparse", "dense only", "no arrays")

OPERATOR_COLUMNS = ("lane", "operator", "layer", "calls", "own time", "share", "moved", "storage types")


def arrays(event: Event, side: str) -> list[Mapping[str, Any]]:
    """Give the array descriptions of one side (``"inputs"`` or ``"outputs"``) of an event."""
    found = event.record.get(side) or ()
    return [array for array in found if isinstance(array, Mapping)] if isinstance(found, (list, tuple)) else []


def storage(event: Event) -> str:
    """Write an event's storage types: ``"csr, default → row_sparse"``; empty for spans."""
    before, after = (", ".join(str(a.get("stype", "?")) for a in arrays(event, side)) for side in ("inputs", "outputs"))
    return f"{before} → {after}".strip() if before or after else ""


def storage_kind(event: Event) -> int:
    """Position in ``STORAGE`` of what an event's arrays are."""
    found = {str(array.get("stype")) for side in ("inputs", "outputs") for array in arrays(event, side)}
    if not found:
        return 5
    sparse = found - {"default"}
    if not sparse:
        return 4
    return {("csr",): 0, ("row_sparse",): 1, ("csr", "row_sparse"): 2}.get(tuple(sorted(sparse)), 3)


def describe_array(array: Mapping[str, Any]) -> str:
    """Describe one array: ``"csr 10 × 1,000,000, 100 stored (0.001 %), 1.29 kB"``."""
    words = f"{array.get('stype', '?')} {format_shape(array.get('shape', ()))}"
    if array.get("stype") == "row_sparse" and array.get("rows") is not None:
        words += f", {format_count(array['rows'])} rows stored"
    elif array.get("stype") != "default":
        words += f", {format_count(array.get('nnz'))} stored ({format_density(array.get('density'))})"
    return f"{words}, {format_bytes(array.get('bytes'))}"


def place(event: Event) -> str:
    """Name an event with its layer: ``"dot in dense0"``."""
    return f"{event.name} in {event.layer}" if event.layer else event.name


def operator_totals(events: Iterable[Event]) -> dict[str, float]:
    """Add up own time by operator name; microseconds."""
    totals: dict[str, float] = {}
    for event in events:
        totals[event.name] = totals.get(event.name, 0.0) + event.own
    return totals


def group(events: Iterable[Event]) -> dict[tuple[str, str, str, str, bool], list[Event]]:
    """Put together the calls of one operator in one layer and lane with the same storage types."""
    groups: dict[tuple[str, str, str, str, bool], list[Event]] = {}
    # Calls of one kind share their descriptions, which are kept here so that no address comes twice.
    types: dict[tuple[int, int], tuple[str, Any]] = {}
    for event in events:
        sides = event.record.get("inputs"), event.record.get("outputs")
        known = types.get((id(sides[0]), id(sides[1])))
        if known is None:
            known = storage(event) if sides[0] or sides[1] else "", sides
            if len(types) < MOST_KNOWN:
                types[id(sides[0]), id(sides[1])] = known
        groups.setdefault((event.lane, event.name, event.layer, known[0], event.fallback), []).append(event)
    return groups


def by_nature(event: Event) -> bool:
    """Whether the event made a sparse array dense by nature."""
    return event.fallback and event.record.get("became_dense") == "dense by nature"


def dense_words(event: Event) -> str:
    """How a call that made a sparse array dense is marked in words."""
    return "became dense by nature" if by_nature(event) else "became dense"


def operator_rows(events: Sequence[Event], most: int = 12) -> list[tuple[str, ...]]:
    """Table of the groups that took most own time; what is left is summed in rows of its own, never left out."""
    total = sum(event.own for event in events if event.lane not in APART)
    ranked = sorted(group(events).items(), key=lambda item: (-sum(e.own for e in item[1]), item[0]))
    work = [item for item in ranked if item[0][0] not in APART]
    shown = work[:most] if len(work) > most + 1 else work
    rows = []
    for (lane, name, layer, types, fallback), calls in shown:
        rows.append(_row((lane, name, layer), calls, total, f"{types} ({dense_words(calls[0])})" if fallback else types))
    rest = [event for _, calls in work[len(shown) :] for event in calls]
    if rest:
        rows.append(_row(("all", f"{len(work) - len(shown)} others", ""), rest, total, ""))
    for lane in APART:
        calls = [event for event in events if event.lane == lane]
        if calls:
            names = dict.fromkeys(event.name for event in calls)
            rows.append(_row((lane, next(iter(names)) if len(names) == 1 else "all", ""), calls, None, ""))
    return rows


def _row(what: tuple[str, str, str], calls: Sequence[Event], total: float | None, types: str) -> tuple[str, ...]:
    own = sum(event.own for event in calls)
    moved = sum(number(event.record.get("bytes")) for event in calls)
    share = "apart" if total is None else format_share(own, total)
    return (*what, format_count(len(calls)), format_duration(own), share, format_bytes(moved), types)


def _apart(events: Sequence[Event]) -> str:
    totals = lane_totals(event for event in events if event.lane in APART)
    names = {"compile": "compilation", "profiler": "the profiler itself"}
    parts = [f"{names.get(lane, lane)} {format_duration(own)}" for lane, own in totals.items() if own > 0]
    return f" Apart from that: {', '.join(parts)}." if parts else ""


def own_time(events: Iterable[Event]) -> float:
    """Own time of events together, in microseconds."""
    return sum(event.own for event in events)


def share_sentence(events: Sequence[Event]) -> str:
    """State the finding of a timeline in words; this is the alternative text of its picture."""
    work = [event for event in events if event.lane not in APART]
    recorded = sum(event.own for event in work)
    if not events:
        return NO_OPERATORS
    idle = f" {NO_OPERATORS}" if all(event.lane in IDLE for event in events) else ""
    if recorded <= 0:
        return f"{format_count(len(events))} events were recorded, none of measurable duration.{_apart(events)}{idle}"
    parts = [f"{lane} {format_share(own, recorded)}" for lane, own in lane_totals(work).items() if own > 0]
    calls = max(group(work).values(), key=own_time)
    longest = own_time(calls)
    words = f"{', '.join(parts)}: the longest operator is {place(calls[0])} ({calls[0].lane}), "
    words += f"{format_share(longest, recorded)} of {format_duration(recorded)}.{_apart(events)}"
    dense = sum(event.fallback for event in events)
    if dense:
        natural = sum(by_nature(event) for event in events)
        words += f" {format_count(dense)} {'call' if dense == 1 else 'calls'} made a sparse array dense"
        words += ", dense by nature." if natural == dense else f", {format_count(natural)} by nature." if natural else "."
    return words + idle
