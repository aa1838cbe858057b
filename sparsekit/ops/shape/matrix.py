"""Shapes: reshape, transpose, and rows kept of a row-sparse array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...base.dtypes import MOST_AXES
from ...base.errors import ShapeError, expected
from ...core import cost, infer
from ...core.op import REQUIRED, SHAPE_ONLY, Call, Op
from ...core.partial_shapes import all_alike, complete
from ...storage import RowSparse
from .. import samples
from ..indexing.positions import named_rows, whole

if TYPE_CHECKING:
    from ...base.types import Array, Attrs, Shape
    from ...core.partial_shapes import Partial
    from ...kernels.types import Kernels
    from ...storage import CSR
    from ...storage.types import Store


def target_shape(shape: tuple[int, ...], wanted: int | list[int] | tuple[int, ...], reverse: bool = False) -> tuple[int, ...]:
    """The shape that MXNet's codes stand for, read from the left, or from the right with ``reverse``.

    0 copies a size, -1 is computed, -2 copies all that remain, -3 multiplies the next two, -4 splits one
    into the two sizes that follow it, of which one may be -1.

    Raises
    ------
    ShapeError
        If the codes do not fit, or the sizes do not multiply to the same count.
    """
    try:
        codes = [int(code) for code in (wanted if isinstance(wanted, (tuple, list)) else (wanted,))]
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(expected("shape", "a tuple of integers", wanted), hint="shape=(2, -1), for example.") from None
    if len(codes) > 3 * MOST_AXES:  # no code takes more than three places of a size; the product of millions takes hours
        raise ShapeError(expected("shape", f"a tuple of at most {MOST_AXES} sizes", wanted), hint="shape=(2, -1), for example.")
    if reverse:
        return tuple(reversed(target_shape(tuple(reversed(shape)), list(reversed(codes)))))
    try:
        sizes = _decoded(list(shape), codes)
    except (IndexError, ValueError, ZeroDivisionError):
        sizes = [-1, -1]
    total = math.prod(shape)
    if sizes.count(-1) == 1:
        product = math.prod(size for size in sizes if size != -1)
        if product and total % product == 0:
            sizes[sizes.index(-1)] = total // product
    if any(size < 0 for size in sizes) or math.prod(sizes) != total:
        raise ShapeError(f"{total} elements of shape {shape} do not make the shape {tuple(codes)}.",
                         hint="one size may be -1 (computed), 0 copies the size at that place.")
    return tuple(sizes)


def _decoded(shape: list[int], codes: list[int]) -> list[int]:
    """Sizes for the codes, with -1 where one is to be computed."""
    sizes: list[int] = []
    at = place = 0
    while place < len(codes):
        code = codes[place]
        if code == -2:
            sizes += shape[at:]
            at = len(shape)
        elif code == -3:
            sizes.append(shape[at] * shape[at + 1])
            at += 2
        elif code == -4:
            first, second = codes[place + 1: place + 3]
            first = shape[at] // second if first == -1 else first
            sizes += [first, shape[at] // first if second == -1 else second]
            if sizes[-2] * sizes[-1] != shape[at]:
                raise ValueError
            at, place = at + 1, place + 2
        else:
            sizes.append(shape[at] if code == 0 else code)
            at += 1
        place += 1
    return sizes


def _reshaped_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    """The one size that is missing, from the number of values."""
    data = shapes[0]
    if data is None or out is None or not complete(out) or data.count(None) != 1:
        return shapes
    size_there, total = math.prod(size for size in data if size is not None), math.prod(out)
    if not size_there or total % size_there:
        return shapes
    return [tuple(total // size_there if size is None else size for size in data)]


def reshaped(shape: Shape, attrs: Attrs) -> Shape:
    """The shape that a call asks for, by ``shape`` or as in programs of 2015, where 0 in ``target_shape`` is computed."""
    wanted, older = attrs["shape"], attrs.get("target_shape")
    if wanted is not None:
        return target_shape(shape, wanted, attrs["reverse"])
    if not older:
        raise ShapeError("Reshape needs the argument 'shape'.", hint="shape=(2, -1), for example.")
    sizes = [-1 if size == 0 else size for size in older]
    if attrs["keep_highest"]:
        sizes[0] = shape[0]
    return target_shape(shape, sizes)


reshape = Op("Reshape", "data", attrs={"shape": None, "reverse": False, "target_shape": (), "keep_highest": False},
             shape=lambda shapes, attrs: reshaped(tuple(shapes[0]), attrs), aliases=("reshape",),
             cost=cost.none, input_rule=_reshaped_inputs,
             sample=lambda: [([samples.grid()], {"shape": (5, -1)}), ([samples.grid()], {"shape": (-4, 2, -1, -2)}),
                             ([samples.grid()], {"shape": (-1, 0), "reverse": True}),
                             ([samples.grid()], {"target_shape": (0, 2)})], saves=("data",),
             doc="""A copy of the elements in another shape; ``NDArray.reshape`` shares memory instead.

