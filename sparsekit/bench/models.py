"""``sparsekit bench models`` and ``lstm``: training steps of large models of ``sparsekit.examples``, in time and memory.

``models`` measures them beside PyTorch, ``lstm`` the model on the slides with dense and with row-sparse gradients.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .harness import Bench, Contender, Report, Session, require_same

if TYPE_CHECKING:
    from ..base.types import Array, ShapeLike

__all__ = ["lstm", "models"]

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
    found: Array = np.minimum(np.expm1(random.random(shape) * np.log(size + 1.0)).astype(np.int64), size - 1)
    return found


def _columns(random: np.random.Generator, size: int, rows: int, stored: int) -> Array:
    """Draw distinct ascending columns for each row: one from each of ``stored`` equal ranges, like fields."""
    each = size // stored
    return _frequent(random, each, (rows, stored)) + np.arange(stored) * each


def batches_of(name: str, sizes: dict[str, int]) -> dict[str, Any]:
    """Return the arrays of all batches of a workload."""
    random = np.random.default_rng(0)
    shape = (BATCHES, sizes["batch"])
    if name in ("language", "projected"):
        return _texts(random, sizes)
    made: dict[str, Any] = {"label": random.integers(0, 2, shape).astype(np.float32)}
    if name == "factorization":
        return {**made, "user": _frequent(random, sizes["users"], shape), "item": _frequent(random, sizes["items"], shape)}
    features = sizes.get("features", sizes.get("columns", 0))
    made["columns"] = np.array([_columns(random, features, sizes["batch"], sizes["stored"]) for _ in range(BATCHES)])
    made["values"] = random.random(made["columns"].shape, np.float32)
    if name == "wide_and_deep":
        made["codes"] = np.array([_columns(random, sizes["rows"], sizes["batch"], sizes["categories"]) for _ in range(BATCHES)])
    return made


def _texts(random: np.random.Generator, sizes: dict[str, int]) -> dict[str, Any]:
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


def _write(session: Session, name: str, sizes: dict[str, int], arrays: dict[str, Any]) -> str:
    path = session.folder / f"{name}.npz"
    np.savez(path, sizes=np.array(json.dumps(sizes)), **arrays)
    return str(path)


def _models(session: Session) -> None:
    for name, sizes in (QUICK if session.quick else WORKLOADS).items():
        path, heading = _write(session, name, sizes, batches_of(name, sizes)), HEADINGS[name].format(**sizes)
        with ExitStack() as stack:  # each model in new processes
            workers = session.start("models", stack, "models_worker")
            losses = {one: worker.ask("prepare", name, path) for one, worker in workers.items()}
            for one, found in losses.items():
                require_same(one, "has losses", found, losses["sparsekit"])
            session.table(heading, "ms", {one: partial(worker.ask, "time") for one, worker in workers.items()}, session.against,
                          partial(_speeds, sizes))
            session.once(f"peak memory of the process: {heading}", "MB",
                         {one: worker.ask("peak") / 1e6 for one, worker in workers.items()}, session.against)
            session.table(f"under the profiler: {heading}", "ms",
                          {title: partial(workers["sparsekit"].ask, command, PASSES) for title, command in PROFILED},
                          against="profiler on")


def _lstm(session: Session) -> None:
    sizes = LSTM_QUICK if session.quick else LSTM
    arrays = {name: array[:LSTM_BATCHES] for name, array in batches_of("projected", sizes).items()}
    heading = "LSTM {hidden:,} projected to {projection}, {words:,} words, {samples:,} samples, batch {batch} x {length}".format(
        **sizes)
    workers, losses = {}, {}
    for name, sparse in ((DENSE, 0), ("row-sparse gradients", 1)):
        workers[name] = session.own("models_worker")
        path = _write(session, str(sparse), {**sizes, "sparse": sparse}, arrays)
        losses[name] = workers[name].ask("prepare", "projected", path)
        require_same(name, "has losses", losses[name], losses[DENSE])
    session.table(f"a step: {heading}", "ms", {name: partial(worker.ask, "time") for name, worker in workers.items()}, DENSE)
    for what, command in (("bytes of all gradients", "gradients"), ("peak memory of the process", "peak")):
        session.once(f"{what}: {heading}", "MB", {name: worker.ask(command) / 1e6 for name, worker in workers.items()}, DENSE)


#: Titles and commands of what is compared under the profiler.
PROFILED = (("profiler on", "time_profiled"), ("profiler off", "time"), ("profiler on, until totals are known", "time_digested"))
#: Steps with each batch under one profiler.
PASSES = 4


def _speeds(sizes: dict[str, int], contenders: list[Contender]) -> str:
    """Format the words per second of a language model; "" for other models."""
    if "length" not in sizes:
        return ""
    words = sizes["batch"] * sizes["length"]
    return "; ".join(f"{one.name}: {words / Report.median(one) * 1e3:,.0f} words per second" for one in contenders)


models = Bench(
    "Measure a training step of each example's model, in milliseconds, and the peak memory, in MB.",
    "Training steps of models with sparse gradients", (7, 2), _models, (
        "all: float32, AdaGrad, the same initial values and batches, the same losses; batches take turns.",
        ("sparsekit: the models of sparsekit.examples, each step a gluon.TrainStep; weights of the factorization machine are "
         "row_sparse."),
        ("torch: EmbeddingBag and Embedding with sparse=True, nn.LSTM with proj_size, Adagrad on sparse gradients, 2 threads; "
         "the factorization machine looks up its vectors once."),
        "language model: the samples are drawn beforehand and are the same for all; states are carried from batch to batch.",
    ))
lstm = Bench(
    "Measure a step of the slides' LSTM with dense and row-sparse gradients: time, gradients and peak memory.",
    "A step of the slides' LSTM", (5, 2), _lstm, (
        "An embedding, an LSTM with projection, a sampled softmax, AdaGrad; float32; a step is one gluon.TrainStep.",
        "Both begin with the same weights, take the same batches in turn, and have the same losses.",
        "dense: the gradients of embedding and output layer have a row for each word; row-sparse: for each word that occurs.",
        "The slides' text has 793,471 words; dense weights, gradients and states of so many take 10 GB.",
    ), alone=("`bench lstm` measures only this library.",
              "`sparsekit bench models --rival …` compares with other libraries."))
