"""A training run that goes on from the checkpoint in its folder; ``training_program.py FOLDER CASE BATCH`` kills itself."""

import os
import random
import signal
import sys

import numpy as np

import sparsekit as mx
from sparsekit.gluon.contrib import estimator as E


class Net(mx.gluon.HybridBlock):
    """A linear model of csr rows, behind dropout of its bias: it draws random numbers in every step."""

    def __init__(self):
        super().__init__(prefix="net_")
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(300, 3), init=mx.init.Normal(0.1), grad_stype="row_sparse")
            self.bias = self.params.get("bias", shape=(3,), init=mx.init.Zero())

    def hybrid_forward(self, F, x, weight, bias):
        """The scores."""
        return F.Dropout(F.dot(x, weight), p=0.3) + bias


class End(E.BatchBegin):
    """Calls a function before a batch, counted over all of the run."""

    resumed = ("seen",)

    def __init__(self, batch, end):
        self.batch, self.end, self.seen = batch, end, 0

    def batch_begin(self, estimator, *args, **kwargs):
        """Count a batch."""
        self.seen += 1
        if self.seen == self.batch:
            self.end()


LOADERS = {"threads": {"num_workers": 2, "thread_pool": True}, "ahead": {"num_workers": 1, "auto_reload": True},
           "rollover": {"last_batch": "rollover"}}


def loader(case):
    """Sparse rows, whose order is drawn for each epoch; 8 batches an epoch."""
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((60, 300)) * (rng.random((60, 300)) < 0.05)
    label = dense[:, :3].argmax(1) if case != "binary" else dense[:, 0] > 0
    made = mx.gluon.data.ArrayDataset(mx.nd.array(dense.astype("float32")).tostype("csr"), mx.nd.array(label.astype("float32")))
    return mx.gluon.data.DataLoader(made, 8, shuffle=True, **LOADERS.get(case, {}))


def run(folder, case, batch=0, end=None):
    """Train for three epochs, or until ``end`` is called before a batch; what is left at the end."""
    mx.random.seed(7)
    np.random.seed(7)
    random.seed(7)
    net = Net()
    net.initialize()
    optimizer = ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "lazy_update": "exact", "wd": 1e-3}) if case == "exact" else (
        "adam", {"learning_rate": 0.05, "lr_scheduler": mx.lr_scheduler.FactorScheduler(5, 0.9, base_lr=0.05)})
    trainer = mx.gluon.Trainer(net.collect_params(), *optimizer)
    metrics = {"correlation": [mx.metric.PCC(), mx.metric.Loss("loss")]}.get(case)
    estimator = E.Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, train_metrics=metrics,
                            batch_processor=E.BatchProcessor(class_weight={1: 2.0}))
    estimator.logger.setLevel("CRITICAL")
    best = E.CheckpointHandler(folder, monitor=estimator.train_metrics[1], save_best=True, mode="min", batch_period=5,
                               resume_from_checkpoint=True)
    data = loader(case)
    estimator.fit(data, data, epochs=3, event_handlers=[
        best, End(batch, end), E.GradientUpdateHandler(clip_norm=0.5), E.CSVHandler(os.path.join(folder, "log.csv")),
        E.EarlyStoppingHandler(estimator.val_metrics[1], patience=3, mode="min")])
    return ([one.data().asnumpy().tobytes() for one in net.collect_params().values()], repr(mx.base.rng.states()), best.best,
            len(estimator.explain()) > 1)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], int(sys.argv[3]), lambda: os.kill(os.getpid(), signal.SIGKILL))
