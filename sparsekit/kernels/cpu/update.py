"""Optimizer steps over rows, one pass each: the drivers, and the steps that keep no second moment.

A step is ``step(weight, data, indices, moves, numbers, *states)`` and works on the rows ``indices`` of
``weight`` and of each state, all (rows, width) and C-contiguous.  Row ``rank * moves`` of ``data`` is the
gradient of row ``indices[rank]``: ``moves`` is 1, or 0 for one gradient that all rows have.  ``numbers``,
of the weight's type, begins with the gradient's factor and the bound of its absolute value (infinity for
none); what follows is the step's own.  It returns how many rows it did: fewer than there are if it met an
index outside the weight.

``over_rows`` makes such a kernel from what the step does to one element.

A dense gradient is the one row of everything, flattened; a "standard" update of a row_sparse gradient is
the step on the stored rows, and the step with a gradient of zero on the others.
"""

from __future__ import annotations

import functools

import numpy as np

from ...base.errors import RowIndexError
from ...base.signal_safe import undisturbed
from ...base.written import written
from .group import _outside_rows
from .intrinsic_names import leading, prefetch, put_up
from .jit import Kernel, kernel, worker_count
from .thread_pool import share, spread

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
    "with_formulas",
]

#: Elements that each thread writes, at least: in scattered rows, and in one piece.
GRAIN = 100_000
DENSE_GRAIN = 1 << 17

#: How many rows before they are updated narrow ones are prefetched, from how many rows on, as fewer are in the cache, and up to
#: what width: the processor itself prefetches the rest of a wide row.
AHEAD, MANY, NARROW = 8, 1 << 10, 16

FIRST = np.zeros(1, np.int64)


def update_rows(step, weight, data, indices, numbers, states):
    """Run a step on the rows ``indices``, whose gradients are the rows of ``data``.

    Raises
    ------
    RowIndexError
        If an index lies outside the weight.  One thread has updated the rows before it; where there are several, none has been.
    """
    if _is_small(indices.shape[0] * max(1, weight.shape[1] * (1 + len(states)))):
        outside = _run(step, weight, data, indices, 1, numbers, *states) != indices.shape[0]
    else:
        outside = _outside_rows(indices, weight.shape[0])
        if not outside:
            share(step.shared, weight, np.ascontiguousarray(data), indices, 1, numbers, tuple(states), then=written.mark)
    if outside:
        raise RowIndexError(f"The gradient stores a row outside the {weight.shape[0]} rows of the weight.",
                            hint="the indices of a row_sparse array must not be written to.")


def _run(step, *arguments):
    """Run a step, and note that it has run, with no signal's handler in between."""
    if isinstance(step, Kernel):
        return step.run_and(written.mark, *arguments)
    return undisturbed(functools.partial(_run_in_numpy, written.mark, step, arguments))  # which is many lines of Python


def _run_in_numpy(mark, step, arguments):
    with np.errstate(all="ignore"):  # a thread may have settings of its own
        count = step(*arguments)
    mark()
    return count


def _is_small(work):
    """Whether one thread updates so many elements in scattered rows."""
    return work < 2 * GRAIN or worker_count() == 1


def update_dense(step, weight, gradient, numbers, states):
    """Run a step on arrays that have been flattened to one row each."""
    if weight.shape[1] < 2 * DENSE_GRAIN or worker_count() == 1:
        _run(step, weight, gradient, FIRST, 1, numbers, *states)
    else:
        share(step.shared, weight, np.ascontiguousarray(gradient), FIRST, 1, numbers, tuple(states), then=written.mark)


def update_other_rows(step, weight, indices, numbers, states):
    """Run a step with a gradient of zero on the rows that are not in ``indices``."""
    absent = np.ones(weight.shape[0], np.bool_)
    absent[indices] = False
    rows, nothing = np.flatnonzero(absent), np.zeros((1, weight.shape[1]), weight.dtype)
    if _is_small(rows.shape[0] * max(1, weight.shape[1] * (1 + len(states)))):
        _run(step, weight, nothing, rows, 0, numbers, *states)
    else:
        share(step.shared, weight, nothing, rows, 0, numbers, tuple(states))


