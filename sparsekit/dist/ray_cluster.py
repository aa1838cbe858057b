"""Servers and workers as Ray's actors.  This module is the only one that imports Ray, and does so on first use."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import random
import runpy
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..base import rng
from ..base.errors import DistError, LostServerError, LostWorkerError, NoClusterError, NoRoomError, WaitTimeoutError, shown
from ..base.forking import load
from ..base.optional import optional_import
from ..base.platform import try_lock, user_number
from . import launch, transport
from .client import Client, ReplacedError
from .files import DamagedError, Snapshots, in_time, see_folder
from .head import MARK, clean_up
from .messages import ServerProcess, Setup, payload_bytes
from .output import Outputs, redirect
from .server import Server

if TYPE_CHECKING:
    from .messages import Payload
    from .seen import Request

#: The namespace of all actors, in which their names are looked up.
NAMESPACE = "sparsekit"

#: Bytes of Ray's memory for objects too large for a message; what does not fit goes to the temporary folder.
OBJECT_STORE = 100 << 20

#: Settings of a cluster of our own.  An argument or result of up to 1 MiB travels in the message itself: Ray's default is 100 kB,
#: and above it an array takes about 2 ms more, as it goes through the memory for objects.  Ray would run all workers with a lower
#: priority than other programs.
SYSTEM = {"max_direct_call_object_size": 1 << 20, "worker_niceness": 0, "timeout_ms_task_wait_for_death_info": 50}

#: Bytes of arrays up to which a message travels as one piece of bytes, in which Ray has no objects to look at.
PACKED = 1 << 16

#: Longest name of the folder for temporary files: a socket's path may have 107 characters, and Ray's own part takes about 75.
LONGEST_TEMPORARY = 20

#: Seconds between two signs of life, between two looks, and in which Ray answers what it knows.
BEAT, LOOK, SOON = 0.25, 0.1, 8.0

#: What Ray reads from the environment when it is imported and started.
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}

#: What tells Ray, when it is imported, that clusters listen to the loopback interface alone, as on a desktop.
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}

#: What a cluster of our own is started with, so that its processes keep their environment.
OWN_ENVIRONMENT = {**ENVIRONMENT, "SPT_NOENV": "1"}

#: The secret of this process's clusters.  Ray would write one to the home folder, and a process of Ray reads it once: a program
#: that has imported Ray before it asks for a cluster has clusters without one.
TOKEN = "RAY_AUTH_TOKEN"

#: The program that starts and ends a cluster.
HEAD = str(Path(__file__).parent / "head.py")

#: Seconds in which a cluster starts, and in which it ends.
START, END = 300.0, 30.0

#: What to do when a cluster has ended.
AGAIN = "start it again; a run with the same folder continues from its last snapshot."

log = logging.getLogger("sparsekit.dist")

#: Ray's handle of an actor, and its reference of an answer.
Actor: TypeAlias = Any  # Any: its methods are those of a class above
Reference: TypeAlias = Any  # Any: Ray does not say of what

os.environ.pop(MARK, None)  # in a process of Ray: what a user's program starts there is not Ray's


#: Whether Ray has been imported here with ``LOOPBACK``.
_alone: list[bool] = []


def load_ray(alone: bool = False) -> ModuleType:
    """Import Ray, or raise the error that names the extra; with ``alone`` for clusters that no other machine can reach."""
    before = set_environment(LOOPBACK) if alone and "ray" not in sys.modules else {}
    try:
        ray = optional_import("ray", "dist", "Training on several machines")
        if before:
            _alone.append(True)
        return ray
    finally:
        restore_environment(before)


# object, Any: whatever the function takes and gives
def within(seconds: float, subject: str, function: Callable[..., Any], *arguments: object) -> Payload:
    """What a call of Ray gives, which may wait for ever if the head of the cluster has ended.

    Raises
    ------
    NoClusterError
        If it has not come after so many seconds.
    """
    try:
        return in_time(seconds, function, *arguments)
    except TimeoutError as error:
        raise NoClusterError(f"The head of the Ray cluster has not answered for {seconds:.0f} s ({subject}).",
                             hint=AGAIN) from error


def machines(ray: ModuleType, seconds: float) -> list[dict[str, Any]]:  # Any: as Ray says
    """The machines of a cluster that live, asked for until its head answers, or for so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(Exception):
            return [node for node in ray.nodes() if node["Alive"]]
        time.sleep(1.0)
    raise TimeoutError


# --------------------------------------------------------------------------- the cluster


