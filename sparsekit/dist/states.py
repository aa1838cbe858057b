"""Optimizer states of whole weights from those of their parts on servers, and back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import cpu
from ..base.errors import SparsekitError
from ..core.dispatch import wrap
from ..optimizer.states import Progress, described, pack, restored, unpack_all
from ..storage import RowSparse, densify
from .partition import Partition

if TYPE_CHECKING:
    from ..ndarray.ndarray import NDArray
    from ..optimizer.optimizer import Optimizer
    from ..optimizer.types import State
    from ..storage.types import Weight
    from .messages import Key, KeySpec


def joined_store(partition: Partition, parts: Mapping[int, Weight]) -> Weight:
    """The whole of an array whose rows lie on servers; ``parts`` has the store of each holder.

    An array that does not have a row for each local row is that of the first holder.
    """
    first = parts[partition.holders[0]]
    if len(partition.holders) == 1 or any(not part.shape or part.shape[0] != partition.count(shard)
                                          for shard, part in parts.items()):
        return first
    shape = (partition.rows, *first.shape[1:])
    sparse = {shard: part for shard, part in parts.items() if isinstance(part, RowSparse)}
    if sparse:
        rows = np.concatenate([partition.rows_of(shard)[part.indices] for shard, part in sparse.items()])
        order = np.argsort(rows, kind="stable")
        return RowSparse(np.concatenate([part.data for part in sparse.values()])[order], rows[order], shape, check=False)
    values = np.empty(shape, first.dtype)
    for shard, part in parts.items():
        partition.put(values, shard, densify(part))
    return values


def part_of_store(partition: Partition, store: Weight, shard: int) -> Weight:
    """The rows of a whole array that a server holds, as an array of its own."""
    if not store.shape or store.shape[0] != partition.rows or not partition.shape:
        return store.copy()
    if not isinstance(store, RowSparse):
        return np.array(partition.take(store, shard), order="C")
    part = next(part for part in partition.split(store.indices) if part.shard == shard)
    shape = (partition.count(shard), *store.shape[1:])
    return RowSparse(np.array(store.data[part.places], order="C"), part.rows.astype(np.int64), shape, check=False)


def _of_each(function: Callable[[dict[int, Weight]], Weight], parts: Mapping[int, Any]) -> State:  # Any: states of one structure
    """A function of the arrays that stand at the same place of the states of servers, for each place."""
    first = next(iter(parts.values()))
    if isinstance(first, (tuple, list)):
        return tuple(_of_each(function, {shard: part[place] for shard, part in parts.items()}) for place in range(len(first)))
    if first is None:
        return None
    array: NDArray = wrap(function({shard: state._store for shard, state in parts.items()}), cpu())
    return array


def joined_tree(partition: Partition, parts: Mapping[int, State]) -> State:
    """``joined_store`` of each array of a state."""
    return _of_each(functools.partial(joined_store, partition), parts)


def part_of_tree(partition: Partition, state: State, shard: int) -> State:
    """``part_of_store`` of each array of a state."""
    return _of_each(lambda parts: part_of_store(partition, parts[shard], shard), {shard: state})


def merged_optimizer(optimizers: Sequence[Optimizer]) -> tuple[int, Optimizer]:
    """The optimizer that knows what those of several servers know of their keys, and the place of the one that has done most."""
    place = max(range(len(optimizers)), key=lambda candidate: (optimizers[candidate].num_update, -candidate))
    text = described(optimizers[place])
    merged = restored(text, {type(optimizer).__name__.lower(): type(optimizer) for optimizer in optimizers})
    for other in optimizers:
        for name, value in vars(other).items():
            held = vars(merged).get(name)
            if name == "_all_index_update_counts":
                _merge_counts(merged._all_index_update_counts, value)
            elif isinstance(value, list) and isinstance(held, list) and len(value) > len(held):
                vars(merged)[name] = list(value)
    merged._set_current_context(0)
    return place, merged


def _merge_counts(total: dict[int, dict[Any, int]], counts_by_device: Mapping[int, Mapping[Any, int]]) -> None:  # Any: keys
    """Add numbers of updates by device and key to others; of each key the larger counts."""
    for device, counts in counts_by_device.items():
        here = total.setdefault(device, {})
        here.update({key: max(count, here.get(key, 0)) for key, count in counts.items()})


def _merged_progress(parts: Sequence[Progress], specs: Mapping[Key, KeySpec]) -> Progress:
    """What the optimizers of all servers have counted and summed up."""
    most = max(parts, key=lambda progress: int(progress.counts["num_update"]))
    merged = Progress({**most.counts, "_all_index_update_counts": {}}, {})
    for part in parts:
        _merge_counts(merged.counts["_all_index_update_counts"], part.counts["_all_index_update_counts"])
    for key, spec in specs.items():
        partition = Partition(key, spec, len(parts))
        held: dict[int, State] = {shard: sums[key] for shard in partition.holders
                                  if key in (sums := parts[shard].sums.get(0, {}))}
        if len(held) == len(partition.holders):
            total: Any = joined_tree(partition, held)  # Any: a sum is one array
            merged.sums.setdefault(0, {})[key] = total
    return merged


def join_states(parts: Sequence[bytes], specs: Mapping[Key, KeySpec]) -> bytes:
    """What ``Updater.get_states`` would give in one process, from what each server gave.

    Parameters
    ----------
    parts : list of bytes
        From ``Shard.optimizer_states`` of every server.
    specs : dict
        Specification of every key.
    """
    unpacked = [unpack_all(part) for part in parts]
    states: dict[Any, State] = {}  # Any: as keys of states
    for key, spec in specs.items():
        partition = Partition(key, spec, len(parts))
        held = {shard: unpacked[shard][0][key] for shard in partition.holders if key in unpacked[shard][0]}
        if len(held) == len(partition.holders):
            states[key] = joined_tree(partition, held)
    optimizers = [optimizer for _, optimizer, _ in unpacked if optimizer is not None]
    progress = _merged_progress([progress_of for _, _, progress_of in unpacked if progress_of is not None], specs)
    return pack(states, merged_optimizer(optimizers)[1] if optimizers else None, progress)


def split_states(packed: bytes, specs: Mapping[Key, KeySpec], shards: int) -> list[bytes]:
    """What each server is to be given of what ``Updater.get_states`` gave in one process.

    Raises
    ------
    SparsekitError
        If a state is of another weight.
    """
    states, optimizer, progress = unpack_all(packed)
    sums = {} if progress is None else progress.sums.get(0, {})
    parts: list[dict[Any, State]] = [{} for _ in range(shards)]  # Any: as keys of states
    waiting: list[dict[Any, Any]] = [{} for _ in range(shards)]  # Any: keys, and sums
    for key, state in states.items():
        if key not in specs:
            raise SparsekitError(f"The optimizer states are of key {key!r}, which the store does not have.",
                                 hint="initialize the keys before their states are read.")
        partition = Partition(key, specs[key], shards)
        for shard in partition.holders:
            parts[shard][key] = part_of_tree(partition, state, shard)
            if key in sums:
                waiting[shard][key] = part_of_tree(partition, sums[key], shard)
    return [pack(part, optimizer, None if progress is None else Progress(progress.counts, {0: sums_of_shard}))
            for part, sums_of_shard in zip(parts, waiting, strict=True)]
