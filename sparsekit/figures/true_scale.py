"""How much ink a sparse array gets: as much as its stored share, or more, and then the picture says how much more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.formatting import format_count, format_density, format_ratio
from .components import Parts, bin_density, len_of, position, take_slice

if TYPE_CHECKING:
    from ..base.types import Array

#: The least sides of a dot, and of a line that is a row, on a picture whose longer side has ``SIDE`` pixels; of a dot that is a
#: row, in a picture that is often drawn smaller.
SIDE, DOT, LINE, ROW_DOT = 400.0, 2.5, 1.25, 4.0
#: The share of a picture that is covered at least, where so many dots or lines are there: fewer would not be seen.
LEAST = {True: 0.01, False: 0.02}
#: Most marks of a picture, and pixels of a block whose stored share is one mark.
MOST, BLOCK = 1600, 10.0
#: Rows of which all pointers are read at once, to find the rows of a few entries.
FEW_ROWS = 5_000_000


class Marks(NamedTuple):
    """Where a picture has ink, and what of.

    Attributes
    ----------
    boxes : list of tuple of float
        Left, top, width and height of each mark, as shares of the picture's sides.
    scale : float
        How many times as much the marks cover as what is stored does: 1 at true scale.
    each : float
        Stored values, or rows, that a mark stands for; 0 where that differs from mark to mark.
    words : str
        The same as a sentence.
    """

    boxes: list[tuple[float, float, float, float]]
    scale: float
    each: float
    words: str


def sides_of(parts: Parts) -> tuple[float, float]:
    """Width and height of a picture of ``SIDE`` pixels: as the array's, but never a sliver."""
    if not parts.rows or not parts.columns:
        return SIDE, round(SIDE / 3)
    ratio = min(3.0, max(1 / 3, parts.columns / parts.rows))
    return (SIDE, float(round(SIDE / ratio))) if ratio >= 1 else (float(round(SIDE * ratio)), SIDE)


def marks_of(parts: Parts, dot: float = DOT) -> Marks:
    """Give the marks of an array of at least one row and column: of a csr array dots, of a row_sparse one lines.

    A few stored values or rows are drawn one by one, each at its place.  Of more, each block of elements has one mark, as large
    as its stored share.  What would be too small to see is drawn larger, and then fewer marks stand for more.  Nowhere is more
    than ``scale`` times the stored share covered.  ``dot`` is the least side of a dot.
    """
    width, height = sides_of(parts)
    dots = parts.stype == "csr"
    count = len_of(parts.indices)
    if not count:
        return Marks([], 1.0, 0.0, "")
    tall, wide = height / parts.rows, width / parts.columns if dots else width
    size = _enlarged(wide, tall, dot) if dots else (width, max(tall, LINE))
    scale = size[0] * size[1] / (wide * tall)
    room = width * height * (LEAST[dots] if scale > 1 else 1.0)
    every, each = 1, 1.0
    if count <= MOST and count * size[0] * size[1] <= room * (1 + 1e-9):
        rows, columns = _places(parts)
        left = np.clip((columns + 0.5) * wide - size[0] / 2, 0, width - size[0]) if dots else np.zeros(count)
        top = np.clip((rows + 0.5) * tall - size[1] / 2, 0, height - size[1])
        boxes = [(x, y, *size) for x, y in zip(left.tolist(), top.tolist(), strict=True)]
    else:
        boxes, scale, every = _halftone(parts, (width, height), dot)
        each = count / len(boxes) if boxes and scale > 1 else 0.0
    shares = [(x / width, y / height, w / width, h / height) for x, y, w, h in boxes]
    words = scale_words(scale, each, parts.density, dots)
    if every > 1:
        words += f" The places are those of every {every}th stored {'value' if dots else 'row'}."
    return Marks(shares, scale, each, words)


def true_marks(parts: Parts) -> list[tuple[float, float, float, float]]:
    """The marks of an array at true scale, as shares of the picture's sides: they cover as much as is stored, however little.

    A mark is as large as one that is seen, and stands for what is stored around it.  Of less than one such mark, there is one
    of the right size.
    """
    width, height = sides_of(parts)
    boxes, _, _ = _halftone(parts, (width, height), 1.0, enlarged=False)
    if not boxes and parts.stored:
        left, top, _, _ = marks_of(parts).boxes[0]
        area = parts.density * width * height
        wide = math.sqrt(area) if parts.stype == "csr" else width
        boxes = [(left * width, top * height, wide, area / wide)]
    factor = parts.density * width * height / max(sum(w * h for _, _, w, h in boxes), 1e-300)  # what was too little for a mark
    across = math.sqrt(factor) if parts.stype == "csr" else 1.0
    boxes = [(x, y, w * across, h * factor / across) for x, y, w, h in boxes]
    return [(x / width, y / height, w / width, h / height) for x, y, w, h in boxes]


