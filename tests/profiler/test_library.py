"""The profiler on the real library: what it says must be what ran."""

import gc
import queue
import re
import signal
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import hooks
from sparsekit.profiler.recorder import Recorder

FEATURES, UNITS, BATCH, STORED = 1000, 16, 4, 3


class SparseDense(mx.gluon.HybridBlock):
    def __init__(self, grad_stype):
        super().__init__(prefix="first_")
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(FEATURES, UNITS), grad_stype=grad_stype)

    def hybrid_forward(self, F, x, weight):
        return F.sparse.dot(x, weight)


@pytest.fixture
def training():
    """A function that trains one step, for either storage type of the gradient."""

    def make(grad_stype):
        rng = np.random.default_rng(0)
        columns = np.sort(np.stack([rng.choice(FEATURES, STORED, False) for _ in range(BATCH)]), axis=1).ravel()
        batch = mx.nd.sparse.csr_matrix((np.ones(BATCH * STORED, np.float32), columns,
                                         np.arange(BATCH + 1) * STORED), shape=(BATCH, FEATURES))
        net = SparseDense(grad_stype)
        net.initialize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

        def step():
            with mx.autograd.record():
                loss = (net(batch) ** 2).sum()
            loss.backward()
            trainer.step(BATCH)

        step()  # compiles, and makes the gradient's buffer
        step.rows = len(set(columns.tolist()))
        return step

    return make


def test_a_training_step_is_recorded_in_its_lanes_and_layers(training):
    step = training("row_sparse")
    with mx.Profiler() as prof:
        for _ in range(3):
            step()
    dots = [record for record in prof.records if record["name"] == "dot"]
    assert [record["lane"] for record in dots] == ["forward", "backward"] * 3
    assert all(dot["node"] == other["node"] is not None for dot, other in zip(dots[::2], dots[1::2], strict=True))
    assert {dot["layer"].rstrip("_") for dot in dots} == {"first"}
    assert dots[1]["outputs"][0]["rows"] == step.rows
    assert dots[0]["flops"] == 2 * BATCH * STORED * UNITS
    assert dots[0]["dense_flops"] == 2 * BATCH * FEATURES * UNITS
    assert all(re.fullmatch(r"test_library\.py:\d+", dot["line"]) for dot in dots)
    assert sum(record["self"] for record in prof.records) <= prof.wall


def test_an_update_that_is_not_lazy_moves_the_whole_weight_and_breaks_update_rows():
    weight, gradient = mx.nd.ones((1000, 4)), mx.nd.sparse.row_sparse_array((np.ones((2, 4), "float32"), [3, 5]), shape=(1000, 4))
    moved = {}
    for lazy in (True, False):
        adam = mx.optimizer.Adam(lazy_update=lazy)
        state = adam.create_state(0, weight)
        with mx.Profiler() as prof:
            adam.update(0, weight, gradient, state)
        moved[lazy] = sum(record["bytes"] for record in prof.records)
        if lazy:
            mx.expect(prof).update_rows(at_most=2)
        else:
            with pytest.raises(mx.ContractError, match="1 update took a dense gradient or updated every row"):
                mx.expect(prof).update_rows(at_most=2)
    assert moved[False] > 3 * weight.nbytes > 100 * moved[True]


def test_the_profiler_keeps_no_array_of_the_library_alive(training):
    step = training("row_sparse")
    with mx.Profiler() as prof:
        array = mx.nd.ones((10, 10)) * 2
        step()
    watched = weakref.ref(array._store)
    prof._repr_mimebundle_()
    del array
    gc.collect()
    assert watched() is None
    assert prof.records


@pytest.mark.parametrize("hybridized", [False, True])
def test_every_event_has_the_users_line_also_inside_layers_and_programs(hybridized):
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    net.add(mx.gluon.nn.Dense(4, in_units=3), mx.gluon.nn.Dense(2, in_units=4))
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    data = mx.nd.ones((5, 3))
    if hybridized:
        net.hybridize()

    def step():
        with mx.autograd.record():
            out = net(data)
        out.backward()
        trainer.step(5)

    step()
    with mx.Profiler() as prof:
        step()
    first = step.__code__.co_firstlineno
    found = {}
    for record in prof.records:
        found.setdefault(record["lane"] if record["node"] else "other", set()).add(record["line"])
    assert found["forward"] == found["backward"] == {f"test_library.py:{first + 2}"}
    assert f"test_library.py:{first + 4}" in found["other"] | found.get("update", set())
    assert all(line.startswith("test_library.py:") for lines in found.values() for line in lines), found


