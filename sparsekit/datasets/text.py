"""Text for language models from Python itself: its reference manual, as ``pydoc`` shows it."""

from __future__ import annotations

import collections
import hashlib
import importlib
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.context import cpu
from ..base.errors import DataFileError, MissingPackageError, RowIndexError, ShapeError, UnknownNameError, expected
from ..ndarray import wrap
from .docstrings import SOURCE_LIMIT
from .sources import docstrings_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..base.types import Array

__all__ = ["BPTTBatches", "TextData", "Vocabulary", "load_pydoc", "split_tokens"]

#: The end of a line, and any token that is not in the vocabulary.
END, UNKNOWN = "<eos>", "<unk>"

_TOKEN = re.compile(r"[^\W\d_]+|\d+|([^\s\w])\1*|_+")
#: A sign repeated oftener than this, as in a ruled line, counts as so many.
RUN = 3


def split_tokens(text: str) -> list[str]:
    """Words, numbers and signs of a text in lower case, ``"<eos>"`` at the end of each line that is not blank."""
    found: list[str] = []
    for line in text.lower().splitlines():
        tokens = [one.group()[:RUN] if one.group(1) else one.group() for one in _TOKEN.finditer(line)]
        if tokens:
            found += [*tokens, END]
    return found


class Vocabulary:
    """Tokens and their numbers, the most frequent first, as a log-uniform sampler needs them.

    Parameters
    ----------
    tokens : iterable of str
        A text.
    size : int, optional
        Tokens at most, ``"<unk>"`` among them.
    least : int
        Rarer ones are unknown.

    Attributes
    ----------
    tokens : tuple of str
    counts : array of int64
        How often each is in the text.
    """

    def __init__(self, tokens: Iterable[str], size: int | None = None, least: int = 1) -> None:
        if size is not None and size < 2:
            raise ShapeError(expected("size", "at least 2", size), hint="size=10_000, for example.")
        counted = collections.Counter(tokens)
        ranked = sorted(((-count, token) for token, count in counted.items() if count >= least and token != UNKNOWN))
        kept = ranked[:None if size is None else size - 1]
        unknown = -(sum(counted.values()) + sum(count for count, _ in kept))
        ranked = sorted([*kept, (unknown, UNKNOWN)])
        self.tokens = tuple(token for _, token in ranked)
        self.counts = np.array([-count for count, _ in ranked], np.int64)
        self._numbers = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._numbers

    def __getitem__(self, token: str) -> int:
        return self._numbers.get(token, self._numbers[UNKNOWN])

    def to_indices(self, tokens: Iterable[str]) -> Array:
        """The numbers of tokens, int32; an unknown one has that of ``"<unk>"``."""
        unknown = self._numbers[UNKNOWN]
        return np.fromiter((self._numbers.get(token, unknown) for token in tokens), np.int32)

    def to_tokens(self, indices: object) -> list[str]:
        """The tokens of numbers.

        Raises
        ------
        RowIndexError
            If a number is out of range.
        """
        numbers = np.asarray(indices, np.int64).reshape(-1)
        outside = numbers[(numbers < 0) | (numbers >= len(self))]
        if outside.size:
            raise RowIndexError(f"Token {outside[0]} is out of range for a vocabulary of {len(self)}.", hint="they count from 0.")
        return [self.tokens[number] for number in numbers]


class TextData(NamedTuple):
    """A text in three parts, as numbers of tokens.

    Attributes
    ----------
    train, validation, test : arrays of int32
    vocabulary : Vocabulary
        Of the training part.
    version : str
        Of the Python whose manual it is: the text depends on it.
    """

    train: Any
    validation: Any
    test: Any
    vocabulary: Vocabulary
    version: str


def load_pydoc(size: int | None = 10_000, least: int = 2, packages: Sequence[str] = (), validation_share: float = 0.1,
               test_share: float = 0.1, seed: int = 0) -> TextData:
    """Python's reference manual, as ``help()`` shows it, as a text for language models; no network is needed.

    Some 110,000 tokens in about 80 articles; ``packages`` adds the docstrings of packages, and makes it millions.
    An article or docstring is as a whole in one part, which its text and ``seed`` decide.

    Parameters
    ----------
    size : int, optional
        Tokens in the vocabulary at most.
    least : int
        Tokens that come less often in the training part are ``"<unk>"``.
    packages : sequence of str
        Installed packages whose docstrings follow, by the names that they are imported by.
    validation_share, test_share : float
        Shares of the text; a little less, as what fits is found article by article.
    seed : int

    Returns
    -------
    TextData

    Raises
    ------
    MissingPackageError
        If this Python was installed without its manual, or a package is not there as source files.
    ShapeError
        For shares that leave nothing to train on.

    Examples
    --------
    >>> data = mx.datasets.load_pydoc(size=1000)
    >>> data.vocabulary.to_tokens(data.train[:3]), len(data.vocabulary)  # doctest: +SKIP
    (['the', '"', 'assert'], 1000)
    """
    if validation_share < 0 or test_share < 0 or validation_share + test_share >= 1:
        raise ShapeError("The shares of validation and test must leave a share for training.", hint="0.1 each is usual.")
    parts = _parts([(text, split_tokens(text)) for text in _texts(packages)], (validation_share, test_share), seed)
    if not parts[0]:
        raise DataFileError("No article is left to train on.", hint="choose smaller shares, or add packages.")
    vocabulary = Vocabulary(parts[0], size, least)
    train, validation, test = map(vocabulary.to_indices, parts)
    return TextData(train, validation, test, vocabulary, platform.python_version())


