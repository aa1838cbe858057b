"""Loops, branches and operators of one's own in symbols: as MXNet 1.9.1 has them, as on arrays, and in files."""

import json
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import (
    DTypeError,
    FileFormatError,
    ParameterError,
    ShapeError,
    SparsekitError,
    StorageTypeError,
    UnknownNameError,
)
from sparsekit.core import hooks
from sparsekit.operator import CustomOp, CustomOpProp
from tests.calls import alike, initialized, refused
from tests.compat.control_cases import net_of, value_of

FACTS = json.loads((Path(__file__).parents[1] / "golden" / "control.json").read_text(encoding="utf-8"))
CASES = {case["name"]: case for case in FACTS["cases"]}
WORKING = [name for name, case in CASES.items() if "error" not in case]
S = mx.sym

exec(FACTS["start"], {"mx": mx, "np": np})  # registers the operators that the cases call


def run(net, shapes):
    executor = net.simple_bind(mx.cpu(), **{name: tuple(shape) for name, shape in shapes.items()})
    for name, array in [*executor.arg_dict.items(), *executor.aux_dict.items()]:
        array[:] = value_of(name, array.shape)
    outputs = executor.forward(is_train=True)
    executor.backward()
    return outputs, executor.grad_dict, executor


@pytest.mark.parametrize("name", WORKING)
def test_names_files_and_shapes_are_mxnets(name):
    case = CASES[name]
    net = net_of(mx, case["code"])
    assert (net.list_arguments(), net.list_outputs(), net.list_auxiliary_states()) == (
        case["arguments"], case["outputs"], case["states"])
    found = net.infer_shape(**{key: tuple(shape) for key, shape in case["shapes"].items()})
    if case["inferred"][0] is not None:  # MXNet decides no shapes of while_loop and cond
        assert [[list(shape) for shape in part] for part in found] == case["inferred"]


