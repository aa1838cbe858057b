"""``trainer.step`` as a table: the weights and states of operators one by one, to the last bit."""

import contextlib
import functools
import gc
import tracemalloc
import weakref

import pytest

import sparsekit as mx
from sparsekit.core.table import machine
from sparsekit.gluon import nn
from tests.calls import differentiated, initialized, refused

from . import test_train_step as train_step
from .test_train_step import EVENTS, Linear, Twin, bits, csr, dense_batches, random, sparse_batches

pytestmark = pytest.mark.skipif(bool(machine.reason_against_tables()), reason=machine.reason_against_tables() or "-")


class Updated(Twin):
    """A net whose trainer makes its steps by tables; its twin makes them one operator at a time."""

    def step(self, data, label):
        return self.plain(data, label) if self.compiled is not None else super().step(data, label)

    def made(self):
        return [one.step for one in self.trainer._tables._known.values() if one.step is not None]


twins, check = (functools.partial(function, way=Updated) for function in (train_step.twins, train_step.check))


def test_momentum_of_lars_is_corrected_once_when_its_updates_are_lowered_anew():
    """A learning rate that changes at the step in which the updates become others."""
    def change(twin):
        twin.trainer.set_learning_rate(0.3)
        twin.trainer.optimizer.lazy_update = False

    check(Linear, sparse_batches(9), "lars", {"momentum": 0.9, "learning_rate": 0.1}, events={5: change, 7: EVENTS["a schedule"]})


def test_gradients_that_are_not_new_are_left_out():
    """Sets of parameters have tables of their own."""
    def run(compiled):
        twin = Updated(compiled, lambda: nn.Dense(1, in_units=6))
        with mx.config.set(tables=compiled):
            for number, (data, label) in enumerate(dense_batches(12)):
                with mx.autograd.record():
                    weight, bias = (parameter.data() for parameter in twin.parameters)
                    whole = mx.nd.dot(data, weight.T) if number % 2 else mx.nd.dot(data, weight.T) + bias
                    loss = mx.nd.square(whole - label)
                loss.backward()
                twin.trainer.step(8, ignore_stale_grad=True)
        return twin

    one, other = run(True), run(False)
    assert one.state() == other.state()
    assert len(one.made()) == 2


def test_a_trainer_that_updates_other_parameters_at_each_step_keeps_few_tables():
    parameters = [mx.gluon.Parameter(f"p{number}", shape=(3,), init="ones") for number in range(8)]
    for parameter in parameters:
        parameter.initialize()
    trainer = mx.gluon.Trainer(parameters, "sgd", {"learning_rate": 0.5})
    for number in range(64):
        with mx.autograd.record():
            loss = (parameters[number % 8].data() * 2).sum()
        loss.backward()
        trainer.step(1, ignore_stale_grad=True)
    assert [parameter.data().asnumpy().tolist() for parameter in parameters] == [[1.0 - 8] * 3] * 8
    assert len(trainer._tables._known) <= 4


def test_weights_that_are_replaced_at_each_step_are_not_lowered_again_and_again():
    one, other = twins(lambda: nn.Dense(1, in_units=6))
    for number, (data, label) in enumerate(dense_batches(30)):
        for twin in (one, other):
            mx.random.seed(number)
            twin.net.initialize(force_reinit=True)
            twin.step(data, label)
        assert one.state() == other.state()
    assert sum(found.tries for found in one.trainer._tables._known.values()) <= 8


def test_a_failure_leaves_what_operators_one_by_one_leave():
    """Rows of a gradient that a weight does not have, as only broken code makes them."""
    found = []
    for twin in twins(lambda: Linear(units=2)):
        for data, label in [(csr(8, 3, seed), random(8, 2, seed=seed)) for seed in range(4)]:
            twin.step(data, label)
        with mx.autograd.record():
            loss = twin.loss(twin.net(csr(8, 3, 1)), random(8, 2))
        loss.backward()
        weight = next(parameter for parameter in twin.parameters if parameter.name.endswith("weight"))
        weight.grad()._store.indices[-1] = 10**6
        with pytest.raises(mx.SparsekitError) as caught, mx.config.set(tables=bool(twin.made())):
            twin.trainer.step(8)
        fresh = [parameter.data()._entry[0].fresh for parameter in twin.parameters]
        found.append((type(caught.value), str(caught.value), fresh, [bits(one.data()) for one in twin.parameters]))
        assert any(fresh)
    assert found[0] == found[1]


def test_updates_that_fail_at_every_step_fail_alike():
    """GroupAdaGrad takes weights with two axes, and a bias has one; no gradient is taken for an old one."""
    one, other = twins(lambda: nn.Dense(1, in_units=6), "groupadagrad")
    for data, label in dense_batches(6):
        for twin in (one, other):
            with mx.autograd.record():
                loss = twin.loss(twin.net(data), label)
            loss.backward()
            refused(mx.base.errors.ShapeError, "", twin.trainer.step, 8)
            refused(mx.base.errors.ShapeError, "", twin.trainer.step, 8, ignore_stale_grad=True)
        assert one.state() == other.state()


def test_step_of_a_hybridized_net_takes_no_operator_in_python(monkeypatch):
    one, _ = twins(Linear, "sgd", hybrid=True)
    batches = sparse_batches(8)
    for data, label in batches[:5]:
        one.step(data, label)
    calls = []
    monkeypatch.setattr(type(one.trainer.optimizer), "update", lambda *arguments: calls.append(1))
    before = bits(one.parameters[0].data())
    one.step(*batches[5])
    assert not calls
    assert bits(one.parameters[0].data()) != before


def test_a_step_too_large_for_a_table_takes_no_memory():
    net = initialized(nn.Dense(512, in_units=1024, use_bias=False))
    weight, trainer = net.weight, mx.gluon.Trainer(net.collect_params(), "sgd")
    data, peaks = random(4, 1024), []
    for _ in range(6):
        differentiated(lambda: net(data).sum())
        tracemalloc.start()
        trainer.step(4)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert next(iter(trainer._tables._known.values())).step is not None
    assert max(peaks[4:]) < weight.data().asnumpy().nbytes / 20


@pytest.mark.parametrize("how", ["trainer", "hybrid", "TrainStep", "Module"])
@pytest.mark.parametrize("profiled", [False, True])
def test_weights_and_gradients_go_with_the_last_reference(how, profiled):
    """Without the garbage collector, so that large weights are never there twice."""
    gc.disable()
    try:
        held = held_after(how, profiled)
        assert len(held) >= 4
        assert [one for one in held if one() is not None] == []
    finally:
        gc.enable()


def held_after(how, profiled):
    """Weak references to the arrays of a model that was trained and dropped."""
    with mx.Profiler() if profiled else contextlib.nullcontext():
        if how == "Module":
            data = mx.sym.var("data")
            module = mx.mod.Module(mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(data, num_hidden=2), mx.sym.var("label")),
                                   label_names=["label"])
            module.fit(mx.io.NDArrayIter({"data": random(40, 3)}, {"label": random(40, 2)}, batch_size=8), num_epoch=3)
            arrays = [one for arrays in (module._exec_group.param_arrays, module._exec_group.grad_arrays) for one, in arrays]
        else:
            twin = Twin(True, Linear, "sgd", {"momentum": 0.9}, hybrid=how == "hybrid")
            for data, label in sparse_batches(8)[:6]:
                (twin.step if how == "TrainStep" else twin.plain)(data, label)
            arrays = [one for parameter in twin.parameters for one in (parameter.data(), parameter.grad())]
        return [weakref.ref(one._store) for one in arrays]
