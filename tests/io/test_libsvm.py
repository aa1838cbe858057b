"""Reading and writing LibSVM text."""

import bz2
import gzip
import io
import os
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsekit.base.errors import DataFileError, DTypeError, LibSVMError, ShapeError, SparsekitError, UnknownNameError
from sparsekit.io import LibSVMIter, LibSVMReader, load_libsvm, save_libsvm
from sparsekit.io.libsvm_reader import Rows
from sparsekit.storage import CSR
from tests.calls import refused

TEXT = "1 0:0.5 3:2\n0 1:-1e-3\n2\n"


def parts(csr):
    """Components of a CSRNDArray as plain lists."""
    store = csr._store
    return store.indptr.tolist(), store.indices.tolist(), store.data.tolist()


def read(text, **options):
    return load_libsvm(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


def written(data, label, **options):
    file = io.BytesIO()
    save_libsvm(file, data, label, **options)
    return file.getvalue().decode()


# --- what is read -----------------------------------------------------------------------------------------------------

def test_plain_rows():
    data, label = read(TEXT)
    assert (data.stype, data.shape, data.dtype, data._store.indices.dtype) == ("csr", (3, 4), np.float32, np.int64)
    assert parts(data) == ([0, 2, 3, 3], [0, 3, 1], [0.5, 2.0, float(np.float32(-1e-3))])
    assert label.asnumpy().tolist() == [1, 0, 2]


@pytest.mark.parametrize("text", [
    "1 0:0.5 3:2\r\n0 1:-1e-3\r\n2\r\n",
    "1 0:0.5 3:2\n0 1:-1e-3\n2",
    "\n# a comment\n1\t0:0.5\t \t3:2 # tail\n\n   \n  0   1:-1e-3  \n2#\n#\n",
    "\ufeff1 0:0.5 3:2\n0 1:-1e-3\n2\n",
    "1. +0:0.5 3:2\n".replace("+0", "00") + "-0 1:-.1e-2\n+2e0 \n",
    "1 3:2 0:0.5\n0 1:-1E-03\n2\n",
    "1 qid:4 0:0.5 3:2\n0 qid:4 1:-1e-3\n2 qid:5\n",
], ids=["crlf", "no last newline", "comments, blanks, tabs", "byte order mark", "spellings", "unsorted", "qid"])
def test_the_same_rows_in_other_clothes(text):
    data, label = read(text)
    assert parts(data) == ([0, 2, 3, 3], [0, 3, 1], [0.5, 2.0, float(np.float32(-1e-3))])
    assert label.asnumpy().tolist() == [1, 0, 2]


@pytest.mark.parametrize("source", [
    lambda path: str(path), lambda path: path, lambda path: os.fsencode(path), lambda path: path.open("rb"),
    lambda path: path.open("r", encoding="utf-8"), lambda path: io.StringIO(TEXT), lambda path: TEXT.splitlines(),
    lambda path: iter(TEXT.encode().splitlines(keepends=True)), lambda path: gzip.GzipFile(path.parent / "packed"),
    lambda path: path.parent / "packed", lambda path: path.parent / "packed2",
    lambda path: io.BytesIO(gzip.compress(TEXT.encode())),
], ids=["str", "Path", "bytes path", "binary file", "text file", "StringIO", "lines", "iterator", "gzip file",
        "gzip without its ending", "bz2 without its ending", "packed stream"])
def test_any_source(tmp_path, source):
    (tmp_path / "rows.txt").write_text(TEXT)
    (tmp_path / "packed").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "packed2").write_bytes(bz2.compress(TEXT.encode()))
    opened = source(tmp_path / "rows.txt")
    data, label = load_libsvm(opened)
    if hasattr(opened, "close"):
        assert not opened.closed  # it stays the caller's
        opened.close()
    assert parts(data)[0] == [0, 2, 3, 3]
    assert label.asnumpy().tolist() == [1, 0, 2]


