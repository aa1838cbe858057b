"""The part of ``mx.test_utils`` that only tests use: comparisons, random arrays, and checks of symbols by finite differences."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.context import Context, current_context, set_default
from ..base.errors import ArgumentError, DTypeError, ParameterError, ShapeError, StorageTypeError
from ..base.scoped import Scoped
from ..ndarray import NDArray
from ..random import generator
from ..symbol import Symbol
from ..symbol import make_loss as _make_loss
from ..symbol import var as _variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from ..base.types import Array, DType, DTypeLike, ShapeLike
    from ..module.types import Requests
    from ..optimizer import Optimizer
    from ..symbol.executor import Executor
    from .types import Arrays, Tolerance

__all__ = [
    "almost_equal", "assert_allclose", "assert_almost_equal", "assert_almost_equal_ignore_nan", "assert_almost_equal_with_err",
    "assert_exception", "assign_each", "assign_each2", "check_consistency", "check_numeric_gradient", "check_symbolic_backward",
    "check_symbolic_forward", "collapse_sum_like", "compare_ndarray_tuple", "compare_optimizer", "create_2d_tensor",
    "create_sparse_array", "create_sparse_array_zd", "create_vector", "current_context", "default_atols", "default_dtype",
    "default_numeric_eps", "default_rtols", "discard_stderr", "effective_dtype", "environment", "get_atol", "get_etol",
    "get_identity_mat", "get_identity_mat_batch", "get_rtol", "get_tolerance", "get_tols", "mean_check", "np_reduce",
    "numeric_grad", "rand_coord_2d", "rand_shape_3d", "rand_shape_nd", "rand_sparse_ndarray", "random_sample",
    "random_uniform_arrays", "retry", "same", "same_array", "same_symbol_structure", "set_default_context",
    "shuffle_csr_column_indices", "var_check",
]

_EXACT = dict.fromkeys(map(np.dtype, ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")), 0)


def set_default_context(ctx: Context) -> None:
    """Set the default context of the calling thread, which applies outside of ``with`` blocks."""
    set_default(ctx)


# tolerances


def default_dtype() -> type[np.float32]:
    """The default element type of arrays: float32."""
    return np.float32


def default_rtols() -> dict[Any, float]:
    """Relative tolerances by element type."""
    return {np.dtype(np.float16): 1e-2, np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-5, **_EXACT}


def default_atols() -> dict[Any, float]:
    """Absolute tolerances by element type."""
    return {np.dtype(np.float16): 1e-1, np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-20, **_EXACT}


def default_numeric_eps() -> dict[Any, float]:
    """Steps of finite differences by element type: powers of two."""
    return {np.dtype(np.float16): 1 / 64, np.dtype(np.float32): 1 / 512, np.dtype(np.float64): 1 / 16384}


def effective_dtype(dat: NDArray | Array) -> DType:
    """The element type that determines the tolerance."""
    return np.dtype(dat.dtype)


def get_tolerance(dat: NDArray | Array, tol: Tolerance, default_tol: Mapping[Any, float]) -> float:
    """``tol`` if it is a number; else the tolerance of the array's element type in ``tol`` or ``default_tol``."""
    if isinstance(tol, (int, float)):
        return tol
    dtype = effective_dtype(dat)
    return float((tol or {}).get(dtype, default_tol[dtype]))


def get_tols(x: object, y: object, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """The relative and the absolute tolerance for two arrays: for each, the larger one of both arrays."""
    pair: list[Any] = [array if hasattr(array, "dtype") else np.array(array) for array in (x, y)]
    return (max(get_tolerance(array, rtol, default_rtols()) for array in pair),
            max(get_tolerance(array, atol, default_atols()) for array in pair))


def get_rtol(rtol: float | None = None, dtype: DTypeLike = np.float64) -> float:
    """``rtol``, by default the relative tolerance of ``dtype``."""
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: DTypeLike = np.float64) -> float:
    """``atol``, by default the absolute tolerance of ``dtype``."""
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """``etol``, the fraction of elements that may differ; 0 by default."""
    return 0 if etol is None else etol


# comparisons


def _values(array: object) -> Array:
    return array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)


def same(a: npt.ArrayLike, b: npt.ArrayLike) -> bool:
    """Whether two numpy arrays have the same shape and elements."""
    return np.array_equal(a, b)


def almost_equal(a: npt.ArrayLike, b: npt.ArrayLike, rtol: float | None = None, atol: float | None = None,
                 equal_nan: bool = False, use_broadcast: bool = True) -> bool:
    """Whether two numpy arrays are equal within tolerances, by default ``rtol=1e-5`` and ``atol=1e-20``."""
    if not use_broadcast:
        _check_shapes(a, b)
    return bool(np.allclose(a, b, rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan))


