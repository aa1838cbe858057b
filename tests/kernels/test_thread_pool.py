"""Loops that threads share: every piece is run once, whoever asks, and whoever fails."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from sparsekit.base.errors import SparsekitError
from sparsekit.kernels.cpu import thread_pool
from sparsekit.kernels.cpu.intrinsic_names import put_up
from sparsekit.kernels.cpu.jit import kernel, worker_count
from sparsekit.kernels.cpu.thread_pool import lead, share

pytestmark = pytest.mark.compiled


@kernel(cache=False)
def _count(counts, start, stop):
    for place in range(start, stop):
        counts[place] += 1


@kernel(cache=False)
def _count_together(shared_state, count, grain, counts):
    put_up(shared_state, _count, (counts,))
    return lead(shared_state, count, grain)


@kernel(cache=False)
def _fail(counts, start, stop):
    if start == 3:
        raise ValueError
    counts[start] += 1


@kernel(cache=False)
def _fail_together(shared_state, count, grain, counts):
    put_up(shared_state, _fail, (counts,))
    return lead(shared_state, count, grain)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("grain", [1, 3, 2000])
def test_every_place_is_run_once(count: int, grain: int) -> None:
    counts = np.zeros(count, np.int64)
    for _ in range(50):
        share(_count_together, count, grain, counts)
    assert (counts == 50).all()


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "int32", "float32", "bool"])
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


def test_a_failure_in_a_piece_is_told_and_the_pool_goes_on() -> None:
    counts = np.zeros(8, np.int64)
    with pytest.raises(SparsekitError, match="failed in one of its threads"):
        share(_fail_together, 8, 1, counts)
    share(_count_together, 8, 1, counts)
    assert (counts >= 1).all()


@pytest.mark.skipif(worker_count() < 2, reason="one core")
@pytest.mark.parametrize("grain", [1, 2, 3, 4, 6, 7])
def test_a_helper_takes_part_and_sleeps_afterwards(grain: int) -> None:
    thread_pool.share(_count_together, 8, grain, np.zeros(8, np.int64))
    shared_state = thread_pool._pool().shared_state

    def is_awake() -> bool:
        thread_pool._pool().wake()
        return bool(shared_state[thread_pool.AWAKE] == 1)

    # On a busy machine this thread may wait for its turn longer than a helper looks for work.
    assert any(is_awake() for _ in range(100))
    pause = threading.Event()
    for _ in range(500):
        if not shared_state[thread_pool.AWAKE]:
            break
        pause.wait(0.01)
    assert not shared_state[thread_pool.AWAKE], "an idle helper must not keep a core"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads have no affinity here")
def test_a_thread_leaves_a_processor_and_may_come_back_later(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {0, 1, 2})
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, processors: asked.append(processors))
    thread_pool._leave(1)
    assert asked == [{0, 2}, {0, 1, 2}]


_FORK = """
import os, sys, numpy as np
import sparsekit as mx
from sparsekit.kernels.cpu import thread_pool
random = np.random.default_rng(0)
left = mx.nd.array((random.random((2000, 3000)) < 0.05).astype("float32")).tostype("csr")
right = mx.nd.array(random.random((3000, 16), dtype=np.float32))
expected = mx.nd.dot(left, right).asnumpy()
assert len(thread_pool._pools) == 1
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(mx.nd.dot(left, right).asnumpy(), expected) and len(thread_pool._pools) == 1 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_a_thread_pool_of_its_own() -> None:
    environment = {**os.environ, "SPARSEKIT_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK], env=environment, check=True, timeout=120)
