"""``sparsekit bench models`` and ``lstm``: training steps of large models of ``sparsekit.examples``, in time and memory.

``models`` measures them beside PyTorch, ``lstm`` the model on the slides with dense and with row-sparse gradients.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

import sparsekit as mx

from ..examples.factorization_machine import FactorizationMachine, rows_of
from ..examples.language_model import LanguageModel
from ..examples.linear_classification import LogisticRegression
from ..examples.matrix_factorization import MatrixFactorization
from ..examples.sampled_softmax import accidental_hits
from ..examples.wide_and_deep import WideAndDeep
from .harness import Session
from .rows import Around, Row, Table, Who
from .worker import Form, Forms

if TYPE_CHECKING:
    from ..base.types import Array, ShapeLike
    from ..gluon.block import HybridBlock
    from ..gluon.parameter import Parameter
    from ..ndarray.ndarray import NDArray
    from ..ndarray.sparse import CSRNDArray

#: Number of batches that take turns; together they touch more rows than fit a cache.
BATCHES = 8

WORKLOADS: dict[str, dict[str, int]] = {
    "linear": {"batch": 1024, "features": 1_000_000, "stored": 40},
    "machine": {"batch": 1024, "features": 1_000_000, "stored": 39, "factors": 16},
    "factorization": {"batch": 4096, "users": 1_000_000, "items": 100_000, "factors": 64},
    "wide_and_deep": {"batch": 1024, "columns": 1_000_000, "stored": 30, "rows": 500_000, "categories": 10, "width": 32,
                      "hidden": 256},
    "language": {"batch": 32, "length": 20, "words": 200_000, "width": 256, "hidden": 256, "projection": 0, "samples": 8192},
    "projected": {"batch": 32, "length": 20, "words": 200_000, "width": 256, "hidden": 1024, "projection": 256,
                  "samples": 8192},
}
QUICK: dict[str, dict[str, int]] = {
    "linear": {"batch": 16, "features": 1000, "stored": 5},
    "machine": {"batch": 16, "features": 1000, "stored": 5, "factors": 4},
    "factorization": {"batch": 16, "users": 100, "items": 50, "factors": 4},
    "wide_and_deep": {"batch": 16, "columns": 1000, "stored": 5, "rows": 200, "categories": 3, "width": 4, "hidden": 8},
    "language": {"batch": 4, "length": 5, "words": 200, "width": 8, "hidden": 8, "projection": 0, "samples": 20},
    "projected": {"batch": 4, "length": 5, "words": 200, "width": 8, "hidden": 16, "projection": 8, "samples": 20},
}
#: The slides name the LSTM, 2,048 units projected to 512, and a text whose 793,471 words have dense arrays of 10 GB.
LSTM = {"batch": 32, "length": 20, "words": 100_000, "width": 512, "hidden": 2048, "projection": 512, "samples": 8192}
LSTM_QUICK = QUICK["projected"]
#: Its number of batches, since a step takes about a second, and the form that the other is compared with.
LSTM_BATCHES, DENSE = 3, "dense gradients"
HEADINGS = {
    "linear": "linear classification: {features:,} features, {stored} values per row, batch {batch:,}",
    "machine": "factorization machine: {features:,} features x {factors}, {stored} values per row, batch {batch:,}",
    "factorization": "matrix factorization: {users:,} users, {items:,} items x {factors}, batch {batch:,}",
    "wide_and_deep": ("wide and deep: {columns:,} columns, {stored} values per row; {rows:,} x {width}, {categories} categories, "
                      "{hidden} hidden units, batch {batch:,}"),
    "language": "language model: {words:,} x {width}, LSTM {hidden}, {samples:,} samples, batch {batch} x {length}",
    "projected": ("language model: {words:,} x {width}, LSTM {hidden} projected to {projection}, {samples:,} samples, "
                  "batch {batch} x {length}"),
}


def _frequent(random: np.random.Generator, size: int, shape: ShapeLike) -> Array:
    """Draw integers below ``size``, small ones more often, like ranks of words or users."""
    drawn: Array = np.minimum(np.expm1(random.random(shape) * np.log(size + 1.0)).astype(np.int64), size - 1)
    return drawn


def _columns(random: np.random.Generator, size: int, rows: int, stored: int) -> Array:
    """Draw distinct ascending columns for each row: one from each of ``stored`` equal ranges, like fields."""
    each = size // stored
    return _frequent(random, each, (rows, stored)) + np.arange(stored) * each


def batches_of(name: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the arrays of all batches of a workload."""
    random = np.random.default_rng(0)
    shape = (BATCHES, sizes["batch"])
    if name in ("language", "projected"):
        return _texts(random, sizes)
    parts: dict[str, Any] = {"label": random.integers(0, 2, shape).astype(np.float32)}
    if name == "factorization":
        return {**parts, "user": _frequent(random, sizes["users"], shape), "item": _frequent(random, sizes["items"], shape)}
    features = sizes.get("features", sizes.get("columns", 0))
    parts["columns"] = np.array([_columns(random, features, sizes["batch"], sizes["stored"]) for _ in range(BATCHES)])
    parts["values"] = random.random(parts["columns"].shape, np.float32)
    if name == "wide_and_deep":
        parts["codes"] = np.array([_columns(random, sizes["rows"], sizes["batch"], sizes["categories"]) for _ in range(BATCHES)])
    return parts


