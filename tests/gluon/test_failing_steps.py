"""Steps that fail in or before their updates leave what the plain lines leave, whether they are compiled or not yet."""

import copy
import inspect
import pickle
import sys
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import program
from sparsekit.gluon import train_step
from tests.calls import refused

from .blocks import Loss
from .test_train_step import Embedded, Linear, Twin, bits, dense_batches, ids, random, sparse_batches
from .test_update_tables import Updated

#: What is not a state of a weight, made of one that is.
NOT_STATES = {
    "nothing": lambda state: None,
    "an array too few": lambda state: state[:1],
    "another shape": lambda state: tuple(mx.nd.zeros((9, 9)) for _ in state),
    "another type": lambda state: tuple(one.astype("float64") for one in state),
}


def left_by(twin):
    """Everything that a step changes, and whether gradients wait for an update."""
    return twin.state(), [one.data()._entry[0].fresh for one in twin.parameters]


def outcome(twin, data, label):
    mx.random.seed(1)
    try:
        return bits(twin.step(data, label))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.compiled
@pytest.mark.parametrize("at", [2, 4])
@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize("kind", NOT_STATES)
@pytest.mark.parametrize("way", [Twin, Updated])
def test_a_state_that_is_none(way, kind, failing, at):
    """Weights before it are updated, the error is that of the plain lines, and with the state back all steps are compiled."""
    one, other = (way(compiled, Linear, "adam") for compiled in (True, False))
    for number, (data, label) in enumerate(sparse_batches(9)):
        if number == at:
            states = [twin.trainer._updaters[0].states for twin in (one, other)]
            kept = [held[failing] for held in states]
            for held in states:
                held[failing] = NOT_STATES[kind](held[failing])
        made = outcome(one, data, label)
        assert made == outcome(other, data, label), number
        if number == at:
            assert issubclass(made[0], mx.SparsekitError)
            assert not issubclass(made[0], mx.base.errors.InternalError)
            fresh = [parameter.data()._entry[0].fresh for parameter in one.parameters]
            assert fresh == [parameter.data()._entry[0].fresh for parameter in other.parameters]
            assert sorted(fresh) == [False] * failing + [True] * (2 - failing)
            for held, state in zip(states, kept, strict=True):
                held[failing] = state
        assert left_by(one) == left_by(other), number
    assert one.compiled._made if way is Twin else one.made()


class Raises(mx.lr_scheduler.LRScheduler):
    """A schedule that fails at one step, when it is asked for the first weight."""

    def __init__(self, at):
        super().__init__(0.1)
        self.at = at

    def __call__(self, num_update):
        if num_update == self.at:
            raise ValueError("no rate for this step")
        return 0.1 / num_update


@pytest.mark.compiled
@pytest.mark.parametrize("at", [2, 4])
@pytest.mark.parametrize("way", [Twin, Updated])
def test_a_schedule_that_raises(way, at):
    """The gradients are those of the failed step, and no weight has changed."""
    one, other = (way(compiled, lambda: mx.gluon.nn.Dense(1, in_units=6), "adam") for compiled in (True, False))
    for twin in (one, other):
        twin.trainer.optimizer.lr_scheduler = Raises(at + 1)
    for number, (data, label) in enumerate(dense_batches(7)):
        made = outcome(one, data, label)
        assert made == outcome(other, data, label), number
        assert (made == (ValueError, "no rate for this step")) == (number == at)
        assert left_by(one) == left_by(other), number
        if number == at:
            for twin in (one, other):
                twin.trainer.optimizer.lr_scheduler.at = -1
    assert one.compiled._made if way is Twin else one.made()


