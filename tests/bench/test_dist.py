"""What ``sparsekit bench dist`` computes, and the record of it that is kept."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from sparsekit import bench
from sparsekit.base.errors import MissingPackageError, SparsekitError
from sparsekit.bench import dist, dist_worker

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "profiles" / "dist.json"


def test_without_ray_it_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r"sparsekit\[dist\]"):
        bench.main(["dist", "--quick"])


def test_rivals_are_refused():
    with pytest.raises(SparsekitError, match="only this library"):
        bench.main(["dist", "--quick", "--rival", "torch=python"])


def test_what_the_cores_allow():
    alone = [{"seconds": 1.0, "cpu": 0.8, "servers": 0.2}]
    both = [{"seconds": 1.2, "cpu": 0.8, "servers": 0.4}, {"seconds": 1.2, "cpu": 0.8, "servers": 0.0}]
    assert dist.allowed(alone, both, cores=2) == pytest.approx(2.0 / 1.0)   # 2 s of computing, on two cores
    assert dist.allowed(alone, both, cores=1) == pytest.approx(2.0 / 2.0)
    assert dist.allowed(alone, both, cores=64) == pytest.approx(2.0 / 0.8)  # a worker computes on one core


def test_batches_are_the_same_for_whoever_asks_and_follow_the_law_of_words():
    first, again, other = (dist_worker.rows(rank, 3, 100_000, 64, 40) for rank in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()
    assert first.shape == (64, 40)
    assert 0 <= first.min() <= first.max() < 100_000
    assert abs((first < 316).mean() - 0.5) < 0.05   # as many in 0 to 316 as in 316 to 100,000


def test_a_batch_needs_the_rows_of_its_columns():
    data, label, rows = dist_worker._batch(1, 2, 500, 8, 5)
    assert (rows.asnumpy() == np.unique(data.indices.asnumpy())).all()
    assert data.shape == (8, 500)
    assert label.shape == (8, 1)


def figures(record):
    """The rows of README's table, from the record."""
    found = {section["heading"].partition(":")[0]: {name: row["median"] for name, row in section["rows"].items()}
             for section in record["sections"]}
    trip, push, column, step, wire, training, killed = found.values()
    journal, none, alone = "with a journal", "without a journal", "in one process, without a journal"
    one, two = training.values()
    rows, whole = wire.values()
    allowed = record["sections"][5]["fact"].partition("allow at most ")[2].partition(" times")[0]
    return {
        "one round trip, idle": f"{trip[journal]:.2f} ms",
        "a push of 4 MB of rows to AdaGrad, time per MB":
            f"{push[journal]:.1f} ms; without a journal {push[none]:.1f} ms; in one process, without Ray, {push[alone]:.1f} ms",
        "40,000 × 1 pushed and pulled": f"{column[journal]:.1f} ms",
        "a step of 2 workers, 20,000,000 × 1, batch 512": f"{step[journal]:.1f} ms; without a journal {step[none]:.1f} ms",
        "bytes on the wire in that step": f"{rows:.2f} MB; the whole model {whole:.0f} MB",
        "2 workers compared with 1, batch 8,192": f"{two / one:.2f}× the samples per second; 2 cores allow at most {allowed}×",
        "from `kill -9` of a server to the end of the step": f"{next(iter(killed.values())):.1f} s",
    }


def test_the_readme_says_what_the_record_says():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    missing = [f"| {name} | {value} |" for name, value in figures(record).items() if f"| {name} | {value} |" not in lines]
    assert not missing, "\n".join(["README.md lacks", *missing])
    assert record["cores"] == 2


def test_the_record_keeps_what_counts_do_not_change():
    sections = json.loads(RECORD.read_text(encoding="utf-8"))["sections"]
    rows, whole = sections[4]["rows"].values()
    assert whole["median"] == 160.0
    assert rows["max"] <= 0.35
    assert rows["min"] == rows["max"]   # bytes are counted, and batches are the same in each round
