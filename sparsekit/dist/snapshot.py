"""What a server holds as chunks that are copied between its steps, and the way back from the files of a snapshot."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import cpu
from ..base.errors import MismatchError
from ..base.plain_data import decoded, encoded
from ..core.dispatch import wrap
from ..optimizer.states import described, encoded_state, generator_from, restored
from ..optimizer.updater import Updater
from ..storage import RowSparse
from .files import Layout, read_part
from .held import Held, rows_of, store_of
from .messages import KeySpec, Push
from .partition import Partition, placed
from .states import merged_optimizer

if TYPE_CHECKING:
    from ..base.types import Array
    from ..ndarray.ndarray import NDArray
    from .messages import Key
    from .server import Server

#: Bytes of a chunk, about: what is copied between two messages.
CHUNK = 1 << 19


class Capture:
    """A snapshot that is being taken.

    The server's loop copies one chunk after the other between two messages.  Before a step changes rows that have not been
    copied, it puts them aside, and their chunk gets them from there.  Only these rows are held twice.

    Parameters
    ----------
    groups : dict of str to list of array
        Arrays with equal numbers of rows, by key.
    extra : list of array
        Other arrays, which nothing changes any more.
    """

    def __init__(self, groups: Mapping[Key, list[Array]], extra: Sequence[Array]) -> None:
        self._groups = {key: [_in_rows(data) for data in arrays] for key, arrays in groups.items()}
        self._extra = [array[None] for array in extra]
        self._layouts = {key: Layout(repr(key), len(arrays[0]),
                                     max(1, CHUNK // max(1, sum(array[:1].nbytes for array in arrays))),
                                     [(str(array.dtype), list(array.shape)) for array in arrays])
                         for key, arrays in self._groups.items()}
        self.layouts = [*(Layout(f"extra {place}", 1, 1, [(str(array.dtype), list(array.shape))])
                          for place, array in enumerate(self._extra)), *self._layouts.values()]
        self._copied = dict.fromkeys(self._groups, 0)
        self._aside: dict[Key, _Aside] = {}
        self.aside_bytes = 0

    def before(self, key: Key, rows: Array | None) -> None:
        """Put aside what a step is about to change: ascending rows of a key, or all of them."""
        arrays = self._groups.get(key)
        if arrays is None or (copied := self._copied[key]) >= (count := len(arrays[0])):
            return
        if rows is None:
            rows = np.arange(copied, count)
        if key not in self._aside:
            self._aside[key] = _Aside(arrays)
        self.aside_bytes += self._aside[key].put(arrays, rows[rows >= copied])

    def chunks(self) -> Iterator[list[Array]]:
        """Copies of all chunks, each as the rows were when the capture began; a step may run between two of them."""
        for array in self._extra:
            yield [array]
        for key, layout in self._layouts.items():
            arrays = self._groups[key]
            for first in layout.firsts():
                stop = min(first + layout.per, layout.rows)
                rows = [data[first:stop].copy() for data in arrays]
                if key in self._aside:
                    self._aside[key].restore(rows, first, stop)
                self._copied[key] = stop
                yield rows
            self._aside.pop(key, None)
            self._groups[key] = [data[:0] for data in arrays]


class _Aside:
    """Rows of a key as they were when the capture began, one behind the other.

    There is room for all of them, but the system gives memory only where rows are written.
    """

    def __init__(self, arrays: Sequence[Array]) -> None:
        self.places = np.zeros(len(arrays[0]), np.int64)  # of each row, from 1; 0 for none
        self.arrays = [np.empty(array.shape, array.dtype) for array in arrays]
        self.count = 0

    def put(self, arrays: Sequence[Array], rows: Array) -> int:
        """Keep what rows hold now, unless they are here; gives how many bytes are new."""
        rows = rows[self.places[rows] == 0]
        start, self.count = self.count, self.count + len(rows)
        self.places[rows] = np.arange(start + 1, self.count + 1)
        for kept, array in zip(self.arrays, arrays, strict=True):
            np.take(array, rows, axis=0, out=kept[start:self.count], mode="clip")  # without it, numpy would fill a second array
        return sum(array[start:self.count].nbytes for array in self.arrays)

    def restore(self, copied: Sequence[Array], first: int, stop: int) -> None:
        """Lay the rows that are here over copies of the rows from ``first`` to ``stop``."""
        places = self.places[first:stop]
        rows = np.flatnonzero(places)
        if len(rows):
            for array, kept in zip(copied, self.arrays, strict=True):
                array[rows] = kept[places[rows] - 1]


def _in_rows(data: Array) -> Array:
    """A view of an array with one axis beside its rows."""
    return data.reshape(len(data) if data.ndim else 1, math.prod(data.shape[1:]))


# --------------------------------------------------------------------------- what a server holds


#: What a snapshot has of a server, and of each key, as it is; and the records among that.
OF_SERVER = ("policy", "mode", "numbers", "settings", "applied", "left")
OF_KEY = ("key", "spec", "version", "last", "failed", "stored", "pending")
RECORDS = {"KeySpec": KeySpec, "Push": Push}


def taken(server: Server, step: int) -> tuple[str, Capture]:
    """What a server holds at the end of a step: what is said of it in JSON, and its arrays; nothing of it changes any more."""
    groups: dict[Key, list[Array]] = {}
    extra: list[Array] = []
    about = {
        **{name: getattr(server, name) for name in OF_SERVER}, "step": step, "states": server.worker_states,
        "optimizer": None if server.updater is None else described(server.updater.optimizer),
        "random": None if server.random is None else server.random.bit_generator.state,
        "keys": [_described(server, held, groups) for held in server.keys.values()]}
    text = encoded(about, extra, "A server", RECORDS)
    return json.dumps([text, len(extra)]), Capture(groups, extra)


def _described(server: Server, held: Held, groups: dict[Key, list[Array]]) -> dict[str, Any]:  # Any: what is encoded
    """What is said of a key; its arrays are added to ``groups`` if they have a row for each of the key."""
    groups[held.key] = [rows_of(held.value)]
    states = {} if server.updater is None else server.updater.states
    trees = []
    for tree in (states.get(held.key), server.sums_of_optimizer().get(held.key)):
        arrays: list[NDArray] = []
        trees.append((encoded_state(tree, arrays), [_place_of(array, held, groups[held.key]) for array in arrays]))
    return {**{name: getattr(held, name) for name in OF_KEY}, "has_state": held.key in states, "trees": trees}


def _place_of(array: NDArray, held: Held, group: list[Array]) -> tuple[Any, ...]:  # Any: what is encoded
    """An array of a state: its rows if it does not store all, its shape, and its place in the group, or else its values."""
    data, store = rows_of(array), array._store
    if (data.ndim and len(data) == held.rows) or (not held.spec.shape and data.shape == ()):
        group.append(data)
        return isinstance(store, RowSparse), array.shape, len(group) - 1
    return store.indices if isinstance(store, RowSparse) else None, array.shape, data


# --------------------------------------------------------------------------- and back


def load(server: Server, manifest: dict[str, Any]) -> None:  # Any: JSON
    """Give a server its rows from the parts of a snapshot, which may be of another number of servers.

    Raises
    ------
    DamagedError
        If a part is damaged.
    MismatchError
        If the snapshot is of another number of workers, or pushes in it cannot move to other servers.
    """
    setup, count = server.setup, manifest["servers"]
    if manifest["workers"] != setup.workers:
        raise MismatchError(f"The snapshot is of {manifest['workers']} workers, and the run has {setup.workers}.",
                            hint=f"go on with workers={manifest['workers']}; servers may be more or fewer.")
    arrays: dict[Key, list[Array]] = {}
    parts = [_read(server, manifest, shard, arrays) for shard in range(count) if count != setup.servers or shard == server.index]
    optimizers = [restored(part["optimizer"]) for part in parts if part["optimizer"] is not None]
    if optimizers:
        server.updater = Updater(optimizers[0] if len(parts) == 1 else merged_optimizer(optimizers)[1])
    for part in parts:
        for entry in part["keys"]:
            if entry["key"] in arrays and entry["key"] not in server.keys:
                _hold(server, entry, arrays[entry["key"]], count)
    _finish(server, parts)


def _read(server: Server, manifest: dict[str, Any], shard: int, arrays_of: dict[Key, list[Array]]) -> dict[str, Any]:  # Any: JSON
    """What is said in one part of a snapshot; the rows in it that are the server's are written to ``arrays_of``, by key."""
    chunks = read_part(Path(server.setup.folder or ""), manifest["parts"][shard])
    text, count = json.loads(next(chunks))
    about: dict[str, Any] = decoded(text, [next(chunks)[2][0][0] for _ in range(count)], RECORDS)  # Any: what was encoded
    old, new = manifest["servers"], server.setup.servers
    cuts = {}
    for entry in about["keys"]:
        key, spec = entry["key"], entry["spec"]
        if new != old:
            entry["spec"] = placed(spec, about["policy"], key, new)
        cuts[repr(key)] = key, Partition(key, spec, old).rows_of(shard), Partition(key, entry["spec"], new)
    for layout, first, arrays in chunks:
        key, rows, cut = cuts[layout.name]
        if server.index in cut.holders:
            part = next(piece for piece in cut.split(rows[first:first + len(arrays[0])]) if piece.shard == server.index)
            if key not in arrays_of:
                arrays_of[key] = [np.zeros((cut.count(server.index), *array.shape[1:]), array.dtype) for array in arrays]
            for target, array in zip(arrays_of[key], arrays, strict=True):
                target[part.rows] = array[part.places]
    return about


