"""The rows of a weight that one step touches, each at its place among all rows, with the bytes that the step moves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np

from ..base.entry import entries
from ..base.errors import ParameterError, ShapeError, expected
from ..base.formatting import format_bytes, format_ratio
from .arguments import amount_of, mapping_of, text_of
from .components import len_of, read_array, take_slice
from .figure import Figure
from .marks import Axis, Cells, Line, Panel, Rect, Table
from .true_scale import Marks, row_marks

__all__ = ["touched_figure"]

COLUMNS = ("gradient", "stored rows", "bytes of the gradient", "bytes that a step moves")
#: Pixels.
SQUARE, ROW = 300.0, 30.0


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


class _Step(NamedTuple):
    """One step: its gradient's name, how many rows that stores, its bytes, those that the step moves; no marks: all rows."""

    name: str
    rows: int
    bytes: int
    moved: int
    marks: Marks | None

    @property
    def kind(self) -> str:
        """The colour of the gradient."""
        return "dense" if self.marks is None else "sparse"


def touched_figure(steps: Mapping[str, tuple[Gradient, float]], title: str = "") -> Figure:
    """Draw which rows of a weight the gradient of one step stores, for several kinds of gradients side by side.

    Every row of the weight has its position in a square, line by line.  A dense gradient fills the square.  A row-sparse one
    covers the share that it stores, or more where that would be too little to see; the finding says how much more.

    Parameters
    ----------
    steps : mapping of str to (NDArray, int)
        For each name, the weight's gradient, dense or row_sparse, of shape (rows, ...), and the bytes that the step moves:
        ``sum(record["bytes"] for record in prof.records)``.
    title : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ShapeError
        If the gradients have different sizes.
    """
    _check(steps)
    text_of("title", title)
    shapes = [gradient.shape for gradient, _ in steps.values()]
    if len({math.prod(shape) for shape in shapes}) != 1:
        raise ShapeError(f"The gradients must be of one weight, got shapes {shapes}.", hint="pass gradients of one size.")
    # The weight of a dense layer is turned where its gradient is row-sparse, so its rows are those of that gradient.
    length = next((gradient.shape[0] for gradient, _ in steps.values() if gradient.stype == "row_sparse"), shapes[0][0])
    found = [_read(str(name), gradient, moved, length) for name, (gradient, moved) in steps.items()]
    said = [f"The {one.name} stores {one.rows:,} of {length:,} rows, {format_bytes(one.bytes)}." for one in found]
    rows = [(one.name, f"{one.rows:,}", format_bytes(one.bytes), format_bytes(one.moved)) for one in found]
    figure = Figure(title or _title(found), " ".join([*said, *_scales(found)]),
                    table=Table(COLUMNS, rows, f"One step, a weight of {length:,} rows"))  # fmt: skip
    for place, one in enumerate(found):
        panel = Panel((0.0, 1.0), (0.0, 1.0), SQUARE, f"{one.name}: {one.rows:,} rows, {format_bytes(one.bytes)}",
                      1 / len(found), aspect=1.0)  # fmt: skip
        figure.panels.append(panel)
        boxes = one.marks.boxes if one.marks else [(0.0, 0.0, 1.0, 1.0)]
        figure.add(Cells(place, one.kind, np.array([(x, x + w, y, y + h) for x, y, w, h in boxes]).reshape(-1, 4)),
                   Line(place, "muted", [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], width=0.8))  # fmt: skip
    _moved(figure, found)
    across = math.ceil(math.sqrt(length))
    figure.notes = (f"Each square has the {length:,} rows of the weight, {across:,} in a line.",)
    return figure


def _check(steps: object) -> None:  # object: what the user gave
    for name, step in mapping_of("steps", steps, "(gradient, bytes)").items():
        if not isinstance(step, (tuple, list)) or len(step) != 2 or not all(hasattr(step[0], one) for one in ("shape", "stype")):
            raise ParameterError(expected(f"steps[{name!r}]", "a pair of a gradient and the bytes that the step moves", step),
                                 hint="(weight.grad(), 512), for example.")
        amount_of(f"the bytes of steps[{name!r}]", step[1], 0)


def _read(name: str, gradient: Gradient, moved: float, length: int) -> _Step:
    if gradient.stype != "row_sparse":
        return _Step(name, length, int(gradient.nbytes), int(moved), None)
    indices = read_array(gradient).indices
    rows = take_slice(indices, 0, len_of(indices))
    marks = row_marks(rows, length) if length else Marks([], 1.0, 0.0, "")
    return _Step(name, len(rows), int(gradient.nbytes), int(moved), marks)


def _title(steps: list[_Step]) -> str:
    most, least = max(steps, key=lambda step: step.moved), min(steps, key=lambda step: step.moved)
    if not 0 < least.moved < most.moved:
        return "What one step touches"
    return f"{least.name}: a step moves {format_ratio(most.moved / least.moved)} fewer bytes"


def _scales(steps: list[_Step]) -> list[str]:
    """How much larger than true the rows of each step are drawn; once where it is the same."""
    said = {step.name: step.marks.words for step in steps if step.marks and step.marks.words}
    if len(set(said.values())) == 1:
        return list(said.values())[:1]
    return [f"{name}: {words[0].lower()}{words[1:]}" for name, words in said.items()]


def _moved(figure: Figure, steps: list[_Step]) -> None:
    """What each step moves, on one scale."""
    panel, largest = len(figure.panels), float(max([1, *(step.moved for step in steps)]))
    title = "Bytes that one step moves"
    figure.panels.append(Panel((0.0, largest), (0.0, float(len(steps))), ROW * len(steps), title, rows=True))
    for place, step in enumerate(steps):
        figure.add(Rect(panel, step.kind, 0.0, float(step.moved), place + 0.18, place + 0.82,
                        f"{step.name}: a step moves {format_bytes(step.moved)}"))  # fmt: skip
    figure.add(Axis(panel, "left", ticks=tuple((place + 0.5, step.name) for place, step in enumerate(steps))),
               Axis(panel, "right", ticks=tuple((place + 0.5, format_bytes(step.moved)) for place, step in enumerate(steps))))


entries(globals(), __all__)
