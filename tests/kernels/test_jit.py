"""Kernels as the rest of the library meets them: what a profile says of compiling them, what they leave on disk, warming."""

from importlib import import_module

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.kernels import FILES, cpu, kernels_of, warm
from sparsekit.kernels.cpu import kept, update
from sparsekit.kernels.cpu.jit import Kernel, kernel
from sparsekit.kernels.cpu.warm import BY_TYPE

pytestmark = pytest.mark.compiled


def fresh_kernels():
    """A kernel and one that it calls, neither of which has been compiled."""

    @kernel(cache=False)
    def _doubled(value):
        return value + value

    @kernel(cache=False)
    def _doubled_all(values):
        for place in range(len(values)):
            values[place] = _doubled(values[place])

    return _doubled_all


def test_a_profile_tells_each_compilation_once_with_its_time():
    doubled_all, values = fresh_kernels(), np.arange(4.0)
    fresh_kernels()(values.copy())  # imports numba
    with mx.Profiler() as prof:
        doubled_all(values)
    compiled = [record for record in prof.records if record["lane"] == "compile"]
    assert sorted(record["name"] for record in compiled) == ["compile _doubled", "compile _doubled_all"]
    times = {record["name"]: record["duration"] for record in compiled}
    assert times["compile _doubled_all"] > times["compile _doubled"] > 0
    assert values.tolist() == [0, 2, 4, 6]
    with mx.Profiler() as prof:
        doubled_all(values)
        doubled_all(values.astype(np.int64))
    assert sorted(record["name"] for record in prof.records) == ["compile _doubled", "compile _doubled_all"]


def test_a_kernel_that_is_not_cached_needs_no_file_and_leaves_none(tmp_path, monkeypatch):
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    doubled_all = fresh_kernels()
    doubled_all(np.arange(4.0))
    assert not list(tmp_path.rglob("*.nb*"))


def test_warming_calls_every_kernel_once_and_says_how_many(monkeypatch):
    compiled = {file: [name for name in kernels_of(file)
                       if isinstance(vars(import_module(f"{cpu.__name__}.{file}"))[name], Kernel)] for file in FILES}
    called = []
    monkeypatch.setattr(f"{cpu.__name__}.warm.kernels_of", compiled.get)
    monkeypatch.setattr(Kernel, "__call__", lambda self, *_: called.append(self.py_func.__name__))
    by_type = {(file, name) for file, names in BY_TYPE.items() for name in names}
    assert warm() - len(by_type) == len(called) == len(set(called))
    assert all(vars(import_module(f"{cpu.__name__}.{file}"))[name].dispatcher.overloads for file, name in by_type)
    assert {name for names in compiled.values() for name in names} <= set(called)


def test_kept_code_is_for_the_constants_that_it_was_compiled_with(monkeypatch):
    from numba.core.registry import cpu_target

    def stamp():
        return kept.Kept(update.sgd_step.shared.py_func)._entry((), cpu_target.target_context.codegen())

    before = stamp()
    assert stamp() == before
    monkeypatch.setattr(update, "DENSE_GRAIN", 4)
    assert stamp()[0] == before[0]
    assert stamp()[1] != before[1]
