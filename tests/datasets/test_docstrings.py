"""The data set of docstrings: what is read, what is left out, and that it is the same every time."""

from __future__ import annotations

import importlib
import sys
import zlib
from importlib.metadata import version

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DataFileError, DownloadError, MissingPackageError, ShapeError, UnknownNameError
from sparsekit.datasets import load_docstrings, sources
from sparsekit.datasets.sources import docstrings_in, source_files, version_of
from sparsekit.datasets.words import count_words, number_words, split_words

TEXTS = ["Return the sorted copy of an array.", "Open a file for reading and writing.",
         "Draw a line between two given points.", "Compute the inverse of a square matrix."]


def package(folder, name, texts, extra=""):
    """Write a package whose import would fail, so that reading it shows that nothing is imported."""
    home = folder / name
    home.mkdir()
    functions = "\n".join(f'def function_{i}():\n    """{text}"""\n' for i, text in enumerate(texts))
    (home / "__init__.py").write_text(f"raise SystemExit\n{functions}{extra}", encoding="utf-8")
    importlib.invalidate_caches()
    return home


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Two packages of many different docstrings each."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SPARSEKIT_DATA", str(tmp_path / "data"))
    for name, flavour in (("alphapack", "tensor"), ("betapack", "widget")):
        package(tmp_path, name, [f"{text[:-1]} for the {flavour} number word{i}." for i in range(20) for text in TEXTS])
    return tmp_path


def load(**options):
    return load_docstrings(**{"features": 4096, "packages": ["alphapack", "betapack"], "target": ["alphapack"],
                              **options})


def test_both_classes_arrive_as_csr(two):
    data = load()
    assert data.names == ("betapack", "alphapack")
    assert data.counts == {"alphapack": 80, "betapack": 80}
    assert data.train.data.stype == data.test.data.stype == "csr"
    assert data.train.data.shape[1] == 4096
    assert len(data.train.label) + len(data.test.label) == 160
    assert 15 < len(data.test.label) < 50  # a fifth, more or less
    assert set(data.train.label.tolist()) == {0.0, 1.0}
    assert "alphapack" not in sys.modules
    data.train.data.check_format(full_check=True)
    lengths = (data.train.data.asnumpy().astype(np.float64) ** 2).sum(axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=1e-6)


def test_twice_is_the_same_and_another_seed_is_not(two):
    first, again, other = ([part.data.asnumpy() for part in load(**options)[:2]] for options in ({}, {}, {"seed": 1}))
    for part, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(part, same)
    assert not np.array_equal(first[0], other[0])
    np.testing.assert_allclose(  # the same rows all the same, in another order
        *(np.sort(np.vstack(parts).sum(axis=1)) for parts in (first, other)), rtol=1e-5)


def test_the_hash_is_the_same_on_every_machine():
    def mixed(value):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            value = (value ^ (value >> shift)) * factor % 2**64
        return value ^ (value >> 31)

    matrix, sparse = (mixed(zlib.crc32(word)) for word in (b"matrix", b"sparse"))
    counted = count_words(number_words(["Sparse matrix, sparse."], lambda word: False), 2**20, counts="raw",
                          normalise=False)
    pairs = [mixed((3 * a + b) % 2**64) for a, b in ((sparse, matrix), (matrix, sparse))]
    expected = {sparse % 2**20: 2, matrix % 2**20: 1, pairs[0] % 2**20: 1, pairs[1] % 2**20: 1}
    assert dict(zip(counted.indices.tolist(), counted.data.tolist(), strict=True)) == expected


@pytest.mark.parametrize(("counts", "expected"), [("raw", 3), ("log", np.log(4)), ("binary", 1)])
def test_counts_are_stored_as_asked(counts, expected):
    counted = count_words(number_words(["again again again"], lambda word: False), 64, False, counts, False)
    np.testing.assert_allclose(counted.data, [expected], rtol=1e-6)


def test_pairs_do_not_reach_from_one_text_into_the_next():
    texts = number_words(["one two", "three", "", "four five six"], lambda word: False)
    counted = count_words(texts, 2**40, counts="raw", normalise=False)
    assert np.diff(counted.indptr).tolist() == [3, 1, 0, 5]


def test_names_of_packages_do_not_give_the_label_away(two):
    package(two, "gammapack", [f"Let gammapack, Gammapack_tools and np do step{i} of the work." for i in range(9)])
    package(two, "deltapack", [f"Let deltapack, Deltapack_tools and np do step{i} of the work." for i in range(9)])
    data = load(packages=["gammapack", "deltapack"], target=["gammapack"])
    assert data.words == len({"let", "tools", "and", "do", "of", "the", "work"}) + 9


