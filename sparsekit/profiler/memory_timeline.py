"""Allocations and frees of a run in their order, so that it can be replayed with other sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.lazy import computed_once
from ..base.memory_model import LASTING, Kind, batch_of, bounds_of

if TYPE_CHECKING:
    from ..base.types import Array
    from .columns import Columns
    from .types import KindRecord

#: Operators that choose rows of an array, or cut it in pieces.
CUTTING = frozenset({"slice", "slice_axis", "slice_like", "_getitem", "_index", "take", "SliceChannel", "_split_v2"})


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
        numbers: dict[Kind, int] = {}
        places = [numbers.setdefault(kind, len(numbers)) for kind in _kinds_of(columns)]
        self.kinds = list(numbers)
        #: The number of the kind of each row of the table of holdings.
        self.of_holding = np.array(places, np.int64)
        self.numbers = self.of_holding[columns.changes.holding]
        self.counts = columns.changes.count
        self._batches = _Batches()
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
        self.apart = _apart_of(kinds)
        self._batches = _batches_of(kinds, {kind.shape for kind in self.kinds if kind.role == "input"}, times)
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


class _Batches(NamedTuple):
    """The batches of a run.

    Attributes
    ----------
    rows : int
        Rows of a batch; 0 if unknown.
    data_sets : tuple of tuple
        Shapes of inputs that only serve to be cut into batches.
    """

    rows: int = 0
    data_sets: tuple[tuple[int, ...], ...] = ()


def _batches_of(kinds: Iterable[KindRecord], inputs: Iterable[tuple[int, ...]], times: Iterable[int] = repeat(1)) -> _Batches:
    """Find the batches among what the operators of forward passes took.

    Parameters
    ----------
    kinds : iterable of dict
        Of the events, in the order in which each first came.
    inputs : iterable of tuple
        Shapes of the arrays that came in as data.
    times : iterable of int
        Number of events of each kind.

    Returns
    -------
    _Batches
        As many rows as data, or what was cut from it, had most often when something was computed of it.
    """
    input_shapes = {tuple(shape) for shape in inputs if shape}
    data, cut, again = set(input_shapes), set(), set()
    taken: dict[tuple[int, ...], int] = {}
    for record, count in zip(kinds, times, strict=False):
        if record["kind"] != "op" or record["lane"] != "forward":
            continue
        shapes = [tuple(array["shape"]) for array in record["inputs"]]
        if record["name"] not in CUTTING:
            for shape in shapes:
                if shape in data:
                    taken[shape] = taken.get(shape, 0) + count
        elif shapes and shapes[0] in data:
            cut.add(shapes[0])
            outputs = {tuple(array["shape"]) for array in record["outputs"]}
            pieces = {shape for shape in outputs if len(shape) == len(shapes[0]) and shape[1:] == shapes[0][1:]}
            again |= pieces & {shapes[0]}
            data |= pieces
    counts: dict[int, int] = {}
    for shape, uses in taken.items():
        counts[shape[0]] = counts.get(shape[0], 0) + uses
    rows = max(counts, key=lambda length: (counts[length], -length)) if counts else 0
    return _Batches(rows, tuple(sorted(shape for shape in cut & input_shapes if shape in again or shape not in taken)))


def _apart_of(kinds: Iterable[KindRecord]) -> tuple[tuple[int, ...], ...]:
    """Shapes of row_sparse arrays of backward passes that were not made by a product.

    A product writes a dense gradient in place.  Lookups do not, nor does the sum of the gradients of several uses.
    """
    shapes = {tuple(output["shape"]) for record in kinds if record["kind"] == "op" and record["lane"] == "backward"
              and record["name"] != "dot" for output in record["outputs"] if output["stype"] == "row_sparse"}
    return tuple(sorted(shapes))
