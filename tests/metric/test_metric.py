"""Metrics against MXNet 1.9.1, batch by batch; AUC against its definition; what is refused beyond MXNet."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import refused

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "metric.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def names():
    found = {"mx": mx, "np": np, "json": json}
    exec(GOLDEN["setup"][0], found)
    return found


def test_sums_start_again_locally_and_globally(names):
    """In numbers, for metrics whose two totals MXNet mixes up."""
    same = mx.metric.PearsonCorrelation(average="micro")
    first, second = names["alike"][:2]
    label, pred = (np.concatenate([part[place][0].asnumpy().ravel() for part in (first, second)]) for place in (0, 1))
    same.update(*first)
    same.reset_local()
    same.update(*second)
    both, last = np.corrcoef(label, pred)[0, 1], np.corrcoef(label[8:], pred[8:])[0, 1]
    assert same.get_global()[1] == pytest.approx(both)
    assert same.get()[1] == pytest.approx(last)
    for metric in (mx.metric.F1(), mx.metric.MCC(), mx.metric.F1(average="micro"), mx.metric.PCC(), mx.metric.AUC()):
        metric.update(*names["two"][0])
        value = metric.get()
        metric.reset_local()
        assert math.isnan(metric.get()[1])
        assert metric.get_global() == value
        metric.reset()
        assert math.isnan(metric.get_global()[1])


def every_metric():
    return [mx.metric.Accuracy(), mx.metric.TopKAccuracy(3), mx.metric.F1(average="micro"), mx.metric.MCC("m", average="micro"),
            mx.metric.PCC(), mx.metric.Perplexity(2), mx.metric.MAE(), mx.metric.MSE(), mx.metric.RMSE(),
            mx.metric.CrossEntropy(0.5), mx.metric.NegativeLogLikelihood(), mx.metric.PearsonCorrelation(average="micro"),
            mx.metric.Loss(), mx.metric.AUC(), mx.metric.CompositeEvalMetric(["acc", "auc"])]


@pytest.mark.parametrize("metric", every_metric(), ids=lambda metric: metric.name)
def test_a_configuration_makes_the_same_metric(metric):
    config = json.loads(json.dumps(metric.get_config()))
    again = mx.metric.create(config)
    assert type(again) is type(metric)
    assert again.get_config() == metric.get_config()
    assert str(again) == str(metric)


def area_by_pairs(labels, scores):
    """Of a positive and a negative example, how often the positive one has the higher score; a tie is half of it."""
    return (1 + np.sign(scores[labels == 1][:, None] - scores[labels == 0]).mean()) / 2


def problem(seed, count, ties):
    """Labels and scores that need no random generator: multiples of an irrational number."""
    places = np.arange(1, count + 1)
    scores = (places * (seed + math.sqrt(2))) % 1
    labels = ((places * (seed + math.sqrt(3))) % 1 + 0.5 * scores > 0.75).astype(np.float32)
    return labels, np.floor(scores * ties) / ties if ties else scores


@pytest.mark.parametrize("case", [(1, 20, 0), (1, 20, 3), (2, 200, 0), (2, 200, 5), (3, 200, 1), (4, 1500, 0), (5, 1500, 50)])
def test_auc_is_the_share_of_pairs_in_order_however_it_comes(case):
    labels, scores = problem(*case)
    for batch in (len(labels), 7):
        metric = mx.metric.AUC()
        for start in range(0, len(labels), batch):
            part = slice(start, start + batch)
            metric.update([mx.nd.array(labels[part])], [mx.nd.array(scores[part], dtype="float64")])
        assert metric.get()[1] == pytest.approx(area_by_pairs(labels, scores), abs=1e-12)
        assert metric.num_inst == len(labels)


def test_auc_of_two_columns_and_of_one(names):
    labels, scores = (mx.nd.array(part) for part in problem(1, 50, 10))
    expected = mx.metric.AUC()
    expected.update(labels, scores)
    for shaped in (scores.reshape((-1, 1)), mx.nd.stack(1 - scores, scores, axis=1)):
        metric = mx.metric.AUC()
        metric.update([labels], [shaped])
        assert metric.get() == expected.get()


def test_auc_keeps_distinct_scores_only(monkeypatch):
    ranking = __import__("sparsekit.metric.ranking", fromlist=["ranking"])
    monkeypatch.setattr(ranking, "PENDING", 100)
    labels, scores = problem(3, 1000, 10)
    metric = mx.metric.AUC()
    for start in range(0, 1000, 50):
        metric.update(mx.nd.array(labels[start:start + 50]), mx.nd.array(scores[start:start + 50], dtype="float64"))
        assert sum(len(part.values) for part in metric._local.pending) <= 150
    assert metric.get()[1] == pytest.approx(area_by_pairs(labels, scores), abs=1e-12)


def test_auc_refuses_what_has_no_area():
    metric = mx.metric.AUC()
    assert math.isnan(metric.get()[1])
    metric.update(mx.nd.ones(3), mx.nd.array([1, 2, 3]))
    assert math.isnan(metric.get()[1])
    for labels, scores, words in (([0, 2], [1, 2], "Labels of AUC must be 0 or 1, got 2"), ([0, 1], [1, math.nan], "nan"),
                                  ([0, 1], [[1] * 3] * 2, "scores"), ([0, 1, 1], [1, 2], "does not match")):
        refused(mx.MXNetError, words, metric.update, mx.nd.array(labels), mx.nd.array(scores))


@pytest.mark.parametrize(("call", "error"), [
    ("mx.metric.CrossEntropy().update(mx.nd.array([-1]), shares(1, 2))", mx.RowIndexError),
    ("mx.metric.PCC().update(mx.nd.array([-1]), mx.nd.array([1]))", mx.RowIndexError),
    ("mx.metric.MSE().update(wave(3), wave(4, 5))", mx.ShapeError),
    ("mx.metric.F1(average='weighted')", mx.UnknownNameError),
    ("mx.metric.CompositeEvalMetric().get_metric(0)", mx.RowIndexError),
    ("mx.metric.Accuracy().update([[1, 2]], [[1, 2]])", mx.DTypeError),
    ("mx.metric.PCC().update([mx.nd.array([0, 1])], [mx.nd.array([0, 1, 1])])", mx.ShapeError),
])
def test_what_mxnet_lets_pass(call, error, names):
    refused(error, "Hint", eval, call, names)


def test_perplexity_of_a_label_outside_the_classes_is_mxnets_with_a_warning_or_refused(monkeypatch):
    shares = mx.nd.array([[0.25, 0.75], [0.5, 0.5]])
    metric = mx.metric.Perplexity(None)
    with pytest.warns(mx.IndexWarning, match="Perplexity: the label 2 is outside the 2 classes") as caught:
        metric.update(mx.nd.array([2, -1]), shares)
    assert metric.get()[1] == pytest.approx(math.exp(-(math.log(0.75) + math.log(0.5)) / 2), rel=1e-6)
    assert caught[0].filename == __file__
    monkeypatch.setattr(mx.config, "indices", "error")
    refused(mx.RowIndexError, "the 2 classes", metric.update, mx.nd.array([2]), mx.nd.array([[0.25, 0.75]]))


@pytest.mark.parametrize(("name", "value"), [("mae", 1.0), ("mse", 5 / 3), ("rmse", (5 / 3) ** 0.5)])
def test_distances_of_arrays_that_broadcast_are_mxnets_with_a_warning(name, value):
    metric = mx.metric.create(name)
    with pytest.warns(UserWarning, match=rf"{name} of labels of shape \(2, 1\) .*\(2, 3\).*one label") as caught:
        metric.update(mx.nd.array([0, 1]), mx.nd.array([[0, 1, 2], [1, 2, 3]]))
    assert metric.get()[1] == pytest.approx(value, rel=1e-6)
    assert caught[0].filename == __file__


def test_values_of_functions_that_give_arrays_of_one_element_are_numbers():
    class Own(mx.metric.EvalMetric):
        def update(self, labels, preds):
            self.sum_metric, self.num_inst = self.sum_metric + abs(labels - preds).asnumpy(), self.num_inst + 1

    for metric in (mx.metric.np(lambda label, pred: np.abs(label - pred)), Own("own")):
        metric.update(mx.nd.array([1]), mx.nd.array([3]))
        (_, value), = metric.get_name_value()
        assert f"{value:f}" == "2.000000"


def test_numpy_arrays_do_too(names):
    metric = mx.metric.Accuracy()
    metric.update(np.array([0, 1]), np.array([[1, 0], [1, 0]]))
    assert metric.get() == ("accuracy", 0.5)


def test_a_metric_of_ones_own():
    class Worst(mx.metric.EvalMetric):
        def __init__(self, name="worst", output_names=None, label_names=None):
            super().__init__(name, output_names, label_names, has_global_stats=True)

        def update(self, labels, preds):
            self.sum_metric = max(self.sum_metric, float(abs(labels - preds).max().asscalar()))
            self.num_inst = 1

    mx.metric.register(Worst)
    try:
        metric = mx.metric.create("worst")
        metric.update(mx.nd.array([1, 2]), mx.nd.array([1, 5]))
        assert metric.get() == ("worst", 3.0)
    finally:
        mx.metric.base._registry.classes.pop("worst")
