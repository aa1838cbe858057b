"""The example of a whole training run: both ways to the end give the same weights, and what it says of them is true."""

import importlib.util
import re

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.examples import training_run


def part(count, seed):
    rng = np.random.default_rng(seed)
    rows = rng.random((count, 400)) < 0.05
    label = (rows[:, :20].sum(1) > rows[:, 20:40].sum(1)).astype("float32")
    return mx.nd.array(rows.astype("float32")).tostype("csr"), label


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(training_run, "read", lambda options: training_run.Data(part(500, 0), part(100, 1), part(200, 2)))


def options(*words):
    return training_run.parser().parse_args(["--epochs", "4", "--batch-size", "50", "--checkpoint-every", "4", *words])


def test_the_run_in_two_parts_ends_as_the_whole_one(small, tmp_path):
    said = []
    with np.errstate(all="raise"):
        whole, parts = training_run.run(options("--progress"), tmp_path, said.append)
    text = "\n".join(said)
    assert parts.weights == whole.weights
    assert "are the same, bit for bit" in text
    assert (tmp_path / "whole" / "log.csv").read_text() == (tmp_path / "parts" / "log.csv").read_text()
    share = float(np.mean(part(200, 2)[1]))
    assert whole.accuracy > max(share, 1 - share) + 0.05
    assert whole.accuracy == pytest.approx(float(re.search(r"Estimator: test accuracy ([\d.]+)", text)[1]), abs=1e-4)
    for name, package in (("SGDClassifier", "sklearn"), ("EmbeddingBag", "torch")):
        assert (name in text) == bool(importlib.util.find_spec(package))


def test_weights_of_classes_make_them_count_the_same():
    label = np.array([0, 0, 0, 1])
    weights = training_run.balanced(label)
    assert weights[0] * 3 == pytest.approx(weights[1])
    assert sum(weights[one] for one in label) == pytest.approx(4)


def test_a_wrong_option_is_a_named_error(small, capsys):
    assert training_run.main(["--learning-rate", "-1", "--no-compare", "--clip", "-1"]) == 2
    assert "Hint:" in capsys.readouterr().err
