"""Every GPU kernel against its CPU twin, on the same inputs, through device functions compiled for the processor."""

from __future__ import annotations

import inspect

import fake_cupy
import numpy as np
import pytest

from sparsekit.kernels import FILES, for_device
from sparsekit.kernels.gpu import launch

ROWS, COLUMNS, WIDTH = 7, 9, 5


class Inputs:
    """Random matrices with empty rows and columns, of one type of values and one of indices."""

    def __init__(self, value, index):
        self.rng, self.value, self.index = np.random.default_rng(3), np.dtype(value), np.dtype(index)

    def dense(self, *shape):
        return self.rng.uniform(-1, 1, shape).astype(self.value)

    def csr(self, rows=ROWS, columns=COLUMNS, density=0.4):
        stored = self.rng.random((rows, columns)) < density
        stored[rows // 2] = stored[:, 1] = False
        row, column = np.nonzero(stored)
        indptr = np.append(0, np.cumsum(np.bincount(row, minlength=rows)))
        return self.dense(row.shape[0]), column.astype(self.index), indptr.astype(self.index)

    def numbers(self):
        return self.rng.uniform(0.1, 0.9, 12).astype(self.value)

    def places(self, *values):
        return np.array(values, np.int64)

    def room(self, count=80):
        return np.zeros(count, self.value)

    def indices(self, count=80):
        return np.zeros(count, self.index)


def step_arguments(at, states, width=WIDTH):
    return [at.dense(ROWS, width), at.dense(3, width), at.places(1, 2, 6), 1, at.numbers(),
            *[abs(at.dense(ROWS, width)) for _ in range(states)]]


def arguments(name, at):
    """Arguments of a kernel; those that it writes to are compared afterwards."""
    csr, other, same = at.csr(), at.csr(), at.csr()
    data, indices, indptr = csr
    stored = data.shape[0]
    order = np.argsort(indices, kind="stable")
    columns, first = np.unique(indices[order], return_index=True)
    starts, places = np.append(first, stored).astype(np.int64), order.astype(np.int64)
    rows = at.places(0, 3, 5)
    one, square = at.value.type(1.5), at.dense(ROWS, WIDTH)
    pointers = at.indices(ROWS + 1)
    made = {
        "csr_dot_dense": [*csr, at.dense(COLUMNS, WIDTH), at.dense(ROWS, WIDTH)],
        "csr_drop_absent": [data, np.where(indices % 3 == 0, -1, indices).astype(at.index), indptr],
        "csr_dot_csr": [*csr, *at.csr(COLUMNS, 6), at.dense(ROWS, 6)],
        "csr_transposed_dot_dense": [*csr, square, np.zeros((COLUMNS, WIDTH), at.value)],
        "csr_transposed_dot_rows": [*csr, square, COLUMNS],
        "csr_transposed_dot_row_sparse": [*csr, at.dense(3, WIDTH), rows, np.zeros((COLUMNS, WIDTH), at.value)],
        "csr_sum_rows": [data, indptr, at.dense(ROWS)],
        "csr_sum_columns": [data, indices, at.room(COLUMNS)],
        "csr_row_scale": [data, indptr, at.dense(ROWS), at.room(stored)],
        "csr_column_scale": [data, indices, at.dense(COLUMNS), at.room(stored)],
        "csr_add_csr": [*csr, *other, one, at.room(), at.indices(), pointers],
        "csr_multiply_csr": [*csr, *other, at.room(), at.indices(), pointers],
        "csr_add_dense": [*csr, one, at.dense(ROWS, COLUMNS)],
        "gelu": [at.dense(WIDTH), at.room(WIDTH)],
        "gelu_backward": [at.dense(WIDTH), at.dense(WIDTH), at.room(WIDTH)],
        "layer_norm_backward_rows": [square, at.dense(ROWS, WIDTH), at.dense(WIDTH), at.dense(ROWS), abs(at.dense(ROWS)),
                                     at.dense(ROWS, WIDTH), at.room(WIDTH), at.room(WIDTH)],
        "log_softmax_backward_rows": [square, -abs(at.dense(ROWS, WIDTH)), at.dense(ROWS, WIDTH)],
        "softmax_backward_rows": [square, at.dense(ROWS, WIDTH), at.dense(ROWS, WIDTH)],
        "csr_to_dense": [*csr, np.zeros((ROWS, COLUMNS), at.value)],
        "csr_to_rows": [*csr, np.flatnonzero(np.diff(indptr)), np.zeros((np.count_nonzero(np.diff(indptr)), COLUMNS), at.value)],
        "dense_occupied_rows": [np.where(np.arange(ROWS)[:, None] % 2, square, 0).astype(at.value)],
        "dense_to_csr": [np.where(square > 0, square, 0).astype(at.value)],
        "csr_product": [*csr, *at.csr(COLUMNS, 6), 6],
        "csr_values_at": [*csr, at.places(0, 0, 1, 6, 3), at.places(0, 8, 4, 2, 3), at.room(5)],
        "csr_transpose": [*csr, at.room(stored), np.zeros(stored, np.int64), np.zeros(COLUMNS + 1, np.int64)],
        "csr_union": [*csr, *other, at.room(), at.room(), at.indices(), pointers],
        "csr_copy_rows": [data, indices, indptr[[4, 1, 1]].astype(np.int64),
                          np.cumsum(np.append(0, np.diff(indptr)[[4, 1, 1]])), 2,
                          *(part[: int(np.diff(indptr)[[4, 1, 1]].sum())] for part in (at.room(), at.indices()))],
        "csr_put_rows": [*csr, 3, indptr[:-1].astype(np.int64) + np.arange(ROWS), at.room(), at.indices()],
        "csr_column_bounds": [indices, indptr, 2, 6, np.zeros(ROWS, np.int64), np.zeros(ROWS, np.int64)],
        "csr_column_steps": [data, indices, indptr[:-1].astype(np.int64), indptr[1:].astype(np.int64), 0, 3, at.room(),
                             at.indices(), pointers],
        "csr_count_columns": [indices, indptr, np.array([0, 1, 1, 3, 4, 4, 6, 6, 7, 8]), pointers],
        "csr_reshape": [indices, indptr, COLUMNS, 21, np.zeros(stored, np.int64), np.zeros(4, np.int64)],
        "csr_where": [*csr, *other, *same, at.room(), at.indices(), pointers],
        "csr_argmax": [*csr, COLUMNS, True, np.zeros(ROWS, np.int64)],
        "dense_dot_csr": [at.dense(4, ROWS), *csr, np.zeros((4, COLUMNS), at.value)],
        "dense_dot_csr_transposed": [at.dense(4, COLUMNS), *csr, at.dense(4, ROWS)],
        "sum_rows_grouped": [at.dense(stored, WIDTH), starts, places, columns.astype(np.int64), at.dense(COLUMNS, WIDTH)],
        "layer_norm_rows": [square, at.dense(WIDTH), at.dense(WIDTH), 1e-5, at.dense(ROWS, WIDTH), at.room(ROWS), at.room(ROWS)],
        "log_softmax_rows": [square, square.max(axis=1), at.dense(ROWS, WIDTH)],
        "softmax_rows": [square, square.max(axis=1), at.dense(ROWS, WIDTH)],
        "distinct": [indices],
        "group_columns": [indices],
        "outside": [indices, COLUMNS - 1],
        "shared_rows": [at.places(0, 2, 3, 6), at.places(1, 2, 6, 8)],
        "unique_with_rank": [indices],
        "row_ranks": [at.places(5, 0, 4, 5), rows, ROWS],
        "row_sparse_merge": [at.dense(3, WIDTH), rows, at.dense(2, WIDTH), at.places(3, 6), one, at.dense(5, WIDTH),
                             np.zeros(5, np.int64)],
        "add_rows": [at.dense(4, WIDTH), at.places(5, 0, 5, 2), one, at.dense(ROWS, WIDTH)],
        "copy_rows": [at.dense(3, WIDTH), rows, at.dense(ROWS, WIDTH)],
    }
    return made[name] if name in made else more_arguments(name, at)


def more_arguments(name, at):
    """Arguments of recurrent layers, of column choices and of optimizer steps."""
    csr = at.csr()
    if name == "csr_take_columns":
        offsets, targets = np.array([0, 1, 1, 3, 4, 4, 6, 6, 7, 8]), at.places(3, 0, 6, 1, 2, 7, 5, 4)
        room = int(np.diff(offsets)[csr[1]].sum())
        indptr = np.append(0, np.cumsum(np.diff(offsets)[csr[1]]))[csr[2]]
        return [*csr, offsets, targets, False, at.room(room), np.zeros(room, np.int64), indptr]
    batch, width = 3, 2
    state, gates, bias = at.dense(batch, width), at.dense(batch, 4 * width), at.dense(4 * width)
    bounds = np.array([-0.3, 0.3], at.value)
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
        "update_rows": ["sgd_step", at.dense(ROWS, WIDTH), at.dense(3, WIDTH), at.places(1, 2, 6), at.numbers(), ()],
        "update_dense": ["momentum_step", at.dense(1, 20), at.dense(1, 20), at.numbers(), [at.dense(1, 20)]],
        "update_other_rows": ["adam_step", at.dense(ROWS, WIDTH), at.places(1, 2, 6), at.numbers(),
                              [abs(at.dense(ROWS, WIDTH)), abs(at.dense(ROWS, WIDTH))]],
        "group_adagrad_step": [*step_arguments(at, 0), abs(at.dense(ROWS, 1))],
    }.get(name) or step_arguments(at, {"sgd_step": 0, "sign_step": 0, "momentum_step": 1, "nesterov_step": 1,
                                       "sign_momentum_step": 1, "compensated_step": 1, "adagrad_step": 1, "rmsprop_step": 1,
                                       "lamb_step": 3, "centered_rmsprop_step": 3, "ftml_step": 3}.get(name, 2))


