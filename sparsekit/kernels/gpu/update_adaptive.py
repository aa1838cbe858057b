"""Optimizer steps with a learning rate for each element, by the formulas of ``kernels/cpu/update_adaptive.py``."""

from __future__ import annotations

from ..cpu import update_adaptive as steps
from ..cpu.update import with_formulas
from .launch import Kernel, lanes_for
from .update import over_rows

__all__ = ["group_adagrad_step"]

_group_adagrad_step = Kernel("group_adagrad_step", "data* data index data* count count count count count numbers")

globals().update({name: over_rows(step) for name, step in with_formulas(steps).items()})


def group_adagrad_step(weight, data, indices, moves, numbers, history):
    """``adagrad_step`` with one history a row, (rows, 1), to which the mean of its ``g * g`` is added."""
    lanes = lanes_for(weight.shape[1])
    _group_adagrad_step(indices.shape[0] * lanes, weight, data, indices, history, indices.shape[0], *weight.shape, moves, lanes,
                        numbers.tolist())
    return indices.shape[0]
