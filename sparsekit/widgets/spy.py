"""A sparse array as a picture: where its values lie, at true scale, and what its components hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.formatting import format_bytes, format_count, format_density, format_ratio, format_shape
from ..base.tables import escape, folded
from .components import Parts, elements_around, len_of, read_array, take_slice
from .display import Display
from .svg import Drawing, fit, heading, is_narrow, page_width, text_width, wrap
from .theme import INK, LINE, MUTED, OTHER, PAPER, SERIES, STRIPE, ink_on
from .true_scale import Marks, marks_of, sides_of

if TYPE_CHECKING:
    from ..base.types import Scalar


__all__ = ["array_figure", "array_finding", "array_html", "cell_text", "is_small"]

#: The colour of what is stored.
BLUE = "#2171b5"
#: Where the components begin, and the room of their cells.
STRIPS, NAMES = 470.0, 64.0
#: An array up to this size is drawn number by number, with its components if they have no more cells than this.
SMALL = (12, 16)
CELLS = 17
#: Elements of the magnifier, down and across, and the pixels of each.
MAGNIFIED, PIXELS = (12, 40), 10.0


def is_small(parts: Parts) -> bool:
    """Whether an array is drawn number by number; one without elements is not drawn."""
    return 0 < parts.rows <= SMALL[0] and 0 < parts.columns <= SMALL[1]


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
    words = f"Each row stores {format_count(low)}" if low == high else \
        f"Rows store {format_count(low)} to {format_count(high)} values"  # fmt: skip
    if empty:
        words += f", {format_count(empty)} {'is' if empty == 1 else 'are'} empty"
    return f" {words}."


def cell_text(value: object) -> str:
    """Write one stored value in at most seven characters or so."""
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if not math.isfinite(number):
            return str(number)
        return f"{number:.3g}"
    return str(value)


def _axes(drawing: Drawing, parts: Parts, box: tuple[float, float, float, float], size: float) -> None:
    x, y, w, h = box
    last = f"{max(parts.columns - 1, 0):,}"
    drawing.text(x, y - 6, "column 0", size=size, fill=MUTED)
    if parts.columns > 1 and text_width(last, size) < w - 60:
        drawing.text(x + w, y - 6, last, size=size, fill=MUTED, text_anchor="end")
    words = f"row 0 on top, {parts.rows - 1:,} below" if parts.rows > 1 else "one row" if parts.rows else "no rows"
    drawing.text(x, y + h + size + 4, fit(words, 300, size), size=size, fill=MUTED)


def array_html(array: object, context: str = "") -> str:
    """An array's own display in a notebook: the inspector's picture, and its facts as a table.

    Parameters
    ----------
    array : csr or row_sparse array
    context : str
        Where it lives.
    """
    parts = read_array(array)
    shown = array_figure(parts, f"{parts.stype} {format_shape(parts.shape)}")
    sizes = ", ".join(f"{name} {size:,}" for name, size in parts.components.items())
    facts = [("storage type", parts.stype), ("shape", format_shape(parts.shape)), ("stored values", f"{parts.stored:,}"),
             ("density", format_density(parts.density)), ("values", parts.dtype), ("indices", parts.index_dtype),
             ("bytes", f"{sizes}: {sum(parts.components.values()):,} in all"), ("context", context)]  # fmt: skip
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in facts if value)
    return f"{shown.image}\n{folded(f'<table>{rows}</table>')}"


def array_figure(array: object, title: str = "") -> Display:
    """Draw a sparse array: the places of its values, beside its components.

    A small array is drawn number by number, with arrows from ``indptr`` to the beginning of each row.  A large array is drawn at
    true scale: the stored share of the picture is covered.  Where that would be too little to see, dots or lines are larger, and
    picture and finding say by how much.  A few elements beside it are drawn one by one.  Drawing takes O(stored values) time,
    and no array becomes dense.

    Parameters
    ----------
    array : csr or row_sparse array
        An array of this library, a csr matrix of scipy, or a mapping with ``stype``, ``shape`` and the components.
    title : str, optional

    Returns
    -------
    Display
        The picture and the table of components.

    Raises
    ------
    UnsupportedError
        If ``array`` is not sparse.
    """
    parts = read_array(array)
    marks = None if is_small(parts) or not parts.rows * parts.columns else marks_of(parts)
    finding = array_finding(parts)
    alt = f"{finding} {marks.words}".rstrip() if marks else finding
    columns = ("component", "type", "length", "bytes", "begins with")
    return Display(lambda: _picture(parts, str(title) or "Inside the array", finding, marks, alt), alt, columns, _rows(parts),
                   "Components")


def _picture(parts: Parts, title: str, finding: str, marks: Marks | None, alt: str) -> str:
    """Where the values are, and beside it, or on a narrow page below it, the components."""
    drawing = Drawing(page_width())
    top = heading(drawing, title, finding) + 31
    width, height = (side * (0.8 if is_narrow() else 1.0) for side in sides_of(parts))
    box = (30.0, top, width, height)
    left = top + height + 30
    if is_small(parts):
        _numbers(drawing, parts, box)
    elif marks:
        drawing.rect(*box, PAPER, stroke=LINE)
        drawing.boxes([(30 + x * width, top + y * height, w * width, h * height) for x, y, w, h in marks.boxes], BLUE)
        for line in wrap(marks.words, min(430.0, drawing.width - 50), 12, 4):
            drawing.text(30, left + 12, line, size=12, fill=INK)
            left += 17
    else:
        drawing.rect(*box, STRIPE, stroke=LINE)
    _axes(drawing, parts, box, 11.5)
    x, y = (20.0, left + 40) if is_narrow() else (STRIPS, top)
    bottom = _strips(drawing, parts, x, y)
    if parts.rows > SMALL[0] or parts.columns > SMALL[1]:
        bottom = _magnifier(drawing, parts, x, bottom + 14)
    return drawing.finish(max(bottom, left + 16), alt)


def _magnifier(drawing: Drawing, parts: Parts, x: float, y: float) -> float:
    """Draw the elements around a stored value in the middle, each as a square; give where that ends."""
    if not parts.stored:
        return y
    row, column, found = elements_around(parts, MAGNIFIED)
    down, across = min(MAGNIFIED[0], parts.rows), min(MAGNIFIED[1], parts.columns)
    words = f"rows {row:,} to {row + down - 1:,}, columns {column:,} to {column + across - 1:,}"
    drawing.text(x, y, "True scale: each square is one element", size=13, font_weight="bold")
    y = drawing.note(y + 16, words, x=x) - 8
    side = min(PIXELS, (drawing.width - 20 - x) / across)
    drawing.rect(x, y, side * across, side * down, PAPER, stroke=LINE)
    lines = [f"M{x + side * i:.1f} {y:.0f}v{side * down:.1f}" for i in range(1, across)]
    lines += [f"M{x:.0f} {y + side * i:.1f}h{side * across:.1f}" for i in range(1, down)]
    drawing.add("path", d="".join(lines), fill="none", stroke=LINE, stroke_width=0.5)
    drawing.boxes([(x + side * (c - column) + 0.5, y + side * (r - row) + 0.5, side - 1, side - 1) for r, c in found], BLUE)
    return y + side * down + 18


def _entries(parts: Parts, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of the first stored values."""
    if parts.stype == "csr":
        count = min(parts.stored, most)
        columns, values = take_slice(parts.indices, 0, count), take_slice(parts.data, 0, count)
        # The number of rows is not looked at as a whole: these few entries lie in the first rows that store any.
        pointers = take_slice(parts.indptr, 0, min(parts.rows + 1, 100_000))
        rows = np.searchsorted(pointers, np.arange(count), side="right") - 1
        return rows, columns, values
    stored = take_slice(parts.indices, 0, min(len_of(parts.indices), most))
    wide = parts.columns
    values = take_slice(parts.data, 0, len(stored)).reshape(len(stored), wide)[:, :most].ravel()[:most]
    shown = min(wide, most)
    count = len(values)
    return np.repeat(stored, shown)[:count], np.tile(np.arange(shown), len(stored))[:count], values


