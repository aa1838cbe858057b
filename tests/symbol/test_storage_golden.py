"""Storage types that are inferred before anything runs, beside MXNet 1.9.1's: those of outputs, and of gradient arrays.

Ours are the same to the letter, or in ``storage_differences.txt`` with a reason.
"""

import functools
import json
import warnings
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.base.errors import SparsekitError, StorageFallbackWarning
from sparsekit.core import hooks

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = json.loads((GOLDEN / "symbol_storage.json").read_text(encoding="utf-8"))["cases"]


def reasons():
    """Each line that tells a difference, and the heading that says why."""
    found, heading = {}, ""
    for line in (Path(__file__).parent / "storage_differences.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            heading = line
        elif line:
            assert line not in found
            found[line] = heading
    return found


REASONS = reasons()


def identity(case):
    return f"{case['call']} [{','.join(case['stypes'])}]"


RECORDED = {identity(case): case for case in CASES}


def bound(case):
    symbol = eval(case["call"], {"S": mx.sym, **{name: mx.sym.Variable(name) for name in "abc"}})
    stypes = dict(zip(case["shapes"], case["stypes"], strict=True))
    shapes = {name: tuple(shape) for name, shape in case["shapes"].items()}
    return symbol, stypes, symbol.simple_bind(mx.cpu(), stype_dict=stypes, **shapes)


def said(found):
    """Storage types of outputs and gradients in words, or that there is an error."""
    if "outputs" not in found:
        return "error"
    gradients = ", ".join(f"{name} {stype}" for name, stype in found["gradients"].items())
    return f"{', '.join(found['outputs'])}; {gradients}"


@functools.cache
def ours(key):
    """What is inferred here; it is what the arrays that are bound then have, and what runs."""
    case = RECORDED[key]
    try:
        symbol, stypes, executor = bound(case)
        arguments, outputs, _ = symbol.infer_storage_type(**stypes)
        assert dict(zip(symbol.list_arguments(), arguments, strict=True)) == stypes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageFallbackWarning)
            assert [array.stype for array in executor.forward(is_train=True)] == outputs
    except SparsekitError:
        return "error"
    return said({"outputs": outputs, "gradients": {name: array.stype for name, array in executor.grad_dict.items()}})


def difference(key):
    """The line that tells how ours differ; None if they do not."""
    theirs = said(RECORDED[key])
    return None if ours(key) == theirs else f"{key}: {theirs} -> {ours(key)}"


@pytest.mark.parametrize("key", RECORDED)
def test_inferred_storage_is_mxnets_or_the_difference_is_listed(key):
    line = difference(key)
    assert line is None or line in REASONS


def test_the_list_has_only_differences_that_are_there():
    assert set(REASONS) == {line for key in RECORDED if (line := difference(key)) is not None}
    assert all(len(reason) > 30 for reason in REASONS.values())


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
