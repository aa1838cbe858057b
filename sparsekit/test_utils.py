"""Helpers for trying things out: ``mx.test_utils``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base.context import Context, num_gpus
from .base.errors import ShapeError
from .core.dispatch import wrap
from .ndarray import array
from .ndarray.creation import context_of, shape_of
from .ops.cast import check_stype
from .random import generator
from .storage import CSR, RowSparse
from .storage.convert import counts_to_indptr

__all__ = ["almost_equal", "assert_almost_equal", "default_context", "list_gpus", "rand_ndarray", "rand_shape_2d",
           "random_arrays", "simple_forward"]


def list_gpus() -> range:
    """Numbers of the usable GPUs."""
    return range(num_gpus())


def default_context() -> Context:
    """The context that arrays are made on if nothing is said."""
    return context_of(None)


def rand_shape_2d(dim0: int = 10, dim1: int = 10) -> tuple[int, int]:
    """A random shape of at most these sizes."""
    return int(generator().integers(1, dim0 + 1)), int(generator().integers(1, dim1 + 1))


def rand_ndarray(shape: Any, stype: str = "default", density: float | None = None, dtype: Any = None,
                 ctx: Context | None = None, rng: Any = None, **_more: Any) -> Any:
    """An array of random values: dense from -1 to 1, sparse from 0 to 1.

    Parameters
    ----------
    shape : tuple of int
    stype : {"default", "csr", "row_sparse"}
    density : float
        Share of the values (csr) or rows (row_sparse) that are stored; drawn at random if left out.
        A csr array of a million columns takes memory for its stored values only.
    rng : int, Generator or None
    """
    shape, draw, dtype = shape_of(shape), generator(rng), np.dtype(dtype or np.float32)
    if check_stype(stype) == "default":
        return array(draw.uniform(-1.0, 1.0, shape), ctx, dtype)
    density = float(draw.random()) if density is None else density
    if not 0 <= density <= 1:
        raise ShapeError(f"density={density} is no share.", hint="it lies between 0 and 1.")
    store = _random_csr(draw, shape, density, dtype) if stype == "csr" else _random_rows(draw, shape, density, dtype)
    return wrap(store, Context("cpu", 0)).as_in_context(context_of(ctx))


def _nonzero(draw: np.random.Generator, shape: Any, dtype: Any) -> Any:
    """Values in (0, 1]."""
    return (1 - draw.random(shape)).astype(dtype)


def _random_csr(draw: np.random.Generator, shape: tuple[int, ...], density: float, dtype: Any) -> CSR:
    if len(shape) != 2:
        raise ShapeError(f"A csr array has two dimensions, not shape {shape}.", hint="give (rows, columns).")
    total = shape[0] * shape[1]
    places = np.sort(draw.choice(total, round(total * density), replace=False, shuffle=False))
    row, column = np.divmod(places, max(1, shape[1]))
    return CSR(_nonzero(draw, places.shape[0], dtype), column, counts_to_indptr(row, shape[0]), shape, check=False)


def _random_rows(draw: np.random.Generator, shape: tuple[int, ...], density: float, dtype: Any) -> RowSparse:
    rows = np.flatnonzero(draw.random(shape[0]) < density)
    return RowSparse(_nonzero(draw, (rows.shape[0], *shape[1:]), dtype), rows, shape, check=False)


def random_arrays(*shapes: Any) -> Any:
    """Arrays of numpy with normally distributed float32 values: one for one shape, else a list."""
    made = [generator().standard_normal(shape, np.float32) for shape in shapes]
    made = [np.asarray(one, np.float32) for one in made]
    return made[0] if len(made) == 1 else made


def simple_forward(sym: Any, ctx: Context | None = None, is_train: bool = False, **inputs: Any) -> Any:
    """What a symbol gives for these arrays, as an array of numpy, or a list for several outputs."""
    executor = sym.bind(ctx or default_context(), args={name: array(value) for name, value in inputs.items()})
    outputs = [output.asnumpy() for output in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def almost_equal(a: Any, b: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False) -> bool:
    """Whether two arrays of numpy are equal within a tolerance: 1e-5 of ``b``, and 1e-20."""
    return bool(np.allclose(a, b, rtol=1e-5 if rtol is None else rtol, atol=1e-20 if atol is None else atol, equal_nan=equal_nan))


def assert_almost_equal(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-20) -> None:
    """Raise AssertionError unless two arrays agree to tolerance."""
    left, right = (value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value) for value in (a, b))
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol)
