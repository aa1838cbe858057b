"""Floating-point operations: those useful, and those a dense computation would take.

A cost function gets the attributes and the inputs and outputs as the plain descriptions of the
profiler's records (keys ``stype``, ``shape``, ``nnz``).
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["dot", "elementwise", "fully_connected", "none", "reduction", "update"]

Meta = dict[str, Any]


def none(attrs: dict[str, Any], inputs: list[Meta], outputs: list[Meta]) -> tuple[int, int]:
    """Nothing is computed, only moved."""
    return 0, 0


def elementwise(attrs: dict[str, Any], inputs: list[Meta], outputs: list[Meta]) -> tuple[int, int]:
    """One operation per stored value of the result."""
    return sum(out["nnz"] for out in outputs), sum(math.prod(out["shape"]) for out in outputs)


def reduction(attrs: dict[str, Any], inputs: list[Meta], outputs: list[Meta]) -> tuple[int, int]:
    """One operation per stored value of the input."""
    return inputs[0]["nnz"], math.prod(inputs[0]["shape"])


def dot(attrs: dict[str, Any], inputs: list[Meta], outputs: list[Meta]) -> tuple[int, int]:
    """A multiplication and an addition for each stored value of the sparser side and each partner."""
    left, right = inputs[:2]
    inner = left["shape"][0 if attrs.get("transpose_a") else -1]
    dense = 2 * inner * math.prod(outputs[0]["shape"])
    size_left, size_right = math.prod(left["shape"]), math.prod(right["shape"])
    share = 1.0
    if left["stype"] != "default":
        share *= left["nnz"] / size_left if size_left else 0.0
    if right["stype"] != "default":
        share *= right["nnz"] / size_right if size_right else 0.0
    return round(dense * share), dense


def fully_connected(attrs: dict[str, Any], inputs: list[Meta], outputs: list[Meta]) -> tuple[int, int]:
    """As ``dot``, plus the bias."""
    useful, dense = dot({"transpose_a": False}, [{**inputs[0], "shape": [1, inputs[1]["shape"][-1]]
                        if not inputs[0]["shape"] else inputs[0]["shape"]}, inputs[1]], outputs)
    bias = math.prod(outputs[0]["shape"]) if len(inputs) > 2 else 0
    return useful + bias, dense + bias


def update(attrs: dict[str, Any], inputs: list[Meta], outputs: list[Meta]) -> tuple[int, int]:
    """Four operations for each stored value of the gradient, which is the second input."""
    return 4 * inputs[1]["nnz"], 4 * math.prod(inputs[0]["shape"])