def _numbers(drawing: Drawing, parts: Parts, box: tuple[float, float, float, float]) -> None:
    """Draw every element of a small array; stored ones in their row's colour."""
    x, y, w, h = box
    wide, tall = w / parts.columns, h / parts.rows
    drawing.rect(x, y, w, h, PAPER, stroke=LINE)
    for row, column, value in zip(*_entries(parts, SMALL[0] * SMALL[1]), strict=True):
        color = _color(row)
        left, top = x + wide * int(column), y + tall * int(row)
        drawing.rect(left + 1, top + 1, max(wide - 2, 1), max(tall - 2, 1), color, rx=2.0)
        words = fit(cell_text(value), wide - 3, min(12.0, tall * 0.5))
        drawing.text(left + wide / 2, top + tall / 2 + 4, words, size=min(12.0, tall * 0.5), fill=ink_on(color),
                     text_anchor="middle")  # fmt: skip
    filled = {int(row) for row in _entries(parts, SMALL[0] * SMALL[1])[0]}
    for i in range(parts.rows):
        drawing.text(x - 6, y + tall * (i + 0.5) + 4, str(i), size=min(11.0, tall * 0.6), fill=MUTED, text_anchor="end")
        if i not in filled:
            drawing.text(x + w / 2, y + tall * (i + 0.5) + 4, "empty", size=min(11.0, tall * 0.6), fill=MUTED,
                         text_anchor="middle")
    for i in range(1, parts.rows):
        drawing.line(x, y + tall * i, x + w, y + tall * i, stroke_width=0.5)
    for i in range(1, parts.columns):
        drawing.line(x + wide * i, y, x + wide * i, y + h, stroke_width=0.5)


