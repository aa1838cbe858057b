"""Tables of text and of HTML, and what makes text safe inside HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape as _escape

# XML 1.0 cannot represent these characters; a name with one would invalidate the whole picture.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(value: object) -> str:  # object: its text is what is shown
    """Make anything a user named safe inside HTML and XML, as text or in a quoted attribute."""
    return _escape(_FORBIDDEN.sub("\ufffd", str(value)), quote=True)


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:  # object: as in escape
    """Write a plain HTML table; everything is escaped and nothing depends on a style sheet."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded(html: str, words: str = "The same as a table") -> str:
    """Fold ``html`` below a line of words; what is wider than the page is scrolled."""
    return f'<details><summary>{escape(words)}</summary><div style="overflow-x:auto">{html}</div></details>'


def text_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:  # object: the text of a cell is shown
    """Write the same table for a terminal; columns of figures are aligned to the right."""
    cells = [[" ".join(str(cell).split()) for cell in row] for row in rows]
    widths = [max(len(str(name)), *(len(row[i]) for row in cells), 0) for i, name in enumerate(columns)]
    right = [bool(cells) and all(row[i][:1] in "0123456789<>-" for row in cells) for i in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        parts = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        return "  ".join(parts).rstrip()

    return "\n".join([line([str(name) for name in columns]), "  ".join("-" * w for w in widths), *map(line, cells)])
