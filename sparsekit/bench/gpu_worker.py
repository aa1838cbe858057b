"""The worker of this library for ``sparsekit bench gpu``; rivals use the same protocol.

``load FILE.npz KIND`` lists the operations and their forms, each with two sums to compare results by, ``time OPERATION FORM``
measures one (microseconds per call, between CUDA events), and ``bandwidth`` a copy on the device (bytes per second).
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import sparsekit as mx

from ..demo.variants import FullyConnected, FullyConnectedSparse
from .protocol import OwnWorker

if TYPE_CHECKING:
    from ..base.context import Context
    from ..ndarray.ndarray import NDArray
    from ..optimizer import Updater


__all__ = ["Worker"]

#: Seconds for which one measurement repeats the call, and the most repetitions.
LONG_ENOUGH, MAX_REPEATS = 0.03, 2000
#: Bytes of the arrays that are copied to measure the bandwidth of the device.
COPIED_BYTES = 1 << 30

#: By operation and form: the function to measure, and a function that returns two sums of its result for comparison.
Operations = dict[str, dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]]


def _sums(array: Any) -> object:
    """Return sum and sum of magnitudes of an array's stored values."""
    values = (array if array.stype == "default" else array.data).asnumpy()
    return np.sum(values, dtype=np.float64), np.sum(np.abs(values), dtype=np.float64)


def products(parts: dict[str, Any], ctx: Context) -> Operations:
    """Return products of a csr matrix, and the gradient of an embedding that looks up the matrix's columns."""
    shape, dot = tuple(int(size) for size in parts["shape"]), mx.nd.sparse.dot
    left = mx.nd.sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=shape, ctx=ctx)
    right, turned = mx.nd.array(parts["right"], ctx=ctx), mx.nd.array(parts["turned"], ctx=ctx)
    words = mx.nd.array(parts["indices"], ctx=ctx, dtype="int64")
    slopes = mx.nd.repeat(turned, repeats=words.shape[0] // turned.shape[0], axis=0)
    right.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        looked_up = mx.nd.Embedding(words, right, input_dim=shape[1], output_dim=right.shape[1], sparse_grad=True)

    def gradient() -> object:
        mx.autograd.backward([looked_up], [slopes], retain_graph=True)
        return right.grad

    return {"csr_dense": {"dot": (lambda: dot(left, right), _sums)},
            "csrT_dense": {"dot": (lambda: dot(left, turned, transpose_a=True), _sums)},
            "embedding_gradient": {"backward": (gradient, _sums)}}


def updates(parts: dict[str, Any], ctx: Context) -> Operations:
    """Return lazy steps of SGD and Adam that use the next gradient at each call."""
    shape = tuple(int(size) for size in parts["shape"])
    found: Operations = {}
    for name, rate in (("sgd", 0.01), ("adam", 0.001)):
        weight, updater = mx.nd.ones(shape, ctx=ctx), mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=rate))
        gradients = [mx.nd.sparse.row_sparse_array((data, rows), shape=shape, ctx=ctx)
                     for data, rows in zip(parts["values"], parts["rows"], strict=True)]
        found[name] = {"lazy_update": _stepping(updater, weight, gradients)}
    return found


def _stepping(updater: Updater, weight: NDArray, gradients: list[Any]) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    turn = [0]

    def step() -> None:
        updater(0, gradients[turn[0]], weight)
        turn[0] = (turn[0] + 1) % len(gradients)

    def moved(_: object) -> object:
        for _ in gradients[1:]:
            step()
        distance = float(mx.nd.abs(weight - 1).sum().asscalar())
        return distance, distance

    return step, moved


def transfers(parts: dict[str, Any], ctx: Context) -> Operations:
    """Return copies of a matrix to the device and back, dense and as csr."""
    here, host = mx.nd.array(parts["dense"], ctx=mx.cpu()), mx.cpu()
    sparse = mx.nd.sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=here.shape, ctx=host)
    there, sparse_there = here.as_in_context(ctx), sparse.as_in_context(ctx)
    pairs = {"dense_in": (here, ctx), "csr_in": (sparse, ctx), "dense_out": (there, host), "csr_out": (sparse_there, host)}
    return {name: {"as_in_context": (lambda array=array, target=target: array.as_in_context(target), _sums)}  # type: ignore[misc]
            for name, (array, target) in pairs.items()}


