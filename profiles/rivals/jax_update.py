"""JAX on row-sparse optimizer steps, jitted with donated buffers, for ``sparsekit bench update``; see ``protocol.py``."""

from __future__ import annotations

import sys
import time

import jax
import jax.numpy as jnp
import numpy
from protocol import serve

OPTIONS = {"indices_are_sorted": True, "unique_indices": True, "mode": "promise_in_bounds"}


def take(array, rows):
    return array.at[rows].get(**OPTIONS)


def sgd(weight, rows, values, count):
    return (weight.at[rows].add(-0.01 * values, **OPTIONS),)


def momentum(weight, moved, rows, values, count):
    step = 0.9 * take(moved, rows) - 0.01 * values
    return weight.at[rows].add(step, **OPTIONS), moved.at[rows].set(step, **OPTIONS)


def adam(weight, mean, variance, rows, values, count):
    first = 0.9 * take(mean, rows) + 0.1 * values
    second = 0.999 * take(variance, rows) + 0.001 * values * values
    rate = 0.001 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    weight = weight.at[rows].add(-rate * first / (jnp.sqrt(second) + 1e-8), **OPTIONS)
    return weight, mean.at[rows].set(first, **OPTIONS), variance.at[rows].set(second, **OPTIONS)


def adagrad(weight, history, rows, values, count):
    total = take(history, rows) + values * values
    weight = weight.at[rows].add(-0.01 * values / jnp.sqrt(total + 1e-7), **OPTIONS)
    return weight, history.at[rows].set(total, **OPTIONS)


STEPS = {"sgd": (sgd, 0), "momentum": (momentum, 1), "adam": (adam, 2), "adagrad": (adagrad, 1)}


class Worker:
    """Weight and states, and gradients."""

    def info(self):
        return {"name": "jax", "version": jax.__version__, "python": sys.version.split()[0]}

    def load(self, path, optimizer):
        self.arrays = None
        with numpy.load(path) as stored:
            shape, rows, values = (stored[name] for name in ("shape", "rows", "values"))
        step, count = STEPS[optimizer]
        self.step = jax.jit(step, donate_argnums=tuple(range(1 + count)))
        self.pairs = [(jnp.asarray(one, jnp.int32), jnp.asarray(data)) for one, data in zip(rows, values, strict=True)]
        shape = tuple(int(size) for size in shape)
        self.arrays = (jnp.ones(shape, jnp.float32), *[jnp.zeros(shape, jnp.float32) for _ in range(count)])
        self.count = 0
        self.time(optimizer)
        moved = float(numpy.abs(numpy.asarray(self.arrays[0]) - 1).sum(dtype=numpy.float64))
        return {"forms": {optimizer: {"": [moved]}}, "failed": {}}

    def time(self, operation, form=""):
        arrays = self.arrays
        start = time.perf_counter()
        for rows, values in self.pairs:
            self.count += 1
            arrays = self.step(*arrays, rows, values, numpy.float32(self.count))
        jax.block_until_ready(arrays)
        self.arrays = arrays
        return (time.perf_counter() - start) / len(self.pairs) * 1e6


if __name__ == "__main__":
    serve(Worker())
