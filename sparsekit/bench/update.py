"""``sparsekit bench update``: optimizer steps with row-sparse gradients, with equal weights in all libraries."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import ndarray
from .. import optimizer as optimizers
from . import arrays, harness
from .arrays import moved_fact, zipf
from .harness import Bench, Session, require_same
from .protocol import OwnWorker

if TYPE_CHECKING:
    from ..base.types import Array

__all__ = ["Worker", "run"]

#: Number of states of the weight's size for each optimizer.
OPTIMIZERS = {"sgd": 0, "momentum": 1, "adam": 2, "adagrad": 1}
HEADINGS = {"sgd": "SGD", "momentum": "SGD with momentum", "adam": "Adam", "adagrad": "AdaGrad"}


class Workload(NamedTuple):
    """Size of the weight, rows of a gradient, number of gradients that take turns, and whether Zipf's law draws rows."""

    rows: int
    width: int
    stored: int
    gradients: int
    hot: bool = False

    @property
    def title(self) -> str:
        """What is said of it."""
        law = " by Zipf's law" if self.hot else ""
        return f"{self.rows:,} x {self.width}, {self.stored:,} rows{law}"


#: Together the gradients of a workload touch far more memory than fits a cache.
WORKLOADS = (Workload(1_000_000, 128, 1_000, 64), Workload(1_000_000, 128, 10_000, 16),
             Workload(1_000_000, 128, 10_000, 16, hot=True))
QUICK = (Workload(1_000, 16, 20, 3), Workload(1_000, 16, 20, 3, hot=True))


def _rows(random: np.random.Generator, workload: Workload) -> Array:
    """The rows that one gradient stores, in any order."""
    others: Array = random.choice(workload.rows, workload.stored, replace=False)
    if not workload.hot:
        return others
    drawn = zipf(random, (4 * workload.stored,), workload.rows, 1.05)
    distinct, first = np.unique(np.concatenate([drawn, others]), return_index=True)
    found: Array = distinct[np.argsort(first)[:workload.stored]]
    return found


def write_gradients(path: str, workload: Workload) -> None:
    """Write rows and values of all gradients of a workload to a file."""
    random = np.random.default_rng(0)
    rows = [np.sort(_rows(random, workload)) for _ in range(workload.gradients)]
    values = random.standard_normal((workload.gradients, workload.stored, workload.width), dtype=np.float32)
    np.savez(path, shape=np.array([workload.rows, workload.width]), rows=np.array(rows), values=values)


SETTINGS: dict[str, tuple[str, dict[str, float]]] = {
    "sgd": ("sgd", {"learning_rate": 0.01}), "momentum": ("sgd", {"learning_rate": 0.01, "momentum": 0.9}),
    "adam": ("adam", {"learning_rate": 0.001}), "adagrad": ("adagrad", {"learning_rate": 0.01}),
}


class Worker(OwnWorker):
    """The worker of this library, with its weight, updater and gradients; rivals use the same protocol.

    ``prepare FILE.npz OPTIMIZER`` makes weight, states and gradients and returns how much one step with each changes the weight,
    ``time`` takes a step with each gradient (microseconds per step), and ``bandwidth`` returns the copy rate of the memory.
    """

    bandwidth = arrays.Worker.bandwidth

    def prepare(self, path: str, optimizer: str) -> dict[str, float]:
        """Take a step with each gradient of the file, and return the sum of the absolute changes of the weight, by form."""
        self.weight: Any = None  # frees the last weight before the next is made
        self.updater: Any = None
        with np.load(path) as stored:
            shape, rows, values = (stored[name] for name in ("shape", "rows", "values"))
        name, settings = SETTINGS[optimizer]
        self.updater = optimizers.get_updater(optimizers.create(name, **settings))
        ones: Any = ndarray.ones
        self.weight = ones(tuple(int(size) for size in shape))
        self.gradients = [ndarray.sparse.row_sparse_array((data, indices), shape=self.weight.shape)
                          for data, indices in zip(values, rows, strict=True)]
        self.time()
        return {"": float(np.abs(self.weight._store - 1).sum(dtype=np.float64))}

    def time(self) -> float:
        """Take a step with each gradient and return the microseconds per step."""
        weight, updater = self.weight, self.updater
        start = time.perf_counter()
        for gradient in self.gradients:
            updater(0, gradient, weight)
        return (time.perf_counter() - start) / len(self.gradients) * 1e6


def _measures(workers: dict[str, harness.Worker], loaded: dict[str, dict[str, float]]) -> dict[str, Callable[[], float]]:
    """Return what measures each form of each library; raise ``SparsekitError`` if one changes the weight differently."""
    found: dict[str, Callable[[], float]] = {}
    for name, worker in workers.items():
        for form, moved in loaded[name].items():
            require_same(f"{name} {form}", "changes the weight in total by", moved, loaded["sparsekit"][""])
            found[f"{name} {form}".strip()] = partial(worker.ask, "time", *([form] if form else []))
    return found


def _tables(session: Session) -> None:
    workers = session.start("update")
    speed = session.bandwidth(workers["sparsekit"])
    path = os.path.join(session.folder, "gradients.npz")
    for workload in QUICK if session.quick else WORKLOADS:
        write_gradients(path, workload)
        for optimizer, states in OPTIMIZERS.items():
            loaded = {name: worker.ask("prepare", path, optimizer) for name, worker in workers.items()}
            moved = workload.stored * workload.width * 4 * (1 + 2 * (1 + states))
            session.table(f"{HEADINGS[optimizer]}, {workload.title}", "µs", _measures(workers, loaded), session.against,
                          partial(moved_fact, moved, speed))


NOTES = (
    ("A step reads the gradient, and reads and writes its rows of the weight and of the states; gradients take turns, "
     "so that rows are read from memory."),
    "sparsekit and mxnet: their optimizers on a dense weight and a row_sparse gradient, lazy updates.",
    ("torch: torch.optim.SGD, SparseAdam and Adagrad on a coalesced sparse gradient; by_hand: the same with index_select, "
     "index_copy_ and index_add_; momentum is by_hand only, because torch's SGD adds up sparse arrays instead."),
    "jax: gather, compute and scatter under jit, weight and states donated, indices declared sorted and unique.",
)
run = Bench("Measure a step of each optimizer on 1,000,000 x 128 float32 with 1,000 and with 10,000 rows, in microseconds.",
            "Steps of optimizers on row-sparse gradients", (11, 2), _tables, NOTES)
