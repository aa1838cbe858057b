"""The output of ``profiler.dumps()``: MXNet's statistics by category, as its table and as its JSON.

Categories are those of MXNet: ``operator``, the name of a domain for its tasks and counters,
``NAME,frame`` for its frames, ``NAME,instant_marker`` for its markers, ``event``.  Spans and marks carry their
domain in their names, ``domain::name``, so that totals of events that were folded away are kept apart, too.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, TypeAlias

from ..core import hooks
from .event_store import MOST_NOTES
from .table import aggregate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..base.types import JSON
    from .profile import Profile
    from .types import MarkRecord, TotalRow

#: What rows may be sorted by: MXNet's word and the field of a row.
SORTS = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}

#: Lanes whose events MXNet calls operators.
_OPERATORS = hooks.LANES[:5]

_RULE = "================="
_NOTE = ("\tNote the difference in units for different entries.\n"
         "\tCounters are in their own units: the last value, the smallest, the largest and the mean of the values.\n")
_FORGOTTEN = f"\tOnly the first {MOST_NOTES:,} values of counters and markers were kept.\n"

Row: TypeAlias = dict[str, float]


class Names:
    """Which category and which name stand behind the name that a span or a mark is recorded by."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}

    def join(self, category: str, name: str) -> str:
        """The name to record something of a category by: ``"training::epoch"``."""
        label = f"{category}::{name}"
        self._known[label] = category, name
        return label

    def alone(self, category: str, name: str) -> str:
        """The name to record something by that needs no category before it."""
        self._known[name] = category, name
        return name

    def split(self, label: str) -> tuple[str, str]:
        """Category and name.

        ``Custom Operator`` is that of the Python code of custom operators, and ``user`` that of what was named by the
        profiler's own ``span``, ``counter`` and ``marker``.
        """
        return self._known.get(label) or ("Custom Operator" if label.endswith(hooks.CUSTOM) else "user", label)


class Statistics:
    """Counts, sums and extremes of a profile by category and name.

    Parameters
    ----------
    profile : Profile or None
        None where nothing has been profiled.
    names : Names
    """

    def __init__(self, profile: Profile | None, names: Names) -> None:
        #: Category -> name -> ``Count Total Min Max Avg``; times in milliseconds, counters in their own units.
        self.times: dict[str, dict[str, Row]] = {}
        #: Device -> ``Count Min Max Avg`` of the bytes held, in kB.
        self.memory: dict[str, Row] = {}
        self.forgotten = False
        if profile is None:
            return
        data = profile._data()
        self.forgotten = len(data.marks) >= MOST_NOTES
        self._add_times(aggregate(data.columns, ("name", "lane", "layer")), names)
        self._add_marks(data.marks, names)
        held = [total / 1000 for _, total, _ in data.memory.get("samples", ())]
        if held:
            self.memory["Memory: cpu/0"] = {"Count": len(held), "Min": min(held), "Max": data.memory["peak_bytes"] / 1000,
                                            "Avg": sum(held) / len(held)}

    def _add_times(self, totals: Iterable[TotalRow], names: Names) -> None:
        for row in totals:
            category, name = ("operator" if row["lane"] in _OPERATORS else row["lane"]), row["name"]
            if row["lane"] == "user":
                category, name = names.split(name)
            elif category == "operator" and row["layer"].endswith(hooks.CUSTOM):
                category, name = "Custom Operator", f"{row['layer'].removesuffix(hooks.CUSTOM)}::{name}"
            elif row["lane"] == "backward":
                name = f"_backward_{name}"
            entry = self._rows(category).setdefault(name, {"Count": 0, "Total": 0.0, "Min": math.inf, "Max": 0.0})
            entry["Count"] += row["calls"]
            entry["Total"] += row["total"] / 1000
            entry["Min"], entry["Max"] = min(entry["Min"], row["min"] / 1000), max(entry["Max"], row["max"] / 1000)
        for rows in self.times.values():
            for entry in rows.values():
                entry["Avg"] = entry["Total"] / max(1, entry["Count"])

    def _add_marks(self, marks: list[MarkRecord], names: Names) -> None:
        values: dict[tuple[str, str, str], list[JSON]] = {}
        for mark in marks:
            values.setdefault((mark["kind"], *names.split(mark["name"])), []).append(mark["value"])
        for (kind, category, name), noted in values.items():
            # A marker has no duration; a value of a counter that is not a number, or nan, is counted but not summed up.
            numbers = [value for value in noted if kind == "counter" and isinstance(value, (int, float))] or [0.0]
            if kind == "marker":
                rows, label = self._rows(f"{category},instant_marker"), name
            else:
                rows = self._rows(category)
                label = name if name not in rows else f"{name} (counter)"
            rows[label] = {"Count": len(noted), "Total": numbers[-1], "Min": min(numbers), "Max": max(numbers),
                           "Avg": sum(numbers) / len(numbers)}

    def _rows(self, category: str) -> dict[str, Row]:
        return self.times.setdefault(category, {})

    def sort(self, by: str, ascending: bool) -> None:
        """Sort the rows of each category by a key of ``SORTS``."""
        for category, rows in self.times.items():
            ranked = sorted(rows.items(), key=lambda item: (item[1][SORTS[by]], item[0]), reverse=not ascending)
            self.times[category] = dict(ranked)

    def json(self) -> str:
        """MXNet's JSON: ``Time``, ``Memory`` and ``Unit``."""
        return json.dumps({"Time": dict(sorted(self.times.items())), "Memory": {"Device Storage": self.memory},
                           "Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)

    def table(self, footer: str) -> str:
        """MXNet's table, a section a category in alphabetical order; ``footer`` stands below it."""
        text = f"\nProfile Statistics:\n{_NOTE}{_FORGOTTEN if self.forgotten else ''}"
        sections: dict[str, dict[str, Row]] = dict(self.times)
        if self.memory:
            sections["Device Storage"] = {**self.times.get("Device Storage", {}), **self.memory}
        for category, rows in sorted(sections.items()):
            text += _section(category, rows)
        return f"{text}{footer}\n"


def _section(category: str, rows: dict[str, Row]) -> str:
    memory = category == "Device Storage"
    columns = [f"{name} Use  (kB)" for name in ("Min", "Max", "Avg")] if memory else \
        [f"{name}Time (ms)" for name in ("", "Min ", "Max ", "Avg ")]
    keys = ("Min", "Max", "Avg") if memory else ("Total", "Min", "Max", "Avg")
    lines = [_line(category), _RULE, f"{'Name':25}{'Total Count':>16}" + "".join(f"{name:>17}" for name in columns),
             f"{'----':25}{'-----------':>16}" + "".join(f"{'-' * (9 if name == 'Time (ms)' else 13):>17}" for name in columns)]
    lines += [f"{_line(name):25}{row['Count']:>16}" + "".join(f"{row[key]:>17.4f}" for key in keys) for name, row in rows.items()]
    return "\n".join(lines) + "\n\n"


def _line(name: str) -> str:
    """A name in one line of the table, whatever it holds."""
    return " ".join(name.split()) or "?"
