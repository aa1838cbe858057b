"""Which server holds which rows of a key.

Rows are dealt to the servers in blocks, one after the other.  Row-sparse keys have small blocks, since the rows that
batches touch lie together: the first rows of a vocabulary, for instance.  The first block of a key goes to a server that
depends on the key, so that small keys spread.  Local rows are in the order of the rows, so that sorted rows stay sorted.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.errors import RowIndexError

if TYPE_CHECKING:
    from ..base.types import Array
    from .messages import Key, KeySpec


__all__ = ["Part", "Partition"]

#: Rows of a block of a row_sparse key.
ROWS = 256
#: Elements of a block of a dense key, about.
ELEMENTS = 1 << 14


class Part(NamedTuple):
    """The rows of a split that one server holds.

    Attributes
    ----------
    shard : int
    rows : array of int64
        Local rows, in the order of the rows that were split.
    places : array or slice
        Where these stand among the rows that were split.
    """

    shard: int
    rows: Array
    places: Array | slice


class Partition:
    """Which of ``shards`` servers holds which rows of a key.

    Parameters
    ----------
    key : str or int
    spec : KeySpec
    shards : int

    Attributes
    ----------
    rows : int
        Rows of the whole value; 1 for a value without axes.
    holders : tuple of int
        Servers that hold rows, ascending; one server for a value without rows.  Only these take part in its pushes.
    """

    def __init__(self, key: Key, spec: KeySpec, shards: int) -> None:
        self.shape, self.shards = spec.shape, shards
        self.rows = spec.shape[0] if spec.shape else 1
        width = math.prod(spec.shape[1:])
        self.block = ROWS if spec.stype == "row_sparse" else max(1, ELEMENTS // max(width, 1))
        if spec.placement == "rows":
            self.first = zlib.crc32(repr(key).encode()) % shards
        else:
            self.first, self.block = int(spec.placement.partition(":")[2]), max(self.rows, 1)
        blocks = max(1, -(-self.rows // self.block))
        self.holders = tuple(sorted((self.first + place) % shards for place in range(min(blocks, shards))))

    def count(self, shard: int) -> int:
        """Number of rows that a server holds."""
        place = (shard - self.first) % self.shards
        blocks, rest = divmod(self.rows, self.block)
        whole = (blocks - place + self.shards - 1) // self.shards if place < blocks else 0
        return whole * self.block + (rest if blocks % self.shards == place else 0)

    def local_shape(self, shard: int) -> tuple[int, ...]:
        """Shape of the part of a server."""
        return (self.count(shard), *self.shape[1:]) if self.shape else ()

    def ranges(self, shard: int) -> Iterator[tuple[int, int]]:
        """First row, and row behind the last, of each block of a server."""
        step = self.block * self.shards
        for start in range((shard - self.first) % self.shards * self.block, self.rows, step):
            yield start, min(start + self.block, self.rows)

    def rows_of(self, shard: int) -> Array:
        """The rows that a server holds, ascending."""
        parts = [np.arange(start, stop) for start, stop in self.ranges(shard)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def split(self, rows: Array) -> list[Part]:
        """Ascending rows by the servers that hold them; every holder gets a part, of no rows perhaps.

        Raises
        ------
        RowIndexError
            If a row lies outside the value.
        """
        rows = rows.astype(np.int64, copy=False)
        if rows.size and not 0 <= rows.min() <= rows.max() < self.rows:
            raise RowIndexError(f"Rows must be from 0 to {self.rows - 1}, got values from {rows.min()} to {rows.max()}.",
                                hint=f"the value has {self.rows} rows.")
        if len(self.holders) == 1:
            return [Part(self.holders[0], rows, slice(None))]
        block, within = np.divmod(rows, self.block)
        turn, owner = np.divmod(block, self.shards)
        local = turn * self.block + within
        owner = (owner + self.first) % self.shards
        found = []
        for shard in self.holders:
            places = np.flatnonzero(owner == shard)
            found.append(Part(shard, local[places], places))
        return found

    def take(self, array: Array, shard: int) -> Array:
        """The part of a whole array that a server holds, contiguous; of one server the array itself."""
        if len(self.holders) == 1:
            return np.ascontiguousarray(array) if array.ndim else array
        parts = [array[start:stop] for start, stop in self.ranges(shard)]
        return np.concatenate(parts) if parts else np.zeros((0, *array.shape[1:]), array.dtype)

    def put(self, whole: Array, shard: int, part: Array) -> None:
        """Write the part of a server to the whole array."""
        if len(self.holders) == 1:
            whole[...] = part
            return
        at = 0
        for start, stop in self.ranges(shard):
            whole[start:stop] = part[at:at + stop - start]
            at += stop - start
