"""Compile what the tutorials need, ahead of time."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .. import FILES
from . import csr, update, update_adaptive
from .jit import numba
from .thread_pool import share

__all__ = ["warm"]


def _arguments(name: str) -> tuple[Any, ...]:  # Any: arrays, numbers and kernels, as the kernel takes them
    """Small arguments of the types that a kernel meets in practice: float32 values, int64 indices."""
    if name.endswith("_step") or name in ("update_rows", "update_dense", "update_other_rows"):
        return _step_arguments(name)
    data, places, pointers = np.ones(2, np.float32), np.array([0, 1]), np.array([0, 1, 2])
    square, one = np.ones((2, 2), np.float32), np.float32(1)
    triple = (data, places, pointers)
    room, rows = np.zeros(4, np.float32), (square, places)
    return {
        "csr_dot_dense": (*triple, square, square.copy()),
        "csr_drop_absent": triple,
        "csr_dot_csr": (*triple, *triple, square.copy()),
        "csr_transposed_dot_dense": (*triple, square, square.copy()),
        "csr_transposed_dot_row_sparse": (*triple, *rows, square.copy()),
        "csr_transposed_dot_rows": (*triple, square, 2),
        "csr_sum_rows": (data, pointers, data.copy()),
        "csr_sum_columns": (data, places, data.copy()),
        "csr_row_scale": (data, pointers, data, data.copy()),
        "csr_column_scale": (data, places, data, data.copy()),
        "csr_add_csr": (*triple, *triple, one, room, np.zeros(4, np.int64), pointers.copy()),
        "csr_multiply_csr": (*triple, *triple, room, np.zeros(4, np.int64), pointers.copy()),
        "csr_add_dense": (*triple, one, square.copy()),
        "csr_product": (*triple, *triple, 2),
        "csr_values_at": (*triple, places, places, data.copy()),
        "csr_transpose": (*triple, data.copy(), places.copy(), np.zeros(3, np.int64)),
        "csr_union": (*triple, *triple, room, room.copy(), np.zeros(4, np.int64), pointers.copy()),
        "csr_copy_rows": (data, places, pointers[:2], pointers, 0, data.copy(), places.copy()),
        "csr_put_rows": (*triple, 0, places.copy(), data.copy(), places.copy()),
        "csr_column_bounds": (places, pointers, 0, 2, places.copy(), places.copy()),
        "csr_column_steps": (data, places, pointers[:2], pointers[1:], 0, 1, data.copy(), places.copy(), pointers.copy()),
        "csr_count_columns": (places, pointers, pointers, pointers.copy()),
        "csr_take_columns": (*triple, pointers, places, True, data.copy(), places.copy(), pointers),
        "csr_reshape": (places, pointers, 2, 2, places.copy(), pointers.copy()),
        "csr_argmax": (*triple, 2, True, places.copy()),
        "csr_where": (*triple, *triple, *triple, room, np.zeros(4, np.int64), pointers.copy()),
        "dense_dot_csr": (square, *triple, square.copy()),
        "dense_dot_csr_transposed": (square, *triple, square.copy()),
        "gelu": (data, data.copy()),
        "relu_slope": (data, data, data.copy()),
        "sigmoid": (data, data.copy()),
        "gelu_backward": (data, data, data.copy()),
        "layer_norm_backward_rows": (square, square, data, data, data, square.copy(), data.copy(), data.copy()),
        "log_softmax_backward_rows": (square, square, square.copy()),
        "softmax_backward_rows": (square, square, square.copy()),
        "csr_to_dense": (*triple, square.copy()),
        "csr_to_rows": (*triple, places, square.copy()),
        "dense_occupied_rows": (square,),
        "dense_to_csr": (square,),
        "distinct": (places,),
        "group_columns": (places,),
        "outside": (places, 2),
        "shared_rows": (places, places),
        "layer_norm_rows": (square, data, data, 1e-5, square.copy(), data.copy(), data.copy()),
        "log_softmax_rows": (square, data, square.copy()),
        "sum_rows_grouped": (square, pointers.astype(np.uint64), places.astype(np.uint64), places, square.copy()),
        "softmax_rows": (square, data, square.copy()),
        **_recurrent_arguments(),
        "row_ranks": (places, places, 2),
        "unique_with_rank": (places,),
        "row_sparse_merge": (*rows, *rows, one, np.zeros((4, 2), np.float32), np.zeros(4, np.int64)),
        "row_sparse_multiply": (*rows, *rows, np.zeros((4, 2), np.float32), np.zeros(4, np.int64)),
        "add_rows": (*rows, one, square.copy()),
        "copy_rows": (*rows, square.copy()),
    }[name]


def _recurrent_arguments() -> dict[str, tuple[Any, ...]]:  # Any: the same
    """Arguments of the steps of recurrent layers, for one sample and one unit."""
    state, sums, vector, two = [np.ones(shape, np.float32) for shape in ((1, 1), (1, 4), 4, 2)]
    return {
        "elman_forward": (sums, sums, vector, False, state),
        "elman_backward": (state, state, False, state.copy()),
        "lstm_forward": (sums, sums, vector, state, two, False, state, state),
        "lstm_backward": (state, state, sums, state, state, two, sums),
        "gru_forward": (sums, sums, vector, vector, state, state, state),
        "gru_backward": (state, sums, state, state, sums, sums),
    }


def _step_arguments(name: str) -> tuple[Any, ...]:  # Any: the same
    """Arguments of an optimizer step, or of what runs one."""
    square, rows, numbers = np.ones((2, 2), np.float32), np.arange(2), np.ones(12, np.float32)
    if not name.endswith("_step"):
        others = {"update_rows": (square.copy(), rows), "update_dense": (square.copy(),), "update_other_rows": (rows,)}
        return update.sgd_step, square, *others[name], numbers, ()
    step = getattr(update, name, None) or getattr(update_adaptive, name)
    states = step.__wrapped__.__code__.co_argcount - 5
    return square, square.copy(), rows, 1, numbers, *[square.copy() for _ in range(states)]


#: The types of what tables and sums call beside ``FILES``: i an int64, and arrays of bool, float32, int64 and uint64 as B, F, I
#: and U, with a 2 behind those of two axes.
BY_TYPE = {
    "sums": {"_sum_few": "F F; F2 F"},
    "table_rows": {
        "as_noted": "i i", "begin_again": "i i i i", "begin_rows": "i i i i i i i i", "bind_arrays": "i i i i i i",
        "cast_values": "F I", "choose_values": "B F F F", "fill_range": "i i I", "nested_loop": "i i i", "patch_words": "i i",
        "run_rows": "I2 i", "sum_of": "i i", "take_rows": "F2 I F2"},
    "table_twins": {
        "csr_dot_dense_here": "F I I F2 F2", "csr_dot_vector_here": "F I I F2 F2", "csr_transposed_dot_here": "F I U U F2 U F2",
        "distinct_here": "I U I", "drop_absent_here": "F I I F I I", "few_columns": "I", "few_rows": "I i i",
        "group_columns_here": "I U I U U", "other_rows": "I B I", "row_ranks_here": "I I i I"},
}


def _warm_by_type() -> int:
    """Compile the kernels of ``BY_TYPE``."""
    types = numba().types
    kinds = {"B": types.bool_, "F": types.float32, "I": types.int64, "U": types.uint64}
    count = 0
    for file, signatures in BY_TYPE.items():
        module = importlib.import_module(f"sparsekit.kernels.cpu.{file}")
        for name, all_words in signatures.items():
            for words in all_words.split(";"):
                getattr(module, name).dispatcher.compile(tuple([
                    types.int64 if word == "i" else types.Array(kinds[word[0]], len(word), "C") for word in words.split()]))
            count += 1
    return count


def warm() -> int:
    """Compile every kernel for arguments of the usual types; returns how many."""
    if numba().config.DISABLE_JIT:
        return 0
    count = 0
    for file, names in FILES.items():
        module = importlib.import_module(f"sparsekit.kernels.cpu.{file}")
        for name in names:
            getattr(module, name)(*_arguments(name))
            count += 1
    data, places, pointers, square, _ = _arguments("csr_transposed_dot_rows")
    column, words = square[:, :1].copy(), np.zeros(4, np.uint64)
    share(csr._dense_together, 2, 1, *_arguments("csr_dot_dense"))
    share(csr._vector_together, 2, 1, data, places, pointers, column, column.copy())
    csr._count_bits(words, pointers[:2], places.copy())
    share(csr._grouped_together, 2, 1, data, pointers.astype(np.uint64), words, words, square, square.copy())
    share(csr._sums_together, 2, 1, data, places, pointers, square, square.copy(), words)
    share(csr._lists_together, 2, 1, np.array([0, 0, 1]), pointers, square.copy(), words, places.copy(), square.copy())
    return count + 6 + _warm_by_type()