def _parts(texts: list[tuple[str, list[str]]], shares: tuple[float, float], seed: int) -> list[list[str]]:
    """Training, validation and test: the last two filled in the order of digests, each in the order of the texts."""
    total, key = sum(len(tokens) for _, tokens in texts), str(seed).encode()[:64]
    digests = [hashlib.blake2b(text.encode(errors="replace"), digest_size=8, key=key).digest() for text, _ in texts]
    part_of, left = [0] * len(texts), [share * total for share in shares]
    for number in sorted(range(len(texts)), key=digests.__getitem__):
        size = len(texts[number][1])
        for place in (0, 1):
            if size <= left[place]:
                part_of[number] = place + 1
                left[place] -= size
                break
    return [[token for part, (_, tokens) in zip(part_of, texts, strict=True) if part == wanted for token in tokens]
            for wanted in range(3)]


def _texts(packages: Sequence[str]) -> list[str]:
    """The articles in the order of their names, and the docstrings of each package; each text once."""
    try:
        topics = importlib.import_module("pydoc_data.topics").topics
    except ImportError as error:
        raise MissingPackageError("This Python was installed without the text of its manual, pydoc_data.",
                                  hint="load_docstrings reads the packages that are installed.") from error
    found = dict.fromkeys(topics[name] for name in sorted(topics))
    for package in packages:
        before = len(found)
        found.update(dict.fromkeys(docstrings_of(package, SOURCE_LIMIT)))
        if len(found) == before:
            raise MissingPackageError(f"No docstring of a package {package!r} was found.",
                                      hint=f"install {package}, with its source files, or leave it out.")
    return list(found)


class BPTTBatches:
    """A text cut for truncated backpropagation through time.

    The text is laid out in ``batch_size`` columns, each a stretch of it, and these are cut into pieces of ``steps``
    rows.  The columns of a batch go on where those of the batch before ended, so that a recurrent network carries
    its states from batch to batch.  As a data set it can be iterated over and asked by number.

    Parameters
    ----------
    tokens : array of int, shape (length,)
        What is left over at the end of the text is left out, ``batch_size`` tokens at most.
    batch_size, steps : int
    last : {"keep", "discard"}
        What to do with a shorter last piece.

    Raises
    ------
    ShapeError
        If the text is too short for one step.

    Examples
    --------
    >>> data, target = mx.datasets.BPTTBatches(range(9), batch_size=2, steps=3)[0]
    >>> data.asnumpy().tolist(), target.asnumpy().tolist()
    ([[0, 4], [1, 5], [2, 6]], [[1, 5], [2, 6], [3, 7]])
    """

    def __init__(self, tokens: npt.ArrayLike, batch_size: int, steps: int, last: str = "keep") -> None:
        if last not in ("keep", "discard"):
            raise UnknownNameError.of("last", last, ("keep", "discard"))
        if batch_size < 1 or steps < 1:
            raise ShapeError("batch_size and steps must be at least 1.", hint="batch_size=32, steps=35, for example.")
        values = np.asarray(tokens)
        length = (len(values) - 1) // batch_size
        if length < 1:
            raise ShapeError(f"A text of {len(values)} tokens is too short for {batch_size} columns.", hint="take fewer columns.")
        values = values.astype(np.int32, copy=False)
        self._data, self._target = (np.ascontiguousarray(part[:batch_size * length].reshape(batch_size, length).T)
                                    for part in (values, values[1:]))
        self._steps = steps
        self._count = length // steps if last == "discard" else -(-length // steps)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> tuple[Any, Any]:
        """Data and targets, int32 NDArrays of shape (steps, batch_size); the target of a token is the next one."""
        if not -len(self) <= number < len(self):
            raise RowIndexError(f"Batch {number} is out of range for {len(self)} batches.", hint="they count from 0.")
        start = number % len(self) * self._steps
        rows = slice(start, start + self._steps)
        return wrap(self._data[rows].copy(), cpu()), wrap(self._target[rows].copy(), cpu())
