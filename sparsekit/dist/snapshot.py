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
from ..base.plain_data import decoded
from ..core.dispatch import wrap
from ..optimizer.states import described, encoded_state, generator_from, restored
from ..optimizer.updater import Updater
from ..storage import RowSparse
from .files import Layout, read_part
from .held import Held, Pending, owned, rows_of, store_of
from .messages import KeySpec
from .partition import Partition, placed
from .states import merged_optimizer

if TYPE_CHECKING:
    from ..base.types import Array
    from ..ndarray.ndarray import NDArray
    from ..optimizer.types import State
    from .messages import Key, Payload
    from .server import Server

__all__ = ["Capture", "load", "taken"]

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
        Other arrays, which no step changes in place; they are copied at once.
    """

    def __init__(self, groups: Mapping[Key, list[Array]], extra: Sequence[Array]) -> None:
        self._groups = {key: [_in_rows(data) for data in arrays] for key, arrays in groups.items()}
        self._extra = [np.array(one).reshape(1, -1) for one in extra]
        self._layouts = {key: Layout(repr(key), len(arrays[0]), max(1, CHUNK // max(1, sum(one[:1].nbytes for one in arrays))),
                                     [(str(one.dtype), list(one.shape)) for one in arrays])
                         for key, arrays in self._groups.items()}
        self.layouts = [*self._layouts.values(), *(Layout(f"extra {place}", 1, 1, [(str(one.dtype), list(one.shape))])
                                                   for place, one in enumerate(self._extra))]
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
        for key, layout in self._layouts.items():
            arrays = self._groups[key]
            for first in layout.firsts():
                stop = min(first + layout.per, layout.rows)
                found = [data[first:stop].copy() for data in arrays]
                if key in self._aside:
                    self._aside[key].restore(found, first, stop)
                self._copied[key] = stop
                yield found
            self._aside.pop(key, None)
            self._groups[key] = [data[:0] for data in arrays]
        for one in self._extra:
            yield [one]


class _Aside:
    """Rows of a key as they were when the capture began, one behind the other.

    There is room for all of them, but the system gives memory only where rows are written.
    """

    def __init__(self, arrays: Sequence[Array]) -> None:
        self.places = np.zeros(len(arrays[0]), np.int64)  # of each row, from 1; 0 for none
        self.arrays = [np.empty(one.shape, one.dtype) for one in arrays]
        self.count = 0

    def put(self, arrays: Sequence[Array], rows: Array) -> int:
        """Keep what rows hold now, unless they are here; gives how many bytes are new."""
        rows = rows[self.places[rows] == 0]
        start, self.count = self.count, self.count + len(rows)
        self.places[rows] = np.arange(start + 1, self.count + 1)
        for kept, one in zip(self.arrays, arrays, strict=True):
            np.take(one, rows, axis=0, out=kept[start:self.count], mode="clip")  # without it, numpy would fill a second array
        return sum(one[start:self.count].nbytes for one in self.arrays)

    def restore(self, found: Sequence[Array], first: int, stop: int) -> None:
        """Lay the rows that are here over copies of the rows from ``first`` to ``stop``."""
        places = self.places[first:stop]
        rows = np.flatnonzero(places)
        if len(rows):
            for one, kept in zip(found, self.arrays, strict=True):
                one[rows] = kept[places[rows] - 1]


def _in_rows(data: Array) -> Array:
    """A view of an array with one axis beside its rows."""
    return data.reshape(len(data) if data.ndim else 1, math.prod(data.shape[1:]))


# --------------------------------------------------------------------------- what a server holds


def taken(server: Server, step: int) -> tuple[str, Capture]:
    """What a server holds at the end of a step: what is said of it in JSON, and its arrays; nothing of it changes any more."""
    groups: dict[Key, list[Array]] = {}
    extra: list[Array] = []
    keys = [_described(server, held, groups, extra) for held in server.keys.values()]
    states = []
    for rank, (done, text, arrays) in server.worker_states.items():
        states.append([rank, done, text, len(extra), [[str(one.dtype), list(one.shape)] for one in arrays]])
        extra += [np.ascontiguousarray(one) for one in arrays]
    about = {
        "keys": keys, "optimizer": None if server.updater is None else described(server.updater.optimizer),
        "random": None if server.random is None else server.random.bit_generator.state, "policy": server.policy,
        "numbers": server.numbers, "settings": list(server.settings.items()), "applied": server.applied,
        "left": sorted(server.left), "step": step, "mode": server.mode, "states": states}
    return json.dumps(about), Capture(groups, extra)


def _described(server: Server, held: Held, groups: dict[Key, list[Array]], extra: list[Array]) -> list[Any]:  # Any: JSON
    """What is said of a key; its arrays are added to ``groups`` if they have a row for each of the key, else to ``extra``."""
    key, trees = held.key, []
    groups[key] = [rows_of(held.value)]
    state = None if server.updater is None else server.updater.states.get(key)
    for tree in (state, server.sums_of_optimizer().get(key)):
        arrays: list[NDArray] = []
        where: list[Any] = []
        encoded = encoded_state(tree, arrays)
        for one in arrays:
            sparse, data = isinstance(one._store, RowSparse), rows_of(one)
            if (data.ndim and len(data) == held.rows) or (not held.spec.shape and data.shape == ()):
                where.append([sparse, list(one.shape), len(groups[key]), None])
                groups[key].append(data)
            else:
                where.append([sparse, list(one.shape), None, [len(extra), str(data.dtype), list(data.shape)]])
                extra += [data, *([one._store.indices] if sparse else [])]
        trees.append([encoded, where])
    pending = []
    for rank, waiting in held.pending.items():
        for push in waiting:
            pending.append([rank, push.sequence, push.rows is not None, len(extra), str(push.values.dtype),
                            list(push.values.shape), push.settings, push.clock])
            extra += [push.values, *([push.rows] if push.rows is not None else [])]
    stored = None if held.stored is None else len(extra)
    extra += [held.stored] if held.stored is not None else []
    has_state = server.updater is not None and key in server.updater.states
    return [key, list(held.spec), held.version, list(held.last.items()), held.failed, trees, pending, stored, has_state]


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
    setup = server.setup
    if manifest["workers"] != setup.workers:
        raise MismatchError(f"The snapshot is of {manifest['workers']} workers, and the run has {setup.workers}.",
                            hint=f"go on with workers={manifest['workers']}; servers may be more or fewer.")
    count = manifest["servers"]
    parts = [_Part(server, shard, count) for shard in range(count) if count != setup.servers or shard == server.index]
    for part in parts:
        part.read(read_part(Path(setup.folder or ""), manifest["parts"][part.shard]))
    optimizers = [part.optimizer for part in parts if part.optimizer is not None]
    if optimizers:
        server.updater = Updater(optimizers[0] if len(parts) == 1 else merged_optimizer(optimizers)[1])
    for part in parts:
        part.give()
    for part in parts[1:]:
        part.join(parts[0])
    parts[0].finish()


class _Part:
    """What a server takes from one part of a snapshot."""

    def __init__(self, server: Server, shard: int, shards: int) -> None:
        self.server, self.shard, self.shards = server, shard, shards
        self.optimizer: Any = None  # Any: an optimizer
        self.about: dict[str, Any] = {}  # Any: JSON
        self.extra: list[Array] = []
        #: Of each key that the server gets rows of: its arrays, with the rows that this part has, and where these belong.
        self.arrays: dict[Key, list[Array]] = {}
        self.places: dict[Key, Any] = {}  # Any: rows, or a slice

    def read(self, chunks: Iterator[Any]) -> None:  # Any: as read_part gives
        """Read the file, and keep what is this server's."""
        self.about = about = json.loads(next(chunks))
        server, new = self.server, self.server.setup.servers
        if about["optimizer"] is not None:
            self.optimizer = restored(about["optimizer"])
        names, cuts = {}, {}
        for key, spec, *_ in about["keys"]:
            old = KeySpec(tuple(spec[0]), *spec[1:])
            moved = old if new == self.shards else placed(old, about["policy"], key, new)
            names[repr(key)] = key
            cuts[key] = Partition(key, old, self.shards), Partition(key, moved, new)
        pieces: dict[Key, list[tuple[Any, list[Array]]]] = {}  # Any: rows, or a slice
        for layout, first, arrays in chunks:
            if layout.name not in names:
                self.extra.append(arrays[0].reshape(-1))
                continue
            key = names[layout.name]
            before, after = cuts[key]
            if server.index not in after.holders:
                continue
            if new == self.shards:
                pieces.setdefault(key, []).append((slice(first, first + len(arrays[0])), arrays))
                continue
            rows = before.rows_of(self.shard)[first:first + len(arrays[0])] if before.shape else np.arange(len(arrays[0]))
            part = next(one for one in after.split(rows) if one.shard == server.index)
            pieces.setdefault(key, []).append((part.rows, [one[part.places] for one in arrays]))
        self.cuts, self.pieces = cuts, pieces

    def give(self) -> None:
        """Write the rows of this part to the arrays of the server."""
        for key, pieces in self.pieces.items():
            held_arrays = self.server.loading.get(key)
            if held_arrays is None:
                count = self.cuts[key][1].count(self.server.index)
                held_arrays = self.server.loading[key] = [np.zeros((count, *one.shape[1:]), one.dtype) for one in pieces[0][1]]
            for places, arrays in pieces:
                for target, one in zip(held_arrays, arrays, strict=True):
                    target[places] = one
        self.pieces = {}
        for one in self.about["keys"]:
            self._give_key(*one)

    def _give_key(self, key: Key, spec: list[Any], version: int, last: list[Any], failed: str | None, trees: list[Any],
                  pending: list[Any], stored: int | None, has_state: bool) -> None:  # Any: JSON
        """Have the server hold a key, and the optimizer's state of it, whose arrays other parts may yet write to."""
        server = self.server
        arrays = server.loading.get(key)
        if arrays is None or key in server.keys:
            return
        cut = self.cuts[key][1]
        known = KeySpec(tuple(spec[0]), *spec[1:])
        if self.shards != server.setup.servers:
            known = placed(known, self.about["policy"], key, server.setup.servers)
            if pending:
                raise MismatchError(f"Pushes of key {key!r} wait for other workers, and cannot move to other servers.", key=key,
                                    hint=f"go on with servers={self.shards}.")
        held = server.keys[key] = Held(key, known, arrays[0].reshape(cut.local_shape(server.index)))
        held.version, held.last, held.failed = version, dict(last), failed
        if stored is not None:
            held.stored = np.arange(held.rows) if self.shards != server.setup.servers else self.extra[stored].view(np.int64)
        for rank, sequence, sparse, place, dtype, size, settings, clock in pending:
            rows = owned(self.extra[place + 1].view(np.int64)) if sparse else None
            values = owned(self.extra[place].view(dtype).reshape(size))
            held.pending.setdefault(rank, []).append(Pending(sequence, rows, values, settings, clock))
        if server.updater is None:
            return
        state, total = (self._tree(encoded, where, arrays, held) for encoded, where in trees)
        if has_state:
            server.updater.states[key], server.updater.states_synced[key] = state, True
        if total is not None:
            known_sums: dict[Any, Any] = server.sums_of_optimizer()  # Any: a sum is one array
            known_sums[key] = total

    def _tree(self, encoded: Payload, where: list[Any], arrays: list[Array], held: Held) -> State:  # Any: JSON
        found: list[NDArray] = []
        for sparse, shape, place, other in where:
            if place is not None:
                rows, size = np.arange(held.rows) if sparse else None, (held.rows, *shape[1:]) if shape else ()
                found.append(wrap(store_of(rows, arrays[place].reshape(size), size), cpu()))
            else:
                at, dtype, size = other
                rows = owned(self.extra[at + 1].view(np.int64)) if sparse else None
                values = owned(self.extra[at].view(dtype).reshape(size))
                found.append(wrap(store_of(rows, values, tuple(shape)), cpu()))
        state: State = decoded(encoded, found)
        return state

    def join(self, first: _Part) -> None:
        """Add the states of workers in this part to those of the first."""
        first.about["states"] = [*first.about["states"], *(
            [rank, done, text, place + len(first.extra), arrays] for rank, done, text, place, arrays in self.about["states"])]
        first.extra += self.extra

    def finish(self) -> None:
        """Give the server what does not belong to a key."""
        server, about = self.server, self.about
        server.policy, server.numbers, server.applied, server.mode = (
            about[name] for name in ("policy", "numbers", "applied", "mode"))
        server.settings, server.left = dict(about["settings"]), set(about["left"])
        server.done, server.snapped = dict.fromkeys(range(server.setup.workers), about["step"]), about["step"]
        server.random = None if about["random"] is None else generator_from(about["random"])
        server.worker_states = {
            rank: (done, text, [self.extra[place + number].view(dtype).reshape(shape)
                                for number, (dtype, shape) in enumerate(arrays)])
            for rank, done, text, place, arrays in about["states"] if rank % server.setup.servers == server.index}
        server.loading = {}
