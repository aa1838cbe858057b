"""Files of arrays: byte for byte as MXNet 1.9.1 writes them, read as it reads them, and damaged ones refused by name."""

import base64
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DataFileError, DTypeError, FileFormatError, UnsupportedError
from tests.calls import refused

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "files.json").read_text(encoding="utf-8"))


def cases(*kinds):
    return [pytest.param(case, id=case.get("expression") or case["name"]) for case in GOLDEN["cases"] if case["kind"] in kinds]


def evaluate(text):
    names = {"mx": mx, "np": np}
    for line in GOLDEN["setup"]:
        exec(line, names)
    return eval(text, names)


def contents(path):
    return Path(path).read_bytes()


def saved(tmp_path, data):
    mx.nd.save(tmp_path / "a.params", data)
    return contents(tmp_path / "a.params")


def in_order(found):
    return (list(found), list(found.values())) if isinstance(found, dict) else ([], found)


@pytest.mark.parametrize("case", cases("written", "numpy shapes"))
def test_our_bytes_are_those_of_mxnet(case, tmp_path):
    assert saved(tmp_path, evaluate(case["expression"])) == base64.b64decode(case["file"])


@pytest.mark.parametrize("case", cases("written", "numpy shapes", "given", "untidy"))
def test_a_file_of_mxnet_is_read_as_mxnet_reads_it(case):
    names, arrays = in_order(mx.nd.load_frombuffer(base64.b64decode(case["file"])))
    assert names == case["result"]["names"]
    assert len(arrays) == len(case["result"]["items"])
    for array, golden in zip(arrays, case["result"]["items"], strict=True):
        assert (type(array).__name__, array.stype, list(array.shape), array.dtype.name) == (
            golden["kind"], golden["stype"], golden["shape"], golden["dtype"])
        np.testing.assert_array_equal(array.asnumpy(), np.array(golden["value"], golden["dtype"]).reshape(array.shape))
        for component in ("indices", "indptr"):
            if component in golden:
                assert getattr(array, component).asnumpy().tolist() == golden[component]


@pytest.mark.parametrize("case", cases("damaged"))
def test_what_mxnet_refuses_is_refused_at_a_byte(case):
    assert "error" in case["result"]
    refused(FileFormatError, r"byte \d+: ", lambda: mx.nd.load_frombuffer(base64.b64decode(case["file"])))


def everything():
    return {"arg:dense": mx.nd.arange(6).reshape((2, 3)), "aux:csr": mx.nd.array(np.eye(4)).tostype("csr"),
            "rows": mx.nd.sparse.row_sparse_array(([[1, 2.0]], [3]), shape=(9, 2)), "scalar": mx.nd.array(3, dtype="int64")}


def test_int32_indices_are_written_as_mxnet_has_them(tmp_path):
    store = mx.nd.array(np.eye(3)).tostype("csr")._store
    narrow = mx.nd.wrap(type(store)(store.data, store.indices.astype("i4"), store.indptr.astype("i4"), store.shape), mx.cpu())
    assert saved(tmp_path, narrow) == saved(tmp_path, mx.nd.array(np.eye(3)).tostype("csr"))


def test_cut_anywhere_it_is_refused(tmp_path):
    whole = saved(tmp_path, everything())
    for length in range(len(whole)):
        refused(FileFormatError, r"byte \d+: ", mx.nd.load_frombuffer, whole[:length])


def test_changed_anywhere_it_is_read_or_refused(tmp_path):
    """One byte after the other, to the values that hurt most."""
    whole = bytearray(saved(tmp_path, everything()))
    refused = 0
    for place in range(len(whole)):
        before = whole[place]
        for value in (0, 0x7F, 0x80, 0xFF):
            whole[place] = value
            try:
                mx.nd.load_frombuffer(bytes(whole))
            except FileFormatError:
                refused += 1
        whole[place] = before
    assert refused > len(whole)


def head(count=1):
    return struct.pack("<QQQ", 0x112, 0, count)


def csr_file(indptr=(0, 1, 2), indices=(1, 3), shape=(2, 5), stored=None, types=(6, 6)):
    stored = len(indices) if stored is None else stored
    return (head() + struct.pack("<Iiiq", 0xF993FAC9, 2, 1, stored) + struct.pack("<iqq", 2, *shape)
            + struct.pack("<iii", 1, 0, 0) + struct.pack("<iiq", types[0], 1, len(indptr))
            + struct.pack("<iiq", types[1], 1, len(indices)) + np.ones(stored if stored < 99 else 0, "<f4").tobytes()
            + np.array(indptr, "<i8").tobytes() + np.array(indices, "<i8").tobytes() + struct.pack("<Q", 0))


def dense_file(*sizes, axes=None):
    return (head() + struct.pack("<Iii", 0xF993FAC9, 0, len(sizes) if axes is None else axes)
            + struct.pack(f"<{len(sizes)}q", *sizes) + struct.pack("<iii", 1, 0, 0) + bytes(64))


