"""Samplers, data sets and the loader: what MXNet 1.9.1 gives, sparse batches, workers and what goes wrong in them."""

import functools
import importlib
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import (
    ConversionError,
    DTypeError,
    RowIndexError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
    WorkerError,
    WorkerTimeoutError,
    WorkerWarning,
)
from sparsekit.core import hooks
from sparsekit.gluon import data
from sparsekit.gluon.data import ArrayDataset, DataLoader, batchify
from sparsekit.gluon.data.dataset import batch_of
from tests.calls import are_gone, refused
from tests.ndarray.test_ops_golden import check

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE.parent / "golden" / "gluon_data.json").read_text(encoding="utf-8"))["cases"]
NAMES = {"data": data, "mx": mx, "np": np, "IntervalSampler": data.IntervalSampler}


sys.path.insert(0, str(HERE))  # worker processes, which get this path, import what they call by name
functions = importlib.import_module("data_functions")
PATHS = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])}


def recorded(kind):
    return pytest.mark.parametrize("case", [case for case in GOLDEN if kind in case], ids=lambda case: case[kind])


@recorded("sampler")
def test_samplers(case):
    sampler = eval(case["sampler"], NAMES)
    for length, numbers in case["epochs"]:
        assert (len(sampler), list(sampler)) == (length, numbers)


@recorded("dataset")
def test_datasets(case):
    dataset = eval(case["dataset"], NAMES)
    assert len(dataset) == len(case["items"])
    for place, expected in enumerate(case["items"]):
        check(dataset[place], expected)


@pytest.mark.parametrize("workers", [0, 2])
@recorded("loader")
def test_batches(case, workers):
    loader = DataLoader(eval(case["loader"], NAMES), num_workers=workers, thread_pool=True, **case["options"])
    assert len(loader) == case["length"]
    for epoch in case["epochs"]:
        for batch, expected in zip(loader, epoch, strict=True):
            check(batch, expected)
    loader.close()


def sparse(stype="csr", count=23, width=7):
    generator = np.random.default_rng(5)
    return mx.nd.array(generator.random((count, width)) * (generator.random((count, width)) < 0.4)).tostype(stype)


def check_sparse(loader, dense, stype):
    seen, ledger = [], len(hooks.ledger)
    for x, y in loader:
        assert x.stype == stype
        x.check_format(full_check=True)
        rows = y.asnumpy().astype(int)
        np.testing.assert_array_equal(x.asnumpy(), dense[rows])
        seen += rows.tolist()
    assert len(hooks.ledger) == ledger  # nothing became dense
    return seen


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("options", [{"last_batch": "discard"}, {"num_workers": 2, "shuffle": True}], ids=str)
@pytest.mark.parametrize("form", ["whole", "one by one", "sampled"])
def test_sparse_arrays_give_sparse_batches(stype, options, form):
    x = sparse(stype)
    dataset = ArrayDataset(x, mx.nd.arange(23))
    if form == "one by one":
        dataset = dataset.transform(lambda a, b: (a, b))
        assert batch_of(dataset, np.arange(3)) is None
    if form == "sampled":
        dataset = dataset.sample(data.IntervalSampler(23, 5)).shard(1, 0)
        assert batch_of(dataset, np.arange(3))[0].stype == stype
    loader = DataLoader(dataset, 4, thread_pool=True, **options)
    for _ in range(2):
        seen = check_sparse(loader, x.asnumpy(), stype)
        if options.get("last_batch") == "discard":
            assert len(seen) == 20
        else:
            assert sorted(seen) == list(range(23))
            assert (seen == sorted(seen)) == (form != "sampled" and not options.get("shuffle"))


