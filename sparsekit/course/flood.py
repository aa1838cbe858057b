"""A million rows: what one text changes in a weight, at true scale, as a dense and as a row-sparse gradient."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from ..base.entry import entries
from ..base.errors import ParameterError, expected
from ..base.formatting import format_bytes, format_ratio
from ..figures import Figure
from ..figures.marks import Cells, Dots, Line, Mark, Panel, Rect, Table, Text
from ..figures.text import clean

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from .flood_view import MillionRows

__all__ = ["DARWIN", "MOST_LETTERS", "MOST_ROWS", "Touched", "figure_of", "measured", "million_rows", "million_rows_figure"]

#: The last sentences of On the Origin of Species (1859), shortened.
DARWIN = (
    "It is interesting to contemplate an entangled bank, clothed with many plants of many kinds, with birds singing on the "
    "bushes, with various insects flitting about, and with worms crawling through the damp earth, and to reflect that these "
    "elaborately constructed forms, so different from each other, and dependent on each other in so complex a manner, have all "
    "been produced by laws acting around us. There is grandeur in this view of life, with its several powers, having been "
    "originally breathed into a few forms or into one; and that, whilst this planet has gone cycling on according to the fixed "
    "law of gravity, from so simple a beginning endless forms most beautiful and most wonderful have been, and are being, evolved."
)
#: Values in a row of the weight.
UNITS = 128
LEAST_ROWS, MOST_ROWS, MOST_LETTERS = 100, 10_000_000, 20_000
#: A dense gradient of more bytes is not made: a smaller one of the same kind says what a row takes.
MOST_BYTES = 1 << 30
#: Rows of which each has a ring.
MOST_RINGS = 400
#: Letters of the text that a picture quotes.
MOST_QUOTED = 160
#: Pixels of a square, and what stands above it as a share of that.
SIDE, ABOVE = 430.0, 0.2


class Touched(NamedTuple):
    """What a text changes in a weight: counts, and the bytes of gradients that were computed.

    Attributes
    ----------
    text : str
    rows : int
        Rows of the weight.
    words : dict of str to int
        The row of each different word.
    count : int
        Words of the text.
    gradient : NDArray
        The row_sparse gradient, of shape (rows, 128).
    dense_bytes : int
        Bytes of the dense gradient.
    made : bool
        Whether the dense gradient was computed, or only one of fewer rows.
    """

    text: str
    rows: int
    words: dict[str, int]
    count: int
    gradient: NDArray
    dense_bytes: int
    made: bool

    @property
    def stored(self) -> list[int]:
        """The numbers of the rows that the row-sparse gradient stores."""
        return list(map(int, self.gradient.indices.asnumpy()))

    @property
    def title(self) -> str:
        """The point of the picture, in numbers."""
        return f"{self.count:,} word{' touches' if self.count == 1 else 's touch'} {len(self.stored):,} of {self.rows:,} rows"

    @property
    def finding(self) -> str:
        """What both gradients write."""
        bytes_, zeros = self.gradient.nbytes, self.rows - len(self.stored)
        return (f"The dense gradient has {format_bytes(self.dense_bytes)}, and {zeros:,} of its rows are zeros. The row-sparse "
                f"gradient of the same step has {format_bytes(bytes_)}: {format_ratio(self.dense_bytes / bytes_)} fewer.")  # fmt: skip


def words_of(text: str) -> list[str]:
    """The words of a text, without case; punctuation and control characters belong to none."""
    return re.findall(r"\w+(?:['’]\w+)*", unicodedata.normalize("NFC", text).casefold())


def gradient_of(words: list[str], rows: int, stype: str) -> NDArray:
    """The gradient of a weight of ``rows`` x 128 values after one text: xᵀ · g, for word counts x (csr) and a g of ones.

    A word has the row ``crc32(word) % rows``, which needs no vocabulary (the hashing trick).  The same operator makes both
    gradients; only ``forward_stype`` differs.
    """
    from .. import ndarray as nd

    counts = Counter(crc32(word.encode("utf-8", "replace")) % rows for word in words)
    columns = np.array(sorted(counts), "int64")
    values = np.array([counts[column] for column in sorted(counts)], "float32")
    x = nd.sparse.csr_matrix((values, columns, np.array([0, len(columns)])), shape=(1, rows))
    return nd.sparse.dot(x, nd.ones((1, UNITS)), transpose_a=True, forward_stype=stype)


@cache
def _dense_bytes(rows: int) -> tuple[int, bool]:
    """Bytes of the dense gradient, and whether it was computed."""
    made = rows * UNITS * 4 <= MOST_BYTES
    array = gradient_of(["word"], rows if made else LEAST_ROWS, "default")
    return array.nbytes if made else array.nbytes // LEAST_ROWS * rows, made


def measured(text: str = DARWIN, rows: int = 1_000_000) -> Touched:
    """Compute the gradients of a text.

    Raises
    ------
    ParameterError
        If the text has no words or too many letters, or ``rows`` is out of range.
    """
    if not isinstance(text, str):
        raise ParameterError(expected("text", "a str", text), hint="million_rows('a sentence of your own').")
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or not LEAST_ROWS <= rows <= MOST_ROWS:
        raise ParameterError(expected("rows", f"a whole number from {LEAST_ROWS} to {MOST_ROWS:,}", rows),
                             hint="a million rows are the default.")  # fmt: skip
    if len(text) > MOST_LETTERS:
        raise ParameterError(f"The text has {len(text):,} letters, more than {MOST_LETTERS:,}.", hint="give a part of it.")
    words = words_of(text)
    if not words:
        raise ParameterError("The text has no words.", hint="write at least one.")
    bytes_, made = _dense_bytes(int(rows))
    places = {word: crc32(word.encode("utf-8", "replace")) % int(rows) for word in words}
    return Touched(text, int(rows), places, len(words), gradient_of(words, int(rows), "row_sparse"), bytes_, made)


def million_rows(text: str = DARWIN, rows: int = 1_000_000) -> MillionRows:
    """Show live what a text changes in a weight of a million rows: type a text, watch both gradients being written.

    Every row has its place in two squares, line by line, at true scale.  In the film the dense gradient fills its square, while
    the row-sparse one writes the rows of the words and is finished.  Both write as many bytes a second; the bytes are those of
    arrays that were computed, the speed is the film's.

    Parameters
    ----------
    text : str
        At most 20,000 letters; each different word has a row.
    rows : int
        Rows of the weight, 100 to 10,000,000; a row has 128 float32 values.

    Returns
    -------
    sparsekit.course.flood_view.MillionRows
        Needs the extra ``lab``; ``course.million_rows_figure`` gives the static picture without it.

    Raises
    ------
    ParameterError
        If the text has no words or too many letters, or ``rows`` is out of range.
    MissingPackageError
        If anywidget is not installed.

    Examples
    --------
    >>> mx.million_rows("the cat sat on the mat")      # doctest: +SKIP
    """
    found = measured(text, rows)
    from .flood_view import MillionRows

    return MillionRows(found)


def million_rows_figure(text: str = DARWIN, rows: int = 1_000_000) -> Figure:
    """Draw what a text changes in a weight of a million rows: the picture of ``million_rows``.

    Parameters
    ----------
    text, rows
        As for ``million_rows``.

    Returns
    -------
    figures.Figure

    Raises
    ------
    ParameterError
        If the text has no words or too many letters, or ``rows`` is out of range.
    """
    return figure_of(measured(text, rows))


def figure_of(found: Touched) -> Figure:
    """Draw both gradients as squares of the same rows."""
    stored = found.stored
    kinds = (("dense gradient", "dense", found.rows, found.dense_bytes), ("row-sparse gradient", "sparse", len(stored),
                                                                          found.gradient.nbytes))  # fmt: skip
    rows = [(name, f"{count:,}", f"{found.rows - len(stored):,}" if kind == "dense" else "0", format_bytes(bytes_))
            for name, kind, count, bytes_ in kinds]  # fmt: skip
    figure = Figure(found.title, found.finding, table=Table(("gradient", "rows written", "of which zeros", "bytes"), rows))
    across = math.isqrt(found.rows - 1) + 1
    for place, (name, kind, count, bytes_) in enumerate(kinds):
        figure.panels.append(Panel((0.0, 1.0), (-ABOVE, 1.0), SIDE * (1 + ABOVE), share=0.5, aspect=1 / (1 + ABOVE)))
        words = "every row" if kind == "dense" else f"only {count:,} row{'' if count == 1 else 's'}"
        figure.add(Text(place, kind, 0.0, -0.09, format_bytes(bytes_), bold=True, size=44.0),
                   Text(place, "ink", 1.0, -0.125, name, "end", bold=True, size=15.0),
                   Text(place, "muted", 1.0, -0.065, words, "end"), *_square(place, kind, stored, across))  # fmt: skip
    cut = "" if found.made else " The dense gradient was not computed: its bytes are those of its shape."
    rings = " The rings only help to find the rows." if len(stored) <= MOST_RINGS else ""
    quoted = clean(found.text, MOST_QUOTED + 1)
    quoted = quoted if len(quoted) <= MOST_QUOTED else f"{quoted[:MOST_QUOTED].rsplit(' ', 1)[0]} …"
    figure.notes = (f"The text: “{quoted}”", f"Each square has the {found.rows:,} rows of the weight, {across:,} in a line, at true scale.{rings}{cut}",)
    return figure


def _square(panel: int, kind: str, stored: list[int], across: int) -> list[Mark]:
    """One gradient: filled, or with a point for each stored row, and rings around few points."""
    ground, ink = ("dense", "paper") if kind == "dense" else ("paper", "sparse")
    x, y = (np.array([row % across for row in stored]) / across, np.array([row // across for row in stored]) / across)
    edge = Line(panel, "muted", [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], width=0.8)
    marks: list[Mark] = [Rect(panel, "dense", 0.0, 1.0, 0.0, 1.0, "all rows are written")] if kind == "dense" else []
    if len(stored) <= MOST_RINGS:
        middle = (x + 0.5 / across, y + 0.5 / across)
        marks += [Dots(panel, ink, *middle, 5.0), Dots(panel, ground, *middle, 3.4)]
    size = 1 / across if len(stored) > MOST_RINGS else max(1 / across, 1 / SIDE)
    points = np.stack((x, np.minimum(x + size, 1.0), y, np.minimum(y + size, 1.0)), axis=1)
    marks.append(Cells(panel, ink, points, f"{len(stored):,} rows of the text's words"))
    return [*marks, edge]


entries(globals(), ["million_rows", "million_rows_figure"])
