"""``sparsekit bench dist``: training with servers and workers on this machine, in processes of their own."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import dist
from ..base.errors import SparsekitError
from ..base.optional import optional_import
from ..dist.transport import LocalCluster
from . import dist_worker
from .harness import TRIAL_ROUNDS, Bench, Contender, Report, Session, wait_for_cores

__all__ = ["allowed", "run"]

SIZES: dict[str, dict[str, int]] = {
    "trips": {"calls": 20, "megabytes": 4, "mxnet_rows": 40_000},
    "training": {"features": 20_000_000, "batch": 512, "stored": 40, "steps": 300},
    "heavy": {"features": 20_000_000, "batch": 8192, "stored": 40, "steps": 12},
    "recovery": {"features": 1_000_000, "batch": 512, "stored": 40, "steps": 40},
}
QUICK: dict[str, dict[str, int]] = {
    "trips": {"calls": 2, "megabytes": 1, "mxnet_rows": 400},
    "training": {"features": 100_000, "batch": 16, "stored": 5, "steps": 5},
    "heavy": {"features": 100_000, "batch": 64, "stored": 5, "steps": 3},
    "recovery": {"features": 1000, "batch": 16, "stored": 5, "steps": 8},
}


def _tables(session: Session) -> None:
    session.report.versions["ray"] = str(optional_import("ray", "dist", "`sparsekit bench dist`").__version__)
    with _cluster():
        for make in (_trips, _trainings, _recovery):
            make(session.report, QUICK if session.quick else SIZES)


@contextmanager
def _cluster() -> Iterator[None]:
    """One cluster for all jobs."""
    dist.connect()
    try:
        yield
    finally:
        dist.disconnect()


def _rounds(report: Report) -> Iterator[int]:
    """The rounds, each after a wait for idle cores."""
    for number in range(report.rounds):
        if report.rounds > TRIAL_ROUNDS:
            wait_for_cores()
        yield number


def _job(work: Callable[..., Any], sizes: dict[str, int], **settings: object) -> list[Any]:  # Any: as in dist.run
    given: dict[str, Any] = {"workers": 1, "servers": 1, **settings}
    results: list[Any] = dist.run(work, **given, kwargs=sizes)
    return results


def _contender(name: str) -> Contender:
    return Contender(name, float)


def _trips(report: Report, sizes: dict[str, dict[str, int]]) -> None:
    """A trip, a push and MXNet's 40,000 x 1, with one worker and one server, with and without a journal."""
    names = {what: [_contender(name) for name in (*WITH_AND_WITHOUT, WITHOUT_RAY)] for what in ("trip", "push", "column")}
    for _ in _rounds(report):
        jobs = [_job(dist_worker.trips, sizes["trips"], journal=journal)[0] for journal in (True, False)]
        jobs += LocalCluster().run(functools.partial(dist_worker.trips, **sizes["trips"]))
        for what, contenders in names.items():
            for contender, found in zip(contenders, jobs, strict=True):
                contender.values.append(found[what])
    report.add("one round trip, idle: a pull of one number", "ms", names["trip"])
    report.add(f"a push of {sizes['trips']['megabytes']} MB of rows to AdaGrad, and a pull of one row", "ms", names["push"])
    report.add(f"push and pull of {sizes['trips']['mxnet_rows']:,} x 1", "ms", names["column"])


WITH_AND_WITHOUT = ("with a journal", "without a journal")
#: The client's and the server's part of it.
WITHOUT_RAY = "in one process, without a journal"


