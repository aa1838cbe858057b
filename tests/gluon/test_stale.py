"""A hybridized block runs no program of what it was before a change that leaves a mark; all else that it read is a constant."""

import copy
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import HybridizeWarning
from sparsekit.core import arrays
from sparsekit.core.trace import Tracer
from sparsekit.gluon import nn
from tests.calls import alike, differentiated, initialized, refused, variable

X = mx.nd.array([[1, -2, 3], [-4, 5, -6]])
OUTSIDE = 3.0


class Net(mx.gluon.HybridBlock):
    """Reads settings wherever they can be."""

    factor = 1.0

    def __init__(self, **more):
        super().__init__(**more)
        self.first, self.second = nn.Dense(4, in_units=3), nn.HybridSequential()
        self.second.add(nn.Activation("sigmoid"), nn.Dense(4, in_units=4))
        self.offset, self.listed, self.named = 0.0, [1.0], {"power": 1.0}
        self.nested, self.settings = {"a": [{"b": 1.0}]}, SimpleNamespace(scale=1.0)
        self.table, self.hidden = np.ones(4, np.float32), SimpleNamespace(act=nn.Activation("softrelu"))
        self.array, self.chosen = mx.nd.ones((1,)), {1}
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(1,), init="ones")

    def hybrid_forward(self, F, x, scale):
        x = self.second(self.first(x)) * self.factor + self.offset + self.listed[-1] + self.nested["a"][0]["b"]
        x = F.broadcast_mul(x ** self.named["power"], scale) * self.settings.scale + F.array(self.table)
        x = F.broadcast_mul(self.hidden.act(x), self.array) * len(self.chosen) * OUTSIDE
        return self.helped(F, x)

    def helped(self, F, x):
        return self.settle(x + 1)

    def settle(self, x):
        return x


def replace(block, name, value):
    block._children[name] = value


#: What leaves a mark.
MARKED = {
    "attribute": lambda net: setattr(net, "offset", 2.0),
    "child": lambda net: setattr(net, "first", nn.Dense(4, in_units=3, weight_initializer="ones")),
    "child of a child": lambda net: net.second.add(nn.Activation("sigmoid")),
    "registered": lambda net: net.second.register_child(nn.Activation("tanh")),
    "replaced": lambda net: replace(net.second, "0", nn.Activation("tanh")),
    "removed": lambda net: net.second._children.pop("0"),
    "attribute of a child": lambda net: setattr(net.second[0], "_act_type", "tanh"),
    "array": lambda net: setattr(net, "array", mx.nd.ones((1,)) * 4),
    "values of an array": lambda net: net.array.__setitem__(slice(None), 6),
    "attribute of a hidden block": lambda net: setattr(net.hidden.act, "_act_type", "sigmoid"),
    "own method": lambda net: setattr(net, "helped", lambda F, x: x * 7),
    "set_data": lambda net: net.scale.set_data(mx.nd.array([5])),
    "initialize": lambda net: net.initialize(mx.init.One(), force_reinit=True),
    "parameter": lambda net: net._reg_params.update(scale=other(net.scale)),
    "grad_req": lambda net: setattr(net.first.weight, "grad_req", "null"),
    "reset_ctx": lambda net: net.collect_params().reset_ctx(mx.cpu()),
    "reinit of one": lambda net: net.first.weight.initialize(mx.init.Constant(2), force_reinit=True),
    "inactive child": lambda net: net.second.hybridize(active=False),
}

#: What a program keeps as it was when it was traced.
CONSTANT = {
    "list": lambda net: net.listed.append(5.0),
    "list element": lambda net: net.listed.__setitem__(0, 7.0),
    "dict": lambda net: net.named.update(power=2.0),
    "nested": lambda net: net.nested["a"][0].update(b=4.0),
    "object": lambda net: setattr(net.settings, "scale", 3.0),
    "numpy": lambda net: net.table.__setitem__(slice(None), 9),
    "set": lambda net: net.chosen.add(2),
    "hidden block": lambda net: setattr(net.hidden, "act", nn.Activation("sigmoid")),
    "class": lambda net: setattr(type(net), "factor", 2.0),
    "new attribute of a class": lambda net: setattr(type(net), "helped", lambda self, F, x: x * 3),
    "base of a class": lambda net: setattr(type(net).__mro__[1], "settle", lambda self, x: x * 5),
    "method": lambda net: setattr(type(net), "helped", lambda self, F, x: x - 1),
    "global": lambda net: globals().update(OUTSIDE=4.0),
}


def other(parameter):
    made = initialized(mx.gluon.Parameter("other", shape=parameter.shape), mx.init.Constant(3))
    return made


def run(net, record):
    x = variable(X.copy())
    if not record:
        return [net(x).asnumpy()]
    out = differentiated(net, x)
    return [out.asnumpy(), x.grad.asnumpy()]


@pytest.fixture
def net():
    outside = OUTSIDE
    kind = type("Net", (type("Between", (Net,), {}),), {"factor": 1.0})
    mx.random.seed(4)
    made = initialized(kind())
    yield made
    globals()["OUTSIDE"] = outside


