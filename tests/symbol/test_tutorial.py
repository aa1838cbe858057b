"""What the tutorial "Train a Linear Regression Model with Sparse Symbols" logs; notebook 04 runs its other blocks."""

from __future__ import annotations

import pytest

import sparsekit as mx

SHAPE = (2, 2)


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
