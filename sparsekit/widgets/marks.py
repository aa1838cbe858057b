"""Instants of a profile: markers, counters, and arrays that implicitly became dense."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.formatting import format_bytes, format_count, format_duration, format_value, number
from .layout import Event, Window

__all__ = [
    "COUNTER",
    "DENSE",
    "KINDS",
    "MARKER",
    "Mark",
    "Series",
    "around",
    "mark_columns",
    "mark_rows",
    "marks_sentence",
    "read_marks",
    "series_of",
]

MARKER, COUNTER, DENSE = "marker", "counter", "became dense"
KINDS = (MARKER, COUNTER, DENSE)


class Mark(NamedTuple):
    """One instant; ``value`` is nan for other marks than counters, and for values that are not numbers."""

    kind: str
    name: str
    time: float
    value: float
    words: str
    unit: str


class Series(NamedTuple):
    """The values of one counter, in order of time."""

    name: str
    unit: str
    times: list[float]
    values: list[float]
    #: Number of values that are not numbers, and not drawn.
    odd: int

    def say(self, value: float) -> str:
        """Write one value with its unit."""
        return f"{format_value(value)} {self.unit}".strip()


def _words(mark: Mapping[str, Any]) -> str:
    """What is said of an instant beside its name."""
    if mark.get("kind") == "densification":
        moved = f"{format_bytes(mark.get('bytes_before'))} → {format_bytes(mark.get('bytes_after'))}"
        words = f"{mark.get('source', '?')} → {mark.get('target', '?')}, {moved}"
        words += f", {mark['how']}" if mark.get("how") else ""
        return ", ".join(part for part in (words, str(mark.get("line") or "")) if part)
    value = mark.get("value")
    said = "" if value is None else str(value)
    return ", ".join(part for part in (said, str(mark.get("line") or "")) if part) if mark.get("kind") != "counter" else said


def _mark(mark: Mapping[str, Any]) -> Mark:
    kind = {"counter": COUNTER, "densification": DENSE}.get(str(mark.get("kind")), MARKER)
    value = mark.get("value")
    plain = kind == COUNTER and isinstance(value, (int, float)) and not isinstance(value, str)
    figure = number(value, math.nan) if plain else math.nan
    return Mark(kind, str(mark.get("name") or "?"), number(mark.get("time")), figure, _words(mark), str(mark.get("unit") or ""))


def read_marks(marks: Iterable[Mapping[str, Any]] | None) -> list[Mark]:
    """Read instants as a profile gives them, sorted by time; invalid entries are left out."""
    if not isinstance(marks, (list, tuple)):
        marks = list(marks or ()) if isinstance(marks, Iterable) else []
    found = [_mark(mark) for mark in marks if isinstance(mark, Mapping)]
    return sorted(found, key=lambda mark: mark.time)


def series_of(marks: Iterable[Mark]) -> list[Series]:
    """The counters among the marks, each with its values, in the order in which they first came."""
    found: dict[str, Series] = {}
    for mark in marks:
        if mark.kind != COUNTER:
            continue
        held = found.setdefault(mark.name, Series(mark.name, mark.unit, [], [], 0))
        if math.isnan(mark.value):
            found[mark.name] = held._replace(odd=held.odd + 1)
            continue
        held.times.append(mark.time)
        held.values.append(mark.value)
        if mark.unit and not held.unit:
            found[mark.name] = held._replace(unit=mark.unit)
    return list(found.values())


def around(events: Sequence[Event], marks: Sequence[Mark]) -> Window:
    """The whole run, marks before the first and after the last event included."""
    times = [mark.time for mark in marks]
    starts, ends = [*(event.start for event in events), *times], [*(event.end for event in events), *times]
    return Window(min(starts, default=0.0), max(ends, default=0.0), "")


def marks_sentence(marks: Sequence[Mark]) -> str:
    """State in words what was marked; empty where nothing was."""
    if not marks:
        return ""
    markers, dense = (sum(mark.kind == kind for mark in marks) for kind in (MARKER, DENSE))
    parts = [_counter(series) for series in series_of(marks)[:3]]
    rest = len(series_of(marks)) - len(parts)
    parts += [f"{format_count(rest)} more {_plural('counter', rest)}"] if rest > 0 else []
    parts += [f"{format_count(markers)} {_plural('marker', markers)}"] if markers else []
    parts += [f"{format_count(dense)} silent {_plural('change', dense)} from sparse to dense"] if dense else []
    return f" Marked: {', '.join(parts)}."


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _counter(series: Series) -> str:
    if not series.values:
        return f"{series.name}, never a number"
    first, last = series.values[0], series.values[-1]
    if len(series.values) == 1:
        return f"{series.name} {series.say(last)}"
    return f"{series.name} from {format_value(first)} to {series.say(last)}"


def mark_columns(columns: Sequence[str], marks: Sequence[Mark]) -> tuple[str, ...]:
    """Columns of a table of operators whose last rows are marks."""
    return (*columns[:-1], f"{columns[-1]} or values") if marks else tuple(columns)


def mark_rows(marks: Sequence[Mark], width: int, most: int = 20) -> list[tuple[str, ...]]:
    """Rows of ``width`` cells for a table of operators: kind, name, how often, and in the last cell the values.

    Counters come first; what is left after ``most`` rows is summed in a row of its own.
    """
    groups: dict[tuple[int, str, str], list[Mark]] = {}
    for mark in marks:
        words = mark.words if mark.kind == DENSE else ""
        order = (COUNTER, MARKER, DENSE).index(mark.kind)
        groups.setdefault((order, mark.name, words), []).append(mark)
    ranked = sorted(groups.items(), key=lambda item: (item[0][0], item[1][0].time, item[0]))
    values = {series.name: series for series in series_of(marks)}
    shown = ranked[:most] if len(ranked) > most + 1 else ranked
    rows = [_row(found[0].kind, name, len(found), _said(found, values), width) for (_, name, _), found in shown]
    rest = sum(len(found) for _, found in ranked[len(shown):])
    return [*rows, _row("all", f"{len(ranked) - len(shown)} other marks", rest, "", width)] if rest else rows


def _row(kind: str, name: str, times: int, words: str, width: int) -> tuple[str, ...]:
    return (kind, name, "", format_count(times), *[""] * (width - 5), words)


def _said(found: Sequence[Mark], values: Mapping[str, Series]) -> str:
    """What the values were, or when it was."""
    mark = found[0]
    if mark.kind == COUNTER:
        series = values[mark.name]
        odd = [f"{format_count(series.odd)} no {_plural('number', series.odd)}"] if series.odd else []
        if not series.values:
            return ", ".join(odd)
        least, most = min(series.values), max(series.values)
        mean = math.fsum(value / len(series.values) for value in series.values)
        words = f"last {series.say(series.values[-1])}"
        between = [f"{format_value(least)} to {format_value(most)}", f"mean {format_value(mean)}"] if least < most else []
        return ", ".join([words, *between, *odd])
    when = f"at {format_duration(mark.time)}" + (f" to {format_duration(found[-1].time)}" if len(found) > 1 else "")
    return f"{mark.words}; {when}" if (mark.words and len(found) == 1) or mark.kind == DENSE else when
