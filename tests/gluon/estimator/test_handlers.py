"""What estimators do beyond MXNet's: compiled steps, class weights, clipping, progress, logs in files."""

import io
import sys
import types
from typing import ClassVar

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ParameterError, RowIndexError, UnsupportedError
from sparsekit.gluon.contrib.estimator import (
    BatchBegin,
    BatchEnd,
    BatchProcessor,
    CheckpointHandler,
    CSVHandler,
    EpochBegin,
    EpochEnd,
    Estimator,
    GradientUpdateHandler,
    ProgressHandler,
    TensorBoardHandler,
    TrainBegin,
    TrainEnd,
    loops,
)
from tests.calls import initialized, refused

RNG = np.random.default_rng(0)
ROWS = (RNG.standard_normal((24, 5)) * (RNG.random((24, 5)) < 0.6)).astype("float32")
LABEL = (ROWS.sum(1) > 0.2).astype("float32")


def loader(size=8, sparse=True):
    rows = mx.nd.array(ROWS)
    return mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(rows.tostype("csr") if sparse else rows, mx.nd.array(LABEL)), size)


def made(processor=None, loss=None, outputs=2, **kwargs):
    net = initialized(mx.gluon.nn.Dense(outputs, in_units=5, prefix="net_"), mx.init.Constant(0.1), hybrid=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    found = Estimator(net, loss or mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, batch_processor=processor, **kwargs)
    found.logger.setLevel("CRITICAL")
    return found


def weights(estimator):
    return np.concatenate([one.data().asnumpy().ravel() for one in estimator.net.collect_params().values()])


def by_hand(class_weight=None, clip=None, epochs=3):
    """The same training, by numpy alone."""
    weight, bias = np.full((2, 5), 0.1), np.zeros(2)
    speed, factors = [np.zeros((2, 5)), np.zeros(2)], np.array([1.0, 1.0] if class_weight is None else class_weight)
    for _ in range(epochs):
        for first in range(0, 24, 8):
            x, y = ROWS[first:first + 8].astype(float), LABEL[first:first + 8].astype(int)
            odds = x @ weight.T + bias
            share = np.exp(odds) / np.exp(odds).sum(1, keepdims=True)
            error = (share - np.eye(2)[y]) * factors[y][:, None] / 8
            gradients = [error.T @ x, error.sum(0)]
            norm = np.sqrt(sum((one ** 2).sum() for one in gradients))
            if clip is not None and norm > clip:
                gradients = [one * clip / norm for one in gradients]
            speed = [0.9 * old - 0.5 * new for old, new in zip(speed, gradients, strict=True)]
            weight, bias = weight + speed[0], bias + speed[1]
    return np.concatenate([weight.ravel(), bias])


@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.parametrize(("class_weight", "clip"), [(None, None), ([1.0, 3.0], None), (None, 0.05), ([0.5, 2.0], 0.05)])
def test_class_weights_and_clipping_are_those_of_the_formula(class_weight, clip, tables):
    estimator = made(BatchProcessor(class_weight))
    with mx.config.set(tables=tables):
        estimator.fit(loader(), epochs=3, event_handlers=[GradientUpdateHandler(clip_norm=clip)])
    np.testing.assert_allclose(weights(estimator), by_hand(class_weight, clip), rtol=1e-4, atol=1e-6)


class Watch(BatchEnd):
    """Is called between the gradients and the update."""

    priority = -3000

    def batch_end(self, estimator, *args, **kwargs):
        assert estimator.net.weight.grad().asnumpy().any()


@pytest.mark.compiled
def test_steps_are_compiled_and_have_the_same_bits_as_steps_in_two_parts():
    one, other = made(), made()
    one.fit(loader(), epochs=4)
    assert {row["pass"] for row in one.explain()} == {"forward", "backward", "update"}
    other.fit(loader(), epochs=4, event_handlers=[Watch()])
    assert other.explain()[0]["reason"] == "Watch is called between gradients and update"
    assert weights(one).tobytes() == weights(other).tobytes()
    assert [metric.get() for metric in one.train_metrics] == [metric.get() for metric in other.train_metrics]


class Mine(BatchProcessor):
    def fit_batch(self, estimator, train_batch, batch_axis=0):
        return super().fit_batch(estimator, train_batch, batch_axis)


class Update(GradientUpdateHandler):
    def batch_end(self, estimator, *args, **kwargs):
        estimator.trainer.step(8)


@pytest.mark.parametrize(("processor", "handlers", "reason"), [
    (Mine(), [], "Mine has its own fit_batch"), (None, [Update()], "the update is not made by one GradientUpdateHandler")])
def test_what_is_not_compiled_says_why_and_trains_the_same(processor, handlers, reason):
    estimator = made(processor)
    estimator.fit(loader(), epochs=3, event_handlers=handlers)
    assert estimator.explain() == [{"pass": "", "op": "", "reason": reason}]
    np.testing.assert_allclose(weights(estimator), by_hand(), rtol=1e-4, atol=1e-6)


def test_a_loss_that_is_one_number_divides_by_one():
    class Mean(mx.gluon.loss.L2Loss):
        def hybrid_forward(self, F, pred, label, sample_weight=None):
            return F.mean(super().hybrid_forward(F, pred, label, sample_weight), axis=0, keepdims=True)

    loss = Mean()
    loss.hybridize()
    estimator, other = made(loss=loss, outputs=1), made(loss=mx.gluon.loss.L2Loss(), outputs=1)
    estimator.fit(loader(), epochs=2)
    other.fit(loader(), epochs=2)
    np.testing.assert_allclose(weights(estimator), weights(other), rtol=1e-5)
    assert estimator.explain()[0]["reason"] == "the loss does not have one value for each row of a batch"
    assert made().explain()[0]["reason"] == "fit has not been called"


def test_a_context_that_is_not_there_is_refused_when_the_estimator_is_made():
    with pytest.raises(ParameterError, match=r"gpu\(100\) is not available"):
        Estimator(mx.gluon.nn.Dense(2), mx.gluon.loss.L2Loss(), context=[mx.cpu(0), mx.gpu(100)])


def test_several_contexts_clip_the_sum():
    with mx.config.set(densify="allow"):
        net = mx.gluon.nn.Dense(2, in_units=5, prefix="net_")
        contexts = [mx.cpu(0), mx.cpu(1)]
        net.initialize(mx.init.Constant(0.1), contexts)
        for on_store in (False, True):
            trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9},
                                       update_on_kvstore=on_store)
            estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, context=contexts)
            estimator.logger.setLevel("CRITICAL")
            if on_store:
                with pytest.raises(UnsupportedError, match="kvstore"):
                    estimator.fit(loader(), epochs=1, event_handlers=[GradientUpdateHandler(clip_norm=0.05)])
            else:
                estimator.fit(loader(), epochs=3, event_handlers=[GradientUpdateHandler(clip_norm=0.05)])
                found = np.concatenate([one.data(mx.cpu(1)).asnumpy().ravel() for one in net.collect_params().values()])
                np.testing.assert_allclose(found, by_hand(clip=0.05), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("wrong", [[1.0, -1.0], {-1: 2.0}, {"a": 1.0}, [], [[1.0]], "weights", [np.nan]])
def test_a_wrong_class_weight_is_refused(wrong):
    refused(ParameterError, "class_weight", BatchProcessor, class_weight=wrong)


def test_a_label_without_weight_is_refused_unless_the_weights_are_a_dict():
    refused(RowIndexError, "Labels are from 0 to 1", lambda: made(BatchProcessor([1.0])).fit(loader(), epochs=1))
    estimator = made(BatchProcessor({0: 0.5}))
    estimator.fit(loader(), epochs=3)
    np.testing.assert_allclose(weights(estimator), by_hand([0.5, 1.0]), rtol=1e-4, atol=1e-6)
    with pytest.raises(ParameterError, match="numbers of classes"):
        made(BatchProcessor([1.0, 1.0]), mx.gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=False)).fit(loader(), epochs=1)


