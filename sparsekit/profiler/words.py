"""How the profiler writes numbers and tables: with the writers the displays use, reached by name."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base import displays
from ..base.errors import ProfilerError, UnknownNameError
from ..base.files import written

__all__ = ["bytes_", "count", "duration", "html_table", "parse_bytes", "share", "text_table", "write_bytes"]

for _name in ("format_bytes", "format_count", "format_duration", "format_share"):
    displays.register(_name, f"sparsekit.widgets.units:{_name}")
for _name in ("html_table", "text_table"):
    displays.register(_name, f"sparsekit.widgets.display:{_name}")

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
          "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def bytes_(value: Any) -> str:
    """``"59.3 kB"``."""
    return str(displays.call("format_bytes", value))


def duration(microseconds: Any) -> str:
    """``"12.3 ms"``."""
    return str(displays.call("format_duration", microseconds))


def count(value: Any) -> str:
    """``"12,345"``."""
    return str(displays.call("format_count", value))


def share(value: float) -> str:
    """``"96.8 %"``; never rounded up to all of it."""
    return f"{int(min(value * 1000, 1000)) / 10:.1f} %"


def text_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table for a terminal."""
    return str(displays.call("text_table", columns, rows))


def html_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """A plain HTML table, escaped."""
    return str(displays.call("html_table", columns, rows, caption))


def parse_bytes(size: float | str) -> int:
    """Read a size: a number of bytes, or text such as ``"2 MB"`` or ``"1.5 GiB"``.

    Raises
    ------
    UnknownNameError
        If the unit is none of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
    ProfilerError
        If it is no size at all: nothing finite, negative, or neither number nor text.
    """
    amount: Any = size
    found = re.fullmatch(r"\s*([\d_,]*\.?\d+)\s*([A-Za-z]*)\s*", size) if isinstance(size, str) else None
    if found:
        unit = found[2].lower() or "b"
        if unit not in _UNITS:
            raise UnknownNameError.of("unit of bytes", found[2], ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"))
        amount = float(found[1].replace(",", "").replace("_", "")) * _UNITS[unit]
    number = isinstance(amount, (int, float, np.integer, np.floating)) and not isinstance(amount, bool)
    if not number or not math.isfinite(amount) or amount < 0:
        raise ProfilerError(f"{size!r} is no size.", hint='write a number and a unit, such as "2 MB".')
    return int(amount)


def write_bytes(path: str | os.PathLike[str], write: Callable[[Any], None]) -> Path:
    """Let ``write(stream)`` fill a file beside ``path`` and rename it, so that no half-written file is left."""
    with written(path) as stream:
        write(stream)
    return Path(path)
