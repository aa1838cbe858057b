"""Elements gathered from, and put to, places given by arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import RowIndexError, ShapeError
from ...core import cost, infer
from ...core.op import REQUIRED, Op
from ...kernels import is_numpy
from ...storage.check import on_host
from .. import samples
from ..shape.shape import first_dtype, fresh
from .index import decode
from .positions import CLIP, inside, whole

if TYPE_CHECKING:

    from ...base.types import Array, Attrs, Shape
    from ...kernels.types import ArrayModule, Kernels


def places_of(xp: ArrayModule, indices: Array, sizes: tuple[int, ...], negative: bool = True) -> tuple[Array, ...]:
    """One int64 array for each of the leading axes, all within bounds; negative ones count from the end.

    Raises
    ------
    RowIndexError
        If one is outside.
    """
    if indices.shape[0] > len(sizes):
        raise ShapeError(f"indices must have one row for each of the {len(sizes)} axes, got {indices.shape[0]} rows.",
                         hint="indices has one row per axis.")
    numbers = whole(xp, indices, "The index")
    places = []
    for axis in range(numbers.shape[0]):
        size, place = sizes[axis], numbers[axis]
        outside = (place >= size) | (place < (-size if negative else 0))
        if outside.any():
            raise RowIndexError(f"Index {int(place[outside][0])} is outside axis {axis}, which has {size} entries.",
                                hint=f"indices run from {-size if negative else 0} to {size - 1}.")
        places.append(xp.where(place < 0, place + size, place))
    return tuple(places)


def _places(shape: tuple[int, ...]) -> list[Array]:
    return [np.array([[0, 3, 1], [4, 0, 1]], np.int64) % np.array(shape)[:, None]]


def _gathered(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    data, indices = tuple(shapes[0]), tuple(shapes[1])
    if not indices or indices[0] > len(data):
        raise ShapeError(f"indices of shape {indices} do not index shape {data}.", hint="indices has one row per axis.")
    return (indices[1:] + data[indices[0]:]) or (1,)


gather = Op("gather_nd", "data indices", shape=_gathered, dtype=first_dtype, cost=cost.none, selects=0,
            own_dtype=(1,), nondifferentiable=(1,),
            sample=lambda: [([samples.grid(), *_places((4, 5))], {}),
                            ([samples.grid(), np.array([[0, 3, 0, -1]], np.float32)], {})], saves=("data", "indices"),
            doc="Elements, or sub-arrays, at the places ``indices``, whose first axis runs over the leading axes of "
                "``data``.  Negative places count from the end; one outside raises RowIndexError.")


@gather.forward("default, default -> default")
def _(k: Kernels, x: Array, indices: Array, attrs: Attrs) -> Array:
    chosen: Array = x[places_of(k.xp, indices, x.shape)]
    return chosen.reshape(_gathered([x.shape, indices.shape], attrs))


gather.gradient(lambda F, g, data, indices, out, attrs, want: (
    F._backward_gather_nd(g, indices, shape=tuple(data.shape)), None))


def _scattered(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape, data, indices = tuple(attrs["shape"]), tuple(shapes[0]), tuple(shapes[1])
    if _gathered([shape, indices], attrs) != (data or (1,)):
        raise ShapeError(f"data of shape {data} does not fit indices of shape {indices} and shape {shape}.",
                         hint="data has the shape that gather_nd gives for those indices.")
    return shape


def _scatter_samples() -> samples.Samples:
    return [([samples.grid(1, 3)[0], *_places((4, 5))], {"shape": (4, 5)}),
            ([samples.grid(2, 5), np.array([[0, 3]], np.int64)], {"shape": (4, 5)})]


scatter = Op("scatter_nd", "data indices", attrs={"shape": REQUIRED}, shape=_scattered, dtype=first_dtype, cost=cost.none,
             own_dtype=(1,), nondifferentiable=(1,), sample=_scatter_samples, saves=("data", "indices"),
             doc="Zeros of ``shape`` with ``data`` at the places ``indices``; of values for one place the last stays.  A "
                 "place outside raises RowIndexError, where MXNet writes beyond its memory or drops the value.")
gather_backward = Op("_backward_gather_nd", "data indices", attrs={"shape": REQUIRED}, shape=_scattered, dtype=first_dtype,
                     cost=cost.reduction, nondifferentiable=(1,), sample=_scatter_samples, saves=("data", "indices"),
                     label="the gradient of gather_nd",
                     doc="As ``scatter_nd``, but values for one place are added: the gradient of ``gather_nd``.")


@scatter.forward("default, default -> default")
def _(k: Kernels, x: Array, indices: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(attrs["shape"], x.dtype)
    places = places_of(k.xp, indices, out.shape)
    _put_last(k, out, places, x.reshape(places[0].shape + out.shape[len(places):]))
    return out


def _put_last(k: Kernels, out: Array, places: tuple[Array, ...], values: Array) -> None:
    """``out[places] = values``, in which the last value for a place stays; cupy's assignment keeps any of them."""
    if not is_numpy(k.xp) and values.size:
        flat = k.xp.zeros(places[0].size, np.int64)
        for axis, place in enumerate(places):
            flat = flat * out.shape[axis] + place.reshape(-1)
        _, starts, order = k.group_columns(flat)
        chosen = order[starts[1:].astype(np.int64) - 1].astype(np.int64)
        values = values.reshape(flat.shape[0], *out.shape[len(places):])[chosen]
        places = tuple(place.reshape(-1)[chosen] for place in places)
    out[places] = values


