"""Sums, means, extrema and norms along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ShapeError
from ...core import cost, infer
from ...core.op import Op, joining
from .. import samples
from ..elementwise.binary import divide
from ..limits import check_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Store

#: All axes of an array, by their number; numpy's arrays have at most 64.
ALL_AXES = [tuple(range(count)) for count in range(65)]


def _samples() -> samples.Samples:
    return [([samples.grid()], {"axis": axis, "keepdims": keep}) for axis in (None, 0, 1) for keep in (False, True)] + [
        ([samples.grid()], {"axis": axis}) for axis in (-1, (0, 1), ())]


def axes_in(x: ArrayObject | Store, attrs: Attrs) -> tuple[int, ...]:
    """The axes that are reduced, ascending."""
    axes = infer.axes_of(attrs["axis"], len(x.shape))
    others = attrs.get("exclude") and attrs["axis"] not in (None, ())  # without axes, everything is reduced either way
    return tuple(axis for axis in range(len(x.shape)) if axis not in axes) if others else axes


def reduction(name: str, function: Callable[..., Array], gradient: Callable[..., Gradients], doc: str,
              aliases: tuple[str, ...] = (), *, saves: tuple[str, ...] = ("data",),
              shape: Callable[[list[Shape], Attrs], Shape] = infer.reduced,
              whole: Callable[[Kernels, Array], Array] | None = None) -> Op:
    """Declare a reduction: ``function(xp, x, axes, keepdims)``; reducing everything gives shape (1,), as ``whole(k, x)`` does."""
    op = Op(name, "data", attrs={"axis": None, "keepdims": False, "exclude": False}, shape=shape, sample=_samples, doc=doc,
            cost=cost.reduction, aliases=aliases, saves=saves)

    @op.forward("default -> default")
    def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
        if attrs["axis"] is None and not attrs["keepdims"] and whole is not None:
            return whole(k, x)
        axes = ALL_AXES[x.ndim] if attrs["axis"] is None else axes_in(x, attrs)
        if len(axes) < x.ndim or attrs["keepdims"]:
            return function(k.xp, x, axes, attrs["keepdims"])
        # With its axes kept, numpy gives an array; to make one of a scalar takes longer.
        return function(k.xp, x, axes, True).reshape(1)

    op.gradient(gradient)
    return op


def _spread(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, attrs: Attrs, factor: float = 1.0) -> ArrayObject:
    """Broadcast each reduced gradient back to the elements that were reduced."""
    check_gradient("a reduction", data)
    axes = axes_in(data, attrs)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(data.shape))
    return F._spread(g, kept=kept, shape=tuple(data.shape), factor=factor)


def _reduced_count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod([shape[axis] for axis in axes])


def _sum_gradient(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
                  want: Sequence[Want | None]) -> Gradients:
    return _spread(F, g, data, attrs)


def _mean_gradient(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
                   want: Sequence[Want | None]) -> Gradients:
    return _spread(F, g, data, attrs, 1.0 / max(1, _reduced_count(data.shape, axes_in(data, attrs))))


def _extreme_gradient(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject, attrs: Attrs,
                      want: Sequence[Want | None]) -> Gradients:
    return _spread(F, g, data, attrs) * F.broadcast_equal(data, _spread(F, out, data, attrs))


def _norm_gradient(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject, attrs: Attrs,
                   want: Sequence[Want | None]) -> Gradients:
    if attrs["out_dtype"] is not None:
        g, out = F.Cast(g, dtype=data.dtype.name), F.Cast(out, dtype=data.dtype.name)
    if attrs["ord"] == 1:
        return _spread(F, g, data, attrs) * F.sign(data)
    least = float(np.finfo(data.dtype).smallest_subnormal) if data.dtype.kind == "f" else 1
    return _spread(F, g, data, attrs) * data / F.broadcast_maximum(_spread(F, out, data, attrs), F.ones_like(data) * least)


def _sum(xp: ArrayModule, x: Array, axes: Shape, keep: bool) -> Array:
    return xp.add.reduce(x, axis=axes, keepdims=keep, dtype=x.dtype)


def _sum_all(k: Kernels, x: Array) -> Array:
    """The sum of all elements; (1,)."""
    total = None if k.sum_few is None else k.sum_few(x)
    return _sum(k.xp, x, ALL_AXES[x.ndim], True).reshape(1) if total is None else total


def _without_nan(xp: ArrayModule, x: Array, value: int) -> Array:
    return xp.where(x == x, x, x.dtype.type(value))


def addable(xp: ArrayModule, x: Array) -> Array:
    """Integers as int64, or as float64 where int64 may not hold their sum; anything else as it is."""
    if x.dtype.kind not in "iu":
        return x
    if x.dtype.itemsize == 8 and x.size and max(int(x.max()), -int(x.min())) * x.size > np.iinfo(np.int64).max:
        return x.astype(np.float64)
    return x.astype(np.int64, copy=False)


def _mean(xp: ArrayModule, x: Array, axes: Shape, keep: bool) -> Array:
    total = xp.asarray(_sum(xp, addable(xp, x), axes, keep))
    return mean_of(xp, total, _reduced_count(x.shape, axes), x.dtype)


def mean_of(xp: ArrayModule, total: Array, count: int, dtype: DType) -> Array:
    """The sum of ``count`` elements divided by that, in the elements' type; a bool is whether any is true, as in MXNet."""
    if total.dtype.kind == "b":
        return total
    if total.dtype.kind == "f":
        mean: Array = total / total.dtype.type(count)
        return mean if dtype.kind == "f" else xp.clip(mean, -(2.0**63), np.nextafter(2.0**63, 0)).astype(dtype)
    return divide(xp, total, xp.asarray(max(1, count))).astype(dtype, copy=False)


