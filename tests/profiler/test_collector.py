import gc
import sys
import time
import weakref

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.examples.linear_classification import LogisticRegression


def work(rounds):
    x = mx.nd.ones((4, 4))
    for _ in range(rounds):
        x + x


def runs(rounds):
    """How often the collector ran through the youngest objects while operators ran and every second left a cycle behind."""
    gc.collect()
    before = gc.get_stats()[0]["collections"]
    for _ in range(rounds // 2):
        work(2)
        cycle = []
        cycle.append(cycle)
    return gc.get_stats()[0]["collections"] - before


@pytest.fixture
def thresholds():
    """Those of Python 3.11 and 3.12; later ones have others."""
    usual = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*usual)


@pytest.mark.usefixtures("thresholds")
def test_the_collector_runs_hardly_more_often_than_without_a_profiler():
    runs(1000)
    without = runs(10_000)
    with mx.Profiler():
        recorded = runs(10_000)
    # 5,000 cycles, 700 at a time; Python 3.14 runs somewhat less often.
    assert (6 if sys.version_info < (3, 14) else 4) <= without < 10
    # The objects of the recorder, a weak reference an event and more, would make it run 35 times.
    assert without / 5 <= recorded <= 3 * without


def test_thresholds_are_as_before_when_the_profiler_stops_or_pauses():
    usual = gc.get_threshold()
    with mx.Profiler() as prof:
        assert gc.get_threshold()[0] > usual[0]
        work(3000)
        prof.pause()
        assert gc.get_threshold() == usual
        prof.resume()
        work(10)
    assert gc.get_threshold() == usual


def test_thresholds_that_the_user_sets_meanwhile_stay():
    usual = gc.get_threshold()
    try:
        with mx.Profiler():
            gc.set_threshold(5000, 20, 30)
            work(3000)
            assert gc.get_threshold()[0] > 5000
            assert gc.get_threshold()[1:] == (20, 30)
        assert gc.get_threshold() == (5000, 20, 30)
        with mx.Profiler():
            gc.set_threshold(123, 4, 5)
        assert gc.get_threshold() == (123, 4, 5)
    finally:
        gc.set_threshold(*usual)


def test_a_collector_that_never_runs_does_not_begin_to():
    usual = gc.get_threshold()
    try:
        gc.set_threshold(0)
        with mx.Profiler():
            work(3000)
            assert gc.get_threshold()[0] == 0
        assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*usual)


@pytest.mark.compiled
@pytest.mark.usefixtures("thresholds")
def test_a_step_that_python_interrupts_hardly_has_the_collector_run():
    random = np.random.default_rng(0)
    indices = np.sort(random.integers(0, 100, (1000, 40)) + 100 * np.arange(40), axis=1)
    x = mx.nd.sparse.csr_matrix((np.ones(40_000, np.float32), indices.ravel(), np.arange(0, 40_001, 40)), shape=(1000, 4000))
    model = mx.gluon.nn.HybridSequential()
    model.add(LogisticRegression(4000), mx.gluon.nn.Dropout(0.1), mx.gluon.nn.Dropout(0.1))
    model.initialize()
    trainer = mx.gluon.Trainer(model.collect_params(), "sgd")
    step = mx.gluon.TrainStep(model, mx.gluon.loss.SigmoidBinaryCrossEntropyLoss(), trainer)
    label = mx.nd.ones((1000, 1))
    for _ in range(5):
        step(x, label)
    assert [row["op"] for row in step.explain() if row["reason"]] == ["Dropout"] * 2
    with mx.Profiler():
        before = gc.get_stats()[0]["collections"]
        for _ in range(100):  # each leaves more than fifty objects
            step(x, label)
        assert gc.get_stats()[0]["collections"] - before <= 3


def test_what_a_profile_kept_of_arrays_goes_with_it():
    """Weak references left behind would be gone through by the next profiler, once for each profiler before."""
    x = mx.nd.sparse.csr_matrix(([1.0, 2.0], [0, 2], [0, 1, 2]), shape=(2, 3))
    arrays = [x._store.data, x._store.indices, (y := mx.nd.ones((3, 2)))._store]
    with mx.Profiler() as prof:  # what is imported and compiled at first may leave cycles
        mx.nd.dot(x, y)
        assert prof.records
    del prof
    gc.collect()
    gc.disable()
    try:
        before = [weakref.getweakrefcount(array) for array in arrays]
        for asked in (False, True, False):
            with mx.Profiler() as prof:
                mx.nd.dot(x, y)
                if asked:
                    mx.nd.dot(x, y).wait_to_read()
                    assert prof.records
                assert [weakref.getweakrefcount(array) for array in arrays] == [count + 1 for count in before]
            del prof
            for _ in range(100):  # another thread may hold it for a moment; a cycle holds it for good
                if [weakref.getweakrefcount(array) for array in arrays] == before:
                    break
                time.sleep(0.02)
            assert [weakref.getweakrefcount(array) for array in arrays] == before
    finally:
        gc.enable()


@pytest.mark.parametrize("asked", [False, True])
def test_a_profile_goes_with_its_last_user_and_not_when_the_collector_comes_by(asked):
    gc.collect()
    gc.disable()
    try:
        with mx.Profiler() as prof:
            work(20)
            prof.step()
        if asked:
            prof.table()
            assert prof.memory
            assert prof.records
            prof.what_if(index_dtype="int32")
            prof._repr_mimebundle_()
        held = weakref.ref(prof._run.log)
        del prof
        assert held() is None
    finally:
        gc.enable()
