"""Training in processes equals training in one, also when processes are killed, frozen or lost with their machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsekit as mx

from .conftest import in_time, until

STEPS = 8


@pytest.fixture(scope="module")
def wanted(jobs: Any) -> tuple[np.ndarray, np.ndarray]:
    return jobs.alone(STEPS, 2)


@pytest.fixture
def flags(tmp_path: Path) -> str:
    folder = tmp_path / "flags"
    folder.mkdir()
    return str(folder)


def same(results: list[Any], wanted: tuple[np.ndarray, np.ndarray]) -> None:
    for result in results:
        np.testing.assert_array_equal(result["table"], wanted[0])
        np.testing.assert_array_equal(result["dense"], wanted[1])


def test_two_workers_and_two_servers_equal_one_process(cluster, jobs, wanted, home):
    results = mx.dist.run(jobs.train, workers=2, servers=2, args=(STEPS,))
    same(results, wanted)
    assert [result["rank"] for result in results] == [0, 1]
    assert sum(one["applied"] for one in results[0]["statistics"]) == 3 * STEPS, "a table on both servers, an array on one"
    for one in results[0]["statistics"]:
        assert (one["duplicates"], one["refused"], one["replayed"]) == (0, 0, 0), "nothing is sent twice without a fault"
    assert all(result["shared"] and result["near"] == {0: True, 1: True} for result in results), "pushes are read where they are"
    assert not list(home.glob("sparsekit-job-*")), "the temporary journals are removed"


def test_servers_that_cannot_read_the_memory_of_workers_are_sent_all(cluster, jobs, wanted):
    results = mx.dist.run(jobs.unread, workers=2, servers=2, args=(STEPS,))
    same(results, wanted)
    assert all(result["near"] == {0: False, 1: False} for result in results)


FAULTS = {
    "a worker in the midst of a push": {(1, 3): "worker"},
    "the first server": {(0, 4): "kill 0"},
    "both servers and a worker": {(1, 2): "kill 0 1", (0, 5): "worker"},
}


@pytest.mark.parametrize("faults", [pytest.param(faults, marks=() if len(faults) > 1 else pytest.mark.thorough, id=name)
                                    for name, faults in FAULTS.items()])
def test_what_is_killed_is_started_again(cluster, jobs, wanted, flags, faults):
    results = mx.dist.run(jobs.train, workers=2, servers=2, args=(STEPS, faults, flags))
    same(results, wanted)
    assert len(os.listdir(flags)) == len(faults), "every fault has happened"
    epochs = [one["epoch"] for one in results[0]["statistics"]]
    killed = {int(number) for fault in faults.values() if fault.startswith("kill") for number in fault.split()[1:]}
    assert epochs == [2 if index in killed else 1 for index in range(2)]
    died = {rank for (rank, _), fault in faults.items() if fault == "worker"}
    assert [result["life"] % 1000 for result in results] == [int(rank in died) for rank in range(2)]


def test_a_frozen_server_is_replaced(cluster, jobs, wanted, flags):
    results = mx.dist.run(jobs.train, workers=2, servers=2, args=(STEPS, {(0, 3): "stop 1"}, flags), frozen_after=3.0)
    same(results, wanted)
    (frozen,) = results[0]["said"][0]
    assert not jobs.alive(frozen)
    assert [one["epoch"] for one in results[0]["statistics"]] == [1, 2]


@pytest.fixture
def second(cluster: Any, jobs: Any) -> Iterator[Any]:
    """Another machine, on which servers are started as long as ``occupied`` fills their places on the first."""
    import ray

    occupied = ray.remote(jobs.Occupied).options(num_cpus=0, resources={"server": 2}).remote()
    ray.get(occupied.__ray_ready__.remote(), timeout=400)
    node = in_time(lambda: cluster.add_node(num_cpus=1, object_store_memory=100 << 20, resources={"server": 2}))
    cluster.wait_for_nodes()
    node.free_the_first = lambda: ray.kill(occupied)
    yield node
    ray.kill(occupied)
    if node in cluster.worker_nodes:
        cluster.remove_node(node, allow_graceful=False)


def places(cluster: Any) -> dict[str, Any]:
    """Servers where there is a place for them, workers on the first machine."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    first = NodeAffinitySchedulingStrategy(cluster.head_node.node_id, soft=False)
    return {"server_options": {"resources": {"server": 1}}, "worker_options": {"scheduling_strategy": first}}


