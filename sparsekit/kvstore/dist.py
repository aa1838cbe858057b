"""The key-value store of several machines: servers hold the values, and every worker has a store that talks to them."""

from __future__ import annotations

import copy
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from ..base import displays, rng
from ..base.checks import number
from ..base.context import cpu
from ..base.errors import StorageTypeError, UnknownNameError, UnsupportedError
from ..base.files import write_whole
from ..core.dispatch import wrap
from ..dist.compression import quantize
from ..dist.messages import KeySpec, Push
from ..dist.states import join_states, split_states
from ..dist.transport import client_here
from ..optimizer import states
from ..storage import RowSparse
from .arguments import arrays_by_key, check_row_sparse, checked_optimizer, numbers_of, only_optimizer, pairs, row_targets, sum_of
from .base import KVStoreBase
from .kvstore import read_states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from ..base.types import Array
    from ..dist.client import Client
    from ..dist.messages import Key
    from ..ndarray.ndarray import NDArray
    from ..optimizer import Optimizer


class Kept(Protocol):
    """What the library keeps for a worker to go on."""

    def _kept(self) -> object:  # object: numbers, texts, arrays, and lists, tuples and dicts of these
        """The state."""

    def _take_kept(self, state: list[Any]) -> None:  # Any: as ``_kept`` gives it
        """Go on from a state."""


class Trained(Protocol):
    """A ``gluon.Trainer``, which lies above."""

    _servers: Any  # Any: a TrainerServers


#: A value that is wanted whole, and the arrays to write it to.
Whole = tuple["Key", list[Any]]  # Any: arrays
#: Rows that are wanted, and the array to write them to.
Rows = tuple["Key", "Array", Any]  # Any: an array


