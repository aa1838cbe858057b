"""Runs whose processes are killed and frozen end as one process does, or with an error that names what is wrong."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsekit as mx

from .conftest import ROOT, until
from .jobs import alive, alone

STEPS = 30
#: Histories with real processes, by default and with ``--all``; in the first three each kind of fault comes.
USUAL, ALL = 3, 50


@pytest.fixture(scope="module")
def wanted() -> tuple[np.ndarray, np.ndarray]:
    return alone(STEPS, 2)


def same(found: list[Any], wanted: tuple[np.ndarray, np.ndarray]) -> None:
    for one in found:
        assert one["table"].tobytes() == wanted[0].tobytes()
        assert one["dense"].tobytes() == wanted[1].tobytes()


def history(seed: int, jobs: Any, folder: Path, wanted: Any) -> None:
    """One to three faults at random steps of random ranks."""
    random = np.random.default_rng(seed)
    kinds = ["worker", "kill 0", "kill 1", "stop 0", "stop worker"]
    faults = {(int(random.integers(2)), int(random.integers(2, STEPS))): kinds[int(random.integers(len(kinds)))]
              for _ in range(int(random.integers(1, 4)))}
    found = mx.dist.run(jobs.train, workers=2, servers=2, folder=folder / "run", every=int(random.integers(3, 9)),
                        frozen_after=6.0, args=(STEPS, faults, str(folder), 0.03), restarts=6)
    same(found, wanted)


@pytest.mark.parametrize("seed", range(USUAL))
def test_histories(cluster, jobs, tmp_path, wanted, seed):
    history(seed, jobs, tmp_path, wanted)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(USUAL, ALL))
def test_more_histories(cluster, jobs, tmp_path, wanted, seed):
    history(seed, jobs, tmp_path, wanted)


def test_a_run_goes_on_with_another_number_of_servers(cluster, jobs, tmp_path, wanted):
    mx.dist.run(jobs.train, workers=2, servers=2, folder=tmp_path, every=5, args=(STEPS - 7, None, "", 0.05))
    found = mx.dist.run(jobs.train, workers=2, servers=3, resume=tmp_path, every=5, args=(STEPS,))
    assert found[0]["begun"] == found[1]["begun"] in (15, 20)
    same(found, wanted)
    with pytest.raises(mx.MismatchError, match="The snapshot is of 2 workers, and the run has 3"):
        mx.dist.run(jobs.train, workers=3, servers=2, resume=tmp_path, args=(STEPS,))


def test_a_trainer_needs_no_change(cluster, jobs, tmp_path):
    folder = tmp_path / "run"
    plain = mx.dist.run(jobs.trainer, args=(20,), every=4, folder=folder)
    for path in folder.glob("step-*"):
        path.unlink()  # the seed of the workers stays
    found = mx.dist.run(jobs.trainer, args=(20, (1, 14), str(tmp_path)), every=4, folder=folder)
    assert all(one["weight"].tobytes() == plain[0]["weight"].tobytes() for one in [*plain, *found])


def test_a_loop_that_does_not_say_where_its_data_stand_ends_with_an_error(cluster, jobs, tmp_path):
    told = "Server 1 has ended, and the program does not say where its data stand"
    with pytest.raises(mx.LostServerError, match=told) as error:
        mx.dist.run(jobs.by_hand, args=(str(tmp_path),))
    assert "kv.end_step()" in error.value.hint


def test_errors_of_workers_have_their_rank(cluster, jobs):
    with pytest.raises(mx.LostWorkerError, match=r"Rank 1 has ended with an error:(.|\n)*no more data") as error:
        mx.dist.run(jobs.fail, args=(1,))
    assert error.value.rank == 1
    assert isinstance(error.value.__cause__, ValueError)
    with pytest.raises(mx.LostWorkerError, match="Worker 1 has ended; a process was lost 2 times at step 0") as error:
        mx.dist.run(jobs.die, restarts=1)
    assert error.value.rank == 1
    assert mx.dist.run(jobs.unequal) == [1.0, 2.0]  # the last sums: of rank 0 alone, and of both


def test_no_room_and_nobody_at_an_address_are_named_in_time(cluster, jobs):
    with pytest.raises(mx.NoRoomError, match="no room for 2 places"):
        mx.dist.run(jobs.unequal, worker_options={"num_cpus": 64})
    program = ("import sparsekit as mx\ntry:\n    mx.dist.run(print, address='127.0.0.1:9')\n"
               "except mx.NoClusterError as error:\n    print(error)")
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert "There is no Ray cluster at '127.0.0.1:9'" in found.stdout, found.stderr


def test_another_version_of_ray_is_named(cluster):
    program = ("import ray, sparsekit as mx\nray.__version__ = '2.0.0'\ntry:\n"
               f"    mx.dist.run(print, address={cluster.address!r})\n"
               "except mx.NoClusterError as error:\n    print(error)")
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert re.search(r"There is no Ray cluster at .* that this process can join: .*2\.0\.0", found.stdout), found.stderr
    assert metadata.version("ray") in found.stdout


def test_workers_that_other_programs_start_go_on_when_all_are_started_again(cluster, jobs, tmp_path, wanted):
    program = (f"import sys, numpy as np, sparsekit as mx; sys.path.insert(0, {str(ROOT)!r})\n"
               "from tests.dist_ray import jobs\nrank, steps, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]\n"
               f"mx.dist.connect({cluster.address!r}, job='outside', rank=rank, workers=2, servers=2, every=4, "
               f"folder={str(tmp_path / 'run')!r})\nfound = jobs.train(steps)\n"
               "np.savez(out, table=found['table'], dense=found['dense'], begun=found['begun'])\n"
               "mx.dist.disconnect()")

    def life(steps: int) -> list[Any]:
        outs = [tmp_path / f"{rank}-{steps}.npz" for rank in range(2)]
        started = [subprocess.Popen([sys.executable, "-c", program, str(rank), str(steps), str(outs[rank])]) for rank in range(2)]
        assert [one.wait(300) for one in started] == [0, 0]
        return [np.load(out) for out in outs]

    life(STEPS - 9)
    found = life(STEPS)
    assert min(int(one["begun"]) for one in found) >= 4
    same(found, wanted)


def test_a_driver_that_is_killed_leaves_no_worker(cluster, jobs, tmp_path):
    program = (f"import sys, sparsekit as mx; sys.path.insert(0, {str(ROOT)!r})\nfrom tests.dist_ray import jobs\n"
               f"mx.dist.run(jobs.waits, address={cluster.address!r}, args=({str(tmp_path)!r},))")
    with subprocess.Popen([sys.executable, "-c", program]) as started:
        until(lambda: len(list(tmp_path.glob("pid-*"))) == 2, 120, "both workers run")
        started.send_signal(signal.SIGKILL)
    pids = [int(path.name[4:]) for path in tmp_path.glob("pid-*")]
    until(lambda: not any(map(alive, pids)), 60, "the workers have ended")
    assert os.getpid() not in pids
