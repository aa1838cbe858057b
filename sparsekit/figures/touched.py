"""The rows of a weight that one step touches, each at its place among all rows at true scale, and the bytes of the gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from ..base import checks
from ..base.entry import entries
from ..base.errors import ParameterError, ShapeError, expected
from ..base.formatting import counted, format_bytes, format_density, format_ratio
from .components import len_of, read_array, take_slice
from .drawing import add_rows
from .figure import Figure
from .layout import BESIDE, EDGE, NARROW, WIDE
from .marks import Cells, Dots, Line, Panel, Raster, Rect, Table, Text
from .text import clean, fit, text_width
from .true_scale import row_shades, rows_across

__all__ = ["touched_figure"]

#: Pixels of a square, what stands above it as a share of that, and of a row of bars.
SIDE, ABOVE, ROW = 430.0, 0.24, 30.0
#: Pixels of letters: of the bytes, or where a square has little room, and of the name.
LARGE, SMALLER, NAME = 44.0, 24.0, 14.0
#: Pixels of a page below which squares stand below each other.
NARROW_BELOW = 700.0
#: Rows of which each has a ring, radii of the ring in pixels, and cells of a square down and across in which more rows are drawn.
MOST_RINGS, RING, HOLE, CELLS = 400, 5.0, 3.4, 500


class Gradient(Protocol):
    """What is read of a gradient; of a row_sparse one, its components too."""

    @property
    def stype(self) -> str:
        """Its storage type."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    @property
    def nbytes(self) -> int:
        """Its bytes."""


class _Head(NamedTuple):
    """What stands above each square: pixels across, and of the letters of the bytes."""

    room: float
    size: float


class _Step(NamedTuple):
    """One step: its gradient's name and bytes, those that the step moves if known, and the stored rows; None: all."""

    name: str
    bytes: int
    moved: int | None
    stored: np.ndarray | None

    @property
    def kind(self) -> str:
        """The colour of the gradient."""
        return "dense" if self.stored is None else "sparse"


def touched_figure(steps: Mapping[str, Gradient | tuple[Gradient, float]], title: str = "") -> Figure:
    """Draw which rows of a weight the gradient of one step stores, for several kinds of gradients side by side.

    Every row of the weight has its position in a square, line by line, at true scale.  A dense gradient fills the square, and
    rings around few rows help to find them.

    Parameters
    ----------
    steps : mapping of str to NDArray, or to (NDArray, int)
        For each name, the weight's gradient, dense or row_sparse, of shape (rows, ...), and perhaps the bytes that the step
        moves: ``sum(record["bytes"] for record in prof.records)``.
    title : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ShapeError
        If the gradients have different sizes.
    """
    checked = _checked(steps)
    checks.text("title", title)
    length = _rows_of([gradient for gradient, _ in checked.values()])
    gradients = [_read(name, gradient, moved) for name, (gradient, moved) in checked.items()]
    counts = [length if step.stored is None else len(step.stored) for step in gradients]
    both = list(zip(gradients, counts, strict=True))
    said = [f"{step.name}: {count:,} of {length:,} rows, {format_bytes(step.bytes)}." for step, count in both]
    moves = all(step.moved is not None for step in gradients)
    columns = ("gradient", "stored rows", "bytes of the gradient", *(("bytes that a step moves",) if moves else ()))
    rows = [(step.name, f"{count:,}", format_bytes(step.bytes), *((format_bytes(step.moved),) if moves else ()))
            for step, count in both]  # fmt: skip
    figure = Figure(title or _title(gradients), " ".join(said),
                    table=Table(columns, rows, f"One step, a weight of {length:,} rows"))  # fmt: skip
    few = np.unique(np.concatenate([np.zeros(0, np.int64), *(step.stored for step in gradients if step.stored is not None)]))
    marked = few if 0 < len(few) <= MOST_RINGS and SIDE / rows_across(length) < RING else None
    across = rows_across(length)
    rings = " The rings only help to find the rows." if marked is not None else ""
    figure.notes = (f"Each square has the {counted(length, 'row')} of the weight, {across:,} in a line, at true scale.{rings}",)
    room = min(SIDE, (WIDE - 2 * EDGE - BESIDE * (len(gradients) - 1)) / len(gradients))
    figure.narrow, figure.narrow_below = replace(figure, panels=[], marks=[]), NARROW_BELOW
    for drawn, pixels in ((figure, room), (figure.narrow, min(SIDE, NARROW - 2 * EDGE))):
        wide = max(text_width(format_bytes(step.bytes), LARGE) for step in gradients)
        head = _Head(pixels, LARGE if wide < pixels else SMALLER)
        for place, (step, count) in enumerate(both):
            _square(drawn, place, step, length, head, f"{format_density(count / max(length, 1))} of the rows", marked)
        if moves:
            _moved(drawn, gradients)
    return figure


def _rows_of(gradients: list[Gradient]) -> int:
    """The rows of the weight: those of the row_sparse gradients, or of dense ones, whose shapes are the same."""
    shapes = [tuple(gradient.shape) for gradient in gradients]
    sparse = {gradient.shape[0] for gradient in gradients if gradient.stype == "row_sparse"}
    # The weight of a dense layer is turned where its gradient is row-sparse, so a dense gradient may have another shape.
    alike = len({math.prod(shape) for shape in shapes}) == 1 and len(sparse or set(shapes)) == 1
    if not alike or not all(shapes):
        raise ShapeError(f"The gradients must be of one weight with rows, got shapes {', '.join(map(str, shapes)) or 'of none'}.",
                         hint="give the gradients of one weight: {'dense': a.grad(), 'row-sparse': b.grad()}.")  # fmt: skip
    return min(sparse) if sparse else int(shapes[0][0])


