"""Functions of elements that one launch computes, where cupy would take several; they are in ``formulas.cu``.

A rule of an operator says both: numpy's calls, which tables note too, and the name of the function here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .launch import Kernel, xp

if TYPE_CHECKING:
    from ...base.types import Array, DType

__all__ = ["FORMULAS", "compute"]

FORMULAS = {name: Kernel(name, f"{'data ' * arrays}data* count") for name, arrays in {
    "sigmoid": 1, "sigmoid_slope": 2, "relu_slope": 2, "softplus": 1, "cross_entropy": 2, "cross_entropy_slope": 3}.items()}


def compute(name: str, dtype: DType, *arrays: Array) -> Array:
    """The function of arrays of one shape, as an array of this type."""
    shape = arrays[0].shape
    for array in arrays[1:]:
        assert array.shape == shape, "the operator has checked it"
    out: Array = xp().empty(shape, dtype)
    FORMULAS[name](out.size, *arrays, out, out.size)
    return out
