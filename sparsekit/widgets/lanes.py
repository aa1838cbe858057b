"""The axis of time below a picture."""

from __future__ import annotations

from ..base.formatting import format_tick
from .layout import ticks
from .svg import Drawing
from .theme import LINE, MUTED

__all__ = ["axis"]


def axis(drawing: Drawing, left: float, width: float, top: float, bottom: float, length: float) -> None:
    """Draw vertical guide lines and times below them; ``length`` is what ``width`` stands for, in microseconds."""
    positions = ticks(length, min(8, max(2, int(width / 62))))
    drawing.line(left, bottom, left + width, bottom, stroke=MUTED)
    for position in positions:
        x = left + (position / length * width if length > 0 else 0.0)
        drawing.line(x, top, x, bottom + 4, stroke=LINE if position else MUTED, stroke_width=0.7)
        step = positions[1] if len(positions) > 1 else 1.0
        drawing.text(x, bottom + 17, format_tick(position, step), size=11, fill=MUTED, text_anchor="middle")
