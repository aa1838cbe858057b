"""One server of a distributed run, as a state machine: no network, no clock, no threads.

Every method may be called again with the same arguments, since a worker that got no answer asks again.  What a call
changes is in the journal before it is answered.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import pause
from ..base import rng
from ..base.context import cpu
from ..base.errors import (
    FencedError,
    JournalFullError,
    LostDataError,
    LostWorkerError,
    MismatchError,
    SparsekitError,
    UpdateError,
)
from ..core.dispatch import wrap
from ..optimizer.states import (
    applied_settings,
    arrays_of,
    decoded_state,
    described,
    encoded_state,
    generator_from,
    random_of,
    restored,
    unpack,
)
from ..optimizer.updater import Updater
from ..storage import RowSparse
from .compression import unpack as unpack_bits
from .held import Held, Pending, owned, pending_of, store_of, total_of
from .journal import LIVES, Log, Manifest, Record, check_manifest, manifest_of, write_manifest
from .messages import Key, KeySpec, Push, Refused, Reply, Request, Waiting, Welcome, payload_bytes
from .partition import Partition

if TYPE_CHECKING:
    from ..base.types import JSON, Array
    from ..ndarray.ndarray import NDArray
    from ..optimizer.optimizer import Optimizer
    from .messages import Pull

__all__ = ["Shard"]

#: Bytes of a journal after which a snapshot is written, at least.
SNAPSHOT_BYTES = 64 << 20
#: Spans that are kept for the profile.
SPANS = 100_000


class Shard:
    """The state of one server.

    Parameters
    ----------
    folder : str or None
        Where its journal lies; None keeps none.
    index : int
        Its number among the ``shards`` servers.
    shards, workers : int
    mode : {"sync", "async"}
        Whether a step waits for the pushes of all workers, until a worker sets it.  A folder of a run keeps its own.
    staleness : int, optional
        In an asynchronous run, how many pushes a worker may be ahead of the slowest one; by default any number.
    fsync : bool
        Wait after each record until it is on the disk.
    started_before : bool
        Whether this server has held something, so that an empty folder is a loss.
    optimizers : dict of str to type, optional
        Optimizer classes by lower-case name, beside those that are registered.
    clock : callable, optional
        Gives the time for the spans of a profile, which are kept only with it.
    snapshot_bytes : int
        Bytes of the journal after which a snapshot is written, at least; twice the state's if that is more.

    Raises
    ------
    LostDataError
        If the folder does not have what it should.
    """

    def __init__(self, folder: str | None, index: int, shards: int, workers: int, mode: str = "sync",
                 staleness: int | None = None, fsync: bool = False, started_before: bool = False, *,
                 optimizers: Mapping[str, type[Optimizer]] | None = None, clock: Callable[[], float] | None = None,
                 snapshot_bytes: int = SNAPSHOT_BYTES) -> None:
        self.index, self.shards, self.workers, self.mode, self.staleness = index, shards, workers, mode, staleness
        self.optimizers, self.clock, self.snapshot_bytes = dict(optimizers or {}), clock, snapshot_bytes
        self.keys: dict[Key, Held] = {}
        self.updater: Updater | None = None
        self.random: np.random.Generator | None = None
        self.numbers = {"optimizer": 0, "states": 0}
        self.lives: dict[int, int] = {}
        self.left: set[int] = set()
        self.lost_ranks: set[int] = set()
        self.arrived: dict[int, int] = {}
        self.settings: dict[int, str] = {}
        self.applied_settings: str | None = None
        self.requests: dict[int, int] = {}
        self.changes = 0
        self.interrupted = False
        self.counts = {"applied": 0, "duplicates": 0, "bytes_in": 0, "bytes_out": 0, "replayed": 0, "snapshots": 0, "refused": 0}
        self.recovery_seconds = 0.0
        #: What the last pull of a key by a rank saw: the version, and the number of this rank's last push; for the profile.
        self.seen: dict[tuple[Key, int], tuple[int, int]] = {}
        self.spans: deque[tuple[object, ...]] = deque(maxlen=SPANS)  # object: words, numbers, or None
        self._limits: dict[Key, Any] | None = None  # Any: a version, or the last push of each rank
        self._recorded = 0
        self._log: Log | None = None
        self._folder: str | None = None
        self._snapshot_at = snapshot_bytes
        self.epoch = 1
        if folder is not None:
            self._open(os.fspath(folder), fsync)
        if started_before and self.epoch == 1:  # a folder that an incarnation has seen has a higher one
            raise LostDataError(f"Server {index} has been started again, but {'it kept no journal' if folder is None else folder}"
                                f"{'' if folder is None else ' has nothing of it'}.",
                                hint="give the run a folder that outlives its servers.")

    # the journal

    def _open(self, folder: str, fsync: bool) -> None:
        manifest = manifest_of(folder)
        if manifest is None:
            manifest = Manifest("servers-1", self.shards, self.workers, self.mode)
            write_manifest(folder, manifest)
        check_manifest(folder, manifest, self.shards, self.workers)
        self.mode, self._folder = manifest.mode, folder
        self._log = self._opened(os.path.join(folder, manifest.layout), fsync)
        self.epoch = self._log.epoch
        self._replay_all(self._log)

    def _opened(self, folder: str, fsync: bool) -> Log:
        return Log(folder, f"shard-{self.index}", fsync)

    def _replay_all(self, log: Log, within: Callable[[list[Any]], bool] | None = None) -> None:  # Any: JSON
        with pause():
            for record in log.recover(within):
                self._replay(record)
                self.counts["replayed"] += 1

    def _record(self, meta: JSON, arrays: list[Array] | None = None) -> None:
        """Write what is about to be changed to the journal.

        Raises
        ------
        JournalFullError
            If it cannot be written; nothing has been changed.
        """
        if self._log is not None:
            start = self.clock() if self.clock is not None else 0.0
            self._log.append(meta, arrays or [])
            if self.clock is not None:
                self.spans.append(("journal", None, None, None, start, self.clock(), payload_bytes(arrays), None))
        self.changes += 1
        self._recorded += 1

    def _fence(self) -> None:
        """See that no later incarnation has taken over; then what has been written is what it reads."""
        if self._log is not None:
            self._log.check()

    def _replay(self, record: Record) -> None:
        """Do again what a record says."""
        kind, *about = record.meta
        self._recorded += kind not in ("all", "key")
        getattr(self, f"_do_{kind}")(*about, record.arrays)

    def _perform(self, kind: str, *about: JSON, arrays: list[Array] | None = None) -> None:
        """Record a change and make it."""
        self._record([kind, *about], arrays)
        self._make(kind, *about, arrays=arrays)

    def _make(self, kind: str, *about: JSON, arrays: list[Array] | None = None) -> None:
        """Make a change; an interrupt in its midst leaves a server that must be made anew from its journal."""
        self.interrupted = True
        with pause():
            getattr(self, f"_do_{kind}")(*about, arrays or [])
        self.interrupted = False

    # who speaks

    def _check_caller(self, rank: int) -> None:
        """See that this server can answer, and that a worker is one of its own."""
        if self.interrupted:
            raise LostDataError(f"Server {self.index} was interrupted within a step.", hint="start it again from its journal.")
        if not 0 <= rank < self.workers:
            raise MismatchError(f"Rank {rank} is not one of the {self.workers} workers.", rank=rank,
                                hint="all workers and servers are started with the same numbers.")

    def _admit(self, rank: int, life: int) -> None:
        """Let a worker speak.

        Raises
        ------
        FencedError
            If another incarnation of this rank has spoken.
        """
        self._check_caller(rank)
        known = self.lives.get(rank)
        if known is not None and life < known:
            raise FencedError(f"Incarnation {life} of worker {rank} has been replaced by incarnation {known}.", rank=rank,
                              hint="no action is needed: the later one continues.")
        if known != life or rank in self.lost_ranks:
            self._perform("hello", rank, life)

    def _do_hello(self, rank: int, life: int, arrays: list[Array]) -> None:
        if self.lives.get(rank) != life:
            self.settings.pop(rank, None)  # another incarnation says its own
        if life // LIVES > max(self.lives.values(), default=life) // LIVES:  # a later run on the same folder has all workers
            self.left.clear()
            self.lost_ranks.clear()
        self.lives[rank] = life
        self.lost_ranks.discard(rank)

    def hello(self, rank: int, life: int) -> Welcome:
        """Greet a worker that begins or comes back."""
        self._admit(rank, life)
        self._fence()
        return Welcome(self.epoch, self._last_of(rank), {key: held.spec for key, held in self.keys.items()}, self._passed(),
                       self.mode, self.staleness, self.workers, self.shards, self.numbers["optimizer"], self.numbers["states"],
                       tuple(sorted(self.left)))

    def join(self, rank: int, first: bool) -> int:
        """Take in a process that no run has started, as a worker that takes part again if it had left; gives its life.

        ``first`` says that no other worker has joined: it begins a run, which waits for all workers.
        """
        self._check_caller(rank)
        run = max(self.lives.values(), default=0) // LIVES + first
        life = max(run * LIVES, self.lives.get(rank, 0)) + 1
        self._perform("join", rank, life)
        self._fence()
        return life

    def _do_join(self, rank: int, life: int, arrays: list[Array]) -> None:
        self._do_hello(rank, life, arrays)
        self.left.discard(rank)

    def _last_of(self, rank: int) -> dict[Key, int]:
        return {key: held.last.get(rank, 0) for key, held in self.keys.items()}

    @property
    def present(self) -> list[int]:
        """Ranks that have not left."""
        return [rank for rank in range(self.workers) if rank not in self.left]

    # keys

    def init(self, rank: int, life: int, key: Key, spec: KeySpec, rows: Array | None, values: Array) -> None:
        """Take this server's rows of a new key; of a key that is there already nothing changes.

        Parameters
        ----------
        rank, life : int
        key : str or int
        spec : KeySpec
        rows : array or None
            Local rows of ``values``, the others being zero; None for all rows.
        values : array

        Raises
        ------
        MismatchError
            If the key is there with another shape or type, or the values do not fit.
        """
        self._admit(rank, life)
        held = self.keys.get(key)
        if held is not None:
            self._compare(rank, key, held.spec, spec)
        else:
            self._check_values(rank, key, 0, self._local(key, spec), spec.dtype, rows, values)
            self._perform("init", key, [list(spec.shape), *spec[1:]], rows is not None,
                          arrays=[values] if rows is None else [rows, values])
        self._fence()

    def _local(self, key: Key, spec: KeySpec) -> tuple[int, ...]:
        return Partition(key, spec, self.shards).local_shape(self.index)

    def _compare(self, rank: int, key: Key, held: KeySpec, spec: KeySpec) -> None:
        """See that a key is what a worker takes it for, wherever its rows lie."""
        for name in ("shape", "dtype", "stype"):
            there, here = getattr(held, name), getattr(spec, name)
            if there != here:
                raise MismatchError(f"Rank {rank} has {name} {here} for key {key!r}, the servers have {there}.", rank=rank,
                                    key=key, step=0, hint="all workers must initialize a key with equal shapes and types.")

    def _do_init(self, key: Key, spec: list[Any], some: bool, arrays: list[Array]) -> None:  # Any: JSON
        if self._limits is not None and key not in self._limits:
            return
        known = KeySpec(tuple(spec[0]), *spec[1:])
        shape, values = self._local(key, known), np.array(arrays[-1], order="C")  # the caller may keep its own
        rows = owned(arrays[0], np.int64) if some else None
        if known.stype == "row_sparse" and rows is None:
            rows = np.arange(shape[0])
        elif known.stype == "default" and rows is not None:
            dense = np.zeros(shape, values.dtype)
            dense[rows] = values
            values = dense
        self.keys[key] = Held(key, known, shape, rows, values)

    def reinit(self, rank: int, life: int, key: Key, spec: KeySpec, rows: Array | None, values: Array | None) -> None:
        """Move a key to another placement; what was pushed and what the optimizer keeps of it stays counted, not kept.

        Parameters
        ----------
        rank, life, key : as in ``init``
        spec : KeySpec
            With the new placement.
        rows, values : array or None
            As in ``init``; None for a server that holds no rows of it any more.

        Raises
        ------
        MismatchError
            If a push of the key is not complete, or the values do not fit.
        """
        self._admit(rank, life)
        held = self.keys.get(key)
        if held is not None:
            self._compare(rank, key, held.spec, spec)
            if any(held.pending.values()):
                raise MismatchError(f"Key {key!r} cannot move while pushes of it wait for other workers.", rank=rank, key=key,
                                    step=held.version + 1, hint="set the optimizer before the first push.")
        if held is None or held.spec != spec:
            if values is not None:
                self._check_values(rank, key, 0, self._local(key, spec), spec.dtype, rows, values)
            arrays = [one for one in (rows, values) if one is not None]
            self._perform("reinit", key, [list(spec.shape), *spec[1:]], rows is not None, values is not None, arrays=arrays)
        self._fence()

    def _do_reinit(self, key: Key, spec: list[Any], some: bool, stays: bool, arrays: list[Array]) -> None:  # Any: JSON
        before = self.keys.pop(key, None)
        if self.updater is not None:
            self.updater.states.pop(key, None)
            self.updater.states_synced.pop(key, None)
        if stays:
            self._do_init(key, spec, some, arrays)
            if before is not None and key in self.keys:
                self.keys[key].version, self.keys[key].last = before.version, before.last

    def _check_values(self, rank: int, key: Key, step: int, shape: tuple[int, ...], dtype: str, rows: Array | None,
                      values: Array) -> None:
        """See that rows and values fit what is here."""
        wanted = shape if rows is None else (rows.shape[0], *shape[1:])
        if values.shape != wanted or values.dtype != dtype:
            raise MismatchError(f"Rank {rank} sent {values.dtype} values of shape {values.shape} for key {key!r} at step {step}; "
                                f"server {self.index} takes {dtype} values of shape {wanted}.", rank=rank, key=key, step=step,
                                hint="all workers must push arrays of the shape and type that the key was initialized with.")
        if rows is not None and rows.size and not (rows.ndim == 1 and rows.dtype.kind == "i" and rows[0] >= 0
                                                   and rows[-1] < shape[0] and bool((rows[:-1] < rows[1:]).all())):
            raise MismatchError(f"Rank {rank} sent rows for key {key!r} at step {step} that are not ascending numbers below "
                                f"{shape[0]}.", rank=rank, key=key, step=step, hint="sort them, and send each once.")

    def set_mode(self, rank: int, life: int, mode: str) -> None:
        """Wait for the pushes of all workers (``"sync"``) or of none (``"async"``), as the workers' program says.

        Raises
        ------
        MismatchError
            If workers have pushed under the other mode.
        """
        self._admit(rank, life)
        if mode != self.mode:
            pushed = next((key for key, held in self.keys.items() if held.last), None)
            if pushed is not None:
                raise MismatchError(f"Rank {rank} requests the mode {mode!r}, but workers have pushed key {pushed!r} under "
                                    f"{self.mode!r}.", rank=rank, key=pushed, step=self.keys[pushed].version,
                                    hint="all workers must create the same kind of store.")
            if self._folder is not None and (manifest := manifest_of(self._folder)) is not None:
                write_manifest(self._folder, manifest._replace(mode=mode))
            self._perform("mode", mode)
        self._fence()

    def _do_mode(self, mode: str, arrays: list[Array]) -> None:
        self.mode = mode

    # the optimizer

    def optimizer(self, rank: int, life: int, number: int, text: str) -> None:
        """Set the optimizer.

        Parameters
        ----------
        rank, life : int
        number : int
            Number of this command among those that set the optimizer, from 1.  A number that has been there changes nothing.
        text : str
            From ``optimizer.states.described``.

        Raises
        ------
        SparsekitError
            If the optimizer cannot be made.
        """
        self._admit(rank, life)
        if number > self.numbers["optimizer"]:
            restored(text, self.optimizers)
            self._perform("optimizer", number, text)
        self._fence()

    def _do_optimizer(self, number: int, text: str, arrays: list[Array]) -> None:
        self.numbers["optimizer"] = number
        self.updater = Updater(restored(text, self.optimizers))
        self.random, self.applied_settings = random_of(text), None

    def optimizer_states(self, dump_optimizer: bool = False) -> bytes:
        """The optimizer's states for the rows of this server, in the format of ``Updater.get_states``."""
        if self.updater is None:
            raise SparsekitError("The store has no optimizer, so it has no optimizer states.", hint="call set_optimizer() first.")
        with pause():
            return self.updater.get_states(dump_optimizer)

    def set_optimizer_states(self, rank: int, life: int, number: int, states: bytes) -> None:
        """Replace the optimizer's states by what ``optimizer_states`` gave, or ``resume.split_states`` made of a whole one.

        ``number`` counts these commands, as in ``optimizer``.
        """
        self._admit(rank, life)
        if self.updater is None:
            raise SparsekitError("The store has no optimizer, so it has no optimizer states.", hint="call set_optimizer() first.")
        if number > self.numbers["states"]:
            unpack(states)
            self._perform("states", number, arrays=[np.frombuffer(states, np.uint8)])
        self._fence()

    def _do_states(self, number: int, arrays: list[Array]) -> None:
        self.numbers["states"] = number
        assert self.updater is not None
        self.updater.set_states(arrays[0].tobytes())

    # pushes and pulls

    def exchange(self, request: Request) -> Reply | Waiting | Refused:
        """Apply pushes, each once, and answer pulls, or say whom they wait for.

        Raises
        ------
        FencedError
            If this server, or the worker, has been replaced.
        JournalFullError
            If the pushes cannot be recorded; then none is applied.
        LostWorkerError
            If a pull waits for a worker that does not come back.
        MismatchError
            If a push does not fit the key; then none is applied.
        UpdateError
            If the optimizer failed.
        """
        self._admit(request.rank, request.life)
        fresh = self._fresh(request)
        if fresh is None:
            self.counts["refused"] += 1
            self._fence()
            return Refused(self.epoch, self._last_of(request.rank))
        if fresh:
            self._take(request, fresh)
        self._fence()
        reply = self._answer(request)
        self.counts["bytes_in"] += payload_bytes((request.pushes, request.pulls))
        self.counts["bytes_out"] += payload_bytes(reply)
        return reply

    def _fresh(self, request: Request) -> list[Push] | None:
        """The pushes that have not been applied; None if one before them is missing."""
        found: list[Push] = []
        expected: dict[Key, int] = {}
        for push in request.pushes:
            held = self._held(request.rank, push.key, push.sequence)
            last = expected.get(push.key, held.last.get(request.rank, 0))
            if push.sequence <= last:
                self.counts["duplicates"] += 1
                continue
            if push.sequence > last + 1:
                return None
            push = self._unpacked(request.rank, held, push)
            self._check_push(request.rank, held, push)
            expected[push.key] = push.sequence
            found.append(push)
        return found

    def _unpacked(self, rank: int, held: Held, push: Push) -> Push:
        """A push whose values are those that two bits stand for, if they are so few."""
        if push.threshold is None:
            return push
        try:
            values = unpack_bits(push.values, held.shape, push.threshold, np.dtype(held.spec.dtype))
        except ValueError as error:
            raise MismatchError(f"Rank {rank} sent a compressed gradient for key {held.key!r} at step {push.sequence} that does "
                                f"not fit: {error}.", rank=rank, key=held.key, step=push.sequence,
                                hint="push an array of the shape of the value.") from None
        return push._replace(values=values, threshold=None)

    def _held(self, rank: int, key: Key, step: int) -> Held:
        held = self.keys.get(key)
        if held is None:
            raise MismatchError(f"Rank {rank} uses key {key!r}, which has not been initialized on server {self.index}.",
                                rank=rank, key=key, step=step, hint="call init(key, value) first.")
        if held.failed is not None:
            raise UpdateError(f"The step {held.version + 1} of key {key!r} failed on server {self.index}: {held.failed}",
                              rank=rank, key=key, step=held.version + 1, hint="fix the cause, and start again.")
        return held

    def _check_push(self, rank: int, held: Held, push: Push) -> None:
        if rank in self.left:
            raise MismatchError(f"Rank {rank} has left, and pushes key {held.key!r} at step {push.sequence}.", rank=rank,
                                key=held.key, step=push.sequence, hint="leave() after the last push.")
        if self.mode == "async" and self.updater is None:
            raise MismatchError(f"Rank {rank} pushes key {held.key!r} to an asynchronous store that has no optimizer.", rank=rank,
                                key=held.key, step=push.sequence, hint="call set_optimizer() first.")
        self._check_values(rank, held.key, push.sequence, held.shape, held.spec.dtype, push.rows, push.values)

    def _take(self, request: Request, fresh: list[Push]) -> None:
        """Record pushes, and apply them or let them wait."""
        about: list[JSON] = [[push.key, push.sequence, push.rows is not None, push.clock] for push in fresh]
        arrays = [array for push in fresh for array in (push.rows, push.values) if array is not None]
        self._perform("push", request.rank, request.settings, about, arrays=arrays)
        if self._log is not None and self._log.size > self._snapshot_at:
            self._snapshot_if_large()

    def _do_push(self, rank: int, settings: str | None, about: list[Any], arrays: list[Array]) -> None:  # Any: JSON
        if settings is None:
            settings = self.settings.get(rank)
        else:
            self.settings[rank] = settings
        self.requests[rank] = ordinal = self.requests.get(rank, 0) + 1
        left = iter(arrays)
        for key, sequence, some, clock in about:
            push = Push(key, sequence, next(left) if some else None, next(left), clock)
            if self._limits is not None and sequence > self._limit(key, rank):
                continue
            held = self.keys[key]
            held.last[rank], held.ordinals[rank] = sequence, ordinal
            pending = pending_of(push, settings)
            if self.mode == "async":
                self._apply_now(held, rank, pending)
            else:
                held.pending.setdefault(rank, []).append(pending)
                self._close(held)

    def _apply_now(self, held: Held, rank: int, pending: Pending) -> None:
        """A step of an asynchronous run; the lowest present rank says what the settings are."""
        if held.failed is None:
            if rank != min(self.present, default=rank):
                pending = pending._replace(settings=None)
            version, sequence = self.seen.get((held.key, rank), (held.version, held.last[rank] - 1))
            stale = held.version - version - (held.last[rank] - 1 - sequence)
            self._step(held, [pending], pending, rank, max(stale, 0))

    def _close(self, held: Held) -> None:
        """Make the steps of a key for which every present rank has pushed."""
        while held.failed is None:
            ready = [rank for rank, pushes in sorted(held.pending.items()) if pushes]
            if not ready or not set(self.present) <= set(ready):
                return
            parts = [held.pending[rank].pop(0) for rank in ready]
            self._step(held, parts, parts[0])  # of the lowest rank, whose settings count

    def _step(self, held: Held, parts: list[Pending], leader: Pending, rank: int | None = None, stale: int = 0) -> None:
        """A step of a key with the sum of some pushes; of one worker alone, with so many steps of others that it had not seen."""
        start = self.clock() if self.clock is not None else 0.0
        try:
            total = total_of(parts, held.shape)
            if self.updater is None:
                held.replace(total)
            else:
                self._update(self.updater, held, total, leader)
        except Exception as error:  # of a user's optimizer it may be anything
            held.failed = f"{type(error).__name__}: {error}"
            return
        held.version += 1
        self.counts["applied"] += 1
        if self.clock is not None:
            size = payload_bytes([(part.rows, part.values) for part in parts])
            self.spans.append(("apply", held.key, rank, held.version, start, self.clock(), size, stale))

    def _update(self, updater: Updater, held: Held, total: NDArray, leader: Pending) -> None:
        """A step of the optimizer."""
        optimizer = updater.optimizer
        if leader.settings is not None and leader.settings != self.applied_settings:
            applied_settings(optimizer, leader.settings)
            self.applied_settings = leader.settings
        if leader.clock is not None:
            optimizer.num_update = optimizer.begin_num_update + leader.clock
        held.grow()
        weight = held.value
        updater._prepare(held.key, weight)
        if self.mode == "sync":
            rows = total._store.indices if isinstance(total._store, RowSparse) else None
            alone = rows is not None and optimizer._changes_stored_rows_alone(weight, updater.states[held.key])
            held.remember(rows if alone else None)
        with rng.using(self.random):
            updater(held.key, total, weight)

    def _answer(self, request: Request) -> Reply | Waiting:
        """What the pulls ask for, or whom they wait for."""
        keys = {push.key for push in request.pushes} | {pull.key for pull in request.pulls}
        last = self._last_of(request.rank) if request.epoch_known != self.epoch else {
            key: self.keys[key].last.get(request.rank, 0) for key in keys if key in self.keys}
        pulled = [(self._held(request.rank, pull.key, pull.version), pull) for pull in request.pulls]
        for push in request.pushes:
            self._held(request.rank, push.key, push.sequence)
        reasons = [reason for held, pull in pulled if (reason := self._awaited(request.rank, held, pull)) is not None]
        if reasons:
            self._see_whether_lost(reasons)
            return Waiting(self.epoch, last, tuple(reasons))
        return Reply(self.epoch, last, tuple(self._pulled(request.rank, held, pull) for held, pull in pulled))

    def _pulled(self, rank: int, held: Held, pull: Pull) -> Array:
        rows = pull.rows
        if rows is not None and not (rows.ndim == 1 and rows.dtype.kind == "i" and (
                not rows.size or 0 <= rows.min() <= rows.max() < held.rows)):
            raise MismatchError(f"Rank {rank} pulls rows of key {held.key!r} that server {self.index} does not hold.", rank=rank,
                                key=held.key, step=pull.version, hint="rows must be below the number of rows of the value.")
        self.seen[held.key, rank] = held.version, held.last.get(rank, 0)
        return held.pulled(pull.version if self.mode == "sync" else held.version, rows)

    def _awaited(self, rank: int, held: Held, pull: Pull) -> tuple[Key, int, tuple[int, ...]] | None:
        """What a pull waits for."""
        if self.mode == "sync":
            if held.version >= pull.version:
                return None
            step = held.version + 1
            return held.key, step, tuple(one for one in self.present if held.last.get(one, 0) < step)
        if self.staleness is None:
            return None
        step = pull.version - self.staleness
        slow = tuple(one for one in self.present if one != rank and held.last.get(one, 0) < step)
        return (held.key, step, slow) if slow else None

    def _see_whether_lost(self, reasons: list[tuple[Key, int, tuple[int, ...]]]) -> None:
        for key, step, ranks in reasons:
            for rank in ranks:
                if rank in self.lost_ranks:
                    raise LostWorkerError(f"Worker {rank} has ended without step {step} of key {key!r}, for which other "
                                          "workers wait.",
                                          rank=rank, key=key, step=step,
                                          hint="start it again, or let workers that end early call leave().")

    # barriers, and workers that go

    def barrier(self, rank: int, life: int, number: int) -> Reply | Waiting:
        """Wait until every worker that has not left has come to barrier ``number``, which counts from 1."""
        self._admit(rank, life)
        if number > self.arrived.get(rank, 0):
            self._perform("barrier", rank, number)
        self._fence()
        if self._passed() >= number:
            return Reply(self.epoch, {})
        slow = tuple(one for one in self.present if self.arrived.get(one, 0) < number)
        for one in slow:
            if one in self.lost_ranks:
                raise LostWorkerError(f"Worker {one} has ended before barrier {number}, where other workers wait.", rank=one,
                                      step=number, hint="start it again, or let workers that end early call leave().")
        return Waiting(self.epoch, {}, ((None, number, slow),))

    def _do_barrier(self, rank: int, number: int, arrays: list[Array]) -> None:
        self.arrived[rank] = number

    def _passed(self) -> int:
        """The last barrier that all present workers have come to."""
        return min((self.arrived.get(rank, 0) for rank in self.present), default=max(self.arrived.values(), default=0))

    def leave(self, rank: int, life: int) -> None:
        """Let a worker go: no step and no barrier waits for it any more."""
        self._admit(rank, life)
        if rank not in self.left:
            self._perform("leave", rank)
        self._fence()

    def _do_leave(self, rank: int, arrays: list[Array]) -> None:
        self.left.add(rank)
        for held in self.keys.values():
            self._close(held)

    def lost(self, rank: int) -> None:
        """Note that a worker has ended and does not come back; those who wait for it get an error."""
        if rank not in self.lost_ranks:
            self._perform("lost", rank)
        self._fence()

    def _do_lost(self, rank: int, arrays: list[Array]) -> None:
        self.lost_ranks.add(rank)

    def dead(self) -> tuple[int, ...]:
        """Ranks that are lost."""
        return tuple(sorted(self.lost_ranks - self.left))

    # snapshots

    def snapshot(self) -> bool:
        """Write all that the server holds to a file, and begin a new journal; False if nothing has changed since the last one.

        Raises
        ------
        JournalFullError
            If it cannot be written; the journal goes on as before.
        """
        self._fence()
        if self._log is None or not self._recorded:
            return False
        with pause():
            self._log.snapshot(self._records(), self._marks(), self._kept())
        self._recorded, self._snapshot_at = 0, max(self.snapshot_bytes, 2 * self._nbytes())
        self.counts["snapshots"] += 1
        return True

    def _snapshot_if_large(self) -> None:
        """Write a snapshot if the journal has become larger than what it restores; later, if the disk is full."""
        assert self._log is not None
        self._snapshot_at = max(self.snapshot_bytes, 2 * self._nbytes())
        if self._log.size > self._snapshot_at:
            try:
                self.snapshot()
            except JournalFullError:
                self._snapshot_at = self._log.size * 5 // 4

    def _nbytes(self) -> int:
        """Bytes of values and states."""
        states = () if self.updater is None else self.updater.states.values()
        return sum(held.nbytes for held in self.keys.values()) + sum(
            array.nbytes for state in states for array in arrays_of(state))

    def _records(self) -> Iterator[tuple[JSON, list[Array]]]:
        """What the server holds, as records."""
        optimizer = None if self.updater is None else self.updater.optimizer
        yield ["all", {
            "numbers": {**self.numbers}, "lives": _pairs(self.lives), "left": [*sorted(self.left)],
            "lost": [*sorted(self.lost_ranks)],
            "arrived": _pairs(self.arrived), "settings": _pairs(self.settings), "applied_settings": self.applied_settings,
            "optimizer": None if optimizer is None else described(optimizer),
            # mypy: numpy gives a mapping of words and numbers
            "random": None if self.random is None else self.random.bit_generator.state,  # type: ignore[dict-item]
        }], []
        for held in self.keys.values():
            state, arrays = self._encoded_state(held.key)
            about, own = held.described(state)
            yield ["key", about], [*own, *arrays]

    def _encoded_state(self, key: Key) -> tuple[JSON, list[Array]]:
        """What the optimizer keeps of a key: its state, and sums of gradients that wait for more."""
        if self.updater is None:
            return None, []
        sums: dict[Key, NDArray] = getattr(self.updater.optimizer, "_sums", {}).get(0, {})
        arrays: list[NDArray] = []
        about: JSON = [key in self.updater.states, encoded_state(self.updater.states.get(key), arrays),
                       encoded_state(sums.get(key), arrays)]
        described_arrays: list[JSON] = []
        found: list[Array] = []
        for array in arrays:
            store = array._store
            sparse = isinstance(store, RowSparse)
            described_arrays.append([sparse, list(store.shape)])
            found += [store.indices, store.data] if sparse else [store]
        return [about, described_arrays], found

    def _decode_state(self, key: Key, state: list[Any] | None, arrays: list[Array]) -> None:  # Any: JSON
        if state is None or self.updater is None:
            return
        (there, encoded, encoded_sum), described_arrays = state
        left = iter(arrays)
        found = {str(place): wrap(store_of(next(left) if sparse else None, next(left), tuple(shape)), cpu())
                 for place, (sparse, shape) in enumerate(described_arrays)}
        if there:
            self.updater.states[key], self.updater.states_synced[key] = decoded_state(encoded, found), True
        if encoded_sum is not None:
            vars(self.updater.optimizer)["_sums"].setdefault(0, {})[key] = decoded_state(encoded_sum, found)

    def _do_all(self, about: dict[str, Any], arrays: list[Array]) -> None:  # Any: JSON
        self.keys, self.numbers = {}, about["numbers"]
        self.lives, self.arrived, self.settings = dict(about["lives"]), dict(about["arrived"]), dict(about["settings"])
        self.left, self.lost_ranks, self.applied_settings = set(about["left"]), set(about["lost"]), about["applied_settings"]
        if about["optimizer"] is not None:
            self.updater = Updater(restored(about["optimizer"], self.optimizers))
            self.random = None if about["random"] is None else generator_from(about["random"])

    def _do_key(self, about: dict[str, Any], arrays: list[Array]) -> None:  # Any: JSON
        held, left = Held.restored(about, arrays)
        if self._limits is not None:
            if held.key not in self._limits:
                return
            for rank, pushes in held.pending.items():
                pushes[:] = [one for one in pushes if one.sequence <= self._limit(held.key, rank)]
        self.keys[held.key] = held
        self._decode_state(held.key, about["state"], left)

    # how far keys are, for servers that must agree on it

    def _marks(self) -> list[JSON]:
        """How far each key is: its version, or in an asynchronous run the last push of each rank."""
        return [[key, self._mark(held)] for key, held in self.keys.items()]

    def _mark(self, held: Held) -> JSON:
        return held.version if self.mode == "sync" else [list(pair) for pair in sorted(held.last.items())]

    def _limit(self, key: Key, rank: int) -> int:
        """The last push of a rank that a limited replay applies."""
        limit = (self._limits or {}).get(key, 0)
        return int(limit.get(rank, 0) if isinstance(limit, dict) else limit)

    def _within(self, marks: list[Any]) -> bool:  # Any: JSON
        """Whether a snapshot with these marks holds no push beyond the limits."""
        for key, mark in marks:
            limits = self._limits or {}
            if key in limits:
                if isinstance(mark, list):
                    if any(last > self._limit(key, rank) for rank, last in mark):
                        return False
                elif mark > limits[key]:
                    return False
        return True

    def _kept(self) -> int:
        """The first generation to keep: one that is older than any push that another server may not have yet.

        A worker sends its next pushes when all servers have the last ones.  So only the last push of a key may be missing on
        another server, and only while its worker has not sent anything after it.
        """
        assert self._log is not None
        generations = self._log.generations
        for place in range(len(generations) - 1, 0, -1):
            if self._old_enough(dict(generations[place].marks)):
                return place
        return 0

    def _old_enough(self, marks: dict[Key, Any]) -> bool:  # Any: JSON
        for key, held in self.keys.items():
            unsettled = [rank for rank, last in held.last.items()
                         if last and rank not in self.left and self.requests.get(rank, 0) <= held.ordinals.get(rank, 0)]
            if not unsettled:
                continue
            then = marks.get(key, 0 if self.mode == "sync" else [])
            if isinstance(then, list):
                before = dict(then)
                if any(before.get(rank, 0) >= held.last[rank] for rank in unsettled):
                    return False
            elif held.version and then >= held.version:
                return False
        return True

    # what is seen

    def statistics(self) -> dict[str, Any]:  # Any: JSON
        """Counts and sizes, as JSON has them; and the spans of the profile since the last call."""
        spans = [list(span) for span in self.spans]
        self.spans.clear()
        return {**self.counts, "index": self.index, "epoch": self.epoch, "recovery_seconds": self.recovery_seconds,
                "journal_bytes": 0 if self._log is None else self._log.size, "state_bytes": self._nbytes(),
                "versions": [[key, held.version] for key, held in self.keys.items()],
                "rows": [[key, held.rows] for key, held in self.keys.items()],
                "pending": [[key, _pairs({rank: len(pushes) for rank, pushes in held.pending.items() if pushes})]
                            for key, held in self.keys.items()],
                "left": sorted(self.left), "lost": sorted(self.lost_ranks), "spans": spans}

    def close(self) -> None:
        """Close the journal."""
        if self._log is not None:
            self._log.close()


def _pairs(found: Mapping[int, Any]) -> list[Any]:  # Any: JSON
    return [[key, value] for key, value in sorted(found.items())]
