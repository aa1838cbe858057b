"""``sparsekit bench dist``: training with servers and workers on this machine, in processes of their own.

The functions at the end are what workers run; ``mx.dist.run`` starts them.
"""

from __future__ import annotations

import asyncio
import functools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import sparsekit as mx

from ..base.errors import SparsekitError
from ..base.optional import optional_import
from ..dist.transport import LocalCluster
from .harness import Report, Session, turns

if TYPE_CHECKING:
    from ..base.types import Array
    from ..kvstore.dist import DistKVStore
    from ..ndarray.ndarray import NDArray
    from ..ndarray.sparse import CSRNDArray, RowSparseNDArray

#: A csr batch, its labels, and the rows of the weight that it needs.
Batch: TypeAlias = "tuple[CSRNDArray, NDArray, NDArray]"

SIZES: dict[str, dict[str, int]] = {
    "trips": {"calls": 20, "megabytes": 4, "mxnet_rows": 40_000},
    "training": {"features": 20_000_000, "batch": 512, "stored": 40, "steps": 300},
    "heavy": {"features": 20_000_000, "batch": 8192, "stored": 40, "steps": 12},
    "recovery": {"features": 1_000_000, "batch": 512, "stored": 40, "steps": 40},
    "beside": {"steps": 60, "blocks": 6},
}
QUICK: dict[str, dict[str, int]] = {
    "trips": {"calls": 2, "megabytes": 1, "mxnet_rows": 400},
    "training": {"features": 100_000, "batch": 16, "stored": 5, "steps": 5},
    "heavy": {"features": 100_000, "batch": 64, "stored": 5, "steps": 3},
    "recovery": {"features": 1000, "batch": 16, "stored": 5, "steps": 8},
    "beside": {"steps": 3, "blocks": 2},
}


def measure(session: Session) -> None:
    """Measure all, in one cluster."""
    session.report.versions["ray"] = str(optional_import("ray", "dist", "`sparsekit bench dist`").__version__)
    mx.dist.connect()
    try:
        for make in (_trips, _trainings, _recovery, _beside):
            make(session.report, QUICK if session.quick else SIZES)
    finally:
        mx.dist.disconnect()


def _job(work: Callable[..., Any], sizes: dict[str, Any], **settings: object) -> list[Any]:  # Any: as in dist.run
    settings_of_job: dict[str, Any] = {"workers": 1, "servers": 1, **settings}
    results: list[Any] = mx.dist.run(work, **settings_of_job, kwargs=sizes)
    return results


def _trips(report: Report, sizes: dict[str, dict[str, int]]) -> None:
    """A trip, a push and MXNet's 40,000 x 1, with one worker and one server, without and with snapshots."""
    names = (*WITHOUT_AND_WITH, WITHOUT_RAY)
    values: dict[str, dict[str, list[float]]] = {kind: {name: [] for name in names} for kind in ("trip", "push", "column")}
    for _ in turns(report.rounds):
        jobs = [_job(trips, sizes["trips"], seconds=seconds)[0] for seconds in (None, SECONDS)]
        jobs += LocalCluster().run(functools.partial(trips, **sizes["trips"]))
        for name, times in zip(names, jobs, strict=True):
            for kind, some in values.items():
                some[name].append(times[kind])
    report.add("one round trip, idle: a pull of one number", "ms", values["trip"])
    report.add(f"a push of {sizes['trips']['megabytes']} MB of rows to AdaGrad, and a pull of one row", "ms", values["push"])
    report.add(f"push and pull of {sizes['trips']['mxnet_rows']:,} x 1", "ms", values["column"])


WITHOUT_AND_WITH = ("without snapshots", "with snapshots")
#: Seconds between two snapshots.
SECONDS = 5.0
#: The client's and the server's part of it.
WITHOUT_RAY = "in one process, without Ray"


def _trainings(report: Report, sizes: dict[str, dict[str, int]]) -> None:
    """Steps without and with snapshots, samples per second of one and of two workers, and bytes on the wire."""
    steps: dict[str, list[float]] = {name: [] for name in WITHOUT_AND_WITH}
    wire: list[float] = []
    for number in turns(report.rounds):
        order = [*zip(steps, (None, SECONDS), strict=True)]
        for name, seconds in order if number % 2 else reversed(order):
            of_workers = _job(training, sizes["training"], workers=2, servers=2, seconds=seconds)
            steps[name].append(max(worker["seconds"] for worker in of_workers) * 1e3)
            if seconds is None:  # what a snapshot adds depends on when it is taken
                wire.append(sum(worker["bytes"] for worker in of_workers) / len(of_workers) / 1e6)
    small = "{features:,} x 1, batch {batch:,} of {stored} values".format(**sizes["training"])
    report.add(f"a step of 2 workers and 2 servers: {small}", "ms", steps, against=WITHOUT_AND_WITH[0])
    model_bytes = [2 * 4 * sizes["training"]["features"] / 1e6] * report.rounds
    needed = "rows that the batch needs"
    report.add(f"bytes on the wire, a step of one worker: {small}", "MB",
               {needed: wire, "the whole model, both ways": model_bytes},
               against=needed)
    _speeds(report, sizes["heavy"])


