"""A text for language models that needs no download: Python's reference manual, as ``pydoc`` shows it."""

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

#: Tokens for the end of a line, and for tokens that are not in the vocabulary.
END, UNKNOWN = "<eos>", "<unk>"

_TOKEN = re.compile(r"[^\W\d_]+|\d+|([^\s\w])\1*|_+")
#: Maximum length of a run of one symbol, as in a horizontal rule; longer runs are shortened.
RUN = 3


def split_tokens(text: str) -> list[str]:
    """Words, numbers and symbols of a text in lower case, with ``"<eos>"`` at the end of each nonblank line."""
    found: list[str] = []
    for line in text.lower().splitlines():
        tokens = [one.group()[:RUN] if one.group(1) else one.group() for one in _TOKEN.finditer(line)]
        if tokens:
            found += [*tokens, END]
    return found


class Vocabulary:
    """Tokens and their numbers, sorted by decreasing frequency, as a log-uniform sampler requires.

    Parameters
    ----------
    tokens : iterable of str
        The tokens of a text.
    size : int, optional
        Maximum number of tokens, including ``"<unk>"``; at least 2.
    least : int
        Minimum number of occurrences of a token; rarer tokens become ``"<unk>"``.  Default 1.

    Attributes
    ----------
    tokens : tuple of str
    counts : array of int64
        Number of occurrences of each token in the text.

    Raises
    ------
    ShapeError
        If ``size`` is below 2.
    """

    def __init__(self, tokens: Iterable[str], size: int | None = None, least: int = 1) -> None:
        if size is not None and size < 2:
            raise ShapeError(expected("size", "at least 2", size), hint="pass size=10_000, for example.")
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
        """The numbers of tokens, int32; unknown tokens have the number of ``"<unk>"``."""
        unknown = self._numbers[UNKNOWN]
        return np.fromiter((self._numbers.get(token, unknown) for token in tokens), np.int32)

    def to_tokens(self, indices: object) -> list[str]:
        """The tokens with the given numbers.

        Raises
        ------
        RowIndexError
            If a number is out of range.
        """
        numbers = np.asarray(indices, np.int64).reshape(-1)
        outside = numbers[(numbers < 0) | (numbers >= len(self))]
        if outside.size:
            raise RowIndexError(f"Token {outside[0]} is out of range for a vocabulary of {len(self)}.",
                                hint="tokens are numbered from 0.")
        return [self.tokens[number] for number in numbers]


class TextData(NamedTuple):
    """A text in three parts, as token numbers.

    Attributes
    ----------
    train, validation, test : arrays of int32
    vocabulary : Vocabulary
        Vocabulary of the training part.
    version : str
        Version of Python, on which the text depends.
    """

    train: Any
    validation: Any
    test: Any
    vocabulary: Vocabulary
    version: str


def load_pydoc(size: int | None = 10_000, least: int = 2, packages: Sequence[str] = (), validation_share: float = 0.1,
               test_share: float = 0.1, seed: int = 0) -> TextData:
    """Load Python's reference manual, as ``help()`` shows it, as a text for language models, without a network.

    The manual has about 110,000 tokens in about 80 articles; the docstrings of ``packages`` can add millions.  Each article
    or docstring is in one part, which depends only on its text and ``seed``.

    Parameters
    ----------
    size : int, optional
        Maximum size of the vocabulary.  Default 10,000; None for no limit.
    least : int
        Minimum number of occurrences of a token in the training part; rarer tokens become ``"<unk>"``.  Default 2.
    packages : sequence of str
        Installed packages whose docstrings are added, by the names by which they are imported.
    validation_share, test_share : float
        Fractions of the text; the parts are slightly smaller, as only whole articles are assigned.  Default 0.1.
    seed : int
        Determines the split.

    Returns
    -------
    TextData

    Raises
    ------
    MissingPackageError
        If this Python was installed without its manual, or a package is not installed as source files.
    ShapeError
        If a share is negative, or the shares add up to 1 or more.
    DataFileError
        If no article is left for training.

    Examples
    --------
    >>> data = mx.datasets.load_pydoc(size=1000)
    >>> data.vocabulary.to_tokens(data.train[:3]), len(data.vocabulary)  # doctest: +SKIP
    (['the', '"', 'assert'], 1000)
    """
    if validation_share < 0 or test_share < 0 or validation_share + test_share >= 1:
        raise ShapeError(f"validation_share={validation_share} and test_share={test_share} must be at least 0 and add up to less "
                         "than 1.", hint="pass 0.1 for each, for example.")
    parts = _parts([(text, split_tokens(text)) for text in _texts(packages)], (validation_share, test_share), seed)
    if not parts[0]:
        raise DataFileError("No article is left for training.", hint="pass smaller shares, or add packages.")
    vocabulary = Vocabulary(parts[0], size, least)
    train, validation, test = map(vocabulary.to_indices, parts)
    return TextData(train, validation, test, vocabulary, platform.python_version())


def _parts(texts: list[tuple[str, list[str]]], shares: tuple[float, float], seed: int) -> list[list[str]]:
    """Tokens of training, validation and test; texts are assigned to the last two in the order of their digests."""
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
    """The articles sorted by name, then the docstrings of each package, without duplicates."""
    try:
        topics = importlib.import_module("pydoc_data.topics").topics
    except ImportError as error:
        raise MissingPackageError("This Python was installed without the text of its manual, pydoc_data.",
                                  hint="use load_docstrings, which reads installed packages.") from error
    found = dict.fromkeys(topics[name] for name in sorted(topics))
    for package in packages:
        before = len(found)
        found.update(dict.fromkeys(docstrings_of(package, SOURCE_LIMIT)))
        if len(found) == before:
            raise MissingPackageError(f"No docstrings of the package {package!r} were found.",
                                      hint=f"install {package} with its source files, or leave it out.")
    return list(found)


class BPTTBatches:
    """Batches of a text for truncated backpropagation through time.

    The text is split into ``batch_size`` contiguous columns, and these into batches of ``steps`` rows.  The columns of a
    batch continue those of the previous batch, so that a recurrent network can keep its states from batch to batch.  Batches
    can be iterated over or indexed.

    Parameters
    ----------
    tokens : array of int, shape (length,)
        Up to ``batch_size`` tokens at the end, which do not fill a row, are omitted.
    batch_size, steps : int
    last : {"keep", "discard"}
        Whether to keep a last batch with fewer than ``steps`` rows.

    Raises
    ------
    ShapeError
        If ``batch_size`` or ``steps`` is below 1, or the text is too short for one step.
    UnknownNameError
        If ``last`` is unknown.

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
            raise ShapeError(f"batch_size and steps must be at least 1, got {batch_size} and {steps}.",
                             hint="pass batch_size=32 and steps=35, for example.")
        values = np.asarray(tokens)
        length = (len(values) - 1) // batch_size
        if length < 1:
            raise ShapeError(f"A text of {len(values)} tokens is too short for {batch_size} columns.",
                             hint="pass a smaller batch_size.")
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
        """Data and targets of a batch, int32 NDArrays of shape (steps, batch_size); the target of a token is the next token."""
        if not -len(self) <= number < len(self):
            raise RowIndexError(f"Batch {number} is out of range for {len(self)} batches.", hint="batches are numbered from 0.")
        start = number % len(self) * self._steps
        rows = slice(start, start + self._steps)
        return wrap(self._data[rows].copy(), cpu()), wrap(self._target[rows].copy(), cpu())