@pytest.mark.parametrize(("change", "record"), [*((change, True) for change in MARKED), ("attribute", False), ("child", False)])
def test_a_change_is_noticed(net, change, record):
    net.hybridize()
    before = run(net, record)
    MARKED[change](net)
    for parameter in net.collect_params().values():
        if not parameter._arrays:
            parameter.initialize()
    after = run(net, record)
    net.hybridize(False)
    alike(after, run(net, record))
    if change not in ("grad_req", "reset_ctx", "inactive child"):
        assert any((one != other).any() for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("change", CONSTANT)
def test_what_leaves_no_mark_is_a_constant_until_the_next_trace(net, change):
    net.hybridize()
    before = run(net, True)
    CONSTANT[change](net)
    alike(run(net, True), before)
    net.offset = 0.0  # the same as before, and a mark
    after = run(net, True)
    net.hybridize(False)
    alike(after, run(net, True))
    assert any((one != other).any() for one, other in zip(before, after, strict=True))


def test_a_monitor_of_a_child_is_shown_values_at_every_call():
    net, seen = nn.HybridSequential(), []
    net.add(nn.Dense(2, in_units=3))
    net.initialize()
    net.hybridize()
    net(X)
    net[0].register_op_hook(lambda name, op, array: seen.append(array.asnumpy()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net(X)
        net(X)
    assert len(seen) == 2


@pytest.mark.parametrize(("first", "second"), [(1, True), (1, 1.0), (0.0, -0.0), ("1", 1), (None, 0), ([1], (1,)),
                                               (1, np.float32(1))])
def test_arguments_that_are_equal_and_not_the_same_have_programs_of_their_own(first, second):
    class Tells(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, setting):
            return x + len(repr(setting)) + (type(setting) is bool)

    block = Tells()
    block.hybridize()
    for setting in (first, second, first):
        assert block(X, setting).asnumpy()[0, 0] == 1 + len(repr(setting)) + (type(setting) is bool)


@pytest.fixture
def traces(monkeypatch):
    """Grows by one a trace."""
    made = []
    start = Tracer.__init__
    monkeypatch.setattr(Tracer, "__init__", lambda self, *given: (made.append(1), start(self, *given))[1])
    return made


def test_what_does_not_change_is_not_traced_again(net, traces):
    net.hybridize()
    run(net, True)
    count = len(traces)
    for _ in range(3):
        run(net, True)
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
        trainer.set_learning_rate(0.1)
    assert len(traces) == count


class Counts(mx.gluon.HybridBlock):
    """Changes itself while it is traced."""

    def __init__(self):
        super().__init__()
        self.calls, self.shapes = 0, []

    def hybrid_forward(self, F, x):
        self.calls += 1
        self.shapes.append(x.shape)
        return x * 2


def test_what_a_block_changes_while_it_is_traced_is_done_once_a_trace(traces):
    block = Counts()
    block.hybridize()
    for _ in range(3):
        for rows in (2, 5):
            assert block(mx.nd.ones((rows, 1))).asnumpy().tolist() == [[2.0]] * rows
    assert block.calls == 2
    assert block.shapes == [(2, 1), (5, 1)]
    assert len(traces) == 2


def test_nothing_is_traced_again_when_the_cache_of_layouts_is_cleared(net, traces, monkeypatch):
    """Arrays from before the clearing and from after it have the same layouts."""
    monkeypatch.setattr(arrays, "REMEMBERED", 4)
    cell = initialized(mx.gluon.rnn.LSTMCell(3, input_size=3), hybrid=True)
    net.hybridize()
    x = X.copy()
    for step in range(4):
        for given in (X, x, X.copy()):
            _, states = cell(given, cell.begin_state(2))
            cell(given, states)
            run(net, True)
        assert len(traces) == 2
        for rows in range(5):
            mx.nd.ones((rows + 1, 7 + step))


def test_a_block_that_changes_at_every_call_is_named():
    block = Counts()
    block.hybridize()

    def run():
        for step in range(50):
            block.step = step
            block(X)

    with pytest.warns(HybridizeWarning, match=r"counts\d+ .* traced anew .* because counts\d+\.step changes") as told:
        run()
    assert len(told) == 1


def test_a_traced_array_of_another_trace_is_a_named_error():
    class Keeps(mx.gluon.HybridBlock):
        state = None

        def hybrid_forward(self, F, x):
            self.state = x if self.state is None else self.state + x
            return self.state * 1

    block = Keeps()
    block.hybridize()
    block(X)
    refused(mx.MXNetError, "used after the block had been traced", block, mx.nd.ones((1, 3)))


def test_a_shallow_copy_is_traced_by_itself(net):
    net.hybridize()
    before = run(net, False)
    other = copy.copy(net)
    other.offset = 5.0
    np.testing.assert_array_equal(run(net, False)[0], before[0])
    assert (run(other, False)[0] != before[0]).all()
