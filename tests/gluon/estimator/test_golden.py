"""Estimators and their handlers log, warn, write and compute what MXNet 1.9.1's do."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.gluon.contrib import estimator
from tests.gluon.estimator.recorded_estimators import Run

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "estimator.json").read_text(encoding="utf-8"))

#: A resumed run says how many epochs it has in all, and its epochs go on from those before.
BETTER = {"Train for 3 epochs.": "Train for 5 epochs."}
#: It also ends the epoch that it was in, where MXNet begins the data anew.
OTHER_LINES = {"resumed after batches"}
#: MXNet counts a batch too few in the name of the file.
FILES = {"model-epoch0batch2.params": "model-epoch0batch3.params", "model-epoch0batch2.states": "model-epoch0batch3.states"}


def same(found, expected):
    """A result is what MXNet's was encoded as."""
    if isinstance(expected, list):
        ours = [name for name in found if not name.endswith(".run")]
        assert ours == sorted(FILES.get(name, name) for name in expected)
    elif "items" in expected:
        assert len(found) == len(expected["items"])
        for one, other in zip(found, expected["items"], strict=True):
            same(one, other)
    elif isinstance(found, mx.nd.NDArray):
        np.testing.assert_allclose(found.asnumpy(), np.array(expected["value"]), rtol=1e-5, atol=1e-6)
    elif isinstance(expected["value"], str):
        numbers = re.fullmatch(r"-?[\d.]+(e-?\d+)?", str(found))
        assert (float(found) == pytest.approx(float(expected["value"]), rel=1e-5)) if numbers else found == expected["value"]
    else:
        assert found == pytest.approx(expected["value"], rel=1e-5)


def numbered(line, done):
    """A line with the number of epochs that it has here."""
    line = re.sub(r"^\[Epoch (\d+)\]", lambda match: f"[Epoch {int(match[1]) + done}]", line)
    line = re.sub(r"with (\d+) epochs\.", lambda match: f"with {int(match[1]) + done} epochs.", line)
    return BETTER.get(line, line) if done else line


def as_here(case):
    """The lines of MXNet, as they are here."""
    done = 0
    for line in case["lines"]:
        if line.startswith("CheckpointHandler: Checkpoint resumed from epoch "):
            done = int(line.split()[5]) + 1
        yield numbered(line.replace("EarlyStoppingHanlder", "EarlyStoppingHandler"), done)  # codespell:ignore


def numbers_of(lines):
    return [float(number) for line in lines for number in re.findall(r"\d\.\d+", line)]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_a_run_is_that_of_mxnet(case, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 0.0)
    run = Run(mx, estimator, (GOLDEN["setup"], case["source"]), tmp_path)
    if case["error"]:
        assert isinstance(run.error, (ValueError, TypeError)), run.error
        assert isinstance(run.error, mx.SparsekitError)
        assert run.error.hint
        return
    if run.error is not None:
        raise run.error
    if case["name"] not in OTHER_LINES:
        expected = list(as_here(case))
        assert [re.sub(r"\d\.\d+", "N", line) for line in run.lines] == [re.sub(r"\d\.\d+", "N", line) for line in expected]
        assert numbers_of(run.lines) == pytest.approx(numbers_of(expected), abs=2e-4)
    assert run.said == case["said"]
    assert sorted({kind.__name__ for kind in run.warned}) == case["warned"]
    assert len(run.outputs) == len(case["outputs"])
    for found, expected in zip(run.outputs, case["outputs"], strict=True):
        same(found, expected)
