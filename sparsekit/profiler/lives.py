"""The life of each piece of memory, so that a run can be replayed with other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Kind", "Lives"]

#: All that decides the size of a piece of memory; see ``Lives``.
Kind = tuple[str, str, str, tuple[int, ...], str, tuple[int, ...], str, int]


class Lives:
    """The allocations and frees of a run in their order.

    Attributes
    ----------
    kinds : list of tuple
        Role, owner, storage type, shape, component, shape of the component, element type, bytes.
    order : array of int
        ``+ (number of kind + 1)`` for an allocation, the same negative for a free.
    base : dict
        Number of kind -> how many of it were there from the beginning.
    """

    def __init__(self, kinds: list[Kind], order: Any, base: dict[int, int]) -> None:
        self.kinds, self.order, self.base = kinds, np.array(order, np.int64), dict(base)

    def peak(self, sizes: Any) -> tuple[int, Any]:
        """Most bytes at once if each kind has these sizes, and how many arrays of each kind were alive then."""
        counts = np.zeros(len(self.kinds), np.int64)
        for number, count in self.base.items():
            counts[number] += count
        begin = int(counts @ sizes)
        places = np.abs(self.order) - 1
        curve = np.cumsum(np.sign(self.order) * sizes[places]) if len(self.order) else np.zeros(0, np.int64)
        if not len(curve) or curve.max() <= 0:
            return begin, counts
        top = int(curve.argmax())
        np.add.at(counts, places[: top + 1], np.sign(self.order[: top + 1]))
        return begin + int(curve[top]), counts
