"""Live views: the same picture, one enhancer for every display, and Python for what is not in the picture."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.errors import UnsupportedError
from ..base.formatting import number
from ..base.optional import optional_import
from .answers import given, script, shown, style, told, window_of
from .html import to_html
from .interaction import Values, checked
from .layout import WIDE
from .svg import to_svg
from .text import clean

if TYPE_CHECKING:
    from .drawing import Drawing

anywidget = optional_import("anywidget", "lab", "A live view")
traitlets = optional_import("traitlets", "lab", "A live view")
Base: Any = anywidget.AnyWidget


class LiveFigure(Base):
    """A figure to zoom, filter and ask, which leaves its picture and table where no kernel runs.

    Parameters
    ----------
    figure : Figure

    Attributes
    ----------
    figure : Figure
        What is shown now.
    values : dict
        What the inputs say now, by name.
    selected : str
        The key of the mark that was chosen last; empty before.
    """

    #: What stands below a view where no kernel runs.
    kept = "its picture and table"
    _esm = script()
    _css = style()
    svg = traitlets.Unicode().tag(sync=True)
    table = traitlets.Unicode().tag(sync=True)
    details = traitlets.Unicode().tag(sync=True)
    given = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int().tag(sync=True)

    def __init__(self, figure: Drawing) -> None:
        self.figure, self._first, self._width, self.selected = figure, figure, WIDE, ""
        self._window: tuple[float, float] | None = None
        self.values: Values = checked(figure.interaction.inputs, {})
        super().__init__(svg=to_svg(figure, WIDE, live=True), table=figure.table.folded, given=given(figure, WIDE))
        self.on_msg(lambda _, message, __: self.answer(message))

    def answer(self, message: object) -> None:  # object: a page may send anything
        """Draw another part, width or case, or tell of what was selected."""
        asked = message if isinstance(message, Mapping) else {}
        try:
            self.values = checked(self._first.interaction.inputs, asked.get("values", self.values))
            if asked.get("ask") == "draw":
                self._width = min(max(number(asked.get("width"), self._width), 240.0), 3000.0)
                self._window = window_of(asked)
                self.show(self._drawn())
            elif asked.get("ask") == "select":
                self.selected = clean(asked.get("key"), 300)
                self.details = told(self._first, self.selected, self.values)
        except Exception as error:  # whatever it is, the reader has asked and waits
            self.details = shown(f"{type(error).__name__}: {error}")
        self.answered += 1

    def _drawn(self) -> Drawing:
        draw = self._first.interaction.draw
        return draw(self._window, self.values) if draw else self.figure

    def show(self, figure: Drawing) -> None:
        """Show another figure in every view of this widget."""
        self.figure = figure
        with self.hold_sync():
            self.svg, self.table = to_svg(figure, self._width, live=True), figure.table.folded

    def _repr_mimebundle_(self, **keywords: object) -> tuple[dict[str, Any], ...]:
        """What Jupyter shows, and keeps for viewers without a kernel."""
        live = super()._repr_mimebundle_(**keywords)
        data, metadata = live if isinstance(live, tuple) else (live or {}, {})
        html = f"<p>A live view. Run the cell to use it; below are {self.kept}.</p>\n{to_html(self.figure)}"
        return {**data, "text/plain": repr(self), "text/html": html}, metadata

    def _display_(self) -> object:  # object: one of marimo
        """What marimo shows; its exports have no live views, so the picture and the table come along, folded."""
        marimo = sys.modules["marimo"]  # which calls this
        html = f"<details><summary>Picture and table, without a running kernel</summary>\n{to_html(self.figure)}</details>"
        return marimo.vstack([marimo.ui.anywidget(self), marimo.Html(html)])

    def __reduce__(self, *_: object) -> str:  # object: what copies give, which has no effect
        raise UnsupportedError("A live view belongs to the page that shows it, so it cannot be pickled or copied.",
                               hint="view.figure.save('picture.html') keeps the picture and the table.")  # fmt: skip

    __copy__ = __deepcopy__ = __reduce__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({clean(self.figure.title)!r})"
