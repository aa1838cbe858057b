"""Measurements of several contenders as bars, each with the range of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.formatting import format_ratio, number
from .display import Display
from .svg import Drawing, fit, text_width, wrap
from .theme import INK, MUTED, OTHER, SERIES

__all__ = ["bars_figure"]

WIDTH, ROW, RIGHT = 820.0, 26.0, 110.0


def bars_figure(title: str, rows: Mapping[str, Mapping[str, Any]], unit: str, own: str = "sparsekit",
                more_is_better: bool = False, note: str = "") -> Display:
    """Draw one bar a contender, as long as its median, with a line from its least to its greatest value.

    Parameters
    ----------
    title : str
        What was measured.
    rows : mapping of str to mapping
        Name of each contender -> ``median``, ``min`` and ``max``.
    unit : str
    own : str
        Prefix of the names that are highlighted: darker, and in bold.
    more_is_better : bool
        For rates; otherwise the smallest is the best.
    note : str, optional

    Returns
    -------
    Display
    """
    found = {str(name): tuple(number(row.get(key)) for key in ("median", "min", "max")) for name, row in rows.items()}
    finding = _finding(title, found, unit, more_is_better)
    cells = [(name, f"{_written(median)} {unit}", f"{_written(least)} to {_written(most)}",
              _against(median, found, more_is_better)) for name, (median, least, most) in found.items()]
    svg = _draw(title, found, unit, own, finding, note)
    return Display(svg, finding, ("", "median", "least to greatest", "times the best"), cells, title)


def _written(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _best(found: Mapping[str, tuple[float, ...]], more_is_better: bool) -> str:
    pick = max if more_is_better else min
    return pick(found, key=lambda name: found[name][0])


def _against(median: float, found: Mapping[str, tuple[float, ...]], more_is_better: bool) -> str:
    best = found[_best(found, more_is_better)][0]
    ratio = (best / median if more_is_better else median / best) if best and median else 1.0
    return f"{ratio:.2f}" if ratio < 10 else format_ratio(ratio).rstrip("×")


def _finding(title: str, found: Mapping[str, tuple[float, ...]], unit: str, more_is_better: bool) -> str:
    if not found:
        return f"{title}: nothing was measured."
    best = _best(found, more_is_better)
    text = f"{title}: {best} {'reaches' if more_is_better else 'takes'} {_written(found[best][0])} {unit}"
    others = {name: row for name, row in found.items() if name != best}
    if not others:
        return f"{text}."
    second = _best(others, more_is_better)
    return f"{text}, the next, {second}, {_written(others[second][0])} {unit}."


def _draw(title: str, found: Mapping[str, tuple[float, ...]], unit: str, own: str, finding: str, note: str) -> str:
    drawing = Drawing(WIDTH)
    left = min(300.0, max([text_width(name, 13) for name in found], default=0.0) + 34)
    y = _heading(drawing, title)
    longest = max([most for _, _, most in found.values()], default=0.0) or 1.0
    plot = WIDTH - left - RIGHT
    for name, values in found.items():
        ours = name.startswith(own)
        _bar(drawing, name, values, left, y, plot / longest, f"{_written(values[0])} {unit}", ours)
        y += ROW
    for line in wrap(note, WIDTH - 40, 11.5) if note else ():
        drawing.text(20, y + 14, line, size=11.5, fill=MUTED)
        y += 16
    return drawing.finish(y + 10, finding)


def _heading(drawing: Drawing, title: str) -> float:
    lines: Sequence[str] = wrap(title, WIDTH - 40, 16)
    for place, line in enumerate(lines):
        drawing.text(20, 28 + 20 * place, line, size=16, font_weight="bold")
    return 24.0 + 20 * len(lines)


def _bar(drawing: Drawing, name: str, values: tuple[float, ...], left: float, y: float, scale: float, label: str,
         ours: bool) -> None:
    median, least, most = values
    weight = "bold" if ours else None
    drawing.text(left - 10, y + 15, fit(name, left - 24, 13), size=13, text_anchor="end", font_weight=weight)
    drawing.rect(left, y + 3, max(1.5, median * scale), ROW - 10, SERIES[0] if ours else OTHER, rx=2.0)
    if most > least:
        middle = y + 3 + (ROW - 10) / 2
        drawing.line(left + least * scale, middle, left + most * scale, middle, stroke=INK, stroke_width=1.5)
        for end in (least, most):
            drawing.line(left + end * scale, middle - 4, left + end * scale, middle + 4, stroke=INK, stroke_width=1.5)
    drawing.text(left + max(median, most) * scale + 8, y + 15, label, size=12, font_weight=weight)
