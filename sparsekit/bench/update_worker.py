"""This library's optimizer steps for ``sparsekit bench update``, behind the line protocol of its rivals.

``prepare FILE.npz OPTIMIZER`` makes weight, states and gradients and tells how far all gradients move the weight;
``time`` takes a step with each gradient (microseconds a step), and ``bandwidth`` says what the memory does.
"""

from __future__ import annotations

import platform
import time
from typing import Any

import numpy as np

import sparsekit as mx

from .arrays_worker import Worker as ArraysWorker
from .worker import serve

__all__ = ["Worker"]

SETTINGS: dict[str, tuple[str, dict[str, float]]] = {
    "sgd": ("sgd", {"learning_rate": 0.01}), "momentum": ("sgd", {"learning_rate": 0.01, "momentum": 0.9}),
    "adam": ("adam", {"learning_rate": 0.001}), "adagrad": ("adagrad", {"learning_rate": 0.01}),
}


class Worker:
    """A weight, the updater of an optimizer, and gradients."""

    bandwidth = ArraysWorker.bandwidth

    def info(self) -> dict[str, str]:
        """Name and version."""
        return {"name": "sparsekit", "version": mx.__version__, "python": platform.python_version()}

    def prepare(self, path: str, optimizer: str) -> dict[str, float]:
        """Read the gradients and take a step with each; the sum of what the elements of the weight moved, by form."""
        self.weight: Any = None  # before the next one is made
        self.updater: Any = None
        with np.load(path) as stored:
            shape, rows, values = (stored[name] for name in ("shape", "rows", "values"))
        name, settings = SETTINGS[optimizer]
        self.updater = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
        ones: Any = mx.nd.ones
        self.weight = ones(tuple(int(size) for size in shape))
        self.gradients = [mx.nd.sparse.row_sparse_array((data, indices), shape=self.weight.shape)
                          for data, indices in zip(values, rows, strict=True)]
        self.time()
        return {"": float(np.abs(self.weight._store - 1).sum(dtype=np.float64))}

    def time(self) -> float:
        """Microseconds a step, over one step with each gradient."""
        weight, updater = self.weight, self.updater
        start = time.perf_counter()
        for gradient in self.gradients:
            updater(0, gradient, weight)
        return (time.perf_counter() - start) / len(self.gradients) * 1e6


if __name__ == "__main__":
    serve(Worker())