class Cluster:
    """Ray, started here or joined.

    Parameters
    ----------
    address : str, optional
        Address of a running cluster, ``"auto"`` for the one of this machine; a cluster of this process alone by default.
    processors : int, optional
        Processors that a cluster of this process counts; those of the machine by default.
    """

    def __init__(self, address: str | None = None, processors: int | None = None) -> None:
        self.address = address
        self.folder: Path | None = None
        self._ends = contextlib.ExitStack()
        running = sys.modules.get("ray")
        if running is not None and running.is_initialized():
            here = running.get_runtime_context().gcs_address
            if address not in (None, "local", "auto", here):
                raise NoClusterError(f"The cluster at {address} cannot be joined: this process is part of the one at {here}.",
                                     hint="call ray.shutdown() or mx.dist.disconnect() first.")
            return
        try:
            if address in (None, "local"):
                self._start(processors)
            else:
                self._join(str(address), log_to_driver=True)
        except BaseException:
            self.stop()
            raise

    def _start(self, processors: int | None) -> None:
        """Start a cluster of this process alone, in a temporary folder, by another process that ends it in any case."""
        optional_import("psutil", "dist", "Training on several machines")
        fresh = _alone or "ray" not in sys.modules
        if fresh and TOKEN not in os.environ and not Path("~/.ray/auth_token").expanduser().exists():
            os.environ[TOKEN] = os.urandom(32).hex()
        self._set({**OWN_ENVIRONMENT, "RAY_AUTH_MODE": "token" if fresh else "disabled"})
        load_ray(alone=True)
        prefix, place = f"sk-{user_number()}-", temporary_place()
        for left in launch.left_behind(Path(place), f"{prefix}*"):  # by a process that was killed with the one that would end it
            with contextlib.suppress(OSError):
                clean_up(str(left), (left / "mark").read_text())
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        try_lock(self._ends.enter_context((self.folder / "lock").open("w")).fileno())
        self._ends.callback(shutil.rmtree, self.folder, ignore_errors=True)
        mark = os.urandom(16).hex()
        (self.folder / "mark").write_text(mark)
        options = ["--include-dashboard=false", "--include-log-monitor=false", "--disable-usage-stats",
                   f"--object-store-memory={OBJECT_STORE}", f"--system-config={json.dumps(SYSTEM)}",
                   *([] if processors is None else [f"--num-cpus={processors}"])]
        head = subprocess.Popen(
            [sys.executable, "-P", HEAD, str(self.folder), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=(self.folder / "head.log").open("w"), text=True, start_new_session=True, cwd="/",
            env={**os.environ, **OWN_ENVIRONMENT, **(LOOPBACK if _alone else {}), MARK: mark})
        self._ends.callback(end_head, head)
        told = json.loads(within(START, "its start", head.stdout.readline) or "{}")  # type: ignore[union-attr]
        if "address" not in told:
            raise NoClusterError(f"Ray could not be started here: {told.get('error', 'its process has ended')}",
                                 hint="the machine may be too busy; try again.")
        self._join(told["address"], log_to_driver=False)

    def _join(self, address: str, log_to_driver: bool) -> None:
        """Join a running cluster."""
        host, _, port = address.rpartition(":")
        if _alone and log_to_driver:
            raise NoClusterError(f"The cluster at {address} cannot be joined: Ray has been imported here for clusters of this "
                                 "machine.", hint="join it in a fresh process, by mx.dist.connect(address).")
        try:
            if host and port.isdigit():
                socket.create_connection((host, int(port)), timeout=5.0).close()
            self._set(ENVIRONMENT)
            self._ends.callback(shut_down)
            load_ray().init(address=address, log_to_driver=log_to_driver, logging_level="ERROR", namespace=NAMESPACE)
        except (OSError, RuntimeError, ValueError) as error:
            lines = (str(error) or type(error).__name__).splitlines()[:6]  # so many name both versions, where these differ
            raise NoClusterError(f"There is no Ray cluster at {address!r} that this process can join: "
                                 f"{' '.join(map(str.strip, lines))}",
                                 hint="`ray start --head` starts one and prints its address.") from error

    def stop(self) -> None:
        """Leave the cluster; one that was started here ends, and its folder is removed."""
        self._ends.close()
        self.folder = None

    def _set(self, values: Mapping[str, str]) -> None:
        """Set variables of the environment that are not set, for as long as this process is part of the cluster."""
        self._ends.callback(restore_environment, set_environment(values))


def shut_down() -> None:
    """Leave the cluster that this process is part of, if it is part of one."""
    try:
        in_time(SOON, load_ray().shutdown)
    except TimeoutError:
        log.warning("%s", f"Ray has not left its cluster within {SOON:.0f} s, and is left alone.")
    except Exception:
        log.debug("Ray has not left its cluster.", exc_info=True)


def end_head(head: subprocess.Popen[str]) -> None:
    """Have the process that has started a cluster end it."""
    try:
        head.communicate(timeout=END)
    except subprocess.TimeoutExpired:
        log.warning("%s", f"Process {head.pid}, which ends the Ray cluster of this program, has not done so within {END:.0f} s.  "
                    "It goes on; the next run ends what it leaves.")


def temporary_place() -> str:
    """The folder for temporary files, or /tmp where its name is too long for sockets in it."""
    place = tempfile.gettempdir()
    return place if len(place) <= LONGEST_TEMPORARY else "/tmp"


def set_environment(values: Mapping[str, str]) -> dict[str, str | None]:
    """Set variables that are not set, and return what was there before."""
    before = {name: os.environ.get(name) for name in values if name not in os.environ}
    for name in before:
        os.environ[name] = values[name]
    return before


def restore_environment(before: Mapping[str, str | None]) -> None:
    """Undo ``set_environment``."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# --------------------------------------------------------------------------- messages


def packed(message: object) -> object:  # object: whatever travels
    """A message with few bytes of arrays as bytes, in which Ray has no objects to look at; all else as it is."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL) if payload_bytes(message) <= PACKED else message


def unpacked(payload: Payload) -> Payload:
    """What was ``packed``."""
    return pickle.loads(payload) if isinstance(payload, bytes) else payload


def pickled(value: object) -> bytes:  # object: a function, an argument or a result
    """A function, an argument or a result as bytes; functions of a notebook or script travel by value.

    Raises
    ------
    DistError
        If it cannot be sent to another process.
    """
    try:
        data: bytes = load_ray().cloudpickle.dumps(value)
    except Exception as error:
        raise DistError(f"{shown(value)} cannot be sent to another process: {error}",
                        hint="open files, locks and connections inside the function.") from error
    return data


def unpickled(data: bytes) -> Payload:
    """The inverse of ``pickled``."""
    return load_ray().cloudpickle.loads(data)


def portable(error: Exception) -> Exception:
    """The error, or one with its text if it cannot be sent."""
    try:
        unpickled(load_ray().cloudpickle.dumps(error))
    except Exception:
        return DistError(f"{type(error).__name__}: {error}")
    return error


# --------------------------------------------------------------------------- servers


class ServerActor:
    """A server in a process of its own.  Errors do not travel as Ray's: a call gives whether it succeeded, and what."""

    def __init__(self, index: int) -> None:
        self.server = Server(index)
        self.server.node = str(load_ray().get_runtime_context().get_node_id())

    def __repr__(self) -> str:
        return "server"

    async def call(self, payload: Payload) -> Payload:
        """Call a method of the server."""
        answer = await self.server.call(*unpacked(payload))
        if answer is not None and not answer[0]:
            answer = False, portable(answer[1])
        return packed(answer)

    async def restore(self, epoch: int, setup: Setup, manifest: dict[str, Any] | None) -> Exception | None:  # Any: JSON
        """Begin an epoch; gives the error if it cannot."""
        try:
            await self.server.restore(epoch, setup, manifest)
        except Exception as error:
            return portable(error)
        return None

    async def end(self) -> None:
        """End this process at once, as a crash would."""
        os._exit(1)

    async def _ping(self, have: int = 0) -> dict[str, Any]:  # Any: plain data
        """A sign of life, given by a loop of its own."""
        return self.server.ping(have)


class RayTransport:
    """The way from a worker to the servers; see ``transport.Transport``.

    Parameters
    ----------
    setup : Setup
    rank, epoch : int
    handles : list
        Handles of the servers' actors.
    job : str
        Name of the job of ``connect``, whose processes are not started again from here.
    """

    def __init__(self, setup: Setup, rank: int, epoch: int, handles: list[Any], job: str = "") -> None:
        self._ray = load_ray()
        self.setup, self.rank, self.epoch, self.handles, self.job = setup, rank, epoch, handles, job

    def send(self, requests: Sequence[Request]) -> list[Any]:  # Any: Ray's references
        """As ``Transport.send``; Ray calls again a server that has been started again."""
        return [self.handles[index].call.remote(packed((self.epoch, method, arguments))) for index, method, arguments in requests]

    def results(self, sent: list[Any], seconds: float) -> list[Any]:  # Any: as in the protocol
        """As ``Transport.results``."""
        try:
            answers = [unpacked(answer) for answer in self._ray.get(sent, timeout=seconds)]
        except self._ray.exceptions.RayActorError:
            answers = [None]
        if self.job and None in answers:
            raise LostServerError(f"The job {self.job!r} has begun anew, as one of its processes has ended.",
                                  hint="start all its workers again; with a folder= they go on from the last snapshot.")
        return answers

    def kill(self, index: int) -> None:
        """As ``Transport.kill``."""
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.get(self.handles[index].end.options(max_task_retries=0).remote(), timeout=self.setup.timeout)


# --------------------------------------------------------------------------- places, servers and snapshots


@dataclass(frozen=True)
class Options:
    """How processes are placed and looked after.

    Attributes
    ----------
    worker, server : dict
        Ray's options for workers and servers, such as ``{"num_cpus": 4}``.
    strict : bool
        Whether each worker, and each server, must be on another machine.
    frozen_after : float
        Seconds after which a process that does not answer counts as frozen.
    place_within, start_within, load_within : float
        Seconds in which there must be room, processes must start, and a snapshot must be read.
    restarts : int
        How often a run goes back to the same snapshot.
    """

    worker: Mapping[str, Any] = field(default_factory=dict)  # Any: Ray's options
    server: Mapping[str, Any] = field(default_factory=dict)  # Any: as above
    strict: bool = False
    frozen_after: float = 30.0
    place_within: float = 8.0
    start_within: float = 120.0
    load_within: float = 600.0
    restarts: int = 3


class LostError(Exception):
    """A process is lost; the arguments are its kind, its number and how that was seen."""


class Group:
    """The servers of a run with their places, and the snapshots that they write.

    Parameters
    ----------
    setup : Setup
    options : Options
    workers : int
        Workers that need places, too.
    """

    def __init__(self, setup: Setup, options: Options, workers: int) -> None:
        self.ray = load_ray()
        self.setup, self.options, self._workers = setup, options, workers
        self.snapshots = None if setup.folder is None else Snapshots(Path(setup.folder))
        self.servers: list[Any] = []
        self.by_hand: list[int] = []
        self.epoch = self._epochs = 0
        self._place: Any = None
        self._nodes: set[str] = set()
        self._told: set[str] = set()

    @property
    def last(self) -> int:
        """The step of the last snapshot."""
        return 0 if self.snapshots is None else self.snapshots.last

    def warn(self, text: str) -> None:
        """Say something once."""
        if text and text not in self._told:
            self._told.add(text)
            log.warning("%s", text)

    # places

    def look(self, seconds: float = SOON) -> list[dict[str, Any]]:  # Any: as Ray says
        """The machines of the cluster that live, as its head says in so many seconds."""
        nodes: list[dict[str, Any]] = within(seconds, "its machines", machines, self.ray, seconds)  # Any: as above
        if not nodes:
            raise NoClusterError("No machine of the Ray cluster lives any more.", hint=AGAIN)
        return nodes

    def _bundles(self) -> list[dict[str, float]]:
        """What each place must have: worker *i* and server *i* share one, unless they ask for resources of their own."""
        worker, server = _needs(self.options.worker), _needs(self.options.server)
        workers, servers = self._workers, self.setup.servers
        if (worker.keys() | server.keys()) - {"CPU", "GPU", "memory"}:
            self._server_place = workers
            return [worker] * workers + [server] * servers
        self._server_place = 0
        both = {name: worker.get(name, 0.0) + server.get(name, 0.0) for name in {**worker, **server}}
        return [both if place < min(workers, servers) else worker if place < workers else server
                for place in range(max(workers, servers))]

    def _find_places(self) -> None:
        """Reserve places, each on another machine if there are so many or if that is asked for, else as far apart as possible.

        Raises
        ------
        NoRoomError
            If there is no room.
        """
        bundles, end = self._bundles(), time.monotonic() + self.options.place_within
        while True:
            nodes = self.look()
            policy = ("STRICT_SPREAD" if len(nodes) >= len(bundles) or self.options.strict else
                      "PACK" if len(nodes) == 1 else "SPREAD")
            self._remove_places()
            self._place = within(SOON, "a placement group", self.ray.util.placement_group, bundles, policy)
            try:
                self.ray.get(self._place.ready(), timeout=max(0.0, min(5.0, end - time.monotonic())))
                self._nodes = {node["NodeID"] for node in nodes}
                return
            except (self.ray.exceptions.RayError, TimeoutError):
                if time.monotonic() >= end:
                    names = sorted({name for bundle in bundles for name in bundle})
                    room = [{name: node["Resources"].get(name, 0) for name in names} for node in nodes]
                    raise NoRoomError(f"The cluster has no room for {len(bundles)} places of {bundles[0]} ({policy}): its "
                                      f"machines have {room}.", hint="start more machines, or ask for less.") from None

    def _remove_places(self) -> None:
        if self._place is not None:
            with contextlib.suppress(Exception):
                within(SOON, "a placement group", self.ray.util.remove_placement_group, self._place)
            self._place = None

    # Any: Ray's options; object: as above
    def placed_actor(self, cls: type, place: int, options: Mapping[str, Any], ping: str, **others: object) -> Actor:
        """A class as an actor in a place; its ping has a thread of its own."""
        strategy = self.ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(self._place, place)
        method = self.ray.method(concurrency_group="life")(vars(cls)[ping])
        actor = type(cls.__name__, (cls,), {"ping": method, "__module__": cls.__module__})
        chosen = {"num_cpus": 0, **options, "scheduling_strategy": strategy, **others}
        return self.ray.remote(concurrency_groups={"life": 1})(actor).options(**chosen)

    def _start(self) -> None:
        """Start all servers, in new places."""
        self.end()
        self._find_places()
        self.servers = [
            self.placed_actor(ServerActor, self._server_place + index, self.options.server, "_ping", max_restarts=-1,
                              max_task_retries=-1).remote(index) for index in range(self.setup.servers)]

    # epochs

    def begin(self) -> None:
        """Begin an epoch: all servers at the last snapshot that is whole.

        Raises
        ------
        LostDataError
            If no snapshot is whole, or a machine does not see the folder.
        LostServerError
            If a server cannot be started.
        """
        for _ in range(3):
            if not self.servers or self._nodes - {node["NodeID"] for node in self.look()}:  # a machine has gone
                self._start()
            silent = self._silent(time.monotonic() + self.options.start_within)
            if not silent:
                break
            self.warn(f"Servers {silent} have not started within {self.options.start_within:.0f} s; all get other places.")
            self._start()
        else:
            raise LostServerError(f"Servers {silent} cannot be started: their machines do not answer.",
                                  hint="see what Ray says of these machines.")
        while True:
            # A server that has begun an epoch does not begin it again, so each try has a number of its own.
            self._epochs += 1
            self.epoch = (1 if self.snapshots is None else self.snapshots.life) * 1_000_000 + self._epochs
            manifest, warnings = (None, []) if self.snapshots is None else self.snapshots.begin()
            for text in warnings:
                self.warn(text)
            error = self._restored(manifest)
            if error is None:
                return
            if not isinstance(error, DamagedError) or self.snapshots is None or manifest is None:
                raise error
            self.snapshots.refuse(manifest)
            self.warn(f"{error} The snapshot of step {manifest['step']} is not used.")

    def _restored(self, manifest: dict[str, Any] | None) -> Exception | None:  # Any: JSON
        """What keeps a server from beginning an epoch, as soon as one says so; None when all have begun.

        Raises
        ------
        LostServerError
            If a server does not answer in time.
        """
        asked = {server.restore.remote(self.epoch, self.setup, manifest): index for index, server in enumerate(self.servers)}
        left, end = list(asked), time.monotonic() + self.options.load_within
        while left:
            ready, left = self.ray.wait(left, timeout=max(0.0, end - time.monotonic()))
            if not ready:
                raise LostServerError(f"Servers {[asked[reference] for reference in left]} have not loaded the snapshot within "
                                      f"{self.options.load_within:.0f} s.", hint="see why their machines do not go on.")
            error: Exception | None = self.ray.get(ready[0])
            if error is not None:
                return error
        return None

    def _silent(self, end: float) -> list[int]:
        """The servers that do not answer until then."""
        left = dict(enumerate(self.servers))
        while left and time.monotonic() < end:
            asked = {server.ping.options(max_task_retries=0).remote(): index for index, server in left.items()}
            ready, _ = self.ray.wait(list(asked), num_returns=len(asked), timeout=max(0.1, min(5.0, end - time.monotonic())))
            for reference in ready:
                with contextlib.suppress(self.ray.exceptions.RayError):
                    self.ray.get(reference)
                    del left[asked[reference]]
            time.sleep(0.05)
        return sorted(left)

    def ask(self, index: int) -> Reference:
        """Ask a server for a sign of life."""
        return self.servers[index].ping.options(max_task_retries=0).remote(self.last)

    def heard(self, index: int, told: dict[str, Any]) -> None:  # Any: as ``Server.ping`` gives
        """Take a sign of life of a server, and make a snapshot count whose parts have all been written.

        Raises
        ------
        LostError
            If it is not in this epoch: Ray has started it again.
        """
        if told["epoch"] != self.epoch:
            raise LostError("server", index, "has ended")
        self.by_hand = told["by_hand"] or self.by_hand
        self.warn(told["differs"])
        for step, text in told["failures"].items():
            self.warn(f"The snapshot of step {step} was given up: {text}. The last one is of step {self.last}.")
        if self.snapshots is not None:
            try:
                self.snapshots.collect(index, told["reports"], self.setup.servers, self.setup.workers, self.epoch)
            except OSError as error:
                self.warn(f"A snapshot was given up: {error}. The last one is of step {self.last}.")

    def kill(self, index: int) -> None:
        """End a server that does not answer; Ray starts it again."""
        within(SOON, "ending a server", lambda: self.ray.kill(self.servers[index], no_restart=False))

    def end(self) -> None:
        """End the servers, and give their places back."""
        for server in self.servers:
            with contextlib.suppress(Exception):
                within(SOON, "ending a server", self.ray.kill, server)
        self.servers = []
        self._remove_places()


def _needs(options: Mapping[str, Any]) -> dict[str, float]:  # Any: Ray's options
    """What a place must have for a process with some options; never nothing, which Ray does not allow."""
    named = {"CPU": options.get("num_cpus", 0), "GPU": options.get("num_gpus", 0), "memory": options.get("memory", 0),
             **(options.get("resources") or {})}
    return {"CPU": 0.001, **{name: float(number) for name, number in named.items() if number}}


# --------------------------------------------------------------------------- workers


@dataclass(frozen=True)
class Outcome:
    """How a worker's program has ended: its pickled result, or the error and the text that says where it was raised.

    Without both, the run has gone back meanwhile.
    """

    value: bytes | None = None
    error: Exception | None = None
    text: str = ""


class WorkerActor:
    """A worker in a process of its own, which runs the program once."""

    def __init__(self, rank: int, output: str | None) -> None:
        self.rank = rank
        if output is not None:
            redirect(Path(output), rank)
        load("sparsekit.kvstore")

    def __repr__(self) -> str:
        return f"rank {self.rank}"

    def _ping(self) -> int:
        """A sign of life, given by a thread of its own."""
        return os.getpid()

    def run(self, setup: Setup, epoch: int, seed: int, handles: list[Any], program: bytes) -> Outcome:
        """Run a pickled function without arguments, and say how it ended."""
        try:
            seed_generators([seed, self.rank])
            see_folder(setup, f"Rank {self.rank}")
            with joined(RayTransport(setup, self.rank, epoch, handles)):
                value = unpickled(program)()
            return Outcome(pickled(value))
        except ReplacedError:
            return Outcome()
        except SystemExit as leaving:
            return Outcome(None, None, f"SystemExit: {leaving.code}\n")
        except BaseException as error:
            kept = portable(error) if isinstance(error, Exception) else None
            return Outcome(None, kept, "".join(traceback.format_exception(type(error), error, own_part(error.__traceback__))))
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()


def seed_generators(seed: list[int]) -> None:
    """Have a worker draw the same random numbers each time that its program begins."""
    first, second, third = np.random.SeedSequence(seed).generate_state(3).tolist()
    random.seed(first)
    np.random.seed(second)
    rng.seed(third)


#: Files whose frames are left out of a worker's traceback: what stands between Ray and the user's function.
HIDDEN_FILES = (__file__, launch.__file__, "<frozen runpy>", runpy.__file__)


def own_part(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins in the user's program; all of it if that did not run."""
    inner = trace
    while inner is not None and (
            (file := inner.tb_frame.f_code.co_filename) in HIDDEN_FILES or "/site-packages/ray/" in file):
        inner = inner.tb_next
    return inner or trace


@contextlib.contextmanager
def joined(way: RayTransport) -> Iterator[None]:
    """The way that stores of this process take to the servers.

    A program that has ended without an error pushes nothing any more: the other workers go on without this one.
    """
    transport.set_current(way)
    try:
        yield
        transport.finish(leaves=True)
    finally:
        transport.set_current(None)


class Driver:
    """One run: it places and starts processes, sees whether they live, and goes back to the last snapshot when one does not.

    Parameters
    ----------
    setup : Setup
    options : Options
    program : bytes
        A pickled function without arguments.
    output : str or None
        A folder in which workers write what they print; None if Ray shows it.
    """

    def __init__(self, setup: Setup, options: Options, program: bytes, output: str | None) -> None:
        self.ray = load_ray()
        self.group = Group(setup, options, setup.workers)
        self.setup, self.options, self.program, self.output = setup, options, program, output
        self.seed = random.SystemRandom().getrandbits(32) if self.group.snapshots is None else self.group.snapshots.seed
        self.workers: list[Any] = []
        self.told: list[Any] = []
        self._outputs = Outputs(Path(output or ""), 0 if output is None else setup.workers)

    def results(self) -> list[Any]:  # Any: what the workers return
        """Run to the end, and leave nothing behind."""
        tried: Counter[int] = Counter()
        try:
            while True:
                try:
                    self.group.begin()
                    self._start_workers()
                    return self._watch()
                except LostError as lost:
                    tried[self.group.last] += 1
                    kind, index, how = lost.args
                    self._go_back(kind, index, how, tried[self.group.last])
        finally:
            self._end_workers()
            self.group.end()
            self._outputs.show(last=True)

    def _start_workers(self) -> None:
        group = self.group
        self.workers = [group.placed_actor(WorkerActor, rank, self.options.worker, "_ping").remote(rank, self.output)
                        for rank in range(self.setup.workers)]
        self._runs = {worker.run.remote(self.setup, group.epoch, self.seed, group.servers, self.program): rank
                      for rank, worker in enumerate(self.workers)}

    def _end_workers(self) -> None:
        for worker in self.workers:
            with contextlib.suppress(Exception):
                within(SOON, "ending a worker", self.ray.kill, worker)
        self.workers = []

    def _go_back(self, kind: str, index: int, how: str, times: int) -> None:
        """Prepare another epoch, or raise the error that says why there is none."""
        event = f"{kind.capitalize()} {index} {how}"
        error = LostServerError if kind == "server" else LostWorkerError
        rank = {"rank": index} if kind == "worker" else {}
        if self.group.by_hand:
            raise error(f"{event}, and the program does not say where its data stand.", **rank,
                        hint="call kv.resume() before the first step and kv.end_step() after each: then a run goes on.") from None
        if times > self.options.restarts:
            raise error(f"{event}; a process was lost {times} times at step {self.group.last}.", **rank,
                        hint="read what the processes printed; restarts= says how often a run goes back.") from None
        log.warning("%s", f"{event}. All workers go back to step {self.group.last}.")
        self._end_workers()
        if kind == "server" and "answered" in how:
            self.group.kill(index)

    def _watch(self) -> list[Any]:  # Any: what the workers return
        """Wait until all workers are done.

        Raises
        ------
        LostError
            If a process is lost.
        """
        begun = looked = due = time.monotonic()
        processes = [*(("server", index) for index in range(self.setup.servers)),
                     *(("worker", rank) for rank in range(self.setup.workers))]
        heard: dict[Any, float] = {}  # Any: kind and number of a process
        asked: dict[Any, Any] = {}  # Any: Ray's references; as above
        values: dict[int, bytes] = {}
        while len(values) < self.setup.workers:
            now = time.monotonic()
            if now >= due:
                due = now + BEAT
                for process in [process for process in processes if process not in asked.values()]:
                    asked[self.group.ask(process[1]) if process[0] == "server"
                          else self.workers[process[1]].ping.remote()] = process
            for process in processes:
                limit = (self.options.frozen_after if process in heard
                         else max(self.options.start_within, self.options.frozen_after))
                if now - heard.get(process, begun) > limit:
                    raise LostError(*process, f"has not answered for {limit:.0f} s")
            if now > looked + 1.0:
                self.group.look(max(self.options.frozen_after, SOON))
                looked = time.monotonic()
                # no answer was read while the head was asked
                heard = {process: at + looked - now for process, at in heard.items()}
            ready, _ = self.ray.wait([*self._runs, *asked], timeout=LOOK)
            for reference in ready:
                if reference in self._runs:
                    rank, value = self._ended(reference)
                    values[rank] = value
                    continue
                process = asked.pop(reference)
                try:
                    answer = self.ray.get(reference)
                except self.ray.exceptions.RayActorError as error:
                    if process[0] == "worker":
                        raise LostError(*process, "has ended") from error
                    continue  # it is being started again, and will answer that it is in no epoch
                heard[process] = time.monotonic()
                if process[0] == "server":
                    self.group.heard(process[1], answer)
            self._outputs.show()
        if self.setup.profile:
            try:
                self.told = Client(RayTransport(self.setup, -1, self.group.epoch, self.group.servers)).profiles()
            except ReplacedError:
                raise LostError(*self._restarted(), "has ended") from None
        return [unpickled(values[rank]) for rank in range(self.setup.workers)]

    def _ended(self, reference: Reference) -> tuple[int, bytes]:
        """Rank and pickled result of a worker whose program has ended.

        Raises
        ------
        LostError
            If its process, or another one, was lost.
        DistError
            If the program has raised an error.
        """
        rank = self._runs.pop(reference)
        errors = self.ray.exceptions
        try:
            outcome: Outcome = self.ray.get(reference)
        except errors.RayTaskError as error:
            outcome = Outcome(None, error.cause if isinstance(error.cause, Exception) else None, str(error))
        except errors.RayError as error:
            if "creation task" in str(error):  # its process could not be prepared, and another one could not either
                raise LostWorkerError(f"Rank {rank} cannot be started: {error}", rank=rank) from error
            raise LostError("worker", rank, "has ended") from error
        if outcome.value is not None:
            return rank, outcome.value
        if isinstance(outcome.error, DistError):
            outcome.error.add_note(f"Raised by rank {rank}:\n{outcome.text}")
            raise outcome.error
        if outcome == Outcome():
            raise LostError(*self._restarted(), "has ended")
        raise LostWorkerError(f"Rank {rank} has ended with an error:\n{outcome.text}", rank=rank) from outcome.error

    def _restarted(self) -> tuple[str, int]:
        """Which server has been started again, so that workers were told that the run goes back."""
        for index in range(self.setup.servers):
            with contextlib.suppress(self.ray.exceptions.RayError, TimeoutError):
                if self.ray.get(self.group.ask(index), timeout=SOON)["epoch"] == self.group.epoch:
                    continue
            return "server", index
        return "server", 0


# --------------------------------------------------------------------------- workers that other programs start


class KeeperActor:
    """Keeps the servers of a job of ``connect``: it makes their snapshots count, and ends with the last worker."""

    def __init__(self, setup: Setup, options: Options) -> None:
        self.setup, self.group = setup, Group(setup, options, 0)
        self.present: set[int] = set()
        self.lock, self.going = threading.RLock(), False
        threading.Thread(target=self._watch, daemon=True).start()

    def join(self, rank: int) -> tuple[Any, ...]:  # Any: an error, or what a transport needs
        """Take in a worker.  One that comes again begins an epoch: the others have to come again, too."""
        with self.lock:
            try:
                if not self.going or rank in self.present:
                    self.present = set()
                    self.group.begin()
                    self.going = True
            except Exception as error:
                return (portable(error),)
            self.present.add(rank)
            return self.way()

    def part(self, rank: int, epoch: int) -> int:
        """Let a worker go; gives how many are left."""
        with self.lock:
            if epoch == self.group.epoch:
                self.present.discard(rank)
            return len(self.present)

    def way(self) -> tuple[Setup, int, list[Actor]]:
        """What a transport needs."""
        return self.setup, self.group.epoch, self.group.servers

    def _watch(self) -> None:
        """Collect what servers have written, and see whether one was started again."""
        ray = load_ray()
        while True:
            time.sleep(BEAT)
            with self.lock:
                if not self.going:
                    continue
                for index in range(self.setup.servers):
                    try:
                        self.group.heard(index, ray.get(self.group.ask(index), timeout=self.group.options.frozen_after))
                    except LostError:
                        self.going = False
                    except TimeoutError:
                        self.group.kill(index)
                        self.going = False
                    except ray.exceptions.RayError:
                        continue


def keeper_of(job: str) -> Actor:
    """The keeper of a job, or None."""
    try:
        return within(SOON, f"the job {job!r}", load_ray().get_actor, f"{job}/keeper", NAMESPACE)
    except ValueError:
        return None


def answered(answer: Reference, job: str, seconds: float, rank: int | None = None) -> Payload:
    """What the keeper of a job answers.

    Raises
    ------
    WaitTimeoutError
        If it has not answered in time.
    """
    try:
        return load_ray().get(answer, timeout=seconds)
    except TimeoutError as error:
        raise WaitTimeoutError(f"The job {job!r} has not answered within {seconds:.0f} s.", rank=rank,
                               hint="see whether Ray has room for its servers; mx.dist.stop_servers() ends a job.") from error


def servers_of(job: str) -> list[ServerProcess]:
    """The processes of the servers of a job, none if there is no such job."""
    keeper = keeper_of(job)
    if keeper is None:
        return []
    setup, epoch, handles = answered(keeper.way.remote(), job, SOON)
    return Client(RayTransport(setup, -1, epoch, handles, job), SOON).processes()


def stop_keeper(job: str) -> int:
    """End a job; gives how many servers it had."""
    keeper, count = keeper_of(job), 0
    if keeper is not None:
        with contextlib.suppress(load_ray().exceptions.RayError, WaitTimeoutError):
            count = len(answered(keeper.way.remote(), job, SOON)[2])
        with contextlib.suppress(Exception):
            within(SOON, f"ending the job {job!r}", load_ray().kill, keeper)
    return count


def join(job: str, setup: Setup, options: Options, rank: int) -> RayTransport:
    """Make this process a worker of a job, which is begun if it is not there.

    Raises
    ------
    WaitTimeoutError
        If the job does not answer in time.
    DistError
        What keeps it from beginning.
    """
    ray, until = load_ray(), time.monotonic() + setup.timeout
    actor = ray.remote(num_cpus=0, max_concurrency=4 * setup.workers + 4)(KeeperActor)
    while True:
        keeper = actor.options(name=f"{job}/keeper", namespace=NAMESPACE, lifetime="detached", get_if_exists=True).remote(
            setup, options)
        try:
            reply = answered(keeper.join.remote(rank), job, max(until - time.monotonic(), 0.1), rank=rank)
            break
        except ray.exceptions.RayActorError as error:  # the last worker has just ended it
            if time.monotonic() > until:
                raise LostServerError(f"The job {job!r} has ended, or is started again and again.", rank=rank,
                                      hint="call mx.dist.connect() again.") from error
    if len(reply) == 1:
        raise reply[0]
    way = RayTransport(reply[0]._replace(timeout=setup.timeout), rank, reply[1], reply[2], job)
    see_folder(way.setup, f"Rank {rank}")
    transport.set_current(way)
    return way


def part(way: RayTransport) -> None:
    """Undo ``join``; the last worker of a job ends it.

    Raises
    ------
    WaitTimeoutError
        If the job does not answer in time.
    """
    try:
        with contextlib.suppress(LostServerError):
            transport.finish(leaves=True)
    finally:
        transport.set_current(None)
        keeper = keeper_of(way.job)
        if keeper is not None:
            with contextlib.suppress(load_ray().exceptions.RayActorError):
                if answered(keeper.part.remote(way.rank, way.epoch), way.job, way.setup.timeout, rank=way.rank) == 0:
                    stop_keeper(way.job)
