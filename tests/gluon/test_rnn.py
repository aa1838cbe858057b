"""Recurrent cells and layers against MXNet 1.9.1: names, files, outputs, states and gradients."""

import base64
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import alike, initialized, refused

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "gluon_rnn.json").read_text(encoding="utf-8"))

#: Where MXNet fails, by stacking along the wrong axis, and what computes the same there.
BETTER = {
    case["expression"]: case["expression"].replace("valid_length", "merge_outputs=True, valid_length")
    for case in GOLDEN["nets"] if "error" in case}


@pytest.fixture(autouse=True)
def quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def names():
    found = {"mx": mx, "np": np}
    exec(GOLDEN["setup"][0], found)
    return found


@pytest.mark.parametrize("case", [case for case in GOLDEN["nets"] if "error" not in case], ids=lambda case: case["expression"])
def test_values_and_gradients_are_those_of_mxnet(case):
    scope = names()
    call, data, net = eval(case["expression"], scope)
    data.attach_grad()
    with mx.autograd.record(train_mode="Dropout" not in case["expression"]):
        found = call(data)
    outputs = scope["flat"](found)
    assert [list(output.shape) for output in outputs] == case["shapes"]
    assert (isinstance(found, tuple) and not isinstance(found[0], list)) == case["merged"]
    for output, expected in zip(outputs, case["outputs"], strict=True):
        np.testing.assert_allclose(output.asnumpy().ravel(), expected, rtol=1e-5, atol=2e-6)
    if "gradient" not in case:
        return
    mx.autograd.backward(*scope["heads"](outputs))
    np.testing.assert_allclose(data.grad.asnumpy().ravel(), case["gradient"], rtol=1e-4, atol=5e-6)
    parameters = net.collect_params()
    assert sorted(parameters) == sorted(case["totals"])
    for name, expected in case["totals"].items():
        np.testing.assert_allclose(parameters[name].grad().asnumpy().ravel()[::3], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("expression", BETTER)
def test_merged_by_default_as_when_asked(expression):
    scope = names()
    assert BETTER[expression] != expression
    first, second = ([output.asnumpy() for output in scope["flat"](call(data))]
                     for call, data, _ in (eval(one, scope) for one in (expression, BETTER[expression])))
    alike(first, second)


@pytest.mark.parametrize("case", GOLDEN["files"], ids=lambda case: case["expression"])
def test_files_are_those_of_mxnet(case, tmp_path):
    path, again = tmp_path / "theirs.params", tmp_path / "ours.params"
    path.write_bytes(base64.b64decode(case["file"]))
    scope = names()
    net = eval(case["expression"], scope)
    net.load_parameters(str(path))
    net.save_parameters(str(again))
    assert again.read_bytes() == path.read_bytes()
    filled = eval(case["expression"], scope)
    data = mx.nd.ones((1, 2, 3))
    scope["fill"](filled, lambda: filled.unroll(2, data) if hasattr(filled, "unroll") else filled(data))
    for name, parameter in filled.collect_params().items():
        np.testing.assert_array_equal(net.collect_params()[name].data().asnumpy(), parameter.data().asnumpy())


LAYERS = ["RNN(3, 2)", "RNN(3, activation='tanh', bidirectional=True)", "LSTM(3, 2, bidirectional=True)", "LSTM(3, layout='NTC')",
          "GRU(3, 2, bidirectional=True, layout='NTC')"]


@pytest.mark.parametrize("text", LAYERS)
@pytest.mark.parametrize("lengths", [None, [2, 4, 1]])
def test_a_layer_is_its_cells(text, lengths):
    """The fused operator and the cells, with the same parameters: two ways to the same numbers and gradients."""
    scope = names()
    layer = eval(f"rnn.{text[:-1]}, prefix='x_', use_sequence_length={lengths is not None})", scope)
    data = scope["wave"](4, 3, 2, speed=1.1)
    data = data if layer._layout == "TNC" else data.swapaxes(0, 1)
    given = [] if lengths is None else [mx.nd.array(lengths)]
    scope["fill"](layer, lambda: layer(data, None, *given))
    cells, results = layer._unfuse(), []
    assert sorted(cells.collect_params()) == sorted(layer.collect_params())
    for fused in (True, False):
        data.attach_grad()
        with mx.autograd.record():
            if fused:
                output, states = layer(data, layer.begin_state(3), *given)
            else:
                output, states = cells.unroll(4, data, layout=layer._layout, merge_outputs=True,
                                              valid_length=given[0] if given else None)
            total = (output * scope["wave"](*output.shape, speed=0.4)).sum()
        total.backward()
        results.append([output, data.grad.copy(), *(parameter.grad().copy() for parameter in layer.collect_params().values())])
    hidden = [mx.nd.concat(*[state.expand_dims(0) for state in states[place::len(layer.state_info())]], dim=0)
              for place in range(len(layer.state_info()))]
    alike(results[0], results[1], rtol=1e-4, atol=1e-5)
    alike(layer(data, layer.begin_state(3), *given)[1], hidden, rtol=1e-4, atol=1e-5)


def test_bounds_of_the_cell_in_a_layer():
    net = initialized(mx.gluon.rnn.LSTM(3, state_clip_min=-0.1, state_clip_max=0.1, state_clip_nan=True), mx.init.Uniform(2))
    _, (_, cell) = net(mx.nd.ones((5, 2, 4)), net.begin_state(2))
    assert np.abs(cell.asnumpy()).max() == np.float32(0.1)


def test_lengths_and_use_sequence_length_go_together():
    plain, with_lengths = mx.gluon.rnn.GRU(3), mx.gluon.rnn.GRU(3, use_sequence_length=True)
    for net, given in ((plain, [None, mx.nd.array([1, 2])]), (with_lengths, [])):
        net.initialize()
        refused(mx.MXNetError, "both or neither", net, mx.nd.ones((4, 2, 3)), *given)


def test_types_and_castings():
    net = initialized(mx.gluon.rnn.GRU(3, dtype="float64"))
    assert net(mx.nd.ones((4, 2, 3), dtype="float64")).dtype == np.float64
    net.cast("float32")
    assert net.begin_state(2)[0].dtype == np.float32
    assert net(mx.nd.ones((4, 2, 3))).dtype == np.float32
    refused(mx.DTypeError, "", net, mx.nd.ones((4, 2, 3), dtype="float64"))
    refused(mx.ShapeError, "three axes", net, mx.nd.ones((4, 2)))
    cell = mx.gluon.rnn.LSTMCell(3)
    cell.cast("float64")
    cell.initialize()
    assert cell.unroll(2, mx.nd.ones((2, 2, 3), dtype="float64"))[1][1].dtype == np.float64


def trained(cell, steps=40, **more):
    cell.initialize(mx.init.Constant(0.5))
    mx.random.seed(6)
    with mx.autograd.train_mode():
        return cell.unroll(steps, mx.nd.random.normal(shape=(50, steps, 4)), merge_outputs=True, **more)


def test_zoneout_keeps_the_step_before():
    output, _ = trained(mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.RNNCell(4), zoneout_outputs=0.3))
    values = output.asnumpy()
    kept = (values[:, 1:] == values[:, :-1]).mean()
    assert 0.25 < kept < 0.35
    _, (state,) = trained(mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.RNNCell(4), zoneout_states=0.3), steps=1)
    assert 0.15 < (state.asnumpy() == 0).mean() < 0.45
    plain = initialized(mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.RNNCell(4), 0.5, 0.5), mx.init.Constant(0.5))
    assert (plain.unroll(3, mx.nd.ones((5, 3, 4)), merge_outputs=True)[0].asnumpy() != 0).all()


