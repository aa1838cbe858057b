"""What is wrong with a symbol, its shapes, its arrays or its file is said by name, with a hint; nothing is executed."""

import contextlib
import json
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsekit as mx
from sparsekit.base.errors import (
    DataFileError,
    DTypeError,
    FileFormatError,
    ParameterError,
    ShapeError,
    SparsekitError,
    StorageTypeError,
    UnknownNameError,
    UnsupportedError,
)

S = mx.sym
CPU = mx.cpu()


def small():
    return S.SoftmaxOutput(S.FullyConnected(S.BatchNorm(S.Variable("data"), name="bn"), num_hidden=3, name="fc"), name="out")


def refused(kind, act, *texts):
    with pytest.raises(kind) as caught:
        act()
    message = str(caught.value)
    for text in (*texts, "Hint:"):
        assert text in message, message


def test_conflicting_shapes_name_both_operators():
    a, b = S.Variable("a"), S.Variable("b")
    left, right = S.FullyConnected(a, num_hidden=3, name="left"), S.FullyConnected(b, num_hidden=4, name="right")
    summed = S.elemwise_add(left, right, name="sum")
    shapes = {"a": (2, 5), "b": (2, 5)}
    refused(ShapeError, lambda: summed.infer_shape(**shapes), "sum (elemwise_add)", "(2, 3) from left", "(2, 4) from right")
    refused(ShapeError, lambda: S.dot(left, right, name="d").infer_shape(**shapes), "d (dot)", "from left", "from right")
    shared = S.Group([S.FullyConnected(a, b, num_hidden=3, no_bias=True, name="one"),
                      S.FullyConnected(a, b, num_hidden=4, no_bias=True, name="two")])
    refused(ShapeError, lambda: shared.infer_shape(a=(2, 5)), "two (FullyConnected) cannot take",
            "weight (3, 5) from b (which one (FullyConnected) needs)")
    declared = S.FullyConnected(a, S.Variable("w", shape=(3, 9)), num_hidden=3, name="fc")
    refused(ShapeError, lambda: declared.infer_shape(a=(2, 5)), "w has shape (3, 9) by its declaration", "(3, 5) by fc")


def test_unknown_shapes_are_named():
    refused(ShapeError, lambda: small().simple_bind(CPU), "data: ()")
    refused(ShapeError, lambda: S.dot(S.Variable("a"), S.Variable("b")).simple_bind(CPU, a=(2, 3)), "b: ()")
    refused(ShapeError, lambda: small().simple_bind(CPU, data=(0, 3)), "data: (0, 3)")
    with pytest.warns(UserWarning, match="Cannot decide shape"):
        assert small().infer_shape() == (None, None, None)
    with pytest.warns(UserWarning, match="Cannot decide type"):
        assert small().infer_type() == (None, None, None)


@pytest.mark.parametrize("shape", [3, "(2, 3)", (2, "x"), (2, -5), (True, 2), [[1]]])
def test_what_is_no_shape(shape):
    refused(ShapeError, lambda: small().infer_shape(data=shape))
    refused(ShapeError, lambda: small().simple_bind(CPU, data=shape))


def test_unbound_arguments():
    symbol = S.Variable("a") + S.Variable("b")
    one = mx.nd.ones(2)
    refused(ParameterError, lambda: symbol.bind(CPU, {"a": one}), "key `b` is missing in `args`")
    refused(ParameterError, lambda: symbol.bind(CPU, [one]), "1 were given, and there are 2", "a, b")
    refused(ParameterError, lambda: symbol.eval(a=one), "key `b` is missing")
    refused(DTypeError, lambda: symbol.bind(CPU, {"a": one, "b": 3}), "has a int for b")
    refused(DTypeError, lambda: symbol.bind(CPU, one), "args must be a list or a dict of NDArrays, got NDArray")
    refused(ParameterError, lambda: symbol.bind(CPU, {"a": one, "b": one.as_in_context(mx.cpu(1))}), "b is on cpu(1)")
    refused(ShapeError, lambda: symbol.bind(CPU, {"a": one, "b": mx.nd.ones(3)}), "_plus", "from a", "from b")
    refused(ShapeError, lambda: symbol.bind(CPU, [one, one], [mx.nd.ones(3), None]), "The gradient of a has shape (3,)")
    refused(ParameterError, lambda: small().bind(CPU, dict.fromkeys(small().list_arguments(), one)), "aux_states")