def test_a_csv_file_has_a_row_for_each_period(tmp_path):
    for name, period, rows in (("epochs.csv", None, 3), ("batches.csv", 2, 4)):
        estimator = made()
        estimator.fit(loader(), loader(), epochs=3, event_handlers=[CSVHandler(tmp_path / name, batch_period=period)])
        lines = (tmp_path / name).read_text().splitlines()
        assert lines[0].split(",")[:4] == ["epoch", "batch", "learning_rate", "training accuracy"]
        assert len(lines) == 1 + rows
        assert lines[-1].split(",")[:2] == (["3", "9"] if period is None else ["3", "8"])
    last = [float(value) for value in (tmp_path / "epochs.csv").read_text().splitlines()[-1].split(",")[3:]]
    assert last == [metric.get()[1] for metric in [*estimator.train_metrics, *estimator.val_metrics]]


def test_progress_is_a_line_in_a_log_and_a_bar_in_a_notebook():
    stream = io.StringIO()
    estimator = made()
    estimator.fit(loader(), epochs=2, event_handlers=[ProgressHandler(stream=stream)])
    assert stream.getvalue().startswith("Training: 6 of 6, epoch 2, training accuracy ")

    class OutStream(io.StringIO):  # by whose name a notebook's is known
        pass

    pytest.importorskip("tqdm")
    stream = OutStream()
    handler = ProgressHandler(stream=stream)
    handler.train_begin(estimator)
    handler.epoch_begin(estimator)
    handler.batch_end(estimator)
    handler._bar.show()
    assert "Training" in stream.getvalue()
    handler.train_end(estimator)


class Writer:
    """Stands for tensorboardX's."""

    made: ClassVar[list] = []

    def __init__(self, logdir, purge_step):
        self.purge_step, self.scalars, self.closed = purge_step, [], False
        Writer.made.append(self)

    def add_scalar(self, tag, value, step):
        self.scalars.append((tag, value, step))

    def flush(self):
        pass

    def close(self):
        self.closed = True


