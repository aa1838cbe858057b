"""Gradients of a csr array that is broadcast to more axes than it can have; values are in ``test_references.py``."""

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import differentiated, variable
from tests.references import derivative

FUNCTIONS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum, "minimum": np.minimum,
    "power": np.power, "mod": np.mod, "hypot": np.hypot}
MATRIX = np.array([[1, 0, 2], [0, 3, 0]]) + 0.25
CUBE = (np.arange(12).reshape(2, 2, 3) + 1) / 3 + 0.11


@pytest.mark.filterwarnings("ignore::sparsekit.StorageFallbackWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("values", [(MATRIX, CUBE), (CUBE, MATRIX)], ids=["csr first", "csr second"])
def test_gradients_are_slopes(name, values):
    arrays = [mx.nd.array(value, dtype="float64").tostype("csr" if value is MATRIX else "default") for value in values]
    differentiated(getattr(mx.nd, f"broadcast_{name}"), *map(variable, arrays))
    for place, array in enumerate(arrays):
        wanted = derivative(FUNCTIONS[name], values, place, np.ones(CUBE.shape))
        np.testing.assert_allclose(array.grad.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
