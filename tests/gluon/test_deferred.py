"""Parameters of blocks of one's own learn their shapes from the first input, as in MXNet 1.9.1, hybridized or not."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ShapeError
from sparsekit.gluon import nn
from tests.calls import differentiated, initialized, refused

from .blocks import Computes


class Custom(Computes):
    """Parameters of given shapes, and a function that uses them."""

    def __init__(self, shapes, function, **more):
        super().__init__(function, **more, **{
            name: {"shape": shape, "allow_deferred_init": True} for name, shape in shapes.items()})


X, Y, T = mx.nd.ones((4, 6)), mx.nd.ones((4, 3)), mx.nd.ones((2, 4, 6))


def dense(F, x, weight, **more):
    return F.FullyConnected(x, weight, no_bias=True, num_hidden=5, **more)


#: Shapes of parameters, what is computed, the inputs, and of MXNet 1.9.1: the sum of the result, and the shapes learned.
AS_MXNET = {
    "FullyConnected": ({"weight": (5, 0)}, dense, (X,), 120, [(5, 6)]),
    "no shape": ({"weight": None}, dense, (X,), 120, [(5, 6)]),
    "with bias": ({"weight": (5, 0), "bias": (0,)}, lambda F, x, weight, bias: F.FullyConnected(x, weight, bias, num_hidden=5),
                  (X,), 140, [(5, 6), (5,)]),
    "elemwise_add": ({"weight": (0, 0)}, lambda F, x, weight: F.elemwise_add(x, weight), (X,), 48, [(4, 6)]),
    "+": ({"weight": (0, 0)}, lambda F, x, weight: x + weight, (X,), 48, [(4, 6)]),
    "*": ({"weight": (0, 6)}, lambda F, x, weight: x * weight, (X,), 24, [(4, 6)]),
    "Embedding": ({"weight": (0, 0)}, lambda F, x, weight: F.Embedding(x, weight, input_dim=10, output_dim=4),
                  (mx.nd.array([0, 1, 2]),), 12, [(10, 4)]),
    "LayerNorm": ({"g": (0,), "b": (0,)}, lambda F, x, g, b: F.LayerNorm(x, g, b), (X,), 24, [(6,), (6,)]),
    "two inputs": ({"weight": (5, 0), "v": (5, 0)}, lambda F, x, y, weight, v: dense(F, x, weight) + dense(F, y, v), (X, Y), 180,
                   [(5, 6), (5, 3)]),
    "list": ({"weight": (5, 0)}, lambda F, x, weight: dense(F, F.concat(*x, dim=1), weight), ([X, Y],), 180, [(5, 9)]),
    "through relu": ({"weight": (5, 0)}, lambda F, x, weight: dense(F, F.relu(x), F.relu(weight)), (X,), 120, [(5, 6)]),
    "flatten=False": ({"weight": (5, 0)}, lambda F, x, weight: dense(F, x, weight, flatten=False), (T,), 240, [(5, 6)]),
    "where": ({"weight": (0, 0)}, lambda F, x, weight: F.where(x > 0, x, weight), (X,), 24, [(4, 6)]),
    "None": ({"weight": (5, 0)}, lambda F, x, mask, weight: dense(F, x, weight), (X, None), 120, [(5, 6)]),
    "transpose": ({"weight": (0, 5)}, lambda F, x, weight: dense(F, x, F.transpose(weight)), (X,), 120, [(6, 5)]),
}
#: The same, where MXNet gives up although only one shape is possible.
BEYOND = {
    "dot": ({"weight": (0, 3)}, lambda F, x, weight: F.dot(x, weight), (X,), 72, [(6, 3)]),
    "sparse dot": ({"weight": (0, 3)}, lambda F, x, weight: F.sparse.dot(x, weight), (X.tostype("csr"),), 72, [(6, 3)]),
    "dot turned": ({"weight": (3, 0)}, lambda F, x, weight: F.dot(x, weight, transpose_b=True), (X,), 72, [(3, 6)]),
    "batch_dot": ({"weight": (2, 0, 3)}, lambda F, x, weight: F.batch_dot(x, weight), (T,), 144, [(2, 6, 3)]),
    "prelu": ({"weight": (0,)}, lambda F, x, weight: F.LeakyReLU(x, weight, act_type="prelu"), (X,), 24, [(6,)]),
    "stack": ({"weight": (0, 0)}, lambda F, x, weight: F.stack(x, weight), (X,), 48, [(4, 6)]),
    "a number": ({"weight": (5, 0)}, lambda F, x, k, weight: dense(F, x * k, weight), (X, 2), 240, [(5, 6)]),
    "-1": ({"weight": (5, -1)}, dense, (X,), 120, [(5, 6)]),
}


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", [*AS_MXNET, *BEYOND])
def test_shapes_follow_from_the_first_input(name, hybrid):
    shapes, function, inputs, total, learned = (AS_MXNET | BEYOND)[name]
    block = initialized(Custom(shapes, function), mx.init.One())
    if hybrid:
        block.hybridize()
    out = differentiated(block, *inputs)
    assert float(out.sum().asscalar()) == total
    assert [one.shape for one in block.params.values()] == learned
    assert [one.grad().shape for one in block.params.values()] == learned


@pytest.mark.parametrize("function", [
    lambda F, x, weight: F.broadcast_add(x, weight), lambda F, x, weight: F.broadcast_mul(x, F.expand_dims(weight, axis=0)),
    lambda F, x, weight: x * 2])
def test_shapes_that_do_not_follow_are_named(function):
    block = initialized(Custom({"weight": (0,)}, function, prefix="mine_"))
    refused(ShapeError, r"mine has .* not known, mine_weight.*\n.*override infer_shape", block, X)


def test_a_block_that_does_not_run_on_symbols_says_so():
    block = initialized(Custom({"weight": (0, 3)}, lambda F, x, weight: F.dot(x.reshape((x.shape[0], -1)), weight)))
    refused(ShapeError, r"does not run on symbols: .*shape", block, X)


class Sets(Custom):
    """Tells the shapes itself."""

    def infer_shape(self, x, *args):
        self.weight.shape = (x.shape[1],)


class Outer(mx.gluon.HybridBlock):
    """Waiting parameters of its own beside those of children, one of which it computes with."""

    def __init__(self, **more):
        super().__init__(**more)
        with self.name_scope():
            self.below, self.norm = nn.Dense(7), nn.BatchNorm()
            self.inner = Custom({"weight": (2, 0)}, lambda F, x, weight: F.FullyConnected(x, weight, no_bias=True, num_hidden=2))
            self.scale = self.params.get("scale", shape=(0, 0), allow_deferred_init=True)

    def hybrid_forward(self, F, x, y, scale):
        return self.inner(self.norm(self.below(x)) + scale) + F.sum(y)  # a symbol's + does not broadcast


@pytest.mark.parametrize("hybrid", [False, True])
def test_parameters_of_nested_blocks(hybrid):
    block = initialized(Outer())
    if hybrid:
        block.hybridize()
    assert block(T, Y).shape == (2, 2)
    assert block.scale.shape == (2, 7)
    assert block.below.weight.shape == (7, 24)
    assert block.inner.weight.shape == (2, 7)
    assert block.norm.gamma.shape == (7,)


@pytest.mark.parametrize("hybrid", [False, True])
def test_infer_shape_may_be_overridden(hybrid):
    block = initialized(Sets({"weight": (0,)}, lambda F, x, weight: F.broadcast_add(x, weight)), mx.init.One())
    if hybrid:
        block.hybridize()
    assert block(X).asnumpy().sum() == 48


class Plain(mx.gluon.Block):
    """A block that is not hybrid finishes the initialization itself."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(0,), allow_deferred_init=True)

    def infer_shape(self, x):
        self.weight.shape = (x.shape[1],)

    def forward(self, x):
        try:
            return x * self.weight.data()
        except mx.gluon.DeferredInitializationError:
            self.infer_shape(x)
            self.weight._finish_deferred_init()
            return x * self.weight.data()


def test_a_plain_block_with_infer_shape():
    block = initialized(Plain(), mx.init.One())
    assert block(X).asnumpy().sum() == 24


@mx.init.register
class Drawn(mx.init.Initializer):
    """Computes its values with operators."""

    def _init_weight(self, name, arr):
        arr[:] = mx.nd.arange(arr.size).reshape(arr.shape) * float(mx.nd.array([0.5]).asscalar())


def test_initial_values_made_while_a_block_is_traced_are_no_part_of_the_program():
    block = initialized(Custom({"weight": (5, 0)}, dense), Drawn(), hybrid=True)
    np.testing.assert_array_equal(block(X).asnumpy(), np.ones((4, 6)) @ (np.arange(30).reshape(5, 6) / 2).T)
    block.weight.set_data(mx.nd.ones((5, 6)))
    assert block(X).asnumpy().sum() == 120