def _speeds(report: Report, sizes: dict[str, int]) -> None:
    """Samples per second of one and of two workers."""
    one_worker, two_workers = names = ("1 worker, 2 servers", "2 workers, 2 servers")
    speeds: dict[str, list[float]] = {name: [] for name in names}
    most: list[float] = []
    for _ in turns(report.rounds):
        alone, both = (_job(training, sizes, workers=workers, servers=2) for workers in (1, 2))
        for name, of_workers in zip(names, (alone, both), strict=True):
            speeds[name].append(len(of_workers) * sizes["batch"] / max(worker["seconds"] for worker in of_workers) / 1e3)
        most.append(allowed(alone, both))
    heading = "training: {features:,} x 1, batch {batch:,} of {stored} values for each worker".format(**sizes)
    gain = statistics.median(speeds[two_workers]) / statistics.median(speeds[one_worker])
    report.add(heading, "thousand samples/s", speeds,
               fact=f"2 workers are {gain:.2f} times as fast as 1; the {os.cpu_count()} cores allow at most "
                    f"{sorted(most)[len(most) // 2]:.2f} times, as workers and servers share them.")


def allowed(alone: list[dict[str, float]], both: list[dict[str, float]], cores: int | None = None) -> float:
    """How many times as fast as one worker two can be, if all cores compute all the time.

    A step of two workers takes at least the processor time of all processes divided by the number of cores.
    """
    least = sum(worker["cpu"] + worker["servers"] for worker in both) / (cores or os.cpu_count() or 1)
    return 2 * alone[0]["seconds"] / max(least, *(worker["cpu"] for worker in both))


def _recovery(report: Report, sizes: dict[str, dict[str, int]]) -> None:
    """From the end of a server to the next step."""
    killed, sums = list[float](), set()
    for _ in turns(report.rounds):
        with tempfile.TemporaryDirectory() as folder:
            outcome = _job(recovery, {**sizes["recovery"], "folder": folder}, servers=2, every=5)[0]
        killed.append(outcome["seconds"])
        sums.add(outcome["sum"])
    if len(sums) > 1:
        raise SparsekitError(f"Training with a killed server ended in several results: {sorted(sums)}.")
    report.add("kill -9 of a server, until training goes on: {features:,} x 1".format(**sizes["recovery"]), "s",
               {"from the kill to the end of the first step after it": killed})


