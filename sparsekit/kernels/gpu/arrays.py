"""The array module that operators see on a GPU: cupy, with what they need of numpy beyond it.

Nothing here adds up by atomics, so results are the same on every run.
"""

from __future__ import annotations

import functools
import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import capture
from ...base.lazy import computed_once
from . import formulas
from .group import group_columns
from .grouped import CHUNK, FEW
from .launch import THREADS, Kernel, lanes_for, wide_type
from .row_sparse import add_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from ...base.types import Array, DType, DTypeLike, Scalar
    from ..types import Axes

_dot_small = Kernel("dot_small", "data data data* count count count count count count count count")
_dot_tiles = Kernel("dot_tiles", "data data data* count count count count count count count")
_reduce_runs = Kernel("reduce_runs", "data place data* part* count count count")
_join_runs = Kernel("join_runs", "part place data* count count count count")

#: The functions whose reductions numpy has and cupy has not in full, with the functions that reduce along axes.
WAYS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}


#: Rows and columns of the tile of a product that a block computes; as in ``segments.cu``.
TILE = 16

#: Multiplications an element up to which products are computed in tiles; beyond, more threads share an element.
DEEP = 1024

#: Multiplications of a product up to which captured work uses our kernel, since cupy refuses cuBLAS during a capture.
SMALL = 1 << 22


