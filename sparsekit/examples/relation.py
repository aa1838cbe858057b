"""Data for recommenders that needs no network: how often a passage of a book uses a word.

Passages take the place of users, words that of items, and counts of words that of ratings.  A passage is some paragraphs of one of
the books that come with sparsekit, one after the other, so the data are the same everywhere.
"""

from __future__ import annotations

import collections
import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..datasets.books import AUTHORS, read_books
from ..datasets.words import split_words
from ..ndarray import sparse

if TYPE_CHECKING:
    from ..base.types import Array, Indices
    from ..ndarray.sparse import CSRNDArray

__all__ = ["Pairs", "Relation", "columns_of", "count_relation", "crossed", "draw_pairs", "one_hot", "rows_of_ones", "split"]

#: Paragraphs of a passage; a last one of a book that would be shorter is left out.
PARAGRAPHS = 6
#: Words that fewer passages use, or a larger share of passages, are left out as uninformative.
FEWEST_PASSAGES, LARGEST_SHARE = 20, 0.3


class Relation(NamedTuple):
    """Counts of words in passages of books.

    Attributes
    ----------
    passage, word : arrays of int32, shape (entries,)
        Indices into ``passages`` and ``words``.
    count : array of float32, shape (entries,)
    author : array of int32, shape (passages,)
        Index into ``authors`` of each passage.
    passages, words, authors : tuple of str
        A passage is called by its author and its number in the book, from 1: ``"Darwin 12"``.
    """

    passage: Any
    word: Any
    count: Any
    author: Any
    passages: tuple[str, ...]
    words: tuple[str, ...]
    authors: tuple[str, ...]


class Pairs(NamedTuple):
    """Pairs of a passage and a word, and whether the passage uses the word.

    Attributes
    ----------
    passage, word : arrays of int32, shape (pairs,)
    label : array of float32, shape (pairs,)
        1 for a pair of the relation, 0 for a negative sample.
    """

    passage: Any
    word: Any
    label: Any


@functools.cache
def count_relation() -> Relation:
    """Count the words of every passage, without frequent and rare ones.  The arrays are read-only, as there is one relation."""
    counts: dict[str, collections.Counter[str]] = {}
    for author, paragraphs in itertools.groupby(read_books(), lambda paragraph: paragraph.author):
        texts = [paragraph.text for paragraph in paragraphs]
        for number, start in enumerate(range(0, len(texts) - PARAGRAPHS + 1, PARAGRAPHS), 1):
            counts[f"{author} {number}"] = collections.Counter(split_words(" ".join(texts[start:start + PARAGRAPHS])))
    uses = collections.Counter(word for words in counts.values() for word in words)
    kept = sorted(word for word, number in uses.items() if FEWEST_PASSAGES <= number <= LARGEST_SHARE * len(counts))
    numbers = {word: number for number, word in enumerate(kept)}
    rows = [sorted((numbers[word], count) for word, count in words.items() if word in numbers) for words in counts.values()]
    passage = np.repeat(np.arange(len(rows), dtype=np.int32), [len(row) for row in rows])
    word, count = np.array([pair for row in rows for pair in row], np.int32).T.copy()
    author = np.array([AUTHORS.index(name.rpartition(" ")[0]) for name in counts], np.int32)
    found = Relation(passage, word, count.astype(np.float32), author, tuple(counts), tuple(kept), AUTHORS)
    for array in found[:4]:
        array.flags.writeable = False
    return found


def split(entries: int, seed: int, test_share: float = 0.2) -> Array:
    """Return a random boolean mask of the entries for testing."""
    return np.random.default_rng(seed).random(entries) < test_share


def draw_pairs(relation: Relation, seed: int, test_share: float = 0.2) -> tuple[Pairs, Pairs]:
    """Draw a negative sample for each pair of the relation, and split all pairs for training and testing.

    Each word is as frequent among negative samples as among pairs of the relation, and each passage nearly so, which means that
    the label depends on both together.
    """
    random = np.random.default_rng(seed)
    passages, entries = len(relation.passages), len(relation.word)
    there = np.zeros((len(relation.words), passages), bool)
    there[relation.word, relation.passage] = True
    drawn = relation.passage[random.integers(entries, size=entries)]
    wrong = there[relation.word, drawn]
    while wrong.any():  # at most LARGEST_SHARE of the passages use a word, so a few rounds suffice
        drawn[wrong] = relation.passage[random.integers(entries, size=int(wrong.sum()))]
        wrong = there[relation.word, drawn]
    passage, word = np.concatenate([relation.passage, drawn]), np.concatenate([relation.word, relation.word])
    label = np.repeat(np.array([1, 0], np.float32), entries)
    order = random.permutation(len(label))
    pairs = Pairs(passage[order], word[order], label[order])
    testing = split(len(label), seed, test_share)
    return Pairs(*(part[~testing] for part in pairs)), Pairs(*(part[testing] for part in pairs))


def columns_of(relation: Relation, passage: Indices, word: Indices) -> tuple[Any, int]:
    """Return the columns of the word, passage and author of each pair, of shape (pairs, 3), and the number of columns."""
    first, second = len(relation.words), len(relation.words) + len(relation.passages)
    columns = np.stack([word, passage + first, relation.author[passage] + second], axis=1)
    return columns.astype(np.int64), second + len(relation.authors)


def one_hot(relation: Relation, passage: Indices, word: Indices) -> CSRNDArray:
    """Return pairs as csr rows with a 1 for the word, one for the passage and one for its author."""
    columns, width = columns_of(relation, passage, word)
    return rows_of_ones(columns, width)


def crossed(relation: Relation, passage: Indices, word: Indices) -> CSRNDArray:
    """Return pairs as csr rows with a 1 for the combination of word and author, which the wide model memorizes."""
    author = relation.author[passage].astype(np.int64)
    width = len(relation.words) * len(relation.authors)
    return rows_of_ones((word.astype(np.int64) * len(relation.authors) + author)[:, None], width)


def rows_of_ones(columns: Indices, width: int) -> CSRNDArray:
    """Return csr rows with a 1 in each of the given columns, of shape (rows, stored values per row)."""
    count, each = columns.shape
    return sparse.csr_matrix((np.ones(columns.size, np.float32), columns.ravel(), np.arange(0, columns.size + 1, each)),
                             shape=(count, width))
