"""Modules beside those of MXNet 1.9.1: parameters after training, predictions, log lines, warnings, files to the byte."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.core import hooks
from tests.module.same_code import check, run

FACTS = json.loads((Path(__file__).parents[1] / "golden" / "module.json").read_text(encoding="utf-8"))
CASES = {case["name"]: case for case in FACTS["cases"]}

#: Log lines that are others, and why: name of the case -> how they are named here.
LOGGED = {"feed forward": "it trains a Module, which logs the metric of each epoch"}


@pytest.mark.parametrize("name", CASES)
def test_the_same_code_gives_what_mxnet_gives(name, tmp_path, monkeypatch):
    check(FACTS["start"], CASES[name], tmp_path, monkeypatch, logged=name not in LOGGED)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("linear")])
def test_nothing_becomes_dense_while_sparse_models_train(name, tmp_path, monkeypatch):
    before = len(hooks.ledger)
    monkeypatch.setattr(mx.config, "densify", "error")
    run(FACTS["start"], CASES[name], tmp_path, monkeypatch)
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
