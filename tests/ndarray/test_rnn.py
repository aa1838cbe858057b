"""The operator ``RNN`` against its definition step by step; MXNet's values are in ``gluon/test_rnn.py``, of layers."""

import math

import numpy as np
import pytest
from scipy import special

import sparsekit as mx
from sparsekit.kernels.cpu import recurrent
from tests.calls import alike, differentiated, refused
from tests.references import of
from tests.sweeping import OPS

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def wave(*shape, speed=1.0, scale=1.0, dtype="float32"):
    return mx.nd.array((np.sin(np.arange(math.prod(shape)) * speed) * scale).reshape(shape).astype("float32"), dtype=dtype)


def arrays_for(shapes, dtype="float32"):
    return [wave(*shape, speed=speed, scale=scale, dtype=dtype)
            for shape, speed, scale in zip(shapes, (0.7, 1.3, 2.1, 0.3), (1, 0.6, 1, 1), strict=False)]


LSTM = "state_size=3, num_layers=1, mode='lstm'"
REFUSED = [
    f"mx.nd.RNN(x, mx.nd.ones((7,)), h, c, {LSTM})", f"mx.nd.RNN(x, p, h, {LSTM})", f"mx.nd.RNN(x, p, {LSTM})",
    f"mx.nd.RNN(x, p, h, mx.nd.zeros((1, 1, 3)), {LSTM})", f"mx.nd.RNN(x, p, mx.nd.zeros((2, 3, 3)), c, {LSTM})",
    f"mx.nd.RNN(x[0], p, h, c, {LSTM})", f"mx.nd.RNN(x, p.astype('float64'), h, c, {LSTM})",
    "mx.nd.RNN(x, g, h, state_size=3, num_layers=1, mode='sum')", "mx.nd.RNN(x, g, h, state_size=3, num_layers=1)",
    "mx.nd.RNN(x, g, h, num_layers=1, mode='gru')", "mx.nd.RNN(x, g, h, state_size=3, mode='gru')",
    "mx.nd.RNN(x, g, h, c, state_size=3, num_layers=1, mode='gru')",
    "mx.nd.RNN(x, g, h, state_size=3, num_layers=1, mode='gru', projection_size=2)",
    f"mx.nd.RNN(x, p, h, c, p=1.5, {LSTM})", f"mx.nd.RNN(x, p, h, c, p=-1, {LSTM})",
    f"mx.nd.RNN(x.astype('int32'), p.astype('int32'), h.astype('int32'), c.astype('int32'), {LSTM})",
]


@pytest.mark.parametrize("expression", REFUSED)
def test_what_mxnet_refuses_is_refused(expression):
    names = {"x": mx.nd.ones((4, 3, 2)), "h": mx.nd.zeros((1, 3, 3)), "c": mx.nd.zeros((1, 3, 3)), "p": mx.nd.ones((84,)),
             "g": mx.nd.ones((63,)), "mx": mx}
    refused(mx.MXNetError, "Hint", eval, expression, names)


def reference(arrays, attrs, **more):
    """The network in float64, step by step."""
    return of(OPS["RNN"])([array.asnumpy() for array in arrays], OPS["RNN"].bind({**attrs, **more}).attrs)[0]


def problem(mode, layers, both, steps=5, batch=4, inputs=3, hidden=4):
    directions = 1 + both
    count = sum(directions * GATES[mode] * hidden * ((inputs if layer == 0 else hidden * directions) + hidden + 2)
                for layer in range(layers))
    rows = layers * directions
    shapes = [(steps, batch, inputs), (count,), (rows, batch, hidden), *([(rows, batch, hidden)] if mode == "lstm" else [])]
    return arrays_for(shapes, "float64"), {"state_size": hidden, "num_layers": layers, "bidirectional": both, "mode": mode,
                                           "state_outputs": True}


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize(("layers", "both"), [(1, False), (2, True)])
@pytest.mark.parametrize("lengths", [[5, 5, 5, 5], [2, 5, 1, 4], [0, 3, 0, 5]])
def test_lengths_of_sequences(mode, layers, both, lengths):
    arrays, attrs = problem(mode, layers, both)
    arrays.append(mx.nd.array(lengths))
    results = mx.nd.RNN(*arrays, use_sequence_length=True, **attrs)
    alike(results, reference(arrays, attrs, use_sequence_length=True), rtol=1e-12, atol=1e-12)


