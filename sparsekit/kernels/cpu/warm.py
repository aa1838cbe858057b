"""Compile what the tutorials need, ahead of time."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .. import FILES, kernels_of
from . import update, update_adaptive
from .jit import Kernel, numba
from .thread_pool import share


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
    states = _step(name).__wrapped__.__code__.co_argcount - 5
    return square, square.copy(), rows, 1, numbers, *[square.copy() for _ in range(states)]


def _step(name: str) -> Kernel:
    step: Kernel = getattr(update, name, None) or getattr(update_adaptive, name)
    return step


#: Steps that are compiled for large weights too.
SHARED = "sgd_step", "adagrad_step", "adam_step"

#: The types of what tables and sums call beside ``FILES``: i an int64, and arrays of bool, float32, int64, int32 and uint64 as B,
#: F, I, J and U, with a 2 behind those of two axes.
BY_TYPE = {
    "csr": {
        "_dot_vector_shared": "I F I I F2 F2", "_drop_absent": "F I I F I I", "_list_columns_shared": "I I I F2 F2 U i I F2",
        "_sum_and_mark_shared": "I F I I F2 F2 F2 B U I I", "_sum_ranked": "F I I F2 F2"},
    "group": {"_outside_rows": "I i"},
    "sums": {"_sum_few": "F F; F2 F"},
    "table_rows": {
        "begin_rows": "i i i i i i i i", "bind_arrays": "i i i i i i",
        "cast_values": "F I", "choose_values": "B F F F", "fill_range": "i i I", "nested_loop": "i i i", "patch_words": "i i",
        "run_rows": "I2 i", "sum_of": "i i", "take_rows": "F2 I F2"},
    "table_twins": {
        "begin_sums": "I I i", "distinct_here": "I U I", "few_columns": "I", "group_columns_here": "I U I U U",
        "list_and_end": "I I F I I F2 F2 U I F2", "other_rows": "I B I",
        "ranks_by_bits_here": "I U J I I", "row_ranks_here": "I I i I", "sums_found": "I"},
}


def _warm_by_type() -> int:
    """Compile the kernels of ``BY_TYPE``."""
    types = numba().types
    kinds = {"B": types.bool_, "F": types.float32, "I": types.int64, "J": types.int32, "U": types.uint64}
    count = 0
    for file, signatures in BY_TYPE.items():
        module = importlib.import_module(f"sparsekit.kernels.cpu.{file}")
        for name, all_words in signatures.items():
            for words in all_words.split(";"):
                getattr(module, name).compile(tuple([
                    types.int64 if word == "i" else types.Array(kinds[word[0]], len(word), "C") for word in words.split()]))
            count += 1
    return count


def warm() -> int:
    """Compile every kernel for arguments of the usual types; returns how many."""
    if numba().config.DISABLE_JIT:
        return 0
    count = 0
    for file in FILES:
        module = importlib.import_module(f"sparsekit.kernels.cpu.{file}")
        for name in kernels_of(file):
            getattr(module, name)(*_arguments(name))
            count += 1
    for step in SHARED:
        weight, gradient, rows, moves, numbers, *states = _step_arguments(step)
        share(_step(step).shared, weight, gradient, rows, moves, numbers, tuple(states))
    return count + len(SHARED) + _warm_by_type()
