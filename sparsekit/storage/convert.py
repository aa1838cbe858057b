"""Conversions between storage types."""

from __future__ import annotations

import contextlib
import math
import mmap
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from ..base.errors import ShapeError, UnknownNameError
from ..kernels import NUMPY, for_device, is_numpy
from .check import allocation_error, check_conversion
from .csr import CSR
from .row_sparse import RowSparse

if TYPE_CHECKING:
    from typing import Any

    from ..base.types import Array, DType
    from ..kernels.types import ArrayModule
    from .types import Sparse, Store

STYPES = ("default", "row_sparse", "csr")


def stype_of(store: Store) -> str:
    """Storage type of a store: ``"default"``, ``"row_sparse"`` or ``"csr"``."""
    return getattr(store, "stype", "default")


def densify(store: Store, xp: ArrayModule = NUMPY, out: Array | None = None) -> Array:
    """A sparse store as a dense array, written to ``out`` if given; a dense store is returned unchanged."""
    if not isinstance(store, (CSR, RowSparse)):
        return store
    if out is None:
        out = _lazy_zeros(store) if is_numpy(xp) else xp.zeros(store.shape, store.dtype)
    else:
        out.fill(0)
    if isinstance(store, RowSparse):
        out[store.indices] = store.data
    elif _compiled(store.nnz, xp) and out.flags.c_contiguous:
        for_device("cpu").csr_to_dense(store.data, store.indices, store.indptr, out)
    else:
        out[row_ids(store, xp), store.indices] = store.data
    return out


#: Elements from which a compiled kernel is faster, including the time to load the compiler.
LARGE = 1 << 15


def _compiled(elements: int, xp: ArrayModule) -> bool:
    return is_numpy(xp) and elements >= LARGE


#: Bytes from which a dense copy of a sparse array uses small pages.
SMALL_PAGES = 1 << 28


def _lazy_zeros(store: Sparse) -> Array:
    """Zeros for a dense copy, in small pages: only the pages that are written take memory.

    numpy requests huge pages, with which ten thousand values scattered over 4 GB would take all of it.
    """
    size = math.prod(store.shape) * store.dtype.itemsize
    small_pages: int | None = getattr(mmap, "MADV_NOHUGEPAGE", None)  # Linux's
    if size < SMALL_PAGES or store.nnz * mmap.PAGESIZE > size or small_pages is None:
        return np.zeros(store.shape, store.dtype)
    try:
        pages: Any = mmap.mmap(-1, size)  # Any: Windows has no madvise
    except (OSError, OverflowError) as error:
        raise MemoryError(f"{size:,} bytes for a dense array of shape {tuple(store.shape)}: {error}") from None
    with contextlib.suppress(OSError):  # a system that was built without huge pages refuses the advice
        pages.madvise(small_pages)
    return np.frombuffer(pages, store.dtype).reshape(store.shape)


def row_ids(store: CSR, xp: ArrayModule = NUMPY) -> Array:
    """Row number of each stored value of a CSR matrix, shape (nnz,)."""
    if not is_numpy(xp):  # repeat would wait for the device to sum the counts
        places = xp.arange(store.nnz, dtype=store.indptr.dtype)
        return xp.searchsorted(store.indptr[1:], places, side="right").astype(store.indices.dtype, copy=False)
    return np.repeat(np.arange(store.shape[0], dtype=store.indices.dtype), np.diff(store.indptr))


def _dense_to_row_sparse(store: Array, xp: ArrayModule) -> RowSparse:
    if store.ndim == 0:
        raise ShapeError("A scalar array cannot be row_sparse.", hint="reshape it to (1,).")
    lines = store.reshape(store.shape[0], math.prod(store.shape[1:]))
    if _compiled(store.size, xp):
        indices = for_device("cpu").dense_occupied_rows(np.ascontiguousarray(lines))
    else:
        indices = xp.flatnonzero(xp.any(lines, axis=1)).astype(np.int64, copy=False)
    return RowSparse(store[indices], indices, tuple(store.shape), check=False)


def _dense_to_csr(store: Array, xp: ArrayModule) -> CSR:
    if store.ndim != 2:
        raise ShapeError(f"A csr array must have two dimensions, but this array has shape {tuple(store.shape)}.",
                         hint="reshape to (rows, columns), or use row_sparse.")
    if _compiled(store.size, xp) and store.dtype != np.float16:
        data, indices, indptr = for_device("cpu").dense_to_csr(np.ascontiguousarray(store))
        return CSR(data, indices, indptr, tuple(store.shape), check=False)
    row, column = _places(store, xp)
    return CSR(store[row, column], column, counts_to_indptr(row, store.shape[0], xp), tuple(store.shape), check=False)


