"""Pictures of memory over time by role, and of the arrays alive at the peak."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from ..base.formatting import format_bytes, format_count, format_duration, format_shape, format_share, number
from .display import Display
from .lanes import axis
from .layout import ticks
from .pack import plain
from .plots import drawing_on, legend_words, number_axis, plain_text
from .svg import Drawing, fit, heading, is_narrow, page_width, text_width
from .theme import INK, LINE, MUTED, OTHER, PAPER, ROLE_COLORS, ink_on, role_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes


__all__ = ["Alive", "Sample", "alive_of", "alive_rows", "color_of_role", "memory_figure", "memory_payload",
           "role_keys", "samples_of", "sum_by"]

ALIVE_COLUMNS = ("owner", "role", "storage type", "shape", "component", "bytes", "share")
#: Points a curve may have; between two of them the highest total is the one kept.
MOST_POINTS = 400


class Sample(NamedTuple):
    """Memory from ``time`` (microseconds) on; ``roles`` maps role -> bytes."""

    time: float
    total: float
    roles: dict[str, float]


class Alive(NamedTuple):
    """One component of one array that was alive at the peak."""

    owner: str
    role: str
    stype: str
    shape: Any
    component: str
    bytes: float
    layer: str = ""


def samples_of(memory: Mapping[str, Any]) -> list[Sample]:
    """Read the curve, sorted by time."""
    found = []
    for entry in memory.get("samples") or ():
        if isinstance(entry, (list, tuple)) and len(entry) >= 3 and isinstance(entry[2], Mapping):
            roles = {str(role): max(0.0, number(amount)) for role, amount in entry[2].items()}
            found.append(Sample(number(entry[0]), max(number(entry[1]), sum(roles.values())), roles))
    found.sort(key=lambda sample: sample.time)
    return found


def alive_of(memory: Mapping[str, Any]) -> list[tuple[Alive, Mapping[str, Any]]]:
    """What was alive at the peak, largest first, each beside what the profile says about it."""
    found = []
    for item in memory.get("at_peak") or ():
        if isinstance(item, Mapping):
            alive = Alive(
                str(item.get("owner") or "(unnamed)"),
                str(item.get("role") or "other"),
                str(item.get("stype") or ""),
                item.get("shape", ()),
                str(item.get("component") or "data"),
                max(0.0, number(item.get("bytes"))),
                str(item.get("layer") or ""),
            )
            found.append((alive, item))
    return sorted(found, key=lambda pair: (-pair[0].bytes, pair[0].owner, pair[0].role, pair[0].component))


def _alive(memory: Mapping[str, Any]) -> list[Alive]:
    return [alive for alive, _ in alive_of(memory)]


def memory_payload(memory: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give ``prof.memory`` with every entry readable and finite, as the live view takes it."""
    memory = memory if isinstance(memory, Mapping) else {}
    samples, alive = samples_of(memory), _alive(memory)
    peak, time = _peak(memory, samples)
    tables, process = number(memory.get("table_bytes")), number(memory.get("process_peak_bytes"))
    return {
        **({"table_bytes": tables} if tables > 0 else {}),
        "peak_bytes": peak,
        "peak_time": time,
        "top_bytes": max(peak, number(memory.get("top_bytes"))),
        "samples": [plain([sample.time, sample.total, sample.roles]) for sample in samples],
        "at_peak": [plain(item._asdict()) for item in alive],
        "process_peak_bytes": process if process > 0 else None,
    }


def _peak(memory: Mapping[str, Any], samples: Sequence[Sample]) -> tuple[float, float]:
    """Give bytes and time of the peak, from the samples where the profile does not say."""
    top = max(samples, key=lambda sample: sample.total, default=Sample(0.0, 0.0, {}))
    return number(memory.get("peak_bytes"), top.total), number(memory.get("peak_time"), top.time)


def alive_rows(memory: Mapping[str, Any], most: int = 12) -> list[tuple[str, ...]]:
    """Table of what was alive at the peak, largest first; the rest is one last row."""
    alive = _alive(memory)
    total = sum(item.bytes for item in alive)

    def sizes(items: Sequence[Alive]) -> tuple[str, str]:
        amount = sum(item.bytes for item in items)
        return format_bytes(amount), format_share(amount, total)

    shown = alive[:most] if len(alive) > most + 1 else alive
    rows: list[tuple[str, ...]] = []
    for item, component in zip(shown, buffers(alive), strict=False):
        rows.append((item.owner, item.role, item.stype, format_shape(item.shape), component, *sizes([item])))
    rest = alive[len(shown) :]
    return [*rows, (f"{len(rest)} others", "", "", "", "", *sizes(rest))] if rest else rows


