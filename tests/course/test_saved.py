"""Cells that need a package run where it is installed, and show their saved outputs elsewhere."""

import importlib.util
import json
import re
import tomllib

import pytest

pytest.importorskip("IPython")

from IPython.utils.capture import capture_output

from sparsekit.base.errors import MissingPackageError, UnknownNameError
from sparsekit.course import saved
from tests.ipython_shell import ipython

from .notebooks import ROOT

CELL = "%%needs ray\nx = 40\nx + 2"


@pytest.fixture
def shell(tmp_path, monkeypatch):
    (tmp_path / "course").mkdir()
    monkeypatch.chdir(tmp_path / "course")
    with ipython(tmp_path, saved.load_ipython_extension) as made:
        yield made


@pytest.fixture(params=[True, False])
def installed(request, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: (request.param or None) if name == "ray" else find(name))
    return request.param


def run(shell, text):
    with capture_output() as captured:
        result = shell.run_cell(text, store_history=False)
    return result, captured


def write(path, outputs, count=1, source=CELL):
    cell = {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": outputs, "execution_count": count}
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": CELL}, cell]}), encoding="utf-8")


OUTPUTS = [{"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
           {"output_type": "execute_result", "metadata": {},
            "data": {"text/plain": ["forty", "-two"], "application/json": [1, 2]}},
           {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}]


def test_a_cell_runs_or_shows_what_was_saved(shell, installed, tmp_path):
    write(tmp_path / "course" / "a.ipynb", OUTPUTS)
    result, captured = run(shell, CELL)
    assert result.success
    if installed:
        assert "42" in captured.stdout
        assert shell.user_ns["x"] == 40
    else:
        assert captured.stdout == "one\ntwo\n"
        assert [output.data for output in captured.outputs] == [{"text/plain": "forty-two", "application/json": [1, 2]}]
        assert "x" not in shell.user_ns


def test_one_line_says_whether_cells_run(shell, installed):
    _, captured = run(shell, "%needs ray")
    assert captured.stdout.count("\n") == 1
    assert ("every cell runs" if installed else "pip install 'sparsekit[dist]'") in captured.stdout


def test_an_error_of_a_cell_is_an_error(shell, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    result, _ = run(shell, "%%needs ray\n\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)


@pytest.mark.parametrize("installed", [False], indirect=True)
@pytest.mark.parametrize("spoil", ["edited", "cleared", "broken", "absent"])
def test_a_cell_without_a_saved_output_says_so(shell, installed, tmp_path, spoil):
    path = tmp_path / "course" / "a.ipynb"
    write(path, OUTPUTS, None if spoil == "cleared" else 1, CELL + "0" if spoil == "edited" else CELL)
    if spoil == "broken":
        path.write_text(path.read_text()[:50])
    if spoil == "absent":
        path.unlink()
    _, captured = run(shell, CELL)
    assert captured.stdout == "This cell needs Ray, and no saved notebook has an output of it.\n"


@pytest.mark.parametrize("installed", [False], indirect=True)
def test_the_running_notebook_comes_before_its_neighbours(shell, installed, tmp_path, monkeypatch):
    write(tmp_path / "course" / "a.ipynb", OUTPUTS)
    running = tmp_path / "running.ipynb"
    write(running, [{"output_type": "stream", "name": "stdout", "text": "mine\n"}])
    monkeypatch.setenv("JPY_SESSION_NAME", str(running))
    assert run(shell, CELL)[1].stdout == "mine\n"


@pytest.mark.parametrize("package", saved.PACKAGES)
def test_every_package_has_its_extra(shell, monkeypatch, package):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    _, captured = run(shell, f"%needs {package}")
    extra = re.search(r"pip install 'sparsekit\[(\w+)\]'", captured.stdout)[1]
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert any(one.startswith(package) for one in options[extra])


@pytest.mark.parametrize("installed", [False], indirect=True)
def test_where_a_package_is_required_no_cell_is_left_out(shell, installed, tmp_path, monkeypatch):
    write(tmp_path / "course" / "a.ipynb", OUTPUTS)
    monkeypatch.setenv("SPARSEKIT_REQUIRE_RAY", "1")
    result, _ = run(shell, CELL)
    assert isinstance(result.error_in_exec, MissingPackageError)


def test_another_package_is_refused(shell):
    result, _ = run(shell, "%%needs rays\n1")
    assert isinstance(result.error_in_exec, UnknownNameError)
    assert "ray" in str(result.error_in_exec)
