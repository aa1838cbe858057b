"""Curves on one pair of axes, each with its colour, its dashes and its name, and a table with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .charts import DASHES, Line, Plot, key
from .display import Display
from .svg import Drawing, wrap
from .theme import MUTED, OTHER, SERIES

__all__ = ["curves_figure"]

WIDTH, HEIGHT = 860.0, 220.0
#: Rows that the table shows at most: the first, the last and some between.
MOST_ROWS = 9


def curves_figure(curves: Mapping[str, Sequence[Any]], title: str = "", x: str = "step", finding: str = "") -> Display:
    """Draw curves over their positions, 0, 1, 2, ...

    Parameters
    ----------
    curves : mapping of str to sequence of numbers
        Name -> values; one that is None or not finite leaves a gap.
    title : str, optional
    x : str
        What the positions are.
    finding : str, optional
        What the picture shows, in a sentence; by default where each curve ends.

    Returns
    -------
    Display
    """
    lines = [Line(str(name), [_value(value) for value in values], SERIES[i] if i < len(SERIES) else OTHER)
             for i, (name, values) in enumerate(curves.items())]
    length = max((len(line.values) for line in lines), default=0)
    lines = [line._replace(values=[*line.values, *[None] * (length - len(line.values))]) for line in lines]
    alt = str(finding) or "; ".join(f"{line.name} ends at {_write(line.values[-1])}" for line in lines if length) + "."
    drawing = Drawing(WIDTH)
    drawing.text(20, 30, str(title) or "Curves", size=17, font_weight="bold")
    words = wrap(alt, WIDTH - 40, 12.5, 3)
    for i, text in enumerate(words):
        drawing.text(20, 51 + 17 * i, text, size=12.5, fill=MUTED)
    top = 51 + 17 * len(words) + 14
    known = [value for line in lines for value in line.values if value is not None]
    if known:
        low, high = min(known), max(known)
        room = (high - low) * 0.05 or 0.5
        plot = Plot(drawing, (76.0, top, WIDTH - 110, HEIGHT), (0.0, max(length - 1, 1)), (low - room, high + room))
        plot.axes("", _write, lambda place: f"{place:g}")
        for i, line in enumerate(lines):
            plot.curve(range(length), line, DASHES[i % len(DASHES)])
    drawing.text(76, top + HEIGHT + 34, str(x), size=11.5, fill=MUTED)
    bottom = key(drawing, lines, 76, top + HEIGHT + 58)
    return Display(drawing.finish(bottom, alt), alt, (str(x), *(line.name for line in lines)), _rows(lines, length))


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
