"""PyTorch at its best on the workloads of ``sparsekit bench``, behind a line protocol.

Run with a Python that has torch (and numpy); ``sparsekit bench --rival torch=PYTHON`` does so.  One command a line
on standard input, one JSON line back on standard output:

``info``
    versions and settings.
``load FILE.npz``
    load the data set and parse it into batches, build the network; without a file, only ``add`` and ``chain`` are there.
``time epoch FORM`` / ``time add`` / ``time chain``
    one measurement in milliseconds (epoch) or microseconds a call (add, chain).
``quit``

What is measured in an epoch: the whole training loop over 100 batches.  PyTorch has no reader for LibSVM files, so
its batches are parsed and sliced beforehand, in memory, in PyTorch's favour.  The first layer is
``EmbeddingBag(mode="sum", sparse=True)`` with ``per_sample_weights``, which is how PyTorch multiplies a sparse batch
by a weight matrix with a sparse gradient; updates are ``torch.optim.SGD`` on that sparse gradient.
"""

from __future__ import annotations

import os
import sys
import time

import numpy
import torch
from protocol import serve

ADD_CALLS = 5000
CHAIN_CALLS = 300


class Network(torch.nn.Module):
    """The tutorial's network, 128-8-1 with sigmoids, on bags of (index, value)."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first = torch.nn.EmbeddingBag(features, 128, mode="sum", sparse=True)
        torch.nn.init.uniform_(self.first.weight, -0.07, 0.07)
        self.bias = torch.nn.Parameter(torch.zeros(128))
        self.second = torch.nn.Linear(128, 8)
        self.third = torch.nn.Linear(8, 1)

    def forward(self, indices: torch.Tensor, offsets: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        hidden = torch.sigmoid(self.first(indices, offsets, values) + self.bias)
        return torch.sigmoid(self.third(torch.sigmoid(self.second(hidden))))


class Worker:
    """State between commands: the batches and the network."""

    def info(self) -> dict[str, object]:
        """Versions and the form the workload takes."""
        form = "EmbeddingBag(sparse=True), torch.optim.SGD; batches parsed beforehand"
        return {"name": "torch", "version": torch.__version__, "python": sys.version.split()[0], "form": form}

    def load(self, path: str) -> dict[str, object]:
        """Slice the data set, if there is one, into batches and build the network; the forms of each operation."""
        threads = {"1_thread": [], "2_threads": []}
        if not os.path.exists(path):
            return {"forms": {"add": {"": []}, "chain": {"": []}}, "failed": {}}
        with numpy.load(path) as stored:
            parts = {name: stored[name] for name in stored.files}
        batch, indptr = int(parts["batch_size"]), parts["indptr"]
        self.batches = []
        for start in range(0, len(indptr) - 1, batch):
            low, high = indptr[start], indptr[start + batch]
            self.batches.append(
                (
                    torch.from_numpy(parts["indices"][low:high].astype(numpy.int64)),
                    torch.from_numpy((indptr[start : start + batch] - low).astype(numpy.int64)),
                    torch.from_numpy(parts["data"][low:high].astype(numpy.float32)),
                    torch.from_numpy(parts["label"][start : start + batch].astype(numpy.float32)).reshape(-1, 1),
                )
            )
        self.network = Network(int(parts["features"]))
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01)
        return {"forms": {"epoch": {**threads, "updates_by_hand": []}}, "failed": {}}

    def time(self, operation: str, form: str = "") -> float:
        """Measure a form of an operation; by hand there is one thread, as for additions."""
        torch.set_num_threads(2 if form == "2_threads" else 1)
        if form == "updates_by_hand":
            return self._epoch_by_hand()
        return getattr(self, operation)()

    def epoch(self) -> float:
        """Train one epoch; milliseconds."""
        network, optimizer = self.network, self.optimizer
        criterion = torch.nn.functional.binary_cross_entropy_with_logits
        start = time.perf_counter()
        for indices, offsets, values, label in self.batches:
            optimizer.zero_grad(set_to_none=True)
            criterion(network(indices, offsets, values), label).backward()
            optimizer.step()
        return (time.perf_counter() - start) * 1e3

    def _epoch_by_hand(self) -> float:
        """The same without an optimizer object: fewer Python calls a batch."""
        network, parameters = self.network, list(self.network.parameters())
        criterion = torch.nn.functional.binary_cross_entropy_with_logits
        start = time.perf_counter()
        for indices, offsets, values, label in self.batches:
            gradients = torch.autograd.grad(criterion(network(indices, offsets, values), label), parameters)
            with torch.no_grad():
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.add_(gradient, alpha=-0.01)
        return (time.perf_counter() - start) * 1e3

    def add(self) -> float:
        """Add two 4 x 4 arrays; microseconds a call."""
        left, right = torch.ones(4, 4), torch.ones(4, 4)
        start = time.perf_counter()
        for _ in range(ADD_CALLS):
            left + right
        return (time.perf_counter() - start) / ADD_CALLS * 1e6

    def chain(self) -> float:
        """Record ten elementwise operations on 4 x 4 arrays and run backward; microseconds."""
        x = torch.ones(4, 4, requires_grad=True)
        scale, shift = torch.full((4, 4), 0.5), torch.ones(4, 4)
        head = torch.ones(4, 4)
        start = time.perf_counter()
        for _ in range(CHAIN_CALLS):
            x.grad = None
            y = x
            for _ in range(5):
                y = y * scale
                y = y + shift
            y.backward(head)
        return (time.perf_counter() - start) / CHAIN_CALLS * 1e6


if __name__ == "__main__":
    serve(Worker())
