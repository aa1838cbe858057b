"""Arguments of the functions that make arrays: contexts, shapes, and values of any kind."""

from __future__ import annotations

import math
import numbers
import operator
import sys
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ..base.arguments import unmasked
from ..base.context import Context, current_context, require
from ..base.dtypes import MOST_AXES, element_type
from ..base.errors import DTypeError, ShapeError, SparsekitError, expected
from ..base.faults import is_internal
from ..base.literal import literal
from ..core import device, hooks, indices
from ..core.arrays import wrap
from ..core.graph import CustomNode
from ..storage import within_memory
from ..storage.check import check_memory
from ..storage.memory import contiguous_copy

if TYPE_CHECKING:
    from ..base.types import Array, DType, Foreign
    from ..storage.types import Store, StoreT


def context_of(ctx: Context | None) -> Context:
    """The context to create on: the one given, else the current one; it must exist."""
    return require(current_context() if ctx is None else Context(ctx))


def shape_of(shape: Any) -> tuple[int, ...]:  # Any: what is not a shape, is refused
    """A shape as a tuple of ints that are not negative; a bare number is one dimension."""
    if isinstance(shape, str):
        shape = literal(shape)
    try:
        sizes = tuple(map(operator.index, (shape,) if hasattr(shape, "__index__") and not np.ndim(shape) else shape))
    except Exception:  # raised by a user's object
        sizes = (-1,)
    if min(sizes, default=0) < 0 or max(sizes, default=0) >= 2**63 or len(sizes) > MOST_AXES:
        raise ShapeError(expected("shape", f"a tuple of at most {MOST_AXES} integers that are not negative", shape),
                         hint="shape=(2, 3), for example.")
    return sizes


def check_dense(shape: tuple[int, ...], kind: DType) -> None:
    """Raise unless a dense array of that shape and type can be made here.

    Raises
    ------
    ShapeError
        If it is larger than any memory, even with a size of 0 as in (0, 2**62).
    InsufficientMemoryError
        If it is larger than what is free.
    """
    check_memory(math.prod(shape) * kind.itemsize, f"A dense array of shape {shape}",
                 "use a sparse array, which stores no zeros.")
    if math.prod(size or 1 for size in shape) * kind.itemsize >= 2**63:
        raise ShapeError(f"A dense array of shape {shape} is larger than any memory.",
                         hint="use a sparse array, which stores no zeros.")


def to_device(values: Store, ctx: Context) -> Store:
    """A numpy array as a dense store on ``ctx``."""
    if ctx.device_type == "trace":
        return ctx.constant(values)  # type: ignore[attr-defined]
    return device.onto(values, ctx)


def on(store: object, ctx: Context | None) -> Any:
    """The array of a store of numpy arrays, on the context given, else on the current one."""
    place, here = context_of(ctx), Context("cpu", 0)
    if place.device_type == "trace":
        return wrap(place.constant(store), place)  # type: ignore[attr-defined]
    array = wrap(store, here)
    return array if place is here else array.as_in_context(place)


def brought(source: object, store: StoreT, start: int, shared: int = 0) -> StoreT:
    """The store; what was copied from the source, all but ``shared`` bytes, is noted for a recorder if ``start`` is not 0."""
    if not start or (hasattr(store, "stype") and isinstance(source, tuple) and isinstance(source[0], (int, np.integer))):
        return store  # of a shape only nothing is copied
    first: Any = source
    while isinstance(first, (tuple, list)) and first:
        first = first[0]
    library = type(first).__module__.partition(".")[0]
    place = first.context if hasattr(first, "_store") else "Python" if library == "builtins" else library
    hooks.copied(place, Context("cpu", 0), start, store.nbytes - shared)
    return store


def followed(array: Foreign, source: Foreign) -> Foreign:
    """An array with its source's place in the graph, while that is recorded: gradients pass to the source."""
    entry = getattr(source, "_entry", None)
    if entry is None or not hooks.state.recording:
        return array
    node = CustomNode(lambda gradients: [like(gradients[0], source)], (entry,), 1, array._ctx)
    return wrap(array._store, array._ctx, (node, 0))


def like(gradient: Foreign, source: Foreign) -> Foreign:
    """A gradient in the element type and on the context of its array, of any storage type."""
    gradient = gradient if gradient.dtype == source.dtype else gradient.astype(source.dtype)
    return gradient.as_in_context(source.context)


