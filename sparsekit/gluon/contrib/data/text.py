"""Text for language models, cut into sequences of one length: ``mx.gluon.contrib.data.text``."""

from __future__ import annotations

import collections
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from ....base.errors import DataFileError, ShapeError, UnknownNameError
from ....datasets.archives import unpack
from ....ndarray import array
from ...data import Dataset
from ...utils import check_sha1, download

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from ....base.types import Array


__all__ = ["Vocabulary", "WikiText2", "WikiText103"]

END, UNKNOWN = "<eos>", "<unk>"
_SITE = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/dataset"


class Vocabulary:
    """Tokens and their numbers: the unknown one, the end of a line, then the others, the most frequent first.

    Parameters
    ----------
    counter : collections.Counter
        Number of occurrences of each token.

    Attributes
    ----------
    idx_to_token : list of str
    token_to_idx : dict of int
    """

    def __init__(self, counter: collections.Counter[str]) -> None:
        ranked = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
        self.idx_to_token = [UNKNOWN, END, *(token for token, _ in ranked if token not in (UNKNOWN, END))]
        self.token_to_idx = {token: number for number, token in enumerate(self.idx_to_token)}

    def __len__(self) -> int:
        return len(self.idx_to_token)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens)"

    @overload
    def to_indices(self, tokens: str) -> int: ...
    @overload
    def to_indices(self, tokens: list[str] | tuple[str, ...]) -> list[int]: ...
    def to_indices(self, tokens: list[str] | tuple[str, ...] | str) -> list[int] | int:
        """The number of a token, or those of a list of them; that of ``"<unk>"`` for unknown ones."""
        if isinstance(tokens, str):
            return self.token_to_idx.get(tokens, 0)
        return [self.token_to_idx.get(token, 0) for token in tokens]

    @overload
    def to_tokens(self, indices: int) -> str: ...
    @overload
    def to_tokens(self, indices: Sequence[int] | Array) -> list[str]: ...
    def to_tokens(self, indices: Sequence[int] | Array | int | np.integer[Any]) -> list[str] | str:
        """The token of a number, or those of a list of them."""
        numbers: Any = [indices] if np.ndim(indices) == 0 else indices
        for number in numbers:
            if not 0 <= number < len(self):
                raise UnknownNameError(f"Token index {number} in the provided `indices` is invalid.",
                                       hint=f"numbers run from 0 to {len(self) - 1}.")
        tokens = [self.idx_to_token[int(number)] for number in numbers]
        return tokens[0] if np.ndim(indices) == 0 else tokens


class _WikiText(Dataset):
    """Sequences of a text and, as labels, the tokens that follow each."""

    _archive: ClassVar[tuple[str, str, str]]
    _files: ClassVar[dict[str, tuple[str, str]]]

    def __init__(self, root: str | PathLike[str], segment: str, vocab: Vocabulary | None, seq_len: int) -> None:
        UnknownNameError.check("segment", segment, self._files)
        if not isinstance(seq_len, int) or seq_len < 1:
            raise ShapeError(f"seq_len must be a positive integer, got {seq_len!r}.", hint="35 is the default.")
        self._counter: collections.Counter[str] | None = None
        lines = [line.split() for line in self._text(os.path.expanduser(os.fspath(root)), segment).splitlines()]
        if vocab is None:
            self._counter = collections.Counter(token for line in lines for token in line)
            vocab = Vocabulary(self._counter)
        self._vocab = vocab
        numbers = np.array(vocab.to_indices([token for line in lines if line for token in (*line, END)]), np.int32)
        count = max(len(numbers) - 1, 0) // seq_len * seq_len
        self._data = array(numbers[:count].reshape(-1, seq_len), dtype="int32")
        self._label = array(numbers[1:count + 1].reshape(-1, seq_len), dtype="int32")

    @property
    def vocabulary(self) -> Vocabulary:
        """Tokens and their numbers."""
        return self._vocab

    @property
    def frequencies(self) -> collections.Counter[str] | None:
        """How often each token occurs; None if the vocabulary was given."""
        return self._counter

    def _text(self, root: str, segment: str) -> str:
        name, digest = self._files[segment]
        path = os.path.join(root, name)
        if not os.path.exists(path) or not check_sha1(path, digest):
            folder, archive, archive_digest = self._archive
            os.makedirs(root, exist_ok=True)
            packed = download(f"{_SITE}/{folder}/{archive}", root, sha1_hash=archive_digest)
            unpack(Path(packed), Path(path), f"{folder}/{name}")
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise DataFileError(f"{path} cannot be read: {error}.", hint="delete it, and it is fetched again.") from error

    def __len__(self) -> int:
        return len(self._label)

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        return self._data[idx], self._label[idx]


class WikiText2(_WikiText):
    """WikiText-2: articles of Wikipedia, two million words, by Salesforce research.

    Parameters
    ----------
    root : str
        Folder of the files.  Missing files are downloaded.
    segment : {"train", "validation", "test"}
    vocab : optional
        A vocabulary, such as the ``vocabulary`` of another segment.  The default is made from the text of this segment.
    seq_len : int
        Length of each sequence.
    """

    _archive = ("wikitext-2", "wikitext-2-v1.zip", "3c914d17d80b1459be871a5039ac23e752a53cbe")
    _files: ClassVar = {"train": ("wiki.train.tokens", "863f29c46ef9d167fff4940ec821195882fe29d1"),
                        "validation": ("wiki.valid.tokens", "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422"),
                        "test": ("wiki.test.tokens", "c7b8ce0aa086fb34dab808c5c49224211eb2b172")}

    def __init__(self, root: str | PathLike[str] = "~/.mxnet/datasets/wikitext-2", segment: str = "train",
                 vocab: Vocabulary | None = None, seq_len: int = 35) -> None:
        super().__init__(root, segment, vocab, seq_len)


class WikiText103(_WikiText):
    """WikiText-103: articles of Wikipedia, a hundred million words, by Salesforce research; arguments as for ``WikiText2``."""

    _archive = ("wikitext-103", "wikitext-103-v1.zip", "0aec09a7537b58d4bb65362fee27650eeaba625a")
    _files: ClassVar = {"train": ("wiki.train.tokens", "b7497e2dfe77e72cfef5e3dbc61b7b53712ac211"),
                        "validation": ("wiki.valid.tokens", "c326ac59dc587676d58c422eb8a03e119582f92b"),
                        "test": ("wiki.test.tokens", "8a5befc548865cec54ed4273cf87dbbad60d1e47")}

    def __init__(self, root: str | PathLike[str] = "~/.mxnet/datasets/wikitext-103", segment: str = "train",
                 vocab: Vocabulary | None = None, seq_len: int = 35) -> None:
        super().__init__(root, segment, vocab, seq_len)
