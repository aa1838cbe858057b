"""Two recorded runs compared: aligned call by call, each change split into its causes."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

from ..base import displays
from ..base.errors import DataFileError, ProfilerError, expected
from ..base.files import path_of
from ..base.formatting import counted, format_bytes, format_count, format_duration
from .arguments import most_rows
from .describe import storage
from .profile_file import PAGE
from .table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from .profile import Profile
    from .types import ChangeRow, Record

    #: One run, or several that repeat it.
    Runs: TypeAlias = Profile | list[Profile] | tuple[Profile, ...]

    #: Layer, operator, lane, storage types and shapes.
    GroupKey: TypeAlias = tuple[str, str, str, str, str]

SAME = "no change in calls or bytes"

#: What recordings cannot tell, and what can.
NOT_JUDGED = ("Two consecutive recordings do not show whether the program or the machine was slower. mx.profiler.compare "
              "interleaves runs of both, which shows it.")


def diff(before: Runs, after: Runs) -> Diff:
    """Compare two profiles, or two lists of profiles that repeat a run each.

    Calls are matched by layer, operator, lane, shapes and storage types.  Calls without a match are then matched by layer,
    operator and lane only, so that a gradient that became row-sparse is one changed row, not one "gone" and one "new" row.
    Layers are matched by their kind and order, because the layer numbers of a second network do not start at 0 again.

    Calls, bytes and storage types are exact, so each difference in them gets a verdict.  Times are shown as they were
    recorded, without a verdict, because two recorded runs cannot tell a slower program from a slower machine.
    ``mx.profiler.compare`` interleaves runs of programs and can tell.

    The change of an operator's time is the exact sum of three parts: the change in the number of calls, in bytes per call
    and in time per byte.  The parts come from the logarithmic mean Divisia index (B. W. Ang, Energy Policy 33, 2005, 867-871).

    Parameters
    ----------
    before, after : Profile or list of Profile
        A list holds repetitions of one run.  Calls, bytes and times are divided by the number of steps that ``prof.step()``
        ended, or by the number of runs if one of the sides has no steps.

    Returns
    -------
    Diff

    Raises
    ------
    ProfilerError
        If an argument is neither a profile nor a list of profiles, a list is empty, or a run is still being recorded.
    """
    sides = [_listed(before), _listed(after)]
    return Diff(_Side(sides[0]), _Side(sides[1]))


def _listed(runs: Runs) -> list[Profile]:
    profiles = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    for profile in profiles:
        if not hasattr(profile, "records") or not hasattr(profile, "wall"):
            raise ProfilerError(expected("Each side of a comparison", "a profile", type(profile)),
                                hint="before.diff(after); profiler.diff also takes names of traces.")
        if getattr(profile, "state", "finished") in ("running", "paused"):
            raise ProfilerError("A profile that is still being recorded cannot be compared.", hint="stop() it first.")
    if not profiles:
        raise ProfilerError("There is no profile to compare.", hint="give one, or a list of those that repeat a run.")
    return profiles


class _Group:
    """The calls of one operator in one place, on arrays of the same kinds."""

    __slots__ = ("bytes", "calls", "flops", "layer", "shapes", "storage", "time")

    def __init__(self, record: Record) -> None:
        self.calls = self.bytes = self.flops = 0
        self.time = 0.0
        self.layer: str = record["layer"]
        self.storage = storage(record["inputs"], record["outputs"])
        self.shapes = _shapes(record)


class _Side:
    """One run, or several alike: its calls in groups, and its repeats."""

    def __init__(self, profiles: list[Profile]) -> None:
        self.profiles = profiles
        self.groups: dict[GroupKey, _Group] = {}
        self.folded = sum(profile._data().folded for profile in profiles)
        self.steps: list[float] = []
        self.walls = [profile.wall for profile in profiles]
        self.peak = max(profile.memory["peak_bytes"] for profile in profiles)
        self.densified = sum(profile.densified for profile in profiles) / len(profiles)
        for profile in profiles:
            self._take(profile.records)

    def rounds(self, unit: str) -> int:
        """What counts are divided by: the number of steps, or of runs."""
        return len(self.steps) if unit == "step" else len(self.profiles)

    def _take(self, records: list[Record]) -> None:
        names: dict[str, str] = {}
        counts: dict[str, int] = {}
        self.steps += [record["duration"] for record in records if record["name"] == "step" and record["lane"] == "user"]
        for record in records:
            if record["lane"] in ("user", "profiler", "compile"):
                continue
            layer = record["layer"]
            if layer not in names:
                names[layer] = _ordinal(layer, counts)
            key = names[layer], record["name"], record["lane"], storage(record["inputs"], record["outputs"]), _shapes(record)
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = _Group(record)
            group.calls += 1
            group.bytes += record["bytes"]
            group.flops += record["flops"]
            group.time += record["self"]


def _ordinal(layer: str, counts: dict[str, int]) -> str:
    """A layer by kind and order: the first ``dense`` that ran is ``dense#0``, whatever it is numbered."""
    stem = re.sub(r"\d+", "#", layer)
    counts[stem] = counts.get(stem, -1) + 1
    return f"{stem}:{counts[stem]}" if "#" in stem else stem