@pytest.mark.thorough
def test_servers_whose_machine_freezes_are_replaced_and_fenced_when_it_wakes(cluster, second, jobs, wanted, flags, tmp_path):
    pids, folder = tmp_path / "pids", tmp_path / "job"
    woken: list[bool] = []
    frozen = threading.Thread(target=freeze_and_wake, args=(second, pids, flags, jobs.alive, woken))
    frozen.start()
    try:
        results = mx.dist.run(jobs.train_slowly, workers=2, servers=2, args=(STEPS, str(pids), flags), frozen_after=60.0,
                              folder=folder, **places(cluster))
    finally:
        Path(flags, "go").touch()
        frozen.join()
    same(results, wanted)
    assert [one["epoch"] for one in results[0]["statistics"]] == [2, 2]
    assert woken == [False, False], "the servers that woke have ended by themselves"
    for index, pid in enumerate(pids.read_text().split()):
        (path,) = Path(second.get_logs_dir_path()).glob(f"worker-*-{pid}.err")
        assert f"Process {pid} ends: Incarnation 1 of shard-{index} has been replaced by a later one." in path.read_text()
    same(mx.dist.run(jobs.train, workers=2, servers=2, folder=folder, args=(STEPS,), **places(cluster)), wanted)


def freeze_and_wake(node: Any, pids: Path, flags: str, alive: Callable[[int], bool], woken: list[bool]) -> None:
    """Freeze a machine: Ray's process, which makes Ray take it for lost, and both servers; wake them when the workers go on.

    The servers wake first: Ray's process would end them.
    """
    while not pids.exists():
        if Path(flags, "go").exists():
            return
        time.sleep(0.02)
    raylet, servers = node.all_processes["raylet"][0].process.pid, [int(pid) for pid in pids.read_text(encoding="utf-8").split()]
    for pid in (raylet, *servers):
        os.kill(pid, signal.SIGSTOP)
    node.free_the_first()
    Path(flags, "frozen").touch()
    try:
        end = time.monotonic() + 60
        while not Path(flags, "go").exists() and time.monotonic() < end:
            time.sleep(0.02)
        for pid in servers:
            os.kill(pid, signal.SIGCONT)
        end = time.monotonic() + 60
        while any(map(alive, servers)) and time.monotonic() < end:
            time.sleep(0.05)
        woken += map(alive, servers)
    finally:
        for pid in (raylet, *servers):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_a_server_that_has_been_replaced_refuses_what_workers_tell_it(cluster, tmp_path):
    """As one does that wakes, until it ends: this one goes on, since what has replaced it is of another job."""
    import ray

    from sparsekit.dist.client import Client, Pushed
    from sparsekit.dist.messages import KeySpec
    from sparsekit.dist.ray_cluster import Job, RayTransport, start_servers, stop

    ones = np.ones((40_000,), np.float32)
    jobs = [Job(name, folder=str(tmp_path / "job")) for name in ("replaced", "later")]
    handles = [start_servers(jobs[0])]
    try:
        client = Client(RayTransport(jobs[0], 0, 1, handles[0]))
        client.init({"w": (KeySpec(ones.shape, "float32"), None, 0 * ones)})
        client.push([Pushed("w", None, ones)])
        client.flush()
        handles.append(start_servers(jobs[1]))
        other = Client(RayTransport(jobs[1], 0, 2, handles[1]))
        for _ in range(2):
            with pytest.raises(mx.FencedError, match="Incarnation 1 of shard-0 has been replaced by a later one"):
                client.pull([("w", None)])
        client.push([Pushed("w", None, 7 * ones)])
        with pytest.raises(mx.FencedError):
            client.flush()
        other.resume()
        other.push([Pushed("w", None, 3 * ones)])
        np.testing.assert_array_equal(other.pull([("w", None)])[0], 3 * ones)
        assert other.step("w") == 2, "the push that was refused does not count"
        assert ray.get(handles[0][0].ping.remote(), timeout=400).pid != ray.get(handles[1][0].ping.remote(), timeout=400).pid
    finally:
        stop((), [handle for some in handles for handle in some])


