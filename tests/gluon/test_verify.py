"""``TrainStep.verify`` makes the step, and finds what its program has kept from when it was traced."""

import random
import threading

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import gluon
from sparsekit.base.errors import DTypeError, ShapeError, UnsupportedError
from sparsekit.gluon import nn
from tests.calls import initialized, refused, stack

GLOBAL = 1.5


class Reads(gluon.HybridBlock):
    """Reads what leaves no mark."""

    kept = 1.5

    def __init__(self, what):
        super().__init__()
        self.what, self.listed, self.table = what, [1.5], np.ones(3, np.float32)
        self.arrays = [mx.nd.ones((3,))]

    def hybrid_forward(self, F, x):
        if self.what == "table":
            return F.broadcast_mul(x, F.array(self.table))
        if self.what == "operator":
            return F.sin(x) if self.listed[0] == 1.5 else F.cos(x)
        if self.what == "operands":
            return F.elemwise_sub(x, x * 2) if self.listed[0] == 1.5 else F.elemwise_sub(x * 2, x)
        if self.what == "array":
            return F.broadcast_mul(x, self.arrays[0])
        if self.what == "operators":
            return x * 1.0 if self.listed[0] == 1.5 else x * 1.0 + 1.0
        return x * {"list": self.listed[0], "global": GLOBAL, "class": type(self).kept, "drawn": random.random()}[self.what]


def change(block):
    """Change all that it reads."""
    block.listed[0], type(block).kept = 3.5, 5.5
    globals()["GLOBAL"] = 4.5
    block.table[1], block.arrays[0] = 7, mx.nd.ones((3,)) * 4


@pytest.fixture(autouse=True)
def as_before():
    yield
    Reads.kept = 1.5
    globals()["GLOBAL"] = 1.5


def batch(rows=4):
    drawn = np.random.default_rng(3)
    return mx.nd.array(drawn.random((rows, 3))), mx.nd.array(drawn.random((rows, 3)))


def made(*layers, optimizer="sgd", loss=None, **options):
    mx.random.seed(7)
    net = initialized(stack(nn.Dense(3, in_units=3), *layers))
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
    return net, trainer, gluon.TrainStep(net, loss or gluon.loss.L2Loss(), trainer, **options)


REASONS = {
    "list": "computed * with scalar=1.5 when it was traced, and would compute it with scalar=3.5 now",
    "global": "computed * with scalar=1.5 when it was traced, and would compute it with scalar=4.5 now",
    "class": "computed * with scalar=1.5 when it was traced, and would compute it with scalar=5.5 now",
    "table": "an array that it made of Python's numbers when it was traced would have other values now",
    "operator": "computed sin when it was traced, and would compute cos now",
    "operators": "when it was traced", "operands": "when it was traced", "array": "read an array when it was traced",
    "drawn": "when it was traced, and would compute it with scalar=",
}


@pytest.mark.compiled
@pytest.mark.parametrize("what", REASONS)
def test_what_is_kept_is_named(what):
    net, _, step = made(Reads(what))
    for _ in range(4):
        step(*batch())
    if what != "drawn":
        assert step.verify(*batch()).equal
        change(net[1])
    found = step.verify(*batch())
    assert not found.equal
    assert found.differs.startswith("the loss (4 of 4 elements, by up to ")
    assert REASONS[what] in found.reason
    assert repr(found) == f"{found.differs} differs from the plain lines: {found.reason}"
    net.hybridize()
    net[1].what = net[1].what  # a mark: the step is traced again
    if what != "drawn":
        assert step.verify(*batch()).equal


