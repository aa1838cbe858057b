"""Example inputs for the test sweep: pairs of (list of dense numpy arrays, attributes)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..base.types import Array

#: Calls of an operator: its inputs and its attributes.  Any: inputs are arrays or sparse stores, and each operator has attributes
#: of its own.
Samples = list[tuple[list[Any], dict[str, Any]]]


def grid(rows: int = 4, columns: int = 5, seed: int = 0, low: float = -2.0, high: float = 2.0) -> Array:
    """A float32 matrix, about half zeros, with an all-zero row and column."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(low, high, (rows, columns)).astype(np.float32)
    values[rng.random((rows, columns)) < 0.4] = 0
    if rows > 1:
        values[rows // 2] = 0
        values[:, columns // 2] = 0
    return values


def one(low: float = -2.0, high: float = 2.0) -> Callable[[], Samples]:
    """One matrix with values from low to high."""
    return lambda: [([grid(low=low, high=high)], {})]


def pair(*shapes: tuple[int, int], low: float = -2.0) -> Callable[[], Samples]:
    """Two matrices, by default of one shape; with ``low`` above zero the second has no zeros, to divide by."""
    first, second = shapes or ((4, 5), (4, 5))

    def make() -> Samples:
        right = grid(*second, seed=1, low=low)
        return [([grid(*first), np.where(right == 0, np.float32(low), right) if low > 0 else right], {})]

    return make


def scalars(*values: float, low: float = -2.0, high: float = 2.0) -> Callable[[], Samples]:
    """One matrix with each of several scalars."""
    return lambda: [([grid(low=low, high=high)], {"scalar": value}) for value in values]


def matmul() -> Samples:
    """Every transposition and hint of a product of (4, 5) and (5, 3)."""
    cases: Samples = []
    for turn_left in (False, True):
        for turn_right in (False, True):
            for hint in (None, "default", "row_sparse", "csr"):
                left, right = grid(4, 5), grid(5, 3, seed=1)
                cases.append(([left.T.copy() if turn_left else left, right.T.copy() if turn_right else right],
                              {"transpose_a": turn_left, "transpose_b": turn_right, "forward_stype": hint}))
    return cases