@KVStoreBase.register
class DistKVStore(KVStoreBase):
    """A key-value store of several workers and servers, made by ``create("dist_sync")`` in each worker.

    The methods are those of ``KVStore``.  Each worker calls them for its part of every batch.  A push sums the arrays of the
    worker's contexts first, in their order.  The servers then add up the sums of all workers, in the order of their ranks,
    and replace the value by the result or make a step of the optimizer with it.  Of row_sparse arrays, only the stored rows
    and their numbers are sent.

    With ``"dist_sync"``, the servers make step *n* of a key when every worker has pushed the key for the *n*-th time, and a pull
    returns the value after this worker's last push.  With ``"dist_async"``, every push is a separate step, and an optimizer
    must be set.  ``"dist_device_sync"`` sums a worker's arrays on the context of the first array; the others sum them on the
    CPU.

    A push is delayed until another call needs the servers, so that a push and the following pull are one round trip.
    ``flush()`` sends delayed pushes at once, and the end of the program sends them too.

    Parameters
    ----------
    name : str
        The name passed to ``create``.
    timeout : float, optional
        Seconds that a call waits for servers and other workers.  The default is that of the launcher, or 600.

    Attributes
    ----------
    timeout : float

    Raises
    ------
    NoClusterError
        If the program was not started as a worker.

    Examples
    --------
    In a program that ``sparsekit launch -n 2 -s 2`` runs:

    >>> kv = mx.kv.create("dist_sync")                                            # doctest: +SKIP
    >>> kv.init("weight", mx.nd.zeros((1000, 2)).tostype("row_sparse"))           # doctest: +SKIP
    >>> kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.1))                     # doctest: +SKIP
    >>> kv.push("weight", gradient)                                               # doctest: +SKIP
    >>> kv.row_sparse_pull("weight", out=rows, row_ids=mx.nd.array([3, 5]))       # doctest: +SKIP
    """

    names: ClassVar[tuple[str, ...]] = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device", "dist_async",
                                        "dist_device_async", "dist_async_device")

    def __init__(self, name: str = "dist_sync", timeout: float | None = None) -> None:
        self._type = name
        self._client: Client = client_here()
        if timeout is not None:
            self.timeout = timeout
        self._optimizer: Optimizer | None = None
        self._base: dict[str, Any] = {}
        self._changed: set[str] = set()
        self._said: tuple[dict[str, Any], str] = ({}, "")
        self._compression: float | None = None
        self._residuals: dict[Key, Array] = {}
        self._own_steps = False
        self._skipped_to: Any = None  # Any: the state at a snapshot
        self._client.set_mode("async" if "async" in name else "sync")
        weakref.finalize(self, self._client.close)

    # what it is

    @property
    def rank(self) -> int:
        """The number of this worker, from 0."""
        return self._client.rank

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        return self._client.workers

    @property
    def timeout(self) -> float:
        """Seconds that a call waits for servers and other workers; may be set."""
        return self._client.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        number("timeout", seconds, "a number of seconds above 0", lambda value: value > 0, "pass 60, for instance.")
        self._client.timeout = float(seconds)

    @staticmethod
    def is_capable(capability: str) -> bool:
        """True for ``"optimizer"``, the only capability.

        Raises
        ------
        UnknownNameError
            For any other capability.
        """
        return only_optimizer(capability)

    def get_num_dead_node(self, node_id: int = 7, timeout: float = 60) -> int:
        """How many servers do not answer.  A worker that is lost takes all others back to the last snapshot, so none is dead.

        Parameters
        ----------
        node_id : int
            A sum of 4 for workers, 2 for servers and 1 for MXNet's scheduler, which does not exist here.  Default 7: all.
        timeout : float
            Seconds within which a server must answer.
        """
        return len(self._client.silent(timeout)) if node_id & 2 else 0

    # steps

    @property
    def steps_done(self) -> int:
        """Number of steps that this worker has ended, those before a snapshot included."""
        return self._client.steps

    def resume(self, get: Callable[[], object] | None = None, set: Callable[[Any], object] | None = None,
               trainer: Trained | None = None) -> int:
        """Say what the state of this worker's loop is, go back to where the last snapshot has it, and return the steps done.

        A loop by hand calls it once, after ``init`` and ``set_optimizer`` and before its first step, on every worker, and
        ``end_step`` at the end of each step.  When a process is lost, all workers start the program anew, and the loop begins
        at the returned number.  Without these two calls, a lost process ends the run with an error.  Trainers, modules and
        estimators need neither.

        The generators of random numbers of ``random``, ``numpy.random`` and ``mx.random``, the settings of the optimizer, and
        residuals of compression are always part of a snapshot.

        Parameters
        ----------
        get : callable, optional
            ``get()`` returns what else the program needs to go on, such as the position in its data: numbers, texts, numpy
            arrays, and lists, tuples and dicts of these.
        set : callable, optional
            ``set(state)`` takes what ``get`` returned.
        trainer : gluon.Trainer, optional
            A trainer on this store whose steps the loop makes; then also its parameters are those of the snapshot.

        Returns
        -------
        int

        Raises
        ------
        InitializationError
            If a parameter of the trainer has no values yet.

        Examples
        --------
        >>> done = kv.resume(lambda: data.bit_generator.state,                        # doctest: +SKIP
        ...                  lambda state: setattr(data.bit_generator, "state", state))
        >>> for step in range(done, 1000):                                            # doctest: +SKIP
        ...     kv.push("weight", gradient(step))
        ...     kv.pull("weight", out=weight)
        ...     kv.end_step()
        """
        kept = None if trainer is None else trainer._servers
        if kept is not None:
            kept.introduce(all_of_them=True)
        state = self._client.resume(lambda: self._state_of(get, kept), skips=False)
        if state is not None:
            self._take_state(state, set, kept)
        return self._client.steps

    def end_step(self) -> None:
        """Say that a step of this worker has ended.  At some steps its state is taken, and sent with the next call.

        Raises
        ------
        DistError
            If ``resume`` has not been called.
        """
        self._client.end_step()

    def _begins_step(self, kept: Kept) -> bool:
        """Whether a step of a trainer or a module is to be made; one that the snapshot has is skipped.

        The program runs again from its beginning, with the same data: steps up to the snapshot change nothing.
        """
        client = self._client
        if not client.resumes:
            self._own_steps = True
            self._skipped_to = client.resume(lambda: self._state_of(None, kept), skips=True)
        if not self._own_steps or not client.behind:
            return True
        if client.skip_step():
            self._take_state(self._skipped_to, None, kept)
            self._skipped_to = None
        return False

    def _ends_step(self) -> None:
        """A step of a trainer or a module has been made."""
        if self._own_steps:
            self._client.end_step()

    @property
    def _skips(self) -> bool:
        """Whether steps of a trainer or a module are skipped now."""
        return self._own_steps and self._client.behind > 0

    def _state_of(self, get: Callable[[], object] | None, kept: Kept | None) -> list[Any]:  # object, Any: what is kept
        """What this worker needs to go on."""
        optimizer, theirs = self._optimizer, None
        if optimizer is not None:
            theirs = [dict(optimizer._index_update_count), optimizer.num_update, states.encoded_settings(_settings_of(optimizer)),
                      sorted(self._changed), type(optimizer).__name__, states.described(optimizer)]
        return [theirs, self._residuals, rng.states(), None if kept is None else kept._kept(), None if get is None else get()]

    def _take_state(self, state: list[Any], set_: Callable[[Any], object] | None, kept: Kept | None) -> None:  # Any: what is kept
        """Go on where the worker was."""
        theirs, self._residuals, generators, own, programs = state
        if theirs is not None:
            counts, num_update, settings, changed, name, text = theirs
            if type(self._optimizer).__name__ != name:  # another one had been set when the snapshot was taken
                self._optimizer = states.restored(text)
                self._base = copy.deepcopy(_settings_of(self._optimizer))
            optimizer: Any = self._optimizer
            states.applied_settings(optimizer, settings)
            optimizer._index_update_count.update(counts)
            optimizer.num_update, self._changed, self._said = num_update, set(changed), ({}, "")
        if kept is not None and own is not None:
            kept._take_kept(own)
        if set_ is not None:
            set_(programs)
        rng.restore(generators)

    def statistics(self) -> dict[str, Any]:
        """Round trips, bytes of arrays sent and received, seconds in calls, and for whom it waited."""
        return self._client.statistics()

    def profile_servers(self) -> list[Any]:
        """The profiles of the servers since each was started, to be merged with those of workers.

        Returns
        -------
        list of Profile

        Examples
        --------
        >>> with mx.Profiler() as prof:                                               # doctest: +SKIP
        ...     train(kv)
        >>> mx.profiler.merge([prof, *kv.profile_servers()]).distributed()            # doctest: +SKIP
        """
        return [displays.call("server_profile", told) for told in self._client.profiles()]

    # values

    def init(self, key: object, value: object) -> None:
        """Store a value under a new key.  Every worker calls it; the value of rank 0 counts.

        Parameters
        ----------
        key : int, str or list of them
        value : NDArray or list of NDArray
            Dense or row_sparse.  Of a list for one key, the first array is stored.

        Raises
        ------
        DistError
            If the key has been initialized already.
        MismatchError
            If the shape, element type or storage type differs from that of rank 0; then nothing is changed.
        """
        values = {}
        for single_key, arrays in pairs(key, value):
            spec = KeySpec(tuple(arrays[0].shape), str(arrays[0].dtype), self._stype(single_key, arrays[0]))
            values[single_key] = (spec, *_components(arrays[0].detach().as_in_context(cpu())))
        self._client.init(values)

    def _stype(self, key: Key, array: NDArray) -> str:
        if array.stype == "csr":
            raise StorageTypeError(f"The value of key {key!r} is csr, which kvstores of several machines do not hold.",
                                   hint="tostype('row_sparse'), or tostype('default').")
        return array.stype

    def push(self, key: object, value: object, priority: int = 0) -> None:
        """Add to the sum by which the servers replace a value, or with which they make a step of the optimizer.

        Parameters
        ----------
        key : int, str or list of them
            The arrays of a key that is listed several times are summed.
        value : NDArray or list of NDArray
            Dense or row_sparse.  A row_sparse gradient of a dense value is allowed.
        priority : int
            Has no effect.

        Raises
        ------
        ParameterNameError
            If a key was not initialized.
        MismatchError
            If an array does not have the shape and the element type of the value; then nothing is pushed.
        """
        self._push({single_key: self._sum(single_key, arrays) for single_key, arrays in arrays_by_key(key, value).items()})

    def _sum(self, key: Key, arrays: list[Any]) -> NDArray:
        """The sum of what a worker pushes to one key, on the CPU."""
        spec = self._client.spec(key)
        for array in arrays:
            self._stype(key, array)
            self._client.check(key, array.shape, array.dtype)
        where = arrays[0].context if "device" in self._type else cpu()
        return sum_of(arrays, spec.shape, where).as_in_context(cpu())

    def _push(self, sums: dict[Key, NDArray]) -> None:
        settings, parts = self._settings(), []
        for key, total in sums.items():
            rows, values = _components(total)
            clock = self._count(key)
            if self._compression is not None and rows is None:
                parts.append(Push(key, 0, None, self._quantized(key, values), clock, self._compression))
            else:
                parts.append(Push(key, 0, rows, values, clock))
        self._client.push(parts, settings)

    def _count(self, key: Key) -> int | None:
        """Count an update, as the servers will; the number of updates of any key before it."""
        if self._optimizer is None:
            return None
        before: int = self._optimizer.num_update - self._optimizer.begin_num_update
        self._optimizer._update_count(key)
        return before

    def pull(self, key: object, out: object = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Write a value to arrays, in the storage type of each array.

        Parameters
        ----------
        key : int, str or list of them
        out : NDArray or list of NDArray
        priority : int
            Has no effect.
        ignore_sparse : bool
            Do not write to sparse arrays; ``row_sparse_pull`` does.  Default True.

        Raises
        ------
        ParameterNameError
            If a key was not initialized.
        WaitTimeoutError
            If another worker's push is missing for ``timeout`` seconds.
        """
        self._pull(self._targets(key, out, ignore_sparse), [])

    def _targets(self, key: object, out: object, ignore_sparse: bool) -> list[Whole]:
        targets: list[Whole] = []
        for single_key, arrays in pairs(key, out):
            arrays = [array for array in arrays if not (ignore_sparse and array.stype != "default")]
            for array in arrays:
                self._client.check(single_key, array.shape, None, "pulls into")
            if arrays:
                targets.append((single_key, arrays))
        return targets

    def pushpull(self, key: object, value: object, out: object = None, priority: int = 0) -> None:
        """``push``, then ``pull`` to ``out``, by default to the arrays of ``value``, in one round trip."""
        targets = self._targets(key, value if out is None else out, ignore_sparse=False)
        self.push(key, value, priority)
        self._pull(targets, [])

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        """``init``, then ``pull`` to ``out``: every worker gets the value of rank 0."""
        self.init(key, value)
        self._pull(self._targets(key, out, ignore_sparse=False), [])

    def row_sparse_pull(self, key: object, out: object = None, priority: int = 0, row_ids: object = None) -> None:
        """Write some rows of a row_sparse value to row_sparse arrays, which then store only these rows.

        Parameters
        ----------
        key : int, str or list of them
        out : RowSparseNDArray or list of RowSparseNDArray
        priority : int
            Has no effect.
        row_ids : NDArray or list of NDArray
            As for ``KVStore.row_sparse_pull``.

        Raises
        ------
        StorageTypeError
            If the value or an array is not row_sparse.
        RowIndexError
            If a row number is out of range.
        ShapeError
            If the number of ``row_ids`` does not match ``out``, or an array does not have the shape of the value.
        """
        self._pull([], self._row_targets(key, out, row_ids))

    def push_pull_rows(self, key: object, value: object, out: object, row_ids: object, priority: int = 0) -> None:
        """``push`` the gradient of a batch, then ``row_sparse_pull`` the rows of the next one, in one round trip.

        Parameters
        ----------
        key : int, str or list of them
        value : NDArray or list of NDArray
            As for ``push``.
        out : RowSparseNDArray or list of RowSparseNDArray
        row_ids : NDArray or list of NDArray
            As for ``row_sparse_pull``.
        priority : int
            Has no effect.
        """
        targets = self._row_targets(key, out, row_ids)
        self.push(key, value, priority)
        self._pull([], targets)

    def _row_targets(self, key: object, out: object, row_ids: object) -> list[Rows]:
        targets: list[Rows] = []
        unique: dict[int, Array] = {}
        for single_key, array, ids in row_targets(key, out, row_ids):
            spec = self._client.spec(single_key)
            check_row_sparse(spec.stype, spec.shape, array)
            rows = numbers_of(ids, spec.shape[0])
            if id(ids) not in unique:
                unique[id(ids)] = _ascending(rows)
            targets.append((single_key, unique[id(ids)], array))
        return targets

    def _pull(self, targets: Sequence[Whole], rows: Sequence[Rows]) -> None:
        """Pull whole values and rows in one round trip, and write them."""
        asked: dict[Key, list[Array]] = {}
        for key, ids, _ in rows:
            if not any(ids is earlier for earlier in asked.setdefault(key, [])):
                asked[key].append(ids)
        unions = {key: some[0] if len(some) == 1 else np.unique(np.concatenate(some)) for key, some in asked.items()}
        wanted: list[tuple[Key, Array | None]] = [(key, None) for key, _ in targets]
        values_of_keys = self._client.pull([*wanted, *unions.items()])
        for (key, arrays), values in zip(targets, values_of_keys, strict=False):
            self._write(key, values, arrays)
        pulled = dict(zip(unions, values_of_keys[len(targets):], strict=True))
        for key, ids, array in rows:
            values = pulled[key] if ids is unions[key] and len(rows) == 1 else pulled[key][np.searchsorted(unions[key], ids)]
            array._receive(wrap(RowSparse(values, ids.copy(), array.shape, check=False), cpu()))

    def _write(self, key: Key, values: Array, arrays: Iterable[Any]) -> None:
        """Write a whole value to arrays."""
        sparse = self._client.spec(key).stype == "row_sparse"
        for array in arrays:
            if sparse and array.stype == "row_sparse":
                every = RowSparse(values.copy(), np.arange(len(values)), values.shape, check=False)
                array._receive(wrap(every, cpu()))
            else:
                array._receive(wrap(values, cpu()))

    def _pull_both(self, targets: list[Whole], rows: list[tuple[Key, list[Any], object]]) -> None:
        """Pull whole values, and rows of others, in one round trip."""
        self._pull(targets, [target for key, arrays, ids in rows for target in self._row_targets(key, arrays, ids)])

    def _version(self, key: Key) -> int | None:
        """The version of a key that pulls give; None if it changes without this worker."""
        return None if self._client.mode == "async" else self._client.step(key)

    def _row_numbers(self, key: Key, row_id: NDArray) -> Array:
        """Row numbers of a key as integers, whatever type they have in the array; raises if one is not."""
        return numbers_of(row_id, self._client.spec(key).shape[0]).astype(np.int64)

    def _rows(self, key: Key, rows: Array | None) -> Array:
        """Values of ascending rows of a key, or of all."""
        return self._client.pull([(key, None if rows is None else rows.astype(np.int64))])[0]

    def flush(self) -> None:
        """Send the pushes that are held, without waiting for their steps."""
        self._client.flush()

    # workers

    def _barrier(self) -> None:
        """Wait until every worker that has not left has called this method."""
        self._client.barrier()

    barrier = _barrier

    def leave(self) -> None:
        """Stop pushing: the steps of the other workers no longer wait for this worker.  Call it after the last batch.

        Without it, workers that have more batches wait until an error names this worker. Pulls remain possible.
        """
        self._client.leave()

    # the optimizer

    @property
    def optimizer(self) -> Optimizer | None:
        """The optimizer, whose settings travel with the pushes; None if none has been set."""
        return self._optimizer

    def set_optimizer(self, optimizer: object) -> None:
        """Set the optimizer, with which the servers make a step of each sum.  Every worker calls it; rank 0's counts.

        Later changes of its learning rate, ``rescale_grad``, ``wd`` and other numbers are sent with the pushes of the lowest
        rank that has not left.  Its learning-rate scheduler runs on the servers.

        Parameters
        ----------
        optimizer : Optimizer

        Raises
        ------
        DTypeError
            If ``optimizer`` is not an optimizer.
        SparsekitError
            If it has a setting that cannot be sent.
        """
        optimizer = checked_optimizer(optimizer)
        text = states.described(optimizer)
        self._client.set_optimizer(text, self._placement_for(optimizer))
        self._optimizer, self._base, self._changed = optimizer, copy.deepcopy(_settings_of(optimizer)), set()
        self._said = {}, ""

    @staticmethod
    def _placement_for(optimizer: Optimizer) -> str:
        """Where the values of keys lie under an optimizer, as ``partition.placed`` takes it."""
        return "one" if optimizer._keeps_order else "key" if optimizer._looks_at == "weight" else "rows"

    def _settings(self) -> str | None:
        """The settings that have changed since the optimizer was set, as text."""
        if self._optimizer is None:
            return None
        now = _settings_of(self._optimizer)
        if now != self._said[0]:
            self._changed.update(name for name, value in now.items() if value != self._base.get(name, ...))
            self._said = copy.deepcopy(now), states.encoded_settings({name: now[name] for name in self._changed if name in now})
        return self._said[1]

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states, gathered from all servers, to a file that a single process can read, too.

        Parameters
        ----------
        fname : str or path
        dump_optimizer : bool
            Also write the optimizer's settings.
        """
        parts = self._client.optimizer_states(dump_optimizer)
        write_whole(fname, join_states(parts, self._client.specs()))

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer's states from a file; every worker calls it, and no code in the file is executed.

        Parameters
        ----------
        fname : str or path
            A file that ``save_optimizer_states`` of this store or of a ``KVStore`` wrote.

        Raises
        ------
        DataFileError
            If the file cannot be read.
        SparsekitError
            If the file does not contain optimizer states, or contains those of other keys.
        """
        states_by_key, optimizer, progress = states.unpack_all(read_states(fname))
        if optimizer is not None:
            optimizer.param_dict = self._optimizer.param_dict if self._optimizer is not None else {}
            self.set_optimizer(optimizer)
        if progress is not None and self._optimizer is not None:
            progress.give(self._optimizer)
        self._client.set_optimizer_states(
            split_states(states.pack(states_by_key, None, progress), self._client.specs(), self._client.shards)
            if self.rank == 0 else [])

    # compression

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Send two bits for each element of dense gradients, and keep the rest for the next gradient.

        An element is sent as ``threshold``, ``-threshold`` or zero.  The difference, the residual, is added to the next
        gradient.  The worker keeps the residual, and snapshots have it.

        Parameters
        ----------
        compression_params : dict
            ``{"type": "2bit", "threshold": 0.5}``; the threshold is 0.5 by default.

        Raises
        ------
        UnknownNameError
            If the type is not ``"2bit"``, or there is an unknown parameter.
        ParameterError
            If the threshold is not above 0.
        """
        params = dict(compression_params)
        kind = params.pop("type", None)
        UnknownNameError.check("gradient compression", kind, ("2bit",))
        threshold = float(params.pop("threshold", 0.5))
        if params:
            raise UnknownNameError.of("parameter of gradient compression", next(iter(params)), ("type", "threshold"))
        number("threshold", threshold, "above 0", lambda value: value > 0, "{'type': '2bit', 'threshold': 0.5}")
        self._compression = threshold

    def _quantized(self, key: Key, values: Array) -> Array:
        """The codes of a gradient; the residual of the key changes."""
        if values.dtype != np.float32:
            raise StorageTypeError(f"Gradients of key {key!r} are {values.dtype}, and only float32 can be compressed.",
                                   hint="do without set_gradient_compression(), or cast the parameters to float32.")
        residual = self._residuals.get(key)
        if residual is None:
            residual = self._residuals[key] = np.zeros(values.shape, np.float32)
        return quantize(values, residual, self._compression or 0.0)

    # what servers do not do

    def _set_updater(self, updater: object) -> None:
        """Refused: a function of this process cannot run on the servers.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError("_set_updater() is not supported: the servers cannot run a function of this worker.",
                               hint="write an Optimizer, register it with @mx.optimizer.register, and call set_optimizer().")

    def _send_command_to_servers(self, head: int, body: str) -> None:
        """Refused: the servers take no commands of MXNet.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(f"Command {head} cannot be sent to the servers, which take none of MXNet's commands.",
                               hint="set_optimizer() and set_gradient_compression() say what the servers do.")


def _ascending(rows: Array) -> Array:
    """Row numbers in their order, each once; a copy."""
    ids = rows.astype(np.int64)
    return ids if (ids[1:] > ids[:-1]).all() else np.unique(ids)


#: Attributes of an optimizer that the servers keep themselves, or that do not matter to them.
_THEIRS = {"num_update", "begin_num_update", "idx2name", "lr_scheduler", "_all_index_update_counts", *states._NOT_SAVED}


def _settings_of(optimizer: Optimizer) -> dict[str, Any]:
    """The settings of an optimizer that a program may change between steps."""
    settings = {name: value for name, value in vars(optimizer).items() if name not in _THEIRS and name not in optimizer._counted}
    for name in ("lr_mult", "wd_mult"):
        settings[name] = {**settings[name],
                          **{index: getattr(parameter, name) for index, parameter in optimizer.param_dict.items()}}
    return settings


def _components(array: NDArray) -> tuple[Array | None, Array]:
    """Rows and values of an array on the CPU; rows are None for a dense one."""
    store: Any = array._store
    return (store.indices, store.data) if isinstance(store, RowSparse) else (None, store)
