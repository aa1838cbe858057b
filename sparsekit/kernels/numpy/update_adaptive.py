"""Optimizer steps with a learning rate for each element, by the formulas of ``kernels/cpu/update_adaptive.py``."""

from __future__ import annotations

import numpy as np

from ..cpu import update_adaptive as steps
from ..cpu.update import with_formulas
from .arrays import kernel
from .update import _rows_inside, clipped, over_rows

__all__ = ["group_adagrad_step"]

globals().update({name: over_rows(step) for name, step in with_formulas(steps).items()})


@kernel
def group_adagrad_step(weight, data, indices, moves, numbers, history):
    """``adagrad_step`` with one history a row, (rows, 1), to which the mean of its ``g * g`` is added."""
    rescale, bound, rate, epsilon = numbers[:4]
    count = _rows_inside(indices, weight.shape[0])
    rows = indices[:count]
    gradient = clipped(rescale * (data[:count] if moves else data), bound)
    squares = np.cumsum(gradient * gradient, axis=1, dtype=gradient.dtype)  # adds up from the left
    total = squares[:, -1:] if gradient.shape[1] else gradient.dtype.type(0)
    history[rows] += total / gradient.dtype.type(max(gradient.shape[1], 1))
    weight[rows] -= rate / np.sqrt(history[rows] + epsilon) * gradient
    return count
