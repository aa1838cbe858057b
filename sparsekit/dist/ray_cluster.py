"""Servers and workers as Ray's actors.  This module is the only one that imports Ray, and does so on first use."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import logging
import os
import pickle
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..base.errors import DistError, FencedError, LostServerError, NoClusterError, SparsekitError, WaitTimeoutError, shown
from ..base.forking import load
from ..base.optional import optional_import
from . import launch, transport
from .client import client_of
from .messages import Reply, Request, payload_bytes
from .output import redirect
from .rehearsal import Rehearsal
from .shard import Shard
from .shared_memory import Mapped, Room, placed
from .watcher import MARK, end_process, start_time

if TYPE_CHECKING:
    from ..base.types import Array, DTypeLike

__all__ = ["Cluster", "Job", "Outcome", "RayTransport", "Worker", "ask", "join", "joined", "load_ray", "part", "pickled",
           "portable", "processes_of", "servers_of", "start_servers", "stop", "tell_lost", "unpickled", "wait"]

#: The namespace of all actors, in which their names are looked up.
NAMESPACE = "sparsekit"

#: Bytes of Ray's memory for objects too large for a message; what does not fit goes to the temporary folder.
OBJECT_STORE = 100 << 20

#: Settings of a cluster of our own.  An argument or result of up to 1 MiB travels in the message itself: Ray's default is 100 kB,
#: and above it an array takes about 2 ms more, as it goes through the memory for objects.  Ray would run all workers with a lower
#: priority than other programs.
SYSTEM = {"max_direct_call_object_size": 1 << 20, "worker_niceness": 0, "timeout_ms_task_wait_for_death_info": 50}

#: What Ray starts beside a cluster that a cluster of one process has no use for: 100 MB and half a second each.
UNUSED = ("start_monitor", "start_api_server", "start_log_monitor")

#: Longest name of the folder for temporary files: a socket's path may have 107 characters, and Ray's own part takes about 75.
LONGEST_TEMPORARY = 20

#: Seconds after which a server that has not answered is asked whether it is alive.  It answers everything within about a second.
PATIENCE = 2.0

#: Seconds between two attempts to reach a server that is started again.
PAUSE = 0.05

#: Tells Ray to listen to the loopback interface alone, as it does on a desktop.
LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"

#: What Ray reads from the environment when it is imported and started.
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0"}

#: Lines that Ray always shows, and lines that it leaves out: all that workers print is shown, also what several print alike;
#: that a process has died we say ourselves, in fewer words.
ALLOWED, SKIPPED = re.compile("^(?!A worker died)"), re.compile("^A worker died")

#: The secret of this process's clusters.  Ray would write one to the home folder, and a process of Ray reads it once.
TOKEN = "RAY_AUTH_TOKEN"

log = logging.getLogger("sparsekit.dist")

os.environ.pop(MARK, None)  # in a process of Ray: what a user's program starts there is not Ray's


#: Tells Ray's processes not to write the name that they show over their environment.
KEPT = {"SPT_NOENV": "1"}

#: A folder with a module that spares each of Ray's processes a second.
BEFORE = str(Path(__file__).parent / "before_ray")

#: The program that ends what is left of a cluster.
WATCHER = str(Path(__file__).parent / "watcher.py")


def load_ray() -> ModuleType:
    """Import Ray, or raise the error that names the extra."""
    first = "ray" not in sys.modules
    if first:
        sys.path.insert(0, BEFORE)
    try:
        return optional_import("ray", "dist", "Training on several machines")
    finally:
        if first and BEFORE in sys.path:  # the module in there takes it away when it is imported
            sys.path.remove(BEFORE)


@dataclass(frozen=True)
class Job:
    """What servers and workers of one job know."""

    name: str
    workers: int = 1
    servers: int = 1
    folder: str | None = None
    mode: str = "sync"
    staleness: int | None = None
    fsync: bool = False
    timeout: float = 120.0
    frozen_after: float = 5.0
    first_life: int = 1
    again: bool = False
    detached: bool = False
    options: tuple[tuple[str, object], ...] = ()  # Ray's options of the servers' actors
    profile: bool = False

    def server_name(self, index: int) -> str:
        """Name of a server's actor."""
        return f"{self.name}/server-{index}"

    def spans_of(self, index: int) -> Path | None:
        """Where the spans of all lives of a server are kept, if a profile is asked for."""
        return Path(self.folder) / f"server-{index}.{self.name}.spans" if self.profile and self.folder is not None else None


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
        self.owned = self.started = False
        self.folder: Path | None = None
        self._lock: IO[str] | None = None
        self._environment: dict[str, str | None] = {}
        self._filters: dict[Any, tuple[Any, Any]] = {}
        self._watcher: subprocess.Popen[bytes] | None = None
        running = sys.modules.get("ray")
        if running is not None and running.is_initialized():
            self._check_same(running, address)
            return
        if address in (None, "local"):
            self._start(processors)
        else:
            self._join(str(address))
        self.started = True

    @staticmethod
    def _check_same(ray: ModuleType, address: str | None) -> None:
        """Raise ``NoClusterError`` if Ray runs at another address than the one asked for."""
        here = ray.get_runtime_context().gcs_address
        if address not in (None, "local", "auto", here):
            raise NoClusterError(f"The cluster at {address} cannot be joined: this process is part of the one at {here}.",
                                 hint="call ray.shutdown() or mx.dist.disconnect() first.")

    def _start(self, processors: int | None) -> None:
        """Start a cluster of this process alone, in a temporary folder."""
        remove_stale_folders()
        self.owned = True
        self.folder = Path(tempfile.mkdtemp(prefix=f"sk-{os.getuid()}-", dir=temporary_place()))
        self._lock = (self.folder / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._environment = set_environment({**ENVIRONMENT, LOOPBACK: "0"})
        if TOKEN not in os.environ and not Path("~/.ray/auth_token").expanduser().exists():
            os.environ[TOKEN] = os.urandom(32).hex()
        try:
            mark = os.urandom(16).hex()
            self._watcher = watched(self.folder, mark)
            listen_to_loopback(True)
            self._filters = set_filters()
            with light_start(), marked(mark):
                load_ray().init(
                    address="local", num_cpus=processors, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
                    object_store_memory=OBJECT_STORE, namespace=NAMESPACE, _node_ip_address="127.0.0.1",
                    _temp_dir=str(self.folder), _system_config=SYSTEM)
        except BaseException as error:
            self.stop()
            if type(error) is not Exception:  # Ray has no class of its own for it
                raise
            raise NoClusterError(f"Ray could not be started here: {error}",
                                 hint="the machine may be too busy; try again.") from error

    def _join(self, address: str) -> None:
        """Join a running cluster."""
        self._environment = set_environment(ENVIRONMENT)
        try:
            listen_to_loopback(False)
            self._filters = set_filters()
            load_ray().init(address=address, log_to_driver=True, logging_level="ERROR", namespace=NAMESPACE)
        except (ConnectionError, RuntimeError, ValueError) as error:
            restore_environment(self._environment)
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise NoClusterError(f"There is no Ray cluster at {address!r}: {reason}",
                                 hint="`ray start --head` starts one and prints its address.") from error

    def stop(self) -> None:
        """Leave the cluster; one that was started here ends, and its folder is removed."""
        if self.started or self.owned:
            with contextlib.suppress(Exception):
                load_ray().shutdown()
        restore_environment(self._environment)
        for filter_, before in self._filters.items():
            filter_.allow_re, filter_.skip_re = before
        self._environment, self._filters = {}, {}
        if self._watcher is not None:
            self._watcher.communicate()
            self._watcher = None
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
        self.folder, self._lock, self.started, self.owned = None, None, False, False


def watched(folder: Path, mark: str) -> subprocess.Popen[bytes]:
    """Start the process that cleans up after a cluster in this folder, when this process stops it or ends.

    It ends the processes that were started with this mark.
    """
    return subprocess.Popen([sys.executable, "-S", "-I", WATCHER, str(folder), mark], stdin=subprocess.PIPE,
                            start_new_session=True, cwd="/")


@contextlib.contextmanager
def marked(mark: str) -> Iterator[None]:
    """Have Ray start its processes with a mark, which those hand on to theirs, and which no other program gets.

    This process's own environment stays as it is: what another thread starts meanwhile is not Ray's.
    """
    services = load_ray()._private.services
    start = getattr(services, "start_ray_process", None)
    if start is None:  # another version of Ray: what is left of it ends by itself
        yield
        return

    # object: what Ray passes and returns
    def start_marked(*arguments: object, env_updates: Mapping[str, str] | None = None, **more: object) -> object:
        return start(*arguments, env_updates={**(env_updates or {}), MARK: mark, **KEPT}, **more)

    services.start_ray_process = start_marked
    try:
        yield
    finally:
        services.start_ray_process = start


def listen_to_loopback(only: bool) -> None:
    """Have Ray do what ``LOOPBACK`` says, which it reads when it is imported; that may have been long ago."""
    constants = load_ray()._private.ray_constants
    if hasattr(constants, "ENABLE_RAY_CLUSTER"):
        constants.ENABLE_RAY_CLUSTER = not only


def set_filters() -> dict[Any, tuple[Any, Any]]:
    """Have Ray show ``ALLOWED`` lines and leave out ``SKIPPED`` ones; gives its filters with what they had before.

    Ray would take the expressions from the environment when it is imported; that may have been long ago.
    """
    logging_ = load_ray()._private.ray_logging
    found: Iterator[Any] = (getattr(logging_, name, None) for name in ("stdout_deduplicator", "stderr_deduplicator"))
    before = {one: (one.allow_re, one.skip_re) for one in found if hasattr(one, "skip_re")}
    for one in before:
        one.allow_re, one.skip_re = ALLOWED, SKIPPED
    return before


@contextlib.contextmanager
def light_start() -> Iterator[None]:
    """Have Ray start none of what is ``UNUSED``, as far as this version of Ray has it, and the rest with ``BEFORE``."""
    node = load_ray()._private.node.Node
    kept = {name: getattr(node, name) for name in UNUSED if hasattr(node, name)}
    for name in kept:
        setattr(node, name, lambda self, *arguments, **more: None)
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = BEFORE if not path else f"{BEFORE}{os.pathsep}{path}"
    try:
        yield
    finally:
        restore_environment({"PYTHONPATH": path})
        for name, method in kept.items():
            setattr(node, name, method)


def temporary_place() -> str:
    """The folder for temporary files, or /tmp where its name is too long for sockets in it."""
    place = tempfile.gettempdir()
    return place if len(place) <= LONGEST_TEMPORARY else "/tmp"


#: Seconds in which a folder of a cluster is not taken for a stale one.
YOUNG = 60.0


def remove_stale_folders() -> None:
    """Remove temporary folders of clusters whose process was killed."""
    for folder in Path(temporary_place()).glob(f"sk-{os.getuid()}-*"):
        with contextlib.suppress(OSError), (folder / "lock").open("r+") as lock:
            if time.time() - folder.stat().st_mtime < YOUNG:  # another process may be about to lock it
                continue
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while the process that made it lives
            shutil.rmtree(folder, ignore_errors=True)


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


# --------------------------------------------------------------------------- processes


@dataclass(frozen=True)
class Process:
    """A process of the cluster; with its start time, as numbers are used again."""

    pid: int
    started: int
    node: str

    @classmethod
    def here(cls, node: str) -> Process:
        """This process."""
        return cls(os.getpid(), start_time(os.getpid()), node)

    def kill(self) -> None:
        """End the process, if it is on this machine and still the same."""
        with contextlib.suppress(OSError):
            end_process(self.pid, self.started)


def this_node() -> str:
    """Ray's number of this machine."""
    return str(load_ray().get_runtime_context().get_node_id())


# --------------------------------------------------------------------------- servers


#: What a server answers that cannot read what a worker has shared with it.
UNREAD = (None, None)

#: Bytes of arrays up to which a request and its reply travel as one piece of bytes, and not as objects.
PACKED = 1 << 16


class ServerActor:
    """A server in a process of its own.

    An error does not travel as Ray's: a call returns whether it succeeded, and the value or the error.  It returns ``UNREAD``
    where it cannot read the memory of the worker.
    """

    def __init__(self, job: Job, index: int) -> None:
        keep_freed_memory()
        again = job.again or load_ray().get_runtime_context().was_current_actor_reconstructed
        self.process = Process.here(this_node())
        self.failure: Exception | None = None
        self.present: set[int] = set()
        self.joining = threading.Lock()
        self.mapped = Mapped(self.process.node)
        self.rehearsal = Rehearsal()  # begins while the server reads its journal
        try:
            self.server = transport.Server(lambda before: Shard(job.folder, index, job.servers, job.workers, job.mode,
                                                                job.staleness, job.fsync, before), again,
                                           job.spans_of(index))
        except Exception as error:  # kept, so that callers get it by its name
            self.failure = error
            return
        shard = self.server.shard
        if again:
            self.present = set(shard.lives) - shard.left - shard.lost_ranks
        self.rehearsal.of(shard)
        if job.folder is not None:
            mark = Path(job.folder) / f"server-{index}.actor"
            threading.Thread(target=self._watch, args=(mark,), name="watch for a later incarnation", daemon=True).start()

    def _watch(self, mark: Path) -> None:
        """End this process when a later incarnation has taken its place: a machine that was taken for lost may come back.

        Until then it refuses to write.  It goes on, with an error for whoever calls it, if something else uses its folder: Ray
        would start it again.
        """
        actor = load_ray().get_runtime_context().get_actor_id()
        mark.write_text(actor, encoding="ascii")
        while True:
            time.sleep(PATIENCE)
            try:
                self.server.shard._fence()
            except FencedError as error:
                with contextlib.suppress(OSError):  # the whole folder may be gone
                    if mark.read_text(encoding="ascii") == actor:
                        log.error("Process %d ends: %s", self.process.pid, error)
                        os._exit(1)

    def __repr__(self) -> str:
        return "server"

    def call(self, method: str, given: tuple[object, ...] | bytes) -> tuple[object, ...] | bytes:
        """Call a method of the server; arguments and answer may be ``packed``."""
        if self.failure is not None:
            return False, self.failure
        try:
            arguments = self.mapped.arrays(unpacked(given))
        except OSError:
            return UNREAD
        try:
            value = self.server.call(method, arguments)
            self.rehearsal.after(method, arguments)
            return packed((True, value))
        except Exception as error:
            if isinstance(error, FencedError) and error.rank is None:
                log.error("Process %d refuses %r: %s", self.process.pid, method, error)
            return False, portable(error)

    def ping(self) -> Process:
        """Which process this is; answered by a thread of its own."""
        return self.process

    def attach(self, rank: int) -> tuple[object, ...] | bytes:
        """Note that a process has joined as this rank; answers as ``call`` with the number of its life."""
        with self.joining:
            answer = self.call("join", (rank, not self.present))
            if unpacked(answer)[0]:
                self.present.add(rank)
        return answer

    def detach(self, rank: int) -> int:
        """Note that a rank has gone, and return how many are left."""
        self.present.discard(rank)
        return len(self.present)


#: glibc's numbers of two options of ``mallopt``, and the largest value that it takes for the second.
TRIM_THRESHOLD, MMAP_THRESHOLD, LARGEST_FROM_HEAP = -1, -3, 32 << 20


def keep_freed_memory() -> None:
    """Have this process keep the memory that it frees, up to 1 GiB, rather than give it back to the system.

    Each push allocates arrays of the same sizes again.  The system would clear each page of them anew, which takes longer than
    to copy the push.  Systems without glibc go on as they are.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:
        set_option(MMAP_THRESHOLD, LARGEST_FROM_HEAP)
        set_option(TRIM_THRESHOLD, 1 << 30)


def portable(error: Exception) -> Exception:
    """The error, or one with its text if it cannot be sent."""
    cloudpickle = load_ray().cloudpickle
    try:
        cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:
        return DistError(f"{type(error).__name__}: {error}")
    return error


def start_servers(job: Job) -> list[Any]:
    """Start the servers of a job, without waiting for them.

    A server whose process ends is started again by Ray, and reads its folder.
    """
    ray = load_ray()
    options: dict[str, Any] = {"num_cpus": 0, "max_restarts": -1, "max_concurrency": 4 * job.workers + 4,
                               "namespace": NAMESPACE, "scheduling_strategy": "SPREAD", **dict(job.options)}
    if job.detached:
        options |= {"lifetime": "detached", "get_if_exists": True}
    actor = ray.remote(concurrency_groups={"life": 1})(with_ping_group(ray, ServerActor))
    return [actor.options(name=job.server_name(index), **options).remote(job, index) for index in range(job.servers)]


def servers_of(job: str) -> list[Any]:
    """The servers of a job of this name, in their order."""
    ray = load_ray()
    first = Job(job).server_name(0)[:-1]
    names = [one["name"] for one in ray.util.list_named_actors(all_namespaces=True) if one["namespace"] == NAMESPACE]
    found = []
    for name in sorted((name for name in names if name.startswith(first)), key=lambda name: int(name.removeprefix(first))):
        with contextlib.suppress(ValueError):  # it has ended meanwhile
            found.append(ray.get_actor(name, namespace=NAMESPACE))
    return found


def processes_of(job: str) -> list[transport.ServerProcess]:
    """The processes of the servers of a job; without those that are ending, or being started again.

    Raises
    ------
    WaitTimeoutError
        If a server does not answer in time.
    """
    ray = load_ray()
    found = []
    for index, answer in enumerate([handle.ping.remote() for handle in servers_of(job)]):
        try:
            process = ray.get(answer, timeout=Job.timeout)
        except TimeoutError as error:
            raise WaitTimeoutError(f"Server {index} of the job {job!r} has not reported its process number within "
                                   f"{Job.timeout:.0f} s.",
                                   hint="its machine may be gone; mx.dist.stop_servers() ends the servers.") from error
        except ray.exceptions.RayError:
            continue
        found.append(transport.ServerProcess(index, process.pid, process.node))
    return found


def with_ping_group(ray: ModuleType, base: type) -> type:
    """The class with its ``ping`` in a concurrency group, which needs Ray to say."""
    ping = ray.method(concurrency_group="life")(lambda self: self.process)
    return type(base.__name__, (base,), {"ping": ping, "__module__": base.__module__})


# --------------------------------------------------------------------------- what a worker talks through


class RayTransport:
    """The way from a worker to the servers; see ``transport.Transport``.

    Parameters
    ----------
    job : Job
    rank, life : int
        Which worker, and which of its lives.  The process that started the job has rank -1.
    handles : list, optional
        Handles of the servers' actors, which are looked up by name otherwise.
    """

    def __init__(self, job: Job, rank: int, life: int, handles: list[Any] | None = None) -> None:
        self._ray = load_ray()
        self.job, self.rank, self.life = job, rank, life
        self.shards, self.workers, self.timeout = job.servers, job.workers, job.timeout
        self.mode, self.staleness = job.mode, job.staleness
        self.handles = handles or [self._found(index) for index in range(job.servers)]
        self._node = this_node()
        self._pings = [handle.ping.remote() for handle in self.handles]  # answered by the time that they are needed
        self._room = Room(self._node)
        #: Whether a server can read this process's memory, as far as that is known.
        self._near: dict[int, bool] = {}

    def empty(self, index: int, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """Memory for an array that is sent to a server."""
        return self._room.empty(shape, dtype) if self._is_near(index) else np.empty(shape, dtype)

    def _is_near(self, index: int) -> bool:
        near = self._near.get(index)
        if near is None and (process := self.process_of(index)) is not None:
            near = self._near[index] = process.node == self._node
        return bool(near)

    def call(self, requests: Sequence[tuple[int, str, tuple[object, ...]]], timeout: float | None = None) -> list[object]:
        """Send requests to servers at once and return their replies in order.

        A server that is being started again is waited for.  One that answers nothing, not even whether it is alive, is ended
        so that it is started again.

        Raises
        ------
        WaitTimeoutError
            If a server does not answer in time.
        LostServerError
            If a server has ended for good.
        SparsekitError
            What a server raises.
        """
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        try:
            calls = [_Call(self, *request) for request in requests]
            with contextlib.suppress(self._ray.exceptions.RayError, TimeoutError):  # nearly never
                found = self._ray.get([call.reference for call in calls], timeout=min(PATIENCE, max(until - time.monotonic(), 0)))
                if UNREAD not in found:
                    return [value_of(answer) for answer in found]
        except BaseException:
            never_again(requests)
            raise
        never_again(requests)
        return self._patiently(calls, until)

    def _patiently(self, calls: list[_Call], until: float) -> list[object]:
        """Collect replies when a server is late or has ended, or could not read what was shared with it."""
        waiting = list(calls)
        while waiting:
            if time.monotonic() > until:
                raise waiting[0].timed_out()
            references = [reference for call in waiting for reference in call.references()]
            ready, _ = self._ray.wait(references, num_returns=1, timeout=PAUSE if any(call.probes for call in waiting) else 0.5)
            for call in waiting:
                call.look(ready)
            waiting = [call for call in waiting if call.answer is None]
        return [value_of(call.answer) for call in calls if call.answer is not None]

    def frozen(self, index: int, seconds: float) -> bool:
        """Whether a server does not say in time that it is alive; one that is being started again is not frozen."""
        try:
            self._ray.get(self.ping(index), timeout=seconds)
        except TimeoutError:
            return True
        except self._ray.exceptions.RayError:
            self.greet(index)
        return False

    def process_of(self, index: int, timeout: float = 0.0) -> Process | None:
        """The process of a server as it was when this worker last had to do with it; None if it has not said so in time."""
        try:
            found: Process = self._ray.get(self._pings[index], timeout=timeout)
        except (self._ray.exceptions.RayError, TimeoutError):
            return None
        return found

    def send(self, index: int, method: str, arguments: tuple[object, ...]) -> object:
        """Send one request, and return Ray's reference of the answer."""
        return self.handles[index].call.remote(method, packed(placed(arguments) if self._is_near(index) else arguments))

    def send_whole(self, index: int) -> None:
        """Share nothing with a server any more, as long as its process lives."""
        self._near[index] = False

    def end_frozen(self, index: int) -> None:
        """End a server's process that answers nothing, so that Ray starts another."""
        process = self.process_of(index)
        if process is None:  # it is being started
            return
        log.warning("Server %d (process %d) has not answered for %g s: it is killed and restarted.", index, process.pid,
                    self.job.frozen_after)
        self._end(process)

    def _end(self, process: Process) -> object:
        """End a process, on whatever machine it is; gives Ray's reference, or None if it has ended."""
        if process.node == self._node:
            process.kill()
            return None
        there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(process.node, soft=False)
        return self._ray.remote(process.kill).options(num_cpus=0, scheduling_strategy=there).remote()

    def processes(self) -> list[transport.ServerProcess]:
        """As ``Transport.processes``; servers that are being started are waited for.

        Raises
        ------
        WaitTimeoutError
            If a server does not answer in time.
        """
        found = map(self._present, range(self.shards))
        return [transport.ServerProcess(index, process.pid, process.node) for index, process in enumerate(found)]

    def _present(self, index: int) -> Process:
        """The process of a server as it is now."""
        until = time.monotonic() + self.timeout
        while True:
            self.greet(index)
            found = self.process_of(index, min(self.timeout, PATIENCE))
            if found is not None:
                return found
            if time.monotonic() > until:
                raise WaitTimeoutError(f"Server {index} has not reported its process number within {self.timeout:.0f} s.",
                                       hint="its machine may be gone; timeout= sets how long to wait.", rank=self.rank)
            time.sleep(PAUSE)

    def kill(self, index: int) -> None:
        """As ``Transport.kill``."""
        gone = self._end(self._present(index))
        if gone is not None:
            self._ray.get(gone, timeout=self.timeout)

    def ping(self, index: int) -> object:
        """Ask a server for a sign of life, and return Ray's reference of the answer."""
        return self.handles[index].ping.remote()

    def greet(self, index: int) -> None:
        """Ask a server that has been started again which process it is now."""
        self._pings[index] = self.ping(index)
        self._near.pop(index, None)

    def _found(self, index: int) -> Any:
        """The handle of a server, by its name; waits for it to be made."""
        until = time.monotonic() + self.job.timeout
        while True:
            try:
                return self._ray.get_actor(self.job.server_name(index), namespace=NAMESPACE)
            except ValueError as error:
                if time.monotonic() > until:
                    raise LostServerError(f"Server {index} of the job {self.job.name!r} does not exist.",
                                          hint="the program that started the job may have ended.") from error
            time.sleep(PAUSE)

    def exists(self, index: int) -> bool:
        """Whether a server is there or will be started again."""
        try:
            self._ray.get_actor(self.job.server_name(index), namespace=NAMESPACE)
        except ValueError:
            return False
        return True


def never_again(requests: Sequence[tuple[int, str, tuple[object, ...]]]) -> None:
    """Never write again to the memory that requests share: a server that is late may read it at any time."""
    for _, _, arguments in requests:
        placed(arguments, keep=True)


class _Call:
    """One request to one server, sent again until it is answered.

    Ray says once in a second which calls have failed.  So a server that is being started again is asked for a sign of life many
    times in a second, and the request is sent when one has come.
    """

    def __init__(self, way: RayTransport, index: int, method: str, arguments: tuple[object, ...]) -> None:
        self.way, self.index, self.method, self.arguments = way, index, method, arguments
        self.answer: tuple[bool, Any] | None = None
        self.probes: list[Any] = []
        self.begun = self.heard = time.monotonic()
        self.reference = way.send(index, method, arguments)

    def references(self) -> list[Any]:
        """What to wait for."""
        return self.probes or [self.reference]

    def look(self, ready: Sequence[Any]) -> None:
        """Take what has come, and see after a server that is silent."""
        if self.probes:
            self._probe([probe for probe in self.probes if probe in ready])
        elif self.reference in ready:
            self._collect()
        elif time.monotonic() - self.heard > PATIENCE:
            if self.way.frozen(self.index, max(self.way.job.frozen_after - PATIENCE, 0.1)):
                self.way.end_frozen(self.index)
            self.heard = time.monotonic()

    def _collect(self) -> None:
        """Take the answer, or begin to ask for a sign of life."""
        errors = self.way._ray.exceptions
        try:
            answer = self.way._ray.get(self.reference)
            if answer == UNREAD:
                self.way.send_whole(self.index)
                self.reference = self.way.send(self.index, self.method, self.arguments)
            else:
                self.answer = answer
        except errors.RayError as error:
            if isinstance(error, errors.ActorDiedError) and not self.way.exists(self.index):
                raise LostServerError(f"Server {self.index} has ended and is not started again.",
                                      hint="the program that started the job may have ended.") from error
            self.probes = [self.way.ping(self.index)]

    def _probe(self, ready: Sequence[Any]) -> None:
        """Send the request again if the server has given a sign of life; ask for another one otherwise."""
        for probe in ready:
            self.probes.remove(probe)
            with contextlib.suppress(self.way._ray.exceptions.RayError):
                self.way._ray.get(probe)
                self.probes = []
                self.heard = time.monotonic()
                self.way.greet(self.index)
                self.reference = self.way.send(self.index, self.method, self.arguments)
                return
        self.probes.append(self.way.ping(self.index))

    def timed_out(self) -> WaitTimeoutError:
        """The error of a server that has not answered in time."""
        seconds = time.monotonic() - self.begun
        return WaitTimeoutError(f"Rank {self.way.rank} has waited {seconds:.0f} s for server {self.index} to answer "
                                f"{self.method!r}.", hint="its machine may be gone; timeout= sets how long to wait.",
                                rank=self.way.rank)


def packed(parts: tuple[object, ...]) -> tuple[object, ...] | bytes:  # object: arguments, or an answer
    """A request or a reply with few bytes of arrays as bytes, in which Ray has no objects to look at; all else as it is."""
    message = parts[-1] if parts else None
    if isinstance(message, (Request, Reply)) and payload_bytes(message) <= PACKED:
        return pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)
    return parts


