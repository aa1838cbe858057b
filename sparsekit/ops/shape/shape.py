"""Axes swapped, dropped, turned and broadcast; diagonals; blocks of space and depth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ShapeError
from ...core import cost, infer
from ...core.op import REQUIRED, SHAPE_ONLY, Op
from ...core.partial_shapes import first_alike
from .. import samples

if TYPE_CHECKING:
    from ...base.types import Array, Attrs, DType, Shape
    from ...core.partial_shapes import Partial
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Store


def first_dtype(dtypes: list[DType], attrs: Attrs) -> DType:
    """The first input's element type; the others are indices, lengths or only lend their shape."""
    return dtypes[0]


def fresh(xp: ArrayModule, array: Array) -> Array:
    """A C-contiguous copy: results of functions share no memory with their inputs."""
    return xp.array(array, order="C")


def one_axis(axis: int, ndim: int) -> int:
    """An axis as a number from 0 to ndim - 1."""
    return infer.axes_of(int(axis), ndim)[0]


def _viewed(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape = tuple(attrs["shape"])
    if math.prod(shape) != math.prod(shapes[0]):
        raise ShapeError(f"{math.prod(shapes[0])} elements of shape {tuple(shapes[0])} do not make the shape {shape}.",
                         hint="both shapes must hold the same number of elements.")
    return shape


view = Op("_view", "data", attrs={"shape": REQUIRED}, shape=_viewed, cost=cost.none,
          sample=lambda: [([samples.grid()], {"shape": (2, 10)})], saves=("data",), label="reshape",
          doc="The same elements in exactly this shape, sharing memory: ``NDArray.reshape``, and the gradient of reshaping.")


@view.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return x.reshape(attrs["shape"])


view.gradient(lambda F, g, data, out, attrs, want: F._view(g, shape=tuple(data.shape)))


def _swapped(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    first, second = (one_axis(attrs[name], len(shapes[0])) for name in ("dim1", "dim2"))
    sizes = list(shapes[0])
    sizes[first], sizes[second] = sizes[second], sizes[first]
    return tuple(sizes)


def _swapped_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    if out is None:
        return shapes
    swapped = list(out)
    first, second = attrs["dim1"] % len(out), attrs["dim2"] % len(out)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    return [tuple(swapped)]


swap = Op("SwapAxis", "data", attrs={"dim1": 0, "dim2": 0}, shape=_swapped, cost=cost.none, aliases=("swapaxes",),
          sample=lambda: [([samples.grid()], {"dim1": 0, "dim2": -1}), ([samples.grid()], {})], saves=(),
          input_rule=_swapped_inputs,
          doc="Two axes interchanged; a copy.")


@swap.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return fresh(k.xp, x.swapaxes(attrs["dim1"], attrs["dim2"]))


swap.gradient(lambda F, g, data, out, attrs, want: F.SwapAxis(g, dim1=attrs["dim1"], dim2=attrs["dim2"]))


def _squeezed(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape = tuple(shapes[0])
    if attrs["axis"] is None:
        return tuple(size for size in shape if size != 1) or (1,)
    axes = infer.axes_of(attrs["axis"], len(shape))
    for axis in axes:
        if shape[axis] != 1:
            raise ShapeError(f"axis {axis} of shape {shape} has size {shape[axis]}, not 1.", hint="only axes of size 1 drop.")
    return tuple(size for axis, size in enumerate(shape) if axis not in axes) or (1,)


squeeze = Op("squeeze", "data", attrs={"axis": None}, shape=_squeezed, cost=cost.none,
             sample=lambda: [([samples.grid()[:1]], {}), ([samples.grid()[:, :1]], {"axis": (1,)})], saves=("data",),
             doc="Axes of size 1 dropped: all of them, or those named, which must have size 1.  At least one axis stays.")


@squeeze.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return fresh(k.xp, x).reshape(_squeezed([x.shape], attrs))


squeeze.gradient(lambda F, g, data, out, attrs, want: F._view(g, shape=tuple(data.shape)))


def _same_if_axes(shapes: list[Shape], attrs: Attrs) -> Shape:
    infer.axes_of(attrs["axis"], len(shapes[0]))
    return shapes[0]


flip = Op("reverse", "data", attrs={"axis": REQUIRED}, shape=_same_if_axes, cost=cost.none, aliases=("flip",),
          sample=lambda: [([samples.grid()], {"axis": axis}) for axis in (0, (0, 1))], saves=(), input_rule=first_alike,
          doc="The order of elements reversed along one or several axes.")


@flip.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return fresh(k.xp, k.xp.flip(x, infer.axes_of(attrs["axis"], x.ndim)))


flip.gradient(lambda F, g, data, out, attrs, want: F.reverse(g, axis=attrs["axis"]))


def _broadcast_to(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The broadcast shape; 0 keeps a size, and missing leading axes are added."""
    if len(wanted) < len(shape):
        raise ShapeError(f"shape {shape} does not broadcast to the fewer axes of {wanted}.", hint="reduce it instead.")
    padded = (1,) * (len(wanted) - len(shape)) + shape
    out = tuple(size if target == 0 else int(target) for size, target in zip(padded, wanted, strict=True))
    if any(size not in (1, target) for size, target in zip(padded, out, strict=True)):
        raise ShapeError(f"shape {shape} does not broadcast to {wanted}.", hint="only sizes of 1 grow; 0 keeps a size.")
    return out


def spreading(op: Op) -> None:
    """Declare the kernel and the gradient of an operator that broadcasts its first input to its result's shape."""

    def kernel(k: Kernels, x: Array, *arguments: *tuple[*tuple[Store, ...], Attrs]) -> Array:
        *others, attrs = arguments
        return fresh(k.xp, k.xp.broadcast_to(x, op.shape([x.shape, *[other.shape for other in others]], attrs)))

    if len(op.inputs) == 1:
        op.forward("default -> default")(lambda k, x, attrs: kernel(k, x, attrs))
        op.gradient(lambda F, g, data, out, attrs, want: F._sum_to(g, shape=tuple(data.shape)))
    else:
        op.forward("default, * -> default", asked=SHAPE_ONLY)(lambda k, x, like, attrs: kernel(k, x, like, attrs))
        op.gradient(lambda F, g, data, like, out, attrs, want: (F._sum_to(g, shape=tuple(data.shape)), None))


broadcast_to = Op("broadcast_to", "data", attrs={"shape": ()}, cost=cost.none,
                  shape=lambda shapes, attrs: _broadcast_to(tuple(shapes[0]), _tuple(attrs["shape"])),
                  sample=lambda: [([samples.grid()[:1]], {"shape": (3, 0)}), ([samples.grid()[0]], {"shape": (3, 5)})],
                  saves=("data",),
                  doc="Axes of size 1 repeated up to ``shape``, where 0 keeps a size.  Missing leading axes are added, "
                      "which MXNet's operator refuses and its method does.")
spreading(broadcast_to)


def _tuple(value: int | list[int] | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _along_axes(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape, axes, sizes = list(shapes[0]), _tuple(attrs["axis"]), _tuple(attrs["size"])
    if len(axes) != len(sizes):
        raise ShapeError(f"{len(axes)} axes and {len(sizes)} sizes were given.", hint="give one size per axis.")
    for axis, size in zip(axes, sizes, strict=True):
        place = one_axis(axis, len(shape))
        if shape[place] != 1:
            raise ShapeError(f"axis {axis} of shape {tuple(shapes[0])} has size {shape[place]}, not 1.",
                             hint="only axes of size 1 grow.")
        shape[place] = int(size)
    return tuple(shape)


spreading(Op("broadcast_axis", "data", attrs={"axis": (), "size": ()}, shape=_along_axes, cost=cost.none,
             aliases=("broadcast_axes",), sample=lambda: [([samples.grid()[:1]], {"axis": 0, "size": 3})], saves=("data",),
             doc="Axes of size 1 repeated to the sizes given."))


def _like(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    left, right = tuple(shapes[0]), tuple(shapes[1])
    if attrs["lhs_axes"] is None and attrs["rhs_axes"] is None:
        if len(left) != len(right):
            raise ShapeError(f"shapes {left} and {right} have different numbers of axes.", hint="name lhs_axes and rhs_axes.")
        return _broadcast_to(left, right)
    ours, theirs = ((() if attrs[name] is None else _tuple(attrs[name])) for name in ("lhs_axes", "rhs_axes"))
    if len(ours) != len(theirs) or not ours:
        raise ShapeError(f"lhs_axes={ours} and rhs_axes={theirs} must have equal lengths.",
                         hint="each axis of one is paired with one of the other.")
    wanted = list(left)
    for axis, other in zip(ours, theirs, strict=True):
        wanted[one_axis(axis, len(left))] = right[one_axis(other, len(right))]
    return _broadcast_to(left, tuple(wanted))


spreading(Op("broadcast_like", "lhs rhs", attrs={"lhs_axes": None, "rhs_axes": None}, shape=_like, dtype=first_dtype,
             cost=cost.none, nondifferentiable=(1,),
             sample=lambda: [([samples.grid()[:1], samples.grid(seed=1)], {}),
                             ([samples.grid()[:, :1], samples.grid(seed=1)], {"lhs_axes": 1, "rhs_axes": 0})], saves=("lhs",),
             doc="``lhs`` broadcast to the shape of ``rhs``, or along ``lhs_axes`` to the sizes of ``rhs_axes``."))


def _cut(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape, like = list(shapes[0]), tuple(shapes[1])
    if not attrs["axes"] and attrs["axes"] != 0 and len(shape) != len(like):
        raise ShapeError(f"shapes {tuple(shape)} and {like} have different numbers of axes.", hint="name the axes to cut.")
    for axis in range(len(shape)) if attrs["axes"] in ((), None) else _tuple(attrs["axes"]):
        place = one_axis(axis, len(shape))
        size = like[one_axis(place, len(like))]
        if size > shape[place]:
            raise ShapeError(f"axis {axis} of shape {tuple(shapes[0])} is shorter than that of {like}.", hint="swap the arrays.")
        shape[place] = size
    return tuple(shape)


def _starts(shape: tuple[int, ...]) -> tuple[tuple[str | int | None, ...], ...]:
    """The index that takes the first entries of every axis, as ``ops.index`` encodes it."""
    return tuple(("slice", 0, int(size), None) for size in shape)


slice_like = Op("slice_like", "data shape_like", attrs={"axes": ()}, shape=_cut, dtype=first_dtype, cost=cost.none, selects=0,
                nondifferentiable=(1,),
                sample=lambda: [([samples.grid(), samples.grid(2, 3, seed=1)], {"axes": axes}) for axes in ((), (1,))],
                saves=("data",),
                doc="The first entries along every axis, or those named, as many as ``shape_like`` has there.")


@slice_like.forward("default, * -> default", asked=SHAPE_ONLY)
def _(k: Kernels, x: Array, like: Store, attrs: Attrs) -> Array:
    return fresh(k.xp, x[tuple(slice(0, size) for size in _cut([x.shape, like.shape], attrs))])


slice_like.gradient(lambda F, g, data, like, out, attrs, want: (
    F._setitem_zeros(g, key=_starts(g.shape), shape=tuple(data.shape)), None))


def _diagonal(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape, offset = tuple(shapes[0]), attrs["k"]
    if len(shape) == 1:
        return (shape[0] + abs(offset),) * 2
    first, second = (one_axis(attrs[name], len(shape)) for name in ("axis1", "axis2"))
    if first == second:
        raise ShapeError(f"axis1 and axis2 must differ, got {first} for both.", hint="a diagonal runs through two axes.")
    length = min(shape[first] + min(offset, 0), shape[second] - max(offset, 0))
    if length <= 0:
        raise ShapeError(f"k={offset} is out of range for the diagonals of shape {shape}.",
                         hint="k counts from the main diagonal, 0.")
    return (*(size for axis, size in enumerate(shape) if axis not in (first, second)), length)


diag = Op("diag", "data", attrs={"k": 0, "axis1": 0, "axis2": 1}, shape=_diagonal, cost=cost.none, selects=0,
          sample=lambda: [([samples.grid()], {"k": offset}) for offset in (0, 1, -1)] + [([samples.grid()[1]], {"k": 1})],
          saves=("data",),
          doc="The diagonal ``k`` of two axes, which becomes the last axis; of a vector, the matrix with it on that diagonal.")


@diag.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    if x.ndim == 1:
        return k.xp.diag(x, attrs["k"])
    return fresh(k.xp, k.xp.diagonal(x, attrs["k"], attrs["axis1"], attrs["axis2"]))


diag.gradient(lambda F, g, data, out, attrs, want: (
    F.diag(g, k=attrs["k"]) if len(data.shape) == 1 else F._on_diagonal(
        g, k=attrs["k"], axis1=attrs["axis1"], axis2=attrs["axis2"], shape=tuple(data.shape))))

on_diagonal = Op("_on_diagonal", "data", attrs={"k": 0, "axis1": 0, "axis2": 1, "shape": REQUIRED},
                 shape=lambda shapes, attrs: attrs["shape"], cost=cost.none,
                 sample=lambda: [([samples.grid()[1]], {"shape": (5, 6), "k": 0})], saves=(),
                 doc="Values on a diagonal of zeros: the gradient of taking a diagonal.")


@on_diagonal.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(attrs["shape"], x.dtype)
    first, second = attrs["axis1"] % out.ndim, attrs["axis2"] % out.ndim
    places = np.arange(x.shape[-1])
    turned = k.xp.moveaxis(out, (first, second), (-2, -1))
    turned[..., places + max(0, -attrs["k"]), places + max(0, attrs["k"])] = x
    return out


on_diagonal.gradient(lambda F, g, data, out, attrs, want: F.diag(g, k=attrs["k"], axis1=attrs["axis1"], axis2=attrs["axis2"]))


def _blocks(shapes: list[Shape], attrs: Attrs, deeper: bool) -> tuple[int, ...]:
    shape, block = tuple(shapes[0]), attrs["block_size"]
    if len(shape) != 4 or block < 1:
        raise ShapeError(f"shape {shape} and block_size {block} do not fit.", hint="give (batch, depth, height, width).")
    batch, depth, height, width = shape
    if (height % block or width % block) if deeper else depth % block**2:
        raise ShapeError(f"shape {shape} is not divisible into blocks of {block} x {block}.",
                         hint="height and width must be multiples of the block." if deeper else
                         "the depth must be a multiple of the block's area.")
    return ((batch, depth * block**2, height // block, width // block) if deeper
            else (batch, depth // block**2, height * block, width * block))


def _cube() -> Array:
    return np.arange(32, dtype=np.float32).reshape(1, 4, 2, 4) / 8


deep = Op("space_to_depth", "data", attrs={"block_size": REQUIRED}, shape=lambda shapes, attrs: _blocks(shapes, attrs, True),
          cost=cost.none, sample=lambda: [([_cube()], {"block_size": 2})], saves=(),
          doc="Blocks of height and width moved into the depth, of an array (batch, depth, height, width).")
wide = Op("depth_to_space", "data", attrs={"block_size": REQUIRED}, shape=lambda shapes, attrs: _blocks(shapes, attrs, False),
          cost=cost.none, sample=lambda: [([_cube()], {"block_size": 2})], saves=(),
          doc="Depth spread out into blocks of height and width, of an array (batch, depth, height, width).")


@deep.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    (batch, depth, height, width), block = x.shape, attrs["block_size"]
    parts = x.reshape(batch, depth, height // block, block, width // block, block).transpose(0, 3, 5, 1, 2, 4)
    return fresh(k.xp, parts).reshape(_blocks([x.shape], attrs, True))


@wide.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    (batch, depth, height, width), block = x.shape, attrs["block_size"]
    parts = x.reshape(batch, block, block, depth // block**2, height, width).transpose(0, 3, 4, 1, 5, 2)
    return fresh(k.xp, parts).reshape(_blocks([x.shape], attrs, False))


deep.gradient(lambda F, g, data, out, attrs, want: F.depth_to_space(g, block_size=attrs["block_size"]))
wide.gradient(lambda F, g, data, out, attrs, want: F.space_to_depth(g, block_size=attrs["block_size"]))
