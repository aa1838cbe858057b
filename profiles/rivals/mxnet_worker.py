"""MXNet 1.9.1 on the workloads of ``sparsekit bench``, behind a line protocol.

Run with a Python that has mxnet 1.9.1; ``sparsekit bench --rival mxnet=PYTHON`` does so.  One command a line on
standard input, one JSON line back on standard output, as in ``torch_worker.py``.  The network and the loop are the
tutorial's own ("Sparse NDArrays with Gluon", third variant), reading batches with ``LibSVMIter``.
"""

from __future__ import annotations

import json
import os
import sys
import time

import mxnet as mx
from protocol import serve

ADD_CALLS = 2000
CHAIN_CALLS = 50


class FullyConnected(mx.gluon.HybridBlock):
    """Dense weights; with ``sparse`` stored (inputs, units), so that the gradient is row-sparse."""

    def __init__(self, in_units: int, units: int, sparse: bool = False) -> None:
        super().__init__()
        self._units, self._sparse = units, sparse
        with self.name_scope():
            shape, grad = ((in_units, units), "row_sparse") if sparse else ((units, in_units), "default")
            self.weight = self.params.get("weight", shape=shape, grad_stype=grad)
            self.bias = self.params.get("bias", shape=(units,), init="zeros")

    def hybrid_forward(self, F, x, weight, bias):
        if self._sparse:
            return F.sparse.dot(x, weight) + bias
        return F.FullyConnected(x, weight, bias, num_hidden=self._units)


class Worker:
    """State between commands: the reader and the network."""

    def info(self) -> dict[str, object]:
        """Versions and the form the workload takes."""
        form = "the tutorial's code, grad_stype='row_sparse'; LibSVMIter"
        return {"name": "mxnet", "version": mx.__version__, "python": sys.version.split()[0], "form": form}

    def load(self, path: str) -> dict[str, object]:
        """Open the LibSVM file beside the data set, if there is one, and build the network; the forms of each operation."""
        if not os.path.exists(path):
            return {"forms": {"add": {"": [], "waiting": []}, "chain": {"": []}}, "failed": {}}
        with open(path.replace(".npz", ".json"), encoding="utf-8") as file:
            facts = json.load(file)
        batch, features = facts["batch_size"], facts["features"]
        self.reader = mx.io.LibSVMIter(
            data_libsvm=path.replace(".npz", ".libsvm"), data_shape=(features,), label_shape=(1,), batch_size=batch
        )
        self.network = mx.gluon.nn.Sequential()
        self.network.add(FullyConnected(features, 128, sparse=True), mx.gluon.nn.Activation("sigmoid"))
        self.network.add(FullyConnected(128, 8), mx.gluon.nn.Activation("sigmoid"))
        self.network.add(FullyConnected(8, 1), mx.gluon.nn.Activation("sigmoid"))
        self.network.initialize()
        self.trainer = mx.gluon.Trainer(self.network.collect_params(), "sgd")
        self.loss = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
        return {"forms": {"epoch": {"": []}}, "failed": {}}

    def time(self, operation: str, form: str = "") -> float:
        """Measure a form of an operation."""
        return getattr(self, f"{operation}_{form}".rstrip("_"))()

    def epoch(self) -> float:
        """Train one epoch; milliseconds."""
        start = time.perf_counter()
        self.reader.reset()
        for batch in self.reader:
            data, label = batch.data[0], batch.label[0]
            with mx.autograd.record():
                loss = self.loss(self.network(data), label)
            loss.backward()
            self.trainer.step(data.shape[0])
            loss.wait_to_read()
        mx.nd.waitall()
        return (time.perf_counter() - start) * 1e3

    def add(self) -> float:
        """Add two 4 x 4 arrays, waiting only at the end; microseconds a call."""
        left, right = mx.nd.ones((4, 4)), mx.nd.ones((4, 4))
        mx.nd.waitall()
        start = time.perf_counter()
        for _ in range(ADD_CALLS):
            out = left + right
        out.wait_to_read()
        return (time.perf_counter() - start) / ADD_CALLS * 1e6

    def add_waiting(self) -> float:
        """Add two 4 x 4 arrays, waiting for each result; microseconds a call."""
        left, right = mx.nd.ones((4, 4)), mx.nd.ones((4, 4))
        mx.nd.waitall()
        start = time.perf_counter()
        for _ in range(ADD_CALLS):
            (left + right).wait_to_read()
        return (time.perf_counter() - start) / ADD_CALLS * 1e6

    def chain(self) -> float:
        """Record ten elementwise operations on 4 x 4 arrays and run backward; microseconds."""
        x, scale, shift = mx.nd.ones((4, 4)), mx.nd.full((4, 4), 0.5), mx.nd.ones((4, 4))
        x.attach_grad()
        mx.nd.waitall()
        start = time.perf_counter()
        for _ in range(CHAIN_CALLS):
            with mx.autograd.record():
                y = x
                for _ in range(5):
                    y = y * scale
                    y = y + shift
            y.backward()
            x.grad.wait_to_read()
        return (time.perf_counter() - start) / CHAIN_CALLS * 1e6


serve(Worker())
