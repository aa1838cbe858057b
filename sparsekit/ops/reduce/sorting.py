"""Sorting, largest and smallest elements and their places, running sums, histograms."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import DTypeError, ShapeError, UnknownNameError
from ...core import cost, infer
from ...core.op import Op
from ...core.partial_shapes import first_alike
from .. import samples
from ..shape.shape import fresh, one_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, DTypeLike, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Arriving, Gradients
    from ...kernels.types import ArrayModule, Kernels


def _line(shape: tuple[int, ...], attrs: Attrs) -> tuple[tuple[int, ...], int]:
    """The shape that is ordered and its axis; ``axis=None`` orders the flattened array."""
    if attrs["axis"] is None:
        return (math.prod(shape),), 0
    return tuple(shape), one_axis(attrs["axis"], len(shape))


def sorted_places(xp: ArrayModule, x: Array, axis: int, ascending: bool) -> Array:
    """Places that sort ``x`` along ``axis``; equal elements stay in their order either way."""
    if ascending:
        return xp.argsort(x, axis=axis, kind="stable")
    turned: Array = x.shape[axis] - 1 - xp.flip(xp.argsort(xp.flip(x, axis), axis=axis, kind="stable"), axis)
    return turned


def check_places(dtype: DTypeLike, size: int) -> None:
    """Raise if a float type cannot represent every place below ``size``."""
    kind = np.dtype(dtype)
    largest = 2 ** (np.finfo(kind).nmant + 1) if kind.kind == "f" else 1 if kind.kind == "b" else np.iinfo(kind).max
    if size - 1 > largest:
        raise DTypeError(f"{kind} cannot hold the places of {size:,} elements exactly.",
                         hint="ask for dtype='int64', or cast to float64 first.")


def ordering(op: Op, function: Callable[[Kernels, Array, int, Attrs], Array | tuple[Array, Array]],
             differentiable: Callable[[Attrs], bool]) -> Op:
    """Declare the kernel ``function(k, x, axis, attrs)`` on what ``axis`` names, and the gradient of the values."""

    @op.forward("default -> default...")
    def _(k: Kernels, x: Array, attrs: Attrs) -> Array | tuple[Array, Array]:
        shape, axis = _line(x.shape, attrs)
        result = function(k, x.reshape(shape), axis, attrs)
        return result if isinstance(result, tuple) or attrs.get("ret_typ") != "mask" else result.reshape(x.shape)

    @op.gradient
    def _(F: ArrayFunctions, g: Arriving, data: ArrayObject,
          out: ArrayObject | Sequence[ArrayObject], attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
        if not differentiable(attrs):
            return F.zeros_like(data)
        g = g[0] if isinstance(g, tuple) else g
        if g is None:
            return F.zeros_like(data)
        shape, axis = _line(tuple(data.shape), attrs)
        return F._view(F._put_along(g, out[1], axis=axis, shape=shape), shape=tuple(data.shape))

    return op


put_along = Op("_put_along", "data places", attrs={"axis": 0, "shape": None}, shape=lambda shapes, attrs: attrs["shape"],
               cost=cost.none, nondifferentiable=(1,), dtype=lambda dtypes, attrs: dtypes[0],
               sample=lambda: [([samples.grid(2, 3), np.array([[3, 0, 1], [2, 1, 0]], np.int64)], {"shape": (2, 5), "axis": 1})],
               saves=("places",), doc="Values put along an axis of zeros at given places: the gradient of sorting.")
take_along = Op("_take_along", "data places", attrs={"axis": 0}, shape=lambda shapes, attrs: shapes[1], cost=cost.none, selects=0,
                nondifferentiable=(1,), dtype=lambda dtypes, attrs: dtypes[0],
                sample=lambda: [([samples.grid(2, 5), np.array([[3, 0, 1], [2, 1, 0]], np.int64)], {"axis": 1})],
                saves=("data", "places"),
                doc="Values taken along an axis at given places: the gradient of putting them there.")


@put_along.forward("default, default -> default")
def _(k: Kernels, x: Array, places: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(attrs["shape"], x.dtype)
    k.xp.put_along_axis(out, places.astype(np.int64, copy=False), x, attrs["axis"])
    return out


@take_along.forward("default, default -> default")
def _(k: Kernels, x: Array, places: Array, attrs: Attrs) -> Array:
    return k.xp.take_along_axis(x, places.astype(np.int64, copy=False), attrs["axis"])


put_along.gradient(lambda F, g, data, places, out, attrs, want: (F._take_along(g, places, axis=attrs["axis"]), None))
take_along.gradient(lambda F, g, data, places, out, attrs, want: (
    F._put_along(g, places, axis=attrs["axis"], shape=tuple(data.shape)), None))


def _line_of_samples() -> samples.Samples:
    return [([samples.grid()], {"axis": axis, "is_ascend": up}) for axis in (-1, 0, None) for up in (True, False)]


def _sort(k: Kernels, x: Array, axis: int, attrs: Attrs) -> tuple[Array, Array]:
    places = sorted_places(k.xp, x, axis, attrs["is_ascend"])
    return k.xp.take_along_axis(x, places, axis), places


ordering(Op("sort", "data", attrs={"axis": -1, "is_ascend": True}, outputs=2, visible=1, cost=cost.ordering,
            sample=_line_of_samples, shape=lambda shapes, attrs: [_line(shapes[0], attrs)[0]] * 2,
            dtype=lambda dtypes, attrs: [dtypes[0], np.dtype(np.int64)], input_rule=first_alike,
            doc="The elements in order along ``axis``, or of the flattened array for None."), _sort, lambda attrs: True)


def _argsort_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape, axis = _line(shapes[0], attrs)
    check_places(attrs["dtype"], shape[axis])
    return shape


argsort = Op("argsort", "data", attrs={"axis": -1, "is_ascend": True, "dtype": "float32"}, shape=_argsort_shape,
             dtype=infer.fixed, cost=cost.ordering, sample=_line_of_samples,
             doc="The places that put the elements in order along ``axis``, or of the flattened array for None.  They come "
                 "as float32 unless ``dtype`` says otherwise; equal elements keep their order.")
ordering(argsort, lambda k, x, axis, attrs: sorted_places(k.xp, x, axis, attrs["is_ascend"]).astype(attrs["dtype"]),
         lambda attrs: False)

_RETURNS = ("indices", "value", "mask", "both")


def _first(shape: tuple[int, ...], axis: int, attrs: Attrs) -> int:
    """How many elements of each line are requested; 0 and below mean all."""
    count, size = int(attrs["k"]), shape[axis]
    if count > size:
        raise ShapeError(f"k must be at most the size of the axis, {size}, got {count}.",
                         hint="k counts elements along the axis.")
    return count if count > 0 else size


def _top_shape(shapes: list[Shape], attrs: Attrs) -> list[Shape] | Shape:
    if attrs["ret_typ"] not in _RETURNS:
        raise UnknownNameError.of("ret_typ of topk", attrs["ret_typ"], _RETURNS)
    shape, axis = _line(shapes[0], attrs)
    count = _first(shape, axis, attrs)
    if attrs["ret_typ"] in ("indices", "both"):
        check_places(attrs["dtype"], shape[axis])
    top = (*shape[:axis], count, *shape[axis + 1:])
    return {"indices": top, "mask": tuple(shapes[0])}.get(attrs["ret_typ"], [top, top])


def _top_dtype(dtypes: list[DType], attrs: Attrs) -> DType | list[DType]:
    places = np.dtype(attrs["dtype"])
    types: dict[str, DType | list[DType]] = {"indices": places, "mask": dtypes[0], "value": [dtypes[0], np.dtype(np.int64)],
                                             "both": [dtypes[0], places]}
    return types[attrs["ret_typ"]]


def _top(k: Kernels, x: Array, axis: int, attrs: Attrs) -> Array | tuple[Array, Array]:
    count, kind = _first(x.shape, axis, attrs), attrs["ret_typ"]
    places = sorted_places(k.xp, x, axis, attrs["is_ascend"])[(slice(None),) * axis + (slice(count),)]
    if kind == "indices":
        return places.astype(attrs["dtype"])
    if kind == "mask":
        out = k.xp.zeros(x.shape, x.dtype)
        k.xp.put_along_axis(out, places, x.dtype.type(1), axis)
        return out
    values = k.xp.take_along_axis(x, places, axis)
    return values, fresh(k.xp, places) if kind == "value" else places.astype(attrs["dtype"])


topk = Op("topk", "data", attrs={"axis": -1, "k": 1, "ret_typ": "indices", "is_ascend": False, "dtype": "float32"},
          shape=_top_shape, dtype=_top_dtype, cost=cost.ordering,
          outputs=lambda attrs: 2 if attrs["ret_typ"] in ("value", "both") else 1,
          visible=lambda attrs: 2 if attrs["ret_typ"] == "both" else 1,
          sample=lambda: [([samples.grid()], {"k": 2, "ret_typ": kind, "axis": axis})
                          for kind in _RETURNS for axis in (-1, 0, None)] + [([samples.grid()], {"k": 3, "is_ascend": True})],
          doc="""The ``k`` largest elements along ``axis``, or the smallest with ``is_ascend=True``; all of them for k=0.

