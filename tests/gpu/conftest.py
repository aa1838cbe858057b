"""A machine without a GPU, made to look as if it had two."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside this one, which are not tests

import capturing
import device_library
import fake_cupy
import simt

from sparsekit import kernels
from sparsekit.base.context import num_gpus
from sparsekit.core import hooks
from sparsekit.kernels.gpu import launch

REAL = num_gpus() > 0


@pytest.fixture(scope="session")
def machine(tmp_path_factory, pytestconfig):
    """What runs device functions; programs are compiled once for all processes, and kept for the runs that follow."""
    if simt.COMPILER is None:
        assert not os.environ.get("SPARSEKIT_REQUIRE_COMPILER"), "the GPU's kernels need g++, which is not installed"
        pytest.skip("the GPU's kernels are run by a C++ compiler, and none is here: install g++")
    cache = getattr(pytestconfig, "cache", None)
    return simt.Machine(tmp_path_factory.mktemp("device") if cache is None else cache.mkdir("device"))


@pytest.fixture(scope="session")
def compiled(machine):
    """The device functions, for the types that most tests use: a function compiled alone takes a third of all of a type."""
    library = simt.Library(machine)
    library.prepare([("float32", "int64"), ("float32", "int32"), ("float64", "int64")])
    library.prepare([("float16", "int64")], device_library.suited("float16"))
    return library


@pytest.fixture
def stand_in(monkeypatch, compiled):
    """cupy's stand-in in cupy's place; gives its module.  Where there is a GPU, plans that are kept would mix the two."""
    if REAL:
        pytest.skip("there is a GPU here, on which test_hardware.py checks the same")
    for name, module in fake_cupy.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(kernels, "_loaded", {"cpu": kernels.for_device("cpu")})
    monkeypatch.setattr(hooks, "device_memory", {})
    monkeypatch.setattr(hooks, "device_waits", {})
    monkeypatch.setattr(launch, "_compiled", compiled.compiled)
    monkeypatch.setattr(capturing.Capture, "current", None)  # a test that fails in a capture does not fail those after it
    return fake_cupy.MODULE