def unpacked(given: tuple[object, ...] | bytes) -> tuple[Any, ...]:
    """What was ``packed``."""
    return pickle.loads(given) if isinstance(given, bytes) else given


def value_of(answer: tuple[bool, Any] | bytes) -> object:
    """The value of an answer; an error is raised."""
    fine, value = unpacked(answer)
    if not fine:
        raise value
    return value


# --------------------------------------------------------------------------- workers


@dataclass(frozen=True)
class Outcome:
    """How a worker's program has ended: its pickled result, or the error and the text that says where it was raised."""

    value: bytes | None
    error: Exception | None = None
    text: str = ""


class WorkerActor:
    """A worker in a process of its own."""

    def __init__(self, job: Job, rank: int, life: int, output: str | None) -> None:
        self.job, self.rank, self.life = job, rank, life
        if output is not None:
            redirect(Path(output), rank)
        load("sparsekit.kvstore")

    def __repr__(self) -> str:
        return f"rank {self.rank}"

    def run(self, program: bytes) -> Outcome:
        """Run a pickled function without arguments, and say how it ended."""
        try:
            with joined(RayTransport(self.job, self.rank, self.life)):
                value = unpickled(program)()
            return Outcome(pickled(value))
        except SystemExit as leaving:
            return Outcome(None, None, f"SystemExit: {leaving.code}\n")
        except BaseException as error:
            kept = portable(error) if isinstance(error, Exception) else None
            return Outcome(None, kept, "".join(traceback.format_exception(type(error), error, own_part(error.__traceback__))))
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()


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
        client_of(way).leave()
    finally:
        transport.set_current(None)


