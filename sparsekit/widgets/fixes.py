"""A picture of fixes that were tried: the verdict on each, and its bytes before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.formatting import format_bytes
from .display import Display
from .svg import Drawing, fit, wrap
from .theme import ALARM, DARK, INK, LINE, MUTED, OTHER, SERIES

__all__ = ["fixes_figure"]

WIDTH, LEFT, BAR, GAP, ROW = 1000.0, 440.0, 230.0, 50.0, 78.0

#: Colour and sign of each verdict; the sign says it without the colour.
VERDICTS = {"holds": (SERIES[3], "✓"), "changes the answer": (ALARM, "≠"), "no gain": (OTHER, "–"), "refused": (SERIES[1], "×")}


def fixes_figure(rows: Sequence[Mapping[str, Any]], finding: str, table: Mapping[str, Any], title: str = "") -> Display:
    """Draw each fix with its verdict, and bars of the bytes at the peak and moved, before and after.

    Parameters
    ----------
    rows : sequence of dict
        ``remedy what verdict answers where after peak moved time``; ``peak`` and ``moved`` are pairs of bytes, or None.
    finding : str
        The findings, in sentences.
    table : dict
        Table with the same content, with the keys ``columns`` and ``rows``.
    title : str, optional

    Returns
    -------
    Display
    """
    drawing = Drawing(WIDTH)
    drawing.text(20, 32, fit(title or "Fixes that were tried", WIDTH - 40, 19), size=19, font_weight="bold")
    top = 53.0
    for line in wrap(finding, WIDTH - 40, 13, 3):
        drawing.text(20, top, line, size=13, fill=MUTED)
        top += 17
    if rows:
        top = _heads(drawing, top + 22)
        largest = [max([1.0, *(float(max(row[name])) for row in rows if row[name])]) for name in ("peak", "moved")]
        for row in rows:
            _row(drawing, row, largest, top)
            top += ROW
    return Display(drawing.finish(top + 14, finding), finding, table["columns"], table["rows"], "Fixes that were tried")


def _heads(drawing: Drawing, top: float) -> float:
    for place, head in enumerate(("bytes at the peak, before and after", "bytes moved, before and after")):
        drawing.text(LEFT + place * (BAR + GAP), top, head, size=12, fill=MUTED)
    return top + 12


def _row(drawing: Drawing, row: Mapping[str, Any], largest: Sequence[float], top: float) -> None:
    color, sign = VERDICTS.get(str(row["verdict"]), (OTHER, "?"))
    drawing.line(20, top, WIDTH - 20, top, stroke=LINE, stroke_width=0.7)
    drawing.add("circle", cx=34, cy=top + 24, r=11.0, fill=color)
    drawing.text(34, top + 29, sign, size=14, fill=DARK, text_anchor="middle", font_weight="bold")
    drawing.text(56, top + 20, fit(row["remedy"], LEFT - 120, 13), size=13, font_weight="bold")
    drawing.text(56, top + 36, fit(row["what"], LEFT - 76, 11.5), size=11.5)
    said = f"{row['verdict']}: {row['answers']}" if row["answers"] else str(row["verdict"])
    drawing.text(56, top + 52, fit(said, LEFT - 76, 11.5), size=11.5, fill=MUTED)
    last = "; ".join(part for part in (str(row["where"]), f"on top of {row['after']}" if row["after"] else "",
                                       str(row["time"])) if part)
    drawing.text(56, top + 67, fit(last, LEFT - 76, 11), size=11, fill=MUTED)
    for place, name in enumerate(("peak", "moved")):
        if row[name]:
            _bars(drawing, row[name], largest[place], LEFT + place * (BAR + GAP), top, color)


def _bars(drawing: Drawing, pair: Sequence[float], largest: float, left: float, top: float, color: str) -> None:
    """The bytes before, and below them the bytes after."""
    for value, y, fill in ((pair[0], top + 19, OTHER), (pair[1], top + 41, color)):
        width = max(1.5, BAR * value / largest)
        drawing.rect(left, y, width, 14, fill)
        text = format_bytes(value)
        inside = width > 76
        drawing.text(left + 6 if inside else left + width + 5, y + 11, text, size=11, fill=DARK if inside else INK)