@pytest.mark.parametrize(("text", "options", "shape", "indices"), [  # expectations recorded from scikit-learn 1.9
    ("# c\n1.0 3:2.5 10:-5.2 # tail\n\n-2 1:1e-3\n", {"zero_based": "auto"}, (2, 10), [2, 9, 0]),
    ("# c\n1.0 3:2.5 10:-5.2 # tail\n\n-2 1:1e-3\n", {"zero_based": True}, (2, 11), [3, 10, 1]),
    ("# c\n1.0 3:2.5 10:-5.2 # tail\n\n-2 1:1e-3\n", {"zero_based": False}, (2, 10), [2, 9, 0]),
    ("1 0:1 2:3\n0 1:2\n", {"zero_based": "auto"}, (2, 3), [0, 2, 1]),
    ("1 0:1 2:3\n0 1:2\n", {"zero_based": True}, (2, 3), [0, 2, 1]),
    ("0,1 1:1\n2 2:3\n 1:7\n", {"zero_based": False, "multilabel": True}, (3, 2), [0, 1, 0]),
])
def test_indices_as_scikit_learn_reads_them(text, options, shape, indices):
    data = read(text, **options)[0]
    assert (data.shape, parts(data)[1]) == (shape, indices)


def test_width_is_declared_or_found():
    assert read(TEXT, n_features=9)[0].shape == (3, 9)
    assert read("", n_features=9)[0].shape == (0, 9)
    assert read("# nothing\n\n")[0].shape == (0, 0)
    assert read("1 2:1\n", zero_based="auto", n_features=2)[0].shape == (1, 2)


def test_several_labels_and_query_ids():
    assert read("0,1 1:1\n2 2:3\n 1:7\n", multilabel=True)[1] == [(0.0, 1.0), (2.0,), ()]
    data, label, query = read("3 qid:1 1:0.5\n2 2:5e-1 qid:7 # late\n", query_id=True)
    assert (query.asnumpy().tolist(), label.asnumpy().tolist(), data.shape) == ([1, 7], [3, 2], (2, 3))


def test_labels_from_another_file():
    data, label = load_libsvm(["0:1", "1:2 2:3", "9 1:1"], label_path=["5", "-6", "7.5"])
    assert (data.shape, label.asnumpy().tolist()) == ((3, 3), [5, -6, 7.5])
    label = load_libsvm(["0:1", "1:2"], label_path=["0 0:1 2:2", "0 1:3"], label_shape=(3,))[1]
    assert (label.stype, label.shape, parts(label)) == ("csr", (2, 3), ([0, 2, 3], [0, 2, 1], [1, 2, 3]))
    assert load_libsvm(["0:1", "1:2"], label_path=["1,2", "3"], multilabel=True)[1] == [(1, 2), (3,)]
    refused(DataFileError, "has 1 rows, but <lines> has 2", load_libsvm, ["0:1"], label_path=["1", "2"])


# --- numbers ----------------------------------------------------------------------------------------------------------

def nearest_float32(text):
    """By exact arithmetic over all candidates."""
    with np.errstate(over="ignore"):
        about = np.float32(float(text))
    near = [about, np.nextafter(about, np.float32(np.inf)), np.nextafter(about, np.float32(-np.inf))]
    return min((value for value in near if np.isfinite(value)),
               key=lambda value: (abs(Fraction(float(value)) - Fraction(text)), int(value.view(np.uint32)) & 1))


def values(tokens, dtype):
    return read("".join(f"0 0:{token}\n" for token in tokens), dtype=dtype)[0]._store.data


numbers = st.builds(
    lambda sign, whole, point, exponent: f"{sign}{whole[:point]}.{whole[point:]}{exponent}",
    st.sampled_from(["", "-", "+"]), st.text("0123456789", min_size=1, max_size=30), st.integers(0, 30),
    st.one_of(st.just(""), st.builds("e{}".format, st.integers(-60, 38)), st.builds("E{:+}".format,
                                                                                    st.integers(-345, 310))))


@settings(max_examples=150, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=20))
def test_float64_is_rounded_as_python_rounds(tokens):
    expected = np.array([float(token) for token in tokens])
    assert values(tokens, "float64").view(np.uint64).tolist() == expected.view(np.uint64).tolist()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.builds("{}.{}e{}".format, st.integers(-10**12, 10**12), st.integers(0, 10**18),
                          st.integers(-50, 20)), min_size=1, max_size=20))
