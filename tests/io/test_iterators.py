"""Batches of arrays and of other iterators, against those that MXNet 1.9.1 gave."""

import json
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit.base.errors import DataFileError, DTypeError, IndexWarning, ShapeError, StorageTypeError, UnknownNameError
from sparsekit.core import hooks
from sparsekit.io import CSVIter, DataBatch, DataIter, NDArrayIter, PrefetchingIter, ResizeIter
from tests.calls import are_gone, refused
from tests.io.iterator_cases import rows, walk
from tests.oracle.encoding import encode

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "io.json").read_text(encoding="utf-8"))


CASES = [case for case in GOLDEN["cases"] if "error" not in case]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The recorded files of numbers, in the current folder."""
    for name, text in GOLDEN["files"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


def expected(case):
    """What MXNet gave, but for what is given otherwise here."""
    if case.get("kind") == "csr":  # MXNet makes the batches of csr arrays dense
        for one in case["epochs"][0] + case["epochs"][1]:
            one["data"][0] = encode(mx.nd.array(one["data"][0]["value"]).tostype("csr"))
    if case["iterator"] == "csv" and not case.get("round_batch", True) and case["batch_size"] == 3:
        for epoch in case["epochs"]:  # MXNet fills the batch with the remains of the one before
            epoch[-1]["data"][0]["value"] = [[4, 5, 6], [0, 0, 0], [0, 0, 0]]
    return {name: case[name] for name in ("provides", "epochs")}


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(
    str(value) for name, value in case.items() if name not in ("provides", "epochs")))
@pytest.mark.usefixtures("files")
def test_the_batches_that_mxnet_gave(case):
    assert walk(mx, case) == expected(case)


def sparse_rows(count=23, width=9, stype="csr"):
    generator = np.random.default_rng(count)
    return mx.nd.array(generator.random((count, width)) * (generator.random((count, width)) < 0.3)).tostype(stype)


@pytest.mark.parametrize("stype", ["csr", "row_sparse", "default"])
@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_sparse_batches_stay_sparse_and_hold_the_rows_that_index_names(stype, handle, shuffle):
    data = sparse_rows(stype=stype)
    dense = data.asnumpy()
    mx.random.seed(3)
    iterator = NDArrayIter(data, np.arange(23), 5, shuffle, handle)
    seen, ledger = [], len(hooks.ledger)
    for _ in range(3):
        for batch in iterator:
            (found,), (label,) = batch.data, batch.label
            assert (found.stype, found.shape, batch.index.dtype) == (stype, (5, 9), np.uint64)
            if stype != "default":
                found.check_format(full_check=True)
            np.testing.assert_array_equal(found.asnumpy(), dense[batch.index.astype(int)])
            assert label.asnumpy().tolist() == batch.index.tolist()
            seen += batch.index.tolist()
        iterator.reset()
    assert len(hooks.ledger) == ledger
    assert len(seen) == {"pad": 75, "discard": 60, "roll_over": 65}[handle]
    if handle == "roll_over" and shuffle:  # what rolled over is seen once: the first 23 rows are all of them
        assert sorted(seen[:23]) == list(range(23)) != seen[:23]


def test_the_seed_decides_the_order():
    def order(seed):
        mx.random.seed(seed)
        iterator = NDArrayIter(rows(50), batch_size=50, shuffle=True)
        found = [next(iterator).index.tolist()]
        iterator.reset()
        return [*found, next(iterator).index.tolist()]

    first, again = order(7)
    assert [first, again] == order(7)
    assert first != order(8)[0]
    assert first != again
    assert sorted(again) == list(range(50))


def test_the_arrays_stay_as_they_are():
    data = mx.nd.array(rows(6))
    for batch in NDArrayIter(data, batch_size=2, shuffle=True):
        batch.data[0][:] = -1
    assert data.asnumpy().tolist() == rows(6).tolist()


def test_kinds_of_input():
    matrix = scipy.sparse.random(7, 4, 0.5, format="coo", random_state=0, dtype=np.float64)
    iterator = NDArrayIter({"m": matrix, "d": np.arange(14).reshape(7, 2)}, {"y": mx.nd.arange(7, dtype="int64")}, 3)
    assert [(one.name, one.shape, np.dtype(one.dtype)) for one in iterator.provide_data] == [
        ("d", (3, 2), np.float32), ("m", (3, 4), np.float64)]
    batch = next(iterator)
    assert [one.stype for one in batch.data] == ["default", "csr"]
    assert batch.label[0].dtype == np.int64
    np.testing.assert_array_equal(batch.data[1].asnumpy(), matrix.toarray()[:3])


def test_the_batch_axis_is_where_the_layout_says():
    data = np.arange(24).reshape(2, 4, 3)
    iterator = NDArrayIter(data, np.arange(4), 3, layout="TNC")
    assert (iterator.num_data, iterator.provide_data[0].shape, iterator.provide_label[0].shape) == (4, (2, 3, 3), (3,))
    first, second = iterator
    np.testing.assert_array_equal(first.data[0].asnumpy(), data[:, :3])
    np.testing.assert_array_equal(second.data[0].asnumpy(), data[:, [3, 0, 1]])
    assert second.label[0].asnumpy().tolist() == [3, 0, 1]


def test_a_batch_larger_than_the_data_rolls_over():
    iterator = NDArrayIter(rows(2), np.arange(2), 5, last_batch_handle="roll_over")
    seen = []
    for _ in range(9):
        seen += [batch.label[0].asnumpy().tolist() for batch in iterator]
        iterator.reset()
    assert seen == [[0, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 1, 0, 1, 0]]


@pytest.mark.parametrize(("arguments", "error", "what"), [
    (([rows(3), rows(4)],), ShapeError, r"different numbers of rows: _0_data 3, _1_data 4"),
    ((rows(4), np.arange(3)), ShapeError, "data 4, softmax_label 3"),
    ((rows(3), None, 0), ShapeError, "batch_size must be an integer of at least 1, got 0"),
    ((rows(3), None, 2, False, "keep"), UnknownNameError, "last_batch_handle named 'keep'"),
    ((rows(0),), ShapeError, "must have at least one row"),
    (([],), ShapeError, "no data"),
    ((None,), ShapeError, "no data"),
    (("text",), DTypeError, "'data' cannot be read as an array"),
    ((np.float32(3),), ShapeError, "is a scalar, which has no rows"),
    ((sparse_rows(), None, 2, False, "pad", "data", "label", "TN"), StorageTypeError, "must be its first, not axis 1"),
    ((rows(3), None, 2, False, "pad", "data", "label", "CHW"), ShapeError, "no batch axis"),
])
def test_what_makes_no_batches_is_refused(arguments, error, what):
    refused(error, what, NDArrayIter, *arguments)


def test_labels_behind_the_last_row_of_the_data_are_left_out_with_a_warning():
    with pytest.warns(IndexWarning, match="data 3, softmax_label 5; the first 3 are read"):
        iterator = NDArrayIter(rows(3), np.arange(5), 2)
    assert [batch.label[0].asnumpy().tolist() for batch in iterator] == [[0, 1], [2, 0]]
    with mx.config.set(indices="error"), pytest.raises(ShapeError, match=r"config\.indices is 'error'"):
        NDArrayIter(rows(3), np.arange(5), 2)


def test_getters():
    iterator = NDArrayIter(rows(5), np.arange(5), 2)
    for getter in (iterator.getdata, iterator.getlabel, iterator.getindex):
        refused(DataFileError, "no current batch", getter)
    pads = []
    while iterator.iter_next():
        assert iterator.getlabel()[0].asnumpy().tolist() == iterator.getindex().tolist()
        assert iterator.getdata()[0].shape == (2, 2)
        pads.append(iterator.getpad())
    assert pads == [0, 0, 1]
    two = rows(2, width=3)
    for wrapped in (ResizeIter(NDArrayIter(two, batch_size=2), 1), PrefetchingIter(NDArrayIter(two, batch_size=2))):
        assert wrapped.batch_size == 2
        refused(DataFileError, "no current batch", wrapped.getdata)
        assert wrapped.iter_next()
        assert (wrapped.getdata()[0].shape, wrapped.getlabel(), wrapped.getpad()) == ((2, 3), [], 0)
        assert wrapped.getindex().tolist() == [0, 1]


def test_getters_of_an_iterator_over_a_file_give_arrays_as_in_mxnet():
    iterator = mx.io.CSVIter(["0,1", "2,3", "4,5"], data_shape=(2,), batch_size=2)
    assert iterator.iter_next()
    assert iterator.getdata().asnumpy().tolist() == [[0, 1], [2, 3]]
    assert (iterator.getlabel().shape, iterator.getpad()) == ((2,), 0)
    assert iterator.getindex().tolist() == [0, 1]


class Failing(DataIter):
    """Five batches; the third raises, or waits for long."""

    def __init__(self, wait=0.0, batches=5):
        super().__init__(1)
        self.at, self.wait, self.batches, self.threads = 0, wait, batches, set()

    provide_data = NDArrayIter(rows(1)).provide_data
    provide_label = ()

    def reset(self):
        self.at = 0

    def next(self):
        self.threads.add(threading.current_thread().name)
        self.at += 1
        if self.at > self.batches:
            raise StopIteration
        if self.at == 3 and self.wait:
            time.sleep(self.wait)
        elif self.at == 3 and self.wait is not None:
            raise ValueError("the third is broken")
        return DataBatch([mx.nd.array([[self.at, 0]])], [], 0)


def test_what_the_worker_raises_reaches_the_caller_with_its_traceback():
    inner = Failing()
    iterator = PrefetchingIter(inner)
    for _ in range(2):
        assert [next(iterator).data[0].asnumpy()[0, 0] for _ in range(2)] == [1, 2]
        with pytest.raises(ValueError, match="the third is broken") as caught:
            next(iterator)
        assert any(entry.name == "next" and entry.path == Path(__file__) for entry in caught.traceback)
        refused(StopIteration, "", next, iterator)
        iterator.reset()
    assert inner.threads <= {"sparsekit-prefetch-0"}


def test_iterators_that_do_not_go_together():
    refused(ShapeError, "different numbers of batches", lambda: list(PrefetchingIter([Failing(None, 3), Failing(None, 2)])))
    with pytest.raises(ShapeError, match=r"different padding: \[1, 0\] rows"):
        list(PrefetchingIter([NDArrayIter(rows(5), batch_size=2), NDArrayIter(rows(6), batch_size=2)]))
    refused(ShapeError, "needs at least one iterator", PrefetchingIter, [])
    refused(ShapeError, "dictionaries of new names", lambda: PrefetchingIter(NDArrayIter(rows(2)), rename_data=[{}, {}]))
    refused(DataFileError, "no batch", lambda: next(ResizeIter(Failing(None, 0), 2)))
    refused(ShapeError, "size must be an integer of at least 0, got -1", lambda: ResizeIter(NDArrayIter(rows(2)), -1))


@pytest.mark.parametrize("make", [lambda: CSVIter(["1,2", "3,4"], (2,), 20),
                                  lambda: mx.io.LibSVMIter(["1 0:1", "1 1:2"], (2,), 20)], ids=["csv", "libsvm"])
def test_a_batch_has_at_most_so_many_bytes(make):
    assert next(make()).data[0].shape == (20, 2)
    with mx.config.set(batch_limit=100), pytest.raises(ShapeError, match=r"a batch of 20 rows would take \d+ bytes, above"):
        make()


def test_threads_end_with_the_iterator():
    iterator = PrefetchingIter([NDArrayIter(rows(4)), NDArrayIter(rows(4))])
    threads = iterator._threads._threads
    assert [thread.is_alive() for thread in threads] == [True, True]
    next(iterator)
    reader = weakref.ref(iterator)
    del iterator
    assert are_gone([reader])
    for thread in threads:
        thread.join(60)
    assert [thread.is_alive() for thread in threads] == [False, False]
    iterator = PrefetchingIter(NDArrayIter(rows(4)))
    iterator.close()
    assert not iterator._threads._threads[0].is_alive()
    assert list(iterator) == []


class Slow(NDArrayIter):
    """Takes its time, and counts its batches."""

    made = 0

    def next(self):
        time.sleep(0.1)
        Slow.made += 1
        return super().next()


KEPT = []


@pytest.mark.parametrize("before", [0, 1])
def test_no_thread_of_the_test_before_reads_beside_a_test(before):
    assert Slow.made == before
    KEPT.append(PrefetchingIter(Slow(rows(4))))
    time.sleep(0.02)
    assert Slow.made == before


HANGING = """
import time
import sparsekit as mx
class Slow(mx.io.DataIter):
    provide_data = [mx.io.DataDesc("data", (1, 2))]
    provide_label = []
    def next(self):
        time.sleep({seconds})
        return mx.io.DataBatch([mx.nd.ones((1, 2))], [])
