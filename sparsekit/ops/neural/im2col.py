"""``im2col``, which extracts the patches of images, its adjoint ``col2im``, and ``Crop``."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.errors import ShapeError
from ...core import cost
from ...core.op import REQUIRED, Op
from .softmax import floating

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Given, Gradients
    from ...kernels.types import Kernels


__all__: list[str] = []


class _Window(NamedTuple):
    """The positions of a kernel on an image, as numbers for each axis; ``places`` are the numbers of positions."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    pad: tuple[int, ...]
    places: tuple[int, ...]


# Any: sizes as a user gave them, which are checked here
def _sizes(name: str, value: list[Any] | tuple[Any, ...], count: int, default: int, least: int) -> tuple[int, ...]:
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    given = given or (default,) * count
    if len(given) != count or any(isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < least
                                  for size in given):
        raise ShapeError(f"{name} must be {count} integers of at least {least}, got {value!r}.",
                         hint="pass one integer for each image axis.")
    return tuple(int(size) for size in given)


def _window(spatial: tuple[int, ...], attrs: Attrs) -> _Window:
    count = len(spatial)
    if not 1 <= count <= 3:
        raise ShapeError(f"images must have 1 to 3 axes, got {count}.",
                         hint="pass data of shape (batch, channels, …), with the axes of the image at the end.")
    kernel = _sizes("kernel", attrs["kernel"], count, 1, 1)
    stride, dilate = (_sizes(name, attrs[name], count, 1, 1) for name in ("stride", "dilate"))
    pad = _sizes("pad", attrs["pad"], count, 0, 0)
    room = [size + 2 * more - ((extent - 1) * apart + 1)
            for size, more, extent, apart in zip(spatial, pad, kernel, dilate, strict=True)]
    if min(room) < 0:
        raise ShapeError(f"kernel {kernel} with dilate {dilate} is larger than the image {spatial} with pad {pad}.",
                         hint="pass a smaller kernel or a larger pad.")
    return _Window(kernel, stride, dilate, pad, tuple(free // step + 1 for free, step in zip(room, stride, strict=True)))


def _columns_shape(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape = tuple(shapes[0])
    window = _window(shape[2:], attrs)
    return shape[0], shape[1] * math.prod(window.kernel), math.prod(window.places)


def _image_shape(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape = tuple(shapes[0])
    size = attrs["output_size"]
    spatial = _sizes("output_size", size, len(size) if isinstance(size, (tuple, list)) else 1, 1, 1)
    window = _window(spatial, attrs)
    block = math.prod(window.kernel)
    if len(shape) != 3 or shape[1] % block or shape[2] != math.prod(window.places):
        raise ShapeError(f"data of shape {shape} does not match an image {spatial}, which has {math.prod(window.places)} patches "
                         f"of {block} pixels.", hint="pass data of shape (batch, channels * kernel size, patches).")
    return (shape[0], shape[1] // block, *spatial)


_ATTRS = {"kernel": REQUIRED, "stride": (), "dilate": (), "pad": ()}
_IMAGE = np.sin(np.arange(60, dtype=np.float32)).reshape(1, 2, 5, 6)
_SPREAD = {"kernel": (2, 3), "stride": (2, 1), "dilate": (1, 2), "pad": (1, 0)}

im2col = Op(
    "im2col", "data", attrs=_ATTRS, shape=_columns_shape, cost=cost.none,
    sample=lambda: [([_IMAGE], {"kernel": (2, 3)}), ([_IMAGE], _SPREAD), ([_IMAGE[0]], {"kernel": (2,)})], saves=("data",),
    doc="""Extract the patches of an image that a kernel covers, as columns.

The data has shape (batch, channels, …), with 1 to 3 image axes, and the output (batch, channels * kernel size, patches).
``stride`` is the step of the kernel, and ``dilate`` the distance of its points; both are 1 by default.  ``pad`` is the number
of zeros on each side of the image, 0 by default.""")


def _edges(window: _Window) -> list[tuple[int, int]]:
    return [(0, 0), (0, 0), *((size, size) for size in window.pad)]


@im2col.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    floating("im2col", x)
    window = _window(x.shape[2:], attrs)
    shape = _columns_shape([x.shape], attrs)
    x = k.xp.ascontiguousarray(k.xp.pad(x, _edges(window)) if any(window.pad) else x)
    apart = [size * step for size, step in zip(x.strides[2:], window.dilate, strict=True)]
    along = [size * step for size, step in zip(x.strides[2:], window.stride, strict=True)]
    blocks = k.xp.lib.stride_tricks.as_strided(x, (*x.shape[:2], *window.kernel, *window.places),
                                               (*x.strides[:2], *apart, *along))
    return k.xp.array(blocks, order="C").reshape(shape)


col2im = Op(
    "col2im", "data", attrs={"output_size": REQUIRED, **_ATTRS}, shape=_image_shape, cost=cost.reduction,
    sample=lambda: [([np.cos(np.arange(12 * count, dtype=np.float32)).reshape(1, 12, count)], {"output_size": (5, 6), **attrs})
                    for count, attrs in ((16, {"kernel": (2, 3)}), (6, _SPREAD))], saves=(),
    doc="""Add up patches to an image: the adjoint of ``im2col``.  Overlapping values are summed.

The data has shape (batch, channels * kernel size, patches), and the output (batch, channels, …) with the axes of
``output_size``.""")


@col2im.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    floating("col2im", x)
    shape = _image_shape([x.shape], attrs)
    window = _window(shape[2:], attrs)
    out = k.xp.zeros((*shape[:2], *(size + 2 * more for size, more in zip(shape[2:], window.pad, strict=True))), x.dtype)
    blocks = x.reshape(*shape[:2], *window.kernel, *window.places)
    # Any: slices, and an ellipsis
    whole: tuple[Any, ...] = (slice(None), slice(None))
    for point in itertools.product(*map(range, window.kernel)):
        places = tuple(slice(at * apart, at * apart + step * (count - 1) + 1, step) for at, apart, step, count
                       in zip(point, window.dilate, window.stride, window.places, strict=True))
        out[(*whole, *places)] += blocks[(*whole, *point)]
    # Any: as above
    inside: tuple[Any, ...] = (..., *(slice(more, more + size) for size, more in zip(shape[2:], window.pad, strict=True)))
    made: Array = out[inside].copy()
    return made


def _same(attrs: Attrs) -> Attrs:
    return {name: attrs[name] for name in _ATTRS}


im2col.gradient(lambda F, g, data, out, attrs, want: F.col2im(g, output_size=tuple(data.shape[2:]), **_same(attrs)))
col2im.gradient(lambda F, g, data, out, attrs, want: F.im2col(g, **_same(attrs)))


def _cut(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, int, int, int]:
    """First row, first column, height and width of the part."""
    if len(shapes) not in (1, 2) or any(len(shape) != 4 for shape in shapes):
        raise ShapeError(f"expected one or two arrays of four axes, got shapes {', '.join(map(str, shapes))}.",
                         hint="pass (batch, channels, height, width), and optionally an array of the output size.")
    height, width = tuple(shapes[1])[2:] if len(shapes) == 2 else _sizes("h_w", attrs["h_w"], 2, 1, 1)
    top, left = _sizes("offset", attrs["offset"], 2, 0, 0)
    free = shapes[0][2] - height, shapes[0][3] - width
    if attrs["center_crop"]:
        top, left = free[0] // 2, free[1] // 2
    if not (0 <= top <= free[0] and 0 <= left <= free[1]):
        raise ShapeError(f"a part of {height} x {width} at {(top, left)} exceeds the image {tuple(shapes[0])[2:]}.",
                         hint="pass a smaller h_w or offset.")
    return top, left, height, width


def _crop_shape(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, ...]:
    return (*shapes[0][:2], *_cut(shapes, attrs)[2:])


crop = Op(
    "Crop", "*data", attrs={"offset": (0, 0), "h_w": (0, 0), "center_crop": False, "num_args": None}, shape=_crop_shape,
    dtype=lambda dtypes, attrs: dtypes[0], cost=cost.none, selects=0,
    sample=lambda: [([_IMAGE], {"h_w": (3, 4), "offset": (1, 2)}),
                    ([_IMAGE, _IMAGE[:, :, :2, :3].copy()], {"center_crop": True})], saves=("data",),
    doc="""Crop images (batch, channels, height, width) to size ``h_w``, starting at ``offset``, or centred with ``center_crop``.

A second array defines the size instead of ``h_w``.  Deprecated in MXNet: use ``slice``.""")


@crop.forward("default... -> default")
def _(k: Kernels, x: Array, *rest: *Given) -> Array:
    top, left, height, width = _cut([x.shape, *(other.shape for other in rest[:-1])], rest[-1])
    return x[:, :, top:top + height, left:left + width].copy()


@crop.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    shapes = [tuple(array.shape) for array in data]
    top, left, height, width = _cut(shapes, attrs)
    edges = (0, 0, 0, 0, top, shapes[0][2] - top - height, left, shapes[0][3] - left - width)
    made = want[0] and F.Pad(g, mode="constant", pad_width=edges)
    return [made, *(wanted and F.zeros_like(array) for array, wanted in zip(data[1:], want[1:], strict=True))]
