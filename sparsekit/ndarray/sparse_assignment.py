"""Assignment to sparse arrays, whole or in part, which makes nothing dense but what is assigned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..base.arguments import unmasked
from ..base.errors import DTypeError, GradientError, ShapeError
from ..core import device, hooks
from ..core.arrays import wrap
from ..ops.creation import empty_store
from ..storage import CSR, RowSparse, within_memory
from ..storage.check import check_foreign, check_room
from ..storage.convert import counts_to_indptr, row_ids
from .indexing import assignable
from .ndarray import NDArray, check_no_part, is_whole
from .sparse_indexing import parts_of_key, places_of_mask

if TYPE_CHECKING:
    from ..base.types import Array, Foreign, Indices


def assign(x: NDArray, key: object, value: Foreign) -> None:
    """``x[key] = value`` of a sparse array, whose storage type stays.

    Raises
    ------
    GradientError
        If the array is recorded.
    ShapeError
        If the value does not fit what is assigned to.
    """
    if hooks.state.recording and x._entry is not None:
        raise GradientError("A recorded array cannot be assigned to while recording.",
                            hint="assign under autograd.pause(), or compute a new array.")
    if hasattr(value, "tocsr"):
        value = _csr_of(value, x)
    if is_whole(key):
        _assign_whole(x, value)
        return
    if isinstance(value, NDArray):
        check_no_part(value)
    store = x._on_host()
    result = (_changed_rows(x, store, key, value) if isinstance(store, RowSparse)
              else _changed_places(x, cast("CSR", store), key, value))
    x._receive(wrap(device.onto(result, x._ctx), x._ctx))


def _csr_of(matrix: Foreign, x: NDArray) -> NDArray:
    """A csr array of a matrix of scipy."""
    check_foreign(matrix)
    copy = matrix.tocsr().copy()
    copy.sum_duplicates()
    store = CSR(copy.data, copy.indices.astype(np.int64), copy.indptr.astype(np.int64), copy.shape)
    array: NDArray = wrap(device.onto(store, x._ctx), x._ctx)
    return array


def _assign_whole(x: NDArray, value: Foreign) -> None:
    if isinstance(value, NDArray):
        if value.shape != x.shape:
            raise ShapeError(f"shapes {value.shape} and {x.shape} differ.", hint="they must be equal.")
        if value is not x and not x._take_recorded(value):
            x._receive(value if value.stype == "default" else value.__copy__())
        return
    numbers = _numbers(value, x)
    values = _of_shape(numbers, x.shape)
    if not numbers.any():
        x._receive(wrap(device.onto(empty_store(np, x.stype, x.shape, x.dtype), x._ctx), x._ctx))
        return
    check_room("assignment", x.shape, x.dtype)
    x._receive(wrap(device.onto(np.ascontiguousarray(values), x._ctx), x._ctx))


def _numbers(value: Foreign, x: NDArray) -> Array:
    """A number or an array of numbers as numpy, in the element type of the array."""
    if isinstance(value, NDArray):
        return value.asnumpy().astype(x.dtype, copy=False)
    try:
        assignable(value)
        return np.asarray(unmasked(value), x.dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise DTypeError(f"A {type(value).__name__} cannot be assigned to an array of {x.dtype}: "
                         f"{str(error).splitlines()[0].rstrip('.')}.",
                         hint="assign a number, an array or a nested list of numbers.") from None


# parts of csr arrays


def _changed_places(x: NDArray, store: CSR, key: object, value: Foreign) -> CSR:
    """A csr store in which the places that ``key`` names have the new values."""
    places = places_of_mask(x, key)
    parts = () if places else parts_of_key(key, x.shape)
    if places is None and not any(isinstance(part, slice) for part in parts):
        places = _paired(*parts)
    if places is not None:
        return _with_elements(store, *places, _of_shape(_numbers(value, x), np.shape(places[0])))
    rows, columns = (_numbers_of(part, size) for part, size in zip(parts, x.shape, strict=True))
    kept = ~(_within(row_ids(store), rows) & _within(store.indices, columns))
    row, column, values = _block(value, x, (len(rows), len(columns)))
    last = _is_last(rows, row) & _is_last(columns, column)
    return _merged(store, kept, _at(rows, row[last]), _at(columns, column[last]), values[last])


def _paired(rows: Foreign, columns: Foreign) -> tuple[Array, Array]:
    """Row and column numbers, broadcast against each other."""
    try:
        pair = np.broadcast_arrays(np.atleast_1d(rows), np.atleast_1d(columns))
    except ValueError:
        raise ShapeError(f"{np.shape(rows)} rows and {np.shape(columns)} columns do not pair up.",
                         hint="give as many rows as columns, or a slice for one of them.") from None
    return pair[0], pair[1]


def _numbers_of(part: Foreign, size: int) -> range | Array:
    """The numbers along an axis that one part of a key names; a range takes no memory."""
    if isinstance(part, slice):
        return range(*part.indices(size))
    return range(part, part + 1) if isinstance(part, int) else part


def _within(numbers: Array, wanted: range | Array) -> Array:
    """Which of the numbers are among the wanted ones."""
    if not isinstance(wanted, range):
        return np.isin(numbers, wanted)
    low, high = sorted((wanted[0], wanted[-1])) if wanted else (0, -1)
    return (numbers >= low) & (numbers <= high) & ((numbers - low) % abs(wanted.step) == 0)


def _at(numbers: range | Array, places: Array) -> Array:
    return numbers.start + numbers.step * places if isinstance(numbers, range) else numbers[places]


def _is_last(numbers: range | Array, places: Array) -> Array:
    """Which of the places in ``numbers`` are the last ones of their number: where one repeats, the last value counts."""
    if isinstance(numbers, range):
        return np.ones(places.shape, bool)
    last = np.zeros(numbers.shape, bool)
    last[len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]] = True
    return last[places]


def _block(value: Foreign, x: NDArray, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Rows, columns and values of what is not zero in a value for a block of that shape."""
    if isinstance(value, NDArray) and value.stype != "default":
        if value.shape != shape:
            raise ShapeError(f"A {value.stype} array of shape {value.shape} does not fit a part of shape {shape}.",
                             hint="a sparse value needs the shape of the part; a dense one broadcasts.")
        store = within_memory(value._on_host(), "csr")
        return row_ids(store), store.indices, store.data.astype(x.dtype, copy=False)
    values = _numbers(value, x)
    if not values.any():
        none = np.zeros(0, np.int64)
        _of_shape(values, shape)
        return none, none, np.zeros(0, x.dtype)
    check_room("assignment", shape, x.dtype)
    block = _of_shape(values, shape)
    row, column = np.nonzero(block)
    return row, column, block[row, column]


