"""Every display as data: a figure of marks, drawn once and shown as SVG, HTML, on matplotlib's axes or live.

``bars_figure``, ``curves_figure``, ``touched_figure``, ``row_age_figure`` and ``xray`` make figures of plain data, ``monitor``
one of a training loop, and ``contagion_figure`` one of profiles.  Arrays, blocks, symbols and profiles have methods that make
theirs: ``array.inspect()``, ``model.graph()``, ``profile.timeline()``, ``profile.memory``.  ``Figure`` with ``Panel`` and marks
makes your own, and ``html_page`` puts figures, tables and words into one file.
"""

from __future__ import annotations

from .array import array_figure
from .bars import bars_figure
from .contagion import contagion_figure
from .curves import curves_figure
from .figure import Figure
from .graph import graph_figure
from .interaction import Choice, Grid, Interaction, NumberField, Slider, Switch
from .marks import Area, Axis, Cells, Dots, Line, Panel, Rect, Table, Text
from .monitor import monitor
from .page import html_page
from .row_age import row_age_figure
from .touched import touched_figure
from .xray import xray

__all__ = ["Area", "Axis", "Cells", "Choice", "Dots", "Figure", "Grid", "Interaction", "Line", "NumberField", "Panel", "Rect",
           "Slider", "Switch", "Table", "Text", "array_figure", "bars_figure", "contagion_figure", "curves_figure",
           "graph_figure", "html_page",
           "monitor", "row_age_figure", "touched_figure", "xray"]  # fmt: skip


def __dir__() -> list[str]:
    return [*__all__]
