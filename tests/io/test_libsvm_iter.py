"""Batches from LibSVM files, against those that MXNet 1.9.1 gave."""

import inspect
import io
import json
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DataFileError, DTypeError, LibSVMError, ShapeError, UnsupportedError
from sparsekit.core import hooks
from sparsekit.io import DataBatch, DataDesc, DataIter, LibSVMIter, save_libsvm
from tests.calls import refused
from tests.io.iterator_cases import libsvm

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "libsvm_iter.json").read_text(encoding="utf-8"))
SEVEN = GOLDEN["files"]["seven"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The golden files, in the current folder."""
    for name, text in GOLDEN["files"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


def given(case):
    return {name: value for name, value in case.items() if name not in ("provides", "epochs", "crash")}


@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["held", "streamed"])
@pytest.mark.parametrize("case", [case for case in GOLDEN["cases"] if not case.get("crash")],
                         ids=lambda case: "-".join(f"{value}" for value in given(case).values()))
@pytest.mark.usefixtures("files")
def test_the_batches_that_mxnet_gave(case, limit):
    found = libsvm(mx, GOLDEN["widths"], given(case), memory_limit=limit)
    assert found == {name: case[name] for name in ("provides", "epochs")}


def rows_of(iterator):
    return [batch.index.tolist() for batch in iterator]


@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["held", "streamed"])
@pytest.mark.usefixtures("files")
def test_reset_in_the_middle_and_the_end(limit):
    iterator = LibSVMIter("seven", 10, 3, memory_limit=limit)
    assert rows_of(iterator) == [[0, 1, 2], [3, 4, 5], [6, 0, 1]]
    assert rows_of(iterator) == []
    iterator.reset()
    assert next(iterator).index.tolist() == [2, 3, 4]
    iterator.reset()  # before the end: back to the first row
    assert rows_of(iterator) == [[0, 1, 2], [3, 4, 5], [6, 0, 1]]


@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["held", "streamed"])
@pytest.mark.parametrize("labels", [{}, {"label_libsvm": "labels", "label_shape": (3,)}], ids=["inside", "apart"])
@pytest.mark.usefixtures("files")
def test_without_rounding_the_last_batch_ends_in_empty_rows(limit, labels):
    iterator = LibSVMIter("seven", 10, 3, round_batch=False, memory_limit=limit, **labels)
    for _ in range(2):
        *_, last = iterator
        assert (last.pad, last.index.tolist(), last.index.dtype) == (2, [6, 7, 8], np.uint64)
        assert last.data[0].asnumpy()[:, 6:8].tolist() == [[6.5, 2], [0, 0], [0, 0]]
        assert last.label[0].asnumpy().tolist() == ([[6, 0, -1], [0] * 3, [0] * 3] if labels else [6, 0, 0])
        iterator.reset()


@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["held", "streamed"])
@pytest.mark.usefixtures("files")
def test_a_batch_larger_than_the_file(limit):
    iterator = LibSVMIter("seven", 10, 16, memory_limit=limit)
    for _ in range(2):
        (batch,) = iterator
        assert batch.label[0].asnumpy().tolist() == [*range(7), *range(7), 0, 1]
        assert (batch.pad, batch.index.tolist()) == (9, [*range(7), *range(7), 0, 1])
        iterator.reset()


@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["held", "streamed"])
@pytest.mark.parametrize("parts", [1, 2, 3, 5])
@pytest.mark.usefixtures("files")
def test_a_label_file_stays_in_step_with_the_part(limit, parts):
    seen = []
    for part in range(parts):
        for batch in LibSVMIter("seven", 10, 2, label_libsvm="labels", label_shape=3, num_parts=parts, part_index=part,
                                memory_limit=limit):
            label = batch.label[0].asnumpy()
            data = batch.data[0].asnumpy()
            rows = label[:, 0].astype(int)
            assert data[np.arange(2), rows].tolist() == (rows + 0.5).tolist()
            seen += rows[:2 - batch.pad].tolist()
    assert seen == list(range(7))


@pytest.mark.usefixtures("files")
def test_a_label_file_of_single_numbers():
    (batch,) = LibSVMIter("seven", 10, 7, label_libsvm=[f"{row * 2}" for row in range(7)], label_shape=(1,))
    assert batch.label[0].asnumpy().tolist() == [0, 2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["held", "streamed"])
@pytest.mark.parametrize("count", [5, 9])
@pytest.mark.usefixtures("files")
def test_a_label_file_of_another_length(limit, count, tmp_path):
    (tmp_path / "other").write_text("1\n" * count)
    with pytest.raises(DataFileError, match=r"other has (fewer|more) rows than seven"):
        list(LibSVMIter("seven", 10, 2, label_libsvm="other", memory_limit=limit))


def test_streams_are_held():
    iterator = LibSVMIter(iter(SEVEN.splitlines()), 10, 4, memory_limit=0)
    assert rows_of(iterator) == [[0, 1, 2, 3], [4, 5, 6, 0]]
    iterator.reset()
    assert rows_of(iterator) == [[1, 2, 3, 4], [5, 6, 0, 1]]


@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["held", "streamed"])
def test_batches_do_not_share_memory_with_later_epochs(limit):
    iterator = LibSVMIter(io.StringIO(SEVEN), 10, 7, memory_limit=limit)
    (batch,) = iterator
    batch.data[0]._store.data[:] = 99
    batch.data[0]._store.indices[:] = 0
    batch.label[0]._store[:] = 99
    iterator.reset()
    (batch,) = iterator
    assert batch.label[0].asnumpy().tolist() == list(range(7))
    assert batch.data[0].asnumpy()[6, 6:8].tolist() == [6.5, 2]


@pytest.mark.parametrize("limit", [1 << 30, 10_000], ids=["held", "streamed"])
def test_chunks_are_cut_into_equal_batches(tmp_path, limit, monkeypatch):
    monkeypatch.setattr(inspect.unwrap(LibSVMIter.__init__).__globals__["LibSVMReader"].__init__, "__defaults__",
                        (True, None, False, "float32", False, 1, 0, 700))  # chunks of 700 bytes
    generator = np.random.default_rng(1)
    matrix = generator.random((500, 6)).astype(np.float32) * (generator.random((500, 6)) < 0.5)
    save_libsvm(tmp_path / "rows", matrix, np.arange(500))
    iterator = LibSVMIter(tmp_path / "rows", 6, 64, memory_limit=limit)
    for epoch in range(3):
        batches = list(iterator)
        rows = np.concatenate([batch.index for batch in batches]).astype(int)
        assert rows.tolist() == [(epoch * 12 + place) % 500 for place in range(64 * len(batches))]
        assert np.concatenate([batch.label[0].asnumpy() for batch in batches]).tolist() == rows.tolist()
        np.testing.assert_array_equal(np.concatenate([batch.data[0].asnumpy() for batch in batches]), matrix[rows])
        iterator.reset()


def test_one_based_and_guessed():
    lines = ["1 1:1 3:3", "0 2:2"]
    for zero_based in (False, "auto"):
        for limit in (0, 1 << 20):
            (batch,) = LibSVMIter(lines, (3,), 2, zero_based=zero_based, dtype="float64", memory_limit=limit)
            assert batch.data[0].asnumpy().tolist() == [[1, 0, 3], [0, 2, 0]]
            assert batch.data[0].dtype == np.float64


@pytest.mark.parametrize(("options", "error", "what"), [
    ({"data_shape": (10, 1)}, ShapeError, r"data_shape must be one integer of at least 1, got \(10, 1\)"),
    ({"data_shape": 0}, ShapeError, "data_shape must be one integer of at least 1, got "),
    ({"batch_size": 0}, ShapeError, "batch_size must be one integer of at least 1, got "),
    ({"batch_size": 1.5}, ShapeError, "batch_size must be one integer of at least 1, got "),
    ({"label_shape": (2,)}, ShapeError, r"label_shape=\(2,\) needs label_libsvm"),
    ({"label_shape": (2, 2)}, ShapeError, "label_shape must be the shape of one row's labels"),
    ({"label_shape": (0,)}, ShapeError, "label_shape must be the shape of one row's labels"),
    ({"data_shape": 4}, LibSVMError, "seven, line 4, column 9: index 4 is outside the 4 declared features"),
    ({"data_libsvm": "nowhere"}, DataFileError, "no file nowhere"),
    ({"data_libsvm": ["# nothing"]}, DataFileError, "contains no rows"),
    ({"label_libsvm": "nowhere"}, DataFileError, "no file nowhere"),
    ({"part_index": 1}, ShapeError, "Part 1 is out of range for 1 parts"),
    ({"dtype": "int8"}, DTypeError, "dtype must be float32 or float64, got int8"),
])
@pytest.mark.usefixtures("files")
def test_bad_input_is_named(options, error, what):
    refused(error, what, LibSVMIter, **{"data_libsvm": "seven", "data_shape": 10, "batch_size": 2, **options})


def test_getters_and_iter_next():
    iterator = LibSVMIter(io.StringIO(SEVEN), (10,), 4)
    refused(DataFileError, "no current batch", iterator.getdata)
    rows = []
    while iterator.iter_next():
        assert iterator.getdata().shape == (4, 10)
        assert iterator.getlabel().asnumpy().tolist() == iterator.getindex().tolist()
        rows.append(iterator.getpad())
    assert rows == [0, 1]
    refused(StopIteration, "", iterator.next)
    assert iterator.batch_size == 4


class Sink:
    def __init__(self):
        self.spans, self.roles = [], []
        self.op = lambda *_: None

    def span(self, name, lane, start, end, arguments):
        assert start <= end
        if lane != "compile":  # which depends on the tests that ran before
            self.spans.append((name, lane, arguments))

    def read(self, name, start, arrays, arguments):
        self.spans.append((name, "io", arguments))
        self.roles += [(array.stype, owner) for array, owner in arrays]


def test_a_recorder_sees_batches(monkeypatch):
    sink = Sink()
    monkeypatch.setattr(hooks, "sink", sink)
    assert len(list(LibSVMIter(io.StringIO(SEVEN), (10,), 4))) == 2
    assert [span[:2] for span in sink.spans] == [("LibSVMIter open", "io")] + [("LibSVMIter", "io")] * 2
    assert [sink.spans[2][2][name] for name in ("rows", "nnz", "pad")] == [4, 8, 1]
    assert sink.roles == [("csr", "data"), ("default", "softmax_label")] * 2


def test_descriptions():
    description = DataDesc("data", (2, 3))
    assert repr(description) == "DataDesc[data,(2, 3),<class 'numpy.float32'>,NCHW]"
    name, shape = description
    assert (name, shape, description.name, description.shape) == ("data", (2, 3), "data", (2, 3))
    assert (DataDesc.get_batch_axis("NTC"), DataDesc.get_batch_axis("TNC"), DataDesc.get_batch_axis(None)) == (0, 1, 0)
    listed = DataDesc.get_list([("a", (1,)), ("b", (2,))], [("a", np.int32), ("b", np.float64)])
    assert [item.dtype for item in listed] == [np.int32, np.float64]
    assert DataDesc.get_list([("a", (1,))], None)[0].dtype is np.float32


def test_batches_and_the_base_iterator():
    (batch,) = LibSVMIter(io.StringIO(SEVEN), (10,), 7)
    assert str(batch) == repr(batch) == "DataBatch: data shapes: [(7, 10)] label shapes: [(7,)]"
    assert str(DataBatch([batch.data[0]])) == "DataBatch: data shapes: [(7, 10)] label shapes: None"
    refused(DTypeError, "data of a batch must be a list of arrays, got CSRNDArray", DataBatch, batch.data[0])
    refused(UnsupportedError, r"does not define iter_next\(\)", lambda: next(DataIter(3)))

    class Countdown(DataIter):
        left = 2

        def iter_next(self):
            self.left -= 1
            return self.left >= 0

        def getdata(self):
            return [batch.data[0]]

    assert [item.pad for item in Countdown(7)] == [None, None]
