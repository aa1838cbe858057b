"""The kept records: what the variants' say, and the page that is made of all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sparsekit import bench
from sparsekit.base.errors import DataFileError
from sparsekit.bench import benches, page
from sparsekit.profiler import load
from sparsekit.profiler.contracts import expect

PROFILES = Path(__file__).resolve().parents[2] / "profiles"
RECORDS = sorted(PROFILES.glob("*.json"))


@pytest.fixture(scope="module")
def traces():
    return {name: load(PROFILES / "variants" / f"{name}.npz") for name in benches.LABELS}


def test_profiles_of_all_variants_are_kept_and_small(traces):
    assert set(traces) == {"dense", "sparse_forward", "row_sparse"}
    for name in traces:
        assert (PROFILES / "variants" / f"{name}.npz").stat().st_size < 100_000


def test_the_profiles_tell_what_the_tutorial_tells(traces):
    for profile in traces.values():
        expect(profile).no_densify().calls("sgd_update", 6 * benches.TRACED_BATCHES)
    expect(traces["row_sparse"]).peak_below("530 MB")
    assert max(traces["row_sparse"].gradient_rows.values()) == 100
    assert traces["dense"].memory["peak_bytes"] > 1_000_000_000
    moved = {name: sum(row["bytes"] for row in profile.totals if row["lane"] == "update") for name, profile in traces.items()}
    assert moved["dense"] == moved["sparse_forward"] > 1000 * moved["row_sparse"]


def test_no_record_names_a_machine_or_a_folder(traces):
    for name, profile in traces.items():
        lines = {record["line"] for record in profile.records}
        assert not any("/" in line for line in lines), name
    for path in RECORDS:
        facts = json.loads(path.read_text(encoding="utf-8"))
        assert {"versions", "cores", "machine"} <= facts.keys()
        assert not re.search(r"host|node", " ".join(facts))


@pytest.mark.thorough
def test_the_page_shows_every_record_with_pictures_and_tables(tmp_path, capsys):
    made = tmp_path / "bench.html"
    assert bench.main(["report", "-o", str(made)]) == 0
    text = made.read_text(encoding="utf-8")
    assert "Wrote" in capsys.readouterr().out
    for path in RECORDS:
        facts = json.loads(path.read_text(encoding="utf-8"))
        assert facts["title"] in text
        for section in facts["sections"]:
            assert all(name in text for name in section["rows"])
    assert text.count("<img") >= sum(len(json.loads(path.read_text())["sections"]) for path in RECORDS)
    assert "row-sparse" in re.search(r'aria-label="([^"]* as long as [^"]*)"', text)[1]
    assert not re.search(r'(?:src|href)="https?:', text)


def test_the_page_of_one_record(tmp_path):
    made = tmp_path / "page.html"
    bench.main(["report", str(PROFILES / "dispatch.json"), "-o", str(made)])
    assert "Training epoch" not in made.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["{}", "[]", "no", '{"title": "x", "versions": {}, "sections": [1], "notes": [], "rounds": 1}'])
def test_what_is_no_record_is_refused(tmp_path, text):
    file = tmp_path / "x.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataFileError, match=r"x\.json"):
        page.main([str(file), "-o", str(tmp_path / "page.html")])
