"""An operator that is declared step by step, with calls between the steps."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import GradientError, StorageFallbackWarning
from sparsekit.core import infer
from sparsekit.core.op import Op, registry
from sparsekit.ops import samples
from sparsekit.ops.elementwise.unary import on_data


@pytest.fixture
def twice():
    """An operator with a row for dense arrays; it is gone after the test."""
    op = Op("_declared_in_a_test", "data", shape=infer.unchanged, sample=samples.one(), doc="Twice.")
    op.forward("default -> default")(lambda k, x, attrs: 2 * x)
    yield op
    del registry[op.name]
    vars(mx.nd._F).pop(op.name, None)


def call(array):
    return getattr(mx.nd._F, "_declared_in_a_test")(array)  # noqa: B009 - a plain name would be mangled


def test_a_row_declared_after_a_call_is_used_by_the_next(twice):
    x = mx.nd.sparse.csr_matrix([[0.0, 3.0]])
    with pytest.warns(StorageFallbackWarning):
        assert call(x).stype == "default"
    twice.forward("csr -> csr")(lambda k, x, attrs: on_data(x, 2 * x.data))
    assert call(x).stype == "csr"
    assert call(x).asnumpy().tolist() == [[0.0, 6.0]]


def test_a_gradient_declared_after_a_call_is_used_by_the_next(twice):
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with pytest.raises(GradientError), mx.autograd.record():
        call(x).backward()
    twice.gradient(lambda F, g, _data, _out, attrs, want: 2 * g)
    with mx.autograd.record():
        y = call(x)
    y.backward()
    assert np.array_equal(x.grad.asnumpy(), [2.0, 2.0])


def test_the_name_out_is_kept_for_the_buffer(twice):
    with pytest.raises(mx.SparsekitError, match="input named 'out'"):
        twice.forward("csr -> csr")(lambda k, out, attrs: out)
    twice.forward("csr -> csr")(lambda k, x, attrs, out=None: x)
    result, label = mx.nd.ones((1, 1)), mx.nd.zeros((1,))
    made = mx.nd.ones((1, 1))
    mx.nd._internal._softmax_output_backward(result, label, out=made)
    assert made.asscalar() == 0


def test_a_negative_zero_is_not_taken_for_zero():
    """As a key of a dictionary it equals zero, and calls are remembered by their attributes."""
    one = mx.nd.ones((1,))
    for zero in (0.0, -0.0, 0, -0.0, 0.0):
        sign = np.copysign(1, np.float64(zero))
        assert np.copysign(1, mx.nd.full((1,), zero).asnumpy()) == sign
        assert (one / zero).asnumpy() == sign * np.inf
        assert mx.nd.broadcast_div(one, mx.nd.full((1,), zero)).asnumpy() == sign * np.inf
        with np.errstate(divide="ignore"):
            assert mx.nd._internal._rdiv_scalar(mx.nd.full((1,), zero), scalar=1).asnumpy() == sign * np.inf
