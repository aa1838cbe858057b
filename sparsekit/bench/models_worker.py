"""The worker of this library for ``sparsekit bench models``; rivals use the same protocol.

``prepare MODEL FILE`` builds the model, trains once on every batch and returns the losses, ``time`` trains once more
(milliseconds per step), and ``peak`` returns the peak memory of the process (bytes).  Of this library ``gradients`` returns the
bytes of all gradients, and ``time_profiled`` and ``time_digested`` train under the profiler.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import sparsekit as mx
from sparsekit.examples.factorization_machine import FactorizationMachine, rows_of
from sparsekit.examples.language_model import LanguageModel
from sparsekit.examples.linear_classification import LogisticRegression
from sparsekit.examples.matrix_factorization import MatrixFactorization
from sparsekit.examples.sampled_softmax import accidental_hits
from sparsekit.examples.wide_and_deep import WideAndDeep

from .protocol import OwnWorker, peak_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..base.types import Array
    from ..gluon.block import HybridBlock
    from ..gluon.parameter import Parameter
    from ..ndarray.ndarray import NDArray
    from ..ndarray.sparse import CSRNDArray

__all__ = ["Worker"]

#: A large epsilon, so that AdaGrad does not amplify gradients that are rounding errors.
RATE, EPSILON = 0.002, 1e-6


def _csr(columns: Array, values: Array, width: int) -> CSRNDArray:
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    return mx.nd.sparse.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(len(columns), width))


def linear(sizes: dict[str, int], batch: object) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a logistic regression, and a function that makes its inputs from the arrays of a batch."""
    return LogisticRegression(sizes["features"]), lambda one: [_csr(one["columns"], one["values"], sizes["features"])]


def machine(sizes: dict[str, int], batch: object) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a factorization machine, whose step finds the distinct columns of the batch, and its inputs."""
    def inputs(one: dict[str, Array]) -> list[Any]:
        return [_csr(one["columns"], one["values"], sizes["features"]), None]

    return FactorizationMachine(sizes["features"], sizes["factors"]), inputs


def factorization(sizes: dict[str, int], batch: object) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a matrix factorization and its inputs."""
    model = MatrixFactorization(sizes["users"], sizes["items"], sizes["factors"])
    return model, lambda one: [mx.nd.array(one[name], dtype="int64") for name in ("user", "item")]


def wide_and_deep(sizes: dict[str, int], batch: object) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a wide-and-deep model and its inputs; its categories are consecutive rows of one table."""
    model = WideAndDeep(sizes["columns"], [sizes["rows"] // sizes["categories"]] * sizes["categories"], sizes["width"],
                        (sizes["hidden"], sizes["hidden"] // 2))
    return model, lambda one: [_csr(one["columns"], one["values"], sizes["columns"]), mx.nd.array(one["codes"], dtype="int64")]


def language(sizes: dict[str, int], batch: object) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a language model, with a projection if ``sizes`` has one, and its inputs."""
    model = LanguageModel(sizes["words"], sizes["width"], sizes["hidden"], sizes["projection"], bool(sizes.get("sparse", 1)))

    def inputs(one: dict[str, Array]) -> list[Any]:
        target, drawn = np.split(one["classes"], [one["data"].size])
        return [mx.nd.array(one["data"], dtype="int64"), mx.nd.array(one["classes"], dtype="int64"),
                mx.nd.array(one["log_expected"][:, None]), accidental_hits(target, drawn)]

    return model, inputs


MODELS: dict[str, Callable[..., Any]] = {
    "linear": linear, "machine": machine, "factorization": factorization, "wide_and_deep": wide_and_deep, "language": language,
    "projected": language}


def fill(parameters: Iterable[Parameter]) -> None:
    """Initialize the parameters, largest first, with the numbers that rivals draw: 0.05 times normal, 0 for vectors."""
    for number, parameter in enumerate(sorted(parameters, key=lambda one: -int(np.prod(one.shape)))):
        values: Any = np.zeros(parameter.shape, np.float32)
        if len(parameter.shape) > 1:
            values = np.random.default_rng(number).standard_normal(parameter.shape, np.float32)
            values *= 0.05
        store = parameter.data()._store  # in place, since the peak memory is measured; a row_sparse weight has all rows
        (store if parameter.stype == "default" else store.data)[...] = values


class Worker(OwnWorker):
    """The commands, and the model and batches that they share."""

    def prepare(self, name: str, path: str) -> list[float]:
        """Build the model, train on every batch once, and return the mean losses."""
        with np.load(path) as stored:
            sizes = json.loads(str(stored["sizes"]))
            arrays = {key: stored[key] for key in stored.files if key != "sizes"}
        self.model, inputs = MODELS[name](sizes, arrays)
        self.model.initialize()
        fill(self.model.collect_params().values())
        self.trainer = mx.gluon.Trainer(self.model.collect_params(), "adagrad", {"learning_rate": RATE, "eps": EPSILON})
        parts = [{key: value[number] for key, value in arrays.items()} for number in range(len(next(iter(arrays.values()))))]
        self.batches = [inputs(part) for part in parts]
        self.states: Any = None
        if "length" in sizes:
            self.states = self.model.lstm.begin_state(sizes["batch"])
            self.train = mx.gluon.TrainStep(self.model, None, self.trainer)
        else:
            loss = mx.gluon.loss.L2Loss() if name == "factorization" else mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
            self.train = mx.gluon.TrainStep(self.model, loss, self.trainer)
            self.batches = [[*batch, mx.nd.array(part["label"])] for batch, part in zip(self.batches, parts, strict=True)]
        return [float(self._step(batch).mean().asscalar()) for batch in self.batches]

    def _step(self, batch: Sequence[Any]) -> NDArray:
        if self.states is not None:
            return self._words(batch)
        if batch[1] is None:  # the rows of the row_sparse weights that the batch needs
            batch = [batch[0], rows_of(batch[0]), batch[2]]
        *inputs, label = batch
        loss: NDArray = self.train(inputs, label, label.shape[0])
        return loss

    def _words(self, batch: Sequence[Any]) -> NDArray:
        data, *candidates = batch
        loss: NDArray
        loss, self.states = self.train((data, self.states, *candidates), batch_size=data.size)
        return loss

    def time(self, passes: str = "1") -> float:
        """Take steps with each batch and return the milliseconds per step."""
        start = time.perf_counter()
        for _ in range(int(passes)):
            for batch in self.batches:
                self._step(batch)
        return (time.perf_counter() - start) / (int(passes) * len(self.batches)) * 1e3

    def time_profiled(self, passes: str) -> float:
        """Return the milliseconds per step while the profiler runs."""
        with mx.Profiler():
            return self.time(passes)

    def time_digested(self, passes: str) -> float:
        """Return the milliseconds per step under the profiler, from its start until its totals are known."""
        start = time.perf_counter()
        with mx.Profiler() as prof:
            self.time(passes)
        _ = prof.totals
        return (time.perf_counter() - start) / (int(passes) * len(self.batches)) * 1e3

    def gradients(self) -> int:
        """Return the bytes of all gradients."""
        return sum(int(one.grad()._store.nbytes) for one in self.model.collect_params().values())

    def peak(self) -> int:
        """Return the peak memory of the process in bytes."""
        return peak_bytes()
