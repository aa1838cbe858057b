"""``mx.rnn`` beside that of MXNet 1.9.1: symbols, shapes, outputs, gradients, packed weights, files, batches and refusals."""

import json
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.base.errors import ParameterError, ParameterNameError
from tests.calls import refused
from tests.module.same_code import check

FACTS = json.loads((Path(__file__).parents[1] / "golden" / "rnn.json").read_text(encoding="utf-8"))
CASES = {case["name"]: case for case in FACTS["cases"]}


@pytest.mark.parametrize("name", CASES)
def test_the_same_code_gives_what_mxnet_gives(name, tmp_path, monkeypatch):
    check(FACTS["start"], CASES[name], tmp_path, monkeypatch)


def test_zoneout_of_a_stack_and_the_states_of_a_modified_stack():
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.LSTMCell(4, prefix="l0_"))
    stack.add(mx.rnn.RNNCell(4, prefix="l1_"))
    cell = mx.rnn.ResidualCell(mx.rnn.ZoneoutCell(stack, zoneout_states=0.5))
    assert [state.name for state in cell.begin_state(func=mx.sym.Variable)] == [
        "l0_begin_state_0", "l0_begin_state_1", "l1_begin_state_0"]
    outputs, states = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    assert (outputs.infer_shape(data=(3, 2, 4))[1], len(states)) == ([(3, 2, 4)], 3)


def test_a_stack_with_a_cell_that_runs_both_ways_has_no_zoneout():
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.ResidualCell(mx.rnn.BidirectionalCell(mx.rnn.GRUCell(2, prefix="l_"), mx.rnn.GRUCell(2, prefix="r_"))))
    refused(ParameterError, "cannot run single steps", mx.rnn.ZoneoutCell, stack)


def test_cells_of_a_fused_one_have_its_forget_bias():
    stack = mx.rnn.FusedRNNCell(3, forget_bias=2.0).unfuse()
    bias = stack.params.get("lstm_l0_i2h_bias")
    assert bias.attr("__init__") == mx.init.LSTMBias(forget_bias=2.0).dumps()


def test_the_old_function_unrolls_and_says_what_to_use():
    with pytest.warns(UserWarning, match=r"cell\.unroll") as said:
        outputs, _ = mx.rnn.rnn_unroll(mx.rnn.RNNCell(3), 2, mx.sym.Variable("data"), input_prefix="x_")
    assert (len(outputs), said[0].filename) == (2, __file__)


def test_a_checkpoint_that_lacks_a_gate_says_which(tmp_path):
    cell = mx.rnn.LSTMCell(2)
    parts = cell.unpack_weights({"lstm_i2h_weight": mx.nd.ones((8, 3)), "lstm_h2h_weight": mx.nd.ones((8, 2)),
                                 "lstm_i2h_bias": mx.nd.ones(8), "lstm_h2h_bias": mx.nd.ones(8)})
    del parts["lstm_h2h_f_bias"]
    refused(ParameterNameError, "lstm_h2h_f_bias", cell.pack_weights, parts)
    refused(ParameterNameError, "lstm_l0_i2h_i_weight", mx.rnn.FusedRNNCell(2).pack_weights, parts)
