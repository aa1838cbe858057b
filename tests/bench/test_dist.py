"""What ``sparsekit bench dist`` computes, and the record of it that is kept."""

import asyncio
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from sparsekit import bench
from sparsekit.base.errors import MissingPackageError
from sparsekit.bench import dist

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "profiles" / "dist.json"


def test_without_ray_it_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r"sparsekit\[dist\]"):
        bench.main(["dist", "--quick"])


def test_what_the_cores_allow():
    alone = [{"seconds": 1.0, "cpu": 0.8, "servers": 0.2}]
    both = [{"seconds": 1.2, "cpu": 0.8, "servers": 0.4}, {"seconds": 1.2, "cpu": 0.8, "servers": 0.0}]
    assert dist.allowed(alone, both, cores=2) == pytest.approx(2.0 / 1.0)   # 2 s of computing, on two cores
    assert dist.allowed(alone, both, cores=1) == pytest.approx(2.0 / 2.0)
    assert dist.allowed(alone, both, cores=64) == pytest.approx(2.0 / 0.8)  # a worker computes on one core


def test_batches_are_the_same_for_whoever_asks_and_follow_the_law_of_words():
    first, again, other = (dist.rows(rank, 3, 100_000, 64, 40) for rank in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()
    assert first.shape == (64, 40)
    assert 0 <= first.min() <= first.max() < 100_000
    assert abs((first < 316).mean() - 0.5) < 0.05   # as many in 0 to 316 as in 316 to 100,000


def test_the_record_keeps_what_counts_do_not_change():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert record["cores"] == 2
    rows, whole = record["sections"][4]["rows"].values()
    assert whole["median"] == 160.0
    assert rows["max"] <= 0.35
    assert rows["min"] == rows["max"]   # bytes are counted, and batches are the same in each round


def test_plain_servers_wait_for_both_workers_in_each_step():
    async def both():
        server = dist.PlainServer(4, 2)
        first = asyncio.ensure_future(server.step(0, np.array([1]), np.ones((1, 2), "f"), np.array([1, 3])))
        await asyncio.sleep(0)
        assert not first.done()
        second = await server.step(1, np.array([1, 3]), np.ones((2, 2), "f"), np.array([3]))
        return await first, second

    first, second = asyncio.run(both())
    assert np.allclose(first, [[-0.2, -0.2], [-0.1, -0.1]])
    assert np.allclose(second, [[-0.1, -0.1]])
