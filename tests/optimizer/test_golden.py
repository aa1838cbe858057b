"""Optimizers and update operators against what MXNet 1.9.1 computed; its schedules are in ``test_schedules.py``."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import StorageFallbackWarning
from tests.calls import refused
from tests.optimizer.recorded_steps import called, steps

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "updates.json").read_text(encoding="utf-8"))
#: Optimizers whose first steps multiply by large rates, or divide by roots of small numbers.
ROUGH = {"lamb": 1e-5, "adadelta": 1e-5, "lars": 1e-5, "nadam": 1e-5, "ftml": 1e-5}


def label_of(case):
    settings = "-".join(f"{name}={value}" for name, value in case["settings"].items()
                        if name not in ("learning_rate", "rescale_grad"))
    return f"{case['optimizer']}-{'-'.join(case['storage'])}-{case['dtype']}-{settings}"


def run(case, **changed):
    """The weight after each step, and the states after the last; a fallback would fail the test."""
    given = {name: case[name] for name in ("optimizer", "storage", "dtype")}
    with warnings.catch_warnings():
        warnings.simplefilter("error", StorageFallbackWarning)
        return steps(mx, GOLDEN, settings={**case["settings"], **changed}, **given)


def mxnet_differs(case):
    """Why MXNet's values are not wanted in a case, or an empty string."""
    name, settings, storage = case["optimizer"], case["settings"], case["storage"]
    if "error" in case:
        return "MXNet fails"
    if name == "adamax" and not settings.get("wd"):
        return "MXNet divides zero by zero where all gradients were zero"
    if name == "ftrl" and storage == ["default", "row_sparse"]:
        return "MXNet computes absent rows where the weight is dense; lazy_update=False does"
    if name == "nag" and settings.get("momentum") and settings.get("wd"):
        return "MXNet takes the decay that goes into the momentum from the new weight when it writes in place"
    if name == "nag" and settings.get("wd") and storage[1] == "row_sparse":
        return "MXNet computes NAG without momentum lazily, and with momentum not"
    if name == "sgd" and case["dtype"] == "float16" and storage[1] == "row_sparse":
        return "MXNet has no lazy update of float16 weights"
    return ""


@pytest.mark.parametrize("case", [case for case in GOLDEN["cases"] if not mxnet_differs(case)], ids=label_of)
def test_three_steps_are_those_of_mxnet(case):
    weights, states = run(case)
    half = case["dtype"] == "float16"
    tolerance = {"rtol": 2e-3, "atol": 1e-4} if half else {"rtol": ROUGH.get(case["optimizer"], 1e-6), "atol": 1e-6}
    for weight, expected in zip(weights, case["weights"], strict=True):
        np.testing.assert_allclose(weight, np.array(expected, float), **tolerance)
    assert len(states) == len(case["states"])
    for state, expected in zip(states, case["states"], strict=True):
        assert state.stype == expected["stype"]
        np.testing.assert_allclose(state.asnumpy(), np.array(expected["value"], float), **tolerance)


@pytest.mark.parametrize("case", [case for case in GOLDEN["cases"] if mxnet_differs(case)], ids=label_of)
def test_where_mxnet_is_not_followed_lazy_off_is_dense(case):
    if case["optimizer"] == "groupadagrad":
        refused(mx.base.SparsekitError, "does not support weight decay", run, case)
        return
    assert case["weights"] if "weights" in case else case["error"]
    off = {} if case["optimizer"] == "test" else {"lazy_update": False}
    weights, states = run(case, **off)
    dense, dense_states = run({**case, "storage": ["default", "default"]}, **off)
    for ours, expected in zip([*weights, *states], [*dense, *dense_states], strict=True):
        ours, expected = (array if isinstance(array, np.ndarray) else array.asnumpy() for array in (ours, expected))
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6)
    if case["optimizer"] == "nag" and "momentum" in case["settings"]:
        first = np.array(case["weights"][0], float)
        np.testing.assert_allclose(weights[0], first, rtol=2e-3 if case["dtype"] == "float16" else 1e-6)


def test_ftrl_without_laziness_is_mxnets_for_dense_weights():
    cases = [case for case in GOLDEN["cases"] if case["optimizer"] == "ftrl" and case["storage"] == ["default", "row_sparse"]]
    assert cases
    for case in cases:
        weights, _ = run(case, lazy_update=False)
        np.testing.assert_allclose(weights, np.array(case["weights"], float), rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", GOLDEN["calls"], ids=lambda case: case["call"])
def test_operator_as_a_function_gives_and_writes_what_mxnets_does(case):
    listed, arrays = called(mx, GOLDEN, case["call"])
    assert len(listed) == len(case["results"])
    rough = 1e-4 if "t=2" in case["call"] or "multi_lamb" in case["call"] else 2e-6  # 1 - beta ** t is small
    for one, expected in zip(listed, case["results"], strict=True):
        assert (one.dtype.name, list(one.shape)) == (expected["dtype"], expected["shape"])
        agrees(one, expected["value"], rough)
    for name, expected in case["written"].items():
        if "mp_lamb_update_phase2" in case["call"] and name == "w":
            assert not np.array_equal(arrays["w"].asnumpy(), np.array(expected, float))  # MXNet forgets weight32
        else:
            agrees(arrays[name], expected, rough)


def agrees(array, expected, rough):
    half = array.dtype.itemsize < 4
    np.testing.assert_allclose(array.asnumpy(), np.array(expected, float), rtol=1e-3 if half else rough, atol=1e-7)
