"""Gradients of a csr array that is broadcast to more axes than it can have; values are in ``test_references.py``."""

import itertools
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import StorageFallbackWarning

FUNCTIONS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum, "minimum": np.minimum,
    "power": np.power, "mod": np.mod, "hypot": np.hypot}
MATRIX = np.array([[1, 0, 2], [0, 3, 0]], np.float32)
CUBE = (np.arange(12, dtype=np.float32).reshape(2, 2, 3) + 1) / 3


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("swapped", [False, True], ids=["csr first", "csr second"])
def test_gradients_are_slopes(name, swapped):
    values = [MATRIX + 0.25, CUBE + 0.11]
    def total(*given):
        return FUNCTIONS[name](*(given[::-1] if swapped else given)).sum()

    for place in (0, 1):
        arrays = [mx.nd.array(value, dtype="float64") for value in values]
        arrays[0] = arrays[0].tostype("csr")
        for array in arrays:
            array.attach_grad()
        with mx.autograd.record(), warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageFallbackWarning)
            made = getattr(mx.nd, f"broadcast_{name}")(*(arrays[::-1] if swapped else arrays))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageFallbackWarning)
            made.backward()
        wanted = np.zeros(values[place].shape)
        for at in itertools.product(*map(range, wanted.shape)):
            moved = [[value.astype(np.float64) for value in values] for _ in range(2)]
            moved[0][place][at] += 1e-6
            moved[1][place][at] -= 1e-6
            wanted[at] = (total(*moved[0]) - total(*moved[1])) / 2e-6
        np.testing.assert_allclose(arrays[place].grad.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
