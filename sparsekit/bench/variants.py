"""``sparsekit bench variants``: times, memory and traces of the tutorial's three variants."""

from __future__ import annotations

from functools import partial

from .epoch import QUICK, Workload, write_data
from .harness import Bench, Session

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


def _tables(session: Session) -> None:
    workload, folder = QUICK if session.quick else Workload(), session.folder
    session.report.title += f", {workload.features:,} features"
    path = write_data(str(folder), workload)
    workers = {name: session.own() for name in LABELS}
    for name, worker in workers.items():
        worker.ask("prepare", path, name)
    session.table("one batch", "ms", {LABELS[name]: partial(worker.ask, "batch") for name, worker in workers.items()}, warm_up=2)
    facts = {}
    for name, worker in workers.items():
        trace = folder / f"{name}.npz"
        facts[LABELS[name]] = worker.ask("trace", trace, TRACED_BATCHES)
        session.report.files[trace.name] = trace.read_bytes()
    for heading, key in (("peak memory", "peak"), ("gradient of the first weight", "gradient")):
        session.once(heading, "MB", {name: found[key] / 1e6 for name, found in facts.items()})


run = Bench("Measure a batch of the tutorial's three variants, in milliseconds, and save memory and profiles.",
            "One training batch with three kinds of storage", (7, 2), _tables, NOTES,
            alone=("`bench variants` measures only this library.",
                   "`sparsekit bench epoch --rival …` compares with other libraries."))
