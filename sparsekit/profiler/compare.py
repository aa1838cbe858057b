"""Two runs compared: aligned call by call, each change split into its causes, and no difference claimed that noise could be."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from ..base import displays
from ..base.errors import ProfilerError
from . import words
from .describe import storage
from .table import Table

__all__ = ["CONFIDENCE", "Diff", "diff", "shift_interval"]

#: Probability with which all intervals of one comparison together hold.
CONFIDENCE = 0.95

#: Repeats of which more are not looked at: their differences are counted in pairs.
MOST_REPEATS = 400

SAME = "no detectable difference"


def diff(before: Any, after: Any, confidence: float = CONFIDENCE) -> Diff:
    """Compare two profiles, or two lists of profiles that repeat a run each.

    Calls are aligned by layer, operator, lane, shapes and storage types; what is left over, by layer and
    operator, so that a gradient that became row-sparse is a change and not a loss and a gain.  Layers are known by
    their kind and order, as a second network's names go on counting.

    The change of an operator's time is split exactly into fewer (or more) calls, fewer bytes a call, and less time a
    byte, by the logarithmic mean Divisia index (B. W. Ang, Energy Policy 33, 2005, 867-871).  Each has an interval
    over repeats: the shift of Hodges and Lehmann with the interval of Moses that belongs to the Wilcoxon rank sum
    (Hollander and Wolfe, Nonparametric Statistical Methods, 4.3), which assumes nothing of the distribution;
    ``confidence`` is that of all intervals together (Bonferroni).  Repeats are the steps that ``prof.step()`` ends,
    else the runs of a list, else the calls of an operator.  They cannot see that the machine itself was slower during
    one of the runs: take turns, or repeat.

    Parameters
    ----------
    before, after : Profile or list of Profile
    confidence : float
        Between 0.5 and 1.

    Returns
    -------
    Diff

    Raises
    ------
    ProfilerError
        If something else is given, or a run is still being recorded.
    """
    if not 0.5 <= confidence < 1:
        raise ProfilerError(f"confidence={confidence!r} is no probability from 0.5 to 1.", hint="0.95 is the default.")
    sides = [_listed(before), _listed(after)]
    return Diff(_Side(sides[0]), _Side(sides[1]), confidence)


def _listed(given: Any) -> list[Any]:
    profiles = list(given) if isinstance(given, (list, tuple)) else [given]
    for profile in profiles:
        if not hasattr(profile, "records") or not hasattr(profile, "wall"):
            raise ProfilerError(f"A comparison takes profiles, not {type(profile).__name__}.",
                                hint="before.diff(after); profiler.diff also takes names of traces.")
        if getattr(profile, "state", "finished") in ("running", "paused"):
            raise ProfilerError("A profile that is still being recorded cannot be compared.", hint="stop() it first.")
    if not profiles:
        raise ProfilerError("There is no profile to compare.", hint="give one, or a list of those that repeat a run.")
    return profiles


class _Group:
    """The calls of one operator in one place, on arrays of the same kinds."""

    __slots__ = ("bytes", "calls", "flops", "layer", "own", "samples", "shapes", "storage", "time")

    def __init__(self, record: dict[str, Any]) -> None:
        self.calls = self.bytes = self.flops = 0
        self.time = 0.0
        self.own: list[float] = []
        self.samples: dict[Any, float] = {}
        self.layer: str = record["layer"]
        self.storage = storage(record["inputs"], record["outputs"])
        self.shapes = _shapes(record)

    def merge(self, other: _Group) -> None:
        """Put the calls of another group to these."""
        self.calls, self.bytes, self.flops = self.calls + other.calls, self.bytes + other.bytes, self.flops + other.flops
        self.time += other.time
        self.own += other.own
        for repeat, time in other.samples.items():
            self.samples[repeat] = self.samples.get(repeat, 0.0) + time


class _Side:
    """One run, or several alike: its calls in groups, and its repeats."""

    def __init__(self, profiles: list[Any]) -> None:
        self.profiles = profiles
        self.groups: dict[tuple[Any, ...], _Group] = {}
        self.folded = sum(profile.folded for profile in profiles)
        self.steps: list[float] = []
        self.walls = [profile.wall for profile in profiles]
        self.peak = max(profile.memory["peak_bytes"] for profile in profiles)
        self.densified = sum(profile.densified for profile in profiles) / len(profiles)
        for number, profile in enumerate(profiles):
            self._take(number, profile.records)
        #: What counts are divided by, and what a sample is.
        self.rounds = len(self.steps) or len(profiles)
        self.unit = "step" if self.steps else "run" if len(profiles) > 1 else "call"

    def _take(self, run: int, records: list[dict[str, Any]]) -> None:
        names: dict[str, str] = {}
        counts: dict[str, int] = {}
        steps = sorted((r["start"], r["start"] + r["duration"]) for r in records if r["name"] == "step" and r["lane"] == "user")
        self.steps += [end - start for start, end in steps]
        at = 0
        for record in records:
            if record["lane"] in ("user", "profiler", "compile"):
                continue
            while at < len(steps) and record["start"] >= steps[at][1]:
                at += 1
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
            group.own.append(record["self"])
            repeat = (run, at) if steps else run
            group.samples[repeat] = group.samples.get(repeat, 0.0) + record["self"]

    def samples(self, group: _Group, unit: str) -> list[float]:
        """Times of a group, one a repeat; a repeat in which it did not run took none."""
        if unit == "call":
            return group.own
        return [*group.samples.values()] + [0.0] * (self.rounds - len(group.samples))


def _ordinal(layer: str, counts: dict[str, int]) -> str:
    """A layer by kind and order: the first ``dense`` that ran is ``dense#0``, whatever it is numbered."""
    stem = re.sub(r"\d+", "#", layer)
    counts[stem] = counts.get(stem, -1) + 1
    return f"{stem}:{counts[stem]}" if "#" in stem else stem


