"""What dense optimizer steps without a gradient would have made of rows that an exact lazy update left alone.

Each operator gets a row_sparse array, float64, that stores the rows to bring up to date, and for each row the numbers of the
steps that it missed.  ``optimizer.missed`` computes these numbers.  Sums are made in float64 and rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...core import infer
from ...core.op import Op, Visits
from ...storage import RowSparse
from .. import samples
from .update import STORES, first_type, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...base.types import Array, Attrs
    from ...core.cost import Meta
    from ...kernels.types import Kernels
    from ...storage.types import Weight


def _cost(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """Four operations for each element of the rows."""
    dense = 4 * math.prod(inputs[0]["shape"])
    return dense * inputs[-1]["nnz"] // max(1, math.prod(inputs[-1]["shape"])), dense


class _CatchUp(Op):
    """The record of an operator on the rows that its last input stores."""

    def visits(self, attrs: Attrs, stypes: Sequence[str], training: bool) -> Visits:
        last = len(stypes) - 1
        return Visits({**dict.fromkeys(range(last), last), last: None}, dict.fromkeys(range(last), last))


def _declare(name: str, states: int, numbers: int, attrs: Attrs, doc: str, advance: Callable[..., tuple[Array, ...]]) -> Op:
    """Declare ``name(weight, *states, numbers)``; ``advance(numbers, attrs, *values)`` gives the rows' new values."""
    names = ["weight", *["first", "second"][:states], "numbers"]

    def sample() -> samples.Samples:
        arrays = [np.abs(samples.grid(seed=seed)) for seed in range(1 + states)]
        return [([*arrays, np.ones((arrays[0].shape[0], numbers))], {})]

    op = _CatchUp(name, " ".join(names), attrs=attrs, shape=infer.unchanged, dtype=first_type, lane="update", cost=_cost,
                  mutates=tuple(range(1 + states)), listed=False, sample=sample, doc=doc)

    def run(k: Kernels, weight: Weight, *arguments: *tuple[*tuple[Weight, ...], RowSparse, Attrs]) -> Weight:
        *held, factors, call_attrs = arguments
        rows = factors.indices
        arrays = [rows_of(k, store) for store in (weight, *held)]
        values = [array[rows].astype(np.float64).reshape(rows.shape[0], -1) for array in arrays]
        for array, new in zip(arrays, advance(factors.data, call_attrs, *values), strict=True):
            array[rows] = new.reshape(rows.shape[0], *array.shape[1:])
        return weight

    for stype in ("default", "row_sparse"):
        op.forward(", ".join([stype, *[STORES] * states, "row_sparse"]) + f" -> {stype}")(run)
    return op


scale_catch_up = _declare(
    "_scale_catch_up", 0, 1, {}, "Rows of a weight times a number for each row: the weight decay of the missed steps.",
    lambda n, attrs, weight: (weight * n[:, :1],))

momentum_catch_up = _declare(
    "_momentum_catch_up", 1, 4, {}, "Rows of weight and momentum times a matrix of two rows for each row.",
    lambda n, attrs, weight, momentum: (n[:, 0:1] * weight + n[:, 1:2] * momentum, n[:, 2:3] * weight + n[:, 3:4] * momentum))


def _by_series(n: Array, attrs: Attrs, weight: Array, mean: Array, var: Array) -> tuple[Array, ...]:
    """The moved weights by a sum over powers of the share of ``sqrt(var)`` in the divisor.

    The columns of ``n`` are the decay, the factors of mean and var, and the sums of the series.
    """
    root = np.sqrt(var)
    share = root / (root + attrs["epsilon"])
    total = np.zeros_like(weight)
    for column in range(n.shape[1] - 1, 2, -1):
        total = total * share + n[:, column:column + 1]
    return n[:, 0:1] * weight - mean / (root + attrs["epsilon"]) * total, n[:, 1:2] * mean, n[:, 2:3] * var


adam_decay_catch_up = _declare(
    "_adam_decay_catch_up", 2, 4, {"epsilon": 1e-8}, "Rows of weight, mean and var after AdamW's steps without a gradient.",
    _by_series)


def _by_steps(n: Array, attrs: Attrs, weight: Array, mean: Array, var: Array) -> tuple[Array, ...]:
    """The moved weights step by step; ``n`` has the rates of all steps and, behind them, their decays: zero before the first."""
    steps = n.shape[1] // 3
    for step in range(steps):
        taken = n[:, step:step + 1] != 0
        mean, var = np.where(taken, attrs["beta1"] * mean, mean), np.where(taken, attrs["beta2"] * var, var)
        moved = n[:, steps + step:steps + step + 1] * mean / (np.sqrt(var) + attrs["epsilon"])
        weight = weight - (moved + n[:, 2 * steps + step:2 * steps + step + 1] * weight)
    return weight, mean, var


steps_catch_up = _declare(
    "_steps_catch_up", 2, 3, {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    "``_adam_decay_catch_up`` one step after the other, for decay rates whose series does not converge fast.", _by_steps)