iterator = mx.io.PrefetchingIter(Slow())
print("made")
"""


@pytest.mark.parametrize("seconds", [0.05, 600])
def test_the_end_of_the_program_does_not_wait_for_a_batch(seconds):
    done = subprocess.run([sys.executable, "-c", HANGING.format(seconds=seconds)], capture_output=True, text=True, timeout=400)
    assert (done.returncode, done.stdout, done.stderr) == (0, "made\n", "")


@pytest.mark.parametrize(("given", "error", "what"), [
    ({"data_csv": ["1,2", "3"]}, DataFileError, "not a table of numbers"),
    ({"data_csv": ["1,x"]}, DataFileError, "could not convert string 'x'"),
    ({"data_csv": ["1,2,3"]}, ShapeError, r"has 3 numbers, but the shape \(2,\) needs 2"),
    ({"data_csv": []}, DataFileError, "no rows"),
    ({"data_csv": "nowhere.csv"}, DataFileError, "no file nowhere.csv"),
    ({"label_csv": ["1"]}, ShapeError, "2 rows of data, but 1 of labels"),
    ({"batch_size": 0}, ShapeError, "batch_size"),
])
def test_csv_that_is_none(given, error, what):
    refused(error, what, CSVIter, **{"data_csv": ["1,2", "3,4"], "data_shape": (2,), "batch_size": 1, **given})
