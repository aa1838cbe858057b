"""The script that measures csrᵀ · dense over a grid."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "profiles" / "products_grid.py"


@pytest.mark.thorough
def test_a_small_grid_is_measured_and_agrees_with_scipy(tmp_path):
    file = tmp_path / "grid.json"
    command = [sys.executable, str(SCRIPT), "--stored", "2e3", "--columns", "1e3", "1e9", "--width", "1", "3", "--patience", "0"]
    done = subprocess.run([*command, "--json", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    points = json.loads(file.read_text(encoding="utf-8"))["points"]
    assert len(points) == 2 * 2 * 2
    assert {point["scipy"] for point in points} == {"dense", "renumbered"}
    assert all(point["own_ms"] > 0 and point["ratio"] > 0 for point in points)
