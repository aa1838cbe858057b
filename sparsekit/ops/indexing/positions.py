"""The conversion of arrays of positions, common to all operators, modes and storage types.

A fraction is cut off: 2.7 is 2, and -0.5 is 0.  NaN raises in every mode.  A number outside the axis
is brought to the nearest end (``"clip"``: infinity and 1e20 name the last entry), wrapped round (``"wrap"``; infinity has no
remainder and raises), or refused (``"raise"``).  A GPU is not waited for: there NaN names entry 0, and nothing raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.config import config
from ...base.errors import RowIndexError
from ...core import indices
from ...kernels import for_device, is_numpy
from ...storage.check import on_host

if TYPE_CHECKING:
    from ...base.types import Array
    from ...core.types import ArrayObject
    from ...kernels.types import ArrayModule, Kernels

MODES = ("clip", "wrap", "raise")


class _Unasked(str):
    """The default of ``mode``: equal to an explicit mode, but a distinct object, so that clipping by default can warn."""

    __slots__ = ()


#: Clips, as ``"clip"`` does, and warns of what it clips.
CLIP = _Unasked("clip")

_HINT = "give positions from 0 to {last}; an operator with a mode clips or wraps them silently with mode='clip' or 'wrap'."


def _refused(label: str, value: str) -> RowIndexError:
    return RowIndexError(f"{label}: positions must be integers, got {value}.",
                         hint="look for the origin of the "
                         "NaN or infinity, for instance a division by zero.")


def whole(xp: ArrayModule, values: Array, label: str) -> Array:
    """The numbers as int64, fractions cut off; a number beyond int64 becomes its nearest end.

    Raises
    ------
    RowIndexError
        If one is NaN.
    """
    if values.dtype.kind != "f":
        return values.astype(np.int64, copy=False)
    with np.errstate(invalid="ignore"):
        integers = values.astype(np.int64)
    if is_numpy(xp) and integers.size and not np.abs(values).max() < 2.0**63:
        if np.isnan(values).any():
            raise _refused(label, "NaN")
        ends = np.iinfo(np.int64)
        integers = np.where(values >= 2.0**63, ends.max, np.where(values < -(2.0**63), ends.min, integers))
    return integers


def inside(k: Kernels, values: Array, size: int, mode: str, label: str) -> Array:
    """Positions as int64 within ``0 … size - 1``, by clipping, wrapping or raising.

    Costs one pass over the positions where all are inside.

    Parameters
    ----------
    mode : {"clip", "wrap", "raise"} or CLIP
        ``CLIP`` warns of clipped positions as ``config.indices`` says.
    what : str
        Operator and kind of position, for messages: ``"take: the index"``.

    Raises
    ------
    RowIndexError
        If a position is NaN, or infinite and wrapped; if the axis has no entries; if one is outside and ``mode`` is
        ``"raise"``, or ``CLIP`` under ``config.indices = "error"``.
    """
    if not size and values.size:
        raise RowIndexError(f"{label}: the axis must have at least one entry.", hint="take from an array with entries.")
    if k.device == "gpu":
        return _inside_on_device(k.xp, values, size, mode, label)
    if k.outside(values, size):
        return _brought_inside(values, size, mode, label)
    places: Array = values.astype(np.int64, copy=False)
    return places


def _brought_inside(values: Array, size: int, mode: str, label: str) -> Array:
    """The result of ``inside`` if at least one position is outside or NaN."""
    floats = values.dtype.kind == "f"
    cut = np.trunc(values.astype(np.float64)) if floats else values.astype(np.int64)
    if floats and np.isnan(cut).any():
        raise _refused(label, "NaN")
    outside = (cut < 0) | (cut >= size)
    if mode == "raise":
        raise RowIndexError(f"{label} {_shown(cut[outside][0])} is outside the {size} entries of the axis.",
                            hint="mode='clip' and mode='wrap' bring indices inside.")
    if mode == "wrap":
        if floats and np.isinf(cut).any():
            raise _refused(label, "infinity")
        wrapped: Array = np.mod(cut, size).astype(np.int64)
        return wrapped
    if mode is CLIP and outside.any():
        problem = f"{label} {_shown(cut[outside][0])} is outside the {size} entries of the axis and names the nearest one"
        indices.notice(label, problem, _HINT.format(last=size - 1))
    places = np.where(cut >= size, 0, cut).astype(np.int64)
    return np.where(cut >= size, size - 1, np.maximum(places, 0))


def _shown(number: Array) -> str:
    """A number as a message has it: a whole one up to 18 digits in full."""
    return str(int(number)) if abs(float(number)) < 1e18 else f"{float(number):g}"


def _inside_on_device(xp: ArrayModule, values: Array, size: int, mode: str, label: str) -> Array:
    """The same on a GPU, which is synchronized only if errors are raised."""
    if mode == "raise" or config.indices == "error":
        places = inside(for_device("cpu"), on_host(values), size, mode, label)
        return xp.asarray(places)
    places = values.astype(np.int64)
    return places % max(size, 1) if mode == "wrap" else xp.clip(places, 0, max(size - 1, 0))


def named_rows(array: ArrayObject, rows: int) -> Array | None:
    """The rows that an array of indices names, where what lies outside is clipped; None if it is sparse."""
    return None if array.stype != "default" else np.clip(np.nan_to_num(array._store.reshape(-1)), 0, rows - 1).astype(np.int64)