def _places(matrix: Array, xp: ArrayModule) -> tuple[Array, Array]:
    """Rows and columns of the nonzero values; contiguous, while numpy's are strided, for which kernels are compiled again."""
    row, column = xp.nonzero(matrix)
    return row, xp.ascontiguousarray(column)


def counts_to_indptr(row: Array, rows: int, xp: ArrayModule = NUMPY) -> Array:
    """``indptr`` for the row number of each stored value, shape (rows + 1,), int64."""
    indptr = xp.zeros(rows + 1, np.int64)
    xp.cumsum(xp.bincount(row, minlength=rows), out=indptr[1:])
    return indptr


def _csr_to_row_sparse(store: CSR, xp: ArrayModule) -> RowSparse:
    indices = xp.flatnonzero(xp.diff(store.indptr)).astype(store.indices.dtype, copy=False)
    data = xp.zeros((indices.shape[0], store.shape[1]), store.dtype)
    if _compiled(store.nnz, xp):
        for_device("cpu").csr_to_rows(store.data, store.indices, store.indptr, indices, data)
        return RowSparse(data, indices, store.shape, check=False)
    rank = xp.repeat(xp.arange(indices.shape[0]), xp.diff(store.indptr)[indices])
    data[rank, store.indices] = store.data
    return RowSparse(data, indices, store.shape, check=False)


def _row_sparse_to_csr(store: RowSparse, xp: ArrayModule) -> CSR:
    if len(store.shape) != 2:
        raise ShapeError(f"A csr array must have two dimensions, but this array has shape {store.shape}.",
                         hint="only two-dimensional row_sparse arrays can be converted to csr.")
    if _compiled(store.data.size, xp) and store.dtype != np.float16:
        data, columns, ends = for_device("cpu").dense_to_csr(np.ascontiguousarray(store.data))
        counts = np.zeros(store.shape[0] + 1, np.int64)
        counts[store.indices + 1] = np.diff(ends)
        return _narrow(CSR(data, columns, np.cumsum(counts), store.shape, check=False), store.indices.dtype)
    rank, column = _places(store.data, xp)
    indptr = counts_to_indptr(store.indices[rank], store.shape[0], xp)
    return _narrow(CSR(store.data[rank, column], column, indptr, store.shape, check=False), store.indices.dtype)


def _narrow(store: CSR, dtype: DType) -> CSR:
    """Convert the indices to the index type of the source, if it can hold all columns and the number of stored values."""
    if dtype != np.int64 and max(store.shape[1], store.nnz) <= np.iinfo(dtype).max:
        store.indices, store.indptr = store.indices.astype(dtype), store.indptr.astype(dtype)
    return store


_PAIRS: dict[tuple[str, str], Callable[[Any, ArrayModule], Store]] = {  # Any: the stores of the first storage type
    ("default", "row_sparse"): _dense_to_row_sparse,
    ("default", "csr"): _dense_to_csr,
    ("row_sparse", "default"): densify,
    ("csr", "default"): densify,
    ("csr", "row_sparse"): _csr_to_row_sparse,
    ("row_sparse", "csr"): _row_sparse_to_csr,
}


@overload
def convert(store: Store, stype: Literal["csr"], xp: ArrayModule = NUMPY) -> CSR: ...
@overload
def convert(store: Store, stype: Literal["row_sparse"], xp: ArrayModule = NUMPY) -> RowSparse: ...
@overload
def convert(store: Store, stype: Literal["default"], xp: ArrayModule = NUMPY) -> Array: ...
@overload
def convert(store: Store, stype: str, xp: ArrayModule = NUMPY) -> Store: ...
def convert(store: Store, stype: str, xp: ArrayModule = NUMPY) -> Store:
    """Convert a store to ``stype``; a store that already has this storage type is returned unchanged."""
    source = stype_of(store)
    if stype not in STYPES:
        raise UnknownNameError.of("storage type", stype, STYPES)
    return store if source == stype else _PAIRS[source, stype](store, xp)


@overload
def within_memory(store: Store, stype: Literal["csr"], xp: ArrayModule = NUMPY) -> CSR: ...
@overload
def within_memory(store: Store, stype: Literal["row_sparse"], xp: ArrayModule = NUMPY) -> RowSparse: ...
@overload
def within_memory(store: Store, stype: Literal["default"], xp: ArrayModule = NUMPY) -> Array: ...
@overload
def within_memory(store: Store, stype: str, xp: ArrayModule = NUMPY) -> Store: ...
def within_memory(store: Store, stype: str, xp: ArrayModule = NUMPY) -> Store:
    """``convert`` for an explicit conversion, which raises ``InsufficientMemoryError`` if the machine lacks the memory."""
    check_conversion(store, stype)
    try:
        return convert(store, stype, xp)
    except (MemoryError, OSError) as error:
        raise allocation_error(store, stype, error) from None