def _strips(drawing: Drawing, parts: Parts, x: float, y: float) -> float:
    """Draw the components cell by cell, in the colour of the row that each belongs to, with arrows to where rows begin."""
    rows, columns, values = _entries(parts, CELLS)
    color = [_color(row) for row in rows]
    strips: list[tuple[str, Sequence[Any], list[str], int]] = []
    if parts.stype == "csr":
        pointers = take_slice(parts.indptr, 0, min(parts.rows + 1, CELLS))
        colors = [_color(i) if i < parts.rows else OTHER for i in range(len(pointers))]
        strips.append(("indptr", list(pointers), colors, parts.rows + 1))
        strips.append(("indices", list(columns), color, parts.stored))
        begins = [int(pointer) for pointer in pointers]
    else:
        stored = take_slice(parts.indices, 0, min(len_of(parts.indices), CELLS))
        strips.append(("indices", list(stored), [_color(row) for row in stored], len_of(parts.indices)))
        begins = [i * parts.columns for i in range(len(stored))]
    strips.append(("data", list(values), color, parts.stored))
    # One width for all, so that an index stands above its value.
    longest = max((text_width(cell_text(cell), 11.5) for _, cells, *_ in strips for cell in cells), default=0.0)
    room = drawing.width - 36 - x - NAMES
    wide = min(max(25.0, longest + 8), room / 3)
    fitting = max(1, int(room / wide))
    for place, (name, cells, colors, length) in enumerate(strips):
        drawing.text(x, y + 16, name, size=14, font_weight="bold")
        drawing.text(x, y + 32, format_bytes(parts.components[name]), size=11.5, fill=MUTED)
        _strip(drawing, cells[:fitting], colors, length, x + NAMES, y, wide)
        if not place:
            _arrows(drawing, begins[:fitting], strips[0][2], min(fitting, len(strips[1][1])), x + NAMES, (y + 40, y + 84), wide)
        # The indices of a row-sparse array are the numbers of its rows.
        if name == "data":
            _row_labels(drawing, list(rows)[:fitting], x + NAMES, y + 48, wide)
        y += 62 if place else 86
    return _explained(drawing, parts, x, y + 6)


