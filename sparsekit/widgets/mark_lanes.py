"""Paints instants as labelled signs and counters as step lines, in lanes of their own below the operators."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.formatting import format_count, format_value
from .lanes import LanePainter
from .layout import Window
from .marks import COUNTER, DENSE, MARKER, Mark, Series
from .svg import Drawing, fit, is_narrow, text_width, wrap
from .theme import ALARM, INK, LINE, MUTED, STRIPE

__all__ = ["MarkLanes", "heights", "left_out"]

SIGN_ROW, COUNTER_ROW = 24.0, 40.0
#: Counters that a picture draws, and markers whose time it marks across all lanes.
MOST_COUNTERS, MOST_LINES = 6, 12


class MarkLanes:
    """The lanes of marks of one stretch of time in a drawing.

    Parameters
    ----------
    drawing : Drawing
    painter : LanePainter
        The stretch that they share with the operators.
    right : float
        Where what is said of a lane begins, and ``end`` where it ends.
    """

    def __init__(self, drawing: Drawing, painter: LanePainter, right: float, end: float) -> None:
        self.drawing, self.painter, self.right, self.end = drawing, painter, right, end

    def signs(self, marks: Sequence[Mark], y: float, striped: bool = False) -> float:
        """Draw a lane of markers and one of arrays that became dense, where there are any; give where they end."""
        for kind in (MARKER, DENSE):
            found = within(marks, kind, self.painter.window)
            if found:
                self._head("densified" if kind == DENSE else "markers", y, SIGN_ROW, striped)
                self._signs(found, y + SIGN_ROW / 2)
                self.drawing.text(self.right, y + SIGN_ROW / 2 + 4.5, f"{format_count(len(found))}×", size=12, fill=MUTED)
                y, striped = y + SIGN_ROW, not striped
        return y

    def lines(self, marks: Sequence[Mark], top: float, bottom: float) -> None:
        """Mark the times of the markers across the lanes of operators, unless there are too many."""
        found = within(marks, MARKER, self.painter.window)
        for mark in found if len(found) <= MOST_LINES else ():
            x = self.painter.x(mark.time)
            self.drawing.line(x, top, x, bottom, stroke=INK, stroke_width=0.8, stroke_dasharray="2 3")

    def counters(self, series: Sequence[Series], y: float, striped: bool = False) -> float:
        """Draw the first few counters, each as a step line between its extremes; give where they end."""
        for one in series[:MOST_COUNTERS]:
            self._head(one.name, y, COUNTER_ROW, striped)
            if one.values:
                self._steps(one, y + 5, COUNTER_ROW - 11)
                self._extremes(one, y)
            y, striped = y + COUNTER_ROW, not striped
        return y

    def _head(self, name: str, y: float, height: float, striped: bool) -> None:
        if striped:
            self.drawing.rect(12, y, self.end - 8, height, STRIPE, rx=3.0)
        lines = wrap(" ".join(name.split()), self.painter.left - 20, 12, 2 if height > SIGN_ROW else 1)
        for i, line in enumerate(lines):
            middle = y + height / 2 + 4.5 + 14 * (i - (len(lines) - 1) / 2)
            self.drawing.text(self.painter.left - 10, middle, line, size=12, text_anchor="end")

    def _signs(self, marks: Sequence[Mark], y: float) -> None:
        places = [self.painter.x(mark.time) for mark in marks]
        end = self.painter.left + self.painter.width
        drawn = -10.0
        for i, (mark, x) in enumerate(zip(marks, places, strict=True)):
            # Whatever comes within the same few pixels would be painted over itself.
            if x - drawn < 3:
                continue
            drawn = x
            self._sign(mark.kind, x, y)
            after = next((place for place in places[i + 1:] if place - x >= 3), end)
            label = fit(mark.name, min(after, end) - x - 16, 11.5)
            if len(label) > 2 or label == mark.name:
                self.drawing.text(x + 8, y + 4, label, size=11.5)

    def _sign(self, kind: str, x: float, y: float) -> None:
        """A diamond for a marker, a triangle for an array that became dense: which differ in shape, not only in colour."""
        path = f"M{x - 6:.2f} {y - 5:.2f}h12l-6 11z" if kind == DENSE else f"M{x:.2f} {y - 6:.2f}l5 6l-5 6l-5 -6z"
        self.drawing.add("path", d=path, fill=ALARM if kind == DENSE else INK, stroke=INK, stroke_width=0.8)

    def _steps(self, series: Series, y: float, height: float) -> None:
        painter, window = self.painter, self.painter.window
        least, most = min(series.values), max(series.values)
        scale = height / (most - least) if 0 < most - least < float("inf") else 0.0

        def at(value: float) -> float:
            return y + (height - (value - least) * scale if scale else height / 2)

        steps: list[str] = []
        for x, low, high, last in _columns(series, painter):
            # The lowest and highest value of a column of pixels are kept, however many values it has.
            turn = f"V{at(low):.2f}V{at(high):.2f}V{at(last):.2f}" if low < high else f"V{at(last):.2f}"
            steps.append(f"H{x:.2f}{turn}" if steps else f"M{x:.2f} {at(last):.2f}")
        if steps:
            end = painter.x(window.end)
            self.drawing.add("path", d=f"{''.join(steps)}H{end:.2f}", fill="none", stroke=INK, stroke_width=1.6)
            self.drawing.line(painter.left, y + height + 3, painter.left + painter.width, y + height + 3, stroke=LINE)

    def _extremes(self, series: Series, y: float) -> None:
        room = self.end - self.right
        words = series.say(series.values[-1])
        if is_narrow():
            self.drawing.text(self.right, y + 22, next((fit(part, room, 11) for part in (words, words.split()[0])
                                                        if text_width(part, 11) <= room), ""), size=11)  # fmt: skip
            return
        self.drawing.text(self.right, y + 17, fit(f"last {words}", room, 12), size=12)
        least, most = min(series.values), max(series.values)
        if least < most:
            words = fit(f"{format_value(least)} to {format_value(most)}", room, 11)
            self.drawing.text(self.right, y + 32, words, size=11, fill=MUTED)


def within(marks: Sequence[Mark], kind: str, window: Window) -> list[Mark]:
    """The marks of one kind that fall into a stretch of time."""
    return [mark for mark in marks if mark.kind == kind and window.start <= mark.time <= window.end]


def _columns(series: Series, painter: LanePainter) -> list[tuple[float, float, float, float]]:
    """Place, lowest, highest and last value of each column of pixels; what was set before the stretch begins it."""
    found: list[tuple[float, float, float, float]] = []
    for time, value in zip(series.times, series.values, strict=True):
        if time > painter.window.end:
            break
        x = round(painter.x(time), 1)
        if time < painter.window.start:
            found = [(painter.left, value, value, value)]
        elif found and x - found[-1][0] < 0.7:
            place, low, high, _ = found[-1]
            found[-1] = (place, min(low, value), max(high, value), value)
        else:
            found.append((x, value, value, value))
    return found


def heights(marks: Sequence[Mark], series: Sequence[Series], window: Window) -> float:
    """How much room the lanes of a stretch take."""
    signs = sum(bool(within(marks, kind, window)) for kind in (MARKER, DENSE))
    return signs * SIGN_ROW + min(len(series), MOST_COUNTERS) * COUNTER_ROW


def left_out(series: Sequence[Series]) -> str:
    """A note on the counters that do not fit."""
    rest = len(series) - MOST_COUNTERS
    return f"{format_count(rest)} more {COUNTER}s are in the table." if rest > 0 else ""
