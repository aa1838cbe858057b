"""A million rows: what one text changes in a weight, at true scale, as a dense and as a row-sparse gradient."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast
from zlib import crc32

import numpy as np

from ..base.errors import ParameterError, expected
from ..base.formatting import format_bytes, format_ratio
from ..datasets import read_books
from ..figures.kit import Figure
from ..figures.text import clean
from ..figures.touched import touched_figure

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..ndarray.sparse import RowSparseNDArray

#: How the paragraph of the data set begins that opens the course.
_OPENING = "It may metaphorically be said that natural selection"
#: Values in a row of the weight.
UNITS = 128
LEAST_ROWS, MOST_ROWS, MOST_LETTERS = 100, 10_000_000, 20_000
#: A dense gradient of more bytes is not made: a smaller one of the same kind says what a row takes.
MOST_BYTES = 1 << 30
#: Letters of the text that a picture quotes.
MOST_QUOTED = 160


@dataclass(frozen=True)
class Shape:
    """What a picture needs of a dense gradient, which is not kept."""

    stype: str
    shape: tuple[int, ...]
    nbytes: int


class Touched(NamedTuple):
    """What a text changes in a weight: counts, and the bytes of gradients that were computed.

    Attributes
    ----------
    text : str
    rows : int
        Rows of the weight.
    words : dict of str to int
        The row of each different word.
    length : int
        Words of the text, with those that come again.
    gradient : RowSparseNDArray
        The row_sparse gradient, of shape (rows, 128).
    dense_bytes : int
        Bytes of the dense gradient.
    made : bool
        Whether the dense gradient was computed, or only one of fewer rows.
    """

    text: str
    rows: int
    words: dict[str, int]
    length: int
    gradient: RowSparseNDArray
    dense_bytes: int
    made: bool

    @property
    def stored(self) -> list[int]:
        """The numbers of the rows that the row-sparse gradient stores, in ascending order."""
        return list(map(int, self.gradient.indices.asnumpy()))

    @property
    def title(self) -> str:
        """The point of the picture, in numbers."""
        return f"{self.length:,} word{' touches' if self.length == 1 else 's touch'} {len(self.stored):,} of {self.rows:,} rows"

    @property
    def finding(self) -> str:
        """What both gradients write."""
        bytes_, zeros = self.gradient.nbytes, self.rows - len(self.stored)
        words = (f"{format_ratio(self.dense_bytes / bytes_)} fewer bytes" if bytes_ < self.dense_bytes else
                 "no less, as each row comes with its index")  # fmt: skip
        return (f"The dense gradient takes {format_bytes(self.dense_bytes)}, and {zeros:,} of its rows are zeros. The row-sparse "
                f"gradient of the same step takes {format_bytes(bytes_)}, {words}.")  # fmt: skip


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
    fits = rows * UNITS * 4 <= MOST_BYTES
    array = gradient_of(["word"], rows if fits else LEAST_ROWS, "default")
    return array.nbytes if fits else array.nbytes // LEAST_ROWS * rows, fits


@cache
def opening() -> str:
    """A paragraph of The Origin of Species, which opens the course."""
    return next(text for _, text in read_books(["Darwin"]) if text.startswith(_OPENING))


def measured(text: str | None = None, rows: int = 1_000_000) -> Touched:
    """Compute the gradients of a text, by default of ``opening()``.

    Raises
    ------
    ParameterError
        If the text has no words or too many letters, or ``rows`` is out of range.
    """
    text = opening() if text is None else text
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
    bytes_, computed = _dense_bytes(int(rows))
    places = {word: crc32(word.encode("utf-8", "replace")) % int(rows) for word in words}
    stored = cast("RowSparseNDArray", gradient_of(words, int(rows), "row_sparse"))
    return Touched(text, int(rows), places, len(words), stored, bytes_, computed)


def figure_of(touched: Touched) -> Figure:
    """Draw both gradients as squares of the same rows."""
    dense = Shape("default", (touched.rows, UNITS), touched.dense_bytes)
    figure = touched_figure({"dense gradient": dense, "row-sparse gradient": touched.gradient}, touched.title)
    figure.finding = touched.finding
    quoted = clean(touched.text, MOST_QUOTED + 1)
    quoted = quoted if len(quoted) <= MOST_QUOTED else f"{quoted[:MOST_QUOTED].rsplit(' ', 1)[0]} …"
    cut = () if touched.made else ("The dense gradient was not computed: its bytes are those of its shape.",)
    figure.notes = (f"The text: “{quoted}”", *figure.notes, *cut)
    if figure.narrow is not None:
        figure.narrow.finding, figure.narrow.notes = figure.finding, figure.notes
    return figure
