"""Going on with other numbers of servers and workers than a run had when it ended."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import LostDataError
from ..optimizer.states import described, restored
from ..optimizer.updater import Updater
from ..storage import RowSparse
from .held import Held, Undo
from .journal import Log, Manifest, manifest_of, write_manifest
from .messages import Key, KeySpec
from .partition import Partition, dealt
from .shard import Shard
from .states import joined_store, joined_tree, merged_optimizer, part_of_store, part_of_tree, rows_of_shards

if TYPE_CHECKING:
    from ..base.types import Array
    from ..optimizer.optimizer import Optimizer
    from ..storage.types import Weight

__all__ = ["resume"]


def resume(folder: str, shards: int | None = None, workers: int | None = None, *,
           optimizers: Mapping[str, type[Optimizer]] | None = None) -> Manifest:
    """Deal what the servers of a run held to another number of servers.

    Servers that ended at different steps go back to the last step that all of them have.  Pushes that not all of them have
    are dropped: the workers, which begin anew, send them again.  No server of the run may be running; one that is frozen is
    fenced.

    Parameters
    ----------
    folder : str
        The folder of the run.
    shards, workers : int, optional
        By default as many as before.
    optimizers : dict of str to type, optional
        Optimizer classes by lower-case name, beside those that are registered.

    Returns
    -------
    Manifest

    Raises
    ------
    LostDataError
        If the folder holds no run, or no snapshot that is old enough.
    """
    before = manifest_of(folder)
    if before is None:
        raise LostDataError(f"{folder} holds no run that could be resumed.", hint="start with folder= alone.")
    after = before._replace(layout=_next_layout(folder), shards=before.shards if shards is None else shards,
                            workers=before.workers if workers is None else workers)
    old = _agreed(folder, before, optimizers)
    new = [Shard(None, index, after.shards, after.workers, after.mode, optimizers=optimizers) for index in range(after.shards)]
    _deal_common(old, new)
    for key in old[0].limits if old else {}:
        _deal_key(key, old, new, before.workers)
    for shard in new:
        log = Log(os.path.join(folder, after.layout), f"shard-{shard.index}")
        log.snapshot(shard._records(), shard._marks(), 0)
        log.close()
    write_manifest(folder, after)
    for name in os.listdir(folder):
        if name.startswith("servers-") and name != after.layout:
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    return after


def _next_layout(folder: str) -> str:
    numbers = [name.removeprefix("servers-") for name in os.listdir(folder) if name.startswith("servers-")]
    return f"servers-{1 + max((int(number) for number in numbers if number.isdecimal()), default=0)}"


class _Old(Shard):
    """A server of the run that ended, replayed up to what all servers have."""

    def __init__(self, folder: str, index: int, manifest: Manifest, optimizers: Mapping[str, type[Optimizer]] | None,
                 limits: dict[Key, Any] | None = None) -> None:  # Any: as in Shard
        super().__init__(None, index, manifest.shards, manifest.workers, manifest.mode, optimizers=optimizers)
        self._limits = limits
        log = self._opened(os.path.join(folder, manifest.layout), False)
        self._replay_all(log, None if limits is None else self._within)
        log.close()

    @property
    def limits(self) -> dict[Key, Any]:  # Any: as in Shard
        """How far each key may go."""
        return self._limits or {}


def _agreed(folder: str, manifest: Manifest, optimizers: Mapping[str, type[Optimizer]] | None) -> list[_Old]:
    """The old servers, each as it was at the last step that all have."""
    old = [_Old(folder, index, manifest, optimizers) for index in range(manifest.shards)]
    limits: dict[Key, Any] = {}  # Any: as in Shard
    for key, spec in {key: held.spec for shard in old for key, held in shard.keys.items()}.items():
        holders = [old[index].keys.get(key) for index in Partition(key, spec, manifest.shards).holders]
        found = [held for held in holders if held is not None]
        if len(found) == len(holders):
            limits[key] = min(held.version for held in found) if manifest.mode == "sync" else {
                rank: min(held.last.get(rank, 0) for held in found) for rank in range(manifest.workers)}
    agreed = []
    for index, shard in enumerate(old):
        shard._limits = limits
        ahead = not shard._within(shard._marks()) or any(held.failed is not None for held in shard.keys.values())
        agreed.append(_Old(folder, index, manifest, optimizers, limits) if ahead else shard)
    return agreed


def _deal_common(old: Sequence[_Old], new: Sequence[Shard]) -> None:
    """Give new servers what does not belong to a key.

    A command that not all servers have is not counted: the worker gives it again.
    """
    number = min(shard.numbers["optimizer"] for shard in old)
    known = [shard for shard in old if shard.numbers["optimizer"] == number and shard.updater is not None]
    passed = max(shard._passed() for shard in old)
    place, optimizer = merged_optimizer([shard.updater.optimizer for shard in known if shard.updater is not None]) if known else (
        0, None)
    for shard in new:
        shard.numbers = {"optimizer": number, "states": min(one.numbers["states"] for one in old)}
        shard.arrived = dict.fromkeys(range(shard.workers), passed)
        if optimizer is not None:
            shard.updater = Updater(restored(described(optimizer), shard.optimizers))
            shard.random = known[place].random


def _deal_key(key: Key, old: Sequence[_Old], new: Sequence[Shard], workers: int) -> None:
    """Give new servers their rows of a key."""
    spec = next(shard.keys[key].spec for shard in old if key in shard.keys)
    before = Partition(key, spec, len(old))
    parts = {index: old[index].keys[key] for index in before.holders}
    limit = old[0].limits[key]
    version = next(iter(parts.values())).version
    how, _, home = spec.placement.partition(":")
    moved = dealt(spec._replace(placement=f"whole:{int(home) % len(new)}" if how == "whole" else "rows"))
    after = Partition(key, moved, len(new))
    store = joined_store(before, {index: held.value._store for index, held in parts.items()})
    undo = _joined_undo(before, parts)
    states = {index: shard.updater.states[key] for index in parts
              if (shard := old[index]).updater is not None and key in shard.updater.states}
    sums = {index: known[key] for index in parts if key in (known := _sums(old[index]))}
    for index in after.holders:
        held = new[index].keys[key] = _part(key, moved, after, store, index)
        held.version = version
        held.last = {rank: _limit_of(limit, rank) for rank in range(new[index].workers)}
        held.undo = _part_of_undo(after, undo, index)
        updater = new[index].updater
        if updater is not None and len(states) == len(parts):
            updater.states[key], updater.states_synced[key] = part_of_tree(after, joined_tree(before, states), index), True
        if updater is not None and len(sums) == len(parts):
            _sums(new[index])[key] = part_of_tree(after, joined_tree(before, sums), index)


def _sums(shard: Shard) -> dict[Any, Any]:  # Any: keys and arrays
    """Sums of gradients that an optimizer keeps between its steps."""
    return {} if shard.updater is None else vars(shard.updater.optimizer).get("_sums", {}).setdefault(0, {})


def _limit_of(limit: int | dict[int, int], rank: int) -> int:
    """The last push of a rank; a rank that is new has all that every other one has."""
    return int(limit.get(rank, min(limit.values(), default=0)) if isinstance(limit, dict) else limit)


def _part(key: Key, spec: KeySpec, partition: Partition, store: Weight, index: int) -> Held:
    part = part_of_store(partition, store, index)
    if isinstance(part, RowSparse):
        return Held(key, spec, partition.local_shape(index), part.indices, part.data)
    return Held(key, spec, partition.local_shape(index), None, part)


def _joined_undo(partition: Partition, parts: Mapping[int, Held]) -> tuple[int, Weight | _Rows] | None:
    """The version before the last step and the values of the rows that it changed; None if not all servers have it."""
    undos = {index: held.undo for index, held in parts.items()}
    versions = {None if undo is None else undo.version for undo in undos.values()}
    if len(versions) != 1 or None in versions:
        return None
    version = versions.pop()
    assert version is not None
    if not partition.shape or all(undo is not None and undo.rows is None for undo in undos.values()):
        stores = {index: _whole_old(parts[index], undo) for index, undo in undos.items() if undo is not None}
        return version, joined_store(partition, stores)
    found = {index: (np.arange(parts[index].rows), _dense(_whole_old(parts[index], undo))) if undo.rows is None
             else (undo.rows, _dense(undo.old)) for index, undo in undos.items() if undo is not None}
    rows, values = rows_of_shards(partition, found)
    return version, _Rows(rows, values)


class _Rows:
    """Rows of a whole value, and their values."""

    def __init__(self, rows: Array, values: Array) -> None:
        self.rows, self.values = rows, values


def _whole_old(held: Held, undo: Undo) -> Weight:
    """All rows before the last step, in the form that the value has."""
    if held.spec.stype == "row_sparse" and not isinstance(undo.old, RowSparse):
        return RowSparse(undo.old, np.arange(held.rows), held.shape, check=False)
    return undo.old


def _dense(store: Weight) -> Array:
    if not isinstance(store, RowSparse):
        return store
    values = np.zeros(store.shape, store.dtype)
    values[store.indices] = store.data
    return values


def _part_of_undo(partition: Partition, undo: tuple[int, Weight | _Rows] | None, index: int) -> Undo | None:
    if undo is None:
        return None
    version, old = undo
    if not isinstance(old, _Rows):
        return Undo(version, None, part_of_store(partition, old, index))
    part = next(part for part in partition.split(old.rows) if part.shard == index)
    return Undo(version, np.array(part.rows), np.array(old.values[part.places], order="C"))