def test_float32_is_rounded_once(tokens):
    assert values(tokens, "float32").tolist() == [float(nearest_float32(token)) for token in tokens]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 0x7F7FFFFE), st.sampled_from(["", "000000000000000000001"]), st.booleans())
def test_float32_half_way(bits, tail, below):
    low, high = (np.array([word], np.uint32).view(np.float32)[0] for word in (bits, bits + 1))
    middle = (Fraction(float(low)) + Fraction(float(high))) / 2  # a binary fraction: finitely many decimals
    shift = max(middle.denominator.bit_length() - 1, 0)
    digits = middle.numerator * 5**shift - (1 if below and tail else 0)
    token = f"{digits}{tail}e{-shift - len(tail)}"
    assert values([token], "float32").tolist() == [float(nearest_float32(token))]


@pytest.mark.parametrize("token", [
    "nan", "NaN", "-nan", "inf", "-Inf", "INFINITY", "+infinity", "1e999", "-1e999", "1e-999", "0e99999999999999999999",
    "1e400", "123456789012345678901234567890", "0." + "0" * 400 + "1e401", "9" * 5000, "." + "1" * 5000, "5.", ".5",
    "1.7976931348623158e308", "1.7976931348623159e308", "4.9e-324", "2.4703282292062327e-324", "9007199254740993",
])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unusual_numbers(token, dtype):
    with np.errstate(over="ignore"):
        expected = np.array([float(token)]).astype(dtype)
    np.testing.assert_array_equal(values([token], dtype), expected)


def test_rounding_to_infinity_in_float32():
    limit = 2**128 - 2**103  # half way between the largest float32 and the next power of two
    assert values([f"{limit - 1}.999", f"{limit}", f"-{limit - 1}"], "float32").tolist() == [
        float(np.finfo(np.float32).max), np.inf, -float(np.finfo(np.float32).max)]


# --- MXNet's names of files, and looser lines ---------------------------------------------------------------------------

@pytest.fixture
def folder(tmp_path):
    (tmp_path / "one.txt").write_text("1 1:1 3:2")  # without a newline at its end
    (tmp_path / "two.txt.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf0 2:4\n"))
    (tmp_path / "empty").write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize("name", [
    "{0}/one.txt;{0}/two.txt.gz", "{0}", "{0}/", "file://{0}", "file://{0}/one.txt;file://{0}/two.txt.gz",
    "{0}/one.txt;{0}/two.txt.gz?format=libsvm", "{0}#kept"])
@pytest.mark.parametrize("mode", [None, 0, 1, -1])
def test_names_as_mxnet_reads_them(name, mode, folder):
    name = name.format(folder) + ("" if mode is None else f"{'&' if '?' in name else '?'}indexing_mode={mode}")
    expected = np.array([[0, 1, 0, 2], [0, 0, 4, 0]])[:, 1 if mode in (1, -1) else 0:]
    data, label = load_libsvm(name)
    np.testing.assert_array_equal(data.asnumpy(), expected)
    assert label.asnumpy().tolist() == [1, 0]
    for memory in (1 << 20, 0):
        batches = LibSVMIter(name, expected.shape[1], 1, memory_limit=memory)
        np.testing.assert_array_equal(np.concatenate([batch.data[0].asnumpy() for batch in batches]), expected)
    in_parts = [batch.data[0].asnumpy() for part in range(2)
                for batch in LibSVMIter(name, expected.shape[1], 1, num_parts=2, part_index=part)]
    np.testing.assert_array_equal(np.concatenate(in_parts), expected)


def test_an_option_is_checked_and_a_line_is_counted_in_its_file(folder):
    refused(DataFileError, "option format=csv", load_libsvm, f"{folder}?format=csv")
    (folder / "z").write_text("1 1:1\n\n2 x:1\n")
    refused(LibSVMError, r"/z, line 3, column 3", load_libsvm, str(folder))
    odd = folder / "odd;name?x=1"
    odd.write_text(TEXT)
    assert load_libsvm(str(odd))[0].shape == (3, 4)  # a file of that very name