def _check_shapes(a: Any, b: Any) -> None:  # Any: arrays of either library
    if a.shape != b.shape:
        raise AssertionError(f"a.shape = {a.shape} and b.shape = {b.shape} are not equal")


def assert_almost_equal(a: object, b: object, rtol: Tolerance = None, atol: Tolerance = None, names: tuple[str, str] = ("a", "b"),
                        equal_nan: bool = False, use_broadcast: bool = True, mismatches: tuple[int, int] = (10, 10)) -> None:
    """Raise AssertionError unless two arrays are equal within tolerances.

    Parameters
    ----------
    a, b : NDArray, numpy array or number
    rtol, atol : float or dict, optional
        Tolerances, or dicts of them by element type; by default those of the less precise type.
    names : tuple of str
        Names of the arrays in the message.
    equal_nan : bool
        Whether NaN equals NaN.  Default False.
    use_broadcast : bool
        Whether shapes may broadcast.  Default True.
    mismatches : tuple of int
        Maximum number of elements in the message; the second number has no effect.
    """
    if not use_broadcast:
        _check_shapes(a, b)
    rtol, atol = get_tols(a, b, rtol, atol)
    _agree(_values(a), _values(b), rtol, atol, 0, names, equal_nan, mismatches[0])


def _agree(left: Array, right: Array, rtol: float, atol: float, share: float, names: tuple[str, str], equal_nan: bool,
           most: int) -> None:
    """Raise AssertionError with the largest differences if more than the fraction ``share`` of the elements differ."""
    equal = np.isclose(left, right, rtol=rtol, atol=atol, equal_nan=equal_nan)
    wrong = np.count_nonzero(~equal)
    if wrong <= share * equal.size:
        return
    left, right = np.broadcast_arrays(left, right)
    with np.errstate(all="ignore"):
        error = np.where(equal, 0, np.abs(left.astype(float) - right) / (atol + rtol * np.abs(right.astype(float)) + 1e-20))
    worst = np.argsort(-np.nan_to_num(error, nan=np.inf), axis=None)[:min(most, wrong)]
    lines = [f"at {tuple(map(int, np.unravel_index(place, error.shape)))}: {names[0]}={left.flat[place]:.8g}, "
             f"{names[1]}={right.flat[place]:.8g}" for place in worst]
    raise AssertionError(f"{wrong} of {equal.size} elements of {names[0]} and {names[1]} differ by more than rtol={rtol}, "
                         f"atol={atol}:\n" + "\n".join(lines))


def assert_allclose(a: object, b: object, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """Raise AssertionError unless two arrays are equal within tolerances, as ``numpy.testing.assert_allclose``."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(a: object, b: object, rtol: Tolerance = None, atol: Tolerance = None, etol: float | None = None,
                                 names: tuple[str, str] = ("a", "b"), equal_nan: bool = False,
                                 mismatches: tuple[int, int] = (10, 10)) -> None:
    """As ``assert_almost_equal``, but the fraction ``etol`` of the elements may differ."""
    rtol, atol = get_tols(a, b, rtol, atol)
    _agree(_values(a), _values(b), rtol, atol, get_etol(etol), names, equal_nan, mismatches[0])


def assert_almost_equal_ignore_nan(a: object, b: object, rtol: Tolerance = None, atol: Tolerance = None,
                                   names: tuple[str, str] = ("a", "b")) -> None:
    """As ``assert_almost_equal``, but ignore elements that are NaN in either array."""
    left, right = _values(a).copy(), _values(b).copy()
    unknown = np.isnan(left) | np.isnan(right)
    left[unknown] = right[unknown] = 0
    assert_almost_equal(left, right, rtol, atol, names)


def assert_exception(f: Callable[..., Any], exception_type: type[BaseException], *args: object, **kwargs: object) -> None:
    """Raise AssertionError unless ``f(*args, **kwargs)`` raises an error of this type."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} did not raise {exception_type.__name__}")


