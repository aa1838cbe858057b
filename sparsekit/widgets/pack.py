"""What pages are sent, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(value: object, depth: int = 6) -> Any:
    """Copy ``value`` into what JSON can say; anything else becomes its text, never an error."""
    if value is None or isinstance(value, (bool, str)):
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
    if isinstance(value, (int, np.integer)):
        return int(value) if abs(int(value)) < 1 << 53 else float(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else str(value)
    if depth and isinstance(value, Mapping):
        return {str(key): plain(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, (list, tuple)):
        return [plain(item, depth - 1) for item in value]
    return plain(str(value))