class Arrays:
    """cupy's names; a few behave as numpy's where cupy's do not."""

    def __init__(self) -> None:
        self._cupy = importlib.import_module("cupy")
        for name in WAYS:
            setattr(self, name, Reduction(self._cupy, name))

    @computed_once
    def linalg(self) -> Solvers:
        """``numpy.linalg``, whose functions raise ``LinAlgError`` where there is no solution; cupy's give nan."""
        return Solvers(self._cupy.linalg)

    def __getattr__(self, name: str) -> Any:  # Any: whatever cupy has of that name
        value = getattr(self._cupy, name)
        setattr(self, name, value)
        return value

    def formula(self, name: str, dtype: DType, *arrays: Array) -> Array:
        """One of the functions of ``formulas.cu``, by one launch, as an array of this type."""
        return formulas.compute(name, dtype, *arrays)

    def copy_each(self, pairs: Sequence[tuple[Array, Array]]) -> None:
        """Copy the second array of each pair into the first, four by one launch."""
        formulas.copy_each(pairs)

    def matmul(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """``numpy.matmul`` by cuBLAS; of two small matrices by a kernel of ours in work that is captured."""
        if capture.state.rehearsed and left.ndim == right.ndim == 2 and left.dtype == right.dtype and left.dtype.kind == "f":
            (height, inner), width = left.shape, right.shape[1]
            if right.shape[0] == inner and height * inner * width <= SMALL:
                return self._small_product(left, right, height, inner, width, out)
        product: Array = self._cupy.matmul(left, right, out=out)
        return product

    def _small_product(self, left: Array, right: Array, height: int, inner: int, width: int, out: Array | None) -> Array:
        product: Array = self._cupy.empty((height, width), left.dtype) if out is None else out
        (left, *left_steps), (right, *right_steps) = self._lying(left), self._lying(right)
        if inner <= DEEP and min(height, width) > TILE // 2:
            tiles = -(-height // TILE) * -(-width // TILE)
            _dot_tiles(tiles * THREADS, left, right, product, height, inner, width, *left_steps, *right_steps)
            return product
        lanes = lanes_for(inner)
        _dot_small(height * width * lanes, left, right, product, height, inner, width, *left_steps, *right_steps, lanes)
        return product

    def _lying(self, matrix: Array) -> tuple[Array, int, int]:
        """A contiguous array of the matrix's values, and the steps from row to row and from column to column."""
        if matrix.flags.f_contiguous and not matrix.flags.c_contiguous:
            return matrix.T, 1, matrix.shape[0]
        return self._cupy.ascontiguousarray(matrix), matrix.shape[1], 1

    def cumsum(self, array: Array, axis: int | None = None, dtype: DTypeLike = None, out: Array | None = None) -> Array:
        """``numpy.cumsum``, whose sums of floats are the same on every run: cupy's scan of all elements is not."""
        return self._running(self._cupy.cumsum, array, axis, dtype, out)

    def cumprod(self, array: Array, axis: int | None = None, dtype: DTypeLike = None, out: Array | None = None) -> Array:
        """``numpy.cumprod``, in the same way."""
        return self._running(self._cupy.cumprod, array, axis, dtype, out)

    def _running(self, function: Callable[..., Array], array: Array, axis: int | None, dtype: DTypeLike,
                 out: Array | None) -> Array:
        if axis is None and "f" in (array.dtype.kind, np.dtype(dtype or array.dtype).kind):
            array, axis = array.reshape(-1), 0  # along an axis cupy adds block after block, in one order
        return function(array, axis, dtype, out)

    def lexsort(self, keys: Sequence[Array]) -> Array:
        """``numpy.lexsort`` of several arrays; cupy takes one array of them."""
        order: Array = self._cupy.lexsort(self._cupy.stack(keys))
        return order

    def repeat(self, array: Array, repeats: Array | int | Sequence[int], axis: int | None = None) -> Array:
        """``numpy.repeat``; counts that lie on the device stay there, but for their sum, which is the size of the result."""
        if not isinstance(repeats, self.ndarray) or repeats.ndim == 0 or axis is not None:
            counts = repeats.tolist() if isinstance(repeats, self.ndarray) else repeats
            repeated: Array = self._cupy.repeat(self.asarray(array), counts, axis)
            return repeated
        ends = self.cumsum(repeats.astype(np.int64, copy=False))
        total = int(ends[-1]) if ends.size else 0
        places = self.searchsorted(ends, self.arange(total, dtype=np.int64), side="right")
        result: Array = self.asarray(array).reshape(-1)[places]
        return result

    def take(self, a: Array, indices: Array | Sequence[int] | int, axis: int | None = None, out: Array | None = None,
             mode: str = "wrap") -> Array:
        """``numpy.take``; ``mode="clip"`` too, and ``"wrap"``, which is what cupy does."""
        if mode == "clip":
            size = a.size if axis is None else a.shape[axis]
            indices = self.clip(self.asarray(indices), 0, size - 1)
        taken: Array = self._cupy.take(a, indices, axis, out)
        return taken


class Solvers:
    """cupy's linear algebra with error checks, which wait for the device.

    Parameters
    ----------
    solvers : module
        ``cupy.linalg``.
    """

    def __init__(self, solvers: ModuleType) -> None:
        self._solvers = solvers

    def __getattr__(self, name: str) -> Callable[..., Array | tuple[Array, Array]]:
        function: Callable[..., Array | tuple[Array, Array]] = getattr(self._solvers, name)
        cupyx = importlib.import_module("cupyx")

        @functools.wraps(function)
        def run(*arguments: Array, **options: object) -> Array | tuple[Array, Array]:  # object: cupy checks them
            with cupyx.errstate(linalg="raise"):
                return function(*arguments, **options)

        return run


class Reduction:
    """One of cupy's universal functions, with numpy's name and all of its reductions.

    Parameters
    ----------
    cupy : module
    name : {"add", "multiply", "maximum", "minimum"}
    """

    def __init__(self, cupy: ModuleType, name: str) -> None:
        self._xp, self._function, self._along = cupy, getattr(cupy, name), getattr(cupy, WAYS[name])
        self._way, self.__name__ = tuple(WAYS).index(name), name

    def __call__(self, *arguments: Array | Scalar, **options: object) -> Array:  # object: cupy checks them
        """Apply the function element by element."""
        result: Array = self._function(*arguments, **options)
        return result

    def reduce(self, array: Array, axis: Axes = 0, dtype: DTypeLike = None, keepdims: bool = False,
               initial: Scalar | None = None) -> Array:
        """``numpy.ufunc.reduce``, which starts with ``initial``."""
        axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(place % array.ndim for place in axes) if array.ndim else ()
        array = array if dtype is None else array.astype(dtype, copy=False)
        if initial is not None and not math.prod(array.shape[place] for place in axes):
            shape = [1 if place in axes else size for place, size in enumerate(array.shape) if keepdims or place not in axes]
            filled: Array = self._xp.full(shape, initial, array.dtype)
            return filled
        options = {"dtype": dtype} if dtype is not None and self.__name__ in ("add", "multiply") else {}
        reduced: Array = self._along(array, axis=axes, keepdims=keepdims, **options)
        neutral = initial is None or (self.__name__ in ("add", "multiply") and initial == self._way)
        if not neutral:
            reduced = self._function(reduced, array.dtype.type(initial))
        return reduced

    def reduceat(self, array: Array, starts: Array, dtype: DTypeLike = None) -> Array:
        """``numpy.ufunc.reduceat`` of an array with one axis, for ascending starts that do not repeat."""
        out: Array = self._xp.empty(starts.shape[0], dtype or array.dtype)
        ends = self._xp.empty(starts.shape[0] + 1, np.int64)
        ends[:-1], ends[-1] = starts, array.shape[0]
        runs, entries = starts.shape[0], array.shape[0]
        chunks = -(-entries // CHUNK) if entries > FEW else 0
        parts = self._xp.empty(2 * chunks, wide_type(out.dtype))
        _reduce_runs(runs + chunks, array, ends, out, parts, runs, chunks, self._way)
        if chunks:
            lanes = lanes_for(chunks / runs)
            _join_runs(runs * lanes, parts, ends, out, runs, chunks, self._way, lanes)
        return out

    def at(self, target: Array, key: Array | tuple[Array, ...], values: Array | Scalar) -> None:
        """``numpy.ufunc.at``: every value counts, also where a place repeats, in the order in which they come."""
        parts = key if isinstance(key, tuple) else (key,)
        if self.__name__ == "add" and len(parts) == 1 and getattr(parts[0], "ndim", 0) == 1 and target.flags.c_contiguous:
            rows, width = parts[0] % target.shape[0], math.prod(target.shape[1:])
            values = self._xp.broadcast_to(values, (rows.shape[0], *target.shape[1:])).reshape(rows.shape[0], width)
            add_rows(values, rows, 1, target.reshape(-1, width))
            return
        places = self._xp.arange(target.size).reshape(target.shape)[key]
        spread: Array = self._xp.broadcast_to(values, places.shape).reshape(-1)
        distinct, starts, order = group_columns(places.reshape(-1))
        if not distinct.shape[0]:
            return
        flat = target.reshape(-1)
        flat[distinct] = self._function(flat[distinct], self.reduceat(spread[order].astype(target.dtype), starts[:-1]))
        target[...] = flat.reshape(target.shape)
