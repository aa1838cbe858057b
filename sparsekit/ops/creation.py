"""Operators that create arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from ..base.errors import ShapeError, shown
from ..core import cost
from ..core.op import REQUIRED, Op
from ..kernels import NUMPY
from ..storage import CSR, RowSparse
from ..storage.memory import zeros

if TYPE_CHECKING:
    from types import ModuleType

    from ..base.types import Array, Attrs, DType, Shape
    from ..kernels.types import ArrayModule, Kernels
    from ..storage.types import Store


def _shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape = attrs["shape"]
    return tuple(int(size) for size in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


@overload
def empty_store(xp: ArrayModule | ModuleType, stype: Literal["csr"], shape: Shape, dtype: DType) -> CSR: ...
@overload
def empty_store(xp: ArrayModule | ModuleType, stype: Literal["row_sparse"], shape: Shape, dtype: DType) -> RowSparse: ...
@overload
def empty_store(xp: ArrayModule | ModuleType, stype: str, shape: Shape, dtype: DType) -> Store: ...
def empty_store(xp: ArrayModule | ModuleType, stype: str, shape: Shape, dtype: DType) -> Store:
    """A store of zeros; a sparse one stores nothing."""
    if stype == "default":
        return xp.zeros(shape, dtype)
    if stype == "csr":
        return CSR(xp.zeros(0, dtype), xp.zeros(0, np.int64), xp.zeros(shape[0] + 1, np.int64), shape, check=False)
    return RowSparse(xp.zeros((0, *shape[1:]), dtype), xp.zeros(0, np.int64), shape, check=False)


full = Op("_full", "", attrs={"shape": REQUIRED, "value": 0.0, "dtype_": "float32"}, shape=_shape,
          dtype=lambda dtypes, attrs: np.dtype(attrs["dtype_"]), cost=cost.none,
          sample=lambda: [([], {"shape": (2, 3), "value": 1.5})], saves=(), doc="An array with one value everywhere.")


@full.forward(" -> default")
def _(k: Kernels, attrs: Attrs) -> Array:
    shape = _shape([], attrs)
    if attrs["value"] == 0 and math.copysign(1, attrs["value"]) > 0:
        return zeros(shape, attrs["dtype_"]) if k.xp is NUMPY else k.xp.zeros(shape, attrs["dtype_"])
    return k.xp.full(shape, attrs["value"], attrs["dtype_"])


full.gradient(lambda F, g, out, attrs, want: ())

arange = Op("_arange", "", attrs={"start": 0, "stop": REQUIRED, "step": 1.0, "repeat": 1, "dtype_": "float32"}, cost=cost.none,
            saves=(), doc="Evenly spaced values, each repeated ``repeat`` times.",
            shape=lambda shapes, attrs: (_count(attrs) * attrs["repeat"],),
            dtype=lambda dtypes, attrs: np.dtype(attrs["dtype_"]), sample=lambda: [([], {"start": 0, "stop": 5, "step": 2})])


def _count(attrs: Attrs) -> int:
    if not attrs["step"]:
        raise ShapeError("step must not be 0.", hint="give a step above or below 0.")
    return max(0, int(np.ceil((attrs["stop"] - attrs["start"]) / attrs["step"])))


@arange.forward(" -> default")
def _(k: Kernels, attrs: Attrs) -> Array:
    start, step = attrs["start"], attrs["step"]
    if np.dtype(attrs["dtype_"]).kind in "iu":
        start, step = int(start), int(step)  # as in MXNet; the number of values is computed from the unrounded attributes
    values = start + step * k.xp.arange(_count(attrs))
    return k.xp.repeat(values, attrs["repeat"]).astype(attrs["dtype_"])


arange.gradient(lambda F, g, out, attrs, want: ())


def _spaced(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    if np.ndim(attrs["start"]) or np.ndim(attrs["stop"]):
        raise ShapeError(f"start={shown(attrs['start'])} and stop={shown(attrs['stop'])} must both be numbers.",
                         hint="stack the results of several calls.")
    return (max(0, int(attrs["num"])),)


linspace = Op("_linspace", "",
              attrs={"start": REQUIRED, "stop": REQUIRED, "num": REQUIRED, "endpoint": True, "dtype_": "float32"},
              cost=cost.none, shape=_spaced, dtype=lambda dtypes, attrs: np.dtype(attrs["dtype_"]),
              sample=lambda: [([], {"start": 0.0, "stop": 1.0, "num": 5})], saves=(),
              doc="``num`` evenly spaced values from ``start`` to ``stop``, which is among them unless ``endpoint=False``.")


@linspace.forward(" -> default")
def _(k: Kernels, attrs: Attrs) -> Array:
    return k.xp.linspace(attrs["start"], attrs["stop"], max(0, int(attrs["num"])), endpoint=bool(attrs["endpoint"])).astype(
        attrs["dtype_"])


linspace.gradient(lambda F, g, out, attrs, want: ())

eye = Op("_eye", "", attrs={"N": REQUIRED, "M": 0, "k": 0, "dtype_": "float32"}, cost=cost.none,
         shape=lambda shapes, attrs: (int(attrs["N"]), int(attrs["M"] or attrs["N"])),
         dtype=lambda dtypes, attrs: np.dtype(attrs["dtype_"]), sample=lambda: [([], {"N": 3, "M": 4, "k": 1})], saves=(),
         doc="An N x M matrix (N x N for M=0) with ones on the diagonal ``k`` and zeros elsewhere.")


@eye.forward(" -> default")
def _(k: Kernels, attrs: Attrs) -> Array:
    return k.xp.eye(int(attrs["N"]), int(attrs["M"] or attrs["N"]), int(attrs["k"]), dtype=attrs["dtype_"])


eye.gradient(lambda F, g, out, attrs, want: ())
