"""Text for language models: tokens, vocabulary, parts, and the pieces of truncated backpropagation."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import RowIndexError, ShapeError, UnknownNameError
from sparsekit.datasets import BPTTBatches, Vocabulary, load_book_tokens, read_books
from sparsekit.datasets.text import split_tokens
from tests.calls import refused


def test_tokens():
    text = "The *names* 12 don't\n\n  x_1 == 3.5\n------"
    assert split_tokens(text) == ["the", "*", "names", "*", "12", "don", "'", "t", "<eos>",
                                  "x", "_", "1", "==", "3", ".", "5", "<eos>", "---", "<eos>"]


def test_vocabulary_is_in_the_order_of_frequency():
    tokens = ["b"] * 5 + ["a"] * 3 + ["c"] * 3 + ["d"]
    whole = Vocabulary(tokens)
    assert (whole.tokens, whole.counts.tolist()) == (("b", "a", "c", "d", "<unk>"), [5, 3, 3, 1, 0])
    small = Vocabulary(tokens, size=3)
    assert (small.tokens, small.counts.tolist()) == (("b", "<unk>", "a"), [5, 4, 3])
    assert Vocabulary(tokens, least=2).tokens == ("b", "a", "c", "<unk>")
    assert Vocabulary([*tokens, "<unk>"]).counts.sum() == 13
    assert len(small) == 3
    assert "a" in small
    assert "c" not in small
    assert (small["a"], small["c"]) == (2, 1)
    numbers = small.to_indices(["b", "c", "a"])
    assert (numbers.tolist(), numbers.dtype) == ([0, 1, 2], np.int32)
    assert small.to_tokens(numbers) == ["b", "<unk>", "a"]
    refused(RowIndexError, "Token 3 is out of range for a vocabulary of 3", small.to_tokens, [3])
    refused(ShapeError, "size must be at least 2, got ", Vocabulary, tokens, size=1)


def test_the_books():
    data = load_book_tokens(size=1500)
    assert len(data.vocabulary) == 1500
    sizes = [len(part) for part in data[:3]]
    assert sum(sizes) > 350_000
    assert all(0.09 < size / sum(sizes) < 0.12 for size in sizes[1:])
    assert np.bincount(data.train, minlength=1500).tolist() == data.vocabulary.counts.tolist()
    assert (np.diff(data.vocabulary.counts) <= 0).all()
    assert (data.test == data.vocabulary["<unk>"]).mean() < 0.2
    whole = load_book_tokens(size=None, least=1, authors=["Mill", "Austen"])
    texts = [text for _, text in read_books(["Austen"])]
    ends = [len(texts) * tenths // 10 for tenths in (8, 9)]
    assert whole.vocabulary.to_tokens(whole.train)[:200] == split_tokens("\n".join(texts))[:200]
    starts = split_tokens(texts[ends[0]])
    assert whole.vocabulary.to_tokens(whole.validation)[:1] == starts[:1]
    told = load_book_tokens(None, 1, ["Austen"])
    assert [len(part) for part in told[:3]] == [len(split_tokens("\n".join(part))) for part in
                                                (texts[:ends[0]], texts[ends[0]:ends[1]], texts[ends[1]:])]


def test_what_is_not_there():
    refused(UnknownNameError, "no author named 'Homer'", load_book_tokens, authors=["Homer"])


@pytest.mark.parametrize(("length", "batch", "steps"), [(100, 4, 7), (101, 4, 5), (9, 2, 3), (50, 1, 60), (12, 11, 1)])
def test_pieces_go_on_where_the_last_ended(length, batch, steps):
    batches = BPTTBatches(np.arange(length), batch, steps)
    data = np.concatenate([data.asnumpy() for data, _ in batches])
    target = np.concatenate([target.asnumpy() for _, target in batches])
    rows = (length - 1) // batch
    assert data.tolist() == np.arange(batch * rows).reshape(batch, rows).T.tolist()
    assert target.tolist() == (data + 1).tolist()
    assert [len(one) for one, _ in batches][:-1] == [steps] * (len(batches) - 1)
    assert all((one.shape[1], one.dtype) == (batch, np.int32) for one, _ in batches)
    kept = BPTTBatches(np.arange(length), batch, steps, last="discard")
    assert len(kept) == rows // steps
    loader = mx.gluon.data.DataLoader(mx.gluon.data.SimpleDataset(batches), 1, batchify_fn=lambda one: one[0])
    assert sum(len(one) for one, _ in loader) == rows


def test_pieces_that_cannot_be():
    refused(ShapeError, "4 tokens is too short for 4 columns", BPTTBatches, range(4), 4, 2)
    refused(ShapeError, "at least 1", BPTTBatches, range(4), 0, 2)
    refused(UnknownNameError, "last named 'pad'", BPTTBatches, range(9), 2, 2, last="pad")
    refused(RowIndexError, "Batch 4 is out of range for 4 batches", lambda: BPTTBatches(range(9), 2, 1)[4])
