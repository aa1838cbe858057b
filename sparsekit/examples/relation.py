"""A real relation for recommenders that needs no network: which module's documentation uses which word, and how often.

Ratings of films are not to be had offline, so modules stand for users, words for items, and how often a module's
docstrings use a word for its rating.  Nothing is invented: the relation is counted from the source files of packages.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import DataFileError, MissingPackageError
from ..datasets.docstrings import SOURCE_LIMIT
from ..datasets.sources import docstrings_in, source_files
from ..datasets.words import split_words
from ..ndarray import sparse

if TYPE_CHECKING:
    from ..base.types import Array, Indices
    from ..ndarray.sparse import CSRNDArray

__all__ = ["Pairs", "Relation", "columns_of", "count_relation", "crossed", "draw_pairs", "one_hot", "rows_of_ones", "split"]

#: Words that fewer modules use, or a larger share of them, are left out as uninformative.
FEWEST, LARGEST_SHARE = 15, 0.3
#: Distinct words that a module needs.
LEAST_WORDS = 10
#: Modules that a relation needs.
LEAST_MODULES = 10


class Relation(NamedTuple):
    """Counts of words in the documentation of modules.

    Attributes
    ----------
    module, word : arrays of int32, shape (entries,)
    count : array of float32, shape (entries,)
    folder : array of int32, shape (modules,)
        Which folder a module lies in.
    modules, words, folders : tuple of str
        What the numbers stand for.
    """

    module: Any
    word: Any
    count: Any
    folder: Any
    modules: tuple[str, ...]
    words: tuple[str, ...]
    folders: tuple[str, ...]


class Pairs(NamedTuple):
    """Modules and words, and whether the one uses the other.

    Attributes
    ----------
    module, word : arrays of int32
    label : array of float32
        1 for a pair of the relation, 0 for one that was drawn.
    """

    module: Any
    word: Any
    label: Any


def count_relation(packages: Sequence[str]) -> Relation:
    """Count the words of every module of installed packages.

    Raises
    ------
    MissingPackageError
        If a package is not installed as source files.
    DataFileError
        If too little is left of what they hold.

    Notes
    -----
    Reading takes seconds, and several examples use the same data: the last relation is kept, its arrays read-only.
    """
    return _counted(tuple(packages))


@functools.lru_cache(maxsize=1)
def _counted(packages: tuple[str, ...]) -> Relation:
    counts = {}
    for package in packages:
        files = source_files(package, SOURCE_LIMIT)
        if not files:
            raise MissingPackageError(f"No source file of a package {package!r} was found.", hint="install it, or name others.")
        for path in files:
            words = collections.Counter(word for text in docstrings_in(path.read_bytes()) for word in split_words(text))
            # The name from the package on: the folder that it is installed in does not matter.
            place = len(path.parts) - 1 - path.parts[::-1].index(package) if package in path.parts else -1
            counts["/".join(path.parts[place:])] = words
    return _related(counts)


def _related(counts: dict[str, collections.Counter[str]]) -> Relation:
    """The counts as arrays, without words that are everywhere or nowhere."""
    uses = collections.Counter(word for words in counts.values() for word in words)
    kept = sorted(word for word, number in uses.items() if FEWEST <= number <= LARGEST_SHARE * len(counts))
    numbers = {word: number for number, word in enumerate(kept)}
    rows = {name: sorted((numbers[word], count) for word, count in words.items() if word in numbers)
            for name, words in sorted(counts.items())}
    rows = {name: row for name, row in rows.items() if len(row) >= LEAST_WORDS}
    if len(rows) < LEAST_MODULES:
        raise DataFileError(f"Only {len(rows)} modules have enough documentation.", hint="name larger packages, or more.")
    module = np.repeat(np.arange(len(rows), dtype=np.int32), [len(row) for row in rows.values()])
    word, count = np.array([pair for row in rows.values() for pair in row], np.int32).T.copy()
    folders = sorted({name.rpartition("/")[0] for name in rows})
    folder = np.array([folders.index(name.rpartition("/")[0]) for name in rows], np.int32)
    found = Relation(module, word, count.astype(np.float32), folder, tuple(rows), tuple(kept), tuple(folders))
    for array in found[:4]:
        array.flags.writeable = False
    return found


def split(entries: int, seed: int, test_share: float = 0.2) -> Array:
    """Which entries are for testing: a mask."""
    return np.random.default_rng(seed).random(entries) < test_share


def draw_pairs(relation: Relation, seed: int, test_share: float = 0.2) -> tuple[Pairs, Pairs]:
    """As many pairs that are not in the relation as there are in it, and both split for training and testing.

    Each word is as frequent among the pairs that are drawn as among the others, and each module nearly so: neither tells
    the label, only both together do.
    """
    random = np.random.default_rng(seed)
    modules, entries = len(relation.modules), len(relation.word)
    there = np.zeros((len(relation.words), modules), bool)
    there[relation.word, relation.module] = True
    drawn = relation.module[random.integers(entries, size=entries)]
    wrong = there[relation.word, drawn]
    while wrong.any():  # a word is used by three modules in ten at most, so this ends soon
        drawn[wrong] = relation.module[random.integers(entries, size=int(wrong.sum()))]
        wrong = there[relation.word, drawn]
    module, word = np.concatenate([relation.module, drawn]), np.concatenate([relation.word, relation.word])
    label = np.repeat(np.array([1, 0], np.float32), entries)
    order = random.permutation(len(label))
    pairs = Pairs(module[order], word[order], label[order])
    testing = split(len(label), seed, test_share)
    return Pairs(*(part[~testing] for part in pairs)), Pairs(*(part[testing] for part in pairs))


def columns_of(relation: Relation, module: Indices, word: Indices) -> tuple[Any, int]:
    """For each pair the columns of its word, module and folder, (pairs, 3), and the number of columns in all."""
    first, second = len(relation.words), len(relation.words) + len(relation.modules)
    columns = np.stack([word, module + first, relation.folder[module] + second], axis=1)
    return columns.astype(np.int64), second + len(relation.folders)


def one_hot(relation: Relation, module: Indices, word: Indices) -> CSRNDArray:
    """Pairs as csr rows with a 1 for the word, one for the module and one for its folder."""
    columns, width = columns_of(relation, module, word)
    return rows_of_ones(columns, width)


def crossed(relation: Relation, module: Indices, word: Indices) -> CSRNDArray:
    """Pairs as csr rows with a 1 for the word together with the folder: what a wide model learns by heart."""
    folder = relation.folder[module].astype(np.int64)
    width = len(relation.words) * len(relation.folders)
    return rows_of_ones((word.astype(np.int64) * len(relation.folders) + folder)[:, None], width)


def rows_of_ones(columns: Indices, width: int) -> CSRNDArray:
    """Csr rows with a 1 in each of some columns, (rows, each)."""
    count, each = columns.shape
    return sparse.csr_matrix((np.ones(columns.size, np.float32), columns.ravel(), np.arange(0, columns.size + 1, each)),
                             shape=(count, width))
