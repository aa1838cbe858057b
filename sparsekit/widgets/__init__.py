"""Pictures and live views of profiles: plain data in, something to look at out.

``timeline_figure``, ``timelines_figure``, ``memory_figure`` and ``memory_bars`` draw static
pictures and need nothing but Python.  ``TimelineWidget`` and ``MemoryWidget`` are live and
need anywidget, which is imported when one of them is first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from .bars import bars_figure
from .compare import timelines_figure
from .display import Display
from .graph import GraphDisplay, graph_figure
from .memory import memory_bars, memory_figure
from .timeline import timeline_figure

__all__ = [
    "Display",
    "GraphDisplay",
    "GraphWidget",
    "MemoryWidget",
    "TimelineWidget",
    "bars_figure",
    "graph_figure",
    "html_report",
    "memory_bars",
    "memory_figure",
    "timeline_figure",
    "timelines_figure",
]

_LAZY = {"GraphWidget": ".graph_live", "MemoryWidget": ".live", "TimelineWidget": ".live", "html_report": ".report"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
