"""What a server holds of one key: its rows, the pushes that are not complete, and one step back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.context import cpu
from ..core.dispatch import wrap
from ..kernels.cpu.jit import in_threads
from ..ndarray.arithmetic import add
from ..storage import RowSparse, densify
from .messages import KeySpec, Push

if TYPE_CHECKING:
    from ..base.types import JSON, Array, DTypeLike
    from ..ndarray.ndarray import NDArray
    from ..storage.types import Weight
    from .messages import Key

__all__ = ["Held", "Pending", "Undo", "owned", "store_of", "total_of"]


class Pending(NamedTuple):
    """A push that waits for those of other workers, with the settings that came with it."""

    sequence: int
    rows: Array | None
    values: Array
    settings: str | None
    clock: int | None


class Undo(NamedTuple):
    """What a version was before the last one.

    Attributes
    ----------
    version : int
    rows : array or None
        Rows that the last step changed; None for all of them.
    old : array or RowSparse
        Values of these rows before it.
    """

    version: int
    rows: Array | None
    old: Weight


def owned(array: Array, dtype: DTypeLike = None) -> Array:
    """The array as kernels take it: contiguous, aligned and writable; a copy if it is not."""
    return np.require(array, dtype, ["C", "A", "W"])


def store_of(rows: Array | None, values: Array, shape: tuple[int, ...]) -> Weight:
    """Values as a store of this shape: dense, or row_sparse with these rows."""
    return values if rows is None else RowSparse(values, rows, shape, check=False)


def total_of(parts: Sequence[Pending], shape: tuple[int, ...]) -> NDArray:
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
    found = np.empty((rows.shape[0], *values.shape[1:]), values.dtype)
    if found.nbytes < 2 * GRAIN:
        return np.take(values, rows, axis=0, out=found, mode="clip")  # without it, numpy would fill a second array
    in_threads(lambda start, stop: np.take(values, rows[start:stop], axis=0, out=found[start:stop], mode="clip"),
               rows.shape[0], GRAIN * rows.shape[0] // found.nbytes)
    return found


def _taken(store: Weight, rows: Array | None) -> Array:
    """A copy of rows of a store, or of all."""
    if not isinstance(store, RowSparse):
        return store.copy() if rows is None else _gathered(store, rows)
    if store.data.shape[0] == store.shape[0]:
        return _taken(store.data, rows)
    if rows is None:
        return densify(store).copy()
    found = np.zeros((rows.shape[0], *store.shape[1:]), store.dtype)
    _overwrite(found, rows, store.indices, store.data)
    return found


def _overwrite(values: Array, rows: Array, stored: Array, old: Array) -> None:
    """Write the rows of ``old`` to the values of ``rows``, where ``stored`` has them; both are ascending."""
    if stored.shape[0] == 0 or rows.shape[0] == 0:
        return
    places = np.minimum(np.searchsorted(stored, rows), stored.shape[0] - 1)
    hit = stored[places] == rows
    values[hit] = old[places[hit]]


class Held:
    """What a server holds of one key.

    Parameters
    ----------
    key : str or int
    spec : KeySpec
    shape : tuple of int
        Shape of the part of this server.
    rows : array or None
        Rows of ``values`` if the value is row_sparse.
    values : array

    Attributes
    ----------
    value : NDArray
        Of a row_sparse key without an optimizer, only the rows that were pushed last; else every row.
    version : int
        Complete pushes; of an asynchronous run, pushes.
    last : dict
        Number of the last push of each rank.
    pending : dict
        Pushes of each rank that are not complete, the oldest first.
    undo : Undo or None
    failed : str or None
        Why the last step failed, after which the value is not used any more.
    ordinals : dict
        For each rank, how many requests with pushes had come from it at its last push of this key.
    """

    __slots__ = ("failed", "key", "last", "ordinals", "pending", "shape", "spec", "undo", "value", "version")

    def __init__(self, key: Key, spec: KeySpec, shape: tuple[int, ...], rows: Array | None, values: Array) -> None:
        self.key, self.spec, self.shape = key, spec, shape
        self.value: NDArray = wrap(store_of(rows if spec.stype == "row_sparse" else None, values, shape), cpu())
        self.version = 0
        self.last: dict[int, int] = {}
        self.pending: dict[int, list[Pending]] = {}
        self.undo: Undo | None = None
        self.failed: str | None = None
        self.ordinals: dict[int, int] = {}

    @property
    def rows(self) -> int:
        """Number of local rows."""
        return self.shape[0] if self.shape else 1

    @property
    def nbytes(self) -> int:
        """Bytes of the value and its undo step."""
        return self.value.nbytes + (int(self.undo.old.nbytes) if self.undo is not None else 0)

    # values out

    def pulled(self, version: int, rows: Array | None) -> Array:
        """Rows of the value, or all of them, as they were at a version; of one that is gone, as they are."""
        undo = self.undo
        if undo is None or version != undo.version or version == self.version:
            return _taken(self.value._store, rows)
        if undo.rows is None:
            return _taken(undo.old, rows)
        found = _taken(self.value._store, rows)
        if rows is None:
            found[undo.rows] = undo.old
        else:
            _overwrite(found, rows, undo.rows, densify(undo.old))
        return found

    # steps

    def grow(self) -> None:
        """Store every row of the value, as optimizers need it."""
        store = self.value._store
        if isinstance(store, RowSparse) and store.data.shape[0] != store.shape[0]:
            full = RowSparse(densify(store), np.arange(store.shape[0]), store.shape, check=False)
            self.value = wrap(full, cpu())

    def remember(self, rows: Array | None) -> None:
        """Keep what a step is about to change: these rows, or all."""
        if rows is not None:
            self.undo = Undo(self.version, rows, _taken(self.value._store, rows))
            return
        store = self.value._store
        values = store.data if isinstance(store, RowSparse) else store
        undo = self.undo
        spare = undo.old if undo is not None and undo.rows is None and isinstance(undo.old, np.ndarray) else None
        if spare is not None and spare.shape == values.shape and spare.dtype == values.dtype and spare.flags.writeable:
            np.copyto(spare, values)  # memory that is there already is written faster
        else:
            spare = values.copy()
        self.undo = Undo(self.version, None, spare)

    def replace(self, total: NDArray) -> None:
        """Take over a sum in place of the value, as stores without an optimizer do."""
        old, new = self.value._store, total._store
        if self.spec.stype == "default":
            new = densify(new)
        elif not isinstance(new, RowSparse):
            new = RowSparse(new, np.arange(self.rows), self.shape, check=False)
        self.undo = Undo(self.version, None, old)
        self.value = wrap(new, cpu())

    # in files

    def described(self, state: JSON) -> tuple[JSON, list[Array]]:
        """The key as JSON and arrays, from which ``restored`` makes it again; ``state`` is JSON about the optimizer's."""
        arrays = _parts(self.value._store)
        undo: JSON = None
        if self.undo is not None:
            old = self.undo.old
            undo = [self.undo.version, self.undo.rows is not None, isinstance(old, RowSparse)]
            arrays += ([self.undo.rows] if self.undo.rows is not None else []) + _parts(old)
        pending: list[JSON] = []
        for rank, pushes in sorted(self.pending.items()):
            for one in pushes:
                pending.append([rank, one.sequence, one.rows is not None, one.settings, one.clock])
                arrays += ([one.rows] if one.rows is not None else []) + [one.values]
        about: JSON = {"key": self.key, "spec": [list(self.spec.shape), *self.spec[1:]], "shape": list(self.shape),
                       "version": self.version, "last": [[rank, last] for rank, last in sorted(self.last.items())],
                       "failed": self.failed, "undo": undo, "pending": pending, "state": state}
        return about, arrays

    @staticmethod
    def restored(about: dict[str, Any], arrays: list[Array]) -> tuple[Held, list[Array]]:  # Any: JSON
        """The key that ``described`` described, and the arrays that are left, those of the optimizer's state."""
        left = iter(arrays)
        shape, *words = about["spec"]
        spec = KeySpec(tuple(shape), *words)
        shape = tuple(about["shape"])
        rows = next(left) if spec.stype == "row_sparse" else None
        held = Held(about["key"], spec, shape, rows, next(left))
        held.version, held.failed, held.last = about["version"], about["failed"], dict(about["last"])
        if about["undo"] is not None:
            version, some, sparse = about["undo"]
            changed = next(left) if some else None
            held.undo = Undo(version, changed, store_of(next(left) if sparse else None, next(left), shape))
        for rank, sequence, some, settings, clock in about["pending"]:
            held.pending.setdefault(rank, []).append(
                Pending(sequence, next(left) if some else None, next(left), settings, clock))
        return held, list(left)


def _parts(store: Weight) -> list[Array]:
    return [store.indices, store.data] if isinstance(store, RowSparse) else [store]


def pending_of(push: Push, settings: str | None) -> Pending:
    """A push with what the kernels need of it."""
    rows = None if push.rows is None else owned(push.rows, np.int64)
    return Pending(push.sequence, rows, owned(push.values), settings, push.clock)
