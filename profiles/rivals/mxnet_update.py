"""MXNet 1.9.1's optimizers on row_sparse gradients, for ``sparsekit bench update``; see ``protocol.py``."""

from __future__ import annotations

import sys
import time

import mxnet as mx
import numpy
from protocol import serve

SETTINGS = {
    "sgd": ("sgd", {"learning_rate": 0.01}), "momentum": ("sgd", {"learning_rate": 0.01, "momentum": 0.9}),
    "adam": ("adam", {"learning_rate": 0.001}), "adagrad": ("adagrad", {"learning_rate": 0.01}),
}


class Worker:
    """A weight, the updater of an optimizer, and gradients."""

    def info(self):
        return {"name": "mxnet", "version": mx.__version__, "python": sys.version.split()[0]}

    def load(self, path, optimizer):
        self.weight = self.updater = None
        with numpy.load(path) as stored:
            shape, rows, values = (stored[name] for name in ("shape", "rows", "values"))
        name, settings = SETTINGS[optimizer]
        self.updater = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
        self.weight = mx.nd.ones(tuple(int(size) for size in shape))
        self.gradients = [
            mx.nd.sparse.row_sparse_array((data, indices), shape=self.weight.shape)
            for data, indices in zip(values, rows, strict=True)
        ]
        mx.nd.waitall()
        self.time(optimizer)
        moved = float(numpy.abs(self.weight.asnumpy() - 1).sum(dtype=numpy.float64))
        return {"forms": {optimizer: {"": [moved]}}, "failed": {}}

    def time(self, operation, form=""):
        start = time.perf_counter()
        for gradient in self.gradients:
            self.updater(0, gradient, self.weight)
        mx.nd.waitall()
        return (time.perf_counter() - start) / len(self.gradients) * 1e6


if __name__ == "__main__":
    serve(Worker())
