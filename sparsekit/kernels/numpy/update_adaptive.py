"""Optimizer steps with a learning rate for each element, by the formulas of ``kernels/cpu/update_adaptive.py``."""

from __future__ import annotations

import numpy as np

from ..cpu import update_adaptive as steps
from .arrays import kernel
from .update import _rows_inside, clipped, over_rows

__all__ = [
    "adadelta_step",
    "adagrad_step",
    "adam_step",
    "adamax_step",
    "adamw_step",
    "centered_rmsprop_step",
    "ftml_step",
    "ftrl_step",
    "group_adagrad_step",
    "lamb_step",
    "nadam_step",
    "rmsprop_step",
]

adam_step = over_rows(steps.adam_step)
adamw_step = over_rows(steps.adamw_step)
adamax_step = over_rows(steps.adamax_step)
nadam_step = over_rows(steps.nadam_step)
lamb_step = over_rows(steps.lamb_step)
adagrad_step = over_rows(steps.adagrad_step)
rmsprop_step = over_rows(steps.rmsprop_step)
centered_rmsprop_step = over_rows(steps.centered_rmsprop_step)
ftrl_step = over_rows(steps.ftrl_step)
ftml_step = over_rows(steps.ftml_step)
adadelta_step = over_rows(steps.adadelta_step)


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
