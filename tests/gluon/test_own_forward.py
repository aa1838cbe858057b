"""A user's Python runs at every step: an own ``forward``, wherever it stands, is never frozen into a program."""

import functools
import itertools
import types
import warnings
import weakref

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import gluon
from sparsekit.gluon import nn
from sparsekit.gluon.contrib.estimator import Estimator

STEPS = 7


class World:
    """What a forward writes to outside of its block; random programs (``tests/steps``) read and write more."""

    def __init__(self):
        self.calls = 0


def ran(owner, world, kind):
    world.calls += 1
    return world.calls if kind == "counter" else 1.0


class Plain(gluon.Block):
    def __init__(self, world, kind, units=3):
        super().__init__()
        self.dense = nn.Dense(3, in_units=units)
        object.__setattr__(self, "told", lambda owner: ran(owner, world, kind))

    def forward(self, x):
        return self.dense(x) * self.told(self)


class Hybrid(gluon.HybridBlock):
    def __init__(self, world, kind, units=3):
        super().__init__()
        self.dense = nn.Dense(3, in_units=units)
        self.told = lambda owner: ran(owner, world, kind)

    def forward(self, x):
        return self.dense(x) * self.told(self)


class Called(nn.Dense):
    """It overrides what calls forward."""

    def __init__(self, world, kind, units=3):
        super().__init__(3, in_units=units)
        self.world, self.kind = world, kind

    def __call__(self, x):
        return super().__call__(x) * ran(self, self.world, self.kind)


class Around(gluon.HybridBlock):
    """It can be traced, but for what is in it."""

    def __init__(self, inner, way="child"):
        super().__init__()
        self.first, self.way = nn.Dense(3, in_units=3), way
        if way == "child":
            self.inner = inner
        else:
            self.others = {"list": [inner], "dict": {"a": (inner,)}, "object": World(), "partial": functools.partial(inner),
                           "weak": weakref.ref(inner)}[way]
            if way == "object":
                self.others.inner = inner
            for one in inner.collect_params().values():
                self.params.update({one.name: one})

    def hybrid_forward(self, F, x, **_):
        held = self.inner if self.way == "child" else self.others
        function = {"list": lambda x: held[0](x), "dict": lambda x: held["a"][0](x), "object": lambda x: held.inner(x),
                    "weak": lambda x: held()(x)}.get(self.way, held)
        return function(self.first(x))


class OwnLoss(gluon.loss.Loss):
    def __init__(self, world, kind):
        super().__init__(None, 0)
        self.world, self.kind = world, kind

    def forward(self, output, label):
        return ((output - label) ** 2).mean(axis=1) * ran(self, self.world, self.kind)


def in_stack(stack, *blocks):
    net = stack()
    net.add(nn.Dense(3, in_units=3), *blocks)
    return net


def of_function(world, kind):
    return in_stack(nn.Sequential, nn.Lambda(lambda x: x * ran(world, world, kind)))


def hooked(world, kind, before):
    net = in_stack(nn.HybridSequential, nn.Dense(3, in_units=3))

    def hook(*_):
        ran(net, world, kind)

    (net[1].register_forward_pre_hook if before else net[1].register_forward_hook)(hook)
    return net


def out_of_sight(world, kind):
    world.kept = Plain(world, kind)
    return Around(world.kept, "weak")


def through_a_variable(world, kind):
    inner = Hybrid(world, kind)

    class Reaches(gluon.HybridBlock):
        def hybrid_forward(self, F, x, **_):
            return inner(x)

    net = Reaches()
    net.params.update(inner.collect_params())
    return net


PLACES = {
    "Block": Plain, "HybridBlock": Hybrid, "__call__": Called,
    "in Sequential": lambda *given: in_stack(nn.Sequential, Plain(*given)),
    "in HybridSequential": lambda *given: in_stack(nn.HybridSequential, Hybrid(*given)),
    "deep": lambda *given: in_stack(nn.HybridSequential, in_stack(nn.HybridSequential, Around(Hybrid(*given)))),
    "in hybrid_forward": lambda *given: Around(Hybrid(*given)), "in a list": lambda *given: Around(Plain(*given), "list"),
    "in a dict": lambda *given: Around(Plain(*given), "dict"),
    "partial": lambda *given: Around(Plain(*given), "partial"), "in an object": lambda *given: Around(Plain(*given), "object"),
    "enclosed": through_a_variable, "out of sight": out_of_sight, "Lambda": of_function,
    "hook": lambda *given: hooked(*given, False), "pre-hook": lambda *given: hooked(*given, True),
    "loss": lambda *given: nn.Dense(3, in_units=3)}

WAYS = ["TrainStep", "hybridized TrainStep", "hybridized"]


def batches():
    drawn = np.random.RandomState(5)
    return [(mx.nd.array(drawn.rand(4, 3)), mx.nd.array(drawn.rand(4, 3))) for _ in range(STEPS)]


