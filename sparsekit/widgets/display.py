"""A picture with its table, as shown in a notebook, on GitHub and in a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import UnsupportedError
from ..base.files import written
from ..base.tables import escape, folded, html_table, text_table
from .svg import NARROW, drawn_narrow

__all__ = ["Display", "write_file"]


#: JupyterLab and VS Code say in their own words whether the page is dark; a picture follows its element's colour scheme.
_DARK = ('<style>:is([data-jp-theme-light="false"],.vscode-dark) img[src^="data:image/svg"]{color-scheme:dark}'
         '[data-jp-theme-light="true"] img[src^="data:image/svg"]{color-scheme:light}</style>')


def write_file(path: str | os.PathLike[str], text: str) -> Path:
    """Write ``text`` as UTF-8 under a temporary name beside ``path``, then rename it."""
    with written(path) as file:
        file.write(text.encode())
    return Path(path)


#: What may not stand in an address within HTML, where a space ends one of ``srcset``.  All else stays as it is: text compresses,
#: unlike base64.
_ENCODED = str.maketrans({character: f"%{ord(character):02X}" for character in ' %#"<>&\\\n\r\t'})


def _data(svg: str) -> str:
    """A picture as an address."""
    return f"data:image/svg+xml;charset=utf-8,{svg.translate(_ENCODED)}"


class Display:
    """A static picture and its table.

    Parameters
    ----------
    svg : str or callable
        The picture as an SVG document, or a function that draws it when it is first shown.  The function draws it with the width
        ``svg.page_width()``, because narrow pages show a picture of their own.
    alt : str
        Sentence that describes the picture.
    columns : sequence of str
    rows : sequence of sequences
        Table with the same content as the picture.
    caption : str, optional
        Caption of the table.

    Attributes
    ----------
    svg, alt, columns, rows, caption
        The arguments.
    """

    def __init__(
        self, svg: str | Callable[[], str], alt: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> None:
        self._svg = svg
        self._draw = None if isinstance(svg, str) else svg
        self.alt = alt
        self.columns = tuple(columns)
        self.rows = rows
        self.caption = caption

    @property
    def svg(self) -> str:
        """The picture, a whole SVG document."""
        if not isinstance(self._svg, str):
            self._svg = self._svg()
        return self._svg

    @property
    def narrow_svg(self) -> str:
        """The picture for a narrow page; empty if it was given as text."""
        return "" if self._draw is None else drawn_narrow(self._draw)

    @property
    def image(self) -> str:
        """The picture as HTML that needs no other file: one ``<img>``, and what a narrow page shows in its place."""
        narrow, width = self.narrow_svg, self._width()
        alone = not narrow or width <= NARROW
        # Without a narrow one, letters keep four fifths of their size, and a narrow page scrolls the picture.
        style = f"min-width:{round(0.8 * width)}px" if alone else "max-width:100%"
        image = f'<img alt="{escape(self.alt)}" style="{style}" src="{_data(self.svg)}">'
        if alone:
            return f'{_DARK}<div style="overflow-x:auto">{image}</div>'
        return f'{_DARK}<picture><source media="(max-width:{round(0.9 * width)}px)" srcset="{_data(narrow)}">{image}</picture>'

    def _width(self) -> float:
        """Pixels that the picture is wide."""
        found = re.search(r'<svg[^>]* width="([\d.]+)(pt)?"', self.svg)
        return float(found[1]) * (4 / 3 if found[2] else 1) if found else 0.0

    @property
    def table(self) -> str:
        """The table as HTML."""
        return html_table(self.columns, self.rows, self.caption)

    @property
    def html(self) -> str:
        """Picture and folded table as HTML that survives GitHub's and nbviewer's sanitisers."""
        return f"{self.image}\n{self.folded_table}"

    @property
    def folded_table(self) -> str:
        """The table as folded HTML."""
        return folded(self.table)

    @property
    def text(self) -> str:
        """Finding and table for a terminal."""
        return f"{self.alt}\n\n{text_table(self.columns, self.rows)}"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture (``.svg``) or picture and table (``.html``) and return the path."""
        suffix = Path(path).suffix.lower()
        if suffix == ".svg":
            return write_file(path, self.svg)
        if suffix in (".html", ".htm"):
            head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(self.alt)}</title>'
            return write_file(path, f"{head}<body>{self.html}</body></html>\n")
        raise UnsupportedError(
            f"The name of a picture must end in .svg or .html, got {suffix or 'no suffix'!r}.",
            hint="write 'picture.svg', for example.",
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}

    def __repr__(self) -> str:
        return self.text