HOSTILE = {
    "2**62 arrays": (head(2**62) + bytes(64), "begin"),
    "2**40 numbers": (dense_file(2**20, 2**20), "takes 4,398,046,511,104 bytes, but only 64 are left"),
    "more numbers than 64 bits count": (dense_file(2**62, 2**62), "are left"),
    "negative size": (dense_file(-1), "negative size"),
    "a million axes": (dense_file(axes=10**6), "1000000 axes"),
    "axes below 0": (dense_file(axes=-1), "-1 axes"),
    "none of a huge size": (dense_file(0, 2**62, 2**62), "shape"),
    "storage type 3": (head() + struct.pack("<Ii", 0xF993FAC9, 3) + bytes(64), "storage type 3"),
    "other beginning": (head() + struct.pack("<Q", 0xDEADBEEF) + bytes(64), "0xdeadbeef"),
    "device 9": (head() + struct.pack("<Iiiqii", 0xF993FAC9, 0, 1, 2, 9, 0) + bytes(64), "device 0 of kind 9"),
    "name of 2**62 bytes": (head(0) + struct.pack("<QQ", 1, 2**62), "1 names for 0 arrays"),
    "bytes behind": (head(0) + bytes(9), "1 bytes follow"),
    "column beyond": (csr_file(indices=(1, 7)), r"indices\[1\] is 7, outside the 5 columns"),
    "column below": (csr_file(indices=(-1, 3)), r"indices\[0\] is -1"),
    "falling rows": (csr_file(indptr=(0, 2, 1)), "not a valid csr"),
    "rows beyond": (csr_file(indptr=(0, 9, 9)), "not a valid csr"),
    "rows missing": (csr_file(shape=(2**40, 5)), "rows need"),
    "columns of float32": (csr_file(types=(6, 0)), "holds float32"),
    "stored values missing": (csr_file(stored=2**40), "bytes, but only"),
    "bool of 2": (head() + struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 1, 0, 7) + b"\x02\x00" + bytes(8), "neither 0"),
    "two of one name": (head(2) + 2 * (struct.pack("<IIiii", 1, 1, 1, 0, 0) + bytes(4))
                        + struct.pack("<Q", 2) + 2 * (struct.pack("<Q", 1) + b"w"), "'w'"),
    "no text": (head() + struct.pack("<IIiii", 1, 1, 1, 0, 0) + bytes(4) + struct.pack("<QQ", 1, 1) + b"\xff", "not UTF-8"),
    "a pickle": (b"\x80\x04cos\nsystem\n(S'true'\ntR." + bytes(32), "begins with"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_by_name(name):
    data, message = HOSTILE[name]
    caught = refused(FileFormatError, message, mx.nd.load_frombuffer, data)
    assert "byte " in str(caught)


def test_the_hostile_files_are_wrong_in_that_alone():
    assert mx.nd.load_frombuffer(csr_file())[0].shape == (2, 5)
    (array,) = mx.nd.load_frombuffer(dense_file(14))
    assert array.shape == (14,)


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda path: mx.nd.save(path / "a", "text"), DTypeError, "str cannot be saved"),
    (lambda path: mx.nd.save(path / "a", [np.ones(2)]), DTypeError, "array 0 is a ndarray"),
    (lambda path: mx.nd.save(path / "a", {1: mx.nd.ones((1,))}), DTypeError, "name 0 is a int"),
    (lambda path: mx.nd.save(path / "no" / "folder", []), DataFileError, "cannot be written"),
    (lambda path: mx.nd.load(path / "nothing"), DataFileError, "cannot be read"),
    (lambda path: mx.nd.load(path), DataFileError, "cannot be read"),
    (lambda path: mx.nd.load(""), DataFileError, "The file name must be text of at least one character without NUL, got "),
    (lambda path: mx.nd.load(3.5), DTypeError, "a str or a path"),
    (lambda path: mx.nd.load("s3://bucket/a.params"), UnsupportedError, "s3://"),
    (lambda path: mx.nd.save("hdfs://a/b", []), UnsupportedError, "hdfs://"),
    (lambda path: mx.nd.load_frombuffer("text"), DTypeError, "bytes, not str"),
])
def test_named_errors(call, kind, message, tmp_path):
    refused(kind, message, call, tmp_path)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_names_of_files_and_kinds_of_buffers(tmp_path):
    mx.nd.save(f"file://{tmp_path}/a", mx.nd.ones((2,)))
    data = contents(tmp_path / "a")
    for buffer in (data, bytearray(data), memoryview(data)):
        assert mx.nd.load_frombuffer(buffer)[0].shape == (2,)
    (array,) = mx.nd.load(os.fsencode(tmp_path / "a"))
    array[:] = 5  # memory of its own
    assert mx.nd.load(tmp_path / "a")[0].asnumpy().tolist() == [1, 1]
