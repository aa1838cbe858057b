"""macOS and Windows, as far as Linux can show them: what these systems lack is hidden (``lacking/sitecustomize.py``)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.base import platform

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SYSTEMS = ("macos", "windows")
#: macOS lacks what Windows lacks, but for a few functions of os.
WINDOWS_FIRST = ("windows", pytest.param("macos", marks=pytest.mark.thorough))


def ran(system: str, folder: Path, *command: str) -> str:
    """What a Python program prints where a system's peculiarities hold; it must succeed, and leave no files in its folder."""
    environment = {**os.environ, "SPARSEKIT_SYSTEM": system, "IPYTHONDIR": str(folder / "ipython"), "MPLBACKEND": "agg",
                   "PYTHONPATH": os.pathsep.join([str(HERE / "lacking"), str(ROOT)])}
    work = folder / "work"
    work.mkdir()
    done = subprocess.run([sys.executable, *command], cwd=work, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_a_system_lacks_is_hidden(system, tmp_path):
    program = ("import os, signal\n"
               "try: os.open('/proc/self/statm', 0)\n"
               "except FileNotFoundError: print('no /proc')\n"
               "print(*[name for name in ('memfd_create', 'fork', 'geteuid') if hasattr(os, name)], hasattr(signal, 'SIGALRM'))\n"
               "with open('held', 'w') as file:\n"
               "    try: os.replace('held', 'other')\n"
               "    except PermissionError: print('held')\n")
    there = {"macos": "fork geteuid True\n", "windows": "False\nheld\n"}
    assert ran(system, tmp_path, "-c", program) == "no /proc\n" + there[system]


@pytest.mark.parametrize("system", WINDOWS_FIRST)
def test_what_a_learner_does(system, tmp_path):
    said = ran(system, tmp_path, str(HERE / "program.py"))
    assert said.split() == ["arrays", "loader", "training", "forgotten_row", "classifier"]


@pytest.mark.parametrize("system", WINDOWS_FIRST)
def test_the_demo(system, tmp_path):
    command = ("-m", "sparsekit", "demo", "--quick", "--batches", "3", "--epochs", "1", "--output", "report")
    assert "report.html" in ran(system, tmp_path, *command)
    assert (tmp_path / "work" / "report" / "report.html").stat().st_size > 10_000


NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("[01]*.ipynb") if path.name[:2] not in ("12", "14"))


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name[:2] == "00" else pytest.mark.thorough)
                                  for name in NOTEBOOKS])
def test_the_code_of_a_notebook(name, tmp_path):
    """12 needs Ray and 14 PyTorch, which have their own word on where they run."""
    shutil.copytree(ROOT / "profiles" / "variants", tmp_path / "profiles" / "variants")  # which 08 reads
    ran("windows", tmp_path, str(HERE / "cells.py"), str(ROOT / "notebooks" / name))


def test_many_machines_say_which_systems_they_need(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(mx.base.UnsupportedError, match="needs Linux or macOS"):
        mx.dist.run(print)


def test_memory_of_this_process_by_each_way(monkeypatch):
    pytest.importorskip("psutil")
    held, peak = platform.process_bytes(), platform.process_peak_bytes()
    (by_psutil,) = platform.by_psutil("memory_info", "rss")
    assert abs(by_psutil - held) < 50e6
    (available,) = platform.by_psutil("virtual_memory", "available")
    assert available > 1e6
    assert platform.by_psutil("memory_info", "no_such_field") == []

    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    assert 0.5 < platform.process_peak_bytes() / peak < 2
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert platform.process_peak_bytes() is None
    monkeypatch.setattr("os.open", missing)
    assert platform.process_bytes() is None


def test_files_are_locked_by_one(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with open(path, "wb") as first, open(path, "wb") as second:
        platform.try_lock(first.fileno())
        with pytest.raises(BlockingIOError):
            platform.try_lock(second.fileno())
