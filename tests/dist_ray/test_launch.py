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
from typing import Any

import numpy as np
import psutil
import pytest

import sparsekit as mx
from sparsekit.dist import head

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


#: What MXNet's example of sparse linear classification does, in our own words: a loss of its own, iterators by rank, a store
#: that is made first, rows prepared before each step, all rows before each checkpoint.
CLASSIFICATION = """
import argparse
import mxnet as mx

parser = argparse.ArgumentParser()
parser.add_argument("--data")
parser.add_argument("--kvstore", default="dist_sync")
given = parser.parse_args()
FEATURES, BATCH = 1000, 8

@mx.operator.register("weighted_cross_entropy")
class Weighted(mx.operator.CustomOpProp):
    def __init__(self, factor):
        super().__init__(True)
        self.factor = float(factor)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, shapes):
        return shapes, (shapes[0],), ()

    def create_operator(self, ctx, shapes, dtypes):
        return Loss(self.factor)

class Loss(mx.operator.CustomOp):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], mx.nd.SoftmaxOutput(in_data[0], in_data[1]))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        wrong = out_data[0] - mx.nd.one_hot(in_data[1], 2)
        scale = 1 + in_data[1] * (self.factor - 1)
        self.assign(in_grad[0], req[0], scale.reshape((wrong.shape[0], 1)) * wrong)

kv = mx.kvstore.create(given.kvstore)
x = mx.symbol.Variable("data", stype="csr")
weight = mx.symbol.Variable("weight", shape=(FEATURES, 2), init=mx.initializer.Normal(sigma=0.01), stype="row_sparse")
scores = mx.symbol.broadcast_add(mx.symbol.sparse.dot(x, weight), mx.symbol.Variable("bias", shape=(2,)))
loss = mx.sym.Custom(scores, mx.symbol.Variable("softmax_label"), op_type="weighted_cross_entropy", factor=2, name="out")
train = mx.io.LibSVMIter(data_libsvm=given.data, data_shape=(FEATURES,), batch_size=BATCH, num_parts=kv.num_workers,
                         part_index=kv.rank)
test = mx.io.LibSVMIter(data_libsvm=given.data, data_shape=(FEATURES,), batch_size=BATCH)
mod = mx.mod.Module(symbol=mx.sym.MakeLoss(loss), data_names=["data"], label_names=["softmax_label"])
mod.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
mod.init_params()
adagrad = mx.optimizer.create("adagrad", learning_rate=0.1, rescale_grad=1.0 / BATCH / kv.num_workers)
mod.init_optimizer(optimizer=adagrad, kvstore=kv)
metric = mx.metric.create(["nll_loss"])
for epoch in range(4):
    metric.reset()
    for number, batch in enumerate(train):
        mod.prepare(batch, sparse_row_id_fn=lambda batch: {"weight": batch.data[0].indices})
        mod.forward_backward(batch)
        mod.update()
        mod.update_metric(metric, batch.label)
    mod.prepare(None, lambda batch: {"weight": mx.nd.arange(0, FEATURES, dtype="int64")})
    print("Epoch", epoch, repr(mod.score(test, ["nll_loss"])[0][1]))
    mod.save_checkpoint("checkpoint-of-%d" % kv.rank, epoch, save_optimizer_states=False)
    train.reset()
    test.reset()
"""

