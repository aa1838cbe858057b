"""Making arrays."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..base.context import Context, num_gpus
from ..base.dtypes import element_type
from ..base.entry import entries
from ..base.errors import DTypeError, ShapeError
from ..core import device, hooks
from ..core.dispatch import invoke, wrap
from ..core.op import find
from ..kernels import loaded
from . import sparse_creation
from .arguments import brought, check_dense, context_of, is_sparse, on, shape_of, to_device, values_of
from .ndarray import NDArray

__all__ = ["arange", "array", "context_of", "empty", "eye", "from_numpy", "full", "linspace", "ones", "shape_of", "to_device",
           "waitall", "zeros"]


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array with a copy of the values.

    Parameters
    ----------
    source_array : array-like, NDArray, scipy sparse matrix or array
        A sparse source gives an array of its own storage type: csr for one of scipy and for a data frame of pandas with
        sparse columns, row_sparse for a sparse series.
    ctx : Context, optional
        The current one by default.
    dtype : optional
        By default that of an NDArray or of scipy's matrix, and float32 for anything else, numpy arrays too.

    Raises
    ------
    DTypeError
        If the source holds anything but real numbers, or numbers that the element type does not have.

    Examples
    --------
    >>> mx.nd.array([[1, 2], [3, 4]]).dtype
    dtype('float32')
    """
    if getattr(source_array, "stype", "default") != "default" or is_sparse(source_array):
        return sparse_creation.array(source_array, ctx, dtype)
    start = time.perf_counter_ns() if hooks.sink is not None else 0
    own = source_array.dtype if isinstance(source_array, NDArray) else "float32"
    return on(brought(source_array, values_of(source_array, dtype, own), start), ctx)


def from_numpy(ndarray: Any, zero_copy: bool = True) -> NDArray:
    """An array over the memory of a numpy array: writing to either writes to both.

    Parameters
    ----------
    ndarray : numpy.ndarray
        With ``zero_copy`` it is C-contiguous, writable and of an element type that arrays have.
    zero_copy : bool
        False makes a copy.

    Raises
    ------
    DTypeError
        If it is no numpy array, or of another element type.
    ShapeError
        If its memory cannot be shared.
    """
    if not isinstance(ndarray, np.ndarray):
        raise DTypeError(f"from_numpy takes a numpy array, not {type(ndarray).__name__}.", hint="mx.nd.array takes others.")
    if not zero_copy:
        return wrap(values_of(ndarray), Context("cpu", 0))
    if element_type(ndarray.dtype) != ndarray.dtype:
        raise DTypeError("Numbers in the byte order of other machines cannot be shared.", hint="pass zero_copy=False.")
    if not ndarray.flags.c_contiguous or not ndarray.flags.writeable:
        odd = "not C-contiguous" if not ndarray.flags.c_contiguous else "read-only"
        raise ShapeError(f"An array that is {odd} cannot be shared.", hint="pass zero_copy=False, or a copy of it.")
    return wrap(ndarray.view(np.ndarray), Context("cpu", 0))


def full(shape: Any, val: float, ctx: Context | None = None, dtype: Any = None, out: NDArray | None = None) -> NDArray:
    """An array with one value everywhere."""
    sizes, kind = shape_of(shape), element_type(dtype)
    check_dense(sizes, kind)
    call = find("_full").bind({"shape": sizes, "value": val, "dtype_": kind.name})
    return invoke(call, (), out, context_of(ctx))


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None, **_kwargs: Any) -> NDArray:
    """An array of zeros; a sparse one stores nothing.

    Parameters
    ----------
    shape : int or tuple of int
    ctx : Context, optional
    dtype : optional
        float32 by default.
    stype : {"default", "row_sparse", "csr"}, optional
    """
    if stype not in (None, "default"):
        return sparse_creation.zeros(str(stype), shape, ctx, dtype)
    return full(shape, 0.0, ctx, dtype)


def empty(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None) -> NDArray:
    """An array whose values are yet to be written; they start as zeros."""
    return zeros(shape, ctx, dtype, stype)


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
    if num < 0:
        raise ShapeError(f"linspace cannot give {num} values.", hint="num counts them.")
    call = find("_linspace").bind({"start": start, "stop": stop, "num": num, "endpoint": endpoint,
                                   "dtype_": element_type(dtype).name})
    return invoke(call, (), None, context_of(ctx))


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An N x M matrix (N x N for M=0) with ones on the diagonal ``k`` and zeros elsewhere."""
    call = find("_eye").bind({"N": shape_of(N)[0], "M": shape_of(M)[0], "k": k, "dtype_": element_type(dtype).name})
    return invoke(call, (), None, context_of(ctx))


def waitall() -> None:
    """Return when all work is done; on a CPU it is as soon as an operator returns.

    Raises
    ------
    What the device found wrong, an access outside of memory for instance.
    """
    if "gpu" in loaded():
        for number in range(num_gpus()):
            device.wait(Context("gpu", number))


entries(globals(), __all__)
