"""What a symbol's graph shows before anything runs is what then happens."""

import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError, ShapeError, SparsekitError, StorageTypeError, UnknownNameError
from sparsekit.core import hooks
from sparsekit.symbol.inspection import graph_data
from sparsekit.symbol.node import order
from tests.calls import differentiated, refused, stack


@pytest.fixture
def net():
    """A sparse model that is fine, and two operators that are dense by nature."""
    x, w = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w", stype="row_sparse")
    out = mx.sym.broadcast_add(mx.sym.dot(x, w, name="dot1"), mx.sym.Variable("b"), name="plus1")
    return mx.sym.Group([out, mx.sym.log(x, name="log1"), mx.sym.cos(w, name="cos1")])


SHAPES = {"x": (4, 50), "w": (50, 3), "b": (1, 3)}


def by_name(data):
    return {node["name"]: node for node in data["nodes"]}


def data_of(symbol, **given):
    leaves = {node.name: node for node in order(symbol._entries) if node.call is None}
    return by_name(graph_data(symbol._entries, {leaves[name]: value for name, value in given.items()}))


class TestFacts:
    def test_every_array_has_what_inference_says(self, net):
        found = data_of(net, **SHAPES)
        internals = net.get_internals()
        shapes, stypes = internals.infer_shape(**SHAPES)[1], internals.infer_storage_type()[1]
        for name, shape, stype in zip(internals.list_outputs(), shapes, stypes, strict=True):
            array = found[name.removesuffix("_output")]["outputs"][0]
            assert (tuple(array["shape"]), array["dtype"], array["stype"]) == (shape, "float32", stype)
        assert found["dot1"]["inputs"] == [[0, 0, "lhs"], [1, 0, "rhs"]]
        assert found["w"]["gradient"] == "row_sparse"

    def test_fallbacks_have_the_cost_and_the_remedy_of_the_warning(self, net):
        found = data_of(net, **SHAPES)
        assert {name for name, node in found.items() if node["fallback"]} == {"log1", "cos1"}
        assert found["log1"]["fallback"]["bytes"] == 4 * 50 * 4
        _warned_again()
        with pytest.warns(mx.StorageFallbackWarning) as caught:
            mx.nd.log(mx.nd.sparse.zeros("csr", (4, 50)))
        assert found["log1"]["fallback"]["remedy"][1:] in str(caught[0].message)

    def test_what_is_said_before_is_what_the_ledger_has_after(self, net):
        executor = net.simple_bind(mx.cpu(), **SHAPES)
        said = {(name, fallback["bytes"]) for name, node in data_of(net, **SHAPES).items()
                for fallback in ([node["fallback"]] if node["fallback"] else [])}
        with mx.config.set(densify="allow"), np.errstate(all="ignore"):
            before = len(hooks.ledger)
            executor.forward()
            done = list(hooks.ledger)[before:]
        names = {"log": "log1", "cos": "cos1"}
        assert {(names[record.op], record.bytes_after) for record in done} == said

    @pytest.mark.parametrize("make", [
        lambda x: mx.sym.log(x, name="n"), lambda x: mx.sym.sin(x, name="n"), lambda x: mx.sym.sqrt(x, name="n"),
        lambda x: mx.sym.elemwise_mul(x, mx.sym.Variable("y", stype="csr"), name="n"),
        lambda x: mx.sym.elemwise_div(x, mx.sym.Variable("y"), name="n"), lambda x: mx.sym.sum(x, axis=1, name="n"),
        lambda x: mx.sym.sort(x, name="n"), lambda x: mx.sym.dot(x, mx.sym.Variable("y", shape=(5, 2)), name="n"),
        lambda x: mx.sym.broadcast_mul(x, mx.sym.Variable("y", shape=(1, 5)), name="n"),
        lambda x: mx.sym.norm(x, name="n"), lambda x: mx.sym.FullyConnected(x, num_hidden=2, name="n"),
    ])
    def test_the_gradients_fall_back_as_was_said(self, make, monkeypatch):
        symbol = make(mx.sym.Variable("x", stype="csr"))
        executor = symbol.simple_bind(mx.cpu(), x=(4, 5), stype_dict={"x": "csr"})
        for name, array in executor.arg_dict.items():
            dense = mx.nd.array(np.arange(array.size).reshape(array.shape) % 3 + (name != "x"))
            array[:] = dense.tostype(array.stype)
        with monkeypatch.context() as patch:
            patch.setattr("sparsekit.base.displays.call", lambda _, data, **options: data)
            node = by_name(executor.graph())["n"]
        with mx.config.set(densify="allow"), np.errstate(all="ignore"):
            executor.forward(is_train=True)
            before = len(hooks.ledger)
            executor.backward([mx.nd.ones(out.shape).tostype(out.stype) for out in executor.outputs])
            done = [record.bytes_after for record in list(hooks.ledger)[before:]]
        assert sorted(fallback["bytes"] for fallback in node["backward"]) == sorted(done)

    def test_above_the_limit_it_is_said_that_it_would_raise(self, net):
        large = net.graph(x=(1000, 10_000_000), w=(10_000_000, 3), b=(1, 3))
        assert "1 of these would raise" in large.finding
        assert "more than the limit allows" in large.svg()
        with mx.config.set(densify="error"):
            assert "2 of these would raise" in net.graph(**SHAPES).finding
        with mx.config.set(densify="allow"):
            assert "raise" not in net.graph(x=(1000, 10_000_000)).finding

    def test_a_dense_result_beyond_the_limit_is_marked(self):
        """It is not a fallback, and raises all the same; what the picture says is what the error says."""
        x = mx.sym.Variable("x", stype="csr")
        net = mx.sym.Group([mx.sym.dot(x + 2, mx.sym.Variable("w", shape=(10_000_000, 2)), name="dot1"), x * 3])
        found = data_of(net, x=(1000, 10_000_000))
        plus = next(node for name, node in found.items() if name.startswith("_plusscalar"))
        assert (plus["fallback"], plus["result"]["bytes"], plus["result"]["refused"]) == (None, 40_000_000_000, True)
        assert not any(node["result"] for node in found.values() if node is not plus)
        display = net.graph(x=(1000, 10_000_000))
        assert "1 has a result that is dense by nature, 40.0 GB dense" in display.finding
        assert "1 of these would raise" in display.finding
        assert "would raise" in repr(display)
        refused(mx.DensificationError, "40,000,000,000", lambda: mx.nd.sparse.zeros("csr", (1000, 10_000_000)) + 2)
        small = (x + 2).graph(x=(1000, 1000)).finding
        assert "1 has a result that is dense by nature, 4.00 MB dense" in small
        assert "would raise" not in small
        with mx.config.set(densify="allow"):
            assert "would raise" not in net.graph(x=(1000, 10_000_000)).finding

    def test_a_gradient_beyond_the_limit_is_marked_and_hides_nothing_else(self):
        x, w = mx.sym.Variable("x", stype="row_sparse"), mx.sym.Variable("w", stype="row_sparse", shape=(50, 3))
        net = mx.sym.Group([mx.sym.sum(x, axis=1, name="sum1"), mx.sym.cos(w, name="cos1")])
        found = data_of(net, x=(1000, 10_000_000))
        assert [(one["bytes"], one["refused"]) for one in found["sum1"]["backward"]] == [(40_000_000_000, True)]
        assert found["w"]["gradient"]
        small = data_of(net, x=(10, 10))
        assert (found["cos1"]["backward"], found["w"]["gradient"]) == (small["cos1"]["backward"], small["w"]["gradient"])
        refused(mx.DensificationError, "", net.simple_bind, mx.cpu(), x=(1000, 10_000_000))
        bound = net.simple_bind(mx.cpu(), {"w": "write"}, x=(1000, 10_000_000))  # a gradient that nobody wants hinders nothing
        assert bound.grad_dict["x"] is None

    def test_a_cast_that_was_asked_for_is_a_fallback(self):
        asked = mx.sym.dot(mx.sym.Variable("a"), mx.sym.Variable("b"), forward_stype="csr", name="d")
        fallback = data_of(asked, a=(3, 4), b=(4, 5))["d"]["fallback"]
        assert fallback["bytes"] == 60
        assert "forward_stype" in fallback["remedy"]

    def test_states_and_several_outputs(self):
        parts = mx.sym.split(mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn"), num_outputs=2, name="parts")
        found = data_of(parts, x=(4, 6))
        assert [array["shape"] for array in found["parts"]["outputs"]] == [[4, 3], [4, 3]]
        assert len(found["bn"]["outputs"]) == 1
        assert found["bn_moving_mean"]["gradient"] in (None, "default")


class TestCalls:
    def test_facts_in_every_form(self):
        net = mx.sym.cos(mx.sym.Variable("x"), name="n")
        array = mx.nd.sparse.zeros("csr", (4, 5), dtype="float64")
        same = [net.graph(x=array), net.graph(array)]
        assert same[0].svg() == same[1].svg()
        for given in (("csr", (4, 5), "float64"), ("float64", [4, 5], "csr"), ((4, 5), np.float64, "csr")):
            assert [row[3:] for row in net.graph(x=given).table.rows][1:] == [row[3:] for row in same[0].table.rows][1:]
        assert "csr shape not known float32" in net.graph(x="csr").table.rows[0][3]
        assert same[0].table.rows[0][4] == mx_bytes(array)

    def test_nothing_given_is_no_error(self, net):
        display = net.graph()
        assert "dense bytes not known" in display.finding
        assert "shape not known" in repr(display)
        part = net.graph(x=(0, 50)).table.rows
        assert part[0][3].startswith("csr ? × 50 float32")

    def test_nothing_runs_and_nothing_is_warned_of(self, net):
        before = len(hooks.ledger)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            net.graph(**SHAPES)
        assert len(hooks.ledger) == before

    @pytest.mark.parametrize(("given", "error"), [
        ({"x": 5}, DTypeError), ({"x": "sparse"}, StorageTypeError), ({"x": ((4, 5), object())}, DTypeError),
        ({"nobody": (4, 5)}, UnknownNameError), ({"x": (4, -5)}, ShapeError), ({"x": (4, 5), "w": (6, 3)}, ShapeError),
        ({"x": ((4, 5), None)}, DTypeError), ({"x": (4, 5, 6)}, ShapeError),
    ])
    def test_bad_facts(self, net, given, error):
        refused(error, "", net.graph, **given)

    def test_an_executor_knows_the_bytes_of_its_arrays(self, net):
        executor = net.simple_bind(mx.cpu(), grad_req={"w": "write"}, **SHAPES)
        executor.arg_dict["x"][:] = mx.nd.array(np.eye(4, 50)).tostype("csr")
        rows = {row[1]: row for row in executor.graph().table.rows}
        assert rows["x"][4] == mx_bytes(executor.arg_dict["x"])
        assert "gradient row_sparse" in rows["w"][3]
        assert "gradient" not in rows["x"][3]

    def test_the_backward_half_is_what_the_backward_pass_then_makes(self):
        x, w, b = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w", stype="row_sparse"), mx.sym.Variable("b")
        heads = mx.sym.broadcast_mul(mx.sym.broadcast_add(mx.sym.dot(x, w, name="dot1"), b, name="plus1"), b)._entries
        data = graph_data(heads, {
            node: SHAPES[node.name] for node in order(heads) if node.call is None})
        found, nodes = by_name(data), data["nodes"]
        names = [node["name"] for node in nodes]
        backward = names[names.index("gradient of plus1") - 1:]
        assert backward[1:] == ["gradient of plus1", "gradient of dot1", "gradient of w", "gradient of b"]
        assert [nodes[found[name]["of"]]["name"] for name in backward[1:]] == ["plus1", "dot1", "w", "b"]
        assert [nodes[source]["name"] for source, _, _ in found["gradient of dot1"]["inputs"]] == ["gradient of plus1"]
        assert [nodes[source]["name"] for source, _, _ in found["gradient of b"]["inputs"]] == [backward[0], "gradient of plus1"]
        given = {"x": mx.nd.ones(SHAPES["x"]).tostype("csr"), "w": mx.nd.ones(SHAPES["w"]).tostype("row_sparse"),
                 "b": mx.nd.ones(SHAPES["b"])}
        for name in "wb":
            given[name].attach_grad()
        differentiated(lambda: mx.nd.broadcast_add(mx.nd.dot(given["x"], given["w"]), given["b"]) * given["b"])
        for name in "wb":
            made = given[name].grad
            assert found[f"gradient of {name}"]["outputs"] == [
                {"shape": list(made.shape), "dtype": made.dtype.name, "stype": made.stype}]

    def test_the_display(self, net, tmp_path):
        display = net.graph(**SHAPES)
        assert sorted(display._repr_mimebundle_()) == ["text/html", "text/plain"]
        assert display.finding.startswith("2 of 4 operators fall back")
        assert display.save(tmp_path / "net.svg").exists()

    def test_a_block_through_its_symbol(self):
        block = stack(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.Dense(2))
        display = block.graph(mx.nd.sparse.zeros("csr", (4, 50)))
        assert "None of 3 operators falls back. Arrays: 1 csr" in display.finding
        assert "default 8 × 50 float32" in repr(display)
        block.initialize()
        assert block.graph((4, 50)).finding.startswith("None of 3")
        refused(SparsekitError, "", block.graph, (4, 50), (4, 50))


def mx_bytes(array):
    from sparsekit.base.formatting import format_bytes

    return format_bytes(array.nbytes)


def _warned_again():
    from sparsekit.core import dispatch

    dispatch._warned.clear()
