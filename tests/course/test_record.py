"""Progress survives what files go through."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import sparsekit as mx
from sparsekit.course import contents, forget, record
from tests.refresh_notebooks import read_notebook

ROOT = Path(__file__).resolve().parents[2]
OTHER = "other-notebooks.json"


def test_a_file_for_each_notebook(kept, monkeypatch):
    record.remember("a", "predict", "512")
    monkeypatch.setenv("JPY_SESSION_NAME", "lessons/My <notebook>.ipynb")
    record.remember("b", "exercise", "right", True)
    assert sorted(path.name for path in kept.iterdir()) == ["My-notebook-.json", OTHER]
    entries = {"a": {"kind": "predict", "said": "512", "right": False}}
    assert json.loads((kept / OTHER).read_text()) == {"version": 1, "entries": entries}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"entries": 3}', b'{"entries": {"a": 1}}', b"\xff\xfe", b"[" * 100_000,
                                    b" " * 2_000_000], ids=range(8))
def test_a_damaged_file_is_set_aside(kept, damage):
    kept.mkdir()
    (kept / OTHER).write_bytes(damage)
    assert record.read("other notebooks") == {}
    assert "0 of" in mx.progress().alt
    record.remember("a", "predict", "512")
    assert record.read("other notebooks")["a"]["said"] == "512"
    assert (kept / f"{OTHER}.damaged").read_bytes() == damage
    assert sorted(path.name for path in kept.iterdir()) == [OTHER, f"{OTHER}.damaged"]


def test_where_nothing_can_be_written_it_is_kept_until_the_kernel_ends(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SPARSEKIT_PROGRESS", str(tmp_path / "file" / "progress"))
    record.remember("a", "predict", "512", True)
    assert record.read("other notebooks")["a"]["right"] is True
    assert mx.progress().table.rows[-1] == ("other notebooks", "1 of 1", "1", "0 of 0")
    forget("other notebooks")
    assert record.read("other notebooks") == {}


def test_off_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARSEKIT_PROGRESS", "off")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert record.folder() is None
    record.remember("a", "predict", "512")
    assert list(tmp_path.iterdir()) == []
    assert "a" in record.read("other notebooks")


def test_entries_of_two_kernels_are_all_kept(kept):
    mx.predict("a", guess=3)
    subprocess.run([sys.executable, "-c", "import sparsekit as mx\nmx.predict('b', guess=3)"], check=True, timeout=400,
                   env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert sorted(record.read("other notebooks")) == ["a", "b"]


def test_progress_counts_and_forget_deletes(monkeypatch):
    listed = {"01_one": {"predict": ["p", "q"], "exercise": ["e"]}, "02_two": {"predict": [], "exercise": ["f", "g"]}}
    monkeypatch.setattr("sparsekit.course.overview.contents", lambda: listed)
    monkeypatch.setattr("sparsekit.course.record.notebook_of", {"p": "01_one", "q": "01_one", "e": "01_one", "f": "02_two"}.get)
    for name, kind, right in (("p", "predict", True), ("q", "predict", False), ("e", "exercise", True), ("f", "exercise", False)):
        record.remember(name, kind, "said", right)
    shown = mx.progress()
    assert shown.table.rows == [("01_one", "2 of 2", "1", "1 of 1"), ("02_two", "0 of 0", "0", "0 of 2")]
    assert shown.alt == "Your progress. 2 of 2 predictions made, 1 of them right; 1 of 3 exercises solved."
    assert "<svg" in shown.svg()
    assert mx.progress("02_two").table.rows == [("02_two", "0 of 0", "0", "0 of 2")]
    forget("01_one")
    assert mx.progress().alt.startswith("Your progress. 0 of 2")


def test_the_list_of_exercises_is_that_of_the_notebooks():
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        names = read_notebook([cell.source for cell in cells if cell.cell_type == "code"])
        if any(names.values()):
            found[path.stem] = names
    assert contents.contents() == found, "run `python tests/refresh_notebooks.py --list`"


def test_every_name_occurs_once_and_every_prediction_is_revealed():
    names = [name for kinds in contents.contents().values() for found in kinds.values() for name in found]
    assert len(names) == len(set(names))
    for notebook, kinds in contents.contents().items():
        text = (ROOT / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8")
        for name in kinds["predict"]:
            assert f'reveal(\\"{name}\\"' in text or f"reveal('{name}'" in text, f"{notebook} never reveals {name}"