In ``shape``, 0 copies a size, -1 is computed, -2 copies all that remain, -3 multiplies the next two, and -4
splits one into the two sizes that follow, of which one may be -1.  ``reverse=True`` reads from the right.

``target_shape`` is the older way, used if ``shape`` is not given: 0 is computed, and ``keep_highest=True`` keeps the first
size.""")


@reshape.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return x.reshape(reshaped(x.shape, attrs)).copy()


reshape.gradient(lambda F, g, data, out, attrs, want: F._view(g, shape=tuple(data.shape)))


def _part(ndim: int, begin: int | None, end: int | None) -> tuple[int, int]:
    """Where a run of axes begins and ends; None is an end of the shape, negative counts from there."""
    low = 0 if begin is None else begin + ndim if begin < 0 else begin
    high = ndim if end is None else end + ndim if end < 0 else end
    if not 0 <= low <= high <= ndim:
        raise ShapeError(f"axes {begin} to {end} are out of range for {ndim} dimensions.",
                         hint="they run from 0 to the number of axes.")
    return low, high


def _likeness(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    left, right = tuple(shapes[0]), tuple(shapes[1])
    low, high = _part(len(left), attrs["lhs_begin"], attrs["lhs_end"])
    start, stop = _part(len(right), attrs["rhs_begin"], attrs["rhs_end"])
    result = left[:low] + right[start:stop] + left[high:]
    if math.prod(result) != math.prod(left):
        raise ShapeError(f"{math.prod(left)} elements of shape {left} do not make the shape {result}.",
                         hint="both must hold the same number of elements.")
    return result


reshape_like = Op("reshape_like", "lhs rhs", attrs={"lhs_begin": None, "lhs_end": None, "rhs_begin": None, "rhs_end": None},
                  shape=_likeness, dtype=lambda dtypes, attrs: dtypes[0], cost=cost.none, sample=samples.pair((4, 5), (5, 4)),
                  nondifferentiable=(1,), saves=("lhs",),
                  doc="A copy of the elements of ``lhs`` in the shape of ``rhs``, or with the axes from ``lhs_begin`` up to, "
                      "not including, ``lhs_end`` replaced by those from ``rhs_begin`` to ``rhs_end`` of ``rhs``.")


@reshape_like.forward("default, * -> default", asked=SHAPE_ONLY)
def _(k: Kernels, x: Array, like: Store, attrs: Attrs) -> Array:
    return x.reshape(_likeness([x.shape, like.shape], attrs)).copy()


reshape_like.gradient(lambda F, g, lhs, rhs, out, attrs, want: (F._view(g, shape=tuple(lhs.shape)), None))

identity_like = Op("_identity_with_attr_like_rhs", "lhs rhs", shape=infer.unchanged, dtype=lambda dtypes, attrs: dtypes[0],
                   cost=cost.none, sample=samples.pair((4, 5), (4, 5)), nondifferentiable=(1,), saves=(), input_rule=all_alike,
                   doc="A copy of ``lhs``; in symbols, what is not known of its shape follows from that of ``rhs``.")
identity_like.forward("default, * -> default", asked=SHAPE_ONLY)(lambda k, x, like, attrs: x.copy())
identity_like.gradient(lambda F, g, lhs, rhs, out, attrs, want: (g, None))

flatten = Op("Flatten", "data", aliases=("flatten",), cost=cost.none, sample=samples.one(),
             shape=lambda shapes, attrs: (shapes[0][0], math.prod(shapes[0][1:])), saves=("data",),
             doc="A matrix with the first axis kept and all others in one.")


@flatten.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return x.reshape(x.shape[0], math.prod(x.shape[1:])).copy()


@flatten.forward("csr -> csr")
def _(k: Kernels, x: CSR, attrs: Attrs) -> CSR:
    return x.copy()


flatten.gradient(lambda F, g, data, out, attrs, want: F._view(g, shape=tuple(data.shape)))


def _order(ndim: int, axes: float | list[int] | tuple[int, ...] | None) -> tuple[int, ...]:
    """The axes in their new order, as numbers from 0."""
    if axes in (None, ()):
        return tuple(reversed(range(ndim)))
    named = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    order = tuple(int(axis) + ndim if axis < 0 else int(axis) for axis in named)
    if sorted(order) != list(range(ndim)):
        raise ShapeError(f"axes must be a permutation of the {ndim} axes, got {named}.", hint="name every axis once.")
    return order


def _transposed(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    return tuple(shapes[0][axis] for axis in _order(len(shapes[0]), attrs["axes"]))


def _written_out(call: Call, shapes: Sequence[Shape | None]) -> Call:
    """The call with the order of the axes written out for arrays that are not matrices, which cannot be csr."""
    if call.attrs["axes"] or shapes[0] is None or len(shapes[0]) == 2:
        return call
    return call.op.bind({**call.attrs, "axes": tuple(reversed(range(len(shapes[0]))))})


def _transposed_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    if out is None:
        return shapes
    axes = attrs["axes"] or tuple(range(len(out)))[::-1]
    sizes: list[int | None] = [None] * len(out)
    for place, axis in enumerate(axes):
        sizes[axis] = out[place]
    return [tuple(sizes)]


transpose = Op("transpose", "data", attrs={"axes": ()}, shape=_transposed, cost=cost.none, settle=_written_out,
               input_rule=_transposed_inputs,
               sample=lambda: [([samples.grid()], {}), ([np.ones((2, 3, 4), np.float32)], {"axes": (-1, 0, 1)})], saves=(),
               doc="A copy with the axes reversed, or in the order ``axes``.")


@transpose.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return k.xp.array(x.transpose(_order(x.ndim, attrs["axes"])), order="C")


transpose.gradient(lambda F, g, data, out, attrs, want: F.transpose(
    g, axes=tuple(int(axis) for axis in np.argsort(_order(len(g.shape), attrs["axes"])))))


def _expanded(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape, axis = tuple(shapes[0]), int(attrs["axis"])
    if not -len(shape) - 1 <= axis <= len(shape):
        raise ShapeError(f"axis {axis} is out of range for a result of {len(shape) + 1} dimensions.",
                         hint=f"axes run from {-len(shape) - 1} to {len(shape)}.")
    place = axis if axis >= 0 else axis + len(shape) + 1
    return (*shape[:place], 1, *shape[place:])


def _expanded_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    if not out:
        return shapes
    axis = attrs["axis"] % len(out)
    return [(*out[:axis], *out[axis + 1:])]


expand_dims = Op("expand_dims", "data", attrs={"axis": REQUIRED}, cost=cost.none, shape=_expanded, input_rule=_expanded_inputs,
                 sample=lambda: [([samples.grid()], {"axis": 1})], saves=("data",), doc="A copy with a new axis of size 1.")


@expand_dims.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return x.reshape(_expanded([x.shape], attrs)).copy()


expand_dims.gradient(lambda F, g, data, out, attrs, want: F._view(g, shape=tuple(data.shape)))


retain = Op("_sparse_retain", "data indices", shape=infer.unchanged, dtype=lambda dtypes, attrs: dtypes[0], cost=cost.none,
            nondifferentiable=(1,), own_dtype=(1,), rows_read={0: lambda inputs, attrs, rows: named_rows(inputs[1], rows)},
            aliases=("sparse_retain", "retain"),
            sample=lambda: [([samples.grid(), np.array([0, 3], np.int64)], {})], saves=("indices",), label="retain",
            doc="Only the given rows of a row_sparse array; all others become absent.")


@retain.forward("row_sparse, default -> row_sparse")
def _(k: Kernels, x: RowSparse, wanted: Array, attrs: Attrs) -> RowSparse:
    rows, stored = k.distinct(whole(k.xp, wanted, "retain: the row")), x.indices
    places = rows
    if not x.complete or k.outside(rows, x.shape[0]):
        rows, _, places = k.shared_rows(rows, stored)
    data = k.xp.take(x.data, places, axis=0, mode="clip")
    return RowSparse(data, rows.astype(stored.dtype, copy=False), x.shape, check=False)


retain.gradient(lambda F, g, data, indices, out, attrs, want: (
    F._sparse_retain(g if g.stype == "row_sparse" else F.cast_storage(g, stype="row_sparse"), indices), None))
