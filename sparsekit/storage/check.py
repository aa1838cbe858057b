"""Checks of sparse components, in O(nnz), and of the memory that dense results and conversions need."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING, cast

import numpy as np

from ..base.config import config
from ..base.errors import DensificationError, InsufficientMemoryError, SparseFormatError

if TYPE_CHECKING:
    from ..base.types import Array, DTypeLike, Foreign, Indices, Shape, Values
    from .csr import CSR
    from .types import Store

_CONVERSION_HINT = "take a slice first; asscipy() and the components need no conversion."

#: Bytes up to which the free memory is not checked.
PLENTY = 1 << 28


def _fail(problem: str, hint: str) -> None:
    raise SparseFormatError(problem, hint=hint)


def on_host(array: Array) -> Array:
    """The array in host memory: itself if it is a numpy array, else a copy from the GPU."""
    return array if isinstance(array, np.ndarray) else array.get()


def _check_index_array(name: str, array: Array) -> None:
    if array.ndim != 1:
        _fail(f"{name} must have one dimension, not shape {array.shape}.", "pass a flat list of integers.")
    if array.dtype.kind not in "iu":
        _fail(f"{name} must hold integers, not {array.dtype}.", f"convert it: {name}.astype('int64').")


def _check_bounds(name: str, array: Array, limit: int, axis: str) -> None:
    if array.size == 0:
        return
    low, high = int(array.argmin()), int(array.argmax())
    for place in (low, high):
        value = int(array[place])
        if not 0 <= value < limit:
            _fail(f"{name}[{place}] is {value}, outside the {limit} {axis} of the shape.",
                  f"valid {name} are 0 to {limit - 1}; pass a larger shape or correct the entry.")


def check_csr(data: Values, indices: Indices, indptr: Indices, shape: Shape) -> None:
    """Raise ``SparseFormatError`` unless the components form a canonical CSR matrix of ``shape``."""
    _check_index_array("indices", indices)
    _check_index_array("indptr", indptr)
    if data.ndim != 1 or data.shape[0] != indices.shape[0]:
        _fail(f"data has shape {data.shape} but indices has {indices.shape[0]} entries.",
              "both must have one entry per stored value.")
    rows, columns = shape
    indices, indptr = on_host(indices), on_host(indptr)
    _check_pointers(indptr, rows, indices.shape[0])
    if indptr[-1] != indices.shape[0]:
        _fail(f"indptr runs from 0 to {indptr[-1]}, but must run from 0 to {indices.shape[0]}.",
              "its last entry is the number of stored values.")
    _check_bounds("indices", indices, columns, "columns")
    _check_ascending_in_rows(indices, indptr)


def _check_pointers(indptr: Array, rows: int, stored: int, axis: str = "row") -> None:
    """Raise ``SparseFormatError`` unless ``indptr`` cuts the stored values into rows."""
    if indptr.shape[0] != rows + 1:
        _fail(f"indptr has {indptr.shape[0]} entries, but {rows} {axis}s need {rows + 1}.",
              f"{axis} i is data[indptr[i]:indptr[i + 1]].")
    if indptr[0] != 0 or indptr[-1] > stored:
        _fail(f"indptr runs from {indptr[0]} to {indptr[-1]}, but must run from 0 to {stored}.",
              "its last entry is the number of stored values.")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        at = int(falls[0])
        _fail(f"indptr[{at + 1}] = {indptr[at + 1]} is less than indptr[{at}] = {indptr[at]}.", "indptr must not decrease.")


def check_foreign(matrix: Foreign) -> None:
    """Raise ``SparseFormatError`` unless the components of a matrix of scipy fit its shape.

    Columns may be out of order, or repeat.  The methods of scipy that sort, add up or convert rely on the components: with wrong
    ones they read and write memory of others.
    """
    form, shape = getattr(matrix, "format", None), matrix.shape
    if len(shape) != 2:
        return
    if form == "coo":
        for name, size, axis in (("row", shape[0], "rows"), ("col", shape[1], "columns")):
            numbers = getattr(matrix, name)
            _check_index_array(name, numbers)
            if matrix.data.shape != numbers.shape:
                _fail(f"data has shape {matrix.data.shape}, but {name} has {numbers.shape[0]} entries.",
                      "both must have one entry per stored value.")
            _check_bounds(name, numbers, size, axis)
    elif form in ("csr", "csc", "bsr"):
        data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
        _check_index_array("indices", indices)
        _check_index_array("indptr", indptr)
        if data.ndim != (3 if form == "bsr" else 1) or data.shape[0] != indices.shape[0]:
            _fail(f"data has shape {data.shape} but indices has {indices.shape[0]} entries.",
                  "both must have one entry per stored value.")
        height, width = data.shape[1:] if form == "bsr" else (1, 1)
        sizes = [(shape[0] // height, "row"), (shape[1] // width, "column")]
        (lines, axis), (places, across) = sizes[::-1] if form == "csc" else sizes
        _check_pointers(indptr, lines, indices.shape[0], axis)
        _check_bounds("indices", indices[:indptr[-1]], places, f"{across}s")
    elif form == "dia":
        _check_index_array("offsets", matrix.offsets)
        if matrix.data.ndim != 2 or matrix.data.shape[0] != matrix.offsets.shape[0]:
            _fail(f"data has shape {matrix.data.shape} but offsets has {matrix.offsets.shape[0]} entries.",
                  "data must have one row per diagonal.")
        _check_bounds("offsets + rows", matrix.offsets + shape[0], sum(shape) + 1, "diagonals")
    elif form == "lil":
        places, values = ([len(row) for row in lists] for lists in (matrix.rows, matrix.data))
        if places != values or len(places) != shape[0]:
            _fail("rows and data have lists of different lengths.", "each row needs one column per stored value.")
        columns = np.array([column for row in matrix.rows for column in row] or [0])
        _check_index_array("columns", columns)
        _check_bounds("columns", columns, max(shape[1], 1), "columns")


def _check_ascending_in_rows(indices: Array, indptr: Array) -> None:
    bad = indices[1:] <= indices[:-1]
    starts = indptr[1:-1]
    bad[starts[(starts > 0) & (starts < indices.shape[0])] - 1] = False
    places = np.flatnonzero(bad)
    if places.size:
        at = int(places[0]) + 1
        row = int(np.searchsorted(indptr, at, side="right")) - 1
        kind = "repeats" if indices[at] == indices[at - 1] else "is less than"
        _fail(f"indices[{at}] = {indices[at]} in row {row} {kind} indices[{at - 1}] = {indices[at - 1]}.",
              "columns must be strictly increasing in each row; csr_matrix((data, (row, col))) sorts and sums duplicates.")


def check_row_sparse(data: Values, indices: Indices, shape: Shape) -> None:
    """Raise ``SparseFormatError`` unless the components form a row-sparse array of ``shape``."""
    _check_index_array("indices", indices)
    if len(shape) == 0:
        _fail("A row_sparse array must have at least one dimension.", "pass a shape such as (rows, columns).")
    if data.ndim != len(shape) or data.shape[0] != indices.shape[0] or tuple(data.shape[1:]) != tuple(shape[1:]):
        _fail(f"data has shape {data.shape}, but {indices.shape[0]} stored rows of an array of shape {shape} "
              f"need {(indices.shape[0], *shape[1:])}.", "data must have one slice per entry of indices.")
    indices = on_host(indices)
    _check_bounds("indices", indices, shape[0], "rows")
    falls = np.flatnonzero(indices[1:] <= indices[:-1])
    if falls.size:
        at = int(falls[0]) + 1
        _fail(f"indices[{at}] = {indices[at]} does not exceed indices[{at - 1}] = {indices[at - 1]}.",
              "row indices must be strictly increasing.")


def check_room(name: str, shape: Shape, dtype: DTypeLike) -> None:
    """Raise ``DensificationError`` if a dense result exceeds ``config.densify_limit``, unless ``config.densify == "allow"``."""
    size = math.prod(int(extent) for extent in shape) * np.dtype(dtype).itemsize
    if size > config.densify_limit and config.densify != "allow":
        raise DensificationError(
            f"{name}: the result of shape {tuple(shape)} is dense and would take {size:,} bytes, above "
            f"config.densify_limit of {config.densify_limit:,}.",
            hint="take a slice first, or raise sparsekit.config.densify_limit.")


def check_memory(size: int, what: str, hint: str) -> None:
    """Raise ``InsufficientMemoryError`` if ``what`` takes more bytes than the machine has free.

    Operating systems that overcommit grant such an allocation and kill the process when it writes to the memory.
    """
    if size <= PLENTY:
        return
    from ..base.machine import available_memory  # reads system files, so only for large arrays

    free = available_memory()
    free = (1 << 46) if free is None else free
    if size > free:
        raise InsufficientMemoryError(f"{what} would take {size:,} bytes, and {free:,} are free.", hint=hint)


def check_conversion(store: Store, stype: str) -> None:
    """Raise ``InsufficientMemoryError`` if the free memory cannot hold a sparse store after conversion to ``stype``."""
    source = getattr(store, "stype", "default")
    if source in ("default", stype):
        return
    sparse = cast("CSR", store)  # or a RowSparse, for which no branch below reads indptr
    rows, itemsize = sparse.shape[0], sparse.dtype.itemsize
    width = math.prod(sparse.shape[1:])
    if stype == "csr":
        size = 8 * (rows + 1) + (8 + itemsize) * sparse.nnz
    elif stype == "row_sparse":
        size = min(rows, sparse.nnz) * width * itemsize
        if size > PLENTY:
            size = int(np.count_nonzero(np.diff(on_host(sparse.indptr)))) * width * itemsize
    else:  # untouched pages of zeros take no memory, but the address space must hold them
        size = rows * width * itemsize
        size = size if size >= 1 << 46 else min(size, sparse.data.nbytes + mmap.PAGESIZE * sparse.nnz)
    check_memory(size, f"A {source} array of shape {store.shape}, converted to {stype},", _CONVERSION_HINT)


def allocation_error(store: Store, stype: str, error: Exception) -> InsufficientMemoryError:
    """The error for a conversion whose memory could not be allocated."""
    size = math.prod(store.shape) * store.dtype.itemsize
    problem = f"{size:,} bytes could not be allocated" if stype == "default" else error
    return InsufficientMemoryError(f"An array of shape {store.shape} cannot be converted to {stype}: {problem}.",
                                   hint=_CONVERSION_HINT)
