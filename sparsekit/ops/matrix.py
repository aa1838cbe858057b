"""Shapes: reshape, transpose, slices, and rows kept of a row-sparse array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.errors import ShapeError
from ..core import cost, infer
from ..core.op import REQUIRED, Op
from ..storage import CSR, RowSparse
from . import samples

__all__ = ["reshape", "slice_rows", "target_shape"]


def target_shape(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that MXNet's codes stand for: 0 copies a size, -1 is computed.

    Raises
    ------
    ShapeError
        If the sizes do not multiply to the same count.
    """
    sizes = [shape[place] if size == 0 and place < len(shape) else int(size) for place, size in enumerate(wanted)]
    total = math.prod(shape)
    if sizes.count(-1) == 1:
        rest = math.prod(size for size in sizes if size != -1)
        if rest and total % rest == 0:
            sizes[sizes.index(-1)] = total // rest
    if any(size < 0 for size in sizes) or math.prod(sizes) != total:
        raise ShapeError(f"{total} elements of shape {shape} do not make the shape {tuple(wanted)}.",
                         hint="one size may be -1 (computed), 0 copies the size at that place.")
    return tuple(sizes)


reshape = Op("Reshape", "data", shape=lambda shapes, attrs: target_shape(tuple(shapes[0]), attrs["shape"]),
             aliases=("reshape",), cost=cost.none, sample=lambda: [([samples.grid()], {"shape": (5, -1)})],
             doc="The same elements in another shape; -1 is computed, 0 copies a size.")
reshape.attrs = {"shape": REQUIRED}


@reshape.forward("default -> default")
def _(k: Any, x: Any, attrs: Any) -> Any:
    return x.reshape(target_shape(x.shape, attrs["shape"]))


reshape.gradient(lambda F, g, data, _out, attrs, want: F.Reshape(g, shape=tuple(data.shape)))

reshape_like = Op("reshape_like", "lhs rhs", shape=lambda shapes, attrs: target_shape(tuple(shapes[0]), tuple(shapes[1])),
                  dtype=lambda dtypes, attrs: dtypes[0], cost=cost.none, sample=samples.pair((4, 5), (5, 4)), flat=(1,),
                  doc="The elements of ``lhs`` in the shape of ``rhs``.")


@reshape_like.forward("default, * -> default")
def _(k: Any, x: Any, like: Any, attrs: Any) -> Any:
    return x.reshape(like.shape)


reshape_like.gradient(lambda F, g, lhs, _rhs, _out, attrs, want: (F.Reshape(g, shape=tuple(lhs.shape)), None))

flatten = Op("Flatten", "data", aliases=("flatten",), cost=cost.none, sample=samples.one(),
             shape=lambda shapes, attrs: (shapes[0][0], math.prod(shapes[0][1:])),
             doc="A matrix with the first axis kept and all others in one.")


@flatten.forward("default -> default")
def _(k: Any, x: Any, attrs: Any) -> Any:
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


@flatten.forward("csr -> csr")
def _(k: Any, x: Any, attrs: Any) -> Any:
    return x


flatten.gradient(lambda F, g, data, _out, attrs, want: F.Reshape(g, shape=tuple(data.shape)))


def _transposed(shapes: Any, attrs: dict[str, Any]) -> tuple[int, ...]:
    axes = attrs["axes"]
    if not axes:
        return tuple(reversed(shapes[0]))
    if sorted(axis % max(1, len(shapes[0])) for axis in axes) != list(range(len(shapes[0]))):
        raise ShapeError(f"axes {tuple(axes)} are no order of the {len(shapes[0])} axes.", hint="name every axis once.")
    return tuple(shapes[0][axis] for axis in axes)


transpose = Op("transpose", "data", axes=(), shape=_transposed, cost=cost.none,
               sample=lambda: [([samples.grid()], {}), ([samples.grid()], {"axes": (1, 0)})],
               doc="Axes reversed, or in the order ``axes``.")


@transpose.forward("default -> default")
def _(k: Any, x: Any, attrs: Any) -> Any:
    return k.xp.ascontiguousarray(x.transpose(attrs["axes"] or None))


