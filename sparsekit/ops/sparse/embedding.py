"""Embedding: the rows of a weight that indices name, and the gradient that those rows get."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.dtypes import element_type
from ...base.errors import ShapeError
from ...core import cost
from ...core.op import LOOKED_UP, REQUIRED, Op
from ...storage import RowSparse
from .. import samples
from ..indexing.positions import CLIP, inside, named_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Indices, Shape
    from ...core.op import Want
    from ...core.partial_shapes import Partial
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import Kernels
    from ...storage import CSR


def _looked_up(k: Kernels, data: Array, size: int, mode: str = CLIP) -> Array:
    """Indices as whole numbers inside a table of that many rows: fractions are cut off, what is beyond is clipped."""
    if not size and data.size:
        raise ShapeError("The weight must have at least one row.", hint="input_dim is at least 1.")
    return inside(k, data, size, mode, "Embedding: the id")


def _shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    data, weight = shapes
    if len(weight) < 2 or (weight[0], math.prod(weight[1:])) != (attrs["input_dim"], attrs["output_dim"]):
        raise ShapeError(f"weight has shape {weight}, not ({attrs['input_dim']}, {attrs['output_dim']}).",
                         hint="the weight of Embedding is (input_dim, output_dim).")
    return (*data, *weight[1:])


def _rows_of(k: Kernels, data: Array, weight: Array, attrs: Attrs) -> Array:
    return k.xp.take(weight, _looked_up(k, data, weight.shape[0]), axis=0, mode="clip")


def _rows_of_row_sparse(k: Kernels, data: Array, weight: RowSparse, attrs: Attrs) -> Array:
    xp = k.xp
    wanted = _looked_up(k, data, weight.shape[0])
    if not weight.indices.size:
        return xp.zeros((*wanted.shape, *weight.shape[1:]), weight.dtype)
    place = xp.minimum(xp.searchsorted(weight.indices, wanted), weight.indices.size - 1)
    rows = xp.take(weight.data, place, axis=0)
    rows[weight.indices[place] != wanted] = 0
    return rows


def _rows_of_csr(k: Kernels, data: Array, weight: CSR, attrs: Attrs) -> Array:
    xp = k.xp
    wanted = _looked_up(k, data, weight.shape[0])
    rows = wanted.reshape(-1)
    starts, counts = weight.indptr[rows], weight.indptr[rows + 1] - weight.indptr[rows]
    target = xp.repeat(xp.arange(rows.size), counts)
    place = xp.arange(target.size) - xp.repeat(xp.cumsum(counts) - counts, counts) + xp.repeat(starts, counts)
    dense = xp.zeros((rows.size, weight.shape[1]), weight.dtype)
    dense[target, weight.indices[place]] = weight.data[place]
    return dense.reshape(*wanted.shape, weight.shape[1])


def _rule(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, weight: ArrayObject, out: ArrayObject | None, attrs: Attrs,
          want: Sequence[Want | None]) -> Gradients:
    sparse = attrs["sparse_grad"] or (want[1] and want[1].stype == "row_sparse")
    return None, want[1] and F._embedding_backward(g, data, shape=tuple(weight.shape), sparse=bool(sparse))


def _inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    return [out[:-1] if out else None, (attrs["input_dim"], attrs["output_dim"])]


def _declare(name: str, sparse_grad: bool, doc: str, **options: bool) -> None:
    op = Op(name, "data weight", cost=cost.none, selects=1, nondifferentiable=(0,), shape=_shape, input_rule=_inputs,
            attrs={"input_dim": REQUIRED, "output_dim": REQUIRED, "dtype": "float32", "sparse_grad": sparse_grad, **options},
            own_dtype=(0,), rows_read={1: lambda inputs, attrs, rows: named_rows(inputs[0], rows)},
            input_dtype=lambda place, dtype, attrs: element_type(attrs["dtype"]),
            dtype=lambda dtypes, attrs: dtypes[1], doc=doc, saves=("data", "weight"),
            sample=lambda: [([np.array([[0, 3], [1, 1]], np.float32), samples.grid()],
                             {"input_dim": 4, "output_dim": 5, "sparse_grad": sparse}) for sparse in (False, True)])
    op.forward("default, default -> default")(_rows_of)
    op.forward("default, row_sparse -> default", asked=LOOKED_UP)(_rows_of_row_sparse)
    op.forward("default, csr -> default", asked=LOOKED_UP)(_rows_of_csr)
    op.gradient(_rule)


_declare("Embedding", False, """The rows of ``weight`` that ``data`` names; indices beyond the ends are clipped, as in MXNet.

