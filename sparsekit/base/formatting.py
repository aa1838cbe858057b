"""One way to write bytes, durations, counts, shares and shapes, used by every display."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .errors import ProfilerError, UnknownNameError, expected

if TYPE_CHECKING:
    from collections.abc import Sequence

_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_SECONDS = ((3.6e9, "h"), (6e7, "min"), (1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))
_COUNTS = ((1e15, "P"), (1e12, "T"), (1e9, "G"))


def number(value: object, default: float = 0.0) -> float:  # object: a field of a file that anyone may have written
    """Read ``value`` as a finite number, or give ``default``: a display never fails on its data."""
    try:
        result = float(value)  # type: ignore[arg-type]  # which raises for what is not a number
    except (TypeError, ValueError, OverflowError):
        return default
    return result if math.isfinite(result) else default


def _three(value: float) -> str:
    """Write 0 < value with three significant digits, no exponent and no separators below 1,000."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _scaled(value: float, scale: Iterable[tuple[float, str]]) -> tuple[str, str] | None:
    for size, unit in scale:
        # 999.7 kB would round to "1,000 kB": let the larger unit have it.
        if value >= size * 0.9995:
            return _three(value / size), unit
    return None


def format_bytes(value: object) -> str:  # object: number() reads it
    """Write a number of bytes with a decimal unit: ``"59.3 kB"``, ``"512 MB"``, ``"88 B"``."""
    amount = number(value)
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    scaled = _scaled(amount, _BYTES)
    return f"{sign}{scaled[0]} {scaled[1]}" if scaled else f"{sign}{amount:.0f} B"


def format_duration(microseconds: float) -> str:
    """Write a duration given in microseconds: ``"12.3 ms"``, ``"850 ns"``, ``"4.10 s"``."""
    amount = number(microseconds)
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    scaled = _scaled(amount, _SECONDS)
    if not scaled:
        return "0 s" if amount < 5e-4 else f"{sign}1 ns"
    return f"{sign}{scaled[0]} {scaled[1]}"


def format_count(value: object) -> str:  # object: number() reads it
    """Write a count exactly below one billion (``"1,280,000"``), with three digits above (``"2.56 G"``)."""
    amount = number(value)
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    scaled = _scaled(amount, _COUNTS)
    return f"{sign}{scaled[0]} {scaled[1]}" if scaled else f"{sign}{amount:,.0f}"


def counted(count: float, noun: str, verb: str = "") -> str:
    """Write how many there are of something, and what they do: ``"1 row"``, ``"12,345 rows"``, ``"1 row is"``."""
    singular = {"": "", "are": " is", "were": " was"}.get(verb, f" {verb}s")
    return f"{count:,.0f} {noun}{singular}" if count == 1 else f"{count:,.0f} {noun}s {verb}".rstrip()


def format_share(part: float, whole: float = 1.0) -> str:
    """Write ``part / whole`` in whole per cent: ``"60 %"``, ``"<1 %"``, ``"0 %"``."""
    total = number(whole)
    share = number(part) / total if total > 0 else 0.0
    if 0 < share < 0.005:
        return "<1 %"
    return f"{100 * share:.0f} %"


def format_density(value: object) -> str:  # object: number() reads it
    """Write a density in per cent with two significant digits: ``"100 %"``, ``"0.001 %"``, ``"0 %"``."""
    percent = 100 * number(value)
    if percent <= 0:
        return "0 %"
    if percent >= 99.95:
        return "100 %" if percent >= 100 else ">99.9 %"
    digits = max(0, 1 - math.floor(math.log10(percent)))
    if digits > 9:
        return f"{percent:.1e} %"
    written = f"{percent:.{digits}f}"
    return f"{written.rstrip('0').rstrip('.') if '.' in written else written} %"


def format_value(value: float) -> str:
    """Write any number, such as a counter's: ``"12,345"``, ``"0.6931"``, ``"1.28 M"``, ``"2.50e-07"``."""
    amount = number(value)
    size = abs(amount)
    if size >= 1e18:
        return f"{amount:.2e}"
    if size >= 999_950 or amount.is_integer():
        return format_count(amount)
    if size >= 1000:
        return f"{amount:,.1f}"
    return f"{amount:.4g}" if size >= 1e-4 else f"{amount:.2e}"


def format_tick(microseconds: float, step: float) -> str:
    """Write one label of a time axis: the unit follows from the axis, no digit more than ``step`` needs."""
    if not microseconds:
        return "0"
    size, unit = next(((size, unit) for size, unit in _SECONDS if microseconds >= size * 0.9995), (1e-3, "ns"))
    return f"{round(microseconds / size, max(0, -math.floor(math.log10(step / size) + 1e-9))):g} {unit}"


def format_ratio(value: float) -> str:
    """Write a factor: ``"9,000×"``, ``"1.5×"``."""
    amount = number(value)
    return f"{amount:,.0f}×" if amount >= 9.95 else f"{amount:.1f}×"


def format_shape(shape: Sequence[int]) -> str:
    """Write a shape: ``"10 × 1,000,000"``; ``"scalar"`` when there are no axes."""
    try:
        axes = [f"{int(number(size)):,}" for size in shape]
    except TypeError:
        return "?"
    return " × ".join(axes) if axes else "scalar"


def format_percent(value: float) -> str:
    """``"96.8 %"``; never rounded up to all of it."""
    return f"{int(min(value * 1000, 1000)) / 10:.1f} %"


_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
          "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def parse_bytes(size: float | str) -> int:
    """Read a size: a number of bytes, or text such as ``"2 MB"`` or ``"1.5 GiB"``.

    Raises
    ------
    UnknownNameError
        If the unit is not one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
    ProfilerError
        If it is not a finite number of at least 0, nor such a number with a unit.
    """
    amount = size
    match = re.fullmatch(r"\s*([\d_,]*\.?\d+)\s*([A-Za-z]*)\s*", size) if isinstance(size, str) else None
    if match:
        unit = match[2].lower() or "b"
        if unit not in _UNITS:
            raise UnknownNameError.of("unit of bytes", match[2], ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"))
        amount = float(match[1].replace(",", "").replace("_", "")) * _UNITS[unit]
    numeric = isinstance(amount, (int, float, np.integer, np.floating)) and not isinstance(amount, bool)
    if isinstance(amount, str) or not numeric or not math.isfinite(amount) or amount < 0:
        raise ProfilerError(expected("A size", "a number and a unit of bytes", size), hint='write "2 MB", for example.')
    return int(amount)
