"""Arguments for every kernel, of which tests run twins on the same."""

import importlib
import inspect

import numpy as np

from sparsekit.kernels import FILES, kernels_of


class Inputs:
    """Random matrices with empty rows and columns, of one type of values and one of indices."""

    rows, columns, width, density = 7, 9, 5, 0.4

    def __init__(self, value, index):
        self.rng, self.value, self.index = np.random.default_rng(3), np.dtype(value), np.dtype(index)

    def dense(self, *shape):
        return self.rng.uniform(-1, 1, shape).astype(self.value)

    def matrix(self, rows=None):
        return self.dense(self.rows if rows is None else rows, self.width)

    def csr(self, rows=None, columns=None):
        rows, columns = self.rows if rows is None else rows, self.columns if columns is None else columns
        stored = self.rng.random((rows, columns)) < self.density
        stored[rows // 2] = stored[:, 1] = False
        row, column = np.nonzero(stored)
        indptr = np.append(0, np.cumsum(np.bincount(row, minlength=rows)))
        return self.dense(row.shape[0]), column.astype(self.index), indptr.astype(self.index)

    def numbers(self):
        return self.rng.uniform(0.1, 0.9, 12).astype(self.value)

    def some_rows(self):
        """The numbers of about half the rows, ascending."""
        return np.sort(self.rng.permutation(self.rows)[:self.rows // 2])

    def any_rows(self):
        """Some numbers of rows, which repeat, in any order."""
        return self.rng.integers(0, self.rows, self.rows + 2)

    def room(self, count=None):
        return np.zeros(2 * self.rows * self.columns if count is None else count, self.value)

    def indices(self, count=None):
        return np.zeros(2 * self.rows * self.columns if count is None else count, self.index)

    def times(self):
        """How often each column is taken, some of them never: where those that replace it begin, and their numbers."""
        offsets = np.append(0, np.cumsum(np.resize([1, 0, 2, 1, 0, 2, 0, 1, 1], self.columns)))
        return offsets, self.rng.permutation(offsets[-1])


def step_arguments(at, states):
    rows = at.some_rows()
    return [at.matrix(), at.matrix(rows.shape[0]), rows, 1, at.numbers(),
            *[abs(at.matrix()) for _ in range(states)]]


def arguments(name, at):
    """Arguments of a kernel; those that it writes to are compared afterwards."""
    csr, other, same = at.csr(), at.csr(), at.csr()
    data, indices, indptr = csr
    stored = data.shape[0]
    order = np.argsort(indices, kind="stable")
    columns, first = np.unique(indices[order], return_index=True)
    starts, places = np.append(first, stored).astype(np.int64), order.astype(np.int64)
    rows, others, repeated = at.some_rows(), at.some_rows(), at.any_rows()
    occupied = np.flatnonzero(np.diff(indptr))
    one, square = at.value.type(1.5), at.matrix()
    pointers, copied = at.indices(at.rows + 1), np.append(0, np.cumsum(np.diff(indptr)[repeated]))
    made = {
        "csr_dot_dense": [*csr, at.dense(at.columns, at.width), at.matrix()],
        "csr_drop_absent": [data, np.where(indices % 3 == 0, -1, indices).astype(at.index), indptr],
        "csr_dot_csr": [*csr, *at.csr(at.columns, at.width + 1), at.dense(at.rows, at.width + 1)],
        "csr_transposed_dot_dense": [*csr, square, np.zeros((at.columns, at.width), at.value)],
        "csr_transposed_dot_rows": [*csr, square, at.columns],
        "csr_transposed_dot_row_sparse": [*csr, at.matrix(rows.shape[0]), rows, np.zeros((at.columns, at.width), at.value)],
        "csr_sum_rows": [data, indptr, at.dense(at.rows)],
        "csr_sum_columns": [data, indices, at.room(at.columns)],
        "csr_row_scale": [data, indptr, at.dense(at.rows), at.room(stored)],
        "csr_column_scale": [data, indices, at.dense(at.columns), at.room(stored)],
        "csr_add_csr": [*csr, *other, one, at.room(), at.indices(), pointers],
        "csr_multiply_csr": [*csr, *other, at.room(), at.indices(), pointers],
        "csr_add_dense": [*csr, one, at.dense(at.rows, at.columns)],
        "relu_slope": [at.dense(at.width), at.dense(at.width), at.room(at.width)],
        "sigmoid": [at.dense(at.width), at.room(at.width)],
        "gelu": [at.dense(at.width), at.room(at.width)],
        "gelu_backward": [at.dense(at.width), at.dense(at.width), at.room(at.width)],
        "layer_norm_backward_rows": [square, at.matrix(), at.dense(at.width), at.dense(at.rows), abs(at.dense(at.rows)),
                                     at.matrix(), at.room(at.width), at.room(at.width)],
        "log_softmax_backward_rows": [square, -abs(at.matrix()), at.matrix()],
        "softmax_backward_rows": [square, at.matrix(), at.matrix()],
        "csr_to_dense": [*csr, np.zeros((at.rows, at.columns), at.value)],
        "csr_to_rows": [*csr, occupied, np.zeros((occupied.shape[0], at.columns), at.value)],
        "dense_occupied_rows": [np.where(np.arange(at.rows)[:, None] % 2, square, 0).astype(at.value)],
        "dense_to_csr": [np.where(square > 0, square, 0).astype(at.value)],
        "csr_product": [*csr, *at.csr(at.columns, at.width + 1), at.width + 1],
        "csr_values_at": [*csr, repeated, at.rng.integers(0, at.columns, repeated.shape[0]), at.room(repeated.shape[0])],
        "csr_transpose": [*csr, at.room(stored), np.zeros(stored, np.int64), np.zeros(at.columns + 1, np.int64)],
        "csr_union": [*csr, *other, at.room(), at.room(), at.indices(), pointers],
        "csr_copy_rows": [data, indices, indptr[repeated].astype(np.int64), copied, 2,
                          at.room(int(copied[-1])), at.indices(int(copied[-1]))],
        "csr_put_rows": [*csr, 3, indptr[:-1].astype(np.int64) + np.arange(at.rows), at.room(), at.indices()],
        "csr_column_bounds": [indices, indptr, 2, 6, np.zeros(at.rows, np.int64), np.zeros(at.rows, np.int64)],
        "csr_column_steps": [data, indices, indptr[:-1].astype(np.int64), indptr[1:].astype(np.int64), 0, 3, at.room(),
                             at.indices(), pointers],
        "csr_count_columns": [indices, indptr, at.times()[0], pointers],
        "csr_reshape": [indices, indptr, at.columns, at.rows * at.columns // 3, np.zeros(stored, np.int64),
                        np.zeros(4, np.int64)],
        "csr_where": [*csr, *other, *same, at.room(), at.indices(), pointers],
        "csr_argmax": [*csr, at.columns, True, np.zeros(at.rows, np.int64)],
        "dense_dot_csr": [at.dense(4, at.rows), *csr, np.zeros((4, at.columns), at.value)],
        "dense_dot_csr_transposed": [at.dense(4, at.columns), *csr, at.dense(4, at.rows)],
        "sum_rows_grouped": [at.dense(stored, at.width), starts, places, columns.astype(np.int64),
                             at.dense(at.columns, at.width)],
        "layer_norm_rows": [square, at.dense(at.width), at.dense(at.width), 1e-5, at.matrix(), at.room(at.rows),
                            at.room(at.rows)],
        "log_softmax_rows": [square, square.max(axis=1), at.matrix()],
        "softmax_rows": [square, square.max(axis=1), at.matrix()],
        "distinct": [indices],
        "group_columns": [indices],
        "outside": [indices, at.columns - 1],
        "shared_rows": [rows, others],
        "unique_with_rank": [indices],
        "row_ranks": [repeated, rows, at.rows],
        "row_sparse_merge": [at.matrix(rows.shape[0]), rows, at.matrix(others.shape[0]), others, one,
                             at.dense(2 * others.shape[0], at.width), np.zeros(2 * others.shape[0], np.int64)],
        "row_sparse_multiply": [at.matrix(rows.shape[0]), rows, at.matrix(others.shape[0]), others,
                                at.dense(rows.shape[0], at.width), np.zeros(rows.shape[0], np.int64)],
        "add_rows": [at.matrix(repeated.shape[0]), repeated, one, at.matrix()],
        "copy_rows": [at.matrix(rows.shape[0]), rows, at.matrix()],
    }
    return made[name] if name in made else more_arguments(name, at)


def more_arguments(name, at):
    """Arguments of recurrent layers, of column choices and of optimizer steps."""
    csr = at.csr()
    if name == "csr_take_columns":
        offsets, targets = at.times()
        room = int(np.diff(offsets)[csr[1]].sum())
        indptr = np.append(0, np.cumsum(np.diff(offsets)[csr[1]]))[csr[2]]
        return [*csr, offsets, targets, False, at.room(room), np.zeros(room, np.int64), indptr]
    batch, width, rows = at.width // 2 + 1, at.width - 3, at.some_rows()
    state, gates, bias = at.dense(batch, width), at.dense(batch, 4 * width), at.dense(4 * width)
    bounds = np.array([-0.3, 0.3], at.value)
    flat = [at.dense(1, 4 * at.width) for _ in range(3)]
    three = [at.dense(batch, 3 * width), at.dense(batch, 3 * width)]
    return {
        "elman_forward": [state, at.dense(batch, width), at.dense(width), False, at.dense(batch, width)],
        "elman_backward": [state, at.dense(batch, width), True, at.dense(batch, width)],
        "lstm_forward": [gates, at.dense(batch, 4 * width), bias, state, bounds, False, at.dense(batch, width),
                         at.dense(batch, width)],
        "lstm_backward": [state, at.dense(batch, width), abs(gates), at.dense(batch, width), at.dense(batch, width),
                          bounds, at.dense(batch, 4 * width)],
        "gru_forward": [*three, at.dense(3 * width), at.dense(3 * width), state, at.dense(batch, width),
                        at.dense(batch, width)],
        "gru_backward": [state, abs(three[0]), at.dense(batch, width), at.dense(batch, width), three[1],
                         at.dense(batch, 3 * width)],
        "update_rows": ["sgd_step", at.matrix(), at.matrix(rows.shape[0]), rows, at.numbers(), ()],
        "update_dense": ["momentum_step", *flat[:2], at.numbers(), flat[2:]],
        "update_other_rows": ["adam_step", at.matrix(), rows, at.numbers(),
                              [abs(at.matrix()), abs(at.matrix())]],
        "group_adagrad_step": [*step_arguments(at, 0), abs(at.dense(at.rows, 1))],
    }.get(name) or step_arguments(at, states_of(name))


def states_of(name):
    """How many states an optimizer's step has."""
    file = next(file for file in FILES if name in kernels_of(file))
    step = getattr(importlib.import_module(f"sparsekit.kernels.cpu.{file}"), name)
    parameters = list(inspect.signature(step.py_func).parameters)
    assert parameters[:5] == ["weight", "data", "indices", "moves", "numbers"], f"arguments() has none for the kernel {name}"
    return len(parameters) - 5
