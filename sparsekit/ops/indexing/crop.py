"""``Crop``, which old programs use for images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ShapeError
from ...core import cost
from ...core.op import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Given, Gradients
    from ...kernels.types import Kernels


# Any: sizes as a user gave them, which are checked here
def _sizes(name: str, value: list[Any] | tuple[Any, ...], least: int) -> tuple[int, int]:
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(sizes) != 2 or any(isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < least
                              for size in sizes):
        raise ShapeError(f"{name} must be 2 integers of at least {least}, got {value!r}.",
                         hint="pass one integer for each image axis.")
    return int(sizes[0]), int(sizes[1])


_IMAGE = np.sin(np.arange(60, dtype=np.float32)).reshape(1, 2, 5, 6)


def _cut(shapes: Sequence[Shape], attrs: Attrs) -> tuple[int, int, int, int]:
    """First row, first column, height and width of the part."""
    if len(shapes) not in (1, 2) or any(len(shape) != 4 for shape in shapes):
        raise ShapeError(f"expected one or two arrays of four axes, got shapes {', '.join(map(str, shapes))}.",
                         hint="pass (batch, channels, height, width), and optionally an array of the output size.")
    height, width = tuple(shapes[1])[2:] if len(shapes) == 2 else _sizes("h_w", attrs["h_w"], 1)
    top, left = _sizes("offset", attrs["offset"], 0)
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
def _(k: Kernels, x: Array, *arguments: *Given) -> Array:
    top, left, height, width = _cut([x.shape, *(other.shape for other in arguments[:-1])], arguments[-1])
    return x[:, :, top:top + height, left:left + width].copy()


@crop.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    shapes = [tuple(array.shape) for array in data]
    top, left, height, width = _cut(shapes, attrs)
    edges = (0, 0, 0, 0, top, shapes[0][2] - top - height, left, shapes[0][3] - left - width)
    gradient = want[0] and F.Pad(g, mode="constant", pad_width=edges)
    return [gradient, *(wanted and F.zeros_like(array) for array, wanted in zip(data[1:], want[1:], strict=True))]
