"""``sparsekit bench torch``: what recording a PyTorch program costs, beside PyTorch's own profiler."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

from .harness import Contender, Report, Worker, take_turns

__all__ = ["run"]


class Workload(NamedTuple):
    """Size of the embedding model, and steps in a measurement."""

    heading: str
    rows: int
    width: int
    batch: int
    sparse: bool
    steps: int


WORKLOADS = (Workload("dense gradient, Adam", 100_000, 64, 256, False, 8),
             Workload("sparse=True, SparseAdam", 1_000_000, 64, 2048, True, 8))
QUICK = (Workload("dense gradient, Adam", 1000, 8, 8, False, 2),)

FORMS = {"plain": "no profiler", "seen": "sparsekit.Profiler(torch=True)", "torch": "torch.profiler, shapes and memory",
         "torch_bare": "torch.profiler"}


def run(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure a training step of an embedding model in PyTorch: without a profiler, recorded, and under torch.profiler.

    Parameters are those of ``dispatch.run``; ``torch=PYTHON`` names a Python that has PyTorch, if this one has not.
    """
    rounds = rounds or (2 if quick else 15)
    report = Report("PyTorch recorded", rounds, NOTES)
    with ExitStack() as stack:
        command = [rivals.get("torch", sys.executable), "-m", "sparsekit.bench.torch_seen_worker"]
        worker = stack.enter_context(Worker("sparsekit", command))
        report.versions["torch"] = worker.ask("versions")["torch"]
        for workload in QUICK if quick else WORKLOADS:
            _section(report, worker, workload)
    return report


def _section(report: Report, worker: Worker, workload: Workload) -> None:
    operators = worker.ask("prepare", workload.rows, workload.width, workload.batch, int(workload.sparse))
    contenders = [Contender(name, partial(worker.ask, "step", form, workload.steps)) for form, name in FORMS.items()]
    take_turns(contenders, report.rounds)
    what = f"{workload.rows:,} x {workload.width}, batch {workload.batch:,} x 40, {workload.heading}"
    report.add(f"a step, {what}", "ms", contenders, against=FORMS["seen"], fact=f"{operators} operators a step")
    plain, *others = contenders
    costs = []
    for one in others:
        cost = Contender(one.name, one.measure)
        cost.values = [1000 * (own - base) / operators for own, base in zip(one.values, plain.values, strict=True)]
        costs.append(cost)
    report.add(f"cost of an operator, {what}", "µs", costs, fact="the differences of the steps above, by operator")


NOTES = (
    "A step is forward, backward and update of an embedding, a mean over 40 tokens and two linear layers, 2 threads.",
    "Profilers are started before the steps that are timed and stopped after them; what is computed afterwards is not timed.",
    "sparsekit: lines, layers, memory by role; the rows of gradients are counted in steps 1, 2, 4 and 8 of each measurement.",
)
