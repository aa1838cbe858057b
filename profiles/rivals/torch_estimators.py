"""PyTorch's linear model for ``sparsekit bench sklearn``; see ``protocol.py`` and ``sparsekit/bench/estimators.py``.

Columns are looked up in an ``EmbeddingBag`` with row-sparse gradients, and AdaGrad changes only the weights of the columns that a
batch has: PyTorch's way that takes the time of what is stored, and the optimizer that ``SparseClassifier`` has.
"""

from __future__ import annotations

import sys
import time

import numpy
import torch
from protocol import serve
from torch.nn import functional

BATCH = 256


class Model(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.EmbeddingBag(columns, 1, mode="sum", sparse=True)
        self.bias = torch.nn.Parameter(torch.zeros(1))
        torch.nn.init.zeros_(self.weight.weight)

    def forward(self, columns, offsets, values):
        return self.weight(columns, offsets, per_sample_weights=values)[:, 0] + self.bias


class Rows:
    """The rows of a csr matrix, of which some make a batch."""

    def __init__(self, data, indices, indptr, label):
        self.data, self.indices, self.label = torch.from_numpy(data), torch.from_numpy(indices), torch.from_numpy(label)
        self.starts, self.counts = torch.from_numpy(indptr[:-1].copy()), torch.from_numpy(numpy.diff(indptr))

    def batch(self, chosen):
        counts = self.counts[chosen]
        offsets = counts.cumsum(0) - counts
        places = torch.arange(int(counts.sum())) + (self.starts[chosen] - offsets).repeat_interleave(counts)
        return (self.indices[places], offsets, self.data[places]), self.label[chosen]


class Worker:
    """A model, what updates it, and the rows to train on and to test."""

    def info(self):
        return {"name": "torch", "version": torch.__version__, "python": sys.version.split()[0]}

    def load(self, path):
        torch.set_num_threads(2)
        with numpy.load(path) as stored:
            self.columns = int(stored["columns"])
            self.rows, self.test = (Rows(*(stored[f"{part}_{name}"] for name in ("data", "indices", "indptr", "label")))
                                    for part in ("train", "test"))

    def make(self, rate):
        torch.manual_seed(0)
        self.model = Model(self.columns)
        self.optimizers = [torch.optim.Adagrad(part, lr=float(rate)) for part in ([self.model.weight.weight], [self.model.bias])]

    def train(self, passes):
        """Seconds of the processor, with those of all threads, that some passes take."""
        start = time.process_time()
        for _ in range(int(passes)):
            for chosen in torch.randperm(len(self.rows.label)).split(BATCH):
                inputs, label = self.rows.batch(chosen)
                loss = functional.binary_cross_entropy_with_logits(self.model(*inputs), label)
                for optimizer in self.optimizers:
                    optimizer.zero_grad()
                loss.backward()
                for optimizer in self.optimizers:
                    optimizer.step()
        return time.process_time() - start

    def accuracy(self):
        with torch.no_grad():
            inputs, label = self.test.batch(torch.arange(len(self.test.label)))
            return float(((self.model(*inputs) > 0) == (label > 0.5)).float().mean())


if __name__ == "__main__":
    serve(Worker())
