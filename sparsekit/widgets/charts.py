"""Lines over an axis, linear or logarithmic, each with its colour, its dashes and its name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..base.formatting import number
from .layout import ticks
from .svg import Drawing, fit, text_width
from .theme import INK, MUTED, PAPER

__all__ = ["DASHES", "Line", "Plot", "decades"]

#: The second channel beside colour, in the order of the lines.
DASHES = (None, "7 4", "2 3", "10 3 2 3", "4 4", "1 4")


class Line(NamedTuple):
    """One curve; a value of None leaves a gap."""

    name: str
    values: Sequence[float | None]
    color: str


def decades(low: float, high: float, most: int = 9) -> list[float]:
    """Powers of ten from ``low`` to ``high``, at most ``most`` of them; twos and fives where there is but one."""
    if not (0 < low <= high and math.isfinite(high)):
        return []
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first < 1:
        power = math.floor(math.log10(low))
        return [f * 10.0**p for p in (power, power + 1, power + 2) for f in (1, 2, 5) if low <= f * 10.0**p <= high][:most]
    step = max(1, -(-(last - first + 1) // most))
    return [10.0**power for power in range(first, last + 1, step)]


class Plot:
    """A plane with axes on a drawing.

    Parameters
    ----------
    drawing : Drawing
    box : tuple of four floats
        Left, top, width, height of the plane, in pixels.
    across, up : tuple of two floats
        What the axes span; of no extent, they are widened.
    logarithmic : tuple of two bools
        Which of the axes are; their spans must then be positive, or they are made so.
    """

    def __init__(self, drawing: Drawing, box: tuple[float, float, float, float], across: tuple[float, float],
                 up: tuple[float, float], logarithmic: tuple[bool, bool] = (False, False)) -> None:  # fmt: skip
        self.drawing, self.box, self.logarithmic = drawing, box, logarithmic
        self.across, self.up = (self._span(span, log) for span, log in zip((across, up), logarithmic, strict=True))

    @staticmethod
    def _span(span: tuple[float, float], log: bool) -> tuple[float, float]:
        low, high = sorted((number(span[0]), number(span[1], 1.0)))
        if log:
            low = low if low > 0 else (high / 1e6 if high > 0 else 1.0)
            return (low, high) if high > low * 1.0001 else (low / 2, low * 2)
        return (low, high) if high > low else (low, low + 1.0)

    def _share(self, value: float, axis: int) -> float:
        low, high = (self.across, self.up)[axis]
        if self.logarithmic[axis]:
            return math.log(max(value, low * 1e-9) / low) / math.log(high / low)
        return (value - low) / (high - low)

    def x(self, value: float) -> float:
        """Pixels from the left of the drawing, kept within the plane."""
        return self.box[0] + self.box[2] * min(max(self._share(value, 0), 0.0), 1.0)

    def y(self, value: float) -> float:
        """Pixels from the top of the drawing, kept within the plane."""
        return self.box[1] + self.box[3] * (1 - min(max(self._share(value, 1), 0.0), 1.0))

    def _ticks(self, axis: int, most: int) -> list[float]:
        low, high = (self.across, self.up)[axis]
        if self.logarithmic[axis]:
            return decades(low, high, most)
        found = ticks(high - low, most)
        step = found[1] if len(found) > 1 else high - low
        first = math.ceil(low / step - 1e-6)
        return [step * i for i in range(first, math.floor(high / step + 1e-6) + 1)]

    def axes(self, title: str, label: Callable[[float], str], below: Callable[[float], str], note: str = "") -> None:
        """Draw heading, levels and ticks."""
        drawing, (left, top, width, height) = self.drawing, self.box
        drawing.text(left, top - 12, title, size=13.5, font_weight="bold")
        if note:
            drawing.text(left + width, top - 12, note, size=11, fill=MUTED, text_anchor="end")
        for level in self._ticks(1, 5):
            y = self.y(level)
            drawing.line(left, y, left + width, y, stroke_width=0.7)
            drawing.text(left - 6, y + 4, label(level), size=10.5, fill=MUTED, text_anchor="end")
        for tick in self._ticks(0, max(2, int(width / 70))):
            drawing.text(self.x(tick), top + height + 15, below(tick), size=10.5, fill=MUTED, text_anchor="middle")
        drawing.line(left, top + height, left + width, top + height, stroke=MUTED)

    def curve(self, places: Sequence[float], line: Line, dash: str | None, weight: float = 2.2) -> None:
        """Draw one curve, with gaps at missing values."""
        path, pen = [], "M"
        for place, value in zip(places, line.values, strict=True):
            if value is None or not math.isfinite(value):
                pen = "M"
                continue
            path.append(f"{pen}{self.x(place):.1f} {self.y(value):.1f}")
            pen = "L"
        if len(path) == 1:
            x, y = path[0][1:].split(" ")
            self.drawing.add("circle", cx=float(x), cy=float(y), r=3.0, fill=line.color)
        elif path:
            self.drawing.add("path", d="".join(path), fill="none", stroke=line.color, stroke_width=weight,
                             stroke_dasharray=dash, stroke_linejoin="round")  # fmt: skip

    def mark(self, place: float, words: str, row: int = 0) -> None:
        """Draw a line up at ``place``, with words beside it."""
        left, top, width, height = self.box
        x = self.x(place)
        self.drawing.line(x, top, x, top + height, stroke=INK, stroke_width=1.1, stroke_dasharray="4 3")
        right = x + text_width(words, 11) + 8 < left + width
        # The paper around the letters covers the lines that they cross.
        self.drawing.text(x + 5 if right else x - 5, top + height - 8 - 15 * row, words, size=11, font_weight="bold",
                          text_anchor=None if right else "end", paint_order="stroke", stroke=PAPER, stroke_width=4.0)  # fmt: skip


def key(drawing: Drawing, lines: Sequence[Line], x: float, y: float, values: Sequence[Any] = ()) -> float:
    """Draw what each curve is, side by side as far as there is room; give where that ends."""
    first = x
    for i, line in enumerate(lines):
        words = fit(f"{line.name}{': ' + str(values[i]) if values else ''}", 300, 12)
        if x > first and x + 36 + text_width(words, 12) > drawing.width - 12:
            x, y = first, y + 20
        drawing.line(x, y - 4, x + 30, y - 4, stroke=line.color, stroke_width=2.6, stroke_dasharray=DASHES[i % len(DASHES)])
        drawing.text(x + 36, y, words, size=12)
        x += 36 + text_width(words, 12) + 18
    return y + 18
