"""How workers reach servers: the protocol, and servers in this process, whose workers are threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from ..base import displays
from ..base.errors import DistError, NoClusterError, UnknownNameError, WaitTimeoutError, expected
from .arguments import check_numbers, check_settings, is_number_below
from .client import finish
from .messages import Reply, Request, Waiting
from .seen import ServerLog
from .shard import Shard

__all__ = ["LocalCluster", "LocalTransport", "Server", "ServerProcess", "Transport", "current", "set_current"]

Result = TypeVar("Result")

#: Methods of a shard that a transport may call.
METHODS = frozenset({"barrier", "clock", "dead", "exchange", "hello", "init", "join", "leave", "lost", "optimizer",
                     "optimizer_states", "profile", "reinit", "set_mode", "set_optimizer_states", "snapshot", "statistics"})
#: Seconds after which a server says at the latest for whom a call waits.
PATIENCE = 1.0


class Transport(Protocol):
    """How one worker reaches all servers.

    Attributes
    ----------
    shards, workers : int
        Numbers of servers and workers.
    rank : int
        Number of this worker.
    life : int
        Number of its incarnation.
    """

    shards: int
    rank: int
    workers: int
    life: int

    # object: arguments and results of the methods of a shard
    def call(self, requests: Sequence[tuple[int, str, tuple[object, ...]]], timeout: float) -> list[Any]:
        """Call methods of servers at once, and give what they return, in order.

        A server that starts again is waited for.  A server answers ``Waiting`` after a second at the latest.

        Parameters
        ----------
        requests : list of (shard, method, arguments)
        timeout : float
            Seconds.

        Raises
        ------
        WaitTimeoutError
            If a server does not answer in time.
        DistError
            What the method raised.
        """

    def processes(self) -> list[ServerProcess]:
        """The processes of the servers as they are now."""

    def kill(self, index: int) -> None:
        """End the process of a server at once, so that it is started again."""


@dataclass(frozen=True)
class ServerProcess:
    """The process of a server.

    Attributes
    ----------
    index : int
        Number of the server.
    pid : int
        Number of its process, on its machine.
    node : str
        What Ray calls its machine; empty if the server is part of this process.
    """

    index: int
    pid: int
    node: str


class Server:
    """A shard that several threads may call: one call at a time, and those that wait are answered when something changes.

    Parameters
    ----------
    make : callable
        ``make(started_before)`` makes the shard; called again if a call was interrupted in the midst of a step.
    started_before : bool
    spans : Path, optional
        A file in which the spans for profiles outlive the process.
    """

    def __init__(self, make: Callable[[bool], Shard], started_before: bool = False, spans: Path | None = None) -> None:
        self._make, self._changed = make, threading.Condition()
        start = time.perf_counter()
        self.shard = make(started_before)
        self.shard.recovery_seconds = time.perf_counter() - start
        self.log = ServerLog(self.shard, spans)
        self.stopped = False

    def call(self, method: str, arguments: tuple[Any, ...], patience: float = PATIENCE,
             again: bool = False) -> Any:  # Any: as in Transport.call
        """Call a method of the shard; a ``Waiting`` is given back after ``patience`` seconds without an answer.

        ``again`` says that the arguments have been here, so that their bytes are not counted twice.
        """
        if method not in METHODS:
            raise UnknownNameError.of("method of a server", method, METHODS)
        if method == "clock":  # without waiting for what another call does
            return self.log.clock()
        until = time.monotonic() + patience
        with self._changed:
            if method == "profile":
                return self.log.told(self.shard)
            note = self.log.begin(method, arguments, again)
            result = self._once(method, arguments)
            first = result
            if isinstance(result, Waiting) and method == "exchange":  # the pushes have been applied
                arguments = (arguments[0]._replace(pushes=()),)
            while isinstance(result, Waiting) and (rest := until - time.monotonic()) > 0:
                note.wait(self.shard)
                self._changed.wait(rest)
                note.waited(result)
                result = self._once(method, arguments)
            return note.end(_acknowledged(first, result), self.shard)

    def _once(self, method: str, arguments: tuple[Any, ...]) -> Any:  # Any: as in Transport.call
        if self.stopped:
            raise _StoppedError("The server has been stopped.")
        if self.shard.interrupted:
            self.shard.close()
            self.shard = self._make(True)
            self.log.follow(self.shard)
        before = self.shard.changes
        try:
            return getattr(self.shard, method)(*arguments)
        finally:
            if self.shard.changes != before:
                self._changed.notify_all()

    def stop(self) -> None:
        """Answer no more calls, as a server that has been killed."""
        with self._changed:
            self.stopped = True
            self.shard.close()
            self._changed.notify_all()


def _acknowledged(first: object, answer: object) -> object:  # object: as in Transport.call
    """An answer that also says what the first one said of pushes, which were not sent again with the question for it."""
    if isinstance(first, Waiting) and first.last and isinstance(answer, (Reply, Waiting)) and answer.epoch == first.epoch:
        return answer._replace(last={**first.last, **answer.last})
    return answer


class _StoppedError(DistError):
    """A server in this process has been stopped."""


class LocalCluster:
    """Servers in this process, whose workers are threads.

    Parameters
    ----------
    shards, workers : int
    folder : str, optional
        Where the servers keep their journals.
    mode, staleness, fsync : as in ``Shard``
    life : int
        Number of the first incarnation of each worker.
    **more
        Other arguments of ``Shard``.

    Examples
    --------
    >>> cluster = LocalCluster(shards=2, workers=2)
    >>> cluster.run(lambda: mx.kv.create("dist_sync").rank)
    [0, 1]
    """

    def __init__(self, shards: int = 1, workers: int = 1, folder: str | None = None, mode: str = "sync",
                 staleness: int | None = None, fsync: bool = False, life: int = 0, **more: Any) -> None:  # Any: as in Shard
        check_numbers(shards=shards, workers=workers)
        check_settings(mode, staleness)
        self.shards, self.workers, self.life = shards, workers, life
        self._made = (folder, shards, workers, mode, staleness, fsync, more)
        self.servers: list[Server | None] = [self._server(index, False) for index in range(shards)]
        self._started = threading.Condition()

    def _server(self, index: int, started_before: bool) -> Server:
        folder, shards, workers, mode, staleness, fsync, more = self._made

        def make(before: bool) -> Shard:
            return Shard(folder, index, shards, workers, mode, staleness, fsync, before, **more)

        return Server(make, started_before)

    def stop(self, index: int) -> None:
        """Stop a server, as if it had been killed."""
        self._check("index", index, self.shards)
        server, self.servers[index] = self.servers[index], None
        if server is not None:
            server.stop()

    def start(self, index: int) -> None:
        """Start a server that has been stopped, from its journal."""
        self.stop(index)
        self.servers[index] = self._server(index, True)
        with self._started:
            self._started.notify_all()

    @staticmethod
    def _check(name: str, number: object, limit: int) -> None:
        if not is_number_below(number, limit):
            raise DistError(expected(name, f"from 0 to {limit - 1}", number), hint="numbers of workers and servers begin with 0.")

    def wait_for(self, index: int, until: float) -> Server:
        """The server, when it is there.

        Raises
        ------
        WaitTimeoutError
            If it is not there at a time of ``time.monotonic``.
        """
        with self._started:
            while (server := self.servers[index]) is None:
                if not self._started.wait(max(0.0, until - time.monotonic())):
                    raise WaitTimeoutError(f"Server {index} does not answer.", hint="start it again.")
        return server

    def transport(self, rank: int, life: int | None = None) -> LocalTransport:
        """The transport of a worker."""
        self._check("rank", rank, self.workers)
        return LocalTransport(self, rank, self.life if life is None else life)

    def profiles(self) -> list[Any]:  # Any: profiles, which lie above
        """The profiles of the servers."""
        return [displays.call("server_profile", server.call("profile", ())) for server in self.servers if server is not None]

    def run(self, function: Callable[..., Result], *arguments: object) -> list[Result]:  # object: whatever the function takes
        """Call a function in a thread for each worker, in which ``current()`` is its transport; results by rank.

        The first error that a worker raises is raised when all have ended.  A worker that raises is lost to the others.
        A profiler around it records all workers; ``profiler.merge([prof, *cluster.profiles()])`` is one profile of all.

        Raises
        ------
        DistError
            If it is not callable, or a worker meets an error of training on several machines.
        """
        if not callable(function):
            raise DistError(expected("function", "callable", function), hint="pass the function itself, without calling it.")
        results: list[Any] = [None] * self.workers  # Any: results
        errors: list[BaseException] = []

        def work(rank: int) -> None:
            set_current(self.transport(rank), thread=True)
            try:
                results[rank] = function(*arguments)
                finish(current())
            except BaseException as error:  # of whatever kind, it is raised below
                errors.append(error)
                for index in range(self.shards):
                    if (server := self.servers[index]) is not None:
                        server.call("lost", (rank,))

        threads = [threading.Thread(target=work, args=(rank,), name=f"worker {rank}", daemon=True)
                   for rank in range(self.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return results

    def close(self) -> None:
        """Stop all servers."""
        for index in range(self.shards):
            self.stop(index)


class LocalTransport:
    """How a thread reaches the servers of a ``LocalCluster``.

    Parameters
    ----------
    cluster : LocalCluster
    rank, life : int
    """

    def __init__(self, cluster: LocalCluster, rank: int, life: int = 0) -> None:
        self.cluster, self.rank, self.life = cluster, rank, life
        self.shards, self.workers = cluster.shards, cluster.workers

    # Any, object: as in the protocol
    def call(self, requests: Sequence[tuple[int, str, tuple[object, ...]]], timeout: float) -> list[Any]:
        """As ``Transport.call``."""
        until = time.monotonic() + timeout
        asked = [(shard, method, tuple(_copied(one) for one in arguments)) for shard, method, arguments in requests]
        results = [self._call(*one, 0.0, until) for one in asked]
        for place, result in enumerate(results):  # all have been sent by now, and may wait for each other
            if isinstance(result, Waiting):
                shard, method, arguments = asked[place]
                if isinstance(arguments[0], Request):
                    arguments = (arguments[0]._replace(pushes=()),)
                patience = min(PATIENCE, until - time.monotonic())
                answer = self._call(shard, method, arguments, max(0.0, patience), until, again=True)
                results[place] = _acknowledged(result, answer)
        return results

    def processes(self) -> list[ServerProcess]:
        """As ``Transport.processes``: this process, for each server that is there."""
        return [ServerProcess(index, os.getpid(), "") for index, server in enumerate(self.cluster.servers) if server is not None]

    def kill(self, index: int) -> None:
        """As ``Transport.kill``; the server is started again at once."""
        self.cluster.start(index)

    # Any: as in the protocol
    def _call(self, shard: int, method: str, arguments: tuple[Any, ...], patience: float, until: float,
              again: bool = False) -> Any:
        """One call; Any: as in ``Transport.call``."""
        while True:
            server = self.cluster.wait_for(shard, until)
            try:
                return server.call(method, arguments, patience, again)
            except _StoppedError:
                if time.monotonic() > until:
                    raise WaitTimeoutError(f"Server {shard} does not answer.", hint="start it again.") from None


def _copied(argument: object) -> object:  # object: an argument of a method
    """An argument whose arrays the worker may write to while the server keeps them."""
    if isinstance(argument, Request):
        return argument._replace(pushes=tuple(
            push._replace(rows=None if push.rows is None else np.array(push.rows), values=np.array(push.values, order="C"))
            for push in argument.pushes))
    return argument


# the transport of this process


class _Here(threading.local):
    transport: Transport | None = None


_here = _Here()
_process: list[Transport] = []


def set_current(transport: Transport | None, thread: bool = False) -> None:
    """Set the transport that stores of this process use, or with ``thread`` those of this thread; None for none."""
    if thread:
        _here.transport = transport
    else:
        _process[:] = [] if transport is None else [transport]


def current() -> Transport:
    """The transport that stores use here.

    Raises
    ------
    NoClusterError
        If this process is not a worker of a distributed run.
    """
    if _here.transport is not None:
        return _here.transport
    if not _process:
        raise NoClusterError("A distributed store was requested outside a distributed run.",
                             hint="start a program with 'sparsekit launch -n 2 -s 2 script.py', a function with mx.dist.run().")
    return _process[0]