def compare_ndarray_tuple(t1: object, t2: object, rtol: float | None = None, atol: float | None = None) -> None:
    """Raise AssertionError unless nested tuples of arrays are equal within tolerances; None equals anything."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple) and isinstance(t2, tuple):
        for first, other in zip(t1, t2, strict=False):
            compare_ndarray_tuple(first, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def compare_optimizer(opt1: Optimizer, opt2: Optimizer, shape: tuple[int, ...] | list[tuple[int, ...]], dtype: DTypeLike,
                      w_stype: str = "default", g_stype: str = "default", rtol: float = 1e-4, atol: float = 1e-5,
                      compare_states: bool = True, ntensors: int = 1) -> None:
    """Raise AssertionError unless one step of two optimizers results in the same weight and states.

    ``opt1`` updates a dense weight, and ``opt2`` a weight and gradient of the storage types ``w_stype`` and ``g_stype``.  For
    a list of ``ntensors`` shapes ``opt1`` updates one dense weight after the other, and ``opt2`` all of them in one call.
    """
    shapes = shape if isinstance(shape, list) else [shape]
    if len(shapes) != ntensors:
        raise ShapeError(f"There are {len(shapes)} shapes for {ntensors} tensors.", hint="ntensors is their number.")
    pairs = [[_dense_and_other(tensor_shape, stype, density, dtype) for tensor_shape in shapes]
             for stype, density in ((w_stype, 1.0), (g_stype, None))]
    (w1, w2), (g1, g2) = (zip(*some, strict=True) for some in pairs)
    states1 = tuple(opt1.create_state_multi_precision(place, weight) for place, weight in enumerate(w1))
    states2 = tuple(opt2.create_state_multi_precision(place, weight) for place, weight in enumerate(w2))
    if compare_states:
        compare_ndarray_tuple(states1, states2)
    for place, arguments in enumerate(zip(w1, g1, states1, strict=True)):
        opt1.update_multi_precision(place, *arguments)
    if isinstance(shape, list):
        opt2.update_multi_precision(list(range(ntensors)), list(w2), list(g2), list(states2))
    else:
        opt2.update_multi_precision(0, w2[0], g2[0], states2[0])
    if compare_states:
        compare_ndarray_tuple(states1, states2, rtol, atol)
    compare_ndarray_tuple(w1, w2, rtol, atol)


def _dense_and_other(shape: tuple[int, ...], stype: str, density: float | None, dtype: DTypeLike) -> tuple[NDArray, NDArray]:
    """The same random values as a dense array and as one of a storage type."""
    if stype == "default":
        other = nd.random.uniform(shape=shape, dtype=dtype)
    else:
        other = rand_sparse_ndarray(shape, stype, density=density, dtype=dtype)[0]
    return other.tostype("default").copy(), other


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two arrays share memory; the function temporarily changes ``array1``."""
    array1 += 1
    shared = same(array1.asnumpy(), array2.asnumpy())
    array1 -= 1
    return shared and same(array1.asnumpy(), array2.asnumpy())


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two symbols have the same graph of operators; names are ignored."""

    def written(symbol: Symbol) -> list[Any]:
        nodes = [entry._entries[0][0] for entry in symbol.get_internals()]
        numbers = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
        return [(node.written, [(numbers[source], place) for source, place in node.inputs]) for node in numbers]

    return written(sym1) == written(sym2)


# arrays


def random_uniform_arrays(*shapes: ShapeLike, **kwargs: Any) -> list[Any]:
    """Numpy arrays of these shapes, uniform from ``low`` to ``high``; the keywords are ``low``, ``high`` and ``dtype``."""
    low, high, dtype = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0), kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise ArgumentError(f"Got unexpected argument/s : {', '.join(kwargs)}", hint="pass low, high or dtype.")
    return [generator().uniform(low, high, size=shape).astype(dtype) for shape in shapes]


def random_sample(population: Iterable[Any], k: int) -> list[Any]:
    """``k`` elements without repetition, in random order."""
    items = list(population)
    return [items[place] for place in generator().permutation(len(items))[:k]]


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape of three axes with at most these sizes; at least 0 or 1, by ``allow_zero_size``."""
    return tuple(int(generator().integers(not allow_zero_size, size + 1)) for size in (dim0, dim1, dim2))


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape of ``num_dim`` axes of at most ``dim``; at least 0 or 1, by ``allow_zero_size``."""
    return tuple(int(size) for size in generator().integers(not allow_zero_size, dim + 1, size=num_dim))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Random integers in ``[x_low, x_high)`` and ``[y_low, y_high)``."""
    return int(generator().integers(x_low, x_high)), int(generator().integers(y_low, y_high))


def create_2d_tensor(rows: int, columns: int, dtype: DTypeLike = np.int64) -> NDArray:
    """A matrix in which all values of row ``i`` are ``i``."""
    return nd.array(np.repeat(np.arange(rows), columns).reshape(rows, columns), dtype=dtype)


def create_vector(size: int, dtype: DTypeLike = np.int64) -> NDArray:
    """The vector 0, 1, 2 …."""
    return nd.array(np.arange(size), dtype=dtype)


