"""Reductions of csr and row_sparse arrays along every axis, in the time of the stored values and the result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core import cost, infer
from ...core.op import REDUCED, Op, find, label_of
from ...storage import CSR, RowSparse
from ...storage.check import check_room
from .. import samples
from ..elementwise.unary import on_data
from ..indexing.slices import Only
from ..limits import dense_inside, dense_of
from ..reduce.reduce import addable, axes_in, mean_of, product_of_others, squares
from ..reduce.sorting import check_places
from .sparse_indexing import transposed
from .sparse_rows import reshaped_csr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import ArrayModule, Kernels, Ufunc
    from ...storage.types import Sparse


class Way(NamedTuple):
    """How stored values are reduced: prepared each, joined by a numpy ufunc, and finished.

    Attributes
    ----------
    join : str
        Name of the ufunc.
    prepare : callable, optional
        ``prepare(xp, values)``; keeps zero.
    finish : callable, optional
        ``finish(xp, reduced, count, dtype)`` with the number of elements reduced into each, and their type.
    """

    join: str
    prepare: Callable[[ArrayModule, Array], Array] | None = None
    finish: Callable[[ArrayModule, Array, int, DType], Array] | None = None


def reduce_store(k: Kernels, x: Sparse, axes: tuple[int, ...], keepdims: bool, way: Way, name: str) -> Array:
    """A sparse store reduced along ``axes`` (ascending) into a dense array."""
    shape = infer.reduced([tuple(x.shape)], {"axis": axes, "keepdims": keepdims}) if axes else tuple(x.shape)
    count = math.prod(x.shape[axis] for axis in axes)
    check_room(label_of(name), shape, x.dtype)
    data = x.data if way.prepare is None else way.prepare(k.xp, x.data)
    if not axes:
        result = dense_inside(k, on_data(x, data), name)
    else:
        join: Ufunc = getattr(k.xp, way.join)
        result = _reduce_csr(k, x, data, axes, join) if isinstance(x, CSR) else _reduce_row_sparse(k, x, data, axes, join)
    result = k.xp.asarray(result).astype(data.dtype, copy=False).reshape(shape)
    return result if way.finish is None else way.finish(k.xp, result, count, x.dtype).astype(x.dtype, copy=False)


def _with_zero(ufunc: Ufunc, reduced: Array) -> Array:
    """The reduction of what is stored, joined with the zeros that are not."""
    return reduced if ufunc.__name__ == "add" else ufunc(reduced, reduced.dtype.type(0))


def _start(ufunc: Ufunc, dtype: DType) -> float:
    """The neutral element of a ufunc."""
    if ufunc.__name__ in ("add", "multiply"):
        return int(ufunc.__name__ == "multiply")
    if dtype.kind == "f":
        return -np.inf if ufunc.__name__ == "maximum" else np.inf
    if dtype.kind == "b":
        return ufunc.__name__ == "minimum"
    return np.iinfo(dtype).min if ufunc.__name__ == "maximum" else np.iinfo(dtype).max


def _reduce_all(k: Kernels, data: Array, absent: bool, ufunc: Ufunc) -> Array:
    reduced = k.xp.asarray(ufunc.reduce(data.reshape(-1), initial=_start(ufunc, data.dtype), dtype=data.dtype))
    return _with_zero(ufunc, reduced) if absent else reduced


def _reduce_csr(k: Kernels, x: CSR, data: Array, axes: tuple[int, ...], ufunc: Ufunc) -> Array:
    xp, (rows, columns) = k.xp, x.shape
    if len(axes) == 2:
        return _reduce_all(k, data, x.nnz < rows * columns, ufunc)
    if axes == (1,):
        return _reduce_rows(k, x, data, ufunc)
    if ufunc.__name__ == "add" and data.dtype.kind != "b":
        out = xp.zeros(columns, data.dtype)
        k.csr_sum_columns(data, x.indices, out)
        return out
    out = xp.full(columns, _start(ufunc, data.dtype), data.dtype)
    ufunc.at(out, x.indices, data)
    absent = xp.bincount(x.indices, minlength=columns) < rows
    out[absent] = _with_zero(ufunc, out[absent])
    return out


#: Stored values a row from which numpy's way, which adds several at a time, is the quicker.
LONG = 32


def _reduce_rows(k: Kernels, x: CSR, data: Array, ufunc: Ufunc) -> Array:
    xp, (rows, columns) = k.xp, x.shape
    if ufunc.__name__ == "add" and data.dtype.kind != "b" and x.nnz < LONG * rows:
        out = xp.empty(rows, data.dtype)
        k.csr_sum_rows(data, x.indptr, out)
        return out
    counts = xp.diff(x.indptr)
    stored = xp.flatnonzero(counts)
    out = xp.full(rows, _start(ufunc, data.dtype), data.dtype)
    if stored.size:
        out[stored] = ufunc.reduceat(data, x.indptr[stored], dtype=data.dtype)
    absent = counts < columns
    out[absent] = _with_zero(ufunc, out[absent])
    return out


def _reduce_row_sparse(k: Kernels, x: RowSparse, data: Array, axes: tuple[int, ...], ufunc: Ufunc) -> Array:
    start, count = _start(ufunc, data.dtype), math.prod(x.shape[axis] for axis in axes)
    reduced = ufunc.reduce(data, axis=axes, initial=start, dtype=data.dtype)
    if 0 in axes:
        return _with_zero(ufunc, k.xp.asarray(reduced)) if data.shape[0] < x.shape[0] and count else reduced
    out = k.xp.full((x.shape[0], *reduced.shape[1:]), start if count == 0 else 0, data.dtype)
    out[x.indices] = reduced
    return out


def _without_nan(xp: ArrayModule, values: Array) -> Array:
    return xp.where(values == values, values, values.dtype.type(0))


SUM = Way("add")
WAYS = {
    "sum": SUM, "mean": Way("add", prepare=addable, finish=mean_of), "nansum": Way("add", prepare=_without_nan),
    "max": Way("maximum"), "min": Way("minimum"), "prod": Way("multiply"),
    "nanprod": Way("multiply", prepare=lambda xp, values: xp.where(values == values, values, values.dtype.type(1))),
}
NORMS = {1: Way("add", prepare=lambda xp, values: xp.abs(values)),
         2: Way("add", prepare=squares, finish=lambda xp, total, count, dtype: xp.sqrt(total))}


def _declare(name: str, way: Way) -> None:
    @find(name).forward("csr|row_sparse -> default", asked=REDUCED)
    def _(k: Kernels, x: Sparse, attrs: Attrs) -> Array:
        return reduce_store(k, x, axes_in(x, attrs), attrs["keepdims"], way, name)


for _name, _way in WAYS.items():
    _declare(_name, _way)

for _order, _way in NORMS.items():
    @find("norm").forward("csr|row_sparse -> default", asked=REDUCED, ord=_order, out_dtype=None)
    def _(k: Kernels, x: Sparse, attrs: Attrs, _way: Way = _way) -> Array:
        return reduce_store(k, x, axes_in(x, attrs), attrs["keepdims"], _way, "norm")


@find("_sum_to").forward("csr|row_sparse -> default", asked=REDUCED)
def _(k: Kernels, x: Sparse, attrs: Attrs) -> Array:
    shape = attrs["shape"]
    lead = len(x.shape) - len(shape)
    axes = tuple(range(lead)) + tuple(place + lead for place, size in enumerate(shape) if size == 1 != x.shape[place + lead])
    return reduce_store(k, x, axes, False, SUM, "sum").reshape(shape)


@find("_others").forward("csr|row_sparse -> default")
def _(k: Kernels, x: Sparse, attrs: Attrs) -> Array:
    products: Array = product_of_others(k, dense_of(k, x, "the gradient of prod"), attrs)
    return products


def _place_in_csr(k: Kernels, x: CSR, axes: tuple[int, ...], largest: bool) -> Array:
    if len(axes) == 2:
        x = reshaped_csr(k, x, (1, math.prod(x.shape)))
    elif axes == (0,):
        x = transposed(k, x)
    out = k.xp.empty(x.shape[0], np.int64)
    k.csr_argmax(x.data, x.indices, x.indptr, x.shape[1], largest, out)
    return out


def _place_in_rows(k: Kernels, x: RowSparse, axes: tuple[int, ...], function: str) -> Array:
    """The place among the stored rows, unless a row that is not stored holds more, or as much and comes first."""
    xp, choose = k.xp, getattr(k.xp, function)
    if 0 not in axes:
        out = xp.zeros((x.shape[0], *np.delete(x.shape[1:], axes[0] - 1)), np.int64)
        out[x.indices] = choose(x.data, axis=axes[0])
        return out
    if not x.indices.size:
        return xp.zeros(x.shape[1:] if len(axes) == 1 else 1, np.int64)
    gaps = xp.flatnonzero(x.indices != xp.arange(x.indices.shape[0]))
    absent = int(gaps[0]) if gaps.size else x.indices.shape[0]
    data, width = (x.data, 1) if len(axes) == 1 else (x.data.reshape(-1, 1), math.prod(x.shape[1:]))
    place = choose(data, axis=0)
    best = xp.take_along_axis(data, place[None], 0)[0]
    place = x.indices.astype(np.int64)[place // width] * width + place % width
    worse = best < 0 if function == "argmax" else best > 0
    better = (absent < x.shape[0]) & (worse | ((best == 0) & (absent * width < place)))
    return xp.where(better, absent * width, place)


def _declare_place(name: str, function: str) -> None:
    op = find(name)

    @op.forward("csr|row_sparse -> default", asked=REDUCED)
    def _(k: Kernels, x: Sparse, attrs: Attrs) -> Array:
        attrs = {"axis": 1, "keepdims": False} if name == "argmax_channel" else attrs
        axes, shape = infer.axes_of(attrs["axis"], len(x.shape)), infer.reduced([tuple(x.shape)], attrs)
        check_places(x.dtype, math.prod(x.shape[axis] for axis in axes))
        check_room(name, shape, x.dtype)
        places = _place_in_csr(k, x, axes, function == "argmax") if isinstance(x, CSR) else _place_in_rows(k, x, axes, function)
        return places.astype(x.dtype).reshape(shape)


for _name, _function in (("argmax", "argmax"), ("argmin", "argmin"), ("argmax_channel", "argmax")):
    _declare_place(_name, _function)


square_sum = Op("_square_sum", "data", attrs={"axis": None, "keepdims": False, "exclude": False}, shape=infer.reduced,
                cost=cost.each_taken(2),
                sample=lambda: [([samples.grid()], {"axis": axis, "keepdims": keep})
                                for axis in (0, 1) for keep in (False, True)], saves=("data",),
                doc="""Sum of the squares of the elements along ``axis``, or of all.

