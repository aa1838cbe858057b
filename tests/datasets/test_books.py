"""The data set of paragraphs: its bytes, what is counted, the two parts, and that it is the same every time."""

import collections
import hashlib
import importlib.util
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ShapeError, UnknownNameError
from sparsekit.datasets import AUTHORS, books_file, load_books, read_books
from sparsekit.datasets.words import count_words, number_words, split_words
from tests.calls import refused

WORD = r"[^\W\d_]{2,}"


def collector():
    """The program that made the file."""
    path = Path(__file__).with_name("collect_books.py")
    spec = importlib.util.spec_from_file_location("collect_books", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_the_one_that_was_collected():
    made, found = collector(), books_file().read_bytes()
    assert hashlib.sha256(found).hexdigest() == made.SHA256
    assert len(found) <= 2_000_000
    lines = found.decode().splitlines()
    head = [line for line in lines if line.startswith("#")]
    assert "CC0 1.0" in "".join(head)
    for label, repository, about, commit in made.BOOKS:
        assert f"#   {label}: {about}; {repository} at {commit}" in head
    assert tuple(book[0] for book in made.BOOKS) == AUTHORS
    texts = [line.split("\t")[1] for line in lines[len(head):]]
    assert all(len(text.split()) >= made.FEWEST and not re.search(r"[<>\u201c\u2019\u2014]|  ", text) for text in texts)


def test_a_paragraph_is_cut_between_sentences_only():
    cut = collector().cut
    short = "Mr. Bennet said so. It was true."
    assert cut(short) == [short]
    sentence = "Mrs. Long and H. G. Wells went by, " + "word " * 30 + "and so on."
    parts = cut(" ".join([sentence] * 6))
    assert parts == [" ".join([sentence] * 2)] * 3


def test_paragraphs_are_in_the_order_of_the_books():
    found = read_books()
    assert list(dict.fromkeys(author for author, _ in found)) == list(AUTHORS)
    assert read_books(["Wells", "Austen"]) == [one for one in found if one.author in ("Austen", "Wells")]
    assert min(collections.Counter(author for author, _ in found).values()) > 350


def test_rows_have_the_counts_of_their_words():
    data = load_books(counts="raw", normalise=False)
    assert data.names == AUTHORS
    assert data.train.data.stype == data.test.data.stype == "csr"
    assert data.train.data.shape[1] == data.test.data.shape[1] == len(data.vocabulary)
    everywhere = collections.Counter(word for _, text in read_books() for word in re.findall(WORD, text.lower()))
    assert list(data.vocabulary) == sorted(everywhere, key=lambda word: (-everywhere[word], word))
    for part, texts in zip((data.train, data.test), data.paragraphs, strict=True):
        part.data.check_format(full_check=True)
        rows = part.data.asscipy()
        assert len(texts) == rows.shape[0] == len(part.label)
        assert [data.names[int(label)] for label in part.label] == [author for author, _ in texts]
        for number in (0, 7, len(texts) - 1):
            row, counted = rows[[number]], collections.Counter(re.findall(WORD, texts[number].text.lower()))
            assert {data.vocabulary[place]: value for place, value in zip(row.indices, row.data, strict=True)} == counted


def test_the_last_fifth_of_each_book_is_for_testing():
    _, test = load_books().paragraphs
    for author in AUTHORS:
        texts = [text for _, text in read_books([author])]
        assert {text for name, text in test if name == author} >= set(texts[len(texts) * 8 // 10:])
        assert sum(name == author for name, _ in test) == len(texts) - len(texts) * 8 // 10


def test_twice_is_the_same_and_another_seed_is_another_order():
    first, again, other = (load_books(2**12, seed=seed) for seed in (0, 0, 1))
    for part, same, moved in zip(first[:2], again[:2], other[:2], strict=True):
        np.testing.assert_array_equal(part.data.asnumpy(), same.data.asnumpy())
        assert not np.array_equal(part.label, moved.label)
        assert sorted(part.label) == sorted(moved.label)
    assert first.paragraphs == again.paragraphs
    assert [sorted(part) for part in first.paragraphs] == [sorted(part) for part in other.paragraphs]
    changes = np.count_nonzero(np.diff(first.train.label))
    assert changes > len(first.train.label) / 2, "authors are mixed"


def test_rows_have_length_one_and_targets_one_class():
    data = load_books(2**12, ["Darwin", "Mill"], ["Darwin", "Mill", "Wells"], pairs=True)
    assert data.names == ("Wells", "Darwin or Mill")
    assert set(data.train.label.tolist()) == {0.0, 1.0}
    np.testing.assert_allclose((data.test.data.asnumpy().astype(np.float64) ** 2).sum(axis=1), 1, rtol=1e-6)
    assert load_books(2**12, "Darwin").names == ("others", "Darwin")


def test_the_hash_is_the_same_on_every_machine():
    def mixed(value):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            value = (value ^ (value >> shift)) * factor % 2**64
        return value ^ (value >> 31)

    matrix, sparse = (mixed(zlib.crc32(word)) for word in (b"matrix", b"sparse"))
    counted, _ = count_words(number_words(["Sparse matrix, sparse."]), 2**20, counts="raw", normalise=False)
    pairs = [mixed((3 * a + b) % 2**64) for a, b in ((sparse, matrix), (matrix, sparse))]
    expected = {sparse % 2**20: 2, matrix % 2**20: 1, pairs[0] % 2**20: 1, pairs[1] % 2**20: 1}
    assert dict(zip(counted.indices.tolist(), counted.data.tolist(), strict=True)) == expected


@pytest.mark.parametrize(("counts", "expected"), [("raw", 3), ("log", np.log(4)), ("binary", 1)])
def test_counts_are_stored_as_asked(counts, expected):
    counted, _ = count_words(number_words(["again again again"]), 64, False, counts, False)
    np.testing.assert_allclose(counted.data, [expected], rtol=1e-6)


@pytest.mark.parametrize("features", [None, 2**40])
def test_pairs_do_not_reach_from_one_text_into_the_next(features):
    counted, vocabulary = count_words(number_words(["one two", "three", "", "four five six"]), features, counts="raw",
                                      normalise=False)
    assert np.diff(counted.indptr).tolist() == [3, 1, 0, 5]
    assert features is not None or set(vocabulary[6:]) == {"one two", "four five", "five six"}


def test_words_are_lower_case_letters():
    assert split_words("The CSR_matrix x isn't 3 rows; été!") == ["the", "csr", "matrix", "isn", "rows", "été"]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"authors": ["Homer"]}, UnknownNameError, "Homer"),
        ({"target": "Austin"}, UnknownNameError, "Austin"),
        ({"target": "Mill", "authors": ["Mill"]}, UnknownNameError, "leaves one class"),
        ({"features": 0}, ShapeError, "features"),
        ({"counts": "logarithmic"}, UnknownNameError, "logarithmic"),
    ],
)
def test_mistakes_are_named(options, error, says):
    refused(error, says, mx.datasets.load_books, **options)