def join(job: Job, rank: int) -> RayTransport:
    """Make this process a worker of a job, whose servers are started if they are not there.

    Raises
    ------
    WaitTimeoutError
        If a server does not answer in time.
    LostServerError
        If the servers have ended, and those that were started in their place too.
    SparsekitError
        What a server raises.
    """
    ray, until = load_ray(), time.monotonic() + job.timeout
    while True:
        try:
            way = RayTransport(job, rank, 0, start_servers(job))
            # The last server knows of a worker first, and forgets it last.
            with answered(job):
                answers = [ray.get(handle.attach.remote(rank), timeout=max(until - time.monotonic(), 0.0))
                           for handle in reversed(way.handles)]
            break
        except ray.exceptions.RayActorError as error:  # the last worker has just ended them, or one is being started again
            if time.monotonic() > until:
                raise LostServerError(f"The servers of the job {job.name!r} have ended, or are started again and again.",
                                      hint="mx.dist.connect starts new ones; call it again.") from error
            time.sleep(PAUSE)
    try:
        lives: list[Any] = [value_of(answer) for answer in answers]  # Any: numbers
    except BaseException:
        detach(way)
        raise
    way.life = max(lives)
    transport.set_current(way)
    return way


@contextlib.contextmanager
def answered(job: Job) -> Iterator[None]:
    """Name the error of servers that have not answered in time."""
    try:
        yield
    except TimeoutError as error:
        raise WaitTimeoutError(f"The servers of the job {job.name!r} have not answered within {job.timeout:g} s.",
                               hint="see whether Ray has workers for them; timeout= changes how long to wait.") from error