def _beside(report: Report, sizes: dict[str, dict[str, int]]) -> None:
    """A step beside one of plain actors of Ray that hold numpy arrays, by the same workers in alternate blocks of steps."""
    ray: Any = optional_import("ray", "dist", "`sparsekit bench dist`")
    for count, width in TABLES:
        actors = "plain actors of Ray, with numpy"
        values: dict[str, list[float]] = {actors: [], "sparsekit": []}
        for _ in turns(report.rounds):
            plain = [ray.remote(PlainServer).options(num_cpus=0).remote(ROWS // 2, width) for _ in range(2)]
            of_workers = _job(beside, {**sizes["beside"], "count": count, "width": width, "plain": plain}, workers=2, servers=2,
                              seconds=None)
            for server in plain:
                ray.kill(server)
            for some, blocks in zip(values.values(), zip(*(worker["seconds"] for worker in of_workers), strict=True),
                                    strict=True):
                some.append(statistics.median(max(both) for both in zip(*blocks, strict=True)) * 1e3)
        report.add(f"a step of 2 workers and 2 servers: {count:,} rows of {ROWS:,} x {width}, SGD", "ms", values,
                   against=actors)


# --------------------------------------------------------------------------- what workers run

#: Rows of the table of ``beside``, of which each server holds half, and what a step moves: rows, and numbers in each.
ROWS, TABLES = 1_000_000, ((100, 1), (2000, 64), (20_000, 64))

#: Columns of the weight whose pushes are timed: 64 bytes a row.
WIDTH = 16

#: Calls that are not counted.
WARM_UP = 10


def rows(rank: int, step: int, features: int, batch: int, stored: int) -> Array:
    """The columns of a batch: ``stored`` in each row, small ones more often, the same for the same rank and step."""
    random = np.random.default_rng([rank, step])
    rows_of_batch: Array = np.minimum(np.expm1(random.random((batch, stored)) * np.log(features + 1.0)).astype(np.int64),
                                      features - 1)
    return rows_of_batch


def _median(calls: int, call: Callable[[], object]) -> float:
    """The median time of a call in milliseconds, after some that are not counted, in which Ray maps its shared memory."""
    times = []
    for _ in range(WARM_UP + calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times[WARM_UP:]) * 1e3


def trips(calls: int, megabytes: int, mxnet_rows: int) -> dict[str, float]:
    """Milliseconds of an idle round trip, of a push and a pull of one row, and of a push and pull of one column; one worker."""
    kv = mx.kv.create("dist_sync")
    count = megabytes * 1_000_000 // (4 * WIDTH)
    kv.init(["one", "column"], [mx.nd.zeros((1,)), mx.nd.zeros((mxnet_rows, 1))])
    kv.init("table", mx.nd.sparse.zeros("row_sparse", (4 * count, WIDTH)))
    kv.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1))
    number_out, column = mx.nd.zeros((1,)), mx.nd.ones((mxnet_rows, 1))
    places = np.sort(np.random.default_rng(0).permutation(4 * count)[:count])
    gradient = mx.nd.sparse.row_sparse_array((np.ones((count, WIDTH), "f"), places), shape=(4 * count, WIDTH))
    first, number = mx.nd.sparse.zeros("row_sparse", (4 * count, WIDTH)), mx.nd.array([0])

    def push() -> None:
        kv.push("table", gradient)
        kv.row_sparse_pull("table", out=first, row_ids=number)

    return {"trip": _median(10 * calls, lambda: kv.pull("one", out=number_out)), "push": _median(calls, push),
            "column": _median(calls, lambda: kv.pushpull("column", column))}


def training(features: int, batch: int, stored: int, steps: int) -> dict[str, Any]:
    """Train logistic regression on ``features`` row-sparse weights; each worker has batches of its own."""
    kv = mx.kv.create("dist_sync")
    kv.init("weight", mx.nd.sparse.zeros("row_sparse", (features, 1)))
    kv.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1, rescale_grad=1.0 / batch / kv.num_workers))
    kv.resume()
    batches = [_batch(kv.rank, step, features, batch, stored) for step in range(steps + 3)]
    weight = mx.nd.sparse.zeros("row_sparse", (features, 1))
    servers = [server.pid for server in mx.dist.servers()] if kv.rank == 0 else []
    kv.row_sparse_pull("weight", out=weight, row_ids=batches[0][2])
    for number in range(steps + 2):
        if number == 2:
            kv._barrier()
            before, used, start = kv.statistics(), _computed(servers), time.perf_counter()
        _step(kv, weight, batches[number], batches[number + 1][2])
    seconds, after = time.perf_counter() - start, kv.statistics()
    moved = sum(after[way] - before[way] for way in ("bytes_sent", "bytes_received"))
    cpu, work = (now - then for now, then in zip(_computed(servers), used, strict=True))
    return {"seconds": seconds / steps, "bytes": moved / steps, "cpu": cpu / steps, "servers": work / steps}


def _batch(rank: int, step: int, features: int, batch: int, stored: int) -> Batch:
    """A csr batch, its labels, and the rows of the weight that it needs."""
    columns = rows(rank, step, features, batch, stored)
    random = np.random.default_rng([rank, step, 1])
    places = (np.repeat(np.arange(batch), stored), columns.ravel())
    data = mx.nd.sparse.csr_matrix((random.random(columns.size, np.float32), places), shape=(batch, features))
    return data, mx.nd.array(random.integers(0, 2, (batch, 1))), mx.nd.array(np.unique(columns), dtype="int64")


def _step(kv: DistKVStore, weight: RowSparseNDArray, batch: Batch, following: NDArray) -> None:
    """One step: the gradient of a batch is pushed, and the rows of the next batch are pulled, in one round trip."""
    data, label, _ = batch
    error = mx.nd.sigmoid(mx.nd.sparse.dot(data, weight)) - label
    gradient = mx.nd.sparse.dot(data, error, transpose_a=True, forward_stype="row_sparse")
    kv.push_pull_rows("weight", gradient, out=weight, row_ids=following)
    kv.end_step()


def _computed(servers: list[int]) -> tuple[float, float]:
    """Seconds that this process has computed, and those of the servers' processes, which rank 0 alone counts."""
    return time.process_time(), sum(map(_time_of, servers))


