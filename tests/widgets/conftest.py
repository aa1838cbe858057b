"""A made-up training run of three layers on sparse data, in the form in which the profiler gives one."""

from __future__ import annotations

import random
from typing import Any

import pytest

FEATURES, UNITS = 1_000_000, (128, 8, 1)


def array(stype: str, shape: tuple[int, ...], stored: int = 0) -> dict[str, Any]:
    size = 1
    for axis in shape:
        size *= axis
    components = {
        "default": {"data": 4 * size},
        "csr": {"data": 4 * stored, "indices": 8 * stored, "indptr": 8 * (shape[0] + 1)},
        "row_sparse": {"data": 4 * stored * shape[-1], "indices": 8 * stored},
    }[stype]
    nnz = {"default": size, "csr": stored, "row_sparse": stored * shape[-1]}[stype]
    described = {
        "stype": stype,
        "shape": list(shape),
        "dtype": "float32",
        "nnz": nnz,
        "density": nnz / size,
        "index_dtype": None if stype == "default" else "int64",
        "bytes": sum(components.values()),
        "components": components,
    }
    return {**described, "rows": stored} if stype == "row_sparse" else described


class Run:
    """Appends records one after another."""

    def __init__(self, dense: bool, seed: int) -> None:
        self.dense, self.random, self.time = dense, random.Random(seed), 0.0
        self.records: list[dict[str, Any]] = []

    def op(self, name: str, lane: str, duration: float, layer: str = "", arrays: Any = ((), ()), **more: Any) -> None:
        duration *= self.random.uniform(0.9, 1.2)
        inputs, outputs = arrays
        record = {
            "name": name,
            "kind": "op",
            "lane": lane,
            "start": round(self.time, 3),
            "duration": round(duration, 3),
            "self": round(duration, 3),
            "depth": 0,
            "layer": layer,
            "node": None,
            "attrs": {},
            "fallback": False,
            "inputs": list(inputs),
            "outputs": list(outputs),
            "bytes": sum(a["bytes"] for a in (*inputs, *outputs)),
            "flops": 0,
            "dense_flops": 0,
            "line": "train.py:12",
            "thread": 1,
        }
        self.records.append({**record, **more})
        self.time += duration + 3

    def step(self, number: int) -> None:
        batch = array("csr", (10, FEATURES), 100)
        self.op("LibSVMIter.next", "io", 90, arrays=((), (batch,)), kind="span")
        for i, units in enumerate(UNITS):
            out = array("default", (10, units))
            fallback = self.dense and i == 0
            self.op("dot", "forward", 9000 if fallback else 40, f"dense{i}", ((batch,), (out,)),
                    node=10 * number + i, fallback=fallback, flops=25600, dense_flops=2560000000)  # fmt: skip
            self.op("broadcast_add", "forward", 11, f"dense{i}", ((out,), (out,)))
        rows = array("row_sparse", (FEATURES, 128), 114)
        gradient = array("default", (FEATURES, 128)) if self.dense else rows
        for i in reversed(range(3)):
            self.op("dot", "backward", (88000 if self.dense else 300) if i == 0 else 20, f"dense{i}",
                    ((batch,), (gradient,)), node=10 * number + i)  # fmt: skip
            self.op("sgd_update", "update", (61000 if self.dense else 150) if i == 0 else 10, f"dense{i}")


def run(dense: bool = False, steps: int = 10, seed: int = 0) -> list[dict[str, Any]]:
    made = Run(dense, seed)
    made.op("compile csr_dot_dense", "compile", 40000, kind="span")
    for number in range(steps):
        made.step(number)
    return made.records


@pytest.fixture
def training():
    """Function that gives records: ``training(dense=False, steps=10)``."""
    return run


@pytest.fixture
def records() -> list[dict[str, Any]]:
    return run()


#: What a careless or hostile program might call an operator, a layer or a file.
HOSTILE = "</script><script>alert(1)</script>\"'&<img src=x onerror=alert(1)>\x00\ud800]]>"


@pytest.fixture
def hostile() -> str:
    return HOSTILE