def _texts(random: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return input words, classes (next words, then samples) and logarithms of their expected counts, for each batch."""
    words, samples = sizes["words"], sizes["samples"]
    text = _frequent(random, words, (BATCHES, sizes["length"] + 1, sizes["batch"]))
    drawn = np.array([_distinct(random, words, samples) for _ in range(BATCHES)])
    classes = np.concatenate([text[:, 1:].reshape(BATCHES, -1), drawn], axis=1)
    share = np.log1p(1.0 / (classes + 1.0)) / np.log(words + 1.0)
    return {"data": text[:, :-1], "classes": classes,
            "log_expected": np.log(-np.expm1(2.3 * samples * np.log1p(-share))).astype(np.float32)}


def _distinct(random: np.random.Generator, words: int, samples: int) -> Array:
    drawn = _frequent(random, words, 20 * samples)
    return drawn[np.sort(np.unique(drawn, return_index=True)[1])[:samples]]


#: A large epsilon, so that AdaGrad does not amplify gradients that are rounding errors.
RATE, EPSILON = 0.002, 1e-6


def _csr(columns: Array, values: Array, width: int) -> CSRNDArray:
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    return mx.nd.sparse.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(len(columns), width))


def linear(sizes: Mapping[str, int]) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a logistic regression, and a function that makes its inputs from the arrays of a batch."""
    return LogisticRegression(sizes["features"]), lambda batch: [_csr(batch["columns"], batch["values"], sizes["features"])]


def machine(sizes: Mapping[str, int]) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a factorization machine, whose step finds the distinct columns of the batch, and its inputs."""
    def inputs(batch: dict[str, Array]) -> list[Any]:
        return [_csr(batch["columns"], batch["values"], sizes["features"]), None]

    return FactorizationMachine(sizes["features"], sizes["factors"]), inputs


def factorization(sizes: Mapping[str, int]) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a matrix factorization and its inputs."""
    model = MatrixFactorization(sizes["users"], sizes["items"], sizes["factors"])
    return model, lambda batch: [mx.nd.array(batch[name], dtype="int64") for name in ("user", "item")]


def wide_and_deep(sizes: Mapping[str, int]) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a wide-and-deep model and its inputs; its categories are consecutive rows of one table."""
    model = WideAndDeep(sizes["columns"], [sizes["rows"] // sizes["categories"]] * sizes["categories"], sizes["width"],
                        (sizes["hidden"], sizes["hidden"] // 2))
    return model, lambda batch: [_csr(batch["columns"], batch["values"], sizes["columns"]),
                                 mx.nd.array(batch["codes"], dtype="int64")]


def language(sizes: Mapping[str, int]) -> tuple[HybridBlock, Callable[..., list[Any]]]:
    """Return a language model, with a projection if ``sizes`` has one, and its inputs."""
    model = LanguageModel(sizes["words"], sizes["width"], sizes["hidden"], sizes["projection"], bool(sizes.get("sparse", 1)))

    def inputs(batch: dict[str, Array]) -> list[Any]:
        target, drawn = np.split(batch["classes"], [batch["data"].size])
        return [mx.nd.array(batch["data"], dtype="int64"), mx.nd.array(batch["classes"], dtype="int64"),
                mx.nd.array(batch["log_expected"][:, None]), accidental_hits(target, drawn)]

    return model, inputs


MODELS: dict[str, Callable[..., Any]] = {
    "linear": linear, "machine": machine, "factorization": factorization, "wide_and_deep": wide_and_deep, "language": language,
    "projected": language}


def fill(parameters: Iterable[Parameter]) -> None:
    """Initialize the parameters, largest first, with the numbers that rivals draw: 0.05 times normal, 0 for vectors."""
    for number, parameter in enumerate(sorted(parameters, key=lambda candidate: -int(np.prod(candidate.shape)))):
        values: Any = np.zeros(parameter.shape, np.float32)
        if len(parameter.shape) > 1:
            values = np.random.default_rng(number).standard_normal(parameter.shape, np.float32)
            values *= 0.05
        store = parameter.data()._store  # in place, since the peak memory is measured; a row_sparse weight has all rows
        (store if parameter.stype == "default" else store.data)[...] = values


class _Steps:
    """A model and batches that take turns; a language model carries its states from batch to batch."""

    def __init__(self, path: str, name: str, sparse: bool) -> None:
        with np.load(path) as stored:
            sizes = {**json.loads(str(stored["sizes"])), "sparse": int(sparse)}
            arrays = {key: stored[key] for key in stored.files if key != "sizes"}
        self.model, inputs = MODELS[name](sizes)
        self.model.initialize()
        fill(self.model.collect_params().values())
        trainer = mx.gluon.Trainer(self.model.collect_params(), "adagrad", {"learning_rate": RATE, "eps": EPSILON})
        parts = [{key: value[number] for key, value in arrays.items()} for number in range(len(next(iter(arrays.values()))))]
        self.batches = [inputs(part) for part in parts]
        self.states: Any = self.model.lstm.begin_state(sizes["batch"]) if "length" in sizes else None
        loss = None
        if self.states is None:
            loss = mx.gluon.loss.L2Loss() if name == "factorization" else mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
            self.batches = [[*batch, mx.nd.array(part["label"])] for batch, part in zip(self.batches, parts, strict=True)]
        self.train = mx.gluon.TrainStep(self.model, loss, trainer)

    def step(self, batch: Sequence[Any]) -> NDArray:
        loss: NDArray
        if self.states is not None:
            data, *candidates = batch
            loss, self.states = self.train((data, self.states, *candidates), batch_size=data.size)
            return loss
        if batch[1] is None:  # the rows of the row_sparse weights that the batch needs
            batch = [batch[0], rows_of(batch[0]), batch[2]]
        *inputs, label = batch
        loss = self.train(inputs, label, label.shape[0])
        return loss

    def run(self) -> list[NDArray]:
        return [self.step(batch) for batch in self.batches]


def steps(path: str, name: str, sparse: str = "sparse") -> Forms:
    """A step with each batch, told apart by the losses, and the bytes of all gradients."""
    training = _Steps(path, name, sparse == "sparse")
    parameters = training.model.collect_params().values()
    return {name: {"": Form(training.run, lambda losses: [float(loss.mean().asscalar()) for loss in losses],
                            1e3 / len(training.batches))},
            "gradients": {"": Form(lambda: sum(int(parameter.grad()._store.nbytes) for parameter in parameters))}}


def _write(name: str, sizes: Mapping[str, int], most: int, path: str) -> None:
    arrays = {key: array[:most] for key, array in batches_of(name, sizes).items()}
    np.savez(path, sizes=np.array(json.dumps(sizes)), **arrays)


#: What is compared under the profiler.
PROFILED = {"profiler on": "on", "profiler off": "off", "profiler on, until totals are known": "known"}


def models(session: Session) -> list[Row]:
    """A training step of each example's model, and the peak memory of its process."""
    rows = []
    for name, sizes in (QUICK if session.quick else WORKLOADS).items():
        heading = HEADINGS[name].format(**sizes)
        tables = (Table(heading, name, fact=partial(_speeds, sizes)),
                  Table(f"peak memory of the process: {heading}", once="peak"),
                  Table(f"under the profiler: {heading}", name, under=PROFILED, against="profiler on"))
        rows.append(Row("models:steps", tables, partial(_write, name, sizes, BATCHES), (name,), rivals="models"))
    return rows


def lstm(session: Session) -> list[Row]:
    """A step of the LSTM on the slides with dense and with row-sparse gradients."""
    sizes = LSTM_QUICK if session.quick else LSTM
    heading = "LSTM {hidden:,} projected to {projection}, {words:,} words, {samples:,} samples, batch {batch} x {length}".format(
        **sizes)
    own = {DENSE: Who(("dense",)), "row-sparse gradients": Who(("sparse",))}
    tables = (Table(f"a step: {heading}", "projected", against=DENSE),
              Table(f"bytes of all gradients: {heading}", once="value gradients", against=DENSE),
              Table(f"peak memory of the process: {heading}", once="peak", against=DENSE))
    return [Row("models:steps", tables, partial(_write, "projected", sizes, LSTM_BATCHES), ("projected",), own)]


def _speeds(sizes: Mapping[str, int], around: Around) -> str:
    """Format the words per second of a language model; "" for other models."""
    if "length" not in sizes:
        return ""
    words = sizes["batch"] * sizes["length"]
    return "; ".join(f"{name}: {words / median(some) * 1e3:,.0f} words per second" for name, some in around.values.items())
