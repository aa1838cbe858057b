"""Round positions of an axis."""

from __future__ import annotations

import math

__all__ = ["ticks"]


def ticks(length: float, most: int = 8) -> list[float]:
    """Give round positions from 0 to ``length``, at most ``most`` + 1 of them."""
    if not length > 0 or not math.isfinite(length):
        return [0.0]
    rough = length / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.9999)
    return [step * i for i in range(int(length / step * 1.000001) + 1)]