def test_servers_of_a_lost_machine_are_started_on_another(cluster, second, jobs, wanted, flags, tmp_path):
    pids = tmp_path / "pids"
    gone = threading.Thread(target=lose, args=(cluster, second, pids, flags))
    gone.start()
    results = mx.dist.run(jobs.train_slowly, workers=2, servers=2, args=(STEPS, str(pids), flags), **places(cluster))
    gone.join()
    same(results, wanted)
    assert [one["epoch"] for one in results[0]["statistics"]] == [2, 2]


def lose(cluster: Any, node: Any, pids: Path, flags: str) -> None:
    """End all processes of a machine."""
    end = time.monotonic() + 60
    while not pids.exists() and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGSTOP)  # so that it starts nothing
    for pid in pids.read_text(encoding="utf-8").split():
        os.kill(int(pid), signal.SIGKILL)
    cluster.remove_node(node, allow_graceful=False)
    node.free_the_first()
    Path(flags, "frozen").touch()


def test_a_run_goes_on_with_another_number_of_servers(cluster, jobs, tmp_path):
    folder = tmp_path / "job"
    mx.dist.run(jobs.train, workers=2, servers=2, folder=folder, args=(5,))
    results = mx.dist.run(jobs.train, workers=2, servers=3, resume=folder, args=(STEPS,))
    same(results, jobs.alone(STEPS, 2))
    assert len(results[0]["statistics"]) == 3
    with pytest.raises(mx.DistError, match=r"There is a run in .* already"):
        mx.dist.run(jobs.train, workers=2, servers=3, folder=folder, resume=False, args=(STEPS,))


def test_a_server_that_has_lost_its_journal_does_not_start_empty(cluster, jobs, flags):
    with pytest.raises(mx.LostDataError, match="Server 0 has been started again"):
        mx.dist.run(jobs.train, workers=2, servers=2, journal=False, args=(STEPS, {(0, 3): "kill 0"}, flags), timeout=30)


def test_the_loss_of_a_worker_names_its_rank(cluster, jobs, tmp_path):
    said = tmp_path / "said"
    with pytest.raises(mx.LostWorkerError, match=r"Rank 1 has ended with an error:(.|\n)*in fail(.|\n)*no more data") as caught:
        mx.dist.run(jobs.fail, workers=2, servers=1, args=(1, str(said)))
    assert caught.value.rank == 1
    assert isinstance(caught.value.__cause__, ValueError)
    assert said.read_text().split()[:3] == ["1", "w", "1"], "the other worker has learned of it, with key and step"


def test_a_worker_that_always_dies_is_given_up(cluster, jobs, capfd):
    with pytest.raises(mx.LostWorkerError, match="Rank 1 has ended unexpectedly 2 times") as caught:
        mx.dist.run(jobs.die, workers=2, servers=1, restarts=1)
    assert caught.value.rank == 1
    assert "Rank 1 has ended unexpectedly; it is restarted from the beginning (1 of 1)." in capfd.readouterr().err


def test_workers_with_unequal_batches_end(cluster, jobs):
    assert mx.dist.run(jobs.unequal, workers=2, servers=1, timeout=30) == [1.0, 2.0]


def test_a_process_that_something_else_started_joins_as_a_worker(cluster):
    mx.dist.connect(job="joined", rank=0, workers=1, servers=2)
    try:
        with pytest.raises(mx.DistError, match="a worker already"):
            mx.dist.connect(job="joined", rank=0)
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((600, 2)))
        kv.push("w", mx.nd.ones((600, 2)))
        out = mx.nd.zeros((600, 2))
        kv.pull("w", out=out)
        np.testing.assert_array_equal(out.asnumpy(), np.ones((600, 2)))
    finally:
        mx.dist.disconnect()
    with pytest.raises(mx.NoClusterError, match="sparsekit launch"):
        mx.kv.create("dist_sync")