transpose.gradient(lambda F, g, _data, _out, attrs, want: F.transpose(
    g, axes=tuple(int(axis) for axis in np.argsort(attrs["axes"])) if attrs["axes"] else ()))

expand_dims = Op("expand_dims", "data", axis=REQUIRED, cost=cost.none,
                 shape=lambda shapes, attrs: tuple(np.expand_dims(np.broadcast_to(0, shapes[0]), attrs["axis"]).shape),
                 sample=lambda: [([samples.grid()], {"axis": 1})], doc="A new axis of size 1.")


@expand_dims.forward("default -> default")
def _(k: Any, x: Any, attrs: Any) -> Any:
    return k.xp.expand_dims(x, attrs["axis"])


expand_dims.gradient(lambda F, g, data, _out, attrs, want: F.Reshape(g, shape=tuple(data.shape)))


def slice_rows(store: CSR, start: int, stop: int) -> CSR:
    """Rows start to stop of a CSR matrix; values and columns are views."""
    first, last = int(store.indptr[start]), int(store.indptr[stop])
    return CSR(store.data[first:last], store.indices[first:last], store.indptr[start: stop + 1] - first,
               (stop - start, store.shape[1]), check=False)


def _range(size: int, attrs: dict[str, Any]) -> tuple[int, int]:
    start, stop, _ = slice(attrs["begin"], attrs["end"]).indices(size)
    return start, max(start, stop)


rows = Op("_slice_rows", "data", begin=0, end=None, cost=cost.none,
          shape=lambda shapes, attrs: (_range(shapes[0][0], attrs)[1] - _range(shapes[0][0], attrs)[0], *shapes[0][1:]),
          sample=lambda: [([samples.grid()], {"begin": 1, "end": 3})], doc="Consecutive rows.")


@rows.forward("default -> default")
def _(k: Any, x: Any, attrs: Any) -> Any:
    return x[attrs["begin"]: attrs["end"]]


@rows.forward("csr -> csr")
def _(k: Any, x: Any, attrs: Any) -> Any:
    return slice_rows(x, *_range(x.shape[0], attrs))


@rows.forward("row_sparse -> row_sparse")
def _(k: Any, x: Any, attrs: Any) -> Any:
    start, stop = _range(x.shape[0], attrs)
    first, last = k.xp.searchsorted(x.indices, k.xp.asarray([start, stop]))
    return RowSparse(x.data[first:last], x.indices[first:last] - start, (stop - start, *x.shape[1:]), check=False)


rows.gradient(lambda F, g, data, _out, attrs, want: F._place_rows(
    g, shape=tuple(data.shape), begin=_range(data.shape[0], attrs)[0]))

place_rows = Op("_place_rows", "data", shape=lambda shapes, attrs: attrs["shape"], cost=cost.none,
                sample=lambda: [([samples.grid()], {"shape": (9, 5), "begin": 2})],
                doc="Rows put into an array of zeros: the gradient of slicing rows.")
place_rows.attrs = {"shape": None, "begin": 0}


@place_rows.forward("default -> default")
def _(k: Any, x: Any, attrs: Any) -> Any:
    out = k.xp.zeros(attrs["shape"], x.dtype)
    out[attrs["begin"]: attrs["begin"] + x.shape[0]] = x
    return out


place_rows.gradient(lambda F, g, data, _out, attrs, want: F._slice_rows(
    g, begin=attrs["begin"], end=attrs["begin"] + data.shape[0]))

retain = Op("_sparse_retain", "data indices", shape=infer.unchanged, dtype=lambda dtypes, attrs: dtypes[0], cost=cost.none,
            flat=(1,), aliases=("sparse_retain", "retain"), sample=lambda: [([samples.grid(), np.array([0, 3], np.int64)], {})],
            doc="Only the given rows of a row_sparse array; all others become absent.")


@retain.forward("row_sparse, default -> row_sparse")
def _(k: Any, x: Any, wanted: Any, attrs: Any) -> Any:
    keep = k.xp.isin(x.indices, wanted.astype(x.indices.dtype))
    return RowSparse(x.data[keep], x.indices[keep], x.shape, check=False)


retain.gradient(lambda F, g, _data, indices, _out, attrs, want: (
    F._sparse_retain(F.cast_storage(g, stype="row_sparse"), indices), None))