def test_the_quick_way_and_the_way_example_by_example_agree():
    parts = (sparse(), sparse("row_sparse"), sparse("default"), np.arange(46).reshape(23, 2), mx.nd.arange(23))
    dataset = ArrayDataset(*parts)
    rows = np.array([3, 22, 3, 0, -1])
    quick = batch_of(dataset, rows)
    slow = data.default_batchify_fn([dataset[row] for row in rows.tolist()])
    for one, other in zip(quick, slow, strict=True):
        assert (one.stype, one.dtype, one.shape) == (other.stype, other.dtype, other.shape)
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
    for row in (23, -24):
        refused(RowIndexError, f"Example {row} is out of range for 23 examples", batch_of, dataset, np.array([row]))
    (batch,) = DataLoader(parts[0], 23)  # a single array is a data set too
    assert (batch.stype, batch.shape) == ("csr", (23, 7))


def test_the_seed_decides_the_order_with_and_without_workers():
    def orders(workers):
        mx.random.seed(11)
        loader = DataLoader(ArrayDataset(mx.nd.arange(30)), 30, shuffle=True, num_workers=workers)
        return [next(iter(loader)).asnumpy().tolist() for _ in range(2)]

    assert orders(0) == orders(0)
    assert orders(2) == orders(2)
    assert orders(0) == orders(2)
    assert orders(0)[0] != orders(0)[1]


def examples(count=8):
    return ArrayDataset(sparse(count=count), mx.nd.arange(count))


