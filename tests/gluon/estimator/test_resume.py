"""A run that is killed and resumed ends as one that was not: weights, optimizer, metrics, log and random numbers, to the bit."""

import importlib.util
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.gluon.contrib.estimator import BatchBegin, CheckpointHandler, CSVHandler, EarlyStoppingHandler, Estimator
from tests.calls import initialized, refused


def load_program():
    spec = importlib.util.spec_from_file_location("training_program", Path(__file__).with_name("training_program.py"))
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


program = load_program()

#: Batches (of 8 an epoch) before which the run ends: within an epoch, at its beginning, and just after a checkpoint.
ENDS = {"plain": (14, 21), "threads": (13,), "ahead": (9,), "rollover": (12,), "exact": (11,), "correlation": (12,)}


class Ended(Exception):
    pass


def end():
    raise Ended


def same_files(one, other):
    """Parameters, states of optimizers and logs are the same, to the byte."""
    kept = (".params", ".states", ".csv")
    assert [name for name in sorted(os.listdir(one)) if name.endswith(kept)] == [
        name for name in sorted(os.listdir(other)) if name.endswith(kept)]
    for name in os.listdir(one):
        assert not name.endswith(kept) or (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize("case", ENDS)
def test_a_run_that_ended_goes_on_to_the_same_end(case, tmp_path):
    expected = program.run(tmp_path / "whole", case)
    for batch in ENDS[case]:
        refused(Ended, "", program.run, tmp_path / "parts", case, batch, end)
    assert program.run(tmp_path / "parts", case) == expected
    same_files(tmp_path / "whole", tmp_path / "parts")


def test_a_killed_process_goes_on_to_the_same_end(tmp_path):
    expected = program.run(tmp_path / "whole", "plain")
    done = subprocess.run([sys.executable, program.__file__, str(tmp_path / "parts"), "plain", "14"], capture_output=True,
                          text=True, timeout=400)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (tmp_path / "parts" / "model-epoch1batch9.run").exists()
    assert program.run(tmp_path / "parts", "plain") == expected
    same_files(tmp_path / "whole", tmp_path / "parts")


def made():
    mx.random.seed(3)
    rows = np.random.default_rng(0).standard_normal((32, 4)).astype("float32")
    data = mx.gluon.data.ArrayDataset(mx.nd.array(rows), mx.nd.array((rows.sum(1) > 0).astype("float32")))
    net = initialized(mx.gluon.nn.Dense(2, in_units=4, prefix="net_"))
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    estimator.logger.setLevel("CRITICAL")
    return estimator, mx.gluon.data.DataLoader(data, 8, shuffle=True)


class End(BatchBegin):
    def __init__(self, batch):
        self.left = batch

    def batch_begin(self, estimator, *args, **kwargs):
        self.left -= 1
        if self.left < 0:
            raise Ended


def run(folder, stop=None, epochs=3, **kwargs):
    estimator, data = made()
    handlers = [CheckpointHandler(folder, batch_period=3, resume_from_checkpoint=True, **kwargs)]
    if stop is not None:
        refused(Ended, "", lambda: estimator.fit(data, epochs=epochs, event_handlers=[*handlers, End(stop)]))
        return None
    estimator.fit(data, epochs=epochs, event_handlers=handlers)
    return estimator.net.weight.data().asnumpy().tobytes()


@pytest.mark.parametrize("stop", [0, 4, 10])
def test_a_run_may_end_before_any_batch(stop, tmp_path):
    expected = run(tmp_path / "whole")
    run(tmp_path / "parts", stop)
    assert run(tmp_path / "parts") == expected


@pytest.mark.parametrize("broken", ["cut", "absent", "mixed", "no json"])
def test_a_damaged_checkpoint_is_passed_over(broken, tmp_path):
    expected = run(tmp_path / "whole")
    folder = tmp_path / "parts"
    run(folder, 7)
    last = folder / "model-epoch1batch5"
    assert last.with_suffix(".params").exists()
    if broken == "cut":
        data = last.with_suffix(".states").read_bytes()
        last.with_suffix(".states").write_bytes(data[:-1])
    elif broken == "absent":
        last.with_suffix(".states").unlink()
    elif broken == "mixed":
        last.with_suffix(".params").write_bytes((folder / "model-epoch0batch2.params").read_bytes())
    else:
        last.with_suffix(".run").write_text("[")
    assert run(folder) == expected


def test_what_is_not_whole_has_no_name(tmp_path, monkeypatch):
    """A process that ends while it writes leaves nothing that a later one would take for a checkpoint."""
    expected = run(tmp_path / "whole")
    folder, write = tmp_path / "parts", CheckpointHandler._complete
    count = [0]

    def fail(self, estimator, prefix):
        count[0] += 1
        if count[0] == 3:
            raise Ended
        write(self, estimator, prefix)

    monkeypatch.setattr(CheckpointHandler, "_complete", fail)
    estimator, data = made()
    refused(Ended, "", lambda: estimator.fit(data, epochs=3, event_handlers=[CheckpointHandler(folder, batch_period=3)]))
    monkeypatch.setattr(CheckpointHandler, "_complete", write)
    assert run(folder) == expected


def test_a_run_from_scratch_is_newer_than_what_lies_there(tmp_path):
    run(tmp_path, epochs=5)
    estimator, data = made()
    estimator.trainer.set_learning_rate(0.3)
    refused(Ended, "", lambda: estimator.fit(data, epochs=5, event_handlers=[CheckpointHandler(tmp_path), End(6)]))
    resumed, data = made()
    resumed.fit(data, epochs=2, event_handlers=[CheckpointHandler(tmp_path, resume_from_checkpoint=True)])
    assert resumed.trainer.learning_rate == 0.3


def test_a_run_that_stopped_early_is_finished(tmp_path):
    def fit():
        estimator, data = made()
        stopping = EarlyStoppingHandler(estimator.train_metrics[0], mode="max", baseline=2.0, patience=2)
        estimator.fit(data, epochs=9, event_handlers=[CheckpointHandler(tmp_path, resume_from_checkpoint=True), stopping])

    fit()
    refused(mx.base.errors.ParameterError, "EarlyStoppingHandler ended", fit)


def test_generators_of_numpy_and_python_go_on(tmp_path):
    def fit(stop=None):
        estimator, data = made()
        np.random.seed(1)
        random.seed(1)
        drawn = []

        class Draw(BatchBegin):
            def batch_begin(self, estimator, *args, **kwargs):
                drawn.append((np.random.rand(), random.random(), float(mx.nd.random.normal().asscalar())))

        handlers = [CheckpointHandler(tmp_path / str(bool(stop is None)), resume_from_checkpoint=True), Draw()]
        if stop:
            refused(Ended, "", lambda: estimator.fit(data, epochs=3, event_handlers=[*handlers, End(stop)]))
        else:
            estimator.fit(data, epochs=3, event_handlers=handlers)
        return drawn

    whole = fit()
    (tmp_path / "True").rename(tmp_path / "whole")
    before = fit(7)
    (tmp_path / "False").rename(tmp_path / "True")
    after = fit()
    assert before[:4] + after == whole


def test_a_log_that_became_shorter_is_refused(tmp_path):
    def fit(stop=None):
        estimator, data = made()
        handlers = [CheckpointHandler(tmp_path, resume_from_checkpoint=True), CSVHandler(tmp_path / "log.csv")]
        estimator.fit(data, epochs=3, event_handlers=[*handlers, *([End(stop)] if stop else [])])

    refused(Ended, "", fit, 9)
    (tmp_path / "log.csv").write_text("epoch\n")
    refused(mx.base.errors.DataFileError, "has become shorter", fit)


def test_other_data_are_noticed(tmp_path):
    run(tmp_path, 6)
    estimator, _ = made()
    few = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.ones((3, 4)), mx.nd.zeros(3)), 3)
    with pytest.raises(mx.base.errors.ParameterError, match="train_data has 1"):
        estimator.fit(few, epochs=3, event_handlers=[CheckpointHandler(tmp_path, batch_period=3, resume_from_checkpoint=True)])
