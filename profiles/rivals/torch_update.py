"""PyTorch's optimizers on sparse gradients, for ``sparsekit bench update``, and their steps by hand; see ``protocol.py``."""

from __future__ import annotations

import math
import sys
import time

import numpy
import torch
from protocol import serve


def sgd(weight, states, rows, values, count):
    weight.index_add_(0, rows, values, alpha=-0.01)


def momentum(weight, states, rows, values, count):
    moved = states[0].index_select(0, rows).mul_(0.9).add_(values, alpha=-0.01)
    states[0].index_copy_(0, rows, moved)
    weight.index_add_(0, rows, moved)


def adam(weight, states, rows, values, count):
    mean = states[0].index_select(0, rows).mul_(0.9).add_(values, alpha=0.1)
    variance = states[1].index_select(0, rows).mul_(0.999).addcmul_(values, values, value=0.001)
    states[0].index_copy_(0, rows, mean)
    states[1].index_copy_(0, rows, variance)
    rate = 0.001 * math.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    weight.index_add_(0, rows, mean.div_(variance.sqrt_().add_(1e-8)), alpha=-rate)


def adagrad(weight, states, rows, values, count):
    total = states[0].index_select(0, rows).addcmul_(values, values)
    states[0].index_copy_(0, rows, total)
    weight.index_add_(0, rows, values / total.add_(1e-7).sqrt_(), alpha=-0.01)


BY_HAND = {"sgd": (sgd, 0), "momentum": (momentum, 1), "adam": (adam, 2), "adagrad": (adagrad, 1)}
OPTIMIZERS = {
    "sgd": lambda weight: torch.optim.SGD([weight], lr=0.01),
    "adam": lambda weight: torch.optim.SparseAdam([weight], lr=0.001),
    "adagrad": lambda weight: torch.optim.Adagrad([weight], lr=0.01),
}


class Worker:
    """A weight with the states of every form, and gradients."""

    def info(self):
        return {"name": "torch", "version": torch.__version__, "python": sys.version.split()[0]}

    def load(self, path, optimizer):
        self.forms = {}
        with numpy.load(path) as stored:
            shape, rows, values = (stored[name] for name in ("shape", "rows", "values"))
        shape = tuple(int(size) for size in shape)
        self.pairs = [(torch.from_numpy(one), torch.from_numpy(data)) for one, data in zip(rows, values, strict=True)]
        self.gradients = [
            torch.sparse_coo_tensor(one[None], data, shape, is_coalesced=True) for one, data in self.pairs
        ]
        moved = {}
        for form, make in {"by_hand": self._by_hand, "optim": self._optim}.items():
            run = make(optimizer, torch.ones(shape))
            if run is not None:
                self.forms[form], weight = run
                self.time(optimizer, form)
                moved[form] = [float((weight.detach() - 1).abs_().sum(dtype=torch.float64))]
                moved[f"{form}_1_thread"] = moved[form]
        return {"forms": {optimizer: moved}, "failed": {}}

    def _by_hand(self, optimizer, weight):
        step, count = BY_HAND[optimizer]
        states, counts = [torch.zeros_like(weight) for _ in range(count)], [0]

        def run():
            for rows, values in self.pairs:
                counts[0] += 1
                step(weight, states, rows, values, counts[0])

        return run, weight

    def _optim(self, optimizer, weight):
        if optimizer not in OPTIMIZERS:
            return None
        parameter = torch.nn.Parameter(weight)
        made = OPTIMIZERS[optimizer](parameter)

        def run():
            for gradient in self.gradients:
                parameter.grad = gradient
                made.step()

        return run, parameter

    def time(self, operation, form):
        torch.set_num_threads(1 if form.endswith("_1_thread") else 2)
        start = time.perf_counter()
        self.forms[form.removesuffix("_1_thread")]()
        return (time.perf_counter() - start) / len(self.pairs) * 1e6


if __name__ == "__main__":
    serve(Worker())
