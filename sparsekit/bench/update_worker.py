"""The worker of this library for ``sparsekit bench update``; rivals use the same protocol.

``prepare FILE.npz OPTIMIZER`` makes weight, states and gradients and returns how much one step with each changes the weight,
``time`` takes a step with each gradient (microseconds per step), and ``bandwidth`` returns the copy rate of the memory.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import sparsekit as mx

from .arrays_worker import Worker as ArraysWorker
from .protocol import OwnWorker, serve

__all__ = ["Worker"]

SETTINGS: dict[str, tuple[str, dict[str, float]]] = {
    "sgd": ("sgd", {"learning_rate": 0.01}), "momentum": ("sgd", {"learning_rate": 0.01, "momentum": 0.9}),
    "adam": ("adam", {"learning_rate": 0.001}), "adagrad": ("adagrad", {"learning_rate": 0.01}),
}


class Worker(OwnWorker):
    """The commands, and the weight, updater and gradients that they share."""

    bandwidth = ArraysWorker.bandwidth

    def prepare(self, path: str, optimizer: str) -> dict[str, float]:
        """Take a step with each gradient of the file, and return the sum of the absolute changes of the weight, by form."""
        self.weight: Any = None  # frees the last weight before the next is made
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
        """Take a step with each gradient and return the microseconds per step."""
        weight, updater = self.weight, self.updater
        start = time.perf_counter()
        for gradient in self.gradients:
            updater(0, gradient, weight)
        return (time.perf_counter() - start) / len(self.gradients) * 1e6


if __name__ == "__main__":
    serve(Worker())
