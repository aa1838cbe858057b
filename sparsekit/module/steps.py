"""Optimizer steps on the parameters of a module, on each context or in a store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kvstore as stores
from ..base.environment import flag
from ..base.errors import DTypeError, ParameterNameError, SparsekitError
from ..base.files import write_whole
from ..kvstore import DistKVStore
from ..kvstore.kvstore import KVStore, read_states
from ..optimizer import Optimizer, get_updater
from ..optimizer.updater import UpdateLane

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..kvstore import KVStoreBase
    from ..ndarray.ndarray import NDArray

#: Size of the largest parameter above which each context updates its own copy with the store "local".
LARGE = 1024 * 1024 * 16


def store_for(kvstore: KVStoreBase | str | None, contexts: int, arg_params: dict[str, Any]) -> tuple[Any, bool]:
    """The store for a module, or None if it needs none, and whether the store makes the optimizer steps.

    Raises
    ------
    DTypeError
        If ``kvstore`` is not a store, a name or None.
    """
    on_kvstore = flag("MXNET_UPDATE_ON_KVSTORE", True)
    if kvstore is None:
        return None, False
    if isinstance(kvstore, str):
        if contexts == 1 and "dist" not in kvstore:
            return None, False
        largest = max((int(np.prod(array.shape)) for array in arg_params.values()), default=0)
        on_kvstore = on_kvstore and not (kvstore == "local" and largest > LARGE)
        kvstore = stores.create(kvstore)
    if not isinstance(kvstore, stores.KVStoreBase):
        raise DTypeError(f"kvstore must be KVStore, str or None, not {type(kvstore).__name__}.",
                         hint="kvstore='local', or mx.kv.create('device').")
    return kvstore, on_kvstore and kvstore.is_capable(stores.KVStoreBase.OPTIMIZER)


class Steps:
    """Makes the steps of one optimizer, for one module or for several modules that share parameters.

    Parameters
    ----------
    optimizer : Optimizer
    kvstore : KVStoreBase or None
    on_kvstore : bool
        Whether the store holds the parameters and makes the steps.  Dense parameters are then copied to the contexts after
        each step.  Of row_sparse parameters, the rows that ``prepare`` requests are copied, else all rows before the next
        forward pass.
    names : list of str
        Names of the parameters, in the order of their indices in the optimizer.

    Notes
    -----
    With a store of several machines, dense parameters are out of date after a step, too: those and the rows that
    ``prepare`` requests are fetched in the round trip that pushes the gradients.
    """

    def __init__(self, optimizer: Optimizer, kvstore: Any, on_kvstore: bool, names: list[str]) -> None:
        self.optimizer, self.kvstore, self.on_kvstore = optimizer, kvstore, on_kvstore
        self.numbers = {name: number for number, name in enumerate(names)}
        self.updater = None if on_kvstore else get_updater(optimizer)
        self.far = isinstance(kvstore, DistKVStore)
        self._stale: set[str] = set()
        self._prepared: set[str] = set()
        self._weights: dict[str, list[Any]] = {}

    def start(self, names: list[str], weights: list[list[Any]], values: dict[str, Any]) -> None:
        """Put the parameters, and with ``on_kvstore`` the optimizer, into the store."""
        if self.kvstore is None:
            return
        if self.on_kvstore:
            self.kvstore.set_optimizer(self.optimizer)
        if self.far:
            self._start_far(names, weights, values)
            return
        for name, block in zip(names, weights, strict=True):
            if isinstance(self.kvstore, KVStore):
                self.set(name, values[name])
            else:
                self.kvstore.broadcast(name, values[name], out=block)

    def _start_far(self, names: list[str], weights: list[list[Any]], values: dict[str, Any]) -> None:
        """Put the parameters into the servers; every worker gets those of rank 0, row_sparse ones when it needs them."""
        self.kvstore.init(names, [values[name] for name in names])
        blocks = dict(zip(names, weights, strict=True))
        late = {name for name in names if self.on_kvstore and values[name].stype != "default"}
        now = [name for name in names if name not in late]
        self.kvstore.pull(now, [[values[name], *blocks[name]] for name in now], ignore_sparse=False)
        self._stale |= late

    def set(self, name: str, value: NDArray) -> None:
        """Replace the value of a parameter in the store."""
        if isinstance(self.kvstore, KVStore):
            self.kvstore._share(name, self.kvstore._home(value).copy())
        self._stale.discard(name)

    def update(self, names: list[str], weights: list[list[Any]], gradients: list[list[Any]]) -> None:
        """Make a step of every parameter that has gradients; with a store of several machines, one that no snapshot has."""
        self._weights = dict(zip(names, weights, strict=True))
        if self.far and not self.kvstore._begins_step(self):
            self._prepared.clear()
            return
        self._make(names, weights, gradients)
        self._prepared.clear()
        if self.far:
            self.kvstore._ends_step()

    def _make(self, names: list[str], weights: list[list[Any]], gradients: list[list[Any]]) -> None:
        with UpdateLane() as state:
            if self.far:
                self._push_far(names, gradients)
            for name, block, gradient in zip(names, weights, gradients, strict=True):
                if gradient[0] is None or (self.far and self.on_kvstore):
                    continue
                state.layer = name
                if self.on_kvstore:
                    self._update_on_kvstore(name, block, gradient)
                else:
                    self._update_on_contexts(name, block, gradient)

    def _kept(self) -> list[Any] | None:  # Any: arrays and bytes
        """What a snapshot has of the parameters, if the contexts make the steps, and of the optimizer's states."""
        if self.updater is None:
            return None
        values = {name: [array.asnumpy() for array in block] for name, block in self._weights.items()}
        return [values, self.updater.get_states(dump_optimizer=True)]

    def _take_kept(self, state: list[Any]) -> None:  # Any: as above
        """Go on from what a snapshot has."""
        values, states = state
        for name, block in values.items():
            for weight, value in zip(self._weights[name], block, strict=True):
                weight[:] = value
        assert self.updater is not None
        self.updater.set_states(states)
        self.optimizer = self.updater.optimizer

    def _push_far(self, names: list[str], gradients: list[list[Any]]) -> None:
        """Push all gradients, from which the servers make steps, or which become the sums of all workers."""
        some = {name: gradient for name, gradient in zip(names, gradients, strict=True) if gradient[0] is not None}
        if self.on_kvstore:
            self.kvstore.push(list(some), list(some.values()))
            self._stale |= some.keys()
        else:
            self.kvstore.pushpull(list(some), list(some.values()))

    def _update_on_kvstore(self, name: str, weights: list[Any], gradients: list[Any]) -> None:
        priority = -self.numbers[name]
        if weights[0].stype == "default":
            self.kvstore.pushpull(name, gradients, out=weights, priority=priority)
        else:
            self.kvstore.push(name, gradients, priority=priority)
            self._stale.add(name)

    def _update_on_contexts(self, name: str, weights: list[Any], gradients: list[Any]) -> None:
        number = self.numbers[name] * len(weights)
        if self.kvstore is not None and not self.far:
            self.kvstore.pushpull(name, gradients, priority=-self.numbers[name])
        for place, (weight, gradient) in enumerate(zip(weights, gradients, strict=True)):
            self.updater(number + place, gradient, weight)  # type: ignore[misc]

    # row_sparse parameters, whose copies on the contexts may be out of date

    def prepare(self, wanted: dict[str, NDArray | Sequence[NDArray]], names: list[str], blocks: list[list[Any]]) -> None:
        """Copy rows of parameters, by name, to the contexts, and the dense parameters that are out of date."""
        block_of = dict(zip(names, blocks, strict=True))
        if self.far:
            dense = [name for name in names if name in self._stale and block_of[name][0].stype == "default"]
            self.kvstore._pull_both([(name, block_of[name]) for name in dense],
                                    [(name, block_of[name], rows) for name, rows in wanted.items()])
            self._stale.difference_update(dense)
        else:
            for name, rows in wanted.items():
                self.kvstore.row_sparse_pull(name, out=block_of[name], row_ids=rows, priority=-self.numbers[name])
        self._stale.update(wanted)  # the other rows
        self._prepared.update(wanted)

    def complete(self, names: list[str], blocks: list[list[Any]], prepared: bool = False) -> None:
        """Copy all rows of the parameters that are out of date to the contexts.

        Parameters
        ----------
        prepared : bool
            Also of those for which ``prepare`` was called since the last step.
        """
        if self._stale:
            late = {name: block for name, block in zip(names, blocks, strict=True)
                    if name in self._stale and (prepared or name not in self._prepared)}
            if self.far and late:
                self.kvstore.pull(list(late), out=list(late.values()), ignore_sparse=False)
            for name, block in late.items():
                if not self.far:
                    self.kvstore.pull(name, out=block, ignore_sparse=False)
                self._stale.discard(name)
        self._prepared.clear()

    # states

    def save(self, fname: str | Path) -> None:
        """Write the optimizer's states to a file."""
        if self.updater is None:
            self.kvstore.save_optimizer_states(fname)
        else:
            write_whole(fname, self.updater.get_states())

    def load(self, fname: str | Path) -> None:
        """Read the optimizer's states from a file; a damaged file changes nothing.

        Raises
        ------
        DataFileError
            If the file cannot be read.
        SparsekitError
            If it is not a file of optimizer states.
        """
        if self.updater is None:
            self.kvstore.load_optimizer_states(fname)
            return
        try:
            self.updater.set_states(read_states(fname))
        except SparsekitError as error:
            raise type(error)(f"{os.fspath(fname)}: {error.message}", hint=error.hint) from None


def check_row_ids(row_ids: object, names: list[str]) -> dict[str, Any]:
    """The result of ``sparse_row_id_fn``; raises unless it is a dict (DTypeError) of parameters (ParameterNameError)."""
    if not isinstance(row_ids, dict):
        raise DTypeError(f"Expected dict output from sparse_row_id_fn, not {type(row_ids).__name__}.",
                         hint="lambda batch: {'weight': batch.data[0].indices}")
    for name in row_ids:
        if name not in names:
            raise ParameterNameError.of("parameter", name, names)
    return row_ids
