"""Every display as data: a figure of marks, drawn once and shown as SVG, HTML, on matplotlib's axes or live."""

from __future__ import annotations

from .figure import Figure
from .interaction import Choice, Grid, Interaction, NumberField, Slider, Switch
from .marks import Area, Axis, Cells, Dots, Line, Panel, Rect, Table, Text
from .page import html_page

__all__ = ["Area", "Axis", "Cells", "Choice", "Dots", "Figure", "Grid", "Interaction", "Line", "NumberField", "Panel", "Rect",
           "Slider", "Switch", "Table", "Text", "html_page"]  # fmt: skip