def _hold(server: Server, about: dict[str, Any], arrays: list[Array], servers: int) -> None:  # Any: what was encoded
    """Have a server hold a key, and the optimizer's state of it, from a snapshot of so many servers."""
    key, spec, moved = about["key"], about["spec"], servers != server.setup.servers
    if moved and any(about["pending"].values()):
        raise MismatchError(f"Pushes of key {key!r} wait for other workers, and cannot move to other servers.", key=key,
                            hint=f"go on with servers={servers}.")
    shape = Partition(key, spec, server.setup.servers).local_shape(server.index)
    held = server.keys[key] = Held(key, spec, arrays[0].reshape(shape))
    for name in OF_KEY:
        setattr(held, name, about[name])
    if moved and held.stored is not None:
        held.stored = np.arange(held.rows)
    if server.updater is not None:
        state, total = (decoded(tree, [_array(place, arrays, held) for place in places]) for tree, places in about["trees"])
        if about["has_state"]:
            server.updater.states[key], server.updater.states_synced[key] = state, True
        if total is not None:
            server.sums_of_optimizer()[key] = total


def _array(about: tuple[Any, ...], arrays: list[Array], held: Held) -> NDArray:  # Any: as ``_place_of`` gives
    """An array of a state, as ``_place_of`` describes it."""
    rows, shape, values = about
    if isinstance(values, int):
        shape = (held.rows, *shape[1:]) if shape else ()
        rows, values = np.arange(held.rows) if rows else None, arrays[values].reshape(shape)
    array: NDArray = wrap(store_of(rows, values, shape), cpu())
    return array


def _finish(server: Server, parts: Sequence[dict[str, Any]]) -> None:  # Any: what was encoded
    """Give a server what does not belong to a key."""
    about, setup = parts[0], server.setup
    for name in OF_SERVER:
        setattr(server, name, about[name])
    server.done, server.snapped = dict.fromkeys(range(setup.workers), about["step"]), about["step"]
    server.random = None if about["random"] is None else generator_from(about["random"])
    server.worker_states = {rank: state for part in parts for rank, state in part["states"].items()
                            if rank % setup.servers == server.index}