def _of_shape(values: Array, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ShapeError(f"A value of shape {values.shape} does not fit a part of shape {shape}.",
                         hint="its shape must be equal, or broadcast.") from None


def _with_elements(store: CSR, rows: Array, columns: Array, values: Array) -> CSR:
    """A store with new values at single places; the last value counts where a place repeats."""
    rows, columns, values = rows.reshape(-1), columns.reshape(-1), values.reshape(-1)
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    last = np.ones(rows.shape[0], bool)
    last[:-1] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    rows, columns, values = rows[last], columns[last], values[last]
    kept = np.ones(store.nnz, bool)
    kept[_stored_at(store, rows, columns)] = False
    stays = values != 0
    return _merged(store, kept, rows[stays], columns[stays], values[stays])


def _stored_at(store: CSR, rows: Array, columns: Array) -> Array:
    """Where in the components these places are, those that are stored; a search in each row."""
    positions = [start + int(np.searchsorted(store.indices[start:end], column))
                 for start, end, column in zip(store.indptr[rows], store.indptr[rows + 1], columns, strict=True)]
    places = np.asarray(positions, np.int64)
    inside = places < store.indptr[rows + 1]
    inside[inside] = store.indices[places[inside]] == columns[inside]
    return places[inside]


def _merged(store: CSR, kept: Array, rows: Array, columns: Array, values: Array) -> CSR:
    """The values of a store that are kept, and others at places where none of these is."""
    row = np.concatenate([row_ids(store)[kept], rows.astype(np.int64)])
    column = np.concatenate([store.indices[kept], columns.astype(np.int64)])
    data = np.concatenate([store.data[kept], values])
    if math.prod(store.shape) < 1 << 62:  # one sort of two sorted runs, which takes a pass over them
        order = np.argsort(row.astype(np.int64) * store.shape[1] + column, kind="stable")
    else:
        order = np.lexsort((column, row))
    kind = store.indices.dtype if data.shape[0] <= np.iinfo(store.indices.dtype).max else np.dtype(np.int64)
    indptr: Indices = counts_to_indptr(row, store.shape[0]).astype(kind, copy=False)
    return CSR(data[order], column[order].astype(kind, copy=False), indptr, store.shape, check=False)


# parts of row_sparse arrays


def _changed_rows(x: NDArray, store: RowSparse, key: object, value: Foreign) -> RowSparse:
    """A row_sparse store in which the rows that ``key`` names have the new values; rows that become zero are not stored."""
    places = places_of_mask(x, key)
    parts = list(places) if places is not None else parts_of_key(key, x.shape)
    single = places is not None or (x.ndim == 2 and not any(isinstance(part, slice) for part in parts))
    if single:
        parts = list(_paired(*parts))
    rows, *inner = parts
    values = _numbers(value, x)
    rows = rows if single else _numbers_of(rows, x.shape[0])
    if not values.any():  # rows that are not stored are zero already
        _fits(values, single, rows, inner, x.shape)
        inside = _within(rows, store.indices) if isinstance(rows, np.ndarray) else _within(store.indices, rows)
        inner = [part[inside] for part in inner] if single else inner
        rows = rows[inside] if isinstance(rows, np.ndarray) else store.indices[inside]
        values = np.zeros((), x.dtype)
    check_room("assignment", (len(rows), *x.shape[1:]), x.dtype)
    numbers = np.asarray(rows, np.int64)
    touched = np.unique(numbers)
    stored = np.union1d(store.indices, touched)
    data = np.zeros((stored.shape[0], *x.shape[1:]), x.dtype)
    data[np.searchsorted(stored, store.indices)] = store.data
    _write(data, np.searchsorted(stored, numbers), inner, values, single)
    kept = ~np.isin(stored, touched) | data.any(axis=tuple(range(1, data.ndim)))
    return RowSparse(data[kept], stored[kept].astype(store.indices.dtype, copy=False), store.shape, check=False)


def _fits(values: Array, single: bool, rows: range | Array, inner: list[Any], shape: tuple[int, ...]) -> None:
    """Raise unless the values broadcast to the part."""
    sizes = (len(_numbers_of(part, size)) for part, size in zip(inner, shape[1:], strict=True))
    _of_shape(values, np.shape(rows) if single else (len(rows), *sizes))


def _write(data: Array, ranks: Array, inner: list[Any], values: Array, single: bool) -> None:
    """Write into the rows of these ranks: single elements, or the parts of them that ``inner`` names."""
    part = tuple(slice(number, number + 1) if isinstance(number, int) else number for number in inner)
    try:
        if single:
            data[(ranks, *inner)] = values
        else:
            block = data[ranks]
            block[(slice(None), *part)] = values
            data[ranks] = block
    except ValueError:
        raise ShapeError(f"A value of shape {values.shape} does not fit the part of an array of shape {data.shape[1:]} a row.",
                         hint="its shape must be that of the part, or broadcast.") from None
