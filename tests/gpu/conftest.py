"""A machine without a GPU, made to look as if it had two."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside this one, which are no tests

import fake_cupy
import host

from sparsekit import kernels
from sparsekit.base.context import num_gpus
from sparsekit.core import device, hooks
from sparsekit.kernels.gpu import launch

REAL = num_gpus() > 0


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The device functions, compiled for the processor."""
    if host.COMPILER is None:
        pytest.skip("no C++ compiler is here that could check the device functions")
    return host.Library(tmp_path_factory.mktemp("device"))


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
    monkeypatch.setattr(launch, "WARP", 1)
    device._refuse_uploads.cache_clear()
    return fake_cupy.MODULE