def _shapes(record: dict[str, Any]) -> str:
    sides = [", ".join("x".join(map(str, a["shape"])) or "scalar" for a in record[side]) for side in ("inputs", "outputs")]
    return " -> ".join(sides)


def shift_interval(before: Sequence[float], after: Sequence[float], confidence: float) -> tuple[float, float, float] | None:
    """How much larger ``after`` is: the Hodges-Lehmann shift, and the interval of the rank-sum test.

    None if there are too few repeats for such an interval: four each for 95 %.
    """
    x, y = (np.asarray(side[:MOST_REPEATS], np.float64) for side in (before, after))
    count = len(x) * len(y)
    if not count:
        return None
    spread = math.sqrt(count * (len(x) + len(y) + 1) / 12)
    low = math.floor(count / 2 - NormalDist().inv_cdf((1 + confidence) / 2) * spread)
    if low < 1:
        return None
    differences = np.sort((y[:, None] - x[None, :]).ravel())
    return float(np.median(differences)), float(differences[low - 1]), float(differences[count - low])


class Diff:
    """What changed from one run to another.

    Attributes
    ----------
    rows : list of dict
        Keys: ``layer`` (as the later run calls it, if it is there), ``name lane change`` ("same kind", "other storage",
        "gone", "new"), ``storage shapes``, and by ``before``/``after`` pairs ``calls bytes time flops`` (per step or run;
        time in microseconds), ``by_calls``, ``by_bytes``, ``by_speed`` (parts of the change of time, which they add up
        to), ``interval`` (shift, low, high of one repeat's time, or None) and ``verdict``.
    unit : str
        What a repeat is: "step", "run" or "call".
    """

    def __init__(self, before: _Side, after: _Side, confidence: float) -> None:
        self.confidence = confidence
        self.unit = before.unit if before.unit == after.unit else "call"
        self._sides = before, after
        pairs = _align(before.groups, after.groups)
        each = 1 - (1 - confidence) / max(1, len(pairs) + 1)
        self.rows = [self._row(key, left, right, change, each) for key, left, right, change in pairs]
        self.rows.sort(key=lambda row: -abs(row["time"][1] - row["time"][0]))
        whole = [side.steps if self.unit == "step" else side.walls for side in self._sides]
        self.interval = shift_interval(whole[0], whole[1], each)
        self.time = tuple(float(np.median(values)) for values in whole)
        self.peak_bytes = before.peak, after.peak

    def _row(self, key: Any, left: _Group | None, right: _Group | None, change: str, confidence: float) -> dict[str, Any]:
        before, after = self._sides
        rounds = (before.rounds, after.rounds) if self.unit != "call" else (len(before.profiles), len(after.profiles))
        sides = list(zip((left, right), rounds, strict=True))
        numbers = {name: tuple([getattr(group, name) / count if group else 0 for group, count in sides])
                   for name in ("calls", "bytes", "time", "flops")}
        interval = None
        if left and right:
            interval = shift_interval(before.samples(left, self.unit), after.samples(right, self.unit), confidence)
        shown = right or left
        assert shown is not None  # one of them is there
        by_calls, by_bytes, by_speed = _causes(numbers["calls"], numbers["bytes"], numbers["time"])
        types = shown.storage if left is None or left.storage == shown.storage else f"{left.storage}  ⇒  {shown.storage}"
        row = {"layer": shown.layer, "name": key[1], "lane": key[2], "change": change, "storage": types,
               "shapes": shown.shapes, **numbers, "by_calls": by_calls, "by_bytes": by_bytes, "by_speed": by_speed,
               "interval": interval}
        row["verdict"] = _verdict(row)
        return row

    @property
    def same(self) -> bool:
        """Whether nothing can be told apart: the same calls and bytes, and times that noise explains."""
        return self.verdict == SAME

    @property
    def verdict(self) -> str:
        """The comparison in a few words."""
        changed = [row for row in self.rows if row["verdict"] not in (SAME, "too few repeats")]
        if not changed and not self._told() and self.peak_bytes[0] == self.peak_bytes[1]:
            return SAME
        parts = []
        for what, found in (("calls", _sum(self.rows, "calls")), ("bytes moved", _sum(self.rows, "bytes")),
                            ("bytes at the peak", self.peak_bytes)):
            if not _close(*found):
                parts.append(f"{what} {_times(*found)}")
        if self._told():
            parts.append(f"time {_times(*self.time)}")
        return ", ".join(parts) or f"{len(changed)} operators changed"

    def _told(self) -> bool:
        return self.interval is not None and not self.interval[1] <= 0 <= self.interval[2]

    def summary(self) -> str:
        """The comparison in sentences."""
        text = f"{self.verdict[0].upper()}{self.verdict[1:]}. "
        unit = "step" if self.unit == "step" else "run"
        text += f"Time of a {unit}: {words.duration(self.time[0])} before, {words.duration(self.time[1])} after"
        if self.interval is None:
            text += " (too few repeats for an interval: call prof.step(), or give lists of runs). "
        else:
            text += (f"; the shift is {_signed(self.interval[0])}, between {_signed(self.interval[1])} and "
                     f"{_signed(self.interval[2])} with {self.confidence:.0%} confidence for all rows together. ")
        folded = sum(side.folded for side in self._sides)
        return text + (f"{words.count(folded)} older events are in totals only and not compared." if folded else "").strip()

    def table(self, rows: int | None = None) -> Table:
        """The changes, largest first, with their causes."""
        shown = [row for row in self.rows if row["verdict"] != SAME] or self.rows
        hidden = len(self.rows) - len(shown[:rows])
        cells = [[f"{row['layer'] or '(no layer)'}: {row['name']}", row["lane"], row["storage"],
                  _arrow(row["calls"], words.count), _arrow(row["bytes"], words.bytes_),
                  _arrow(row["time"], words.duration),
                  *map(_signed, (row["by_calls"], row["by_bytes"], row["by_speed"])), row["verdict"]] for row in shown[:rows]]
        footer = self.summary() + (f" {hidden} more rows are not shown." if hidden else "")
        return Table(("operator", "lane", "storage types", "calls", "moved", "own time", "by calls", "by bytes", "by time a byte",
                      "verdict"), shown, cells, footer, "What changed")

    def to_html(self, path: str | os.PathLike[str], title: str = "What changed") -> Path:
        """Write one HTML file with the changes and both timelines that needs neither network nor kernel."""
        first = [profile.records for profile in (self._sides[0].profiles[0], self._sides[1].profiles[0])]
        sections = [("Summary", self.summary()), ("Changes", self.table().plain()),
                    ("Timelines", {"timeline": dict(zip(("before", "after"), first, strict=True))})]
        displays.call("html_report", title, sections, path=path)
        return Path(path)

    def __repr__(self) -> str:
        return repr(self.table(20))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.table(40).html}


