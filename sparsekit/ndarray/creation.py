"""Making arrays."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arguments import no_more, strict, unmasked
from ..base.context import Context, num_gpus
from ..base.dtypes import element_type
from ..base.entry import entries
from ..base.errors import ArgumentError, DTypeError, ShapeError, expected
from ..base.weak_references import Living
from ..core import device, hooks
from ..core.arrays import require_arrays
from ..core.dispatch import invoke, wrap
from ..core.op import find
from ..kernels import loaded
from . import sparse_creation
from .arguments import brought, check_dense, context_of, followed, is_sparse, on, shape_of, to_device, values_of
from .ndarray import NDArray

if TYPE_CHECKING:
    from ..base.types import Array, DTypeLike, ShapeLike


__all__ = ["arange", "array", "context_of", "empty", "eye", "from_numpy", "full", "linspace", "ones", "shape_of", "to_device",
           "waitall", "zeros"]


@strict
def array(source_array: object, ctx: Context | None = None, dtype: DTypeLike = None) -> NDArray:
    """An array with a copy of the values.

    Parameters
    ----------
    source_array : array-like, NDArray, scipy sparse matrix or array
        A sparse NDArray keeps its storage type.  A scipy sparse matrix and a pandas data frame with sparse columns become csr,
        and a sparse pandas series becomes row_sparse.
    ctx : Context, optional
        The current context by default.
    dtype : optional
        By default the element type of an NDArray or scipy matrix, and float32 for anything else, including numpy arrays.

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
    result = on(brought(source_array, values_of(source_array, dtype, own), start), ctx)
    return followed(result, source_array) if hooks.state.recording else result


#: numpy arrays that are read-only because their memory is an array's here.
_shared: Living[Array] = Living()


@strict
def from_numpy(ndarray: Array, zero_copy: bool = True) -> NDArray:
    """An array over the memory of a numpy array.

    Parameters
    ----------
    ndarray : numpy.ndarray
        With ``zero_copy``, it must be C-contiguous and have a supported element type.  As in MXNet, it becomes read-only, but
        shows what is written to the new array.
    zero_copy : bool
        False makes a copy.

    Raises
    ------
    DTypeError
        If ``ndarray`` is not a numpy array, or has an unsupported element type.
    ShapeError
        If its memory cannot be shared.
    """
    if not isinstance(ndarray, np.ndarray):
        raise DTypeError(f"from_numpy takes a numpy array, not {type(ndarray).__name__}.", hint="mx.nd.array takes others.")
    unmasked(ndarray)
    if not zero_copy:
        return wrap(values_of(ndarray), Context("cpu", 0))
    if element_type(ndarray.dtype) != ndarray.dtype:
        raise DTypeError("Numbers with the byte order of other machines cannot be shared.", hint="pass zero_copy=False.")
    if not ndarray.flags.c_contiguous:
        raise ShapeError("An array that is not C-contiguous cannot be shared.", hint="pass zero_copy=False, or a copy of it.")
    if not ndarray.flags.writeable and ndarray not in _shared:
        raise ShapeError("An array over read-only memory cannot be shared.", hint="pass zero_copy=False.")
    ndarray.flags.writeable = True  # arrays shared before are read-only already
    shared = ndarray.view(np.ndarray)
    ndarray.flags.writeable = False
    _shared.add(ndarray)
    return wrap(shared, Context("cpu", 0))


@strict
def full(shape: ShapeLike, val: float, ctx: Context | None = None, dtype: DTypeLike = None,
         out: NDArray | None = None) -> NDArray:
    """An array with one value everywhere.

    Parameters
    ----------
    out : NDArray, optional
        Array that is filled and returned instead of a new one.  It must have the shape ``shape`` and, if ``dtype`` is given,
        that element type.
    """
    return _made("full", "_full", shape_of(shape), {"shape": shape_of(shape), "value": val}, ctx, dtype, out)


def _made(name: str, op: str, shape: tuple[int, ...], attrs: dict[str, Any], ctx: Context | None, dtype: DTypeLike | None,
          out: NDArray | None) -> NDArray:
    """A new dense array, or ``out``, which must have the requested shape and element type."""
    if out is None:
        kind = element_type(dtype)
        check_dense(shape, kind)
        return invoke(find(op).bind({**attrs, "dtype_": kind.name}), (), None, context_of(ctx))
    require_arrays([out], f"{name}: out")
    if out.shape != shape:
        raise ShapeError(f"{name} returns shape {shape}, but out has shape {out.shape}.", hint="they must be equal.")
    if dtype is not None and element_type(dtype) != out.dtype:
        raise DTypeError(f"{name} returns {element_type(dtype)}, but out holds {out.dtype}.", hint="leave out dtype=.")
    return invoke(find(op).bind({**attrs, "dtype_": out.dtype.name}), (), out, out.context)


