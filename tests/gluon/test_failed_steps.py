"""Steps that fail leave nothing behind: the next good one is that of a run in which none has failed."""

import contextlib

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import gluon
from sparsekit.gluon import nn

STEPS = 6


class Model(gluon.HybridBlock):
    """Rows of an embedding and a linear model of csr rows; it fails if it is told to."""

    def __init__(self, sparse):
        super().__init__()
        self.embedding = nn.Embedding(10, 3, sparse_grad=sparse)
        self.dense = nn.Dense(2, in_units=6)
        self.weight = self.params.get("weight", shape=(8, 2), stype="row_sparse" if sparse else "default",
                                      grad_stype="row_sparse" if sparse else "default")
        self.broken = False

    def hybrid_forward(self, F, places, rows, weight):
        made = self.dense(self.embedding(places)) + F.sparse.dot(rows, weight)
        if self.broken:
            raise OSError("broken")
        return made


class Broken(mx.lr_scheduler.FactorScheduler):
    """A schedule that fails if it is told to."""

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self.broken = False

    def __call__(self, num_update):
        if self.broken:
            raise OSError("broken")
        return super().__call__(num_update)


def batch(number, places=10, columns=8, labels=2):
    drawn = np.random.RandomState(number)
    rows = drawn.rand(4, columns) * (drawn.rand(4, columns) < 0.5)
    return ([mx.nd.array(drawn.randint(0, places, (4, 2))), mx.nd.array(rows.astype(np.float32)).tostype("csr")],
            mx.nd.array(drawn.rand(4, labels)))


@contextlib.contextmanager
def broken(thing):
    thing.broken = True
    try:
        yield
    finally:
        thing.broken = False


def fail(kind, step, net, trainer):
    """Make a step that fails in this way."""
    at_fault = {"net": net, "schedule": trainer.optimizer.lr_scheduler}.get(kind)
    given = {"label": lambda: batch(1, labels=3), "column": lambda: batch(1, columns=9),
             "index": lambda: ([mx.nd.array([[1, 99]] * 4), batch(1)[0][1]], batch(1)[1]),
             "count": lambda: ([batch(1)[0][0][:3], batch(1)[0][1]], batch(1)[1])}.get(kind, lambda: batch(1))()
    with contextlib.nullcontext() if at_fault is None else broken(at_fault), pytest.raises((mx.SparsekitError, OSError)):
        step(*given)


def steps_of(way, net, loss, trainer, clip):
    if way == "TrainStep":
        return gluon.TrainStep(net, loss, trainer, clip_norm=clip)

    def step(data, label):
        with mx.autograd.record():
            made = loss(net(*data), label)
        made.backward()
        if clip is not None:
            gluon.utils.clip_global_norm([one.grad() for one in trainer._params], clip * 4)
        trainer.step(4)
        return made

    if way == "hybridized":
        net.hybridize()
        loss.hybridize()
    return step


def run(way, optimizer, sparse, failing, at, times, folder, clip=None):
    """What each good step gives, and weights, gradients, states and counts at the end; as bytes."""
    mx.random.seed(3)
    net, loss = Model(sparse), gluon.loss.L2Loss()
    net.initialize()
    parameters = list(net.collect_params().values())
    trainer = gluon.Trainer(parameters, optimizer, {"learning_rate": 0.1, "wd": 0.01, "lr_scheduler": Broken(2, 0.5, base_lr=0.1),
                                                    **({"momentum": 0.9} if optimizer == "sgd" else {})})
    step = steps_of(way, net, loss, trainer, clip)
    found = []
    with mx.config.set(indices="error"):
        for number in range(STEPS):
            for _ in range(times if number == at else 0):
                fail(failing, step, net, trainer)
            found.append(step(*batch(number)).asnumpy().tobytes())
    trainer.save_states(folder / "states")
    optimizer = trainer.optimizer
    return [*found, *[one.data().asnumpy().tobytes() for one in parameters],
            *[one.grad().asnumpy().tobytes() for one in parameters], (folder / "states").read_bytes(), optimizer.num_update,
            dict(optimizer._index_update_count)]


@pytest.mark.parametrize("way", ["TrainStep", "hybridized", "eager"])
@pytest.mark.parametrize("failing", ["label", "column", "index", "count", "net", "schedule"])
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_steps_that_failed_leave_nothing_behind(way, failing, times, sparse, tmp_path):
    for optimizer, clip in (("adam", None), ("sgd", 0.1)):
        expected = run("eager", optimizer, sparse, failing, None, 0, tmp_path, clip)
        for at in (0, 2, 4):
            assert run(way, optimizer, sparse, failing, at, times, tmp_path, clip) == expected
