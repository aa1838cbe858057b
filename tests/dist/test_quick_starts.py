"""A package that Ray loads needlessly waits until it is used, and is then what it always was."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from sparsekit.dist.ray_cluster import SLOW, STAND_IN, quick_starts

REAL = """
import sys
print("built", file=sys.stderr)
constant = 7

def is_valid_syntax(term, value):
    return (term, value) == ("iri", "good")
"""

USE = f"""
import sys
from {SLOW} import is_valid_syntax
print("imported", file=sys.stderr)
print(is_valid_syntax("iri", "good"), is_valid_syntax("iri", "bad"))
import {SLOW}
print({SLOW}.constant, sys.modules["{SLOW}"].__file__.endswith("real/{SLOW}.py"))
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder that has the package, which says when it is built."""
    folder = tmp_path / "real"
    folder.mkdir()
    (folder / f"{SLOW}.py").write_text(REAL, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, SLOW, raising=False)
    return folder


def test_it_is_built_when_it_is_used_and_once(tmp_path, installed):
    with quick_starts(tmp_path / "imports"):
        path = os.pathsep.join((os.environ["PYTHONPATH"], str(installed)))
        done = subprocess.run([sys.executable, "-c", USE], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
                              check=True)
    assert done.stdout.split("\n")[:2] == ["True False", "7 True"]
    assert done.stderr.split() == ["imported", "built"]


def test_the_search_path_is_as_it_was(tmp_path, installed, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    with quick_starts(tmp_path / "imports"):
        assert os.environ["PYTHONPATH"].split(os.pathsep)[1:] == ["elsewhere"]
    assert os.environ["PYTHONPATH"] == "elsewhere"
    monkeypatch.delenv("PYTHONPATH")
    with quick_starts(tmp_path / "more"):
        assert os.environ["PYTHONPATH"] == str(tmp_path / "more")
    assert "PYTHONPATH" not in os.environ


def test_nothing_stands_for_a_package_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with quick_starts(tmp_path / "imports"):
        assert not (tmp_path / "imports").exists()


def test_an_unknown_name_is_the_error_of_the_package(tmp_path, installed):
    (tmp_path / f"{SLOW}.py").write_text(STAND_IN, encoding="utf-8")
    program = f"import {SLOW}\n{SLOW}.nothing"
    path = os.pathsep.join((str(tmp_path), str(installed)))
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
                          check=False)
    assert "has no attribute 'nothing'" in done.stderr


@pytest.mark.skipif(find_spec("ray") is None or find_spec(SLOW) is None, reason="Ray and JupyterLab are not both installed")
def test_ray_is_imported_without_it():
    program = ("import sys; from sparsekit.dist.ray_cluster import load_ray; load_ray(); "
               f"print([name for name in sys.modules if name.startswith('{SLOW}')])")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