def buffers(alive: Sequence[Alive]) -> list[str]:
    """The component of each array, with its number where several buffers of one array are alive: ``"data, 1 of 2"``."""
    keys = [(item.owner, item.role, item.component) for item in alive]
    counts, seen, found = Counter(keys), Counter[tuple[str, ...]](), []
    for key in keys:
        seen[key] += 1
        found.append(f"{key[2]}, {seen[key]} of {counts[key]}" if counts[key] > 1 and key[0] != "(unnamed)" else key[2])
    return found


def _twice(alive: Sequence[Alive]) -> str:
    """Name the gradient of which several buffers are alive; empty if there is none."""
    counts = Counter(item.owner for item in alive if item.role == "gradient" and item.component == "data")
    owner, count = max(counts.items(), key=lambda item: item[1], default=("", 1))
    return f" {count} buffers of the gradient of {owner} are alive at once." if count > 1 and owner != "(unnamed)" else ""


def _finding(memory: Mapping[str, Any], samples: Sequence[Sample], alive: Sequence[Alive]) -> str:
    peak, time = _peak(memory, samples)
    if peak <= 0:
        return "No memory was recorded."
    words = f"Memory peaked at {format_bytes(peak)} after {format_duration(time)}"
    roles = sum_by(alive, _role) or next((s.roles for s in samples if s.time == time), {})
    parts = sorted(((amount, role) for role, amount in roles.items() if amount > 0), key=lambda p: (-p[0], p[1]))
    if parts:
        whole = max(peak, sum(roles.values()))
        words += ": " + ", ".join(f"{role} {format_share(amount, whole)}" for amount, role in parts[:4])
    if alive:
        first = alive[0]
        words += f"; the largest array is the {first.role} of {first.owner}, {format_bytes(first.bytes)}"
    words += f".{_twice(alive)}"
    tables, process = number(memory.get("table_bytes")), number(memory.get("process_peak_bytes"))
    if tables > 0:
        words += f" Compiled steps keep {format_bytes(tables)} between runs."
    return f"{words} The whole process peaked at {format_bytes(process)}." if process > 0 else words


def sum_by(alive: Iterable[Alive], key: Callable[..., Any]) -> dict[Any, float]:
    """Add up bytes by key."""
    totals: dict[Any, float] = {}
    for item in alive:
        totals[key(item)] = totals.get(key(item), 0.0) + item.bytes
    return totals


def _role(item: Alive) -> str:
    return item.role


@overload
def memory_figure(memory: Mapping[str, Any] | None, title: str = ..., rows: int = ..., ax: None = ...) -> Display: ...
@overload
def memory_figure(memory: Mapping[str, Any] | None, title: str = ..., rows: int = ..., *, ax: Axes) -> Axes: ...
def memory_figure(memory: Mapping[str, Any] | None, title: str = "", rows: int = 12, ax: Axes | None = None) -> Display | Axes:
    """Draw memory over time by role, with the peak marked, beside the arrays alive at the peak.

    Parameters
    ----------
    memory : dict
        ``prof.memory``: ``peak_bytes``, ``peak_time``, ``samples``, ``at_peak``, ``process_peak_bytes``.  ``top_bytes`` may be
        added: the number of bytes at the top of the picture, to give pictures of several runs the same scale.
    title : str, optional
    rows : int
        Number of rows of the table.
    ax : matplotlib.axes.Axes, optional
        Draw memory over time on these axes, in their own style.

    Returns
    -------
    Display or matplotlib.axes.Axes
        The picture and a table of the arrays that are alive at the peak; ``ax`` if it is given.
    """
    memory = memory if isinstance(memory, Mapping) else {}
    samples, alive = samples_of(memory), _alive(memory)
    if ax is not None:
        return _on_axes(ax, samples, str(title))
    finding = _finding(memory, samples, alive)
    title, peak, least = str(title) or "Where the memory goes", _peak(memory, samples), number(memory.get("top_bytes"))
    return Display(lambda: _picture(samples, alive, peak, least, title, finding), finding, ALIVE_COLUMNS,
                   alive_rows(memory, rows), "Alive at the peak")


