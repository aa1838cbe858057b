"""What the tests of servers share: keys, gradients, one process to compare with, and a driver without network or threads."""

from __future__ import annotations

import warnings

import numpy as np

import sparsekit as mx
from sparsekit.dist.messages import KeySpec, Pull, Push, Request
from sparsekit.dist.partition import Partition, dealt
from sparsekit.optimizer.states import described


def spec_of(array, placement="rows"):
    return dealt(KeySpec(array.shape, array.dtype.name, array.stype, placement))


def placement_for(optimizer, key):
    """Where the rows of a key lie: by rows, on one server, or on the one server of all keys."""
    if optimizer is None:
        return "rows"
    if optimizer._keeps_order:
        return "whole:0"
    return "rows" if optimizer._looks_at != "weight" else f"whole:{len(str(key)) % 2}"


def gradient(random, shape, stype, dtype="float32", rows=None):
    """A gradient; a row_sparse one has some rows, perhaps none."""
    if stype == "default":
        return mx.nd.array(random.normal(size=shape), dtype=dtype)
    if rows is None:
        rows = np.flatnonzero(random.random(shape[0]) < random.choice([0.0, 0.02, 0.3]))
    values = random.normal(size=(len(rows), *shape[1:]))
    return mx.nd.sparse.row_sparse_array((mx.nd.array(values, dtype=dtype), rows), shape=shape, dtype=dtype)


def full(array):
    """A row_sparse array with every row stored, as weights have them."""
    if array.stype == "default":
        return array
    return mx.nd.sparse.row_sparse_array((mx.nd.array(array.asnumpy(), dtype=array.dtype), np.arange(array.shape[0])),
                                         shape=array.shape, dtype=array.dtype)


def one_process(values, gradients, optimizer=None, settings=None):
    """What one process makes of it: for each step the value of each key.

    ``gradients[step][key]`` is a list with an array for each rank; ``settings[step]`` are attributes of the optimizer.
    """
    store = mx.kv.create("local")
    for key, value in values.items():
        store.init(key, full(value))
    if optimizer is not None:
        store.set_optimizer(optimizer)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step, pushed in enumerate(gradients):
            for name, value in (settings or {}).get(step, {}).items():
                setattr(optimizer, name, value)
            for key, arrays in pushed.items():
                store.push(key, arrays)
            found.append({key: store._held[key].asnumpy() for key in values})
    return found


def push_of(partition, key, sequence, array, shard, clock=None):
    """The part of a gradient for one server."""
    store = array._store
    if array.stype == "default":
        return Push(key, sequence, None, partition.take(store, shard), clock)
    part = next(part for part in partition.split(store.indices) if part.shard == shard)
    return Push(key, sequence, part.rows.astype(np.int32), store.data[part.places], clock)


class Keys:
    """Keys with their placement on a number of servers, to which they came from ``earlier`` ones if that is given."""

    def __init__(self, values, shards, optimizer=None, earlier=None):
        self.values, self.shards = values, shards
        self.specs = {key: spec_of(value, placement_for(optimizer, key)) for key, value in values.items()}
        self.specs = {key: spec._replace(placement=f"whole:{int(spec.placement[6:]) % (earlier or shards) % shards}")
                      if spec.placement.startswith("whole") else spec for key, spec in self.specs.items()}
        self.partitions = {key: Partition(key, spec, shards) for key, spec in self.specs.items()}

    def on(self, shard):
        return [key for key, partition in self.partitions.items() if shard in partition.holders]

    def init(self, shards, rank=0, life=0):
        for index, shard in enumerate(shards):
            for key in self.on(index):
                value, partition = self.values[key], self.partitions[key]
                if value.stype == "default":
                    shard.init(rank, life, key, self.specs[key], None, partition.take(value.asnumpy(), index))
                else:
                    part = next(part for part in partition.split(value._store.indices) if part.shard == index)
                    shard.init(rank, life, key, self.specs[key], part.rows.astype(np.int32), value._store.data[part.places])

    def pushes(self, pushed, rank, sequence, index, clock=None):
        return tuple(push_of(self.partitions[key], key, sequence, arrays[rank], index, clock)
                     for key, arrays in pushed.items() if key in self.on(index))

    def whole(self, shards, rank, version, life=0):
        """All values as they are at a version."""
        found = {key: np.empty(spec.shape, spec.dtype) for key, spec in self.specs.items()}
        for index, shard in enumerate(shards):
            keys = self.on(index)
            reply = shard.exchange(Request(rank, life, shard.epoch, (), tuple(Pull(key, version) for key in keys)))
            for key, part in zip(keys, reply.values, strict=True):
                self.partitions[key].put(found[key], index, part)
        return found


def equal(found, wanted):
    """Whether arrays of keys are equal to the bit."""
    return all(found[key].dtype == wanted[key].dtype and found[key].tobytes() == wanted[key].tobytes() for key in wanted)


def several(make, keys, gradients, workers, optimizer=None, settings_at=None, order=None):
    """What servers make of it, step by step, with pushes that arrive in the order that ``order(step)`` gives of the ranks."""
    shards = [make(index) for index in range(keys.shards)]
    keys.init(shards)
    if optimizer is not None:
        for shard in shards:
            shard.optimizer(0, 0, 1, described(optimizer))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step, pushed in enumerate(gradients):
            for rank in (order(step) if order else range(workers)):
                for index, shard in enumerate(shards):
                    text = (settings_at or {}).get(step) if rank == 0 else '{"rescale_grad": 77}' if settings_at else None
                    shard.exchange(Request(rank, 0, 0, keys.pushes(pushed, rank, step + 1, index), (), text))
            found.append(keys.whole(shards, 0, step + 1))
    return found
