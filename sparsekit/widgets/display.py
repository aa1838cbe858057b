"""A picture with its table, as shown in a notebook, on GitHub and in a terminal."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import UnsupportedError
from ..base.files import written
from ..base.tables import escape, folded, html_table, text_table

__all__ = ["Display", "write_file"]


#: JupyterLab and VS Code say in their own words whether the page is dark; a picture follows its element's colour scheme.
_DARK = ('<style>:is([data-jp-theme-light="false"],.vscode-dark) img[src^="data:image/svg"]{color-scheme:dark}'
         '[data-jp-theme-light="true"] img[src^="data:image/svg"]{color-scheme:light}</style>')


def write_file(path: str | os.PathLike[str], text: str) -> Path:
    """Write ``text`` as UTF-8 under a temporary name beside ``path``, then rename it."""
    with written(path) as file:
        file.write(text.encode())
    return Path(path)


class Display:
    """A static picture and its table.

    Parameters
    ----------
    svg : str or callable
        The picture, a whole SVG document, or a function that draws it when it is first looked at.
    alt : str
        What the picture shows, as a finding in words.
    columns : sequence of str
    rows : sequence of sequences
        The table that says the same as the picture.
    caption : str, optional
        How the table is to be read.

    Attributes
    ----------
    svg, alt, columns, rows, caption
        As given.
    """

    def __init__(
        self, svg: str | Callable[[], str], alt: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> None:
        self._svg = svg
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
    def image(self) -> str:
        """The picture as one HTML ``<img>`` element that needs no other file."""
        data = base64.b64encode(self.svg.encode()).decode("ascii")
        return (f'{_DARK}<div style="overflow-x:auto"><img alt="{escape(self.alt)}" style="min-width:{self._least_width()}px" '
                f'src="data:image/svg+xml;base64,{data}"></div>')

    def _least_width(self) -> int:
        """Pixels below which the letters of the picture are too small; a narrower page scrolls it."""
        found = re.search(r'<svg[^>]* width="([\d.]+)(pt)?"', self.svg)
        return round(0.8 * float(found[1]) * (4 / 3 if found[2] else 1)) if found else 0

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
        """The table as HTML, to be opened."""
        return folded(self.table)

    @property
    def text(self) -> str:
        """Finding and table for a terminal."""
        return f"{self.alt}\n\n{text_table(self.columns, self.rows)}"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture (``.svg``) or picture and table (``.html``) and give the path."""
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