def test_the_wrong_storage_type():
    symbol = S.sparse.negative(S.Variable("a", stype="csr"))
    with pytest.warns(mx.base.StorageFallbackWarning, match="a was declared csr, and the array for it is dense"):
        executor = symbol.bind(CPU, {"a": mx.nd.ones((2, 2))})  # as in MXNet, which says nothing
    assert executor.forward()[0].asnumpy().tolist() == [[-1, -1], [-1, -1]]
    refused(StorageTypeError, lambda: symbol.simple_bind(CPU, stype_dict={"a": "coo"}, a=(2, 2)), "'coo'")
    retained = S.sparse.adagrad_update(S.Variable("w"), S.Variable("g", stype="csr"), S.Variable("h"), lr=1.0, name="step")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        retained.infer_storage_type()


def test_requests_types_and_groups():
    refused(UnknownNameError, lambda: small().simple_bind(CPU, "sometimes", data=(2, 3)), "grad_req", "'sometimes'")
    refused(ParameterError, lambda: small().simple_bind(CPU, ["write"], data=(2, 3)), "length of the grad_req list")
    refused(DTypeError, lambda: small().simple_bind(CPU, 3, data=(2, 3)))
    refused(DTypeError, lambda: small().simple_bind(CPU, type_dict={"data": "floot"}, data=(2, 3)), "floot")
    refused(UnsupportedError, lambda: small().simple_bind(CPU, group2ctx={"dev": mx.gpu(1)}, data=(2, 3)))
    refused(DTypeError, lambda: small().infer_type(data="floot"))


def test_calls_that_do_not_fit():
    a = S.Variable("a")
    refused(UnknownNameError, lambda: S.FullyConnected(a, num_hiden=3), "num_hiden", "did you mean")
    refused(SparsekitError, lambda: S.FullyConnected(a), "num_hidden")
    refused(DTypeError, lambda: S.dot(a, 3), "Argument rhs must be Symbol instances, but got 3")
    refused(SparsekitError, lambda: S.concat(), "no symbols")
    refused(SparsekitError, lambda: S.dot(a, a, lhs=a), "twice")
    refused(SparsekitError, lambda: S.relu(a, a, a), "at most 1")
    refused(DTypeError, lambda: S.Variable("x", attr={"a": 1}), "only accepts string")
    refused(DTypeError, lambda: S.Variable("x", attr=3))
    refused(UnknownNameError, lambda: S.Variable("x", mood="calm"), "double underscores")
    refused(UnknownNameError, lambda: S.Variable("x", stype="coo"))
    refused(DTypeError, lambda: S.Variable("x", init=3))
    refused(UnknownNameError, lambda: small()(dta=a), "dta")
    refused(DTypeError, lambda: small()(data=3))
    refused(DTypeError, lambda: small()(a, data=a), "not both")


# files

GRAPH = json.loads(small().tojson())


def changed(**changes):
    return json.dumps({**GRAPH, **changes})


def with_node(number, **changes):
    nodes = [dict(node) for node in GRAPH["nodes"]]
    nodes[number].update(changes)
    return json.dumps({**GRAPH, "nodes": nodes})


OPERATOR = next(number for number, node in enumerate(GRAPH["nodes"]) if node["op"] == "FullyConnected")


@pytest.mark.parametrize(("text", "what"), [
    ("", "is not valid JSON"), ("{", "is not valid JSON"), (small().tojson()[:300], "is not valid JSON"),
    ("[]", "a list"), ("3", "an int|a int"),
    ("{}", "no nodes"), ("[" * 100_000, "is nested too deeply"), (changed(nodes=3), "a int for nodes"),
    (changed(nodes=[3]), "a int for node 0"), (changed(heads=[]), "no heads"), (changed(heads=[[99, 0, 0]]), "does not exist"),
    (changed(heads=[[-1, 0, 0]]), "does not exist"), (changed(heads=[["0", 0]]), "as an input of its heads"),
    (changed(heads=[[0, 1, 0]]), "which has 1"), (changed(heads=[[True, 0]]), "as an input"),
    (with_node(OPERATOR, inputs=[[OPERATOR, 0, 0]]), "a cycle"),
    (with_node(OPERATOR, inputs=[[OPERATOR + 1, 0, 0]]), "a cycle"),
    (with_node(OPERATOR, inputs=[[0, 0, 0]] * 9), "gives 9 inputs"), (with_node(OPERATOR, inputs=3), "a int for inputs"),
    (with_node(OPERATOR, op="Convolution"), "'Convolution', which is not here"),
    (with_node(OPERATOR, op="__import__('os')"), "which is not here"), (with_node(OPERATOR, op=None), "no op"),
    (with_node(OPERATOR, name=3), "a int for name"), (with_node(OPERATOR, attrs={"num_hidden": 3}), "are not strings"),
    (with_node(OPERATOR, attrs=["x"]), "are not strings"), (with_node(OPERATOR, attrs={}), "num_hidden"),
    (with_node(OPERATOR, attrs={"num_hidden": "3", "flatten": "maybe"}), "must be of type bool, got "),
    (with_node(OPERATOR, attrs={"num_hidden": "3", "colour": "red"}), "'colour'"),
    (with_node(OPERATOR, attrs={"num_hidden": "9" * 100_000}), "100,000 characters"),
    (with_node(0, inputs=[[0, 0, 0]]), "a variable|cycle"),
])
def test_damaged_files_say_what_is_wrong(text, what, tmp_path):
    for act in (lambda: S.load_json(text), lambda: _from_file(text, tmp_path)):
        with pytest.raises(FileFormatError, match=what) as caught:
            act()
        assert "Hint:" in str(caught.value)


