"""The operators of neural networks where the values that MXNet 1.9.1 recorded (``test_ops_golden.py``) say nothing."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import refused, variable

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "neural_ops.json").read_text(encoding="utf-8"))


def namespace():
    names = {"mx": mx, "np": np}
    for line in GOLDEN["setup"]:
        exec(line, names)
    return names


def gradient_of(function, data, head=None, train=True):
    """The value of ``function(data)`` and its gradient for ``data`` (numpy arrays), under a gradient from above."""
    array = variable(mx.nd.array(data, dtype=data.dtype))
    with mx.autograd.record(train_mode=train):
        out = function(array)
    out.backward(None if head is None else mx.nd.array(head, dtype=out.dtype), train_mode=train)
    return out.asnumpy(), array.grad.asnumpy()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axes", [(), (0,), (1,)])
def test_dropout_keeps_its_share_scales_it_and_masks_the_gradient(dtype, axes):
    mx.random.seed(0)
    data = np.ones((300, 200), dtype)
    out, grad = gradient_of(lambda x: mx.nd.Dropout(x, p=0.25, axes=axes), data, np.full(data.shape, 3))
    np.testing.assert_allclose(np.unique(out), [0, 4 / 3], atol=1e-3)
    np.testing.assert_array_equal(grad, out * np.array(3, dtype))
    assert (out == 0).mean() == pytest.approx(0.25, abs=0.02 if not axes else 0.12)
    for axis in axes:
        assert (out.max(axis=axis) == out.min(axis=axis)).all()
    out, grad = gradient_of(lambda x: mx.nd.Dropout(x, p=0.25), data, train=False)
    np.testing.assert_array_equal(out, data)
    np.testing.assert_array_equal(grad, data)


def test_dropout_repeats_with_the_seed_and_always_means_always():
    data = mx.nd.ones((50, 50))
    values = []
    for _ in range(2):
        mx.random.seed(3)
        values.append(mx.nd.Dropout(data, mode="always").asnumpy())
    np.testing.assert_array_equal(*values)
    assert 0 < values[0].mean() < 2
    assert mx.nd.Dropout(data).asnumpy().tolist() == data.asnumpy().tolist()
    np.testing.assert_array_equal(mx.nd.Dropout(data, p=1, mode="always").asnumpy(), 0)


def test_rrelu_draws_slopes_while_training_and_takes_their_mean_otherwise():
    data = np.random.default_rng(0).uniform(-2, 2, (100, 50)).astype(np.float32)
    out, grad = gradient_of(lambda x: mx.nd.LeakyReLU(x, act_type="rrelu", lower_bound=0.2, upper_bound=0.4), data)
    below = data < 0
    slopes = out[below] / data[below]
    assert 0.2 <= slopes.min() < 0.21 < 0.39 < slopes.max() <= 0.4 + 1e-6
    np.testing.assert_allclose(grad[below], slopes, rtol=1e-5)
    np.testing.assert_array_equal(out[~below], data[~below])
    out = mx.nd.LeakyReLU(mx.nd.array(data), act_type="rrelu", lower_bound=0.2, upper_bound=0.4).asnumpy()
    np.testing.assert_allclose(out[below], 0.3 * data[below], rtol=1e-5)


@pytest.mark.parametrize("wanted", ["data", "weight", "bias"])
def test_gradients_that_nobody_wants_are_not_computed(wanted):
    arrays = {"data": mx.nd.ones((4, 3)), "weight": mx.nd.ones((2, 3)), "bias": mx.nd.ones((2,))}
    arrays[wanted].attach_grad()
    with mx.autograd.record():
        made = mx.nd.FullyConnected(**arrays, num_hidden=2)
    with mx.Profiler() as prof:
        made.backward()
    names = [record["name"] for record in prof.records if record["lane"] == "backward"]
    assert ("sum" in names) == (wanted == "bias")
    assert names.count("dot") == (wanted != "bias")


@pytest.mark.parametrize("train", [True, False])
def test_batch_norm_gradient_is_that_of_the_statistics_used(train):
    rng = np.random.default_rng(1)
    data, head = rng.standard_normal((6, 3, 2)), rng.standard_normal((6, 3, 2))
    others = [mx.nd.array(rng.uniform(0.5, 1.5, 3), dtype="float64") for _ in range(4)]

    def norm(x):
        return mx.nd.BatchNorm(x, *[other.copy() for other in others], fix_gamma=False)

    _, grad = gradient_of(norm, data, head, train)
    step = rng.standard_normal(data.shape)
    moved = [gradient_of(norm, data + sign * 1e-6 * step, None, train)[0] for sign in (1, -1)]
    assert (grad * step).sum() == pytest.approx(((moved[0] - moved[1]) * head).sum() / 2e-6, rel=1e-5)


def test_batch_norm_in_half_precision_moves_float32_averages():
    rng = np.random.default_rng(2)
    data = rng.normal(3, 2, (64, 4)).astype(np.float16)
    gamma, beta, mean, var = mx.nd.ones(4), mx.nd.zeros(4), mx.nd.zeros(4), mx.nd.ones(4)
    with mx.autograd.train_mode():
        out = mx.nd.BatchNorm(mx.nd.array(data, dtype="float16"), gamma, beta, mean, var, momentum=0.5)
    assert (out.dtype, mean.dtype) == (np.float16, np.float32)
    wide = data.astype(np.float64)
    np.testing.assert_allclose(mean.asnumpy(), wide.mean(axis=0) / 2, rtol=1e-3)
    np.testing.assert_allclose(var.asnumpy(), 0.5 + wide.var(axis=0) / 2, rtol=1e-3)
    np.testing.assert_allclose(out.asnumpy(), (wide - wide.mean(axis=0)) / np.sqrt(wide.var(axis=0) + 1e-3), atol=5e-3)


def test_large_softmax_keeps_nan_and_infinity_in_their_rows():
    data = np.random.default_rng(4).standard_normal((200, 100)).astype(np.float32)
    data[3, 4], data[5, 6], data[7] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        got = mx.nd.softmax(mx.nd.array(data)).asnumpy()
    assert np.isnan(got[3]).all()
    assert np.isnan(got[5, 6])
    np.testing.assert_allclose(got[[0, 1, 2, 4, 6, 8]].sum(axis=1), 1, rtol=1e-5)


def test_ctc_loss_of_what_no_path_reaches_is_infinite_and_flat():
    data = np.random.default_rng(9).standard_normal((2, 1, 3)).astype(np.float32)
    out, grad = gradient_of(lambda x: mx.nd.ctc_loss(x, mx.nd.array([[1, 1]])), data)
    assert out.tolist() == [np.inf]
    np.testing.assert_array_equal(grad, 0)


@pytest.mark.parametrize("call", [
    "mx.nd.ctc_loss(speech, mx.nd.array([[7, 0], [1, 0]]))",
    "mx.nd.ctc_loss(speech, mx.nd.array([[1, 2], [3, 1]]), mx.nd.array([3, 9]), use_data_lengths=True)",
    "mx.nd.ctc_loss(speech, mx.nd.array([[1, 2], [3, 1]]), mx.nd.array([3, 4]))",
    "mx.nd.softmax_cross_entropy(x, mx.nd.array([0, 1, 2, 5]))", "mx.nd.softmax(x, temperature=0)",
    "mx.nd.FullyConnected(x, fw, fb, num_hidden=2, no_bias=True)", "mx.nd.BatchNorm(x, g5, b5, mean5, var5, eps=-1)",
    "mx.nd.BatchNorm(x, g4, b5, mean5, var5)", "mx.nd.GroupNorm(cube, g3, b3, num_groups=0)", "mx.nd.LRN(image, nsize=0)",
    "mx.nd.Embedding(ids, mx.nd.zeros((0, 3)), input_dim=0, output_dim=3)",
])
def test_refused_by_name_where_mxnet_reads_anything(call):
    refused(mx.SparsekitError, "Hint", lambda: eval(call, namespace()))


@pytest.mark.parametrize("case", GOLDEN["regular"], ids=lambda case: str(case["settings"]))
def test_activations_that_are_kept_sparse(case):
    data, head = (mx.nd.array(case[name]) for name in ("data", "head"))
    average = mx.nd.full((3,), 0.5)
    data.attach_grad()
    for step in case["steps"]:
        with mx.autograd.record():
            value = mx.nd.IdentityAttachKLSparseReg(data, average, **case["settings"])
        value.backward(head)
        for array, name in ((value, "value"), (data.grad, "gradient"), (average, "average")):
            np.testing.assert_allclose(array.asnumpy(), step[name], rtol=1e-5, atol=1e-6)
    before = average.asnumpy()
    mx.nd.IdentityAttachKLSparseReg(data, average)
    assert average.asnumpy().tolist() == before.tolist()  # only training moves it
    refused(mx.ShapeError, "moving_avg", mx.nd.IdentityAttachKLSparseReg, data, mx.nd.ones((2,)))