def test_blanks_behind_colons():
    """As in ``protein`` of the LIBSVM site."""
    data, label = read("1  63: .50 64:\t-2\n0 3:1\n")
    assert parts(data)[1:] == ([63, 64, 3], [0.5, -2, 1])
    assert label.asnumpy().tolist() == [1, 0]


def test_weights_of_rows_are_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="read as weights of rows") as caught:
        data, label = read("1:0.5 1:1 3: 2\n-1:2e1 # 5:6 7:8\n0 2:3\n")
    assert [one.filename for one in caught] == [__file__]
    assert parts(data) == ([0, 2, 2, 3], [1, 3, 2], [1, 2, 3])
    assert label.asnumpy().tolist() == [1, -1, 0]
    assert parts(read("1:0.5 3:2\n", multilabel=True)[0])[1:] == ([1, 3], [0.5, 2])  # lines without labels


# --- mistakes ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("line", "column", "what"), [
    ("spam 0:1", 1, "label 'spam' is not a number"),
    ("1x 0:1", 1, "label '1x' is not a number"),
    ("a:1 1:2", 1, "the line has no label; it begins with 'a:1'"),
    ("1,2 0:1", 1, "'1,2' is a list of labels"),
    ("1 5", 3, "feature '5' has no colon"),
    ("1 0:1 foo", 7, "feature 'foo' has no colon"),
    ("1 x:1", 3, "index 'x' is not an integer"),
    ("1 1.5:1", 3, "index '1.5' is not an integer"),
    ("1 :1", 3, "feature ':1' has no index"),
    ("1 -3:1", 3, "index -3 is negative"),
    ("1 99999999999999999999:1", 3, "index '99999999999999999999' is too large"),
    ("1 0:1 9:1", 7, "index 9 is outside the 9 declared features"),
    ("1 0:1 1:abc # tail", 7, "value 'abc' is not a number"),
    ("1 1:1e", 3, "value '1e' is not a number"),
    ("1 1:1_000", 3, "value '1_000' is not a number"),
    ("1 1:0x10", 3, "value '0x10' is not a number"),
    ("1 1:1:2", 3, "value '1:2' is not a number"),
    ("1 1:-", 3, "value '-' is not a number"),
    ("1 1:", 3, "feature '1:' has no value"),
    ("1 1: x", 3, "feature '1:' has no value"),
    ("1 1: 2:3", 3, "feature '1:' has no value"),
    ("1 2:1 2:1", 7, "index 2 occurs twice in the line"),
    ("1 3:1 2:1 03:5", 11, "index 3 occurs twice in the line"),
    ("1 qid:x 0:1", 3, "'qid:x' is not a query id"),
    ("1 qid:-1 0:1", 3, "'qid:-1' is not a query id"),
    ("1 qid:1 qid:2", 9, "the line has more than one qid"),
    ("\x00\x01 0:1", 1, "is not a number"),
    ("1 \u00e9:1", 3, "index '\u00e9' is not an integer"),
])
def test_a_malformed_line_is_named(tmp_path, line, column, what):
    path = tmp_path / "rows.libsvm"
    path.write_bytes(f"# comment\n1 0:1\n\n{line}\n0 0:1\n".encode())
    caught = refused(LibSVMError, "", load_libsvm, path, n_features=9)
    assert caught.message.startswith(f"{path}, line 4, column {column}: ")
    assert what in caught.message


@pytest.mark.parametrize(("text", "options", "what"), [
    ("1 0:1", {"zero_based": False}, "index 0 is below 1, the first index with zero_based=False"),
    ("1 4:1", {"zero_based": False, "n_features": 3}, "index 4 is outside the 3 declared features"),
    ("1 0:1 3:1", {"zero_based": "auto", "n_features": 3}, "line 1, column 7: index 3 is outside the 3 declared features"),
    ("1 qid:3 0:1\n2 0:1", {"query_id": True}, "line 2, column 3: the line has no qid"),
    ("1,,2 0:1", {"multilabel": True}, "column 3: a label is missing"),
    ("1,x 0:1", {"multilabel": True}, "column 3: label 'x' is not a number"),
])
def test_a_malformed_line_under_options(text, options, what):
    refused(LibSVMError, what, read, text, **options)


