"""Programs that ran in turns: the ratio of every block, and the interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.formatting import format_duration, number
from .figure import Figure
from .marks import Axis, Dots, Line, Panel, Table, Text

ROW = 62.0


def turns_figure(rows: Sequence[Mapping[str, Any]], finding: str, table: Mapping[str, Any], title: str = "") -> Figure:
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

    Returns
    -------
    Figure
    """
    others = rows[1:]
    seen = [float(ratio) for row in others for ratio in [*row["ratios"], row["low"], row["high"]] if 0 < number(ratio) < math.inf]
    low, high = min([*seen, 0.9]) / 1.05, max([*seen, 1.1]) * 1.05
    count = max(len(others), 1)
    shown = Table(table.get("columns", ()), table.get("rows", ()))
    figure = Figure(title or "Interleaved runs of programs", finding, table=shown)
    figure.panels = [Panel((low, high), (0.0, float(count)), ROW * count, log_x=True, rows=True)]
    figure.add(Axis(0, "left", ticks=tuple((place + 0.4, str(row["name"])) for place, row in enumerate(others))),
               Axis(0, "right", ticks=tuple((place + 0.4, str(row.get("finding", ""))) for place, row in enumerate(others))),
               Axis(0, "bottom", "ratio", label=f"time, as a multiple of that of {rows[0]['name'] if rows else 'the first'}"),
               Line(0, "muted", [1.0, 1.0], [0.0, float(count)], width=1.4))  # fmt: skip
    for place, row in enumerate(others):
        cells = figure.table.rows[place + 1] if place + 1 < len(figure.table.rows) else ()
        _program(figure, place, row, (low, high), cells[3] if len(cells) > 3 else "")
    return figure


def _program(figure: Figure, place: int, row: Mapping[str, Any], ends: tuple[float, float], interval: str) -> None:
    """The dots, the interval and the words of one program."""
    ratios = [float(ratio) for ratio in row["ratios"] if 0 < number(ratio) < math.inf]
    heights = [place + 0.2 + 0.1 * (at % 3) for at in range(len(ratios))]
    figure.add(Dots(0, "muted", ratios, heights, 2.5, f"{row['name']}: blocks"))
    middle = min(max(number(row["ratio"], 1.0), ends[0]), ends[1])
    low, high = max(number(row["low"]), ends[0]), min(number(row["high"], math.inf), ends[1])
    words = f"{row['name']}: {number(row['low']):.3g} to {number(row['high'], math.inf):.3g} times"
    figure.add(Line(0, "ink", [low, high], [place + 0.58, place + 0.58], words, f"program {place}", width=4.0),
               Line(0, "ink", [middle] * 2, [place + 0.48, place + 0.68], width=2.0))  # fmt: skip
    said = f"{interval}; {format_duration(row['time'])} a call" if "time" in row else interval
    share = math.log(middle / ends[0]) / math.log(ends[1] / ends[0])
    anchor = "start" if share < 0.3 else "end" if share > 0.7 else "middle"
    at = {"start": low, "end": high}.get(anchor, middle)
    figure.add(Text(0, "muted", at, place + 0.84, said, anchor))
