"""Curves on one pair of axes, told apart by dashes and names, and a table with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..base import checks
from ..base.entry import entries
from ..base.formatting import format_value
from .figure import Figure
from .marks import Axis, Line, Panel, Table
from .palette import series
from .text import clean

__all__ = ["curves_figure"]

#: Pixels.
HEIGHT = 220.0
#: Rows that the table shows at most: the first, the last and some between.
MOST_ROWS = 9


def curves_figure(curves: Mapping[str, Sequence[Any]], title: str = "", x: str = "step", finding: str = "") -> Figure:
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

    Returns
    -------
    Figure
    """
    title, x, finding = checks.text("title", title), checks.text("x", x), checks.text("finding", finding)
    lines = {str(name): [_value(value) for value in checks.values_of(f"curves[{name!r}]", values)]
             for name, values in checks.mapping_of("curves", curves, "[0.7, 0.5]").items()}  # fmt: skip
    length = max((len(values) for values in lines.values()), default=0)
    lines = {name: [*values, *[math.nan] * (length - len(values))] for name, values in lines.items()}
    finite = [value for values in lines.values() for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    ends = {name: next((value for value in reversed(values) if math.isfinite(value)), math.nan) for name, values in lines.items()}
    words = "; ".join(f"{clean(name)} ends at {_write(end)}" for name, end in ends.items() if math.isfinite(end))
    said = finding or (f"{words}." if words else "No curve has a value.")
    table = Table((x, *lines), _rows(lines, length))
    figure = Figure(title or "Curves", said, [Panel((0.0, float(max(length - 1, 1))), (high + room, low - room), HEIGHT)],
                    [Axis(0, "left", "number"), Axis(0, "bottom", "count", label=x)], table)  # fmt: skip
    for place, (name, values) in enumerate(lines.items()):
        kind, dash = series(place)
        words = f"{name}: {_write(ends[name])} at the end" if math.isfinite(ends[name]) else name
        figure.add(Line(0, kind, range(length), values, words, f"curve {place}", name, dash, 2.0))
    return figure


def _value(value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _write(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else ""


def _rows(lines: Mapping[str, Sequence[float]], length: int) -> list[tuple[str, ...]]:
    places = sorted({round(i * (length - 1) / (MOST_ROWS - 1)) for i in range(MOST_ROWS)}) if length else []
    return [(format_value(place), *(_write(values[place]) for values in lines.values())) for place in places]


entries(globals(), __all__)
