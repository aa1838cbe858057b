"""``sparsekit bench dist`` runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparsekit import bench, dist
from sparsekit.bench import dist as dist_bench


@pytest.fixture
def disconnected(cluster: Any) -> Any:
    yield cluster
    dist.disconnect()


@pytest.mark.thorough
def test_the_bench_runs_and_writes_its_figures(disconnected: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figures.json"
    assert bench.main(["dist", "--quick", "--json", str(file)]) == 0
    sections = json.loads(file.read_text())["sections"]
    headings = ["round trip", "a push", "push and pull of 400 x 1", "a step", "bytes", "training", "kill -9",
                *(f"a step of 2 workers and 2 servers: {count:,} rows" for count, _ in dist_bench.TABLES)]
    for section, heading in zip(sections, headings, strict=True):
        assert heading in section["heading"]
        assert all(row["min"] > 0 for row in section["rows"].values())
    wire, whole = (row["median"] for row in sections[4]["rows"].values())
    assert whole == 2 * 4 * 100_000 / 1e6
    assert 16 * 5 * 16 / 1e6 >= wire > 0.3 * 16 * 5 * 16 / 1e6   # at most 16 bytes for each of a batch's values
    assert "cores allow at most" in capsys.readouterr().out
