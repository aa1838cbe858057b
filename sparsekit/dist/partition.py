"""Which server holds which rows of a key.

Rows are dealt to the servers in blocks, a round of one block to each server after the other.  Row-sparse keys have small
blocks, since the rows that batches touch lie together: the first rows of a vocabulary, for instance.  Each round begins with
another server, so that rows with equal distances, every eighth for instance, do not all come to the same one.  The first round
begins with a server that depends on the key, so that small keys spread.  Local rows are in the order of the rows, so that
sorted rows stay sorted.
"""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.errors import RowIndexError
from .messages import id_type

if TYPE_CHECKING:
    from ..base.types import Array
    from .messages import Key, KeySpec

#: Rows of a block of a row_sparse key.  Smaller blocks spread skewed rows no better than chance spreads even ones.
ROWS = 16
#: Elements of a block of a dense key, about.
ELEMENTS = 1 << 14
#: The golden ratio as a fraction of 2**64: its multiples are spread evenly, and so are those of every distance.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


def dealt(spec: KeySpec) -> KeySpec:
    """The specification of a new key, which says in how large blocks its rows are dealt if it lies on no server whole."""
    if spec.placement != "rows":
        return spec
    width = math.prod(spec.shape[1:])
    return spec._replace(placement=f"rows:{ROWS if spec.stype == 'row_sparse' else max(1, ELEMENTS // max(width, 1))}")


def placed(spec: KeySpec, policy: str, key: Key, shards: int) -> KeySpec:
    """The specification of a key on so many servers.

    Parameters
    ----------
    spec : KeySpec
    policy : {"rows", "key", "one"}
        Whether the rows of a key are dealt to all servers, or each key lies on one of them, or all keys lie on the first.
    key : str or int
    shards : int
    """
    place = {"rows": "rows", "one": "whole:0", "key": f"whole:{zlib.crc32(repr(key).encode()) % shards}"}[policy]
    return dealt(spec._replace(placement=place))


class Part(NamedTuple):
    """The rows of a split that one server holds.

    Attributes
    ----------
    shard : int
    rows : array of int32 or int64
        Local rows, in the order of the rows that were split, in the type that travels.
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
        how, _, number = dealt(spec).placement.partition(":")
        #: Server that each round begins with, or None if they take turns.
        self._first: int | None = None
        self._seed = zlib.crc32(repr(key).encode())
        if how == "whole":
            self._first, self.block = int(number), max(self.rows, 1)
        else:
            self.block = int(number)
        self.blocks = -(-self.rows // self.block)
        first = int(self._begins(np.zeros(1, np.int64))[0])
        rounds, remainder = divmod(self.rows, self.block * shards)
        last = int(self._begins(np.array([rounds]))[0])
        self._counts = [rounds * self.block + min(max(remainder - (shard - last) % shards * self.block, 0), self.block)
                        for shard in range(shards)]
        self._split: tuple[Array, list[Part]] | None = None
        self.holders = tuple(sorted((first + place) % shards for place in range(min(max(1, self.blocks), shards))))

    def _begins(self, rounds: Array) -> Array:
        """The server that each round begins with."""
        if self._first is not None:
            return np.full(rounds.shape, self._first)
        spread = rounds.astype(np.uint64) * GOLDEN + np.uint64(self._seed << 32)
        shards: Array = ((spread >> HALF) * np.uint64(self.shards) >> HALF).astype(np.int64)
        return shards

    def count(self, shard: int) -> int:
        """Number of rows that a server holds."""
        return self._counts[shard]

    def local_shape(self, shard: int) -> tuple[int, ...]:
        """Shape of the part of a server."""
        return (self.count(shard), *self.shape[1:]) if self.shape else ()

    def blocks_of(self, shard: int) -> Array:
        """Numbers of the blocks that a server holds, ascending; only the last block of all may have fewer rows."""
        rounds = np.arange(-(-self.blocks // self.shards))
        numbers: Array = rounds * self.shards + (shard - self._begins(rounds)) % self.shards
        own: Array = numbers[numbers < self.blocks]
        return own

    def rows_of(self, shard: int) -> Array:
        """The rows that a server holds, ascending."""
        rows = (self.blocks_of(shard)[:, None] * self.block + np.arange(self.block)).reshape(-1)
        return rows[:self.count(shard)]

    def split(self, rows: Array) -> list[Part]:
        """Ascending rows by the servers that hold them; every holder gets a part, of no rows perhaps.

        The last split is remembered, as the gradient of a batch has the rows that were pulled for it.

        Raises
        ------
        RowIndexError
            If a row lies outside the value.
        """
        if self._split is None or not np.array_equal(rows, self._split[0]):
            rows = rows.astype(np.int64)
            if rows.size and not (rows[0] >= 0 and rows[-1] < self.rows):
                raise RowIndexError(f"Rows must be from 0 to {self.rows - 1}, got values from {rows[0]} to {rows[-1]}.",
                                    hint=f"the value has {self.rows} rows.")
            self._split = rows, self._parts(rows)
        return self._split[1]

    def _parts(self, rows: Array) -> list[Part]:
        if len(self.holders) == 1:
            shard = self.holders[0]
            return [Part(shard, rows.astype(id_type(self.count(shard))), slice(None))]
        block = rows // self.block  # much faster than divmod
        rounds = block // self.shards
        local = rounds * self.block + (rows - block * self.block)
        owner = (block - rounds * self.shards + self._begins(rounds)) % self.shards
        parts = []
        for shard in self.holders:
            places = np.flatnonzero(owner == shard)
            parts.append(Part(shard, local[places].astype(id_type(self.count(shard))), places))
        return parts

    def take(self, array: Array, shard: int, out: Array | None = None) -> Array:
        """The part of a whole array that a server holds, contiguous, in ``out`` if it is given.

        Without ``out`` the part of an only server is the array itself.
        """
        if len(self.holders) == 1:
            if out is None:
                return np.ascontiguousarray(array) if array.ndim else array
            out[...] = array
            return out
        part = np.empty((self.count(shard), *array.shape[1:]), array.dtype) if out is None else out
        long, short, blocks = self._cut(array, shard)
        of_part = len(blocks) * self.block
        if len(blocks):
            np.take(long, blocks, axis=0, out=part[:of_part].reshape(len(blocks), *long.shape[1:]),
                    mode="clip")  # without it, numpy would fill a second array
        part[of_part:] = short
        return part

    def put(self, array: Array, shard: int, part: Array) -> None:
        """Write the part of a server to the whole array."""
        if len(self.holders) == 1:
            array[...] = part
            return
        long, short, blocks = self._cut(array, shard)
        of_part = len(blocks) * self.block
        long[blocks] = part[:of_part].reshape(len(blocks), *long.shape[1:])
        short[...] = part[of_part:]

    def _cut(self, array: Array, shard: int) -> tuple[Array, Array, Array]:
        """Views of an array: its whole blocks, and the rows behind them if the server holds these; numbers of its blocks."""
        full = self.rows // self.block
        blocks = self.blocks_of(shard)
        end = full * self.block
        short = array[end:] if len(blocks) and blocks[-1] == full else array[:0]
        return array[:end].reshape(full, self.block, *array.shape[1:]), short, blocks[blocks < full]
