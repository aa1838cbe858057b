"""Arrays joined along an axis: ``concat`` and ``stack``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ShapeError
from ...core import cost, infer
from ...core.op import Op
from ...core.partial_shapes import all_alike, merged
from ...storage import CSR, RowSparse, convert, densify
from ...storage.check import check_room
from .. import samples
from ..indexing.slices import Only, axis_of
from ..limits import dense_inside
from ..sparse.sparse_indexing import index_type

if TYPE_CHECKING:
    from ...base.types import Array, Attrs, DType, DTypeLike, Shape
    from ...core.op import Want
    from ...core.partial_shapes import Partial
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import Kernels
    from ...storage.types import Sparse, Store


def _pairs() -> list[list[Array]]:
    return [[samples.grid(), samples.grid(seed=1)], [samples.grid(), samples.grid(seed=1), samples.grid(seed=2)]]


def _joined_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    first = tuple(shapes[0])
    axis = axis_of(attrs["dim"], len(first))
    for shape in shapes[1:]:
        if len(shape) != len(first) or any(size != other for place, (size, other) in enumerate(zip(shape, first, strict=True))
                                           if place != axis):
            raise ShapeError(f"shapes {first} and {tuple(shape)} do not join along axis {axis}.",
                             hint="all other sizes must be equal.")
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1:])


def _joined_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    shapes_there = [shape for shape in (*shapes, out) if shape is not None]
    if not shapes_there or not shapes_there[0]:
        return shapes
    axis = attrs["dim"] % len(shapes_there[0])
    common: Partial = None
    for shape in shapes_there:
        common = merged(common, tuple(None if place == axis else size for place, size in enumerate(shape)))
    sizes = [None if shape is None else shape[axis] for shape in shapes]
    if out is not None and out[axis] is not None and sizes.count(None) == 1:
        sizes[sizes.index(None)] = out[axis] - sum(size for size in sizes if size is not None)
    assert common is not None
    return [(*common[:axis], size, *common[axis + 1:]) for size in sizes]


concat = Op("concat", "*data", attrs={"dim": 1, "num_args": None}, shape=_joined_shape, aliases=("Concat", "_rnn_param_concat"),
            cost=cost.none, joined=infer.EVERY, input_rule=_joined_inputs,
            sample=lambda: [(arrays, {"dim": dim}) for arrays in _pairs() for dim in (0, 1, -1)], saves=("data",),
            doc="""Arrays joined along the axis ``dim``; all other sizes are equal.

csr arrays give csr and row_sparse arrays row_sparse along every axis; a mixture of both gives csr.  MXNet joins sparse arrays
along the first axis of csr only.""")


def _axis(stores: Sequence[Store] | Sequence[ArrayObject], attrs: Attrs) -> int:
    return axis_of(attrs["dim"], len(stores[0].shape))


@concat.forward("default... -> default")
def _(k: Kernels, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    stores, attrs = arguments[:-1], arguments[-1]
    return k.xp.concatenate(stores, axis=_axis(stores, attrs))


def _offsets(sizes: list[int]) -> list[int]:
    return [sum(sizes[:place]) for place in range(len(sizes))]


def _csr_below(k: Kernels, stores: Sequence[CSR], dtype: DType) -> CSR:
    xp = k.xp
    starts = _offsets([store.nnz for store in stores])
    kind = index_type(sum(store.nnz for store in stores), *(store.indptr for store in stores))
    indptr = [stores[0].indptr.astype(kind, copy=False)]
    indptr += [store.indptr[1:].astype(kind, copy=False) + start for store, start in zip(stores[1:], starts[1:], strict=True)]
    return CSR(xp.concatenate([store.data for store in stores]).astype(dtype, copy=False),
               xp.concatenate([store.indices for store in stores]), xp.concatenate(indptr),
               (sum(store.shape[0] for store in stores), stores[0].shape[1]), check=False)


def _csr_beside(k: Kernels, stores: Sequence[CSR], dtype: DTypeLike) -> CSR:
    """Each matrix's values go behind those of the matrices left of it, row by row."""
    indptr: Any = sum(store.indptr.astype(np.int64) for store in stores)  # Any: to mypy the sum may be that of none, 0
    data, indices = k.xp.empty(int(indptr[-1]), dtype), k.xp.empty(int(indptr[-1]), np.int64)
    targets, column = indptr[:-1].copy(), 0
    for store in stores:
        k.csr_put_rows(store.data, store.indices, store.indptr, column, targets, data, indices)
        column += store.shape[1]
    return CSR(data, indices, indptr, (stores[0].shape[0], column), check=False)


def _csr_joined(k: Kernels, stores: Sequence[CSR], attrs: Attrs) -> CSR:
    dtype = np.result_type(*(store.dtype for store in stores))
    return (_csr_beside if _axis(stores, attrs) else _csr_below)(k, stores, dtype)


@concat.forward("csr... -> csr")
def _(k: Kernels, *arguments: *tuple[*tuple[CSR, ...], Attrs]) -> CSR:
    return _csr_joined(k, arguments[:-1], arguments[-1])


