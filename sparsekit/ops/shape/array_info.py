"""Properties of an array as arrays: its shape, its indices, whether it is finite or close to another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ShapeError
from ...core import cost, infer
from ...core.op import REQUIRED, SHAPE_ONLY, Op
from .. import samples
from .shape import one_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Arriving, Gradients
    from ...kernels.types import Kernels
    from ...storage.types import Store


def _int64(dtypes: list[DType], attrs: Attrs) -> DType:
    return np.dtype(np.int64)


def _zero_gradient(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
                   want: Sequence[Want | None]) -> Gradients:
    return F.zeros_like(data)


shape_array = Op("shape_array", "data", shape=lambda shapes, attrs: (len(shapes[0]),), dtype=_int64, cost=cost.none,
                 sample=samples.one(), saves=("data",), doc="The sizes of the axes, as an int64 array.")
shape_array.forward("* -> default", asked=SHAPE_ONLY)(lambda k, x, attrs: k.xp.asarray(x.shape, dtype=np.int64))
shape_array.gradient(_zero_gradient)

size_array = Op("size_array", "data", shape=lambda shapes, attrs: (1,), dtype=_int64, cost=cost.none, sample=samples.one(),
                saves=("data",), doc="The number of elements, as an int64 array of one; absent zeros are counted.")
size_array.forward("* -> default", asked=SHAPE_ONLY)(lambda k, x, attrs: k.xp.asarray([math.prod(x.shape)], dtype=np.int64))
size_array.gradient(_zero_gradient)


def count_of(start: float, stop: float, step: float) -> int:
    """The number of steps from start up to, not including, stop."""
    return max(0, math.ceil((stop - start) / step))


def _along(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    if attrs["axis"] is None:
        return tuple(shapes[0])
    return (int(shapes[0][one_axis(attrs["axis"], len(shapes[0]))]),)


arange_like = Op("_contrib_arange_like", "data", attrs={"start": 0.0, "step": 1.0, "repeat": 1, "ctx": None, "axis": None},
                 shape=_along, cost=cost.none,
                 sample=lambda: [([samples.grid()], {"start": 1.0, "step": 0.5}), ([samples.grid()], {"axis": 1, "repeat": 2})],
                 saves=("data",),
                 doc="Evenly spaced values, each ``repeat`` times, of the array's shape, or as many as ``axis`` is long.")


@arange_like.forward("* -> default", asked=SHAPE_ONLY)
def _(k: Kernels, x: Store, attrs: Attrs) -> Array:
    shape = _along([x.shape], attrs)
    count = math.prod(shape)
    steps = k.xp.repeat(k.xp.arange(-(-count // attrs["repeat"])), attrs["repeat"])[:count]
    values: Array = attrs["start"] + attrs["step"] * steps
    return values.astype(x.dtype).reshape(shape)


arange_like.gradient(_zero_gradient)


def _indexed(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    axes = attrs["axes"]
    return (*shapes[0], len(shapes[0]) if axes is None else len(_named(axes, len(shapes[0]))))


def _named(axes: int | Sequence[int], ndim: int) -> list[int]:
    return [one_axis(axis, ndim) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))]


index_array = Op("_contrib_index_array", "data", attrs={"axes": None}, shape=_indexed, dtype=_int64, cost=cost.none,
                 nondifferentiable=(0,), sample=lambda: [([samples.grid()], {}), ([samples.grid()], {"axes": (1,)})],
                 doc="For each element its place along every axis, or those named: an int64 array with one axis more.")


@index_array.forward("* -> default", asked=SHAPE_ONLY)
def _(k: Kernels, x: Store, attrs: Attrs) -> Array:
    places = k.xp.indices(x.shape, dtype=np.int64)
    chosen = places if attrs["axes"] is None else places[_named(attrs["axes"], len(x.shape))]
    return k.xp.ascontiguousarray(k.xp.moveaxis(chosen, 0, -1))


allclose = Op("_contrib_allclose", "a b", attrs={"rtol": 1e-5, "atol": 1e-8, "equal_nan": True}, cost=cost.each_taken(5),
              shape=lambda shapes, attrs: (infer.same_shape(shapes, attrs) and ()) or (),
              dtype=lambda dtypes, attrs: np.dtype(np.uint8), sample=samples.pair(), nondifferentiable=(0, 1),
              doc="1 if everywhere ``|a - b| <= atol + rtol |b|``, else 0: a uint8 array without axes.")


@allclose.forward("default, default -> default")
def _(k: Kernels, a: Array, b: Array, attrs: Attrs) -> Array:
    return k.xp.asarray(k.xp.allclose(a, b, attrs["rtol"], attrs["atol"], attrs["equal_nan"]), dtype=np.uint8)


amp_cast = Op("amp_cast", "data", attrs={"dtype": REQUIRED}, shape=infer.unchanged, cost=cost.none,
              sample=lambda: [([samples.grid()], {"dtype": "float64"})],
              dtype=lambda dtypes, attrs: np.dtype(attrs["dtype"]) if dtypes[0].kind == "f" else dtypes[0], saves=("data",),
              doc="The values in another float type; integers stay as they are.")


@amp_cast.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return x.astype(attrs["dtype"] if x.dtype.kind == "f" else x.dtype)


amp_cast.gradient(lambda F, g, data, out, attrs, want: F.Cast(g, dtype=data.dtype.name))


def _common(dtypes: list[DType], attrs: Attrs) -> DType | list[DType]:
    floats = sorted((dtype for dtype in dtypes if dtype.kind == "f"), key=lambda dtype: dtype.itemsize)
    common = [floats[0 if attrs["cast_narrow"] else -1] if dtype.kind == "f" else dtype for dtype in dtypes]
    return common if len(common) > 1 else common[0]


multicast = Op("amp_multicast", "*data", attrs={"num_outputs": REQUIRED, "cast_narrow": False}, dtype=_common, cost=cost.none,
               outputs=lambda attrs: attrs["num_outputs"],
               sample=lambda: [([samples.grid(), samples.grid(seed=1)], {"num_outputs": 2})],
               shape=lambda shapes, attrs: _as_many(shapes, attrs), saves=("data",),
               doc="The arrays in the widest of their float types, or the narrowest; integers stay as they are.")


def _as_many(shapes: list[Shape], attrs: Attrs) -> Shape | list[Shape]:
    if len(shapes) != attrs["num_outputs"]:
        raise ShapeError(f"num_outputs must be the number of arrays, {len(shapes)}, got {attrs['num_outputs']}.",
                         hint="they must be equal.")
    return list(shapes) if len(shapes) > 1 else shapes[0]


@multicast.forward("default... -> default...")
def _(k: Kernels, *stores: *tuple[*tuple[Array, ...], Attrs]) -> Array | Sequence[Array]:
    arrays, attrs = stores[:-1], stores[-1]
    dtypes = _common([x.dtype for x in arrays], attrs)
    parts = tuple([x.astype(dtype) for x, dtype in zip(arrays, dtypes if isinstance(dtypes, list) else [dtypes], strict=True)])
    return parts if len(parts) > 1 else parts[0]


@multicast.gradient
def _(F: ArrayFunctions, g: Arriving, data: Sequence[ArrayObject], out: ArrayObject | Sequence[ArrayObject] | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    gradients = g if isinstance(g, tuple) else (g,)
    return [F.zeros_like(x) if part is None else F.Cast(part, dtype=x.dtype.name)
            for x, part in zip(data, gradients, strict=True)]
