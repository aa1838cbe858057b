"""Servers in this process: workers that are threads wait for each other, for servers that start again, and never for ever."""

import os
import threading
import time

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import LostDataError, NoClusterError, UnknownNameError, WaitTimeoutError
from sparsekit.dist.messages import KeySpec, Pull, Push, Reply, Request
from sparsekit.dist.transport import LocalCluster, Server, current, set_current
from sparsekit.optimizer.states import described

SPEC = KeySpec((3,), "float32")


def cluster_of(shards=1, workers=2, folder=None, **more):
    cluster = LocalCluster(shards, workers, None if folder is None else str(folder), **more)
    transport = cluster.transport(0)
    transport.call([(index, "init", (0, 0, "w", SPEC._replace(placement=f"whole:{index}"), None, np.zeros(3, np.float32)))
                    for index in range(shards)], 60)
    return cluster


def push(rank, step, value=1.0, pulls=()):
    return Request(rank, 0, 0, (Push("w", step, None, np.full(3, value, np.float32)),), pulls)


def test_a_call_that_waits_says_for_whom():
    cluster = cluster_of()
    (reply,) = cluster.transport(0).call([(0, "exchange", (push(0, 1, pulls=(Pull("w", 1),)),))], 60)
    assert reply.reasons == (("w", 1, (1,)),)


def test_a_server_that_starts_again_is_waited_for(tmp_path):
    cluster = cluster_of(folder=tmp_path)
    for rank in (0, 1):
        cluster.transport(rank).call([(0, "exchange", (push(rank, 1),))], 60)
    cluster.stop(0)
    timer = threading.Timer(0.2, cluster.start, [0])
    timer.start()
    (reply,) = cluster.transport(0).call([(0, "exchange", (push(0, 1, pulls=(Pull("w", 1),)),))], 60)
    timer.join()
    assert (reply.epoch, reply.last, reply.values[0].tolist()) == (2, {"w": 1}, [2, 2, 2])


def test_a_worker_that_waits_at_a_server_that_is_stopped_goes_on_with_the_next_one(tmp_path):
    cluster = cluster_of(folder=tmp_path)
    answers = []

    def wait():
        reply = None
        while not isinstance(reply, Reply):
            (reply,) = cluster.transport(0).call([(0, "exchange", (push(0, 1, pulls=(Pull("w", 1),)),))], 60)
        answers.append(reply)

    thread = threading.Thread(target=wait)
    thread.start()
    until = time.monotonic() + 60
    while not cluster.servers[0].shard.keys["w"].last.get(0):  # from then on it waits
        assert time.monotonic() < until
        time.sleep(0.001)
    cluster.start(0)
    cluster.transport(1).call([(0, "exchange", (push(1, 1),))], 60)
    thread.join(60)
    assert answers[0].values[0].tolist() == [2, 2, 2]


def test_a_server_that_stays_away_is_an_error_in_time(tmp_path):
    cluster = cluster_of(folder=tmp_path)
    cluster.stop(0)
    with pytest.raises(WaitTimeoutError, match="Server 0 does not answer"):
        cluster.transport(0).call([(0, "hello", (0, 0))], 0.3)


def test_a_server_without_a_journal_does_not_start_again_as_if_nothing_had_been():
    cluster = cluster_of()
    with pytest.raises(LostDataError, match="kept no journal"):
        cluster.start(0)


def test_a_call_that_is_interrupted_is_made_again_by_a_new_server(tmp_path, monkeypatch):
    cluster = cluster_of(workers=1, folder=tmp_path)
    transport = cluster.transport(0)
    transport.call([(0, "optimizer", (0, 0, 1, described(mx.optimizer.Test())))], 60)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("sparsekit.optimizer.updater.Updater.__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            transport.call([(0, "exchange", (push(0, 1),))], 60)
    (reply,) = transport.call([(0, "exchange", (push(0, 1, pulls=(Pull("w", 1),)),))], 60)
    assert (reply.epoch, reply.values[0].tolist()) == (2, [1, 1, 1])


def test_only_methods_for_workers_are_called():
    server = cluster_of().servers[0]
    assert isinstance(server, Server)
    for name in ("close", "_perform", "__init__", "keys"):
        with pytest.raises(UnknownNameError):
            server.call(name, ())


def test_outside_of_a_run_there_is_no_transport():
    with pytest.raises(NoClusterError, match="outside a distributed run"):
        current()
    transport = cluster_of().transport(1)
    set_current(transport)
    try:
        assert current() is transport
        assert LocalCluster(1, 2).run(lambda: current().rank) == [0, 1]
        assert current() is transport
    finally:
        set_current(None)
    with pytest.raises(NoClusterError):
        current()


@pytest.mark.parametrize(("given", "named"), [
    ({"shards": 0}, "shards must be a positive integer"), ({"workers": True}, "workers must be a positive integer"),
    ({"shards": 1.5}, "shards must be"), ({"mode": "asynchronous"}, "mode must be 'sync' or 'async'"),
    ({"mode": "async", "staleness": -1}, "staleness must be None or an integer of at least 0")])
def test_arguments_of_a_cluster_are_checked(given, named):
    with pytest.raises(mx.DistError, match=named):
        LocalCluster(**given)


def test_what_a_cluster_does_not_have_is_named():
    cluster = LocalCluster(2, 1)
    for wrong in (2, -1, None, "0"):
        for call in (cluster.stop, cluster.start):
            with pytest.raises(mx.DistError, match="index must be from 0 to 1"):
                call(wrong)
    with pytest.raises(mx.DistError, match="rank must be from 0 to 0"):
        cluster.transport(1)
    with pytest.raises(mx.DistError, match="function must be callable"):
        cluster.run(3)
    assert cluster.run(lambda: mx.kv.create("dist_sync").rank) == [0], "it is as it was"


def test_a_worker_lists_servers_and_ends_one_of_them(tmp_path):
    cluster = LocalCluster(2, 1, str(tmp_path))

    def work():
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((3000, 20)))
        kv.push("w", mx.nd.ones((3000, 20)))
        listed = mx.dist.servers()
        mx.dist.kill_server(1)
        out = mx.nd.zeros((3000, 20))
        kv.pull("w", out=out)
        for wrong in (2, -1, "1", True, None):
            with pytest.raises(mx.DistError, match="from 0 to 1"):
                mx.dist.kill_server(wrong)
        return listed, out.asnumpy().min(), out.asnumpy().max()

    ((listed, least, most),) = cluster.run(work)
    assert [(one.index, one.pid, one.node) for one in listed] == [(0, os.getpid(), ""), (1, os.getpid(), "")]
    assert [server.shard.epoch for server in cluster.servers] == [1, 2]
    assert (least, most) == (1, 1)
    for function in (mx.dist.servers, lambda: mx.dist.kill_server(0)):
        with pytest.raises(mx.NoClusterError):
            function()