``ret_typ`` is ``"indices"`` (their indices, of element type ``dtype``, float32 by default), ``"value"``, ``"both"`` (a list
of values and indices) or ``"mask"`` (1 for the elements that are among them, else 0).  ``axis=None`` takes the flattened
array.  Equal elements keep their order.  Only values have a gradient.""")


ordering(topk, _top, lambda attrs: attrs["ret_typ"] in ("value", "both"))


def _found_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape = tuple(shapes[0])
    axes = infer.axes_of(attrs["axis"], len(shape))
    if not math.prod(shape[axis] for axis in axes):
        raise ShapeError(f"shape {shape} has nothing along axis {attrs['axis']} to choose from.", hint="reduce other axes.")
    return infer.reduced(shapes, attrs)


def finding(name: str, function: str, doc: str) -> None:
    """Declare argmax or argmin."""
    op = Op(name, "data", attrs={"axis": None, "keepdims": False}, shape=_found_shape, cost=cost.reduction, doc=doc,
            saves=("data",), sample=lambda: [([samples.grid()], {"axis": axis, "keepdims": keep})
                            for axis in (None, 0, -1) for keep in (False, True)])

    @op.forward("default -> default")
    def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
        check_places(x.dtype, x.size if attrs["axis"] is None else x.shape[attrs["axis"]])
        places = getattr(k.xp, function)(x, axis=attrs["axis"])
        return k.xp.asarray(places).astype(x.dtype).reshape(infer.reduced([x.shape], attrs))

    op.gradient(lambda F, g, data, out, attrs, want: F.zeros_like(data))


finding("argmax", "argmax", "Place of the largest element along ``axis``, or in the flattened array; of equal elements the "
        "first.  It comes in the array's own element type, and raises DTypeError if that type cannot hold the place.")
finding("argmin", "argmin", "Place of the smallest element along ``axis``, or in the flattened array; of equal elements the "
        "first.  It comes in the array's own element type, and raises DTypeError if that type cannot hold the place.")

channel = Op("argmax_channel", "data", shape=lambda shapes, attrs: infer.reduced(shapes, {"axis": 1, "keepdims": False}),
             cost=cost.reduction, sample=samples.one(), saves=("data",), doc="Place of the largest element along axis 1.")


@channel.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return k.xp.argmax(x, axis=1).astype(x.dtype).reshape(
        infer.reduced([x.shape], {"axis": 1, "keepdims": False}))


channel.gradient(lambda F, g, data, out, attrs, want: F.zeros_like(data))

cumsum = Op("cumsum", "a", attrs={"axis": None, "dtype": None}, shape=lambda shapes, attrs: _line(shapes[0], attrs)[0],
            cost=cost.elementwise, dtype=lambda dtypes, attrs: np.dtype(attrs["dtype"]) if attrs["dtype"] else dtypes[0],
            sample=lambda: [([samples.grid()], {"axis": axis}) for axis in (None, 0, -1)], saves=("a",), input_rule=first_alike,
            doc="Running sums along ``axis``, or of the flattened array for None.")


@cumsum.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return k.xp.cumsum(x, axis=attrs["axis"], dtype=attrs["dtype"] or x.dtype)


@cumsum.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    axis = _line(tuple(data.shape), attrs)[1]
    summed = F.reverse(F.cumsum(F.reverse(g, axis=axis), axis=axis), axis=axis)
    if attrs["dtype"] not in (None, data.dtype.name):
        summed = F.Cast(summed, dtype=data.dtype.name)
    return F._view(summed, shape=tuple(data.shape))


histogram = Op(
    "_histogram", "data bins?", attrs={"bin_cnt": None, "range": None}, outputs=2, cost=cost.reduction, nondifferentiable=(0,),
    shape=lambda shapes, attrs: [(_bins(shapes, attrs) - 1,), (_bins(shapes, attrs),)],
    dtype=lambda dtypes, attrs: [np.dtype(np.int64), dtypes[0]],
    sample=lambda: [([samples.grid()], {"bin_cnt": 4, "range": (-2.0, 2.0)}),
                    ([samples.grid(), np.array([-2, 0, 1, 3], np.float32)], {})],
    doc="How many elements lie in each bin, and the bins' edges: ``bin_cnt`` equal bins over ``range``, or the edges "
        "``bins``.  The last bin holds its upper edge; what lies outside is not counted.")


def _bins(shapes: list[Shape], attrs: Attrs) -> int:
    if len(shapes) > 1:
        if len(shapes[1]) != 1 or shapes[1][0] < 2:
            raise ShapeError(f"edges of shape {tuple(shapes[1])} make no bins.", hint="give a vector of at least two edges.")
        return int(shapes[1][0])
    if not attrs["bin_cnt"] or attrs["bin_cnt"] < 1 or np.shape(attrs["range"]) != (2,):
        raise ShapeError(f"bin_cnt={attrs['bin_cnt']} and range={attrs['range']} make no bins.",
                         hint="give both, range as two numbers, or the edges as an array.")
    return int(attrs["bin_cnt"]) + 1


@histogram.forward("default, default? -> default...")
def _(k: Kernels, x: Array, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Sequence[Array]:
    *stores, attrs = arguments
    if stores:
        edges = stores[0]
    else:
        low, high = attrs["range"]
        edges = k.xp.linspace(low, high, attrs["bin_cnt"] + 1)
    counts, edges = k.xp.histogram(x[k.xp.isfinite(x)], edges)
    return counts.astype(np.int64), edges.astype(x.dtype)


moments = Op(
    "moments", "data", attrs={"axes": None, "keepdims": False}, outputs=2, cost=cost.each_taken(4),
    shape=lambda shapes, attrs: [infer.reduced(shapes, {"axis": attrs["axes"], "keepdims": attrs["keepdims"]})] * 2,
    sample=lambda: [([samples.grid()], {"axes": axes, "keepdims": keep})
                    for axes in (None, (0,), (1,)) for keep in (False, True)],
    doc="Mean and variance (of the whole population) along ``axes``, all of them for None, which MXNet refuses.")


@moments.forward("default -> default...")
def _(k: Kernels, x: Array, attrs: Attrs) -> Sequence[Array]:
    axes = infer.axes_of(attrs["axes"], x.ndim)
    shape = infer.reduced([x.shape], {"axis": axes, "keepdims": attrs["keepdims"]})
    kind = x.dtype
    if kind.kind != "f":
        x = x.astype(np.float64)  # in which sums of integers do not wrap
    average = x.mean(axis=axes, keepdims=True, dtype=x.dtype).astype(kind, copy=False)
    variance = k.xp.square(x - average).mean(axis=axes, keepdims=True, dtype=x.dtype).astype(kind, copy=False)
    return average.reshape(shape), variance.reshape(shape)


@moments.gradient
def _(F: ArrayFunctions, g: Sequence[ArrayObject | None], data: ArrayObject, out: Sequence[ArrayObject], attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    shape = tuple(data.shape)
    axes = infer.axes_of(attrs["axes"], len(shape))
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    spread = functools.partial(F._spread, kept=kept, shape=shape)
    share = 1.0 / max(1, math.prod(shape[axis] for axis in axes))
    by_mean = None if g[0] is None else spread(g[0], factor=share)
    by_variance = None if g[1] is None else spread(g[1], factor=2 * share) * (data - spread(out[0]))
    if by_mean is None or by_variance is None:
        return by_variance if by_mean is None else by_mean
    return by_mean + by_variance
