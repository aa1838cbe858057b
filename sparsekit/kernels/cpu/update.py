"""Optimizer steps over rows, one pass each: the drivers, and the steps that keep no second moment.

A step is ``step(weight, data, indices, moves, numbers, *states)`` and works on the rows ``indices`` of
``weight`` and of each state, all (rows, width) and C-contiguous.  Row ``rank * moves`` of ``data`` is the
gradient of row ``indices[rank]``: ``moves`` is 1, or 0 for one gradient that all rows have.  ``numbers``,
of the weight's type, begins with the gradient's factor and the bound of its absolute value (infinity for
none); what follows is the step's own.  It returns how many rows it did: fewer than there are if it met an
index outside the weight.

A dense gradient is the one row of everything, flattened; a "standard" update of a row_sparse gradient is
the step on the stored rows, and the step with a gradient of zero on the others.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import RowIndexError
from .jit import in_threads, kernel

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

#: Elements that each thread writes, at least: in scattered rows, and in one piece.
GRAIN = 100_000
DENSE_GRAIN = 1 << 17

FIRST = np.zeros(1, np.int64)


def update_rows(step, weight, data, indices, numbers, states):
    """Run a step on the rows ``indices``, whose gradients are the rows of ``data``.

    Raises
    ------
    RowIndexError
        If an index lies outside the weight; rows before it have been updated.
    """
    count, work = indices.shape[0], max(1, weight.shape[1] * (1 + len(states)))
    if count * work < 2 * GRAIN:
        done = step(weight, data, indices, 1, numbers, *states)
    else:
        parts = []
        in_threads(lambda start, stop: parts.append(
            step(weight, data[start:stop], indices[start:stop], 1, numbers, *states)), count, max(1, GRAIN // work))
        done = sum(parts)
    if done != count:
        raise RowIndexError(f"The gradient stores a row outside the {weight.shape[0]} rows of the weight.",
                            hint="the indices of a row_sparse array must not be written to.")


def update_dense(step, weight, gradient, numbers, states):
    """Run a step on arrays that have been flattened to one row each."""
    count = weight.shape[1]
    if count < 2 * DENSE_GRAIN:
        step(weight, gradient, FIRST, 1, numbers, *states)
    else:
        in_threads(lambda start, stop: step(weight[:, start:stop], gradient[:, start:stop], FIRST, 1, numbers,
                                            *[state[:, start:stop] for state in states]), count, DENSE_GRAIN)


def update_other_rows(step, weight, indices, numbers, states):
    """Run a step with a gradient of zero on the rows that are not in ``indices``."""
    absent = np.ones(weight.shape[0], np.bool_)
    absent[indices] = False
    rows, nothing = np.flatnonzero(absent), np.zeros((1, weight.shape[1]), weight.dtype)
    in_threads(lambda start, stop: step(weight, nothing, rows[start:stop], 0, numbers, *states), rows.shape[0],
               max(1, GRAIN // max(1, weight.shape[1] * (1 + len(states)))))


@kernel
def clipped(value, bound):
    """The value brought between ``-bound`` and ``bound``; nan stays nan."""
    return bound if value > bound else -bound if value < -bound else value


@kernel
def sign_of(value):
    """The sign as a number of the value's type; zero and nan stay what they are."""
    one = type(value)(1)
    return one if value > 0 else -one if value < 0 else value


@kernel(error_model="numpy")
def sgd_step(weight, data, indices, moves, numbers):
    """``w -= rate * (clip(g) + decay * w)``."""
    rescale, bound, rate, decay = numbers[0], numbers[1], numbers[2], numbers[3]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient = weight[row], data[rank * moves]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column], bound)
            weights[column] -= rate * (step + decay * weights[column])
    return indices.shape[0]


@kernel(error_model="numpy")
def momentum_step(weight, data, indices, moves, numbers, momentum):
    """``m = friction * m - rate * (clip(g) + decay * w); w += m``."""
    rescale, bound, rate, friction, decay = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, moved = weight[row], data[rank * moves], momentum[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column], bound)
            movement = friction * moved[column] - rate * (step + decay * weights[column])
            moved[column] = movement
            weights[column] += movement
    return indices.shape[0]


@kernel(error_model="numpy")
def nesterov_step(weight, data, indices, moves, numbers, momentum):
    """``g = clip(g) + decay * w; m = friction * m - rate * g; w += friction * m - rate * g``."""
    rescale, bound, rate, friction, decay = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, moved = weight[row], data[rank * moves], momentum[row]
        for column in range(weights.shape[0]):
            step = rate * (clipped(rescale * gradient[column], bound) + decay * weights[column])
            movement = friction * moved[column] - step
            moved[column] = movement
            weights[column] += friction * movement - step
    return indices.shape[0]


@kernel(error_model="numpy")
def sign_step(weight, data, indices, moves, numbers):
    """``w -= rate * (sign(g) + decay * w)``."""
    rescale, bound, rate, decay = numbers[0], numbers[1], numbers[2], numbers[3]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient = weight[row], data[rank * moves]
        for column in range(weights.shape[0]):
            step = sign_of(clipped(rescale * gradient[column], bound))
            weights[column] -= rate * (step + decay * weights[column])
    return indices.shape[0]


@kernel(error_model="numpy")
def sign_momentum_step(weight, data, indices, moves, numbers, momentum):
    """``m = friction * m - share * (clip(g) + decay * w); w += rate * (sign(m) - shrink * w)``."""
    rescale, bound, rate, friction, share = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    decay, shrink = numbers[5], numbers[6]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, moved = weight[row], data[rank * moves], momentum[row]
        for column in range(weights.shape[0]):
            step = clipped(rescale * gradient[column], bound) + decay * weights[column]
            movement = friction * moved[column] - share * step
            moved[column] = movement
            weights[column] += rate * (sign_of(movement) - shrink * weights[column])
    return indices.shape[0]


@kernel(error_model="numpy")
def compensated_step(weight, data, indices, moves, numbers, previous):
    """``w -= rate * (g + decay * w + blend * g * g * (w - previous)); previous`` is the weight before."""
    rescale, bound, rate, decay, blend = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, before = weight[row], data[rank * moves], previous[row]
        for column in range(weights.shape[0]):
            step, old = clipped(rescale * gradient[column], bound), weights[column]
            weights[column] = old - rate * (step + decay * old + blend * step * step * (old - before[column]))
            before[column] = old
    return indices.shape[0]


@kernel(error_model="numpy")
def compensated_momentum_step(weight, data, indices, moves, numbers, previous, momentum):
    """``compensated_step`` whose movement is added to ``friction`` times the last."""
    rescale, bound, rate, decay, blend, friction = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    for rank in range(indices.shape[0]):
        row = indices[rank]
        if row < 0 or row >= weight.shape[0]:
            return rank
        weights, gradient, before, moved = weight[row], data[rank * moves], previous[row], momentum[row]
        for column in range(weights.shape[0]):
            step, old = clipped(rescale * gradient[column], bound), weights[column]
            movement = friction * moved[column] - rate * (
                step + decay * old + blend * step * step * (old - before[column]))
            moved[column] = movement
            weights[column] = old + movement
            before[column] = old
    return indices.shape[0]
