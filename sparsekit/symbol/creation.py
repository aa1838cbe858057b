"""Symbols of arrays that need no input: ``mx.sym.zeros`` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.dtypes import element_type
from ..base.entry import entries
from ..base.errors import ShapeError
from ..core.partial_shapes import to_user
from .functions import F
from .methods import split_v2 as _split
from .shapes import declared
from .symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.types import DTypeLike, ShapeLike


__all__ = ["arange", "concatenate", "eye", "full", "histogram", "linspace", "ones", "split_v2", "zeros"]


def _type(dtype: object) -> str:
    return str(element_type(dtype).name)


def _shape(shape: object) -> tuple[int, ...]:
    return to_user(declared(shape, "shape"))


def zeros(shape: ShapeLike, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """Zeros; sizes of 0 are unknown, and follow from where the symbol is used."""
    return F._zeros(shape=_shape(shape), dtype=_type(dtype), **kwargs)


def ones(shape: ShapeLike, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """Ones; sizes of 0 are unknown, and follow from where the symbol is used."""
    return F._ones(shape=_shape(shape), dtype=_type(dtype), **kwargs)


def full(shape: ShapeLike, val: float, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """One value everywhere; sizes of 0 are unknown, and follow from where the symbol is used."""
    return F._full(shape=_shape(shape), dtype=_type(dtype), value=float(val), **kwargs)


def arange(start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool = False,
           name: str | None = None, dtype: DTypeLike = None) -> Symbol:
    """Evenly spaced values from ``start`` up to, not including, ``stop``; each ``repeat`` times."""
    if infer_range:
        raise ShapeError("arange cannot infer its range from where it is used.", hint="give stop, or use contrib.arange_like.")
    return F._arange(start=start, stop=stop, step=step, repeat=repeat, infer_range=False, dtype=_type(dtype),
                     name=name)


def linspace(start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None,
             dtype: DTypeLike = None) -> Symbol:
    """``num`` evenly spaced values from ``start`` to ``stop``, which is among them unless ``endpoint=False``."""
    return F._linspace(start=start, stop=stop, num=num, endpoint=endpoint, dtype=_type(dtype),
                       name=name)


def eye(N: int, M: int = 0, k: int = 0, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """An N x M matrix (N x N for M=0) with ones on the diagonal ``k``."""
    return F._eye(N=N, M=M, k=k, dtype=_type(dtype), **kwargs)


def histogram(a: Symbol, bins: int | Symbol = 10, range: tuple[float, float] | None = None, **kwargs: object) -> Symbol:
    """How many elements lie in each bin, and the bins' edges.

    Parameters
    ----------
    bins : int or Symbol
        Number of equal bins, or their edges.
    range : tuple of two numbers
        Lower and upper end of equal bins.
    """
    if isinstance(bins, Symbol):
        return F._histogram(a, bins, **kwargs)
    if range is None:
        raise ShapeError("null range is not supported in symbol mode.", hint="give range=(low, high).")
    return F._histogram(a, bin_cnt=int(bins), range=tuple(range), **kwargs)


def split_v2(ary: Symbol, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False) -> Symbol:
    """Parts along ``axis``: as many equal ones, or cut before each of the indices."""
    return _split(ary, indices_or_sections, axis, squeeze_axis)


def concatenate(arrays: Sequence[Symbol], axis: int = 0, always_copy: bool = True) -> Symbol:
    """Symbols joined along an axis that exists."""
    return F.concat(*arrays, dim=axis)


entries(globals(), __all__)
