"""The operators that annotations say arrays and symbols have are those that tables give them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.ndarray.methods import METHODS

DECLARED = Path(mx.__file__).parent / "core" / "types.py"


def declared(name: str) -> set[str]:
    """Members of a class of ``core/types.py``."""
    module = ast.parse(DECLARED.read_text(encoding="utf-8"))
    found = next(node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)
    return {node.name if isinstance(node, ast.FunctionDef) else node.target.id for node in found.body
            if isinstance(node, ast.FunctionDef | ast.AnnAssign)}


def test_every_operator_of_the_table_is_declared():
    assert set(METHODS) <= declared("Tensor")


@pytest.mark.parametrize("holder", [mx.nd.NDArray, mx.sym.Symbol])
def test_what_is_declared_of_tensors_is_there(holder):
    only_of_arrays = {"shape", "stype"} if holder is mx.sym.Symbol else set()
    assert {name for name in declared("Tensor") if not hasattr(holder, name)} <= only_of_arrays


def test_what_is_declared_of_arrays_is_there():
    array = mx.nd.ones((2, 3))
    assert [name for name in sorted(declared("ArrayObject")) if not hasattr(array, name)] == []


def test_an_array_has_the_shape_and_the_type_that_it_says():
    array = mx.nd.ones((2, 3))
    assert array.shape == (2, 3)
    assert array.stype == "default"
