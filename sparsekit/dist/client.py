"""What a worker does: it cuts arrays into the parts of the servers, numbers its messages, sends them and waits.

A push is held until something else is asked for, so that a push and the pull behind it are one round trip to each server.  The
end of a step travels with the next message, too.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import rng
from ..base.errors import DistError, MismatchError, ParameterNameError, UnsupportedError, WaitTimeoutError
from ..base.plain_data import decoded, encoded
from .compression import pack
from .messages import Answer, Exchange, KeySpec, Pull, Push, ServerProcess, Waited, payload_bytes
from .partition import Partition, placed
from .seen import ClientNotes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..base.types import Array
    from .messages import Key
    from .seen import Request
    from .transport import Transport

#: Seconds after which a wait is reported, and then each time it has doubled.
WARN_AFTER = 10.0
#: Seconds that a server has to say for whom a call waits.
PATIENCE = 5.0
#: What the state of a worker may have beside plain data.
KEPT = {"States": rng.States}

log = logging.getLogger("sparsekit.dist")


class ReplacedError(BaseException):
    """The run has gone back to a snapshot: this process is no worker any more, and ends."""


class Client:
    """The connection of one worker to the servers.

    Parameters
    ----------
    transport : Transport
    timeout : float, optional
        Seconds after which a wait raises ``WaitTimeoutError``; that of the run by default.
    warn_after : float
        Seconds after which a wait is reported.
    clock : callable
        Gives seconds.

    Attributes
    ----------
    rank, workers, shards : int
        Number of this worker, numbers of workers and servers.
    mode : {"sync", "async"}
    timeout : float
    steps : int
        Steps that this worker has ended, or skipped because a snapshot has them.
    """

    def __init__(self, transport: Transport, timeout: float | None = None, warn_after: float = WARN_AFTER,
                 clock: Callable[[], float] = time.monotonic) -> None:
        setup = transport.setup
        self.transport, self.setup, self.rank = transport, setup, transport.rank
        self.workers, self.shards = setup.workers, setup.servers
        self.timeout = setup.timeout if timeout is None else timeout
        self.warn_after, self._clock = warn_after, clock
        self._lock = threading.RLock()
        self._specs: dict[Key, KeySpec] = {}
        self._partitions: dict[Key, Partition] = {}
        self._sequence: dict[Key, int] = {}
        self._meetings: dict[str, int] = {}
        self._number = 0
        self._empty_hand()
        self._left = False
        self._after: list[Any] = [{}, 0]  # Any: pushes to each key, and optimizers that were set
        self._counts = {"round_trips": 0, "calls": 0, "bytes_sent": 0, "bytes_received": 0}
        self._seconds, self._waited = 0.0, dict.fromkeys(range(self.workers), 0.0)
        self._notes = ClientNotes(self)
        self.steps = 0
        self._capture: Callable[[], object] | None = None  # object: whatever the program keeps
        self._marks: set[int] = set()
        self._marked_at, self._writing = clock(), False
        self.mode, self._policy, self.begun_at = "sync", "rows", 0

    def _empty_hand(self) -> None:
        """Hold nothing to be sent."""
        self._held: list[list[Push]] = [[] for _ in range(self.shards)]
        self._held_keys: set[Key] = set()
        self._settings: str | None = None
        self._ended, self._new_mark = "", 0
        self._state: tuple[int, str, list[Any]] | None = None  # Any: arrays

    # calls

    # Any: as methods say
    def ask(self, requests: Sequence[Request], timeout: float | None = None, subject: str = "") -> list[Any]:
        """Call methods of servers, and wait for their answers.

        Raises
        ------
        WaitTimeoutError
            If it takes too long; the message names whom the servers wait for, or the server that does not answer.
        SparsekitError
            What a server raises.
        """
        timeout = self.timeout if timeout is None else timeout
        start, warn_at = self._clock(), self.warn_after
        sent = self.transport.send(requests)
        while True:
            left = start + min(timeout, warn_at) - self._clock()
            try:
                answers = self.transport.results(sent, max(left, 0.001))
                break
            except TimeoutError as error:
                if isinstance(error, DistError):
                    raise
            waited = self._clock() - start
            said, about = self._why(requests, waited, subject)
            if waited >= timeout:
                raise WaitTimeoutError(said, hint="a worker that has fewer batches than others calls leave() after its last; "
                                       "timeout= changes how long the others wait.", rank=self.rank, **about)
            log.warning("%s", said)
            warn_at *= 2
        if any(answer is None for answer in answers):
            raise ReplacedError
        for fine, value in answers:
            if not fine:
                if isinstance(value, DistError) and value.rank is None:
                    value.rank = self.rank
                raise value
        return [value for _, value in answers]

    def _why(self, requests: Sequence[Request], waited: float, subject: str) -> tuple[str, dict[str, Any]]:  # Any: key and step
        """For whom this worker waits, in words, and the key and the step."""
        servers = sorted({index for index, _, _ in requests})
        answers = self._answers(servers, PATIENCE)
        reasons = [Waited(*told) for fine, told in filter(None, answers.values()) if fine and told is not None]
        if reasons:
            first = reasons[0]
            ranks = sorted({rank for wait in reasons for rank in wait.ranks})
            if waited >= self.timeout:
                for rank in ranks:
                    self._waited[rank] += waited
            place = subject or (f"step {first.step}" if first.key is None else f"key {first.key!r}, step {first.step}")
            named = f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
            text = f"Rank {self.rank} has waited {waited:.0f} s for {named} ({place})."
            return text, {"key": first.key, "step": first.step}
        late = [index for index in servers if index not in answers] or servers
        named = f"server{'s' * (len(late) > 1)} {', '.join(map(str, late))}"
        return f"Rank {self.rank} has waited {waited:.0f} s for {named} to answer {subject or requests[0][1]!r}.", {}

    def _answers(self, servers: Iterable[int], seconds: float) -> dict[int, Any]:  # Any: as ``Server.call`` gives
        """For whom this worker waits, as those servers say that answer in time."""
        answers = {}
        for index, sent in [(index, self.transport.send([(index, "why", (self.rank,))])) for index in servers]:
            with contextlib.suppress(TimeoutError, DistError):
                answers[index] = self.transport.results(sent, seconds)[0]
        return answers

    def _call(self, requests: Sequence[Request], subject: str = "") -> list[Any]:  # Any: as ``ask``
        """``ask``, counted, and noted where a profiler records."""
        self._counts["calls"] += 1
        self._counts["round_trips"] += 1
        self._counts["bytes_sent"] += sum(payload_bytes(arguments) for _, _, arguments in requests)
        sink, began = self._notes.begin(self.timeout)
        start = self._clock()
        try:
            replies = self.ask(requests, None, subject)
        finally:
            self._seconds += self._clock() - start
        self._counts["bytes_received"] += sum(payload_bytes(reply) for reply in replies)
        self._notes.end(sink, began, requests, replies)
        return replies

    def _meet(self, kind: str, brought: Sequence[Any], name: str = "") -> list[Any]:  # Any: as the meeting says
        """Meet all other workers on the servers."""
        self.flush()
        self._meetings[kind] = number = self._meetings.get(kind, 0) + 1
        return self._call([(shard, "meet", (self.rank, kind, number, share)) for shard, share in enumerate(brought)],
                          name or f"{kind} {number}")

    # values

    def specs(self) -> dict[Key, KeySpec]:
        """What the servers hold, by key."""
        return self._specs

    def spec(self, key: Key) -> KeySpec:
        """What the servers hold under a key.

        Raises
        ------
        ParameterNameError
            If the key has not been initialized.
        """
        if key not in self._specs:
            raise ParameterNameError(f"The key {key!r} has not been initialized.", hint="call init(key, value) first, on every "
                                     "worker.")
        return self._specs[key]

    def step(self, key: Key) -> int:
        """How many times this worker has pushed a key."""
        return self._sequence.get(key, 0)

    def init(self, values: dict[Key, tuple[KeySpec, Array | None, Array]]) -> None:
        """Store values under new keys; those of rank 0 count, and the call returns on every worker when they are there.

        Parameters
        ----------
        values : dict
            For each key its description, the rows that are stored (None for all), and their values.

        Raises
        ------
        MismatchError
            If a value is not of the shape, element type or storage type that rank 0 has stored.
        """
        with self._lock:
            for key in values:
                if key in self._specs:
                    raise DistError(f"The key {key!r} has been initialized already.", hint="push() changes its value.",
                                    rank=self.rank, key=key)
            specs = {key: placed(spec, self._policy, key, self.shards) for key, (spec, _, _) in values.items()}
            self._meet("init", self._parts(specs, {
                key: _nonzero(rows, data) if self.rank == 0 else (rows, data) for key, (_, rows, data) in values.items()}))
            self._specs.update(specs)

    def _parts(self, specs: dict[Key, KeySpec], values: dict[Key, tuple[Array | None, Array]]) -> list[list[Any]]:  # Any: key...
        """Specifications and, of rank 0, rows and values of keys for each server that holds rows of them."""
        parts: list[list[Any]] = [[] for _ in range(self.shards)]
        for key, (rows, data) in values.items():
            cut = Partition(key, specs[key], self.shards)
            if self.rank == 0:
                for shard, local, own in _cut(cut, rows, data):
                    parts[shard].append((key, specs[key], local, own))
            else:
                for shard in cut.holders:
                    parts[shard].append((key, specs[key], None, None))
        return parts

    def _partition(self, key: Key) -> Partition:
        partition = self._partitions.get(key)
        if partition is None:
            partition = self._partitions[key] = Partition(key, self.spec(key), self.shards)
        return partition

    # pushes

    def push(self, parts: Sequence[Push], settings: str | None = None) -> None:
        """Push to several keys; what is sent is held until the next call that waits for the servers.

        Parameters
        ----------
        parts : list of Push
            At most one for each key, of ascending rows or of the whole value.  With a threshold, the values are codes of two
            bits, as ``compression.quantize`` gives them.
        settings : str, optional
            Settings of the optimizer for this step, as JSON.
        """
        with self._lock:
            if self._left:
                raise UnsupportedError(f"Rank {self.rank} has called leave(), and cannot push any more.",
                                       hint="call leave() after the last push.")
            for part in parts:
                self.spec(part.key)
            if self._held_keys and (self._ended == "after" or self._settings != settings
                                    or self._held_keys & {part.key for part in parts}):
                self.flush()
            if self._ended:
                self._ended = "before"
            self._settings = settings
            for part in parts:
                self._hold(part)

    def _hold(self, part: Push) -> None:
        """Number a push, and cut it into a part for each server that holds rows."""
        self._sequence[part.key] = sequence = self.step(part.key) + 1
        self._held_keys.add(part.key)
        for shard, local, own in _cut(self._partition(part.key), part.rows, part.values):
            own = own if part.threshold is None else pack(own)
            self._held[shard].append(part._replace(sequence=sequence, rows=local, values=own))

    def check(self, key: Key, shape: tuple[int, ...], dtype: object = None, verb: str = "pushes") -> None:
        """Raise unless an array for a key has the shape of its value and, if one is given, the element type.

        Raises
        ------
        ParameterNameError
            If the key has not been initialized.
        MismatchError
            If the array does not fit.
        """
        spec, step = self.spec(key), self.step(key) + (verb == "pushes")
        compared: dict[str, tuple[object, object]] = {"shape": (tuple(shape), spec.shape)}
        if dtype is not None:
            compared["element type"] = np.dtype(dtype), np.dtype(spec.dtype)  # type: ignore[call-overload]
        for aspect, (got, wanted) in compared.items():
            if got != wanted:
                raise MismatchError(f"Rank {self.rank} {verb} an array of {aspect} {got} for key {key!r} at step {step}, but the "
                                    f"value has {aspect} {wanted}.", rank=self.rank, key=key, step=step,
                                    hint="use arrays of the shape and type that the key was initialized with.")

    def flush(self) -> None:
        """Send what is held."""
        if self._held_keys or self._ended:
            self.pull(())

    # pulls

    def pull(self, wanted: Sequence[tuple[Key, Array | None]]) -> list[Array]:
        """Values of keys, after this worker's pushes to them; sends what is held in the same round trip.

        Parameters
        ----------
        wanted : list of (key, rows)
            Ascending rows without repetitions, or None for all.

        Returns
        -------
        list of array
            Values of these rows, of shape ``(rows, *shape[1:])``, or of the whole shape; they belong to the caller.

        Raises
        ------
        WaitTimeoutError
            If a server or another worker is waited for longer than ``timeout``.
        """
        with self._lock:
            pulls: list[list[tuple[Pull, int, Any]]] = [[] for _ in range(self.shards)]  # Any: places, an array or a slice
            for number, (key, rows) in enumerate(wanted):
                cut = self._partition(key)
                for shard, local, places in ((holder, None, None) for holder in cut.holders) if rows is None else cut.split(rows):
                    if local is None or len(local):
                        pulls[shard].append((Pull(key, self.step(key), local), number, places))
            answers = self._exchange([tuple(pull for pull, _, _ in some) for some in pulls])
            arrays = [np.empty(self.spec(key).shape if rows is None else (len(rows), *self.spec(key).shape[1:]),
                               self.spec(key).dtype) for key, rows in wanted]
            for shard, some in enumerate(pulls):
                for (_, number, places), values in zip(some, answers[shard] if some else (), strict=True):
                    if places is None:
                        self._partition(wanted[number][0]).put(arrays[number], shard, values)
                    else:
                        arrays[number][places] = values
            return arrays

    def _exchange(self, pulls: Sequence[tuple[Pull, ...]], leaves: bool = False) -> dict[int, tuple[Array, ...]]:
        """Send what is held to all servers, and ask for values of some."""
        moves = bool(self._held_keys or self._ended or leaves)
        every = self._ended or leaves or self._capture is not None  # a step ends on all servers
        shards = [shard for shard in range(self.shards) if (every and moves) or self._held[shard] or pulls[shard]]
        if not shards:
            return {}
        if moves:
            self._number += 2  # the end of a step before it has a number of its own
        home = self.rank % self.shards
        messages = [Exchange(self.rank, self._number, tuple(self._held[shard]), pulls[shard], self._settings, self._ended,
                             self._state if shard == home else None, self._new_mark, leaves) for shard in shards]
        if moves:
            self._empty_hand()
        replies: list[Answer] = self._call([(shard, "exchange", (message,))
                                            for shard, message in zip(shards, messages, strict=True)])
        self._marks.update(*(reply.marks for reply in replies))
        self._writing = any(reply.writing for reply in replies)
        return {shard: reply.values for shard, reply in zip(shards, replies, strict=True)}

    def settle(self) -> None:
        """Wait until the servers have made every step to which this worker has pushed."""
        with self._lock:
            none = np.zeros(0, np.int32)
            self._exchange([tuple(Pull(key, self.step(key), none) for key in self._specs
                                  if self.step(key) and shard in self._partition(key).holders) for shard in range(self.shards)])

    # what all workers do together

    def barrier(self) -> None:
        """Wait until every worker that has not left has called this method."""
        with self._lock:
            self._meet("barrier", [None] * self.shards)

    def leave(self) -> None:
        """Push no more: the other workers no longer wait for this one."""
        with self._lock:
            if not self._left:
                if self._capture is not None and not self.behind:
                    self._state = self._stated()
                self._exchange([()] * self.shards, leaves=True)
                self._left = True

    def close(self) -> None:
        """Send what is held, if the servers can still be reached."""
        with contextlib.suppress(DistError, ReplacedError):
            self.flush()

    def silent(self, timeout: float) -> list[int]:
        """The servers that do not answer in time."""
        with self._lock:
            answers = self._answers(range(self.shards), timeout)
        return [shard for shard in range(self.shards) if answers.get(shard) is None]

    # steps and snapshots

    @property
    def behind(self) -> int:
        """Steps that a snapshot has, and that the program has yet to skip."""
        return max(0, self.begun_at - self.steps) if self._capture is not None else 0

    @property
    def resumes(self) -> bool:
        """Whether the program has said what its state is."""
        return self._capture is not None

    def resume(self, capture: Callable[[], object], skips: bool) -> Any:  # object, Any: whatever the program keeps
        """Take part in snapshots, and give the state of this worker at the one from which the run goes on, or None.

        Parameters
        ----------
        capture : callable
            Gives the state, of what ``base.plain_data`` keeps.
        skips : bool
            Whether the program runs again from its beginning, and skips steps; else it goes on where the state was captured.
        """
        with self._lock:
            self.flush()
            replies = self.ask([(shard, "resume", (self.rank,)) for shard in range(self.shards)], None, "the snapshot")
            self._capture = capture
            reply = replies[self.rank % self.shards]
            if reply is None:
                self.begun_at = self.steps
                return None
            self.begun_at, text, arrays = reply
            *self._after, state = decoded(json.loads(text), arrays, KEPT)
            self._marked_at = self._clock()
            if not skips:
                self._arrive()
            return state

    def _arrive(self) -> None:
        """Be where the snapshot has this worker."""
        self.steps = self.begun_at
        self._sequence, self._meetings["optimizer"] = self._after

    def skip_step(self) -> bool:
        """Pass a step that the snapshot has; True if it was the last one."""
        self.steps += 1
        if self.behind:
            return False
        self._arrive()
        return True

    def _stated(self) -> tuple[int, str, list[Any]]:  # Any: arrays
        """The state of this worker."""
        assert self._capture is not None
        arrays: list[Any] = []  # Any: arrays
        state = [self._sequence, self._meetings.get("optimizer", 0), self._capture()]
        return self.steps, json.dumps(encoded(state, arrays, "The state of the worker", KEPT)), arrays

    def end_step(self) -> None:
        """End a step: what comes after it belongs to the next one."""
        with self._lock:
            if self._capture is None:
                raise DistError("end_step() was called before resume().", rank=self.rank,
                                hint="call kv.resume() after init() and set_optimizer(), on every worker.")
            if self._ended:
                self.flush()
            self.steps += 1
            self._ended = "after"
            if self.rank == 0:
                self._announce()
            if self.steps in self._marks:
                self._state = self._stated()

    def _announce(self) -> None:
        """Say at which step a snapshot is due, so early that no worker has ended it; not while another one is written."""
        setup = self.setup
        if setup.folder is None or self._writing or any(mark > self.steps for mark in self._marks):
            return
        step = self.steps + 2 + (0 if self.mode == "sync" else setup.ahead or 0)
        due = (step % setup.every == 0 if setup.every else
               setup.seconds is not None and self._clock() - self._marked_at > setup.seconds)
        if due:
            self._marked_at, self._new_mark = self._clock(), step
            self._marks.add(step)

    # what the servers do

    def set_mode(self, mode: str) -> None:
        """Have the servers wait for all workers (``"sync"``) or for none (``"async"``).

        Raises
        ------
        MismatchError
            If workers have pushed already under the other mode.
        """
        with self._lock:
            self.mode = mode
            requests = [(shard, "hello", (self.rank, mode)) for shard in range(self.shards)]
            self._policy, *_ = self.ask(requests, None, "the servers")

    def set_optimizer(self, text: str, policy: str) -> None:
        """Have the servers make a step of an optimizer with each sum; that of rank 0 counts.

        Parameters
        ----------
        text : str
            From ``optimizer.states.described``.
        policy : str
            Where values must lie, as ``partition.placed`` takes it.
        """
        with self._lock:
            new, there = self._meet("optimizer", [text] * self.shards, "the optimizer")[0]
            if new and policy != there:
                self._move(policy)
                return
            self._policy = there

    def _move(self, policy: str) -> None:
        """Give keys to other servers, before the first step; every worker calls it."""
        if any(self._sequence.values()):
            raise UnsupportedError("This optimizer needs the values on other servers, and they have been pushed to.",
                                   hint="call set_optimizer() before the first push.")
        self._policy = policy
        values = dict(zip(self._specs, self.pull([(key, None) for key in self._specs]), strict=True))
        self._specs = {key: placed(spec, policy, key, self.shards) for key, spec in self._specs.items()}
        self._partitions = {}
        parts = self._parts(self._specs, {key: (None, value) for key, value in values.items()})
        self._meet("place", [(policy, part) for part in parts], "the optimizer")

    def optimizer_states(self, dump_optimizer: bool = False) -> list[bytes]:
        """The optimizer's states of each server, after this worker's last push."""
        with self._lock:
            self.settle()
            return self._call([(shard, "optimizer_states", (dump_optimizer,)) for shard in range(self.shards)], "the states")

    def set_optimizer_states(self, states: Sequence[bytes]) -> None:
        """Replace the optimizer's states of each server; those of rank 0 count, and the call returns when they are there."""
        with self._lock:
            self._meet("states", states or [b""] * self.shards, "the states")

    # what is known

    def statistics(self) -> dict[str, Any]:
        """Round trips, calls, bytes of arrays sent and received, and seconds by what they were for.

        ``seconds`` is the time in calls, and ``waited`` the part of it in which another worker was waited for, by rank.
        """
        return {**self._counts, "seconds": self._seconds, "waited": dict(self._waited)}

    def processes(self) -> list[ServerProcess]:
        """The processes of the servers."""
        with self._lock:
            told = self.ask([(shard, "process", ()) for shard in range(self.shards)], None, "the servers")
        return [ServerProcess(index, *process) for index, process in enumerate(told)]

    def profiles(self) -> list[Any]:  # Any: plain data
        """What each server tells of what it did, as plain data."""
        with self._lock:
            return self.ask([(shard, "profile", ()) for shard in range(self.shards)], None, "the servers")


def _cut(cut: Partition, rows: Array | None, values: Array) -> Iterator[tuple[int, Array | None, Array]]:
    """The parts of a value, or of some rows of it, for each server that holds rows; parts are copies."""
    if rows is None:
        for shard in cut.holders:
            yield shard, None, cut.take(values, shard, np.empty(cut.local_shape(shard), values.dtype))
        return
    for shard, local, places in cut.split(rows):
        own = np.empty((len(local), *values.shape[1:]), values.dtype)
        if isinstance(places, slice):
            own[...] = values
        else:
            np.take(values, places, axis=0, out=own, mode="clip")  # without it, numpy would fill a second array
        yield shard, local, own


def _nonzero(rows: Array | None, values: Array) -> tuple[Array | None, Array]:
    """Rows of a row_sparse value and their values, without rows of zeros; of a dense value all.

    A row with a negative zero is kept, as its bits are not those of a row that is left out.
    """
    if rows is None:
        return rows, values
    bits = np.ascontiguousarray(values).view(f"u{values.itemsize}")
    stored = np.flatnonzero(bits.any(axis=tuple(range(1, bits.ndim))))
    return (rows, values) if len(stored) == len(rows) else (rows[stored], values[stored])
