"""Optimizer steps over rows, a thread an element; the device functions are in ``update.cu``.

A step is ``step(weight, data, indices, moves, numbers, *states)``, as in ``kernels/cpu/update.py``; the numbers lie in
ordinary memory and travel with the launch.
"""

from __future__ import annotations

import functools

import numpy as np

from .launch import Kernel, xp

__all__ = [
    "clipped",
    "compensated_momentum_step",
    "compensated_step",
    "momentum_step",
    "nesterov_step",
    "sgd_step",
    "sign_momentum_step",
    "sign_of",
    "sign_step",
    "update_dense",
    "update_other_rows",
    "update_rows",
]

_sgd_step = Kernel("sgd_step", "data* data index count count count count numbers")
_momentum_step = Kernel("momentum_step", "data* data index data* count count count count numbers")
_nesterov_step = Kernel("nesterov_step", "data* data index data* count count count count numbers")
_sign_step = Kernel("sign_step", "data* data index count count count count numbers")
_sign_momentum_step = Kernel("sign_momentum_step", "data* data index data* count count count count numbers")
_compensated_step = Kernel("compensated_step", "data* data index data* count count count count numbers")
_compensated_momentum_step = Kernel("compensated_momentum_step", "data* data index data* data* count count count count numbers")


def _run_step(kernel, weight, data, indices, moves, numbers, *states):
    """Start the device function of a step; returns the number of rows."""
    count = indices.shape[0]
    kernel(count * weight.shape[1], weight, data, indices, *states, count, *weight.shape, moves, numbers.tolist())
    return count


@functools.cache
def _first(_device):
    return xp().zeros(1, np.int64)


def update_rows(step, weight, data, indices, numbers, states):
    """Run a step on the rows ``indices``, whose gradients are the rows of ``data``.

    A row outside the weight is left out: to raise an error would mean to wait for the device.
    """
    step(weight, data, indices, 1, numbers, *states)


def update_dense(step, weight, gradient, numbers, states):
    """Run a step on arrays that have been flattened to one row each."""
    step(weight, gradient, _first(weight.device.id), 1, numbers, *states)


def update_other_rows(step, weight, indices, numbers, states):
    """Run a step with a gradient of zero on the rows that are not in ``indices``."""
    k = xp()
    absent = k.ones(weight.shape[0], np.bool_)
    absent[indices] = False
    step(weight, k.zeros((1, weight.shape[1]), weight.dtype), k.flatnonzero(absent), 0, numbers, *states)


def clipped(value, bound):
    """The value brought between ``-bound`` and ``bound``; nan stays nan."""
    return xp().clip(value, -bound, bound)


def sign_of(value):
    """The sign as a number of the value's type; zero and nan stay what they are."""
    return xp().sign(value)


def sgd_step(weight, data, indices, moves, numbers):
    """``w -= rate * (clip(g) + decay * w)``."""
    return _run_step(_sgd_step, weight, data, indices, moves, numbers)


def momentum_step(weight, data, indices, moves, numbers, momentum):
    """``m = friction * m - rate * (clip(g) + decay * w); w += m``."""
    return _run_step(_momentum_step, weight, data, indices, moves, numbers, momentum)


def nesterov_step(weight, data, indices, moves, numbers, momentum):
    """``g = clip(g) + decay * w; m = friction * m - rate * g; w += friction * m - rate * g``."""
    return _run_step(_nesterov_step, weight, data, indices, moves, numbers, momentum)


def sign_step(weight, data, indices, moves, numbers):
    """``w -= rate * (sign(g) + decay * w)``."""
    return _run_step(_sign_step, weight, data, indices, moves, numbers)


def sign_momentum_step(weight, data, indices, moves, numbers, momentum):
    """``m = friction * m - share * (clip(g) + decay * w); w += rate * (sign(m) - shrink * w)``."""
    return _run_step(_sign_momentum_step, weight, data, indices, moves, numbers, momentum)


def compensated_step(weight, data, indices, moves, numbers, previous):
    """``w -= rate * (g + decay * w + blend * g * g * (w - previous)); previous`` is the weight before."""
    return _run_step(_compensated_step, weight, data, indices, moves, numbers, previous)


def compensated_momentum_step(weight, data, indices, moves, numbers, previous, momentum):
    """``compensated_step`` whose movement is added to ``friction`` times the last."""
    return _run_step(_compensated_momentum_step, weight, data, indices, moves, numbers, previous, momentum)
