"""``sparsekit bench update``: optimizer steps with row-sparse gradients, with equal weights in all libraries."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import SparsekitError
from .arrays import zipf
from .harness import Contender, Report, Worker, start_all, take_turns

if TYPE_CHECKING:
    from ..base.types import Array

__all__ = ["run"]

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


def _contenders(workers: dict[str, Worker], loaded: dict[str, dict[str, float]]) -> Iterator[Contender]:
    """Yield each form of each library; raise ``SparsekitError`` if one changes the weight differently."""
    expected = loaded["sparsekit"][""]
    for name, worker in workers.items():
        for form, moved in loaded[name].items():
            if not np.isclose(expected, moved, rtol=1e-3):
                raise SparsekitError(f"{name} {form} changes the weight by {moved} in total, sparsekit by {expected}.",
                                     hint="all libraries must compute the same; check the rival's script.")
            yield Contender(f"{name} {form}".strip(), partial(worker.ask, "time", *([form] if form else [])))


def run(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure a step of each optimizer on 1,000,000 x 128 float32 with 1,000 and with 10,000 rows, in microseconds.

    Parameters are those of ``dispatch.run``.
    """
    rounds = rounds or (2 if quick else 11)
    report = Report("Steps of optimizers on row-sparse gradients", rounds, NOTES)
    with tempfile.TemporaryDirectory(prefix="sparsekit-bench-") as folder, ExitStack() as stack:
        workers = start_all(report, rivals, stack, "update")
        own = workers["sparsekit"]
        speed = own.ask("bandwidth")
        report.notes.append(f"memory: one thread copies {speed / 1e9:.1f} GB/s, counting reads and writes.")
        path = os.path.join(folder, "gradients.npz")
        for workload in QUICK if quick else WORKLOADS:
            write_gradients(path, workload)
            for optimizer in OPTIMIZERS:
                _section(report, workload, optimizer, workers, path, speed, bool(rivals))
    return report


def _section(report: Report, workload: Workload, optimizer: str, workers: dict[str, Worker], path: str, speed: float,
             compared: bool) -> None:
    """Measure one optimizer on one workload in all libraries."""
    loaded: dict[str, Any] = {name: worker.ask("prepare", path, optimizer) for name, worker in workers.items()}
    contenders = list(_contenders(workers, loaded))
    take_turns(contenders, report.rounds)
    moved = workload.stored * workload.width * 4 * (1 + 2 * (1 + OPTIMIZERS[optimizer]))
    rate = moved / (report.median(contenders[0]) * 1e-6)
    report.add(f"{HEADINGS[optimizer]}, {workload.title}", "µs", contenders,
               against="sparsekit" if compared else "",
               fact=f"sparsekit moves {moved:,} bytes at {rate / 1e9:.1f} GB/s, {rate / speed:.0%} of the copy rate")


NOTES = (
    ("A step reads the gradient, and reads and writes its rows of the weight and of the states; gradients take turns, "
     "so that rows are read from memory."),
    "sparsekit and mxnet: their optimizers on a dense weight and a row_sparse gradient, lazy updates.",
    ("torch: torch.optim.SGD, SparseAdam and Adagrad on a coalesced sparse gradient; by_hand: the same with index_select, "
     "index_copy_ and index_add_; momentum is by_hand only, because torch's SGD adds up sparse arrays instead."),
    "jax: gather, compute and scatter under jit, weight and states donated, indices declared sorted and unique.",
)
