"""A sparse array: where its values lie, at true scale, what its components hold, and what an edit would change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..base import checks
from ..base.entry import entries
from ..base.formatting import format_bytes, format_count, format_density, format_ratio, format_shape
from ..base.tables import escape, folded
from .components import Parts, cell_text, elements_around, entries_from, len_of, read_array, take_slice
from .figure import Figure
from .html import picture
from .interaction import Grid, Interaction, NumberField, Values
from .marks import Axis, Cells, Line, Panel, Rect, Table, Text
from .true_scale import marks_of, sides_of, true_marks

#: An array up to this size is drawn number by number.
SMALL = (12, 16)
#: Cells of each component that are shown, on a narrow page, of a small array, and how far before the chosen stored value they
#: begin.
CELLS, NARROW_CELLS, FEW, BEFORE = 8, 5, 16, 3
#: Pixels below which a page is narrow.
NARROW_BELOW = 700.0
#: Elements of the magnifier, down and across, and down where it stands without the whole array.
MAGNIFIED, MAGNIFIED_ALONE = (12, 24), 5
#: Pixels of pictures of places, of a row of numbers, and of the components.
PLACES, NUMBERS, STRIPS = 230.0, 26.0, 128.0


def is_small(parts: Parts) -> bool:
    """Whether an array is drawn number by number; one without elements is not drawn."""
    return 0 < parts.rows <= SMALL[0] and 0 < parts.columns <= SMALL[1]


def array_figure(array: object, title: str = "") -> Figure:
    """Draw a sparse array: the places of its values, and its components with pointers.

    A small array is drawn number by number.  A large one is drawn at true scale: the stored share of the picture is covered.
    Where that is too little to see its pattern, the places are drawn again, larger, and the picture says by how much.  A few
    elements are drawn one by one.  Drawing takes O(stored values) time, and no array becomes dense.

    The live view of a small array is editable; that of a large one steps through the stored values.

    Parameters
    ----------
    array : csr or row_sparse array
        An array of this library, a csr matrix of scipy, or a mapping with ``stype``, ``shape`` and the components.
    title : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    UnsupportedError
        If ``array`` is not sparse.
    """
    parts = read_array(array)
    shown = checks.text("title", title) or "Inside the array"
    if is_small(parts):
        return _small(parts, shown)
    figure = _large(parts, shown, -1)
    if parts.stored:
        step = NumberField("place", "stored value", 0, 0, parts.stored - 1, whole=True)
        figure.interaction = Interaction(lambda _, values: _large(parts, shown, int(values["place"])),
                                         lambda key, _: _details(parts, key), (step,), {
            name: {"place": place} for name, place in (("the first stored values", 0), ("those in the middle", parts.stored // 2),
                                                       ("the last ones", parts.stored - 1))})  # fmt: skip
    return figure


def stored_value_figure(array: object, place: int, title: str = "") -> Figure:
    """Draw what is around one stored value of a large sparse array, and the components there, without the whole array.

    Parameters
    ----------
    array : csr or row_sparse array
        As of ``array_figure``, with at least one stored value.
    place : int
        Which of the stored values.
    title : str, optional

    Returns
    -------
    Figure
    """
    parts = read_array(array)
    figure = Figure(checks.text("title", title) or "Inside the array", array_finding(parts), table=_table(parts))
    _elements(figure, parts, place, magnifies=-1)
    _add_strips(figure, parts, place)
    return figure


def array_finding(parts: Parts) -> str:
    """What there is to say about an array in one sentence or two."""
    total = sum(parts.components.values())
    words = f"{parts.stype} {format_shape(parts.shape)}: {format_count(parts.stored)} stored values "
    words += f"({format_density(parts.density)})"
    if parts.stype == "row_sparse":
        words += f" in {format_count(len_of(parts.indices))} of {format_count(parts.rows)} rows"
    words += f", {format_bytes(total)}"
    if parts.dense_bytes > total > 0:
        words += f"; dense it would take {format_bytes(parts.dense_bytes)}, {format_ratio(parts.dense_bytes / total)} as much"
    return f"{words}.{_spread(parts)}"


def _spread(parts: Parts) -> str:
    """How evenly the rows are filled, where looking at all of them is cheap."""
    if parts.stype != "csr" or not 0 < parts.rows <= 5_000_000 or not parts.stored:
        return ""
    lengths = np.diff(take_slice(parts.indptr, 0, parts.rows + 1))
    empty = int((lengths == 0).sum())
    low, high = int(lengths.min()), int(lengths.max())
    words = f"Rows store {format_count(low)} to {format_count(high)} values"
    words = words if low < high else f"Each row stores {format_count(low)}"
    if empty:
        words += f", {format_count(empty)} {'is' if empty == 1 else 'are'} empty"
    return f" {words}."


def array_html(array: object, context: str = "") -> str:
    """An array's own display in a notebook: its picture, and its facts as a table.

    Parameters
    ----------
    array : csr or row_sparse array
    context : str
        Where it lives.
    """
    parts = read_array(array)
    sizes = ", ".join(f"{name} {size:,}" for name, size in parts.components.items())
    facts = [("storage type", parts.stype), ("shape", format_shape(parts.shape)), ("stored values", f"{parts.stored:,}"),
             ("density", format_density(parts.density)), ("values", parts.dtype), ("indices", parts.index_dtype),
             ("bytes", f"{sizes}: {sum(parts.components.values()):,} in all"), ("context", context)]  # fmt: skip
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in facts if value)
    shown = array_figure(parts, f"{parts.stype} {format_shape(parts.shape)}")
    return f"{picture(shown)}\n{folded(f'<table>{rows}</table>')}"


def _table(parts: Parts) -> Table:
    lengths = {"data": parts.stored, "indices": len_of(parts.indices), "indptr": parts.rows + 1}
    first = {"data": entries_from(parts, 0, min(6, parts.stored))[2],
             "indices": take_slice(parts.indices, 0, min(6, len_of(parts.indices)))}  # fmt: skip
    if parts.stype == "csr":
        first["indptr"] = take_slice(parts.indptr, 0, min(6, parts.rows + 1))
    rows = [(name, parts.dtype if name == "data" else parts.index_dtype, format_count(lengths[name]), format_bytes(size),
             ", ".join(cell_text(value) for value in first[name]) + (", …" if lengths[name] > 6 else ""))
            for name, size in parts.components.items()]  # fmt: skip
    return Table(("component", "type", "length", "bytes", "begins with"), rows, "Components")


# ---- an array number by number


def _small(parts: Parts, title: str, before: Parts | None = None) -> Figure:
    """An array whose every element has room, and beside it its components; ``before`` is the array before an edit."""
    figure = Figure(title, array_finding(parts), table=_table(parts))
    down, across = parts.rows, parts.columns
    figure.panels = [Panel((0.0, float(across)), (0.0, float(down)), NUMBERS * down, share=0.4,
                           aspect=1.35 * across / down)]  # fmt: skip
    figure.add(lattice(0, 0, 0, down, across),
               Axis(0, "left", ticks=tuple((row + 0.5, f"{row}") for row in range(down)), grid=False),
               Axis(0, "bottom", ticks=tuple((column + 0.5, f"{column}") for column in range(across)), grid=False))  # fmt: skip
    rows, columns, values = entries_from(parts, 0, parts.stored)
    for place, (row, column, value) in enumerate(zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)):
        words = f"row {row}, column {column}: {cell_text(value)}, stored value {place}"
        figure.add(Rect(0, "sparse", column, column + 1, row, row + 1, words, f"entry {place}", cell_text(value)))
    filled = set(rows.tolist())
    figure.add(*(Text(0, "muted", across / 2, row + 0.5, "empty", "middle", room=float(across)) for row in range(down)
                 if row not in filled))  # fmt: skip
    _strips(figure, parts, 0)
    figure.interaction = _editing(before or parts, title)
    if before is not None and _numbers(parts) != _numbers(before):  # it may be drawn anew for another width
        figure.notes = (_effect(before, parts), *figure.notes)
    return figure


def _editing(parts: Parts, title: str) -> Interaction:
    """What a live view of a small array asks: other values, and what a cell is."""
    numbers = _numbers(parts)
    if numbers is None:
        return Interaction(select=lambda key, _: _details(parts, key))
    first = next(((row, column) for row, line in enumerate(numbers) for column, value in enumerate(line) if value), None)
    other = next(((row, column) for row, line in enumerate(numbers) for column, value in enumerate(line) if not value), None)
    answers: dict[str, Values] = {"as it is": {}}
    for (row, column), value in [(place, value) for place, value in ((first, 0.0), (other, 9.0)) if place]:
        edited = [list(line) for line in numbers]
        edited[row][column] = value
        answers[f"row {row}, column {column} is {value:g}"] = {"matrix": edited}
    return Interaction(lambda _, asked: _small(_with_values(parts, asked), title, parts),
                       lambda key, asked: _details(_with_values(parts, asked), key),
                       (Grid("matrix", "values (0 is not stored)", numbers),), answers)  # fmt: skip


def _numbers(parts: Parts) -> tuple[tuple[float, ...], ...] | None:
    """A small array as rows of numbers; None if they are none that a reader could type."""
    dense = np.zeros((parts.rows, parts.columns))
    rows, columns, values = entries_from(parts, 0, parts.stored)
    try:
        dense[rows.astype(int), columns.astype(int)] = values.astype(float)
    except (TypeError, ValueError, IndexError):
        return None
    return tuple(tuple(row) for row in dense.tolist()) if np.isfinite(dense).all() else None


def _with_values(parts: Parts, asked: Values) -> Parts:
    """A small array with other values: what was edited is stored unless it is zero, and the rest stays as it was."""
    shape = parts.rows, parts.columns
    old, new = (np.array(numbers, dtype=float).reshape(shape) for numbers in (_numbers(parts), asked["matrix"]))
    rows, columns, _ = entries_from(parts, 0, parts.stored)
    stored = np.zeros(old.shape, bool)
    stored[rows.astype(int), columns.astype(int)] = True
    stored = np.where(old != new, new != 0, stored)
    types = [take_slice(part, 0, 0).dtype for part in (parts.data, parts.indices)]
    if parts.stype == "csr":
        where = np.nonzero(stored)
        pointers = np.concatenate(([0], np.cumsum(stored.sum(axis=1)))).astype(types[1])
        return parts._replace(data=new[where].astype(types[0]), indices=where[1].astype(types[1]), indptr=pointers)
    kept = np.flatnonzero(stored.any(axis=1))
    return parts._replace(data=new[kept].astype(types[0]), indices=kept.astype(types[1]), shape=(parts.rows, parts.columns))


def _effect(before: Parts, after: Parts) -> str:
    """What an edit did to the components."""
    added = after.stored - before.stored
    size, old = sum(after.components.values()), sum(before.components.values())
    words = f"{abs(added)} {'more' if added > 0 else 'fewer'} stored {'value' if abs(added) == 1 else 'values'}" if added else (
        "as many stored values as before")  # fmt: skip
    if after.stype == "csr":
        old_pointers, pointers = (take_slice(parts.indptr, 0, parts.rows + 1) for parts in (before, after))
        moved = np.flatnonzero(old_pointers != pointers)
        if len(moved):
            words += f"; {len(moved)} pointer{'s change' if len(moved) > 1 else ' changes'}, from indptr[{moved[0]}] on"
    return f"Edited: {words}. The array takes {format_bytes(size)}, {format_bytes(old)} before."


# ---- an array that is too large for that


def _large(parts: Parts, title: str, place: int) -> Figure:
    """The places of what is stored, at true scale and magnified, and the components; ``place`` is the stored value in view."""
    figure = Figure(title, array_finding(parts), table=_table(parts))
    if not parts.rows * parts.columns:
        figure.panels = [Panel((0.0, 1.0), (0.0, 1.0), 60.0, "An array without elements", share=0.33, framed=True)]
        _strips(figure, parts, 0)
        return figure
    _places(figure, parts, true_marks(parts), f"At true scale: {format_density(parts.density)} is blue")
    enlarged = marks_of(parts) if parts.stored else None
    if enlarged and enlarged.scale >= 1.05:
        times = format_ratio(enlarged.scale).removesuffix("×")
        _places(figure, parts, enlarged.boxes, f"The same places, drawn {times} times their size")
    if enlarged and (enlarged.scale >= 1.05 or "every" in enlarged.words):
        figure.finding += f" {enlarged.words}"
    if parts.stored:
        figure.add(_frame(parts, *_elements(figure, parts, place, magnifies=0)))
    _add_strips(figure, parts, place)
    return figure


def _add_strips(figure: Figure, parts: Parts, place: int) -> None:
    """The components around a stored value, with fewer cells on a narrow page."""
    figure.narrow, figure.narrow_below = replace(figure, panels=[*figure.panels], marks=[*figure.marks]), NARROW_BELOW
    for drawn, cells in ((figure, CELLS), (figure.narrow, NARROW_CELLS)):
        _strips(drawn, parts, max(place - BEFORE, 0), cells)


def _places(figure: Figure, parts: Parts, boxes: Sequence[tuple[float, float, float, float]], title: str) -> None:
    """One picture of the whole array."""
    number = len(figure.panels)
    wide, tall = sides_of(parts)
    across, down = float(parts.columns), float(parts.rows)
    figure.panels.append(Panel((0.0, across), (0.0, down), PLACES, title, share=1 / 3, aspect=wide / tall))
    edge = np.array([[0.0, across, across, 0.0, 0.0], [0.0, 0.0, down, down, 0.0]])
    placed = np.array([(x * across, (x + w) * across, y * down, (y + h) * down) for x, y, w, h in boxes]).reshape(-1, 4)
    figure.add(Cells(number, "sparse", placed), Line(number, "muted", edge[0], edge[1], width=0.8))
    figure.add(Axis(number, "left", ticks=((0.0, "row 0"), (down, f"{parts.rows - 1:,}")) if parts.rows > 1 else (), grid=False),
               Axis(number, "bottom", ticks=((0.0, "column 0"), (across, f"{parts.columns - 1:,}")), grid=False))  # fmt: skip


def _elements(figure: Figure, parts: Parts, place: int, magnifies: int) -> tuple[int, int, int, int]:
    """The elements around a stored value, each as a square; gives their first row and column, and how many they are."""
    lines = MAGNIFIED[0] if magnifies >= 0 else MAGNIFIED_ALONE
    row, column, elements = elements_around(parts, (lines, MAGNIFIED[1]), place)
    down, across = min(lines, parts.rows), min(MAGNIFIED[1], parts.columns)
    number = len(figure.panels)
    words = f"From row {row:,}, column {column:,}"
    window = (float(column), float(column + across)), (float(row), float(row + down))
    height = PLACES * lines / MAGNIFIED[0]
    figure.panels.append(Panel(*window, height, words, share=1 / 3, aspect=across / down, magnifies=magnifies))
    boxes = np.array([(at, at + 1, line, line + 1) for line, at in elements], dtype=float).reshape(-1, 4)
    figure.add(Cells(number, "sparse", boxes, f"{len(elements)} of these {down * across:,} elements are stored"),
               lattice(number, row, column, down, across))  # fmt: skip
    return row, column, down, across


def _frame(parts: Parts, row: int, column: int, down: int, across: int) -> Line:
    """A frame around what is magnified, never too small to see."""
    x0, x1 = _widened(column, across, parts.columns)
    y0, y1 = _widened(row, down, parts.rows)
    return Line(0, "ink", [x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0], "what is magnified")


def _widened(start: int, length: int, total: int) -> tuple[float, float]:
    least = max(float(length), total / 40)
    middle = min(max(start + length / 2, least / 2), total - least / 2)
    return max(middle - least / 2, 0.0), min(middle + least / 2, float(total))


def lattice(panel: int, row: int, column: int, down: int, across: int) -> Line:
    """The lines between elements, as one mark with gaps."""
    gap = float("nan")
    x, y = list[float](), list[float]()
    for at in range(across + 1):
        x += [column + at, column + at, gap]
        y += [row, row + down, gap]
    for at in range(down + 1):
        x += [column, column + across, gap]
        y += [row + at, row + at, gap]
    return Line(panel, "line", x, y, width=0.6)


# ---- the components


def _strips(figure: Figure, parts: Parts, start: int, cells: int = CELLS) -> None:
    """The components from a stored value on, cell by cell, with an arrow from each pointer to where its row begins."""
    panel, csr = len(figure.panels), parts.stype == "csr"
    pointers = parts.rows + 1 if csr else len_of(parts.indices)
    cells = min(max(pointers, parts.stored, cells), FEW) if is_small(parts) else cells
    rows, columns, values = entries_from(parts, start, min(start + cells, parts.stored))
    down = 4.3 if csr else 3.3
    share = 0.6 if is_small(parts) else 1.0
    if csr:
        first = int(rows[0]) if start and len(rows) else 0
        heads = take_slice(parts.indptr, first, min(first + cells, parts.rows + 1)).tolist()
        begins = heads
    else:
        first = start // max(parts.columns, 1)
        heads = take_slice(parts.indices, first, min(first + cells, len_of(parts.indices))).tolist()
        begins = [(first + place) * parts.columns for place in range(len(heads))]
    ends = [(0.5, first + len(heads) < pointers), (down - 0.5, start + len(rows) < parts.stored)]
    ends += [(2.5, ends[1][1])] if csr else []
    width = cells + 0.4 * any(more for _, more in ends)
    figure.panels.append(Panel((0.0, width), (0.0, down), STRIPS * down / 4.3, "Components", share))
    figure.add(*(Text(panel, "muted", cells + 0.05, y, "…") for y, more in ends if more))
    for place, head in enumerate(heads):
        name = f"indptr[{first + place}]" if csr else f"indices[{first + place}]"
        says = f"{name} = {head}: " + (f"row {first + place} begins there" if csr and first + place < parts.rows else
                                       "where the last row ends" if csr else f"row {head} is stored")  # fmt: skip
        figure.add(Rect(panel, "sparse", place + 0.04, place + 0.96, 0.0, 1.0, says, f"head {first + place}", f"{head}"))
    for place, (row, column, value) in enumerate(zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)):
        says, key = f"stored value {start + place}: row {row}, column {column}: {cell_text(value)}", f"entry {start + place}"
        if csr:
            figure.add(Rect(panel, "sparse", place + 0.04, place + 0.96, 2.0, 3.0, says, key, f"{column}"))
        figure.add(Rect(panel, "sparse", place + 0.04, place + 0.96, down - 1.0, down, says, key, cell_text(value)))
    _arrows(figure, panel, [begin - start for begin in begins], len(rows), cells)
    if not csr and parts.columns > len(rows) and len(set(rows.tolist())) == 1:  # the cells do not belong to those above them
        figure.add(Text(panel, "muted", 1.1, 1.65, f"row {rows[0]:,}: {len(rows)} of its {parts.columns:,} values"))
    _names(figure, panel, parts)


def _arrows(figure: Figure, panel: int, begins: Sequence[int], shown: int, cells: int) -> None:
    """From each pointer to the cell where its row begins; pointers of an empty row share their place."""
    for place, begin in enumerate(begins):
        if 0 <= begin <= min(shown, cells):
            end = begin + (0.28 if begin < shown else 0.06)
            t = np.linspace(0.0, 1.0, 9)
            figure.add(Line(panel, "muted", place + 0.5 + (end - place - 0.5) * t * t * (3 - 2 * t), 1.0 + 0.93 * t, arrow=True))


def _names(figure: Figure, panel: int, parts: Parts) -> None:
    """The names of the components beside their cells, and what they are."""
    csr = parts.stype == "csr"
    places = {"indptr": 0.5, "indices": 2.5, "data": 3.8} if csr else {"indices": 0.5, "data": 2.8}
    figure.add(Axis(panel, "left", ticks=tuple((at, name) for name, at in places.items())))
    if csr:
        pointers = take_slice(parts.indptr, 0, min(parts.rows + 1, CELLS))
        empty = " Of two equal pointers, the first is that of an empty row." if (np.diff(pointers) == 0).any() else ""
        says = f"indptr: where each row begins among the stored values, and where the last one ends.{empty} indices: columns."
    else:
        says = "indices: the numbers of the rows that are stored; an arrow leads to the values of each."
    figure.notes = (*figure.notes, says)


def _details(parts: Parts, key: str) -> dict[str, str] | None:
    """What a live view says of a cell."""
    kind, _, number = key.partition(" ")
    place = int(number) if number.isdecimal() and len(number) < 19 else -1
    if kind == "head" and 0 <= place <= parts.rows:
        return {"pointer of row" if parts.stype == "csr" else "stored row": f"{place:,}"}
    if kind != "entry" or not 0 <= place < parts.stored:
        return None
    rows, columns, values = entries_from(parts, place, place + 1)
    row = int(rows[0])
    said = {"stored value": f"data[{place:,}] = {cell_text(values[0])}", "row": f"{row:,}", "column": f"{int(columns[0]):,}"}
    if parts.stype == "csr":
        first, last = take_slice(parts.indptr, row, row + 2).tolist()
        said["found by"] = f"indptr[{row}] = {first} ≤ {place} < {last} = indptr[{row + 1}]; indices[{place}] = {columns[0]}"
    return said


entries(globals(), ["array_figure"])
