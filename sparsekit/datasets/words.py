"""Bag-of-words features: counts of words and pairs of adjacent words, hashed into a fixed number of columns."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..storage import CSR

if TYPE_CHECKING:
    from ..base.types import Array, Indices

__all__ = ["Numbered", "count_words", "number_words", "split_words"]

_WORD = re.compile(r"[a-z][a-z0-9]+")


def split_words(text: str) -> list[str]:
    """The words of a text in lower case: a letter followed by letters and digits, at least one; ``_`` is a separator."""
    return _WORD.findall(text.lower())


class Numbered:
    """Texts as sequences of word numbers.

    Attributes
    ----------
    vocabulary : list of str
        The distinct words, in the order of their first occurrence.
    words : array of int64
        Concatenated word numbers of all texts.
    ends : array of int64, shape (texts + 1,)
        Text ``i`` has ``words[ends[i]:ends[i + 1]]``.
    """

    def __init__(self, vocabulary: list[str], words: Array, ends: Array) -> None:
        self.vocabulary, self.words, self.ends = vocabulary, words, ends


def number_words(texts: Sequence[str], drop: Callable[[str], bool]) -> Numbered:
    """Split texts into words and number them, omitting words for which ``drop(word)`` is true."""
    numbers: dict[str, int] = {}
    vocabulary: list[str] = []
    flat: list[int] = []
    ends = [0]
    for text in texts:
        for word in split_words(text):
            number = numbers.get(word)
            if number is None:
                number = -1 if drop(word) else len(vocabulary)
                numbers[word] = number
                vocabulary += [word] if number >= 0 else []
            if number >= 0:
                flat.append(number)
        ends.append(len(flat))
    return Numbered(vocabulary, np.array(flat, np.int64), np.array(ends, np.int64))


def count_words(texts: Numbered, features: int, pairs: bool = True, counts: str = "log",
                normalise: bool = True) -> CSR:
    """Count words, and pairs of adjacent words, in hashed columns.

    Parameters
    ----------
    texts : Numbered
    features : int
        Number of columns.  Words with the same hash are counted together.
    pairs : bool
        Also count pairs of adjacent words.  Default True.
    counts : {"log", "raw", "binary"}
        Stored value for a count ``n``: log(1 + n), n, or 1.
    normalise : bool
        Divide each row by its Euclidean norm.  Default True.

    Returns
    -------
    CSR
        Canonical, float32, one row for each text.  The hash, a mixed CRC-32, is the same on every machine.
    """
    hashes = _mix(np.array([zlib.crc32(word.encode()) for word in texts.vocabulary], np.uint64))
    rows = np.repeat(np.arange(len(texts.ends) - 1), np.diff(texts.ends))
    columns = hashes[texts.words] % np.uint64(features)
    if pairs and len(rows) > 1:
        first, second = hashes[texts.words[:-1]], hashes[texts.words[1:]]
        inside = rows[:-1] == rows[1:]
        adjacent = _mix(first * np.uint64(3) + second)[inside] % np.uint64(features)
        rows, columns = np.concatenate([rows, rows[:-1][inside]]), np.concatenate([columns, adjacent])
    return _counted(rows, columns.astype(np.int64), (len(texts.ends) - 1, features), counts, normalise)


def _counted(rows: Indices, columns: Indices, shape: tuple[int, int], counts: str, normalise: bool) -> CSR:
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    starts = np.flatnonzero(new)
    values = np.diff(starts, append=len(rows)).astype(np.float64)
    if counts == "log":
        values = np.log1p(values)
    elif counts == "binary":
        values[:] = 1
    rows, columns = rows[starts], columns[starts]
    indptr = np.searchsorted(rows, np.arange(shape[0] + 1)).astype(np.int64)
    if normalise:
        lengths = np.sqrt(np.bincount(rows, values * values, shape[0]))
        values /= lengths[rows]
    return CSR(values.astype(np.float32), columns, indptr, shape, check=False)


def _mix(values: Array) -> Array:
    """Mix the bits of each uint64 (the finalizer of splitmix64); overflow is intended."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Array = values ^ (values >> np.uint64(31))
    return found
