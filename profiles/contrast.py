"""One training step with a dense and with a row-sparse gradient: the program behind README's first picture.

    python profiles/contrast.py profiles/contrast.svg

Rows and bytes are counted, so the picture is the same on every machine.
"""

from __future__ import annotations

import sys

import numpy as np

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.figures import touched_figure
from sparsekit.figures.kit import Figure

FEATURES, BATCH, STORED, UNITS = 1_000_000, 10, 10, 32


def batch():
    """Ten texts with ten different words each, of a million words."""
    columns = np.sort(np.random.default_rng(0).permutation(FEATURES)[: BATCH * STORED].reshape(BATCH, STORED), axis=1)
    parts = (np.ones(BATCH * STORED, "float32"), columns.ravel(), np.arange(0, BATCH * STORED + 1, STORED))
    return mx.nd.sparse.csr_matrix(parts, shape=(BATCH, FEATURES))


def step(gradient: str):
    """The gradient of the large weight after one step, and the bytes that the step moved."""
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(UNITS, in_units=FEATURES, activation="sigmoid", weight_grad_stype=gradient), gluon.nn.Dense(1))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    data, label, loss = batch(), mx.nd.array([[0], [1]] * 5), gluon.loss.SigmoidBinaryCrossEntropyLoss()
    for _ in range(2):  # the first step allocates what later ones reuse
        with mx.Profiler() as profile:
            with autograd.record():
                error = loss(net(data), label)
            error.backward()
            trainer.step(BATCH)
    return net[0].weight.grad(), sum(record["bytes"] for record in profile.records)


def picture() -> Figure:
    """The picture."""
    return touched_figure({"dense gradient": step("default"), "row-sparse gradient": step("row_sparse")},
                          "One batch touches 100 of a million rows")


if __name__ == "__main__":
    print(picture().save(sys.argv[1]))
