"""One timeline of workers and servers that are processes of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sparsekit as mx

ROWS, WIDTH, STEPS, PAUSE = 20_000, 8, 12, 0.06


def training() -> Callable[[], tuple[dict[str, Any], list[int]]]:
    """A function that travels to workers by value."""

    def train(rows: int = ROWS, width: int = WIDTH, steps: int = STEPS, pause: float = PAUSE) -> Any:
        import time

        import numpy as np

        import sparsekit as mx

        kv = mx.kv.create("dist_sync")
        kv.init("table", mx.nd.zeros((rows, width)).tostype("row_sparse"))
        kv.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1))
        out, touched = mx.nd.sparse.zeros("row_sparse", (rows, width)), []
        for step in range(steps):
            time.sleep(pause)
            ids = np.unique(np.random.default_rng([kv.rank, step]).integers(0, rows, 500))
            touched.append(len(ids))
            gradient = mx.nd.sparse.row_sparse_array((np.ones((len(ids), width), "f"), ids), shape=(rows, width))
            kv.push_pull_rows("table", gradient, out, mx.nd.array(ids))
        return kv.statistics(), touched

    return train


@pytest.fixture(scope="module")
def runs(cluster: Any) -> dict[int, Any]:
    """Runs of one worker and of two, each with two servers."""
    return {workers: mx.dist.run(training(), workers=workers, servers=2, profile=True) for workers in (1, 2)}


def test_each_process_is_on_the_timeline(runs: dict[int, Any], tmp_path: Path) -> None:
    merged = runs[2].profile
    assert [process.name for process in merged.processes] == ["worker 0", "worker 1", "server 0", "server 1"]
    for process in merged.processes:
        lanes = {record["lane"] for record in merged.process(process.name).records}
        assert lanes >= ({"exchange"} if process.kind == "worker" else {"serve", "apply", "journal"})
    read = mx.profiler.load_trace(merged.save_trace(tmp_path / "trace.json.gz"))
    assert read.records == merged.records
    assert read.processes == merged.processes
    assert "worker 1" in merged.timeline_figure().svg


def killed_once() -> Callable[[], list[int]]:
    """Training in which rank 0 kills server 1 once; it says which process it was before and after."""

    def train(steps: int = STEPS) -> list[int]:
        import sparsekit as mx

        kv = mx.kv.create("dist_sync")
        kv.init("table", mx.nd.zeros((600, 2)).tostype("row_sparse"))
        out, pids = mx.nd.zeros((600, 2)), []
        for step in range(steps):
            if step == steps // 2 and kv.rank == 0:
                pids = [mx.dist.servers()[1].pid]
                mx.dist.kill_server(1)
            kv.push("table", mx.nd.ones((600, 2)).tostype("row_sparse"))
            kv.pull("table", out=out)
        return [*pids, mx.dist.servers()[1].pid]

    return train


def test_what_a_killed_server_did_is_on_the_timeline(cluster: Any, tmp_path: Path) -> None:
    results = mx.dist.run(killed_once(), workers=2, servers=2, profile=True, folder=tmp_path)
    assert results[0][0] != results[0][1] == results[1][0]
    prof = results.profile
    for server in (0, 1):
        made = [record["attrs"]["step"] for record in prof.process(f"server {server}").records if record["lane"] == "apply"]
        assert made == list(range(1, STEPS + 1)), f"server {server}: every step of both lives, in order, and once"
    replays = [record["process"] for record in prof.records if record["name"] == "replay"]
    assert replays == ["server 1"]
    assert "Server 1 was started again once." in repr(prof.distributed())
    assert not list(tmp_path.glob("*.spans"))


def test_bytes_are_those_of_the_formula(runs: dict[int, Any]) -> None:
    for workers, results in runs.items():
        found = results.profile.distributed()
        for rank, (counted, touched) in enumerate(results):
            row = next(row for row in found.keys if row["process"] == f"worker {rank}")
            assert row["bytes_pushed"] == row["bytes_pulled"] == sum(touched) * (4 * WIDTH + 4)
            about = next(row for row in found.processes if row["process"] == f"worker {rank}")
            assert (about["sent"], about["received"]) == (counted["bytes_sent"], counted["bytes_received"])
        servers = [row for row in found.processes if row["process"].startswith("server")]
        assert sum(row["received"] for row in servers) == sum(counted["bytes_sent"] for counted, _ in results)
        assert sum(row["sent"] for row in servers) == sum(counted["bytes_received"] for counted, _ in results)
        assert len(servers) == 2
        assert len(results) == workers


def test_what_servers_do_lies_within_the_call_that_asks_for_it(runs: dict[int, Any]) -> None:
    merged = runs[2].profile
    errors = {process.name: process.error for process in merged.processes}
    calls = {rank: [record for record in merged.records if record["lane"] == "exchange" and record["process"] == f"worker {rank}"]
             for rank in range(2)}
    seen = 0
    for record in merged.records:
        if record["lane"] == "serve" and record["name"] == "serve":
            slack = errors[record["process"]] + errors[f"worker {record['attrs']['rank']}"] + 1
            assert any(call["start"] - slack <= record["start"] and
                       record["start"] + record["duration"] <= call["start"] + call["duration"] + slack
                       for call in calls[record["attrs"]["rank"]])
            seen += 1
    assert seen >= 4 * STEPS
    assert all(error < merged.wall for error in errors.values())


def test_the_model_counts_the_bytes_of_a_step(runs: dict[int, Any]) -> None:
    each = [sum(4 * WIDTH + 4 for _ in range(sum(touched[1:]))) / (STEPS - 1) for _, touched in runs[2]]
    measured = runs[2].profile.what_if(workers=2).measured
    assert measured.sent + measured.received == pytest.approx(2 * sum(each) / 2, rel=1e-9)