def test_lengths_by_name_and_wrong_ones():
    arrays, attrs = problem("gru", 1, False)
    lengths = mx.nd.array([2, 5, 1, 4])
    by_place = mx.nd.RNN(*arrays, lengths, use_sequence_length=True, **attrs)
    by_name = mx.nd.RNN(*arrays, sequence_length=lengths, use_sequence_length=True, **attrs)
    np.testing.assert_array_equal(by_place[0].asnumpy(), by_name[0].asnumpy())
    for wrong in (6, -1, float("nan")):
        with pytest.raises(mx.RowIndexError, match="from 0 to 5"):
            mx.nd.RNN(*arrays, mx.nd.array([2, 5, 1, wrong]), use_sequence_length=True, **attrs)


def test_bounds_of_the_cell():
    arrays, attrs = problem("lstm", 2, True)
    bounds = {"lstm_state_clip_min": -0.2, "lstm_state_clip_max": 0.3}
    bounded, expected = mx.nd.RNN(*arrays, **bounds, **attrs), reference(arrays, attrs, **bounds)
    alike(bounded, expected, rtol=1e-12, atol=1e-12)
    assert (np.abs(expected[2]) >= 0.2).any()
    for wrong in ({"lstm_state_clip_min": 0.0}, {"lstm_state_clip_min": 1.0, "lstm_state_clip_max": 0.0}):
        refused(mx.MXNetError, "give both", mx.nd.RNN, *arrays, **wrong, **attrs)


def test_nan_passes_through_the_cell_unless_bounds_stop_it():
    arrays, attrs = problem("lstm", 1, False)
    arrays[0][0, 0] = float("nan")
    bounds = {"lstm_state_clip_min": -0.2, "lstm_state_clip_max": 0.3}
    assert np.isnan(mx.nd.RNN(*arrays, **bounds, **attrs)[2].asnumpy()[0, 0]).all()
    stopped = mx.nd.RNN(*arrays[:2], arrays[2] * 0, arrays[3], lstm_state_clip_nan=True, **bounds, **attrs)
    assert np.isfinite(stopped[2].asnumpy()[0, 1:]).all()


def directional(arrays, attrs, seed=None, size=1e-6, **more):
    """A derivative along one direction: by the gradient, and by differences."""
    def total(moved):
        if seed is not None:
            mx.random.seed(seed)
        return sum((result * weights).sum() for result, weights in zip(mx.nd.RNN(*moved, **attrs, **more), heads, strict=True))

    ways = [wave(*array.shape, speed=3.3 + place, dtype="float64") for place, array in enumerate(arrays)]
    shapes = [result.shape for result in mx.nd.RNN(*arrays, **attrs, **more)]
    heads = [wave(*shape, speed=0.4 + place, dtype="float64") for place, shape in enumerate(shapes)]
    for array in arrays:
        array.attach_grad()
    differentiated(total, arrays)
    got = sum(float((array.grad * way).sum().asscalar()) for array, way in zip(arrays, ways, strict=True))
    with mx.autograd.train_mode():
        above, below = (float(total([array + sign * size * way for array, way in zip(arrays, ways, strict=True)]).asscalar())
                        for sign in (1, -1))
    return got, (above - below) / (2 * size)


@pytest.mark.parametrize("mode", GATES)
def test_gradient_with_dropout_is_that_of_the_same_draw(mode):
    arrays, attrs = problem(mode, 3, True)
    got, expected = directional(arrays, attrs, seed=4, p=0.4)
    assert got == pytest.approx(expected, rel=1e-6)


