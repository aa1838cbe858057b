"""One timeline of workers and servers that are processes of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sparsekit as mx

ROWS, WIDTH, STEPS, PAUSE = 20_000, 8, 12, 0.06


def training() -> Callable[[], dict[str, Any]]:
    """A function that travels to workers by value."""

    def train(rows: int = ROWS, width: int = WIDTH, steps: int = STEPS, pause: float = PAUSE) -> Any:
        import time

        import numpy as np

        import sparsekit as mx

        kv = mx.kv.create("dist_sync")
        kv.init("table", mx.nd.zeros((rows, width)).tostype("row_sparse"))
        kv.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1))
        out = mx.nd.sparse.zeros("row_sparse", (rows, width))
        for step in range(steps):
            time.sleep(pause)
            ids = np.unique(np.random.default_rng([kv.rank, step]).integers(0, rows, 500))
            gradient = mx.nd.sparse.row_sparse_array((np.ones((len(ids), width), "f"), ids), shape=(rows, width))
            kv.push_pull_rows("table", gradient, out, mx.nd.array(ids))
        return kv.statistics()

    return train


@pytest.fixture(scope="module")
def results(cluster: Any) -> Any:
    """A run of two workers and two servers."""
    return mx.dist.run(training(), workers=2, servers=2, profile=True)


def test_each_process_is_on_the_timeline(results: Any, tmp_path: Path) -> None:
    merged = results.profile
    assert [process.name for process in merged.processes] == ["worker 0", "worker 1", "server 0", "server 1"]
    for process in merged.processes:
        lanes = {record["lane"] for record in merged.process(process.name).records}
        assert lanes >= ({"exchange"} if process.kind == "worker" else {"serve", "apply"})
    rows = {row["process"]: row for row in merged.distributed().processes}
    for rank, counted in enumerate(results):
        about = rows[f"worker {rank}"]
        assert (about["sent"], about["received"]) == (counted["bytes_sent"], counted["bytes_received"])
    assert sum(rows[f"server {index}"]["received"] for index in range(2)) == sum(one["bytes_sent"] for one in results)
    read = mx.profiler.load(merged.save(tmp_path / "trace.npz"))
    assert read.records == merged.records
    assert read.processes == merged.processes


def test_what_servers_do_lies_within_the_call_that_asks_for_it(results: Any) -> None:
    merged = results.profile
    errors = {process.name: process.error for process in merged.processes}
    calls = {rank: [record for record in merged.records if record["lane"] == "exchange" and record["process"] == f"worker {rank}"]
             for rank in range(2)}
    served = [record for record in merged.records if record["lane"] == record["name"] == "serve"]
    for record in served:
        rank, end = record["attrs"]["rank"], record["start"] + record["duration"]
        slack = errors[record["process"]] + errors[f"worker {rank}"] + 1
        assert any(call["start"] - slack <= record["start"] and end <= call["start"] + call["duration"] + slack
                   for call in calls[rank])
    assert len(served) >= 2 * STEPS
    assert all(error < merged.wall for error in errors.values())
