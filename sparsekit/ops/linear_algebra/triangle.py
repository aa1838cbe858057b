"""Conversions between matrices and their diagonals or triangles, and the Khatri-Rao product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ShapeError
from ...core import cost
from ...core.op import Op
from .. import samples
from ..shape.shape import fresh
from .products import real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Given, Gradients
    from ...kernels.types import Kernels


def checked(x: Array) -> Array:
    """Return the array; raise if decompositions do not support its element type."""
    real([x.dtype], {})
    return x


def square(shape: tuple[int, ...]) -> int:
    """The size of the square matrices on the last two axes."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"matrices must be square, got shape {tuple(shape)}.", hint="the last two axes must have equal sizes.")
    return int(shape[-1])


def turn(F: ArrayFunctions, x: ArrayObject) -> ArrayObject:
    """Transpose the last two axes."""
    return F.SwapAxis(x, dim1=len(x.shape) - 2, dim2=len(x.shape) - 1)


def matrix_sample(seed: int = 0, batch: bool = False) -> Array:
    """A well-conditioned symmetric 3 x 3 matrix, or two."""
    matrix = np.random.default_rng(seed).standard_normal((2, 3, 3) if batch else (3, 3)).astype(np.float32) / 2
    return matrix @ np.swapaxes(matrix, -1, -2) + np.eye(3, dtype=np.float32)


def _diagonal_length(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, ...]:
    length = square(shapes[0]) - abs(attrs["offset"])
    if length <= 0:
        raise ShapeError(f"matrices of shape {tuple(shapes[0])} have no diagonal {attrs['offset']}.",
                         hint="pass a smaller offset.")
    return (*shapes[0][:-2], length)


def _both() -> samples.Samples:
    return [([matrix_sample(batch=batch)], {"offset": offset}) for batch in (False, True) for offset in (0, 1, -1)]


extract = Op("_linalg_extractdiag", "A", attrs={"offset": 0}, shape=_diagonal_length, cost=cost.none, selects=0, sample=_both,
             aliases=("linalg_extractdiag",), saves=(), doc="The diagonal ``offset`` of square matrices.")


@extract.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    diagonal: Array = fresh(k.xp, k.xp.diagonal(x, attrs["offset"], -2, -1))
    return diagonal


extract.gradient(lambda F, g, data, out, attrs, want: F.linalg_makediag(g, offset=attrs["offset"]))


def _with_diagonal(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, ...]:
    if not shapes[0]:
        raise ShapeError("the array must have at least one axis, got shape ().", hint="pass a vector.")
    size = shapes[0][-1] + abs(attrs["offset"])
    return (*shapes[0][:-1], size, size)


make = Op("_linalg_makediag", "A", attrs={"offset": 0}, shape=_with_diagonal, cost=cost.none, aliases=("linalg_makediag",),
          sample=lambda: [([samples.grid(2, 3)], {"offset": offset}) for offset in (0, 1, -2)], saves=(),
          doc="Square matrices with the last axis on their diagonal ``offset`` and zeros elsewhere.")


@make.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(_with_diagonal([x.shape], attrs), x.dtype)
    places = np.arange(x.shape[-1])
    out[..., places + max(0, -attrs["offset"]), places + max(0, attrs["offset"])] = x
    return out


make.gradient(lambda F, g, data, out, attrs, want: F.linalg_extractdiag(g, offset=attrs["offset"]))


def _side(attrs: Attrs) -> bool:
    """Whether the triangle is the lower one: the sign of a nonzero offset, else ``lower``."""
    return bool(attrs["lower"]) if attrs["offset"] == 0 else attrs["offset"] < 0


# Any: slices, and an ellipsis
def _corner(size: int, attrs: Attrs) -> tuple[Any, ...]:
    """Rows and columns of a triangle: row by row for a lower one, column by column for an upper one, as in MXNet."""
    if _side(attrs):
        return np.tril_indices(size, attrs["offset"])
    columns, rows = np.tril_indices(size, -attrs["offset"])
    return rows, columns


