"""What a figure is made of: ``Figure``, its panels, marks and table, and the inputs of its live view.

A figure of your own is a ``Figure`` with panels and marks in their units, drawn as all others are:

>>> from sparsekit.figures.kit import Axis, Figure, Panel, Rect, Table
>>> figure = Figure("Bytes", "Dense takes four times as much.", [Panel(x=(0, 8), y=(0, 2), height=60, rows=True)],
...                 table=Table(("storage", "bytes"), [("dense", 8), ("sparse", 2)]))
>>> figure.add(Rect(0, "dense", 0, 8, 0.2, 0.8), Rect(0, "sparse", 0, 2, 1.2, 1.8))
>>> figure.add(Axis(0, "left", ticks=((0.5, "dense"), (1.5, "sparse"))))
>>> figure.alt
'Bytes. Dense takes four times as much.'
"""

from __future__ import annotations

from .figure import Figure
from .interaction import Choice, Grid, Interaction, NumberField, Slider, Switch
from .marks import Area, Axis, Cells, Dots, Line, Panel, Raster, Rect, Table, Text

__all__ = ["Area", "Axis", "Cells", "Choice", "Dots", "Figure", "Grid", "Interaction", "Line", "NumberField", "Panel", "Raster",
           "Rect", "Slider", "Switch", "Table", "Text"]  # fmt: skip