def part(way: RayTransport) -> None:
    """Undo ``join``; the last worker of a job ends its servers."""
    transport.set_current(None)
    try:
        client_of(way).leave()
    finally:
        detach(way)


def detach(way: RayTransport) -> None:
    """Tell the servers that a worker has gone, and end them if it was the last.

    Raises
    ------
    WaitTimeoutError
        If a server does not answer in time.
    LostServerError
        If a server is started again and again.
    """
    ray, until, left = load_ray(), time.monotonic() + way.job.timeout, None
    # All workers part from the servers in this order: whoever is the last at the last server is the last everywhere, and
    # may have ended it before its answer has come here.
    for index, handle in enumerate(way.handles):
        while True:
            try:
                with answered(way.job):
                    left = ray.get(handle.detach.remote(way.rank), timeout=max(until - time.monotonic(), 0.0))
                break
            except ray.exceptions.RayActorError as error:
                if not way.exists(index):
                    return
                if time.monotonic() > until:
                    raise LostServerError(f"Server {index} of the job {way.job.name!r} is started again and again.",
                                          hint="mx.dist.stop_servers() ends the servers of a job.") from error
            time.sleep(PAUSE)
    if left == 0:
        stop((), way.handles)


class Worker:
    """The process of one worker as the driver sees it."""

    def __init__(self, job: Job, rank: int, life: int, place: Path | None, program: bytes, options: Mapping[str, object]) -> None:
        ray = load_ray()
        self.rank = rank
        chosen = {"num_cpus": 0, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD", **options}
        self.actor = ray.remote(WorkerActor).options(**chosen).remote(job, rank, life, None if place is None else str(place))
        self.reference = self.actor.run.remote(program)

    def outcome(self) -> Outcome | None:
        """How the program has ended; None if the process has ended before."""
        ray = load_ray()
        try:
            found: Outcome = ray.get(self.reference)
        except ray.exceptions.RayTaskError as error:
            return Outcome(None, error.cause if isinstance(error.cause, Exception) else None, str(error))
        except ray.exceptions.RayError as error:
            if "creation task" in str(error):  # its process could not be prepared, and a second one could not either
                return Outcome(None, None, str(error))
            return None
        return found


def wait(workers: Sequence[Worker], seconds: float) -> list[Worker]:
    """Wait until a worker has ended; return those that have."""
    ready, _ = load_ray().wait([worker.reference for worker in workers], num_returns=1, timeout=seconds)
    return [worker for worker in workers if worker.reference in ready]


def tell_lost(job: Job, handles: list[Any], rank: int) -> None:
    """Tell the servers that a worker does not come back."""
    way = RayTransport(job, -1, 0, handles)
    with contextlib.suppress(SparsekitError):  # a server that has ended for good tells the others by that
        way.call([(index, "lost", (rank,)) for index in range(job.servers)], timeout=10.0)


def ask(job: Job, handles: list[Any], method: str) -> list[object]:
    """Ask every server something that takes no arguments."""
    return RayTransport(job, -1, 0, handles).call([(index, method, ()) for index in range(job.servers)])


def stop(workers: Sequence[Worker], servers: Sequence[Any]) -> None:
    """End the processes of a job."""
    ray = load_ray()
    for handle in [*(worker.actor for worker in workers), *servers]:
        with contextlib.suppress(Exception):
            ray.kill(handle, no_restart=True)


def pickled(value: object) -> bytes:
    """A function, an argument or a result as bytes; functions of a notebook or script travel by value.

    Raises
    ------
    DistError
        If it cannot be sent to another process.
    """
    try:
        found: bytes = load_ray().cloudpickle.dumps(value)
    except Exception as error:
        raise DistError(f"{shown(value)} cannot be sent to another process: {error}",
                        hint="open files, locks and connections inside the function.") from error
    return found


def unpickled(data: bytes) -> Any:
    """The inverse of ``pickled``."""
    return load_ray().cloudpickle.loads(data)