def _out_of(name: str, keywords: dict[str, Any]) -> Any:
    """``out`` among the further arguments of a function that MXNet declares with ``**kwargs``.

    ``name`` and hidden attributes, such as the ``__layout__`` that cells describe their states with, have no effect.
    """
    out, _ = keywords.pop("out", None), keywords.pop("name", None)
    odd = {key: value for key, value in keywords.items() if not (key.startswith("__") and key.endswith("__"))}
    no_more(name, odd, ("shape", "ctx", "dtype", "out", "name"))
    return out


@strict
def zeros(shape: ShapeLike, ctx: Context | None = None, dtype: DTypeLike = None, stype: str | None = None,
          **kwargs: object) -> NDArray:
    """An array of zeros; a sparse one stores nothing.

    Parameters
    ----------
    shape : int or tuple of int
    ctx : Context, optional
    dtype : optional
        float32 by default.
    stype : {"default", "row_sparse", "csr"}, optional
    out : NDArray, optional
        Dense array that is filled and returned instead of a new one.
    """
    out = _out_of("zeros", kwargs)
    if stype not in (None, "default"):
        if out is not None:
            raise ArgumentError(f"zeros takes no out= for {stype} arrays.", hint="out[:] = 0 makes any array zero.")
        return sparse_creation.zeros(str(stype), shape, ctx, dtype)
    sizes = shape_of(shape)
    return _made("zeros", "_full", sizes, {"shape": sizes, "value": 0.0}, ctx, dtype, out)


@strict
def empty(shape: ShapeLike, ctx: Context | None = None, dtype: DTypeLike = None, stype: str | None = None) -> NDArray:
    """An array whose values are yet to be written; they start as zeros."""
    return zeros(shape, ctx, dtype, stype)


@strict
def ones(shape: ShapeLike, ctx: Context | None = None, dtype: DTypeLike = None, **kwargs: object) -> NDArray:
    """An array of ones; with ``out=``, that array filled with ones."""
    sizes = shape_of(shape)
    return _made("ones", "_full", sizes, {"shape": sizes, "value": 1.0}, ctx, dtype, _out_of("ones", kwargs))


@strict
def arange(start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool | None = None,
           ctx: Context | None = None, dtype: DTypeLike = None) -> NDArray:
    """Evenly spaced values from ``start`` up to, not including, ``stop``; each ``repeat`` times.

    ``infer_range`` is an argument of MXNet that has no effect, there or here.
    """
    start, stop = (0, start) if stop is None else (start, stop)
    call = find("_arange").bind({"start": start, "stop": stop, "step": step, "repeat": repeat,
                                 "dtype_": element_type(dtype).name})
    return invoke(call, (), None, context_of(ctx))


@strict
def linspace(start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None,
             dtype: DTypeLike = None) -> NDArray:
    """``num`` evenly spaced values from ``start`` to ``stop``, which is among them unless ``endpoint=False``."""
    if num < 0:
        raise ShapeError(expected("num", "at least 0", num), hint="num is the number of values.")
    call = find("_linspace").bind({"start": start, "stop": stop, "num": num, "endpoint": endpoint,
                                   "dtype_": element_type(dtype).name})
    return invoke(call, (), None, context_of(ctx))


@strict
def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: DTypeLike = None,
        **kwargs: object) -> NDArray:
    """An N x M matrix (N x N for M=0) with ones on the diagonal ``k`` and zeros elsewhere; with ``out=``, in that array."""
    rows, columns = shape_of(N)[0], shape_of(M)[0]
    return _made("eye", "_eye", (rows, columns or rows), {"N": rows, "M": columns, "k": k}, ctx, dtype, _out_of("eye", kwargs))


def waitall() -> None:
    """Wait until all work is done; on a CPU this is the case when an operator returns.

    Raises
    ------
    Errors of the device, such as an out-of-bounds memory access.
    """
    if "gpu" in loaded():
        for number in range(num_gpus()):
            device.wait(Context("gpu", number))


entries(globals(), __all__)
