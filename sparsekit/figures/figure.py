"""A figure, and every way to show it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import checks
from ..base.entry import entry_classes
from ..base.errors import UnsupportedError
from ..base.files import failures_named, path_of, written
from .drawing import Drawing
from .html import to_html
from .page import html_page
from .svg import to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .live import LiveFigure


@dataclass(repr=False, eq=False)
class Figure(Drawing):
    """A picture as data, to be shown in a notebook, in a file, on matplotlib's axes or live.

    Parameters
    ----------
    title : str
    finding : str
        What the figure shows, in sentences; it is also the alternative text.
    panels : list of Panel
    marks : list of Mark
        Drawn in their order.
    table : Table
        The same as a table.
    notes : sequence of str
        Remarks below the panels.
    legend : dict of str
        Words for kinds of marks in place of those in ``palette.MEANING``; an empty text leaves a kind out, and other keys add
        words without a sample.
    interaction : Interaction
        What a live view does beside what every one does.
    narrow : Figure, optional
        What is drawn in its place on a page of less than ``narrow_below`` pixels, where panels that stand below each other are
        not enough.
    """

    def svg(self, width: float = 1000.0) -> str:
        """The picture as an SVG document; the same figure gives the same text.

        Parameters
        ----------
        width : float
            Pixels, from 240 to 20,000.
        """
        return to_svg(self, checks.amount_of("width", width, 240, 20_000))

    def html(self) -> str:
        """The picture as images for wide and narrow pages, and the table, as HTML that needs no style sheet and no kernel."""
        return to_html(self)

    def on(self, ax: Axes) -> Axes:
        """Draw the figure on matplotlib's axes.

        A figure of one panel is drawn on ``ax`` itself, which keeps the style that the user has set.  The panels of others are
        placed inside of it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes

        Returns
        -------
        matplotlib.axes.Axes
            ``ax``.

        Raises
        ------
        MissingPackageError
            If matplotlib is not installed.
        """
        from .axes import to_axes

        return to_axes(self, ax)

    def live(self) -> LiveFigure:
        """The figure to zoom, filter and ask, in a notebook.

        Returns
        -------
        LiveFigure
            An anywidget.

        Raises
        ------
        MissingPackageError
            If anywidget is not installed.
        """
        from .live import LiveFigure

        return LiveFigure(self)

    def save(self, path: str | os.PathLike[str], width: float = 1000.0) -> Path:
        """Write the figure to a file.

        Parameters
        ----------
        path : path
            Its ending says what is written: ``.svg``, ``.html`` (picture and table), or ``.png`` and ``.pdf`` by matplotlib.
        width : float
            Pixels, from 240 to 20,000.

        Raises
        ------
        UnsupportedError
            If the path has another ending.
        MissingPackageError
            If matplotlib is needed and not installed.
        DataFileError
            If the file cannot be written.
        """
        target = Path(path_of(path))
        content = self._content(target.suffix.lower(), checks.amount_of("width", width, 240, 20_000))
        with failures_named(target), written(target) as file:
            file.write(content)
        return target

    def _content(self, ending: str, width: float) -> bytes:
        if ending == ".svg":
            return self.svg(width).encode()
        if ending in (".html", ".htm"):
            return html_page(self.title, {"": self}).encode()
        if ending in (".png", ".pdf"):
            from .axes import printed

            return printed(self, ending[1:], width)
        raise UnsupportedError(f"The name of a picture must end in .svg, .html, .png or .pdf, got {ending or 'no ending'!r}.",
                               hint="write 'picture.svg', for example.")  # fmt: skip

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.html()}

    def __repr__(self) -> str:
        return f"{self.alt}\n\n{self.table!r}" if self.table.columns else self.alt


entry_classes(Figure)
