"""Storage types that are inferred before anything runs, beside MXNet 1.9.1's: those of outputs, and of gradient arrays.

Ours are the same, or better: sparse where MXNet has dense or refuses.  All else that differs is in ``DELIBERATE``.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.base.errors import StorageFallbackWarning
from sparsekit.core import hooks

CASES = json.loads((Path(__file__).parents[1] / "golden" / "symbol_storage.json").read_text(encoding="utf-8"))["cases"]

#: (call, array) -> why MXNet's sparse one is dense here.
DELIBERATE = {
    ("S.where(a, b, b)", "a"): "no gradient flows to a condition, whose buffer MXNet makes of its type",
}


def identity(case):
    return f"{case['call']} [{','.join(case['stypes'])}]"


def bound(case):
    symbol = eval(case["call"], {"S": mx.sym, **{name: mx.sym.Variable(name) for name in "abc"}})
    stypes = dict(zip(case["shapes"], case["stypes"], strict=True))
    shapes = {name: tuple(shape) for name, shape in case["shapes"].items()}
    return symbol, stypes, symbol.simple_bind(mx.cpu(), stype_dict=stypes, **shapes)


def fits(ours, theirs):
    return ours == theirs or theirs == "default"


@pytest.mark.parametrize("case", CASES, ids=identity)
def test_inferred_storage_is_that_of_mxnet_or_better(case):
    symbol, stypes, executor = bound(case)
    arguments, outputs, _ = symbol.infer_storage_type(**stypes)
    assert dict(zip(symbol.list_arguments(), arguments, strict=True)) == stypes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        assert [array.stype for array in executor.outputs] == outputs
    if "outputs" not in case:
        return  # MXNet refuses or dies, and here there is an answer
    assert all(map(fits, outputs, case["outputs"]))
    for name, theirs in case["gradients"].items():
        if not fits(executor.grad_dict[name].stype, theirs):
            assert (case["call"], name) in DELIBERATE


def test_differences_are_still_there():
    found = {(case["call"], name) for case in CASES for name, theirs in case.get("gradients", {}).items()
             if not fits(bound(case)[2].grad_dict[name].stype, theirs)}
    assert found == set(DELIBERATE)


def test_most_are_the_same():
    """So that "or better" hides no change: this many agree to the letter."""
    same = 0
    for case in CASES:
        executor = bound(case)[2]
        gradients = {name: array.stype for name, array in executor.grad_dict.items()}
        same += case.get("gradients") == gradients and case["outputs"] == [array.stype for array in executor.outputs]
    assert (same, len(CASES)) == (234, 342)


def test_gradients_that_are_inferred_sparse_arrive_sparse():
    """A gradient array of the inferred type takes the gradient over: nothing becomes dense on the way to it."""
    data, weight = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("weight", stype="row_sparse")
    out = mx.sym.LinearRegressionOutput(mx.sym.sparse.dot(data, weight), mx.sym.Variable("label"))
    executor = out.simple_bind(mx.cpu(), data=(4, 1000), weight=(1000, 1))
    assert {name: array.stype for name, array in executor.grad_dict.items()} == {
        "data": "default", "weight": "row_sparse", "label": "default"}
    executor.arg_dict["data"][:] = mx.nd.sparse.csr_matrix(([1.0, 2.0], [3, 700], [0, 1, 1, 2, 2]), shape=(4, 1000))
    hooks.ledger.clear()  # it is bounded, and may be full
    executor.forward(is_train=True, label=mx.nd.ones(4))
    executor.backward()
    assert not hooks.ledger
    assert executor.grad_dict["weight"].indices.asnumpy().tolist() == [3, 700]
