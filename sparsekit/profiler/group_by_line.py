"""Totals by where in the user's code an event came from: the line, and the notebook cell or the file it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .groups import grouped

if TYPE_CHECKING:
    from ..base.types import Array
    from .columns import Columns

#: Groupings by place.
PLACES = ("line", "cell")

#: The rows of folded events, and of events that no line of the user called.
FOLDED, NOWHERE = "(folded events)", "(no line)"


#: In place of the number of a line: that of folded events.
FOLDED_LINE = -1


def cell_of(line: str) -> str:
    """The cell ``In [3]`` or the file that a line is in."""
    return line.rpartition(":")[0] or line


def by_line(columns: Columns) -> dict[str, Array]:
    """Totals by line as ``grouped`` gives them; folded events have a row of their own.

    Backward operators count for the line of the forward operator that they belong to.
    """
    kept = grouped(columns.taken({"folded": np.zeros(0, np.int64)}), "line")
    if not len(columns.folded):
        return kept
    folded = grouped(columns.taken({"events": np.zeros(0, np.int64)}))
    return {name: np.append(values, FOLDED_LINE if name == "line" else folded[name][0]) for name, values in kept.items()}


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


def cell_memory(columns: Columns) -> dict[str, CellMemory]:
    """The memory of each cell or file."""
    changes = columns.changes
    if not len(changes) or not len(columns.events):
        return {}
    sizes = columns.holdings.bytes[changes.holding] * changes.count
    held, allocated = np.cumsum(sizes), np.cumsum(np.where(changes.met == 0, sizes, 0))
    cells, begins = _runs(columns)
    # Where the changes of each stretch of one cell begin, and where they end.
    ends = [*np.searchsorted(changes.time, begins[1:], side="right").tolist(), len(changes)]
    memory: dict[str, CellMemory] = {}
    place = 0
    for cell, end in zip(cells, ends, strict=True):
        before, allocated_before = (int(levels[place - 1]) if place else 0 for levels in (held, allocated))
        peak, kept = memory.get(cell, CellMemory(0, 0))
        highest = int(held[place:end].max(initial=before))
        allocated_after = int(allocated[end - 1]) if end else 0
        memory[cell] = CellMemory(max(peak, highest), kept + allocated_after - allocated_before)
        place = max(place, end)
    return memory


def _runs(columns: Columns) -> tuple[list[str], Array]:
    """Operators one after the other in the same cell: the cells, and when the first of each began."""
    lines = columns.kinds.line[columns.events.kind]
    cells = {number: cell_of(columns.strings[number] or NOWHERE) for number in np.unique(lines).tolist()}
    numbers = {cell: place for place, cell in enumerate(dict.fromkeys(cells.values()))}
    of_line = np.zeros(len(columns.strings), np.int64)
    for line, cell in cells.items():
        of_line[line] = numbers[cell]
    cell = of_line[lines]
    begins = np.flatnonzero(np.diff(cell, prepend=-1))
    names = list(numbers)
    return [names[number] for number in cell[begins].tolist()], columns.events.start[begins]


def unplaced(columns: Columns) -> str:
    """The footer of a table by place: which events have no place; empty if all have one."""
    if len(columns.folded):
        return (f"Lines of folded events are not kept: the row {FOLDED} has all folded events. A larger capacity, "
                "Profiler(capacity=…), keeps more lines.")
    if len(columns.events) and not columns.kinds.line[columns.events.kind].any():
        return "No lines were recorded: Profiler(lines=True) notes them."
    return ""