@pytest.fixture
def loader():
    """A maker of loaders that are closed at the end."""
    made = []

    def make(dataset, *arguments, **options):
        made.append(DataLoader(dataset, *arguments, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("threads", [True, False], ids=["threads", "processes"])
class TestWorkers:
    """Workers of both kinds behave alike."""

    def test_batches_come_in_order(self, loader, threads):
        made = loader(examples(40).transform(functions.double), 7, num_workers=2, thread_pool=threads)
        for _ in range(2):
            batches = list(made)
            assert [y.asnumpy().tolist() for _, y in batches] == [list(range(at, min(at + 7, 40))) for at in range(0, 40, 7)]
            x = np.concatenate([x.asnumpy() for x, _ in batches])
            np.testing.assert_array_equal(x, 2 * sparse(count=40).asnumpy())
            assert {x.stype for x, _ in batches} == {"csr"}

    def test_an_error_is_raised_with_its_traceback_and_the_loader_goes_on(self, loader, threads):
        made = loader(examples().transform(functions.broken), 2, num_workers=2, thread_pool=threads)
        for _ in range(2):
            batches = iter(made)
            assert [next(batches)[1].asnumpy().tolist() for _ in range(2)] == [[0, 1], [2, 3]]
            with pytest.raises(KeyError, match="row five") as caught:
                next(batches)
            where = str(caught.value.__cause__) if not threads else str(caught.getrepr())
            assert "broken" in where
            assert "data_functions.py" in where

    def test_a_batch_that_takes_too_long(self, loader, threads):
        made = loader(examples().transform(functions.hanging), 2, num_workers=2, thread_pool=threads, timeout=1.5)
        batches = iter(made)
        next(batches)
        next(batches)
        refused(WorkerTimeoutError, r"not ready after 1\.5 seconds", next, batches)

    def test_work_is_done_at_the_same_time(self, loader, threads, tmp_path):
        """Each of the first three batches waits for the two others."""
        made = loader(examples(24).transform(functools.partial(functions.meeting, str(tmp_path))), 4, num_workers=3,
                      thread_pool=threads)
        assert len(list(made)) == 6
        assert len(list(tmp_path.iterdir())) == 3

    def test_an_epoch_that_is_left_does_not_disturb_the_next(self, loader, threads):
        made = loader(examples().transform(functions.double), 2, num_workers=2, thread_pool=threads)
        for _ in range(3):
            for _x, y in made:
                assert y.asnumpy().tolist() == [0, 1]
                break
        one, other = iter(made), iter(made)
        assert next(one)[1].asnumpy().tolist() == next(other)[1].asnumpy().tolist() == [0, 1]
        assert [y.asnumpy()[0] for _, y in one] == [2, 4, 6]
        assert [y.asnumpy()[0] for _, y in other] == [2, 4, 6]

    def test_random_transformations_are_repeatable(self, loader, threads):
        x = mx.nd.zeros((8, 2))
        made = loader(ArrayDataset(x, mx.nd.arange(8)).transform(functions.noisy), 2, num_workers=2, thread_pool=threads)

        def epoch():
            return np.concatenate([x.asnumpy() for x, _ in made])

        def seeded():
            mx.random.seed(2)
            np.random.seed(2)
            return epoch()

        first = seeded()
        if not threads:  # numpy's own generator is one for all threads
            np.testing.assert_array_equal(first, seeded())
        assert len(np.unique(first)) > 8
        assert not np.array_equal(first, epoch())

    @pytest.mark.parametrize("ahead", [False, True])
    def test_after_close_it_starts_again(self, loader, threads, ahead):
        made = loader(examples().transform(functions.double), 4, num_workers=1, thread_pool=threads, timeout=30,
                      auto_reload=ahead)
        for _ in range(2):
            assert len(list(made)) == 2
            made.close()

    def test_other_forms_of_batches(self, loader, threads):
        made = loader(examples(2).transform(functions.double), 2, num_workers=1, thread_pool=threads,
                      batchify_fn=functions.nested)
        (batch,) = made
        assert batch["rest"][:2] == (2, "text")
        assert (batch["x"].stype, batch["rest"][2][0].asnumpy().tolist()) == ("csr", [1, 1, 1])

    def test_auto_reload_begins_ahead(self, loader, threads):
        made = loader(examples().transform(functions.double), 4, num_workers=1, thread_pool=threads, auto_reload=True)
        assert made._epoch is not None
        assert len(list(made)) == 2
        assert made._epoch is not None
        made.clean()
        assert made._epoch is None
        assert len(list(made)) == 2


def children():
    return {process.pid for process in multiprocessing.active_children() if process.name.startswith("sparsekit-data")}


def test_large_batches_come_in_shared_memory_and_belong_to_the_caller(loader):
    values = np.random.default_rng(0).random((64, 5000)).astype(np.float32)
    made = loader(ArrayDataset(values, np.arange(64)).transform(functions.double), 32, num_workers=1)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        first, second = [x for x, _ in made]
        first[:] = 0
        np.testing.assert_array_equal(second.asnumpy(), 2 * values[32:])
        assert not first.asnumpy().any()
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_large_batches_come_whatever_sockets_wait_by_default(loader):
    made = loader(ArrayDataset(np.ones((64, 5000), np.float32), np.arange(64)).transform(functions.double), 16, num_workers=1)
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(0.001)
    try:
        assert sum(float(x.asnumpy().sum()) for x, _ in made) == 2 * 64 * 5000
    finally:
        socket.setdefaulttimeout(before)


def test_processes_end_with_the_loader():
    made = DataLoader(examples().transform(functions.double), 4, num_workers=2)
    next(iter(made))
    mine = {process.pid for process, _ in made._workers._workers}
    assert len(mine) == 2
    loader = weakref.ref(made)
    del made
    assert are_gone([loader])
    deadline = time.monotonic() + 60
    while mine & children() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not mine & children()


def test_a_worker_that_dies_is_named_and_replaced(loader):
    made = loader(examples().transform(functions.dying), 2, num_workers=1)
    for _ in range(2):
        batches = iter(made)
        next(batches)
        next(batches)
        refused(WorkerError, "ended unexpectedly with exit code 7", next, batches)


def test_errors_and_batches_that_cannot_be_sent(loader):
    made = loader(examples().transform(functions.unsendable), 2, num_workers=1)
    refused(WorkerError, "Unsendable: cannot be made again", list, made)
    made = loader(examples().transform(functions.double), 2, num_workers=1, batchify_fn=functions.first_only)
    assert [one.shape for one in next(iter(made))] == [(1, 7)] * 2
    made = loader(examples().transform(functions.unpicklable), 2, num_workers=1, batchify_fn=batchify.AsList())
    refused(ConversionError, "A batch cannot be sent", list, made)


def test_functions_that_cannot_be_sent_are_called_by_threads(loader):
    said = r"are threads(.|\n)*cannot be sent to another process(.|\n)*thread_pool=True"
    with pytest.warns(WorkerWarning, match=said) as warned:
        made = loader(examples().transform(lambda x, y: (x, y + 1)), 2, num_workers=2)
    assert [one.filename for one in warned] == [__file__]
    assert [y.asnumpy().tolist() for _, y in made] == [y.asnumpy().tolist() for _, y in
                                                       loader(examples().transform(lambda x, y: (x, y + 1)), 2)]


def test_functions_of_a_notebook_are_called_by_threads():
    """What has no file is not found by a fresh process, although it can be pickled."""
    lines = ["import sparsekit as mx", "def more(x): return x + 1",
             "data = mx.gluon.data.SimpleDataset([1, 2, 3]).transform(more)",
             "print([one.asnumpy().tolist() for one in mx.gluon.data.DataLoader(data, 2, num_workers=2)])"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=400, env=PATHS)
    assert (done.returncode, done.stdout) == (0, "[[2, 3], [4]]\n"), done.stderr
    assert "more is defined in a notebook or at a prompt" in done.stderr


SCRIPT = """
import os, sys, time
import sparsekit as mx
import data_functions

def local(x, y):
    return x, y

def run(how):
    dataset = mx.gluon.data.ArrayDataset(mx.nd.ones((40, 3)), mx.nd.arange(40))
    function = local if how == "local" else data_functions.slow
    loader = mx.gluon.data.DataLoader(dataset.transform(function), 4, num_workers=2)
    print(*[process.pid for process, _ in loader._workers._workers], flush=True)
    for x, y in loader:
        print(y.asnumpy()[0], flush=True)
        if how == "leave":
            return

GUARD
    for how in sys.argv[1:]:
        run(how)
"""


def script(tmp_path, guard="if __name__ == '__main__':"):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.replace("GUARD", guard))
    return path


def gone(pids):
    """Whether processes have ended, within some seconds."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        alive = [pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes()]
        if not alive:
            return True
        time.sleep(0.05)
    return False


def test_a_script_ends_without_a_word(tmp_path):
    done = subprocess.run([sys.executable, script(tmp_path), "local", "leave"], capture_output=True, text=True, timeout=400,
                          env=PATHS)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + 10 + 1 + 1
    assert gone(map(int, [*lines[0].split(), *lines[11].split()]))


def test_a_script_that_guards_nothing_is_told_so(tmp_path):
    done = subprocess.run([sys.executable, script(tmp_path, "if True:"), "local"], capture_output=True, text=True, timeout=400,
                          env=PATHS)
    assert done.returncode == 1
    assert "WorkerError" in done.stderr
    assert "if __name__ == '__main__':" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_however_the_program_does(tmp_path, number):
    process = subprocess.Popen([sys.executable, script(tmp_path), "all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True, env=PATHS)
    with process:
        pids = list(map(int, process.stdout.readline().split()))
        process.stdout.readline()
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does: workers get it too
        else:
            process.kill()
        assert process.wait(60) != 0
        errors = process.stderr.read()
    assert gone(pids)
    assert errors.count("Traceback") == (1 if number == signal.SIGINT else 0), errors
    assert ("KeyboardInterrupt" in errors) == (number == signal.SIGINT)


def test_a_recorder_sees_the_batches(monkeypatch):
    seen = []

    class Sink:
        def span(self, name, lane, start, end, arguments):
            if lane == "io":  # and not the copies that make the batch
                seen.append((name, lane, arguments["rows"]))

        def assign(self, array, role, owner):
            seen.append((array.stype, role, owner))

        def op(self, *_):
            pass

        call = op

    monkeypatch.setattr(hooks, "sink", Sink())
    next(iter(DataLoader(examples(), 3)))
    assert seen == [("csr", "input", "data0"), ("default", "input", "data1"), ("DataLoader", "io", 3)]


def test_batchify():
    assert batchify.Stack()([(1, 2), (3, 4)]).asnumpy().tolist() == [[1, 2], [3, 4]]
    assert batchify.Stack("float64")([1, 2]).dtype == np.float64
    assert batchify.Stack()([sparse()[0], sparse()[1]]).stype == "csr"
    padded, lengths = batchify.Pad(ret_length=True, pad_val=9)([[1, 2, 3], mx.nd.array([4])])
    assert (padded.asnumpy().tolist(), lengths.asnumpy().tolist(), lengths.dtype) == ([[1, 2, 3], [4, 9, 9]], [3, 1], np.int32)
    assert batchify.Pad(axis=None, round_to=4)([np.ones((1, 3)), np.ones((2, 1))]).shape == (2, 4, 4)
    assert batchify.Pad(axis=1, val=1)([np.ones((2, 3)), np.ones((2, 1))]).shape == (2, 2, 3)
    refused(ShapeError, "Only axis 0 is padded", lambda: batchify.Pad()([np.ones((2, 3)), np.ones((2, 1))]))
    refused(ShapeError, "numbers of axes", lambda: batchify.Pad()([[1], [[1]]]))
    refused(DTypeError, "columns of sparse ones need no padding", lambda: batchify.Pad()([sparse()[0]]))
    assert [one.shape for one in batchify.Append()([np.ones(2), mx.nd.ones((3,))])] == [(1, 2), (1, 3)]
    assert batchify.AsList()(("a", "b")) == ["a", "b"]
    first, second = batchify.Tuple([batchify.Stack(), batchify.AsList()])([(1, "a"), (2, "b")])
    assert (first.asnumpy().tolist(), second) == ([1, 2], ["a", "b"])
    refused(ShapeError, "2 parts each", lambda: batchify.Group(batchify.Stack(), batchify.Stack())([(1, 2, 3)]))
    refused(DTypeError, "one function for each part", batchify.Group, 3)


@pytest.mark.parametrize(("make", "error", "what"), [
    (lambda: DataLoader([1]), ShapeError, "batch_size or batch_sampler"),
    (lambda: DataLoader([1], 1, True, data.SequentialSampler(1)), ShapeError, "shuffle and sampler exclude each other"),
    (lambda: DataLoader([1], 1, batch_sampler=[[0]]), ShapeError, "batch_sampler excludes batch_size, shuffle, sampler and"),
    (lambda: DataLoader([1], 1, last_batch="pad"), UnknownNameError, "last_batch named 'pad'"),
    (lambda: DataLoader([1], 0), ShapeError, "batch_size must be an integer of at least 1, got 0"),
    (lambda: DataLoader([1], 1, timeout=0), ShapeError, "timeout must be a number of seconds above 0, got 0"),
    (lambda: list(DataLoader(["a"], 1)), DTypeError, "real numbers"),
    (lambda: list(DataLoader([[1], [1, 2]], 2)), ShapeError, "different shapes"),
    (lambda: list(DataLoader([(1,), (1, 2)], 2)), ShapeError, "different numbers of parts"),
    (lambda: list(DataLoader([mx.nd.ones(2), mx.nd.ones(3)], 2)), ShapeError, r"different shapes: \(2,\), \(3,\)"),
    (lambda: ArrayDataset(), ShapeError, "at least one array"),
    (lambda: ArrayDataset([1], [1, 2]), ShapeError, "different lengths: 1, 2"),
    (lambda: data.SimpleDataset([1]).shard(2, 2), ShapeError, "Part 2 is out of range for 2 parts"),
    (lambda: data.SimpleDataset([1]).shard(0, 0), ShapeError, "num_shards must be an integer of at least 1, got 0"),
    (lambda: data.SimpleDataset([1]).sample([0]), DTypeError, "sampler must be a Sampler, got list"),
    (lambda: data.IntervalSampler(2, 3), ShapeError, "larger than the length"),
    (lambda: data.RandomSampler(-1), ShapeError, "length must be an integer of at least 0, got -1"),
    (lambda: iter(data.Sampler()), UnsupportedError, "define __iter__"),
    (lambda: len(data.Sampler()), UnsupportedError, "define __len__"),
    (lambda: data.Dataset()[0], UnsupportedError, "define __getitem__"),
    (lambda: len(data.Dataset()), UnsupportedError, "define __len__"),
])
def test_what_cannot_be_is_named(make, error, what):
    refused(error, what, make)
