"""A row-age map: how many steps ago each row of a weight had a gradient, and what that does to its values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..base import checks
from ..base.entry import entries
from ..base.errors import ParameterError, ShapeError, expected
from ..base.formatting import counted
from .figure import Figure
from .marks import Axis, Line, Panel, Raster, Rect, Table, Text
from .true_scale import row_shades, rows_across

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..base.types import Array

__all__ = ["row_age_figure"]

_NONE: Mapping[str, ArrayLike] = {}

#: Steps from which on rows are older; as many of them as the oldest row needs.
AGES = (0, 1, 10, 50, 200, 1000, 5000, 20_000, 100_000)
#: A row of this age is called stale.
STALE = 50
#: Cells of a map at most, down and across: several rows share one beyond that.
MOST = 256
#: Pixels of a map, and of the panel below it.
SIDE, SCALE = 300.0, 34.0


def row_age_figure(ages: ArrayLike, changed: Mapping[str, ArrayLike] = _NONE, apart: ArrayLike | None = None,
                   title: str = "") -> Figure:  # fmt: skip
    """Draw how many steps ago each row of a weight was last updated.

    A square has a cell for each row, line by line: the darker, the more recent.  Beside it stand maps of the rows that a step
    changed otherwise, and how far two weights are apart by the age of their rows.

    Parameters
    ----------
    ages : array of int, shape (rows,)
        Steps since each row had a gradient, -1 for never: ``monitor.row_ages("weight")``.
    changed : mapping of str to array of bool, shape (rows,), optional
        For each name, the rows that the last step changed: ``{"dense Adam": (after != before).any(axis=1)}``.
    apart : array of float, shape (rows,), optional
        How far two weights are apart in each row; the medians by age are drawn.  Without it, the number of rows is.
    title : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ParameterError
        If ``ages`` is not one number for each row, or has none.
    ShapeError
        If the arrays have different lengths.
    """
    steps = _checked("ages", ages)
    arrays = checks.mapping_of("changed", changed, "arrays")
    maps = {str(name): _same("changed", values, steps).astype(bool) for name, values in arrays.items()}
    gap = None if apart is None else _same("apart", apart, steps).astype(float)
    bins = _bins(steps)
    rows = [(words, f"{int(hit.sum()):,}", *([] if gap is None else [f"{_median(gap[hit]):.3g}"])) for words, _, hit in bins]
    columns = ("steps since its last gradient", "rows", *([] if gap is None else ["apart (median)"]))
    figure = Figure(checks.text("title", title) or _title(steps), _finding(steps, maps, gap, bins),
                    table=Table(columns, rows, f"{len(steps):,} rows"))  # fmt: skip
    shades = {age: 1.0 - 0.82 * place / max(len(bins) - 2, 1) for place, (_, age, _) in enumerate(bins) if age >= 0}
    levels = np.zeros(len(steps))
    for _, age, hit in bins:
        levels[hit] = shades.get(age, 0.0)
    share = 1 / (2 + len(maps))
    _map(figure, "steps since a gradient", "sparse", levels, share, "the darker a row, the more recent")
    for name, hit in maps.items():
        _map(figure, f"{name}: {int(hit.sum()):,} rows", "dense", hit.astype(float), share, f"{name}: what the last step changed")
    _by_age(figure, bins, gap, share)
    _key(figure, bins, shades)
    across = rows_across(len(steps))
    each = -(-across // MOST)
    several = f" A cell is the mean of {each} × {each} rows." if each > 1 else ""
    figure.notes = (f"Each map has the {counted(len(steps), 'row')}, {across:,} in a line, the first at the top left.{several}",)
    return figure


def _checked(name: str, values: ArrayLike) -> Array:
    array = np.asarray(values)
    if array.ndim == 1 and not len(array):
        raise ParameterError(f"{name} has no rows.", hint="give the age of each row of a weight.")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ParameterError(f"{name} must be one whole number for each row, got shape {array.shape} of {array.dtype}.",
                             hint="monitor.row_ages('weight') gives them; -1 is for a row without a gradient.")  # fmt: skip
    if int(array.min()) < -1 or int(array.max()) >= 1 << 63:
        wrong = int(array.min()) if int(array.min()) < -1 else int(array.max())
        raise ParameterError(expected(name, "numbers of steps, -1 or more", wrong), hint="-1 is for a row without a gradient.")
    return array.astype(np.int64)


def _same(name: str, values: ArrayLike, ages: Array) -> Array:
    array = np.asarray(values)
    if array.shape != ages.shape or array.dtype.kind not in "biuf":
        raise ShapeError(f"{name} must be one value for each of {len(ages):,} rows, got shape {array.shape} of {array.dtype}.",
                         hint="reduce a weight to one value a row: abs(a - b).max(axis=1), for example.")  # fmt: skip
    return array


def _bins(ages: Array) -> list[tuple[str, int, Array]]:
    """Ages in words, the least of them, and the rows; rows that never had a gradient come last."""
    edges = [age for age in AGES if age <= max(int(ages.max()), 0)]
    bins = []
    for low, high in zip(edges, [*edges[1:], None], strict=True):
        hit = (ages >= low) & (True if high is None else ages < high)
        words = f"{low:,}" if not low or high == low + 1 else f"{low:,} or more" if high is None else f"{low:,} to {high - 1:,}"
        bins.append((words, low, hit))
    return [*bins, ("never", -1, ages < 0)]


def _median(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else math.nan


def _title(ages: Array) -> str:
    old, never = int((ages >= STALE).sum()), int((ages < 0).sum())
    if old:
        return f"{old:,} of {counted(len(ages), 'row')} had no gradient for {STALE} steps or more"
    if never:
        return f"{never:,} of {counted(len(ages), 'row')} never had a gradient"
    return f"All of {counted(len(ages), 'row')} had a gradient in the last {STALE} steps"


def _finding(ages: Array, maps: Mapping[str, Array], gap: Array | None, bins: list[tuple[str, int, Array]]) -> str:
    never, fresh = int((ages < 0).sum()), int((ages == 0).sum())
    said = [f"The last step had a gradient for {counted(fresh, 'row')}; {counted(never, 'row')} never had one."]
    said += [f"{name}: that step changed {int(hit.sum()):,} rows." for name, hit in maps.items()]
    medians = [(words, _median(gap[hit])) for words, _, hit in bins if hit.any()] if gap is not None else []
    finite = [pair for pair in medians if math.isfinite(pair[1])]
    if len(finite) > 1:
        most, least = max(finite, key=lambda pair: pair[1]), min(finite, key=lambda pair: pair[1])
        ages_of = [f"of age {words}" if words != "never" else "that never had one" for words, _ in (most, least)]
        said.append(f"The weights are furthest apart ({most[1]:.3g}, median) in rows {ages_of[0]}, and nearest ({least[1]:.3g}) "
                    f"in rows {ages_of[1]}.")  # fmt: skip
    return " ".join(said)


def _map(figure: Figure, title: str, kind: str, shades: Array, share: float, words: str) -> None:
    """One square of all rows."""
    number, across = len(figure.panels), rows_across(len(shades))
    cells, each = row_shades(np.arange(len(shades)), shades, len(shades), MOST)
    side = float(len(cells) * each)
    figure.panels.append(Panel((0.0, float(across)), (0.0, float(across)), SIDE, title, share, aspect=1.0))
    figure.add(Raster(number, kind, 0.0, side, 0.0, side, cells, words),
               Line(number, "muted", [0, across, across, 0, 0], [0, 0, across, across, 0], width=0.8))  # fmt: skip


def _by_age(figure: Figure, bins: list[tuple[str, int, Array]], gap: Array | None, share: float) -> None:
    """A bar for each age: how far the weights are apart, or how many rows there are."""
    number = len(figure.panels)
    values = [float(hit.sum()) if gap is None else _median(gap[hit]) for _, _, hit in bins]
    most = max((value for value in values if math.isfinite(value)), default=0.0) or 1.0
    title = "rows by age" if gap is None else "apart, by age (median)"
    figure.panels.append(Panel((0.0, float(len(bins))), (1.12 * most, 0.0), SIDE, title, share, aspect=1.0))
    for place, ((words, _, _), value) in enumerate(zip(bins, values, strict=True)):
        if math.isfinite(value):
            figure.add(Rect(number, "muted", place + 0.1, place + 0.9, 0.0, value, f"age {words}: {value:.3g}", f"age {place}"),
                       Text(number, "ink", place + 0.5, value + 0.045 * most, f"{value:,.0f}" if gap is None else f"{value:.3g}",
                            "middle", room=1.0))  # fmt: skip
    ticks = tuple((place + 0.5, _short(age)) for place, (_, age, _) in enumerate(bins))
    figure.add(Axis(number, "bottom", ticks=ticks, grid=False))


def _short(age: int) -> str:
    return "never" if age < 0 else f"{age:,}+" if age else "0"


def _key(figure: Figure, bins: list[tuple[str, int, Array]], shades: Mapping[int, float]) -> None:
    """What the shades mean."""
    number, count = len(figure.panels), float(len(bins))
    figure.panels.append(Panel((0.0, count), (0.0, 1.0), SCALE))
    for place, (_, age, _) in enumerate(bins):
        left, right = place + 0.02, place + 0.16
        figure.add(Raster(number, "sparse", left, right, 0.2, 0.8, np.array([[shades.get(age, 0.0)]])),
                   Line(number, "muted", [left, right, right, left, left], [0.2, 0.2, 0.8, 0.8, 0.2], width=0.8),
                   Text(number, "ink", place + 0.2, 0.5, _short(age)))  # fmt: skip


entries(globals(), __all__)
