"""Optimizer steps over rows, a thread an element; the device functions are in ``update.cu``.

A step is ``step(weight, data, indices, moves, numbers, *states)``, as in ``kernels/cpu/update.py``; the numbers lie in
ordinary memory and travel with the launch, or on the device, as float64, for work that is captured.
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
    "over_rows",
    "sgd_step",
    "sign_momentum_step",
    "sign_of",
    "sign_step",
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


def over_rows(states, numbers):
    """Make the kernel of a step from its declaration: it starts the device function of the same name.

    Parameters
    ----------
    states : int
        How many states the step has.
    numbers : int
        How many numbers it takes after the gradient's factor.

    Returns
    -------
    callable
        A decorator of ``step(gradient, n, weight, *states)``, which says what the device function does to one element.
    """

    def make(function):
        kernel = Kernel(function.__name__, f"data* data index {'data* ' * states}count count count count numbers")

        def run(weight, data, indices, moves, numbers, *states):
            count = indices.shape[0]
            kernel(count * weight.shape[1], weight, data, indices, *states, count, *weight.shape, moves,
                   numbers.astype(np.float64, copy=False) if isinstance(numbers, xp().ndarray) else numbers.tolist())
            return count

        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(run, name, getattr(function, name))
        return run

    return make


@over_rows(states=0, numbers=3)
def sgd_step(gradient, n, weight):
    """``w -= rate * (clip(g) + decay * w)``."""


@over_rows(states=1, numbers=4)
def momentum_step(gradient, n, weight, momentum):
    """``m = friction * m - rate * (clip(g) + decay * w); w += m``."""


@over_rows(states=1, numbers=4)
def nesterov_step(gradient, n, weight, momentum):
    """``g = clip(g) + decay * w; m = friction * m - rate * g; w += friction * m - rate * g``."""


@over_rows(states=0, numbers=3)
def sign_step(gradient, n, weight):
    """``w -= rate * (sign(g) + decay * w)``."""


@over_rows(states=1, numbers=6)
def sign_momentum_step(gradient, n, weight, momentum):
    """``m = friction * m - share * (clip(g) + decay * w); w += rate * (sign(m) - shrink * w)``."""


@over_rows(states=1, numbers=4)
def compensated_step(gradient, n, weight, previous):
    """``w -= rate * (g + decay * w + blend * g * g * (w - previous)); previous`` is the weight before."""


@over_rows(states=2, numbers=5)
def compensated_momentum_step(gradient, n, weight, previous, momentum):
    """``compensated_step`` whose movement is added to ``friction`` times the last."""
