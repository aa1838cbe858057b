"""Pictures and live views of profiles, arrays and training, made from plain data.

``timeline_figure``, ``timelines_figure`` and ``processes_figure`` draw static pictures, each with its table.  They need no
further package, except with ``ax=``, which needs matplotlib.  ``array_figure``,
``bars_figure``, ``curves_figure``, ``graph_figure``, ``touched_figure`` and ``xray`` give a ``figures.Figure``.
``TimelineWidget`` and ``inspect`` are live views and need anywidget, which is imported on first use.  ``monitor`` shows a live
view if anywidget is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.forking import load as _load
from ..figures.array import array_figure
from ..figures.bars import bars_figure
from ..figures.curves import curves_figure
from ..figures.graph import graph_figure
from ..figures.touched import touched_figure
from ..figures.xray import xray
from .compare import timelines_figure
from .display import Display
from .processes import processes_figure
from .timeline import timeline_figure

if TYPE_CHECKING:
    from .live import TimelineWidget
    from .report import html_report
    from .training import TrainingMonitor, monitor
    from .views import inspect

__all__ = [
    "Display",
    "TimelineWidget",
    "TrainingMonitor",
    "array_figure",
    "bars_figure",
    "curves_figure",
    "graph_figure",
    "html_report",
    "inspect",
    "monitor",
    "processes_figure",
    "timeline_figure",
    "timelines_figure",
    "touched_figure",
    "xray",
]

_LAZY = {
    ".live": ("TimelineWidget",),
    ".report": ("html_report",),
    ".training": ("TrainingMonitor", "monitor"),
    ".views": ("inspect",),
}
_MODULE = {name: module for module, names in _LAZY.items() for name in names}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _MODULE:
            return getattr(_load(_MODULE[name], __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE])
