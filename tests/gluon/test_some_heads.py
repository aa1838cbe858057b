"""A hybridized block with several results, of which some get a gradient, or whose gradients are recorded."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import StorageFallbackWarning
from sparsekit.core.op import registry
from sparsekit.gluon import nn

SOME = [places for count in (1, 2, 3) for places in itertools.combinations(range(3), count)]


class Several(mx.gluon.HybridBlock):
    """Three results, large enough that a program keeps their memory; dividing zero gradients by zero would give nan."""

    def __init__(self) -> None:
        super().__init__(prefix="several_")
        with self.name_scope():
            self.below, self.drop, self.norm = nn.Dense(150, in_units=20), nn.Dropout(0.5), nn.BatchNorm(in_channels=150)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        hidden = self.below(x)
        return [F.tanh(self.norm(self.drop(hidden))).sum(axis=1), F.log(F.relu(hidden)) * 2, 0.5 % (x * 0)]


def block(hybrid: bool) -> Any:
    mx.random.seed(5)
    net = Several()
    net.initialize(mx.init.Uniform(0.3))
    if hybrid:
        net.hybridize()
    return net


def gradients(net: Any, x: Any, places: tuple[int, ...], retain: bool) -> list[Any]:
    found = []
    for parameter in net.collect_params().values():
        parameter.zero_grad()
    x.grad[:] = 0
    with mx.autograd.record():
        made = net(x)
    for _ in range(1 + retain):
        mx.autograd.backward([made[place] for place in places], retain_graph=retain)
        found += [x.grad.asnumpy().copy()]
    return found + [one.grad().asnumpy().copy() for one in net.collect_params().values() if one.grad_req != "null"]


@pytest.mark.parametrize("told", [False, True], ids=["", "profiled"])
@pytest.mark.parametrize("retain", [False, True], ids=["once", "twice"])
def test_no_gradient_flows_from_a_result_that_gets_none(retain: bool, told: bool) -> None:
    x = mx.nd.array(np.random.default_rng(3).standard_normal((120, 20)))
    x.attach_grad()
    runs = []
    for hybrid in (False, True):
        net = block(hybrid)
        net(x)
        mx.random.seed(6)
        with mx.profiler.Profiler() if told else contextlib.nullcontext():
            runs.append([gradients(net, x, places, retain) for places in SOME + SOME[::-1]])
    for places, plain, hybrid in zip(SOME + SOME[::-1], *runs, strict=True):
        assert all(map(np.array_equal, plain, hybrid, itertools.repeat(True))), places
        assert np.isnan(plain[0]).any() == (1 in places or 2 in places), places


@pytest.mark.parametrize(("make", "again"), [
    (lambda: nn.Dropout(0.5), True), (lambda: nn.BatchNorm(in_channels=20), False),
    (lambda: nn.HybridLambda(lambda F, x: F.LeakyReLU(x, act_type="rrelu")), True),
    (lambda: nn.HybridLambda(lambda F, x: F.random.uniform(shape=(120, 20)) * x * x), True),
    (lambda: nn.HybridLambda(lambda F, x: F.shuffle(x) * x), False),
], ids=["Dropout", "BatchNorm", "rrelu", "uniform", "shuffle"])
def test_a_recorded_backward_pass_neither_draws_nor_writes_again(make: Any, again: bool) -> None:
    x = mx.nd.array(np.random.default_rng(3).standard_normal((120, 20)))
    x.attach_grad()
    runs = []
    for hybrid in (False, True):
        net = nn.HybridSequential(prefix="net_")
        net.add(nn.HybridLambda(lambda F, x: F.sin(x) * x), make(), nn.HybridLambda(lambda F, x: F.square(x)))
        net.initialize()
        if hybrid:
            net.hybridize()
        net(x)
        mx.random.seed(7)
        found = []
        for _ in range(2):
            with mx.autograd.record():
                y = net(x)
                first = mx.autograd.grad(y, x, create_graph=True)[0]
                if again:
                    (first * first).sum().backward()
            found += [y.asnumpy(), first.asnumpy(), x.grad.asnumpy().copy()]
        runs.append(found + [one.data().asnumpy() for one in net.collect_params().values()])
    for plain, hybrid in zip(*runs, strict=True):
        np.testing.assert_allclose(hybrid, plain, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", sorted({op.name for op in registry.values()}))
def test_an_operator_that_draws_says_so(name: str) -> None:
    op = registry[name]
    mx.random.seed(3)
    before = repr(mx.base.rng.generator().bit_generator.state)
    with mx.autograd.train_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        for arrays, attrs in op.sample():
            call = op.bind(attrs)
            mx.core.dispatch.invoke(call, tuple(mx.core.arrays.wrap(np.array(array), mx.cpu()) for array in arrays))
    drawn = repr(mx.base.rng.generator().bit_generator.state) != before
    assert not drawn or op.random
