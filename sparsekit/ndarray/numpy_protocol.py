"""numpy's functions on arrays of this library: they run its operators, and never make a sparse array dense."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arguments import unmasked
from ..base.context import Context
from ..base.errors import ConversionError, DTypeError, GradientError, ShapeError
from ..core import hooks
from ..core.arrays import wrap
from ..storage.memory import handed_out
from . import arithmetic
from .arguments import is_sparse
from .functions import F

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..base.types import Array, DTypeLike
    from .ndarray import NDArray

#: Functions of numpy that are operators under another name, or under the same.  ``rint`` and ``round`` are not among them:
#: MXNet's round halves down and up, numpy's to even numbers.
UFUNCS: dict[str, str] = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "true_divide": "divide",
    "remainder": "modulo", "mod": "modulo", "power": "power", "float_power": "power", "maximum": "maximum",
    "minimum": "minimum", "equal": "equal", "not_equal": "not_equal", "greater": "greater",
    "greater_equal": "greater_equal", "less": "lesser", "less_equal": "lesser_equal", "logical_and": "logical_and",
    "logical_or": "logical_or", "logical_xor": "logical_xor",
    **{name: name for name in (
        "negative", "sign", "floor", "ceil", "trunc", "sqrt", "cbrt", "square", "reciprocal", "exp", "expm1",
        "log", "log1p", "log2", "log10", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
        "arcsinh", "arccosh", "arctanh", "degrees", "radians", "logical_not")},
    "absolute": "abs", "fabs": "abs", "rad2deg": "degrees", "deg2rad": "radians", "positive": "identity",
    "isnan": "_contrib_isnan", "isinf": "_contrib_isinf", "isfinite": "_contrib_isfinite", "hypot": "broadcast_hypot",
}


class NumpyProtocol:
    """What makes ``np.sin(x)``, ``np.ones(3) * x`` and ``np.concatenate([x, y])`` give arrays of this library.

    A function of numpy runs the operator of the same meaning, with that operator's rules: comparisons give 0 and 1
    in the array's own element type, and a fallback to dense warns as ever.  A universal function without an operator
    raises ``ConversionError``; any other function, such as ``np.allclose``, works on dense arrays as if they were
    numpy's own, and raises for sparse ones.
    """

    __slots__ = ()
    _store: Any
    _ctx: Any
    _entry: Any
    asnumpy: Callable[[], Any]
    stype: str

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> Array | None:
        """A numpy array of a dense array's values: a copy, unless ``copy=False`` requests the memory itself.

        The memory of a sparse array's indices comes read-only.

        Raises
        ------
        ConversionError
            If the array is sparse, since numpy calls this implicitly; use ``asnumpy``.
        """
        if self.stype != "default":
            raise _silent("numpy", self)
        if copy is not False:
            values = self.asnumpy()
            return values if dtype is None else values.astype(dtype, copy=False)
        if not isinstance(self._store, np.ndarray) or np.dtype(dtype or self._store.dtype) != self._store.dtype:
            raise DTypeError("The values cannot become that numpy array without a copy.", hint="leave out copy=False.")
        return handed_out(self._store, read_only=not self._store.flags.writeable)

    def __array_ufunc__(self, ufunc: Callable[..., Any], method: str, *inputs: object, out: tuple[Any, ...] | None = None,
                        **keywords: object) -> NDArray:
        """Run the operator that ``ufunc`` is here."""
        name = UFUNCS.get(ufunc.__name__)
        if method != "__call__" or keywords or (name is None and ufunc is not np.matmul):
            call = f"np.{ufunc.__name__}{'' if method == '__call__' else '.' + method}"
            arguments = f" with {', '.join(keywords)}" if keywords else ""
            raise ConversionError(f"{call}{arguments} is not defined for arrays of this library.",
                                  hint="mx.nd has its own reductions and casts; x.asnumpy() gives a numpy array.")
        target = None if out is None else out[0]
        if target is not None and not isinstance(target, NumpyProtocol):
            raise ConversionError(f"np.{ufunc.__name__} cannot write an NDArray into a {type(target).__name__}.",
                                  hint="write x = x + y, or convert the NDArray with asnumpy().")
        arrays = [operand(item, self._ctx) for item in inputs]
        if ufunc is np.matmul:
            return matmul(arrays[0], arrays[1], out=target)
        operator: Any = getattr(arithmetic, str(name), None) if len(arrays) == 2 else None
        return (operator or getattr(F, str(name)))(*arrays, out=target)

    def __array_function__(self, function: Callable[..., Any], _types: object, args: tuple[Any, ...],
                           keywords: dict[str, Any]) -> object:
        """Run the operators that a function of numpy is here."""
        name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
        own = FUNCTIONS.get(name)
        if own is not None:
            try:
                return own(*args, **keywords)
            except _Other:
                pass
        return _by_numpy(f"np.{name}", function, args, keywords)


class _Other(Exception):
    """Arguments that the operators do not have."""


def _silent(subject: str, array: NumpyProtocol) -> ConversionError:
    return ConversionError(f"{subject} would silently make a {array.stype} array of shape {array._store.shape} dense.",
                           hint="x.asnumpy() makes it dense, x.asscipy() gives a scipy matrix; functions of mx.nd accept it.")


def _by_numpy(name: str, function: Callable[..., Any], args: Iterable[object], keywords: dict[str, Any]) -> object:
    """Run numpy's own function on dense arrays, if there is no operator for it."""

    def plain(value: object) -> object:
        if isinstance(value, NumpyProtocol):
            if hooks.state.recording and value._entry is not None:
                raise GradientError(f"No gradient flows through {name}.", hint="use an operator of mx.nd, or x.detach().")
            if value.stype != "default":
                raise ConversionError(f"{name} is not defined for sparse arrays, got a {value.stype} array.",
                                      hint="x.asnumpy() makes it dense, x.asscipy() gives a scipy matrix.")
            return value.asnumpy()
        if isinstance(value, (list, tuple)):
            return type(value)(plain(item) for item in value) if type(value) in (list, tuple) else value
        return value

    if any(isinstance(item, NumpyProtocol) for item in _flat(keywords.get("out"))):
        raise ConversionError(f"{name} cannot write into an NDArray.", hint="assign its result: x[:] = ….")
    return function(*(plain(item) for item in args), **{key: plain(value) for key, value in keywords.items()})