def test_identical_docstrings_count_once_and_those_of_two_packages_not_at_all(two):
    both = "This sentence stands in both of the packages."
    package(two, "gammapack", [*TEXTS, TEXTS[0], both])
    package(two, "deltapack", ["A sentence of quite another kind.", both, "Too short."])
    data = load(packages=["gammapack", "deltapack"], target=None, test_share=0)
    assert data.counts == {"gammapack": 4, "deltapack": 1}
    assert data.names == ("gammapack", "deltapack")
    assert sorted(data.train.label.tolist()) == [0, 0, 0, 0, 1]
    assert data.test.data.shape == (0, 4096)


def test_broken_files_tests_and_copies_of_others_are_passed_by(two):
    home = package(two, "gammapack", TEXTS)
    (home / "broken.py").write_text("def f(:\n", encoding="utf-8")
    (home / "binary.py").write_bytes(b"\x00\xff\xfe" * 9)
    (home / "gone.py").symlink_to(home / "nowhere.py")
    for folder in ("tests", "_vendor"):
        (home / folder).mkdir()
        (home / folder / "inner.py").write_text('"""This must not be read by anyone at all."""', encoding="utf-8")
    data = load(packages=["gammapack", "betapack"], target=["gammapack"])
    assert data.counts["gammapack"] == 4


def test_docstrings_of_modules_classes_and_methods_are_found_outer_first():
    source = '"""Module."""\nclass A:\n    "A class."\n    async def b(self):\n        """A method.\n\n        More."""'
    assert list(docstrings_in(source)) == ["Module.", "A class.", "A method.\n\nMore."]
    assert list(docstrings_in("x = '\\d'  # an invalid escape is not our business")) == []


def test_what_is_not_installed_as_files_has_none(two):
    for name in ("no_such_package_here", "sys", "not a name", "_io"):
        assert source_files(name, 10**9) == []
    assert [path.name for path in source_files("textwrap", 10**9)] == ["textwrap.py"]
    assert source_files("alphapack", 10) == []
    assert version_of("no_such_package_here") == ""
    assert version_of("numpy") == np.__version__


def test_words_are_lower_case_and_parted_at_underscores():
    assert split_words("The CSR_matrix x has 3 rows; row2!") == ["the", "csr", "matrix", "has", "rows", "row2"]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"packages": ["alphapack", "no_such_package_here"]}, MissingPackageError, "no_such_package_here"),
        ({"packages": ["betapack"]}, DataFileError, "Only one class"),
        ({"features": 0}, ShapeError, "features"),
        ({"test_share": 1.5}, ShapeError, "test_share"),
        ({"counts": "logarithmic"}, UnknownNameError, "logarithmic"),
    ],
)
def test_mistakes_are_named(two, options, error, says):
    with pytest.raises(error, match=says) as caught:
        load(**options)
    assert caught.value.hint


def test_the_packages_of_this_installation_make_a_data_set():
    named = []
    data = mx.datasets.load_docstrings(packages=["numba", "llvmlite"], target=["numba"], progress=named.append)
    assert named == ["numba", "llvmlite"]
    assert data.versions["numba"] == version("numba")
    assert data.train.data.shape[0] > 500
    assert data.train.data.shape[1] == 2**20
    assert 10 < data.train.data.nnz / data.train.data.shape[0] < 1000


def test_what_is_parsed_is_kept_until_a_file_changes(two, tmp_path, monkeypatch):
    parsed, parse = [], sources.docstrings_in
    monkeypatch.setattr(sources, "docstrings_in", lambda source: parsed.append(1) or parse(source))

    def texts():
        parsed.clear()
        return list(sources.docstrings_of("alphapack", 10**9)), len(parsed)

    first, count = texts()
    assert count >= 1
    assert texts() == (first, 0)
    file = next(path for path in source_files("alphapack", 10**9) if path.stat().st_size)
    file.write_text(file.read_text(encoding="utf-8") + '\nclass More:\n    """Words that came later."""\n', encoding="utf-8")
    changed, count = texts()
    assert (count >= 1, set(changed)) == (True, {*first, "Words that came later."})
    kept = tmp_path / "data" / "docstrings" / "alphapack.json"
    for damage in (b"", b"[]", b"{}", b"[" * 10**5, kept.read_bytes()[:-2], kept.read_bytes().replace(b'[["', b'[[7, "'),
                   b"\xff\xfe"):
        kept.write_bytes(damage)
        assert texts() == (changed, count)
        assert texts() == (changed, 0)


@pytest.mark.parametrize("place", ["a file", "no home"])
def test_texts_are_read_where_nothing_can_be_kept(two, tmp_path, monkeypatch, place):
    expected = list(sources.docstrings_of("alphapack", 10**9))
    if place == "a file":
        (tmp_path / "taken").write_bytes(b"")
        monkeypatch.setenv("SPARSEKIT_DATA", str(tmp_path / "taken"))
    else:
        monkeypatch.setattr(sources, "data_home", refuse)
    assert list(sources.docstrings_of("alphapack", 10**9)) == expected


def refuse():
    raise DownloadError("no folder", hint="none")
