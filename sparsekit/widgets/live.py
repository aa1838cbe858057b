"""Live views of a profile in a notebook, on anywidget; imported on first use."""

from __future__ import annotations

import abc
import sys
from collections.abc import Mapping
from typing import Any

from ..base.formatting import format_count
from ..base.optional import optional_import
from ..base.tables import escape
from .display import Display
from .memory import memory_figure
from .sources import module, style
from .what_if import live_memory

__all__ = ["MemoryWidget", "MonitorWidget", "XrayWidget"]


anywidget = optional_import("anywidget", "lab", "A live view")
traitlets = optional_import("traitlets", "lab", "A live view")
Base: Any = anywidget.AnyWidget


class LiveView(Base):
    """A live view that leaves its static picture and table where no kernel runs."""

    _css = style()
    #: What it is.
    _sentence = ""

    @property
    @abc.abstractmethod
    def static(self) -> Display:
        """The static picture and table of the same data."""

    def _repr_mimebundle_(self, **keywords: object) -> tuple[dict[str, Any], ...]:
        """What Jupyter shows, and keeps for viewers without a kernel."""
        live = super()._repr_mimebundle_(**keywords)
        data, metadata = live if isinstance(live, tuple) else (live or {}, {})
        html = f"<p>{escape(self._sentence)}. Run the cell to use it; below are its picture and table.</p>\n{self.static.html}"
        return {**data, "text/plain": repr(self), "text/html": html}, metadata

    def _display_(self) -> object:  # object: one of marimo
        """What marimo shows; its exports have no live views, so the picture and the table come along, folded."""
        marimo = sys.modules["marimo"]  # which calls this
        html = f"<details><summary>Picture and table, without a running kernel</summary>\n{self.static.html}</details>"
        return marimo.vstack([marimo.ui.anywidget(self), marimo.Html(html)])


class _DataView(LiveView):
    """A live view of plain data: ``data``, a heading, the finding below it, and the static twin of the same data."""

    data = traitlets.Dict().tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    description = traitlets.Unicode("").tag(sync=True)

    def __init__(self, data: dict[str, Any], static: Display, title: str, description: str = "") -> None:
        self._shown = static
        super().__init__(data=data, title=str(title), description=str(description) or static.alt)

    @property
    def static(self) -> Display:
        """The static picture and table of the same data."""
        return self._shown

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r})"


class XrayWidget(_DataView):
    """Live gradient X-ray; see ``sparsekit.widgets.xray``."""

    _esm = module("xray.js")
    _sentence = "A live view of one batch, from its rows to the lazy update"


class MonitorWidget(_DataView):
    """Live training monitor; see ``sparsekit.widgets.monitor``."""

    _esm = module("monitor.js")
    _sentence = "A live view of a training loop"

    def show(self, data: dict[str, Any], static: Display) -> None:
        """Show newer data in every view of this widget."""
        self._shown = static
        with self.hold_sync():  # one message: data and their description arrive together
            self.description, self.data = static.alt, data


class MemoryWidget(LiveView):
    """Live memory view: by role over time, and the arrays alive at the peak.

    Parameters
    ----------
    memory : dict
        ``prof.memory``.
    title, description : str, optional
        Heading, and the sentence below it.
    """

    _esm = module("memory.js")
    _sentence = "A live view of memory by role"
    memory = traitlets.Dict().tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    description = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self, memory: Mapping[str, Any] | None = None, title: str = "Memory", description: str = ""
    ) -> None:
        self._title = str(title)
        found = live_memory(memory)
        alt = memory_figure(found).alt
        super().__init__(memory=found, title=self._title, description=str(description) or alt)

    @property
    def static(self) -> Display:
        """The static picture and table of the same data."""
        return memory_figure(self.memory, title=self._title)

    def __repr__(self) -> str:
        samples = len(self.memory.get("samples") or ())
        return f"MemoryWidget({format_count(samples)} samples)"
