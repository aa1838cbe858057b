"""Allocations and frees of a run in their order, so that it can be replayed with other sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.lazy import computed_once
from ..base.memory_model import LASTING, Kind, batch_of, bounds_of, kind_of
from .batches import Batches, apart_of, batches_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ..base.types import Array
    from .columns import Columns
    from .types import Alive, Record


__all__ = ["Kind", "Lives"]

#: Different moments that are looked through for those that may be the peak, and of these the most that are kept.
MOST_STATES, MOST_MOMENTS = 20_000, 400


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
        self.numbers = np.array(places, np.int64)[columns.changes.holding]
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

    def seen(self, records: Iterable[Record]) -> Lives:
        """Infer the batches, and the gradients that are made apart, from the operators' arrays; return itself."""
        records = list(records)
        self.apart = apart_of(records)
        self._batches = batches_of(records, {kind.shape for kind in self.kinds if kind.role == "input"})
        return self

    def bounds(self, at_peak: Iterable[Alive]) -> dict[int, int]:
        """Length of a parameter -> rows of it that a csr batch reaches at most; ``at_peak`` is what was alive at the peak."""
        together = (kind_of(row["role"], row["owner"], row["stype"], tuple(row["shape"]), row["component"], row["dtype"],
                            row["bytes"]) for row in at_peak)
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

    def moments(self) -> list[dict[int, int]] | None:
        """The moments of which one is the peak, whatever the sizes, as numbers of arrays by kind; None if they are too many.

        Left out is each moment at which no more was alive than at another one, rank by rank of arrays that are alike but
        for their length.  For every ``Change`` the most bytes of these moments are the peak of the whole run.
        """
        tops = np.flatnonzero((self.counts > 0) & np.append(self.counts[1:] < 0, True))
        # A state is known by a sum of random numbers, one for each array that is alive.
        marks = np.random.default_rng(0).integers(1, 2**63, len(self.kinds), np.uint64)
        states = np.cumsum(marks[self.numbers] * self.counts.astype(np.uint64), dtype=np.uint64)[tops]
        tops = np.sort(tops[np.unique(states, return_index=True)[1]])
        if len(tops) > MOST_STATES:
            return None
        return _highest(self._alive_at(tops), [self._rank(kind) for kind in self.kinds])

    def _alive_at(self, places: Array) -> list[dict[int, int]]:
        """How many of each kind were alive after each of these changes."""
        counts, done = np.zeros(len(self.kinds), np.int64), 0
        found = []
        for place in places.tolist():
            np.add.at(counts, self.numbers[done: place + 1], self.counts[done: place + 1])
            done = place + 1
            alive = np.flatnonzero(counts)
            found.append(dict(zip(alive.tolist(), counts[alive].tolist(), strict=True)))
        return found

    @computed_once
    def _gradients(self) -> set[tuple[int, ...]]:
        return {kind.shape for kind in self.kinds if kind.role == "gradient"}

    def _rank(self, kind: Kind) -> tuple[Hashable, int]:
        """What a kind has in common with those that are longer or shorter, and its length: a longer one is never smaller."""
        role, owner, stype, shape, component, part, dtype, _ = kind
        loose = (stype == "default" and role not in ("parameter", "gradient", "optimizer state") and shape == part
                 and shape[:1] != (self.batch,) and shape not in self._gradients)
        return (role, owner, stype, None if loose else shape, component, part[1:], dtype), part[0] if part else 0

    def plain(self, at_peak: Iterable[Alive]) -> dict[str, Any]:  # Any: each field as its name says
        """What a display needs to find the peak again: ``kinds moments batch data_sets apart bounds`` as plain data."""
        moments = self.moments()
        used = {number for moment in moments or () for number in moment}
        used.update(number for number, kind in enumerate(self.kinds) if kind.role in ("parameter", "gradient"))
        numbers = {number: place for place, number in enumerate(sorted(used))}
        return {"kinds": [self.kinds[number] for number in numbers], "batch": self.batch, "bounds": self.bounds(at_peak),
                "data_sets": [list(shape) for shape in self.data_sets], "apart": [list(shape) for shape in self.apart],
                "moments": None if moments is None else [[[numbers[number], count] for number, count in moment.items()]
                                                         for moment in moments]}


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


def _highest(moments: list[dict[int, int]], ranks: list[tuple[Hashable, int]]) -> list[dict[int, int]] | None:
    """Those moments than which no other one has as much or more alive in each rank; None if they are too many."""
    rows, width = _by_rank(moments, ranks)
    table = np.zeros((len(rows), width), np.int64)
    for line, row in zip(table, rows, strict=True):
        line[list(row)] = list(row.values())
    kept: list[int] = []
    held = np.zeros((MOST_MOMENTS, width), np.int64)
    for number in np.argsort(-table.sum(axis=1), kind="stable").tolist():
        if kept and (held[: len(kept)] >= table[number]).all(axis=1).any():
            continue
        if len(kept) == MOST_MOMENTS:
            return None
        held[len(kept)] = table[number]
        kept.append(number)
    return [moments[number] for number in sorted(kept)]


def _by_rank(moments: list[dict[int, int]], ranks: list[tuple[Hashable, int]]) -> tuple[list[dict[int, int]], int]:
    """Each moment as column -> length + 1, where the longest arrays of a group come first; and the number of columns."""
    columns: dict[tuple[Hashable, int], int] = {}
    rows = []
    for moment in moments:
        lengths: dict[Hashable, list[int]] = {}
        for number, count in moment.items():
            group, length = ranks[number]
            lengths.setdefault(group, []).extend([length + 1] * count)
        row = {}
        for group, found in lengths.items():
            for place, length in enumerate(sorted(found, reverse=True)):
                row[columns.setdefault((group, place), len(columns))] = length
        rows.append(row)
    return rows, len(columns)
