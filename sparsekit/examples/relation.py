"""Data for recommenders that needs no network: how often the documentation of a module uses a word.

Modules take the place of users, words that of items, and counts of words in the docstrings of a module that of ratings.  The
counts are those of the source files of installed packages.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import DataFileError, MissingPackageError
from ..ndarray import sparse
from .sources import docstrings_by_file, split_words

if TYPE_CHECKING:
    from ..base.types import Array, Indices
    from ..ndarray.sparse import CSRNDArray

__all__ = ["Pairs", "Relation", "columns_of", "count_relation", "crossed", "draw_pairs", "one_hot", "rows_of_ones", "split"]

#: Words that fewer modules use, or a larger share of modules, are left out as uninformative.
FEWEST_MODULES, LARGEST_SHARE = 15, 0.3
#: Modules with fewer distinct words are left out.
LEAST_WORDS = 10
#: A relation needs at least so many modules.
LEAST_MODULES = 10


class Relation(NamedTuple):
    """Counts of words in the documentation of modules.

    Attributes
    ----------
    module, word : arrays of int32, shape (entries,)
        Indices into ``modules`` and ``words``.
    count : array of float32, shape (entries,)
    folder : array of int32, shape (modules,)
        Index into ``folders`` of each module.
    modules, words, folders : tuple of str
    """

    module: Any
    word: Any
    count: Any
    folder: Any
    modules: tuple[str, ...]
    words: tuple[str, ...]
    folders: tuple[str, ...]


class Pairs(NamedTuple):
    """Pairs of a module and a word, and whether the module uses the word.

    Attributes
    ----------
    module, word : arrays of int32, shape (pairs,)
    label : array of float32, shape (pairs,)
        1 for a pair of the relation, 0 for a negative sample.
    """

    module: Any
    word: Any
    label: Any


def count_relation(packages: Sequence[str]) -> Relation:
    """Count the words of every module of installed packages.

    The last relation is cached, with read-only arrays, because reading takes seconds.

    Raises
    ------
    MissingPackageError
        If a package is not installed as source files.
    DataFileError
        If fewer than ``LEAST_MODULES`` modules have enough words.
    """
    return _counted(tuple(packages))


@functools.lru_cache(maxsize=1)
def _counted(packages: tuple[str, ...]) -> Relation:
    counts = {}
    for package in packages:
        files = docstrings_by_file(package)
        if not files:
            raise MissingPackageError(f"Package {package!r} has no source files here.", hint="install it, or name others.")
        for path, texts in files:
            words = collections.Counter(word for text in texts for word in split_words(text))
            # Names start at the package, so that they do not depend on where it is installed.
            place = len(path.parts) - 1 - path.parts[::-1].index(package) if package in path.parts else -1
            counts["/".join(path.parts[place:])] = words
    return _related(counts)


def _related(counts: dict[str, collections.Counter[str]]) -> Relation:
    """Return the counts as arrays, without frequent words, rare words and short modules."""
    uses = collections.Counter(word for words in counts.values() for word in words)
    kept = sorted(word for word, number in uses.items() if FEWEST_MODULES <= number <= LARGEST_SHARE * len(counts))
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
    """Return a random boolean mask of the entries for testing."""
    return np.random.default_rng(seed).random(entries) < test_share


def draw_pairs(relation: Relation, seed: int, test_share: float = 0.2) -> tuple[Pairs, Pairs]:
    """Draw a negative sample for each pair of the relation, and split all pairs for training and testing.

    Each word is as frequent among negative samples as among pairs of the relation, and each module nearly so, which means that
    the label depends on both together.
    """
    random = np.random.default_rng(seed)
    modules, entries = len(relation.modules), len(relation.word)
    there = np.zeros((len(relation.words), modules), bool)
    there[relation.word, relation.module] = True
    drawn = relation.module[random.integers(entries, size=entries)]
    wrong = there[relation.word, drawn]
    while wrong.any():  # at most LARGEST_SHARE of the modules use a word, so a few rounds suffice
        drawn[wrong] = relation.module[random.integers(entries, size=int(wrong.sum()))]
        wrong = there[relation.word, drawn]
    module, word = np.concatenate([relation.module, drawn]), np.concatenate([relation.word, relation.word])
    label = np.repeat(np.array([1, 0], np.float32), entries)
    order = random.permutation(len(label))
    pairs = Pairs(module[order], word[order], label[order])
    testing = split(len(label), seed, test_share)
    return Pairs(*(part[~testing] for part in pairs)), Pairs(*(part[testing] for part in pairs))


def columns_of(relation: Relation, module: Indices, word: Indices) -> tuple[Any, int]:
    """Return the columns of the word, module and folder of each pair, of shape (pairs, 3), and the number of columns."""
    first, second = len(relation.words), len(relation.words) + len(relation.modules)
    columns = np.stack([word, module + first, relation.folder[module] + second], axis=1)
    return columns.astype(np.int64), second + len(relation.folders)


def one_hot(relation: Relation, module: Indices, word: Indices) -> CSRNDArray:
    """Return pairs as csr rows with a 1 for the word, one for the module and one for its folder."""
    columns, width = columns_of(relation, module, word)
    return rows_of_ones(columns, width)


def crossed(relation: Relation, module: Indices, word: Indices) -> CSRNDArray:
    """Return pairs as csr rows with a 1 for the combination of word and folder, which the wide model memorizes."""
    folder = relation.folder[module].astype(np.int64)
    width = len(relation.words) * len(relation.folders)
    return rows_of_ones((word.astype(np.int64) * len(relation.folders) + folder)[:, None], width)


def rows_of_ones(columns: Indices, width: int) -> CSRNDArray:
    """Return csr rows with a 1 in each of the given columns, of shape (rows, stored values per row)."""
    count, each = columns.shape
    return sparse.csr_matrix((np.ones(columns.size, np.float32), columns.ravel(), np.arange(0, columns.size + 1, each)),
                             shape=(count, width))
