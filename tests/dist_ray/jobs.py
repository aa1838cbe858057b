"""What workers of the tests run, and the same in one process, without servers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sparsekit as mx
from sparsekit.dist import transport

#: Rows of 1 KiB, so that what a push of some 60 of them has for one of two servers is shared memory.
ROWS, WIDTH = 1500, 256


def batch(rank: int, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and numbers of one worker's step: the same in each of its lives."""
    rng = np.random.default_rng([rank, step])
    rows = np.unique(rng.integers(0, ROWS, 60))
    return rows, rng.normal(size=(len(rows), WIDTH)).astype("f"), rng.normal(size=(5, 3)).astype("f")


def start() -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    rng = np.random.default_rng(0)
    return mx.nd.array(rng.normal(size=(ROWS, WIDTH))).tostype("row_sparse"), mx.nd.array(rng.normal(size=(5, 3)))


def gradients(rank: int, step: int, table: np.ndarray, dense: np.ndarray) -> tuple[Any, Any]:
    """Gradients that depend on the values pulled, so that a wrong version shows."""
    rows, first, second = batch(rank, step)
    return (mx.nd.sparse.row_sparse_array((np.tanh(table) * first, rows), shape=(ROWS, WIDTH)),
            mx.nd.array(np.tanh(dense) * second))


def optimizer() -> Any:
    return mx.optimizer.create("adam", learning_rate=0.05)


def alone(steps: int, workers: int) -> tuple[np.ndarray, np.ndarray]:
    """The values after training in one process, which sums the gradients in the order of ranks."""
    kv = mx.kv.create("local")
    kv.init(["table", "dense"], list(start()))
    kv.set_optimizer(optimizer())
    outs = [mx.nd.sparse.zeros("row_sparse", (ROWS, WIDTH)) for _ in range(workers)]
    dense = mx.nd.zeros((5, 3))
    for step in range(steps):
        kv.pull("dense", out=dense)
        pushed = []
        for rank in range(workers):
            kv.row_sparse_pull("table", out=outs[rank], row_ids=mx.nd.array(batch(rank, step)[0]))
            pushed.append(gradients(rank, step, outs[rank].data.asnumpy(), dense.asnumpy()))
        kv.push("table", [table for table, _ in pushed])
        kv.push("dense", [one for _, one in pushed])
    return values(kv)


def values(kv: Any) -> tuple[np.ndarray, np.ndarray]:
    table, dense = mx.nd.sparse.zeros("row_sparse", (ROWS, WIDTH)), mx.nd.zeros((5, 3))
    kv.row_sparse_pull("table", out=table, row_ids=mx.nd.arange(ROWS))
    kv.pull("dense", out=dense)
    return table.data.asnumpy(), dense.asnumpy()


def train(steps: int, faults: dict[tuple[int, int], str] | None = None, flags: str = "",
          before: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Train as one worker; a fault, by rank and step, happens once."""
    kv = mx.kv.create("dist_sync")
    kv.init(["table", "dense"], list(start()))
    kv.set_optimizer(optimizer())
    table, dense = mx.nd.sparse.zeros("row_sparse", (ROWS, WIDTH)), mx.nd.zeros((5, 3))
    said = []
    for step in range(steps):
        if before is not None:
            before(kv.rank, step)
        kv.row_sparse_pull("table", out=table, row_ids=mx.nd.array(batch(kv.rank, step)[0]))
        kv.pull("dense", out=dense)
        pushed = gradients(kv.rank, step, table.data.asnumpy(), dense.asnumpy())
        fault = (faults or {}).get((kv.rank, step))
        if fault and first_time(Path(flags) / f"{kv.rank}-{step}"):
            said.append(break_something(fault))
        kv.push("table", pushed[0])
        kv.push("dense", pushed[1])
    found = values(kv)
    return {"rank": kv.rank, "life": way().life, "table": found[0], "dense": found[1], "said": said, "pid": os.getpid(),
            "near": dict(way()._near), "shared": way()._room._file is not None,
            "statistics": way().call([(index, "statistics", ()) for index in range(way().shards)], 20.0)}


def first_time(flag: Path) -> bool:
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def way() -> Any:
    return transport.current()


def alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def break_something(what: str) -> Any:
    """``worker``: this process ends when one server has its push and the other has not; ``kill 0 1``, ``stop 0``: servers."""
    if what == "worker":
        die_within_the_next_push()
        return None
    verb, *numbers = what.split()
    pids = [mx.dist.servers()[int(index)].pid for index in numbers]
    for index, pid in zip(numbers, pids, strict=True):
        if verb == "kill":
            mx.dist.kill_server(int(index))
        else:
            os.kill(pid, signal.SIGSTOP)
    return pids


def die_within_the_next_push() -> None:
    own = way()
    call = own.call

    def half(requests: Any, timeout: Any = None) -> Any:
        pushing = [one for one in requests if one[1] == "exchange" and one[2][0].pushes]
        if pushing:
            call(pushing[:1], timeout)
            os.kill(os.getpid(), signal.SIGKILL)
        return call(requests, timeout)

    own.call = half


def fail(rank: int, said: str) -> str:
    """One worker raises an error; the other waits for it."""
    kv = mx.kv.create("dist_sync")
    kv.init("w", mx.nd.zeros((3,)))
    if kv.rank == rank:
        raise ValueError("no more data")
    kv.push("w", mx.nd.ones((3,)))
    out = mx.nd.zeros((3,))
    try:
        kv.pull("w", out=out)
    except mx.LostWorkerError as error:
        Path(said).write_text(f"{error.rank} {error.key} {error.step}", encoding="utf-8")
        raise
    return "not reached"


def die() -> None:
    """Each life of rank 1 ends at once."""
    if mx.kv.create("dist_sync").rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def unequal() -> float:
    """Rank 1 has fewer batches than rank 0."""
    kv = mx.kv.create("dist_sync")
    kv.init("w", mx.nd.zeros((3,)))
    out = mx.nd.zeros((3,))
    for _ in range(6 - 3 * kv.rank):
        kv.push("w", mx.nd.ones((3,)))
        kv.pull("w", out=out)
    return float(out.asnumpy()[0])


def train_slowly(steps: int, pids: str, flags: str) -> dict[str, Any]:
    """Train; in the midst rank 0 says which processes the servers are, and waits until they have been broken."""
    def wait(rank: int, step: int) -> None:
        if rank == 0 and step == 3 and first_time(Path(flags) / "told"):
            new = Path(pids).with_suffix(".new")
            new.write_text(" ".join(str(server.pid) for server in mx.dist.servers()))
            new.replace(pids)
            while not (Path(flags) / "frozen").exists():
                time.sleep(0.02)
        if rank == 0 and step == 5:  # servers elsewhere have answered
            (Path(flags) / "go").touch()

    return train(steps, before=wait)


def unread(steps: int) -> dict[str, Any]:
    """Train where no server can read the memory of the workers, as between containers."""
    way()._room.pid = 1 << 30
    return train(steps)


class Occupied:
    """An actor that takes places."""