def get_identity_mat(size: int) -> NDArray:
    """The identity matrix."""
    return nd.eye(size)


def get_identity_mat_batch(size: int) -> NDArray:
    """A batch of two identity matrices, of shape (2, size, size)."""
    return nd.array(np.stack([np.identity(size)] * 2))


def assign_each(the_input: npt.ArrayLike, function: Callable[[Any], Any] | None) -> Array:
    """Apply ``function`` to each element; None copies the array."""
    the_input = np.asarray(the_input)
    return the_input.copy() if function is None else np.vectorize(function, otypes=[the_input.dtype])(the_input)


def assign_each2(input1: npt.ArrayLike, input2: npt.ArrayLike, function: Callable[[Any, Any], Any] | None) -> Array:
    """Apply ``function`` to each pair of elements; None copies the first array."""
    input1, input2 = np.asarray(input1), np.asarray(input2)
    if input1.shape != input2.shape:
        raise ShapeError(f"The arrays must have the same shape, got {input1.shape} and {input2.shape}.", hint="reshape one.")
    return input1.copy() if function is None else np.vectorize(function, otypes=[input1.dtype])(input1, input2)


def rand_sparse_ndarray(shape: Sequence[int], stype: str, density: float | None = None, dtype: DTypeLike = None,
                        distribution: str | None = None, data_init: float | None = None,
                        rsp_indices: npt.ArrayLike | None = None, modifier_func: Callable[[Any], Any] | None = None,
                        shuffle_csr_indices: bool = False, ctx: Context | None = None) -> tuple[Any, tuple[Any, ...]]:
    """Make a random sparse array; return it and its parts, (values, rows) or (row starts, columns, values).

    Parameters
    ----------
    shape : tuple of int
    stype : {"csr", "row_sparse"}
    density : float, optional
        Fraction of the elements or rows that are stored; random by default.
    dtype : dtype, optional
        float32 by default.
    distribution : {"uniform", "powerlaw"}, optional
        Of csr arrays.  With ``"powerlaw"`` each row stores about twice as many elements as the row before, from its first
        column on, until ``density`` is used up; the rows after it store one element each.
    data_init : float, optional
        Value of all stored elements; random by default.
    rsp_indices : sequence of int, optional
        Rows to store, instead of random ones.
    modifier_func : callable, optional
        Function to apply to each stored value.
    shuffle_csr_indices : bool
        Has no effect: the columns of each row of a csr array are sorted.
    ctx : Context, optional
    """
    if distribution not in (None, "uniform", "powerlaw"):
        raise ArgumentError(f"distribution must be 'uniform' or 'powerlaw', got {distribution!r}.", hint="leave it out.")
    draw = generator()
    density = draw.random() if density is None else density
    if not 0 <= density <= 1:
        raise ShapeError(f"density must be between 0 and 1, got {density}.", hint="pass the fraction to store.")
    dtype = np.dtype(default_dtype() if dtype is None else dtype)

    def drawn(wanted: tuple[int, ...]) -> Array:
        values = (draw.random(wanted) if data_init is None else np.full(wanted, data_init)).astype(dtype)
        return values if modifier_func is None else assign_each(values, modifier_func)

    if stype == "row_sparse":
        rows = np.asarray(rsp_indices) if rsp_indices is not None else np.flatnonzero(draw.random(shape[0]) < density)
        values = drawn((len(rows), *shape[1:]))
        return nd.sparse.row_sparse_array((values, rows), shape=tuple(shape), dtype=dtype, ctx=ctx), (values, rows)
    if stype != "csr":
        raise StorageTypeError(f"stype must be 'csr' or 'row_sparse', got {stype!r}.", hint="use nd.array for dense arrays.")
    columns, starts = _doubling(shape[0], shape[1], density) if distribution == "powerlaw" else _scattered(shape, density)
    matrix = nd.sparse.csr_matrix((drawn((len(columns),)), columns, starts), shape=tuple(shape), dtype=dtype, ctx=ctx)
    return matrix, (matrix.indptr, matrix.indices, matrix.data)


def _scattered(shape: Sequence[int], density: float) -> tuple[Array, Array]:
    """Columns and row starts of elements anywhere in a matrix."""
    stored = generator().random(tuple(shape)) < density
    return np.nonzero(stored)[1], np.concatenate([[0], np.cumsum(stored.sum(axis=1))])


