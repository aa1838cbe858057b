"""Marks, the parts of a figure: each is in the data units of the panel that it stands in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ..base.errors import ParameterError, expected
from ..base.tables import folded, html_table, text_table
from .text import clean

#: How a table is written, for hints.
EXAMPLE = "Table(('name', 'bytes'), [('a', 8)]), for example."

Numbers: TypeAlias = Sequence[float] | np.ndarray


class Panel(NamedTuple):
    """A rectangle with scales.

    Panels stand below each other, or side by side as far as their shares of the width sum up to 1; on a narrow page all stand
    below each other.  A panel ``within`` another covers a part of it instead.

    Attributes
    ----------
    x, y : pair of float
        The values at the left and the right edge, and at the top and the bottom edge.
    height : float
        Pixels.
    title : str
        Written above the panel.
    share : float
        Of the width of the page.
    log_x, log_y : bool
        Whether the scale is logarithmic.
    aspect : float
        Width over height; ``height`` is then the most that the panel takes.  0 is for any.
    rows : bool
        Whether each whole number of ``y`` begins a row.  On a narrow page, labels of rows stand above them.
    zooms : bool
        Whether a reader of a live view may zoom and pan along x.
    within : tuple, optional
        ``(panel, left, right, top, bottom)``: number of the panel that this one covers, and where, in that panel's units.
    framed : bool
        Whether the panel has a frame and a ground of its own.
    magnifies : int
        Number of the panel of which this one shows a part; it is then written how many times as wide it is drawn.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    height: float
    title: str = ""
    share: float = 1.0
    log_x: bool = False
    log_y: bool = False
    aspect: float = 0.0
    rows: bool = False
    zooms: bool = False
    within: tuple[int, float, float, float, float] | None = None
    framed: bool = False
    magnifies: int = -1


class Rect(NamedTuple):
    """A rectangle; ``title`` is shown at the pointer, marks of the same ``key`` belong together, ``label`` stands inside."""

    panel: int
    kind: str
    x0: float
    x1: float
    y0: float
    y1: float
    title: str = ""
    key: str = ""
    label: str = ""


class Cells(NamedTuple):
    """Many rectangles of one kind as one mark: ``boxes`` has a row ``x0, x1, y0, y1`` for each."""

    panel: int
    kind: str
    boxes: np.ndarray
    title: str = ""
    key: str = ""


class Raster(NamedTuple):
    """A grid of cells in shades of one colour: ``shades`` (down x across, 0 to 1) fill the rectangle, the first row at ``y0``."""

    panel: int
    kind: str
    x0: float
    x1: float
    y0: float
    y1: float
    shades: np.ndarray
    title: str = ""
    key: str = ""


class Area(NamedTuple):
    """What lies between two lines: stepped where ``x`` has one place more than ``low`` and ``high``, and straight otherwise."""

    panel: int
    kind: str
    x: Numbers
    low: Numbers
    high: Numbers
    title: str = ""
    key: str = ""


class Line(NamedTuple):
    """A line, with gaps where ``y`` is not finite; ``dash`` is a place in ``palette.DASHES``, and ``label`` stands at its end."""

    panel: int
    kind: str
    x: Numbers
    y: Numbers
    title: str = ""
    key: str = ""
    label: str = ""
    dash: int = 0
    width: float = 1.2
    arrow: bool = False


class Dots(NamedTuple):
    """Dots as one mark; ``radius`` is in pixels."""

    panel: int
    kind: str
    x: Numbers
    y: Numbers
    radius: float = 3.0
    title: str = ""
    key: str = ""


class Text(NamedTuple):
    """Text whose middle, or whose end by ``anchor`` (start, middle, end), is at a place.

    Attributes
    ----------
    kind : str
        "ink" or "muted", or "on dense" and the like for letters on a mark of that kind.
    room : float
        Width in data units; the text is left out if it is wider.
    size : float
        Pixels; 0 is the size of labels.
    """

    panel: int
    kind: str
    x: float
    y: float
    text: str
    anchor: str = "start"
    bold: bool = False
    room: float = float("inf")
    size: float = 0.0


class Axis(NamedTuple):
    """Labels along a side ("left", "right" or "bottom") of a panel: those in ``ticks``, or round numbers of a ``unit``.

    Attributes
    ----------
    unit : str
        A name in ``text.UNITS``; "time" is in nanoseconds.
    ticks : tuple of (float, str)
        Places and their labels; used if there is no unit.
    label : str
        What the axis is; written at its end.
    grid : bool
        Whether lines across the panel go with the labels.
    """

    panel: int
    side: str
    unit: str = ""
    ticks: tuple[tuple[float, str], ...] = ()
    label: str = ""
    grid: bool = True


#: What is drawn in a colour of its own, and may have words at the pointer and a key.
Shape: TypeAlias = Rect | Cells | Raster | Area | Line | Dots
Mark: TypeAlias = Shape | Text | Axis


class Table:
    """The content of a figure as a table.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequences
        Cells, as they are shown.
    caption : str, optional

    Attributes
    ----------
    columns, rows, caption
        The arguments, as text.
    """

    def __init__(self, columns: Sequence[object] = (), rows: Iterable[Sequence[object]] = (), caption: str = "") -> None:
        for name, value in (("columns", columns), ("rows", rows)):
            if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
                raise ParameterError(expected(name, "a sequence", value), hint=EXAMPLE)
        self.columns = tuple(clean(name, 80) for name in columns)
        self.rows: list[tuple[str, ...]] = []
        for row in rows:
            if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
                raise ParameterError(expected("A row", "a sequence of cells", row), hint=EXAMPLE)
            self.rows.append(tuple(clean(cell, 2000) for cell in row))
        self.caption = clean(caption, 500)

    @property
    def html(self) -> str:
        """The table as HTML."""
        return html_table(self.columns, self.rows, self.caption)

    @property
    def folded(self) -> str:
        """The table as HTML, folded; empty for a table without columns."""
        return folded(self.html) if self.columns else ""

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return text_table(self.columns, self.rows) if self.columns else "Table()"
