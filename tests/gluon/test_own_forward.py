"""A user's Python runs at every step: an own ``forward``, wherever it stands, is never frozen into a program.

That it runs as often as in eager lines, and gives the same, is checked by random programs in ``tests/steps``.
"""

import itertools
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import gluon
from sparsekit.gluon import nn
from sparsekit.gluon.contrib.estimator import Estimator

sys.path.insert(0, str(Path(__file__).parents[1] / "steps"))

from lines import Weighted
from user_blocks import Holds, OwnCall, OwnForward, Reads, ReadsPlainly, hooked, lambda_of

from tests.calls import initialized

STEPS = 7


def in_stack(stack, *blocks):
    net = stack()
    net.add(nn.Dense(3, in_units=3), *blocks)
    return net


class Around(gluon.HybridBlock):
    """It can be traced, but for its child."""

    def __init__(self, inner):
        super().__init__()
        self.first, self.inner = nn.Dense(3, in_units=3), inner

    def hybrid_forward(self, F, x):
        return self.inner(self.first(x))


def through_a_variable():
    inner = Reads("counter")

    class Reaches(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return inner(x)

    return Reaches()


#: Nets with Python of a user's, and what the reason says if it is not that a block overrides ``forward``.
PLACES = {
    "Block": lambda: ReadsPlainly("counter"), "HybridBlock": lambda: Reads("counter"),
    "the net": lambda: OwnForward(3, in_units=3), "__call__": lambda: OwnCall(3, in_units=3),
    "in Sequential": lambda: in_stack(nn.Sequential, ReadsPlainly("counter")),
    "in HybridSequential": lambda: in_stack(nn.HybridSequential, Reads("counter")),
    "deep": lambda: in_stack(nn.HybridSequential, in_stack(nn.HybridSequential, Around(Reads("counter")))),
    "in hybrid_forward": lambda: Around(Reads("counter")),
    **{f"in {held}": lambda held=held: Holds(held, "counter") for held in ("list", "dict", "partial", "object", "weak")},
    "enclosed": through_a_variable, "Lambda": lambda: in_stack(nn.Sequential, lambda_of("counter")),
    "hook": lambda: hooked(False, 3), "pre-hook": lambda: hooked(True, 3), "loss": lambda: nn.Dense(3, in_units=3)}
REASONS = {"loss": "weighted", "Lambda": "calls a function", "hook": "hook", "pre-hook": "hook", "__call__": "overrides __call__"}

WAYS = ["TrainStep", "hybridized TrainStep", "hybridized"]


def batches():
    drawn = np.random.RandomState(5)
    return [(mx.nd.array(drawn.rand(4, 3)), mx.nd.array(drawn.rand(4, 3))) for _ in range(STEPS)]


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:.*unregistered container")
@pytest.mark.parametrize("place", PLACES)
def test_explain_names_the_block_and_a_strict_step_refuses_it(place):
    net, loss = PLACES[place](), Weighted() if place == "loss" else gluon.loss.L2Loss()
    net = initialized(net if net.collect_params() else in_stack(nn.Sequential, net))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    step, strict = gluon.TrainStep(net, loss, trainer), gluon.TrainStep(net, loss, trainer, strict=True)
    for _ in range(4):
        step(*batches()[0])
    row, = step.explain()
    assert not row["op"]
    assert REASONS.get(place, "overrides forward") in row["reason"]
    with pytest.raises(mx.base.errors.UnsupportedError, match=REASONS.get(place, "overrides forward")):
        list(itertools.starmap(strict, batches()))  # what is out of sight is found when the third step is traced


@pytest.mark.filterwarnings("ignore:.*unregistered container")
@pytest.mark.parametrize("place", ["HybridBlock", "in HybridSequential", "deep", "in hybrid_forward", "in list", "enclosed",
                                   "in weak"])
def test_explain_of_a_hybridized_block_names_the_block_below(place):
    net = initialized(PLACES[place](), hybrid=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            net(mx.nd.ones((4, 3)))
    row, = gluon.hybrid.explain(net)
    assert not row["op"]
    assert "overrides forward" in row["reason"]


class Counts(gluon.HybridBlock):
    """It is traced, as in MXNet."""

    def __init__(self, units=3):
        super().__init__()
        self.dense, self.calls = nn.Dense(3, in_units=units), []

    def hybrid_forward(self, F, x):
        self.calls.append(1)
        return self.dense(x)


def test_blocks_that_define_hybrid_forward_are_programs_inside_one_that_overrides_forward():
    class Net(gluon.Block):
        def __init__(self):
            super().__init__()
            self.calls, self.inner = 0, Counts()

        def forward(self, x):
            self.calls += 1
            return self.inner(x) * self.calls

    net = initialized(Net(), hybrid=True)
    step = gluon.TrainStep(net, gluon.loss.L2Loss(), gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}))
    for data, label in batches():
        step(data, label)
    assert net.calls == STEPS
    assert len(net.inner.calls) == 1
    assert {row["op"] for row in gluon.hybrid.explain(net.inner)} >= {"FullyConnected"}


