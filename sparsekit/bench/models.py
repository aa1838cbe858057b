"""``sparsekit bench models``: training steps of large models of ``sparsekit.examples`` beside PyTorch, in time and memory."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import SparsekitError
from .harness import Contender, Report, start_all, take_turns

if TYPE_CHECKING:
    from ..base.types import Array, ShapeLike

__all__ = ["run"]

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


def run(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure a training step of each example's model, in milliseconds, and the peak memory, in MB.

    Parameters are those of ``dispatch.run``.
    """
    report = Report("Training steps of models with sparse gradients", rounds or (2 if quick else 7), NOTES)
    with tempfile.TemporaryDirectory(prefix="sparsekit-bench-") as folder:
        for name, sizes in (QUICK if quick else WORKLOADS).items():
            path = os.path.join(folder, f"{name}.npz")
            np.savez(path, sizes=np.array(json.dumps(sizes)), **batches_of(name, sizes))
            _section(report, name, sizes, path, rivals)
    return report


def _section(report: Report, name: str, sizes: dict[str, int], path: str, rivals: dict[str, str]) -> None:
    """Measure time and memory of one model in all libraries, each in a new process."""
    heading = HEADINGS[name].format(**sizes)
    with ExitStack() as stack:
        workers = start_all(report, rivals, stack, "models")
        losses = {one: worker.ask("prepare", name, path) for one, worker in workers.items()}
        for one, found in losses.items():
            check(one, found, losses["sparsekit"])
        contenders = [Contender(one, partial(worker.ask, "time")) for one, worker in workers.items()]
        take_turns(contenders, report.rounds)
        report.add(heading, "ms", contenders, against="sparsekit" if rivals else "", fact=_speeds(sizes, contenders))
        memory = [Contender(one, float) for one in workers]
        for contender in memory:
            contender.values = [workers[contender.name].ask("peak") / 1e6]
        report.add(f"peak memory of the process: {heading}", "MB", memory, against="sparsekit" if rivals else "")
        profiled = [Contender(title, partial(workers["sparsekit"].ask, command, PASSES)) for title, command in PROFILED]
        take_turns(profiled, report.rounds)
        report.add(f"under the profiler: {heading}", "ms", profiled, against="profiler on")


#: Titles and commands of what is compared under the profiler.
PROFILED = (("profiler on", "time_profiled"), ("profiler off", "time"), ("profiler on, until totals are known", "time_digested"))
#: Steps with each batch under one profiler.
PASSES = 4


def check(name: str, found: list[float], expected: list[float]) -> None:
    """Raise ``SparsekitError`` if a library has other losses than this one."""
    if not np.allclose(found, expected, rtol=1e-3):
        raise SparsekitError(f"{name} has losses {found}, sparsekit {expected}.",
                             hint="all libraries must compute the same; check the rival's script.")


def _speeds(sizes: dict[str, int], contenders: list[Contender]) -> str:
    """Format the words per second of a language model; "" for other models."""
    if "length" not in sizes:
        return ""
    words = sizes["batch"] * sizes["length"]
    return "; ".join(f"{one.name}: {words / Report.median(one) * 1e3:,.0f} words per second" for one in contenders)


NOTES = (
    "all: float32, AdaGrad, the same initial values and batches, the same losses; batches take turns.",
    ("sparsekit: the models of sparsekit.examples, each step a gluon.TrainStep; weights of the factorization machine are "
     "row_sparse."),
    ("torch: EmbeddingBag and Embedding with sparse=True, nn.LSTM with proj_size, Adagrad on sparse gradients, 2 threads; the "
     "factorization machine looks up its vectors once."),
    "language model: the samples are drawn beforehand and are the same for all; states are carried from batch to batch.",
)
