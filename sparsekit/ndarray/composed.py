"""Functions of ``mx.nd`` that are made of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.arguments import strict
from ..base.errors import ShapeError
from .functions import F
from .methods import split_v2 as _split
from .ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..base.types import ShapeLike


@strict
def moveaxis(tensor: NDArray, source: int | Iterable[int], destination: int | Iterable[int]) -> NDArray:
    """Axes moved to other places; the rest keep their order.

    Parameters
    ----------
    source, destination : int or sequence of int
        Current and new positions of the axes.
    """
    sources, targets = ([int(place) for place in axis] if hasattr(axis, "__iter__") else [axis] for axis in (source, destination))
    if len(sources) != len(targets):
        raise ShapeError(f"source and destination must have equal lengths, got {len(sources)} and {len(targets)}.",
                         hint="give equally many of both.")
    ndim = tensor.ndim
    for axis in (*sources, *targets):
        if not -ndim <= axis < ndim:
            raise ShapeError(f"axis {axis} is out of range for an array of {ndim} dimensions.",
                             hint=f"axes run from {-ndim} to {ndim - 1}.")
    moved = [axis % ndim for axis in sources]
    order = [axis for axis in range(ndim) if axis not in moved]
    for target, axis in sorted(zip((axis % ndim for axis in targets), moved, strict=True)):
        order.insert(target, axis)
    if len({axis % ndim for axis in targets}) < len(targets) or sorted(order) != list(range(ndim)):
        raise ShapeError(f"source and destination must not repeat an axis, got {sources} and {targets}.", hint="name each once.")
    return F.transpose(tensor, axes=tuple(order))


@strict
def transpose(data: NDArray, axes: ShapeLike = (), out: object = None, name: str | None = None) -> NDArray:
    """A copy with the axes reversed, or in the order given.

    The transpose of a csr or row_sparse matrix is csr.  A row_sparse array with more axes stays row_sparse if its first axis
    remains the first.
    """
    return F.transpose(data, axes=() if axes is None else axes, out=out)


@strict
def concatenate(arrays: list[Any] | Sequence[NDArray] | tuple[Any, ...], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis that exists; the only array itself if there is one and ``always_copy=False``."""
    if not isinstance(arrays, (list, tuple)) or not arrays:
        raise ShapeError("concatenate was given no arrays.", hint="give a list of at least one.")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return F.concat(*arrays, dim=axis)


@strict
def split_v2(ary: NDArray, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False) -> NDArray | list[NDArray]:
    """Parts along ``axis``: ``indices_or_sections`` equal ones, or cut before each of the indices.

    Raises
    ------
    ShapeError
        If the axis cannot be split that way.
    """
    return _split(ary, indices_or_sections, axis, squeeze_axis)


@strict
def histogram(a: NDArray, bins: int | NDArray = 10, range: tuple[float, float] | None = None) -> list[NDArray]:
    """How many elements lie in each bin (int64), and the bins' edges.

    Parameters
    ----------
    bins : int or NDArray
        Number of equal bins, or their edges.
    range : tuple of two numbers, optional
        Lower and upper end of equal bins; by default the smallest and the largest element.
    """
    if isinstance(bins, NDArray):
        return F._histogram(a, bins)
    if range is None:
        range = (float(F.min(a).asscalar()), float(F.max(a).asscalar())) if a.size else (0.0, 1.0)
    low, high = float(range[0]), float(range[1])
    if low == high:
        low, high = low - 0.5, high + 0.5
    if low > high:
        raise ShapeError(f"range must be (low, high) with low at most high, got {range}.", hint="give the smaller bound first.")
    return F._histogram(a, bin_cnt=int(bins), range=(low, high))


@strict
def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write one row per index into the matrix ``out``: 1 at that place, 0 elsewhere."""
    if out.ndim != 2 or indices.shape != out.shape[:1]:
        raise ShapeError(f"indices of shape {indices.shape} do not fill shape {out.shape}.", hint="out has one row per index.")
    out[:] = F.one_hot(indices, depth=out.shape[1], dtype=out.dtype.name)
    return out