@pytest.mark.parametrize("hybrid", [False, True])
def test_an_estimator_compiles_only_what_is_hybridized(hybrid):
    class Counting(gluon.loss.L2Loss):
        calls = 0

        def hybrid_forward(self, F, *args):
            type(self).calls += 1
            return super().hybrid_forward(F, *args)

    data, label = (mx.nd.concat(*parts, dim=0) for parts in zip(*batches(), strict=True))
    for net_too in (False, True):
        Counting.calls = 0
        net, loss = Counts(), Counting()
        net.initialize()
        if hybrid:
            loss.hybridize()
        if net_too:
            net.hybridize()
        estimator = Estimator(net, loss, trainer=gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}))
        estimator.logger.setLevel("CRITICAL")
        estimator.fit(gluon.data.DataLoader(gluon.data.ArrayDataset(data, label), 4), epochs=1)
        assert (len(net.calls) < STEPS) is net_too
        assert (Counting.calls < STEPS) is hybrid
        name = "" if net_too and hybrid else net.name if not net_too else loss.name
        assert (estimator.explain()[0]["reason"] == f"{name} is not hybridized") is bool(name)


def change_forward_of_the_block(net, own):
    net[1].forward = types.MethodType(own, net[1])


def add_a_child(net, own):
    child = Counts()
    child.forward = types.MethodType(own, child)
    net.add(child)


def hook_a_child(net, own):
    net[1].register_forward_hook(lambda block, inputs, out: own(block, inputs[0]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", [change_forward_of_the_block, add_a_child, hook_a_child])
def test_what_becomes_python_later_runs_from_then_on(change, way):
    calls = []

    def own(block, x):
        calls.append(1)
        return x * len(calls)

    net = initialized(in_stack(nn.HybridSequential, nn.Dense(3, in_units=3)), mx.init.One(), hybrid="hybridized" in way)
    trainer = gluon.Trainer(net[0].collect_params(), "sgd", {"learning_rate": 0.0})
    step = gluon.TrainStep(net, gluon.loss.L2Loss(), trainer)
    for number, (data, label) in enumerate(batches() * 2):
        if number == STEPS:
            change(net, own)
        if "TrainStep" in way:
            step(data, label)
        else:
            with mx.autograd.record():
                net(data).backward()
    assert len(calls) == STEPS


def test_a_net_whose_hook_is_taken_away_is_compiled_again():
    net = initialized(in_stack(nn.HybridSequential, Counts()), hybrid=True)
    handle = net[1].register_forward_hook(lambda *_: None)
    for _ in range(5):
        net(mx.nd.ones((4, 3)))
    handle.detach()
    for _ in range(5):
        net(mx.nd.ones((4, 3)))
    assert all(row["op"] for row in gluon.hybrid.explain(net))


class Doubled(mx.operator.CustomOp):
    calls = 0

    def forward(self, is_train, req, in_data, out_data, aux):
        Doubled.calls += 1
        self.assign(out_data[0], req[0], in_data[0] * Doubled.calls)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * Doubled.calls)


@mx.operator.register("doubled_at_every_call")
class DoubledProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Doubled()


def test_a_custom_operator_is_called_once_a_batch_by_module():
    Doubled.calls = 0
    made = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="first")
    made = mx.sym.Custom(made, op_type="doubled_at_every_call")
    module = mx.mod.Module(mx.sym.LinearRegressionOutput(made, mx.sym.Variable("label")), label_names=["label"])
    data, label = (np.concatenate([one.asnumpy() for one in parts]) for parts in zip(*batches(), strict=True))
    module.fit(mx.io.NDArrayIter(data, label, 4, label_name="label"), num_epoch=2, eval_metric="mse")
    assert Doubled.calls == 2 * STEPS