@pytest.mark.parametrize("states", [0.0, 0.4])
def test_variational_dropout_is_the_same_in_all_steps(states):
    cell = mx.gluon.contrib.rnn.VariationalDropoutCell(mx.gluon.rnn.RNNCell(4), 0.2, states, 0.4)
    values = trained(cell)[0].asnumpy()
    dropped = values == 0
    assert (dropped == dropped[:, :1]).all()
    assert 0.3 < dropped.mean() < 0.5
    cell.reset()
    assert cell.drop_outputs_mask is None


def test_dropout_between_cells_is_of_the_training():
    stack = mx.gluon.rnn.HybridSequentialRNNCell()
    stack.add(mx.gluon.rnn.RNNCell(8))
    stack.add(mx.gluon.rnn.DropoutCell(0.5))
    values = trained(stack, steps=3)[0].asnumpy()
    assert 0.4 < (values == 0).mean() < 0.6
    assert (stack.unroll(3, mx.nd.ones((50, 3, 4)), merge_outputs=True)[0].asnumpy() != 0).all()


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("lengths", [None, [2, 4, 1]])
def test_dynamic_unroll(layout, lengths):
    scope = names()
    cell = mx.gluon.rnn.LSTMCell(3, prefix="a_")
    data = scope["wave"](4, 3, 2, speed=1.1) if layout == "TNC" else scope["wave"](3, 4, 2, speed=1.1)
    scope["fill"](cell, lambda: cell.unroll(4, data, layout=layout))
    lengths = None if lengths is None else mx.nd.array(lengths)
    expected = cell.unroll(4, data, layout=layout, merge_outputs=True, valid_length=lengths)
    found = mx.gluon.contrib.rnn.rnn_cell.dynamic_unroll(cell, data, cell.begin_state(3), layout=layout, valid_length=lengths)
    alike(scope["flat"](found), scope["flat"](expected), rtol=1e-6, atol=1e-7)


def test_a_cell_of_ones_own():
    class Sum(mx.gluon.rnn.HybridRecurrentCell):
        def state_info(self, batch_size=0):
            return [{"shape": (batch_size, 2), "__layout__": "NC"}]

        def hybrid_forward(self, F, x, states):
            total = F.elemwise_add(x, states[0])
            return total, [total]

    output, states = Sum().unroll(3, mx.nd.ones((1, 3, 2)), merge_outputs=True)
    assert output.asnumpy()[0, :, 0].tolist() == [1, 2, 3]
    assert states[0].asnumpy().tolist() == [[3, 3]]