@kernel
def _elements(array, start, stop):
    """Elements of the only row of an array, as such a row."""
    return array.reshape(array.size)[start:stop].reshape(1, stop - start)


@kernel
def clipped(value, bound):
    """The value brought between ``-bound`` and ``bound``; nan stays nan."""
    if bound == np.inf:  # the compiler makes a loop of its own for this
        return value
    value = bound if value > bound else value  # one instruction each, where nested choices are four
    return -bound if value < -bound else value


@kernel
def sign_of(value):
    """The sign as a number of the value's type; zero and nan stay what they are."""
    one = type(value)(1)
    return one if value > 0 else -one if value < 0 else value


def over_rows(states, numbers):
    """Make the kernel of a step from a function of one element.

    ``kernels/numpy`` runs the same function on arrays, so it has no branches but in ``clipped`` and the like.

    Parameters
    ----------
    states : int
        How many states the step has, at most three.
    numbers : int
        How many numbers it takes after the gradient's factor.

    Returns
    -------
    callable
        A decorator of ``step(gradient, n, weight, *states)``, where ``gradient`` has been multiplied by its factor and ``n``
        is the tuple of the other numbers.  The function returns the new weight and the new states.
    """

    def make(function):
        element, count = kernel(error_model="numpy", inline="always")(function), 1 + numbers

        @kernel(error_model="numpy", inline="always")
        def loop(weight, data, indices, moves, step_numbers, first, second, third):
            factor, n = step_numbers[0], leading(step_numbers, count)[1:]  # before the loops, as what they write could be these
            ahead = AHEAD if indices.shape[0] >= MANY and weight.shape[1] <= NARROW else indices.shape[0]
            for rank in range(indices.shape[0]):
                if rank + ahead < indices.shape[0]:
                    place = np.uint64(indices[rank + ahead] * weight.shape[1])
                    prefetch(weight, place)
                    if states > 0:
                        prefetch(first, place)
                    if states > 1:
                        prefetch(second, place)
                    if states > 2:
                        prefetch(third, place)
                row = indices[rank]
                if row < 0 or row >= weight.shape[0]:
                    return rank
                values, slopes = weight[row], data[rank * moves]
                if states > 0:
                    ones = first[row]
                if states > 1:
                    twos = second[row]
                if states > 2:
                    threes = third[row]
                for i in range(values.shape[0]):
                    gradient = factor * slopes[i]
                    if states == 0:
                        values[i] = element(gradient, n, values[i])
                    elif states == 1:
                        values[i], ones[i] = element(gradient, n, values[i], ones[i])
                    elif states == 2:
                        values[i], ones[i], twos[i] = element(gradient, n, values[i], ones[i], twos[i])
                    else:
                        values[i], ones[i], twos[i], threes[i] = element(
                            gradient, n, values[i], ones[i], twos[i], threes[i])
            return indices.shape[0]

        # One entry for each number of states: numba takes arrays faster one by one than in a tuple.
        entry = (
            lambda weight, data, indices, moves, numbers: loop(
                weight, data, indices, moves, numbers, None, None, None),
            lambda weight, data, indices, moves, numbers, first: loop(
                weight, data, indices, moves, numbers, first, None, None),
            lambda weight, data, indices, moves, numbers, first, second: loop(
                weight, data, indices, moves, numbers, first, second, None),
            lambda weight, data, indices, moves, numbers, first, second, third: loop(
                weight, data, indices, moves, numbers, first, second, third),
        )[states]
        step = kernel(error_model="numpy")(_named(entry, function, ""))
        step.formula, step.numbers, step.shared = function, numbers, _shared_step(step, states, function)
        return step

    return make


def with_formulas(file):
    """The steps of a file that are made from a function of one element, which other devices make theirs of, by name."""
    return {name: step for name, step in vars(file).items() if isinstance(step, Kernel) and "formula" in vars(step)}


