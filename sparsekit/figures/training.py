"""A training loop: loss, rows touched, density and bytes of the gradients over its steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.formatting import format_bytes, format_count, format_density, format_duration, number
from .figure import Figure
from .marks import Axis, Line, Panel, Table

#: Pixels of a panel, and steps with a loss that is not finite up to which each is marked.
HEIGHT, MOST_MARKED = 140.0, 40


class _Series(NamedTuple):
    """One quantity: its name in the data and in words, the unit of its axis, and how a value is written."""

    name: str
    words: str
    unit: str
    write: Callable[[float], str]


SERIES = (_Series("loss", "loss", "number", lambda value: f"{value:.4g}"),
          _Series("rows", "rows touched", "count", format_count),
          _Series("density", "density of the gradients", "share", format_density),
          _Series("bytes", "bytes of the gradients", "bytes", format_bytes))  # fmt: skip


def training_figure(data: Mapping[str, Any] | None, title: str = "") -> Figure:
    """Draw what a training monitor saw.

    Parameters
    ----------
    data : dict
        ``TrainingMonitor.data``.
    title : str, optional

    Returns
    -------
    Figure
        With a table of first, last, smallest and largest values.
    """
    data = data if isinstance(data, Mapping) else {}
    steps = [number(step) for step in data.get("steps") or ()]
    columns = {series: _numbers(data.get(series.name), len(steps)) for series in SERIES}
    finite = {series: values[np.isfinite(values)] for series, values in columns.items()}
    strange = [number(step) for step in list(data.get("strange") or ())[:1000]]
    rows = [(series.words, *(series.write(float(value)) for value in (some[0], some[-1], some.min(), some.max())))
            for series, some in finite.items() if len(some)]  # fmt: skip
    figure = Figure(str(title) or "Training", _finding(data, steps, finite, strange),
                    table=Table(("", "first", "last", "smallest", "largest"), rows, "Over the steps of training"))  # fmt: skip
    for series, values in columns.items():
        if len(finite[series]):
            _panel(figure, series, steps, values, strange if series.name == "loss" else [])
    missing = [series.words for series, some in finite.items() if steps and not len(some)]
    figure.notes = (f"Not recorded: {', '.join(missing)}.",) if missing else ()
    return figure


def _numbers(values: Iterable[Any] | None, count: int) -> np.ndarray:
    """Values as so many numbers, NaN where there is none."""
    numbers = [math.nan if value is None else number(value, math.nan) for value in list(values or ())[:count]]
    return np.array([*numbers, *[math.nan] * (count - len(numbers))])


def _panel(figure: Figure, series: _Series, steps: Sequence[float], values: np.ndarray, strange: Sequence[float]) -> None:
    """One quantity over the steps."""
    panel, finite = len(figure.panels), values[np.isfinite(values)]
    low, high = float(finite.min()) if series.name == "loss" else min(0.0, float(finite.min())), _top(finite)
    room = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
    title = f"{series.words}, cut off: up to {series.write(float(finite.max()))}" if finite.max() > high else series.words
    first, last = min(steps), max(steps)
    ends = (first, last) if first < last else (first - 0.5, first + 0.5)
    figure.panels.append(Panel(ends, (high + room, low - room if low else 0.0), HEIGHT, title, share=0.5))
    figure.add(Axis(panel, "left", series.unit), Axis(panel, "bottom", "count", label="step"))
    figure.add(*(Line(panel, "muted", [step, step], [low - room, high + room], f"step {step:.0f}: the loss is not finite", dash=2)
                 for step in strange[:MOST_MARKED]))  # fmt: skip
    end, least, most = (series.write(float(value)) for value in (finite[-1], finite.min(), finite.max()))
    words = f"{series.words}: {end} at the end, {least} to {most}"
    figure.add(Line(panel, "ink", steps, np.minimum(values, high + room), words, series.name, width=1.8))


def _top(finite: np.ndarray) -> float:
    """How high a panel reaches: over all but rare spikes, such as a first step that is far off."""
    most, usual = float(finite.max()), float(np.sort(finite)[max(0, min(len(finite) - 2, int(0.98 * len(finite))))])
    return most if most < 4 * usual or usual <= 0 else 1.5 * usual


def _finding(data: Mapping[str, Any], steps: Sequence[float], finite: Mapping[_Series, np.ndarray],
             strange: Sequence[float]) -> str:  # fmt: skip
    if not steps:
        return "No step of training was seen."
    loss, rows, density, size = (finite[series] for series in SERIES)
    total, took, first = (max(0.0, number(data.get(name))) for name in ("total", "took", "first"))
    words = _steps(total or len(steps))
    if len(loss):
        words += f": the loss went from {loss[0]:.4g} to {loss[-1]:.4g}"
    if len(rows):
        all_rows = number(data.get("all_rows"))
        words += f"; a step touched {format_count(rows.mean())}{f' of {format_count(all_rows)}' if all_rows else ''} rows"
    if len(density):
        words += f", and {format_density(density.mean())} of the gradients was stored"
    if len(size):
        words += f", {format_bytes(size.mean())}"
    if took:
        words += f". {format_duration(took)} a step"
        words += f"; the first step, which compiles, took {format_duration(first)}" if first > 3 * took else ""
    slowest = [number(value) for value in list(data.get("slowest") or ())[:2]]
    if len(slowest) == 2 and slowest[0]:
        words += (f". The slowest step after the first is step {format_count(slowest[0])}, {format_duration(slowest[1])}: "
                  "m.timeline() opens it")
    if strange:
        words += f". The loss was not finite at {_steps(len(strange))}, first at {format_count(strange[0])}"
    return f"{words}."


def _steps(count: float) -> str:
    return f"{format_count(count)} step{'' if count == 1 else 's'}"
