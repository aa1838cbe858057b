"""Symbols beside those of MXNet 1.9.1: names, arguments, files to the byte, inferred shapes and types, refusals."""

import ast
import hashlib
import json
import warnings
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.base.errors import SparsekitError
from tests.calls import refused

FACTS = json.loads((Path(__file__).parents[1] / "golden" / "symbols.json").read_text(encoding="utf-8"))
CASES = {case["expression"]: case for case in FACTS["cases"]}

#: What MXNet 1.9.1 refuses and sparsekit answers, or answers otherwise: expression -> why.
DIFFERENT: dict[str, str] = {
    "S.SoftmaxOutput(a,label).infer_shape_partial(a=(2,3,4))": "the label that the operator takes is (2,)",
    "S.SoftmaxOutput(a,label,multi_output=True).infer_shape_partial(a=(2,3,4,5))": "a label for each place keeps its axes",
    "S.SVMOutput(a,label).infer_shape_partial(a=(2,3,4))": "the operator takes (batch, classes) only",
    "S.softmax_cross_entropy(a,label).infer_shape_partial(a=(2,3))": "the label's shape follows from the data's",
    "S.CTCLoss(a,label).infer_shape_partial(a=(2,3,4))": "what is not known yet is not an error",
    "S.Embedding(a,input_dim=5,output_dim=3,name=\"n\").infer_shape_partial()": "the weight's shape is in the attributes",
    "S.concat(a,label,dim=1).infer_shape_partial(a=(2,3))": "a sum of which one term is unknown is unknown",
    "S.FullyConnected(a,num_hidden=3,name=\"f\").infer_shape_partial(a=(2,0,4))": "what is not known yet is not an error",
    "S.FullyConnected(a,num_hidden=3,name=\"f\").infer_shape_partial(a=(0,0))": "what is not known yet is not an error",
    "S.Reshape(a,shape=(0,-1)).infer_shape_partial(a=(0,3,4))": "12 follows whatever the first size is",
    "S.slice_axis(a,axis=0,begin=0,end=2).infer_shape_partial(a=(0,4))": "two entries are cut out of however many there are",
    "S.Embedding(a,input_dim=3,output_dim=2,name=\"e\").infer_type()": "what is not known yet is not an error",
    "S.take(a,label).infer_type(a=\"float64\")": "what is not known yet is not an error",
    "S.reshape_like(a,label).infer_shape_partial(a=(3,4))": "what is not known yet is not an error",
    "S.stack(a,label).infer_shape_partial(a=(3,4))": "all that are stacked have one shape",
    'S.Variable("v", shape=(2,0), lr_mult=2, wd_mult=0.5, dtype="int64", stype="csr", profiler_scope="p", __more__="1")':
        "as in MXNet 2",
}


NETS = {"mx": mx}
with mx.name.NameManager():
    exec(FACTS["variables"] + FACTS["nets"], NETS)


def evaluated(line):
    names = dict(NETS)
    exec(FACTS["variables"], names)  # anew for each: calls may add initial values to the variables they are given
    with mx.name.NameManager(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return eval(line, names)


def compared(line):
    case = CASES[line]
    if "error" in case:
        refused(SparsekitError, "", evaluated, line)
        return
    made = evaluated(line)
    if "value" in case:
        assert repr(made) == case["value"] or (isinstance(made, dict) and made == ast.literal_eval(case["value"]))
        return
    assert repr(made) == case["repr"]
    assert (made.list_arguments(), made.list_auxiliary_states(), made.list_outputs()) == (
        case["arguments"], case["aux"], case["outputs"])
    text = made.tojson()
    assert json.loads(text) == case["graph"]
    assert hashlib.sha256(text.encode()).hexdigest() == case["sha256"]


@pytest.mark.parametrize("line", [line for line in CASES if line not in DIFFERENT])
def test_symbols_are_those_of_mxnet(line):
    compared(line)


@pytest.mark.parametrize("line", DIFFERENT)
def test_differences_are_still_there(line):
    """So that the list names no difference that is gone."""
    refused((AssertionError, SparsekitError, pytest.fail.Exception), "", compared, line)


@pytest.mark.parametrize("line", [line for line, case in CASES.items() if "graph" in case])
def test_files_of_mxnet_are_read_as_they_were_written(line):
    """Reading and writing again gives the same graph, text for text."""
    text = json.dumps(CASES[line]["graph"])
    assert json.loads(mx.sym.load_json(text).tojson()) == CASES[line]["graph"]
