"""Allocations and frees of a run in their order, so that it can be replayed with other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.lazy import computed_once
from ..base.memory_model import LASTING, Kind, batch_of, bounds_of
from .batches import Batches, apart_of, batches_of

if TYPE_CHECKING:
    from ..base.types import Array
    from .columns import Columns
    from .types import KindRecord


__all__ = ["Kind", "Lives"]


class Lives:
    """The allocations and frees of a run in their order.

    Parameters
    ----------
    columns : Columns
        Of one run.

    Attributes
    ----------
    kinds : list of tuple
        Role, owner, storage type, shape, component, shape of the component, element type, bytes.
    numbers, counts : array of int
        For each change the number of a kind, and how many more of it there are, or less.
    """

    def __init__(self, columns: Columns) -> None:
        known: dict[Kind, int] = {}
        places = [known.setdefault(kind, len(known)) for kind in _kinds_of(columns)]
        self.kinds = list(known)
        #: The number of the kind of each row of the table of holdings.
        self.of_holding = np.array(places, np.int64)
        self.numbers = self.of_holding[columns.changes.holding]
        self.counts = columns.changes.count
        self._batches = Batches()
        #: Shapes of row-sparse gradients that no product wrote.
        self.apart: tuple[tuple[int, ...], ...] = ()

    @computed_once
    def batch(self) -> int:
        """Rows of a batch; 0 if nothing came in as data."""
        return self._batches.rows or batch_of(self.kinds)

    @property
    def data_sets(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of inputs of which batches are rows."""
        return self._batches.data_sets

    def seen(self, kinds: Sequence[KindRecord], times: Sequence[int]) -> Lives:
        """Infer the batches, and the gradients that are made apart, from kinds of events and their numbers; return itself."""
        self.apart = apart_of(kinds)
        self._batches = batches_of(kinds, {kind.shape for kind in self.kinds if kind.role == "input"}, times)
        return self

    @computed_once
    def bounds(self) -> dict[int, int]:
        """Length of a parameter -> rows of it that a csr batch reaches at most."""
        _, alive = self.peak(np.array([kind.bytes for kind in self.kinds], np.int64))
        together = [kind for kind, count in zip(self.kinds, alive.tolist(), strict=True) if kind.stype == "csr"
                    for _ in range(count)]
        return bounds_of(self.kinds, together, self.batch, self.data_sets)

    def peak(self, sizes: Array) -> tuple[int, Array]:
        """Most bytes at once if each kind has these sizes, and how many arrays of each kind were alive then."""
        counts = np.zeros(len(self.kinds), np.int64)
        curve = np.cumsum(self.counts * sizes[self.numbers])
        if not len(curve) or curve.max() <= 0:
            return 0, counts
        top = int(curve.argmax())
        np.add.at(counts, self.numbers[: top + 1], self.counts[: top + 1])
        return int(curve[top]), counts


def _kinds_of(columns: Columns) -> list[Kind]:
    """What decides the size of each holding.

    Other owners than those of what lasts need not be known: they would make each layer's arrays a kind of their own.
    """
    holdings = columns.holdings
    roles, owners, stypes, components, dtypes = (
        columns.texts(getattr(holdings, name)) for name in ("role", "owner", "stype", "component", "dtype"))
    sizes = zip(holdings.shape.lists(), holdings.part.lists(), holdings.bytes.tolist(), strict=True)
    return [Kind(roles[place], owners[place] if roles[place] in LASTING else "", stypes[place], tuple(shape), components[place],
                 tuple(part), dtypes[place], size) for place, (shape, part, size) in enumerate(sizes)]
