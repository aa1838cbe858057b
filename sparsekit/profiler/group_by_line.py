"""Totals by where in the user's code an event came from: the line, and the notebook cell or the file it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .event_store import Total
from .nesting import without_compilation

if TYPE_CHECKING:
    from .source import Stored


__all__ = ["FOLDED", "NOWHERE", "PLACES", "Place", "place_totals", "unplaced"]

#: Groupings by place.
PLACES = ("line", "cell")

#: The rows of folded events, and of events that no line of the user called.
FOLDED, NOWHERE = "(folded events)", "(no line)"


class Place(NamedTuple):
    """The key of a total by place."""

    line: str
    cell: str


def place_totals(data: Stored) -> dict[Place, Total]:
    """Totals by line, of which each belongs to a cell ``In [3]`` or a file; folded events have a row of their own.

    Backward operators count for the line of the forward operator that they belong to.
    """
    totals: dict[Place, Total] = {}
    records = data.records
    for record, net in zip(records, without_compilation(records), strict=True):
        line = record["line"] or NOWHERE
        cell = line.rpartition(":")[0] or line
        totals.setdefault(Place(line, cell), Total()).add(net, round(record["self"] * 1000), record)
    for total in data.folded_totals.values():
        totals.setdefault(Place(FOLDED, FOLDED), Total()).merge(total)
    return totals


def unplaced(data: Stored) -> str:
    """The footer of a table by place: which events have no place; empty if all have one."""
    if data.folded:
        return (f"Lines of folded events are not kept: the row {FOLDED} has all of them, and a larger capacity, "
                "Profiler(capacity=…), leaves fewer.")
    if data.records and not any(record["line"] for record in data.records):
        return "No lines were recorded: Profiler(lines=True) notes them."
    return ""
