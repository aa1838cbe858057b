"""What workers of the tests run, and the same in one process, without servers."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

import sparsekit as mx

ROWS, WIDTH = 1500, 16


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


def train(steps: int, faults: dict[tuple[int, int], str] | None = None, flags: str = "", pace: float = 0.0) -> dict[str, Any]:
    """Train as one worker; a fault, by rank and step, happens once.  The place in the data is in snapshots."""
    kv = mx.kv.create("dist_sync")
    kv.init(["table", "dense"], list(start()))
    kv.set_optimizer(optimizer())
    begun = kv.resume()
    table, dense = mx.nd.sparse.zeros("row_sparse", (ROWS, WIDTH)), mx.nd.zeros((5, 3))
    for step in range(begun, steps):
        time.sleep(pace)
        fault = (faults or {}).get((kv.rank, step))
        if fault and first_time(Path(flags) / f"{kv.rank}-{step}"):
            break_something(fault)
        kv.row_sparse_pull("table", out=table, row_ids=mx.nd.array(batch(kv.rank, step)[0]))
        kv.pull("dense", out=dense)
        pushed = gradients(kv.rank, step, table.data.asnumpy(), dense.asnumpy())
        kv.push("table", pushed[0])
        kv.push("dense", pushed[1])
        kv.end_step()
    kv.barrier()
    found = values(kv)
    return {"rank": kv.rank, "table": found[0], "dense": found[1], "pid": os.getpid(), "begun": begun}


def train_and_tell(steps: int, place: str, pace: float) -> dict[str, Any]:
    """``train``, after a file says which processes are the servers."""
    mx.kv.create("dist_sync")
    told = Path(place) / "servers"
    aside = told.with_suffix(f".{os.getpid()}")
    aside.write_text(" ".join(str(one.pid) for one in mx.dist.servers()))
    aside.replace(told)
    return train(steps, pace=pace)


def first_time(flag: Path) -> bool:
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def break_something(what: str) -> None:
    """``worker``: this process ends; ``stop worker``: it stops; ``kill 0``, ``stop 1``: a server does."""
    verb, _, which = what.partition(" ")
    if what in ("worker", "stop worker"):
        os.kill(os.getpid(), signal.SIGKILL if what == "worker" else signal.SIGSTOP)
    elif verb == "kill":
        mx.dist.kill_server(int(which))
    else:
        os.kill(mx.dist.servers()[int(which)].pid, signal.SIGSTOP)


def by_hand(flags: str) -> None:
    """A loop that does not say where its data stand, and loses a server."""
    kv = mx.kv.create("dist_sync")
    kv.init("w", mx.nd.zeros((3,)))
    for step in range(40):
        kv.push("w", mx.nd.ones((3,)))
        kv.pull("w", out=mx.nd.zeros((3,)))
        time.sleep(0.05)
        if step == 20 and kv.rank == 0 and first_time(Path(flags) / "killed"):
            mx.dist.kill_server(1)


def fail(rank: int) -> None:
    """One worker raises an error; the other waits for it."""
    kv = mx.kv.create("dist_sync")
    kv.init("w", mx.nd.zeros((3,)))
    if kv.rank == rank:
        raise ValueError("no more data")
    kv.push("w", mx.nd.ones((3,)))
    kv.pull("w", out=mx.nd.zeros((3,)))


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


def trainer(steps: int, fault: tuple[int, int] | None = None, flags: str = "") -> dict[str, Any]:
    """A gluon loop that says nothing of snapshots, with dropout; a worker ends once."""
    net = mx.gluon.nn.Dense(3, in_units=4)
    net.initialize()
    made = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1}, kvstore="dist_sync")
    rank = made._kvstore.rank
    data = np.random.default_rng(rank)
    for step in range(steps):
        if (rank, step) == fault and first_time(Path(flags) / "ended"):
            os.kill(os.getpid(), signal.SIGKILL)
        x = mx.nd.array(data.normal(size=(5, 4)))
        with mx.autograd.record():
            loss = (mx.nd.Dropout(net(x), p=0.3) ** 2).sum() * float(np.random.normal())
        loss.backward()
        made.step(10)
    return {"weight": net.weight.data().asnumpy()}


def alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def waits(flags: str) -> None:
    """Says which process it is, and waits."""
    (Path(flags) / f"pid-{os.getpid()}").touch()
    time.sleep(200)