@gather_backward.forward("default, default -> default")
def _(k: Kernels, x: Array, indices: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(attrs["shape"], x.dtype)
    places = places_of(k.xp, indices, out.shape)
    k.xp.add.at(out, places, x.reshape(places[0].shape + out.shape[len(places):]))
    return out


scatter.gradient(lambda F, g, data, indices, out, attrs, want: (
    F._view(F.gather_nd(g, indices), shape=tuple(data.shape)), None))
gather_backward.gradient(lambda F, g, data, indices, out, attrs, want: (
    F._view(F.gather_nd(g, indices), shape=tuple(data.shape)), None))

scatter_set = Op("_scatter_set_nd", "lhs rhs indices", attrs={"shape": None}, dtype=first_dtype, cost=cost.none,
                 nondifferentiable=(2,),
                 shape=lambda shapes, attrs: _scattered(shapes[1:], {"shape": attrs["shape"] or shapes[0]}) and shapes[0],
                 sample=lambda: [([samples.grid(), samples.grid(1, 3, seed=1)[0], *_places((4, 5))], {})],
                 saves=("rhs", "indices"),
                 doc="``lhs`` with ``rhs`` at the places ``indices``; give ``out=lhs`` to change it in place.")


@scatter_set.forward("default, default, default -> default")
def _(k: Kernels, x: Array, values: Array, indices: Array, attrs: Attrs) -> Array:
    out = fresh(k.xp, x)
    places = places_of(k.xp, indices, out.shape)
    _put_last(k, out, places, values.reshape(places[0].shape + out.shape[len(places):]))
    return out


scatter_set.gradient(lambda F, g, lhs, rhs, indices, out, attrs, want: (
    want[0] and F._scatter_set_nd(g, F.zeros_like(rhs), indices, shape=attrs["shape"]),
    want[1] and F._view(F.gather_nd(g, indices), shape=tuple(rhs.shape)), None))


def _rows(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    if len(shapes[0]) != 2 or any(math.prod(shape) != shapes[0][0] for shape in shapes[1:]):
        raise ShapeError(f"shapes {', '.join(map(str, shapes))} do not fit.", hint="give a matrix, and one entry per row.")
    return (int(shapes[0][0]),)


batch_take = Op("batch_take", "a indices", shape=_rows, dtype=first_dtype, cost=cost.none, selects=0,
                own_dtype=(1,), nondifferentiable=(1,),
                sample=lambda: [([samples.grid(), np.array([0, 4, 1, 2], np.int32)], {})], saves=("a", "indices"),
                doc="One element of each row of a matrix: ``a[i, indices[i]]``; places beyond the ends are clipped, with an "
                    "``IndexWarning``; fractions are cut off, and NaN is refused.")


@batch_take.forward("default, default -> default")
def _(k: Kernels, x: Array, indices: Array, attrs: Attrs) -> Array:
    places = inside(k, indices.reshape(-1), x.shape[1], CLIP, "batch_take: the index")
    return x[k.xp.arange(x.shape[0]), places]


batch_take.gradient(lambda F, g, data, indices, out, attrs, want: (
    F._pick_backward(g, F._view(indices, shape=(int(data.shape[0]),)), shape=tuple(data.shape)), None))

fill = Op("fill_element_0index", "lhs mhs rhs", shape=lambda shapes, attrs: _rows(shapes, attrs) and shapes[0],
          dtype=first_dtype, cost=cost.none, nondifferentiable=(2,),
          sample=lambda: [([samples.grid(), samples.grid(1, 4, seed=1)[0], np.array([0, 4, 1, 2], np.float32)], {})],
          saves=("mhs", "rhs"),
          doc="``lhs`` with ``lhs[i, rhs[i]] = mhs[i]`` in each row i; a place outside raises RowIndexError.")


@fill.forward("default, default, default -> default")
def _(k: Kernels, x: Array, values: Array, indices: Array, attrs: Attrs) -> Array:
    out = fresh(k.xp, x)
    places, = places_of(k.xp, indices.reshape(1, -1), x.shape[1:], negative=False)
    out[k.xp.arange(x.shape[0]), places] = values.reshape(-1)
    return out


fill.gradient(lambda F, g, lhs, mhs, rhs, out, attrs, want: (
    want[0] and F.fill_element_0index(g, F.zeros_like(mhs), rhs),
    want[1] and F._view(F.batch_take(g, rhs), shape=tuple(mhs.shape)), None))

one_hot = Op("one_hot", "indices", attrs={"depth": REQUIRED, "on_value": 1.0, "off_value": 0.0, "dtype": "float32"},
             cost=cost.none, dtype=infer.fixed, shape=lambda shapes, attrs: (*shapes[0], int(attrs["depth"])),
             sample=lambda: [([np.array([0.5, 2.25, 7.5, -1.5], np.float32)], {"depth": 4, "on_value": 2.0, "off_value": -1.0})],
             saves=("indices",),
             own_dtype=(0,),
             doc="A vector of ``depth`` values for each index: ``on_value`` at that place, ``off_value`` elsewhere; only "
                 "``off_value`` for an index outside.")


@one_hot.forward("default -> default")
def _(k: Kernels, indices: Array, attrs: Attrs) -> Array:
    out = k.xp.full((indices.size, int(attrs["depth"])), attrs["off_value"], attrs["dtype"])
    flat = whole(k.xp, indices.reshape(-1), "one_hot: the index")
    rows = k.xp.flatnonzero((flat >= 0) & (flat < attrs["depth"]))
    out[rows, flat[rows]] = attrs["on_value"]
    return out.reshape(*indices.shape, int(attrs["depth"]))


one_hot.gradient(lambda F, g, indices, out, attrs, want: F.zeros_like(indices))


def _steps(shape: tuple[int, ...]) -> list[int]:
    """The strides of each axis in the flattened array, in elements."""
    return [math.prod(shape[axis + 1:]) for axis in range(len(shape))]


def _raveled(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    if not shapes[0] or shapes[0][0] != len(attrs["shape"]):
        raise ShapeError(f"indices of shape {tuple(shapes[0])} do not have {len(attrs['shape'])} rows, one per axis.",
                         hint="row i holds the places along axis i.")
    return tuple(shapes[0][1:]) or (1,)


ravel = Op("ravel_multi_index", "data", attrs={"shape": REQUIRED}, shape=_raveled, cost=cost.none,
           aliases=("_ravel_multi_index",), nondifferentiable=(0,),
           sample=lambda: [([np.array([[3, 6, 6], [4, 5, 1]], np.int64)], {"shape": (7, 6)})],
           doc="Places in the flattened array, for places along the axes of ``shape``, one row per axis.")


@ravel.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    steps = k.xp.asarray(_steps(tuple(attrs["shape"])), dtype=np.int64)
    places = k.xp.tensordot(steps, whole(k.xp, x, "ravel_multi_index: the place"), axes=1)
    return k.xp.asarray(places).astype(x.dtype).reshape(_raveled([x.shape], attrs))


unravel = Op("unravel_index", "data", attrs={"shape": REQUIRED}, shape=lambda shapes, attrs: (len(attrs["shape"]), *shapes[0]),
             cost=cost.none, aliases=("_unravel_index",), nondifferentiable=(0,),
             sample=lambda: [([np.array([22, 41, 37], np.int64)], {"shape": (7, 6)})],
             doc="Places along the axes of ``shape``, one row per axis, for places in the flattened array.  The first size "
                 "may be -1.")


@unravel.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    shape, places, rows = tuple(attrs["shape"]), whole(k.xp, x, "unravel_index: the place"), []
    for axis, step in enumerate(_steps(shape)):
        rows.append(places // max(step, 1) if axis == 0 else places // max(step, 1) % max(shape[axis], 1))
    return k.xp.stack(rows).astype(x.dtype)


def _copied(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    old, index, new = (tuple(shape) for shape in shapes)
    if len(index) != 1 or new != (*index, *old[1:]):
        raise ShapeError(f"rows of shape {new} do not replace {index} rows of shape {old}.", hint="give one row per index.")
    return old


index_copy = Op("_contrib_index_copy", "old_tensor index_vector new_tensor", shape=_copied, dtype=first_dtype, cost=cost.none,
                nondifferentiable=(1,),
                sample=lambda: [([samples.grid(), np.array([3, 0], np.int64), samples.grid(2, 5, seed=1)], {})],
                saves=("index_vector", "new_tensor"),
                doc="``old_tensor`` with its rows ``index_vector`` replaced by those of ``new_tensor``; one outside raises "
                    "RowIndexError, where MXNet drops it.")


@index_copy.forward("default, default, default -> default")
def _(k: Kernels, old: Array, index: Array, new: Array, attrs: Attrs) -> Array:
    out = fresh(k.xp, old)
    _put_last(k, out, places_of(k.xp, index.reshape(1, -1), old.shape, negative=False), new)
    return out


index_copy.gradient(lambda F, g, old, index, new, out, attrs, want: (
    want[0] and F._contrib_index_copy(g, index, F.zeros_like(new)), None,
    want[2] and F.gather_nd(g, F._view(index, shape=(1, int(index.shape[0]))))))


def with_places(key: Any, places: Array) -> Any:  # Any: as in decode
    """The numpy index of a key in which ``("array", i)`` stands for the i-th row of ``places``."""
    if isinstance(key, tuple) and len(key) == 2 and key[0] == "array":
        return places[key[1]].astype(np.int64, copy=False)
    if isinstance(key, tuple) and key[:1] != ("slice",):
        return tuple(with_places(part, places) for part in key)
    return decode(key)


def _complete(parts: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:  # Any: parts of any index of numpy's
    """A numpy index with a slice for each axis that it leaves out; an empty ``...`` still parts the arrays around it."""
    spare = (slice(None),) * (ndim - sum(part is not None and part is not Ellipsis for part in parts))
    at = next((place for place, part in enumerate(parts) if part is Ellipsis), len(parts))
    return parts[:at] + (spare or parts[at: at + 1]) + parts[at + 1:]


def _indexed(shape: Shape, places: Array, key: Any) -> tuple[int, ...]:  # Any: as in decode
    """Shape of the result, inferred by numpy without making an array of that size."""
    view = np.broadcast_to(np.int8(0), shape)
    try:
        parts = _complete(with_places(key, places), len(shape))
        if not places.size:
            return tuple(view[parts].shape) or (1,)
        result_shape = view[tuple(slice(0, 0) if isinstance(part, slice) else part for part in parts)].shape
    except IndexError as error:
        raise RowIndexError(f"This index does not fit shape {tuple(shape)}: {error}.",
                            hint="indices run from -size to size - 1, one for each axis.") from None
    axes = [part for part in parts if part is not None and part is not Ellipsis]
    sizes = iter([len(range(*part.indices(size))) for part, size in zip(axes, shape, strict=True) if isinstance(part, slice)])
    return tuple(next(sizes) if size == 0 else size for size in result_shape) or (1,)


def _indexed_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    data, places = tuple(shapes[0]), tuple(shapes[1])
    spare = tuple(max(size, 1) for size in data)  # every index is outside an axis without entries
    result = _indexed(spare, np.broadcast_to(np.int64(0), places), attrs["key"])
    return result if spare == data else _indexed(data, np.zeros((places[0], 0), np.int64), attrs["key"])


index = Op("_index", "data places", attrs={"key": REQUIRED}, shape=_indexed_shape, dtype=first_dtype, cost=cost.none, selects=0,
           nondifferentiable=(1,),
           sample=lambda: [([samples.grid(), np.array([[0, 3, 0]], np.int64)], {"key": (("array", 0),)}),
                           ([samples.grid(), np.array([[0, 3, 0], [1, 1, 4]], np.int64)],
                            {"key": (("array", 0), ("array", 1))}),
                           ([samples.grid(), np.array([[[0, -1], [2, 2]]], np.int64)],
                            {"key": (("slice", 1, None, None), ("array", 0))})], saves=("data", "places"), label="indexing",
           doc="Indexing by arrays, as numpy does it: ``places`` holds the index arrays, broadcast and stacked, and ``key`` "
               "says where among numbers and slices they stand.  A copy.")


@index.forward("default, default -> default")
def _(k: Kernels, x: Array, places: Array, attrs: Attrs) -> Array:
    shape = _indexed(x.shape, on_host(places), attrs["key"])  # checks the bounds, which cupy does not
    try:
        return k.xp.ascontiguousarray(x[with_places(attrs["key"], places)]).reshape(shape)
    except IndexError as error:
        raise RowIndexError(f"This index does not fit shape {tuple(x.shape)}: {error}.",
                            hint="indices run from -size to size - 1.") from None


index.gradient(lambda F, g, data, places, out, attrs, want: (
    F._index_add(g, places, key=attrs["key"], shape=tuple(data.shape)), None))

index_add = Op("_index_add", "data places", attrs={"key": REQUIRED, "shape": REQUIRED},
               shape=lambda shapes, attrs: attrs["shape"], dtype=first_dtype, nondifferentiable=(1,), cost=cost.reduction,
               sample=lambda: [([samples.grid(3, 5), np.array([[0, 3, 0]], np.int64)],
                                {"key": (("array", 0),), "shape": (4, 5)})], saves=("data", "places"),
               doc="Values added into zeros where indexing by arrays took them from: its gradient.")


@index_add.forward("default, default -> default")
def _(k: Kernels, x: Array, places: Array, attrs: Attrs) -> Array:
    out, key = k.xp.zeros(attrs["shape"], x.dtype), with_places(attrs["key"], places)
    k.xp.add.at(out, key, x.reshape(out[key].shape))
    return out


index_add.gradient(lambda F, g, data, places, out, attrs, want: (
    F._view(F._index(g, places, key=attrs["key"]), shape=tuple(data.shape)), None))


def _box(shape: tuple[int, ...], attrs: Attrs) -> tuple[slice, ...]:
    begin, end, step = (tuple(attrs[name] or ()) for name in ("begin", "end", "step"))
    if len(begin) != len(end) or len(begin) > len(shape) or (step and len(step) != len(begin)):
        raise ShapeError(f"begin={begin}, end={end}, step={step} must have one entry for each axis of shape {shape}.",
                         hint="give one entry per axis.")
    return tuple(slice(*part) for part in zip(begin, end, step or (None,) * len(begin), strict=True))


def _assigned(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape = tuple(shapes[0])
    part = np.broadcast_to(np.int8(0), shape)[_box(shape, attrs)].shape
    if len(shapes) > 1 and tuple(shapes[1]) != part:
        raise ShapeError(f"rhs has shape {tuple(shapes[1])}, the part to replace {part}.", hint="they must be equal.")
    return shape


_BOX = {"begin": (0, 1), "end": (3, 5), "step": (2, 2)}
assign = Op("_slice_assign", "lhs rhs", attrs={"begin": REQUIRED, "end": REQUIRED, "step": ()}, shape=_assigned,
            dtype=first_dtype, cost=cost.none, aliases=("_crop_assign",),
            sample=lambda: [([samples.grid(), samples.grid(2, 2, seed=1)], _BOX)], saves=(),
            doc="``lhs`` with the part from ``begin`` to ``end`` replaced by ``rhs``; give ``out=lhs`` to change it in place.")
assign_scalar = Op("_slice_assign_scalar", "data", attrs={"scalar": 0.0, "begin": REQUIRED, "end": REQUIRED, "step": ()},
                   shape=_assigned, cost=cost.none, aliases=("_crop_assign_scalar",),
                   sample=lambda: [([samples.grid()], {**_BOX, "scalar": 3.0})], saves=(), label="slice_assign_scalar",
                   doc="``data`` with the part from ``begin`` to ``end`` set to ``scalar``; give ``out=data`` to change it in "
                       "place.")


@assign.forward("default, default -> default")
def _(k: Kernels, x: Array, values: Array, attrs: Attrs) -> Array:
    out = fresh(k.xp, x)
    out[_box(x.shape, attrs)] = values
    return out


@assign_scalar.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    out = fresh(k.xp, x)
    out[_box(x.shape, attrs)] = attrs["scalar"]
    return out


def _box_attrs(attrs: Attrs) -> Attrs:
    return {name: attrs[name] for name in ("begin", "end", "step")}


def _box_key(attrs: Attrs) -> tuple[tuple[str | int | None, ...], ...]:
    steps = attrs["step"] or (None,) * len(attrs["begin"])
    return tuple(("slice", *part) for part in zip(attrs["begin"], attrs["end"], steps, strict=True))


assign.gradient(lambda F, g, lhs, rhs, out, attrs, want: (
    want[0] and F._slice_assign_scalar(g, **_box_attrs(attrs)), want[1] and F._getitem(g, key=_box_key(attrs))))
assign_scalar.gradient(lambda F, g, data, out, attrs, want: F._slice_assign_scalar(g, **_box_attrs(attrs)))