def _named(entry, function, suffix):
    """The entry under the name of a function, and more."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(entry, name, getattr(function, name))
    entry.__name__, entry.__qualname__ = function.__name__ + suffix, function.__qualname__ + suffix
    return entry


def _shared_step(step, states, function, by_elements=True):
    """The kernel ``(shared_state, weight, data, indices, moves, numbers, states)`` of a step that threads share, by rows.

    A step on a single row, as of a dense array, they share by its elements, unless these depend on one another.  All rows must be
    inside the weight.
    """
    between = kernel((
        lambda states, start, stop: (),
        lambda states, start, stop: (_elements(states[0], start, stop),),
        lambda states, start, stop: (_elements(states[0], start, stop), _elements(states[1], start, stop)),
        lambda states, start, stop: (_elements(states[0], start, stop), _elements(states[1], start, stop),
                                     _elements(states[2], start, stop)),
    )[states])

    def piece(weight, data, indices, moves, numbers, states, start, stop):
        if by_elements and weight.shape[0] == 1 and indices.shape[0] == 1:
            step(_elements(weight, start, stop), _elements(data, start, stop), indices, moves, numbers,
                 *between(states, start, stop))
        elif stop > start:
            step(weight, data[start * moves: 1 + (stop - 1) * moves], indices[start:stop], moves, numbers, *states)

    piece_kernel = kernel(error_model="numpy")(_named(piece, function, "_piece"))

    def shared(shared_state, weight, data, indices, moves, numbers, states):
        body, arguments = put_up(piece_kernel, (weight, data, indices, moves, numbers, states))
        rows, width = indices.shape[0], weight.shape[1]
        if by_elements and weight.shape[0] == 1 and rows == 1:
            return spread(shared_state, width, DENSE_GRAIN, body, arguments)
        return spread(shared_state, rows, max(1, GRAIN // max(1, width * (1 + len(states)))), body, arguments)

    return kernel(_named(shared, function, "_shared"))


@over_rows(states=0, numbers=3)
def sgd_step(gradient, n, weight):
    """``w -= rate * (clip(g) + decay * w)``."""
    bound, rate, decay = n
    return weight - rate * (clipped(gradient, bound) + decay * weight)


@over_rows(states=1, numbers=4)
def momentum_step(gradient, n, weight, momentum):
    """``m = friction * m - rate * (clip(g) + decay * w); w += m``."""
    bound, rate, friction, decay = n
    movement = friction * momentum - rate * (clipped(gradient, bound) + decay * weight)
    return weight + movement, movement


@over_rows(states=1, numbers=4)
def nesterov_step(gradient, n, weight, momentum):
    """``g = clip(g) + decay * w; m = friction * m - rate * g; w += friction * m - rate * g``."""
    bound, rate, friction, decay = n
    change = rate * (clipped(gradient, bound) + decay * weight)
    movement = friction * momentum - change
    return weight + (friction * movement - change), movement


@over_rows(states=0, numbers=3)
def sign_step(gradient, n, weight):
    """``w -= rate * (sign(g) + decay * w)``."""
    bound, rate, decay = n
    return weight - rate * (sign_of(clipped(gradient, bound)) + decay * weight)


@over_rows(states=1, numbers=6)
def sign_momentum_step(gradient, n, weight, momentum):
    """``m = friction * m - share * (clip(g) + decay * w); w += rate * (sign(m) - shrink * w)``."""
    bound, rate, friction, share, decay, shrink = n
    movement = friction * momentum - share * (clipped(gradient, bound) + decay * weight)
    return weight + rate * (sign_of(movement) - shrink * weight), movement


@over_rows(states=1, numbers=4)
def compensated_step(gradient, n, weight, previous):
    """``w -= rate * (g + decay * w + blend * g * g * (w - previous)); previous`` is the weight before."""
    bound, rate, decay, blend = n
    g = clipped(gradient, bound)
    return weight - rate * (g + decay * weight + blend * g * g * (weight - previous)), weight


@over_rows(states=2, numbers=5)
def compensated_momentum_step(gradient, n, weight, previous, momentum):
    """``compensated_step`` whose movement is added to ``friction`` times the last."""
    bound, rate, decay, blend, friction = n
    g = clipped(gradient, bound)
    movement = friction * momentum - rate * (g + decay * weight + blend * g * g * (weight - previous))
    return weight + movement, weight, movement
