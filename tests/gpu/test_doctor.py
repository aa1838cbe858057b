"""What the extras bring, and what ``sparsekit doctor`` says where cupy is missing, old, without CUDA's libraries, or well."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from sparsekit import doctor

ROOT = Path(__file__).parents[2]

#: A package that looks like cupy as far as the doctor asks; the words in braces differ.
CUPY = """
__version__ = "{version}"
class Array:
    def sum(self): return self
    def dot(self, other): return self
    def item(self): return 0
    def get(self): return self
def arange(count): return Array()
def ones(shape): return Array()
def argsort(array): return Array()
class RawKernel:
    def __init__(self, text, name): pass
    def __call__(self, *arguments): {launch}
class cuda:
    class runtime:
        getDeviceCount = staticmethod(lambda: 2)
        getDeviceProperties = staticmethod(lambda number: {{"name": b"a card"}})
        runtimeGetVersion = staticmethod(lambda: 13000)
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with or without a driver, on which a package named cupy is installed or not."""

    def make(driver, version=None, launch="pass"):
        which = shutil.which
        monkeypatch.setattr(doctor.shutil, "which", lambda name: ("/usr/bin/nvidia-smi" if driver else None)
                            if name == "nvidia-smi" else which(name))
        found = doctor.importlib.util.find_spec
        monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: (version and found("json"))
                            if name == "cupy" else found(name))
        if version:
            (tmp_path / "cupy.py").write_text(CUPY.format(version=version, launch=launch), encoding="utf-8")
            monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
        return doctor.gpu_finding()

    return make


def extras():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def named(text):
    """The extras that a text has the user install."""
    return set(re.findall(r"cuda\d+\b", text))


def test_the_extras_bring_cudas_libraries_and_a_cupy_that_sorts_without_waiting():
    for version in (12, 13):
        assert extras()[f"cuda{version}"] == [f"cupy-cuda{version}x[ctk]>=14"]


def test_nothing_is_amiss_without_a_gpu(machine):
    assert machine(driver=False) == doctor.Finding("gpu", "none; everything runs on the CPU", "")


def test_a_driver_without_cupy_has_a_remedy(machine):
    found = machine(driver=True)
    assert "cupy is not installed" in found.value
    assert named(found.remedy) == {"cuda12", "cuda13"} <= set(extras())


@pytest.mark.parametrize(("version", "launch", "said"), [
    ("13.6.0", "pass", "cupy 13.6.0 is older than 14"),
    ("14.0.0", "raise RuntimeError('libnvrtc.so.13: cannot open shared object file')", "libnvrtc"),
])
def test_a_cupy_that_cannot_compute_has_a_remedy_for_machines_with_a_driver_alone(machine, version, launch, said):
    found = machine(True, version, launch)
    assert said in found.value
    assert "[ctk]" in found.remedy
    assert "version 14 or newer" in found.remedy
    assert named(found.remedy) == {"cuda12", "cuda13"} <= set(extras())


def test_a_gpu_that_computes_is_named(machine):
    assert machine(True, "14.0.0") == doctor.Finding("gpu", "2 x a card, CUDA 13, cupy 14.0.0", "")


def test_every_hint_names_extras_that_there_are():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "sparsekit").rglob("*.py")]
    found = {name for text in texts for line in text.splitlines() if "pip install" in line for name in named(line)}
    assert found == {"cuda12", "cuda13"}
