"""Random arrays: ``mx.random``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import rng as _rng
from .base.context import Context
from .base.rng import generator
from .core.dispatch import wrap
from .ndarray.creation import context_of, shape_of, to_device

__all__ = ["generator", "normal", "randint", "seed", "uniform"]

def seed(seed_state: int, ctx: Any = "all") -> None:
    """Restart the generator that is used where no ``rng`` is given."""
    _rng.seed(seed_state)


def _array(values: Any, ctx: Context | None) -> Any:
    place = context_of(ctx)
    return wrap(to_device(values, place), place)


def uniform(low: float = 0.0, high: float = 1.0, shape: Any = 1, dtype: Any = None, ctx: Context | None = None,
            out: Any = None, rng: Any = None) -> Any:
    """Values drawn evenly from low to high.

    Parameters
    ----------
    rng : int, Generator or None
        Where the numbers come from; the shared generator by default.
    """
    shape = out.shape if out is not None else shape_of(shape)
    dtype = np.dtype(dtype or np.float32)
    values: Any = generator(rng).random(shape, np.float32 if dtype.itemsize <= 4 else np.float64)
    values *= high - low
    values += low
    return _deliver(values.astype(dtype, copy=False), ctx, out)


def normal(loc: float = 0.0, scale: float = 1.0, shape: Any = 1, dtype: Any = None, ctx: Context | None = None,
           out: Any = None, rng: Any = None) -> Any:
    """Values drawn from a normal distribution with this mean and standard deviation."""
    shape = out.shape if out is not None else shape_of(shape)
    dtype = np.dtype(dtype or np.float32)
    values: Any = generator(rng).standard_normal(shape, np.float32 if dtype.itemsize <= 4 else np.float64)
    values *= scale
    values += loc
    return _deliver(values.astype(dtype, copy=False), ctx, out)


def randint(low: int, high: int, shape: Any = 1, dtype: Any = "int32", ctx: Context | None = None, rng: Any = None) -> Any:
    """Whole numbers drawn evenly from low up to, not including, high."""
    return _array(generator(rng).integers(low, high, shape_of(shape), dtype=np.dtype(dtype)), ctx)


def _deliver(values: Any, ctx: Context | None, out: Any) -> Any:
    made = _array(values, out.context if out is not None else ctx)
    if out is None:
        return made
    out._receive(made)
    return out
