"""``sparsekit bench variants``: times, memory and traces of the tutorial's three variants."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from ..base.errors import SparsekitError
from .epoch import QUICK, Workload, write_data
from .harness import Contender, Report, Worker, start_own, take_turns

__all__ = ["LABELS", "TRACED_BATCHES", "run"]

#: Labels in figures of the worker's variants.
LABELS = {"dense": "dense", "sparse_forward": "sparse forward", "row_sparse": "row-sparse gradient"}

#: Number of batches in a trace.
TRACED_BATCHES = 4

NOTES = (
    "One batch of 10 samples: forward pass, loss, backward pass and update; reading the batch is not counted.",
    "dense: fully connected layers, weight (128, 1,000,000); sparse forward: sparse dot, weight (1,000,000, 128).",
    "row-sparse gradient: as sparse forward, with grad_stype='row_sparse'; the others have a dense gradient.",
    "Memory and gradient are exact counts of the library's arrays, the same on every machine.",
    "The profiles beside this file hold profiled batches; `sparsekit view` renders them.",
)


def run(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure a batch of the tutorial's three variants, in milliseconds, and save memory and traces.

    ``rivals`` must be empty; the other parameters are those of ``dispatch.run``.
    """
    if rivals:
        raise SparsekitError("`bench variants` measures only this library.",
                             hint="`sparsekit bench epoch --rival …` compares with other libraries.")
    workload, rounds = (QUICK, rounds or 2) if quick else (Workload(), rounds or 7)
    report = Report(f"One training batch with three kinds of storage, {workload.features:,} features", rounds, NOTES)
    with tempfile.TemporaryDirectory(prefix="sparsekit-bench-") as folder, ExitStack() as stack:
        path = write_data(folder, workload)
        workers = {name: stack.enter_context(start_own()) for name in LABELS}
        for name, worker in workers.items():
            worker.ask("prepare", path, name)
        batches = [Contender(LABELS[name], partial(worker.ask, "batch")) for name, worker in workers.items()]
        take_turns(batches, rounds, warm_up=2)
        report.add("one batch", "ms", batches)
        _profile(report, workers, Path(folder))
    return report


def _profile(report: Report, workers: dict[str, Worker], folder: Path) -> None:
    """Profile a few batches of each variant, and add memory, gradients and traces to the report."""
    peaks: list[Contender] = []
    gradients: list[Contender] = []
    for name, worker in workers.items():
        trace = folder / f"{name}.npz"
        facts = worker.ask("trace", trace, TRACED_BATCHES)
        report.files[trace.name] = trace.read_bytes()
        for found, key in ((peaks, "peak"), (gradients, "gradient")):
            one = Contender(LABELS[name], partial(float, facts[key] / 1e6))
            one.values = [facts[key] / 1e6]
            found.append(one)
    report.add("peak memory", "MB", peaks)
    report.add("gradient of the first weight", "MB", gradients)