def _picture(samples: Sequence[Sample], alive: Sequence[Alive], peak: tuple[float, float], at_least: float, title: str,
             finding: str) -> str:  # fmt: skip
    """Memory over time, and beside it, or on a narrow page below it, what was alive at the peak."""
    drawing = Drawing(page_width())
    y = heading(drawing, title, finding)
    left, wide, high = (70.0, drawing.width - 90, 190.0) if is_narrow() else (78.0, 480.0, 250.0)
    if samples:
        _area(drawing, samples, peak, left, wide, y + 16, high, at_least)
    if samples or alive:
        roles = role_order(role for parts in (*(s.roles for s in samples), sum_by(alive, _role)) for role in parts)
        below = role_keys(drawing, {role: color_of_role(role) for role in roles}, y + high + 46, 20 if is_narrow() else left)
        if alive and is_narrow():
            below = _alive_bars(drawing, alive, 20.0, below + 8)
        elif alive:
            _alive_bars(drawing, alive, 606.0, y + 8)
        y = below
    return drawing.finish(y, finding)


def _on_axes(ax: Axes, samples: Sequence[Sample], title: str) -> Axes:
    """Stacked steps of matplotlib, one layer a role; each level holds until the next sample."""
    points = _thin(samples)
    roles = role_order(role for sample in points for role in sample.roles)
    with drawing_on(ax) as matplotlib:
        if roles:
            start, end = points[0].time, points[-1].time
            points.append(points[-1]._replace(time=end + ((end - start) * 0.02 or 1.0)))  # the last level is a level too
            layers = [[sample.roles.get(role, 0.0) for sample in points] for role in roles]
            ax.stackplot([sample.time for sample in points], layers,
                         step="post", labels=[legend_words(role) for role in roles], colors=list(map(color_of_role, roles)))
            ax.legend()
        ax.set_title(plain_text(title))
        number_axis(matplotlib, ax.xaxis, format_duration)
        number_axis(matplotlib, ax.yaxis, format_bytes)
    return ax


def color_of_role(role: str) -> str:
    """The colour of a role; unknown ones share grey."""
    return ROLE_COLORS.get(role, OTHER)


def _thin(samples: Sequence[Sample], most: int = MOST_POINTS) -> list[Sample]:
    """Keep the highest sample of each stretch, so that peaks are kept."""
    if len(samples) <= most:
        return list(samples)
    size = math.ceil(len(samples) / most)
    return [max(samples[i : i + size], key=lambda sample: sample.total) for i in range(0, len(samples), size)]


def _area(
    drawing: Drawing,
    samples: Sequence[Sample],
    peak: tuple[float, float],
    left: float,
    width: float,
    top: float,
    height: float,
    at_least: float = 0.0,
) -> None:
    """Draw stacked steps; each level holds until the next sample."""
    points = _thin(samples, min(MOST_POINTS, int(width / 2)))
    start, end = samples[0].time, samples[-1].time
    # The last level is a level too: give it a little width.
    end += (end - start) * 0.02 or 1.0
    highest = max([peak[0], at_least, *(sample.total for sample in points)]) or 1.0
    x = [left + (sample.time - start) / (end - start) * width for sample in points] + [left + width]
    bottom = top + height
    scale = height / (highest * 1.08)
    _levels(drawing, left, width, bottom, scale, highest)
    axis(drawing, left, width, bottom, bottom, end - start)
    base = [0.0] * len(points)
    for role in role_order(role for sample in points for role in sample.roles):
        upper = [low + sample.roles.get(role, 0.0) for low, sample in zip(base, points, strict=True)]
        if any(high > low for high, low in zip(upper, base, strict=True)):
            _layer(drawing, x, [bottom - v * scale for v in base], [bottom - v * scale for v in upper], role)
        base = upper
    at = left + min(max((peak[1] - start) / (end - start), 0.0), 1.0) * width
    _mark_peak(drawing, peak[0], at, bottom - peak[0] * scale, left + width, bottom)


def _levels(drawing: Drawing, left: float, width: float, bottom: float, scale: float, highest: float) -> None:
    for level in ticks(highest, 5):
        y = bottom - level * scale
        drawing.line(left, y, left + width, y, stroke_width=0.7)
        drawing.text(left - 8, y + 4, format_bytes(level) if level else "0", size=11, fill=MUTED, text_anchor="end")


def _layer(drawing: Drawing, x: Sequence[float], low: Sequence[float], high: Sequence[float], role: str) -> None:
    forth = "".join(f"{'M' if i == 0 else 'L'}{x[i]:.1f} {v:.1f}H{x[i + 1]:.1f}" for i, v in enumerate(high))
    back = "".join(f"L{x[i + 1]:.1f} {low[i]:.1f}H{x[i]:.1f}" for i in reversed(range(len(low))))
    color = color_of_role(role)
    drawing.add("path", d=f"{forth}{back}z", fill=color, stroke=color, stroke_width=0.6)
    # The second channel: the name, written where the layer is thickest.
    runs = _widest(x, low, high)
    if runs:
        left, right, middle = runs
        size = 12.5
        if text_width(role, size) < right - left - 8:
            drawing.text(
                (left + right) / 2,
                middle + 4.5,
                role,
                size=size,
                fill=ink_on(color),
                text_anchor="middle",
                font_weight="bold",
            )


