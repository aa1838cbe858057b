"""Bag-of-words features: counts of words and pairs of adjacent words, one column each or hashed."""

from __future__ import annotations

import collections
import itertools
import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..storage import CSR

if TYPE_CHECKING:
    from ..base.types import Array, Indices

_WORD = re.compile(r"[^\W\d_]{2,}")


def split_words(text: str) -> list[str]:
    """The words of a text in lower case: two letters or more."""
    return _WORD.findall(text.lower())


class Numbered:
    """Texts as sequences of word numbers.

    Attributes
    ----------
    vocabulary : list of str
        The distinct words, sorted by decreasing frequency; those of the same frequency by alphabet.
    words : array of int64
        Concatenated word numbers of all texts.
    ends : array of int64, shape (texts + 1,)
        Text ``i`` has ``words[ends[i]:ends[i + 1]]``.
    """

    def __init__(self, vocabulary: list[str], words: Array, ends: Array) -> None:
        self.vocabulary, self.words, self.ends = vocabulary, words, ends


def number_words(texts: Sequence[str]) -> Numbered:
    """Split texts into words and number them."""
    split = [split_words(text) for text in texts]
    counted = collections.Counter(itertools.chain.from_iterable(split))
    vocabulary = sorted(counted, key=lambda word: (-counted[word], word))
    numbers = {word: number for number, word in enumerate(vocabulary)}
    words = np.fromiter((numbers[word] for text in split for word in text), np.int64)
    return Numbered(vocabulary, words, np.cumsum([0, *map(len, split)], dtype=np.int64))


def count_words(texts: Numbered, features: int | None, pairs: bool = True, counts: str = "log",
                normalise: bool = True) -> tuple[CSR, tuple[str, ...]]:
    """Count words, and pairs of adjacent words.

    Parameters
    ----------
    texts : Numbered
    features : int or None
        Number of columns.  Words with the same hash are counted together.  None for a column for each word and each pair.
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
    tuple of str
        The words, and the pairs if there is a column for each.
    """
    rows = np.repeat(np.arange(len(texts.ends) - 1), np.diff(texts.ends))
    inside, adjacent = rows[:-1] == rows[1:], (texts.words[:-1], texts.words[1:])
    vocabulary = tuple(texts.vocabulary)
    if features is None:
        columns, width = texts.words, len(vocabulary)
        if pairs:
            keys, second = np.unique((adjacent[0] * width + adjacent[1])[inside], return_inverse=True)
            vocabulary += tuple(f"{vocabulary[key // width]} {vocabulary[key % width]}" for key in keys.tolist())
            second, width = second + width, len(vocabulary)
    else:
        hashes, width = _mix(np.array([zlib.crc32(word.encode()) for word in vocabulary], np.uint64)), features
        columns = hashes[texts.words] % np.uint64(features)
        if pairs:
            second = _mix(hashes[adjacent[0]] * np.uint64(3) + hashes[adjacent[1]])[inside] % np.uint64(features)
    if pairs:
        rows, columns = np.concatenate([rows, rows[:-1][inside]]), np.concatenate([columns, second])
    return _counted(rows, columns.astype(np.int64), (len(texts.ends) - 1, width), counts, normalise), vocabulary


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
    mixed: Array = values ^ (values >> np.uint64(31))
    return mixed