def rows_across(length: int) -> int:
    """How many rows of a weight stand in a line of the square that has all of them, line by line."""
    return math.isqrt(max(length, 1) - 1) + 1


def row_shades(rows: Array, shades: Array, length: int, most: int) -> tuple[Array, int]:
    """Shades of rows of a weight of this length as a grid of cells, and how many rows a cell is wide and high.

    The rows lie line by line in a square, which has at most ``most`` cells down and across; a cell has the mean of its rows,
    where rows that are not given count as 0.
    """
    across = rows_across(length)
    each = -(-across // most)
    cells = -(-across // each)
    places = rows // across // each * cells + rows % across // each
    grid: Array = np.bincount(places, shades, cells * cells).reshape(cells, cells) / each**2
    return grid, each


def row_marks(rows: Array, length: int) -> Marks:
    """Give the marks of rows of a weight of this length whose rows lie line by line in a square."""
    across = rows_across(length)
    pointers = np.searchsorted(rows, np.arange(across + 1) * across)
    marks = marks_of(Parts("csr", (across, across), "float32", "int64", rows, rows % across, pointers), ROW_DOT)
    words = scale_words(marks.scale, marks.each, len(rows) / max(1, length), True, "row")
    return marks._replace(words=words)


def _enlarged(wide: float, tall: float, dot: float) -> tuple[float, float]:
    """The sides of an element's dot: its own, or if one is too short to see, of the same area, or of the least area seen."""
    if min(wide, tall) >= dot:
        return wide, tall
    longer = max(dot, wide * tall / dot)
    return (dot, longer) if tall >= wide else (longer, dot)


def _places(parts: Parts) -> tuple[Array, Array]:
    """Row and column of each stored value, or row of each stored row."""
    count = len_of(parts.indices)
    indices = take_slice(parts.indices, 0, count)
    if parts.stype != "csr":
        return indices, np.zeros(count)
    if parts.rows > FEW_ROWS:
        return np.array([position(parts.indptr, parts.rows + 1, place) - 1 for place in range(count)]), indices
    return np.searchsorted(take_slice(parts.indptr, 0, parts.rows + 1), np.arange(count), side="right") - 1, indices


def _halftone(parts: Parts, sides: tuple[float, float], dot: float,
              enlarged: bool = True) -> tuple[list[tuple[float, float, float, float]], float, int]:  # fmt: skip
    """A mark for each block, as large as its stored share times a scale; the scale; and how many values one was counted of.

    What is too little to be seen is left to the next block.  No block has more than it can hold, so that of an array whose
    values lie together little is enlarged.
    """
    width, height = sides
    dots = parts.stype == "csr"
    grid = bin_density(parts, (math.ceil(height / BLOCK), math.ceil(width / BLOCK) if dots else 1))
    most = grid.height * grid.width / max(1, int(grid.counts.max(initial=1)))
    scale = max(1.0, min(LEAST[dots] / parts.density, most)) if enlarged else 1.0
    boxes: list[tuple[float, float, float, float]] = []
    least, left = dot * dot if dots else min(dot, LINE) * width, 0.0
    pixels = width * height / (parts.rows * parts.columns) * scale
    for i, counts in enumerate(grid.counts.tolist()):
        top, bottom = (min(1.0, place * grid.height / parts.rows) * height for place in (i, i + 1))
        for j in range(len(counts)) if i % 2 == 0 else reversed(range(len(counts))):
            start, end = (min(1.0, place * grid.width / parts.columns) * width for place in (j, j + 1))
            left += counts[j] * pixels
            if not counts[j] or left < least:
                continue
            area = min(left, (end - start) * (bottom - top))
            w = min(end - start, math.sqrt(area)) if dots else width
            h = min(bottom - top, area / w)
            w = min(end - start, area / h)
            left -= area
            # Spread evenly over the places that a mark can take in its block.
            x, y = ((len(boxes) * step) % 1 for step in (0.7549, 0.5698))
            boxes.append((start + x * (end - start - w), top + y * (bottom - top - h), w, h))
    return boxes, scale, grid.every


def scale_words(scale: float, each: float, density: float, dots: bool, noun: str = "value") -> str:
    """Say how much larger than true the marks are, and what each of them is; empty if there are none."""
    if not density:
        return ""
    mark, unit = ("dot", f"stored {noun}") if dots else ("line", "stored row")
    if scale < 1.05 and not each:
        return f"Drawn at true scale: each {mark} is as large as what is stored around it, {format_density(density)} in all."
    if scale < 1.05:
        return f"Drawn at true scale: {format_density(density)} of the picture is covered."
    times, larger = format_ratio(scale).removesuffix("×"), "size" if dots else "height"
    if each == 1:
        return f"Each {mark} is a {unit}, drawn {times} times its {larger}."
    return f"Each {mark} stands for about {format_count(round(each))} {unit}s, drawn {times} times their {larger}."
