"""Stores of values on several GPUs, on the stand-in: results, and the bytes that cross between devices."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon, nd

pytestmark = pytest.mark.usefixtures("stand_in")

CONTEXTS = [mx.gpu(0), mx.gpu(1)]
SHAPE = (1000, 8)
ROW = 8 * 4 + 8  # bytes: values, and the number of the row


def between_gpus(profile):
    """Bytes of the copies from one GPU to another, by direction."""
    found = {}
    for record in profile.records:
        if record["lane"] == "transfer" and record["name"] in ("copy gpu(0) -> gpu(1)", "copy gpu(1) -> gpu(0)"):
            found[record["name"][5:]] = found.get(record["name"][5:], 0) + record["bytes"]
    return found


def rows(numbers, ctx, value=1.0):
    return nd.sparse.row_sparse_array((np.full((len(numbers), 8), value, np.float32), numbers), shape=SHAPE, ctx=ctx)


def test_a_push_moves_the_rows_that_it_has():
    store = mx.kv.create("device")
    store.init("weight", nd.sparse.zeros("row_sparse", SHAPE, ctx=CONTEXTS[0]))
    pushed = [rows([1, 5], CONTEXTS[0]), rows([5, 7, 9], CONTEXTS[1])]
    with mx.Profiler() as prof:
        store.push("weight", pushed)
    assert between_gpus(prof) == {"gpu(1) -> gpu(0)": 3 * ROW}
    out = nd.zeros(SHAPE, ctx=CONTEXTS[0])
    store.pull("weight", out)
    assert out.sum(axis=1).asnumpy()[[1, 5, 7, 9, 0]].tolist() == [8, 16, 8, 8, 0]


def test_rows_are_pulled_from_another_gpu():
    store = mx.kv.create("device")
    values = nd.arange(8000, ctx=CONTEXTS[0]).reshape(SHAPE)
    store.init("weight", values.tostype("row_sparse"))
    out = [nd.sparse.zeros("row_sparse", SHAPE, ctx=ctx) for ctx in CONTEXTS]
    wanted = [nd.array([1, 5], ctx=CONTEXTS[0], dtype="int64"), nd.array([7, 9, 5, 9], ctx=CONTEXTS[1], dtype="int64")]
    with mx.Profiler() as prof:
        store.row_sparse_pull("weight", out=out, row_ids=wanted)
    assert between_gpus(prof) == {"gpu(0) -> gpu(1)": 3 * ROW, "gpu(1) -> gpu(0)": 4 * 8}  # rows, and what was asked for
    for array, numbers, ctx in zip(out, ([1, 5], [5, 7, 9]), CONTEXTS, strict=True):
        assert array.context == ctx
        assert array.indices.asnumpy().tolist() == numbers
        np.testing.assert_array_equal(array.data.asnumpy(), values.asnumpy()[numbers])


def test_dense_values_are_moved_whole():
    store = mx.kv.create("device")
    store.init("bias", nd.zeros((100,), ctx=CONTEXTS[0]))
    pushed, out = [nd.ones((100,), ctx=ctx) for ctx in CONTEXTS], [nd.zeros((100,), ctx=ctx) for ctx in CONTEXTS]
    with mx.Profiler() as prof:
        store.pushpull("bias", pushed, out)
    assert between_gpus(prof) == {"gpu(1) -> gpu(0)": 400, "gpu(0) -> gpu(1)": 400}
    assert [array.asnumpy().tolist() for array in out] == [[2] * 100] * 2


class Embedded(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.embedding = gluon.nn.Embedding(SHAPE[0], SHAPE[1], sparse_grad=True)
            self.out = gluon.nn.Dense(1, in_units=SHAPE[1])

    def hybrid_forward(self, F, words):
        return self.out(F.sum(self.embedding(words), axis=1))


def trained(contexts):
    """Weights after three steps on halves of batches, and the profile of the last step."""
    mx.random.seed(3)
    net = Embedded()
    net.initialize(mx.init.Uniform(0.1), ctx=contexts)
    trainer = gluon.Trainer(net.collect_params(), "adagrad", {"learning_rate": 0.1}, kvstore="device", update_on_kvstore=True)
    loss, random = gluon.loss.L2Loss(), np.random.default_rng(0)
    for _ in range(3):
        words = nd.array(random.integers(0, 1000, (8, 5)), dtype="int64")
        labels = nd.array(random.random((8, 1)))
        parts = zip(gluon.utils.split_and_load(words, contexts), gluon.utils.split_and_load(labels, contexts), strict=True)
        with autograd.record():
            losses = [loss(net(data), label) for data, label in parts]
        autograd.backward(losses)
        with mx.Profiler() as prof:
            trainer.step(8)
    return {name: one.data(contexts[0]).asnumpy() for name, one in net._collect_params_with_prefix().items()}, prof


def test_two_gpus_train_as_two_processors_do():
    there, _ = trained(CONTEXTS)
    here, _ = trained([mx.cpu(0), mx.cpu(1)])
    for name, values in here.items():
        np.testing.assert_allclose(there[name], values, rtol=1e-6, err_msg=name)


def test_a_step_moves_the_rows_of_the_gradient_to_the_store():
    _, prof = trained(CONTEXTS)
    dense = 4 * (SHAPE[1] + 1)
    whole = 4 * SHAPE[0] * SHAPE[1]
    assert between_gpus(prof) == {"gpu(1) -> gpu(0)": 20 * ROW + dense, "gpu(0) -> gpu(1)": whole + dense}