# a trainer and an optimizer with methods of the user's


class Own(gluon.Trainer):
    """Counts its steps."""

    calls = 0

    def step(self, batch_size, ignore_stale_grad=False):
        self.calls += 1
        super().step(batch_size, ignore_stale_grad)


def replaced(thing, method, calls):
    """Put a function that is counted in the place of a method."""
    theirs = getattr(thing, method)

    def counted(*args):
        calls.append(1)
        return theirs(*args)

    setattr(thing, method, counted)


@pytest.mark.parametrize("replaced_at", [0, STEPS])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("method", ["class", "step", "update", "_get_lr", "_get_wd"])
@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_python_of_a_trainer_or_an_optimizer_runs_at_every_step(kind, method, compiled, replaced_at):
    net, loss, calls = nn.Dense(3, in_units=3), gluon.loss.L2Loss(), []
    net.initialize()
    trainer = (Own if method == "class" else gluon.Trainer)(net.collect_params(), kind)
    step = gluon.TrainStep(net, loss, trainer)
    for number, (data, label) in enumerate(batches() * 2):
        if number == replaced_at and method != "class":
            replaced(trainer if method == "step" else trainer.optimizer, method, calls)
        if compiled:
            step(data, label)
        else:
            with mx.autograd.record():
                made = loss(net(data), label)
            made.backward()
            trainer.step(len(data))
    if method == "class":
        assert trainer.calls == 2 * STEPS
    else:
        assert len(calls) == (2 * STEPS - replaced_at) * (1 if method == "step" else 2)


class Doubling(gluon.Trainer):
    """Adds the gradients of another process, which are the same, as Horovod's trainer for MXNet does."""

    def _allreduce_grads(self):
        for parameter in self._params:
            for gradient in parameter.list_grad():
                gradient *= 2


@pytest.mark.parametrize("way", ["step", "parts", "compiled"])
@pytest.mark.parametrize("kvstore", [None, "device"])
def test_a_trainer_may_add_gradients_its_own_way(kvstore, way):
    contexts = [mx.cpu(0)] if way == "compiled" else [mx.cpu(0), mx.cpu(1)]
    net = initialized(nn.Dense(1, in_units=2, use_bias=False), "zeros", ctx=contexts)
    trainer = Doubling(net.collect_params(), "sgd", {"learning_rate": 1}, kvstore=kvstore, update_on_kvstore=False)
    assert trainer._kvstore_params == {"kvstore": kvstore, "update_on_kvstore": False}
    assert trainer._param2idx == {net.weight.name: 0}
    step = gluon.TrainStep(net, None, trainer)
    for _ in range(3):
        if way == "compiled":
            step(mx.nd.array([[1, 2]]))
            continue
        for context in contexts:
            with mx.autograd.record():
                made = net(mx.nd.array([[1, 2]], ctx=context))
            made.backward()
        if way == "parts":
            trainer.allreduce_grads()
            trainer.update(1)
        else:
            trainer.step(1)
    for context in contexts:
        assert net.weight.data(context).asnumpy().tolist() == [[-6, -12]]


@pytest.mark.parametrize("decorated", ["class", "method"])
def test_what_the_library_wraps_is_still_the_users(decorated):
    calls = []

    class Own(gluon.HybridBlock):
        def forward(self, x):
            calls.append(1)
            return x * len(calls)

    if decorated == "class":
        Own = mx.util.use_np_shape(Own)
    else:
        Own.forward = mx.util.use_np_shape(Own.forward)
    block = Own()
    block.hybridize()
    assert [float(block(mx.nd.ones((1,))).asscalar()) for _ in range(4)] == [1, 2, 3, 4]