Clipping gives an ``IndexWarning``; with ``config.indices = "error"`` it is an error.  Indices may have any element type.
Fractions are truncated, and NaN is an error.  With ``sparse_grad=True``, or if the gradient buffer of the weight is
row_sparse, the gradient is row_sparse and stores only the rows that were looked up.  A row_sparse weight need not store all
rows; absent rows are zero.  ``dtype`` has no effect: the result has the element type of the weight.""")
_declare("_contrib_SparseEmbedding", True, "``Embedding`` with a row_sparse gradient; deprecated in MXNet.  ``deterministic`` "
         "has no effect: gradients are the same on every run.", deterministic=False)


def _weight_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    """The shape of the weight whose gradient it is, which has a row to take for every index."""
    shape = tuple(attrs["shape"])
    if tuple(shapes[0]) != (*shapes[1], *shape[1:]) or (not shape[0] and math.prod(shapes[1]) > 0):
        raise ShapeError(f"gradients of shape {tuple(shapes[0])} for indices of shape {tuple(shapes[1])} do not fit a weight of "
                         f"shape {shape}.", hint="each index has a row of the weight.")
    return shape


backward = Op("_embedding_backward", "g data", attrs={"shape": None, "sparse": False}, shape=_weight_shape,
              nondifferentiable=(1,), dtype=lambda dtypes, attrs: dtypes[0], cost=cost.reduction,
              sample=lambda: [([np.ones((2, 2, 5), np.float32), np.array([[0, 3], [1, 1]], np.float32)],
                               {"shape": (4, 5), "sparse": sparse}) for sparse in (False, True)], saves=("data",),
              label="the gradient of Embedding",
              doc="Gradient rows summed by the index they were looked up with.")


def _ready(k: Kernels, g: Array, data: Array, shape: tuple[int, ...]) -> tuple[Array, Array, int]:
    """The gradient as (indices, width), the indices as numbers of rows, and the width."""
    rows = _looked_up(k, data, shape[0], "clip").reshape(-1)
    width = math.prod(shape[1:])
    return k.xp.ascontiguousarray(g).reshape(rows.size, width), rows, width


def _by_row(k: Kernels, rows: Array) -> tuple[Indices, Indices, Indices]:
    distinct, starts, places = k.group_columns(rows)
    return starts, places, distinct


@backward.forward("default, default -> row_sparse", sparse=True)
def _(k: Kernels, g: Array, data: Array, attrs: Attrs) -> RowSparse:
    shape = attrs["shape"]
    g, rows, width = _ready(k, g, data, shape)
    distinct, starts, places = k.group_columns(rows)
    out = k.xp.empty((distinct.shape[0], *shape[1:]), g.dtype)
    k.sum_rows_grouped(g, starts, places, k.xp.arange(distinct.shape[0]), out.reshape(distinct.shape[0], width))
    return RowSparse(out, distinct, shape, check=False)


@backward.forward("default, default -> default", sparse=False)
def _(k: Kernels, g: Array, data: Array, attrs: Attrs) -> Array:
    shape = attrs["shape"]
    g, rows, width = _ready(k, g, data, shape)
    out = k.xp.zeros(shape, g.dtype)
    k.sum_rows_grouped(g, *_by_row(k, rows), out.reshape(shape[0], width))
    return out


@backward.gradient
def _(F: ArrayFunctions, g: ArrayObject, above: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    shape = attrs["shape"]
    return F.Embedding(data, g, input_dim=shape[0], output_dim=math.prod(shape[1:])), None
