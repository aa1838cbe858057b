"""Measurements of several contenders as bars, each with the range of its values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..base import checks
from ..base.entry import entries
from ..base.formatting import format_ratio, number
from .drawing import add_rows
from .figure import Figure
from .marks import Line, Rect, Table
from .palette import KINDS
from .text import clean

__all__ = ["bars_figure"]

ROW = 26.0
#: What a row maps each name to.
MEASURED = "a number"


def bars_figure(title: str, rows: Mapping[str, Mapping[str, Any]], unit: str, own: str = "sparsekit",
                more_is_better: bool = False, note: str = "") -> Figure:  # fmt: skip
    """Draw one bar per contender, as long as its median, with a line from the smallest to the largest value.

    Parameters
    ----------
    title : str
        Name of the measured quantity.
    rows : mapping of str to mapping
        For the name of each contender, a mapping with ``median``, ``min`` and ``max``.  ``kind`` may say of which storage the
        measured arrays are: "dense", "sparse" or another of ``figures.palette.KINDS``; the bar then has its colour.
    unit : str
        Unit of the values.
    own : str
        Prefix of the names that are highlighted.
    more_is_better : bool
        True for rates.  By default the smallest value is the best.
    note : str, optional
        Text below the bars.

    Returns
    -------
    Figure
    """
    title, unit, own, note = (checks.text(*pair) for pair in (("title", title), ("unit", unit), ("own", own), ("note", note)))
    checks.flag("more_is_better", more_is_better)
    rows = {str(name): checks.mapping_of(f"rows[{name!r}]", row, MEASURED)
            for name, row in checks.mapping_of("rows", rows, "{'median': 5, 'min': 4, 'max': 6}").items()}  # fmt: skip
    measured = {name: (number(row.get("median"), math.nan), number(row.get("min"), math.nan), number(row.get("max"), math.nan))
                    for name, row in rows.items()}
    kinds = {name: str(row.get("kind", "")) for name, row in rows.items()}
    cells = [(name, f"{_written(median)} {unit}" if math.isfinite(median) else "no number", _range_words(least, most),
              _against(median, measured, more_is_better)) for name, (median, least, most) in measured.items()]  # fmt: skip
    table = Table(("", "median", "least to greatest", "times the best"), cells, title)
    longest = max((value for row in measured.values() for value in row if math.isfinite(value)), default=0.0)
    figure = Figure(title, _finding(measured, unit, more_is_better), table=table, notes=(note,) if note else ())
    add_rows(figure, ROW, longest or 1.0, [(name, cells[place][1]) for place, name in enumerate(measured)])
    for place, (name, (median, least, most)) in enumerate(measured.items()):
        kind = kinds[name] if kinds[name] in KINDS else "muted" if own and name.startswith(own) else "outline"
        words = ", ".join(filter(None, [f"{name}: {cells[place][1]}", cells[place][2]]))
        if math.isfinite(median):
            figure.add(Rect(0, kind, 0.0, max(median, 0.0), place + 0.19, place + 0.81, words, f"bar {place}"))
        if most > least:
            figure.add(*_range(place, least, most))
    return figure


def _range(place: int, least: float, most: float) -> list[Line]:
    """A line from the least to the greatest value, with ends."""
    middle = place + 0.5
    ends = [Line(0, "ink", [at, at], [middle - 0.17, middle + 0.17]) for at in (least, most)]
    return [Line(0, "paper", [least, most], [middle, middle], width=3.0), Line(0, "ink", [least, most], [middle, middle]), *ends]


def _written(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _range_words(least: float, most: float) -> str:
    return f"{_written(least)} to {_written(most)}" if math.isfinite(least) and math.isfinite(most) else ""


def _best(measured: Mapping[str, tuple[float, ...]], more_is_better: bool) -> str:
    pick = max if more_is_better else min
    return pick(measured, key=lambda name: measured[name][0])


def _numbers(measured: Mapping[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    """Those whose median is a number."""
    return {name: row for name, row in measured.items() if math.isfinite(row[0])}


def _against(median: float, measured: Mapping[str, tuple[float, ...]], more_is_better: bool) -> str:
    measured = _numbers(measured)
    if not math.isfinite(median):
        return ""
    best = measured[_best(measured, more_is_better)][0]
    ratio = (best / median if more_is_better else median / best) if best and median else 1.0
    return f"{ratio:.2f}" if ratio < 10 else format_ratio(ratio).rstrip("×")


def _finding(measured: Mapping[str, tuple[float, ...]], unit: str, more_is_better: bool) -> str:
    measured = _numbers(measured)
    if not measured:
        return "Nothing was measured."
    best = _best(measured, more_is_better)
    text = f"The {'most' if more_is_better else 'least'} is {_written(measured[best][0])} {clean(unit)}, of {clean(best)}"
    others = {name: row for name, row in measured.items() if name != best}
    if not others:
        return f"{text}."
    second = _best(others, more_is_better)
    return f"{text}; the next is {_written(others[second][0])} {clean(unit)}, of {clean(second)}."


entries(globals(), __all__)
