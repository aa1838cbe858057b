"""Fixes that were tried: the verdict on each, and its bytes before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.formatting import format_bytes
from .drawing import add_rows
from .figure import Figure
from .marks import Rect, Table

ROW = 34.0
#: The sign of each verdict.
SIGNS = {"holds": "✓", "changes the answer": "≠", "no gain": "–", "refused": "×"}
HEADS = {"peak": "Bytes at the peak", "moved": "Bytes moved"}


def fixes_figure(rows: Sequence[Mapping[str, Any]], finding: str, table: Mapping[str, Any], title: str = "") -> Figure:
    """Draw each fix with its verdict, and bars of the bytes at the peak and moved, before and after.

    Parameters
    ----------
    rows : sequence of dict
        ``remedy what verdict answers where after peak moved``; ``peak`` and ``moved`` are pairs of bytes, or None.
    finding : str
        The findings, in sentences.
    table : dict
        Table with the same content, with the keys ``columns`` and ``rows``.
    title : str, optional

    Returns
    -------
    Figure
    """
    figure = Figure(title or "Fixes that were tried", finding, notes=[_words(row) for row in rows],
                    table=Table(table.get("columns", ()), table.get("rows", ()), "Fixes that were tried"))  # fmt: skip
    if rows:
        figure.legend = {"before and after": "outlined: before the fix; filled: after it"}
    for name, head in HEADS.items() if rows else ():
        _panel(figure, rows, name, head)
    return figure


def _panel(figure: Figure, rows: Sequence[Mapping[str, Any]], name: str, head: str) -> None:
    """Bars of all fixes for one quantity."""
    largest = max([1.0, *(float(max(row[name])) for row in rows if row[name])])
    number = add_rows(figure, ROW, largest, [(
        f"{_sign(row)} {row['remedy']}", " → ".join(map(format_bytes, row[name])) if row[name] else "not measured")
        for row in rows], head)
    for place, row in enumerate(rows):
        for half, kind, value in zip(("before", "after"), ("outline", "muted"), row[name] or (), strict=False):
            top = place + (0.16 if half == "before" else 0.52)
            figure.add(Rect(number, kind, 0.0, float(value), top, top + 0.32, f"{half}: {format_bytes(value)}", f"fix {place}"))


def _sign(row: Mapping[str, Any]) -> str:
    return SIGNS.get(str(row["verdict"]), "?")


def _words(row: Mapping[str, Any]) -> str:
    """What is said of a fix in one line below the bars."""
    verdict = f"{row['verdict']}: {row['answers']}" if row["answers"] else str(row["verdict"])
    last = (str(row["where"]), f"on top of {row['after']}" if row["after"] else "")
    return f"{_sign(row)} {row['remedy']}: {'; '.join(part for part in (str(row['what']), verdict, *last) if part)}"
