"""The operators of neural networks against MXNet 1.9.1: values, types, gradients, moving averages and refusals."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "neural_ops.json").read_text(encoding="utf-8"))

#: Where MXNet 1.9.1 raises and this library computes what was meant.
BETTER = {
    "mx.nd.FullyConnected(half(x), half(fw), half(fb), num_hidden=2)",
}

#: Where the gradient differs on purpose, and what is right instead.
DELIBERATE = {
    "mx.nd.SoftmaxOutput(x, label, out_grad=True)": "MXNet multiplies by the output, not by the gradient from above",
    "mx.nd.SoftmaxOutput(cube, places, multi_output=True, smooth_alpha=0.1)": "MXNet leaves smooth_alpha out",
    "mx.nd.LeakyReLU(x, act_type='selu')": "MXNet's slope is scale * (out + alpha), and should be out + scale * alpha",
    "mx.nd.SoftmaxActivation(cube)": "MXNet's gradient takes a sample for one softmax, its value each last axis",
}

#: Good to so much only: MXNet sums float32 in one go, and halves in halves.
LOOSE = {"float16": 2e-3, "float32": 2e-5, "float64": 2e-5, "int32": 0, "int64": 0, "uint8": 0}

REFUSALS = (mx.MXNetError, ValueError, TypeError, AttributeError, IndexError)


def namespace():
    names = {"mx": mx, "np": np}
    for line in GOLDEN["setup"]:
        exec(line, names)
    return names


@pytest.fixture(autouse=True)
def fallbacks_allowed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mx.base.StorageFallbackWarning)
        yield


def check(result, expected, expression=""):
    """Compare with a recorded result: arrays by value, type and storage; the rest by equality."""
    if "items" in expected:
        assert len(result) == len(expected["items"])
        for item, recorded in zip(result, expected["items"], strict=True):
            check(item, recorded)
    elif expected["kind"] == "type":
        assert f"<class 'numpy.{np.dtype(result).name}'>" == expected["value"]
    elif "stype" not in expected:
        assert (list(result) if isinstance(result, tuple) else result) == value_of(expected)
    else:
        found = (type(result).__name__, result.stype, np.dtype(result.dtype).name, result.shape)
        assert found == (expected["kind"], expected["stype"], expected["dtype"], tuple(expected["shape"]))
        tolerance = LOOSE["float16" if "half(" in expression else expected["dtype"]]
        value = np.array(expected["value"], np.float64).reshape(expected["shape"])
        np.testing.assert_allclose(result.asnumpy(), value, rtol=tolerance, atol=tolerance)


def value_of(expected):
    if "items" in expected:
        return [value_of(item) for item in expected["items"]]
    return expected["value"]


def of_kind(kind):
    return [pytest.param(case, id=case["expression"]) for case in GOLDEN["cases"] if kind(case)]


def refused(case):
    return "error" in case["result"] and case["expression"] not in BETTER


def differentiated(case):
    return bool(case.get("gradients"))


@pytest.mark.parametrize("case", of_kind(lambda case: "error" not in case["result"] and not differentiated(case)))
def test_value_is_mxnets(case):
    result = eval(case["expression"], namespace())
    expected = case["result"]
    if expected.get("kind") == "tuple":  # a shape
        assert list(result) == [item["value"] for item in expected["items"]]
    else:
        check(result, expected, case["expression"])


@pytest.mark.parametrize("case", of_kind(differentiated))
def test_value_gradients_and_states_are_mxnets(case):
    names = namespace()
    for name in case["variables"]:
        names[name].attach_grad()
    with mx.autograd.record():
        out = eval(case["expression"], names)
    outs = out if isinstance(out, list) else [out]
    mx.autograd.backward(outs, [names["head"](array) for array in outs])
    check(out, case["result"], case["expression"])
    for name, expected in zip(case["states"], case["after"], strict=True):
        check(names[name], expected)
    if case["expression"] in DELIBERATE:
        with pytest.raises(AssertionError):
            check(names[case["variables"][0]].grad, case["gradients"][0])
        return
    for name, expected in zip(case["variables"], case["gradients"], strict=True):
        check(names[name].grad, expected)


@pytest.mark.parametrize("case", of_kind(refused))
def test_refused_as_by_mxnet(case):
    with pytest.raises(REFUSALS) as caught:
        eval(case["expression"], namespace())
    assert str(caught.value)


@pytest.mark.parametrize("expression", sorted(BETTER))
def test_computed_where_mxnet_refuses(expression):
    names = namespace()
    plain = eval(expression.replace("half(", "("), names)
    np.testing.assert_allclose(eval(expression, names).asnumpy(), plain.asnumpy(), rtol=2e-3, atol=2e-3)