def _doubling(rows: int, columns: int, density: float) -> tuple[Array, Array]:
    """Columns and row starts of rows that begin with 2, 4, 8 … elements as long as there are some, and with one behind that."""
    total = int(rows * columns * density)
    extra = np.cumsum(np.minimum(columns, 2 ** np.minimum(np.arange(1, rows + 1), 62)) - 1)
    if total < 2 * rows or extra[-1] < total - rows:
        raise ShapeError(f"A power law stores {2 * rows} to {rows + extra[-1]} elements in a matrix of shape {(rows, columns)}, "
                         f"got {total}.", hint="choose another density.")
    starts = np.concatenate([[0], np.arange(1, rows + 1) + np.minimum(extra, total - rows)])
    return np.arange(total) - np.repeat(starts[:-1], np.diff(starts)), starts


def create_sparse_array(shape: Sequence[int], stype: str, data_init: float | None = None,
                        rsp_indices: npt.ArrayLike | None = None, dtype: DTypeLike = None,
                        modifier_func: Callable[[Any], Any] | None = None, density: float = 0.5,
                        shuffle_csr_indices: bool = False) -> NDArray:
    """Make a random sparse array; the arguments are those of ``rand_sparse_ndarray``."""
    rows = None if rsp_indices is None else np.sort(np.asarray(rsp_indices))
    array: NDArray = rand_sparse_ndarray(shape, stype, density, dtype, None, data_init, rows, modifier_func)[0]
    return array


def create_sparse_array_zd(shape: Sequence[int], stype: str, density: float, data_init: float | None = None,
                           rsp_indices: npt.ArrayLike | None = None, dtype: DTypeLike = None,
                           modifier_func: Callable[[Any], Any] | None = None, shuffle_csr_indices: bool = False) -> NDArray:
    """As ``create_sparse_array``, but a row_sparse array stores only the rows of ``rsp_indices``."""
    density = 0.0 if stype == "row_sparse" else density
    return create_sparse_array(shape, stype, data_init, rsp_indices, dtype, modifier_func, density)


def shuffle_csr_column_indices(csr: Any) -> None:
    """Shuffle the column numbers within each row of a scipy csr matrix, in place."""
    for start, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        generator().shuffle(csr.indices[start:end])