def _checked(steps: object) -> dict[str, tuple[Gradient, float | None]]:  # object: what the user gave
    """Each gradient with the bytes that its step moves, or None."""
    checked = {}
    for name, step in checks.mapping_of("steps", steps, "gradients").items():
        pair = isinstance(step, (tuple, list)) and len(step) == 2
        gradient, moved = step if pair else (step, None)
        if not all(hasattr(gradient, attribute) for attribute in ("shape", "stype", "nbytes")):
            raise ParameterError(expected(f"steps[{name!r}]", "a gradient, or a pair of it and the bytes of the step", step),
                                 hint="weight.grad(), or (weight.grad(), 512), for example.")  # fmt: skip
        if pair:
            checks.amount_of(f"the bytes of steps[{name!r}]", moved, 0)
        if gradient.stype not in ("default", "row_sparse"):
            raise ParameterError(expected(f"steps[{name!r}]", "a dense or row_sparse gradient", gradient.stype),
                                 hint="tostype('row_sparse') converts an array.")  # fmt: skip
        checked[str(name)] = gradient, moved
    if len({moved is None for _, moved in checked.values()}) > 1:
        raise ParameterError("Some gradients come with the bytes that a step moves, and some without.",
                             hint="give the bytes of all, or of none.")  # fmt: skip
    return checked


def _read(name: str, gradient: Gradient, moved: float | None) -> _Step:
    size = None if moved is None else int(moved)
    if gradient.stype != "row_sparse":
        return _Step(name, int(gradient.nbytes), size, None)
    indices = read_array(gradient).indices
    return _Step(name, int(gradient.nbytes), size, take_slice(indices, 0, len_of(indices)).astype(np.int64))


def _title(steps: list[_Step]) -> str:
    sizes = [step.bytes if step.moved is None else step.moved for step in steps]
    most, least = max(sizes), min(sizes)
    if not 0 < least < most:
        return "What one step touches"
    words = "it has" if steps[0].moved is None else "a step moves"
    return f"{steps[sizes.index(least)].name}: {words} {format_ratio(most / least)} fewer bytes"


def _square(figure: Figure, panel: int, step: _Step, length: int, head: _Head, words: str, marked: np.ndarray | None) -> None:
    """One gradient: its bytes and name, and below them the rows that it stores; marked rows have rings in every square."""
    share = min(1.0, (head.room + BESIDE) / (WIDE - 2 * EDGE + BESIDE))
    figure.panels.append(Panel((0.0, 1.0), (-ABOVE, 1.0), SIDE * (1 + ABOVE), share=share, aspect=1 / (1 + ABOVE)))
    size = format_bytes(step.bytes)
    name = fit(clean(step.name), head.room, NAME)
    figure.add(Text(panel, step.kind, 0.0, -0.145, size, bold=True, size=head.size),
               Text(panel, "ink", 0.0, -0.035, name, bold=True, size=NAME),
               Text(panel, "muted", 1.0, -0.035, words, "end", room=1 - text_width(name, NAME) / head.room))  # fmt: skip
    across = rows_across(length)
    if step.stored is None:
        figure.add(Rect(panel, "dense", 0.0, 1.0, 0.0, 1.0, f"{step.name}: all {length:,} rows are stored"))
    elif marked is None and len(step.stored):
        figure.add(_shades(panel, step, length))
    if marked is not None:
        ink, ground = ("paper", "dense") if step.stored is None else ("sparse", "paper")
        rows = marked if step.stored is None else step.stored
        x, y = rows % across / across, rows // across / across
        middle = x + 0.5 / across, y + 0.5 / across
        figure.add(Dots(panel, ink, *middle, RING), Dots(panel, ground, *middle, HOLE))
        side = max(1 / across, 1 / SIDE)
        points = np.stack((x, np.minimum(x + side, 1.0), y, np.minimum(y + side, 1.0)), axis=1)
        figure.add(Cells(panel, ink, points, f"{step.name}: {len(rows):,} rows"))
    figure.add(Line(panel, "muted", [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], width=0.8))


def _shades(panel: int, step: _Step, length: int) -> Raster:
    """Many rows: each cell is as dark as the share of its rows that is stored."""
    stored = step.stored if step.stored is not None else np.zeros(0, np.int64)
    shades, each = row_shades(stored, np.ones(len(stored)), length, CELLS)
    end = len(shades) * each / rows_across(length)
    return Raster(panel, "sparse", 0.0, end, 0.0, end, shades, f"{step.name}: {len(stored):,} rows")


def _moved(figure: Figure, steps: list[_Step]) -> None:
    """What each step moves, on one scale."""
    largest = float(max([1, *(step.moved or 0 for step in steps)]))
    panel = add_rows(figure, ROW, largest, [(step.name, format_bytes(step.moved)) for step in steps], "Bytes that one step moves")
    for place, step in enumerate(steps):
        figure.add(Rect(panel, step.kind, 0.0, float(step.moved or 0), place + 0.18, place + 0.82,
                        f"{step.name}: a step moves {format_bytes(step.moved)}"))  # fmt: skip


entries(globals(), __all__)