def test_the_line_number_is_right_in_later_chunks_parts_and_streams(tmp_path):
    lines = ["1 0:1 # filler"] * 1000 + ["1 0:x"] + ["1 0:1"] * 1000
    path = tmp_path / "rows.libsvm"
    path.write_text("\n".join(lines))
    reader = LibSVMReader(path, chunk_bytes=64)
    part = LibSVMReader(path, chunk_bytes=64, num_parts=3, part_index=2)
    stream = LibSVMReader(iter(lines), chunk_bytes=64)  # can be read once only
    for source in (reader, reader, part, stream):
        refused(LibSVMError, "line 1001, column 3", list, source)


@pytest.mark.parametrize("length", range(1, 26))
def test_digits_that_end_anywhere(length):
    whole = ("123456789" * 3)[:length]
    for token in (whole, f"{whole}.5", f"0.{whole}", f"-{whole}.{whole}", f"{whole}e-{length}"):
        data, label = load_libsvm([f"{token} {whole[:18]}:{token}"] * 2, dtype="float64")
        assert label.asnumpy().tolist() == data.data.asnumpy().tolist() == [float(token)] * 2
        assert data.indices.asnumpy().tolist() == [int(whole[:18])] * 2


def test_missing_and_damaged_files(tmp_path):
    caught = refused(DataFileError, r"There is no file .*nowhere", load_libsvm, tmp_path / "nowhere")
    assert not isinstance(caught, LibSVMError)
    refused(DataFileError, "has no files", load_libsvm, tmp_path)
    text = "".join(f"{row} {row}:{row / 7}\n" for row in range(5000)).encode()
    for pack in (gzip.compress, bz2.compress):
        whole = pack(text)
        (tmp_path / "cut").write_bytes(whole[:len(whole) // 2])
        refused(DataFileError, "ends in the middle", load_libsvm, tmp_path / "cut")
        (tmp_path / "bad").write_bytes(whole[:50] + bytes([whole[50] ^ 255]) + whole[51:])
        refused(DataFileError, r"damaged|cannot be read", load_libsvm, tmp_path / "bad")
    (tmp_path / "xz").write_bytes(b"\xfd7zXZ\x00\x00")
    refused(DataFileError, "is compressed with xz", load_libsvm, tmp_path / "xz")


@pytest.mark.parametrize(("act", "error", "said"), [
    (lambda: read(TEXT, zero_based="yes"), UnknownNameError, "zero_based"),
    (lambda: read(TEXT, dtype="int32"), DTypeError, "int32"),
    (lambda: load_libsvm(7), DTypeError, "cannot be read from int"),
    (lambda: load_libsvm([1, 2]), DTypeError, "A line of text"),
    (lambda: read(TEXT, label_shape=(2,)), ShapeError, "needs label_path"),
    (lambda: LibSVMReader("x", num_parts=2, part_index=2), ShapeError, "Part 2 is out of range for 2 parts"),
    (lambda: read(TEXT, n_features=-1), ShapeError, "n_features must be at least 0, got -1"),
])
def test_options_that_make_no_sense(act, error, said):
    refused(error, said, act)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=80), st.text("01 :.-e,#qid\n\tnaf", max_size=80).map(str.encode)), st.booleans(),
       st.sampled_from([True, False, "auto"]), st.sampled_from([None, 3]), st.booleans())
def test_no_input_breaks_the_reader(data, several, zero_based, width, query):
    try:
        found = read(data, multilabel=several, zero_based=zero_based, n_features=width, query_id=query)[0]._store
    except SparsekitError:
        return
    CSR(found.data, found.indices, found.indptr, found.shape, check=True)


# --- chunks and parts -------------------------------------------------------------------------------------------------

def some_rows(count, seed=0):
    generator = np.random.default_rng(seed)
    matrix = scipy.sparse.random(count, 50, 0.1, "csr", np.float32, generator)
    matrix.sort_indices()
    return matrix, generator.standard_normal(count).astype(np.float32)


