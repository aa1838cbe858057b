"""Text for language models: tokens, vocabulary, and the pieces of truncated backpropagation."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.context import cpu
from ..base.errors import RowIndexError, ShapeError, UnknownNameError, expected
from ..ndarray import wrap
from .books import read_books, split_books

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..base.types import Array

#: Tokens for the end of a line, and for tokens that are not in the vocabulary.
END, UNKNOWN = "<eos>", "<unk>"

_TOKEN = re.compile(r"[^\W\d_]+|\d+|([^\s\w])\1*|_+")
#: Maximum length of a run of one symbol, as in a horizontal rule; longer runs are shortened.
RUN = 3


def split_tokens(text: str) -> list[str]:
    """Words, numbers and symbols of a text in lower case, with ``"<eos>"`` at the end of each nonblank line."""
    words: list[str] = []
    for line in text.lower().splitlines():
        tokens = [match.group()[:RUN] if match.group(1) else match.group() for match in _TOKEN.finditer(line)]
        if tokens:
            words += [*tokens, END]
    return words


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
    """

    train: Any
    validation: Any
    test: Any
    vocabulary: Vocabulary


def load_book_tokens(size: int | None = 10_000, least: int = 2, authors: Sequence[str] | None = None) -> TextData:
    """Load the books that come with sparsekit as a text for language models.

    All eight have about 400,000 tokens: words, numbers and punctuation marks in lower case, and ``"<eos>"`` at the end of each
    paragraph.  The first eight tenths of each book are for training, the ninth for validation and the tenth for testing.

    Parameters
    ----------
    size : int, optional
        Maximum size of the vocabulary.  Default 10,000; None for no limit.
    least : int
        Minimum number of occurrences of a token in the training part; rarer tokens become ``"<unk>"``.  Default 2.
    authors : sequence of str, optional
        Whose books are loaded, by surname.  Default: all eight.

    Returns
    -------
    TextData

    Raises
    ------
    UnknownNameError
        If the data set has no book by one of the authors.
    ShapeError
        If ``size`` is below 2.

    Examples
    --------
    >>> data = mx.datasets.load_book_tokens(size=1000)
    >>> data.vocabulary.to_tokens(data.train[:6]), len(data.vocabulary)
    (['it', 'is', 'a', 'truth', '<unk>', '<unk>'], 1000)
    """
    paragraphs = read_books(authors)
    parts = [[token for number in part for token in split_tokens(paragraphs[number].text)] for part in split_books(paragraphs)]
    vocabulary = Vocabulary(parts[0], size, least)
    train, validation, test = map(vocabulary.to_indices, parts)
    return TextData(train, validation, test, vocabulary)


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
        UnknownNameError.check("last", last, ("keep", "discard"))
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
