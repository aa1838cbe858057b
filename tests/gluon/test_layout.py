"""A weight that a layer keeps transposed for its gradient is in files and symbols what it is in every other layer."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ParameterError
from sparsekit.gluon import nn
from tests.calls import differentiated, initialized, refused

SIZES = [(3, 5), (4, 4), (1, 6)]


def layer(kind, units, in_units=0, prefix="fc_"):
    made = initialized(nn.Dense(units, in_units=in_units, weight_grad_stype=kind, prefix=prefix), mx.init.Normal(1))
    return made


def batch(in_units, stype="default"):
    values = np.random.default_rng(1).integers(-3, 4, (6, in_units)).astype(np.float32)
    values[::2, 1:] = 0
    return mx.nd.array(values).tostype(stype)


WAYS = {
    "parameters": (lambda net, path: net.save_parameters(path), lambda net, path: net.load_parameters(path)),
    "dictionary": (lambda net, path: net.collect_params().save(path), lambda net, path: net.collect_params().load(path)),
    "stripped": (lambda net, path: net.collect_params().save(path, strip_prefix="fc_"),
                 lambda net, path: net.collect_params().load(path, restore_prefix="fc_")),
    "export": (lambda net, path: net.export(path), lambda net, path: net.collect_params().load(f"{path}-0000.params")),
    "whole": (lambda net, path: net.save(path), lambda net, path: net.load(path)),
}


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reader", ["default", "row_sparse"])
@pytest.mark.parametrize("writer", ["default", "row_sparse"])
def test_either_layer_reads_what_either_wrote(writer, reader, way, size, waits, tmp_path):
    units, in_units = size
    save, load = WAYS[way]
    first, x = layer(writer, units, in_units), batch(in_units)
    second = layer(reader, units, 0 if waits else in_units)
    save(first, str(tmp_path / "net"))
    load(second, str(tmp_path / "net"))
    np.testing.assert_allclose(second(x).asnumpy(), first(x).asnumpy(), rtol=1e-5, atol=1e-5)
    assert second.weight.data().shape == ((in_units, units) if reader == "row_sparse" else (units, in_units))


@pytest.mark.parametrize("size", SIZES)
def test_files_are_those_of_a_plain_layer_byte_for_byte(size, tmp_path):
    plain, other = layer("default", *size), layer("row_sparse", *size)
    other.weight.set_data(plain.weight.data().T)
    files = {}
    for name, net in (("plain", plain), ("other", other)):
        net.save_parameters(str(tmp_path / f"{name}.params"))
        net.export(str(tmp_path / name))
        files[name] = [(tmp_path / f"{name}{end}").read_bytes() for end in (".params", "-symbol.json", "-0000.params")]
    assert files["plain"] == files["other"]


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_a_symbol_block_that_shares_the_parameter_computes_and_trains_the_same(size, waits):
    net, x = layer("row_sparse", size[0], 0 if waits else size[1]), batch(size[1])
    shared = mx.gluon.SymbolBlock(net(mx.sym.Variable("data")), mx.sym.Variable("data"), params=net.collect_params())
    first = shared(x)
    np.testing.assert_allclose(first.asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-5)
    found = []
    for block in (net, shared):
        for hybrid in (False, True):
            block.hybridize(hybrid)
            with mx.autograd.record():
                total = (block(x) ** 2).sum()
            total.backward()
            found.append(net.weight.grad().tostype("default").asnumpy())
    for gradient in found:
        np.testing.assert_allclose(gradient, found[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["default", "row_sparse"])
def test_files_of_other_sizes_are_refused_with_the_shapes_of_files(kind, tmp_path):
    layer("row_sparse", 3, 5).save_parameters(str(tmp_path / "net.params"))
    other = layer(kind, 4, 6)
    refused(ParameterError, r"expected \(4, 6\) vs saved \(3, 5\)", other.load_parameters, str(tmp_path / "net.params"))


def test_the_picture_shows_the_layer_as_it_runs():
    text = str(layer("row_sparse", 3, 5).graph(((2, 5), "csr")))
    assert "dot" in text
    assert "5 × 3 float32; gradient row_sparse" in text


def test_a_block_around_the_layer_infers_its_own_shapes():
    class Around(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.below = nn.Dense(4, weight_grad_stype="row_sparse")
                self.weight = self.params.get("weight", shape=(2, 0), allow_deferred_init=True)

        def hybrid_forward(self, F, x, weight):
            return F.FullyConnected(self.below(x), weight, no_bias=True, num_hidden=2)

    net = initialized(Around())
    assert net(batch(6)).shape == (6, 2)
    assert (net.weight.shape, net.below.weight.shape) == ((2, 4), (6, 4))


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reader", ["default", "row_sparse"])
@pytest.mark.parametrize("writer", ["default", "row_sparse"])
def test_the_states_of_an_optimizer_go_with_the_weight(writer, reader, size, optimizer, tmp_path):
    options = {"learning_rate": 0.1, **({"momentum": 0.9} if optimizer == "sgd" else {}), "lazy_update": False}
    x = batch(size[1])

    def step(net, trainer):
        differentiated(lambda: (net(x) ** 2).mean())
        trainer.step(1)

    first, second = layer(writer, *size), layer(reader, *size)
    trainers = [mx.gluon.Trainer(net.collect_params(), optimizer, options) for net in (first, second)]
    for _ in range(3):
        step(first, trainers[0])
    first.save_parameters(str(tmp_path / "net.params"))
    trainers[0].save_states(str(tmp_path / "net.states"))
    second.load_parameters(str(tmp_path / "net.params"))
    trainers[1].load_states(str(tmp_path / "net.states"))
    for _ in range(2):
        step(first, trainers[0])
        step(second, trainers[1])
    np.testing.assert_allclose(second(x).asnumpy(), first(x).asnumpy(), rtol=1e-4, atol=1e-4)
