"""Sparse arrays: ``mx.nd.sparse``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.config import config
from ..base.context import Context
from ..base.errors import ShapeError, SparseFormatError
from ..core.dispatch import array_types, wrap
from ..core.op import registry
from ..ops.cast import check_stype
from ..ops.creation import empty_store
from ..storage import CSR, RowSparse, convert
from ..storage.convert import counts_to_indptr
from . import arithmetic
from .creation import context_of, shape_of, sparse_makers
from .functions import F
from .ndarray import NDArray
from .sparse_indexing import assign, select

__all__ = ["BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray", "array", "csr_matrix", "empty", "retain",
           "row_sparse_array", "zeros"]


class BaseSparseNDArray(NDArray):
    """What the sparse array classes share."""

    __slots__ = ()

    @property
    def data(self) -> NDArray:
        """The stored values, sharing memory."""
        return wrap(self._store.data, self._ctx)

    @property
    def indices(self) -> NDArray:
        """Column of each stored value (csr), or the stored rows' numbers (row_sparse); shares memory."""
        return wrap(self._store.indices, self._ctx)

    @property
    def nnz(self) -> int:
        """Number of stored values, zeros among them counted."""
        return int(self._store.nnz)

    @property
    def density(self) -> float:
        """Stored values over all elements, 0 to 1."""
        return self.nnz / self.size if self.size else 0.0

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self._ctx}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in (
            ("storage type", self.stype), ("shape", " × ".join(f"{size:,}" for size in self.shape)),
            ("stored values", f"{self.nnz:,}"), ("density", f"{self.density:.3g}"), ("values", self.dtype),
            ("indices", self._store.indices.dtype),
            ("bytes", ", ".join(f"{name} {getattr(self._store, name).nbytes:,}" for name in self._store.components)
             + f": {self.nbytes:,} in all"), ("context", self._ctx)))
        return f"<table>{rows}</table>"

    def check_format(self, full_check: bool = True) -> None:
        """Raise ``SparseFormatError`` if the components are not valid."""
        type(self._store)(*(getattr(self._store, name) for name in self._store.components), self.shape)

    def asscipy(self) -> Any:
        """A scipy.sparse CSR matrix sharing the components.

        Raises
        ------
        ShapeError
            If there are not two dimensions.
        """
        from scipy import sparse  # loaded by this call only: importing sparsekit must not load scipy

        if self.ndim != 2:
            raise ShapeError(f"scipy matrices have two dimensions, not shape {self.shape}.", hint="reshape the dense array.")
        store = convert(self._store, "csr")
        return sparse.csr_matrix((store.data, store.indices, store.indptr), shape=self.shape)

    def __getitem__(self, key: Any) -> NDArray:
        """Rows, or rows and columns, by numbers, slices with any step, lists and masks.

        An int keeps its axis: ``x[2]`` is an array of one row.  Numbers for both axes of a matrix give single elements
        as a dense array.
        """
        whole = isinstance(key, slice) and key == slice(None)
        return self if whole or key is Ellipsis else select(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """``x[:] = value``: a number, or an array of any storage type; that of the array stays."""
        assign(self, key, value)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse rows: ``data``, ``indices`` and ``indptr``.

    Row ``i`` has the values ``data[indptr[i]:indptr[i+1]]`` in the ascending columns
    ``indices[indptr[i]:indptr[i+1]]``.
    """

    __slots__ = ()
    stype = "csr"

    @property
    def indptr(self) -> NDArray:
        """Where each row starts among the stored values, shape (rows + 1,); shares memory."""
        return wrap(self._store.indptr, self._ctx)


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which only the rows ``indices`` are stored, in ``data``; the rest is zero."""

    __slots__ = ()
    stype = "row_sparse"

    def retain(self, indices: NDArray) -> RowSparseNDArray:
        """Only these rows; all others become absent."""
        return F._sparse_retain(self, indices)


array_types[CSR] = CSRNDArray
array_types[RowSparse] = RowSparseNDArray


def _values(source: Any, dtype: Any) -> Any:
    """Components as numpy, in the type given, else the source's; lists give float32."""
    if isinstance(source, NDArray):
        source = source.asnumpy()
    if dtype is None:
        dtype = source.dtype if hasattr(source, "dtype") else np.float32
    return np.ascontiguousarray(source, dtype=dtype)


def _index(source: Any, name: str) -> Any:
    """An index component as int64, as in MXNet."""
    values = np.asarray(source.asnumpy() if isinstance(source, NDArray) else source)
    if values.size and values.dtype.kind not in "iu" and not np.array_equal(values, np.round(values)):
        raise SparseFormatError(f"{name} holds values that are no integers.", hint="indices count rows or columns from 0.")
    return np.ascontiguousarray(values.astype(np.int64) if values.size else np.zeros(0, np.int64))


def _made(store: Any, ctx: Context | None, stype: str) -> Any:
    place = context_of(ctx)
    made = wrap(store, Context("cpu", 0))
    return made if place.device_type == "cpu" and place.device_id == 0 else made.as_in_context(place)


def csr_matrix(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> CSRNDArray:
    """A CSR matrix from whatever describes one.

    Parameters
    ----------
    arg1 : array-like, NDArray, scipy matrix, shape tuple, or components
        ``(data, indices, indptr)``, ``(data, (row, col))`` with duplicates summed, ``(rows, columns)`` for
        zeros, or anything dense.
    shape : tuple of two ints, optional
        Taken from the largest index if left out.
    dtype : optional
        The source's; float32 for lists.

    Raises
    ------
    SparseFormatError
        If the components are not a valid matrix of that shape.
    """
    if isinstance(arg1, tuple):
        store = _csr_of_tuple(arg1, shape, dtype)
    elif isinstance(arg1, NDArray):
        store = convert(arg1._store, "csr")
        store = CSR(store.data.astype(dtype or store.dtype), store.indices.copy(), store.indptr.copy(), store.shape, check=False)
    elif hasattr(arg1, "tocsr"):
        found = arg1.tocsr().copy()
        found.sum_duplicates()
        store = CSR(_values(found.data, dtype), _index(found.indices, "indices"), _index(found.indptr, "indptr"),
                    tuple(int(size) for size in found.shape))
    else:
        dense = _values(arg1, dtype)
        if dense.ndim != 2:
            raise ShapeError(f"A csr array has two dimensions; the source has shape {dense.shape}.",
                             hint="give a nested list, or reshape to (rows, columns).")
        store = convert(dense, "csr")
    if shape is not None and tuple(shape_of(shape)) != tuple(store.shape):
        raise ShapeError(f"The source has shape {tuple(store.shape)}, but shape={tuple(shape)} was asked for.",
                         hint="leave out shape=.")
    return _made(store, ctx, "csr")


def _csr_of_tuple(parts: tuple[Any, ...], shape: Any, dtype: Any) -> CSR:
    if len(parts) == 2 and all(isinstance(part, (int, np.integer)) for part in parts):
        return empty_store(np, "csr", shape_of(parts), np.dtype(dtype or np.float32))
    if len(parts) == 3:
        data, indices, indptr = _values(parts[0], dtype), _index(parts[1], "indices"), _index(parts[2], "indptr")
        if shape is None:
            shape = (indptr.shape[0] - 1, int(indices.max()) + 1 if indices.size else 0)
        return CSR(data, indices, indptr, shape_of(shape), check=config.check_format)
    if len(parts) == 2 and isinstance(parts[1], (tuple, list)) and len(parts[1]) == 2:
        row, column = (_index(part, "row and col") for part in parts[1])
        return _csr_of_places(_values(parts[0], dtype), row, column, shape)
    raise SparseFormatError(f"A tuple of {len(parts)} parts does not describe a csr array.",
                            hint="give (data, indices, indptr), (data, (row, col)) or (rows, columns).")


def _csr_of_places(data: Any, row: Any, column: Any, shape: Any) -> CSR:
    """From coordinates in any order; values at one place are summed."""
    if not data.shape == row.shape == column.shape:
        raise SparseFormatError(f"data, row and col have shapes {data.shape}, {row.shape} and {column.shape}.",
                                hint="each needs one entry per value.")
    if shape is None:
        shape = tuple(int(part.max()) + 1 if part.size else 0 for part in (row, column))
    shape = shape_of(shape)
    for name, part, size in (("row", row, shape[0]), ("col", column, shape[1])):
        outside = np.flatnonzero((part < 0) | (part >= size))
        if outside.size:
            raise SparseFormatError(f"{name}[{outside[0]}] is {part[outside[0]]}, outside the {size} of shape {shape}.",
                                    hint=f"{name} runs from 0 to {size - 1}.")
    order = np.lexsort((column, row))
    row, column, data = row[order], column[order], data[order]
    first = np.ones(row.shape[0], bool)
    first[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    starts = np.flatnonzero(first)
    summed = np.add.reduceat(data, starts) if starts.size else data
    return CSR(summed, column[starts], counts_to_indptr(row[starts], shape[0]), shape, check=False)


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> RowSparseNDArray:
    """A row-sparse array.

    Parameters
    ----------
    arg1 : array-like, NDArray, shape tuple, or ``(data, indices)``
        Row numbers in any order are sorted; they must not repeat.
    shape : tuple of int, optional
        Taken from the largest row number if left out.
    """
    if isinstance(arg1, tuple) and all(isinstance(part, (int, np.integer)) for part in arg1):
        store = empty_store(np, "row_sparse", shape_of(arg1), np.dtype(dtype or np.float32))
    elif isinstance(arg1, tuple):
        if len(arg1) != 2:
            raise SparseFormatError(f"A tuple of {len(arg1)} parts does not describe a row_sparse array.",
                                    hint="give (data, indices), or a shape.")
        data, indices = _values(arg1[0], dtype), _index(arg1[1], "indices")
        if indices.size > 1 and (np.diff(indices) < 0).any() and data.shape[:1] == indices.shape:
            order = np.argsort(indices, kind="stable")
            data, indices = np.ascontiguousarray(data[order]), indices[order]
        if shape is None:
            shape = (int(indices.max()) + 1 if indices.size else 0, *data.shape[1:])
        store = RowSparse(data, indices, shape_of(shape), check=config.check_format)
    elif isinstance(arg1, NDArray):
        found = convert(arg1._store, "row_sparse")
        store = RowSparse(found.data.astype(dtype or found.dtype), found.indices.copy(), found.shape, check=False)
    else:
        store = convert(_values(arg1, dtype), "row_sparse")
    if shape is not None and tuple(shape_of(shape)) != tuple(store.shape):
        raise ShapeError(f"The source has shape {tuple(store.shape)}, but shape={tuple(shape)} was asked for.",
                         hint="leave out shape=.")
    return _made(store, ctx, "row_sparse")


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """A sparse array with a copy of a sparse source: an NDArray or a scipy matrix."""
    if isinstance(source_array, RowSparseNDArray):
        return row_sparse_array(source_array, ctx=ctx, dtype=dtype)
    if isinstance(source_array, CSRNDArray) or hasattr(source_array, "tocsr"):
        return csr_matrix(source_array, ctx=ctx, dtype=dtype)
    raise SparseFormatError(f"A {type(source_array).__name__} is not sparse.",
                            hint="use csr_matrix or row_sparse_array for dense sources, mx.nd.array for a dense array.")


def zeros(stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None, **_kwargs: Any) -> NDArray:
    """Zeros of a storage type; a sparse array of zeros stores nothing."""
    shape = shape_of(shape)
    if check_stype(stype) == "csr" and len(shape) != 2:
        raise ShapeError(f"A csr array has two dimensions, not shape {shape}.", hint="use row_sparse, or (rows, columns).")
    place = context_of(ctx)
    made = wrap(empty_store(np, stype, shape, np.dtype(dtype or np.float32)), Context("cpu", 0))
    return made.as_in_context(place)


def empty(stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of a storage type whose values are yet to be written."""
    return zeros(stype, shape, ctx, dtype)


def retain(data: RowSparseNDArray, indices: NDArray) -> RowSparseNDArray:
    """Only the given rows of a row_sparse array; all others become absent."""
    return F._sparse_retain(data, indices)


def cast_storage(data: NDArray, stype: str) -> NDArray:
    """The values in another storage type."""
    return F.cast_storage(data, stype=check_stype(stype))


sparse_makers.update(csr_matrix=csr_matrix, zeros=zeros)
add, subtract, multiply, divide = (arithmetic.add, arithmetic.subtract, arithmetic.multiply, arithmetic.divide)


def __getattr__(name: str) -> Any:
    """Every operator is also reachable here, as in MXNet."""
    if name in registry:
        return getattr(F, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for name in registry if not name.startswith("_"))})
