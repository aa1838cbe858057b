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
    "over_rows",
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
    if not indices.shape[0] or (indices.min() >= 0 and indices.max() < rows):
        return indices.shape[0]
    return int(np.argmax((indices < 0) | (indices >= rows)))


def _blocks(indices, width):
    """Where blocks of a weight's chosen rows are, and where these are among the rows of a gradient."""
    rows = max(1, BLOCK // max(width, 1))
    for start in range(0, indices.shape[0], rows):
        chosen = indices[start:start + rows]
        block = slice(start, start + chosen.shape[0])
        if chosen.shape[0] == 1:  # a slice copies nothing
            chosen = slice(int(chosen[0]), int(chosen[0]) + 1)
        if width <= BLOCK:
            yield chosen, block
        else:
            for left in range(0, width, BLOCK):
                columns = slice(left, left + BLOCK)
                yield (chosen, columns), (block, columns)


def over_rows(step):
    """Make a step on arrays of the step of ``kernels/cpu`` on elements: its formula, with numpy's functions in it."""
    formula = types.FunctionType(step.formula.__code__, dict(FOR_ARRAYS), step.__name__)

    @functools.wraps(step.formula)
    def run(weight, data, indices, moves, numbers, *states):
        count = _rows_inside(indices, weight.shape[0])
        factor, *n = numbers[:1 + step.numbers]
        rows = data if moves else np.broadcast_to(data, (count, data.shape[1]))
        for place, block in _blocks(indices[:count], weight.shape[1]):
            updated = formula(factor * rows[block], n, weight[place], *[state[place] for state in states])
            # The weight comes last: a new state may be the weight before, itself.
            for array, values in zip((*states, weight), (*updated[1:], updated[0]) if states else (updated,), strict=True):
                array[place] = values
        return count

    return kernel(run)


globals().update({name: over_rows(step) for name, step in steps.with_formulas(steps).items()})
