"""Compiled sigmoid, GELU and gradients of softmax and layer normalization against float64, and as large operators."""

import numpy as np
import pytest
from scipy.special import expit, ndtr

import sparsekit as mx
from sparsekit.kernels import for_device

K = for_device("cpu")


def random(*shape, seed=0, scale=3.0):
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)


@np.errstate(over="ignore", invalid="ignore")  # as operators call kernels
def test_sigmoid_everywhere():
    x = np.concatenate([np.linspace(-86, 90, 300_001), [0.0, -0.0, 1e-30, -1e-30]]).astype(np.float32)
    out = np.empty_like(x)
    K.sigmoid(x, out)
    np.testing.assert_allclose(out, expit(x.astype(float)), rtol=2.5e-7)
    assert (np.diff(out[:300_001]) >= 0).all()
    odd = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32)
    K.sigmoid(odd, out[:5])
    np.testing.assert_array_equal(out[:5], [np.nan, 1, 0, 1, 0])


@np.errstate(invalid="ignore")
@pytest.mark.parametrize("size", [0, 1, 7, 1000, 600_000])
def test_the_slope_of_relu_is_a_product(size):
    odd = np.array([0, -0.0, 1, -1, np.nan, np.inf, -np.inf], np.float32)
    above, made = random(size), random(size, seed=1)
    if size >= 1000:
        above[:49], made[:49] = np.repeat(odd, 7), np.tile(odd, 7)
    out = np.empty_like(above)
    K.relu_slope(above, made, out)
    expected = np.where(np.isnan(made), made, above * (made > 0))
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))


@pytest.mark.parametrize("size", [1, 7, 1000, 300_000])
def test_sigmoid_of_a_part_is_the_part_of_the_sigmoid(size):
    """Vectors, what is left of them, and pieces for threads give the same bits."""
    x = random(size)
    out, one = np.empty_like(x), np.empty(1, np.float32)
    K.sigmoid(x, out)
    for place in {*range(0, size, max(1, size // 50)), size - 1}:
        K.sigmoid(x[place: place + 1], one)
        assert one[0] == out[place]


@np.errstate(over="ignore", invalid="ignore")  # as operators call kernels
def test_gelu_everywhere():
    x = np.concatenate([np.linspace(-14, 14, 300_001), [0.0, -0.0, 1e-30, -1e-30, 50, -50, 3e38]]).astype(np.float32)
    wide, out = x.astype(float), np.empty_like(x)
    K.gelu(x, out)
    np.testing.assert_allclose(out, wide * ndtr(wide), rtol=2e-6, atol=5e-7)
    with np.errstate(over="ignore", under="ignore"):
        bell = np.exp(-wide * wide / 2) / np.sqrt(2 * np.pi)
    K.gelu_backward(np.full_like(x, 2), x, out)
    np.testing.assert_allclose(out, 2 * (ndtr(wide) + wide * bell), rtol=2e-6, atol=1e-6)
    odd = np.array([np.nan, np.inf], np.float32)
    K.gelu(odd, out[:2])
    assert np.isnan(out[0])
    assert out[1] == np.inf


OPERATORS = {
    "softmax": lambda x: mx.nd.softmax(x), "softmax, scaled": lambda x: mx.nd.softmax(x, temperature=2.0),
    "softmin": lambda x: mx.nd.softmin(x), "log_softmax": lambda x: mx.nd.log_softmax(x),
    "softmax of three axes": lambda x: mx.nd.softmax(x.reshape((10, 20, -1))).reshape((200, -1)),
    "gelu": lambda x: mx.nd.LeakyReLU(x, act_type="gelu"), "softmax, axis 0": lambda x: mx.nd.softmax(x, axis=0),
    "LayerNorm": lambda x: mx.nd.LayerNorm(x, mx.nd.ones((120,), dtype=x.dtype), mx.nd.zeros((120,), dtype=x.dtype)),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_gradients_of_large_arrays_are_those_of_float64(name, grad_req):
    found = []
    for dtype in ("float32", "float64"):
        x, head = (mx.nd.array(random(200, 120, seed=seed), dtype=dtype) for seed in (0, 1))
        x.attach_grad(grad_req)
        for _ in range(2):
            with mx.autograd.record():
                y = OPERATORS[name](x)
            y.backward(head)
        found += [y.asnumpy(), x.grad.asnumpy()]
    np.testing.assert_allclose(found[0], found[2], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], found[3], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "LayerNorm"])
def test_second_gradients_of_large_arrays_are_those_of_float64(name):
    found = []
    for dtype in ("float32", "float64"):
        x, head, way = (mx.nd.array(random(200, 120, seed=seed, scale=1.0), dtype=dtype) for seed in range(3))
        x.attach_grad()
        with mx.autograd.record():
            inner = mx.autograd.grad(OPERATORS[name](x), [x], [head], create_graph=True, retain_graph=True)[0]
        inner.backward(way)
        found.append(x.grad.asnumpy())
    assert np.abs(found[1]).max() > 1e-3
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-4)


def test_working_memory_is_as_long_as_asked_for():
    from sparsekit.kernels.cpu.jit import scratch

    for words in (10, 1024, 5000, 20):
        assert scratch("a test's", words).shape[0] >= words
    assert scratch("a test's", 20) is scratch("a test's", 4000)  # what a thread has kept