@pytest.mark.parametrize("chunk", [16, 100, 1000, 1 << 20])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_chunks_join_to_the_whole(tmp_path, chunk, ending):
    matrix, label = some_rows(200)
    save_libsvm(tmp_path / f"rows{ending}", matrix, label)
    reader = LibSVMReader(tmp_path / f"rows{ending}", n_features=50, chunk_bytes=chunk)
    for _ in range(2):
        rows = Rows.join(list(reader))
        assert rows.indptr.tolist() == matrix.indptr.tolist()
        assert rows.indices.tolist() == matrix.indices.tolist()
        assert rows.data.tobytes() == matrix.data.tobytes()
        assert rows.labels.tobytes() == label.tobytes()


def test_pieces_of_several_threads_join_to_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("sparsekit.io.libsvm_reader.PIECE_BYTES", 256)
    monkeypatch.setattr("sparsekit.io.libsvm_reader.worker_count", lambda: 4)
    monkeypatch.setattr("sparsekit.io.libsvm_writer.PIECE_PAIRS", 64)
    matrix, label = some_rows(300)
    save_libsvm(tmp_path / "rows", matrix, label)
    rows = LibSVMReader(tmp_path / "rows").read()
    assert rows.data.tobytes() == matrix.data.tobytes()
    assert rows.labels.tobytes() == label.tobytes()
    text = (tmp_path / "rows").read_text().splitlines()
    text[200] += " x"
    refused(LibSVMError, "line 201, column", load_libsvm, text)


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2"])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 40, 300])
def test_every_row_is_in_exactly_one_part(tmp_path, ending, count):
    path = tmp_path / f"rows{ending}"
    save_libsvm(path, some_rows(60)[0], np.arange(60))
    readers = [LibSVMReader(path, num_parts=count, part_index=part, chunk_bytes=100) for part in range(count)]
    assert [row for reader in readers for rows in reader for row in rows.labels.tolist()] == list(range(60))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_memory_does_not_grow_with_the_file(tmp_path, ending):
    matrix, label = some_rows(500)
    peaks = []
    for times in (12, 60):
        path = tmp_path / f"rows{ending}"
        save_libsvm(path, scipy.sparse.vstack([matrix] * times), np.tile(label, times))
        reader = LibSVMReader(path, chunk_bytes=1 << 14)
        tracemalloc.start()
        count = sum(len(rows) for rows in reader)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert count == 500 * times
    assert peaks[1] < 1.1 * peaks[0]


def test_a_stream_has_no_parts():
    refused(DataFileError, "cannot be read in parts", lambda: list(LibSVMReader(iter(["1 0:1"]), num_parts=2)))
    refused(DataFileError, "cannot look ahead", lambda: list(LibSVMReader(iter(["1 0:1"]), zero_based="auto")))


# --- writing ----------------------------------------------------------------------------------------------------------

def test_what_is_written():
    data = np.array([[0, 1.5, 0], [0, 0, 0], [-2, 0, 1e-7]], np.float32)
    assert written(data, [1, -1, 0.5]) == "1 1:1.5\n-1\n0.5 0:-2 2:1e-07\n"
    assert written(data, np.array([1, 0, 2]), zero_based=False) == "1 2:1.5\n0\n2 1:-2 3:1e-07\n"
    assert written(data[:1], [True], query_id=[3], comment="two\nlines") == "# two\n# lines\n1 qid:3 1:1.5\n"
    assert written(data, [(1, 3), (), {2}]) == "1,3 1:1.5\n0:0\n2 0:-2 2:1e-07\n"
    assert written(data, np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]]), zero_based=False) == (
        "0,2 2:1.5\n1:0\n1 1:-2 3:1e-07\n")
    assert written(np.array([[2**53 + 1, -(2**63)]]), [7]) == "7 0:9007199254740993 1:-9223372036854775808\n"


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e22, 1e23, 5e-324, 1.7976931348623157e308, 123456789.0, 1e16, 1e17,
                                   0.0001, 0.00001, 1.5e-5, -0.0, float("inf"), float("-inf"), 100.0, 2.0**63, 4096.5])
def test_few_digits(value):
    token = written(CSR(np.array([value]), np.zeros(1, np.int64), np.array([0, 1]), (1, 1)), [0]).split(":")[1]
    digits = [text.strip().lower().partition("e")[0].replace(".", "").strip("-0") for text in (token, repr(value))]
    assert float(token) == value
    assert digits[0] == digits[1]


