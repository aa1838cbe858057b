"""The solutions that notebooks show pass their checks, and known misconceptions are answered by their sentence."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import infer
from sparsekit.core.op import Op
from sparsekit.course.checks import CHECKS
from sparsekit.course.questions import questions
from sparsekit.ops import samples
from sparsekit.ops.elementwise.unary import on_data

from .notebooks import NAMES, cells, code

EXERCISES = [(name, key) for name in NAMES for key in questions(name)["exercise"]]


def context(name: str) -> dict[str, Any]:
    """Names of a notebook that its solutions use, small and without running it."""
    names: dict[str, Any] = {"mx": mx, "np": np, "Op": Op, "infer": infer, "samples": samples, "on_data": on_data,
                             "autograd": mx.autograd, "optimizers": mx.optimizer}
    if name == "01_csr":
        names["x"] = mx.nd.sparse.csr_matrix([[7, 0, 8, 0], [0, 0, 0, 0], [0, 9, 0, 0]])
        names["means"] = names["x"].mean(axis=0)
    if name == "02_row_sparse":
        gradient = mx.nd.sparse.row_sparse_array((np.ones((2, 2)), [1, 4]), shape=(5, 2))
        names["weight"] = SimpleNamespace(grad=gradient)
    if name == "04_train_symbol_module":
        data = mx.nd.sparse.csr_matrix(([1, 1, 1], ([0, 1, 1], [5, 5, 9])), shape=(2, 20))
        names["batch"] = SimpleNamespace(data=[data])
        names["gradients"] = {"declared": mx.nd.sparse.row_sparse_array((np.ones((2, 1)), [5, 9]), shape=(20, 1))}
    if name == "08_profiling":
        with mx.Profiler() as names["puzzle"]:
            (mx.nd.ones((2, 2)).tostype("csr") + 0).tostype("default")
        layer = mx.gluon.nn.Embedding(9, 2, sparse_grad=True)
        layer.initialize()
        with mx.Profiler() as names["after"], mx.autograd.record():
            layer(mx.nd.array([1, 2], dtype="int32")).sum().backward()
        names.update(TEXTS=64, STORED=40, fast=[[None, layer]])
    names["rows"] = 970
    for cell in code(name):
        for function in re.findall(r"^def (?:three_steps|follow|sweep)\(.*?(?=^\S|\Z)", cell.source, re.MULTILINE | re.DOTALL):
            exec(function, names)
    return names


def solution(name: str, key: str) -> str:
    """The call of ``mx.check`` with the solution that the notebook shows."""
    text = "\n".join(cell.source for cell in cells(name) if cell.cell_type == "markdown")
    (call,) = (cell.source for cell in code(name) if f"mx.check('{key}'" in cell.source)
    call = call.partition("   #")[0].splitlines()[-1]
    if shown := re.findall(rf"`(mx\.check\('{key}'.*?\))`", text):
        return shown[0]
    instead = {"csr_bytes": "300 * (8 + 8) + 101 * 8", "row_sparse_bytes": "50 * (8 * 8 + 8)", "gradient_bound": "1000",
               "module_rows": "len(np.unique(batch.data[0].indices.asnumpy()))", "most_rows": "TEXTS * STORED"}
    return call.replace("...", instead[key]) if key in instead else call


@pytest.mark.parametrize(("name", "key"), EXERCISES, ids=[key for _, key in EXERCISES])
def test_a_solution_is_right(name, key, capsys):
    names = context(name)
    for cell in cells(name):
        for block in re.findall(r"```python\n(def .*?)```", cell.source, re.DOTALL) if cell.cell_type == "markdown" else ():
            exec(block, names)
    exec(solution(name, key), names)
    assert capsys.readouterr().out.splitlines()[-1].startswith("Right. "), solution(name, key)


@pytest.mark.parametrize(("name", "key"), EXERCISES, ids=[key for _, key in EXERCISES])
def test_three_dots_are_open(name, key, capsys):
    (cell,) = (cell.source for cell in code(name) if f"mx.check('{key}'" in cell.source)
    names = {**context(name), **dict.fromkeys(("gradient_bytes", "touched_rows", "candidate_rows", "interactions", "fallback",
                                               "distance", "catch_up", "declare_soft_sign"), ...)}
    exec(cell, names)
    assert capsys.readouterr().out.startswith("Open. ")


SIMPLE = [(name, key) for name, key in EXERCISES if key not in CHECKS]


@pytest.mark.parametrize(("name", "key"), SIMPLE, ids=[key for _, key in SIMPLE])
def test_a_misconception_gets_its_sentence(name, key, capsys):
    for said, why in questions(name)["exercise"][key]["wrong"]:
        mx.check(key, said)
        assert why in capsys.readouterr().out
