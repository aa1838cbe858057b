"""The lower bounds of pyproject.toml are those with which the tests have passed, as ``lowest_versions.json`` records."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

from packaging.version import Version

HERE = Path(__file__).parent


def test_the_bounds_are_those_that_were_tried():
    record = json.loads((HERE / "lowest_versions.json").read_text(encoding="utf-8"))
    script = runpy.run_path(str(HERE / "lowest_versions.py"))
    bounds = script["bounds"]()
    assert {"numpy", "scipy", "numba", "anywidget", "matplotlib", "scikit-learn", "pytest"} <= set(bounds)
    assert {name: Version(found) for name, found in record["versions"].items()} == {
        name: Version(lowest) for name, lowest in bounds.items()}, "run tests/lowest_versions.py again"
    assert record["commands"] == script["COMMANDS"]
    passed = re.fullmatch(r"(\d+) passed(, \d+ (skipped|deselected|warnings?))*", record["said"]["tests"])
    assert passed
    assert int(passed[1]) > 25_000
    assert record["said"]["style"] == "All checks passed!"