def test_gradient_with_bounds_and_lengths():
    arrays, attrs = problem("lstm", 2, True)
    got, expected = directional(arrays, attrs, lstm_state_clip_min=-0.2, lstm_state_clip_max=0.3)
    assert got == pytest.approx(expected, rel=1e-6)
    lengths = mx.nd.array([2, 5, 0, 4])
    attrs = {**attrs, "use_sequence_length": True}
    for array in arrays:
        array.attach_grad()
    differentiated(lambda: mx.nd.RNN(*arrays, lengths, **attrs)[0])
    assert (arrays[0].grad.asnumpy()[2:, 0] == 0).all()  # what comes behind a sample's end has no influence
    assert (arrays[0].grad.asnumpy()[:, 2] == 0).all()
    assert (arrays[0].grad.asnumpy()[:, 1] != 0).any(axis=1).all()


def test_dropout_is_between_layers_and_in_training_only():
    arrays, attrs = problem("rnn_tanh", 2, False)
    plain = mx.nd.RNN(*arrays, **attrs)[0].asnumpy()
    np.testing.assert_array_equal(mx.nd.RNN(*arrays, p=0.5, **attrs)[0].asnumpy(), plain)
    with mx.autograd.train_mode():
        assert not np.allclose(mx.nd.RNN(*arrays, p=0.5, **attrs)[0].asnumpy(), plain)
        assert np.isfinite(mx.nd.RNN(*arrays, p=1, **attrs)[0].asnumpy()).all()
        single, attrs = problem("rnn_tanh", 1, False)
        np.testing.assert_array_equal(mx.nd.RNN(*single, p=0.5, **attrs)[0].asnumpy(), mx.nd.RNN(*single, **attrs)[0].asnumpy())


def test_half_precision_computes_in_single():
    arrays, attrs = problem("gru", 1, True)
    half = mx.nd.RNN(*[array.astype("float16") for array in arrays], **attrs)[0]
    assert half.dtype == np.float16
    np.testing.assert_allclose(half.asnumpy(), mx.nd.RNN(*arrays, **attrs)[0].asnumpy(), atol=3e-3)


def test_overwriting_a_result_leaves_the_gradient_alone():
    arrays, attrs = problem("rnn_tanh", 1, False)
    arrays[1].attach_grad()
    gradients = []
    for overwrite in (False, True):
        with mx.autograd.record():
            out = mx.nd.RNN(*arrays, **{**attrs, "state_outputs": False})
        head = mx.nd.ones_like(out)
        if overwrite:
            out._store[...] = 7
        out.backward(head)
        gradients.append(arrays[1].grad.asnumpy())
    np.testing.assert_array_equal(*gradients)


def test_a_second_derivative_says_where_there_is_one():
    arrays, attrs = problem("rnn_tanh", 1, False)
    arrays[1].attach_grad()
    with mx.autograd.record():
        out = mx.nd.RNN(*arrays, **attrs)[0]
        first = mx.autograd.grad(out, [arrays[1]], create_graph=True, retain_graph=True)[0]
    refused(mx.GradientError, "cells", first.backward)


@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_the_fast_functions_are_as_good_as_their_type(name):
    values = np.concatenate([np.linspace(-20, 20, 4001), np.logspace(-8, 2, 500), [-1e30, 1e30, np.inf, -np.inf, 0]])
    for dtype, eps in ((np.float32, 1.2e-7), (np.float64, 2.3e-16)):
        function = getattr(recurrent, f"_{name}")
        got = np.array([function(dtype(value)) for value in values], np.float64)
        rounded = values.astype(dtype).astype(np.float64)
        exact = special.expit(rounded) if name == "sigmoid" else np.tanh(rounded)
        big = exact > 1e-30
        np.testing.assert_allclose(got[big], exact[big], rtol=6 * eps if name == "tanh" else 12 * eps)
        np.testing.assert_allclose(got, exact, atol=2 * eps)
        assert np.isnan(function(dtype("nan")))
