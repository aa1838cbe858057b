"""A sparse model trained for a few batches: the script behind the README's picture.

    sparsekit profile -o one_batch.npz profiles/one_batch.py
    sparsekit view one_batch.npz -o profiles/timeline.svg
"""

from __future__ import annotations

import numpy as np

import sparsekit as mx
from sparsekit import autograd, gluon

FEATURES, BATCH, STORED, UNITS = 100_000, 10, 10, 128


class SparseLayer(gluon.HybridBlock):
    """A dense layer whose weight has a row for each feature, so that its gradient is row-sparse."""

    def __init__(self, units: int, in_units: int, **keywords):
        super().__init__(**keywords)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(in_units, units), init=mx.init.Xavier(),
                                          grad_stype="row_sparse")

    def hybrid_forward(self, F, x, weight):
        return F.sparse.dot(x, weight)


def batches(count: int):
    """Random CSR batches with 0/1 labels."""
    draw = np.random.default_rng(7)
    for _ in range(count):
        columns = np.sort(draw.choice(FEATURES, size=(BATCH, STORED), replace=False), axis=1)
        parts = (np.ones(BATCH * STORED, "float32"), columns.ravel(), np.arange(0, BATCH * STORED + 1, STORED))
        yield mx.nd.sparse.csr_matrix(parts, shape=(BATCH, FEATURES)), mx.nd.array(draw.integers(0, 2, BATCH))


def main() -> None:
    model = gluon.nn.Sequential()
    model.add(SparseLayer(UNITS, FEATURES), gluon.nn.Activation("relu"), gluon.nn.Dense(1, in_units=UNITS))
    model.initialize()
    trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    for data, label in batches(20):
        with autograd.record():
            error = loss(model(data), label)
        error.backward()
        trainer.step(BATCH)


if __name__ == "__main__":
    main()