def _from_file(text, folder):
    path = folder / "x-symbol.json"
    path.write_text(text, encoding="utf-8")
    return S.load(path)


def test_files_that_are_none(tmp_path):
    refused(DataFileError, lambda: S.load(tmp_path / "missing.json"), "does not exist")
    refused(DataFileError, lambda: S.load(tmp_path), "cannot be read")
    refused(DTypeError, lambda: S.load(3), "The file name must be a str or a path, got int")
    refused(DTypeError, lambda: S.load_json(3), "json_str must be a str of JSON, got int")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    refused(DataFileError, lambda: S.load(tmp_path / "bytes.json"), "is not text")
    refused(DataFileError, lambda: small().save(tmp_path / "no" / "x.json"), "cannot be written")
    small().save(tmp_path / "x.json")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_nothing_in_a_file_is_executed(tmp_path):
    target = tmp_path / "executed"
    touch = f"__import__('pathlib').Path({str(target)!r}).touch()"
    for value in (touch, f"({touch},)"):
        text = with_node(OPERATOR, attrs={"num_hidden": value})
        with contextlib.suppress(SparsekitError):
            S.load_json(text).infer_shape(data=(2, 3))
        with contextlib.suppress(SparsekitError):
            S.Variable("x", attr={"__shape__": value}).infer_shape_partial()
    assert not target.exists()


def test_old_layouts_are_read():
    """MXNet before 1.0 wrote `param` and `attr`, pairs for inputs, and left out the states of BatchNorm."""
    text = json.dumps({
        "nodes": [{"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1, "attr": {"ctx_group": "a"}},
                  {"op": "null", "param": {}, "name": "bn_gamma", "inputs": [], "backward_source_id": -1},
                  {"op": "null", "param": {}, "name": "bn_beta", "inputs": [], "backward_source_id": -1},
                  {"op": "BatchNorm", "param": {"eps": "0.001", "fix_gamma": "True", "momentum": "0.9"}, "name": "bn",
                   "inputs": [[0, 0], [1, 0], [2, 0]], "backward_source_id": -1},
                  {"op": "Reshape", "param": {"target_shape": "(0L, 0L)", "shape": "(-1L, 2L)"}, "name": "r",
                   "inputs": [[3, 0]]}],
        "arg_nodes": [0, 1, 2], "heads": [[4, 0]]})
    made = S.load_json(text)
    assert made.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert made.infer_shape(data=(3, 4))[1] == [(6, 2)]
    assert made.get_internals()["data"].attr("ctx_group") == "a"


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_damage_gives_a_symbol_or_a_named_error(data):
    """A text with some of its characters changed, cut out or repeated."""
    text = small().tojson()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.integers(0, 40)))
        pieces = st.sampled_from(["", "0", "-1", "null", "[", "}", '"', text[start:stop] * 2, "1e999"])
        text = text[:start] + data.draw(pieces) + text[stop:]
    try:
        made = S.load_json(text)
        made.tojson()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.infer_shape_partial()
    except SparsekitError as error:
        assert error.hint  # noqa: PT017 - either way is right


_KEYS = st.sampled_from(["nodes", "op", "name", "inputs", "heads", "attrs", "param"])
_JSON = st.recursive(st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=6),
                     lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner), max_leaves=20)


@settings(max_examples=150, deadline=None)
@given(_JSON)
def test_any_document_gives_a_symbol_or_a_named_error(document):
    try:
        S.load_json(json.dumps(document))
    except FileFormatError as error:
        assert error.hint  # noqa: PT017 - either way is right


@pytest.mark.parametrize("make", [
    lambda: mx.sym.split_v2(mx.sym.Variable("x"), 1 << 62),
    lambda: mx.sym.SliceChannel(mx.sym.Variable("x"), num_outputs=1 << 62)])
def test_outputs_without_number_are_refused(make):
    with pytest.raises(mx.ShapeError, match="outputs"):
        make()
