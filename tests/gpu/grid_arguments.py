"""Arguments for every kernel at any size, with columns as text has them: few occur in most rows, most in few."""

from __future__ import annotations

import numpy as np

from sparsekit.kernels import FILES, kernels_of
from tests.kernels.kernel_arguments import states_of

NAMES = sorted({name for file in FILES for name in kernels_of(file)})

#: Arguments that lie in ordinary memory.
ON_HOST = {"numbers", "bounds"}

#: Kernels of floating-point values only; the second kind gets float16 as float32 copies.
REAL = {*FILES["activation"], *FILES["normalize"]}
WIDE = {*FILES["recurrent"], *kernels_of("update"), *kernels_of("update_adaptive")}

#: Kernels that have no values.
PLACES = {*FILES["group"], "csr_column_bounds", "csr_count_columns", "csr_reshape"}


class Grid:
    """Random arrays of one type of values and one of indices.

    Parameters
    ----------
    value, index : dtype
    rows, columns, width : int
        Of matrices, and of the dense ones beside them.
    whole : bool
        Whether values are whole numbers, so that every type holds them.
    """

    def __init__(self, value, index, rows=None, columns=50, width=5, whole=False, seed=5):
        self.rng, self.value, self.index = np.random.default_rng(seed), np.dtype(value), np.dtype(index)
        rows = rows or (150 if width <= 33 else 70)  # so many that groups of entries are added up in chunks
        self.rows, self.columns, self.width, self.whole = rows, columns, width, whole

    def dense(self, *shape):
        """Values of both signs."""
        if self.whole:
            return self.rng.integers(-5, 6, shape).astype(self.value)
        return self.rng.uniform(-1, 1, shape).astype(self.value)

    def above(self, *shape):
        """Values that are not negative."""
        return np.abs(self.dense(*shape))

    def csr(self, rows=None, columns=None):
        """A matrix with empty rows and columns; column j occurs in a share of the rows that falls with j."""
        rows, columns = rows or self.rows, columns or self.columns
        stored = self.rng.random((rows, columns)) < np.minimum(0.95, 4 / (1 + np.arange(columns)))
        stored[rows // 2] = stored[:, 1] = False
        row, column = np.nonzero(stored)
        indptr = np.append(0, np.cumsum(np.bincount(row, minlength=rows)))
        return self.dense(row.shape[0]), column.astype(self.index), indptr.astype(self.index)

    def numbers(self):
        return self.rng.uniform(0.1, 0.9, 12).astype(self.value)

    def some(self, count, below):
        """Ascending numbers that do not repeat."""
        return np.sort(self.rng.choice(below, min(count, below), replace=False)).astype(np.int64)

    def poison(self, *shape):
        """Room for a result, which no kernel may read: nan, or a number that nothing adds up to."""
        return np.full(shape, 77 if self.whole else np.nan, self.value)

    def spoiled(self, *shape):
        """The same for indices."""
        return np.full(shape, -7, self.index)

    def cleared(self, *shape):
        return np.zeros(shape, self.value)


def groups(indices):
    """The distinct indices, where each starts, and the order: as ``group_columns`` gives them."""
    order = np.argsort(indices, kind="stable")
    distinct, first = np.unique(indices[order], return_index=True)
    return distinct.astype(np.int64), np.append(first, indices.shape[0]).astype(np.int64), order.astype(np.int64)


def products(at):
    """Arguments of kernels that multiply or add up."""
    csr, other, rows, columns, width = at.csr(), at.csr(at.columns, at.width + 3), at.rows, at.columns, at.width
    data, indices, indptr = csr
    distinct, starts, places = groups(indices)
    some = at.some(rows // 2, rows)
    return {
        "csr_dot_dense": lambda: [*csr, at.dense(columns, width), at.poison(rows, width)],
        "csr_dot_csr": lambda: [*csr, *other, at.poison(rows, width + 3)],
        "csr_transposed_dot_dense": lambda: [*csr, at.dense(rows, width), at.cleared(columns, width)],
        "csr_transposed_dot_rows": lambda: [*csr, at.dense(rows, width), columns],
        "csr_transposed_dot_row_sparse": lambda: [*csr, at.dense(some.size, width), some, at.cleared(columns, width)],
        "csr_sum_rows": lambda: [data, indptr, at.poison(rows)],
        "csr_sum_columns": lambda: [data, indices, at.cleared(columns)],
        "csr_product": lambda: [*csr, *other, width + 3],
        "dense_dot_csr": lambda: [at.dense(width, rows), *csr, at.cleared(width, columns)],
        "dense_dot_csr_transposed": lambda: [at.dense(width, columns), *csr, at.poison(width, rows)],
        "sum_rows_grouped": lambda: [at.dense(data.shape[0], width), starts, places, distinct, at.poison(columns, width)],
        "add_rows": lambda: [at.dense(data.shape[0], width), indices.astype(np.int64), 2, at.dense(columns, width)],
        "copy_rows": lambda: [at.dense(some.size, width), some, at.dense(rows, width)],
        "row_sparse_merge": lambda: merge(at),
        "row_sparse_multiply": lambda: multiply(at),
    }


def merge(at):
    left, right = at.some(at.rows // 2, at.rows), at.some(at.rows // 3, at.rows)
    count = left.size + right.size
    return [at.dense(left.size, at.width), left, at.dense(right.size, at.width), right, 2, at.poison(count, at.width),
            np.full(count, -7)]


def multiply(at):
    left, right = at.some(at.rows // 2, at.rows), at.some(at.rows // 3, at.rows)
    return [at.dense(left.size, at.width), left, at.dense(right.size, at.width), right, at.poison(left.size, at.width),
            np.full(left.size, -7)]


def elementwise(at):
    """Arguments of kernels over two matrices, and of conversions."""
    csr, other, third, rows, columns = at.csr(), at.csr(), at.csr(), at.rows, at.columns
    data, indices, indptr = csr
    stored, both = data.shape[0], data.shape[0] + other[0].shape[0] + third[0].shape[0]
    occupied = np.flatnonzero(np.diff(indptr))
    sparse = np.where(np.arange(rows)[:, None] % 2, at.dense(rows, at.width), 0).astype(at.value)
    return {
        "csr_row_scale": lambda: [data, indptr, at.dense(rows), at.poison(stored)],
        "csr_column_scale": lambda: [data, indices, at.dense(columns), at.poison(stored)],
        "csr_add_csr": lambda: [*csr, *other, 2, at.poison(both), at.spoiled(both), at.spoiled(rows + 1)],
        "csr_multiply_csr": lambda: [*csr, *other, at.poison(both), at.spoiled(both), at.spoiled(rows + 1)],
        "csr_add_dense": lambda: [*csr, 2, at.dense(rows, columns)],
        "csr_union": lambda: [*csr, *other, at.poison(both), at.poison(both), at.spoiled(both), at.spoiled(rows + 1)],
        "csr_where": lambda: [*csr, *other, *third, at.poison(both), at.spoiled(both), at.spoiled(rows + 1)],
        "csr_to_dense": lambda: [*csr, at.cleared(rows, columns)],
        "csr_to_rows": lambda: [*csr, occupied, at.cleared(occupied.size, columns)],
        "dense_occupied_rows": lambda: [sparse],
        "dense_to_csr": lambda: [sparse],
    }


def choices(at):
    """Arguments of kernels that read or rearrange a matrix."""
    csr, rows, columns = at.csr(), at.rows, at.columns
    data, indices, indptr = csr
    stored, asked = data.shape[0], 3 * at.width
    chosen = at.rng.integers(0, rows, at.width + 2)
    counts = np.diff(indptr)[chosen]
    room, wide = int(counts.sum()), indptr.astype(np.int64)
    offsets = np.append(0, np.cumsum(at.rng.integers(0, 3, columns)))
    taken = np.diff(offsets)[indices]
    return {"csr_drop_absent": lambda: [data, np.where(indices % 3 == 0, -1, indices).astype(at.index), indptr],
            "csr_values_at": lambda: [*csr, at.rng.integers(0, rows, asked), at.rng.integers(0, columns, asked),
                                      at.cleared(asked)],
            "csr_transpose": lambda: [*csr, at.poison(stored), np.full(stored, -7), np.zeros(columns + 1, np.int64)],
            "csr_copy_rows": lambda: [data, indices, wide[chosen], np.append(0, np.cumsum(counts)), 2, at.poison(room),
                                      at.spoiled(room)],
            "csr_put_rows": lambda: [*csr, 3, wide[:-1] + np.arange(rows), at.poison(stored + rows), at.spoiled(stored + rows)],
            "csr_column_bounds": lambda: [indices, indptr, 2, 6, np.full(rows, -7), np.full(rows, -7)],
            "csr_column_steps": lambda: [data, indices, wide[:-1], wide[1:], 0, 3, at.poison(stored), at.spoiled(stored),
                                         at.spoiled(rows + 1)],
            "csr_count_columns": lambda: [indices, indptr, offsets, at.spoiled(rows + 1)],
            "csr_take_columns": lambda: [*csr, offsets, at.rng.permutation(int(offsets[-1])), False, at.poison(int(taken.sum())),
                                         np.full(int(taken.sum()), -7), np.append(0, np.cumsum(taken))[indptr]],
            "csr_reshape": lambda: [indices, indptr, columns, rows, np.full(stored, -7), np.full(columns + 1, -7)],
            "csr_argmax": lambda: [*csr, columns, True, np.full(rows, -7)], "distinct": lambda: [indices],
            "group_columns": lambda: [indices], "outside": lambda: [indices, columns - 1],
            "shared_rows": lambda: [at.some(rows // 2, rows), at.some(rows // 2, rows)], "unique_with_rank": lambda: [indices],
            "row_ranks": lambda: [at.rng.integers(0, rows, asked), at.some(rows // 2, rows), rows]}


def layers(at):
    """Arguments of kernels of networks."""
    rows, width = at.rows, at.width
    square, batch = at.dense(rows, width), 9
    state, gates, bounds = at.dense(batch, width), at.dense(batch, 4 * width), np.array([-0.3, 0.3], at.value)
    return {
        "relu_slope": lambda: [at.dense(rows * width), at.dense(rows * width), at.poison(rows * width)],
        "sigmoid": lambda: [at.dense(rows * width), at.poison(rows * width)],
        "gelu": lambda: [at.dense(rows * width), at.poison(rows * width)],
        "gelu_backward": lambda: [at.dense(rows * width), at.dense(rows * width), at.poison(rows * width)],
        "layer_norm_rows": lambda: [square, at.dense(width), at.dense(width), 1e-5, at.poison(rows, width), at.poison(rows),
                                    at.poison(rows)],
        "layer_norm_backward_rows": lambda: [square, at.dense(rows, width), at.dense(width), at.dense(rows), at.above(rows),
                                     at.poison(rows, width), at.cleared(width), at.cleared(width)],
        "softmax_rows": lambda: [square, square.max(axis=1), at.poison(rows, width)],
        "log_softmax_rows": lambda: [square, square.max(axis=1), at.poison(rows, width)],
        "softmax_backward_rows": lambda: [square, at.dense(rows, width), at.poison(rows, width)],
        "log_softmax_backward_rows": lambda: [square, -at.above(rows, width), at.poison(rows, width)],
        "elman_forward": lambda: [state, at.dense(batch, width), at.dense(width), False, at.poison(batch, width)],
        "elman_backward": lambda: [state, at.dense(batch, width), True, at.poison(batch, width)],
        "lstm_forward": lambda: [gates, at.dense(batch, 4 * width), at.dense(4 * width), state, bounds, False,
                                 at.poison(batch, width), at.poison(batch, width)],
        "lstm_backward": lambda: [state, at.dense(batch, width), at.above(batch, 4 * width), at.dense(batch, width),
                          at.dense(batch, width), bounds, at.poison(batch, 4 * width)],
        "gru_forward": lambda: [at.dense(batch, 3 * width), at.dense(batch, 3 * width), at.dense(3 * width), at.dense(3 * width),
                                state, at.poison(batch, width), at.poison(batch, width)],
        "gru_backward": lambda: [state, at.above(batch, 3 * width), at.dense(batch, width), at.dense(batch, width),
                         at.poison(batch, 3 * width), at.poison(batch, 3 * width)],
    }


def steps(at, name):
    """Arguments of an optimizer step, or of what runs one."""
    rows, width, some = at.rows, at.width, at.some(at.rows // 2, at.rows)
    if name == "update_dense":
        return ["momentum_step", at.dense(1, rows * width), at.dense(1, rows * width), at.numbers(), [at.dense(1, rows * width)]]
    if name == "update_rows":
        return ["sgd_step", at.dense(rows, width), at.dense(some.size, width), some, at.numbers(), ()]
    if name == "update_other_rows":
        return ["adam_step", at.dense(rows, width), some, at.numbers(), [at.above(rows, width), at.above(rows, width)]]
    states = [at.above(rows, 1)] if name == "group_adagrad_step" else [at.above(rows, width) for _ in range(states_of(name))]
    return [at.dense(rows, width), at.dense(some.size, width), some, 1, at.numbers(), *states]


def grid_arguments(name, at):
    """Arguments of a kernel; those that it writes to are compared afterwards."""
    for family in (products, elementwise, choices, layers):
        found = family(at)
        if name in found:
            return found[name]()
    return steps(at, name)
