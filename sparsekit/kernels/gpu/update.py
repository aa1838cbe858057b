"""Optimizer steps over rows, a thread an element, by the formulas of ``kernels/cpu/update.py``.

A step is ``step(weight, data, indices, moves, numbers, *states)``, as there; the numbers lie in ordinary memory and travel with
the launch, or on the device, as float64, for work that is captured.
"""

from __future__ import annotations

import functools

import numpy as np

from ...base.written import written
from ..cpu import update as steps
from .launch import Kernel, xp

__all__ = [
    "over_rows",
    "update_dense",
    "update_other_rows",
    "update_rows",
]


@functools.cache
def _first(_device):
    return xp().zeros(1, np.int64)


def update_rows(step, weight, data, indices, numbers, states):
    """Run a step on the rows ``indices``, whose gradients are the rows of ``data``.

    A row outside the weight is left out: to raise an error would mean to wait for the device.
    """
    step(weight, data, indices, 1, numbers, *states)
    written.mark()


def update_dense(step, weight, gradient, numbers, states):
    """Run a step on arrays that have been flattened to one row each."""
    step(weight, gradient, _first(weight.device.id), 1, numbers, *states)
    written.mark()


def update_other_rows(step, weight, indices, numbers, states):
    """Run a step with a gradient of zero on the rows that are not in ``indices``."""
    k = xp()
    absent = k.ones(weight.shape[0], np.bool_)
    absent[indices] = False
    step(weight, k.zeros((1, weight.shape[1]), weight.dtype), k.flatnonzero(absent), 0, numbers, *states)


def over_rows(step):
    """Make of a step of ``kernels/cpu`` the one that starts the device function of its formula."""
    states = step.formula.__code__.co_argcount - 3
    kernel = Kernel(step.__name__, f"data* data index {'data* ' * states}count count count count numbers")

    @functools.wraps(step.formula)
    def run(weight, data, indices, moves, numbers, *states):
        count = indices.shape[0]
        kernel(count * weight.shape[1], weight, data, indices, *states, count, *weight.shape, moves,
               numbers.astype(np.float64, copy=False) if isinstance(numbers, xp().ndarray) else numbers.tolist())
        return count

    return run


globals().update({name: over_rows(step) for name, step in steps.with_formulas(steps).items()})
