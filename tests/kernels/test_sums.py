"""Sums of few elements by a compiled kernel: bit for bit those of numpy, in every type, order and size."""

import subprocess
import sys

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.kernels import for_device, why_numpy
from sparsekit.kernels.cpu.sums import FEW, sum_few

pytestmark = pytest.mark.compiled


def bits(array):
    return np.asarray(array).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_size_is_added_up_in_numpys_order(dtype):
    random = np.random.default_rng(0)
    for size in range(FEW + 1):
        for scale in (1.0, 1e30):
            values = (random.standard_normal(size) * scale).astype(dtype)
            assert bits(sum_few(values)) == bits(np.add.reduce(values)), size
            if size % 4 == 0:
                table = values.reshape(4, size // 4)
                assert bits(sum_few(table)) == bits(np.add.reduce(table, axis=None)), size


@pytest.mark.parametrize("values", [[-0.0], [-0.0] * 9, [np.inf, -np.inf], [np.nan] + [1.0] * 20, [1e38] * 12])
def test_zeros_infinities_and_nan(values):
    array = np.array(values, np.float32)
    with np.errstate(all="ignore"):
        expected = np.add.reduce(array)
    assert bits(sum_few(array)) == bits(expected) or (np.isnan(sum_few(array)[0]) and np.isnan(expected))


def test_what_the_kernel_does_not_take_is_left_to_numpy():
    fixed = np.ones((2, 2), np.float32)
    fixed.flags.writeable = False
    for other in (np.ones(FEW + 1, np.float32), np.ones((4, 4), np.float32).T[:, ::2], fixed, np.ones((1, 1, 1), np.float32),
                  np.ones(3, np.int32), np.ones(3, np.float16)):
        assert sum_few(other) is None
        array = mx.nd.array(other, dtype=other.dtype)
        assert bits(array.sum().asnumpy()) == bits(np.add.reduce(other, axis=None, dtype=other.dtype))


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("shape", [(4, 4), (7,), (1, 128), (129,), (2, 3, 4)])
def test_operators_give_the_same_with_and_without_it(name, shape, monkeypatch):
    assert not why_numpy()
    assert for_device("cpu").sum_few is sum_few
    x = mx.nd.array(np.random.default_rng(1).standard_normal(shape), dtype="float32")
    by_kernel = getattr(x, name)().asnumpy()
    monkeypatch.setattr(for_device("cpu"), "sum_few", None)
    assert bits(by_kernel) == bits(getattr(x, name)().asnumpy())
    assert by_kernel.shape == (1,)


def test_a_sum_does_not_import_numba():
    program = "import sys, sparsekit as mx; mx.nd.ones((4, 4)).sum().asnumpy(); assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=400)
