"""Both sides of every pair on the page "Coming from ..." print the same."""

from __future__ import annotations

import importlib.util
import json
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from sparsekit.base.errors import StorageFallbackWarning
from sparsekit.base.naming import NameManager

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tests" / "docs" / "coming_from.py"))
PACKAGES, pairs, run = TOOL["PACKAGES"], TOOL["pairs"], TOOL["run"]
RECORDED = json.loads((ROOT / "tests" / "golden" / "coming_from.json").read_text(encoding="utf-8"))
RECORDER = ROOT / "tests" / "oracle" / "record_coming_from.py"

rivals = pytest.mark.parametrize("rival", PACKAGES)


@rivals
def test_every_section_has_pairs_that_print(rival):
    found = pairs(rival)
    assert len(found) >= 4
    for side in (0, 1):
        for pair in found:
            compile(pair[side], "snippet", "exec")
            assert "print(" in pair[side]


def test_every_snippet_of_the_page_is_in_a_pair():
    text = TOOL["PAGE"].read_text(encoding="utf-8")
    assert text.count("```python") == 2 * sum(len(pairs(rival)) for rival in PACKAGES)


@rivals
def test_ours_prints_what_theirs_was_recorded_to_print(rival):
    with NameManager(), warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)  # one pair is about it
        printed = run([ours for _, ours in pairs(rival)])
    assert all(printed)
    assert printed == RECORDED[rival]["printed"]


@rivals
def test_what_was_recorded_is_what_the_page_shows(rival):
    assert RECORDED[rival]["snippets"] == [theirs for theirs, _ in pairs(rival)], f"run {RECORDER.name}"


@rivals
def test_theirs_prints_it_where_its_package_is_installed(rival):
    if importlib.util.find_spec(PACKAGES[rival]) is None:
        pytest.skip(f"{rival} is not installed; its recorded output is compared")
    done = subprocess.run([sys.executable, str(RECORDER), rival], capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == RECORDED[rival]["printed"]
