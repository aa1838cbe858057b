"""``mx.viz`` prints what MXNet does, and draws with storage types."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError, ParameterError, UnknownNameError
from tests.calls import refused

FACTS = json.loads((Path(__file__).parents[1] / "golden" / "visualization.json").read_text(encoding="utf-8"))

NETWORKS = {"mx": mx, "S": mx.sym}
with mx.name.NameManager():
    exec(FACTS["networks"], NETWORKS)


@pytest.mark.parametrize("case", FACTS["cases"], ids=lambda case: f"{case['net']} {case['arguments']}")
def test_the_summary_is_mxnets(case, capsys):
    wrong = pytest.raises(ValueError) if "error" in case else contextlib.nullcontext()
    with wrong:
        mx.viz.print_summary(NETWORKS[case["net"]], **eval(f"dict({case['arguments']})"))
    if "error" not in case:
        assert capsys.readouterr().out == case["text"]


def test_the_picture_leaves_dense_weights_out():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    named = [row[1] for row in mx.viz.plot_network(net, shape={"data": (2, 4)}).table.rows]
    assert named == ["data", "fc1"]
    shown = mx.viz.plot_network(net, hide_weights=False)
    assert [row[1] for row in shown.table.rows] == ["data", "fc1_weight", "fc1_bias", "fc1"]
    sparse = mx.visualization.plot_network(net, shape={"data": (2, 4)}, stype={"fc1_weight": "row_sparse"},
                                           dtype={"data": "float64"})
    assert [row[1] for row in sparse.table.rows] == ["data", "fc1_weight", "fc1"]
    assert "float64" in sparse.table.rows[2][3]


def test_bad_input():
    net = mx.sym.Variable("x")
    refused(DTypeError, "symbol must be Symbol", mx.viz.print_summary, 5)
    refused(DTypeError, "symbol must be", mx.viz.plot_network, "x")
    refused(UnknownNameError, "", mx.viz.plot_network, net, shape={"y": (2,)})
    refused(ParameterError, "", mx.viz.print_summary, net, positions=[1])