def test_tensorboard_gets_scalars_and_forgets_what_comes_after_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(Writer, "made", [])
    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=Writer))
    for epochs in (1, 3):
        estimator = made()
        estimator.fit(loader(), epochs=epochs, event_handlers=[
            TensorBoardHandler(tmp_path), CheckpointHandler(tmp_path, resume_from_checkpoint=True)])
    first, second = Writer.made
    assert (first.purge_step, second.purge_step) == (1, 4)
    assert [one[2] for one in second.scalars if one[0] == "training/accuracy"] == [6, 9]
    assert second.scalars[0] == ("learning_rate", 0.5, 6)
    assert first.closed
    assert second.closed


@pytest.mark.others
def test_events_of_tensorboardx_can_be_written(tmp_path):
    pytest.importorskip("tensorboardX")
    made().fit(loader(), epochs=2, event_handlers=[TensorBoardHandler(tmp_path)])
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) > 100


class Counter(TrainBegin, EpochEnd):
    """Keeps what a user's handler may keep."""

    resumed = ("seen",)

    def __init__(self, value):
        self.value, self.seen = value, None

    def epoch_end(self, estimator, *args, **kwargs):
        self.seen = self.value


@pytest.mark.parametrize("value", [1, 0.1, float("inf"), "text", None, [1, (2, {"a": 3})], np.float32(0.1),
                                   np.arange(3, dtype="int16")])
def test_a_handler_s_values_go_through_a_checkpoint(value, tmp_path):
    made().fit(loader(), epochs=1, event_handlers=[CheckpointHandler(tmp_path), Counter(value)])
    counter = Counter("other")
    estimator = made()

    before = []
    counter.epoch_end = lambda *args, **kwargs: before.append(counter.seen)
    estimator.fit(loader(), epochs=2, event_handlers=[CheckpointHandler(tmp_path, resume_from_checkpoint=True), counter])
    assert type(before[0]) is type(value)
    np.testing.assert_equal(before[0], value)


def test_what_a_checkpoint_cannot_keep_is_named(tmp_path):
    with pytest.raises(UnsupportedError, match=r"Counter\.seen holds a value of type object"):
        made().fit(loader(), epochs=1, event_handlers=[CheckpointHandler(tmp_path), Counter(object())])


@pytest.mark.parametrize("name", ["accuracy", "f1", "mcc", "pcc", "auc", "pearsonr", "mse", "perplexity"])
def test_sums_of_every_metric_go_through_json(name):
    metric, other = (mx.metric.create(name, **({"ignore_label": None} if name == "perplexity" else {})) for _ in range(2))
    label, pred = mx.nd.array([0, 1, 1, 0]), mx.nd.array([[0.7, 0.3], [0.4, 0.6], [0.8, 0.2], [0.1, 0.9]])
    if name in ("pearsonr", "mse"):
        pred = mx.nd.array([0.1, 0.7, 0.3, 0.2])
    metric.update([label], [pred])
    arrays = []
    loops.set_metrics([other], loops.metrics_of([metric], arrays), arrays)
    metric.update([label], [pred * 0.5])
    other.update([label], [pred * 0.5])
    assert other.get() == metric.get()


def test_the_user_s_lists_are_left_alone():
    handlers, metrics = [Watch()], []
    estimator = made(train_metrics=metrics)
    estimator.fit(loader(), epochs=1, event_handlers=handlers)
    assert len(handlers) == 1
    assert metrics == []


def test_all_metrics_by_name_get_the_right_direction():
    from sparsekit.gluon.contrib.estimator import EarlyStoppingHandler

    for name, larger in (("acc", True), ("f1", True), ("auc", True), ("mse", False), ("ce", False), ("loss", False),
                         (lambda label, pred: 0.0, False)):
        with pytest.warns(UserWarning, match="greater` operator will" if larger else "less` operator will"):
            assert EarlyStoppingHandler(mx.metric.create(name))._larger == larger

    class Hits(mx.metric.EvalMetric):
        larger_is_better = True

    with pytest.warns(UserWarning, match="greater` operator will"):
        assert EarlyStoppingHandler(Hits("mse")).best == -np.inf


def test_a_loss_that_is_no_array_is_named():
    class Two(mx.gluon.loss.L2Loss):
        def forward(self, pred, label):
            return super().forward(pred, label), pred.mean(axis=1)

    net = initialized(mx.gluon.nn.Dense(1, in_units=3))
    estimator = Estimator(net, Two(), trainer=mx.gluon.Trainer(net.collect_params(), "sgd"))
    dataset = mx.gluon.data.ArrayDataset(mx.nd.ones((8, 3)), mx.nd.ones((8, 1)))
    with pytest.raises(ParameterError, match="the loss returns must be an array"):
        estimator.fit(mx.gluon.data.DataLoader(dataset, 4), epochs=1)


def test_a_fit_of_the_user_s_own_finds_the_handlers_of_each_event():
    watch, checkpoint = Watch(), CheckpointHandler(".")
    handlers = [watch, checkpoint, CSVHandler("log.csv")]
    events = made()._categorize_handlers(handlers)
    kinds = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)  # MXNet's order
    assert [[handler for handler in handlers if isinstance(handler, kind)] for kind in kinds] == list(events)
    assert checkpoint in events[0]
    assert events[1] == []
