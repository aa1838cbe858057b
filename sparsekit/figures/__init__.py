"""Every display as data: a figure of marks, drawn once and shown as SVG, HTML, on matplotlib's axes or live.

``bars_figure``, ``curves_figure``, ``touched_figure``, ``row_age_figure`` and ``xray`` make figures of plain data, ``monitor``
one of a training loop, and ``contagion_figure`` one of profiles.  Arrays, blocks, symbols and profiles have methods that make
theirs: ``array.inspect()``, ``model.graph()``, ``profile.timeline()``, ``profile.memory``.  Each is a ``kit.Figure``: it shows
itself in a notebook, ``live()`` is to zoom and to ask, ``save()`` writes a file.  ``html_page`` puts figures, tables and words
into one file, and ``sparsekit.figures.kit`` has what figures of your own are made of.
"""

from __future__ import annotations

from . import kit as kit
from .bars import bars_figure
from .contagion import contagion_figure
from .curves import curves_figure
from .monitor import monitor
from .page import html_page
from .row_age import row_age_figure
from .touched import touched_figure
from .xray import xray

__all__ = ["bars_figure", "contagion_figure", "curves_figure", "html_page", "monitor", "row_age_figure", "touched_figure",
           "xray"]  # fmt: skip


def __dir__() -> list[str]:
    return [*__all__]
