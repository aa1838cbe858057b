"""What a worker does: it cuts arrays into the parts of the servers, numbers its pushes, sends, waits and sends again.

A push is held until something else is asked for, so that a push and the pull behind it are one round trip to each server.
The pushes of each key are numbered from 1.  A server applies each number once, so a message may be sent again: after a
server's restart, a refused journal or a lost reply, the client sends what the server's answers do not acknowledge.
A worker that starts anew numbers from 1 again, and the client does not send what the servers have.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import (
    DistError,
    JournalFullError,
    LostDataError,
    MismatchError,
    ParameterNameError,
    UnsupportedError,
    WaitTimeoutError,
)
from .compression import pack
from .messages import KeySpec, Pull, Push, Refused, Reply, Request, Waiting, Welcome, id_type, payload_bytes, row_ids
from .partition import Partition, dealt
from .seen import ClientNotes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..base.types import Array, DTypeLike
    from .messages import Key
    from .transport import Transport

    #: Memory for an array that is sent: ``empty(shard, shape, dtype)``.
    Empty = Callable[[int, tuple[int, ...], DTypeLike], Array]


__all__ = ["Client", "Pushed", "client_of", "finish"]

#: Seconds that a worker waits for servers and other workers, unless the launcher says otherwise.
TIMEOUT = 600.0
#: Seconds after which a wait is reported, and then each time it has doubled.
WARN_AFTER = 10.0
#: Seconds between attempts while a server's disk is full.
PAUSE = 0.05

log = logging.getLogger("sparsekit.dist")


class Pushed(NamedTuple):
    """What a worker pushes to one key.

    Attributes
    ----------
    key : int or str
    rows : array, optional
        Ascending rows of a row_sparse gradient; None for a dense one.
    values : array
    clock : int, optional
        As in ``messages.Push``.
    threshold : float, optional
        If given, the values are codes of two bits, as ``compression.quantize`` gives them.
    """

    key: Key
    rows: Array | None
    values: Array
    clock: int | None = None
    threshold: float | None = None


class _Message(NamedTuple):
    """Pushes to one server that are sent together."""

    pushes: tuple[Push, ...]
    settings: str | None


class _Held:
    """Pushes that wait for the next call, by server, with the settings of the optimizer for all of them."""

    def __init__(self) -> None:
        self.keys: set[Key] = set()
        self.pushes: dict[int, list[Push]] = {}
        self.settings: str | None = None


class _Server:
    """What a client knows of one server."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.epoch = 0
        #: The last push of each key that the server has.
        self.last: dict[Key, int] = {}
        self.specs: dict[Key, KeySpec] = {}
        #: What the server has not acknowledged, in order.
        self.queue: deque[_Message] = deque()
        #: What it acknowledged last, to be sent again if a restart has lost it.
        self.kept: _Message | None = None
        #: Whether it has started anew since it was told where this worker is.
        self.anew = False
        #: Settings of the optimizer that it has of this worker.
        self.settings: str | None = None

    def lacks(self, message: _Message) -> bool:
        """Whether the server lacks a push of a message."""
        return any(self.last.get(push.key, 0) < push.sequence for push in message.pushes)


