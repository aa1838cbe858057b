"""Batches and gradients of a run, inferred from its events."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .types import KindRecord

__all__ = ["CUTTING", "Batches", "apart_of", "batches_of"]

#: Operators that choose rows of an array, or cut it in pieces.
CUTTING = frozenset({"slice", "slice_axis", "slice_like", "_getitem", "_index", "take", "SliceChannel", "_split_v2"})


class Batches(NamedTuple):
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


def batches_of(kinds: Iterable[KindRecord], inputs: Iterable[tuple[int, ...]], times: Iterable[int] = repeat(1)) -> Batches:
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
    Batches
        As many rows as data, or what was cut from it, had most often when something was computed of it.
    """
    given = {tuple(shape) for shape in inputs if shape}
    data, cut, again = set(given), set(), set()
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
            made = {tuple(array["shape"]) for array in record["outputs"]}
            pieces = {shape for shape in made if len(shape) == len(shapes[0]) and shape[1:] == shapes[0][1:]}
            again |= pieces & {shapes[0]}
            data |= pieces
    counts: dict[int, int] = {}
    for shape, uses in taken.items():
        counts[shape[0]] = counts.get(shape[0], 0) + uses
    rows = max(counts, key=lambda length: (counts[length], -length)) if counts else 0
    return Batches(rows, tuple(sorted(shape for shape in cut & given if shape in again or shape not in taken)))


def apart_of(kinds: Iterable[KindRecord]) -> tuple[tuple[int, ...], ...]:
    """Shapes of row_sparse arrays of backward passes that were not made by a product.

    A product writes a dense gradient in place.  Lookups do not, nor does the sum of the gradients of several uses.
    """
    found = {tuple(made["shape"]) for record in kinds if record["kind"] == "op" and record["lane"] == "backward"
             and record["name"] != "dot" for made in record["outputs"] if made["stype"] == "row_sparse"}
    return tuple(sorted(found))