@pytest.mark.compiled
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "ftrl"])
def test_verify_makes_the_step_once(optimizer):
    one, other = made(nn.Dropout(0.5), optimizer=optimizer), made(nn.Dropout(0.5), optimizer=optimizer)
    for number in range(6):
        mx.random.seed(number)
        found = one[2].verify(*batch())
        mx.random.seed(number)
        np.testing.assert_array_equal(found.result.asnumpy(), other[2](*batch()).asnumpy())
        assert found.equal
    for left, right in zip(one[0].collect_params().values(), other[0].collect_params().values(), strict=True):
        np.testing.assert_array_equal(left.data().asnumpy(), right.data().asnumpy())
    assert one[1].optimizer.num_update == other[1].optimizer.num_update == 6


@pytest.mark.compiled
def test_sparse_gradients_and_clipping_are_compared():
    mx.random.seed(1)
    net = initialized(stack(nn.Embedding(50, 4, sparse_grad=True), nn.Dense(1, in_units=8)))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"lazy_update": True})
    step = gluon.TrainStep(net, gluon.loss.L2Loss(), trainer, clip_norm=0.1)
    for number in range(5):
        ids = mx.nd.array(np.random.default_rng(number).integers(0, 50, (6, 2)))
        found = step.verify(ids, mx.nd.ones((6, 1)))
        assert found.equal, found
    assert found.reason == ""
    assert net[0].weight.grad().stype == "row_sparse"


class Plain(gluon.Block):
    """It is not traced."""

    def forward(self, x):
        return x * 2


@pytest.mark.compiled
def test_a_step_that_is_not_compiled_says_so():
    net = initialized(stack(nn.Dense(3, in_units=3), Plain(), kind=nn.Sequential))
    step = gluon.TrainStep(net, gluon.loss.L2Loss(), gluon.Trainer(net.collect_params(), "sgd"))
    found = step.verify(*batch())
    assert found.equal
    assert "overrides forward" in found.reason
    assert repr(found).startswith("equal to the plain lines, bit by bit: plain")


@pytest.mark.compiled
def test_a_hybridized_part_of_a_step_that_is_not_compiled_is_compared_too():
    inner, net = nn.HybridSequential(), nn.Sequential()
    inner.add(Reads("list"))
    net.add(nn.Dense(3, in_units=3), inner, Plain())
    net.initialize()
    inner.hybridize()
    step = gluon.TrainStep(net, gluon.loss.L2Loss(), gluon.Trainer(net.collect_params(), "sgd"))
    assert step.verify(*batch()).equal
    inner[0].listed[0] = 2.0
    assert step.verify(*batch()).differs.startswith("the loss")


def test_what_cannot_be_copied_is_a_named_error_and_nothing_has_been_done():
    net, trainer, step = made()
    net.lock = threading.Lock()
    before = net[0].weight.data().asnumpy()
    refused(UnsupportedError, "cannot be copied: TypeError: cannot pickle", lambda: step.verify(*batch()))
    np.testing.assert_array_equal(net[0].weight.data().asnumpy(), before)
    assert trainer.optimizer.num_update == 0


def test_bad_batches_are_refused_as_by_the_step():
    _, _, step = made()
    refused(DTypeError, "data must be", step.verify, [])
    refused(ShapeError, "no axes", step.verify, mx.nd.array(3.0), mx.nd.ones((1,)))


@pytest.mark.compiled
def test_another_kind_of_batch_is_not_compiled_yet():
    _, _, step = made()
    for _ in range(4):
        step(*batch())
    found = step.verify(*batch(7))
    assert found.equal
    assert found.reason == "the step is compiled when it has run 2 times"


@pytest.mark.compiled
def test_another_number_of_results_is_named():
    class Several(gluon.loss.Loss):
        flags = (False,)

        def __init__(self):
            super().__init__(None, 0)

        def hybrid_forward(self, F, output, label):
            loss = F.mean(F.square(output - label), axis=1)
            return (loss, output) if Several.flags[0] else loss

    _, _, step = made(loss=Several())
    for _ in range(4):
        step(*batch())
    Several.flags = (True,)
    found = step.verify(*batch())
    assert found.differs == "the number of results"
    assert found.reason == "it returned other arrays when it was traced than it would now"
