"""Sums of a profile's events by what they have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.errors import UnknownNameError

if TYPE_CHECKING:
    from ..base.types import Array
    from .columns import Columns, Table

#: What events may be grouped by: texts of their kinds, and the number of their run.
BY = ("name", "lane", "layer", "storage", "line", "type", "run")

#: What folded events are still known by.
FOLDED_BY = ("name", "lane", "layer", "storage", "run")

#: What each call of a kind costs.
COSTS = ("bytes", "flops", "dense_flops")

TIMES = ("calls", "total", "own", "minimum", "maximum")


class Sums(NamedTuple):
    """Sums over events, an array element for each group; times in nanoseconds.

    ``total`` is without the compilation inside, and ``own`` without the events inside.
    """

    calls: Array
    total: Array
    own: Array
    minimum: Array
    maximum: Array


def sums_of(place: Array, groups: int, net: Array, own: Array) -> Sums:
    """Exact sums of events; ``place`` says to which of so many groups each belongs."""
    calls = np.bincount(place, minlength=groups)
    minimum = np.where(calls, put_together("minimum", place, groups, net), 0)
    return Sums(calls, _added(place, net, groups), _added(place, own, groups), minimum,
                put_together("maximum", place, groups, net))


def _added(place: Array, values: Array, groups: int) -> Array:
    """Sums of integers, exact also beyond the whole numbers that floating point has."""
    total = np.zeros(groups, np.int64)
    np.add.at(total, place, values.astype(np.int64, copy=False))
    return total


def grouped(columns: Columns, *by: str) -> dict[str, Array]:
    """Sums of all events, folded or not, by some of ``BY``; groups in the order in which they first came.

    Parameters
    ----------
    columns : Columns
    *by : str
        Folded events have no line and no type: these are empty.

    Returns
    -------
    dict of str to array
        The numbers of texts (or of runs) that name a group, the fields of ``Sums``, and ``bytes flops dense_flops``.

    Raises
    ------
    UnknownNameError
        If ``by`` names something else.
    """
    for name in by:
        UnknownNameError.check("grouping", name, BY)
    rows = _rows(columns)
    folded = columns.folded
    keys = [np.concatenate([_of_rows(columns, rows, name), _of_folded(folded, name)]) for name in by]
    place, first = _groups(keys, len(rows["run"]) + len(folded))
    order = np.argsort(first, kind="stable")
    rank = np.argsort(order, kind="stable")[place]
    groups = {name: key[first[order]] for name, key in zip(by, keys, strict=True)}
    for name in (*TIMES, *COSTS):
        values = np.concatenate([rows[name], getattr(folded, name)])
        groups[name] = put_together(name, rank, len(first), values)
    return groups


def put_together(name: str, place: Array, groups: int, values: Array) -> Array:
    """One of ``TIMES`` or ``COSTS`` of groups of rows; ``place`` says to which of so many each row belongs."""
    if name == "minimum":
        result = np.full(groups, np.iinfo(np.int64).max)
        np.minimum.at(result, place, values)
        return result
    if name == "maximum":
        result = np.zeros(groups, np.int64)
        np.maximum.at(result, place, values)
        return result
    return _added(place, values, groups)


def _groups(keys: list[Array], rows: int) -> tuple[Array, Array]:
    """Of each row the number of its group, and of each group its first row."""
    place, first = np.zeros(rows, np.int64), np.zeros(min(rows, 1), np.int64)
    for key in keys:  # one after the other: numpy compares rows of numbers by code that may lose an interrupt
        together = place * (int(key.max(initial=0)) + 1) + key
        _, first, place = np.unique(together, return_index=True, return_inverse=True)
    return place, first


def _rows(columns: Columns) -> dict[str, Array]:
    """Sums by run and kind, in the order in which they first came."""
    events, kinds = columns.events, columns.kinds
    pair = events.run * np.int64(len(kinds)) + events.kind
    pairs = len(columns.runs) * len(kinds)
    first = np.full(pairs, len(events))
    first[pair[::-1]] = np.arange(len(events))[::-1]  # the last that is written is the first
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(events))]
    run, kind = np.divmod(order, max(len(kinds), 1))
    rows = {"run": run, "kind": kind}
    sums = sums_of(pair, pairs, events.net, events.own)
    rows |= {name: values[order] for name, values in zip(TIMES, sums, strict=True)}
    rows |= {name: rows["calls"] * getattr(kinds, name)[kind] for name in COSTS}
    rows["bytes"] = rows["bytes"] + _added(pair, events.moved, pairs)[order]
    return rows


def _of_rows(columns: Columns, rows: dict[str, Array], name: str) -> Array:
    column: Array = rows["run"] if name == "run" else getattr(columns.kinds, name)[rows["kind"]]
    return column


def _of_folded(folded: Table, name: str) -> Array:
    column: Array = getattr(folded, name) if name in FOLDED_BY else np.zeros(len(folded), np.int32)
    return column


def covered(columns: Columns, run: int) -> int:
    """Nanoseconds of a run in which anything but the user's own spans ran, on any thread."""
    apart = ~columns.where_text(["user"])
    folded, events = columns.folded, columns.events
    total = int(folded.own[(folded.run == run) & apart[folded.lane]].sum())
    kept = (events.run == run) & apart[columns.kinds.lane[events.kind]]
    start, duration = events.start[kept], events.duration[kept]
    if not len(start):
        return total
    order = np.argsort(start, kind="stable")
    start, end = start[order], (start + duration)[order]
    reach = np.maximum.accumulate(end)
    begin = np.maximum(start[1:], reach[:-1])
    return total + int(end[0] - start[0]) + int(np.maximum(end[1:] - begin, 0).sum())
