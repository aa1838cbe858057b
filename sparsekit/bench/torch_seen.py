"""``sparsekit bench torch``: what recording a PyTorch program costs, beside PyTorch's own profiler."""

from __future__ import annotations

import sys
from functools import partial
from typing import NamedTuple

from .harness import Bench, Contender, Report, Session, Worker, take_turns

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
             Workload("sparse=True, SparseAdam", 1_000_000, 64, 512, True, 8))
#: So small that a step takes little but the calls of its operators.
SMALL = Workload("dense gradient, Adam", 1000, 8, 8, False, 64)
QUICK = (Workload("dense gradient, Adam", 1000, 8, 8, False, 2),)

FORMS = {"plain": "no profiler", "seen": "sparsekit.Profiler(torch=True)", "torch": "torch.profiler, shapes and memory",
         "torch_bare": "torch.profiler"}


def _tables(session: Session) -> None:
    command = [session.rivals.get("torch", sys.executable), "-m", "sparsekit.bench.torch_seen_worker"]
    worker = session.stack.enter_context(Worker("sparsekit", command))
    session.report.versions["torch"] = worker.ask("versions")["torch"]
    for workload in QUICK if session.quick else WORKLOADS:
        _step(session.report, worker, workload)
    _operator(session.report, worker, QUICK[0] if session.quick else SMALL)


def _step(report: Report, worker: Worker, workload: Workload) -> None:
    contenders, what, operators = _measured(report, worker, workload)
    report.add(f"a step, {what}", "ms", contenders, against=FORMS["seen"], fact=f"{operators} operators a step")


def _operator(report: Report, worker: Worker, workload: Workload) -> None:
    (plain, *others), what, operators = _measured(report, worker, workload)
    costs = []
    for one in others:
        costs.append(Contender(one.name, one.measure))
        costs[-1].values = [1000 * (own - base) / operators for own, base in zip(one.values, plain.values, strict=True)]
    report.add(f"what recording adds to an operator, {what}", "µs", costs, against=FORMS["seen"],
               fact=f"the difference to a step without a profiler, {report.median(plain):.3f} ms, by its {operators} operators")


def _measured(report: Report, worker: Worker, workload: Workload) -> tuple[list[Contender], str, int]:
    operators = worker.ask("prepare", workload.rows, workload.width, workload.batch, int(workload.sparse))
    contenders = [Contender(name, partial(worker.ask, "step", form, workload.steps)) for form, name in FORMS.items()]
    take_turns(contenders, report.rounds)
    what = f"{workload.rows:,} x {workload.width}, batch {workload.batch:,} x 40, {workload.heading}"
    return contenders, what, operators


NOTES = (
    "A step is forward, backward and update of an embedding, a mean over 40 tokens and two linear layers, 2 threads.",
    "Profilers are started before the steps that are timed and stopped after them; what is computed afterwards is not timed.",
    "sparsekit: lines, layers, memory by role; the rows of gradients are counted in steps 1, 2, 4, 8 … of each measurement.",
)
run = Bench(  # torch=PYTHON names a Python that has PyTorch, if this one has not
    "Measure a training step of an embedding model in PyTorch: without a profiler, recorded, and under torch.profiler.",
    "PyTorch recorded", (15, 2), _tables, NOTES)
