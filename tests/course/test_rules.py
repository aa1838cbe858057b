"""What notebooks state as a rule holds beyond their examples."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx

optimizers = mx.optimizer

#: The optimizers of notebook 07, with settings, and whether the lazy update is exact, also for rows that never had a gradient.
CANDIDATES = {
    "SGD": (optimizers.SGD, {}, True),
    "SGD, momentum": (optimizers.SGD, {"momentum": 0.9}, False),
    "SGD, weight decay": (optimizers.SGD, {"wd": 0.1}, False),
    "AdaGrad": (optimizers.AdaGrad, {}, True),
    "AdaGrad, weight decay": (optimizers.AdaGrad, {"wd": 0.1}, False),
    "Adam": (optimizers.Adam, {}, False),
    "RMSProp": (optimizers.RMSProp, {}, False),
    "Ftrl": (optimizers.Ftrl, {}, False),
}


def flat(state):
    """The arrays of an optimizer's state."""
    if isinstance(state, (list, tuple)):
        return [array for part in state for array in flat(part)]
    return [] if state is None else [state]


def trained(make, settings, lazy, start, steps=25):
    """Weight and state after steps with gradients of random rows, of which the last never has one."""
    draw = np.random.default_rng(1)
    weight = mx.nd.array(start)
    optimizer = make(learning_rate=0.1, lazy_update=lazy, **settings)
    state = optimizer.create_state(0, weight)
    for _ in range(steps):
        rows = np.flatnonzero(draw.random(len(start) - 1) < 0.4)
        values = draw.normal(size=(len(rows), start.shape[1])).astype("float32")
        optimizer.update(0, weight, mx.nd.sparse.row_sparse_array((values, rows), shape=start.shape), state)
    return weight, optimizer, state


def same(one, other):
    return all(np.array_equal(a.asnumpy(), b.asnumpy()) for a, b in zip(one, other, strict=True))


START = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")


def unchanged_by_zero(make, settings, start=START):
    """Whether the full update changes neither weight nor state where the gradient is zero."""
    weight, optimizer, state = trained(make, settings, False, start)
    before = [array.copy() for array in (weight, *flat(state))]
    optimizer.update(0, weight, mx.nd.sparse.zeros("row_sparse", start.shape), state)
    return same(before, [weight, *flat(state)])


@pytest.mark.parametrize(("make", "settings", "exact"), CANDIDATES.values(), ids=CANDIDATES)
def test_a_lazy_update_is_exact_if_a_zero_gradient_changes_nothing(make, settings, exact):
    lazy, full = (trained(make, settings, kind, START) for kind in (True, False))
    assert same([lazy[0]], [full[0]]) == exact
    if exact:
        assert unchanged_by_zero(make, settings)
        assert same(flat(lazy[2]), flat(full[2]))


def test_lazy_ftrl_leaves_what_the_full_update_sets_to_zero():
    lazy, full = (trained(optimizers.Ftrl, {}, kind, START)[0].asnumpy() for kind in (True, False))
    assert np.array_equal(lazy[-1], START[-1])
    assert not full[-1].any()
    zeros = np.zeros_like(START)
    assert same(*([trained(optimizers.Ftrl, {}, kind, zeros)[0]] for kind in (True, False)))


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("value", ["float16", "float32", "float64"])
def test_csr_is_smaller_below_the_break_even_density(value, index):
    columns = 500
    v, i = np.dtype(value).itemsize, np.dtype(index).itemsize
    limit = (columns * v - i) / (columns * (v + i))
    for density in (0.01, limit - 0.01, limit + 0.01, 0.99):
        dense = np.zeros((40, columns), value)
        dense[:, : round(density * columns)] = 1
        stored = mx.nd.sparse.csr_matrix(dense, index_dtype=index)
        assert (stored.nbytes < dense.nbytes) == (density < limit)