def _triangle_length(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, ...]:
    edge = square(shapes[0]) - abs(attrs["offset"])
    if edge <= 0:
        raise ShapeError(f"matrices of shape {tuple(shapes[0])} have no triangle at offset {attrs['offset']}.",
                         hint="pass a smaller offset.")
    return (*shapes[0][:-2], edge * (edge + 1) // 2)


def _triangles() -> samples.Samples:
    return [([matrix_sample(batch=batch)], {"offset": offset, "lower": lower})
            for batch in (False, True) for offset, lower in ((0, True), (0, False), (1, True), (-1, True))]


flatten = Op("_linalg_extracttrian", "A", attrs={"offset": 0, "lower": True}, shape=_triangle_length, cost=cost.none, selects=0,
             sample=_triangles, aliases=("linalg_extracttrian",), saves=(),
             doc="The lower or upper triangle of square matrices as vectors: row by row for a lower triangle, column by column "
                 "for an upper one.  A positive ``offset`` is the first diagonal of an upper triangle, a negative one the last "
                 "diagonal of a lower triangle.")


@flatten.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    triangle: Array = fresh(k.xp, x[(..., *_corner(x.shape[-1], attrs))])
    return triangle


flatten.gradient(lambda F, g, data, out, attrs, want: F.linalg_maketrian(g, offset=attrs["offset"], lower=attrs["lower"]))


def _triangle_size(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, ...]:
    count = shapes[0][-1] if shapes[0] else 0
    edge = (math.isqrt(8 * count + 1) - 1) // 2
    if not edge or edge * (edge + 1) // 2 != count:
        raise ShapeError(f"a triangle must have 1, 3, 6, 10 … values, got {count}.", hint="n rows have n * (n + 1) / 2 values.")
    size = edge + abs(attrs["offset"])
    return (*shapes[0][:-1], size, size)


unflatten = Op("_linalg_maketrian", "A", attrs={"offset": 0, "lower": True}, shape=_triangle_size, cost=cost.none,
               aliases=("linalg_maketrian",),
               sample=lambda: [([samples.grid(2, 6)], {"offset": offset, "lower": lower})
                               for offset, lower in ((0, True), (0, False), (1, True), (-1, True))], saves=(),
               doc="Square matrices with the given triangles, and zeros elsewhere: the inverse of linalg_extracttrian.")


@unflatten.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(_triangle_size([x.shape], attrs), x.dtype)
    out[(..., *_corner(out.shape[-1], attrs))] = x
    return out


unflatten.gradient(lambda F, g, data, out, attrs, want: F.linalg_extracttrian(
    g, offset=attrs["offset"], lower=attrs["lower"]))

triangle = Op("_triangle", "A", attrs={"lower": True}, shape=lambda shapes, attrs: square(shapes[0]) and shapes[0],
              cost=cost.none, sample=lambda: [([matrix_sample(batch=True)], {"lower": lower}) for lower in (True, False)],
              saves=(), doc="Square matrices with zeros outside their lower (or upper) triangle.")


@triangle.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return k.xp.tril(x) if attrs["lower"] else k.xp.triu(x)


triangle.gradient(lambda F, g, data, out, attrs, want: F._triangle(g, lower=attrs["lower"]))

mirror = Op("_mirrored", "A", shape=lambda shapes, attrs: square(shapes[0]) and shapes[0], cost=cost.none,
            sample=lambda: [([matrix_sample(3, batch=True)], {})], saves=(),
            doc="Symmetric matrices with the lower triangles of the given matrices.")


@mirror.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return k.xp.tril(x) + k.xp.swapaxes(k.xp.tril(x, -1), -1, -2)


mirror.gradient(lambda F, g, data, out, attrs, want: F._triangle(g + turn(F, g)) - F.linalg_makediag(F.linalg_extractdiag(g)))

sums = Op("_linalg_sumlogdiag", "A", shape=lambda shapes, attrs: (square(shapes[0]) and tuple(shapes[0][:-2])) or (1,),
          dtype=real, cost=cost.matrices(lambda n, _: 2 * n - 1), aliases=("linalg_sumlogdiag",),
          sample=lambda: [([matrix_sample(batch=batch)], {}) for batch in (False, True)], saves=("A",),
          doc="The sum of the logarithms of the diagonal of square matrices.")


@sums.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    total = k.xp.log(k.xp.diagonal(checked(x), 0, -2, -1)).sum(axis=-1, dtype=x.dtype)
    return k.xp.asarray(total).reshape(x.shape[:-2] or (1,))


@sums.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    diagonal = F.linalg_extractdiag(data)
    spread = F.broadcast_div(F._view(g, shape=(*tuple(data.shape[:-2]), 1)), diagonal)
    return F.linalg_makediag(spread)


def _khatri_rao_shape(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, ...]:
    if any(len(shape) != 2 or shape[1] != shapes[0][1] for shape in shapes):
        raise ShapeError(f"matrices must have equal numbers of columns, got shapes {', '.join(map(str, shapes))}.",
                         hint="transpose one.")
    return math.prod(shape[0] for shape in shapes), int(shapes[0][1])


khatri_rao = Op("khatri_rao", "*args", shape=_khatri_rao_shape, cost=cost.pairs,
                sample=lambda: [([samples.grid(2, 3), samples.grid(4, 3, seed=1), samples.grid(3, 3, seed=2)], {})],
                saves=("args",),
                doc="The Khatri-Rao product: each column is the Kronecker product of the corresponding columns of the matrices.")


def _apart(shapes: Sequence[Shape], place: int) -> tuple[int, ...]:
    """Shape of a matrix with one axis for the rows of each matrix, of size 1 for the others, and one for columns."""
    return (*(int(shape[0]) if other == place else 1 for other, shape in enumerate(shapes)), int(shapes[0][1]))


@khatri_rao.forward("default... -> default")
def _(k: Kernels, *stores_and_attrs: *Given) -> Array:
    *stores, _ = stores_and_attrs
    shapes = [x.shape for x in stores]
    out = fresh(k.xp, stores[0]).reshape(_apart(shapes, 0))
    for place, x in enumerate(stores[1:], 1):
        out = out * x.reshape(_apart(shapes, place))
    result: Array = out.reshape(-1, shapes[0][1]) if shapes[0][1] else out.reshape(_khatri_rao_shape(shapes, {}))
    return result


@khatri_rao.gradient
def _(F: ArrayFunctions, g: ArrayObject, args: ArrayObject, out: ArrayObject, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    shapes = [tuple(x.shape) for x in args]
    folded = F._view(g, shape=(*(int(shape[0]) for shape in shapes), int(shapes[0][1])))
    views = [F._view(x, shape=_apart(shapes, place)) for place, x in enumerate(args)]
    # Any: arrays of numpy or cupy
    gradients: list[Any] = []
    for place, shape in enumerate(shapes):
        part = folded
        for other, factor in enumerate(views):
            part = part if other == place else F.broadcast_mul(part, factor)
        gradients.append(F._view(F._sum_to(part, shape=_apart(shapes, place)), shape=shape))
    return gradients


