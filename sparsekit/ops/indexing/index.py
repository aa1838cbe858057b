"""Picking elements by position."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import RowIndexError, ShapeError, UnknownNameError
from ...core import cost, infer
from ...core.op import REQUIRED, Op
from ...core.partial_shapes import all_alike
from .. import samples
from ..elementwise.scalar import Beyond
from ..elementwise.unary import on_data
from .positions import CLIP, MODES, inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.op import Want
    from ...core.partial_shapes import Partial
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Sparse


def decode(key: Any) -> Any:  # Any: whatever numpy indexes with, as the key spells it
    """The numpy index that a hashable key stands for: slices travel as ``("slice", start, stop, step)``."""
    if isinstance(key, tuple) and len(key) == 4 and key[0] == "slice":
        return slice(*key[1:])
    if key == "...":
        return Ellipsis
    return tuple(decode(part) for part in key) if isinstance(key, tuple) else key


def _shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    try:
        return tuple(np.broadcast_to(np.int8(0), shapes[0])[decode(attrs["key"])].shape) or (1,)
    except IndexError as error:
        raise RowIndexError(f"{decode(attrs['key'])!r} does not index shape {tuple(shapes[0])}: {error}.",
                            hint="indices run from -size to size - 1.") from None


getitem = Op("_getitem", "data", attrs={"key": REQUIRED}, shape=_shape, cost=cost.none, selects=0,
             sample=lambda: [([samples.grid()], {"key": (1, ("slice", None, None, 2))}), ([samples.grid()], {"key": (0, 3)}),
                             ([samples.grid()], {"key": ("...", None, 1)})], saves=("data",), label="indexing",
             doc="Basic indexing of a dense array, by numbers, slices, None and Ellipsis.  What lies in one run of memory "
                 "is a view that writes through, anything else a copy, as in MXNet.")


@getitem.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    view = x[decode(attrs["key"])]
    if view.ndim == 0:
        if not isinstance(view, k.xp.ndarray):  # a number: taken once more as an array, which is a view
            view = x[(*decode(attrs["key"]), ...)] if isinstance(attrs["key"], tuple) else x[decode(attrs["key"]), ...]
        return view.reshape(1)
    return view if view.flags.c_contiguous else k.xp.ascontiguousarray(view)


getitem.gradient(lambda F, g, data, out, attrs, want: F._setitem_zeros(g, key=attrs["key"], shape=tuple(data.shape)))

placed = Op("_setitem_zeros", "data", attrs={"key": None, "shape": None}, cost=cost.none,
            shape=lambda shapes, attrs: attrs["shape"],
            sample=lambda: [([samples.grid()[1, ::2].copy()], {"key": (1, ("slice", None, None, 2)), "shape": (4, 5)})],
            saves=("data",), label="assignment", doc="Values added into an array of zeros at an index: the gradient of indexing.")


@placed.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(attrs["shape"], x.dtype)
    key = decode(attrs["key"])
    out[key] = x.reshape(out[key].shape)
    return out


placed.gradient(lambda F, g, data, out, attrs, want: F._view(F._getitem(g, key=attrs["key"]), shape=tuple(data.shape)))


def _picked_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    result = infer.reduced([shapes[0]], {"axis": attrs["axis"], "keepdims": attrs["keepdims"]})
    if len(shapes) > 1 and attrs["axis"] is not None and math.prod(shapes[1]) != math.prod(result):
        raise ShapeError(f"{math.prod(shapes[1])} indices of shape {tuple(shapes[1])} do not fit shape {tuple(shapes[0])} along "
                         f"axis {attrs['axis']}.", hint="give one index for each slice along the axis.")
    return result


pick = Op("pick", "data index", attrs={"axis": -1, "keepdims": False, "mode": CLIP}, shape=_picked_shape,
          dtype=lambda dtypes, attrs: dtypes[0], cost=cost.none, selects=0, own_dtype=(1,), nondifferentiable=(1,),
          aliases=("choose_element_0index",),
          sample=lambda: [([samples.grid(), np.array([0, 1, 4, 3], np.float32)], {})], saves=("data", "index"),
          doc="One element of each slice along ``axis``, chosen by ``index``; indices beyond the ends are clipped or wrapped. "
              "Fractions are cut off, NaN is refused.  Clipping because ``mode`` is left out gives an ``IndexWarning``.")


def _at(k: Kernels, index: Array, axis: int, shape: tuple[int, ...], mode: str) -> tuple[Array, int]:
    axis %= len(shape)
    size = shape[axis]
    if index.size != math.prod(shape) // max(1, size):
        raise ShapeError(f"pick: {index.size} indices of shape {index.shape} do not fit shape {shape} along axis {axis}.",
                         hint="give one index for each slice along the axis.")
    if mode not in MODES:
        raise UnknownNameError.of("mode of pick", mode, MODES)
    chosen = inside(k, index, size, mode, "pick: the index")
    return chosen.reshape(tuple(1 if at == axis else extent for at, extent in enumerate(shape))), axis


@pick.forward("default, default -> default")
def _(k: Kernels, x: Array, index: Array, attrs: Attrs) -> Array:
    at, axis = _at(k, index, attrs["axis"], x.shape, attrs["mode"])
    picked = k.xp.take_along_axis(x, at, axis)
    return picked if attrs["keepdims"] else picked.reshape(_picked_shape([x.shape], attrs))


pick.gradient(lambda F, g, data, index, out, attrs, want: (
    F._pick_backward(g, index, axis=attrs["axis"], mode=str(attrs["mode"]), shape=tuple(data.shape)), None))

pick_backward = Op("_pick_backward", "data index", attrs={"axis": -1, "mode": "clip", "shape": None}, cost=cost.none,
                   shape=lambda shapes, attrs: attrs["shape"], dtype=lambda dtypes, attrs: dtypes[0], nondifferentiable=(1,),
                   sample=lambda: [([np.ones(4, np.float32), np.array([0, 1, 4, 3], np.float32)], {"shape": (4, 5)})],
                   saves=("index",), doc="Values placed where ``pick`` took them from: its gradient.")


@pick_backward.forward("default, default -> default")
def _(k: Kernels, g: Array, index: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(attrs["shape"], g.dtype)
    at, axis = _at(k, index, attrs["axis"], attrs["shape"], attrs["mode"])
    k.xp.put_along_axis(out, at, g.reshape(at.shape), axis)
    return out


pick_backward.gradient(lambda F, g, data, index, out, attrs, want: (
    F.pick(g, index, axis=attrs["axis"], mode=attrs["mode"]), None))


def _clip_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    low, high = attrs["a_min"], attrs["a_max"]
    if not (isinstance(low, numbers.Real) and isinstance(high, numbers.Real)):
        raise ShapeError(f"clip(a_min={low!r}, a_max={high!r}) needs two numbers.",
                         hint="-float('inf') and float('inf') leave an end open.")
    return shapes[0]


clip = Op("clip", "data", attrs={"a_min": REQUIRED, "a_max": REQUIRED}, shape=_clip_shape,
          sample=lambda: [([samples.grid()], {"a_min": -1.0, "a_max": 1.0})], saves=("data",),
          doc="Values bounded to a_min … a_max.")


def _bounded(xp: ArrayModule, x: Array, attrs: Attrs) -> Array:
    """The values within the bounds, which are first brought within what an integer type holds."""
    low, high = attrs["a_min"], attrs["a_max"]
    if x.dtype.kind != "f":
        least, most = (0, 1) if x.dtype.kind == "b" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
        low, high = (min(max(bound, least), most) for bound in (low, high))
    return xp.clip(x, x.dtype.type(low), x.dtype.type(high))


@clip.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return _bounded(k.xp, x, attrs)


for _stype in ("row_sparse", "csr"):
    @clip.forward(f"{_stype} -> {_stype}", a_min=Beyond("not positive"), a_max=Beyond("not negative"))
    def _(k: Kernels, x: Sparse, attrs: Attrs) -> Sparse:
        return on_data(x, _bounded(k.xp, x.data, attrs))


@clip.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    return g * (F._greater_equal_scalar(data, scalar=attrs["a_min"]) * F._lesser_equal_scalar(data, scalar=attrs["a_max"]))


def _chosen_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    return [shapes[0], *all_alike(shapes[1:], out, attrs)]


where = Op("where", "condition x y", nondifferentiable=(0,), cost=cost.elementwise, joined=slice(1, 3), own_dtype=(0,),
           input_rule=_chosen_inputs, dtype=lambda dtypes, attrs: infer.same(dtypes[1:], attrs),
           shape=lambda shapes, attrs: _chosen(shapes, attrs),
           sample=lambda: [([samples.grid(), samples.grid(seed=1), samples.grid(seed=2)], {}),
                           ([samples.grid()[:, 1], samples.grid(seed=1), samples.grid(seed=2)], {})], saves=("condition",),
           doc="``x`` where the condition is nonzero, else ``y``, all of one shape; a condition of one axis chooses rows.")


def _chosen(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    condition, shape = tuple(shapes[0]), infer.same_shape(shapes[1:], attrs)
    if condition not in (tuple(shape), tuple(shape)[:1]):
        raise ShapeError(f"a condition of shape {condition} does not choose between arrays of shape {tuple(shape)}.",
                         hint="give it their shape, or one entry per row.")
    return shape


@where.forward("default, default, default -> default")
def chosen(k: Kernels, condition: Array, x: Array, y: Array, attrs: Attrs) -> Array:
    """The elements or rows of one of two dense arrays, as a dense condition says."""
    condition = condition != 0
    if condition.ndim < x.ndim:
        condition = condition.reshape(condition.shape + (1,) * (x.ndim - condition.ndim))
    return k.xp.where(condition, x, y)


where.gradient(lambda F, g, condition, x, y, out, attrs, want: (
    None, want[1] and F.where(condition, g, F.zeros_like(g)), want[2] and F.where(condition, F.zeros_like(g), g)))