def np_reduce(dat: Array, axis: int | Sequence[int] | None, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> Array:
    """Reduce an array with a numpy function along one, several or all axes."""
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    places = sorted(place % dat.ndim for place in axes)
    result = dat
    for place in reversed(places):
        result = numpy_reduce_func(result, axis=place)
    return result.reshape([1 if place in places else size for place, size in enumerate(dat.shape)]) if keepdims else result


def collapse_sum_like(a: Array, shape: tuple[int, ...]) -> Array:
    """Sum an array over axes to ``shape``, which must broadcast to the shape of the array."""
    leading = a.ndim - len(shape)
    axes = (*range(leading), *(leading + place for place, size in enumerate(shape) if size != a.shape[leading + place]))
    result: Array = np.sum(a, axis=axes).reshape(shape)
    return result


# checks of symbols


def _arrays(names: list[str], values: Arrays, dtype: DTypeLike, ctx: Context, what: str) -> dict[str, Any]:
    """A dict of arrays by name, from arrays in order or by name."""
    if isinstance(values, Mapping):
        if set(values) != set(names):
            raise ParameterError(f"Symbol {what} and keys of the given location do not match: the symbol has {sorted(names)}, "
                                 f"the location has {sorted(values)}.", hint="pass a value for each name.")
        by_name = {name: values[name] for name in names}
    else:
        by_name = dict(zip(names, values, strict=True))
    return {name: nd.array(value, ctx, value.dtype if dtype == "asnumpy" else dtype) if isinstance(value, np.ndarray) else value
            for name, value in by_name.items()}


def _by_name(names: list[str], values: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    return dict(values) if isinstance(values, Mapping) else dict(zip(names, values, strict=False))


def check_symbolic_forward(sym: Symbol, location: Arrays, expected: Arrays, rtol: Tolerance = None,
                           atol: Tolerance = None, aux_states: Arrays | None = None, ctx: Context | None = None,
                           equal_nan: bool = False, dtype: DTypeLike = np.float32) -> list[NDArray]:
    """Raise AssertionError unless the outputs of a symbol are as expected; return the outputs.

    Parameters
    ----------
    sym : Symbol
    location : list or dict of arrays
        The arguments.
    expected : list or dict of arrays
        The expected outputs.
    rtol, atol : float, optional
    aux_states : list or dict of arrays, optional
    ctx : Context, optional
    equal_nan : bool
    dtype : dtype or "asnumpy"
        Element type of the arguments; ``"asnumpy"`` keeps the type of each array.
    """
    ctx = ctx or current_context()
    arguments = _arrays(sym.list_arguments(), location, dtype, ctx, "arguments")
    states = _arrays(sym.list_auxiliary_states(), aux_states or [], dtype, ctx, "auxiliary states")
    executor = sym.bind(ctx, arguments, aux_states=states)
    outputs = executor.forward(is_train=False)
    for name, output in zip(sym.list_outputs(), outputs, strict=True):
        wanted = _by_name(sym.list_outputs(), expected)[name]
        assert_almost_equal(wanted, output, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"), equal_nan)
    return list(outputs)


def check_symbolic_backward(sym: Symbol, location: Arrays, out_grads: Arrays | None, expected: Arrays,
                            rtol: Tolerance = None, atol: Tolerance = None, aux_states: Arrays | None = None,
                            grad_req: Requests = "write", ctx: Context | None = None,
                            grad_stypes: Mapping[str, str] | None = None, equal_nan: bool = False,
                            dtype: DTypeLike = np.float32) -> dict[str, NDArray]:
    """Raise AssertionError unless the gradients of a symbol are as expected; return the gradients.

    Parameters
    ----------
    sym : Symbol
    location : list or dict of arrays
        The arguments.
    out_grads : list or dict of arrays, optional
        Head gradients; ones by default.
    expected : list or dict of arrays
        The expected gradients.
    rtol, atol : float, optional
    aux_states : list or dict of arrays, optional
    grad_req : str, list or dict
        ``"write"``, ``"add"`` (to random initial gradients) or ``"null"``.
    ctx : Context, optional
    grad_stypes : dict, optional
        Storage types of gradients by name.
    equal_nan : bool
    dtype : dtype or "asnumpy"
    """
    ctx = ctx or current_context()
    names = sym.list_arguments()
    arguments = _arrays(names, location, dtype, ctx, "arguments")
    states = _arrays(sym.list_auxiliary_states(), aux_states or [], dtype, ctx, "auxiliary states")
    wanted = {name: _values(value) for name, value in _by_name(names, expected).items()}
    requests = dict.fromkeys(names, grad_req) if isinstance(grad_req, str) else _by_name(names, grad_req)
    before = {name: generator().normal(size=value.shape) for name, value in wanted.items()}
    grads = {}
    for name, value in before.items():
        gradient = nd.array(value, ctx, wanted[name].dtype if dtype == "asnumpy" else dtype)
        stype = (grad_stypes or {}).get(name) or "default"
        grads[name] = gradient if stype == "default" else nd.zeros(value.shape, ctx, gradient.dtype, stype=stype)
    executor = sym.bind(ctx, arguments, args_grad=grads, grad_req={name: requests[name] if name in grads else "null"
                                                                   for name in names}, aux_states=states)
    executor.forward(is_train=True)
    heads = None if out_grads is None else [
        nd.array(value, ctx, value.dtype if dtype == "asnumpy" else dtype) if isinstance(value, np.ndarray) else value
        for value in _by_name(sym.list_outputs(), out_grads).values()]
    executor.backward(heads)
    for name, value in wanted.items():
        computed, labels = grads[name].asnumpy(), (f"EXPECTED_{name}", f"BACKWARD_{name}")
        if requests[name] == "add":
            computed = computed - (before[name] if grads[name].stype == "default" else 0)
        assert_almost_equal(before[name] if requests[name] == "null" else value, computed.astype(grads[name].dtype), rtol, atol,
                            labels, equal_nan)
    return grads


def numeric_grad(executor: Executor, location: Mapping[str, Any], aux_states: Mapping[str, Any] | None = None, eps: float = 1e-4,
                 use_forward_train: bool = True, dtype: DTypeLike = np.float32) -> dict[str, Any]:
    """Gradients of the sum of the first output of an executor by central differences; a dict of numpy arrays."""

    def total(name: str, value: Array) -> float:
        array = executor.arg_dict[name]
        array[:] = nd.array(value, dtype=dtype).tostype(array.stype)
        for key, state in (aux_states or {}).items():
            executor.aux_dict[key][:] = state
        return float(executor.forward(is_train=use_forward_train)[0].asnumpy().sum(dtype=np.float64))

    slopes = {}
    for name, initial in location.items():
        value = np.array(initial)
        slope = slopes[name] = np.zeros(value.shape, dtype)
        for place in np.ndindex(value.shape) if value.dtype.kind == "f" else ():
            centre = value[place]
            value[place] = centre + eps / 2
            above = total(name, value)
            value[place] = centre - eps / 2
            slope[place] = (above - total(name, value)) / eps
            value[place] = centre
        total(name, value)
    return slopes


def check_numeric_gradient(sym: Symbol, location: Arrays, aux_states: Arrays | None = None,
                           numeric_eps: float | None = None, rtol: Tolerance = None, atol: Tolerance = None,
                           grad_nodes: Sequence[str] | Mapping[str, str] | None = None, use_forward_train: bool = True,
                           ctx: Context | None = None, grad_stype_dict: Mapping[str, str] | None = None,
                           dtype: DTypeLike = np.float32) -> None:
    """Raise AssertionError unless the gradients of a symbol equal central differences.

    The function differentiates the sum of the output multiplied by random weights.

    Parameters
    ----------
    sym : Symbol
        A symbol with one output.
    location : list or dict of arrays
        The arguments.
    aux_states : list or dict of arrays, optional
    numeric_eps : float, optional
        Step of the differences; by default that of the element type.
    rtol, atol : float, optional
    grad_nodes : list of str or dict, optional
        Arguments whose gradients are compared, or a dict of their ``grad_req``; all by default.
    use_forward_train : bool
        Whether to compute the differences in training mode.  Default True.
    ctx : Context, optional
    grad_stype_dict : dict, optional
        Storage types of gradients by name.
    dtype : dtype
    """
    if np.dtype(dtype).kind != "f":
        raise DTypeError(f"dtype must be a float type, got {dtype}.", hint="pass, for example, float64.")
    ctx = ctx or current_context()
    arguments = _arrays(sym.list_arguments(), location, dtype, ctx, "arguments")
    states = _arrays(sym.list_auxiliary_states(), aux_states or [], dtype, ctx, "auxiliary states")
    requests = dict.fromkeys(sym.list_arguments(), "write") if grad_nodes is None else (
        dict(grad_nodes) if isinstance(grad_nodes, Mapping) else dict.fromkeys(grad_nodes, "write"))
    shape = sym.infer_shape(**{name: array.shape for name, array in arguments.items()})[1][0]
    weighted = _make_loss(sym * _variable("__random_proj"))
    values = {name: array.asnumpy() for name, array in arguments.items()}
    before = {name: generator().normal(0, 0.01, arguments[name].shape) for name in requests}
    grads = {}
    for name, value in before.items():
        stype = (grad_stype_dict or {}).get(name, "default")
        grads[name] = nd.array(value, ctx, dtype) if stype == "default" else nd.zeros(value.shape, ctx, dtype, stype=stype)
    arguments["__random_proj"] = nd.array(generator().random(shape) + 0.1, ctx, dtype)
    executor = weighted.bind(ctx, arguments, args_grad=grads, aux_states=states,
                             grad_req={name: requests.get(name, "null") for name in arguments})
    kept = {name: array.asnumpy() for name, array in states.items()}
    output = executor.forward(is_train=True)[0]
    executor.backward()
    computed = {name: grads[name].asnumpy() for name in requests}
    step = get_tolerance(output, numeric_eps, default_numeric_eps())
    slopes = numeric_grad(executor, values, kept, step, use_forward_train, dtype)
    for name, request in requests.items():
        gradient = computed[name] - (before[name] if request == "add" and grads[name].stype == "default" else 0)
        assert_almost_equal(before[name] if request == "null" else slopes[name], gradient.astype(dtype), rtol, atol,
                            (f"NUMERICAL_{name}", f"BACKWARD_{name}"))


def check_consistency(sym: Symbol | Sequence[Symbol], ctx_list: list[dict[str, Any]], scale: float = 1.0,
                      grad_req: Requests = "write", arg_params: Mapping[str, Any] | None = None,
                      aux_params: Mapping[str, Any] | None = None, rtol: Tolerance = None, atol: Tolerance = None,
                      raise_on_err: bool = True, ground_truth: Mapping[str, Any] | None = None, equal_nan: bool = False,
                      use_uniform: bool = False, rand_type: DTypeLike = np.float64) -> dict[str, Any]:
    """Raise AssertionError unless outputs and gradients are equal in all contexts and element types, within tolerances.

    Parameters
    ----------
    sym : Symbol or list of Symbol
    ctx_list : list of dict
        Arguments of ``simple_bind`` for each run: ``ctx``, shapes and ``type_dict``.
    scale : float
        Standard deviation of the random arguments; with ``use_uniform``, their range is ±0.92 of it.
    grad_req : str, list or dict
    arg_params, aux_params : dict, optional
        Arguments and auxiliary states.  Missing arguments are random, and missing states are 0.
    rtol, atol : float or dict, optional
    raise_on_err : bool
        Raise if there is a difference, instead of printing it.  Default True.
    ground_truth : dict, optional
        Outputs and gradients by name; by default those of the most precise element type.
    equal_nan : bool
    use_uniform : bool
        Draw from a uniform instead of a normal distribution.  Default False.
    rand_type : dtype
        Element type to which random arguments are rounded.

    Returns
    -------
    dict
        Outputs and gradients with which all others are compared.
    """
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    executors = [symbol.simple_bind(grad_req=grad_req, **dict(where)) for symbol, where in zip(symbols, ctx_list, strict=True)]
    draw: Any = generator()
    values = {}
    for name, array in executors[0].arg_dict.items():
        drawn = draw.uniform(-0.92 * scale, 0.92 * scale, array.shape) if use_uniform else draw.normal(0, scale, array.shape)
        values[name] = (arg_params or {}).get(name, drawn.astype(rand_type))
    for executor in executors:
        for name, array in executor.arg_dict.items():
            array[:] = values[name]
        for name, array in executor.aux_dict.items():
            array[:] = (aux_params or {}).get(name, 0)
        for array in executor.grad_arrays if grad_req == "add" else ():
            array[:] = 0
    results: list[dict[str, Any]] = []
    for executor in executors:
        arrays = dict(zip(symbols[0].list_outputs(), executor.forward(is_train=grad_req != "null"), strict=True))
        results.append(arrays)
    least = min((result.dtype for arrays in results for result in arrays.values()), key=lambda dtype: np.dtype(dtype).itemsize)
    if grad_req != "null":
        heads = [output.astype(least).asnumpy() for output in results[0].values()]
        for executor, arrays in zip(executors, results, strict=True):
            executor.backward([nd.array(head, executor._ctx, output.dtype)
                               for head, output in zip(heads, arrays.values(), strict=True)])
            arrays.update({name: grad for name, grad in executor.grad_dict.items() if grad is not None})
    truth = dict(ground_truth or max(results, key=lambda arrays: next(iter(arrays.values())).dtype.itemsize))
    for place, arrays in enumerate(results):
        for name in truth:
            try:
                assert_almost_equal(arrays[name], truth[name], rtol, atol, (f"{name} of {place}", "the most precise"), equal_nan)
            except AssertionError as error:
                if raise_on_err:
                    raise
                print(error)
    return truth


# random numbers, the environment


def mean_check(generator: Callable[[int], Any], mu: float, sigma: float, nsamples: int = 1_000_000) -> bool:
    """Whether the mean of samples differs from ``mu`` by less than three standard errors."""
    return bool(abs(np.mean(_values(generator(nsamples))) - mu) < 3 * sigma / np.sqrt(nsamples))


def var_check(generator: Callable[[int], Any], sigma: float, nsamples: int = 1_000_000) -> bool:
    """Whether the variance of normal samples differs from ``sigma`` squared by less than three standard errors."""
    spread = np.sqrt(2 * sigma ** 4 / (nsamples - 1))
    return bool(abs(np.var(_values(generator(nsamples)), ddof=1) - sigma ** 2) < 3 * spread)


def retry(n: int) -> Callable[[Any], Any]:
    """A decorator that runs a random test up to ``n`` times, until it does not raise AssertionError."""
    if n < 1:
        raise ArgumentError(f"n must be at least 1, got {n}.", hint="pass the maximum number of runs.")

    def decorated(test: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(test)
        def wrapper(*args: object, **kwargs: object) -> None:
            for run in range(n):
                try:
                    test(*args, **kwargs)
                    return
                except AssertionError:
                    if run == n - 1:
                        raise

        return wrapper

    return decorated


class environment(Scoped):
    """``with environment(name, value):`` or ``with environment({name: value}):`` sets environment variables; None removes one."""

    def __init__(self, *args: Any) -> None:  # Any: a name and a value, or a dict of them
        self._wanted: dict[str, str | None] = dict(args[0]) if len(args) == 1 else {args[0]: args[1]}

    def _before(self) -> dict[str, str | None]:
        return {name: os.environ.get(name) for name in self._wanted}

    def _enter(self, before: dict[str, str | None]) -> None:
        self._put(self._wanted)

    def _leave(self, before: dict[str, str | None], kind: type[BaseException] | None) -> None:
        self._put(before)

    @staticmethod
    def _put(values: Mapping[str, str | None]) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """A context manager that discards output to the stderr of the process."""
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError):  # stderr is not a file, for example in a test runner
        yield
        return
    kept = os.dup(number)
    try:
        with open(os.devnull, "w", encoding="utf-8") as nothing:
            os.dup2(nothing.fileno(), number)
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)