@concat.forward("row_sparse... -> row_sparse")
def _(k: Kernels, *arguments: *tuple[*tuple[RowSparse, ...], Attrs]) -> RowSparse:
    stores, attrs = arguments[:-1], arguments[-1]
    axis, xp = _axis(stores, attrs), k.xp
    if axis == 0:
        starts = _offsets([store.shape[0] for store in stores])
        kind = index_type(sum(store.shape[0] for store in stores), *(store.indices for store in stores))
        indices = xp.concatenate([store.indices.astype(kind, copy=False) + start
                                  for store, start in zip(stores, starts, strict=True)])
        return RowSparse(xp.concatenate([store.data for store in stores]), indices,
                         (sum(store.shape[0] for store in stores), *stores[0].shape[1:]), check=False)
    indices, spread = aligned_rows(k, stores)
    shape = _joined_shape([store.shape for store in stores], attrs)
    return RowSparse(xp.concatenate(spread, axis=axis), indices, shape, check=False)


def aligned_rows(k: Kernels, stores: Sequence[RowSparse]) -> tuple[Array, list[Array]]:
    """The rows that any of the stores has, and the values of each store there, zeros where it has none."""
    xp = k.xp
    indices = k.distinct(xp.concatenate([store.indices for store in stores]))
    spread = []
    for store in stores:
        data = xp.zeros((indices.shape[0], *store.shape[1:]), store.dtype)
        data[xp.searchsorted(indices, store.indices)] = store.data
        spread.append(data)
    return indices, spread


@concat.forward("csr|row_sparse... -> csr")
def _(k: Kernels, *arguments: *tuple[*tuple[Sparse, ...], Attrs]) -> CSR:
    return _csr_joined(k, [convert(store, "csr", k.xp) for store in arguments[:-1]], arguments[-1])


@concat.forward("default|csr|row_sparse... -> default")
def _(k: Kernels, *arguments: *tuple[*tuple[Store, ...], Attrs]) -> Array:
    stores, attrs = arguments[:-1], arguments[-1]
    out = _room(k, "concat", _joined_shape([store.shape for store in stores], attrs), stores)
    axis, start = _axis(stores, attrs), 0
    for store in stores:
        part = out[(slice(None),) * axis + (slice(start, start + store.shape[axis]),)]
        _write(k, store, part)
        start += store.shape[axis]
    return out


def _room(k: Kernels, name: str, shape: tuple[int, ...], stores: Sequence[Store]) -> Array:
    dtype = np.result_type(*(store.dtype for store in stores))
    check_room(name, shape, dtype)
    return k.xp.empty(shape, dtype)


def _write(k: Kernels, store: Store, part: Array) -> None:
    """Write a store of any type into a part of a dense array."""
    if isinstance(store, (CSR, RowSparse)):
        densify(store, k.xp, out=part)
    else:
        part[...] = store


@concat.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: Sequence[ArrayObject], out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    axis, gradients, start = _axis(data, attrs), [], 0
    for array, wanted in zip(data, want, strict=True):
        end = start + array.shape[axis]
        gradients.append(wanted and F.slice_axis(g, axis=axis, begin=start, end=end))
        start = end
    return gradients


def _stack_axis(shape: tuple[int, ...], attrs: Attrs) -> int:
    return axis_of(attrs["axis"], len(shape) + 1)


def _stacked_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    first = tuple(shapes[0])
    for shape in shapes[1:]:
        if tuple(shape) != first:
            raise ShapeError(f"shapes {first} and {tuple(shape)} do not stack.", hint="they must be equal.")
    axis = _stack_axis(first, attrs)
    return (*first[:axis], len(shapes), *first[axis:])


def _stacked_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    part = None
    if out is not None:
        axis = attrs["axis"] % len(out)
        part = (*out[:axis], *out[axis + 1:])
    return all_alike(shapes, part, attrs)


stack = Op("stack", "*data", attrs={"axis": 0, "num_args": None}, shape=_stacked_shape, cost=cost.none, joined=infer.EVERY,
           sample=lambda: [(arrays, {"axis": axis}) for arrays in _pairs() for axis in (0, 1, -1)], saves=("data",),
           input_rule=_stacked_inputs,
           doc="""Arrays of one shape joined along a new axis.

row_sparse arrays give row_sparse where their rows stay the first axis.  A csr array has two dimensions, so a stack of
them falls back to a dense one.""")


@stack.forward("default... -> default")
def _(k: Kernels, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    stores, attrs = arguments[:-1], arguments[-1]
    return k.xp.stack(stores, axis=_stack_axis(stores[0].shape, attrs))


@stack.forward("row_sparse... -> row_sparse", axis=Only("not 0", lambda axis: axis != 0))
def _(k: Kernels, *arguments: *tuple[*tuple[RowSparse, ...], Attrs]) -> RowSparse:
    stores, attrs = arguments[:-1], arguments[-1]
    shape, axis = _stacked_shape([store.shape for store in stores], attrs), _stack_axis(stores[0].shape, attrs)
    if axis == 0:
        data = k.xp.stack([dense_inside(k, store, "stack") for store in stores])
        return RowSparse(data, k.xp.arange(len(stores)), shape, check=False)
    indices, spread = aligned_rows(k, stores)
    return RowSparse(k.xp.stack(spread, axis=axis), indices, shape, check=False)


@stack.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: Sequence[ArrayObject], out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    axis = _stack_axis(data[0].shape, attrs)
    if g.stype != "default":
        g = F.cast_storage(g, stype="default")
    return [wanted and F.Reshape(F.slice_axis(g, axis=axis, begin=place, end=place + 1), shape=tuple(array.shape))
            for place, (array, wanted) in enumerate(zip(data, want, strict=True))]