def _time_of(pid: int) -> float:
    """Seconds that a process has computed, by its clock in Linux; /proc counts in hundredths, longer than a step."""
    clock: Callable[[int], float] | None = getattr(time, "clock_gettime", None)
    try:
        return 0.0 if clock is None else clock(~pid << 3 | 2)
    except OSError:
        return 0.0


def recovery(features: int, batch: int, stored: int, steps: int, folder: str) -> dict[str, float]:
    """Seconds from SIGKILL of a server to the end of the first step after it, and the weights, as a sum."""
    kv = mx.kv.create("dist_sync")
    kv.init("weight", mx.nd.sparse.zeros("row_sparse", (features, 1)))
    kv.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1, rescale_grad=1.0 / batch))
    batches = [_batch(kv.rank, step, features, batch, stored) for step in range(steps + 1)]
    weight = mx.nd.sparse.zeros("row_sparse", (features, 1))
    done, killed = kv.resume(), Path(folder, "killed")
    kv.row_sparse_pull("weight", out=weight, row_ids=batches[done][2])
    seconds = 0.0
    for number in range(done, steps):
        if number == steps // 2 and not killed.exists():
            killed.write_text(str(time.time()), encoding="utf-8")
            mx.dist.kill_server(0)
        _step(kv, weight, batches[number], batches[number + 1][2])
        if killed.exists() and not seconds:
            kv.flush()
            seconds = time.time() - float(killed.read_text(encoding="utf-8"))
    return {"seconds": seconds, "sum": float(weight.data.asnumpy().astype(np.float64).sum())}


class PlainServer:
    """What a program would write without this library: an actor of Ray whose steps wait for both workers."""

    def __init__(self, rows: int, width: int) -> None:
        self.table = np.zeros((rows, width), "f")
        self.pushed: dict[int, tuple[Array, Array]] = {}
        self.changed = asyncio.Event()

    async def step(self, rank: int, rows: Array, gradient: Array, wanted: Array) -> Array:
        """Make a step with the gradients of both workers, and give the rows that this one needs next."""
        self.pushed[rank] = rows, gradient
        changed = self.changed
        if len(self.pushed) < 2:
            await changed.wait()
        else:
            for _, (places, values) in sorted(self.pushed.items()):
                self.table[places] -= 0.1 * values
            self.pushed, self.changed = {}, asyncio.Event()
            changed.set()
        next_rows: Array = self.table[wanted]
        return next_rows


def beside(count: int, width: int, steps: int, blocks: int, plain: list[Any]) -> dict[str, Any]:  # Any: Ray's actors
    """Seconds of a step in each block of steps, of ``plain`` servers and of a store: ``count`` rows of a table each."""
    ray: Any = optional_import("ray", "dist", "`sparsekit bench dist`")
    kv = mx.kv.create("dist_sync")
    kv.init("weight", mx.nd.sparse.zeros("row_sparse", (ROWS, width)))
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.1))
    kv.resume()
    random = np.random.default_rng(kv.rank)
    ids = [np.unique(random.integers(0, ROWS, count)) for _ in range(steps + 1)]
    gradients = [random.normal(size=(len(ids_of_step), width)).astype("f") for ids_of_step in ids]
    weight, out = mx.nd.sparse.zeros("row_sparse", (ROWS, width)), np.empty((count, width), "f")
    numbers = [mx.nd.array(ids_of_step, dtype="int64") for ids_of_step in ids]
    pushed = [mx.nd.sparse.row_sparse_array((values, ids_of_step), shape=(ROWS, width))
              for values, ids_of_step in zip(gradients, ids, strict=True)]

    def parts(rows: Array, values: Array) -> list[tuple[Array, Array]]:
        half = int(np.searchsorted(rows, ROWS // 2))
        return [(rows[:half], values[:half]), (rows[half:] - ROWS // 2, values[half:])]

    def plain_step(step: int) -> None:
        wanted = ids[step + 1]
        sent = [server.step.remote(kv.rank, *part, rows) for server, part, (rows, _) in zip(
            plain, parts(ids[step], gradients[step]), parts(wanted, wanted), strict=True)]
        np.concatenate(ray.get(sent), out=out[:len(wanted)])

    def own_step(step: int) -> None:
        kv.push_pull_rows("weight", pushed[step], out=weight, row_ids=numbers[step + 1])
        kv.end_step()

    seconds: tuple[list[float], list[float]] = ([], [])
    for block in range(blocks + 1):
        for times, step in zip(seconds, (plain_step, own_step), strict=True):
            kv.barrier()
            start = time.perf_counter()
            for number in range(steps):
                step(number)
            if block:  # the first one is not counted: Ray maps its shared memory in it
                times.append((time.perf_counter() - start) / steps)
    return {"seconds": seconds}
