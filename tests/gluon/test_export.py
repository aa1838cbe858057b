"""Networks exported by MXNet 1.9.1 compute here what they computed there, and those exported here are what MXNet has read."""

import copy
import hashlib
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DataFileError, InitializationError, ParameterError, ShapeError, SparsekitError
from tests.calls import alike, differentiated, initialized, refused, stack
from tests.gluon.blocks import Computes

GOLDEN = Path(__file__).parents[1] / "golden"
FACTS = json.loads((GOLDEN / "exports.json").read_text(encoding="utf-8"))
CASES = {case["net"]: case for case in FACTS["cases"]}

#: What MXNet 1.9.1 made of our files, by tests/oracle/record_reads.py.
READ = json.loads((GOLDEN / "reads.json").read_text(encoding="utf-8"))["cases"]

#: Layers whose only input MXNet exports with the states beside it.
WITH_STATES = {"gru": [mx.nd.zeros((1, 2, 3))]}


def network(name):
    """The network of the recording, made here, with its parameters."""
    names = {"mx": mx, "nn": mx.gluon.nn, "rnn": mx.gluon.rnn}
    exec(FACTS["nets"], names)
    net = initialized(names[name]())
    net(*inputs(name))
    for key, values in CASES[name]["parameters"].items():
        net.collect_params()[key.partition(":")[2]].set_data(mx.nd.array(values))
    return net


def inputs(name):
    return [mx.nd.array(values) for values in CASES[name]["inputs"]]


def flat(made):
    if isinstance(made, (list, tuple)):
        return [array for item in made for array in flat(item)]
    return [made]


def assert_alike(made, expected):
    made = flat(made)
    assert len(made) == len(expected)
    for array, values in zip(made, expected, strict=True):
        np.testing.assert_allclose(array.asnumpy(), np.array(values, np.float32), rtol=2e-5, atol=1e-6)


def written(case, folder):
    """MXNet's files of a network."""
    folder.joinpath("net-symbol.json").write_text(json.dumps(case["graph"]), encoding="utf-8")
    mx.nd.save(str(folder / "net-0000.params"), {key: mx.nd.array(values) for key, values in case["parameters"].items()})
    return str(folder / "net-symbol.json"), str(folder / "net-0000.params")


@pytest.mark.parametrize("name", CASES)
def test_networks_of_mxnet_compute_what_they_did(name, tmp_path):
    symbol, params = written(CASES[name], tmp_path)
    states = WITH_STATES.get(name, [])
    names = [node["name"] for node in CASES[name]["graph"]["nodes"] if node["op"] == "null" and node["name"].startswith("data")]
    block = mx.gluon.SymbolBlock.imports(symbol, names, params)
    made = flat(block(*inputs(name), *states))
    assert_alike(made[: len(CASES[name]["outputs"])], CASES[name]["outputs"])
    block.hybridize()
    for _ in range(2):
        assert_alike(flat(block(*inputs(name), *states))[: len(CASES[name]["outputs"])], CASES[name]["outputs"])


@pytest.mark.parametrize("name", CASES)
def test_exported_here_they_come_back(name, tmp_path):
    net = network(name)
    assert_alike(net(*inputs(name)), CASES[name]["outputs"])
    symbol, params = net.export(tmp_path / "net", epoch=7)
    assert Path(params).name == "net-0007.params"
    names = ["data"] if len(inputs(name)) == 1 else [f"data{place}" for place in range(len(inputs(name)))]
    block = mx.gluon.SymbolBlock.imports(symbol, names, params)
    made = flat(block(*inputs(name)))
    assert_alike(made[: len(CASES[name]["outputs"])], CASES[name]["outputs"])


@pytest.mark.parametrize("case", READ, ids=lambda case: case["net"])
def test_mxnet_has_read_these_files(case, tmp_path):
    """The same files, text for text, were imported by MXNet 1.9.1, and computed the same."""
    net = network(case["net"])
    symbol, _ = net.export(tmp_path / "net")
    assert hashlib.sha256(Path(symbol).read_bytes()).hexdigest() == case["sha256"]
    assert_alike(flat(net(*inputs(case["net"])))[: len(case["outputs"])], case["outputs"])


