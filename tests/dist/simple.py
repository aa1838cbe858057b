"""What the tests of servers share: gradients, one process to compare with, and several workers in threads."""

from __future__ import annotations

import time
import warnings

import numpy as np

import sparsekit as mx
from sparsekit.dist.transport import LocalCluster


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


def equal(found, wanted):
    """Whether arrays of keys are equal to the bit."""
    return all(found[key].dtype == wanted[key].dtype and found[key].tobytes() == wanted[key].tobytes() for key in wanted)


def several(values, gradients, workers, shards, made=lambda: None, settings=None, late=False):
    """What servers make of it, step by step; ``made`` makes the optimizer of each worker; with ``late``, rank 0 pushes last."""
    def work():
        kv = mx.kv.create("dist_sync")
        kv.init(list(values), list(values.values()))
        optimizer, found = made(), []
        if optimizer is not None:
            kv.set_optimizer(optimizer)
        for step, pushed in enumerate(gradients):
            for name, value in (settings or {}).get(step, {}).items():
                setattr(kv.optimizer, name, value if kv.rank == 0 else 77)
            if late and kv.rank == 0:
                time.sleep(0.01)
            for key, arrays in pushed.items():
                kv.push(key, arrays[kv.rank])
            outs = {key: mx.nd.zeros(value.shape, dtype=value.dtype) for key, value in values.items()}
            kv.pull(list(outs), out=list(outs.values()))
            found.append({key: one.asnumpy() for key, one in outs.items()})
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = LocalCluster(shards, workers)
        found = cluster.run(work)
        cluster.close()
    assert all(equal(one, other) for some in found for one, other in zip(some, found[0], strict=True))
    return found[0]