def arrays_in(found):
    return [one for part in found for one in arrays_in(part)] if isinstance(found, (list, tuple)) else [found]


@pytest.mark.parametrize("text", ["rnn.LSTM(4, 2, bidirectional=True)", "rnn.GRU(4, layout='NTC', dropout=0.5, num_layers=2)",
                                  "rnn.LSTM(4, projection_size=2)"])
def test_hybridized_layers_give_the_same_with_and_without_states(text):
    scope = names()
    net, data = eval(text, scope), scope["wave"](4, 3, 5)
    net.initialize()
    net(data)  # the first call draws parameters
    found = []
    for active in (False, True, True):
        net.hybridize(active)
        for _ in range(2):
            mx.random.seed(3)
            with mx.autograd.record():
                alone, (output, states) = net(data), net(data, net.begin_state(4 if net._layout == "NTC" else 3))
                total = (alone**2).sum() + output.sum()
            total.backward()
            found.append([alone, output, *states, *(one.grad().copy() for one in net.collect_params().values())])
    for other in found[1:]:
        alike(other, found[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", [
    "rnn.LSTMCell(4)", "rnn.GRUCell(4)", "rnn.ResidualCell(rnn.RNNCell(5))", "contrib.LSTMPCell(4, 2)",
    "rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.GRUCell(3))", "rnn.ZoneoutCell(rnn.RNNCell(5), 0.3, 0.3)",
    "contrib.VariationalDropoutCell(rnn.RNNCell(5), 0.3, 0.3, 0.3)"])
def test_hybridized_cells_give_the_same(text):
    """Those too that keep arrays from step to step."""
    scope = names()
    cell, data = eval(text, scope), scope["wave"](4, 3, 5)
    cell.initialize()
    cell.unroll(4, data, layout="TNC")
    found = []
    for active in (False, True, True):
        cell.hybridize(active)
        for _ in range(2):
            mx.random.seed(3)
            with mx.autograd.record():
                outputs = arrays_in(cell.unroll(4, data, layout="TNC", merge_outputs=True))
            found.append([one.asnumpy() for one in outputs])
    for other in found[1:]:
        alike(other, found[0], rtol=1e-5, atol=1e-6)


#: Names of MXNet 1.9.1 for the operators of a step, those that are counted in a graph left out.
STEP_NAMES = {
    "RNNCell": "i2h h2h plus0 out", "LSTMCell": "i2h h2h plus0 slice o f mul0 i c mul1 state activation0 out",
    "GRUCell": "i2h i2h_slice h2h h2h_slice plus1 z_act ones_like0 minus0 plus0 r_act mul0 plus2 h_act mul1 mul20 out",
}


@pytest.mark.parametrize("kind", sorted(STEP_NAMES))
def test_symbols_of_unrolled_cells_have_the_names_of_mxnet(kind):
    steps = [mx.sym.Variable(f"x{number}") for number in range(2)]
    outputs, _ = getattr(mx.gluon.rnn, kind)(3, prefix="cell_").unroll(2, steps, merge_outputs=False)
    outputs = mx.sym.Group(outputs)
    assert outputs.list_outputs() == ["cell_t0_out_output", "cell_t1_out_output"]
    made = dict.fromkeys(name.partition("_output")[0] for name in outputs.get_internals().list_outputs() if "_output" in name)
    for step in ("t0", "t1"):
        assert [name.partition(f"{step}_")[2] for name in made if f"_{step}_" in name] == STEP_NAMES[kind].split()


def test_names_of_composed_cells():
    rnn = mx.gluon.rnn
    steps = [mx.sym.Variable(f"x{number}") for number in range(2)]
    both = rnn.BidirectionalCell(rnn.RNNCell(3, prefix="l_"), rnn.RNNCell(3, prefix="r_"), output_prefix="both_")
    assert mx.sym.Group(both.unroll(2, steps, merge_outputs=False)[0]).list_outputs() == ["both_t0_output", "both_t1_output"]
    stacked = rnn.SequentialRNNCell(prefix="s_")
    with stacked.name_scope():
        stacked.add(rnn.RNNCell(3))
        stacked.add(rnn.DropoutCell(0.5))
    names = mx.sym.Group(stacked.unroll(2, steps, merge_outputs=False)[0]).list_outputs()
    assert names == ["s_dropout0_t0_fwd_output", "s_dropout0_t1_fwd_output"]


@pytest.mark.parametrize("func", [mx.nd.zeros, mx.nd.ones])
def test_functions_of_arrays_make_states(func):
    """As MXNet's language model has it."""
    for maker in (mx.gluon.rnn.LSTM(3), mx.gluon.rnn.LSTMCell(3)):
        states = maker.begin_state(func=func, batch_size=2, ctx=mx.cpu())
        assert [state.shape[-2:] for state in states] == [(2, 3), (2, 3)]
        assert {float(state.asnumpy().mean()) for state in states} == {float(func is mx.nd.ones)}
