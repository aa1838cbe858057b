"""What a step of the tutorial asks of the device and reads back, counted on the stand-in, and a step as captured graphs."""

from __future__ import annotations

import capturing
import fake_cupy
import numpy as np
import pytest
from capturing import Graph

import sparsekit as mx
from sparsekit import autograd, gluon, nd
from sparsekit.core import apart
from sparsekit.demo.variants import FullyConnected, FullyConnectedSparse
from sparsekit.gluon.hybrid import explain
from sparsekit.gluon.nn import Activation
from sparsekit.kernels.gpu import launch

GPU = mx.gpu(1)  # not the current device
FEATURES, UNITS = 2000, 16

#: Kernels, copies and graphs that a step asks for, at most: MXNet's lines, with net and loss hybridized each or in one block,
#: and ``TrainStep``.
MOST = {"eager": 35, "hybridized": 12, "joined": 8, "step": 6}


class Joined(gluon.HybridBlock):
    """A net with its loss."""

    def __init__(self, net):
        super().__init__()
        with self.name_scope():
            self.net, self.loss = net, gluon.loss.SigmoidBinaryCrossEntropyLoss()

    def hybrid_forward(self, F, data, label):
        return self.loss(self.net(data), label)


def batches(ctx, count):
    """Ten rows of ten values, as the tutorial's."""
    rng, made = np.random.default_rng(0), []
    for _ in range(count):
        indices = np.sort(rng.integers(0, FEATURES // 10, (10, 10)) + np.arange(10) * (FEATURES // 10)).reshape(-1)
        data = nd.sparse.csr_matrix((rng.random(100, np.float32), indices, np.arange(0, 101, 10)), shape=(10, FEATURES), ctx=ctx)
        made.append((data, nd.array(rng.integers(0, 2, 10), ctx=ctx)))
    return made


def network(ctx):
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(FullyConnectedSparse(FEATURES, UNITS, "row_sparse"), Activation("sigmoid"), FullyConnected(UNITS, 8),
            Activation("sigmoid"), FullyConnected(8, 1), Activation("sigmoid"))
    net.initialize(mx.init.Normal(0.1), ctx=ctx)
    return net


def trained(ctx, way, optimizer="sgd", steps=6, rates=(0.5,), clip=None, **settings):
    """Weights, losses, the gradients of the last step, what the last step asked for, and who says why."""
    net, loss = network(ctx), gluon.loss.SigmoidBinaryCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": rates[0], **settings})
    step = gluon.TrainStep(net, loss, trainer, clip_norm=clip) if way == "step" else None
    joined = Joined(net) if way == "joined" else None
    if way == "hybridized":
        net.hybridize()
        loss.hybridize()
    if joined is not None:
        joined.hybridize()
    losses = []
    for number, (data, label) in enumerate(batches(ctx, steps)):
        trainer.set_learning_rate(rates[number % len(rates)])
        capturing.calls.clear()
        fake_cupy.counts.update(dict.fromkeys(fake_cupy.counts, 0))
        if step is not None:
            found = step(data, label)
        else:
            with autograd.record():
                found = joined(data, label) if joined is not None else loss(net(data), label)
            found.backward()
            if clip is not None:
                gluon.utils.clip_global_norm([one.grad(ctx) for one in net.collect_params().values()], 10 * clip)
            trainer.step(10)
        asked, waited = list(capturing.calls), dict(fake_cupy.counts)
        losses.append(found.asnumpy())
    parameters = list(net.collect_params().values())
    gradients = [one.grad(ctx).tostype("default").asnumpy() for one in parameters]
    return [one.data(ctx).asnumpy() for one in parameters], losses, gradients, asked, waited, step or net


def assert_same(left, right, tolerance=1e-4, least=1e-6):
    for one, other in zip(left, right, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=least)


@pytest.mark.parametrize("way", sorted(MOST))
def test_a_step_of_the_tutorial_asks_the_device_for_little(stand_in, way):
    found = trained(GPU, way)
    assert len(found[3]) <= MOST[way], found[3]
    waited = found[4]
    assert waited["size"] + waited["get"] + waited["synchronize"] == 1  # how many columns of the batch are distinct
    assert waited["upload"] == waited["atomic"] == 0
    for part, expected in zip(found[:3], trained(mx.cpu(), "eager")[:3], strict=True):
        assert_same(part, expected)


@pytest.mark.parametrize(("optimizer", "settings"), [
    ("sgd", {"momentum": 0.9, "wd": 0.01}), ("adam", {}), ("ftrl", {}), ("lamb", {}), ("rmsprop", {"centered": True})])
def test_numbers_of_captured_updates_are_the_latest_ones(stand_in, optimizer, settings):
    """Rates that change at every step, and numbers that depend on how many there have been."""
    rates, Graph.launches = (0.05, 0.01, 0.03), 0
    found = trained(GPU, "step", optimizer, 8, rates, **settings)
    for part, expected in zip(found[:3], trained(mx.cpu(), "eager", optimizer, 8, rates, **settings)[:3], strict=True):
        assert_same(part, expected, 1e-3)
    assert Graph.launches >= 4


def test_explain_says_what_is_in_graphs_and_why_the_rest_is_not(stand_in):
    step = trained(GPU, "step")[-1]
    said = {(row["pass"], row["op"], row["reason"]) for row in explain(step)}
    assert ("forward", "dot", "") in said
    assert ("update", "sgd_update", "") in said
    alone = {row for row in said if row[2]}
    assert {row[:2] for row in alone} == {("backward", "dot"), ("update", "sgd_update")}
    assert all("stores" in row[2] for row in alone)


@pytest.mark.parametrize("clip", [1e-3, 1e9])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_gradients_are_clipped_between_the_graphs_of_a_step(stand_in, clip, optimizer):
    """By the norm of all, sparse ones included; the buffers of the parameters hold what was clipped."""
    Graph.launches = 0
    found = trained(GPU, "step", optimizer, 8, clip=clip)
    for part, expected in zip(found[:3], trained(mx.cpu(), "eager", optimizer, 8, clip=clip)[:3], strict=True):
        assert_same(part, expected, 1e-3, 1e-5)  # Adam divides a gradient by its size, its rounding error too
    assert Graph.launches >= 8
    said = {(row["pass"], row["op"]): row["reason"] for row in explain(found[-1])}
    assert said["backward", "clip_factor"] == apart.NORM
    assert len(found[3]) <= 57


class Letter:
    """A type of elements of which nothing but its letter is read."""

    def __init__(self, char):
        self.char = char


def test_a_launch_reads_the_letters_of_types_and_nothing_else_of_them(stand_in, monkeypatch):
    """dtype.name takes 1.5 us for each array."""
    launched = []
    monkeypatch.setattr(launch, "_compiled", lambda name, kinds: lambda *given: launched.append(kinds))
    arrays = [type("Array", (), {"flags": fake_cupy.Flags(np.ones(2)), "dtype": Letter(char)})() for char in "fqqff"]
    for _ in range(2):
        launch.KERNELS["dot_dense"](10, *arrays, 5, 2)
    assert launched == [("const float*", "const long long*", "const long long*", "const float*", "float*", "long long",
                         "long long")] * 2