def _shapes(record: Record) -> str:
    sides = [", ".join("x".join(map(str, a["shape"])) or "scalar" for a in record[side]) for side in ("inputs", "outputs")]
    return " -> ".join(sides)


class Diff:
    """What changed from one run to another.

    Attributes
    ----------
    rows : list of dict
        One row for each group of calls.  ``layer``, ``name``, ``lane``, ``storage`` and ``shapes`` are text; the layer has
        its name in the later run if it is there.  ``change`` is "same kind", "other storage", "other shapes", "gone" or "new".
        ``calls``, ``bytes``, ``time`` and ``flops`` are pairs (before, after) for a step or run; times are in microseconds.
        ``by_calls``, ``by_bytes`` and ``by_speed`` are in microseconds and add up to the change of the time.  ``verdict``
        says what changed in calls, bytes and storage types.
    unit : {"step", "run"}
        Counts and times are per step if both sides have steps, else per run.
    time : tuple of float
        Median recorded time of a step or run, before and after, in microseconds.
    peak_bytes : tuple of int
        Bytes at the peak, before and after.
    """

    def __init__(self, before: _Side, after: _Side) -> None:
        self.unit = "step" if before.steps and after.steps else "run"
        self._sides = before, after
        self.rows = [self._row(*pair) for pair in _align(before.groups, after.groups)]
        self.rows.sort(key=lambda row: -abs(row["time"][1] - row["time"][0]))
        self.time = tuple(float(median(side.steps if self.unit == "step" else side.walls)) for side in self._sides)
        self.peak_bytes = before.peak, after.peak

    def _row(self, key: GroupKey, left: _Group | None, right: _Group | None, change: str) -> ChangeRow:
        sides = list(zip((left, right), [side.rounds(self.unit) for side in self._sides], strict=True))
        numbers = {name: tuple([getattr(group, name) / count if group else 0 for group, count in sides])
                   for name in ("calls", "bytes", "time", "flops")}
        shown = right or left
        assert shown is not None  # one of them is there
        by_calls, by_bytes, by_speed = _causes(numbers["calls"], numbers["bytes"], numbers["time"])
        types = shown.storage if left is None or left.storage == shown.storage else f"{left.storage}  ⇒  {shown.storage}"
        row: ChangeRow = {
            "layer": shown.layer, "name": key[1], "lane": key[2], "change": change, "storage": types, "shapes": shown.shapes,
            "calls": numbers["calls"], "bytes": numbers["bytes"], "time": numbers["time"], "flops": numbers["flops"],
            "by_calls": by_calls, "by_bytes": by_bytes, "by_speed": by_speed, "verdict": ""}
        row["verdict"] = _verdict(row)
        return row

    @property
    def same(self) -> bool:
        """Whether calls, bytes moved and bytes at the peak are the same; times are not judged."""
        return self.verdict == SAME

    @property
    def verdict(self) -> str:
        """What changed in calls and bytes, in a few words."""
        changed = [row for row in self.rows if row["verdict"] != SAME]
        if not changed and self.peak_bytes[0] == self.peak_bytes[1]:
            return SAME
        pairs = (("calls", _sum([row["calls"] for row in self.rows])), ("bytes moved", _sum([row["bytes"] for row in self.rows])),
                 ("bytes at the peak", self.peak_bytes))
        parts = [f"{name} {_times(*pair)}" for name, pair in pairs if not _close(*pair)]
        return ", ".join(parts) or f"{counted(len(changed), 'operator')} changed"

    def summary(self) -> str:
        """The comparison in sentences."""
        text = (f"{self.verdict[0].upper()}{self.verdict[1:]}. Median recorded time of a {self.unit}: "
                f"{format_duration(self.time[0])} before, {format_duration(self.time[1])} after. {NOT_JUDGED}")
        folded = sum(side.folded for side in self._sides)
        return text + (f" {counted(folded, 'older event', 'are')} in totals only and not compared." if folded else "")

    def table(self, rows: int | None = None) -> Table:
        """The changes, largest first, with their causes."""
        most_rows(rows)
        shown = [row for row in self.rows if row["verdict"] != SAME] or self.rows
        hidden = len(self.rows) - len(shown[:rows])
        cells = [[f"{row['layer'] or '(no layer)'}: {row['name']}", row["lane"], row["storage"].replace("->", "→"),
                  _arrow(row["calls"], format_count), _arrow(row["bytes"], format_bytes),
                  _arrow(row["time"], format_duration),
                  *map(_signed, (row["by_calls"], row["by_bytes"], row["by_speed"])), row["verdict"]] for row in shown[:rows]]
        footer = self.summary() + (f" {counted(hidden, 'more row', 'are')} not shown." if hidden else "")
        return Table(("operator", "lane", "storage types", "calls", "moved", "own time", "by calls", "by bytes",
                      "by time per byte", "verdict"), shown, cells, footer, "What changed")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one file, ``changes.html`` for example, with the changes and both timelines.

        It needs neither network nor kernel.

        Raises
        ------
        DataFileError
            If the name does not end in ``.html``, or the file cannot be written.
        """
        name = Path(path_of(path)).name
        if not name.endswith(PAGE):
            raise DataFileError(f"The name of a page must end in .html, got {name!r}.", hint="write 'changes.html'.")
        first = {name: side.profiles[0].tables for name, side in zip(("before", "after"), self._sides, strict=True)}
        sections = [("Summary", self.summary()), ("Changes", {**self.table().plain(), "caption": ""}),
                    ("Timelines", displays.call("timeline_figure", first))]
        displays.call("html_page", "What changed", sections, path=path)
        return Path(path)

    def __repr__(self) -> str:
        return repr(self.table(20))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        return {"text/plain": repr(self), "text/html": self.table(40).html}


def _align(before: dict[GroupKey, _Group], after: dict[GroupKey, _Group]
           ) -> list[tuple[GroupKey, _Group | None, _Group | None, str]]:
    """Pairs of groups: alike in everything, then in layer, operator and lane, then what has no partner."""
    pairs: list[tuple[GroupKey, _Group | None, _Group | None, str]] = [
        (key, group, after[key], "same kind") for key, group in before.items() if key in after]
    left, right = ({key: group for key, group in side.items() if key not in other} for side, other in
                   ((before, after), (after, before)))
    waiting: dict[tuple[str, ...], list[GroupKey]] = {}
    for key in right:
        waiting.setdefault(key[:3], []).append(key)
    for key, group in left.items():
        partners = waiting.get(key[:3])
        if partners:
            partner = right.pop(partners.pop(0))
            pairs.append((key, group, partner, "other storage" if group.storage != partner.storage else "other shapes"))
        else:
            pairs.append((key, group, None, "gone"))
    return pairs + [(key, None, group, "new") for key, group in right.items()]


def _causes(calls: tuple[float, ...], moved: tuple[float, ...], time: tuple[float, ...]) -> tuple[float, float, float]:
    """The change of time as a sum: by the number of calls, by bytes a call, by time per byte."""
    if not (calls[0] and calls[1]):
        return time[1] - time[0], 0.0, 0.0
    if time[0] <= 0 or time[1] <= 0:
        return 0.0, 0.0, time[1] - time[0]
    weight = time[0] if math.isclose(time[0], time[1]) else (time[1] - time[0]) / math.log(time[1] / time[0])
    by_calls = weight * math.log(calls[1] / calls[0])
    by_bytes = weight * math.log(moved[1] / moved[0] * calls[0] / calls[1]) if moved[0] and moved[1] else 0.0
    return by_calls, by_bytes, (time[1] - time[0]) - by_calls - by_bytes


def _verdict(row: ChangeRow) -> str:
    if row["change"] in ("gone", "new"):
        return str(row["change"])
    parts = [f"{'fewer' if pair[1] < pair[0] else 'more'} {name}" for name, pair in
             (("calls", row["calls"]), ("bytes", row["bytes"])) if not _close(*pair)]
    return ", ".join(parts) or (SAME if row["change"] == "same kind" else str(row["change"]))


def _close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=1e-9)


def _sum(pairs: list[tuple[float, ...]]) -> tuple[float, float]:
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


def _times(before: float, after: float) -> str:
    return f"{after / before:.2f}×" if before else "from none"


def _arrow(pair: tuple[float, ...], write: Callable[[float], str]) -> str:
    before: str
    after: str
    before, after = (str(write(value if value != int(value) else int(value))) for value in pair)
    return before if before == after else f"{before} → {after}"


def _signed(microseconds: float) -> str:
    return f"{'−' if microseconds < 0 else '+'}{format_duration(abs(microseconds))}"