def _align(before: dict[Any, _Group], after: dict[Any, _Group]) -> list[tuple[Any, _Group | None, _Group | None, str]]:
    """Pairs of groups: alike in everything, then in layer, operator and lane, then what has no partner."""
    pairs: list[tuple[Any, _Group | None, _Group | None, str]] = [
        (key, group, after[key], "same kind") for key, group in before.items() if key in after]
    left, right = ({key: group for key, group in side.items() if key not in other} for side, other in
                   ((before, after), (after, before)))
    waiting: dict[Any, list[Any]] = {}
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


def _causes(calls: Any, moved: Any, time: Any) -> tuple[float, float, float]:
    """The change of time as a sum: by the number of calls, by bytes a call, by time a byte."""
    if not (calls[0] and calls[1]):
        return time[1] - time[0], 0.0, 0.0
    if time[0] <= 0 or time[1] <= 0:
        return 0.0, 0.0, time[1] - time[0]
    weight = time[0] if math.isclose(time[0], time[1]) else (time[1] - time[0]) / math.log(time[1] / time[0])
    by_calls = weight * math.log(calls[1] / calls[0])
    by_bytes = weight * math.log(moved[1] / moved[0] * calls[0] / calls[1]) if moved[0] and moved[1] else 0.0
    return by_calls, by_bytes, (time[1] - time[0]) - by_calls - by_bytes


def _verdict(row: dict[str, Any]) -> str:
    if row["change"] in ("gone", "new"):
        return str(row["change"])
    parts = [f"{'fewer' if row[name][1] < row[name][0] else 'more'} {name}" for name in ("calls", "bytes")
             if not _close(*row[name])]
    interval = row["interval"]
    if interval is not None and not interval[1] <= 0 <= interval[2]:
        parts.append("faster" if interval[0] < 0 else "slower")
    return ", ".join(parts) or (SAME if interval is not None else "too few repeats")


def _close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=1e-9)


def _sum(rows: list[dict[str, Any]], name: str) -> tuple[float, float]:
    return sum(row[name][0] for row in rows), sum(row[name][1] for row in rows)


def _times(before: float, after: float) -> str:
    return f"{after / before:.2f}×" if before else "from none"


def _arrow(pair: Any, write: Any) -> str:
    before: str
    after: str
    before, after = (str(write(value if value != int(value) else int(value))) for value in pair)
    return before if before == after else f"{before} → {after}"


def _signed(microseconds: float) -> str:
    return f"{'−' if microseconds < 0 else '+'}{words.duration(abs(microseconds))}"
