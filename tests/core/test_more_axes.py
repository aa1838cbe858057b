"""A csr array broadcast to more axes than it can have: the result is dense, as MXNet's, and is so inferred."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import StorageFallbackWarning
from sparsekit.core.op import registry

FUNCTIONS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum, "minimum": np.minimum,
    "power": np.power, "mod": lambda a, b: np.where(b == 0, 0, np.mod(a, b)), "hypot": np.hypot, "equal": np.equal,
    "not_equal": np.not_equal, "greater": np.greater, "greater_equal": np.greater_equal, "lesser": np.less,
    "lesser_equal": np.less_equal, "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
MATRIX = np.array([[1, 0, 2], [0, 3, 0]], np.float32)
CUBE = (np.arange(12, dtype=np.float32).reshape(2, 2, 3) + 1) / 3


def test_every_broadcasting_operator_is_here():
    names = {name.removeprefix("broadcast_") for name, op in registry.items() if name == op.name and len(op.inputs) == 2
             and name.startswith("broadcast_") and not name.endswith("_like")}
    assert names == FUNCTIONS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("other", ["default", "row_sparse"])
@pytest.mark.parametrize("swapped", [False, True], ids=["csr first", "csr second"])
def test_the_result_is_dense_in_every_way_of_running(name, other, swapped):
    values = (CUBE, MATRIX) if swapped else (MATRIX, CUBE)
    stypes = (other, "csr") if swapped else ("csr", other)
    arrays = [mx.nd.array(value).tostype(stype) for value, stype in zip(values, stypes, strict=True)]
    symbol = getattr(mx.sym, f"broadcast_{name}")(mx.sym.var("a"), mx.sym.var("b"))
    net = mx.gluon.nn.HybridLambda(f"broadcast_{name}")
    net.hybridize()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        wanted = FUNCTIONS[name](*values)
        executor = symbol.bind(mx.cpu(), dict(zip("ab", arrays, strict=True)))
        found = [getattr(mx.nd, f"broadcast_{name}")(*arrays), net(*arrays), net(*arrays), executor.forward()[0]]
    for made in found:
        assert made.stype == "default"
        np.testing.assert_allclose(made.asnumpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum", "power", "mod", "hypot"])
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
