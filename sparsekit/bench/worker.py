"""The worker of this library for ``sparsekit bench epoch``, ``dispatch`` and ``variants``; rivals use the same protocol.

It reads one command per line from standard input and answers with a line of JSON: ``info``, ``prepare FILE.npz [VARIANT]``,
``epoch``, ``epoch_profiled``, ``epoch_digested``, ``epoch_parsed``, ``epoch_hybrid``, ``epoch_train_step``,
``epoch_train_step_profiled``, ``read`` and ``batch`` (milliseconds), ``trace FILE BATCHES`` (saves a profile), ``add`` and
``chain`` (microseconds per call).
"""

from __future__ import annotations

import gc
import json
import time
from typing import TYPE_CHECKING, Any

import sparsekit as mx

from ..demo.variants import FullyConnected, FullyConnectedSparse
from .protocol import OwnWorker

if TYPE_CHECKING:
    from ..gluon.block import HybridBlock
    from ..gluon.trainer import Trainer
    from ..io.data import DataBatch


__all__ = ["VARIANTS", "Worker"]

ADD_CALLS = 5000
CHAIN_CALLS = 300

#: Batches before a profile, so that it has no one-time costs: the updates are compiled at the third.
UNRECORDED = 5

#: Constructors of the first layer of each variant, called with the number of features.
VARIANTS = {
    "row_sparse": lambda features: FullyConnectedSparse(features, 128, "row_sparse"),
    "sparse_forward": lambda features: FullyConnectedSparse(features, 128, "default"),
    "dense": lambda features: FullyConnected(features, 128),
}


