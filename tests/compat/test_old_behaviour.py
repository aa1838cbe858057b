"""What programs written for MXNet rely on, kind by kind; expected values are those of MXNet 1.9.1."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import nd, sym


@pytest.mark.parametrize(("shape", "settings", "expected"), [
    ((2, 3), {"target_shape": (3, 2)}, (3, 2)),
    ((2, 3), {"target_shape": (0, 6)}, (1, 6)),
    ((2, 3, 4), {"target_shape": (2, 0), "keep_highest": True}, (2, 12)),
    ((2, 3, 4), {"target_shape": (9, 0, 3), "keep_highest": True}, (2, 4, 3)),
    ((2, 3), {"shape": (6,), "target_shape": (3, 2)}, (6,)),
])
def test_reshape_as_programs_of_2015_call_it(shape, settings, expected):
    values = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    np.testing.assert_array_equal(nd.Reshape(nd.array(values), **settings).asnumpy(), values.reshape(expected))
    made = sym.Reshape(sym.var("a"), **settings)
    assert sym.load_json(made.tojson()).infer_shape(a=shape)[1] == [expected]
    executor = made.simple_bind(mx.cpu(), a=shape)
    executor.forward(is_train=True, a=nd.array(values))
    executor.backward(nd.ones(expected))
    np.testing.assert_array_equal(executor.grad_arrays[0].asnumpy(), np.ones(shape))


def test_reshape_needs_one_of_its_shapes():
    with pytest.raises(mx.MXNetError, match="needs the argument 'shape'"):
        nd.Reshape(nd.ones((2,)))


@pytest.mark.parametrize(("make", "shape", "factor"), [
    (lambda a: sym.repeat(a, repeats=2, axis=1), (2, 6), 2), (lambda a: sym.tile(a, reps=(2, 3)), (4, 9), 6),
    (lambda a: 3 * a, (2, 3), 3), (lambda a: sym.flip(a, axis=0), (2, 3), 1)])
def test_backward_of_a_bound_graph_makes_the_forward_pass_itself(make, shape, factor):
    executor = make(sym.var("a")).simple_bind(mx.cpu(), a=(2, 3))
    executor.backward([nd.ones(shape)])
    np.testing.assert_array_equal(executor.grad_arrays[0].asnumpy(), np.full((2, 3), factor))


def test_numbers_of_device_types():
    found = {name: mx.Context(name, 1).device_typeid for name in ("cpu", "gpu", "cpu_pinned", "cpu_shared")}
    assert found == {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 5}


@pytest.mark.parametrize("places", [(3, 0), (-4, 0), (0, 5), ([0, 0], [0, 1]), ([0, 1], [1, 1]), ([0, 1], [-2, 1]), (0, [0, 1])])
def test_moveaxis_refuses_places_that_do_not_fit(places):
    with pytest.raises(mx.MXNetError):
        nd.moveaxis(nd.ones((1, 2, 3)), *places)
