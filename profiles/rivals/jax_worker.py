"""JAX on the training epoch of ``sparsekit bench epoch``, the whole step jitted with donated weights; see ``protocol.py``.

The batches are parsed and padded beforehand, in memory; the first layer gathers rows of its weight, and its gradient
is taken with respect to the gathered rows and scattered, so that nothing of the size of the weight is computed.
"""

from __future__ import annotations

import sys
import time

import jax
import jax.numpy as jnp
import numpy
from protocol import serve

RATE = 0.01


def loss(gathered, others, values, label):
    """Mean binary cross entropy on logits that went through a last sigmoid, as the tutorial has it."""
    bias, second, second_bias, third, third_bias = others
    hidden = jax.nn.sigmoid(jnp.einsum("bkw,bk->bw", gathered, values) + bias)
    hidden = jax.nn.sigmoid(hidden @ second + second_bias)
    out = jax.nn.sigmoid(hidden @ third + third_bias)
    return jnp.mean(jax.nn.softplus(out) - out * label)


def step(weight, others, indices, values, label):
    gathered = weight[indices]
    rows, gradients = jax.grad(loss, argnums=(0, 1))(gathered, others, values, label)
    weight = weight.at[indices.reshape(-1)].add(-RATE * rows.reshape(-1, weight.shape[1]))
    return weight, [array - RATE * gradient for array, gradient in zip(others, gradients, strict=True)]


class Worker:
    """State between commands: the batches and the weights."""

    def info(self):
        form = "the whole step jitted, weights donated; batches parsed beforehand"
        return {"name": "jax", "version": jax.__version__, "python": sys.version.split()[0], "form": form}

    def load(self, path):
        """Slice the data set into batches and make the weights."""
        with numpy.load(path) as stored:
            parts = {name: stored[name] for name in stored.files}
        batch, stored = int(parts["batch_size"]), int(parts["indptr"][1])
        rows = [array.reshape(-1, batch, stored) for array in (parts["indices"].astype(numpy.int32), parts["data"])]
        labels = parts["label"].reshape(-1, batch, 1).astype(numpy.float32)
        self.batches = [tuple(map(jnp.asarray, one)) for one in zip(*rows, labels, strict=True)]
        random = numpy.random.default_rng(0)
        shapes = [(128,), (128, 8), (8,), (8, 1), (1,)]
        self.others = [jnp.asarray(random.uniform(-0.07, 0.07, shape).astype(numpy.float32)) for shape in shapes]
        self.weight = jnp.asarray(random.uniform(-0.07, 0.07, (int(parts["features"]), 128)).astype(numpy.float32))
        self.step = jax.jit(step, donate_argnums=(0, 1))
        return {"forms": {"epoch": {"": []}}, "failed": {}}

    def time(self, operation):
        """Train one epoch; milliseconds."""
        start = time.perf_counter()
        for batch in self.batches:
            self.weight, self.others = self.step(self.weight, self.others, *batch)
        self.weight.block_until_ready()
        return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    serve(Worker())