def _arrows(drawing: Drawing, begins: Sequence[int], colors: Sequence[str], shown: int, x: float, ends: tuple[float, float],
            wide: float) -> None:
    """Draw an arrow from each pointer to the cell where its row begins; pointers of an empty row share their place."""
    top, bottom = ends
    for i, begin in enumerate(begins):
        if begin > shown:
            continue
        start, end = x + wide * (i + 0.5) - 1, x + wide * begin + (0.28 * wide if begin < shown else 0.0)
        middle = (top + bottom) / 2
        bend = f"C{start:.1f} {middle:.1f} {end:.1f} {middle:.1f} {end:.1f} {bottom - 6:.1f}"
        drawing.add("path", d=f"M{start:.1f} {top:.1f}{bend}", fill="none", stroke=colors[i], stroke_width=1.6)
        drawing.add("path", d=f"M{end - 3.5:.1f} {bottom - 7:.1f}h7L{end:.1f} {bottom:.1f}z", fill=colors[i])


def _explained(drawing: Drawing, parts: Parts, x: float, y: float) -> float:
    """Say what the components are; give where that ends."""
    colours = ("Cells of one colour belong to one row." if parts.rows <= len(SERIES)
               else f"Cells of a row have one colour; the {len(SERIES)} colours repeat.")
    says = ["data: the stored values, row after row", f"Small numbers are positions. {colours}"]
    if parts.stype == "csr":
        pointers = take_slice(parts.indptr, 0, min(parts.rows + 1, CELLS))
        empty = ["Of two equal pointers, the first is that of an empty row."] if (np.diff(pointers) == 0).any() else []
        says = ["indptr: where each row begins, and where the last one ends", *empty, "indices: the column of each stored value",
                *says]
    else:
        says = ["indices: the numbers of the rows that are stored; an arrow leads to the values of each", *says]
    for line in says:
        y = drawing.note(y, line, x=x)
    return y + 6


def _color(row: Scalar) -> str:
    return SERIES[int(row) % len(SERIES)]


def _row_labels(drawing: Drawing, rows: Sequence[Any], x: float, y: float, wide: float) -> None:
    """Label each row at its start, in addition to its colour; with its number only if there is little room."""
    for i, row in enumerate(rows):
        if not i or rows[i - 1] != row:
            room = wide * sum(other == row for other in rows) - 4
            words = next((words for words in (f"row {int(row):,}", f"{int(row):,}") if text_width(words, 10) * 1.1 <= room), "")
            drawing.text(x + wide * i, y, words, size=10, fill=INK, font_weight="bold")


def _strip(drawing: Drawing, cells: Sequence[Any], colors: Sequence[str], length: int, x: float, y: float, wide: float) -> None:
    for i, (cell, color) in enumerate(zip(cells, colors, strict=False)):
        drawing.rect(x + wide * i, y, wide - 2, 24, color, rx=2.0)
        drawing.text(x + wide * i + wide / 2 - 1, y + 16, fit(cell_text(cell), wide - 6, 11.5), size=11.5,
                     fill=ink_on(color), text_anchor="middle")  # fmt: skip
        drawing.text(x + wide * i + wide / 2 - 1, y + 36, str(i), size=9.5, fill=MUTED, text_anchor="middle")
    rest = length - len(cells)
    if rest > 0:
        drawing.text(x + wide * len(cells) + 4, y + 16, "…", size=13, fill=INK)
    elif not cells:
        drawing.rect(x, y, wide, 24, PAPER, stroke=LINE)
        drawing.text(x + wide + 8, y + 16, "empty", size=12, fill=MUTED)


def _rows(parts: Parts) -> list[tuple[str, ...]]:
    lengths = {"data": parts.stored, "indices": len_of(parts.indices), "indptr": parts.rows + 1}
    first = {"data": _entries(parts, 6)[2], "indices": take_slice(parts.indices, 0, min(6, len_of(parts.indices)))}
    if parts.stype == "csr":
        first["indptr"] = take_slice(parts.indptr, 0, min(6, parts.rows + 1))
    types = {"data": parts.dtype}
    return [(name, types.get(name, parts.index_dtype), format_count(lengths[name]), format_bytes(size),
             ", ".join(cell_text(value) for value in first[name]) + (", …" if lengths[name] > 6 else ""))
            for name, size in parts.components.items()]  # fmt: skip