A row_sparse array reduced along axis 1 with ``keepdims=True`` gives a row_sparse column of the same rows.""")
_SQUARES = Way("add", prepare=lambda xp, values: values * values)


@square_sum.forward("row_sparse -> row_sparse", axis=Only("1", lambda axis: axis in (1, (1,))), keepdims=True, exclude=False)
def _(k: Kernels, x: RowSparse, attrs: Attrs) -> RowSparse:
    values: Array = x.data
    sums = k.xp.add.reduce(values * values, axis=1, keepdims=True, dtype=x.dtype)
    return RowSparse(sums, x.indices, (x.shape[0], 1, *x.shape[2:]), check=False)


@square_sum.forward("csr|row_sparse -> default", asked=REDUCED)
def _(k: Kernels, x: Sparse, attrs: Attrs) -> Array:
    return reduce_store(k, x, axes_in(x, attrs), attrs["keepdims"], _SQUARES, "_square_sum")


@square_sum.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    sums = k.xp.asarray(k.xp.add.reduce(x * x, axis=axes_in(x, attrs), keepdims=attrs["keepdims"], dtype=x.dtype))
    return sums.reshape(infer.reduced([x.shape], attrs))


@square_sum.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    axes = axes_in(data, attrs)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(data.shape))
    g = g if tuple(g.shape) == kept else F.Reshape(g, shape=kept)
    return F.broadcast_mul(data, g * 2)


getnnz = Op("_contrib_getnnz", "data", attrs={"axis": None}, dtype=lambda dtypes, attrs: np.dtype(np.int64), cost=cost.none,
            shape=lambda shapes, attrs: infer.reduced(shapes, {"axis": attrs["axis"], "keepdims": False}),
            sample=lambda: [([samples.grid()], {"axis": axis}) for axis in (None, 0, 1)],
            doc="""Number of stored values, of the whole matrix or along ``axis``, as int64.

For a csr array, stored zeros are counted too.  Unlike in MXNet, ``axis=0`` is supported, and so are dense and row_sparse
arrays, whose nonzero values are counted.""")


@getnnz.forward("csr -> default", asked=REDUCED)
def _(k: Kernels, x: CSR, attrs: Attrs) -> Array:
    axes = infer.axes_of(attrs["axis"], 2)
    if len(axes) == 2:
        return k.xp.asarray([x.nnz], np.int64)
    return k.xp.diff(x.indptr).astype(np.int64) if axes == (1,) else k.xp.bincount(x.indices, minlength=x.shape[1])


@getnnz.forward("row_sparse -> default", asked=REDUCED)
def _(k: Kernels, x: RowSparse, attrs: Attrs) -> Array:
    return reduce_store(k, on_data(x, (x.data != 0).astype(np.int64)), infer.axes_of(attrs["axis"], len(x.shape)), False,
                        SUM, "getnnz")


@getnnz.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return k.xp.asarray(k.xp.sum(x != 0, axis=infer.axes_of(attrs["axis"], x.ndim), dtype=np.int64)).reshape(
        infer.reduced([x.shape], {"axis": attrs["axis"], "keepdims": False}))
