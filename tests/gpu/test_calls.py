"""What a step of the tutorial asks of the device, counted on the stand-in."""

from __future__ import annotations

import capturing
import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon, nd
from sparsekit.demo.variants import FullyConnected, FullyConnectedSparse


def batches(ctx, count=8):
    rng, made = np.random.default_rng(0), []
    for _ in range(count):
        indices = np.sort(rng.integers(0, 1000, (10, 10)) + np.arange(10) * 1000).reshape(-1)
        data = nd.sparse.csr_matrix((rng.random(100, np.float32), indices, np.arange(0, 101, 10)), shape=(10, 10_000), ctx=ctx)
        made.append((data, nd.array(rng.integers(0, 2, 10), ctx=ctx)))
    return made


def net_of(ctx, features=10_000):
    net = gluon.nn.HybridSequential()
    net.add(FullyConnectedSparse(features, 128, "row_sparse"), gluon.nn.Activation("sigmoid"))
    net.add(FullyConnected(128, 8), gluon.nn.Activation("sigmoid"), FullyConnected(8, 1), gluon.nn.Activation("sigmoid"))
    net.initialize(mx.init.Constant(0.01), ctx=ctx)
    return net


def calls_of(ctx, way, optimizer="sgd"):
    net, loss = net_of(ctx), gluon.loss.SigmoidBinaryCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), optimizer)
    if way == "hybridized":
        net.hybridize()
        loss.hybridize()
    step = gluon.TrainStep(net, loss, trainer) if way == "step" else None
    for data, label in batches(ctx):
        capturing.calls.clear()
        if step is not None:
            step(data, label)
            continue
        with autograd.record():
            found = loss(net(data), label)
        found.backward()
        trainer.step(10)
    return list(capturing.calls)


@pytest.mark.parametrize(("way", "most"), [("eager", 45), ("hybridized", 12), ("step", 12)])
def test_a_step_of_the_tutorial(stand_in, way, most):
    found = calls_of(mx.gpu(1), way)
    print(len(found), found)
    assert len(found) <= most