def _trainings(report: Report, sizes: dict[str, dict[str, int]]) -> None:
    """Steps with and without a journal, samples per second of one and of two workers, and bytes on the wire."""
    steps = [_contender(name) for name in WITH_AND_WITHOUT]
    wire = _contender("rows that the batch needs")
    for number in _rounds(report):
        order = [*zip(steps, (True, False), strict=True)]
        for contender, journal in order if number % 2 else reversed(order):
            found = _job(dist_worker.training, sizes["training"], workers=2, servers=2, journal=journal)
            contender.values.append(max(one["seconds"] for one in found) * 1e3)
        wire.values.append(sum(one["bytes"] for one in found) / len(found) / 1e6)
    small = "{features:,} x 1, batch {batch:,} of {stored} values".format(**sizes["training"])
    report.add(f"a step of 2 workers and 2 servers: {small}", "ms", steps, against=steps[0].name)
    whole = _contender("the whole model, both ways")
    whole.values = [2 * 4 * sizes["training"]["features"] / 1e6] * report.rounds
    report.add(f"bytes on the wire, a step of one worker: {small}", "MB", [wire, whole], against=wire.name)
    _speeds(report, sizes["heavy"])


def _speeds(report: Report, sizes: dict[str, int]) -> None:
    """Samples per second of one and of two workers."""
    speeds = [_contender("1 worker, 2 servers"), _contender("2 workers, 2 servers")]
    most: list[float] = []
    for _ in _rounds(report):
        alone, both = (_job(dist_worker.training, sizes, workers=workers, servers=2) for workers in (1, 2))
        for contender, found in zip(speeds, (alone, both), strict=True):
            contender.values.append(len(found) * sizes["batch"] / max(one["seconds"] for one in found) / 1e3)
        most.append(allowed(alone, both))
    heading = "training: {features:,} x 1, batch {batch:,} of {stored} values for each worker".format(**sizes)
    gain = report.median(speeds[1]) / report.median(speeds[0])
    report.add(heading, "thousand samples/s", speeds,
               fact=f"2 workers are {gain:.2f} times as fast as 1; the {os.cpu_count()} cores allow at most "
                    f"{sorted(most)[len(most) // 2]:.2f} times, as workers and servers share them.")


def allowed(alone: list[dict[str, float]], both: list[dict[str, float]], cores: int | None = None) -> float:
    """How many times as fast as one worker two can be, if all cores compute all the time.

    A step of two workers takes at least the processor time of all processes divided by the number of cores.
    """
    least = sum(one["cpu"] + one["servers"] for one in both) / (cores or os.cpu_count() or 1)
    return 2 * alone[0]["seconds"] / max(least, *(one["cpu"] for one in both))


def _recovery(report: Report, sizes: dict[str, dict[str, int]]) -> None:
    """The step in which a server is killed."""
    killed = _contender("the step in which a server is killed")
    sums = set()
    for _ in _rounds(report):
        found = _job(dist_worker.recovery, sizes["recovery"], servers=2)[0]
        killed.values.append(found["seconds"])
        sums.add(found["sum"])
    if len(sums) > 1:
        raise SparsekitError(f"Training with a killed server ended in several results: {sorted(sums)}.")
    report.add("kill -9 of a server, until the step is done: {features:,} x 1".format(**sizes["recovery"]), "s", [killed])


NOTES = (
    "Workers and servers are processes of this machine, started by Ray; what they send crosses no cable.",
    "The journal is in the folder for temporary files; each push is in it before it is acknowledged (fsync=False).",
    ("A step: the gradient of a batch (logistic regression on csr) is pushed and the rows of the next batch are pulled, in one "
     "round trip; AdaGrad runs on the servers."),
    "Bytes are those of arrays, counted by the worker: row numbers and values, sent and received.",
    "The whole model: 4 bytes a weight, pushed as a gradient and pulled.",
    ("What the cores allow: the time of one worker's step, twice, over the processor time of all processes of a step of two, "
     "shared by the cores."),
)
run = Bench(
    "Measure training with servers and workers: a trip, a push, the journal, two workers, a killed server, bytes on the wire.",
    "Servers and workers on one machine", (5, 1), _tables, NOTES,
    alone=("`bench dist` measures only this library.", "leave out --rival."))
