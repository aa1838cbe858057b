"""``boolean_mask``, which selects the entries along an axis where a mask is nonzero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ShapeError
from ...core import cost
from ...core.op import REQUIRED, Op
from .. import samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject
    from ...kernels.types import Kernels
    from ...storage.types import Store

_MASK = np.array([0, 2, 0, 1], np.float32)


def _masked(shape: Shape, mask: Shape, axis: int) -> int:
    """The axis as a nonnegative number; raises ``ShapeError`` if the mask does not have one entry for each along the axis."""
    if not -len(shape) <= axis < len(shape) or tuple(mask) != (shape[axis],):
        raise ShapeError(f"a mask of shape {tuple(mask)} does not fit axis {axis} of shape {tuple(shape)}.",
                         hint="pass a mask with one entry for each along the axis.")
    return axis % len(shape)


def _shape(shapes: Sequence[Shape], attrs: Attrs) -> None:
    """Check the shapes; the output shape depends on the values of the mask, so it is None."""
    _masked(shapes[0], shapes[1], attrs["axis"])


mask = Op("_contrib_boolean_mask", "data index", attrs={"axis": 0}, shape=_shape, dtype=lambda dtypes, attrs: dtypes[0],
          own_dtype=(1,),
          cost=cost.none, nondifferentiable=(1,), saves=("data", "index"),
          sample=lambda: [([samples.grid(), _MASK], {}), ([samples.grid(5, 4), _MASK], {"axis": -1})],
          doc="The entries along ``axis`` where ``index`` is not zero.  MXNet takes axis 0 only.")
unmask = Op("_boolean_mask_backward", "data index", attrs={"axis": 0, "shape": REQUIRED},
            shape=lambda shapes, attrs: attrs["shape"], dtype=lambda dtypes, attrs: dtypes[0], cost=cost.none,
            nondifferentiable=(1,), saves=("data", "index"),
            sample=lambda: [([samples.grid(2, 5), _MASK], {"shape": (4, 5)})],
            doc="The gradient of ``boolean_mask``: ``data`` at the entries where ``index`` is not zero, and zeros elsewhere.")


def _key(shape: Shape, index: Array, attrs: Attrs) -> tuple[slice | Array, ...]:
    return (slice(None),) * _masked(shape, index.shape, attrs["axis"]) + (index != 0,)


@mask.forward("default, default -> default")
def _(k: Kernels, x: Array, index: Array, attrs: Attrs) -> Store:
    return k.xp.ascontiguousarray(x[_key(x.shape, index, attrs)])


@unmask.forward("default, default -> default")
def _(k: Kernels, x: Array, index: Array, attrs: Attrs) -> Store:
    out = k.xp.zeros(attrs["shape"], x.dtype)
    out[_key(attrs["shape"], index, attrs)] = x
    return out


mask.gradient(lambda F, g, data, index, out, attrs, want: (
    F._boolean_mask_backward(g, index, axis=attrs["axis"], shape=tuple(data.shape)), None))


@unmask.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, index: ArrayObject, out: ArrayObject, attrs: Attrs,
      want: Sequence[Want | None]) -> tuple[ArrayObject, None]:
    """Select the entries where the mask is nonzero; their number is that of ``data``, so the step can be traced."""
    if 0 in data.shape:
        return F.zeros_like(data), None
    first = F.argsort(F._equal_scalar(index, scalar=0), dtype="int64")
    places = F.slice_axis(first, axis=0, begin=0, end=int(data.shape[attrs["axis"]]))
    return F.take(g, places, axis=attrs["axis"]), None
