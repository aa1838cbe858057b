"""The kernels as rules see them while they are lowered: each call becomes a row.

A kernel that numba compiled as a whole is called as it is.  A function that divides its work among threads has a *twin* of one
thread in ``kernels/cpu/table_twins.py``, which hands large work back to Python.  All others are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.forking import load
from ...base.refusal import Refused
from ...kernels import for_device
from .arrays import Outline, likely, static
from .numpy_calls import Numpy

if TYPE_CHECKING:
    from ...base.types import Array
    from ...kernels.cpu.jit import Kernel
    from .arrays import Length, Size
    from .builder import Argument, Builder

__all__ = ["TableKernels"]


class _Noted:
    """A kernel whose calls are noted."""

    def __init__(self, builder: Builder, kernel: Kernel) -> None:
        self._builder, self.kernel = builder, kernel

    def __call__(self, *arguments: Argument | _Noted) -> None:
        self._builder.call(self.kernel, *[one.kernel if isinstance(one, _Noted) else one for one in arguments])


class TableKernels:
    """``k`` of a table.

    Attributes
    ----------
    xp : Numpy
    numbers : Outline or None
        The numbers of the optimizer's step that is lowered, which each run brings.
    """

    device = "cpu"
    sum_few = None  # as numpy's loop needs no way into it here

    def __init__(self, builder: Builder) -> None:
        self._builder, self.xp = builder, Numpy(builder)
        self._twins: Any = load("sparsekit.kernels.cpu.table_twins")  # Any: a module of kernels
        self._update: Any = load("sparsekit.kernels.cpu.update")  # Any: the same
        self._normalize: Any = load("sparsekit.kernels.cpu.normalize")  # Any: the same
        self.numbers: Outline | None = None

    def __getattr__(self, name: str) -> _Noted:
        real: Any = getattr(for_device("cpu"), name)  # Any: a kernel, or a function that calls some
        if not hasattr(real, "dispatcher"):
            raise Refused(f"the kernel {name} divides its work in Python")

        return _Noted(self._builder, real)

    def csr_dot_dense(self, data: Outline, indices: Outline, indptr: Outline, right: Outline, out: Outline) -> None:
        """Note ``csr · dense``."""
        self._refuse_large(data.shape[0], out.shape[1])
        twin = self._twins.csr_dot_vector_here if out.shape[1] == 1 else self._twins.csr_dot_dense_here
        self._builder.call(twin, data, indices, indptr, right, out, status=True)

    def _refuse_large(self, stored: Length, width: Length) -> None:
        """Refuse a product that Python divides among threads: in the table, what comes before it would be done for nothing."""
        if likely(stored) * (static(width) + self._twins.FETCH) >= self._twins.LARGE:
            raise Refused("so many stored values are shared among threads")

    def group_columns(self, indices: Outline) -> tuple[Outline, Outline, Outline]:
        """Note a grouping by column."""
        make, count = self._builder.empty, indices.shape[0]
        room, starts = make((count * 2,), np.uint64), make((count * 2,), np.uint64)
        columns, places = make((count,), np.int64), make((count,), np.uint64)
        self._builder.call(self._twins.few_columns, indices, status=True)
        found = self._builder.count(self._twins.group_columns_here, indices, room, columns, starts, places, like=count)
        return columns.view_as((found,)), starts, places

    def csr_transposed_dot_rows(self, data: Outline, indices: Outline, indptr: Outline, right: Outline,
                                columns: int) -> tuple[Outline, Outline]:
        """Note ``csrᵀ · dense`` for the columns that occur."""
        self._refuse_large(data.shape[0], right.shape[1])
        found, starts, places = self.group_columns(indices)
        rows = self._builder.empty((data.shape[0],), np.uint64)
        out = self._builder.empty((found.shape[0], right.shape[1]), data.dtype)
        self._builder.call(self._twins.csr_transposed_dot_here, data, indptr, starts, places, right, rows, out, status=True)
        return found, out

    def distinct(self, indices: Outline) -> Outline:
        """Note the distinct values of an array."""
        count = indices.shape[0]
        room, out = self._builder.empty((count * 2,), np.uint64), self._builder.empty((count,), indices.dtype)
        self._builder.call(self._twins.few_columns, indices, status=True)
        return out.view_as((self._builder.count(self._twins.distinct_here, indices, room, out, like=count),))

    def _own_numbers(self, numbers: Array | Outline) -> Outline:
        if isinstance(numbers, Outline):
            return numbers
        if self.numbers is None or numbers.dtype != self.numbers.dtype or numbers.shape != self.numbers.shape:
            raise Refused("its numbers are not known before each run")
        return self.numbers

    def update_dense(self, step: _Noted, weight: Outline, gradient: Outline, numbers: Array | Outline,
                     states: Sequence[Outline]) -> None:
        """Note an optimizer's step on arrays of one row."""
        if static(weight.shape[1]) >= 2 * self._update.DENSE_GRAIN:
            raise Refused("so many elements are shared among threads")
        first = self._builder.constant(np.zeros(1, np.int64))
        self._builder.call(step.kernel, weight, gradient, first, 1, self._own_numbers(numbers), *states, ignored=True)

    def update_other_rows(self, step: _Noted, weight: Outline, indices: Outline, numbers: Array | Outline,
                          states: Sequence[Outline]) -> None:
        """Note an optimizer's step on the rows that a gradient does not store, after the step on those that it does."""
        rows, width = static(weight.shape[0]), static(weight.shape[1])
        if rows * max(1, width * (1 + len(states))) >= self._twins.UPDATE_GRAIN:
            raise Refused("so many rows are shared among threads")  # before anything is written, so not while it runs
        absent, others = self._builder.empty((rows,), np.bool), self._builder.empty((rows,), np.int64)
        found = self._builder.count(self._twins.other_rows, indices, absent, others, like=rows)
        nothing = self._builder.constant(np.zeros((1, width), weight.dtype))
        self._builder.call(step.kernel, weight, nothing, others.view_as((found,)), 0, self._own_numbers(numbers), *states,
                           ignored=True)

    def update_rows(self, step: _Noted, weight: Outline, data: Outline, indices: Outline, numbers: Array | Outline,
                    states: Sequence[Outline]) -> None:
        """Note an optimizer's step on the rows that a gradient stores."""
        if isinstance(indices.shape[0], int) and indices.origin.kind != "constant":  # the next gradient may store fewer
            raise Refused("all rows have a gradient")
        work = max(1, static(weight.shape[1]) * (1 + len(states)))
        if likely(indices.shape[0]) * work >= 2 * self._twins.UPDATE_GRAIN:
            raise Refused("so many rows are shared among threads")
        self._builder.call(self._twins.few_rows, indices, work, weight.shape[0], status=True)
        self._builder.call(step.kernel, weight, data, indices, 1, self._own_numbers(numbers), *states, ignored=True)

    def _rows(self, kernel: Kernel, *arrays: Outline) -> None:
        """Note a kernel that computes rows of its last array, each by itself."""
        rows, columns = map(static, arrays[-1].shape)
        if rows * columns >= 2 * self._normalize.GRAIN:
            raise Refused("so many rows are shared among threads")
        self._builder.call(kernel, *arrays, 0, rows)

    def relu_slope(self, above: Outline, made: Outline, out: Outline) -> None:
        """Note the gradient of relu."""
        if likely(out.shape[0]) >= 2 * self._normalize.GRAIN:
            raise Refused("so many elements are shared among threads")
        self._builder.call(load("sparsekit.kernels.cpu.activation")._relu_slope, above, made, out)

    def sigmoid(self, data: Outline, out: Outline) -> None:
        """Note the logistic function of elements."""
        if likely(out.shape[0]) >= self._normalize.GRAIN // 2:
            raise Refused("so many elements are shared among threads")
        self._builder.call(load("sparsekit.kernels.cpu.activation")._sigmoid, data, out)

    def softmax_rows(self, data: Outline, largest: Outline, out: Outline) -> None:
        """Note the softmax of rows."""
        self._rows(self._normalize._softmax, data, largest, out)

    def log_softmax_rows(self, data: Outline, largest: Outline, out: Outline) -> None:
        """Note the logarithm of the softmax of rows."""
        self._rows(self._normalize._log_softmax, data, largest, out)

    def softmax_backward_rows(self, above: Outline, made: Outline, out: Outline) -> None:
        """Note the gradient of the softmax of rows."""
        self._rows(load("sparsekit.kernels.cpu.activation")._softmax_backward, above, made, out)

    def log_softmax_backward_rows(self, above: Outline, made: Outline, out: Outline) -> None:
        """Note the gradient of the logarithm of the softmax of rows."""
        self._rows(load("sparsekit.kernels.cpu.activation")._log_softmax_backward, above, made, out)

    def outside(self, values: Outline, size: int) -> int:
        """Note that positions are inside an axis: where one is not, Python runs the operator."""
        self._builder.call(load("sparsekit.kernels.cpu.group")._outside, self._builder.flat(values), size, status=True)
        values.positions = True
        return 0

    def shared_rows(self, indices: Outline, others: Outline) -> tuple[Outline, Outline, Outline]:
        """Note the numbers that two ascending arrays share, and their places."""
        make, count = self._builder.empty, indices.shape[0]
        shared, at, other = make((count,), indices.dtype), make((count,), np.int64), make((count,), np.int64)
        kernel = load("sparsekit.kernels.cpu.group")._shared_rows
        found = self._builder.count(kernel, indices, others, shared, at, other, like=count)
        return shared.view_as((found,)), at.view_as((found,)), other.view_as((found,))

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
        found = self._builder.count(self._twins.drop_absent_here, data, ranks, indptr, out, kept, ends, like=count)
        return out.view_as((found,)), kept.view_as((found,)), ends

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
