"""A picture of programs that ran in turns: the ratio of every block, and the interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ..base.formatting import format_duration, number
from .charts import Plot
from .display import Display
from .plots import drawing_on, plain_text
from .svg import Drawing, fit, heading, is_narrow, page_width
from .theme import ALARM, INK, MUTED, PAPER, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["turns_figure"]

#: Room for names on the left and findings on the right; on a narrow page both stand above.
MARGINS = {False: (220.0, 200.0, 0.0), True: (24.0, 24.0, 40.0)}
ROW = 58.0
#: Ratios that are marked on the axis, with their inverses, and pixels from one to the next at least.
STEPS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, *(10.0**power for power in range(1, 13)))
APART = 56.0

SLOWER, FASTER, SAME = ALARM, SERIES[3], SERIES[0]


@overload
def turns_figure(rows: Sequence[Mapping[str, Any]], finding: str, table: Mapping[str, Any], title: str = ...,
                 ax: None = ...) -> Display: ...
@overload
def turns_figure(rows: Sequence[Mapping[str, Any]], finding: str, table: Mapping[str, Any], title: str = ..., *,
                 ax: Axes) -> Axes: ...
def turns_figure(rows: Sequence[Mapping[str, Any]], finding: str, table: Mapping[str, Any], title: str = "",
                 ax: Axes | None = None) -> Display | Axes:
    """Draw each program's ratio to the first: a dot for every block, a bar for the interval, a line at 1.

    Parameters
    ----------
    rows : sequence of dict
        ``Comparison.rows``.
    finding : str
        The comparison in sentences.
    table : dict
        Table with the same content, with the keys ``columns`` and ``rows``.
    title : str, optional
    ax : matplotlib.axes.Axes, optional
        Draw the ratios on these axes, in their own style.

    Returns
    -------
    Display or matplotlib.axes.Axes
        ``ax`` where it is given.
    """
    if ax is not None:
        return _on_axes(ax, rows, str(title))
    return Display(lambda: _picture(rows, finding, table, title or "Interleaved runs of programs"), finding, table["columns"],
                   table["rows"], "Interleaved runs of programs")


def _picture(rows: Sequence[Mapping[str, Any]], finding: str, table: Mapping[str, Any], title: str) -> str:
    drawing, (left, right, above) = Drawing(page_width()), MARGINS[is_narrow()]
    top = heading(drawing, title, finding, 3) + 40
    others, each = rows[1:], ROW + above
    height = each * len(others)
    seen = [ratio for row in others for ratio in [*row["ratios"], row["low"], row["high"]]
            if 0 < number(ratio) < math.inf]
    low, high = min([*seen, 0.9]), max([*seen, 1.1])
    plot = Plot(drawing, (left, top, drawing.width - left - right, height), (low / 1.05, high * 1.05), (0, 1), (True, False))
    _axis(plot, top, height, str(rows[0]["name"]), low, high)
    for place, row in enumerate(others):
        _program(plot, row, str(table["rows"][place + 1][3]), top + each * place)
    return drawing.finish(top + height + 34, finding)


def _on_axes(ax: Axes, rows: Sequence[Mapping[str, Any]], title: str) -> Axes:
    """A row of dots, an interval and a ratio for each program but the first, by matplotlib."""
    others = rows[1:]
    with drawing_on(ax) as matplotlib:
        ax.axvline(1.0, color=MUTED, linewidth=1)
        for place, row in enumerate(others):
            color = {"slower": SLOWER, "faster": FASTER}.get(row["verdict"], SAME)
            ax.plot(row["ratios"], [place] * len(row["ratios"]), "o", color=color, alpha=0.45, markersize=4)
            ax.plot([row["low"], row["high"]], [place + 0.2] * 2, color=color, linewidth=3)
            ax.plot(row["ratio"], place + 0.2, "|", color=MUTED, markersize=10)
        ax.set_yticks(range(len(others)), [plain_text(row["name"]) for row in others])
        ax.set(title=plain_text(title), xlabel=f"time by {plain_text(rows[0]['name'])}", xscale="log",
               ylim=(len(others) - 0.4, -0.6))
        ax.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda ratio, _: f"{ratio:.3g}×"))
        ax.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    return ax


def _axis(plot: Plot, top: float, height: float, first: str, low: float, high: float) -> None:
    drawing = plot.drawing
    for tick in _ticks(plot, low, high):
        x = plot.x(tick)
        drawing.line(x, top, x, top + height, stroke_width=0.7)
        label = f"{tick:,.0f}×" if tick >= 100 else f"{tick:.3g}×"
        drawing.text(x, top + height + 16, label, size=10.5, fill=MUTED, text_anchor="middle")
    drawing.line(plot.x(1.0), top - 8, plot.x(1.0), top + height, stroke=INK, stroke_width=1.4)
    drawing.text(plot.x(1.0), top - 14, fit(f"as long as {first}", 240, 11.5), size=11.5, text_anchor="middle")


def _ticks(plot: Plot, low: float, high: float) -> list[float]:
    """Round ratios between the ends: 1 first, then those that have room for their label."""
    both = {1 / step for step in STEPS} | {*STEPS}
    kept: list[float] = []
    for tick in sorted(both, key=lambda tick: (abs(math.log10(tick)) % 1 > 1e-9, abs(math.log(tick)))):
        if low / 1.05 <= tick <= high * 1.05 and all(abs(plot.x(tick) - plot.x(other)) >= APART for other in kept):
            kept.append(tick)
    return sorted(kept)


def _program(plot: Plot, row: Mapping[str, Any], interval: str, top: float) -> None:
    drawing, (left, right, above) = plot.drawing, MARGINS[is_narrow()]
    middle = top + above + ROW / 2
    color = {"slower": SLOWER, "faster": FASTER}.get(row["verdict"], SAME)
    call = f"{format_duration(row['time'])} a call"
    if above:
        drawing.rect(12, top + 2, drawing.width - 24, above, PAPER)
        drawing.text(20, top + 16, fit(f"{row['name']}: {row['finding']}", drawing.width - 40, 13), size=13, font_weight="bold")
        drawing.text(20, top + 33, fit(f"{interval}; {call}", drawing.width - 40, 11), size=11, fill=MUTED)
    else:
        drawing.text(left - 12, middle + 1, fit(row["name"], left - 32, 14), size=14, font_weight="bold", text_anchor="end")
        drawing.text(left - 12, middle + 17, call, size=11, fill=MUTED, text_anchor="end")
        side = drawing.width - right + 14
        drawing.text(side, middle + 1, fit(row["finding"], right - 20, 12), size=12, font_weight="bold")
        drawing.text(side, middle + 17, interval, size=11, fill=MUTED)
    for place, ratio in enumerate(row["ratios"]):
        drawing.add("circle", cx=plot.x(ratio), cy=middle - 12 + 7.0 * (place % 3), r=3.0, fill=color, fill_opacity=0.45)
    low, high = plot.x(max(number(row["low"]), plot.across[0])), plot.x(min(number(row["high"], math.inf), plot.across[1]))
    drawing.line(low, middle + 16, high, middle + 16, stroke=color, stroke_width=4.0, stroke_linecap="round")
    drawing.line(plot.x(row["ratio"]), middle + 10, plot.x(row["ratio"]), middle + 22, stroke=INK, stroke_width=2.0)
