"""``dot`` against MXNet 1.9.1: result, storage type and gradients of every row of its table."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "dot.json").read_text(encoding="utf-8"))
LHS, RHS, WEIGHT = (np.array(GOLDEN["inputs"][name], np.float32) for name in ("lhs", "rhs", "weight"))
BUFFERS = {
    "gradients_default": ("default", "default"),
    "gradients_own": (None, None),
    "gradients_row_sparse": ("default", "row_sparse"),
}


def label(case):
    left, right = (f"{case[name]}{'.T' * case[f'transpose_{letter}']}" for name, letter in (("lhs", "a"), ("rhs", "b")))
    return f"{left}-{right}-{case['forward_stype']}"


#: Where a kernel of its own gives a sparse result that MXNet computes densely.
SPARSER = {"csr.T-default.T-None": "row_sparse", "csr-csr-None": "csr", "csr-csr.T-None": "csr", "csr.T-csr-None": "csr",
           "csr.T-csr.T-None": "csr"}

each_row = pytest.mark.parametrize("case", GOLDEN["cases"], ids=label)


@pytest.fixture(autouse=True)
def fallbacks_allowed():
    """Most rows of the table are computed by the dense fallback, which warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mx.base.StorageFallbackWarning)
        yield


def operands(case):
    left = mx.nd.array(LHS.T if case["transpose_a"] else LHS).tostype(case["lhs"])
    right = mx.nd.array(RHS.T if case["transpose_b"] else RHS).tostype(case["rhs"])
    return left, right


def dot(case, left, right):
    attributes = {name: case[name] for name in ("transpose_a", "transpose_b", "forward_stype")}
    return mx.nd.sparse.dot(left, right, **attributes)


def exact_gradients(case):
    left, right = WEIGHT @ RHS.T, LHS.T @ WEIGHT
    return (left.T if case["transpose_a"] else left), (right.T if case["transpose_b"] else right)


@each_row
def test_result_has_the_value_and_the_storage_type_of_mxnet(case):
    expected = case["out"]
    out = dot(case, *operands(case))
    assert np.array_equal(out.asnumpy(), LHS @ RHS)
    if "error" in expected:  # dot(csr.T, row_sparse) to dense with rows missing: MXNet gives up, this library does not
        assert (case["lhs"], case["rhs"], case["forward_stype"]) == ("csr", "row_sparse", "default")
        assert out.stype == "default"
        return
    if label(case) in SPARSER:
        assert (out.stype, expected["stype"]) == (SPARSER[label(case)], "default")
        return
    assert out.stype == expected["stype"]
    assert type(out).__name__ == expected["kind"]
    assert out.shape == tuple(expected["shape"])
    assert np.dtype(out.dtype).name == expected["dtype"]
    for component in ("indices", "indptr"):
        if component in expected:
            assert getattr(out, component).asnumpy().tolist() == expected[component]


@each_row
@pytest.mark.parametrize("kind", BUFFERS)
def test_gradients_are_exact_in_the_buffers_that_mxnet_has(case, kind):
    left, right = operands(case)
    left_buffer, right_buffer = BUFFERS[kind]
    left.attach_grad(stype=left_buffer)
    right.attach_grad(stype=right_buffer)
    with mx.autograd.record():
        total = (dot(case, left, right).tostype("default") * mx.nd.array(WEIGHT)).sum()
    total.backward()
    for array, exact, expected in zip(
        (left, right), exact_gradients(case), case[kind].get("items", (None, None)), strict=True
    ):
        assert np.array_equal(array.grad.asnumpy(), exact)
        if expected is None:
            continue
        assert array.grad.stype == expected["stype"]
        if "indices" in expected and "wrong" not in expected and expected["stype"] == "row_sparse":
            assert set(np.flatnonzero(exact.any(axis=1))) <= set(array.grad.indices.asnumpy().tolist())


@each_row
def test_gradient_of_the_right_side_of_a_csr_stores_the_rows_that_mxnet_stores(case):
    expected = case["gradients_row_sparse"]
    if case["lhs"] != "csr" or case["transpose_a"] or case["transpose_b"] or case["forward_stype"] == "csr":
        assert case["inferred"].get("items", [{}] * 3)[2].get("value") != "row_sparse"
        return
    left, right = operands(case)
    right.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        total = (dot(case, left, right).tostype("default") * mx.nd.array(WEIGHT)).sum()
    total.backward()
    assert right.grad.indices.asnumpy().tolist() == expected["items"][1]["indices"]


def test_mxnet_is_known_to_be_wrong_only_in_gradients_of_csr_operands():
    wrong = {
        (case["lhs"], case["rhs"])[number]
        for case in GOLDEN["cases"]
        for kind in BUFFERS
        for number, item in enumerate(case[kind].get("items", ()))
        if "wrong" in item
    }
    assert wrong == {"csr"}