@pytest.mark.parametrize("read", [False, True], ids=["made", "read"])
@pytest.mark.parametrize("name", WORKING)
def test_results_and_gradients_are_mxnets(name, read):
    case = CASES[name]
    net = S.load_json(case["json"]) if read else net_of(mx, case["code"])
    assert net.tojson() == case["json"]
    outputs, gradients, _ = run(net, case["shapes"])
    alike(outputs, case["values"], rtol=1e-5, atol=1e-6)
    for key, expected in case["gradients"].items():
        np.testing.assert_allclose(gradients[key].asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_mxnet_cannot_train_a_normalization_in_a_loop_and_here_its_averages_move():
    case = CASES["foreach with a batch normalization"]
    assert "error" in case
    net = net_of(mx, case["code"])
    assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    _, gradients, executor = run(net, case["shapes"])
    assert np.abs(gradients["bn_beta"].asnumpy() - 8).max() == 0
    assert (executor.aux_dict["bn_moving_mean"].asnumpy() != value_of("bn_moving_mean", (3,))).any()


class Loop(mx.gluon.HybridBlock):
    """A recurrence, a search and a choice, written with what blocks are given."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.cell = mx.gluon.nn.Dense(3, in_units=3, flatten=False)

    def hybrid_forward(self, F, x, state):
        outs, states = F.contrib.foreach(lambda item, states: (self.cell(item) + states[0], [states[0] + item]), x, [state])
        found, last = F.contrib.while_loop(lambda i, s: F.sum(i) < 3, lambda i, s: (s * i, [i + 1, s + i]),
                                           [F.sum(x) * 0, F.sum(states[0])], max_iterations=4)
        chosen = F.contrib.cond(F.sum(outs) > 0, lambda: outs * 2, lambda: outs - 1)
        return chosen, found, last[1]


def test_a_block_with_loops_is_the_same_called_hybridized_and_exported(tmp_path):
    mx.random.seed(0)
    block = initialized(Loop(), mx.init.Normal(1))
    x, state = mx.nd.random.normal(shape=(4, 2, 3)), mx.nd.random.normal(shape=(2, 3))
    called = [array.asnumpy() for array in block(x, state)]
    block.export(str(tmp_path / "loop"))
    files = [str(tmp_path / name) for name in ("loop-symbol.json", "loop-0000.params")]
    again = mx.gluon.SymbolBlock.imports(files[0], ["data0", "data1"], files[1])
    for one, other in zip(called, again(x, state), strict=True):
        np.testing.assert_array_equal(one.ravel(), other.asnumpy().ravel())


def test_a_row_sparse_gradient_comes_out_of_a_loop():
    table = S.Variable("table", stype="row_sparse")

    def look_up(item, states):
        found = S.Embedding(item, table, input_dim=1000, output_dim=2, sparse_grad=True)
        return S.broadcast_mul(found, states[0]), states

    outs, _ = S.contrib.foreach(look_up, S.Variable("words"), [S.Variable("scale")])
    executor = outs.simple_bind(mx.cpu(), {"table": "write"}, words=(3, 4), scale=(1, 1), table=(1000, 2))
    assert executor.grad_dict["table"].stype == "row_sparse"
    executor.arg_dict["words"][:] = mx.nd.arange(12).reshape((3, 4)) * 7
    executor.arg_dict["scale"][:] = 2
    hooks.ledger.clear()
    executor.forward(is_train=True)
    executor.backward()
    gradient = executor.grad_dict["table"]
    assert gradient.indices.asnumpy().tolist() == [7 * i for i in range(12)]
    assert (gradient.data.asnumpy() == 2).all()
    assert not hooks.ledger


def test_csr_is_used_from_outside():
    data = S.Variable("data", stype="csr")
    outs, _ = S.contrib.foreach(lambda w, states: (S.dot(data, w), states), S.Variable("weights"), [])
    executor = outs.simple_bind(mx.cpu(), "null", data=(4, 10), weights=(2, 10, 3))
    assert executor.forward()[0].shape == (2, 4, 3)


def test_a_loop_that_never_runs_gives_zeros():
    i = S.Variable("i")
    outs, last = S.contrib.while_loop(lambda i: i < 0, lambda i: (i * 2, [i + 1]), [i], max_iterations=3)
    executor = S.Group([outs, *last]).simple_bind(mx.cpu(), i=(1,))
    found, end = executor.forward()
    assert (found.asnumpy().tolist(), end.asnumpy().tolist()) == ([[0], [0], [0]], [0])


def test_a_picture_and_storage_types_of_a_loop():
    net = net_of(mx, CASES["foreach"]["code"])
    assert "_foreach" in repr(net.graph(data=(5, 2, 4)))
    assert net.infer_storage_type()[1] == ["default", "default"]
    assert net.infer_type(data="float32")[1] == [np.float32, np.float32]
    assert len(net.get_internals()) == 6
    again = net(data=S.Variable("other"))
    assert again.list_arguments() == ["other", *net.list_arguments()[1:]]


def test_a_sampler_of_classes():
    mx.random.seed(0)
    drawn, true, sampled = S.contrib.rand_zipfian(S.Variable("classes"), 200, 50)
    found = S.Group([drawn, true, sampled]).eval(classes=mx.nd.array([3, 0]))
    assert [str(array.dtype) for array in found] == ["int64", "float64", "float64"]
    assert ((found[0].asnumpy() >= 0) & (found[0].asnumpy() < 50)).all()
    np.testing.assert_allclose(found[1].asnumpy(), 200 * np.log([5 / 4, 2]) / np.log(51), rtol=1e-12)


X = S.Variable("x")


@pytest.mark.parametrize(("act", "error", "said"), [
    (lambda: S.contrib.foreach(lambda x, s: (S.Variable("z") * 1, s), X, []), ParameterError, "data 0 .* not used"),
    (lambda: S.contrib.foreach(lambda x, s: (x, s), [], []), ParameterError, "requires data, got an empty list"),
    (lambda: S.contrib.foreach(lambda x, s: x, X, []), ParameterError, "must return a pair, got Symbol"),
    (lambda: S.contrib.foreach(lambda x, s: (x, [s]), X, X), ParameterError, "must have the structure of init_states"),
    (lambda: S.contrib.foreach(lambda x, s: (3, s), X, []), DTypeError, "nested list of symbols"),
    (lambda: S.contrib.foreach(lambda x, s: (x, s), mx.nd.ones((2, 2)), []), DTypeError, "foreach data"),
    (lambda: S.contrib.while_loop(lambda i: i, lambda i: (i, i), X), ParameterError, "max_iterations"),
    (lambda: S.contrib.while_loop(lambda i: i, lambda i: (i, [i, i]), X, 3), ParameterError,
     "func must return 1 loop_vars, got 2; cond must return 1 symbol, got 1"),
    (lambda: S.contrib.while_loop(lambda i: i, lambda i: (X, [X * 1]), [X], 3), ParameterError, "loop variable 0"),
    (lambda: S.contrib.cond(X, lambda: [X, X], lambda: X), ParameterError, "got 2 and 1"),
    (lambda: S.contrib.cond(X, lambda: X * 1, lambda: S.concat(X, X, dim=0)).infer_shape(x=(1,)), ShapeError, "branches"),
    (lambda: S.contrib.foreach(lambda x, s: (x, s), X, [])[0].simple_bind(mx.cpu(), stype_dict={"x": "csr"}, x=(2, 2)),
     StorageTypeError, "must be dense, got storage types csr"),
    (lambda: S.contrib.foreach(lambda a, s: (a[0] + a[1], s), [X, S.Variable("y")], [])[0].infer_shape(x=(2, 2), y=(3, 2)),
     ShapeError, "lengths"),
    (lambda: S.Custom(X, op_type="unheard_of"), UnknownNameError, "unheard_of"),
    (lambda: S.Custom(X, X, X, op_type="softmax_for_symbols"), SparsekitError, "data, label"),
    (lambda: S.Custom(X, data=X, op_type="softmax_for_symbols"), SparsekitError, "got 'data' twice"),
    (lambda: S.Custom(X, op_type="softmax_for_symbols", colour="red"), ParameterError, "colour"),
])
def test_mistakes_are_named(act, error, said):
    refused(error, said, act)


def damaged(name, **changes):
    document = json.loads(CASES[name]["json"])
    node = next(node for node in document["nodes"] if node["op"].startswith(("_", "Custom")) and node["inputs"])
    for key, value in changes.items():
        if key in ("op", "subgraphs", "inputs"):
            node[key] = value
        else:
            node["attrs"][key] = value
    return json.dumps(document)


@pytest.mark.parametrize("text", [
    damaged("foreach", in_data_locs="[9]"), damaged("foreach", in_data_locs="[]"), damaged("foreach", remain_locs="[1, 1]"),
    damaged("foreach", num_out_data="7"), damaged("foreach", subgraphs=[]), damaged("foreach", subgraphs=3),
    damaged("foreach", subgraphs=[3]), damaged("foreach", num_out_data="x"), damaged("foreach", inputs=[[0, 0, 0]]),
    damaged("while_loop", func_var_locs="[5]"), damaged("while_loop", cond_input_locs="[-1]"),
    damaged("while_loop", subgraphs=[{"nodes": [], "heads": []}]), damaged("cond of the other branch", then_input_locs="'a'"),
    damaged("custom", op_type="unheard_of"), damaged("custom", inputs=[]),
])
def test_damaged_files_are_refused(text):
    refused(FileFormatError, "", S.load_json, text)


# operators of one's own


class Halved(CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        aux[0] += 1
        self.assign(out_data[0], req[0], in_data[0] * 0.5)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        assert in_grad[0].stype == "row_sparse"
        self.assign(in_grad[0], req[0], mx.nd.sparse.retain(out_grad[0].tostype("row_sparse"), mx.nd.array([0, 1])) * 0.5)


@mx.operator.register("halved_for_symbols")
class HalvedProp(CustomOpProp):
    def list_auxiliary_states(self):
        return ["calls"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [(1,)]

    def infer_storage_type_backward(self, ograd_stype, in_stype, out_stype, igrad_stype, aux_stype):
        return ograd_stype, in_stype, out_stype, ["row_sparse"], aux_stype

    def create_operator(self, ctx, shapes, dtypes):
        return Halved()


def test_kept_arrays_and_a_sparse_gradient_of_ones_own():
    net = S.Custom(X, op_type="halved_for_symbols", name="h")
    assert (net.list_arguments(), net.list_auxiliary_states(), net.list_outputs()) == (["x"], ["h_calls"], ["h_output"])
    executor = net.simple_bind(mx.cpu(), x=(4, 2))
    assert executor.grad_dict["x"].stype == "row_sparse"
    executor.arg_dict["x"][:] = 3
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [[1.5, 1.5]] * 4
    executor.backward()
    assert executor.grad_dict["x"].indices.asnumpy().tolist() == [0, 1]
    assert executor.aux_dict["h_calls"].asscalar() == 1
    dependency = HalvedProp().declare_backward_dependency([1], [2], [3])
    assert dependency == [1, 2, 3]


def test_a_module_trains_an_output_layer_of_ones_own():
    net = S.Custom(S.FullyConnected(S.Variable("data"), num_hidden=2, name="fc"), op_type="softmax_for_symbols", name="softmax")
    state = np.random.RandomState(0)
    x = state.normal(size=(64, 5)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.float32)
    mod = mx.mod.Module(net)
    mx.random.seed(0)
    mod.fit(mx.io.NDArrayIter(x, y, 16), num_epoch=12, optimizer_params={"learning_rate": 0.5})
    assert mod.score(mx.io.NDArrayIter(x, y, 16), "acc")[0][1] > 0.9