@pytest.mark.compiled
@pytest.mark.parametrize("at", [2, 4])
def test_clipping_that_raises_its_warning(at):
    """The gradients are new, and not clipped."""
    def plain(twin, data, label):
        with mx.config.set(tables=False), mx.autograd.record():
            loss = twin.loss(twin.net(data), label)
        loss.backward()
        mx.gluon.utils.clip_global_norm([one.grad() for one in twin.parameters], 8 * 0.5)
        twin.trainer.step(8)
        return loss

    one, other = (Twin(compiled, Linear) for compiled in (True, False))
    step = mx.gluon.TrainStep(one.net, one.loss, one.trainer, clip_norm=0.5)
    for number, (data, label) in enumerate(sparse_batches(7)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if number != at:
                assert bits(step(data, label)) == bits(plain(other, data, label)), number
            else:
                for failing in (step, lambda *batch: plain(other, *batch)):
                    refused(UserWarning, "nan or inf", failing, data, label * np.nan)
        assert left_by(one) == left_by(other), number
    assert step._made


@pytest.mark.compiled
def test_copies_of_a_net_whose_gradient_is_lost():
    """The copy has lost it too; its other arrays are equal."""
    picked = Loss(lambda F, output, rows: F.take(output, rows, mode="raise"))
    twin = Twin(True, lambda: mx.gluon.nn.Dense(1, in_units=6), loss=lambda: picked)
    for data, _ in dense_batches(5):
        twin.step(data, mx.nd.array([0, 1]))
    refused(mx.SparsekitError, "outside the 8 entries", twin.step, data, mx.nd.array([0, 100]))
    weight = bits(twin.net.weight.data())
    for made in (copy.deepcopy(twin.net), pickle.loads(pickle.dumps(twin.net))):
        assert bits(made.weight.data()) == weight
        refused(mx.base.errors.GradientError, "is lost", made.weight.grad)
        made.weight.zero_grad()
        assert not made.weight.grad().asnumpy().any()
    twin.net.cast("float64")
    refused(mx.base.errors.GradientError, "is lost", twin.net.weight.grad)


@pytest.mark.compiled
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad", "ftrl"])
@pytest.mark.parametrize("sparse", [True, False])
def test_an_interrupt_between_an_update_and_its_count(optimizer, sparse):
    """A weight, its states and its count have moved together, or none of them has."""
    lines, first = inspect.getsourcelines(program.run_in_python)
    counting = first + max(number for number, line in enumerate(lines) if "workspace.ran = number + 1" in line)
    for nth in (1, 2, 3):
        twin = Twin(True, lambda: Embedded(sparse_grad=sparse), optimizer)
        for number in range(2):
            twin.step(ids(50, number), random(8, 1, seed=number))
        left, before = nth, arrays_of(twin)

        def trace(frame, event, _):
            nonlocal left
            if frame.f_code is not program.run_in_python.__code__:
                return trace if event == "call" else None
            if event == "line" and frame.f_lineno == counting:
                step = frame.f_locals["program"].steps[frame.f_locals["number"]]
                left -= step.note.lane == "update"
                if not left:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            with pytest.raises(KeyboardInterrupt):
                twin.step(ids(50, 2), random(8, 1, seed=2))
        finally:
            sys.settrace(None)
        for index, (held, now) in enumerate(zip(before, arrays_of(twin), strict=True)):
            counted = twin.trainer.optimizer._index_update_count[index] == 3
            moved = [(one != other).any() for one, other in zip(held, now, strict=True)]
            assert any(moved) == counted  # a weight itself may stay 0
        twin.step(ids(50, 3), random(8, 1, seed=3))


def arrays_of(twin):
    """Copies of each weight and its states."""
    states = twin.trainer._updaters[0].states
    found = []
    for index, parameter in enumerate(twin.trainer._params):
        state = states[index]
        held = () if state is None else state if isinstance(state, tuple) else (state,)
        found.append([one.asnumpy().copy() for one in (parameter.data(), *held)])
    return found


@pytest.mark.compiled
@pytest.mark.parametrize("error", [AttributeError, AssertionError, KeyError, TypeError])
def test_a_fault_of_the_library_while_a_step_is_compiled_looks_like_one(monkeypatch, error):
    """It does not become a reason why the step runs operator by operator."""
    twin = Twin(True, Linear, "adam")

    def planted(*given):
        raise error("planted")

    def train():
        for data, label in sparse_batches(5):
            twin.step(data, label)

    monkeypatch.setattr(train_step.StepProgram, "__init__", planted)
    refused(mx.base.errors.InternalError, "planted", train)
