"""Recording, backward passes, and what becomes of the graph."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd
from sparsekit.core import infer
from sparsekit.core.dispatch import invoke
from sparsekit.core.op import Op, registry


def variable(values, **options):
    array = mx.nd.array(values)
    array.attach_grad(**options)
    return array


def test_a_large_buffer_is_written_in_place():
    x = variable(np.ones((300, 300)))
    buffer = x.grad._store
    with autograd.record():
        y = mx.nd.dot(mx.nd.ones((2, 300)), x)
    y.backward()
    assert x.grad._store is buffer
    assert (buffer == 2).all()


def test_a_second_backward_needs_retain_graph():
    x = variable([3.0])
    with autograd.record():
        y = x * x
    with pytest.raises(mx.ShapeError, match="head"):
        y.backward(mx.nd.ones((3,)))
    y.backward()
    with pytest.raises(mx.GradientError, match="retain_graph"):
        y.backward()


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_the_buffer_decides_the_storage_type_of_a_gradient(stype):
    data = mx.nd.array([[0, 2, 0], [0, 0, 3]]).tostype("csr")
    weight = mx.nd.ones((3, 2))
    weight.attach_grad(stype=stype)
    with autograd.record():
        out = mx.nd.sparse.dot(data, weight)
    out.backward()
    assert weight.grad.stype == stype
    assert weight.grad.asnumpy().tolist() == [[0, 0], [2, 2], [3, 3]]
    if stype == "row_sparse":
        assert weight.grad.indices.asnumpy().tolist() == [1, 2]


def test_the_graph_is_gone_with_its_last_result():
    gc.disable()
    try:
        x = variable(np.ones((4, 4)))
        with autograd.record():
            middle = mx.nd.exp(x)
            y = (middle * middle).sum()
        seen = weakref.ref(middle._store)
        del middle
        y.backward()
        del y
        assert seen() is None
    finally:
        gc.enable()


def test_grad_computes_only_what_leads_to_the_variables():
    x, w = variable([1.0, 2.0]), variable(np.ones((3, 2)))
    with autograd.record():
        y = mx.nd.dot(w, x)
    with mx.Profiler() as prof:
        found = autograd.grad(y, [x], retain_graph=True)
    assert [record["name"] for record in prof.records if record["lane"] == "backward"] == ["_dot_right_gradient"]
    assert found[0].asnumpy().tolist() == [3.0, 3.0]
    assert w.grad.asnumpy().tolist() == np.zeros((3, 2)).tolist()


def test_grad_of_something_computed_on_the_way():
    x = variable([1.0, 2.0])
    with autograd.record():
        y = x * 3
        z = y * y
    assert autograd.grad(z, y)[0].asnumpy().tolist() == [6.0, 12.0]


def test_a_missing_gradient_names_operator_storage_types_and_a_way_out():
    op = Op("_without_gradient", "data", shape=infer.unchanged, sample=list, doc="", gradient_hint="use square")
    op.forward("* -> default")(lambda k, x, attrs: np.ones(x.shape, np.float32))
    try:
        x = mx.nd.ones((2, 2)).tostype("row_sparse")
        x.attach_grad()
        with autograd.record():
            y = invoke(op.bind({}), (x,))
        with pytest.raises(mx.GradientError, match=r"without_gradient.*data \(row_sparse\)") as caught:
            y.backward()
        assert "use square" in str(caught.value)
    finally:
        del registry["_without_gradient"]


def test_a_sparse_head_starts_from_ones_everywhere_and_not_beyond_the_limit(monkeypatch):
    x = mx.nd.sparse.csr_matrix(([2.0], [1], [0, 1, 1]), shape=(2, 3))
    x.attach_grad(stype="default")
    with autograd.record():
        y = x * 2
    y.backward(retain_graph=True)
    assert x.grad.asnumpy().tolist() == [[2.0] * 3] * 2
    monkeypatch.setattr(mx.config, "densify_limit", 20)
    with pytest.raises(mx.DensificationError, match="out_grad"):
        y.backward()


def test_recording_is_of_the_calling_thread():
    seen = []
    with autograd.record():
        thread = threading.Thread(target=lambda: seen.append((autograd.is_recording(), autograd.is_training())))
        thread.start()
        thread.join()
    assert seen == [(False, False)]


class GivesNumpy(mx.autograd.Function):
    def forward(self, x):
        return x * 2

    def backward(self, dy):
        return np.ones(dy.shape)


@pytest.mark.parametrize(("act", "message"), [
    (lambda x, y: y.backward(np.ones((2, 3))), "head gradient is a ndarray"),
    (lambda x, y: mx.autograd.backward([np.ones(2)]), "A head is a ndarray"),
    (lambda x, y: mx.autograd.grad(y, [x], [[1.0]]), "head gradient is a list"),
    (lambda x, y: mx.autograd.grad(y, [np.ones(2)]), "variable is a ndarray"),
    (lambda x, y: mx.autograd.mark_variables([x], [np.ones((2, 3))]), "gradient buffer is a ndarray"),
    (lambda x, y: GivesNumpy()(np.ones(2)), "input of GivesNumpy is a ndarray")])
def test_what_is_no_array_is_named_before_anything_is_computed(act, message):
    x = variable(np.ones((2, 3)))
    with mx.autograd.record():
        y = x * 2
    with pytest.raises(mx.DTypeError, match=message):
        act(x, y)
    y.backward()
    assert (x.grad.asnumpy() == 2).all()


def test_a_function_that_gives_a_numpy_gradient_is_named():
    x = variable(np.ones((2, 3)))
    with mx.autograd.record():
        y = GivesNumpy()(x)
    with pytest.raises(mx.GradientError, match="GivesNumpy returned a ndarray"):
        y.backward()


WHOLE = {
    "y = mx.nd.zeros(2); y[:] = x * 2", "y = mx.nd.zeros(2); y[...] = x * 2", "y = mx.nd.zeros(2); (x * 2).copyto(y)",
    "y = mx.nd.zeros(2, dtype='float64'); (x * 2).copyto(y)", "y = mx.nd.zeros(2, mx.cpu(1)); (x * 2).copyto(y)",
    "y = mx.nd.sparse.zeros('row_sparse', (2, 1)); (x * 2).reshape((2, 1)).tostype('row_sparse').copyto(y)",
    "y = mx.nd.sparse.zeros('row_sparse', (2, 1)); y[:] = (x * 2).reshape((2, 1)).tostype('row_sparse')",
    "y = mx.nd.zeros((2, 1)); y[:] = (x * 2).reshape((2, 1)).tostype('row_sparse')",
}


@pytest.mark.parametrize("code", sorted(WHOLE))
def test_values_taken_over_keep_their_gradient(code):
    """As in MXNet 1.9.1: an array that is given a recorded one's values has its place in the graph."""
    names = {"mx": mx, "x": variable([1, 2])}
    with mx.autograd.record():
        exec(code, names)
        total = names["y"] * 3
    assert total.asnumpy().ravel().tolist() == [6, 12]
    total.backward()
    assert names["x"].grad.asnumpy().tolist() == [6, 6]


@pytest.mark.parametrize("code", [
    "y = mx.nd.zeros(2); y[0] = (x * 2)[0]", "y = mx.nd.zeros(2); y[0:1] = (x * 2)[0:1]", "y = mx.nd.zeros(2); y += x",
    "y = x * 1; (x * 2).copyto(y)", "y = x * 1; y[:] = x * 2", "y = x * 1; mx.nd.ones(2).copyto(y)", "(x * 2).copyto(x)",
    "y = x * 1; y[0] = 5", "y = x * 1; y += x", "y = mx.nd.zeros((3, 2)); y[:] = x * 2", "y = mx.nd.ones(2); y *= x",
    "y = mx.nd.sparse.zeros('csr', (1, 2)); y += x.reshape((1, 2)).tostype('csr')", "x += 1", "x[:] = 2",
])
def test_gradients_are_not_lost_in_silence(code):
    """MXNet 1.9.1 refuses these, too."""
    names = {"mx": mx, "x": variable([1, 2])}
    with mx.autograd.record(), pytest.raises(mx.GradientError, match=r"(when|while) recording|its gradient") as caught:
        exec(code, names)
    assert "Hint:" in str(caught.value)
