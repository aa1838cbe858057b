"""Row-sparse steps of optimizers on a large embedding, beside rivals: the same gradients, checked to give the same weights."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import SparsekitError
from .harness import Contender, Report, Worker, start_all, take_turns

__all__ = ["run"]

#: Optimizers, and how many arrays of the weight's size each keeps beside it.
OPTIMIZERS = {"sgd": 0, "momentum": 1, "adam": 2, "adagrad": 1}
HEADINGS = {"sgd": "SGD", "momentum": "SGD with momentum", "adam": "Adam", "adagrad": "AdaGrad"}


class Workload(NamedTuple):
    """Size of the weight, rows that a gradient stores, and how many gradients take turns."""

    rows: int
    width: int
    stored: int
    gradients: int


#: Together the gradients of a workload touch far more than a cache holds.
WORKLOADS = (Workload(1_000_000, 128, 1_000, 64), Workload(1_000_000, 128, 10_000, 16))
QUICK = (Workload(1_000, 16, 20, 3),)


def write_gradients(path: str, workload: Workload) -> None:
    """Write the rows and values of all gradients of a workload into a file."""
    random = np.random.default_rng(0)
    rows = [np.sort(random.choice(workload.rows, workload.stored, replace=False)) for _ in range(workload.gradients)]
    values = random.standard_normal((workload.gradients, workload.stored, workload.width), dtype=np.float32)
    np.savez(path, shape=np.array([workload.rows, workload.width]), rows=np.array(rows), values=values)


def _contenders(workers: dict[str, Worker], loaded: dict[str, dict[str, float]]) -> Iterator[Contender]:
    """Everybody in every form; one that moves the weight elsewhere is an error."""
    expected = loaded["sparsekit"][""]
    for name, worker in workers.items():
        for form, moved in loaded[name].items():
            if not np.isclose(expected, moved, rtol=1e-3):
                raise SparsekitError(f"{name} {form} moves the weight by {moved} in all, sparsekit by {expected}.",
                                     hint="what is compared must compute the same; check the rival's script.")
            yield Contender(f"{name} {form}".strip(), partial(worker.ask, "time", *([form] if form else [])))


def run(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure a step of each optimizer on 1,000,000 x 128 float32 with 1,000 and with 10,000 rows, in microseconds.

    Parameters
    ----------
    rivals : dict of str to str
        Rivals and the Python executables that have them.
    rounds : int
        0 for the default.
    quick : bool
        A small weight and few rounds.
    """
    rounds = rounds or (2 if quick else 11)
    report = Report("Steps of optimizers on row-sparse gradients", rounds, NOTES)
    with tempfile.TemporaryDirectory(prefix="sparsekit-bench-") as folder, ExitStack() as stack:
        workers = start_all(report, rivals, stack, "update")
        own = workers["sparsekit"]
        speed = own.ask("bandwidth")
        report.notes.append(f"memory: one thread copies {speed / 1e9:.1f} GB/s, reads and writes counted.")
        path = os.path.join(folder, "gradients.npz")
        for workload in QUICK if quick else WORKLOADS:
            write_gradients(path, workload)
            for optimizer in OPTIMIZERS:
                _section(report, workload, optimizer, workers, path, speed, bool(rivals))
    return report


def _section(report: Report, workload: Workload, optimizer: str, workers: dict[str, Worker], path: str, speed: float,
             compared: bool) -> None:
    """Everybody's time for one optimizer on one workload."""
    loaded: dict[str, Any] = {name: worker.ask("prepare", path, optimizer) for name, worker in workers.items()}
    contenders = list(_contenders(workers, loaded))
    take_turns(contenders, report.rounds)
    moved = workload.stored * workload.width * 4 * (1 + 2 * (1 + OPTIMIZERS[optimizer]))
    rate = moved / (report.median(contenders[0]) * 1e-6)
    report.add(f"{HEADINGS[optimizer]}, {workload.rows:,} x {workload.width}, {workload.stored:,} rows", "µs", contenders,
               against="sparsekit" if compared else "",
               fact=f"sparsekit moves {moved:,} bytes, {rate / 1e9:.1f} GB/s: {rate / speed:.0%} of memory's")


NOTES = (
    ("A step reads the gradient and reads and writes the stored rows of the weight and of the states; gradients take turns, "
     "so that rows come from memory."),
    "sparsekit and mxnet: their optimizers on a dense weight and a row_sparse gradient, lazy updates.",
    ("torch: torch.optim.SGD, SparseAdam and Adagrad on a coalesced sparse gradient, and by_hand the same with index_select, "
     "index_copy_ and index_add_; its SGD with momentum adds up sparse arrays instead, so that is by_hand only."),
    "jax: gather, compute and scatter under jit, weight and states donated, indices declared sorted and unique.",
)
