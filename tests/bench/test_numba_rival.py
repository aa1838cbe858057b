"""The step that is written by hand with numba trains as the library does, so that it may be compared with."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.bench import tutorial

RIVALS = Path(__file__).parents[2] / "profiles" / "rivals"


@pytest.fixture
def rival(monkeypatch):
    monkeypatch.syspath_prepend(str(RIVALS))
    spec = importlib.util.spec_from_file_location("numba_worker", RIVALS / "numba_worker.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("protocol", None)


@pytest.mark.thorough
@pytest.mark.compiled
def test_the_hand_written_step_trains_the_same_weights(rival, tmp_path):
    path = str(tmp_path / "data.npz")
    tutorial.write_data(path, tutorial.Workload(samples=60, features=2_000))
    theirs, (features, batches) = rival.Worker(), tutorial.batches_of(path)
    theirs.load(path)
    ours = tutorial.Network("row_sparse", features)
    mx.random.seed(4)
    net = ours.model
    for parameter in net.collect_params().values():
        parameter.set_data(mx.nd.random.uniform(-0.5, 0.5, parameter.shape))
    values = [parameter.data().asnumpy() for parameter in net.collect_params().values()]
    theirs.weights = [values[0].copy(), values[1].ravel().copy(), values[2].copy(), values[3].copy(), values[4].ravel().copy(),
                      values[5].copy()]
    before = [weight.copy() for weight in theirs.weights]
    rate = ours.trainer.learning_rate
    assert rate == pytest.approx(float(rival.RATE))
    for _ in range(3):
        theirs.time("epoch")
        for batch in batches:
            ours.step(batch)
    for start, weight, parameter in zip(before, theirs.weights, net.collect_params().values(), strict=True):
        change = parameter.data().asnumpy().reshape(start.shape) - start
        np.testing.assert_allclose(weight - start, change, rtol=1e-3, atol=1e-6)  # of weights about 0.5, in float32
        assert np.abs(change).max() > 1e-5