class Client:
    """The connection of one worker to the servers.

    Parameters
    ----------
    transport : Transport
    timeout : float, optional
        Seconds after which a wait raises ``WaitTimeoutError``.  By default what the launcher set, or 600.
    warn_after : float
        Seconds after which a wait is reported.
    clock : callable
        Gives seconds.

    Attributes
    ----------
    rank, workers, shards, life : int
        Number of this worker, numbers of workers and servers, and how many times this worker was started before.
    mode : {"sync", "async"}
    timeout : float
    """

    def __init__(self, transport: Transport, timeout: float | None = None, warn_after: float = WARN_AFTER,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.transport = transport
        #: Gives memory for what is sent to a server.
        self._empty: Empty = getattr(transport, "empty", _own)
        self.rank, self.workers, self.shards, self.life = transport.rank, transport.workers, transport.shards, transport.life
        self.timeout = float(getattr(transport, "timeout", None) or TIMEOUT) if timeout is None else timeout
        self.warn_after = warn_after
        self._clock = clock
        self._lock = threading.RLock()
        self._servers = [_Server(number) for number in range(self.shards)]
        self._partitions: dict[Key, Partition] = {}
        self._held = _Held()
        self._sequence: dict[Key, int] = {}
        self._initialized: set[Key] = set()
        self._barriers = self._optimizers = self._states = 0
        self._left = False
        self._placement: Callable[[Key], str] = _by_rows
        self.failed: BaseException | None = None
        self._counts = {"round_trips": 0, "calls": 0, "bytes_sent": 0, "bytes_received": 0, "resent": 0, "skipped": 0}
        self._seconds, self._waited = 0.0, dict.fromkeys(range(self.workers), 0.0)
        self.mode = "sync"
        self._notes = ClientNotes(self)
        self._greet()

    def _greet(self) -> list[Welcome]:
        """Learn what the servers know."""
        welcomes: list[Welcome] = self._call(
            [(server.number, "hello", (self.rank, self.life)) for server in self._servers], "the servers")
        for server, welcome in zip(self._servers, welcomes, strict=True):
            server.last, server.specs = dict(welcome.last), dict(welcome.specs)
            if welcome.epoch != server.epoch:
                server.anew = bool(server.epoch)
                server.epoch, server.settings = welcome.epoch, None
                self._requeue(server)
        self.mode, self._passed = welcomes[0].mode, welcomes[0].barrier
        return welcomes

    # values

    def specs(self) -> dict[Key, KeySpec]:
        """What the servers hold, by key."""
        return self._servers[0].specs if self.shards == 1 else {
            key: spec for server in self._servers for key, spec in server.specs.items()}

    def spec(self, key: Key) -> KeySpec:
        """What the servers hold under a key.

        Raises
        ------
        ParameterNameError
            If the key has not been initialized.
        """
        for server in self._servers:
            if key in server.specs:
                return server.specs[key]
        raise ParameterNameError(f"The key {key!r} has not been initialized.",
                                 hint="call init(key, value) first, on every worker.")

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
            self._check_open()
            for key in values:
                if key in self._initialized:
                    raise DistError(f"The key {key!r} has been initialized already.", hint="push() changes its value.",
                                    rank=self.rank, key=key)
            self.flush()
            if self.rank == 0:
                parts = {key: (spec, *_nonzero(rows, data)) for key, (spec, rows, data) in values.items()}
                while self._send_values(parts):  # again, as a server that is being replaced may lose what it took
                    self._greet()
            self.barrier()
            if values.keys() - self.specs().keys():
                self._greet()
            for key, (spec, _, _) in values.items():
                self._agree(key, spec)
                self._initialized.add(key)

    def _send_values(self, values: dict[Key, tuple[KeySpec, Array | None, Array]]) -> bool:
        """Send the parts of values to the servers that lack them; False if none does."""
        calls: list[tuple[int, str, tuple[object, ...]]] = []
        specs = self.specs()
        for key, (spec, rows, data) in values.items():
            known = specs.get(key)
            spec = (dealt(spec._replace(placement=self._placement(key))) if known is None
                    else spec._replace(placement=known.placement))
            cut = Partition(key, spec, self.shards)
            for shard, local, part in _cut(cut, rows, data, _own):
                if key not in self._servers[shard].specs:
                    calls.append((shard, "init", (self.rank, self.life, key, spec, local, part)))
        if calls:
            self._call(calls, "init")
        return bool(calls)

    def _agree(self, key: Key, spec: KeySpec) -> None:
        held = self.spec(key)
        for what in ("shape", "dtype", "stype"):
            if getattr(held, what) != getattr(spec, what):
                raise MismatchError(f"Rank {self.rank} initializes key {key!r} with {what} {getattr(spec, what)}, but the "
                                    f"servers hold {what} {getattr(held, what)}.",
                                    hint="every worker passes an array of the same shape and type.", rank=self.rank, key=key,
                                    step=0)

    def _partition(self, key: Key) -> Partition:
        found = self._partitions.get(key)
        if found is None:
            found = self._partitions[key] = Partition(key, self.spec(key), self.shards)
        return found

    # pushes

    def push(self, parts: Sequence[Pushed], settings: str | None = None) -> None:
        """Push to several keys; what is sent is held until the next call that waits for the servers.

        Parameters
        ----------
        parts : list of Pushed
            At most one for each key.
        settings : str, optional
            Settings of the optimizer for this step, as JSON.
        """
        with self._lock:
            self._check_open()
            if self._left:
                raise UnsupportedError(f"Rank {self.rank} has called leave(), and cannot push any more.",
                                       hint="call leave() after the last push.")
            for part in parts:
                self.spec(part.key)
            if self._held.keys and (self._held.settings != settings or self._held.keys & {part.key for part in parts}):
                self.flush()
            self._held.settings = settings
            for part in parts:
                self._hold(part)

    def _hold(self, part: Pushed) -> None:
        """Number a push, and cut it into a part for each server that lacks it."""
        self._sequence[part.key] = sequence = self.step(part.key) + 1
        self._held.keys.add(part.key)
        empty = self._empty if part.threshold is None else _own
        for shard, local, own in _cut(self._partition(part.key), part.rows, part.values, empty):
            if self._servers[shard].last.get(part.key, 0) >= sequence:
                self._counts["skipped"] += 1
                continue
            own = own if part.threshold is None else pack(own)
            self._held.pushes.setdefault(shard, []).append(Push(part.key, sequence, local, own, part.clock, part.threshold))

    def check(self, key: Key, shape: tuple[int, ...], dtype: object = None, verb: str = "pushes") -> None:
        """Raise unless an array for a key has the shape of its value and, if one is given, the element type.

        Raises
        ------
        ParameterNameError
            If the key has not been initialized.
        MismatchError
            If the array does not fit.
        """
        spec = self.spec(key)
        if tuple(shape) != spec.shape:
            raise self._mismatch(key, verb, "shape", tuple(shape), spec.shape)
        if dtype is not None and np.dtype(dtype) != spec.dtype:  # type: ignore[call-overload]
            raise self._mismatch(key, verb, "element type", np.dtype(dtype), spec.dtype)  # type: ignore[call-overload]

    def _mismatch(self, key: Key, verb: str, what: str, got: object, wanted: object) -> MismatchError:
        step = self.step(key) + (verb == "pushes")
        return MismatchError(f"Rank {self.rank} {verb} an array of {what} {got} for key {key!r} at step {step}, but the value "
                             f"has {what} {wanted}.", hint="use arrays of the shape and type that the key was initialized with.",
                             rank=self.rank, key=key, step=step)

    def _queue_held(self) -> None:
        """Make a message to each server of what is held."""
        for shard, pushes in self._held.pushes.items():
            self._servers[shard].queue.append(_Message(tuple(pushes), self._held.settings))
        self._held = _Held()

    def flush(self) -> None:
        """Send what is held."""
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
            self._check_open()
            cuts = [(self._partition(key), None if rows is None else self._partition(key).split(rows)) for key, rows in wanted]
            self._queue_held()
            pulls: dict[int, list[tuple[Pull, int, Any]]] = {}  # Any: places, an array or a slice
            for number, ((key, _), (cut, parts)) in enumerate(zip(wanted, cuts, strict=True)):
                for shard, rows, places in ((one, None, None) for one in cut.holders) if parts is None else parts:
                    if rows is None or len(rows):
                        ids = None if rows is None else row_ids(rows, cut.count(shard))
                        pulls.setdefault(shard, []).append((Pull(key, self.step(key), ids), number, places))
            answers = self._exchange({shard: tuple(pull for pull, _, _ in some) for shard, some in pulls.items()})
            found = [self._room(key, rows) for key, rows in wanted]
            for shard, some in pulls.items():
                for (_, number, places), values in zip(some, answers[shard], strict=True):
                    if places is None:
                        cuts[number][0].put(found[number], shard, values)
                    else:
                        found[number][places] = values
            return found

    def _room(self, key: Key, rows: Array | None) -> Array:
        spec = self.spec(key)
        return np.empty(spec.shape if rows is None else (len(rows), *spec.shape[1:]), spec.dtype)

    def settle(self) -> None:
        """Wait until the servers have made every step to which this worker has pushed."""
        with self._lock:
            self._check_open()
            self._queue_held()
            none = np.zeros(0, np.int32)
            self._exchange({server.number: tuple(Pull(key, self.step(key), none) for key in server.specs if self.step(key))
                            for server in self._servers})

    # messages

    def _exchange(self, pulls: dict[int, tuple[Pull, ...]]) -> dict[int, list[Array]]:
        """Send the queues, and ask for values, until every server has answered."""
        todo = {server.number for server in self._servers if server.queue or pulls.get(server.number)}
        answers: dict[int, list[Array]] = {}
        wait = _Wait(self)
        self._counts["round_trips"] += bool(todo)
        while todo:
            shards = sorted(todo)
            requests = [self._request(self._servers[shard], pulls.get(shard, ())) for shard in shards]
            sent: list[tuple[int, str, tuple[object, ...]]] = [
                (shard, "exchange", (request,)) for shard, request in zip(shards, requests, strict=True)]
            try:
                replies = self._send(sent, wait.remaining())
            except JournalFullError as error:
                wait.full(error)
                continue
            reasons = []
            for shard, request, reply in zip(shards, requests, replies, strict=True):
                server = self._servers[shard]
                self._note(server, reply)
                if isinstance(reply, Waiting):
                    reasons += list(reply.reasons)
                elif isinstance(reply, Refused):
                    wait.refused(request, self._request(server, pulls.get(shard, ())))
                elif not server.queue and len(request.pulls) == len(pulls.get(shard, ())):
                    answers[shard] = list(reply.values)
                    todo.discard(shard)
            wait.note(reasons)
        return answers

    def _request(self, server: _Server, pulls: tuple[Pull, ...]) -> Request:
        """The next message to a server; the pulls go with the last one that is queued."""
        if len(server.queue) > 1:
            pulls = ()
        if not server.queue:
            return Request(self.rank, self.life, server.epoch, pulls=pulls)
        pushes, settings = server.queue[0]
        return Request(self.rank, self.life, server.epoch, pushes, pulls, None if settings == server.settings else settings)

    def _note(self, server: _Server, reply: Reply | Waiting | Refused) -> None:
        """Learn from an answer what the server has, and queue again what a restart has lost."""
        restarted = reply.epoch > server.epoch or isinstance(reply, Refused)
        server.epoch = reply.epoch
        server.last.update(reply.last)
        while server.queue and not server.lacks(server.queue[0]):
            server.kept = server.queue.popleft()
            server.settings = server.kept.settings
        if not restarted:
            return
        server.settings, server.anew = None, True
        self._requeue(server)

    def _requeue(self, server: _Server) -> None:
        """Queue again what a server has acknowledged, and a restart has lost."""
        for push in server.kept.pushes if server.kept is not None else ():
            has = server.last.get(push.key, 0)
            if has < push.sequence - 1:
                raise LostDataError(f"Server {server.number} has restarted with {has} pushes of key {push.key!r} by rank "
                                    f"{self.rank}, which has sent {push.sequence}.",
                                    hint="start the servers on the folder of their journal, or resume from a snapshot.",
                                    rank=self.rank, key=push.key, step=push.sequence)
        if server.kept is not None and server.lacks(server.kept):
            self._counts["resent"] += 1
            server.queue.appendleft(server.kept)

    def _send(self, requests: list[tuple[int, str, tuple[object, ...]]], timeout: float) -> list[Any]:
        """One call of the transport, counted."""
        for server in self._servers:
            if server.anew:
                server.anew = False
                self._remind(server, timeout)
        self._counts["calls"] += 1
        self._counts["bytes_sent"] += sum(payload_bytes(arguments) for _, _, arguments in requests)
        sink, began = self._notes.begin(timeout)
        start = self._clock()
        try:
            replies = self.transport.call(requests, timeout)
        except DistError as error:
            if error.rank is None:
                error.rank = self.rank
            raise
        finally:
            self._seconds += self._clock() - start
        self._counts["bytes_received"] += sum(payload_bytes(reply) for reply in replies)
        self._notes.end(sink, began, requests, replies)
        return list(replies)

    def _remind(self, server: _Server, timeout: float) -> None:
        """Tell a server that has started anew that this worker has left, or at which barrier it is."""
        if self._left:
            self.transport.call([(server.number, "leave", (self.rank, self.life))], timeout)
        if self._barriers and server.number == 0:
            self.transport.call([(0, "barrier", (self.rank, self.life, self._barriers))], timeout)

    def _call(self, requests: list[tuple[int, str, tuple[object, ...]]], what: str, timeout: float | None = None) -> list[Any]:
        """Call methods of servers, again while one says that it waits or that its disk is full."""
        wait = _Wait(self, timeout)
        self._counts["round_trips"] += 1
        answers: dict[int, Any] = {}
        while len(answers) < len(requests):
            todo = [number for number in range(len(requests)) if number not in answers]
            try:
                replies = self._send([requests[number] for number in todo], wait.remaining())
            except JournalFullError as error:
                wait.full(error)
                continue
            reasons = []
            for number, reply in zip(todo, replies, strict=True):
                if isinstance(reply, Waiting):
                    reasons += list(reply.reasons)
                else:
                    answers[number] = reply
            wait.note(reasons, what)
        return [answers[number] for number in range(len(requests))]

    # what all workers do together

    def barrier(self) -> None:
        """Wait until every worker that has not left has called this method."""
        with self._lock:
            self.flush()
            self._barriers += 1
            self._call([(0, "barrier", (self.rank, self.life, self._barriers))], f"barrier {self._barriers}")

    def leave(self) -> None:
        """Push no more: the other workers no longer wait for this one."""
        with self._lock:
            if self._left:
                return
            self.flush()
            while late := [server.number for server, welcome in zip(self._servers, self._greet(), strict=True)
                           if self.rank not in welcome.left]:  # again if a server that is being replaced has lost it
                self.flush()  # a server that has lost the last push must have it before
                self._call([(shard, "leave", (self.rank, self.life)) for shard in late], "leave")
            self._left = True

    def close(self) -> None:
        """Send what is held, if the servers can still be reached."""
        if self.failed is None and (self._held.keys or any(server.queue for server in self._servers)):
            with contextlib.suppress(DistError):
                self.flush()

    def dead(self, timeout: float | None = None) -> list[int]:
        """The ranks that the servers know to be lost."""
        with self._lock:
            return list(self._call([(0, "dead", ())], "the servers", timeout)[0])

    def silent(self, timeout: float) -> list[int]:
        """The servers that do not answer in time."""
        found = []
        with self._lock:
            for server in self._servers:
                try:
                    self._call([(server.number, "dead", ())], f"server {server.number}", timeout)
                except DistError:
                    found.append(server.number)
        return found

    # what the servers do

    def set_mode(self, mode: str) -> None:
        """Have the servers wait for all workers (``"sync"``) or for none (``"async"``).

        Raises
        ------
        MismatchError
            If workers have pushed already, or other workers have asked for the other mode.
        """
        with self._lock:
            if mode != self.mode:
                self._call([(server.number, "set_mode", (self.rank, self.life, mode)) for server in self._servers], "the mode")
                self.mode = mode

    def set_optimizer(self, text: str, placement: Callable[[Key], str]) -> None:
        """Have the servers make a step of an optimizer with each sum; that of rank 0 counts.

        Parameters
        ----------
        text : str
            From ``optimizer.states.described``.
        placement : callable
            Gives where the value of a key must lie.
        """
        with self._lock:
            self.flush()
            self._optimizers += 1
            self._placement = placement
            if self.rank == 0:
                self._command("optimizer", self._optimizers, [text] * self.shards)
            elif self.mode == "async":
                self._await("optimizer", self._optimizers)
            self._move({key: spec._replace(placement=placement(key)) for key, spec in self.specs().items()
                        if spec.placement != placement(key) and placement(key) != "rows"})

    def _command(self, what: str, number: int, arguments: Sequence[object]) -> None:  # object: what the method takes
        """Give every server a command, again if a server that is being replaced has lost it."""
        method = {"states": "set_optimizer_states"}.get(what, what)
        while late := [server.number for server, welcome in zip(self._servers, self._greet(), strict=True)
                       if getattr(welcome, what) < number]:
            self._call([(shard, method, (self.rank, self.life, number, arguments[shard])) for shard in late], f"the {what}")

    def _await(self, what: str, number: int) -> None:
        """Wait until rank 0 has given the servers a command; only asynchronous pushes may come before it."""
        wait = _Wait(self)
        while any(getattr(welcome, what) < number for welcome in self._greet()):
            wait.note([(None, number, (0,))], f"the {what}")
            time.sleep(PAUSE)
            self._waited[0] += PAUSE

    def _move(self, specs: dict[Key, KeySpec]) -> None:
        """Give keys to other servers, before the first step; every worker calls it."""
        if not specs:
            return
        self.barrier()
        if self.rank == 0:
            values = self.pull([(key, None) for key in specs])
            calls: list[tuple[int, str, tuple[object, ...]]] = []
            for (key, spec), whole in zip(specs.items(), values, strict=True):
                (home,) = Partition(key, spec, self.shards).holders
                every = row_ids(np.arange(len(whole)), len(whole)) if spec.stype == "row_sparse" else None
                stored = _nonzero(every, whole)
                calls += [(shard, "reinit", (self.rank, self.life, key, spec, *(stored if shard == home else (None, None))))
                          for shard in {home, *self._partition(key).holders}]
            self._call(calls, "reinit")
        self.barrier()
        for server in self._servers:
            server.specs = {}
        self._partitions.clear()
        self._greet()

    def optimizer_states(self, dump_optimizer: bool = False) -> list[bytes]:
        """The optimizer's states of each server, after this worker's last push."""
        with self._lock:
            self.settle()
            return list(self._call([(server.number, "optimizer_states", (dump_optimizer,)) for server in self._servers],
                                   "the states"))

    def set_optimizer_states(self, states: Sequence[bytes]) -> None:
        """Replace the optimizer's states of each server; those of rank 0 count, and the call returns when they are there."""
        with self._lock:
            self.flush()
            self._states += 1
            if self.rank == 0:
                self._command("states", self._states, states)
            self.barrier()

    # what is known

    @property
    def steps_done(self) -> int:
        """How many steps of this worker every server has: pushes to the key that was pushed least often."""
        return min((server.last.get(key, 0) for server in self._servers for key in server.specs), default=0)

    def resume(self) -> int:
        """Number pushes and barriers on from where a former life of this worker stopped; returns ``steps_done``."""
        with self._lock:
            done = self.steps_done
            self._sequence = dict.fromkeys(self.specs(), done)
            self._barriers = max(self._barriers, self._passed)
            return done

    def statistics(self) -> dict[str, Any]:
        """Round trips, calls, bytes of arrays sent and received, messages sent again, and seconds by what they were for.

        ``seconds`` is the time in calls, and ``waited`` the part of it in which another worker was waited for, by rank.
        """
        return {**self._counts, "seconds": self._seconds, "waited": dict(self._waited)}

    def profiles(self) -> list[Any]:
        """What each server tells of what it did, as plain data."""
        with self._lock:
            self._check_open()
            return self._call([(server.number, "profile", ()) for server in self._servers], "the servers")

    def _check_open(self) -> None:
        if self.failed is not None:
            raise self.failed


class _Wait:
    """One operation that may take several calls: its deadline, and for whom it waits."""

    def __init__(self, client: Client, timeout: float | None = None) -> None:
        self.client = client
        self.timeout = client.timeout if timeout is None else timeout
        self.start = client._clock()
        self.warn_at = client.warn_after
        self.begun = False
        self.why: tuple[Key | None, int, tuple[int, ...]] | None = None

    def remaining(self) -> float:
        """Seconds until the deadline, for another call; the first one may take a moment whatever the time-out is.

        Raises
        ------
        WaitTimeoutError
            If the deadline has passed.
        """
        left = self.timeout - (self.client._clock() - self.start)
        if self.begun and left <= 0:
            raise WaitTimeoutError(f"Rank {self.client.rank} has received no usable answer from the servers for "
                                   f"{self.timeout:.0f} s.", hint="check whether servers restart repeatedly.",
                                   rank=self.client.rank)
        self.begun = True
        return max(left, 0.001)

    def refused(self, request: Request, following: Request) -> None:
        """Wait a little before a server that has refused pushes gets the same ones again."""
        if request.pushes == following.pushes:
            time.sleep(PAUSE)

    def note(self, reasons: list[Any], what: str = "") -> None:
        """Learn for whom an answer said that it waits; report it, or raise after the deadline."""
        now = self.client._clock()
        if reasons:
            key, step, ranks = reasons[0]
            self.why = key, step, tuple(sorted({rank for _, _, some in reasons for rank in some})) or tuple(ranks)
            waited = now - self.start
            if waited >= self.warn_at:
                log.warning("%s", self._text(waited, what))
                self.warn_at *= 2
            if waited >= self.timeout:
                raise WaitTimeoutError(self._text(waited, what), hint="a worker that has fewer batches than others calls "
                                       "leave() after its last; timeout= changes how long the others wait.",
                                       rank=self.client.rank, key=key, step=step)

    def _text(self, waited: float, what: str) -> str:
        assert self.why is not None  # the only callers have reasons
        key, step, ranks = self.why
        whom = f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
        return f"Rank {self.client.rank} has waited {waited:.0f} s for {whom} ({what or f'key {key!r}, step {step}'})."

    def full(self, error: JournalFullError) -> None:
        """Wait a little for a server whose disk is full, or raise its error after the deadline."""
        if self.client._clock() - self.start + PAUSE >= self.timeout:
            raise error
        time.sleep(PAUSE)


def _own(shard: int, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Memory of this process alone."""
    return np.empty(shape, dtype)


def _cut(cut: Partition, rows: Array | None, values: Array, empty: Empty) -> Iterator[tuple[int, Array | None, Array]]:
    """The parts of a value, or of some rows of it, for each server that holds rows; parts are copies."""
    if rows is None:
        for shard in cut.holders:
            yield shard, None, cut.take(values, shard, empty(shard, cut.local_shape(shard), values.dtype))
        return
    for shard, local, places in cut.split(rows):
        own, ids = (empty(shard, (len(local), *shape), dtype) for shape, dtype in (
            (values.shape[1:], values.dtype), ((), id_type(cut.count(shard)))))
        ids[...] = local
        if isinstance(places, slice):
            own[...] = values
        else:
            np.take(values, places, axis=0, out=own, mode="clip")  # without it, numpy would fill a second array
        yield shard, ids, own


def _nonzero(rows: Array | None, values: Array) -> tuple[Array | None, Array]:
    """Rows of a row_sparse value and their values, without rows of zeros; of a dense value all.

    A row with a negative zero is kept, as its bits are not those of a row that is left out.
    """
    if rows is None:
        return rows, values
    bits = np.ascontiguousarray(values).view(f"u{values.itemsize}")
    stored = np.flatnonzero(bits.any(axis=tuple(range(1, bits.ndim))))
    return (rows, values) if len(stored) == len(rows) else (rows[stored], values[stored])


def _by_rows(key: Key) -> str:
    return "rows"


def client_of(transport: Transport) -> Client:
    """The one client of a transport, which all stores of a worker share."""
    held = vars(transport)
    found: Client | None = held.get("_client")
    if found is None:
        found = held["_client"] = Client(transport)
    return found


def finish(transport: Transport) -> None:
    """Send what a worker's stores hold; to be called when its program has ended."""
    found: Client | None = vars(transport).get("_client")
    if found is not None:
        found.flush()
