"""Callbacks: the lines that MXNet 1.9.1 logs, and the files of checkpoints."""

import collections
import io
import itertools
import json
import logging
import types
from pathlib import Path

import pytest

import sparsekit as mx

GOLDEN = json.loads((Path(__file__).parent / "golden" / "callback.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["expression"])
def test_lines_are_those_of_mxnet(case, monkeypatch, caplog):
    ticks = itertools.count()
    monkeypatch.setattr(mx.callback, "time", type("clock", (), {"time": staticmethod(lambda: next(ticks) / 2)}))
    names = {"mx": mx, "collections": collections}
    exec(GOLDEN["setup"], names)
    with caplog.at_level(logging.INFO):
        eval(case["expression"], names)
    assert [record.getMessage() for record in caplog.records] == case["lines"]


class Symbol:
    """Only what a checkpoint needs of a symbol."""

    def save(self, path, remove_amp_cast=True):
        Path(path).write_text("{}", encoding="utf-8")


def test_checkpoints(tmp_path, caplog):
    callback = mx.callback.do_checkpoint(f"{tmp_path}/model", 2)
    with caplog.at_level(logging.INFO):
        for epoch in range(4):
            callback(epoch, Symbol(), {"w": mx.nd.ones(2)}, {"v": mx.nd.zeros(3)})
    assert sorted(path.name for path in tmp_path.iterdir()) == GOLDEN["files"]
    loaded = mx.nd.load(str(tmp_path / "model-0002.params"))
    assert sorted(loaded) == GOLDEN["names"]
    assert loaded["arg:w"].asnumpy().tolist() == [1, 1]
    assert [record.getMessage().replace(f"{tmp_path}/", "") for record in caplog.records] == GOLDEN["saved"]


def test_a_module_saves_itself():
    calls = []

    class Module:
        def save_checkpoint(self, *arguments):
            calls.append(arguments)

    callback = mx.callback.module_checkpoint(Module(), "model", 3, True)
    for epoch in range(7):
        callback(epoch, None, None, None)
    assert calls == [("model", 3, True), ("model", 6, True)]


def test_a_clock_that_stands_still(monkeypatch, caplog):
    monkeypatch.setattr(mx.callback, "time", type("clock", (), {"time": staticmethod(lambda: 3.0)}))
    callback = mx.callback.Speedometer(4, 1)
    with caplog.at_level(logging.INFO):
        for batch in range(2):
            callback(types.SimpleNamespace(epoch=0, nbatch=batch, eval_metric=None, locals=None))
    assert caplog.records[-1].getMessage() == "Iter[0] Batch [1]\tSpeed: inf samples/sec"


def test_a_bar_of_nothing():
    with pytest.raises(mx.MXNetError, match="total must be at least 1, got 0"):
        mx.callback.ProgressBar(0)


class OutStream(io.StringIO):
    """What a notebook's kernel writes to is called so."""


def test_a_bar_in_a_notebook(monkeypatch):
    stream, now = OutStream(), [0.0]
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("sparsekit.base.progress.time", types.SimpleNamespace(monotonic=lambda: now[0]))
    iterator = mx.io.NDArrayIter(mx.nd.ones((40, 2)), batch_size=4)
    metric = mx.metric.create("mse")
    metric.update(mx.nd.ones(2), mx.nd.zeros(2))
    callback = mx.callback.Speedometer(4, 100)
    for epoch in range(2):
        for batch in range(10):
            now[0] += 0.5
            callback(types.SimpleNamespace(epoch=epoch, nbatch=batch, eval_metric=metric,
                                           locals={"train_data": iterator, "next_data_batch": None if batch == 9 else 1}))
    drawn = [line.strip() for line in stream.getvalue().split("\r") if line.strip() and " 0/40 " not in line]
    assert drawn[0].startswith("Epoch 0:  20%|")
    assert " 8/40 [" in drawn[0]
    assert drawn[0].endswith(" samples/s, mse=1]")
    assert drawn[8].startswith("Epoch 0: 100%|")
    assert " 40/40 [" in drawn[8]
    assert drawn[9].startswith("Epoch 1:  20%|")
    last = stream.getvalue().rstrip("\r").rpartition("\r")[2]
    assert not last.strip()  # the line is taken away


def test_no_bar_elsewhere(capsys):
    callback = mx.callback.Speedometer(4, 100)
    for batch in range(3):
        callback(types.SimpleNamespace(epoch=0, nbatch=batch, eval_metric=None, locals=None))
    assert capsys.readouterr() == ("", "")