class Worker(OwnWorker):
    """The commands, and the reader and network that they share."""

    def prepare(self, path: str, variant: str = "row_sparse") -> bool:
        """Open the LibSVM file beside ``path`` and build the network."""
        with open(path.replace(".npz", ".json"), encoding="utf-8") as file:
            facts = json.load(file)
        features, batch = facts["features"], facts["batch_size"]
        self.net: Any = None
        self.trainer: Any = None
        self.hybrid: Any = None
        self.train_step: Any = None  # Any, in these: of the library that is measured
        self.parsed: list[Any] = []
        gc.collect()  # a dense variant holds a gigabyte
        self.reader = mx.io.LibSVMIter(
            data_libsvm=path.replace(".npz", ".libsvm"), data_shape=(features,), batch_size=batch
        )
        self.net, self.trainer = self._network(variant, features)
        self.loss = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
        self.variant, self.features = variant, features
        return True

    def _network(self, variant: str, features: int) -> tuple[HybridBlock, Trainer]:
        """Build the tutorial's network and its trainer."""
        net: Any = mx.gluon.nn.HybridSequential()
        net.add(VARIANTS[variant](features), mx.gluon.nn.Activation("sigmoid"))
        net.add(FullyConnected(128, 8), mx.gluon.nn.Activation("sigmoid"))
        net.add(FullyConnected(8, 1), mx.gluon.nn.Activation("sigmoid"))
        net.initialize()
        return net, mx.gluon.Trainer(net.collect_params(), "sgd")

    def _step(self, batch: DataBatch) -> None:
        data, label = batch.data[0], batch.label[0]
        with mx.autograd.record():
            loss = self.loss(self.net(data), label)
        loss.backward()
        self.trainer.step(data.shape[0])
        loss.wait_to_read()

    def epoch(self) -> float:
        """Train one epoch, reading included, and return the milliseconds."""
        start = time.perf_counter()
        self.reader.reset()
        for batch in self.reader:
            self._step(batch)
        return (time.perf_counter() - start) * 1e3

    def epoch_profiled(self) -> float:
        """Return the milliseconds of ``epoch`` under the profiler."""
        with mx.Profiler():
            return self.epoch()

    def epoch_digested(self) -> float:
        """Return the milliseconds of ``epoch`` under the profiler, including the computation of the totals."""
        start = time.perf_counter()
        with mx.Profiler() as prof:
            self.epoch()
        _ = prof.totals
        return (time.perf_counter() - start) * 1e3

    def epoch_hybrid(self) -> float:
        """Return the milliseconds of ``epoch_parsed`` with network and loss hybridized."""
        if self.hybrid is None:
            self.hybrid = (*self._network(self.variant, self.features), mx.gluon.loss.SigmoidBinaryCrossEntropyLoss())
            for block in (self.hybrid[0], self.hybrid[2]):
                block.hybridize()
        eager = self.net, self.trainer, self.loss
        self.net, self.trainer, self.loss = self.hybrid
        try:
            return self.epoch_parsed()
        finally:
            self.net, self.trainer, self.loss = eager

    def epoch_train_step(self) -> float:
        """Return the milliseconds of ``epoch_parsed`` by ``gluon.TrainStep``."""
        if self.train_step is None:
            net, trainer = self._network(self.variant, self.features)
            self.train_step = mx.gluon.TrainStep(net, mx.gluon.loss.SigmoidBinaryCrossEntropyLoss(), trainer)
        batches = self._parsed()
        start = time.perf_counter()
        for batch in batches:
            self.train_step(batch.data[0], batch.label[0]).wait_to_read()
        return (time.perf_counter() - start) * 1e3

    def epoch_train_step_profiled(self) -> float:
        """Return the milliseconds of ``epoch_train_step`` under the profiler."""
        with mx.Profiler():
            return self.epoch_train_step()

    def _parsed(self) -> list[Any]:  # Any: batches
        if not self.parsed:
            self.reader.reset()
            self.parsed = list(self.reader)
        return self.parsed

    def epoch_parsed(self) -> float:
        """Train one epoch on batches read beforehand, as for PyTorch and JAX, and return the milliseconds."""
        batches = self._parsed()
        start = time.perf_counter()
        for batch in batches:
            self._step(batch)
        return (time.perf_counter() - start) * 1e3

    def read(self) -> float:
        """Read all batches of an epoch and return the milliseconds."""
        start = time.perf_counter()
        self.reader.reset()
        for _ in self.reader:
            pass
        return (time.perf_counter() - start) * 1e3

    def batch(self) -> float:
        """Train one batch and return the milliseconds, reading excluded."""
        self.reader.reset()
        batch = next(iter(self.reader))
        start = time.perf_counter()
        self._step(batch)
        return (time.perf_counter() - start) * 1e3

    def trace(self, path: str, batches: str) -> dict[str, Any]:
        """Profile some batches, save the profile, and return peak and gradient bytes and the number of densifications."""
        for _ in range(UNRECORDED):
            self.reader.reset()
            self._step(next(iter(self.reader)))
        self.reader.reset()
        with mx.Profiler() as prof:
            for _, batch in zip(range(int(batches)), self.reader, strict=False):
                self._step(batch)
                prof.step()
        prof.save(path)
        weight = next(iter(self.net.collect_params().values()))
        gradient = weight.grad()
        return {"peak": prof.memory["peak_bytes"], "gradient": gradient.nbytes, "densified": prof.densified}

    def add(self) -> float:
        """Add two 4 x 4 arrays and return the microseconds per call."""
        ones: Any = mx.nd.ones
        left, right = ones((4, 4)), ones((4, 4))
        start = time.perf_counter()
        for _ in range(ADD_CALLS):
            left + right
        return (time.perf_counter() - start) / ADD_CALLS * 1e6

    def chain(self) -> float:
        """Record ten elementwise operations on 4 x 4 arrays, run backward, and return the microseconds."""
        nd: Any = mx.nd
        x, scale, shift = nd.ones((4, 4)), nd.full((4, 4), 0.5), nd.ones((4, 4))
        x.attach_grad()
        start = time.perf_counter()
        for _ in range(CHAIN_CALLS):
            with mx.autograd.record():
                y = x
                for _ in range(5):
                    y = y * scale
                    y = y + shift
            y.backward()
        return (time.perf_counter() - start) / CHAIN_CALLS * 1e6