reduction("sum", _sum, _sum_gradient, "Sum of the elements along ``axis``, or of all.", ("sum_axis",), whole=_sum_all)
reduction("mean", _mean, _mean_gradient, """Mean of the elements along ``axis``, or of all.

Integers are summed in 64 bits, and the mean is truncated to the element type.  MXNet sums them in their own type, in which the
sum may overflow.""", whole=lambda k, x: mean_of(k.xp, _sum_all(k, addable(k.xp, x)), x.size, x.dtype))
reduction("prod", lambda xp, x, axes, keep: xp.prod(x, axis=axes, keepdims=keep, dtype=x.dtype),
          lambda F, g, data, out, attrs, want: _spread(F, g, data, attrs) * F._others(data, axes=axes_in(data, attrs)),
          "Product of the elements along ``axis``, or of all.")
reduction("nansum", lambda xp, x, axes, keep: _sum(xp, _without_nan(xp, x, 0), axes, keep),
          lambda F, g, data, out, attrs, want: _spread(F, g, data, attrs) * F.broadcast_equal(data, data),
          "Sum of the elements along ``axis``, or of all; nan counts as 0.")
reduction("nanprod", lambda xp, x, axes, keep: xp.prod(_without_nan(xp, x, 1), axis=axes, keepdims=keep, dtype=x.dtype),
          lambda F, g, data, out, attrs, want: _spread(F, g, data, attrs) * F.broadcast_equal(data, data) * F._others(
              F.where(F.broadcast_equal(data, data), data, F.ones_like(data)), axes=axes_in(data, attrs)),
          "Product of the elements along ``axis``, or of all; nan counts as 1.")


