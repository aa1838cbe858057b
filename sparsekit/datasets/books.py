"""The data set that comes with sparsekit: paragraphs of eight books in the public domain, labelled by author.

``tests/datasets/collect_books.py`` made the file from the editions of Standard Ebooks; its head names the books and their
licence.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.checks import whole
from ..base.context import cpu
from ..base.errors import ShapeError, UnknownNameError
from ..ndarray import wrap
from ..storage import CSR
from .words import count_words, number_words

if TYPE_CHECKING:
    from ..base.types import Array

#: Authors of the books, in the order of the file.
AUTHORS = ("Austen", "Brontë", "Darwin", "Doyle", "Mill", "Shelley", "Thoreau", "Wells")

#: Authors of essays; the others wrote novels and stories.
ESSAYISTS = ("Darwin", "Mill", "Thoreau")

COUNTS = ("log", "raw", "binary")


class Paragraph(NamedTuple):
    """A paragraph of a book."""

    author: str
    text: str


class Part(NamedTuple):
    """Rows and their labels.

    Attributes
    ----------
    data : CSRNDArray, shape (rows, features), float32
    label : array of float32, shape (rows,)
        For books, an index into ``BookData.names``.
    """

    data: Any
    label: Any


class BookData(NamedTuple):
    """Paragraphs of books as a sparse data set.

    Attributes
    ----------
    train, test : Part
    names : tuple of str
        Name of each label.
    vocabulary : tuple of str
        The words of the paragraphs, the most frequent first; without hashing, the word or pair of words of each column.
    paragraphs : tuple of two lists of Paragraph
        The texts of the rows of ``train``, and of those of ``test``.
    """

    train: Part
    test: Part
    names: tuple[str, ...]
    vocabulary: tuple[str, ...]
    paragraphs: tuple[list[Paragraph], list[Paragraph]]


def books_file() -> Path:
    """The file of paragraphs that comes with sparsekit: UTF-8 text of 1.9 MB, the same bytes everywhere.

    Lines that begin with ``#`` name the books, their source and their licence.  Every other line has an author, a tab and a
    paragraph.

    Returns
    -------
    Path
    """
    return Path(__file__).with_name("books.tsv")


def read_books(authors: Sequence[str] | None = None) -> list[Paragraph]:
    """Read the paragraphs, in the order of the books.

    Parameters
    ----------
    authors : sequence of str, optional
        Surnames.  Default: all eight.

    Returns
    -------
    list of Paragraph

    Raises
    ------
    UnknownNameError
        If the data set has no book by one of the authors.

    Examples
    --------
    >>> mx.datasets.read_books(["Austen"])[0].text
    'It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a wife.'
    """
    chosen = _named(authors)
    return [paragraph for paragraph in _all() if paragraph.author in chosen]


def load_books(features: int | None = None, target: str | Sequence[str] | None = None, authors: Sequence[str] | None = None,
               pairs: bool = False, counts: str = "log", normalise: bool = True, seed: int = 0) -> BookData:
    """Load the paragraphs as bags of words: who wrote this paragraph?

    The first eight tenths of each book are for training, the rest for testing, so that a test is on later chapters.  The order
    of the rows is random and depends only on their text and on ``seed``.  The result is the same on every machine.

    Parameters
    ----------
    features : int, optional
        Number of columns into which words are hashed.  Default: no hashing, and a column for each word, the most frequent
        first.
    target : str or sequence of str, optional
        Authors with label 1; the others have label 0.  Default: each author is a class.
    authors : sequence of str, optional
        Whose paragraphs are loaded, by surname.  Default: all eight.
    pairs : bool
        Also count pairs of adjacent words.  Default False.
    counts : {"log", "raw", "binary"}
        Stored value for a count n: log(1 + n), n, or 1.
    normalise : bool
        Divide each row by its Euclidean norm.  Default True.
    seed : int
        Determines the order of the rows.

    Returns
    -------
    BookData

    Raises
    ------
    ShapeError
        If ``features`` is not a positive integer.
    UnknownNameError
        If ``counts`` or an author is unknown, or ``target`` leaves only one class.

    Examples
    --------
    >>> data = mx.datasets.load_books(target="Darwin")
    >>> data.names, data.train.data.stype, data.vocabulary[:3]
    (('others', 'Darwin'), 'csr', ('the', 'of', 'and'))
    """
    _check(features, counts)
    paragraphs = read_books(authors)
    present = [author for author in AUTHORS if author in {paragraph.author for paragraph in paragraphs}]
    classes, names = _classes(present, target)
    training, _, _ = split_books(paragraphs)
    numbered = number_words([text for _, text in paragraphs])
    matrix, vocabulary = count_words(numbered, features, pairs, counts, normalise)
    label = np.array([classes[author] for author, _ in paragraphs], np.float32)
    digests = [_digest(text, seed) for _, text in paragraphs]
    order = np.array(sorted(range(len(paragraphs)), key=digests.__getitem__))
    parts = [order[np.isin(order, training) == first] for first in (True, False)]
    train, test = (_part(matrix, label, rows) for rows in parts)
    first, second = ([paragraphs[row] for row in rows] for rows in parts)
    return BookData(train, test, names, vocabulary, (first, second))


def split_books(paragraphs: Sequence[Paragraph]) -> tuple[list[int], list[int], list[int]]:
    """Numbers of the paragraphs for training, validation and testing: eight tenths of each book, the ninth, and the tenth."""
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    for author in AUTHORS:
        places = [number for number, paragraph in enumerate(paragraphs) if paragraph.author == author]
        cuts = [0, len(places) * 8 // 10, len(places) * 9 // 10, len(places)]
        for part, (start, stop) in zip(parts, itertools.pairwise(cuts), strict=True):
            part += places[start:stop]
    return parts


@cache
def _all() -> tuple[Paragraph, ...]:
    with books_file().open(encoding="utf-8") as lines:
        return tuple(Paragraph(*line.rstrip("\n").split("\t", 1)) for line in lines if not line.startswith("#"))


def _named(authors: str | Sequence[str] | None) -> set[str]:
    """The authors, which are checked."""
    chosen = AUTHORS if authors is None else [authors] if isinstance(authors, str) else list(authors)
    for author in chosen:
        UnknownNameError.check("author", author, AUTHORS)
    return set(chosen)


def _check(features: int | None, counts: str) -> None:
    if features is not None:
        whole("features", features, 1, hint="pass features=2**20, for example.", error=ShapeError)
    UnknownNameError.check("way to store counts", counts, COUNTS)


def _classes(present: list[str], target: str | Sequence[str] | None) -> tuple[dict[str, int], tuple[str, ...]]:
    """The label of each author, and the names of the labels."""
    if target is None:
        return {author: number for number, author in enumerate(present)}, tuple(present)
    wanted = _named(target)
    parts = [[author for author in present if (author in wanted) == inside] for inside in (False, True)]
    if not all(parts):
        raise UnknownNameError(f"target={target!r} leaves one class of the authors {', '.join(present)}.",
                               hint="name some of the authors, but not all.")
    names = (parts[0][0] if len(parts[0]) == 1 else "others", " or ".join(parts[1]))
    return {author: int(author in wanted) for author in present}, names


def _digest(text: str, seed: int) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16, key=str(seed).encode()[:64]).digest()


def _part(matrix: CSR, label: Array, rows: Array) -> Part:
    """A copy of the chosen rows, in their order."""
    lengths = np.diff(matrix.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    entries = np.repeat(matrix.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
    chosen = CSR(matrix.data[entries], matrix.indices[entries], indptr, (len(rows), matrix.shape[1]), check=False)
    return Part(wrap(chosen, cpu()), label[rows])
