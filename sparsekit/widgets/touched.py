"""The rows of a weight that one step touches, each at its place among all rows, with the bytes that the step moves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ..base.errors import ShapeError
from ..base.formatting import format_bytes, format_ratio
from ..figures.components import len_of, read_array, take_slice
from ..figures.true_scale import Marks, row_marks
from .display import Display
from .svg import Drawing, fit, heading, is_narrow, page_width
from .theme import INK, LINE, MUTED, PAPER, SERIES, STRIPE

__all__ = ["touched_figure"]

COLUMNS = ("gradient", "stored rows", "bytes of the gradient", "bytes that a step moves")


class _Gradient(Protocol):
    """What is read of a gradient; of a row_sparse one, its components too."""

    @property
    def stype(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def nbytes(self) -> int: ...


class _Step(NamedTuple):
    """One step: its gradient's name, the rows that it stores (None: all), its bytes, and the bytes that the step moves."""

    name: str
    rows: np.ndarray | None
    bytes: int
    moved: int
    marks: Marks | None


def touched_figure(steps: Mapping[str, tuple[_Gradient, float]], title: str = "") -> Display:
    """Draw which rows of a weight the gradient of one step stores, for several kinds of gradients side by side.

    Every row of the weight has its position in a square, line by line.  A dense gradient fills the square.  A row-sparse one
    covers the share that it stores, or more where that would be too little to see; picture and finding say how much more.

    Parameters
    ----------
    steps : mapping of str to (NDArray, int)
        For each name, the weight's gradient, dense or row_sparse, of shape (rows, ...), and the bytes that the step moves:
        ``sum(record["bytes"] for record in prof.records)``.
    title : str, optional

    Returns
    -------
    Display
        The picture and a table with one line for each gradient.

    Raises
    ------
    ShapeError
        If the gradients have different sizes.
    """
    shapes = [gradient.shape for gradient, _ in steps.values()]
    if len({math.prod(shape) for shape in shapes}) != 1:
        raise ShapeError(f"The gradients must be of one weight, got shapes {shapes}.", hint="pass gradients of one size.")
    # The weight of a dense layer is turned where its gradient is row-sparse, so its rows are those of that gradient.
    length = next((gradient.shape[0] for gradient, _ in steps.values() if gradient.stype == "row_sparse"), shapes[0][0])
    found = [_read(str(name), gradient, moved, length) for name, (gradient, moved) in steps.items()]
    finding = _finding(found, length)
    rows = [(step.name, f"{_count(step, length):,}", format_bytes(step.bytes), format_bytes(step.moved)) for step in found]
    return Display(lambda: _picture(found, length, title or _title(found), finding), finding, COLUMNS, rows,
                   f"One step, a weight of {length:,} rows")


def _read(name: str, gradient: _Gradient, moved: float, length: int) -> _Step:
    rows = marks = None
    if gradient.stype == "row_sparse":
        indices = read_array(gradient).indices
        rows = take_slice(indices, 0, len_of(indices))
        marks = row_marks(rows, length) if length else None
    return _Step(name, rows, int(gradient.nbytes), int(moved), marks)


def _count(step: _Step, length: int) -> int:
    return length if step.rows is None else len(step.rows)


def _title(steps: Sequence[_Step]) -> str:
    most, least = max(steps, key=lambda step: step.moved), min(steps, key=lambda step: step.moved)
    if not 0 < least.moved < most.moved:
        return "What one step touches"
    return f"{least.name}: a step moves {format_ratio(most.moved / least.moved)} fewer bytes"


def _finding(steps: Sequence[_Step], length: int) -> str:
    return " ".join([_stored(steps, length), *_scales(steps)])


def _stored(steps: Sequence[_Step], length: int) -> str:
    return " ".join(f"The {step.name} stores {_count(step, length):,} of {length:,} rows, "
                    f"{format_bytes(step.bytes)}." for step in steps)


def _scales(steps: Sequence[_Step]) -> list[str]:
    """How much larger than true the rows of each step are drawn; once where it is the same."""
    said = {step.name: step.marks.words for step in steps if step.marks and step.marks.words}
    if len(set(said.values())) == 1:
        return list(said.values())[:1]
    return [f"{name}: {words[0].lower()}{words[1:]}" for name, words in said.items()]


def _picture(steps: Sequence[_Step], length: int, title: str, finding: str) -> str:
    drawing = Drawing(page_width())
    top = heading(drawing, title, _stored(steps, length), 3) + 8
    wide = (drawing.width - 40 - 24 * (len(steps) - 1)) / max(1, len(steps))
    side = min(300.0, wide)
    largest = max((step.moved for step in steps), default=0) or 1
    for i, step in enumerate(steps):
        _column(drawing, step, length, 20 + (wide + 24) * i, top, (wide, side), largest)
    across = math.ceil(math.sqrt(length))
    words = (f"The square shows the {length:,} rows of the weight, {across:,} in a line. "
             f"The bars have one scale.")
    y = top + side + 88
    for line in [*_scales(steps), words]:
        y = drawing.note(y, line)
    return drawing.finish(y - 4, finding)


def _column(drawing: Drawing, step: _Step, length: int, x: float, y: float, room: tuple[float, float], largest: int) -> None:
    """One gradient: its name, its rows, and below them what the step moves."""
    wide, side = room
    drawing.text(x, y + 10, fit(step.name, wide, 14), size=14, font_weight="bold")
    y += 18
    drawing.rect(x, y, side, side, PAPER if step.rows is not None else SERIES[0], stroke=LINE)
    if step.marks:
        drawing.boxes([(x + left * side, y + top * side, w * side, h * side) for left, top, w, h in step.marks.boxes], SERIES[0])
    if not is_narrow():
        words = (f"{_count(step, length):,} rows", f"{format_bytes(step.bytes)} gradient")
        for i, line in enumerate(words):
            drawing.text(x + side + 12, y + 16 + 18 * i, fit(line, wide - side - 12, 13), size=13, fill=MUTED)
    y += side + 12
    drawing.rect(x, y, wide, 12, STRIPE, rx=2.0)
    drawing.rect(x, y, max(1.0, wide * step.moved / largest), 12, SERIES[1], rx=1.0)
    drawing.text(x, y + 32, f"moves {format_bytes(step.moved)}", size=16, font_weight="bold", fill=INK)