NAMES = sorted({name for names in FILES.values() for name in names})
ON_HOST = {"numbers", "bounds"}


def compare(name, value, index, tolerance):
    cpu, gpu = for_device("cpu"), for_device("gpu")
    given = arguments(name, Inputs(value, index))
    host = [getattr(cpu, item) if isinstance(item, str) else
            [part.copy() for part in item] if isinstance(item, list) else np.copy(item) if isinstance(item, np.ndarray) else item
            for item in given]
    names = inspect.signature(getattr(cpu, name)).parameters
    device = [getattr(gpu, item, None) if isinstance(item, str) else [fake_cupy.ndarray(part.copy()) for part in item]
              if isinstance(item, list) else fake_cupy.ndarray(item.copy())
              if isinstance(item, np.ndarray) and word not in ON_HOST else item for word, item in zip(names, given, strict=True)]
    wanted, found = getattr(cpu, name)(*host), getattr(gpu, name)(*device)
    stop = wanted if isinstance(wanted, int) and name.startswith(("csr_", "row_sparse")) else None
    for left, right in zip(flat(host), flat(device), strict=True):
        same(left[:stop] if stop and left.shape[0] > ROWS + 1 else left, right[:stop] if stop and left.shape[0] > ROWS + 1
             else right, tolerance)
    for left, right in zip(flat(wanted if isinstance(wanted, tuple) else [wanted]),
                           flat(found if isinstance(found, tuple) else [found]), strict=True):
        same(left, right, tolerance)


def flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flat(value)
        elif isinstance(value, fake_cupy.ndarray):
            yield value._host
        elif isinstance(value, (np.ndarray, int)) and not isinstance(value, bool):
            yield np.asarray(value) if isinstance(value, np.ndarray) else np.full(1, value)


def same(left, right, tolerance):
    if left.dtype.kind == "f":
        np.testing.assert_allclose(right.astype(float), left.astype(float), rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(right.astype(np.int64), left.astype(np.int64))


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_gives_what_its_cpu_twin_gives(stand_in, name):
    compare(name, np.float32, np.int64, 1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("csr_") and name != "csr_product"])
def test_with_narrow_indices(stand_in, name):
    compare(name, np.float32, np.int32, 1e-5)


@pytest.mark.parametrize("name", ["csr_dot_dense", "csr_transposed_dot_dense", "sum_rows_grouped", "csr_add_csr"])
def test_half_precision_adds_up_in_single(stand_in, name):
    compare(name, np.float16, np.int64, 2e-3)


def test_arrays_that_are_not_contiguous_are_copied_and_written_back(stand_in):
    gpu, data = for_device("gpu"), np.arange(6, dtype=np.float32).reshape(2, 3)
    out = fake_cupy.ndarray(np.zeros((4, 6), np.float32)[:, ::2])
    gpu.copy_rows(fake_cupy.ndarray(np.asfortranarray(data)), fake_cupy.ndarray(np.array([3, 1])), out)
    np.testing.assert_array_equal(out.get(), [[0, 0, 0], [3, 4, 5], [0, 0, 0], [0, 1, 2]])


def test_a_row_outside_the_weight_is_left_out(stand_in):
    gpu, weight = for_device("gpu"), fake_cupy.ndarray(np.ones((2, 2), np.float32))
    gpu.update_rows(gpu.sgd_step, weight, fake_cupy.ndarray(np.ones((3, 2), np.float32)),
                    fake_cupy.ndarray(np.array([-1, 1, 2])), np.array([1, np.inf, 0.5, 0, *[0] * 8], np.float32), ())
    np.testing.assert_array_equal(weight.get(), [[1, 1], [0.5, 0.5]])


def test_rows_share_up_to_a_warp_of_threads():
    assert [launch.lanes_for(average) for average in (0, 1, 1.5, 3, 17, 1000)] == [1, 1, 2, 4, 32, 32]