any_float = {width: st.floats(width=width, allow_nan=False) for width in (32, 64)}


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(["float32", "float64"]), st.booleans(), st.sampled_from(["", ".gz", ".bz2"]))
def test_round_trip_is_exact(tmp_path_factory, data, dtype, zero_based, ending):
    floats = any_float[32 if dtype == "float32" else 64]
    rows = data.draw(st.lists(st.dictionaries(st.integers(0, 10**12), floats, max_size=6), max_size=6))
    label = np.array(data.draw(st.lists(floats, min_size=len(rows), max_size=len(rows))), dtype)
    query = np.array(data.draw(st.lists(st.integers(0, 10**17), min_size=len(rows), max_size=len(rows))), np.int64)
    pairs = [pair for row in rows for pair in sorted(row.items())]
    store = CSR(np.array([value for _, value in pairs], dtype), np.array([index for index, _ in pairs], np.int64),
                np.cumsum([0, *map(len, rows)]), (len(rows), 10**12 + 1))
    path = tmp_path_factory.getbasetemp() / f"round_trip{ending}"
    save_libsvm(path, store, label, zero_based=zero_based, query_id=query)
    back, labels, queries = load_libsvm(path, zero_based=zero_based, n_features=10**12 + 1, dtype=dtype, query_id=True)
    for name in ("data", "indices", "indptr"):
        assert getattr(back._store, name).tobytes() == getattr(store, name).tobytes()
    assert labels.asnumpy().tobytes() == label.tobytes()
    assert queries.asnumpy().tolist() == query.tolist()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1000), max_size=3), min_size=1, max_size=5))
def test_lists_of_labels_round_trip(lists):
    text = written(np.eye(len(lists)), lists)
    assert read(text, multilabel=True)[1] == [tuple(map(float, item)) for item in lists]


@pytest.mark.parametrize("form", [
    lambda matrix: matrix, lambda matrix: matrix.toarray(), lambda matrix: matrix.tocoo(),
    lambda matrix: matrix.tocsc(), lambda matrix: CSR(matrix.data, matrix.indices, matrix.indptr, matrix.shape),
    lambda matrix: matrix[:, ::-1][:, ::-1], lambda matrix: scipy.sparse.csr_array(matrix),
    lambda matrix: read(written(matrix, np.zeros(9)), n_features=50)[0],
], ids=["csr", "dense", "coo", "csc", "store", "unsorted", "csr_array", "CSRNDArray"])
def test_any_matrix_is_written(form):
    matrix, label = some_rows(9)
    assert written(form(matrix), label) == written(matrix, label)


@pytest.mark.parametrize(("data", "labels", "query", "error", "said"), [
    (np.eye(2), [1, 2, 3], None, ShapeError, "2 rows of data, but labels for 3"),
    (np.eye(2), [1, 2], [1], ShapeError, "query_id must be 2 non-negative integers"),
    (np.eye(2), [1, 2], [1, -1], ShapeError, "query_id must be 2 non-negative integers"),
    (np.ones(3), [1], None, ShapeError, "must be a matrix of numbers"),
    (np.eye(2), ["a", "b"], None, DTypeError, "labels of type <U1"),
    (scipy.sparse.eye(1, dtype=complex), [0], None, SparsekitError, None),
])
def test_unequal_lengths_and_types(data, labels, query, error, said):
    refused(error, said, written, data, labels, query_id=query)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    for name in ("rows.gz", "again.gz"):
        save_libsvm(tmp_path / name, np.eye(2), [1, 2])
    before = (tmp_path / "rows.gz").read_bytes()
    assert before == (tmp_path / "again.gz").read_bytes(), "without the time"
    assert gzip.decompress(before) == b"1 0:1\n2 1:1\n"
    refused(DTypeError, "", save_libsvm, tmp_path / "rows.gz", np.eye(2), ["a", "b"])
    assert (tmp_path / "rows.gz").read_bytes() == before
    for place in (tmp_path / "none" / "rows", tmp_path):
        refused(DataFileError, "cannot be written", save_libsvm, place, np.eye(2), [1, 2])
    assert sorted(os.listdir(tmp_path)) == ["again.gz", "rows.gz"]