def _flat(value: object) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def operand(value: object, ctx: Context) -> Any:
    """One input as an array of this library or a number."""
    if isinstance(value, (NumpyProtocol, int, float, np.generic)):
        return value
    if is_sparse(value):
        raise DTypeError(f"A sparse {type(value).__name__} of another library cannot be combined with arrays of this library.",
                         hint="mx.nd.array(matrix) makes a csr array of it.")
    array = np.asarray(unmasked(value))
    if array.dtype.kind not in "fiub":
        raise DTypeError(f"An array of {array.dtype} cannot be combined with arrays of this library.", hint="cast it to numbers.")
    return array[()] if array.ndim == 0 else _wrapped(array, ctx)


def _wrapped(values: object, ctx: object) -> NDArray:
    return wrap(np.ascontiguousarray(values), Context("cpu", 0)).as_in_context(ctx)


def matmul(left: Any, right: Any, out: NumpyProtocol | None = None) -> NDArray:
    """The matrix product; of three dimensions, one product for each entry of the first axis."""
    if not (hasattr(left, "ndim") and hasattr(right, "ndim") and left.ndim and right.ndim):
        raise ShapeError("matmul takes arrays, not numbers.", hint="multiply by a number with *.")
    if left.ndim <= 2 and right.ndim <= 2:
        return F.dot(left, right, out=out)
    if left.ndim == right.ndim == 3 and left.shape[0] == right.shape[0]:
        return F.batch_dot(left, right, out=out)
    raise ShapeError(f"matmul of shapes {left.shape} and {right.shape} is not supported.",
                     hint="use mx.nd.batch_dot on arrays of three dimensions.")


# functions; a parameter that is not named here is left to numpy, or refused for sparse arrays


def _reduction(name: str) -> Callable[..., Any]:
    def function(a: NDArray, axis: object = None, *arguments: object, keepdims: object = False, **others: object) -> object:
        if arguments or others or (name == "mean" and a.dtype.kind != "f"):  # MXNet's means of integers are integers
            raise _Other
        return getattr(F, name)(a, axis=axis, keepdims=bool(keepdims))

    return function


