"""Whatever happens to servers and workers, the result is that of one process; ``histories.py`` says what happens."""

import collections

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import FencedError
from sparsekit.dist.messages import KeySpec, Pull, Push, Reply, Request
from sparsekit.dist.shard import Shard
from sparsekit.optimizer.states import described

from .histories import history, small_blocks
from .mutants import CHANGES, planted

#: Seeds whose histories find a fault, the first ones that do.
FINDS = {
    "without_dedup": 0, "gap_not_refused": 0, "without_undo_in_memory": 6, "without_undo_in_snapshot": 5,
    "pending_not_in_snapshot": 3, "state_not_in_snapshot": 0, "without_crc": 9, "without_fencing": 0, "without_journal": 0,
    "journal_after_the_answer": 0, "sum_in_the_order_of_arrival": 0, "full_disk_not_cut_back": 0,
    "replaced_workers_not_refused": 1, "resumed_as_each_server_was": 6, "resumed_without_undo": 5,
    "every_incarnation_the_same": 0,
}
#: Seeds that are run, by default and with ``--all``, in pieces.
USUAL, ALL, PIECE = 40, 1000, 40


def run(seeds):
    counts = collections.Counter()
    for seed in seeds:
        try:
            counts += history(seed)
        except Exception as error:
            raise AssertionError(f"history {seed}: {type(error).__name__}: {error}") from error
    return counts


@pytest.mark.parametrize("first", range(0, USUAL, PIECE))
def test_histories_end_as_one_process_does(first):
    counts = run(range(first, first + PIECE))
    assert len(counts) == 13  # each kind of event was met
    assert min(counts.values()) > 0


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(USUAL, ALL, PIECE))
def test_more_histories_end_as_one_process_does(first):
    run(range(first, first + PIECE))


@pytest.mark.parametrize("name", CHANGES)
def test_histories_find_a_planted_fault(name):
    seed = FINDS[name]  # without the fault, the test above runs it
    assert seed < USUAL
    with planted(name), pytest.raises(Exception):  # noqa: B017 - a fault may show as any error
        history(seed)


def asynchronous(seed, folder):
    """Workers that push whole numbers, each at its own speed, to servers that are killed: the sums are exact."""
    random = np.random.default_rng(seed)
    workers, steps, staleness = int(random.integers(2, 4)), 8, [None, 0, 2][seed % 3]
    spec, name = KeySpec((6, 2), "float32"), "w"

    def start():
        return Shard(folder, 0, 1, workers, "async", staleness, snapshot_bytes=2000)

    shard, zombies = start(), []
    shard.init(0, 0, name, spec, None, np.zeros((6, 2), np.float32))
    shard.optimizer(0, 0, 1, described(mx.optimizer.Test()))
    values = [[random.integers(-9, 10, (6, 2)).astype(np.float32) for _ in range(steps)] for _ in range(workers)]
    done, sent = [0] * workers, []
    for _ in range(2000):
        if min(done) == steps:
            break
        chance, rank = random.random(), int(random.integers(workers))
        if chance < 0.05:
            shard.close()
            shard = start()
        elif chance < 0.1:
            zombies.append(shard)
            shard = start()
        elif chance < 0.13:
            shard.snapshot()
        elif chance < 0.2 and sent:
            request = sent[int(random.integers(len(sent)))]
            assert isinstance(shard.exchange(request), Reply)
            if zombies:
                with pytest.raises(FencedError):
                    zombies[int(random.integers(len(zombies)))].exchange(request)
        elif done[rank] < steps:
            reply = shard.exchange(Request(rank, 0, 0, (), (Pull(name, done[rank]),)))
            slow = staleness is not None and done[rank] - min(done[one] for one in range(workers) if one != rank) > staleness
            assert isinstance(reply, Reply) != slow
            if not slow:
                sent.append(Request(rank, 0, 0, (Push(name, done[rank] + 1, None, values[rank][done[rank]]),)))
                shard.exchange(sent[-1])
                done[rank] += 1
    assert min(done) == steps
    found = shard.keys[name].value.asnumpy()
    for one in [shard, *zombies]:
        one.close()
    assert np.array_equal(found, np.sum(values, axis=(0, 1)))


@pytest.mark.parametrize("seed", range(12))
def test_an_asynchronous_run_counts_each_push_once_and_keeps_its_bound(seed, tmp_path):
    with small_blocks(lambda: None):
        asynchronous(seed, str(tmp_path))
