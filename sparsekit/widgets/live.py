"""Live views of a profile in a notebook, on anywidget; imported on first use."""

from __future__ import annotations

import abc
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.errors import UnsupportedError
from ..base.formatting import format_count
from ..base.optional import optional_import
from ..base.tables import escape
from .compare import timelines_figure
from .display import Display
from .layout import clean, typical_window
from .pack import checked_clock, pack_timeline
from .processes import processes_figure
from .sources import module, style
from .timeline import timeline_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .types import Records

__all__ = ["TimelineWidget"]


def _as_runs(records: Records) -> dict[str, list[Mapping[str, Any]]]:
    if isinstance(records, Mapping):
        return {str(name): list(found or ()) for name, found in records.items()}
    return {"": list(records or ())}


def _marks_of(runs: Mapping[str, Any], marks: Iterable[Mapping[str, Any]] | None) -> list[Any]:
    found = list(marks or ())
    if found and len(runs) != 1:
        raise UnsupportedError("marks needs a single run.",
                               hint="leave out marks, or show each run alone.")  # fmt: skip
    return found


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


class TimelineWidget(LiveView):
    """Live timeline: zoom, pan, search, click an operator to read its arrays.

    Parameters
    ----------
    records : list of dict, or mapping of str to such lists
        ``prof.records``, or several runs by name to compare on one axis.
    title, description : str, optional
        Heading, and the sentence below it.
    marks : list of dict, optional
        Markers, counters and densifications of one run, as for ``timeline_figure``; ``prof.timeline()`` passes those of the
        profile.  The key ``m`` goes to the next mark.
    clock : {"own", "common"}
        "own": each run has its own clock.  "common": the runs are processes of one run, with times on one clock.
    errors : mapping of str to float, optional
        Largest possible error of the times of each process, in microseconds, as for ``processes_figure``.
    try_fixes : callable, optional
        Function that the button "try fixes" calls.  Without it there is no button.  ``prof.timeline()`` passes one if the
        profile knows its program.

    Attributes
    ----------
    selected : int
        Position of the selected event among all events, which are sorted by start, run after run; -1 if none is selected.
    """

    _esm = module("timeline.js")
    _sentence = "A live timeline of each operator"
    payload = traitlets.Bytes().tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    description = traitlets.Unicode("").tag(sync=True)
    selected = traitlets.Int(-1).tag(sync=True)
    offers_fixes = traitlets.Bool(False).tag(sync=True)
    tries = traitlets.Int(0).tag(sync=True)
    fixes = traitlets.Dict().tag(sync=True)

    def __init__(
        self, records: Records = (), title: str = "Timeline", description: str = "",
        marks: Iterable[Mapping[str, Any]] | None = None, clock: str = "own",
        errors: Mapping[str, float | None] | None = None, try_fixes: Callable[[], Any] | None = None,
    ) -> None:  # fmt: skip
        self._try_fixes = try_fixes
        self._clock, self._errors = checked_clock(clock), dict(errors or {})
        self._runs = _as_runs(records)
        self._marks = _marks_of(self._runs, marks)
        self._title = str(title)
        super().__init__(
            payload=pack_timeline(self._runs, self._marks, clock),
            title=self._title,
            description=str(description) or self._finding(),
            offers_fixes=try_fixes is not None,
        )
        self.observe(self._answer, "tries")

    def _answer(self, _: object) -> None:  # object: what has changed
        """Try fixes, and show what was found, or why nothing was."""
        if self._try_fixes is None:
            return
        self.fixes = {}
        try:
            found = self._try_fixes()
            shown = found.table()
            self.fixes = {"sentence": found.summary(), "columns": list(shown.columns), "rows": shown.cells, "patch": found.patch}
        except Exception as error:  # whatever it is, the reader has clicked and waits
            self.fixes = {"sentence": f"{type(error).__name__}: {error}", "columns": [], "rows": [], "patch": ""}

    def _finding(self) -> str:
        """The headline of the whole run, and the part of the run that the view opens on."""
        found = self.static.alt
        if len(self._runs) != 1:
            return found
        window = typical_window(clean(next(iter(self._runs.values()))))
        return f"Whole run: {found} The view opens on {window.reason}." if window.reason else found

    @property
    def static(self) -> Display:
        """The static picture and table of the same data."""
        if self._clock == "common":
            return processes_figure(self._runs, title=self._title, errors=self._errors)
        if len(self._runs) == 1:
            return timeline_figure(next(iter(self._runs.values())), title=self._title, marks=self._marks)
        return timelines_figure(self._runs, title=self._title)

    @property
    def selected_record(self) -> Mapping[str, Any] | None:
        """The record of the chosen event, or None."""
        ordered = [event.record for records in self._runs.values() for event in clean(records)]
        return ordered[self.selected] if 0 <= self.selected < len(ordered) else None

    def __repr__(self) -> str:
        events = sum(len(records) for records in self._runs.values())
        return f"TimelineWidget({format_count(events)} events)"
