"""``out`` and ``name`` behind the operator's own arguments, as MXNet's functions take them: every operator of the registry."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import nd, sym
from sparsekit.core.dispatch import invoke
from sparsekit.core.function import make_function
from sparsekit.core.op import REQUIRED
from tests.core.test_sweep import RANDOM
from tests.sweeping import OPS, listed

SEEDED = {"sgld_update"}


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.StorageFallbackWarning")
@pytest.mark.parametrize("name", sorted(name for name, op in OPS.items() if not op.variadic and name not in RANDOM | SEEDED))
def test_out_is_taken_behind_the_own_arguments(name):
    op = OPS[name]
    for arrays, attrs in op.sample():
        settings = {key: attrs.get(key, default) for key, default in op.attrs.items()}
        if REQUIRED in settings.values() or len(arrays) < op.needed:
            continue
        function = make_function(op, invoke, "tests")
        inputs = [nd.array(array, dtype=array.dtype) for array in arrays]
        expected = listed(function(*[x.copy() for x in inputs], **attrs))
        if len(expected) > 1:
            continue
        out = nd.zeros(expected[0].shape, dtype=expected[0].dtype)
        padded = [*inputs, *[None] * (len(op.inputs) - len(inputs))]
        assert function(*padded, *settings.values(), out, "a name") is out
        np.testing.assert_allclose(out.asnumpy(), expected[0].asnumpy(), rtol=1e-6)


def test_programs_of_mxnet():
    x, out = nd.array([1, 4, 9]), nd.zeros((3,))
    assert nd.sqrt(x, out) is out
    assert out.asnumpy().tolist() == [1, 2, 3]
    assert nd.clip(x, 2, 5, out, "clipped") is out
    assert out.asnumpy().tolist() == [2, 4, 5]
    assert nd.shuffle(x, x) is x
    assert sorted(x.asnumpy()) == [1, 4, 9]
    weight = nd.ones((3,))
    assert nd.signsgd_update(weight, x, 0.5, 0, 1, -1, weight) is weight  # MXNet's has no lazy_update
    assert weight.asnumpy().tolist() == [0.5] * 3
    four, root = nd.array([[4]]), nd.zeros((1, 1))
    assert nd.linalg.potrf(four, root) is root  # nor MXNet's a lower, which it takes by name
    assert root.asscalar() == 2
    a, b = sym.var("a"), sym.var("b")
    assert sym.linalg.potrf(a, "p").name == "p"
    assert sym.exp(a, "e").name == "e"
    assert sym.clip(a, 0, 1, "c", {"__x__": "1"}).attr_dict()["c"]["__x__"] == "1"
    assert sym.dot(a, b, False, True, None, "d").name == "d"
    with pytest.raises(mx.MXNetError, match="'out' twice"):
        nd.sqrt(x, out, out=x)
    with pytest.raises(mx.MXNetError, match="at most"):
        nd.sqrt(x, None, None, 3)