def test_a_symbol_block_trains():
    values = np.random.default_rng(0).standard_normal((64, 5))
    data, label = mx.nd.array(values), mx.nd.array(values[:, 0] > 0)
    out = mx.sym.FullyConnected(mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn"), num_hidden=2, name="fc")
    block = initialized(mx.gluon.SymbolBlock(out, mx.sym.Variable("data")))
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.5})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(20):
        value = differentiated(lambda: loss(block(data), label).mean())
        trainer.step(1)
        losses.append(value.asscalar())
    assert losses[-1] < 0.5 * losses[0]
    assert block.params["bn_moving_mean"].grad_req == "null"
    assert abs(block.params["bn_moving_mean"].data().asnumpy()).sum() > 0
    assert block.params["fc_weight"].shape == (2, 5)


def test_part_of_a_network_shares_its_parameters():
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
    net.initialize()
    x = mx.nd.ones((3, 5))
    net(x)
    data = mx.sym.Variable("data")
    internals = net(data).get_internals()
    block = mx.gluon.SymbolBlock([internals["net_dense0_relu_fwd_output"], internals["net_dense1_fwd_output"]], data,
                                 params=net.collect_params())
    features, out = block(x)
    assert features.shape == (3, 4)
    np.testing.assert_array_equal(out.asnumpy(), net(x).asnumpy())
    net[1].bias.set_data(mx.nd.array([5, 6]))
    np.testing.assert_array_equal(block(x)[1].asnumpy(), net(x).asnumpy())
    made = block(mx.sym.Variable("other"))
    assert [one.list_arguments()[0] for one in made] == ["other", "other"]
    assert repr(block) == ("SymbolBlock(\n<Symbol group [net_dense0_relu_fwd, net_dense1_fwd]> : 1 -> 2\n)")


def test_a_sparse_network_stays_sparse(tmp_path):
    data, weight = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("weight", stype="row_sparse", shape=(6, 2))
    block = mx.gluon.SymbolBlock(mx.sym.sparse.dot(data, weight), data)
    assert block.params["weight"].stype == "row_sparse"
    block.initialize()
    x = mx.nd.sparse.csr_matrix(np.eye(3, 6))
    with mx.config.set(densify="error"):
        out = block(x)
    np.testing.assert_allclose(out.asnumpy(), block.params["weight"].data().asnumpy()[:3], rtol=1e-6)


def test_float16_leaves_the_statistics_alone():
    below = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    block = mx.gluon.SymbolBlock(mx.sym.BatchNorm(below, name="bn"), mx.sym.Variable("x"))
    block.cast("float16")
    assert {name: parameter.dtype.name for name, parameter in block.params.items()} == {
        "fc_weight": "float16", "fc_bias": "float16", "bn_gamma": "float32", "bn_beta": "float32",
        "bn_moving_mean": "float32", "bn_moving_var": "float32"}


def test_what_cannot_be_exported_or_imported_says_so(tmp_path):
    net = initialized(mx.gluon.nn.Dense(3, prefix="d_"))
    refused(InitializationError, "", net.export, tmp_path / "net")
    assert not list(tmp_path.iterdir())
    net(mx.nd.ones((2, 4)))
    refused(SparsekitError, "epoch", net.export, tmp_path / "net", epoch=-1)
    symbol, params = net.export(tmp_path / "net")
    refused(ParameterError, "no variable named 'x'", mx.gluon.SymbolBlock.imports, symbol, ["x"], params)
    refused(DataFileError, "", mx.gluon.SymbolBlock.imports, tmp_path / "missing.json", ["data"])
    Path(symbol).write_text(Path(symbol).read_text(encoding="utf-8")[:100], encoding="utf-8")
    refused(DataFileError, "is not valid JSON", mx.gluon.SymbolBlock.imports, symbol, ["data"], params)
    refused(ParameterError, "must be variable", mx.gluon.SymbolBlock, mx.sym.Variable("a") + 1, mx.sym.Variable("a") * 2)
    block = mx.gluon.SymbolBlock(mx.sym.Variable("a") + mx.sym.Variable("b"), [mx.sym.Variable("a"), mx.sym.Variable("b")])
    refused(ShapeError, "structure", block, mx.nd.ones(2))
    refused(SparsekitError, "NDArray", block, mx.nd.ones(2), 3)


def test_parameters_that_the_graph_does_not_have_are_named(tmp_path):
    net = initialized(Computes(lambda F, x, unused: F.relu(x), "idle_", unused={"shape": (1,), "init": "zeros"}))
    with pytest.warns(UserWarning, match='"idle_unused" is not found in the graph'):
        symbol, params = net.export(tmp_path / "net")
    with warnings.catch_warnings():
        assert mx.nd.load(params) in ({}, [])
        assert mx.sym.load(symbol).list_arguments() == ["data"]


# blocks without parameters, and blocks that do not say how many inputs they take