def epochs(parts: dict[str, Any], ctx: Context) -> Operations:
    """Return the tutorial's training epoch on batches on the device, eager and hybridized."""
    return {"epoch": {form: (_training(parts, ctx, form == "hybridized"), lambda loss: (loss, loss))
                      for form in ("eager", "hybridized")}}


def _training(parts: dict[str, Any], ctx: Context, hybrid: bool) -> Callable[[], float]:
    features, size = int(parts["features"]), int(parts["batch_size"])
    net: Any = mx.gluon.nn.HybridSequential()
    net.add(FullyConnectedSparse(features, 128, "row_sparse"), mx.gluon.nn.Activation("sigmoid"))
    net.add(FullyConnected(128, 8), mx.gluon.nn.Activation("sigmoid"), FullyConnected(8, 1), mx.gluon.nn.Activation("sigmoid"))
    net.initialize(mx.init.Constant(0.01), ctx=ctx)
    loss, trainer = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss(), mx.gluon.Trainer(net.collect_params(), "sgd")
    if hybrid:
        net.hybridize()
        loss.hybridize()
    batches, indptr = [], parts["indptr"]
    for start in range(0, len(indptr) - 1, size):
        low, high = indptr[start], indptr[start + size]
        components = parts["data"][low:high], parts["indices"][low:high], indptr[start : start + size + 1] - low
        batches.append((mx.nd.sparse.csr_matrix(components, shape=(size, features), ctx=ctx),
                        mx.nd.array(parts["label"][start : start + size], ctx=ctx)))

    def run() -> float:
        for data, label in batches:
            with mx.autograd.record():
                found = loss(net(data), label)
            found.backward()
            trainer.step(size)
        return float(found.mean().asscalar())  # the only synchronization of an epoch

    return run


KINDS = {"products": products, "updates": updates, "transfers": transfers, "epochs": epochs}


class Worker(OwnWorker):
    """The operations on the arrays that were loaded last."""

    def __init__(self) -> None:
        self.ctx = mx.gpu(0)
        self._cupy: Any = importlib.import_module("cupy")

    def info(self) -> dict[str, Any]:
        """Return names and versions, and those of cupy, CUDA and the device."""
        runtime = self._cupy.cuda.runtime
        name = runtime.getDeviceProperties(0)["name"]
        return {**super().info(), "more": {
            "cupy": self._cupy.__version__, "CUDA runtime": str(runtime.runtimeGetVersion()),
            "CUDA driver": str(runtime.driverGetVersion()), "device": name.decode() if isinstance(name, bytes) else name}}

    def load(self, path: str, kind: str) -> dict[str, Any]:
        """Read the arrays and return the forms of every operation, each with two sums to compare results by."""
        self.operations: Operations = {}
        with np.load(path) as stored:
            self.operations = KINDS[kind]({name: stored[name] for name in stored.files}, self.ctx)
        return {"failed": {}, "forms": {
            operation: {form: [float(number) for number in total(function())] for form, (function, total) in forms.items()}
            for operation, forms in self.operations.items()}}

    def time(self, operation: str, form: str) -> float:
        """Return microseconds per call between two CUDA events, over ``LONG_ENOUGH`` seconds of calls."""
        function, cuda = self.operations[operation][form][0], self._cupy.cuda
        function()
        mx.nd.waitall()
        start = time.perf_counter()
        function()
        mx.nd.waitall()
        repeats = max(1, min(MAX_REPEATS, int(LONG_ENOUGH / max(time.perf_counter() - start, 1e-6))))
        before, after = cuda.Event(), cuda.Event()
        before.record()
        for _ in range(repeats):
            function()
        after.record()
        after.synchronize()
        return float(cuda.get_elapsed_time(before, after)) / repeats * 1e3

    def bandwidth(self, size: str = "") -> float:
        """Return the bytes per second of a copy between two arrays on the device, counting reads and writes."""
        source = self._cupy.ones(int(size or COPIED_BYTES) // 8)
        target = self._cupy.empty_like(source)
        self.operations = {"copy": {"": (lambda: target.__setitem__(slice(None), source), lambda _: (0, 0))}}
        return 2 * int(source.nbytes) / (min(self.time("copy", "") for _ in range(5)) * 1e-6)
