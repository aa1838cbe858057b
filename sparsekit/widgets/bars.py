"""Measurements of several contenders as bars, each with the range of its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from ..base.formatting import format_ratio, number
from .display import Display
from .plots import Sheet, drawing_on, plain_text
from .svg import fit, page_width, text_width, wrap
from .theme import INK, MUTED, OTHER, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bars_figure"]

ROW, RIGHT = 26.0, 110.0


@overload
def bars_figure(title: str, rows: Mapping[str, Mapping[str, Any]], unit: str, own: str = ..., more_is_better: bool = ...,
                note: str = ..., ax: None = ...) -> Display: ...
@overload
def bars_figure(title: str, rows: Mapping[str, Mapping[str, Any]], unit: str, own: str = ..., more_is_better: bool = ...,
                note: str = ..., *, ax: Axes) -> Axes: ...
def bars_figure(title: str, rows: Mapping[str, Mapping[str, Any]], unit: str, own: str = "sparsekit",
                more_is_better: bool = False, note: str = "", ax: Axes | None = None) -> Display | Axes:
    """Draw one bar per contender, as long as its median, with a line from the smallest to the largest value.

    Parameters
    ----------
    title : str
        Name of the measured quantity.
    rows : mapping of str to mapping
        For the name of each contender, a mapping with ``median``, ``min`` and ``max``.
    unit : str
        Unit of the values.
    own : str
        Prefix of the names that are highlighted: darker, and in bold.
    more_is_better : bool
        True for rates.  By default the smallest value is the best.
    note : str, optional
        Text below the bars.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, in their own style.

    Returns
    -------
    Display or matplotlib.axes.Axes
        ``ax`` where it is given.

    Raises
    ------
    MissingPackageError
        If matplotlib is not installed.
    """
    found = {str(name): tuple(number(row.get(key)) for key in ("median", "min", "max")) for name, row in rows.items()}
    with drawing_on(ax) as matplotlib:
        if ax is not None:
            ax.set_title(plain_text(title))
            ax.set_xlabel(plain_text(unit))
            ax.margins(x=0.2)
            return _draw(ax, found, unit, own, matplotlib.rcParams["text.color"])
    finding = _finding(title, found, unit, more_is_better)
    cells = [(name, f"{_written(median)} {unit}", f"{_written(least)} to {_written(most)}",
              _against(median, found, more_is_better)) for name, (median, least, most) in found.items()]
    columns = ("", "median", "least to greatest", "times the best")
    return Display(lambda: _picture(found, title, unit, own, note), finding, columns, cells, title)


def _picture(found: Mapping[str, tuple[float, ...]], title: str, unit: str, own: str, note: str) -> str:
    words = wrap(note, page_width() - 40, 11.5, 6) if note else []
    room = ROW * max(1, len(found))
    with drawing_on() as matplotlib:
        sheet = Sheet(matplotlib, page_width(), title, "", room + 16 * len(words) + 22)
        left = min(0.36 * sheet.width, max([text_width(name, 13) for name in found], default=0.0) + 34)
        drawn = _draw(sheet.axes(left, 2, sheet.width - left - RIGHT, room), found, unit, own, INK, left - 24)
        drawn.set(frame_on=False, xlim=(0, max([most for _, _, most in found.values()], default=0.0) or 1.0))
        drawn.grid(False)
        drawn.xaxis.set_visible(False)
        for place, line in enumerate(words):
            sheet.write(20, sheet.top + room + 16 * (place + 1), line, color=MUTED)
        return sheet.finish()


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


def _draw(ax: Axes, found: Mapping[str, tuple[float, ...]], unit: str, own: str, ink: str, room: float = 276.0) -> Axes:
    """Bars from the first at the top to the last, each with its range and its median in words."""
    ax.barh(range(len(found)), [median for median, _, _ in found.values()], 0.62,
            color=[SERIES[0] if name.startswith(own) else OTHER for name in found])
    for place, (name, (median, least, most)) in enumerate(found.items()):
        if most > least:
            ax.errorbar(median, place, xerr=[[max(0.0, median - least)], [max(0.0, most - median)]], color=ink, capsize=3,
                        linewidth=1.1)
        ax.annotate(f"{_written(median)} {unit}", (max(median, most), place), (6, 0), textcoords="offset points",
                    verticalalignment="center", weight="bold" if name.startswith(own) else "normal", annotation_clip=False)
    ax.set_yticks(range(len(found)), [fit(plain_text(name), room, 13) for name in found])
    for label, name in zip(ax.get_yticklabels(), found, strict=True):
        label.set_fontweight("bold" if name.startswith(own) else "normal")
    ax.set_ylim(max(len(found), 1) - 0.5, -0.5)
    return ax
