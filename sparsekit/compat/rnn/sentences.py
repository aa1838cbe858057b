"""Sentences as numbers, and batches of sentences of about the same length."""

from __future__ import annotations

import bisect
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.entry import entries, entry_classes
from ...base.errors import ParameterError, UnknownNameError
from ...io import DataBatch, DataDesc, DataIter
from ...ndarray import array

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...base.types import Array, DTypeLike
    from ...ndarray import NDArray


def encode_sentences(sentences: Iterable[Iterable[str]], vocab: dict[str, int] | None = None, invalid_label: int = -1,
                     invalid_key: str = "\n", start_label: int = 0,
                     unknown_token: str | None = None) -> tuple[list[list[int]], dict[str, int]]:
    """Sentences as lists of numbers, one number for each word.

    Parameters
    ----------
    sentences : list of list of str
    vocab : dict of str to int, optional
        Numbers of words.  By default a new one is made, in which every word gets the next number.
    invalid_label : int
        Number of ``invalid_key``, which no word gets.
    invalid_key : str
        Key for the end of a sentence.
    start_label : int
        Number of the first new word.
    unknown_token : str, optional
        Word for those that are not in ``vocab``.

    Returns
    -------
    list of list of int
    dict of str to int
        The numbers of the words; ``vocab`` itself, with the words that are new.

    Raises
    ------
    UnknownNameError
        For a word that is not in ``vocab``, without ``unknown_token``.
    """
    is_new = vocab is None
    numbers = {invalid_key: invalid_label} if vocab is None else vocab
    following, found = start_label, []
    for sentence in sentences:
        coded = []
        for word in sentence:
            if word not in numbers:
                if not (is_new or unknown_token):
                    raise UnknownNameError(f"Unknown token {word}: vocab does not have it.",
                                           hint="pass unknown_token=, a word for those that vocab does not have.")
                following += following == invalid_label
                word = unknown_token or word
                numbers[word] = following
                following += 1
            coded.append(numbers[word])
        found.append(coded)
    return found, numbers


class BucketSentenceIter(DataIter):
    """Batches for a language model: sentences of about the same length, whose labels are the words that follow.

    Parameters
    ----------
    sentences : list of list of int
        As ``encode_sentences`` gives them.
    batch_size : int
    buckets : list of int, optional
        Lengths to which sentences are padded.  By default those of which there are enough sentences for a batch.
    invalid_label : int
        Padding, and the label of the last word.
    data_name, label_name : str
    dtype : optional
        Element type.
    layout : {"NT", "TN"}
        Order of the axes: N is the batch and T time.

    Raises
    ------
    UnknownNameError
        For another layout.
    ParameterError
        If there are no buckets: no length has enough sentences for a batch.
    """

    def __init__(self, sentences: Sequence[Sequence[int]], batch_size: int, buckets: list[int] | None = None,
                 invalid_label: int = -1, data_name: str = "data", label_name: str = "softmax_label",
                 dtype: DTypeLike = "float32", layout: str = "NT") -> None:
        super().__init__()
        self.major_axis = layout.find("N")
        if self.major_axis not in (0, 1):
            raise UnknownNameError.of("layout", layout, ("NT", "TN"))
        self.batch_size, self.layout, self.dtype, self.invalid_label = batch_size, layout, dtype, invalid_label
        self.data_name, self.label_name = data_name, label_name
        if not buckets:
            buckets = np.flatnonzero(np.bincount([len(sentence) for sentence in sentences]) >= batch_size).tolist()
        self._fill(sentences, sorted(buckets))
        if not self.buckets:
            raise ParameterError(f"No length has {batch_size} sentences, enough for a batch.",
                                 hint="pass buckets=, the lengths to which sentences are padded, or a smaller batch_size.")
        self.default_bucket_key = max(self.buckets)
        shape = (batch_size, self.default_bucket_key)[::1 if self.major_axis == 0 else -1]
        self.provide_data = [DataDesc(data_name, shape, layout=layout)]
        self.provide_label = [DataDesc(label_name, shape, layout=layout)]
        self.idx = [(place, start) for place, rows in enumerate(self.data)
                    for start in range(0, len(rows) - batch_size + 1, batch_size)]
        self.reset()

    def _fill(self, sentences: Sequence[Sequence[int]], buckets: list[int]) -> None:
        """Put each sentence into the smallest bucket that is long enough."""
        rows: list[list[Array]] = [[] for _ in buckets]
        left = 0
        for sentence in sentences:
            place = bisect.bisect_left(buckets, len(sentence))
            if place == len(buckets):
                left += 1
                continue
            row = np.full(buckets[place], self.invalid_label, dtype=self.dtype)
            row[:len(sentence)] = sentence
            rows[place].append(row)
        print(f"WARNING: discarded {left} sentences longer than the largest bucket.")
        self.buckets = [length for length, some in zip(buckets, rows, strict=True) if some]
        self.data = [np.asarray(some, dtype=self.dtype) for some in rows if some]

    def reset(self) -> None:
        """Shuffle the sentences of each bucket and the batches, and begin again."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata: list[NDArray] = []
        self.ndlabel: list[NDArray] = []
        for rows in self.data:
            np.random.shuffle(rows)
            labels = np.full_like(rows, self.invalid_label)
            labels[:, :-1] = rows[:, 1:]
            self.nddata.append(array(rows, dtype=self.dtype))
            self.ndlabel.append(array(labels, dtype=self.dtype))

    def next(self) -> DataBatch:
        """The next batch; raises ``StopIteration`` at the end of the epoch."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        place, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        found: list[Any] = [arrays[place][start:start + self.batch_size] for arrays in (self.nddata, self.ndlabel)]
        data, label = found if self.major_axis == 0 else [part.T for part in found]
        return DataBatch([data], [label], pad=0, bucket_key=self.buckets[place],
                         provide_data=[DataDesc(self.data_name, data.shape, layout=self.layout)],
                         provide_label=[DataDesc(self.label_name, label.shape, layout=self.layout)])


entry_classes(BucketSentenceIter)
entries(globals(), ["encode_sentences"])
