"""Data for recommenders that needs no network: how often a word follows another one in books.

Words take the place of users, the words close behind them that of items, and counts that of ratings.  The texts are the books
that come with sparsekit, so the data are the same everywhere.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..datasets.books import read_books
from ..datasets.words import number_words
from ..ndarray import sparse

if TYPE_CHECKING:
    from ..base.types import Array, Indices
    from ..ndarray.sparse import CSRNDArray

#: How many words are left out since nearly all others are close to them, and how many follow in frequency and are kept.
FREQUENT, WORDS = 10, 400
#: A word is close behind another one if at most so many places are between their beginnings.
CLOSE = 2


class Relation(NamedTuple):
    """Counts of pairs of words in books.

    Attributes
    ----------
    word, follower : arrays of int32, shape (entries,)
        Indices into ``words``; the follower is close behind the word.
    count : array of float32, shape (entries,)
    ending : array of int32, shape (words,)
        Index into ``endings`` of each word.
    words, endings : tuple of str
        The words by frequency, and the pairs of letters with which they end, sorted.
    """

    word: Any
    follower: Any
    count: Any
    ending: Any
    words: tuple[str, ...]
    endings: tuple[str, ...]


class Pairs(NamedTuple):
    """Pairs of words, and whether the second is close behind the first anywhere.

    Attributes
    ----------
    word, follower : arrays of int32, shape (pairs,)
    label : array of float32, shape (pairs,)
        1 for a pair of the relation, 0 for a negative sample.
    """

    word: Any
    follower: Any
    label: Any


@functools.cache
def count_relation() -> Relation:
    """Count the pairs of words.  The arrays are read-only, as there is one relation."""
    numbered = number_words([paragraph.text for paragraph in read_books()])
    words = numbered.vocabulary[FREQUENT:FREQUENT + WORDS]
    numbers = numbered.words - FREQUENT
    text = np.repeat(np.arange(numbered.ends.size - 1), np.diff(numbered.ends))
    pairs = []
    for ahead in range(1, CLOSE + 1):
        first, second = numbers[:-ahead], numbers[ahead:]
        kept = (text[:-ahead] == text[ahead:]) & (first >= 0) & (first < WORDS) & (second >= 0) & (second < WORDS)
        pairs.append((first * WORDS + second)[kept])
    places, count = np.unique(np.concatenate(pairs), return_counts=True)
    endings = sorted({word[-2:] for word in words})
    relation = Relation(*np.divmod(places.astype(np.int32), WORDS), count.astype(np.float32),
                        np.array([endings.index(word[-2:]) for word in words], np.int32), tuple(words), tuple(endings))
    for array in relation[:4]:
        array.flags.writeable = False
    return relation


def split(entries: int, seed: int, test_share: float = 0.2) -> Array:
    """Return a random boolean mask of the entries for testing."""
    return np.random.default_rng(seed).random(entries) < test_share


def draw_pairs(relation: Relation, seed: int, test_share: float = 0.2) -> tuple[Pairs, Pairs]:
    """Draw a negative sample for each pair of the relation, and split all pairs for training and testing.

    Each follower is as frequent among negative samples as among pairs of the relation, and each word nearly so, which means that
    the label depends on both together.
    """
    random = np.random.default_rng(seed)
    words, entries = len(relation.words), len(relation.word)
    there = np.zeros((words, words), bool)
    there[relation.follower, relation.word] = True
    drawn = relation.word[random.integers(entries, size=entries)]
    wrong = there[relation.follower, drawn]
    while wrong.any():  # no follower is close behind nearly all words, so a few rounds suffice
        drawn[wrong] = relation.word[random.integers(entries, size=int(wrong.sum()))]
        wrong = there[relation.follower, drawn]
    word, follower = np.concatenate([relation.word, drawn]), np.concatenate([relation.follower, relation.follower])
    label = np.repeat(np.array([1, 0], np.float32), entries)
    order = random.permutation(len(label))
    pairs = Pairs(word[order], follower[order], label[order])
    testing = split(len(label), seed, test_share)
    return Pairs(*(part[~testing] for part in pairs)), Pairs(*(part[testing] for part in pairs))


def columns_of(relation: Relation, word: Indices, follower: Indices) -> tuple[Any, int]:
    """Return the columns of the follower, word and ending of each pair, of shape (pairs, 3), and the number of columns."""
    words = len(relation.words)
    columns = np.stack([follower, word + words, relation.ending[word] + 2 * words], axis=1)
    return columns.astype(np.int64), 2 * words + len(relation.endings)


def one_hot(relation: Relation, word: Indices, follower: Indices) -> CSRNDArray:
    """Return pairs as csr rows with a 1 for the follower, one for the word and one for its ending."""
    columns, width = columns_of(relation, word, follower)
    return rows_of_ones(columns, width)


def crossed(relation: Relation, word: Indices, follower: Indices) -> CSRNDArray:
    """Return pairs as csr rows with a 1 for the combination of follower and ending, which the wide model memorizes."""
    ending = relation.ending[word].astype(np.int64)
    width = len(relation.words) * len(relation.endings)
    return rows_of_ones((follower.astype(np.int64) * len(relation.endings) + ending)[:, None], width)


def rows_of_ones(columns: Indices, width: int) -> CSRNDArray:
    """Return csr rows with a 1 in each of the given columns, of shape (rows, stored values per row)."""
    count, each = columns.shape
    return sparse.csr_matrix((np.ones(columns.size, np.float32), columns.ravel(), np.arange(0, columns.size + 1, each)),
                             shape=(count, width))
