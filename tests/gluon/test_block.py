"""Blocks: names, parts, hooks, monitors, files, and what is refused."""

import collections
import json
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.naming import NameManager
from sparsekit.gluon import Block, HybridBlock, nn
from tests.calls import differentiated, initialized, refused


class Model(Block):
    def __init__(self, **arguments):
        super().__init__(**arguments)
        with self.name_scope():
            self.first, self.second = nn.Dense(4), nn.Dense(2)

    def forward(self, x):
        return self.second(self.first(x))


def stack(*blocks, kind=nn.HybridSequential, **arguments):
    net = kind(**arguments)
    with net.name_scope():
        net.add(*(block() for block in blocks))
    return net


def test_names_count_within_their_scope():
    with NameManager():
        one, two = Model(), Model(prefix="mine_")
        plain = Model(prefix="")
    assert list(one.collect_params()) == ["model0_dense0_weight", "model0_dense0_bias", "model0_dense1_weight",
                                          "model0_dense1_bias"]
    assert next(iter(two.collect_params())) == "mine_dense0_weight"
    assert next(iter(plain.collect_params())) == "dense0_weight"
    assert (one.name, one.first.name, one.first.prefix) == ("model0", "model0_dense0", "model0_dense0_")
    assert list(one.collect_params(".*1_weight|.*0_bias")) == ["model0_dense0_bias", "model0_dense1_weight"]
    assert repr(one) == "Model(\n  (first): Dense(None -> 4, linear)\n  (second): Dense(None -> 2, linear)\n)"


def test_programs_with_blocks_of_their_own_make_names_by_mxnet_s_private_scope():
    from sparsekit.gluon.block import _BlockScope

    with mx.name.NameManager():
        assert [_BlockScope.create(prefix, None, "hi")[0] for prefix in ("pre_", None, None)] == ["pre_", "hi0_", "hi1_"]
    block = mx.gluon.nn.Sequential(prefix="net_")
    with _BlockScope(block):
        prefix, parameters = _BlockScope.create(None, None, "dense")
    assert (prefix, parameters.prefix) == ("net_dense0_", "net_dense0_")


def test_shared_parameters_are_the_same_ones():
    first = nn.Dense(2, in_units=2, prefix="a_")
    second = nn.Dense(2, in_units=2, prefix="b_", params=first.params)
    assert second.weight is first.weight
    refused(mx.ParameterError, "'shape'", nn.Dense, 3, in_units=2, params=first.params)


def test_attributes_keep_their_kind():
    net = Model()
    net.first = nn.Dense(8)
    with pytest.raises(mx.DTypeError, match="from Dense to NoneType is not allowed"):
        net.first = None
    layer = nn.Dense(2)
    with pytest.raises(mx.ParameterError, match="Overriding Parameter attribute weight"):
        layer.weight = mx.gluon.Parameter("other")
    refused(mx.DTypeError, "must also be HybridBlock, but 0 has type Model", lambda: nn.HybridSequential().add(Model()))
    with pytest.raises(TypeError, match="child has type Model"):
        nn.HybridSequential().child = Model()


def test_blocks_in_lists_are_not_taken_for_children():
    class Hidden(Block):
        def __init__(self, register):
            super().__init__()
            self.blocks = [{"a": nn.Dense(2)}]
            if register:
                self.register_child(self.blocks[0]["a"])

    with pytest.warns(UserWarning, match=r'"Hidden.blocks" is an unregistered container'):
        assert len(Hidden(register=False).collect_params()) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Hidden(register=True).collect_params()) == 2


def test_hooks_run_in_order_until_detached():
    net, seen = Model(), []
    net.initialize()
    handles = [net.register_forward_pre_hook(lambda block, inputs: seen.append(("before", inputs[0].shape))),
               net.register_forward_hook(lambda block, inputs, out: seen.append(("after", out.shape))),
               net.second.register_forward_hook(lambda block, inputs, out: seen.append((block.name[-6:], out.shape)))]
    net(mx.nd.ones((3, 5)))
    assert seen == [("before", (3, 5)), ("dense1", (3, 2)), ("after", (3, 2))]
    with handles[0]:
        handles[2].detach()
        handles[2].detach()
    net(mx.nd.ones((3, 5)))
    assert seen[3:] == [("after", (3, 2))]
    again = [net.register_forward_hook(hook) for hook in [lambda *_: seen.append("again")] * 2]
    net(mx.nd.ones((3, 5)))
    assert seen[5:] == ["again"] * 2
    again[0].detach()
    net(mx.nd.ones((3, 5)))
    assert seen[8:] == ["again"]
    refused(mx.SparsekitError, "attached twice", lambda: handles[1].attach(collections.OrderedDict(), print))
    refused(mx.DTypeError, "hook must be a function, got str", net.register_forward_hook, "print")


