"""How workers reach servers: the protocol, and servers in this process, whose workers are threads."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ..base import displays
from ..base.checks import whole
from ..base.errors import DistError, NoClusterError, UnsupportedError, expected
from .client import Client
from .messages import Exchange, Setup
from .server import Server

if TYPE_CHECKING:
    from .seen import Request

Result = TypeVar("Result")


class Transport(Protocol):
    """How one worker reaches all servers.

    Attributes
    ----------
    setup : Setup
    rank : int
        Number of this worker.
    epoch : int
        Of the run.
    """

    setup: Setup
    rank: int
    epoch: int

    def send(self, requests: Sequence[Request]) -> list[Any]:  # Any: what ``results`` takes
        """Call methods of servers, ``(server, method, arguments)``, without waiting for answers."""

    def results(self, sent: list[Any], seconds: float) -> list[Any]:  # Any: what ``send`` gave; as ``Server.call``
        """What ``Server.call`` gives for each request.

        Raises
        ------
        TimeoutError
            If an answer is missing after so many seconds; it may be asked for again.
        DistError
            If a server has ended, and the run cannot go on.
        """

    def kill(self, index: int) -> None:
        """End the process of a server at once."""


class LocalCluster:
    """Servers in this process, whose workers are threads; they take no snapshots.

    Parameters
    ----------
    shards, workers : int
    staleness : int, optional
        In an asynchronous run, how many steps a worker may be ahead of the slowest; any number by default.

    Examples
    --------
    >>> cluster = LocalCluster(shards=2, workers=2)
    >>> cluster.run(lambda: mx.kv.create("dist_sync").rank)
    [0, 1]
    """

    def __init__(self, shards: int = 1, workers: int = 1, staleness: int | None = None) -> None:
        whole("shards", shards, 1, error=DistError)
        self.setup = Setup(workers, shards, staleness=staleness).checked()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self.loop,), name="servers", daemon=True).start()
        self.close = weakref.finalize(self, self.loop.call_soon_threadsafe, self.loop.stop)
        self.servers = [Server(index) for index in range(shards)]
        for server in self.servers:
            asyncio.run_coroutine_threadsafe(server.restore(1, self.setup, None), self.loop).result()

    def call(self, index: int, method: str, arguments: tuple[Any, ...]) -> Future[Any]:  # Any: as methods of servers say
        """Call a method of a server."""
        return asyncio.run_coroutine_threadsafe(self.servers[index].call(1, method, arguments), self.loop)

    def transport(self, rank: int) -> LocalTransport:
        """The transport of a worker."""
        return LocalTransport(self, whole("rank", rank, 0, self.setup.workers - 1, "numbers of workers begin with 0.", DistError))

    def profiles(self) -> list[Any]:  # Any: profiles, which lie above
        """The profiles of the servers."""
        told = [self.call(index, "profile", ()).result()[1] for index in range(self.setup.servers)]
        return [displays.call("server_profile", profile) for profile in told]

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
        results: list[Any] = [None] * self.setup.workers  # Any: results
        errors: list[BaseException] = []

        def work(rank: int) -> None:
            set_current(self.transport(rank), thread=True)
            try:
                results[rank] = function(*arguments)
                finish()
            except BaseException as error:  # of whatever kind, it is raised below
                errors.append(error)
                for index in range(self.setup.servers):
                    self.call(index, "lost", (rank,)).result()

        threads = [threading.Thread(target=work, args=(rank,), name=f"worker {rank}", daemon=True)
                   for rank in range(self.setup.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return results


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped."""
    loop.run_forever()
    loop.close()


class LocalTransport:
    """How a thread reaches the servers of a ``LocalCluster``.

    Parameters
    ----------
    cluster : LocalCluster
    rank : int
    """

    epoch = 1

    def __init__(self, cluster: LocalCluster, rank: int) -> None:
        self.cluster, self.rank, self.setup = cluster, rank, cluster.setup

    def send(self, requests: Sequence[Request]) -> list[Any]:  # Any: as in the protocol
        """As ``Transport.send``."""
        return [self.cluster.call(index, method, tuple(map(_copied, arguments))) for index, method, arguments in requests]

    def results(self, sent: list[Any], seconds: float) -> list[Any]:  # Any: as in the protocol
        """As ``Transport.results``."""
        until = time.monotonic() + seconds
        return [call.result(max(0.0, until - time.monotonic())) for call in sent]

    def kill(self, index: int) -> None:
        """Refused: the servers are part of this process.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(f"Server {index} is part of this process, and cannot be killed.",
                               hint="mx.dist.run() starts servers in processes of their own.")


def _copied(argument: object) -> object:  # object: an argument of a method
    """An argument whose arrays the worker may write to while the server keeps them."""
    if isinstance(argument, Exchange):
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


def client_here() -> Client:
    """The one client of the current transport, which all stores of a worker share."""
    held = vars(current())
    client: Client | None = held.get("_client")
    if client is None:
        client = held["_client"] = Client(current())
    return client


def finish(leaves: bool = False) -> None:
    """Send what a worker's stores hold, and with ``leaves`` push no more; to be called when its program has ended."""
    client: Client | None = vars(current()).get("_client")
    if client is not None:
        client.leave() if leaves else client.flush()
