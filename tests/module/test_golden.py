"""Modules beside those of MXNet 1.9.1: parameters after training, predictions, log lines, warnings, files to the byte."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import hooks
from tests.module.recorded_modules import run

FACTS = json.loads((Path(__file__).parents[1] / "golden" / "module.json").read_text(encoding="utf-8"))
CASES = {case["name"]: case for case in FACTS["cases"]}

#: Log lines that are others, and why: name of the case -> how they are named here.
LOGGED = {"feed forward": "it trains a Module, which logs the metric of each epoch"}


def run_here(case, folder, monkeypatch):
    """What the case's code leaves, logs, says and writes."""
    monkeypatch.chdir(folder)  # and back
    result, lines, said, files = run(mx, FACTS["start"] + case["code"], folder)
    # What lazy updates leave out MXNet writes to standard error: tests/optimizer/test_lazy_warning.py.
    return result, lines, [str(one.message) for one in said if one.category is not mx.LazyUpdateWarning], files


def compare(found, expected, where=""):
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), where
        for name, item in expected.items():
            compare(found[name], item, f"{where}.{name}")
    elif isinstance(expected, list) and any(isinstance(item, (str, list, dict)) for item in expected):
        assert len(found) == len(expected), where
        for place, item in enumerate(expected):
            compare(found[place], item, f"{where}[{place}]")
    elif isinstance(expected, (bool, str, type(None))):
        assert found == expected, where
    else:
        np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(expected, np.float64), rtol=1e-5, atol=1e-6,
                                   err_msg=where)


@pytest.mark.parametrize("name", CASES)
def test_the_same_code_gives_what_mxnet_gives(name, tmp_path, monkeypatch):
    case = CASES[name]
    result, log, said, files = run_here(case, tmp_path, monkeypatch)
    compare(result, case["result"], name)
    if name in LOGGED:
        assert log != case["log"]
    else:
        compare([_number(line) for line in log], [_number(line) for line in case["log"]], "log")
    assert said == case["warnings"]
    assert {key: base64.b64encode(data).decode() for key, data in files.items()} == case["files"]


def _number(line):
    """A log line as its words, and its number if it ends with one."""
    words, equals, number = line.rpartition("=")
    return [words, [float(number)]] if equals and number != "T" else [line, [0.0]]


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("linear")])
def test_nothing_becomes_dense_while_sparse_models_train(name, tmp_path, monkeypatch):
    before = len(hooks.ledger)
    monkeypatch.setattr(mx.config, "densify", "error")
    run_here(CASES[name], tmp_path, monkeypatch)
    assert len(hooks.ledger) == before


@pytest.mark.parametrize(("prefix", "epoch", "case"), [("dense", 3, "checkpoint"), ("sparse", 12, "sparse checkpoint")])
def test_checkpoints_of_mxnet_load(prefix, epoch, case, tmp_path):
    for name, text in CASES[case]["files"].items():
        (tmp_path / name).write_bytes(base64.b64decode(text))
    symbol, arguments, states = mx.model.load_checkpoint(str(tmp_path / prefix), epoch)
    assert set(symbol.list_arguments()) > set(arguments)
    if prefix == "sparse":
        assert (arguments["weight"].stype, states["average"].stype) == ("row_sparse", "csr")
        states.clear()
    names = {"dense": {}, "sparse": {"label_names": ["label"]}}[prefix]
    module = mx.mod.Module(symbol, **names)
    width = {"dense": 7, "sparse": 12}[prefix]
    module.bind([("data", (2, width))], [(module.label_names[0], (2,) if prefix == "dense" else (2, 1))])
    module.set_params(arguments, states)
    data = mx.nd.ones((2, width))
    assert module.predict(data if prefix == "dense" else data.tostype("csr")).shape == (2, {"dense": 3, "sparse": 1}[prefix])
