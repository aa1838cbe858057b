"""Curves on one pair of axes, each with its colour, its dashes and its name, and a table with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from .charts import Line
from .display import Display
from .plots import Sheet, drawing_on, lines_on, number_axis, plain_text
from .svg import is_narrow, page_width
from .theme import OTHER, SERIES

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes

__all__ = ["curves_figure"]

#: Pixels.
HEIGHT = 220.0
#: Rows that the table shows at most: the first, the last and some between.
MOST_ROWS = 9


@overload
def curves_figure(curves: Mapping[str, Sequence[Any]], title: str = ..., x: str = ..., finding: str = ...,
                  ax: None = ...) -> Display: ...
@overload
def curves_figure(curves: Mapping[str, Sequence[Any]], title: str = ..., x: str = ..., finding: str = ..., *,
                  ax: Axes) -> Axes: ...
def curves_figure(curves: Mapping[str, Sequence[Any]], title: str = "", x: str = "step", finding: str = "",
                  ax: Axes | None = None) -> Display | Axes:
    """Draw curves over their positions, 0, 1, 2, ...

    Parameters
    ----------
    curves : mapping of str to sequence of numbers
        Values of each curve by name.  None and values that are not finite leave gaps.
    title : str, optional
    x : str
        Label of the horizontal axis.
    finding : str, optional
        Sentence that describes the picture.  The default gives the last value of each curve.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, in their own style.

    Returns
    -------
    Display or matplotlib.axes.Axes
        ``ax`` where it is given.

    Raises
    ------
    MissingPackageError
        If matplotlib is not installed.
    """
    lines = [Line(str(name), [_value(value) for value in values], SERIES[i] if i < len(SERIES) else OTHER)
             for i, (name, values) in enumerate(curves.items())]
    length = max((len(line.values) for line in lines), default=0)
    lines = [line._replace(values=[*line.values, *[None] * (length - len(line.values))]) for line in lines]
    with drawing_on(ax) as matplotlib:
        if ax is not None:
            ax.set_title(plain_text(title))
            return _draw(matplotlib, ax, lines, length, x)
    alt = str(finding) or "; ".join(f"{line.name} ends at {_write(line.values[-1])}" for line in lines if length) + "."
    return Display(lambda: _picture(lines, length, str(x), str(title) or "Curves", alt), alt,
                   (str(x), *(line.name for line in lines)), _rows(lines, length))


def _picture(lines: Sequence[Line], length: int, x: str, title: str, alt: str) -> str:
    columns = 1 if is_narrow() else 3
    rows = -(-len(lines) // columns)
    with drawing_on() as matplotlib:
        sheet = Sheet(matplotlib, page_width(), title, alt, HEIGHT + 78 + 22 * rows)
        _draw(matplotlib, sheet.axes(66, 14, sheet.width - 100, HEIGHT), lines, length, x, columns, legend_below=True)
        return sheet.finish()


def _draw(matplotlib: ModuleType, ax: Axes, lines: Sequence[Line], length: int, x: str, columns: int = 1,
          legend_below: bool = False) -> Axes:  # fmt: skip
    lines_on(ax, range(length), lines)
    ax.margins(x=0 if length > 1 else 0.05)
    number_axis(matplotlib, ax.yaxis, _write)
    number_axis(matplotlib, ax.xaxis, lambda place: f"{place:g}", 4 if is_narrow() else 11, whole=True)
    ax.set_xlabel(plain_text(x), loc="left")
    if lines:
        below = {"loc": "upper left", "bbox_to_anchor": (-0.01, -0.2), "ncols": columns} if legend_below else {}
        ax.legend(**below)
    return ax


def _value(value: float) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _write(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _rows(lines: Sequence[Line], length: int) -> list[tuple[str, ...]]:
    places = sorted({round(i * (length - 1) / (MOST_ROWS - 1)) for i in range(MOST_ROWS)}) if length else []
    return [(str(place), *(_write(line.values[place]) for line in lines)) for place in places]