def libsvm(path: Path, features: int) -> Path:
    """A file with 96 samples of a linear problem, whose halves have equally many lines: else one worker had more batches."""
    rng = np.random.default_rng(4)
    weight, lines = rng.normal(size=features), []
    for _ in range(96):
        columns, values = np.sort(rng.choice(np.arange(features // 10, features), 9, replace=False)), rng.random(9) + 0.5
        words = " ".join(f"{column}:{value:.4f}" for column, value in zip(columns, values, strict=True))
        lines.append(f"{weight[columns] @ values > 0:d} {words}\n")
    assert len(set(map(len, lines))) == 1
    path.write_text(lines[0][:-1] + 20 * "0" + "\n" + "".join(lines[1:]), encoding="utf-8")  # so the file's middle lies in a line
    return path


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "sparsekit", "launch", *map(str, words)]


def processes(home: Path) -> list[str]:
    """Processes that have a file open in the temporary folder of a cluster that the command has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            opened = [link for link in map(os.readlink, (path / "fd").iterdir()) if link.startswith(f"{home}/sk-")]
            if opened:  # the last words help where one does not end
                found.append(f"{path.name} {(path / 'cmdline').read_bytes()[:60]!r} {opened[-1]} {(path / 'wchan').read_text()}")
    return found


def is_marked(pid: int) -> bool:
    """Whether a process shows that it was started for a cluster, whatever name it shows."""
    return f"{head.MARK}=".encode() in Path(f"/proc/{pid}/environ").read_bytes()


def in_shared_memory() -> set[str]:
    """What Ray has there, by its names: other programs and tests use the same folder at any moment."""
    return {name for name in os.listdir("/dev/shm") if name.startswith(("plasma", "ray"))}


def all_end(home: Path, shared: set[str]) -> None:
    """Wait until what a command has started and written is gone; that it has ended says so too.

    One look decides: between two, the process that cleans up, which has nothing open while it ends others, may have begun to
    remove files.
    """
    left: list[str] = []

    def nothing_is_left() -> bool:
        files = [str(path) for pattern in ("sk-*", "sparsekit-job-*", ".ray") for path in home.glob(pattern)]
        left[:] = [*processes(home), *files, *(in_shared_memory() - shared)]
        return not left

    with contextlib.suppress(AssertionError):
        until(nothing_is_left, 60, "everything is gone")
    assert left == []


@pytest.fixture(autouse=True)
def shared(home: Path) -> Iterator[set[str]]:
    """See that the command leaves no process and no file; the value is what lay in shared memory before."""
    before = in_shared_memory()
    yield before
    all_end(home, before)


def test_a_program_of_mxnet_prepares_rows_and_saves_whole_weights(home, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(CLASSIFICATION.replace("import mxnet as mx", "import sparsekit as mx"))
    data = libsvm(tmp_path / "data.libsvm", 1000)
    found = subprocess.run(command("-n", 2, "-s", 2, script, "--data", data), capture_output=True, text=True, timeout=400,
                           cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    said = [[float(line.split()[-1]) for line in found.stdout.splitlines() if line.startswith(f"[rank {rank}]")]
            for rank in range(2)]
    assert len(said[0]) == 4
    assert said[0] == said[1], "scores are those of the same weights"
    assert said[0][-1] < said[0][0] / 1.5, "it learns"
    saved = [mx.model.load_params(str(tmp_path / f"checkpoint-of-{rank}"), 3)[0] for rank in range(2)]
    weights = [{name: one.asnumpy() for name, one in parameters.items()} for parameters in saved]
    assert weights[0]["weight"].shape[0] == 1000
    for name in ("weight", "bias"):
        assert weights[0][name].tobytes() == weights[1][name].tobytes(), "both workers have saved the whole"
    assert np.count_nonzero(weights[0]["weight"]) == weights[0]["weight"].size, "rows that only the other worker has touched, too"


@pytest.fixture(scope="module")
def whole(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The weight after a run that nothing disturbs, in a cluster that is there."""
    folder = tmp_path_factory.mktemp("whole")
    script, out = folder / "train.py", folder / "w.npy"
    script.write_text(TRAIN)
    found = subprocess.run(command("--address", cluster.address, script, "--steps", 6, "--out", out), capture_output=True,
                           text=True, timeout=400, cwd=folder)
    assert found.returncode == 0, found.stderr
    assert "died" not in found.stderr
    return out.read_bytes()


def test_a_worker_that_fails_ends_the_command_with_its_rank_and_traceback(cluster, tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("import sparsekit as mx\nkv = mx.kv.create('dist_sync')\nif kv.rank == 1:\n    [][3]\nkv._barrier()\n")
    found = subprocess.run(command("--address", cluster.address, script), capture_output=True, text=True, timeout=400)
    assert found.returncode == 1
    told = rf'error: Rank 1 has ended with an error:\nTraceback.*\n  File "{script}", line 4, (.|\n)*IndexError'
    assert re.search(told, found.stderr)


STARTS = """
import sys, threading
import sparsekit as mx

threading.Timer(float(sys.argv[1]), lambda: __import__("os").kill(__import__("os").getpid(), 9)).start()
mx.dist.run(print, workers=1, servers=1)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [0.5, 3.0])
def test_a_program_that_is_killed_while_its_cluster_starts_leaves_nothing(tmp_path, seconds):
    assert subprocess.run([sys.executable, "-c", STARTS, str(seconds)], timeout=400, cwd=tmp_path).returncode == -9


def test_ctrl_c_ends_everything_and_what_two_killed_processes_have_left(home, tmp_path):
    """The program is killed together with the process that would have cleaned up after it; the next run does that."""
    script, said = tmp_path / "waits.py", tmp_path / "said"
    script.write_text(f"import time\nopen({str(said)!r}, 'w').close()\ntime.sleep(200)\n")
    with subprocess.Popen(command("-n", 1, "-s", 1, script)) as started:
        until(said.exists, 300, "the script runs")
        folder = next(home.glob("sk-*"))
        ends = [one.pid for one in psutil.process_iter(["cmdline", "environ"]) if head.__file__ in (one.info["cmdline"] or [])
                and (one.info["environ"] or {}).get(head.MARK) == (folder / "mark").read_text()]
        for pid in [*ends, started.pid]:
            os.kill(pid, signal.SIGKILL)
    assert len(ends) == 1
    os.utime(folder / "lock", (0, 0))
    said.unlink()
    with subprocess.Popen(command("-n", 1, "-s", 1, script), stderr=subprocess.PIPE, text=True) as started:
        until(said.exists, 300, "the script runs")
        started.send_signal(signal.SIGINT)
        assert started.wait(60) == 130
        assert "Interrupted." in started.stderr.read()


def test_a_run_whose_own_process_is_killed_goes_on_to_the_bit(home, shared, whole, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    out, stopped = tmp_path / "a.npy", tmp_path / "a.npy.stopped"
    words = ["--folder", tmp_path / "job", "--every", 2, script, "--steps", 6, "--stop", 4, "--out", out]
    with subprocess.Popen(command(*words), cwd=tmp_path) as started:
        until(stopped.exists, 300, "the script has come to step 4")
        assert [one for one in processes(home) if "ray::" in one and not is_marked(int(one.split()[0]))] == []
        assert any("ray::" in one for one in processes(home))
        started.kill()
    all_end(home, shared)
    found = subprocess.run(command(*words), capture_output=True, text=True, timeout=400, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "died" not in found.stderr
    assert sorted(found.stdout.splitlines()) == [f"[rank {rank}] worker {rank} of 2 __main__ {script}" for rank in range(2)]
    assert sorted(line for line in found.stderr.splitlines() if "warned" in line) == ["[rank 0] warned", "[rank 1] warned"]
    assert out.read_bytes() == whole
