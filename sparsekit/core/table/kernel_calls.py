"""The kernels as rules see them while they are lowered: each call becomes a row.

A kernel that numba compiled as a whole is called as it is, one that threads share with the words they share.  Functions in Python
that call several kernels have substitutes here.  All others are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.forking import load
from ...base.refusal import Refused
from ...kernels import for_device
from ...kernels.cpu.jit import worker_count
from .arrays import Outline, likely, static
from .numpy_calls import Numpy

if TYPE_CHECKING:
    from ...base.types import Array
    from ...kernels.cpu.jit import Kernel
    from .arrays import Length, Size
    from .builder import Argument, Builder


class _Noted:
    """A kernel whose calls are noted."""

    def __init__(self, builder: Builder, kernel: Kernel) -> None:
        self._builder, self.kernel = builder, kernel

    def __call__(self, *arguments: Argument | _Noted) -> None:
        self._builder.call(self.kernel, *[argument.kernel if isinstance(argument, _Noted) else argument
                                          for argument in arguments])


class TableKernels:
    """``k`` of a table.

    Attributes
    ----------
    xp : Numpy
    """

    device = "cpu"
    sum_few = None  # as numpy's loop needs no way into it here

    def __init__(self, builder: Builder) -> None:
        self._builder, self.xp = builder, Numpy(builder)
        files = "table_twins", "csr", "group", "update", "normalize", "activation"
        modules: Any = [load(f"sparsekit.kernels.cpu.{file}") for file in files]  # Any: modules of kernels
        self._twins, self._csr, self._group, self._update, self._normalize, self._activation = modules

    def __getattr__(self, name: str) -> _Noted:
        real: Any = getattr(for_device("cpu"), name)  # Any: a kernel, or a function that calls some
        if not hasattr(real, "dispatcher"):
            raise Refused(f"the kernel {name} divides its work in Python")

        return _Noted(self._builder, real)

    def _share(self, kernel: Kernel, *arguments: Argument) -> None:
        """Note the call of a kernel that threads share, which takes the words that they share first."""
        state = self._builder.constant(load("sparsekit.kernels.cpu.thread_pool").shared_state())
        self._builder.call(kernel, state, *arguments, ignored=True)

    def _share_over(self, kernel: Kernel, *arrays: Outline) -> None:
        """Note the call of a kernel by ``shared_over``, or of its body where the arrays are small."""
        rows, *others = arrays[-1].shape
        if likely(rows) * math.prod(map(static, others)) < kernel.alone:
            self._builder.call(kernel.body, *arrays, 0, rows)
        else:
            self._share(kernel, arrays)

    def _for_several(self, stored: Length, width: int) -> bool:
        """Whether threads share a product: if it is large, or would be in a run that stores four times as much as this one."""
        self._builder.work += likely(stored) * width
        return bool(self._csr._for_several.py_func(4 * likely(stored), width))

    def csr_dot_dense(self, data: Outline, indices: Outline, indptr: Outline, right: Outline, out: Outline) -> None:
        """Note ``csr · dense``."""
        width = static(out.shape[1])
        if self._for_several(data.shape[0], width):
            kernel = self._csr._dot_vector_shared if width == 1 else self._csr._dot_dense_shared
            self._share(kernel, data, indices, indptr, right, out)
        else:
            kernel = self._csr._csr_dot_vector_rows if width == 1 else self._csr._csr_dot_dense_rows
            self._builder.call(kernel, data, indices, indptr, right, out, 0, out.shape[0])

    def group_columns(self, indices: Outline) -> tuple[Outline, Outline, Outline]:
        """Note a grouping by column."""
        make, count = self._builder.empty, indices.shape[0]
        room, starts = make((count * 2,), np.uint64), make((count * 2,), np.uint64)
        columns, places = make((count,), np.int64), make((count,), np.uint64)
        self._builder.call(self._twins.few_columns, indices, status=True)
        size = self._builder.count(self._twins.group_columns_here, indices, room, columns, starts, places, like=count)
        return columns.view_as((size,)), starts, places

    def csr_transposed_dot_rows(self, data: Outline, indices: Outline, indptr: Outline, right: Outline,
                                columns: int) -> tuple[Outline, Outline]:
        """Note ``csrᵀ · dense`` for the columns that occur."""
        stored, width = likely(data.shape[0]), static(right.shape[1])
        several = self._for_several(data.shape[0], width)
        way = self._csr._transposed_way(stored, columns * width, width, data.dtype,
                                        lambda: self._group._words_for(stored, columns))
        if way == "summed" and columns * width * data.itemsize <= self._csr.NEAR:
            return self._dot_summed(data, indices, indptr, right, columns)
        if way == "ranked":
            distinct, ranks = self._ranks_by_bits(indices, columns)
            out = self._builder.empty((distinct.shape[0], width), data.dtype)
            self._builder.call(self._csr._sum_ranked, data, ranks, indptr, right, out)
        else:
            distinct, starts, places = self.group_columns(indices)
            out, rows = (self._builder.empty((distinct.shape[0], width), data.dtype),
                         self._builder.empty((data.shape[0],), np.uint64))
            if several:
                self._share(self._csr._grouped_shared, data, indptr, starts, places, right, rows, columns, out)
            else:
                self._builder.call(self._csr._row_of_each, indptr, rows)
                self._builder.call(self._csr._grouped_rows, data, indptr, starts, places, rows, right, columns, out, 0,
                                   distinct.shape[0])
        return distinct, out

    def _ranks_by_bits(self, indices: Outline, columns: int) -> tuple[Outline, Outline]:
        """Note the distinct columns, and the place of each entry among them."""
        make, count, words = self._builder.empty, indices.shape[0], (columns + 63) >> 6
        seen, before = make((words,), np.uint64), make((words,), np.int32)
        distinct, ranks = make((count,), np.int64), make((count,), np.int64)
        self._builder.call(self._group._outside_rows, indices, columns, status=True)
        size = self._builder.count(self._twins.ranks_by_bits_here, indices, seen, before, distinct, ranks, like=count)
        return distinct.view_as((size,)), ranks

    def _dot_summed(self, data: Outline, indices: Outline, indptr: Outline, right: Outline,
                    columns: int) -> tuple[Outline, Outline]:
        """The same by adding into sums for every column, which all tables share."""
        make, width = self._builder.empty, static(right.shape[1])
        stored = likely(data.shape[0])
        clean = self._twins.clean_sums(columns, width, data.dtype, self._csr._bytes_for(columns, stored))
        used, sums, second, marks, seen = map(self._builder.constant, clean)
        pieces = worker_count() if self._csr._for_several.py_func(stored, width) else 1
        words, ends = make((pieces + 1,), np.int64), make((pieces + 1,), np.int64)
        self._builder.call(self._twins.begin_sums, used, indices, columns, status=True)
        self._share(self._csr._sum_and_mark_shared, data, indices, indptr, right, sums, second, marks, seen, words, ends)
        size = self._builder.count(self._twins.sums_found, ends, like=data.shape[0])
        distinct, out = make((size,), np.int64), make((size, width), data.dtype)
        self._share(self._twins.list_and_end, used, data, words, ends, sums, second, seen, distinct, out)
        return distinct, out

    def distinct(self, indices: Outline) -> Outline:
        """Note the distinct values of an array."""
        count = indices.shape[0]
        room, out = self._builder.empty((count * 2,), np.uint64), self._builder.empty((count,), indices.dtype)
        self._builder.call(self._twins.few_columns, indices, status=True)
        return out.view_as((self._builder.count(self._twins.distinct_here, indices, room, out, like=count),))

    @staticmethod
    def _own_numbers(numbers: Array | Outline) -> Outline:
        if not isinstance(numbers, Outline):
            raise Refused("its numbers are not known before each run")
        return numbers

    def update_dense(self, step: _Noted, weight: Outline, gradient: Outline, numbers: Array | Outline,
                     states: Sequence[Outline]) -> None:
        """Note an optimizer's step on arrays of one row."""
        first = self._builder.constant(np.zeros(1, np.int64))
        self._step(step, static(weight.shape[1]) >= 2 * self._update.DENSE_GRAIN, weight, gradient, first, 1, numbers, states)

    def _step(self, step: _Noted, shared: bool, weight: Outline, data: Outline, indices: Outline, moves: int,
              numbers: Array | Outline, states: Sequence[Outline]) -> None:
        """Note the kernel of an optimizer's step, or the one that threads share."""
        own = self._own_numbers(numbers)
        if shared and worker_count() > 1:
            self._share(step.kernel.shared, weight, data, indices, moves, own, tuple(states))
        else:
            self._builder.call(step.kernel, weight, data, indices, moves, own, *states, ignored=True)

    def update_other_rows(self, step: _Noted, weight: Outline, indices: Outline, numbers: Array | Outline,
                          states: Sequence[Outline]) -> None:
        """Note an optimizer's step on the rows that a gradient does not store, after the step on those that it does."""
        rows, width = static(weight.shape[0]), static(weight.shape[1])
        absent, others = self._builder.empty((rows,), np.bool), self._builder.empty((rows,), np.int64)
        size = self._builder.count(self._twins.other_rows, indices, absent, others, like=rows)
        nothing = self._builder.constant(np.zeros((1, width), weight.dtype))
        large = rows * max(1, width * (1 + len(states))) >= 2 * self._update.GRAIN
        self._step(step, large, weight, nothing, others.view_as((size,)), 0, numbers, states)

    def update_rows(self, step: _Noted, weight: Outline, data: Outline, indices: Outline, numbers: Array | Outline,
                    states: Sequence[Outline]) -> None:
        """Note an optimizer's step on the rows that a gradient stores."""
        if isinstance(indices.shape[0], int) and indices.origin.kind != "constant":  # the next gradient may store fewer
            raise Refused("all rows have a gradient")
        self._builder.call(self._group._outside_rows, indices, weight.shape[0], status=True)
        work = likely(indices.shape[0]) * max(1, static(weight.shape[1]) * (1 + len(states)))
        self._step(step, work >= 2 * self._update.GRAIN, weight, data, indices, 1, numbers, states)

    def relu_slope(self, above: Outline, result: Outline, out: Outline) -> None:
        """Note the gradient of relu."""
        self._share_over(self._activation.relu_slope_shared, above, result, out)

    def sigmoid(self, data: Outline, out: Outline) -> None:
        """Note the logistic function of elements."""
        self._share_over(self._activation.sigmoid_shared, data, out)

    def softmax_rows(self, data: Outline, largest: Outline, out: Outline) -> None:
        """Note the softmax of rows."""
        self._share_over(self._normalize.softmax_shared, data, largest, out)

    def log_softmax_rows(self, data: Outline, largest: Outline, out: Outline) -> None:
        """Note the logarithm of the softmax of rows."""
        self._share_over(self._normalize.log_softmax_shared, data, largest, out)

    def softmax_backward_rows(self, above: Outline, result: Outline, out: Outline) -> None:
        """Note the gradient of the softmax of rows."""
        self._share_over(self._activation.softmax_backward_shared, above, result, out)

    def log_softmax_backward_rows(self, above: Outline, result: Outline, out: Outline) -> None:
        """Note the gradient of the logarithm of the softmax of rows."""
        self._share_over(self._activation.log_softmax_backward_shared, above, result, out)

    def outside(self, values: Outline, size: int) -> int:
        """Note that positions are inside an axis: where one is not, Python runs the operator."""
        self._builder.call(self._group._outside, self._builder.flat(values), size, status=True)
        values.positions = True
        return 0

    def shared_rows(self, indices: Outline, others: Outline) -> tuple[Outline, Outline, Outline]:
        """Note the numbers that two ascending arrays share, and their places."""
        make, count = self._builder.empty, indices.shape[0]
        shared, at, other = make((count,), indices.dtype), make((count,), np.int64), make((count,), np.int64)
        kernel = self._group._shared_rows
        size = self._builder.count(kernel, indices, others, shared, at, other, like=count)
        return shared.view_as((size,)), at.view_as((size,)), other.view_as((size,))

    def row_ranks(self, rows: Outline, ascending: Outline, limit: int) -> Outline:
        """Note the places of rows among others."""
        ranks = self._builder.empty((rows.shape[0],), np.int64)
        self._builder.call(self._twins.row_ranks_here, rows, ascending, limit, ranks)
        return ranks

    def unique_with_rank(self, indices: Outline) -> tuple[Outline, Outline]:
        """Note the distinct values, and the place of each entry among them."""
        columns, starts, places = self.group_columns(indices)
        ranks = self._builder.empty((indices.shape[0],), np.int64)
        self._builder.call(self._twins.ranks_here, columns, starts, places, ranks)
        return columns, ranks

    def csr_drop_absent(self, data: Outline, ranks: Outline, indptr: Outline) -> tuple[Outline, Outline, Outline]:
        """Note a matrix without the values whose rank is negative."""
        make, count = self._builder.empty, data.shape[0]
        out, kept, ends = make((count,), data.dtype), make((count,), ranks.dtype), make(indptr.shape, indptr.dtype)
        size = self._builder.count(self._csr._drop_absent, data, ranks, indptr, out, kept, ends, like=count)
        return out.view_as((size,)), kept.view_as((size,)), ends

    def row_sparse_merge(self, data: Outline, indices: Outline, right_data: Outline, right_indices: Outline,
                         factor: np.generic, out: Outline,
                         out_indices: Outline) -> Size:
        """Note the sum of two row-sparse arrays; returns how many rows it has."""
        kernel: Any = for_device("cpu").row_sparse_merge  # Any: a kernel
        return self._builder.count(kernel, data, indices, right_data, right_indices, factor, out, out_indices,
                                   like=out_indices.shape[0])

    def row_sparse_multiply(self, data: Outline, indices: Outline, right_data: Outline, right_indices: Outline, out: Outline,
                            out_indices: Outline) -> Size:
        """Note the product of two row-sparse arrays; returns how many rows it has."""
        kernel: Any = for_device("cpu").row_sparse_multiply  # Any: a kernel
        return self._builder.count(kernel, data, indices, right_data, right_indices, out, out_indices,
                                   like=out_indices.shape[0])
