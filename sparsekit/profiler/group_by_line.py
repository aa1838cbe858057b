"""Totals by where in the user's code an event came from: the line, and the notebook cell or the file it is in."""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING, NamedTuple

from .event_store import Total
from .nesting import without_compilation

if TYPE_CHECKING:
    from .source import Stored
    from .types import Record


__all__ = ["FOLDED", "NOWHERE", "PLACES", "CellMemory", "Place", "cell_memory", "place_totals", "unplaced"]

#: Groupings by place.
PLACES = ("line", "cell")

#: The rows of folded events, and of events that no line of the user called.
FOLDED, NOWHERE = "(folded events)", "(no line)"


class Place(NamedTuple):
    """The key of a total by place."""

    line: str
    cell: str


def cell_of(record: Record) -> str:
    """The cell or the file that the line of an event is in."""
    line = record["line"] or NOWHERE
    return line.rpartition(":")[0] or line


def place_totals(data: Stored) -> dict[Place, Total]:
    """Totals by line, of which each belongs to a cell ``In [3]`` or a file; folded events have a row of their own.

    Backward operators count for the line of the forward operator that they belong to.
    """
    totals: dict[Place, Total] = {}
    records = data.records
    for record, net in zip(records, without_compilation(records), strict=True):
        line = record["line"] or NOWHERE
        totals.setdefault(Place(line, cell_of(record)), Total()).add(net, round(record["self"] * 1000), record)
    for total in data.folded_totals.values():
        totals.setdefault(Place(FOLDED, FOLDED), Total()).merge(total)
    return totals


class CellMemory(NamedTuple):
    """The memory of arrays while a cell's operators ran, in bytes.

    Attributes
    ----------
    peak : int
        The most that all arrays held from its first operator until that of another cell.
    kept : int
        What operators made there and what is not freed, less what was freed of other cells.  Arrays that no operator made,
        as ``mx.nd.array(values)``, count as if they had been there before.
    """

    peak: int
    kept: int


def cell_memory(data: Stored) -> dict[str, CellMemory]:
    """The memory of each cell or file."""
    samples = data.memory.get("samples", [])
    if not samples:
        return {}
    times, held = [sample[0] for sample in samples], [sample[1] for sample in samples]
    found: dict[str, CellMemory] = {}
    runs = _runs(data)
    met = data.memory.get("found", [])
    met_times, met_bytes = [now for now, _ in met], [0, *itertools.accumulate(int(size) for _, size in met)]
    place, before, known = 0, 0, 0
    for number, (cell, _) in enumerate(runs):
        end = len(times) if number + 1 == len(runs) else bisect.bisect_right(times, runs[number + 1][1])
        after = held[end - 1] if end > place else before
        peak, kept = found.get(cell, CellMemory(0, 0))
        seen = met_bytes[-1 if number + 1 == len(runs) else bisect.bisect_left(met_times, runs[number + 1][1])]
        found[cell] = CellMemory(max(peak, before, *held[place:end]), kept + after - before - (seen - known))
        place, before, known = max(end, place), after, seen
    return found


def _runs(data: Stored) -> list[tuple[str, float]]:
    """Operators one after the other in the same cell: the cell, and when the first of them began."""
    runs: list[tuple[str, float]] = []
    for record in sorted(data.records, key=lambda record: record["start"]):
        cell = cell_of(record)
        if not runs or runs[-1][0] != cell:
            runs.append((cell, record["start"]))
    return runs


def unplaced(data: Stored) -> str:
    """The footer of a table by place: which events have no place; empty if all have one."""
    if data.folded:
        return (f"Lines of folded events are not kept: the row {FOLDED} has all folded events. A larger capacity, "
                "Profiler(capacity=…), keeps more lines.")
    if data.records and not any(record["line"] for record in data.records):
        return "No lines were recorded: Profiler(lines=True) notes them."
    return ""