def programs(cluster, folder, text, *arguments, count=2):
    """What programs print that something else has started: their script gets the cluster's address and its rank."""
    script = folder / "part.py"
    script.write_text(text)
    processes = [subprocess.Popen([sys.executable, *map(str, (script, cluster.address, rank, *arguments))], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(count)]
    said = [one.communicate(timeout=400) for one in processes]
    return [one.returncode for one in processes], [out.split() for out, _ in said], said


PART = """
import sys
import sparsekit as mx

mx.dist.connect(sys.argv[1], job="several", rank=int(sys.argv[2]), workers=2, servers=2, timeout=60)
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((600, 2)).tostype("row_sparse"))
kv.push("w", mx.nd.ones((600, 2)) * (1 + kv.rank))
out = mx.nd.zeros((600, 2))
kv.pull("w", out=out)
print(kv.rank, kv.num_workers, out.asnumpy().min(), out.asnumpy().max(), *(server.pid for server in mx.dist.servers()))
if kv.rank == 0:
    mx.dist.disconnect()  # the end of the process does it for rank 1
"""


def test_programs_that_something_else_started_join_by_the_address_of_the_cluster(cluster, jobs, tmp_path):
    codes, words, said = programs(cluster, tmp_path, PART)
    assert codes == [0, 0], said
    assert [one[:4] for one in words] == [["0", "2", "3.0", "3.0"], ["1", "2", "3.0", "3.0"]]
    assert words[0][4:] == words[1][4:], "both have used the same servers"
    until(lambda: not any(jobs.alive(int(pid)) for pid in words[0][4:]), 60, "the servers end with their last worker")


RESTARTED = """
import sys, time
from pathlib import Path
import sparsekit as mx

rank, flags = int(sys.argv[2]), Path(sys.argv[3])

def wait_for(name):
    while not (flags / name).exists():
        time.sleep(0.05)

mx.dist.connect(sys.argv[1], job="restarted", rank=rank, workers=2, servers=2, folder=flags / "journals", timeout=60)
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((600, 2)).tostype("row_sparse"))
kv.push("w", mx.nd.ones((600, 2)))
out = mx.nd.zeros((600, 2))
kv.pull("w", out=out)
if rank == 0:
    wait_for("pulled")
    mx.dist.kill_server(0)
    mx.dist.kill_server(1)
    mx.dist.disconnect()
    (flags / "gone").touch()
else:
    (flags / "pulled").touch()
    wait_for("gone")
    kv.push("w", mx.nd.ones((600, 2)) * 5)
    kv.pull("w", out=out)
print(rank, out.asnumpy().min(), out.asnumpy().max())
"""


def test_the_servers_of_a_worker_outlive_their_restart_and_the_other_worker(cluster, tmp_path):
    codes, words, said = programs(cluster, tmp_path, RESTARTED, tmp_path)
    assert codes == [0, 0], said
    assert words == [["0", "2.0", "2.0"], ["1", "5.0", "5.0"]]
    mx.dist.connect(cluster.address)
    try:
        until(lambda: mx.dist.servers("restarted") == [], 60, "the servers end with their last worker")
    finally:
        mx.dist.disconnect()


ORPHANED = """
import os, signal, sys
import sparsekit as mx

mx.dist.connect(sys.argv[1], job="orphaned", rank=0, workers=1, servers=2, timeout=60)
mx.kv.create("dist_sync").init("w", mx.nd.zeros((600, 2)).tostype("row_sparse"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_servers_whose_workers_were_all_killed_are_listed_and_ended(cluster, jobs, tmp_path):
    with pytest.raises(mx.NoClusterError, match="has joined no cluster"):
        mx.dist.stop_servers("orphaned")
    codes, _, said = programs(cluster, tmp_path, ORPHANED, count=1)
    assert codes == [-signal.SIGKILL], said
    mx.dist.connect(cluster.address)
    try:
        found = mx.dist.servers("orphaned")
        assert [one.index for one in found] == [0, 1]
        assert all(jobs.alive(one.pid) for one in found)
        assert mx.dist.stop_servers("orphaned") == 2
        until(lambda: not any(jobs.alive(one.pid) for one in found), 60, "the servers have ended")
        until(lambda: mx.dist.servers("orphaned") == [], 60, "Ray has forgotten them")
        assert mx.dist.stop_servers("orphaned") == 0
    finally:
        mx.dist.disconnect()


def test_a_function_that_cannot_be_sent_is_an_error(cluster):
    lock = threading.Lock()
    with pytest.raises(mx.DistError, match="cannot be sent to another process"):
        mx.dist.run(lambda: lock, workers=1, servers=1)