def test_a_block_of_the_users_own_gives_its_inner_lines():
    class Own(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            y = x + 1
            return F.sum(y)

    net = Own()
    with mx.Profiler() as prof:
        net(mx.nd.ones((2, 3)))
    first = Own.hybrid_forward.__code__.co_firstlineno
    assert [record["line"] for record in prof.records if record["layer"] and record["kind"] == "op"] == [
        f"test_library.py:{first + 1}", f"test_library.py:{first + 2}"]


def test_array_objects_tell_the_same_as_their_stores(training, monkeypatch):
    """The way of recording that is written for speed against the general one: the same arrays, lives and peak."""
    def as_stores(recorder):
        def call(plan, start, end, inputs, array, node):
            recorder.op(plan, start, end, tuple(one._store for one in inputs), (array._store,), node or hooks.state.node)
        return call

    found = []
    for general in (False, True):
        if general:
            monkeypatch.setattr(Recorder, "_make_call", as_stores)
        step = training("row_sparse")
        step()
        with mx.Profiler() as prof:
            for _ in range(3):
                step()
            parts = [mx.nd.ones((30, 4))[number:number + 2] * 2 for number in range(3)]
            mx.nd.concat(*parts, dim=0).reshape((3, 8)).sum()
        shown = ("name", "lane", "layer", "inputs", "outputs", "bytes", "flops")
        memory = prof.memory
        found.append(([[record[name] for name in shown] for record in prof.records],
                      memory["peak_bytes"], memory["at_peak"], [sample[1:] for sample in memory["samples"]], prof.gradient_rows))
    assert found[0] == found[1]


def test_arrays_that_several_profilers_saw_are_known_to_each():
    first, second = mx.nd.ones((100,)), mx.nd.ones((50,))
    with mx.Profiler() as outer:
        made = first + 1
        outer.pause()
        with mx.Profiler() as inner:
            other = made * 2  # marked by the second profiler while the first one pauses
        outer.resume()
        last = other + made
        del made, other
        second + 1
    assert [record["inputs"][0]["shape"] for record in outer.records] == [[100], [100], [50]]
    assert [array["shape"] for array in outer.records[1]["inputs"]] == [[100], [100]]
    assert inner.memory["peak_bytes"] == 2 * 400
    # The sum, its two inputs and the first array; then two of them are gone, and the second array and its sum came.
    assert outer.memory["peak_bytes"] == 4 * 400
    assert last.shape == (100,)
    assert outer.memory["samples"][-1][1] <= 2 * 400 + 2 * 200


def test_arrays_that_threads_hand_to_each_other_are_known_while_events_are_digested():
    handed: queue.Queue = queue.Queue(maxsize=8)
    steps = 300

    def produce():
        for number in range(steps):
            handed.put(mx.nd.ones((number % 7 + 1, 3)) * 2)
        handed.put(None)

    with mx.Profiler() as prof:
        prof._run.recorder.waiting = 40
        producer = threading.Thread(target=produce)
        producer.start()
        while (array := handed.get()) is not None:
            (array + 1).sum()
        producer.join()
        del array
    calls = {row["name"]: row["calls"] for row in prof.totals}
    assert [calls[name] for name in ("_mul_scalar", "_plus_scalar", "sum")] == [steps] * 3
    found = [record for record in prof.records if record["name"] in ("_mul_scalar", "_plus_scalar", "sum")]
    assert all(len(record["inputs"]) == len(record["outputs"]) == 1 for record in found)
    assert [record["inputs"][0]["shape"] for record in found if record["name"] == "sum"] == [
        [number % 7 + 1, 3] for number in range(steps)]
    assert len({record["thread"] for record in found}) == 2
    assert prof.memory["samples"][-1][1] == 0
    # At most what waits in between, what both threads hold, and what is made from it.
    assert prof.memory["peak_bytes"] <= 8 * 7 * 3 * 4 * 2


def test_backward_operators_of_a_long_run_have_their_lines_still():
    x = mx.nd.ones((2,))
    x.attach_grad()
    with mx.Profiler(capacity=50) as prof:
        prof._run.recorder.waiting = 10
        for _ in range(300):
            with mx.autograd.record():
                y = x * x
            y.backward()
    lines = {record["line"].rpartition(":")[0] for record in prof.records if record["lane"] == "backward"}
    assert lines == {Path(__file__).name}


@pytest.mark.parametrize(("shape", "held"), [((6, 5), 120), ((3, 5), 0)], ids=["array", "view"])
def test_an_array_whose_other_thread_has_not_noted_it_yet_counts_unless_it_is_a_view(library, shape, held):
    array = library.dense(6, 5)
    store = array if shape == array.shape else array[:3]
    with mx.Profiler() as prof:
        met = prof._run.recorder._meet(store)  # the other thread got so far
        library.run("read", (store,))
    assert prof.records[0]["inputs"][0]["shape"] == list(shape)
    assert prof.memory["peak_bytes"] == held
    del met


def test_views_that_come_and_go_are_freed_with_what_they_lie_in():
    def remembered():
        assert prof.memory is not None  # which reads what waits
        reader = prof._run.recorder.reader
        return [*map(len, (reader._entries, reader._marked, reader.numbers, reader.dead)),
                sum(len(entry.marks) for entry in reader._entries.values())]

    with mx.Profiler() as prof:
        prof._run.recorder.waiting = 10
        array = mx.nd.ones((6, 5))
        first = remembered()  # with the parameters that other tests have left alive
        for _ in range(1000):
            (array * 2).reshape((5, 6)).sum()
        last, memory = remembered(), prof.memory
    assert memory["samples"][-1][1] == memory["samples"][0][1] == 120
    assert memory["peak_bytes"] == 240 + 4
    # What is remembered does not grow with what is gone.
    assert max(now - then for now, then in zip(last, first, strict=True)) < 30


@pytest.fixture
def no_garbage_collection():
    """Python ignores an interrupt in a callback of the garbage collector, and other libraries have such callbacks."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
def test_an_interrupt_at_any_moment_leaves_a_sound_profile():
    """What Ctrl-C and a kernel's interrupt do: KeyboardInterrupt between any two instructions of the main thread."""
    x = mx.nd.ones((4, 4))

    def work(timer):
        timer.start()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            y = x + 1
            y = y * x
        raise AssertionError("the interrupt was lost")

    for number in range(10):
        timer = threading.Timer(0.002 + number * 0.0007, signal.raise_signal, (signal.SIGINT,))
        timer.daemon = True
        with pytest.raises(KeyboardInterrupt), mx.Profiler() as prof:
            work(timer)
        timer.join()
        assert hooks.sink is None
        assert {record["name"] for record in prof.records} <= {"_plus_scalar", "elemwise_mul", "broadcast_mul"}
        assert all([64] * len(record["inputs"]) == [array["bytes"] for array in record["inputs"]] for record in prof.records)
        assert prof.memory["peak_bytes"] <= 4 * 64
        assert 0 <= sum(record["self"] for record in prof.records) <= prof.wall
    with mx.Profiler() as prof:
        x + x
    assert len(prof.records) == 1


def test_a_batch_that_is_read_tells_span_and_inputs_in_one_note():
    reader = mx.io.NDArrayIter(np.zeros((8, 3), np.float32), np.arange(8, dtype=np.float32), 4)
    with mx.Profiler() as prof:
        for batch in reader:
            (batch.data[0] + 1).wait_to_read()
    reads = [record for record in prof.records if record["lane"] == "io"]
    assert [(record["name"], record["kind"], record["attrs"]["rows"]) for record in reads] == [("NDArrayIter", "span", 4)] * 2
    assert {("data", 48), ("softmax_label", 16)} <= {
        (row["owner"], row["bytes"]) for row in prof.memory["at_peak"] if row["role"] == "input"}


def test_of_two_profilers_that_begin_at_once_one_is_refused():
    gate, outcomes = threading.Barrier(2), []

    def begin():
        prof = mx.Profiler()
        gate.wait()
        try:
            with prof:
                gate.wait(timeout=400)  # both have tried
            outcomes.append("recorded")
        except mx.base.errors.ProfilerError:
            gate.wait(timeout=400)
            outcomes.append("refused")

    threads = [threading.Thread(target=begin) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["recorded", "refused"]
    assert hooks.sink is None


def test_steps_that_differ_in_their_rate_alone_are_of_one_kind_and_keep_their_rates(tmp_path):
    weight = mx.nd.ones((3, 2))
    with mx.Profiler() as prof:
        for step in range(5):
            mx.nd.sgd_update(weight, weight, lr=0.5 + step, wd=0.25)
        mx.nd.slice_axis(weight, axis=0, begin=0, end=1)
        mx.nd.slice_axis(weight, axis=0, begin=0, end=2)
    for profile in (prof, mx.profiler.load(prof.save(tmp_path / "run.npz"))):
        updates = [record["attrs"] for record in profile.records if record["name"] == "sgd_update"]
        assert [attrs["lr"] for attrs in updates] == [0.5, 1.5, 2.5, 3.5, 4.5]
        assert {attrs["wd"] for attrs in updates} == {0.25}
        assert profile.tables.texts(profile.tables.kinds.name).count("sgd_update") == 1
        assert [record["bytes"] for record in profile.records if record["name"] == "slice_axis"] == [16, 32]
