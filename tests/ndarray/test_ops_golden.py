"""The operators of the tutorials against MXNet 1.9.1: values, dtypes, storage types, gradients and refusals."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "ops.json").read_text(encoding="utf-8"))

#: Where MXNet 1.9.1 raises and this library gives the answer that was meant.
BETTER = {
    "c[2:2]": (0, 5),
    "float(x[0, 0])": 1.0,
    "int(i[1, 2])": 6,
}


def name(case):
    return case["expression"] + (" by " + " ".join(case["variables"]) if "variables" in case else "")


def namespace():
    names = {"mx": mx, "np": np}
    for line in GOLDEN["setup"]:
        exec(line, names)
    return names


@pytest.fixture(autouse=True)
def fallbacks_allowed():
    """Many expressions are computed by the dense fallback, which warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mx.base.StorageFallbackWarning)
        yield


def numbers(value, dtype):
    return np.array(value, dtype=np.float64 if dtype.startswith("float") else dtype)


def check(result, expected):
    """Compare with a recorded result: arrays by value, dtype and storage; the rest by equality."""
    if expected["kind"] in ("list", "tuple") and "items" in expected:
        assert len(result) == len(expected["items"])
        for item, recorded in zip(result, expected["items"], strict=True):
            check(item, recorded)
    elif "stype" not in expected:
        assert result == expected["value"] or repr(result) == expected["value"] or result != result
    else:
        assert type(result).__name__ == expected["kind"]
        assert result.stype == expected["stype"]
        assert np.dtype(result.dtype).name == expected["dtype"]
        assert result.shape == tuple(expected["shape"])
        tolerance = 1e-3 if expected["dtype"] == "float16" else 2e-6
        value = numbers(expected["value"], expected["dtype"])
        np.testing.assert_allclose(result.asnumpy(), value, rtol=tolerance, atol=tolerance)
        for component in ("indices", "indptr"):
            if component in expected:
                assert getattr(result, component).asnumpy().tolist() == expected[component]


def of_kind(refused, differentiated):
    return [
        pytest.param(case, id=name(case))
        for case in GOLDEN["cases"]
        if ("error" in case["result"]) == refused and ("gradients" in case) == differentiated
    ]


@pytest.mark.parametrize("case", of_kind(refused=False, differentiated=False))
def test_expression_has_the_value_of_mxnet(case):
    check(eval(case["expression"], namespace()), case["result"])


@pytest.mark.parametrize("case", of_kind(refused=False, differentiated=True))
def test_expression_has_the_gradients_of_mxnet(case):
    names = namespace()
    for variable in case["variables"]:
        names[variable].attach_grad()
    with mx.autograd.record():
        out = eval(case["expression"], names)
        total = out.sum()
    total.backward()
    check(out, case["result"])
    for variable, expected in zip(case["variables"], case["gradients"], strict=True):
        check(names[variable].grad, expected)


@pytest.mark.parametrize("case", of_kind(refused=True, differentiated=False))
def test_expression_that_mxnet_refuses_is_refused_or_right(case):
    expression = case["expression"]
    if expression in BETTER:
        result = eval(expression, namespace())
        assert getattr(result, "shape", result) == BETTER[expression]
        return
    with pytest.raises(
        (mx.MXNetError, ValueError, TypeError, AttributeError, IndexError, NotImplementedError)
    ) as caught:
        eval(expression, namespace())
    assert str(caught.value)