class Sums(mx.gluon.HybridBlock):
    """Any number of inputs."""

    def hybrid_forward(self, F, *arrays):
        return F.add_n(*arrays)


class Nested(mx.gluon.HybridBlock):
    """Lists in, lists out, an input that may be left out, and a setting."""

    def hybrid_forward(self, F, x, others, mask=None, scale=1):
        x = x if mask is None else F.broadcast_mul(x, mask)
        return [x * scale + others[0], [others[1] * 2]]


def _flat(value):
    return [value] if isinstance(value, mx.nd.NDArray) else [one for item in value for one in _flat(item)] if isinstance(
        value, (list, tuple)) else []


_TWO = mx.nd.array([[1, -2], [3, 4]])
CALLS = {
    "activation": (lambda: mx.gluon.nn.Activation("relu"), (_TWO,)), "empty": (mx.gluon.nn.HybridSequential, (_TWO,)),
    "one": (Sums, (_TWO,)), "three": (Sums, (_TWO, _TWO * 2, _TWO * 3)),
    "function": (lambda: mx.gluon.nn.HybridLambda(lambda F, x, y: F.dot(x, y)), (_TWO, _TWO + 1)),
    "name": (lambda: mx.gluon.nn.HybridLambda("relu"), (_TWO,)), "nested": (Nested, (_TWO, [_TWO, _TWO * 2])),
    "mask": (Nested, (_TWO, [_TWO, _TWO * 2], _TWO)), "None": (Nested, (_TWO, [_TWO, _TWO], None, 3)),
    "loss": (mx.gluon.loss.SoftmaxCELoss, (_TWO, mx.nd.array([0, 1]))),
    "weighed": (mx.gluon.loss.L2Loss, (_TWO, _TWO * 2, mx.nd.array([[1], [2]]))),
}


@pytest.mark.parametrize("name", CALLS)
def test_blocks_without_parameters_and_with_any_number_of_inputs(name, tmp_path):
    make, inputs = CALLS[name]
    block = make()
    block.hybridize()
    expected = [one.asnumpy() for one in _flat(block(*inputs))]
    files = block.export(str(tmp_path / "net"))
    arrays = _flat(inputs)
    names = ["data"] if len(arrays) == 1 else [f"data{place}" for place in range(len(arrays))]
    read = mx.gluon.SymbolBlock.imports(files[0], names, files[1])
    for _ in range(2):
        alike(_flat(read(*arrays)), expected)
        read.hybridize()


def test_a_block_whose_inputs_are_not_known_says_what_to_do(tmp_path):
    block = mx.gluon.nn.HybridLambda(lambda F, x, y: x + y)
    with pytest.raises(mx.MXNetError, match=r"does not run on 1 symbols, data: TypeError.*\n.*hybridize\(\) and call the block"):
        block.export(str(tmp_path / "net"))
    shaped = mx.gluon.nn.HybridLambda(lambda F, x: x.reshape((x.shape[0], -1)))
    refused(mx.MXNetError, "no attribute 'shape'", shaped.export, str(tmp_path / "net"))


def test_a_file_of_no_parameters_is_read(tmp_path):
    block = mx.gluon.nn.Activation("relu")
    block.save_parameters(str(tmp_path / "none.params"))
    block.load_parameters(str(tmp_path / "none.params"))
    block.collect_params().save(str(tmp_path / "none2.params"))
    block.collect_params().load(str(tmp_path / "none2.params"))


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("before", ["nothing", "initialization", "a step"])
def test_a_deep_copy_of_a_symbol_block_is_a_block_by_itself(hybrid, before):
    data = mx.sym.Variable("data")
    layer = mx.sym.BatchNorm(mx.sym.FullyConnected(data, num_hidden=2, name="fc"), name="bn")
    net = stack(mx.gluon.SymbolBlock(layer, data))
    if hybrid:
        net.hybridize()
    x = mx.nd.array([[1, 2, 3], [4, 5, 7]])
    if before != "nothing":
        net.initialize(mx.init.One())
    if before == "a step":
        net(x)
    other = copy.deepcopy(net)
    for one in (net, other):
        one.initialize(mx.init.One(), force_reinit=True)
        assert one(x).shape == (2, 2)
    first = net(x).asnumpy()
    assert other(x).asnumpy().tolist() == first.tolist()
    differentiated(lambda: (other(x) * mx.nd.array([[1, 2], [3, 5]])).sum())
    mx.gluon.Trainer(other.collect_params(), "sgd", {"learning_rate": 10}).step(1)
    assert other(x).asnumpy().tolist() != first.tolist()
    assert net(x).asnumpy().tolist() == first.tolist()
