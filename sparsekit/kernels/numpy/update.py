"""Optimizer steps over rows, by the formulas of ``kernels/cpu/update.py``, which describes the arguments of a step."""

from __future__ import annotations

import functools
import types

import numpy as np

from ..cpu import update as steps
from ..cpu.update import update_dense, update_other_rows, update_rows
from .arrays import kernel

__all__ = [
    "clipped",
    "compensated_momentum_step",
    "compensated_step",
    "momentum_step",
    "nesterov_step",
    "over_rows",
    "sgd_step",
    "sign_momentum_step",
    "sign_step",
    "update_dense",
    "update_other_rows",
    "update_rows",
]

#: Elements that are worked on at once, which the second cache holds with the states and what is computed between.
BLOCK = 1 << 14


def clipped(value, bound):
    """The values brought between ``-bound`` and ``bound``; nan stays nan."""
    return value if bound == np.inf else np.clip(value, -bound, bound)


def _zero_if(condition, values):
    return np.where(condition, values.dtype.type(0), values)


def _larger(values, others):
    return np.where(values > others, values, others)


#: What the names in a formula mean for arrays.
FOR_ARRAYS = {"_larger": _larger, "_zero_if": _zero_if, "clipped": clipped, "math": np, "sign_of": np.sign}


def _rows_inside(indices, rows):
    """How many indices there are before the first that is outside."""
    outside = np.flatnonzero((indices < 0) | (indices >= rows))
    return int(outside[0]) if outside.shape[0] else indices.shape[0]


def over_rows(step):
    """Make a step on arrays of the step of ``kernels/cpu`` on elements: its formula, with numpy's functions in it."""
    formula = types.FunctionType(step.formula.__code__, dict(FOR_ARRAYS), step.__name__)

    @functools.wraps(step.formula)
    def run(weight, data, indices, moves, numbers, *states):
        count, width = _rows_inside(indices, weight.shape[0]), weight.shape[1]
        factor, *n = numbers[:1 + step.numbers]
        rows = max(1, BLOCK // max(width, 1))
        for start in range(0, count, rows):
            chosen = indices[start:min(start + rows, count)]
            for left in range(0, width, BLOCK):
                place = chosen, slice(left, left + BLOCK)
                given = data[start:start + chosen.shape[0], place[1]] if moves else data[:, place[1]]
                made = formula(factor * given, n, weight[place], *[state[place] for state in states])
                for array, values in zip((weight, *states), made if states else (made,), strict=True):
                    array[place] = values
        return count

    return kernel(run)


sgd_step = over_rows(steps.sgd_step)
momentum_step = over_rows(steps.momentum_step)
nesterov_step = over_rows(steps.nesterov_step)
sign_step = over_rows(steps.sign_step)
sign_momentum_step = over_rows(steps.sign_momentum_step)
compensated_step = over_rows(steps.compensated_step)
compensated_momentum_step = over_rows(steps.compensated_momentum_step)
