"""What workers run for ``sparsekit bench dist``; ``mx.dist.run`` starts them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import sparsekit as mx

if TYPE_CHECKING:
    from ..base.types import Array
    from ..kvstore.dist import DistKVStore
    from ..ndarray.ndarray import NDArray
    from ..ndarray.sparse import CSRNDArray, RowSparseNDArray

#: A csr batch, its labels, and the rows of the weight that it needs.
Batch: TypeAlias = "tuple[CSRNDArray, NDArray, NDArray]"

__all__ = ["recovery", "rows", "training", "trips"]

#: Columns of the weight whose pushes are timed: 64 bytes a row.
WIDTH = 16

#: Calls that are not counted.
WARM_UP = 10


def rows(rank: int, step: int, features: int, batch: int, stored: int) -> Array:
    """The columns of a batch: ``stored`` in each row, small ones more often, the same for the same rank and step."""
    random = np.random.default_rng([rank, step])
    found: Array = np.minimum(np.expm1(random.random((batch, stored)) * np.log(features + 1.0)).astype(np.int64), features - 1)
    return found


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
    one, column = mx.nd.zeros((1,)), mx.nd.ones((mxnet_rows, 1))
    places = np.sort(np.random.default_rng(0).permutation(4 * count)[:count])
    gradient = mx.nd.sparse.row_sparse_array((np.ones((count, WIDTH), "f"), places), shape=(4 * count, WIDTH))
    first, number = mx.nd.sparse.zeros("row_sparse", (4 * count, WIDTH)), mx.nd.array([0])

    def push() -> None:
        kv.push("table", gradient)
        kv.row_sparse_pull("table", out=first, row_ids=number)

    return {"trip": _median(10 * calls, lambda: kv.pull("one", out=one)), "push": _median(calls, push),
            "column": _median(calls, lambda: kv.pushpull("column", column))}


def training(features: int, batch: int, stored: int, steps: int) -> dict[str, Any]:
    """Train logistic regression on ``features`` row-sparse weights; each worker has batches of its own."""
    kv = mx.kv.create("dist_sync")
    kv.init("weight", mx.nd.sparse.zeros("row_sparse", (features, 1)))
    kv.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1, rescale_grad=1.0 / batch / kv.num_workers))
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
    moved = sum(after[what] - before[what] for what in ("bytes_sent", "bytes_received"))
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


def _computed(servers: list[int]) -> tuple[float, float]:
    """Seconds that this process has computed, and those of the servers' processes, which rank 0 alone counts."""
    return time.process_time(), sum(map(_time_of, servers))


def _time_of(pid: int) -> float:
    """Seconds that a process has computed, by its clock in Linux; /proc counts in hundredths, longer than a step."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


def recovery(features: int, batch: int, stored: int, steps: int) -> dict[str, float]:
    """Seconds that a step takes whose server is ended by SIGKILL before it, and whether the weights are as if it had not been."""
    kv = mx.kv.create("dist_sync")
    kv.init("weight", mx.nd.sparse.zeros("row_sparse", (features, 1)))
    kv.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1, rescale_grad=1.0 / batch))
    batches = [_batch(kv.rank, step, features, batch, stored) for step in range(steps + 1)]
    weight = mx.nd.sparse.zeros("row_sparse", (features, 1))
    kv.row_sparse_pull("weight", out=weight, row_ids=batches[0][2])
    seconds = 0.0
    for number in range(steps):
        start = time.perf_counter()
        if number == steps // 2:
            mx.dist.kill_server(0)
        _step(kv, weight, batches[number], batches[number + 1][2])
        if number == steps // 2:
            seconds = time.perf_counter() - start
    return {"seconds": seconds, "sum": float(weight.data.asnumpy().astype(np.float64).sum())}
