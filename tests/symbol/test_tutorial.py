"""The blocks on symbols of the tutorial "Train a Linear Regression Model with Sparse Symbols", and what it prints."""

from __future__ import annotations

import pytest

import sparsekit as mx

SHAPE = (2, 2)


@pytest.fixture(scope="module")
def variables():
    with mx.name.NameManager():
        yield mx.sym.Variable("a"), mx.sym.Variable("b", stype="csr"), mx.sym.Variable("c", stype="row_sparse")


def test_variables(variables):
    assert repr(variables) == "(<Symbol a>, <Symbol b>, <Symbol c>)"


def test_binding_sparse_arrays(variables):
    _, b, c = variables
    b_exec = b.simple_bind(ctx=mx.cpu(), b=SHAPE)
    c_exec = c.simple_bind(ctx=mx.cpu(), c=SHAPE)
    assert f"{b_exec.outputs} {c_exec.outputs}" == "[\n<CSRNDArray 2x2 @cpu(0)>] [\n<RowSparseNDArray 2x2 @cpu(0)>]"
    b_exec.arg_dict["b"][:] = mx.nd.ones(SHAPE).tostype("csr")
    b_exec.forward()
    eval_b = b_exec.outputs[0]
    assert repr(eval_b) == "\n<CSRNDArray 2x2 @cpu(0)>"
    assert eval_b.asnumpy().tolist() == [[1, 1], [1, 1]]


def test_composition_and_inference(variables):
    a, b, c = variables
    with mx.name.NameManager():
        d = mx.sym.elemwise_add(a, a)
        e = mx.sym.sparse.negative(b)
        f = mx.sym.sparse.elemwise_add(c, c)
    assert repr({"d": d, "e": e, "f": f}) == "{'d': <Symbol elemwise_add0>, 'e': <Symbol negative0>, 'f': <Symbol elemwise_add1>}"
    add_exec = mx.sym.Group([d, e, f]).simple_bind(ctx=mx.cpu(), a=SHAPE, b=SHAPE, c=SHAPE)
    add_exec.forward()
    assert [out.stype for out in add_exec.outputs] == ["default", "csr", "row_sparse"]


def test_fallback(variables):
    """MXNet makes csr + row_sparse dense; here there is a kernel for it, so the sum stays sparse and nothing warns."""
    a, b, c = variables
    executor = mx.sym.Group([mx.sym.elemwise_add(b, c), mx.sym.log(a)]).simple_bind(mx.cpu(), a=SHAPE, b=SHAPE, c=SHAPE)
    executor.forward()
    assert executor.outputs[0].asnumpy().tolist() == [[0, 0], [0, 0]]
    assert executor.outputs[1].asnumpy().tolist() == [[float("-inf")] * 2] * 2


def classifier():
    data = mx.sym.var("data", stype="csr", shape=(32, 10000))
    weight = mx.sym.var("weight", stype="row_sparse", shape=(10000, 2))
    bias = mx.symbol.Variable("bias", shape=(2,))
    dot = mx.sym.sparse.dot(data, weight)
    pred = mx.symbol.broadcast_add(dot, bias)
    y = mx.symbol.Variable("label")
    return mx.symbol.SoftmaxOutput(data=pred, label=y, name="output")


LOG = """node 0 var
node 1 var
node 2 dot: fcompute_ex
\t\tinput 0: csr
\t\tinput 1: row_sparse
\t\toutput 2: default
node 3 var
node 4 broadcast_add: fcompute
\t\tinput 2: default
\t\tinput 3: default
\t\toutput 4: default
node 5 var
node 6 SoftmaxOutput: fcompute
\t\tinput 4: default
\t\tinput 5: default
\t\toutput 6: default
gradient of data: default
gradient of weight: row_sparse
gradient of bias: default
gradient of label: default
"""


@pytest.mark.parametrize("switch", ["environment", "config"])
def test_storage_types_are_logged(switch, monkeypatch, capsys):
    """As MXNet 1.9.1 prints them, without time and place, and with a line a gradient for its nodes of the backward pass."""
    if switch == "environment":
        monkeypatch.setenv("MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING", "1")
        classifier().simple_bind(ctx=mx.cpu())
    else:
        with mx.config.set(log_storage_types=True):
            classifier().simple_bind(ctx=mx.cpu())
    assert capsys.readouterr().err == LOG
    with mx.config.set(log_storage_types=False):
        classifier().simple_bind(ctx=mx.cpu())
    assert capsys.readouterr().err == ""


def test_a_fallback_is_logged(capsys):
    symbol = mx.sym.exp(mx.sym.Variable("a", stype="csr"))
    with mx.config.set(log_storage_types=True):
        symbol.simple_bind(mx.cpu(), "null", a=SHAPE)
    assert capsys.readouterr().err == "node 0 var\nnode 1 exp: fcompute_fallback\n\t\tinput 0: csr\n\t\toutput 1: default\n"
