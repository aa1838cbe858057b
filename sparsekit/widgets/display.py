"""A finished picture with its table: what a notebook, GitHub and a terminal show."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import UnsupportedError
from ..base.files import written
from .svg import escape

__all__ = ["Display", "html_table", "text_table", "write_file"]


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Write a plain HTML table; everything is escaped and nothing depends on a style sheet."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write the same table for a terminal; columns of figures are aligned to the right."""
    cells = [[" ".join(str(cell).split()) for cell in row] for row in rows]
    widths = [max(len(str(name)), *(len(row[i]) for row in cells), 0) for i, name in enumerate(columns)]
    right = [bool(cells) and all(row[i][:1] in "0123456789<>-" for row in cells) for i in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        parts = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        return "  ".join(parts).rstrip()

    return "\n".join([line([str(name) for name in columns]), "  ".join("-" * w for w in widths), *map(line, cells)])


def write_file(path: str | os.PathLike[str], text: str) -> Path:
    """Write ``text`` as UTF-8 under a temporary name beside ``path``, then rename it."""
    with written(path) as file:
        file.write(text.encode())
    return Path(path)


class Display:
    """A static picture and its table.

    Parameters
    ----------
    svg : str
        The picture, a whole SVG document.
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
        self, svg: str, alt: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> None:
        self.svg = svg
        self.alt = alt
        self.columns = tuple(columns)
        self.rows = rows
        self.caption = caption

    @property
    def image(self) -> str:
        """The picture as one HTML ``<img>`` element that needs no other file."""
        data = base64.b64encode(self.svg.encode()).decode("ascii")
        return f'<img alt="{escape(self.alt)}" src="data:image/svg+xml;base64,{data}">'

    @property
    def table(self) -> str:
        """The table as HTML."""
        return html_table(self.columns, self.rows, self.caption)

    @property
    def html(self) -> str:
        """Picture and table as HTML that survives GitHub's and nbviewer's sanitisers."""
        return f"{self.image}\n{self.table}"

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
            f"A picture is not written as {suffix or 'a file without a suffix'!r}.",
            hint="give a name that ends in .svg or .html.",
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}

    def __repr__(self) -> str:
        return self.text