def _place(name: str) -> Callable[..., Any]:
    def function(a: NDArray, axis: object = None, *arguments: object, keepdims: object = False, **others: object) -> object:
        return _other() if arguments or others else getattr(F, name)(a, axis=axis, keepdims=bool(keepdims))

    return function


def _elementwise(name: str, *names: str) -> Callable[..., Any]:
    """An operator whose attributes ``names`` come as further arguments."""

    def function(a: object, *args: object, **keywords: object) -> object:
        attributes = {**dict(zip(names, args, strict=False)), **keywords}
        if len(args) > len(names) or attributes.keys() - set(names):
            raise _Other
        return getattr(F, name)(a, **attributes)

    return function


def _joined(name: str, attribute: str) -> Callable[..., Any]:
    def function(arrays: Sequence[object], axis: int | None = 0, **others: object) -> object:
        if others or axis is None:
            raise _Other
        ctx = next(item._ctx for item in arrays if isinstance(item, NumpyProtocol))
        return getattr(F, name)(*(operand(item, ctx) for item in arrays), **{attribute: axis})

    return function


def _dot(a: NumpyProtocol, b: object, *out: object, **others: object) -> object:
    if out or others:
        raise _Other
    ctx = (a if isinstance(a, NumpyProtocol) else b)._ctx
    left, right = operand(a, ctx), operand(b, ctx)
    if not (hasattr(left, "_store") and hasattr(right, "_store")):
        return arithmetic.multiply(left, right)
    return matmul(left, right) if max(left.ndim, right.ndim) <= 2 else _other()


def _other() -> object:
    raise _Other


def _where(condition: object, *choices: object) -> object:
    if len(choices) != 2:
        raise _Other
    ctx = next(item._ctx for item in (condition, *choices) if isinstance(item, NumpyProtocol))
    arrays = [operand(item, ctx) for item in (condition, *choices)]
    if not all(hasattr(item, "_store") and item.shape == arrays[0].shape for item in arrays):
        raise _Other
    return F.where(*arrays)


def _reshape(a: object, *args: object, order: str = "C", **keywords: object) -> object:
    shape = args[0] if args else keywords.pop("shape", keywords.pop("newshape", None))
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if order != "C" or len(args) > 1 or keywords or not sizes or not all(isinstance(size, (int, np.integer)) for size in sizes):
        raise _Other
    if any(size < -1 or size == 0 for size in sizes):  # codes of their own in reshape
        raise _Other
    return F.reshape(a, shape=tuple(int(size) for size in sizes))


def _norm(x: object, ord: object = None, axis: object = None, keepdims: bool = False) -> object:
    return F.norm(x, axis=axis, keepdims=keepdims) if ord is None else _other()


def _size(a: NDArray, axis: int | None = None) -> int:
    return int(a.size) if axis is None else int(a.shape[axis])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _reduction(name) for name in ("sum", "mean", "max", "min", "prod", "nansum", "nanprod")},
    "argmax": _place("argmax"), "argmin": _place("argmin"), "amax": _reduction("max"), "amin": _reduction("min"),
    "shape": lambda a: a.shape, "ndim": lambda a: a.ndim, "size": _size,
    "copy": _elementwise("identity"), "ones_like": _elementwise("ones_like"), "zeros_like": _elementwise("zeros_like"),
    "linalg.norm": _norm, "fix": _elementwise("fix"),
    "clip": _elementwise("clip", "a_min", "a_max"), "transpose": lambda a, axes=None: F.transpose(a, axes=axes or ()),
    "squeeze": _elementwise("squeeze", "axis"), "expand_dims": _elementwise("expand_dims", "axis"),
    "swapaxes": lambda a, axis1, axis2: F.swapaxes(a, dim1=axis1, dim2=axis2), "reshape": _reshape,
    "ravel": lambda a: F.reshape(a, shape=(-1,)), "tile": _elementwise("tile", "reps"),
    "broadcast_to": _elementwise("broadcast_to", "shape"), "concatenate": _joined("concat", "dim"),
    "stack": _joined("stack", "axis"), "dot": _dot, "where": _where,
}