def _something(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    """The reduced shape; raise if there are no elements."""
    reduced = infer.reduced(shapes, attrs)
    if 0 in shapes[0] and 0 not in reduced:
        raise ShapeError(f"shape {tuple(shapes[0])} has no element to choose along axis {attrs['axis']}.",
                         hint="reduce axes that have entries.")
    return reduced


# Methods of arrays: numpy's functions of these names take a microsecond more.
reduction("max", lambda xp, x, axes, keep: x.max(axis=axes, keepdims=keep), _extreme_gradient,
          "Largest element along ``axis``, or of all; nan if there is one.  Equal ones all get the gradient.",
          ("max_axis",), saves=("data", "out"), shape=_something)
reduction("min", lambda xp, x, axes, keep: x.min(axis=axes, keepdims=keep), _extreme_gradient,
          "Smallest element along ``axis``, or of all; nan if there is one.  Equal ones all get the gradient.",
          ("min_axis",), saves=("data", "out"), shape=_something)

others = Op("_others", "data", attrs={"axes": ()}, shape=infer.unchanged, cost=cost.reduction,
            sample=lambda: [([samples.grid()], {"axes": axes}) for axes in ((0,), (1,), (0, 1))], saves=("data",),
            doc="For each element the product of all others along ``axes``: the gradient of a product, right at zeros too.")


def _lines(x: Array, axes: tuple[int, ...]) -> tuple[Array, Callable[[Array], Array]]:
    """The reduced elements as the rows of a matrix, and the function that reverses this."""
    order = (*(axis for axis in range(x.ndim) if axis not in axes), *axes)
    turned = x.transpose(order)
    flat = turned.reshape(math.prod(turned.shape[: x.ndim - len(axes)]), -1)
    return flat, lambda lines: lines.reshape(turned.shape).transpose(tuple(np.argsort(order).tolist())).copy()


@others.forward("default -> default")
def product_of_others(k: Kernels, x: Array, attrs: Attrs) -> Array:
    """For each element the product of all others along the axes."""
    flat, back = _lines(x, attrs["axes"])
    before, after = k.xp.ones_like(flat), k.xp.ones_like(flat)
    k.xp.cumprod(flat[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = k.xp.cumprod(flat[:, :0:-1], axis=1)[:, ::-1]
    return back(before * after)


others.gradient(lambda F, g, data, out, attrs, want: F._others_along(data, g, axes=attrs["axes"]))

others_along = Op(
    "_others_along", "data direction", attrs={"axes": ()}, shape=infer.same_shape, cost=cost.reduction,
    sample=lambda: [([samples.grid(), samples.grid(seed=1)], {"axes": axes}) for axes in ((0,), (1,), (0, 1))],
    gradient_hint="take third derivatives of a product written out as multiplications",
    doc="How the products of all others change along a direction: the second derivative of a product, right at zeros too.")


def _before(xp: ArrayModule, values: Array, slopes: Array) -> tuple[Array, Array]:
    """Products of all values before each place of a row, and how they change; by doubling, since zeros forbid to divide."""
    product, slope = xp.ones_like(values), xp.zeros_like(values)
    product[:, 1:], slope[:, 1:] = values[:, :-1], slopes[:, :-1]
    reach = 1
    while reach < values.shape[1]:
        left, right = (product[:, :-reach], slope[:, :-reach]), (product[:, reach:], slope[:, reach:])
        joined = left[0] * right[0], left[1] * right[0] + left[0] * right[1]
        product[:, reach:], slope[:, reach:] = joined
        reach *= 2
    return product, slope


@others_along.forward("default, default -> default")
@joining
def _(k: Kernels, x: Array, direction: Array, attrs: Attrs) -> Array:
    flat, back = _lines(x, attrs["axes"])
    slopes, _ = _lines(direction, attrs["axes"])
    before, rising = _before(k.xp, flat, slopes)
    after, falling = (part[:, ::-1] for part in _before(k.xp, flat[:, ::-1], slopes[:, ::-1]))
    return back(rising * after + before * falling)


def _norm_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    if attrs["ord"] not in (1, 2):
        raise ShapeError(f"ord must be 1 or 2, got {attrs['ord']!r}.", hint="ord=2 is the default.")
    return infer.reduced(shapes, attrs)


norm = Op("norm", "data", attrs={"ord": 2, "axis": None, "out_dtype": None, "keepdims": False}, shape=_norm_shape,
          cost=cost.each_taken(2), dtype=lambda dtypes, attrs: np.dtype(attrs["out_dtype"] or dtypes[0]),
          sample=lambda: _samples() + [([samples.grid()], {"ord": 1, "axis": axis}) for axis in (None, 1)] + [
              ([samples.grid()], {"out_dtype": "float64"})],
          doc="The 1-norm or 2-norm of the elements along ``axis``, or of all, in the element type ``out_dtype``.")


def squares(xp: ArrayModule, values: Array) -> Array:
    """The squares in float64, where those of other types neither overflow nor vanish."""
    return xp.square(values, dtype=np.float64)


def _norm(xp: ArrayModule, values: Array, axes: Shape, attrs: Attrs) -> Array:
    if attrs["ord"] == 1:
        return xp.sum(xp.abs(values), axis=axes, keepdims=attrs["keepdims"], dtype=values.dtype)
    return xp.sqrt(xp.sum(squares(xp, values), axis=axes, keepdims=attrs["keepdims"]))


@norm.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    target = np.dtype(attrs["out_dtype"] or x.dtype)
    exact = x if x.dtype == target or target.kind != "f" else x.astype(target)
    norms = k.xp.asarray(_norm(k.xp, exact, axes_in(x, attrs), attrs)).astype(target, copy=False)
    return norms.reshape(1) if norms.ndim == 0 else norms


norm.gradient(_norm_gradient)


spread = Op("_spread", "data", attrs={"kept": None, "shape": None, "factor": 1.0}, cost=cost.none,
            sample=lambda: [([samples.grid()[:, :1]], {"kept": (4, 1), "shape": (4, 5)})], saves=("data",),
            doc="Broadcast a reduced array back, times a factor: the gradient of a sum.",
            shape=lambda shapes, attrs: attrs["shape"])


@spread.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    out = k.xp.empty(attrs["shape"], x.dtype)
    out[...] = x.reshape(attrs["kept"]) if attrs["factor"] == 1.0 else x.reshape(attrs["kept"]) * x.dtype.type(attrs["factor"])
    return out


@spread.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    summed = F._sum_to(g, shape=attrs["kept"]) * attrs["factor"]
    return F._view(summed, shape=tuple(data.shape))


sum_to = Op("_sum_to", "data", attrs={"shape": None}, shape=lambda shapes, attrs: attrs["shape"], cost=cost.reduction,
            sample=lambda: [([samples.grid()], {"shape": (1, 5)})], saves=("data",),
            doc="Sum over whatever was broadcast, down to a shape: the gradient of broadcasting.")


@sum_to.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    shape = attrs["shape"]
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        axis + lead for axis, size in enumerate(shape) if size == 1 and x.shape[axis + lead] != 1)
    summed = k.xp.add.reduce(x, axis=axes, keepdims=lead == 0, dtype=x.dtype)
    return summed if shape and summed.shape == shape else summed.reshape(shape)


@sum_to.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    shape = attrs["shape"]
    kept = (1,) * (len(data.shape) - len(shape)) + tuple(shape)
    return F._spread(g, kept=kept, shape=tuple(data.shape))
