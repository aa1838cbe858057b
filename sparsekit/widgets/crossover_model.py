"""Bytes and time of one training step of a layer, by storage type and density: exact, and interpolated."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from .sources import read

__all__ = ["DTYPES", "FORMATS", "INDEX_DTYPES", "Grid", "Setting", "break_evens", "estimate_time", "load_grid", "memory"]

FORMATS = ("dense", "csr", "row_sparse")
DTYPES = {"float16": 2, "float32": 4, "float64": 8}
INDEX_DTYPES = {"int32": 4, "int64": 8}


class Setting(NamedTuple):
    """One layer and one batch.

    ``rows`` are the features (rows of the weight), ``units`` its columns, ``batch`` the samples, ``density`` the
    share of the batch that is stored, at random places.
    """

    dtype: str = "float32"
    index_dtype: str = "int64"
    rows: int = 1_000_000
    units: int = 128
    batch: int = 64
    density: float = 1e-4

    @property
    def stored(self) -> int:
        """Stored values of the batch."""
        return round(self.batch * self.rows * self.density)

    @property
    def touched(self) -> float:
        """Weight rows that the batch touches: expected for values at random places, at most the stored values."""
        if self.density >= 1:
            return float(self.rows)
        return min(float(self.stored), -self.rows * math.expm1(self.batch * math.log1p(-self.density)))


def memory(kind: str, setting: Setting) -> dict[str, float]:
    """Bytes of batch and gradient, the two arrays whose storage is the choice; the weight is the same in all.

    Parameters
    ----------
    kind : {"dense", "csr", "row_sparse"}
        Everything dense; a csr batch and a dense gradient; a csr batch and a row_sparse gradient.
    setting : Setting
    """
    value, index = DTYPES[setting.dtype], INDEX_DTYPES[setting.index_dtype]
    batch = setting.stored * (value + index) + (setting.batch + 1) * index
    gradient: float = setting.rows * setting.units * value
    if kind == "dense":
        batch = setting.batch * setting.rows * value
    if kind == "row_sparse":
        gradient = setting.touched * (setting.units * value + index)
    return {"batch": float(batch), "gradient": float(gradient)}


class Grid(NamedTuple):
    """Measured times: by storage type one flat list, the last axis fastest; None where nothing was measured.

    The axes are dtype, index_dtype, rows, units, batch, density; those of "dense" only dtype, rows, units, batch.
    """

    axes: Mapping[str, Sequence[Any]]
    times: Mapping[str, Sequence[float | None]]


@cache
def load_grid() -> dict[str, Any]:
    """The grid that comes with the package, with the command that measured it."""
    found: dict[str, Any] = json.loads(read("crossover_grid.json"))
    return found


def _axes(kind: str) -> tuple[str, ...]:
    return ("rows", "units", "batch") if kind == "dense" else ("rows", "units", "batch", "density")


def _position(axis: Sequence[float], value: float) -> tuple[int, float, bool]:
    """Where ``value`` lies between two points of an axis; and whether it lies outside."""
    if len(axis) == 1:
        return 0, 0.0, not math.isclose(axis[0], value)
    low = max(i for i in range(len(axis) - 1) if axis[i] <= value or i == 0)
    share = (value - axis[low]) / (axis[low + 1] - axis[low])
    return low, min(max(share, 0.0), 1.0), not -1e-9 <= share <= 1 + 1e-9


def _cell(grid: Grid, kind: str, fixed: tuple[int, ...], place: Sequence[int]) -> tuple[float | None, bool]:
    """The time at a point; where none was measured, that of the nearest smaller batch or density, scaled by the work."""
    names = _axes(kind)
    place, factor, beyond = list(place), 1.0, False
    while True:
        flat = 0
        sizes = [*([len(grid.axes["dtype"])] if kind == "dense" else [len(grid.axes["dtype"]), len(grid.axes["index_dtype"])]),
                 *(len(grid.axes[name]) for name in names)]  # fmt: skip
        for size, at in zip(sizes, [*fixed, *place], strict=True):
            flat = flat * size + at
        time = grid.times[kind][flat]
        if time is not None:
            return time * factor, beyond
        back = next((i for i in (3, 2, 0, 1) if i < len(names) and place[i] > 0), None)
        if back is None:
            return None, True
        axis = grid.axes[names[back]]
        factor *= axis[place[back]] / axis[place[back] - 1]
        place[back] -= 1
        beyond = True


def estimate_time(grid: Grid, kind: str, setting: Setting) -> tuple[float | None, bool]:
    """Interpolate the time of a step, in microseconds, linearly along each axis.

    What a step costs is a sum of products of sizes (stored values times units, rows times units, ...), which such
    an interpolation gives back exactly; on logarithmic axes it would not be.

    Returns
    -------
    time : float or None
        None if the grid has no data, for another element type for instance.
    beyond : bool
        Whether the time is extrapolated from smaller cells that were measured, or kept from the grid's edge.
    """
    if setting.dtype not in grid.axes["dtype"] or setting.index_dtype not in grid.axes["index_dtype"]:
        return None, True
    fixed: tuple[int, ...] = (list(grid.axes["dtype"]).index(setting.dtype),)
    if kind != "dense":
        fixed = (*fixed, list(grid.axes["index_dtype"]).index(setting.index_dtype))
    places = [_position(grid.axes[name], getattr(setting, name)) for name in _axes(kind)]
    total, beyond = 0.0, any(outside for _, _, outside in places)
    for corner in itertools.product((0, 1), repeat=len(places)):
        weight = math.prod(share if side else 1 - share for side, (_, share, _) in zip(corner, places, strict=True))
        if weight <= 0:
            continue
        time, past = _cell(grid, kind, fixed, [low + side for side, (low, _, _) in zip(corner, places, strict=True)])
        if time is None:
            return None, True
        total += weight * time
        beyond = beyond or past
    return total, beyond


def break_evens(densities: Sequence[float], curves: Mapping[str, Sequence[float | None]]) -> list[tuple[float, str, str]]:
    """Where the smallest of several curves changes: density, which was the smallest below, and which is above."""
    found = []
    previous = ""
    for i, density in enumerate(densities):
        known = {name: values[i] for name, values in curves.items() if values[i] is not None}
        best = min(known, key=lambda name: (known[name], list(curves).index(name)), default="")
        if previous and best and best != previous:
            found.append((_crossing(densities, curves[previous], curves[best], i) or density, previous, best))
        previous = best or previous
    return found


def _crossing(densities: Sequence[float], old: Sequence[float | None], new: Sequence[float | None], i: int) -> float | None:
    """Where two curves cross between point i - 1 and point i, on logarithmic axes."""
    ends = old[i - 1], new[i - 1], old[i], new[i]
    if any(value is None or value <= 0 for value in ends):
        return None
    before, after = math.log(ends[0] / ends[1]), math.log(ends[2] / ends[3])  # type: ignore[operator]
    share = before / (before - after) if before != after else 1.0
    return densities[i - 1] * (densities[i] / densities[i - 1]) ** min(max(share, 0.0), 1.0)
