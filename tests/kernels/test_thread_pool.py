"""Loops that threads share: every piece is run once, whoever asks, and whoever fails."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from sparsekit.base.errors import RowIndexError, SparsekitError
from sparsekit.base.platform import leave_processor
from sparsekit.kernels import for_device, kernels_of
from sparsekit.kernels.cpu import thread_pool
from sparsekit.kernels.cpu.intrinsic_names import put_up
from sparsekit.kernels.cpu.jit import kernel, worker_count
from sparsekit.kernels.cpu.thread_pool import share, shared_over, shared_state, spread
from tests.sampling import some

pytestmark = pytest.mark.compiled


@kernel(cache=False)
def _count(counts, start, stop):
    for place in range(start, stop):
        counts[place] += 1


@kernel(cache=False)
def _count_together(shared_state, count, grain, counts):
    body, arguments = put_up(_count, (counts,))
    return spread(shared_state, count, grain, body, arguments)


@kernel(cache=False)
def _fail(counts, start, stop):
    if start == 3:
        raise ValueError
    counts[start] += 1


@kernel(cache=False)
def _fail_together(shared_state, count, grain, counts):
    body, arguments = put_up(_fail, (counts,))
    return spread(shared_state, count, grain, body, arguments)


@kernel(cache=False)
def _double(values, factor, out, start, stop):
    for place in range(start, stop):
        out[place] = factor * values[place]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("grain", [1, 3, 2000])
def test_every_place_is_run_once(count: int, grain: int) -> None:
    counts = np.zeros(count, np.int64)
    for _ in range(50):
        share(_count_together, count, grain, counts)
    assert (counts == 50).all()


@pytest.mark.parametrize("dtype", ["int64", "float64", "bool"])
def test_each_element_type_has_code_of_its_own(dtype: str) -> None:
    counts = np.zeros(2000, dtype)
    for own in (counts, counts[::2], counts.reshape(2, -1).T[:, 1]):
        share(_count_together, len(own), 7, own)
    expected = np.ones(2000, dtype)
    for own in (expected[::2], expected.reshape(2, -1).T[:, 1]):
        own += own.dtype.type(1)
    np.testing.assert_array_equal(counts, expected)


def test_threads_that_ask_at_once_do_not_mix() -> None:
    counts = [np.zeros(300, np.int64) for _ in range(4)]

    def work(own: np.ndarray) -> None:
        for _ in range(300):
            share(_count_together, 300, 7, own)

    threads = [threading.Thread(target=work, args=(own,)) for own in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [set(own) for own in counts] == [{300}] * 4


@pytest.mark.parametrize("grain", [1, 8])
def test_a_failure_in_a_piece_is_told_and_the_threads_go_on(grain: int) -> None:
    counts = np.zeros(8, np.int64)
    for _ in range(3):
        with pytest.raises(SparsekitError, match="failed in one of its threads"):
            share(_fail_together, 8, 1, counts)
    share(_count_together, 8, grain, counts)
    assert (counts >= 1).all()
    assert shared_state()[thread_pool.OWNED] == 0


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5000])
def test_arrays_in_a_tuple_may_be_read_only_or_half_precision(size: int) -> None:
    shared = shared_over(_double, 100, 30)
    for dtype in ("float32", "float16"):
        values, out = np.arange(size).astype(dtype), np.zeros(size, dtype)
        values.flags.writeable = False
        share(shared, (values, np.dtype(dtype).type(2), out))
        np.testing.assert_array_equal(out, 2 * values)
    out = np.zeros((size, 3), np.float32)
    share(shared, (np.ones((size, 3), np.float32), np.float32(3), out))
    assert (out == 3).all()


@pytest.mark.skipif(worker_count() < 2, reason="one core")
def test_the_first_large_loop_starts_the_helpers_and_each_is_a_daemon() -> None:
    share(_count_together, 8, 1, np.zeros(8, np.int64))
    assert shared_state()[thread_pool.HELPERS] == worker_count() - 1
    names = {thread.name for thread in threading.enumerate() if thread.daemon}
    assert {f"sparsekit-{number}" for number in range(worker_count() - 1)} <= names


@pytest.mark.skipif(worker_count() < 2, reason="one core")
@pytest.mark.parametrize("grain", [1, 2, 3, 4, 6, 7])
def test_a_helper_takes_part_and_sleeps_afterwards(grain: int) -> None:
    state = shared_state()

    def is_helped() -> bool:
        share(_count_together, 8, grain, np.zeros(8, np.int64))
        return bool(state[thread_pool.AWAKE] == 1)

    # On a busy machine this thread may wait for its turn longer than a helper looks for work.
    assert any(is_helped() for _ in range(100))
    pause = threading.Event()
    for _ in range(500):
        if not state[thread_pool.AWAKE]:
            break
        pause.wait(0.01)
    assert not state[thread_pool.AWAKE], "an idle helper must not keep a core"


@kernel(cache=False)
def _wait_for_others(arrived, start, stop):
    for _ in range(start, stop):
        thread_pool.add(arrived, 0, 1)
        for _look in range(200_000_000):
            if thread_pool.read(arrived, 0) >= 2:
                thread_pool.add(arrived, 8, 1)
                break
            thread_pool.pause()


@kernel(cache=False)
def _meet(shared_state, arrived):
    body, arguments = put_up(_wait_for_others, (arrived,))
    return spread(shared_state, 2, 1, body, arguments)


@pytest.mark.skipif(worker_count() < 2, reason="one core")
def test_two_threads_work_at_once_without_the_interpreter() -> None:
    share(_count_together, 8, 1, np.zeros(8, np.int64))
    arrived = np.zeros(16, np.int64)
    assert _meet(shared_state(), arrived) == 0
    assert arrived[8] == 2, "each piece waits for the other, so two threads ran them"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads have no affinity here")
def test_a_thread_leaves_a_processor_and_may_come_back_later(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {0, 1, 2})
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, processors: asked.append(processors))
    leave_processor(1)
    assert asked == [{0, 2}, {0, 1, 2}]


STATES = {
    name: kernel.py_func.__code__.co_argcount - 5
    for file in ("update", "update_adaptive") for name in kernels_of(file) if name.endswith("_step")
    for kernel in [getattr(for_device("cpu"), name)]}


# Sharing is the same for all; the values of each step are in test_numpy_kernels.
@pytest.mark.parametrize("name", some(STATES, one_in=24, always=["momentum_step", "adam_step", "group_adagrad_step"]))
def test_a_step_that_threads_share_has_the_bits_of_one_thread(name: str) -> None:
    """By rows, by the elements of a single row, and with one gradient for all rows; gradients may lie in any order."""
    k, random = for_device("cpu"), np.random.default_rng(3)
    step, states, grouped = getattr(k, name), STATES[name], name == "group_adagrad_step"
    numbers = np.array([0.5, 0.9, *np.linspace(0.1, 0.7, 12)], np.float32)

    def arrays(rows: int, width: int) -> list[np.ndarray]:
        return [np.abs(random.standard_normal((rows, 1 if grouped and place else width), dtype=np.float32)) + 1
                for place in range(1 + states)]

    for rows, width, few in ((3000, 100, 2900), (1, 400_000, 1)):
        given, indices = arrays(rows, width), np.sort(random.permutation(rows)[:few])
        gradient = random.standard_normal((width, few), dtype=np.float32).T
        alone = [array.copy() for array in given]
        if rows == 1 and not grouped:
            k.update_dense(step, given[0], gradient, numbers, given[1:])
        else:
            k.update_rows(step, given[0], gradient, indices, numbers, given[1:])
        step(alone[0], np.ascontiguousarray(gradient), indices, 1, numbers, *alone[1:])
        assert [one.tobytes() for one in given] == [one.tobytes() for one in alone]
    given = arrays(4000, 100)
    alone = [array.copy() for array in given]
    k.update_other_rows(step, given[0], np.array([5, 77]), numbers, given[1:])
    others = np.delete(np.arange(4000), [5, 77])
    step(alone[0], np.zeros((1, 100), np.float32), others, 0, numbers, *alone[1:])
    assert [one.tobytes() for one in given] == [one.tobytes() for one in alone]


def test_a_row_outside_a_large_weight_is_told_before_anything_is_written() -> None:
    k, indices = for_device("cpu"), np.arange(3000)
    weight, data = np.ones((3000, 100), np.float32), np.ones((3000, 100), np.float32)
    indices[2000] = 3000
    with pytest.raises(RowIndexError, match="outside the 3000 rows"):
        k.update_rows(k.sgd_step, weight, data, indices, np.ones(4, np.float32), ())
    assert worker_count() == 1 or (weight == 1).all()


_FORK = """
import os, sys, numpy as np
import sparsekit as mx
from sparsekit.kernels.cpu import thread_pool
random = np.random.default_rng(0)
left = mx.nd.array((random.random((2000, 3000)) < 0.05).astype("float32")).tostype("csr")
right = mx.nd.array(random.random((3000, 16), dtype=np.float32))
expected = mx.nd.dot(left, right).asnumpy()
state = thread_pool.shared_state()
assert state[thread_pool.HELPERS] == 1
state[thread_pool.OWNED] = 1  # as if another thread had the helpers while this one forks
child = os.fork()
if child == 0:
    fresh = state is thread_pool.shared_state() and state[thread_pool.HELPERS] == -1 and state[thread_pool.OWNED] == 0
    found = mx.nd.dot(left, right).asnumpy()
    again = mx.nd.dot(left, right).asnumpy()
    same = np.array_equal(found, expected) and np.array_equal(again, expected)
    os._exit(0 if fresh and same and state[thread_pool.HELPERS] == 1 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_starts_helpers_of_its_own() -> None:
    environment = {**os.environ, "SPARSEKIT_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK], env=environment, check=True, timeout=400)
