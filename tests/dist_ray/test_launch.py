"""The command ``sparsekit launch``, and what happens to a run whose own process is killed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import until

TRAIN = """
import argparse, os, sys, time
import numpy as np
import sparsekit as mx

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int)
parser.add_argument("--stop", type=int, default=-1)
parser.add_argument("--out")
given = parser.parse_args()
kv = mx.kv.create("dist_sync")
net = mx.gluon.nn.Dense(1, in_units=6)
net.initialize(mx.init.One())
trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1}, kvstore=kv)
for step in range(given.steps):
    if step == given.stop and kv.rank == 0:
        if not os.path.exists(given.out + ".stopped"):
            open(given.out + ".stopped", "w").close()
            time.sleep(100)
    rng = np.random.default_rng([kv.rank, step])
    data = mx.nd.array(rng.normal(size=(8, 6)))
    with mx.autograd.record():
        loss = (net(data) - data.sum(axis=1, keepdims=True)) ** 2
    loss.backward()
    trainer.step(8)
print("worker", kv.rank, "of", kv.num_workers, __name__, sys.argv[0])
print("warned", file=sys.stderr)
if kv.rank == 0:
    np.save(given.out, net.weight.data().asnumpy())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return path


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "sparsekit", "launch", *map(str, words)]


def processes(home: Path) -> list[str]:
    """Processes that have a file open in the temporary folder of a cluster that the command has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(os.readlink(link).startswith(f"{home}/sk-") for link in (path / "fd").iterdir()):
                found.append(f"{path.name} {(path / 'cmdline').read_bytes()[:60]!r}")
    return found


@pytest.fixture(autouse=True)
def nothing_is_left(home: Path) -> Iterator[None]:
    """See that the command leaves no process and no file."""
    shared = set(os.listdir("/dev/shm"))
    yield
    until(lambda: not processes(home), 10, "all processes of the command have ended")
    assert set(os.listdir("/dev/shm")) <= shared
    assert [path for pattern in ("sk-*", "sparsekit-job-*", ".ray") for path in home.glob(pattern)] == []


def test_a_script_runs_in_every_worker(script, tmp_path):
    found = subprocess.run(command("-n", 2, "-s", 2, script, "--steps", 3, "--out", tmp_path / "w.npy"), capture_output=True,
                           text=True, timeout=100, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert sorted(found.stdout.splitlines()) == [f"[rank {rank}] worker {rank} of 2 __main__ {script}" for rank in range(2)]
    assert sorted(line for line in found.stderr.splitlines() if "warned" in line) == ["[rank 0] warned", "[rank 1] warned"]
    assert (tmp_path / "w.npy").exists()


def test_a_script_runs_in_a_cluster_that_is_there(cluster, script, tmp_path):
    words = ["--address", cluster.address, script, "--steps", 3, "--out", tmp_path / "w.npy"]
    found = subprocess.run(command(*words), capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "died" not in found.stderr
    assert (tmp_path / "w.npy").exists()


def test_a_worker_that_fails_ends_the_command_with_its_rank_and_traceback(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("import sparsekit as mx\nkv = mx.kv.create('dist_sync')\nif kv.rank == 1:\n    [][3]\nkv._barrier()\n")
    found = subprocess.run(command(script), capture_output=True, text=True, timeout=100)
    assert found.returncode == 1
    told = rf'error: Rank 1 has ended with an error:\nTraceback.*\n  File "{script}", line 4, (.|\n)*IndexError'
    assert re.search(told, found.stderr)


def test_ctrl_c_ends_everything(tmp_path):
    script, said = tmp_path / "waits.py", tmp_path / "said"
    script.write_text(f"import time\nopen({str(said)!r}, 'w').close()\ntime.sleep(100)\n")
    with subprocess.Popen(command("-n", 1, "-s", 1, script), stderr=subprocess.PIPE, text=True) as started:
        until(said.exists, 60, "the script runs")
        started.send_signal(signal.SIGINT)
        assert started.wait(20) == 130
        assert "Interrupted." in started.stderr.read()


def test_a_run_whose_own_process_is_killed_goes_on_to_the_bit(home, script, tmp_path):
    out, stopped = tmp_path / "a.npy", tmp_path / "a.npy.stopped"
    words = ["--folder", tmp_path / "job", script, "--steps", 6, "--stop", 4, "--out", out]
    with subprocess.Popen(command(*words), cwd=tmp_path) as started:
        until(stopped.exists, 60, "the script has come to step 4")
        assert processes(home)
        started.kill()
    until(lambda: not processes(home), 10, "all processes of the killed one have ended")
    assert subprocess.run(command(*words), timeout=100, cwd=tmp_path).returncode == 0
    whole = ["--folder", tmp_path / "other", script, "--steps", 6, "--out", tmp_path / "b.npy"]
    assert subprocess.run(command(*whole), timeout=100, cwd=tmp_path).returncode == 0
    assert out.read_bytes() == (tmp_path / "b.npy").read_bytes()
