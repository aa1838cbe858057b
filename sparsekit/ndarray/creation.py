"""Making arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.context import Context, current_context, require
from ..base.errors import DTypeError, ShapeError
from ..core.dispatch import invoke, wrap
from ..core.op import find
from ..kernels import for_device
from .ndarray import NDArray

__all__ = ["arange", "array", "context_of", "empty", "eye", "from_numpy", "full", "linspace", "ones", "shape_of", "to_device",
           "waitall", "zeros"]


#: Creation functions of ``ndarray.sparse``, which imports this module and adds them here.
sparse_makers: dict[str, Any] = {}


def context_of(ctx: Context | None) -> Context:
    """The context to create on: the one given, else the current one; it must exist."""
    return require(current_context() if ctx is None else Context(ctx))


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of non-negative ints; a bare number is one dimension."""
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        raise ShapeError(f"{shape!r} is no shape.", hint="give a tuple of numbers that are not negative, such as (2, 3).")
    return tuple(int(size) for size in sizes)


def element_type(dtype: Any) -> Any:
    """A numpy dtype for the elements: real numbers or integers; float32 for None."""
    try:
        found = np.dtype(dtype or np.float32)
    except TypeError:
        found = np.dtype(object)
    if found.kind not in "fiub":
        raise DTypeError(f"Arrays hold real numbers or integers, not {dtype!r}.", hint="use float32, float64, int32 or int64.")
    return found


def to_device(values: Any, ctx: Context) -> Any:
    """A numpy array as a dense store on ``ctx``."""
    return values if ctx.device_type == "cpu" else for_device("gpu").xp.asarray(values)


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array with a copy of the values.

    Parameters
    ----------
    source_array : array-like, NDArray or scipy sparse matrix
        A sparse source gives an array of its own storage type.
    dtype : optional
        The source's for an NDArray, float32 otherwise.
    """
    if isinstance(source_array, NDArray):
        made = source_array.copy() if dtype is None else source_array.astype(dtype)
        return made.as_in_context(context_of(ctx) if ctx is not None else made.context)
    if hasattr(source_array, "tocsr"):
        return sparse_makers["csr_matrix"](source_array, ctx=ctx, dtype=dtype)
    place = context_of(ctx)
    try:
        values = np.array(source_array, dtype=element_type(dtype), order="C")
    except (ValueError, TypeError) as error:
        raise DTypeError(f"A {type(source_array).__name__} cannot become an array: {error}.",
                         hint="give nested lists of numbers of equal length, or a numpy array.") from None
    return wrap(to_device(values, place), place)


def from_numpy(ndarray: Any, zero_copy: bool = True) -> NDArray:
    """An array over the memory of a C-contiguous numpy array, or over a copy."""
    values = np.ascontiguousarray(ndarray)
    return wrap(values if zero_copy else values.copy(), Context("cpu", 0))


def full(shape: Any, val: float, ctx: Context | None = None, dtype: Any = None, out: NDArray | None = None) -> NDArray:
    """An array with one value everywhere."""
    call = find("_full").bind({"shape": shape_of(shape), "value": val, "dtype_": element_type(dtype).name})
    return invoke(call, (), out, context_of(ctx))


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str = "default", **_kwargs: Any) -> NDArray:
    """An array of zeros; a sparse one stores nothing."""
    if stype not in (None, "default"):
        return sparse_makers["zeros"](stype, shape, ctx, dtype)
    return full(shape, 0.0, ctx, dtype)


def empty(shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array whose values are yet to be written; they start as zeros."""
    return full(shape, 0.0, ctx, dtype)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = None, **_kwargs: Any) -> NDArray:
    """An array of ones."""
    return full(shape, 1.0, ctx, dtype)


def arange(start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: Any = None,
           ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Evenly spaced values from ``start`` up to, not including, ``stop``; each ``repeat`` times.

    ``infer_range`` is MXNet's and has no effect, as there.
    """
    start, stop = (0, start) if stop is None else (start, stop)
    call = find("_arange").bind({"start": start, "stop": stop, "step": step, "repeat": repeat,
                                 "dtype_": element_type(dtype).name})
    return invoke(call, (), None, context_of(ctx))


def linspace(start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None,
             dtype: Any = None) -> NDArray:
    """``num`` evenly spaced values from ``start`` to ``stop``, which is among them unless ``endpoint=False``."""
    call = find("_linspace").bind({"start": start, "stop": stop, "num": num, "endpoint": endpoint,
                                   "dtype_": element_type(dtype).name})
    return invoke(call, (), None, context_of(ctx))


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An N x M matrix (N x N for M=0) with ones on the diagonal ``k`` and zeros elsewhere."""
    call = find("_eye").bind({"N": shape_of(N)[0], "M": shape_of(M)[0], "k": k, "dtype_": element_type(dtype).name})
    return invoke(call, (), None, context_of(ctx))


def waitall() -> None:
    """Return when all work is done; on a CPU it is as soon as an operator returns."""


