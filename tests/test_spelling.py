"""Words are spelt right: prose, comments, docstrings, and the cells of notebooks without their outputs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("sparsekit", "notebooks", "tests", "profiles", "binder", ".ci")
TEXTS = (".py", ".md", ".js", ".css", ".cu", ".txt", "")

pytest.importorskip("codespell_lib", reason="no codespell: python -m pip install 'sparsekit[test]'")


def copy_of_prose(target: Path) -> None:
    """Everything people wrote, one file each; what is recorded or generated is not ours to spell."""
    for path in [*ROOT.glob("*.md"), *ROOT.glob("*.py"), *(found for name in FOLDERS for found in (ROOT / name).rglob("*"))]:
        place = path.relative_to(ROOT)
        if not path.is_file() or {"golden", "artefacts", "__pycache__", ".ipynb_checkpoints"} & set(place.parts):
            continue
        copy = target / place
        if path.suffix == ".ipynb":
            copy.parent.mkdir(parents=True, exist_ok=True)
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            copy.with_suffix(".txt").write_text("\n\n".join("".join(cell["source"]) for cell in cells), encoding="utf-8")
        elif path.suffix in TEXTS:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def spell(folder: Path) -> list[str]:
    command = [sys.executable, "-m", "codespell_lib", "--toml", str(ROOT / "pyproject.toml"), "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_words_are_spelt_right(tmp_path):
    copy_of_prose(tmp_path)
    assert len(list(tmp_path.rglob("*.txt"))) >= len(list((ROOT / "notebooks").glob("*.ipynb"))) >= 4
    assert spell(tmp_path) == []


def test_a_misspelt_word_is_found(tmp_path):
    (tmp_path / "made.md").write_text("An occur" + "ence of it.\n", encoding="utf-8")
    (found,) = spell(tmp_path)
    assert "occurrence" in found


def test_the_words_let_pass_are_few():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["codespell"]
    assert len(options["ignore-words-list"].split(",")) < 20
