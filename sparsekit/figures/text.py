"""Text of a figure: made harmless, measured, shortened and wrapped; labels of axes."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

from ..base import tables
from ..base.formatting import format_count, format_duration, format_tick, format_value, number

#: Units of axes, each with its steps up; times are in nanoseconds.  ``enhance.js`` has the same.
UNITS: dict[str, tuple[tuple[float, str], ...]] = {
    "time": ((3.6e12, "h"), (6e10, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "bytes": ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
    "count": ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1, "")),
    "share": ((0.01, "%"),),
    "ratio": ((1, "×"),),
    "number": ((1, ""),),
}
#: Classes of characters that are no letters of a name: changes of direction and other formats, surrogates, and unassigned ones.
_REMOVED = frozenset(("Cf", "Cs", "Co", "Cn"))
_NARROW = frozenset("ijltfrI.,:;'|!()[]{}·` ")
_WIDE = frozenset("mwMW@%×→—")


def clean(text: object, most: int = 60) -> str:  # object: its text is what is shown
    """Text on one line without control characters and changes of writing direction, in at most so many letters."""
    words = str(text)[: 20 * most]
    if words.isascii() and words.isprintable() and len(words) <= most:
        return words
    kept = "".join(letter if letter.isprintable() else " " for letter in words if unicodedata.category(letter) not in _REMOVED)
    kept = " ".join(kept.split())
    return kept if len(kept) <= most else kept[: most - 1].rstrip() + "…"


def markup(text: object, most: int = 300) -> str:  # object: as of clean
    """Text as XML and HTML hold it; everything that is drawn comes through here."""
    return tables.escape(clean(text, most))


def text_width(text: str, size: float) -> float:
    """Estimate the width of ``text`` in pixels, on the safe side; the reader's font is unknown."""
    units = 0.0
    for letter in text:
        if letter in _NARROW:
            units += 0.36
        elif letter in _WIDE or ord(letter) > 0x2E80:
            units += 0.95
        else:
            units += 0.7 if letter.isupper() else 0.58
    return units * size


def fit(text: str, room: float, size: float) -> str:
    """Shorten ``text`` with an ellipsis until it fits ``room`` pixels; empty if not even that does."""
    if text_width(text, size) <= room:
        return text
    words = text[: max(0, int(room / (0.36 * size)))]
    while words and text_width(words + "…", size) > room:
        words = words[:-1]
    return words.rstrip() + "…" if words else ""


def wrap(text: str, room: float, size: float, most: int = 3) -> list[str]:
    """Break ``text`` into at most ``most`` lines of ``room`` pixels; the last is shortened if it must be."""
    lines = [""]
    words = text.replace(" %", "\u00a0%").split(" ")  # a number stays with its unit
    for place, word in enumerate(words):
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size) <= room or not lines[-1]:
            lines[-1] = longer
        elif len(lines) == most:
            lines[-1] = fit(" ".join([lines[-1], *words[place:]]), room, size)
            break
        else:
            lines.append(word)
    return [fit(line, room, size) for line in lines if line]


def ticks(low: float, high: float, unit: str, most: int, logarithmic: bool = False) -> list[tuple[float, str]]:
    """Round places from ``low`` to ``high``, about ``most`` of them and two where that can be, each with its label."""
    low, high = sorted((number(low), number(high, 1.0)))
    if logarithmic:
        places: Sequence[float] = _decades(low, high, most)
        return [(place, label_of(place, place, unit)) for place in places]
    rough = (high - low) / max(most, 1)
    if not rough > 0:
        return [(low, label_of(low, abs(low), unit))]
    power = 10.0 ** math.floor(math.log10(rough))
    largest = next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    for factor in (10, 5, 2, 1, 0.5):
        step = max(factor * power, 1.0 if unit in ("count", "time", "bytes") else 0.0)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if factor <= largest and first < last:  # one place says where, and no more
            break
    return [(place * step, label_of(place * step, step, unit)) for place in range(first, last + 1)]


def label_of(value: float, step: float, unit: str) -> str:
    """The label of a place on an axis, with no digit more than ``step`` needs."""
    if unit == "time":
        return format_tick(value / 1e3, step / 1e3) if value >= 0 else format_duration(value / 1e3)
    if not value:
        return "0"
    if unit == "count":
        return format_count(value) if abs(value) < 1e6 else _with_unit(value, unit)
    return _with_unit(value, unit) if unit in UNITS and unit != "number" else format_value(round(value, 12))


def _with_unit(value: float, unit: str) -> str:
    size, name = next(((size, name) for size, name in UNITS[unit] if abs(value) >= size * 0.9995), UNITS[unit][-1])
    digits = f"{value / size:.10g}"
    return f"{digits}{name}" if name == "×" else f"{digits} {name}".rstrip()


def _decades(low: float, high: float, most: int) -> list[float]:
    """Powers of ten from ``low`` to ``high``, with twos and fives where there are few."""
    if not (0 < low <= high and math.isfinite(high)):
        return []
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, -(-(last - first) // max(most, 1)))
    factors = (1,) if last - first > most // 2 else (1, 3) if last - first > most // 3 else (1, 2, 5)
    places = [factor * 10.0**power for power in range(first, last + 1, step) for factor in (factors if step == 1 else (1,))]
    return [place for place in places if low * (1 - 1e-9) <= place <= high * (1 + 1e-9)]
