"""What a server holds of one key: its rows, and the pushes that are not complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.context import cpu
from ..core.dispatch import wrap
from ..kernels.cpu.jit import in_threads
from ..ndarray.arithmetic import add
from ..storage import RowSparse

if TYPE_CHECKING:
    from ..base.types import Array, DTypeLike
    from ..ndarray.ndarray import NDArray
    from ..storage.types import Weight
    from .messages import Key, KeySpec, Push


def owned(array: Array, dtype: DTypeLike = None) -> Array:
    """The array as kernels take it: contiguous, aligned and writable; a copy if it is not."""
    return np.require(array, dtype, ["C", "A", "W"])


def store_of(rows: Array | None, values: Array, shape: tuple[int, ...]) -> Weight:
    """Values as a store of this shape: dense, or row_sparse with these rows."""
    return values if rows is None else RowSparse(values, rows, shape, check=False)


def rows_of(array: NDArray) -> Array:
    """The values of an array, those of its stored rows if it is row_sparse."""
    store = array._store
    values: Array = store.data if isinstance(store, RowSparse) else store
    return values


def total_of(parts: Sequence[Push], shape: tuple[int, ...]) -> NDArray:
    """The sum of gradients, added up in their order as the store of one machine does."""
    arrays = [wrap(store_of(part.rows, part.values, shape), cpu()) for part in parts]
    total: NDArray = arrays[0]
    for array in arrays[1:]:
        total = add(total, array)
    return total


#: Bytes that each thread copies, at least.
GRAIN = 1 << 20


def _gathered(values: Array, rows: Array) -> Array:
    """Rows of an array, which are below its length; many are copied in threads."""
    gathered = np.empty((rows.shape[0], *values.shape[1:]), values.dtype)
    if gathered.nbytes < 2 * GRAIN:
        return np.take(values, rows, axis=0, out=gathered, mode="clip")  # without it, numpy would fill a second array
    in_threads(lambda start, stop: np.take(values, rows[start:stop], axis=0, out=gathered[start:stop], mode="clip"),
               rows.shape[0], GRAIN * rows.shape[0] // gathered.nbytes)
    return gathered


class Held:
    """What a server holds of one key; every row is there.

    Parameters
    ----------
    key : str or int
    spec : KeySpec
    values : array
        The rows of this server.

    Attributes
    ----------
    value : NDArray
    version : int
        Complete pushes; of an asynchronous run, pushes.
    last : dict
        Number of the last push of each rank.
    pending : dict
        Pushes of each rank that are not complete, the oldest first.
    failed : str or None
        Why the last step failed, after which the value is not used any more.
    stored : array or None
        Of a key without an optimizer, the rows that were pushed last; the others are zero.  None for all.
    """

    __slots__ = ("failed", "key", "last", "pending", "shape", "spec", "stored", "value", "version")

    def __init__(self, key: Key, spec: KeySpec, values: Array) -> None:
        self.key, self.spec, self.shape = key, spec, values.shape
        rows = np.arange(len(values)) if spec.stype == "row_sparse" else None
        self.value: NDArray = wrap(store_of(rows, values, values.shape), cpu())
        self.version = 0
        self.last: dict[int, int] = {}
        self.pending: dict[int, list[Push]] = {}
        self.failed: str | None = None
        self.stored: Array | None = None

    @property
    def rows(self) -> int:
        """Number of local rows."""
        return self.shape[0] if self.shape else 1

    def pulled(self, rows: Array | None) -> Array:
        """A copy of rows of the value, or of all."""
        values = rows_of(self.value)
        return values.copy() if rows is None else _gathered(values, rows)

    def changed_by(self, total: NDArray) -> Array | None:
        """The rows that ``replace`` changes; None for all."""
        if self.stored is None or not isinstance(total._store, RowSparse):
            return None
        return np.union1d(self.stored, total._store.indices)

    def replace(self, total: NDArray) -> None:
        """Take over a sum in place of the value, as stores without an optimizer do."""
        values, new = rows_of(self.value), total._store
        if not isinstance(new, RowSparse):
            values[...] = new
            self.stored = None
            return
        values[... if self.stored is None else self.stored] = 0
        values[new.indices] = new.data
        self.stored = new.indices.astype(np.int64)
