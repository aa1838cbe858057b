"""One server of a run: it applies pushes step by step, and takes a snapshot at the end of a step while later steps go on.

A server is a loop of ``asyncio``, whatever carries the messages.  Every method may be called again with the same arguments, as
messages may be repeated: each has a number, and what has been taken under a number is not taken again.  Each life of a run has
a number as well, the epoch; calls of another epoch do nothing.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import pause
from ..base import rng
from ..base.errors import LostWorkerError, MismatchError, SparsekitError, UpdateError, WaitTimeoutError
from ..kernels.cpu.checksum import crc32
from ..optimizer.states import applied_settings, arrays_of, random_of, restored
from ..optimizer.updater import Updater
from ..storage import RowSparse
from .compression import unpack as unpack_bits
from .files import PartFile, bytes_of, see_folder
from .held import Held, owned, rows_of, total_of
from .messages import Answer, Exchange, KeySpec, Setup, Waited, payload_bytes
from .partition import Partition
from .seen import Call, ServerLog
from .snapshot import Capture, load, taken

if TYPE_CHECKING:
    from ..base.types import Array
    from ..ndarray.ndarray import NDArray
    from ..optimizer.optimizer import Optimizer
    from .messages import Key, Payload, Pull, Push

    #: Calls a function that waits for a disk.
    Write = Callable[..., Awaitable[Any]]  # Any: what the function gives

#: Methods that a worker may call.
METHODS = frozenset({"exchange", "hello", "lost", "meet", "optimizer_states", "process", "profile", "resume",
                     "shown_clock", "why"})

#: Snapshots whose pushes are remembered by their checksums.
WINDOWS = 3


class _ReplacedError(Exception):
    """Another epoch has begun while a call waited."""


class Server:
    """A server.

    Parameters
    ----------
    index : int
    clock : callable
        Gives seconds.
    write : callable, optional
        ``await write(function, *arguments)`` calls a function that waits for a disk; in a thread by default.

    Attributes
    ----------
    epoch : int
        Of the run; 0 while there is none.
    node : str
        What Ray calls its machine.
    setup : Setup
    keys : dict
        What is held of each key.
    worker_states : dict
        What each worker said of itself at the last step for a snapshot.
    """

    def __init__(self, index: int, clock: Callable[[], float] = time.perf_counter, write: Write | None = None) -> None:
        self.index, self.clock, self.epoch, self.node = index, clock, 0, ""
        self._write = write or asyncio.to_thread
        self.log = ServerLog(clock)
        self.counts = {"applied": 0, "duplicates": 0, "snapshots": 0, "aside_bytes": 0}
        self._sums: deque[dict[Any, int]] = deque([{}], maxlen=WINDOWS)  # Any: key, rank and number of a push
        self._differs = ""
        self.capture: Capture | None = None
        self._change: asyncio.Future[None] | None = None
        self._restoring = asyncio.Lock()
        self._begin(Setup())

    def _begin(self, setup: Setup) -> None:
        """Hold nothing."""
        self.setup = setup
        self.keys: dict[Key, Held] = {}
        self.updater: Updater | None = None
        self.random: np.random.Generator | None = None
        self.policy, self.mode = "rows", "sync"
        self.applied: str | None = None
        self.numbers = {"optimizer": 0, "states": 0}
        self.settings: dict[int, str] = {}
        self.worker_states: dict[int, tuple[int, str, list[Array]]] = {}
        self.left: list[int] = []
        self.lost_ranks: set[int] = set()
        self.stepping: set[int] = set()
        self.by_hand: set[int] = set()
        self.done = dict.fromkeys(range(setup.workers), 0)
        self._taken: dict[int, int] = {}
        #: What workers have brought to places of their programs, and what comes of it.
        self._meetings: dict[tuple[str, int], tuple[dict[int, Payload], asyncio.Future[Payload]]] = {}
        self._marks: set[int] = set()
        self.snapped = 0
        self._waits: dict[int, Waited] = {}
        self.reports: dict[int, Any] = {}  # Any: JSON
        self.failures: dict[int, str] = {}

    # epochs

    async def restore(self, epoch: int, setup: Setup, manifest: dict[str, Any] | None) -> None:  # Any: JSON
        """Begin an epoch with what a snapshot has, or with nothing.

        Raises
        ------
        LostDataError
            If this machine does not see the folder of the run, or the snapshot is damaged.
        """
        async with self._restoring:
            if self.epoch == epoch:  # the call has come again
                return
            self.epoch = 0
            self._changed()
            while self.capture is not None:
                await asyncio.sleep(0.01)
            self._begin(setup)
            see_folder(setup, f"Server {self.index}")
            if manifest is not None:
                await self._write(load, self, manifest)
            self.epoch = epoch

    def ping(self, have: int = 0) -> dict[str, Any]:  # Any: plain data
        """That this server is alive, and what it has written since a snapshot."""
        return {"epoch": self.epoch, "failures": dict(self.failures), "by_hand": sorted(self.by_hand),
                "differs": self._differs, "reports": {step: told for step, told in dict(self.reports).items() if step > have}}

    async def call(self, epoch: int, method: str, arguments: tuple[Any, ...]) -> tuple[bool, Any] | None:  # Any: as methods say
        """Whether a method succeeded, and its value or its error; None if the run is in another epoch."""
        if epoch != self.epoch or method not in METHODS:
            return None
        call = Call(self.log, method, arguments)
        try:
            outcome = getattr(self, method)(call, *arguments)
            value = await outcome if asyncio.iscoroutine(outcome) else outcome
        except _ReplacedError:
            return None
        except Exception as error:
            return False, error
        return True, call.end(self, value)

    # waiting

    @property
    def present(self) -> list[int]:
        """Ranks that have not left."""
        return [rank for rank in range(self.setup.workers) if rank not in self.left]

    def _floor(self) -> int:
        """The step that all present workers have ended."""
        return min((self.done[rank] for rank in self.present), default=1 << 60)

    async def _until(self, call: Call, rank: int, waited_for: Callable[[], Waited]) -> None:
        """Wait until no rank is waited for.

        Raises
        ------
        LostWorkerError
            If a worker that does not come back is waited for.
        WaitTimeoutError
            If it takes twice as long as workers wait.
        """
        reason = waited_for()
        if not reason.ranks:
            return
        call.wait()
        epoch, loop = self.epoch, asyncio.get_running_loop()
        end = loop.time() + 2 * self.setup.timeout
        while reason.ranks:
            self._waits[rank] = reason
            if lost := self.lost_ranks.intersection(reason.ranks):
                raise LostWorkerError(f"Worker {min(lost)} has ended without {_what(reason)}, for which other workers wait.",
                                      rank=min(lost), key=reason.key, step=reason.step,
                                      hint="workers that end early call leave() after their last batch.")
            self._change = self._change or loop.create_future()
            await asyncio.wait((self._change,), timeout=end - loop.time())
            if self.epoch != epoch:
                raise _ReplacedError
            call.waited(reason)
            if loop.time() >= end:
                raise WaitTimeoutError(f"Server {self.index} has waited for {_what(reason)} of ranks {reason.ranks}.", rank=rank,
                                       key=reason.key, step=reason.step, hint="see why these workers do not go on.")
            reason = waited_for()
        self._waits.pop(rank, None)

    def _changed(self) -> None:
        if self._change is not None:
            self._change.set_result(None)
            self._change = None

    def why(self, call: Call, rank: int) -> Waited | None:
        """For whom a worker waits here."""
        return self._waits.get(rank)

    def lost(self, call: Call, rank: int) -> None:
        """Note that a worker has ended and does not come back; those who wait for it get an error."""
        self.lost_ranks.add(rank)
        self._changed()

    # what all workers do together

    def hello(self, call: Call, rank: int, mode: str) -> str:
        """Greet a worker that makes a store; gives the policy by which the rows of keys lie on servers.

        Raises
        ------
        MismatchError
            If workers have pushed under the other mode.
        """
        if not 0 <= rank < self.setup.workers:
            raise MismatchError(f"Rank {rank} is not one of the {self.setup.workers} workers.", rank=rank,
                                hint="all workers and servers are started with the same numbers.")
        if mode != self.mode:
            pushed = next((key for key, held in self.keys.items() if held.last), None)
            if pushed is not None:
                raise MismatchError(f"Rank {rank} requests the mode {mode!r}, but workers have pushed key {pushed!r} under "
                                    f"{self.mode!r}.", rank=rank, key=pushed, step=self.keys[pushed].version,
                                    hint="all workers must create the same kind of store.")
            self.mode = mode
        return self.policy

    async def meet(self, call: Call, rank: int, kind: str, number: int, brought: Payload) -> Payload:
        """Wait until every worker has come here; then what they bring is used, once."""
        all_brought, outcome = self._meetings.setdefault((kind, number), ({}, asyncio.get_running_loop().create_future()))
        all_brought.setdefault(rank, brought)
        self._changed()
        await self._until(call, rank, lambda: Waited(None, number, () if outcome.done() else tuple(
            rank_here for rank_here in self.present if rank_here not in all_brought)))
        if not outcome.done():
            try:
                with pause():
                    outcome.set_result(getattr(self, f"_do_{kind}")(number, all_brought))
            except Exception as error:  # each worker gets it
                outcome.set_exception(error)
            all_brought.update(dict.fromkeys(all_brought))
        return outcome.result()

    def _do_barrier(self, number: int, brought: dict[int, Any]) -> None:  # Any: nothing
        pass

    def _do_init(self, number: int, brought: dict[int, Any]) -> None:  # Any: keys, specifications, rows and values
        """Hold new keys, with the values of the first rank; keys that are here already stay as they are."""
        first = min(brought)
        for rank in sorted(brought):
            for (key, spec, _, _), (_, wanted, _, _) in zip(brought[rank], brought[first], strict=False):
                self._compare(rank, key, self.keys[key].spec if key in self.keys else KeySpec(*wanted), KeySpec(*spec))
        for key, spec, rows, values in brought[first]:
            if key not in self.keys:
                self._hold(key, KeySpec(*spec), rows, values)

    def _hold(self, key: Key, spec: KeySpec, rows: Array | None, values: Array) -> None:
        part = np.zeros(Partition(key, spec, self.setup.servers).local_shape(self.index), spec.dtype)
        part[... if rows is None else rows] = values
        self.keys[key] = Held(key, spec, part)

    def _compare(self, rank: int, key: Key, held: KeySpec, spec: KeySpec) -> None:
        """See that a key is what a worker takes it for, wherever its rows lie."""
        for name in ("shape", "dtype", "stype"):
            there, here = getattr(held, name), getattr(spec, name)
            if there != here:
                raise MismatchError(f"Rank {rank} initializes key {key!r} with {name} {here}, but the servers hold {name} "
                                    f"{there}.", rank=rank, key=key, step=0,
                                    hint="every worker passes an array of the same shape and type.")

    def _do_optimizer(self, number: int, brought: dict[int, Any]) -> tuple[bool, str]:  # Any: the text
        """Take the optimizer of the first rank, unless it has been here; whether it has, and where rows lie."""
        if number <= self.numbers["optimizer"]:
            return False, self.policy
        text = brought[min(brought)]
        self.numbers["optimizer"], self.updater = number, Updater(restored(text))
        self.random, self.applied = random_of(text), None
        return True, self.policy

    def _do_place(self, number: int, brought: dict[int, Any]) -> None:  # Any: the policy; keys, specifications and values
        """Hold keys as another policy wants it, before the first step."""
        self.policy, keys = brought[min(brought)]
        self.keys = {}
        for key, spec, rows, values in keys:
            self._hold(key, KeySpec(*spec), rows, values)

    def _do_states(self, number: int, brought: dict[int, Any]) -> None:  # Any: bytes
        """Replace the optimizer's states by those of the first rank, unless they have been here."""
        updater = self._known_updater()
        if number > self.numbers["states"]:
            updater.set_states(brought[min(brought)])
            self.numbers["states"] = number

    def optimizer_states(self, call: Call, dump_optimizer: bool) -> bytes:
        """The optimizer's states for the rows of this server, in the format of ``Updater.get_states``."""
        with pause():
            return self._known_updater().get_states(dump_optimizer)

    def _known_updater(self) -> Updater:
        if self.updater is None:
            raise SparsekitError("The store has no optimizer, so it has no optimizer states.", hint="call set_optimizer() first.")
        return self.updater

    def sums_of_optimizer(self) -> dict[Any, NDArray]:  # Any: keys
        """Sums of gradients that the optimizer keeps between its steps, by key."""
        optimizer: Optimizer | None = None if self.updater is None else self.updater.optimizer
        return optimizer._sums.setdefault(0, {}) if optimizer is not None and hasattr(optimizer, "_sums") else {}

    # pushes and pulls

    async def exchange(self, call: Call, message: Exchange) -> Answer:
        """Take pushes, each once, and answer pulls.

        Raises
        ------
        LostWorkerError
            If a worker that does not come back is waited for.
        MismatchError
            If a push does not fit the key, or is not the next one; then none is applied.
        UpdateError
            If the optimizer failed.
        """
        rank, number = message.rank, message.number
        if message.ended == "before":
            await self._take(call, message._replace(pushes=(), settings=None, leaves=False), number - 1, True)
            await self._take(call, message, number, False)
        elif message.pushes or message.ended or message.leaves:
            await self._take(call, message, number, bool(message.ended))
        pulled = [(self._usable(rank, pull.key, pull.version), pull) for pull in message.pulls]
        await self._until(call, rank, lambda: self._slower(message) if self.mode == "async" else self._missing(pulled))
        for push in message.pushes:
            self._usable(rank, push.key, push.sequence)
        values = tuple(self._pulled(rank, held, pull.rows, pull.version) for held, pull in pulled)
        return Answer(values, tuple(self._marks), self.capture is not None)

    def _slower(self, message: Exchange) -> Waited:
        """The workers for whom an asynchronous worker has to wait before it goes on."""
        rank, ahead = message.rank, self.setup.ahead
        keys = [*(push.key for push in message.pushes), *(pull.key for pull in message.pulls)]
        counts: dict[Key | None, dict[int, int]] = (
            {None: self.done} if rank in self.stepping else {key: self.keys[key].last for key in keys})
        for key, ended in counts.items():
            least = 0 if ahead is None else ended.get(rank, 0) - ahead
            if slow := tuple(other for other in self.present if ended.get(other, 0) < least):
                return Waited(key, least, slow)
        return Waited(None, 0, ())

    def _missing(self, pulled: Iterable[tuple[Held, Pull]]) -> Waited:
        """The workers whose pushes are missing for what a synchronous worker pulls."""
        for held, pull in pulled:
            if held.version < pull.version and not held.failed:
                step = held.version + 1
                return Waited(held.key, step, tuple(rank for rank in self.present if held.last.get(rank, 0) < step))
        return Waited(None, 0, ())

    async def _take(self, call: Call, message: Exchange, number: int, ends: bool) -> None:
        """Take what a worker sends when the others are far enough, so that no step passes one at which a snapshot is taken."""
        rank = message.rank
        if number <= self._taken.get(rank, 0):
            self.counts["duplicates"] += len(message.pushes)
            return
        before = self.done[rank]
        least = max((mark for mark in self._marks if mark <= before), default=0)
        if self.mode == "sync":  # pulls wait for all anyway, so pushes do not wait for the end of the step before them
            least = max(least, before if ends else before - 1)
        await self._until(call, rank,
                          lambda: Waited(None, least, tuple(other for other in self.present if self.done[other] < least)))
        if number <= self._taken.get(rank, 0):  # the same message has come again, and has been taken meanwhile
            return
        fresh = [self._checked(rank, push) for push in message.pushes]
        self._taken[rank] = number
        with pause():
            self._apply(rank, fresh, message.settings)
            if message.leaves:
                self._leave(rank)
        if message.state is not None and (ends or message.leaves):
            self.worker_states[rank] = message.state
        if ends:
            self.done[rank] += 1
            if message.mark:
                self._marks.add(message.mark)
        self._take_snapshot()
        self._changed()

    def _leave(self, rank: int) -> None:
        self.left.append(rank)
        for held in self.keys.values():
            self._close(held)

    def _usable(self, rank: int, key: Key, step: int) -> Held:
        held = self.keys.get(key)
        if held is None:
            raise MismatchError(f"Rank {rank} uses key {key!r}, which has not been initialized on server {self.index}.",
                                rank=rank, key=key, step=step, hint="call init(key, value) first.")
        if held.failed is not None:
            raise UpdateError(f"The step {held.version + 1} of key {key!r} failed on server {self.index}: {held.failed}",
                              rank=rank, key=key, step=held.version + 1, hint="fix the cause, and start again.")
        return held

    def _pulled(self, rank: int, held: Held, rows: Array | None, step: int) -> Array:
        held = self._usable(rank, held.key, step)
        if rows is not None and not (rows.ndim == 1 and rows.dtype.kind == "i" and (
                not rows.size or 0 <= rows.min() <= rows.max() < held.rows)):
            raise MismatchError(f"Rank {rank} pulls rows of key {held.key!r} that server {self.index} does not hold.", rank=rank,
                                key=held.key, step=step, hint="rows must be below the number of rows of the value.")
        self.log.seen[held.key, rank] = held.version, held.last.get(rank, 0)
        return held.pulled(rows)

    def _checked(self, rank: int, push: Push) -> tuple[Held, Push]:
        """A push that fits, with its values if it has two bits for each."""
        held = self._usable(rank, push.key, push.sequence)
        if push.sequence != held.last.get(rank, 0) + 1:
            raise MismatchError(f"Rank {rank} pushes key {held.key!r} for the {push.sequence}-th time, after its "
                                f"{held.last.get(rank, 0)}-th.", rank=rank, key=held.key, step=push.sequence,
                                hint="a program that goes on from a snapshot calls kv.resume() before its first push.")
        if rank in self.left:
            raise MismatchError(f"Rank {rank} has left, and pushes key {held.key!r} at step {push.sequence}.", rank=rank,
                                key=held.key, step=push.sequence, hint="leave() after the last push.")
        if self.mode == "async" and self.updater is None:
            raise MismatchError(f"Rank {rank} pushes key {held.key!r} to an asynchronous store that has no optimizer.", rank=rank,
                                key=held.key, step=push.sequence, hint="call set_optimizer() first.")
        if push.threshold is not None:
            try:
                push = push._replace(threshold=None, values=unpack_bits(push.values, held.shape, push.threshold,
                                                                        np.dtype(held.spec.dtype)))
            except ValueError as error:
                raise MismatchError(f"Rank {rank} sent a compressed gradient for key {held.key!r} at step {push.sequence} that "
                                    f"does not fit: {error}.", rank=rank, key=held.key, step=push.sequence,
                                    hint="push an array of the shape of the value.") from None
        self._check_values(rank, held, push)
        return held, push

    def _check_values(self, rank: int, held: Held, push: Push) -> None:
        rows, values = push.rows, push.values
        wanted = held.shape if rows is None else (rows.shape[0], *held.shape[1:])
        if values.shape != wanted or values.dtype != held.spec.dtype:
            raise MismatchError(f"Rank {rank} sent {values.dtype} values of shape {values.shape} for key {held.key!r} at step "
                                f"{push.sequence}; server {self.index} takes {held.spec.dtype} values of shape {wanted}.",
                                rank=rank, key=held.key, step=push.sequence,
                                hint="all workers must push arrays of the shape and type that the key was initialized with.")
        if rows is not None and rows.size and not (rows.ndim == 1 and rows.dtype.kind == "i" and rows[0] >= 0
                                                   and rows[-1] < held.shape[0] and bool((rows[:-1] < rows[1:]).all())):
            raise MismatchError(f"Rank {rank} sent rows for key {held.key!r} at step {push.sequence} that are not ascending "
                                f"numbers below {held.shape[0]}.", rank=rank, key=held.key, step=push.sequence,
                                hint="sort them, and send each once.")

    def _apply(self, rank: int, fresh: list[tuple[Held, Push]], settings: str | None) -> None:
        """Take pushes, and make the steps that are complete."""
        if fresh and rank not in self.stepping:
            self.by_hand.add(rank)
        if settings is not None:
            self.settings[rank] = settings
        for held, push in fresh:
            held.last[rank] = push.sequence
            if self.setup.folder is not None:
                self._remember(rank, push)
            own_push = push._replace(rows=None if push.rows is None else owned(push.rows, np.int64), values=owned(push.values),
                                     settings=self.settings.get(rank))
            if self.mode == "async":
                leads = rank == min(self.present, default=rank)
                self._step(held, [own_push], own_push if leads else own_push._replace(settings=None), rank)
            else:
                held.pending.setdefault(rank, []).append(own_push)
                self._close(held)

    def _remember(self, rank: int, push: Push) -> None:
        """Keep the checksum of a push, and compare it with that of the same push before the run went back."""
        name = push.key, rank, push.sequence
        checksum = 0
        for array in (push.rows, push.values):
            if array is not None and array.size:
                checksum = crc32(bytes_of(np.ascontiguousarray(array)), checksum)
        before = next((sums[name] for sums in reversed(self._sums) if name in sums), None)
        if before is None:
            self._sums[-1][name] = checksum
        elif before != checksum and not self._differs:
            self._differs = (f"Rank {rank} pushes other numbers to key {push.key!r} for the {push.sequence}-th time than before "
                             f"the run went back: the program is not deterministic, or its state is not in the snapshot.")

    def _close(self, held: Held) -> None:
        """Make the steps of a key for which every present rank has pushed."""
        while held.failed is None:
            ready = [rank for rank, pushes in sorted(held.pending.items()) if pushes]
            if not ready or not set(self.present) <= set(ready):
                return
            parts = [held.pending[rank].pop(0) for rank in ready]
            self._step(held, parts, parts[0], None)  # of the lowest rank, whose settings count

    def _step(self, held: Held, parts: list[Push], leader: Push, rank: int | None) -> None:
        """A step of a key with the sum of some pushes."""
        start = self.clock()
        try:
            total = total_of(parts, held.shape)
            if self.updater is None:
                if self.capture is not None:
                    self.capture.before(held.key, held.changed_by(total))
                held.replace(total)
            else:
                self._update(self.updater, held, total, leader)
        except Exception as error:  # of a user's optimizer it may be anything
            held.failed = f"{type(error).__name__}: {error}"
            return
        stale = 0
        if rank is not None:
            version, sequence = self.log.seen.get((held.key, rank), (held.version, held.last[rank] - 1))
            stale = max(0, held.version - version - (held.last[rank] - 1 - sequence))
        held.version += 1
        self.counts["applied"] += 1
        self.log.note("apply", "apply", held.key, rank, held.version, start, self.clock(),
                      payload_bytes([(part.rows, part.values) for part in parts]), stale)

    def _update(self, updater: Updater, held: Held, total: NDArray, leader: Push) -> None:
        """A step of the optimizer."""
        optimizer, weight = updater.optimizer, held.value
        if leader.settings is not None and leader.settings != self.applied:
            applied_settings(optimizer, leader.settings)
            self.applied = leader.settings
        if leader.clock is not None:
            optimizer.num_update = optimizer.begin_num_update + leader.clock
        updater._prepare(held.key, weight)
        if self.capture is not None:
            rows = total._store.indices if isinstance(total._store, RowSparse) else None
            alone = rows is not None and optimizer._changes_stored_rows_alone(weight, updater.states[held.key])
            self.capture.before(held.key, rows if alone else None)
        held.stored = None
        with rng.using(self.random):
            updater(held.key, total, weight)

    # snapshots

    def resume(self, call: Call, rank: int) -> tuple[int, str, list[Array]] | None:
        """The step and the state of a worker where the run goes on, None at the beginning; from now on it says when steps end."""
        self.stepping.add(rank)
        self.by_hand.discard(rank)
        return self.worker_states.get(rank)

    def _take_snapshot(self) -> None:
        """Begin a snapshot if all workers have ended the step for it; it is skipped while another one is written."""
        floor = self._floor()
        if floor not in self._marks or floor <= self.snapped:
            return
        self.snapped, self._marks = floor, {mark for mark in self._marks if mark >= floor}
        if self.setup.folder is None or self.capture is not None:
            return
        behind = [rank for rank in self.present if rank % self.setup.servers == self.index
                  and self.worker_states.get(rank, (0,))[0] != floor]
        if behind:
            self.failures = {floor: f"ranks {behind} have not said their state to server {self.index}"}
            return
        start = self.clock()
        about, self.capture = taken(self, floor)
        self._sums.append({})
        path = Path(self.setup.folder) / f"step-{floor:09}.{self.epoch}.part-{self.index}"
        self._writing = asyncio.get_running_loop().create_task(self._write_snapshot(floor, path, about, self.capture))
        self.log.note("snapshot", "snapshot", None, None, floor, start, self.clock(), self.nbytes(), None)

    async def _write_snapshot(self, step: int, path: Path, about: str, capture: Capture) -> None:
        """Copy and write chunk after chunk; messages are answered in between."""
        epoch, file = self.epoch, None
        try:
            file = await self._write(PartFile, path, about, capture.layouts)
            for chunk in capture.chunks():
                await self._write(file.chunk, chunk)
                if self.epoch != epoch:
                    raise OSError(0, "the run went back to an earlier snapshot")
            told = await self._write(file.close)
            if self.epoch == epoch:
                self.reports = {**dict(list(self.reports.items())[-2:]), step: told}
                self.counts["snapshots"] += 1
        except OSError as error:
            if self.epoch == epoch:
                self.failures = {step: f"server {self.index} cannot write {path}: {error.strerror}"}
            if file is not None:
                file.abandon()
        finally:
            self.counts["aside_bytes"] = max(self.counts["aside_bytes"], capture.aside_bytes)
            self.capture = None
            self._changed()

    # what is seen

    def nbytes(self) -> int:
        """Bytes of values and states."""
        states = () if self.updater is None else self.updater.states.values()
        return sum(rows_of(held.value).nbytes for held in self.keys.values()) + sum(
            array.nbytes for state in states for array in arrays_of(state))

    def process(self, call: Call) -> tuple[int, str]:
        """Number of this server's process, and its machine."""
        return os.getpid(), self.node

    def shown_clock(self, call: Call) -> float:
        """What this server's clock shows."""
        return self.clock()

    def profile(self, call: Call) -> dict[str, Any]:  # Any: plain data
        """What a profile is made of, as plain data."""
        setup = self.setup
        return {**self.log.told(), **self.counts, "index": self.index, "epoch": self.epoch, "state_bytes": self.nbytes(),
                "rows": [[key, held.rows] for key, held in self.keys.items()],
                "versions": [[key, held.version] for key, held in self.keys.items()], "left": sorted(self.left),
                "mode": self.mode, "staleness": setup.staleness, "shards": setup.servers, "workers": setup.workers}


def _what(reason: Waited) -> str:
    """What is waited for, in words."""
    return f"step {reason.step}" if reason.key is None else f"step {reason.step} of key {reason.key!r}"