@pytest.mark.compiled
@pytest.mark.parametrize("place", PLACES)
def test_explain_names_the_block_and_a_strict_step_refuses_it(place):
    world = World()
    net = PLACES[place](world, "global")
    loss = OwnLoss(World(), "global") if place == "loss" else gluon.loss.L2Loss()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    step, strict = gluon.TrainStep(net, loss, trainer), gluon.TrainStep(net, loss, trainer, strict=True)
    what = {"loss": "ownloss", "Lambda": "calls a function", "hook": "hook", "pre-hook": "hook", "__call__": "overrides __call__"}
    for _ in range(4):
        step(*batches()[0])
    row, = step.explain()
    assert not row["op"]
    assert what.get(place, "overrides forward") in row["reason"]
    with pytest.raises(mx.base.errors.UnsupportedError, match=what.get(place, "overrides forward")):
        list(itertools.starmap(strict, batches()))  # what is out of sight is found when the third step is traced


@pytest.mark.parametrize("place", ["HybridBlock", "in HybridSequential", "deep", "in hybrid_forward", "in a list", "enclosed",
                                   "out of sight"])
def test_explain_of_a_hybridized_block_names_the_block_below(place):
    world = World()
    net = PLACES[place](world, "counter")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.initialize()
    net.hybridize()
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

    net = Net()
    net.initialize()
    net.hybridize()
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


def change_forward_of_the_block(net, inner, own):
    inner.forward = types.MethodType(own, inner)


def add_a_child(net, inner, own):
    net.add(Later(own))


def hook_a_child(net, inner, own):
    inner.register_forward_hook(lambda block, inputs, out: own(block, inputs[0]))


class Later(gluon.HybridBlock):
    def __init__(self, own):
        super().__init__()
        self.own = own

    def forward(self, x):
        return self.own(self, x)


@pytest.mark.parametrize("way", ["eager", *WAYS])
@pytest.mark.parametrize("change", [change_forward_of_the_block, add_a_child, hook_a_child])
def test_what_becomes_python_later_runs_from_then_on(change, way):
    calls = []

    def own(block, x):
        calls.append(1)
        return x * len(calls)

    net = in_stack(nn.HybridSequential, nn.Dense(3, in_units=3))
    net.initialize(mx.init.One())
    net.hybridize("hybridized" in way)
    trainer = gluon.Trainer(net[0].collect_params(), "sgd", {"learning_rate": 0.0})
    step = gluon.TrainStep(net, gluon.loss.L2Loss(), trainer)
    for number, (data, label) in enumerate(batches() * 2):
        if number == STEPS:
            change(net, net[1], own)
        if "TrainStep" in way:
            step(data, label)
        else:
            with mx.autograd.record():
                made = net(data)
                loss = gluon.loss.L2Loss()(made, label)
            loss.backward()
            trainer.step(4)
    assert len(calls) == STEPS


def test_a_net_whose_hook_is_taken_away_is_compiled_again():
    net = in_stack(nn.HybridSequential, Counts())
    net.initialize()
    net.hybridize()
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


def tick(world):
    world.calls += 1
    return world.calls / 100


def trainer_of_a_class(world):
    class Own(gluon.Trainer):
        def step(self, batch_size, ignore_stale_grad=False):
            self.set_learning_rate(tick(world))
            super().step(batch_size, ignore_stale_grad)

    return lambda parameters: Own(parameters, "adam"), lambda trainer: None


def trainer_with_a_step(world):
    def replace(trainer):
        theirs = trainer.step

        def step(batch_size):
            trainer.set_learning_rate(tick(world))
            theirs(batch_size)

        trainer.step = step

    return lambda parameters: gluon.Trainer(parameters, "sgd"), replace


def optimizer_with(kind, method):
    def of(world):
        def replace(trainer):
            optimizer = trainer.optimizer
            theirs = optimizer.update

            def update(*args):
                optimizer.lr = tick(world)
                theirs(*args)

            setattr(optimizer, method, update if method == "update" else lambda index: tick(world))

        return lambda parameters: gluon.Trainer(parameters, kind), replace
    return of


TRAINERS = {"class": trainer_of_a_class, "step": trainer_with_a_step, **{
    f"{kind} {method}": optimizer_with(kind, method) for kind, method in itertools.product(
        ("sgd", "rmsprop", "adam"), ("_get_lr", "_get_wd", "update"))}}


@pytest.mark.parametrize("replaced_at", [0, STEPS])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", TRAINERS)
def test_python_of_a_trainer_or_an_optimizer_runs_at_every_step(name, compiled, replaced_at):
    world = World()
    make, replace = TRAINERS[name](world)
    net, loss = nn.Dense(3, in_units=3), gluon.loss.L2Loss()
    net.initialize()
    trainer = make(net.collect_params())
    step = gluon.TrainStep(net, loss, trainer)
    for number, (data, label) in enumerate(itertools.chain(batches(), batches())):
        if number == replaced_at:
            world.calls = 0
            replace(trainer)
        if compiled:
            step(data, label)
        else:
            with mx.autograd.record():
                made = loss(net(data), label)
            made.backward()
            trainer.step(len(data))
    assert world.calls == (2 * STEPS - replaced_at) * (1 if name in ("class", "step") else 2)


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
