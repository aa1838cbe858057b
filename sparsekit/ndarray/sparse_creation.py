"""Making sparse arrays from lists, numpy, scipy, other arrays, components and places."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np

from ..base.arguments import strict, unmasked
from ..base.config import config
from ..base.context import Context
from ..base.dtypes import element_type
from ..base.entry import entries
from ..base.errors import DTypeError, ShapeError, SparseFormatError
from ..core import device, hooks
from ..core.arrays import wrap
from ..core.graph import CustomNode, PlacesNode
from ..ops.creation import empty_store
from ..ops.sparse.cast import check_stype
from ..storage import CSR, RowSparse, convert, within_memory
from ..storage.check import check_foreign, check_memory
from ..storage.convert import counts_to_indptr, row_ids
from .arguments import (
    brought,
    check_dense,
    context_of,
    followed,
    host_values,
    is_sparse,
    is_sparse_frame,
    is_tensor,
    like,
    numbers_of,
    on,
    shape_of,
    values_of,
)
from .foreign import parts_of
from .functions import F
from .sharing import Sharing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.types import Array, DTypeLike, Foreign, Indices, Shape, ShapeLike
    from ..storage.types import Sparse, Store, StoreT
    from .foreign import Parts
    from .ndarray import NDArray
    from .sparse import CSRNDArray, RowSparseNDArray

__all__ = ["array", "csr_matrix", "empty", "row_sparse_array", "zeros"]


@strict
def csr_matrix(arg1: object, shape: Shape | None = None, ctx: Context | None = None, dtype: DTypeLike = None,
               index_dtype: object = None, copy: bool | None = True) -> CSRNDArray:
    """A CSR matrix from any description of one, as a copy or in shared memory.

    If autograd records, gradients flow to ``data`` or to the given array, at the stored positions only.

    Parameters
    ----------
    arg1 : array-like, NDArray, sparse array of scipy, PyTorch or JAX, pandas data frame, shape tuple, or components
        ``(data, indices, indptr)``; ``(data, (row, col))``, where values at the same position are summed; ``(rows, columns)``
        for zeros; a sparse array of this library, of scipy, of PyTorch (CSR, CSC, COO) or of JAX (BCSR, BCOO); a pandas data
        frame with sparse columns, none of which becomes dense; or anything dense with two dimensions.  Unsorted columns are
        sorted within their rows.
    shape : tuple of two ints, optional
        By default it is derived from the largest indices.
    ctx : Context, optional
    dtype : optional
        By default the element type of the source, and float32 for lists.
    index_dtype : optional
        Element type of the indices, int32 or int64.  By default that of an array of this library, else int64.
    copy : bool, optional
        True copies everything, as MXNet does.  None shares writable values of numpy, scipy, PyTorch and this library if they
        have the requested element type, and the indices of JAX and this library, which nobody writes to.  It copies the rest.
        False also shares the other indices.  These must not be changed afterwards, because kernels rely on the validated
        indices.  False raises an error if a copy is necessary.  Shared indices keep their element type.

    Raises
    ------
    ConversionError
        If ``copy=False``, and a component must be copied.  Also if an array of PyTorch or JAX is on a GPU, requires gradients,
        or is traced.
    SparseFormatError
        If the components do not form a matrix of that shape: an index is out of range, a row has a column twice, or the lengths
        differ.
    DTypeError
        If the values are not real numbers.
    ShapeError
        If the source does not have the given shape, or does not have two dimensions.
    InsufficientMemoryError
        If the matrix has more rows than fit in memory.

    Notes
    -----
    MXNet does not accept scipy's other formats or row_sparse sources, and does not sort columns.  For lists in
    ``(data, (row, col))`` it uses numpy's element type, although its documentation says float32.

    Examples
    --------
    >>> x = mx.nd.sparse.csr_matrix(([1.0, 2], [2, 0], [0, 1, 2]), shape=(2, 3))
    >>> x.asnumpy()
    array([[0., 0., 1.],
           [2., 0., 0.]], dtype=float32)
    """
    start = time.perf_counter_ns() if hooks.sink is not None else 0
    sharing = _sharing(copy, index_dtype, ctx)
    if isinstance(arg1, tuple):
        store: Store = _csr_of_tuple(arg1, shape, dtype, sharing)
    elif is_tensor(arg1):
        store = _of_tensor(arg1, "csr", dtype, sharing)
    elif is_sparse(arg1):
        store = _csr_of_foreign(arg1, dtype, sharing)
    else:
        store = _converted(arg1, "csr", dtype, sharing)
    matrix = on(brought(arg1, _numbered(_of_shape(store, shape), index_dtype), start, sharing.shared), ctx)
    return _with_gradient(matrix, arg1) if hooks.state.recording else matrix


@strict
def row_sparse_array(arg1: object, shape: Shape | None = None, ctx: Context | None = None, dtype: DTypeLike = None,
                     index_dtype: object = None, copy: bool | None = True) -> RowSparseNDArray:
    """A row-sparse array from any description of one, as a copy or in shared memory.

    If autograd records, gradients flow to ``data`` or to the given array.

    Parameters
    ----------
    arg1 : array-like, NDArray, sparse array of scipy, PyTorch or JAX, shape tuple, or ``(data, indices)``
        Row numbers are sorted.  They must not repeat, except in tensors of PyTorch and JAX with one sparse dimension, where the
        values of repeated rows are summed.
    shape : tuple of int, optional
        By default it is derived from the largest row number.
    ctx : Context, optional
    dtype : optional
        By default the element type of the source, and float32 for lists.
    index_dtype : optional
        Element type of the indices, int32 or int64.  By default that of an array of this library, else int64.
    copy : bool, optional
        As for ``csr_matrix``.

    Raises
    ------
    ConversionError
        As for ``csr_matrix``.
    SparseFormatError
        If the components do not form an array of that shape.
    DTypeError
        If the values are not real numbers.
    ShapeError
        If the source does not have the given shape, or has no dimensions.

    Examples
    --------
    >>> x = mx.nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 4]), shape=(6, 2))
    >>> x.indices.asnumpy()
    array([1, 4])
    """
    start = time.perf_counter_ns() if hooks.sink is not None else 0
    sharing = _sharing(copy, index_dtype, ctx)
    if isinstance(arg1, tuple) and arg1 and all(isinstance(part, (int, np.integer)) for part in arg1):
        store: Store = empty_store(np, "row_sparse", _storable(shape_of(arg1), "row_sparse"), element_type(dtype))
    elif isinstance(arg1, tuple):
        store = _rows_of_tuple(arg1, shape, dtype, sharing)
    elif is_sparse_frame(arg1) and arg1.ndim == 1:
        sharing.copies("a series of pandas has no rows")
        store = _rows_of_series(arg1, dtype)
    elif is_tensor(arg1):
        store = _of_tensor(arg1, "row_sparse", dtype, sharing)
    elif is_sparse(arg1):
        sharing.copies("the source is not row_sparse")
        store = within_memory(_csr_of_foreign(arg1, dtype, sharing), "row_sparse")
    else:
        store = _converted(arg1, "row_sparse", dtype, sharing)
    result = on(brought(arg1, _numbered(_of_shape(store, shape), index_dtype), start, sharing.shared), ctx)
    return _with_gradient(result, arg1) if hooks.state.recording else result


@strict
def array(source_array: object, ctx: Context | None = None, dtype: DTypeLike = None, index_dtype: DTypeLike = None,
          copy: bool | None = True) -> Foreign:
    """A sparse array with a copy of a sparse source.

    Parameters
    ----------
    source_array : CSRNDArray, RowSparseNDArray, sparse array of scipy, pandas, PyTorch or JAX
        An array of this library keeps its storage type.  An array of scipy becomes csr.  An array of PyTorch or JAX with one
        sparse dimension becomes row_sparse.
    ctx : Context, optional
    dtype : optional
        By default the element type of the source.
    index_dtype : optional
        Element type of the indices, as for ``csr_matrix``.
    copy : bool, optional
        As for ``csr_matrix``.

    Raises
    ------
    DTypeError
        If the source is dense.
    """
    stype = getattr(source_array, "stype", None)
    if stype is None and is_tensor(source_array):
        stype = "row_sparse" if parts_of(source_array).form == "rows" else "csr"
    elif stype is None and is_sparse(source_array):
        stype = "row_sparse" if is_sparse_frame(source_array) and source_array.ndim == 1 else "csr"
    if stype not in ("csr", "row_sparse"):
        raise DTypeError(f"A {type(source_array).__name__} is not sparse.",
                         hint="use csr_matrix or row_sparse_array for dense sources, mx.nd.array for a dense array.")
    return (csr_matrix if stype == "csr" else row_sparse_array)(source_array, ctx=ctx, dtype=dtype,
                                                                 index_dtype=index_dtype, copy=copy)


@overload
def zeros(stype: Literal["csr"], shape: ShapeLike, ctx: Context | None = ..., dtype: DTypeLike = ...,
          index_dtype: DTypeLike = ...) -> CSRNDArray: ...
@overload
def zeros(stype: Literal["row_sparse"], shape: ShapeLike, ctx: Context | None = ..., dtype: DTypeLike = ...,
          index_dtype: DTypeLike = ...) -> RowSparseNDArray: ...
@overload
def zeros(stype: str, shape: ShapeLike, ctx: Context | None = ..., dtype: DTypeLike = ...,
          index_dtype: DTypeLike = ...) -> NDArray: ...
@strict
def zeros(stype: str, shape: ShapeLike, ctx: Context | None = None, dtype: DTypeLike = None,
          index_dtype: DTypeLike = None) -> NDArray:
    """Zeros of a storage type; a sparse array of zeros stores nothing.

    Parameters
    ----------
    stype : {"csr", "row_sparse", "default"}
    shape : int or tuple of int
    ctx : Context, optional
    dtype : optional
        float32 by default.
    index_dtype : optional
        Element type of the indices of a sparse array: int32, or int64 by default.
    """
    store = empty_store(np, check_stype(stype), _storable(shape_of(shape), stype), element_type(dtype))
    return on(_numbered(store, index_dtype), ctx)


@overload
def empty(stype: Literal["csr"], shape: ShapeLike, ctx: Context | None = ..., dtype: DTypeLike = ...,
          index_dtype: DTypeLike = ...) -> CSRNDArray: ...
@overload
def empty(stype: Literal["row_sparse"], shape: ShapeLike, ctx: Context | None = ..., dtype: DTypeLike = ...,
          index_dtype: DTypeLike = ...) -> RowSparseNDArray: ...
@overload
def empty(stype: str, shape: ShapeLike, ctx: Context | None = ..., dtype: DTypeLike = ...,
          index_dtype: DTypeLike = ...) -> NDArray: ...
@strict
def empty(stype: str, shape: ShapeLike, ctx: Context | None = None, dtype: DTypeLike = None,
          index_dtype: DTypeLike = None) -> NDArray:
    """An array of a storage type whose values are yet to be written; ``zeros`` does the same."""
    return zeros(stype, shape, ctx, dtype, index_dtype)


def _numbered(store: StoreT, index_dtype: object) -> StoreT:
    """The store with indices of the requested element type, if any."""
    if index_dtype is None or isinstance(store, np.ndarray):
        return store
    kind = element_type(index_dtype)
    if kind.name not in ("int32", "int64"):
        raise DTypeError(f"index_dtype must be int32 or int64, got {kind}.", hint="leave out index_dtype= for int64.")
    sizes = (*store.shape, store.nnz) if isinstance(store, CSR) else store.shape[:1]
    if max(sizes) > np.iinfo(kind).max:
        raise DTypeError(f"{kind} is too small for the indices of a {store.stype} array of shape {tuple(store.shape)} "
                         f"with {store.nnz:,} stored values.", hint="leave out index_dtype= for int64.")
    for name in store.components[1:]:
        setattr(store, name, getattr(store, name).astype(kind, copy=False))
    return store


def _storable(shape: tuple[int, ...], stype: str) -> tuple[int, ...]:
    """The shape, if an array of that storage type can have it."""
    if stype == "csr":
        if len(shape) != 2:
            raise ShapeError(f"A csr array has two dimensions, not shape {shape}.", hint="use row_sparse, or (rows, columns).")
        check_memory(8 * (shape[0] + 1), f"A csr array of {shape[0]:,} rows",
                     "use row_sparse, or transpose it: a csr array takes 8 bytes a row.")
    if stype == "row_sparse":
        if not shape:
            raise ShapeError("A row_sparse array has at least one dimension.", hint="give a shape such as (rows, columns).")
        check_dense((0, *shape[1:]), np.dtype(np.float64))
    return shape


def _of_shape(store: StoreT, shape: Shape | None) -> StoreT:
    """The store, if it has the requested shape."""
    if shape is not None and shape_of(shape) != tuple(store.shape):
        raise ShapeError(f"The source has shape {tuple(store.shape)}, but shape={shape} was asked for.",
                         hint="leave out shape=.")
    return store


def _with_gradient(result: Foreign, source: Foreign) -> Foreign:
    """The array with its place in the graph, if its values are those of a recorded array."""
    if not isinstance(source, tuple):
        return followed(result, source)
    data = source[0] if source else None
    entry = getattr(data, "_entry", None)
    if entry is None:
        return result
    if result.stype == "row_sparse":
        rows = wrap(device.onto(_index(source[1], "indices"), result._ctx), result._ctx)
        node: CustomNode = CustomNode(lambda gradients: [like(F.take(gradients[0], rows, axis=0), data)], (entry,), 1,
                                      result._ctx)
    else:
        stored = result._on_host()
        given_at, places = ([wrap(device.onto(part, result._ctx), result._ctx) for part in pair] for pair in (
            _places_given(source[1:]), (row_ids(stored).astype(np.int64), stored.indices.astype(np.int64))))
        node = PlacesNode(lambda gradients: [like(F._values_at(gradients[0], *given_at), data)], (entry,), result._ctx,
                          tuple(places))
    return wrap(result._store, result._ctx, (node, 0))


def _places_given(numbers: tuple[Any, ...]) -> tuple[Indices, Indices]:
    """Row and column of each value, in the order of the values."""
    if len(numbers) == 1:
        return _index(numbers[0][0], "row"), _index(numbers[0][1], "col")
    return np.repeat(np.arange(len(numbers[1]) - 1), np.diff(_index(numbers[1], "indptr"))), _index(numbers[0], "indices")


def _sharing(copy: bool | None, index_dtype: object, ctx: Context | None) -> Sharing:
    sharing = Sharing(copy, index_dtype)
    if sharing.copy is False and context_of(ctx) is not Context("cpu", 0):
        sharing.copies(f"the array is to be on {context_of(ctx)}, but the source is elsewhere")
    return sharing


def _values(source: Foreign, dtype: object, sharing: Sharing) -> Array:
    """Values in the memory of the source, or a copy."""
    if sharing.copy is not True:
        if not hasattr(source, "dtype"):
            sharing.copies(f"the values of a {type(source).__name__} cannot be shared")
        else:
            numbers = numbers_of(source)
            shared = sharing.values(numbers, element_type(dtype, numbers.dtype))
            if shared is not None:
                return shared
    return values_of(source, dtype)


def _indices(source: Foreign, name: str, sharing: Sharing, constant: bool = False) -> Indices:
    """Indices in the memory of the source, or a copy as int64."""
    if sharing.copy is not True:
        if not hasattr(source, "dtype"):
            sharing.copies(f"{name} of a {type(source).__name__} cannot be shared")
        else:
            shared = sharing.indices(numbers_of(source), name, constant)
            if shared is not None and shared.ndim == 1:
                return shared
    return _index(source, name)


def _pair(indices: Foreign, indptr: Foreign, sharing: Sharing, constant: bool = False) -> tuple[Indices, Indices]:
    """The indices of a csr array and their pointers, of one element type."""
    pair = _indices(indices, "indices", sharing, constant), _indices(indptr, "indptr", sharing, constant)
    if pair[0].dtype == pair[1].dtype:
        return pair
    sharing.copies(f"indices hold {pair[0].dtype} and indptr {pair[1].dtype}")
    return pair[0].astype(np.int64, copy=False), pair[1].astype(np.int64, copy=False)


def _of_tensor(source: Foreign, stype: str, dtype: DTypeLike, sharing: Sharing) -> Store:
    """From a sparse array of PyTorch or JAX."""
    parts = parts_of(source)
    if parts.form == "rows":
        store: Sparse = _rows_of_tensor(parts, dtype, sharing)
    elif parts.form == "places":
        rows, columns = parts.indices
        store = _csr_of_places(_values(parts.data, dtype, sharing), rows, columns, parts.shape, sharing, parts.constant)
    else:
        indices, indptr = parts.indices
        store = CSR(_values(parts.data, dtype, sharing), *_pair(indices, indptr, sharing, parts.constant), parts.shape)
    if store.stype != stype:
        sharing.copies(f"the source is {store.stype}, not {stype}")
    return within_memory(store, stype)


def _rows_of_tensor(parts: Parts, dtype: DTypeLike, sharing: Sharing) -> RowSparse:
    """From stored rows in any order; those of one number are summed."""
    data, rows = _values(parts.data, dtype, sharing), parts.indices[0]
    check_dense((0, *parts.shape[1:]), data.dtype)
    if (rows[1:] > rows[:-1]).all():
        return RowSparse(data, _indices(rows, "indices", sharing, parts.constant), parts.shape)
    sharing.copies("the rows are out of order, or repeat")
    rows, ranks = np.unique(rows, return_inverse=True)
    summed = np.zeros((rows.shape[0], *data.shape[1:]), data.dtype)
    np.add.at(summed, ranks.reshape(-1), data)
    return RowSparse(summed, rows.astype(np.int64, copy=False), parts.shape)


def _converted(source: Foreign, stype: str, dtype: DTypeLike, sharing: Sharing) -> Store:
    """A store from an array of this library, or from anything dense."""
    if not hasattr(source, "_store") or source.stype == "default":
        sharing.copies(f"the source is dense, not {stype}")
        dense = values_of(source, dtype)
        if dense.ndim == 0:
            raise ShapeError("A single number cannot become a sparse array.", hint="give a list, or a shape in a tuple.")
        return convert(dense, stype)
    store = source.as_in_context(Context("cpu", 0))._store
    wanted = element_type(dtype, store.dtype)
    if store.stype == stype and sharing.copy is not True:
        numbers = [_indices(getattr(store, name), name, sharing, constant=True) for name in store.components[1:]]
        return cast("Sparse", type(store)(_values(store.data, wanted, sharing), *numbers, store.shape, check=False))
    sharing.copies(f"the source is {store.stype}, not {stype}")
    converted = cast("Sparse", within_memory(store, stype))  # stype is csr or row_sparse
    converted = converted.copy() if converted is store else converted
    converted.data = converted.data.astype(wanted, copy=False)
    return converted


def _csr_of_foreign(source: Foreign, dtype: DTypeLike, sharing: Sharing) -> CSR:
    """From any format of scipy, what becomes one, or a data frame; the source stays as it is."""
    if is_sparse_frame(source):
        sharing.copies("a data frame of pandas holds columns")
        return _csr_of_frame(source, dtype)
    if not hasattr(source, "tocsr"):
        source = source.to_scipy_sparse()
    if len(source.shape) != 2:
        raise ShapeError(f"A csr array has two dimensions; the source has shape {source.shape}.",
                         hint="reshape it to (rows, columns) first.")
    check_foreign(source)
    matrix = source.tocsr()
    if not all(hasattr(matrix, part) for part in ("data", "indices", "indptr", "shape", "sum_duplicates")):
        raise DTypeError(f"tocsr() of a {type(source).__name__} gave a {type(matrix).__name__}, not a csr matrix.",
                         hint="give a matrix of scipy, or its components (data, indices, indptr).")
    if matrix is not source:
        sharing.copies(f"a {type(source).__name__} is not csr")
    elif sharing.copy is True or not source.has_canonical_format:
        sharing.copies("columns are out of order, or repeat")
        matrix = matrix.copy()
    matrix.sum_duplicates()
    return CSR(_values(matrix.data, dtype, sharing), *_pair(matrix.indices, matrix.indptr, sharing), shape_of(matrix.shape))


def _stored(column: Foreign) -> tuple[Any, Any]:
    """Where a column of a data frame is not zero, and its values there."""
    array = column.array
    if hasattr(array, "sp_index") and array.fill_value == 0:
        return array.sp_index.to_int_index().indices, array.sp_values
    values = np.asarray(column)
    places = np.flatnonzero(values)
    return places, values[places]


def _csr_of_frame(frame: Foreign, dtype: DTypeLike) -> CSR:
    """From a data frame of pandas, column by column: no more than one of them is dense at a time."""
    if frame.ndim != 2:
        raise ShapeError(f"A csr array has two dimensions; the series has shape {frame.shape}.", hint="use its to_frame().")
    rows: list[Any] = [np.zeros(0, np.int64)]
    values: list[Any] = [np.zeros(0, np.float32 if dtype is None else element_type(dtype))]
    for _, column in frame.items():
        places, stored = _stored(column)
        rows.append(places)
        values.append(values_of(stored, values[0].dtype))
    columns = np.repeat(np.arange(frame.shape[1]), [len(part) for part in rows[1:]])
    return _csr_of_places(np.concatenate(values), np.concatenate(rows).astype(np.int64), columns, frame.shape, Sharing(True))


def _rows_of_series(series: Foreign, dtype: object) -> RowSparse:
    places, values = _stored(series)
    return RowSparse(values_of(values, dtype), _index(places, "indices"), shape_of(series.shape))


def _index(source: Sequence[int] | Array, name: str) -> Indices:
    """An index component as int64, as in MXNet."""
    try:
        values = np.asarray(host_values(source) if hasattr(source, "_store") else unmasked(source))
    except (ValueError, TypeError, OverflowError) as error:
        raise SparseFormatError(f"{name} cannot be read as an array: {error}.",
                                hint="indices count rows or columns from 0.") from None
    if values.ndim != 1:
        raise SparseFormatError(f"{name} must have one dimension, not shape {values.shape}.",
                                hint="pass a flat list of integers.")
    if not values.size:
        return np.zeros(0, np.int64)
    if values.dtype.kind == "f" and np.array_equal(values, np.trunc(values)) and np.abs(values).max() < 2.0**63:
        return values.astype(np.int64)
    if values.dtype.kind not in "iu" or int(values.max()) >= 2**63:
        raise SparseFormatError(f"{name} must hold integers of 64 bits.",
                                hint="indices count rows or columns from 0.")
    return np.array(values, np.int64, order="C")


def _csr_of_tuple(parts: tuple[Any, ...], shape: ShapeLike | None, dtype: DTypeLike, sharing: Sharing) -> CSR:
    if len(parts) == 2 and all(isinstance(part, (int, np.integer)) for part in parts):
        store: CSR = empty_store(np, "csr", _storable(shape_of(parts), "csr"), element_type(dtype))
        return store
    if len(parts) == 3 and not any(isinstance(part, (int, np.integer)) for part in parts):
        return _csr_of_components(_values(parts[0], dtype, sharing), *_pair(parts[1], parts[2], sharing), shape, sharing)
    if len(parts) == 2 and isinstance(parts[1], (tuple, list)) and len(parts[1]) == 2:
        row, column = (_indices(part, name, sharing) for part, name in zip(parts[1], ("row", "col"), strict=True))
        return _csr_of_places(_values(parts[0], dtype, sharing), row, column, shape, sharing)
    raise SparseFormatError(f"A tuple of {len(parts)} parts does not describe a csr array.",
                            hint="give (data, indices, indptr), (data, (row, col)) or (rows, columns).")


def _csr_of_components(data: Array, indices: Indices, indptr: Indices, shape: ShapeLike | None, sharing: Sharing) -> CSR:
    if shape is None:
        if not indices.size:
            raise ShapeError("The number of columns cannot be inferred from an empty list of indices.",
                             hint="give shape=(rows, columns).")
        shape = (max(indptr.shape[0] - 1, 0), int(indices.max()) + 1)
    shape = _storable(shape_of(shape), "csr")
    if _unordered(data, indices, indptr):
        sharing.copies("columns are out of order")
        order = np.lexsort((indices, np.repeat(np.arange(indptr.shape[0] - 1), np.diff(indptr))))
        data, indices = data[order], indices[order]
    return CSR(data, indices, indptr, shape, check=config.check_format)


def _unordered(data: Array, indices: Indices, indptr: Indices) -> bool:
    """Whether columns descend within a row, of components whose lengths fit."""
    if not (data.shape == indices.shape and indptr.size and indptr[0] == 0 and indptr[-1] == indices.shape[0]
            and (indptr[1:] >= indptr[:-1]).all()):
        return False
    falls = indices[1:] < indices[:-1]
    begins = indptr[(indptr > 0) & (indptr < indices.shape[0])]
    falls[begins - 1] = False
    return bool(falls.any())


def _csr_of_places(data: Array, row: Array, column: Array, shape: object, sharing: Sharing, constant: bool = False) -> CSR:
    """From coordinates in any order; values at one place are summed."""
    if not data.shape == row.shape == column.shape:
        raise SparseFormatError(f"data, row and col have shapes {data.shape}, {row.shape} and {column.shape}.",
                                hint="each needs one entry per value.")
    if shape is None:
        if not row.size:
            raise ShapeError("A shape cannot be inferred from empty lists of rows and columns.",
                             hint="give shape=(rows, columns).")
        shape = int(row.max()) + 1, int(column.max()) + 1
    shape = _storable(shape_of(shape), "csr")
    for name, part, size in (("row", row, shape[0]), ("col", column, shape[1])):
        if part.size and (part.min() < 0 or part.max() >= size):
            outside = int(((part < 0) | (part >= size)).argmax())
            raise SparseFormatError(f"{name}[{outside}] is {part[outside]}, outside the {size} of shape {shape}.",
                                    hint=f"{name} runs from 0 to {size - 1}.")
    if _ascend(row, column):
        column = _indices(column, "col", sharing, constant)
        return CSR(data, column, counts_to_indptr(row, shape[0]).astype(column.dtype, copy=False), shape, check=False)
    sharing.copies("the places are out of order, or repeat")
    order, row, column = _by_places(row, column, shape)
    data = data[order]
    first = np.ones(row.shape[0], bool)
    np.not_equal(column[1:], column[:-1], out=first[1:])
    first[1:] |= row[1:] != row[:-1]
    if not first.all():
        starts = np.flatnonzero(first)
        data, row, column = np.add.reduceat(data, starts).astype(data.dtype, copy=False), row[starts], column[starts]
    return CSR(data, column, counts_to_indptr(row, shape[0]), shape, check=False)


def _ascend(row: Array, column: Array) -> bool:
    """Whether places are in order, and none of them repeats."""
    if (row[1:] < row[:-1]).any():
        return False
    return bool(((row[1:] > row[:-1]) | (column[1:] > column[:-1])).all())


def _by_places(row: Array, column: Array, shape: Shape) -> tuple[Array, Array, Array]:
    """The order of places by rows, then by columns, equal ones as they come; and their rows and columns in that order."""
    columns, own = (shape[1] - 1).bit_length(), row.shape[0].bit_length()
    if (shape[0] - 1).bit_length() + columns + own < 64:
        packed = np.left_shift(row, columns, dtype=np.int64)
        packed |= column
        order = _sort(packed, own)
        row = packed >> columns
        packed &= (1 << columns) - 1
        return order, row, packed
    if max(shape).bit_length() + own < 64:
        column = column.astype(np.int64)
        order = _sort(column, own)
        row = row[order].astype(np.int64, copy=False)
        within = _sort(row, own)
        return order[within], row, column[within]
    order = np.lexsort((column, row))
    return order, row[order], column[order].astype(np.int64, copy=False)


def _sort(numbers: Array, own: int) -> Array:
    """Sort in place, and give the order: each number has its place behind it, in ``own`` bits, which is faster than argsort."""
    numbers <<= own
    order: Array = np.arange(numbers.shape[0])
    numbers |= order
    numbers.sort()
    np.bitwise_and(numbers, (1 << own) - 1, out=order)
    numbers >>= own
    return order


def _rows_of_tuple(parts: tuple[Any, ...], shape: object, dtype: object, sharing: Sharing) -> RowSparse:
    if len(parts) != 2:
        raise SparseFormatError(f"A tuple of {len(parts)} parts does not describe a row_sparse array.",
                                hint="give (data, indices), or a shape.")
    data, indices = _values(parts[0], dtype, sharing), _indices(parts[1], "indices", sharing)
    if data.shape[:1] == indices.shape and (indices[1:] < indices[:-1]).any():
        sharing.copies("the rows are out of order")
        order = np.argsort(indices, kind="stable")
        data, indices = np.ascontiguousarray(data[order]), indices[order]
    if shape is None:
        if not indices.size:
            raise ShapeError("The number of rows cannot be inferred from an empty list of indices.", hint="give shape=.")
        shape = (int(indices.max()) + 1, *data.shape[1:])
    return RowSparse(data, indices, shape_of(shape), check=config.check_format)


entries(globals(), __all__)
