"""Workers and servers that end and come back: what is trained is the same to the bit."""

import shutil
import time

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import WaitTimeoutError
from sparsekit.dist.client import Client, Pushed
from sparsekit.dist.messages import KeySpec, Refused
from sparsekit.dist.transport import LocalCluster, LocalTransport, current, set_current

from .mortal import run
from .test_trainer import ARGUMENTS, one_process, same, worker

ADAM = {"learning_rate": 0.1, **ARGUMENTS["adam"]}
#: Calls that a worker makes in the program of these tests; a worker is killed in each of them.
CALLS = 11


@pytest.fixture(scope="module")
def wanted():
    return one_process(2, "adam", ADAM)


@pytest.mark.parametrize(("rank", "reached"), [(0, 0), (0, 1), (0, 2), (1, 1)])
def test_a_worker_killed_in_any_call_starts_the_same_program_anew(rank, reached, wanted):
    for at in range(1, CALLS + 1):
        cluster = LocalCluster(2, 2)
        same(run(cluster, worker, "adam", ADAM, kill=[(rank, (at, reached))]), wanted)


def test_workers_killed_again_and_again(wanted):
    kill = [(0, (8, 1)), (1, (9, 1)), (0, (6, 2)), (1, (7, 0)), (0, (9, 1))]
    same(run(LocalCluster(2, 2), worker, "adam", ADAM, kill=kill), wanted)


def test_workers_make_at_least_the_calls_in_which_these_tests_kill_them():
    cluster, seen = LocalCluster(2, 2), []

    def counted():
        try:
            return worker("adam", ADAM)
        finally:
            seen.append(current().calls)

    run(cluster, counted)
    assert min(seen) >= CALLS - 1  # more if one waits for the other, one less if the keys are there when it looks


class Restarting(LocalTransport):
    """A transport in whose n-th call servers start again from their journals, with what they had before that call or after."""

    def __init__(self, cluster, rank, at, lose):
        super().__init__(cluster, rank, 0)
        self.at, self.lose, self.calls = at, lose, 0

    def call(self, requests, timeout):
        self.calls += 1
        if self.calls != self.at:
            return super().call(requests, timeout)
        folder = self.cluster._made[0]
        if self.lose:
            shutil.copytree(folder, f"{folder}.before")
        found = super().call(requests, timeout)
        for index in range(self.shards):
            self.cluster.stop(index)
        if self.lose:
            shutil.rmtree(folder)
            shutil.copytree(f"{folder}.before", folder)
        for index in range(self.shards):
            self.cluster.start(index)
        return found


def client_of_two(cluster, transport):
    client = Client(transport, timeout=400)
    rng = np.random.default_rng(0)
    start = rng.standard_normal((600, 2)).astype(np.float32)
    client.init({"w": (KeySpec(start.shape, "float32", "row_sparse"), None, start),
                 "b": (KeySpec((2,), "float32"), None, start[0])})
    client.set_optimizer(mx.optimizer.states.described(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5)), lambda key: "rows")
    for step in range(5):
        rows = np.unique(rng.integers(0, 600, 9))
        change = rng.standard_normal((len(rows), 2)).astype(np.float32)
        client.push([Pushed("w", rows, change), Pushed("b", None, start[step])], "{}")
        got = client.pull([("w", rows), ("b", None)])
    client.barrier()
    client.leave()
    client.pull([("b", None)])  # shows that servers have started again, and the next call tells them where this worker is
    return [*client.pull([("w", None), ("b", None)]), *got], client.statistics()


@pytest.mark.parametrize("lose", [False, True])
@pytest.mark.parametrize("at", range(2, 18))
def test_servers_that_start_again_get_what_they_have_lost(at, lose, tmp_path):
    cluster = LocalCluster(2, 1)
    wanted, counts = client_of_two(cluster, LocalTransport(cluster, 0))
    assert counts["resent"] == 0
    cluster = LocalCluster(2, 1, folder=str(tmp_path / "run"))
    found, counts = client_of_two(cluster, Restarting(cluster, 0, at, lose))
    assert all(one.tobytes() == other.tobytes() for one, other in zip(found, wanted, strict=True))
    assert counts["resent"] == (2 if lose and 8 <= at <= 12 else 0)  # these calls push
    for server in cluster.servers:
        assert server.shard.left == {0}, "also if the message that the worker leaves was lost"
    assert cluster.servers[0].shard.arrived == {0: 2}, "also if the message that it has come to the barrier was lost"


class Repeating(LocalTransport):
    """A transport that sends some messages twice: at once, as if the answer had been lost, or again later."""

    def __init__(self, cluster, rank, late):
        super().__init__(cluster, rank)
        self.late, self.before = late, []

    def call(self, requests, timeout):
        again = [one for one in requests if one[1] in ("barrier", "leave", "hello", "optimizer")]
        found = super().call(requests, timeout)
        repeated, self.before = (self.before, again) if self.late else (again, [])
        super().call(repeated, timeout)
        return found


@pytest.mark.parametrize("late", [False, True])
def test_messages_that_come_twice_count_once(late):
    """Barriers hold all who have not left, and steps wait for them; neither is released by an old message."""
    cluster, there = LocalCluster(2, 2), set()

    def program():
        set_current(Repeating(cluster, current().rank, late), thread=True)
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((3000, 20)))
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
        out, found = mx.nd.zeros((3000, 20)), []
        for step in range(6 - 3 * kv.rank):
            time.sleep(0.01 * kv.rank)
            there.add((kv.rank, step))
            kv.barrier()
            assert {(rank, step) for rank in range(2) if step < 3 or rank == 0} <= there
            kv.push("w", mx.nd.ones((3000, 20)) * (1 + kv.rank))
            kv.pull("w", out=out)
            found.append(-float(out.asnumpy()[0, 0]))
        kv.leave()
        return found

    assert cluster.run(program) == [[3, 6, 9, 10, 11, 12], [3, 6, 9]]
    assert [server.shard.counts["duplicates"] for server in cluster.servers] == [0, 0]


def test_a_server_that_refuses_whatever_is_sent_ends_in_an_error_in_time():
    class Refusing(LocalTransport):
        def call(self, requests, timeout):
            found = super().call(requests, timeout)
            return [Refused(1, {}) if method == "exchange" else one for (_, method, _), one in zip(requests, found, strict=True)]

    client = Client(Refusing(LocalCluster(1, 1), 0, 0), timeout=0.4)
    client.init({"w": (KeySpec((2,), "float32"), None, np.zeros(2, np.float32))})
    client.push([Pushed("w", None, np.ones(2, np.float32))])
    with pytest.raises(WaitTimeoutError, match="Rank 0 has received no usable answer from the servers") as error:
        client.pull([("w", None)])
    assert error.value.rank == 0