def test_apply_visits_children_first():
    seen = []
    net = stack(lambda: nn.Dense(2), lambda: nn.Activation("relu"))
    assert net.apply(lambda block: seen.append(type(block).__name__)) is net
    assert seen == ["Dense", "Activation", "HybridSequential"]


def test_a_monitor_names_operators_as_a_symbol_does():
    """These are the names of MXNet 1.9.1; an operator without a name of its own is counted."""
    class Own(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.softmax(F.tanh(x, name="mine"))

    net, seen = stack(lambda: nn.Dense(4), nn.BatchNorm, lambda: nn.Dropout(0.5), nn.LayerNorm, prefix="n_"), []
    net.add(Own(prefix="own_"))
    net.initialize()
    net.register_op_hook(lambda name, op, array: seen.append(name), monitor_all=True)
    net(mx.nd.ones((2, 3)))
    assert [name for name in seen if name.endswith("output")] == [
        "n_dense0_fwd_output", "n_batchnorm0_fwd_output", "n_dropout0_fwd_output", "n_layernorm0_layernorm0_output",
        "own_mine_output", "own_softmax0_output"]
    assert [name for name in seen if "batchnorm0" in name] == [f"n_batchnorm0_fwd_{name}" for name in (
        "data", "gamma", "beta", "moving_mean", "moving_var", "output")]


def test_a_monitor_sees_what_operators_compute(tmp_path):
    net, seen = stack(lambda: nn.Dense(2, in_units=3, activation="relu"), prefix="n_"), []
    net.initialize()
    x = mx.nd.ones((4, 3))
    net.register_op_hook(lambda name, op, array: seen.append((name, op, (array * 2).shape)))
    out = net(x)
    assert seen == [("n_dense0_relu_fwd_output", "Activation", (4, 2)), ("n_dense0_fwd_output", "FullyConnected", (4, 2))]
    count = len(seen)
    net.register_op_hook(lambda name, op, array: seen.append(name), monitor_all=True)
    with mx.Profiler() as prof:
        net(x)
    assert "n_dense0_fwd_weight" in seen[count:]
    mx.expect(prof).calls("FullyConnected", 1)
    net.register_op_hook(None)
    count = len(seen)
    np.testing.assert_array_equal(net(x).asnumpy(), out.asnumpy())
    assert len(seen) == count


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.StorageFallbackWarning")
@pytest.mark.parametrize("data", [mx.nd.ones((4, 6)), mx.nd.ones((4, 6)).tostype("csr")], ids=["dense", "csr"])
def test_a_profile_has_the_same_operators_under_a_monitor(data):
    class Halves(HybridBlock):
        def hybrid_forward(self, F, x):
            return F.concat(*F.split(F.tanh(x), 2), F.tanh(x), dim=1)

    net, found, seen = Halves(prefix="n_"), [], []
    for hook in (None, lambda name, op, array: seen.append(name)):
        net.register_op_hook(hook)
        with mx.Profiler() as prof:
            net(data)
        found.append([(one["name"], one["lane"], one["inputs"], one["outputs"]) for one in prof.records if one["kind"] == "op"])
    assert "SliceChannel" in {name for name, *_ in found[0]}
    assert found[1] == found[0]
    assert seen == ["n_tanh0_output", "n_slicechannel0_output0", "n_slicechannel0_output1", "n_tanh1_output",
                    "n_concat0_output"]  # an input that is made dense for an operator is no call


def test_a_stack_is_indexed_and_cut_and_keeps_its_parameters():
    for kind in (nn.Sequential, nn.HybridSequential):
        net = stack(lambda: nn.Dense(4, in_units=3), lambda: nn.Dense(3, in_units=4), lambda: nn.Dense(2, in_units=3), kind=kind)
        net.initialize()
        part = net[1:]
        assert (type(part), len(part), len(net)) == (kind, 2, 3)
        assert part[0] is net[1]
        assert net[-1] is list(net)[2]
        x = mx.nd.ones((2, 3))
        np.testing.assert_array_equal(part(net[0](x)).asnumpy(), net(x).asnumpy())
        with pytest.raises(IndexError):
            net[3]


def test_cast_leaves_the_statistics_of_batches_in_float32():
    net = initialized(stack(lambda: nn.Dense(2, in_units=3), lambda: nn.BatchNorm(in_channels=2)))
    net.cast("float16")
    assert (net[0].weight.dtype, net[1].gamma.dtype, net[1].running_mean.dtype) == (np.float16, np.float32, np.float32)
    assert net(mx.nd.ones((4, 3), dtype="float16")).dtype == np.float16
    net.cast("float64")
    assert net[1].gamma.dtype == np.float64


def test_functions_as_blocks():
    x = mx.nd.array([-1, 2])
    assert nn.Lambda("relu")(x).asnumpy().tolist() == [0, 2]
    assert nn.Lambda(lambda x, y: x + y)(x, x).asnumpy().tolist() == [-2, 4]
    assert nn.HybridLambda(lambda F, x: F.square(x))(x).asnumpy().tolist() == [1, 4]
    assert repr(nn.HybridLambda("relu")) == "HybridLambda(relu)"
    refused(mx.UnknownNameError, "'relu'", nn.Lambda, "rellu")
    refused(mx.DTypeError, "Unrecognized function", nn.HybridLambda, 3)


def test_blocks_take_lists_and_name_what_they_cannot_take():
    class Sum(HybridBlock):
        def hybrid_forward(self, F, pair, bias=None):
            return pair[0] + pair[1]

    assert Sum()([mx.nd.ones(2), mx.nd.ones(2)]).asnumpy().tolist() == [2, 2]
    for wrong in (3, [], None, np.ones(2)):
        with pytest.raises(mx.DTypeError, match="takes NDArrays"):
            Sum()(wrong)
    refused(mx.SparsekitError, r"Block has no forward\(\)", lambda: Block()(1))


@pytest.mark.parametrize("make", [
    lambda: nn.Dense(-1), lambda: nn.Dropout(1.5), lambda: nn.Dropout(-0.1), lambda: nn.LeakyReLU(-1),
    lambda: nn.Activation("rellu"), lambda: nn.Dense(2, weight_grad_stype="csr"), lambda: mx.gluon.loss.HuberLoss(rho=0),
    lambda: mx.gluon.loss.LogisticLoss(label_format="both"), lambda: mx.gluon.loss.CTCLoss(layout="CTN"),
    lambda: mx.gluon.loss.L2Loss(weight="much"), lambda: mx.gluon.loss.SDMLLoss(1.0),
])
def test_layers_that_cannot_be(make):
    refused(mx.SparsekitError, "", make)


def test_normalization_along_an_axis_that_is_not_there():
    layer = initialized(nn.BatchNorm(axis=3))
    refused(mx.RowIndexError, "along axis 3", layer, mx.nd.ones((2, 3)))


@pytest.mark.parametrize("stype", ["csr", "default"])
def test_dense_with_row_sparse_gradient_flattens_what_is_not_flat(stype):
    layer = initialized(nn.Dense(2, weight_grad_stype="row_sparse"))
    x = np.zeros((3, 6), np.float32)
    x[:, [1, 4]] = 1
    given = mx.nd.array(x).tostype("csr") if stype == "csr" else mx.nd.array(x.reshape(3, 2, 3))
    out = differentiated(layer, given)
    np.testing.assert_allclose(out.asnumpy(), x @ layer.weight.data().asnumpy(), rtol=1e-6)
    assert layer.weight.grad().stype == "row_sparse"
    np.testing.assert_array_equal(layer.weight.grad().asnumpy(), x.T @ np.ones((3, 2)))


def test_sparse_embedding_trains_the_rows_it_looked_up():
    layer = initialized(mx.gluon.contrib.nn.SparseEmbedding(10, 3), mx.init.One())
    trainer = mx.gluon.Trainer(layer.collect_params(), "adam", {"learning_rate": 0.5})
    assert repr(layer) == "SparseEmbedding(10 -> 3, float32)"
    with mx.Profiler() as prof:
        out = differentiated(lambda: layer(mx.nd.array([[2, 7], [7, 7]])))
        trainer.step(1)
    assert out.shape == (2, 2, 3)
    assert layer.weight.grad().indices.asnumpy().tolist() == [2, 7]
    after = layer.weight.data().asnumpy()
    np.testing.assert_allclose(after[[2, 7]], 0.5, rtol=1e-5)
    assert (after[[0, 1, 3]] == 1).all()
    mx.expect(prof).no_densify()


# files


def test_a_file_of_other_blocks_is_refused(tmp_path):
    net = initialized(stack(lambda: nn.Dense(2, in_units=3), prefix="n_"))
    net.save_parameters(tmp_path / "file")
    larger = stack(lambda: nn.Dense(2, in_units=3), lambda: nn.Dense(1, in_units=2))
    refused(mx.ParameterError, r"'1.weight' is missing in file .*'0.weight', '0.bias'", larger.load_parameters, tmp_path / "file")
    larger.load_parameters(tmp_path / "file", allow_missing=True, ctx=mx.cpu(1))
    assert larger[0].weight.list_ctx() == [mx.cpu(1)]
    refused(mx.InitializationError, "", larger[1].weight.data)
    empty = stack(lambda: nn.Dense(2, in_units=3, use_bias=False))
    refused(mx.ParameterError, r"'0.bias' loaded from", empty.load_parameters, tmp_path / "file")
    empty.load_parameters(tmp_path / "file", ignore_extra=True)
    np.testing.assert_array_equal(empty[0].weight.data().asnumpy(), net[0].weight.data().asnumpy())
    mx.nd.save(str(tmp_path / "list"), [mx.nd.ones(2)])
    refused(mx.ParameterError, "no names", net.load_parameters, tmp_path / "list")
    refused(mx.DataFileError, "cannot be read", net.load_parameters, tmp_path / "none")


def test_one_layer_alone_and_old_names(tmp_path):
    layer, other = (nn.Dense(2, in_units=3, prefix="d_") for _ in range(2))
    layer.initialize()
    layer.save_parameters(tmp_path / "alone")
    other.load_parameters(tmp_path / "alone")
    np.testing.assert_array_equal(other.weight.data().asnumpy(), layer.weight.data().asnumpy())
    with pytest.warns(UserWarning, match="save_params is deprecated"):
        layer.save_params(tmp_path / "old")
    third = nn.Dense(2, in_units=3, prefix="e_")
    with pytest.warns(UserWarning, match="load_params is deprecated"):
        third.load_params(tmp_path / "old")
    np.testing.assert_array_equal(third.weight.data().asnumpy(), layer.weight.data().asnumpy())


def test_names_come_back_with_the_model(tmp_path):
    with NameManager():
        net = stack(lambda: nn.Dense(2, in_units=3), lambda: nn.Dense(1, in_units=2))
    net.initialize()
    net.save(str(tmp_path / "net"))
    described = json.loads((tmp_path / "net-model.json").read_text(encoding="utf-8"))
    assert described["hybridsequential0"]["children"]["hybridsequential0_dense1"] == "1"
    other = stack(lambda: nn.Dense(2, in_units=3), lambda: nn.Dense(1, in_units=2), prefix="other_")
    other.load(str(tmp_path / "net"))
    assert [block.name for block in other] == ["hybridsequential0_dense0", "hybridsequential0_dense1"]
    assert list(other.collect_params()) == list(net.collect_params())
    np.testing.assert_array_equal(other[1].weight.data().asnumpy(), net[1].weight.data().asnumpy())
    with pytest.raises(mx.ParameterError, match="does not describe this network"):
        stack(lambda: nn.Dropout(0.5)).load(str(tmp_path / "net"))
    refused(mx.DataFileError, "cannot be read", other.load, str(tmp_path / "none"))


@pytest.mark.parametrize("wrong", [
    lambda described: "[" * 100_000,
    lambda described: json.dumps({"hybridsequential0": {**described, "orig_name": 3}}),
    lambda described: json.dumps({"hybridsequential0": {**described, "children": dict.fromkeys(described["children"], 1)}}),
    lambda described: json.dumps({"hybridsequential0": {**described, "children": dict.fromkeys(described["children"], "0")}}),
    lambda described: json.dumps({"hybridsequential0": {**described, "dense2": {"orig_name": ["x"], "children": {}}}}),
    lambda described: json.dumps({"hybridsequential0": {**described, "dense2": None}}),
], ids=["nested deeply", "a number as a name", "numbers as attributes", "one attribute twice", "a list as a name",
        "a part missing"])
def test_a_damaged_description_changes_no_block(tmp_path, wrong):
    def make(prefix):
        return stack(lambda: nn.Dense(2, in_units=3), lambda: nn.Dense(1, in_units=2), prefix=prefix)

    with NameManager():
        initialized(make("net_")).save(str(tmp_path / "net"))
    path = tmp_path / "net-model.json"
    path.write_text(wrong(json.loads(path.read_text(encoding="utf-8"))["hybridsequential0"]), encoding="utf-8")
    other = make("other_")
    names = [other.name, *(block.name for block in other)], list(other.collect_params()), list(other._children)
    refused(mx.ParameterError, "does not describe this network", other.load, str(tmp_path / "net"))
    assert ([other.name, *(block.name for block in other)], list(other.collect_params()), list(other._children)) == names


def test_a_hybridized_model_comes_back_hybridized_with_its_graph(tmp_path):
    """The outermost block has the graph, as in MXNet, which runs it when it loads the file."""
    def make(prefix):
        return stack(lambda: nn.Dense(2, in_units=3), lambda: nn.Dense(1, in_units=2), prefix=prefix)

    net = initialized(make("n_"), hybrid=True)
    x = mx.nd.ones((1, 3))
    expected = net(x).asnumpy()
    net.save(str(tmp_path / "net"))
    described = json.loads((tmp_path / "net-model.json").read_text(encoding="utf-8"))["hybridsequential0"]
    assert [name for name in described if not name.startswith("dense")] == [
        "orig_name", "in_format", "out_format", "inputs", "symbol", "hybridized", "children"]  # MXNet's keys in its order
    assert (described["hybridized"], described["in_format"], described["out_format"]) == (True, [0], 0)
    assert described["dense1"]["hybridized"] is False
    assert mx.sym.load_json(described["symbol"]).list_arguments() == ["data", *net.collect_params()]
    assert mx.sym.load_json(described["inputs"][0]).name == "data"
    other = make("other_")
    other.load(str(tmp_path / "net"))
    assert other._programs is not None
    np.testing.assert_array_equal(other(x).asnumpy(), expected)


def test_a_symbol_block_moves():
    block = nn.SymbolBlock(mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc"), mx.sym.Variable("x"))
    block.initialize()
    x = mx.nd.ones((1, 3))
    expected = block(x).asnumpy()
    block.reset_ctx(mx.cpu(1))
    assert {parameter.list_ctx()[0] for parameter in block.collect_params().values()} == {mx.cpu(1)}
    np.testing.assert_array_equal(block(x.as_in_context(mx.cpu(1))).asnumpy(), expected)


def test_summary_counts_shared_and_fixed_parameters_and_leaves_no_hook(capsys):
    class Pair(Block):
        def __init__(self):
            super().__init__(prefix="pair_")
            self.a = nn.Dense(3, in_units=3, prefix="d_")
            self.b = nn.Dense(3, in_units=3, prefix="d_", params=self.a.params)

        def forward(self, x, state):
            return self.b(self.a(x)), [state, state]

    net = initialized(Pair())
    net.a.bias.grad_req = "null"
    net.summary(mx.nd.ones((2, 3)), mx.nd.ones((1,)))
    text = capsys.readouterr().out
    for line in ("(2, 3), [(1,), (1,)]", "Total params: 24", "Non-trainable params: 6", "graph: 12",
                 "Unique parameters in model: 12"):
        assert line in text
    assert not net._forward_hooks
    assert not net.a._forward_hooks
    net.hybridize()
    net.summary(mx.nd.ones((2, 3)), mx.nd.ones((1,)))
    assert capsys.readouterr().out == text
