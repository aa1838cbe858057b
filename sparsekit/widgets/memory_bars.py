"""Bars that compare what several runs hold at their peaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ..base.formatting import format_bytes, format_ratio
from .display import Display
from .memory import Alive, alive_of, color_of_role, role_keys, samples_of, sum_by
from .plots import drawing_on, legend_words, number_axis, plain_text
from .svg import Drawing, fit, heading, is_narrow, page_width, text_width
from .theme import MUTED, SERIES, ink_on, role_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["memory_bars", "peaks_figure"]

_COMPONENTS = ("data", "indices", "indptr")


@overload
def memory_bars(memories: Mapping[str, Mapping[str, Any] | None], by: str = ..., title: str = ...,
                ax: None = ...) -> Display: ...
@overload
def memory_bars(memories: Mapping[str, Mapping[str, Any] | None], by: str = ..., title: str = ..., *, ax: Axes) -> Axes: ...
def memory_bars(
    memories: Mapping[str, Mapping[str, Any] | None],
    by: str = "role",
    title: str = "",
    ax: Axes | None = None,
) -> Display | Axes:
    """Compare the peaks of several runs, each bar split by role or by component.

    Parameters
    ----------
    memories : mapping of str to dict
        ``prof.memory`` of each run by name, in the order of the bars.
    by : {"role", "component"}
        How each bar is divided.
    title : str, optional
    ax : matplotlib.axes.Axes, optional
        Draw the bars on these axes, in their own style.

    Returns
    -------
    Display or matplotlib.axes.Axes
        The picture and a table with one row per run; ``ax`` where it is given.
    """
    runs = {str(name): _parts(memory if isinstance(memory, Mapping) else {}, by) for name, memory in memories.items()}
    if ax is not None:
        return _on_axes(ax, runs, str(title), by)
    totals = {name: sum(parts.values()) for name, parts in runs.items()}
    return _draw(runs, str(title) or f"Memory at the peak, by {by}", _comparison(totals, runs), by)


def peaks_figure(runs: Mapping[str, Sequence[Alive]], title: str, finding: str) -> Display:
    """Draw one bar by role for each named list of what is alive."""
    return _draw({name: sum_by(alive, lambda item: item.role) for name, alive in runs.items()}, title, finding, "role")


def _draw(runs: Mapping[str, Mapping[str, float]], title: str, finding: str, by: str) -> Display:
    colors = _colors(runs, by)
    keys = list(colors)
    totals = {name: sum(parts.values()) for name, parts in runs.items()}
    columns = ("run", *keys, "total")
    rows = [
        (name, *(format_bytes(parts.get(key, 0)) for key in keys), format_bytes(totals[name]))
        for name, parts in runs.items()
    ]
    return Display(lambda: _picture(runs, colors, title, finding), finding, columns, rows, f"Bytes alive at the peak, by {by}")


def _picture(runs: Mapping[str, Mapping[str, float]], colors: Mapping[str, str], title: str, finding: str) -> str:
    drawing = Drawing(page_width())
    y = heading(drawing, title, finding)
    largest = max((sum(parts.values()) for parts in runs.values()), default=0.0)
    for name, parts in runs.items():
        y = _bar(drawing, name, [(key, parts[key], color) for key, color in colors.items() if key in parts], largest, y)
    y = role_keys(drawing, colors, y, 20.0 if is_narrow() else 180.0)
    return drawing.finish(y, finding)


def _colors(runs: Mapping[str, Mapping[str, float]], by: str) -> dict[str, str]:
    """The parts of all bars in their order, and the colour of each."""
    order = role_order if by == "role" else _component_order
    keys = order(key for parts in runs.values() for key in parts)
    return {key: color_of_role(key) if by == "role" else SERIES[i % len(SERIES)] for i, key in enumerate(keys)}


def _on_axes(ax: Axes, runs: Mapping[str, Mapping[str, float]], title: str, by: str) -> Axes:
    """Bars of matplotlib, one below the other, their parts side by side."""
    done = [0.0] * len(runs)
    with drawing_on(ax) as matplotlib:
        for key, color in _colors(runs, by).items():
            sizes = [parts.get(key, 0.0) for parts in runs.values()]
            ax.barh(range(len(runs)), sizes, 0.6, left=done, color=color, label=legend_words(key))
            done = [start + size for start, size in zip(done, sizes, strict=True)]
        ax.set_title(plain_text(title))
        ax.set_yticks(range(len(runs)), [plain_text(name) for name in runs])
        ax.invert_yaxis()
        number_axis(matplotlib, ax.xaxis, format_bytes)
        if any(done):
            ax.legend()
    return ax


def _component_order(names: Iterable[str]) -> list[str]:
    present = dict.fromkeys(names)
    return [n for n in _COMPONENTS if n in present] + [n for n in present if n not in _COMPONENTS]


def _parts(memory: Mapping[str, Any], by: str) -> dict[str, float]:
    alive = [item for item, _ in alive_of(memory)]
    if alive:
        return sum_by(alive, lambda item: item.component if by == "component" else item.role)
    samples = samples_of(memory)
    top = max(samples, key=lambda sample: sample.total, default=None)
    return dict(top.roles) if top and by == "role" else {}


def _comparison(totals: Mapping[str, float], runs: Mapping[str, Mapping[str, float]]) -> str:
    found = {name: total for name, total in totals.items() if total > 0}
    if not found:
        return "No memory was recorded."
    words = "At its peak, " + ", ".join(f"{name} holds {format_bytes(total)}" for name, total in found.items())
    high, low = max(found, key=lambda name: found[name]), min(found, key=lambda name: found[name])
    if found[high] > found[low] * 1.05:
        words += f": {high} needs {format_ratio(found[high] / found[low])} the memory of {low}"
    factors = {
        key: (amount / runs[low][key], amount) for key, amount in runs[high].items() if runs[low].get(key, 0.0) > 0
    }
    telling = [key for key, (factor, _) in factors.items() if factor > 1.5 * found[high] / found[low]]
    key = max(telling, key=lambda name: factors[name][1], default="")
    if key:
        sizes = f"{format_bytes(factors[key][1])} against {format_bytes(runs[low][key])}"
        words += f"; its {key} alone {format_ratio(factors[key][0])} ({sizes})"
    return words + "."


def _bar(drawing: Drawing, name: str, parts: Sequence[tuple[str, float, str]], largest: float, y: float) -> float:
    left = 20.0 if is_narrow() else 180.0
    room = drawing.width - left - (90.0 if is_narrow() else 110.0)
    total = sum(amount for _, amount, _ in parts)
    if is_narrow():
        drawing.text(left, y + 18, fit(name, drawing.width - 40, 14), size=14, font_weight="bold")
        y += 20
    else:
        drawing.text(left - 12, y + 24, fit(name, left - 32, 14), size=14, text_anchor="end", font_weight="bold")
    x, unnamed = left, []
    for key, amount, color in parts:
        width = room * amount / largest if largest > 0 else 0.0
        if width > 0:
            drawing.rect(x, y + 6, max(width - 0.8, 0.8), 26, color, rx=min(2.0, width / 2))
        words = f"{key} {format_bytes(amount)}"
        label = next((text for text in (words, key) if text_width(text, 12) < width - 12), "")
        if label:
            drawing.text(x + 8, y + 23.5, label, size=12, fill=ink_on(color))
        elif amount > 0:
            unnamed.append(words)
        x += width
    words = format_bytes(total)
    drawing.text(x + 8, y + 24, words, size=14, font_weight="bold")
    after = x + 8 + text_width(words, 14) + 10
    if unnamed and is_narrow():
        return drawing.note(y + 48, "of which " + ", ".join(unnamed), 12, left) - 6
    if unnamed and drawing.width - 20 - after > 80:
        note = fit("of which " + ", ".join(unnamed), drawing.width - 20 - after, 12)
        drawing.text(after, y + 24, note, size=12, fill=MUTED)
    return y + 38