def values_of(source: object, dtype: object = None, default: object = None) -> Array:
    """A copy of the numbers as a contiguous numpy array.

    Parameters
    ----------
    source : array-like or dense NDArray
    dtype : optional
        The element type; ``default`` if left out, else the source's own, float32 for lists and plain numbers.

    Raises
    ------
    DTypeError
        If it holds anything but real numbers, or numbers that an integer type does not have.
    """
    values = numbers_of(source)
    wanted = element_type(dtype, default or (values.dtype if hasattr(source, "dtype") else "float32"))
    if dtype is None and wanted.kind == "f" and values.dtype.kind in "iu" and values.dtype.itemsize > 2 and values.size:
        _check_digits(values, wanted)
    if wanted.kind in "iu" and values.dtype != wanted:
        _check_range(values, wanted)
    try:
        with np.errstate(over="ignore"):  # 1e300 is infinite in float32, as in MXNet
            return contiguous_copy(values, wanted)
    except (ValueError, TypeError, OverflowError) as error:
        if is_internal(error, (source, dtype)):
            raise
        raise _unfit(source, str(error)) from None


def is_sparse(source: object) -> bool:
    """Whether it is a sparse array of another library, which numpy would make dense or an array of one object."""
    return (hasattr(source, "tocsr") or hasattr(source, "to_scipy_sparse") or is_sparse_frame(source)
            or is_tensor(source) is not None)


def is_tensor(source: object) -> str | None:
    """``"torch"`` or ``"jax"`` for a sparse array of that library, which nothing imports for the question; else None."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(source, getattr(torch, "Tensor", ())):
        return None if source.layout is torch.strided else "torch"  # type: ignore[attr-defined]
    sparse: Any = sys.modules.get("jax.experimental.sparse")
    kinds = tuple(getattr(sparse, name, ()) for name in ("BCOO", "BCSR"))
    return "jax" if isinstance(source, kinds) else None


def is_sparse_frame(source: Any) -> TypeGuard[Any]:
    """Whether it is pandas' data frame or series with a sparse column."""
    if type(source).__module__.partition(".")[0] != "pandas":
        return False
    kinds = source.dtypes if getattr(source, "ndim", 0) == 2 else [getattr(source, "dtype", None)]
    return any(hasattr(kind, "fill_value") for kind in kinds)


def host_values(source: Any) -> Array:
    """The values of an array of this library as a numpy array: its own memory, if that is one."""
    store = source._on_host()
    return store if isinstance(store, np.ndarray) else within_memory(store, "default")


def _unfit(source: object, why: str) -> DTypeError:
    return DTypeError(f"A {type(source).__name__} cannot become an array: {why}.",
                      hint="give nested lists of numbers of equal length, or an array of real numbers.")


def numbers_of(source: object) -> Array:
    """Convert to a numpy array of numbers, without a copy if possible; raise for text and dates."""
    try:
        values = np.asarray(host_values(source) if hasattr(source, "_store") else unmasked(source))
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:  # the last of PyTorch's tensors
        if isinstance(error, SparsekitError) and not isinstance(error, (TypeError, ValueError)):
            raise
        if is_internal(error, (source,)):
            raise
        raise _unfit(source, getattr(error, "message", str(error)).rstrip(".")) from None
    if values.dtype.kind in "US":
        values = _read_numbers(source, values)
    if values.dtype.kind not in "fiubO":
        raise DTypeError(f"Arrays must hold real numbers or integers, got {values.dtype}.",
                         hint="take real and imaginary parts apart, or map text and dates to numbers, first.")
    if values.dtype.kind == "O":
        odd = {type(item).__name__ for item in values.flat if not isinstance(item, (numbers.Number, np.generic))}
        if odd:
            raise _unfit(source, f"it holds a {min(odd)}")
    return values


def _read_numbers(source: object, texts: Array) -> Array:
    """The numbers that texts spell, as in MXNet: integers if all are."""
    for kind in (np.int64, np.float64):
        try:
            return texts.astype(kind)
        except (ValueError, OverflowError):
            continue
    raise _unfit(source, "it holds texts that are not numbers")


def _check_digits(values: Array, wanted: DType) -> None:
    """Warn of integers that are rounded in a float type that was chosen by default."""
    exact = 1 << (np.finfo(wanted).nmant + 1)
    flat = values.reshape(-1)
    if -exact <= int(flat[flat.argmin()]) and int(flat[flat.argmax()]) <= exact:
        return
    rounded = values.astype(wanted)
    changed = flat[rounded.astype(np.float64).reshape(-1) != flat]
    if changed.size:
        indices.notice("nd.array", f"An array of {values.dtype} becomes {wanted} by default, and {changed.size:,} of its numbers "
                       f"change: {changed[0]} becomes {int(wanted.type(changed[0]))}", f"pass dtype='{values.dtype}'.",
                       DTypeError)


def _check_range(values: Array, wanted: DType) -> None:
    """Raise unless all numbers, truncated to integers, fit an integer type."""
    if not values.size or values.dtype.kind not in "iuf":
        return
    low, high, limits = values.min().item(), values.max().item(), np.iinfo(wanted)
    if not (int(limits.min) - 1 < low and high < int(limits.max) + 1):
        raise DTypeError(f"Values of {wanted} must be from {limits.min} to {limits.max}, got values from {low} to {high}.",
                         hint="use a wider element type, or clip them first.")