def _widest(x: Sequence[float], low: Sequence[float], high: Sequence[float]) -> tuple[float, float, float] | None:
    """Find the widest stretch in which a line of text stays inside the layer."""
    best: tuple[float, float, float] | None = None
    first, top, bottom = 0, -math.inf, math.inf
    for i in range(len(low)):
        top, bottom = max(top, high[i]), min(bottom, low[i])
        if bottom - top < 17:
            first, top, bottom = i, high[i], low[i]
        if bottom - top >= 17 and (best is None or x[i + 1] - x[first] > best[1] - best[0]):
            best = (x[first], x[i + 1], (top + bottom) / 2)
    return best


def _mark_peak(drawing: Drawing, peak: float, x: float, y: float, end: float, bottom: float) -> None:
    label = f"peak {format_bytes(peak)}"
    drawing.line(x, y - 4, x, bottom, stroke=INK, stroke_width=1.2, stroke_dasharray="4 3")
    drawing.add("circle", cx=x, cy=y, r=4.0, fill=INK, stroke=PAPER, stroke_width=1.4)
    right = x + text_width(label, 13) + 10 < end
    drawing.text(
        x + 9 if right else x - 9, y - 6, label, size=13, font_weight="bold", text_anchor=None if right else "end"
    )


def _alive_bars(drawing: Drawing, alive: Sequence[Alive], left: float, top: float) -> float:
    """Draw the largest arrays alive at the peak; the parts of a bar are the array's components. Give where that ends."""
    arrays = sum_by(alive, lambda item: (item.owner, item.role, item.stype))
    ranked = sorted(arrays, key=lambda key: (-arrays[key], key))
    largest = arrays[ranked[0]] or 1.0
    room = drawing.width - 24 - left
    drawing.text(left, top + 8, "Alive at the peak", size=13, font_weight="bold")
    for i, key in enumerate(ranked[:7]):
        owner, role, stype = key
        y = top + 20 + 38 * i
        size = format_bytes(arrays[key])
        note = f"{role}, {stype}" if stype else role
        name = fit(owner, room - text_width(size, 12.5) - 90, 12.5)
        after = text_width(name, 12.5) + 6
        drawing.text(left, y + 10, name, size=12.5)
        note = fit(note, room - after - text_width(size, 12.5) - 12, 11)
        drawing.text(left + after, y + 10, note, size=11, fill=MUTED)
        drawing.text(drawing.width - 24, y + 10, size, size=12.5, text_anchor="end", font_weight="bold")
        parts = [item for item in alive if (item.owner, item.role, item.stype) == key]
        _stack(drawing, left, y + 15, room, 11, [(p.component, p.bytes, color_of_role(role)) for p in parts], largest)
    rest = ranked[7:]
    if rest:
        words = f"and {format_count(len(rest))} smaller: {format_bytes(sum(arrays[key] for key in rest))}"
        drawing.text(left, top + 20 + 38 * 7 + 8, words, size=11.5, fill=MUTED)
    return top + 20 + 38 * len(ranked[:7]) + (24 if rest else 8)


def _stack(
    drawing: Drawing,
    left: float,
    y: float,
    room: float,
    height: float,
    parts: Sequence[tuple[str, float, str]],
    largest: float,
) -> None:
    x = left
    for i, (_, amount, color) in enumerate(parts):
        width = room * amount / largest
        drawing.rect(x, y, max(width, 1.0), height, color)
        if i and width > 2:
            drawing.rect(x, y, width, height, drawing.hatch(ink_on(color), 4, 0.8))
        x += width
    drawing.line(left, y + height + 0.5, left + room, y + height + 0.5, stroke=LINE, stroke_width=0.7)


def role_keys(drawing: Drawing, colors: Mapping[str, str], y: float, x: float = 180.0) -> float:
    """Draw what the colours mean; give where that ends."""
    first = x
    for key, color in colors.items():
        label = fit(key, 160, 12)
        if x > first and x + 26 + text_width(label, 12) > drawing.width - 12:
            x, y = first, y + 22
        drawing.rect(x, y + 8, 20, 13, color, rx=2.0)
        drawing.text(x + 26, y + 19, label, size=12)
        x += 26 + text_width(label, 12) + 18
    return y + 34
