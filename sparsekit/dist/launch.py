"""Starting servers and workers: ``run`` for a function, ``launch`` for a script, ``connect`` for what is started elsewhere."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import fcntl
import functools
import os
import runpy
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from ..base.entry import entry
from ..base.errors import DataFileError, DistError, LostWorkerError, NoClusterError, expected
from ..base.forking import load
from .arguments import check_numbers, check_settings, is_number_below
from .journal import Run, begin_run, manifest_of
from .output import Outputs
from .results import Profiled
from .transport import ServerProcess, current

Place: TypeAlias = "str | os.PathLike[str]"

__all__ = ["Driver", "Script", "connect", "disconnect", "kill_server", "main", "run", "servers", "stop_servers"]

_named = functools.partial(entry, callbacks=True)

#: Seconds between two looks at what workers have printed and whether they have ended.
LOOK = 0.1

#: Seconds that the other workers have to end by themselves, after one is lost.
GRACE = 20.0


def engine() -> ModuleType:
    """The module with Ray's part, imported on first use."""
    return load("sparsekit.dist.ray_cluster")


# --------------------------------------------------------------------------- the cluster of this process


class _Here:
    """The cluster that ``connect`` has started or joined, and the way to the servers of the job that it has joined."""

    def __init__(self) -> None:
        self.cluster: Any = None
        self.way: Any = None


_here = _Here()


@contextlib.contextmanager
def cluster_of(address: str | None) -> Iterator[Any]:
    """The cluster of ``connect``, or one for the time of a ``with`` block."""
    if _here.cluster is not None and address in (None, _here.cluster.address):
        yield _here.cluster
        return
    cluster = engine().Cluster(address)
    try:
        yield cluster
    finally:
        cluster.stop()


# --------------------------------------------------------------------------- run


@_named
def run(fn: Callable[..., object], workers: int = 2, servers: int = 2, folder: Place | None = None,
        resume: bool | Place | None = None, mode: str = "sync", staleness: int | None = None,
        timeout: float = 120.0, address: str | None = None, args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None, restarts: int = 3, journal: bool = True, fsync: bool = False,
        frozen_after: float = 5.0, worker_options: Mapping[str, object] | None = None,
        server_options: Mapping[str, object] | None = None, profile: bool = False) -> list[Any]:
    """Run a function in several processes that train one model together, and return what each of them returns.

    In each process, ``mx.kv.create("dist_sync")`` makes a store whose values are kept by the servers.  Its ``rank`` and
    ``num_workers`` determine the worker's part of the data.

    A server that ends unexpectedly is restarted and continues from its journal.  A worker that ends unexpectedly is restarted
    and runs the function from its beginning.  The servers do not count its earlier pushes twice.

    Parameters
    ----------
    fn : callable
        Function that each worker calls as ``fn(*args, **kwargs)``.
    workers, servers : int
        Numbers of processes.
    folder : path, optional
        Folder for the servers' journals.  Several machines must share it.  A later ``run`` with the same folder continues the
        job, even with another number of servers.  The default is a temporary folder, which is removed at the end.
    resume : bool or path, optional
        With True the folder must contain a job to continue, and with False it must not.  By default both are allowed.  A path is
        the folder of a job to continue.
    mode : {"sync", "async"}
        Whether a step waits for the gradients of all workers.
    staleness : int, optional
        Largest number of steps by which a worker may be ahead of the slowest worker in mode ``"async"``; unlimited by default.
    timeout : float
        Seconds after which a wait for a server or another worker raises an error.
    address : str, optional
        Address of a running Ray cluster, or ``"auto"`` for the one on this machine.  By default this process starts a cluster
        of its own.
    args, kwargs : optional
        Arguments of ``fn``, the same for all workers.
    restarts : int
        Largest number of restarts of each worker.
    journal : bool
        Whether servers keep a journal.  Without one, the loss of a server is an error.
    fsync : bool
        Whether each journal record is written to disk before it is acknowledged.  This is necessary if machines may lose power.
    frozen_after : float
        Seconds after which an unresponsive server is restarted.
    worker_options, server_options : dict, optional
        Options of Ray for these processes, such as ``{"num_cpus": 4}``.
    profile : bool
        Whether each worker records a profile while it runs the function.  The returned list then has an attribute ``profile``:
        one timeline of all workers and servers, on one clock.  Of a restarted server, the profile has all lives on the same
        machine; of a restarted worker, it has only the last.

    Returns
    -------
    list
        The workers' results, in the order of ranks.

    Raises
    ------
    MissingPackageError
        If Ray is not installed.
    NoClusterError
        If there is no cluster at ``address``.
    LostWorkerError
        If a worker raises an error, which is then the ``__cause__``, or its process ends unexpectedly more than ``restarts``
        times.
    DistError
        If a worker ends with a ``DistError``, such as ``LostDataError``: that error.

    Examples
    --------
    >>> def train():                                                     # doctest: +SKIP
    ...     kv = mx.kv.create("dist_sync")
    ...     kv.init("w", mx.nd.zeros((2,)))
    ...     kv.push("w", mx.nd.ones((2,)) * (kv.rank + 1))
    ...     out = mx.nd.zeros((2,))
    ...     kv.pull("w", out=out)
    ...     return out.asnumpy()
    >>> mx.dist.run(train, workers=2, servers=2)                         # doctest: +SKIP
    [array([3., 3.], dtype=float32), array([3., 3.], dtype=float32)]
    """
    check_numbers(workers=workers, servers=servers)
    check_settings(mode, staleness, timeout=timeout, frozen_after=frozen_after)
    if not callable(fn):
        raise DistError(expected("fn", "callable", fn), hint="pass the function itself, without calling it.")
    if not is_number_below(restarts, float("inf")):
        raise DistError(expected("restarts", "an integer of at least 0", restarts), hint="pass 3, for instance.")
    settings = {"workers": workers, "servers": servers, "mode": mode, "staleness": staleness, "timeout": timeout, "fsync": fsync,
                "frozen_after": frozen_after, "options": tuple((server_options or {}).items()), "profile": profile}
    with cluster_of(address) as cluster, job_folder(folder, resume, workers, servers, mode, journal, cluster.folder) as found:
        place, first_life, again = found
        job = engine().Job(uuid.uuid4().hex[:12], folder=place, first_life=first_life, again=again, **settings)
        function = _Program(fn, tuple(args), dict(kwargs or {}))
        program = engine().pickled(Profiled(function) if profile else function)
        driver = Driver(cluster, job, program, restarts, dict(worker_options or {}))
        results = driver.results()
        return Profiled.gather(results, driver.told) if profile else results


@dataclass(frozen=True)
class _Program:
    """A function and its arguments."""

    fn: Callable[..., object]
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)

    def __call__(self) -> object:
        return self.fn(*self.args, **self.kwargs)


# --------------------------------------------------------------------------- the folder of a job


@contextlib.contextmanager
def job_folder(folder: Place | None, resume: bool | Place | None, workers: int, servers: int, mode: str,
               journal: bool, within: Path | None = None) -> Iterator[tuple[str | None, int, bool]]:
    """The folder of the servers, the number of the first life of the workers, and whether a run before has been there.

    A temporary one is made ``within`` the cluster's, which is removed also if this process is killed.
    """
    if resume is not None and not isinstance(resume, bool):
        folder, resume = resume, True
    if not journal and folder is not None:
        raise DistError("A folder was given, but journal=False keeps nothing in it.", hint="leave out one of the two.")
    if resume and folder is None:
        raise DistError("resume=True needs a folder.", hint="pass resume=FOLDER.")
    if not journal:
        yield None, 1, False
    elif folder is None:
        with tempfile.TemporaryDirectory(prefix="sparsekit-job-", dir=within) as temporary:
            run = begin_run(temporary, servers, workers, mode)
            yield temporary, run.life, False
    else:
        with locked(Path(folder).resolve()) as place:
            run = continued(str(place), resume, workers, servers, mode)
            yield str(place), run.life, run.started_before


@contextlib.contextmanager
def locked(place: Path) -> Iterator[Path]:
    """Keep other runs out of a folder."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = (place / "lock").open("a")
    except OSError as error:
        raise DataFileError(f"{place} cannot be written: {error.strerror}.", hint="choose another folder.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DistError(f"The folder {place} is in use by another run.",
                            hint="wait for it to end, or choose another folder.") from error
        yield place


def continued(place: str, resume: object, workers: int, servers: int, mode: str) -> Run:
    """Note in the folder that a run begins or goes on, after its servers have become as many as asked for."""
    found = manifest_of(place)
    if found is None and resume is True:
        raise DataFileError(f"There is no run to continue in {place}.", hint="leave out resume= to start one.")
    if found is not None and resume is False:
        raise DistError(f"There is a run in {place} already.", hint="leave out resume= to continue it, or choose another folder.")
    if found is not None and (found.shards, found.workers) != (servers, workers):
        load("sparsekit.dist.resume").resume(place, servers, workers)
    return begin_run(place, servers, workers, mode)


# --------------------------------------------------------------------------- the driver


class Driver:
    """Starts the processes of a job, starts workers again, shows what they print, and collects their results."""

    def __init__(self, cluster: Any, job: Any, program: bytes, restarts: int, options: Mapping[str, object]) -> None:
        self.told: list[Any] = []
        self.cluster, self.job, self.restarts = cluster, job, restarts
        self.program, self.options = program, options
        self.outcomes: dict[int, Any] = {}
        self.lives = dict.fromkeys(range(job.workers), job.first_life)
        self.workers: dict[int, Any] = {}
        self.lost: DistError | None = None
        self.until: float | None = None

    def results(self) -> list[Any]:
        """Run the job to its end, and leave nothing behind."""
        servers: list[Any] = []
        with self._outputs() as (outputs, place):
            try:
                servers = engine().start_servers(self.job)
                for rank in range(self.job.workers):
                    self.workers[rank] = engine().Worker(self.job, rank, self.lives[rank], place, self.program, self.options)
                self._watch(servers, outputs, place)
                if self.job.profile and self.lost is None:
                    self.told = engine().ask(self.job, servers, "profile")
            finally:
                engine().stop(list(self.workers.values()), servers)
                for spans in filter(None, map(self.job.spans_of, range(self.job.servers))):
                    spans.unlink(missing_ok=True)
                outputs.show(last=True)
        if self.lost is not None:
            raise self.lost
        return [engine().unpickled(self.outcomes[rank].value) for rank in range(self.job.workers)]

    @contextlib.contextmanager
    def _outputs(self) -> Iterator[tuple[Outputs, Path | None]]:
        """Where workers print: files, if the cluster is this process's own; Ray shows it otherwise."""
        if self.cluster.folder is None:
            yield Outputs(Path(), 0), None
            return
        place = self.cluster.folder / self.job.name
        place.mkdir()
        yield Outputs(place, self.job.workers), place
        shutil.rmtree(place, ignore_errors=True)

    def _watch(self, servers: list[Any], outputs: Outputs, place: Path | None) -> None:
        """Wait until every worker has ended."""
        while len(self.outcomes) < self.job.workers:
            going = [worker for rank, worker in self.workers.items() if rank not in self.outcomes]
            for worker in engine().wait(going, LOOK):
                self._ended(worker, servers, place)
            outputs.show()
            if self.until is not None and time.monotonic() > self.until:
                return

    def _ended(self, worker: Any, servers: list[Any], place: Path | None) -> None:
        """Take the result of a worker, or start it again."""
        rank, outcome = worker.rank, worker.outcome()
        if outcome is None and self.lost is None and self.lives[rank] - self.job.first_life < self.restarts:
            self.lives[rank] += 1
            print(f"Rank {rank} has ended unexpectedly; it is restarted from the beginning "
                  f"({self.lives[rank] - self.job.first_life} of {self.restarts}).", file=sys.stderr, flush=True)
            self.workers[rank] = engine().Worker(self.job, rank, self.lives[rank], place, self.program, self.options)
            return
        self.outcomes[rank] = outcome
        if self.lost is None and (outcome is None or outcome.value is None):
            self.lost = self._error_of(rank, outcome)
            self.until = time.monotonic() + GRACE
            engine().tell_lost(self.job, servers, rank)

    def _error_of(self, rank: int, outcome: Any) -> DistError:
        """The error of a worker that does not come back."""
        if outcome is None:
            return LostWorkerError(f"Rank {rank} has ended unexpectedly {self.restarts + 1} times; its process was killed or "
                                   f"crashed.", hint="read its output; restarts= sets the number of restarts.",
                                   rank=rank)
        if isinstance(outcome.error, DistError):
            outcome.error.add_note(f"Raised by rank {rank}:\n{outcome.text}")
            return outcome.error
        error = LostWorkerError(f"Rank {rank} has ended with an error:\n{outcome.text}", rank=rank)
        error.__cause__ = outcome.error
        return error


# --------------------------------------------------------------------------- joining from outside


@_named
def connect(address: str | None = None, job: str | None = None, rank: int | None = None, workers: int = 1, servers: int = 1,
            folder: Place | None = None, mode: str = "sync", staleness: int | None = None,
            timeout: float = 120.0, fsync: bool = False, frozen_after: float = 5.0) -> None:
    """Start or join a Ray cluster for the following calls of ``run``; with ``rank`` also become a worker in this process.

    Call it once in a notebook to avoid that each ``run`` starts a cluster.

    Worker processes that another program starts, on one machine or on several, all call it with the same ``address``, ``job`` and
    numbers, and with their own ``rank``.  They can then make a store with ``mx.kv.create("dist_sync")``.  The first process
    starts the servers.  The servers end when every worker has called ``disconnect``; a process that exits normally calls it.

    Parameters
    ----------
    address : str, optional
        Address of a running Ray cluster, or ``"auto"`` for the one on this machine.  By default this process starts a cluster
        of its own.
    job : str, optional
        Common name of the job of these workers; ``"job"`` by default.
    rank : int, optional
        Number of this process among the workers, from 0.
    workers, servers, folder, mode, staleness, timeout, fsync, frozen_after
        As in ``run``.

    Raises
    ------
    MissingPackageError
        If Ray is not installed.
    NoClusterError
        If there is no cluster at ``address``.
    DistError
        If an argument is invalid, this process is a worker already, or the servers refuse it, have lost data or do not answer.
    """
    check_numbers(workers=workers, servers=servers)
    check_settings(mode, staleness, timeout=timeout, frozen_after=frozen_after)
    if rank is not None and not is_number_below(rank, workers):
        raise DistError(expected("rank", f"from 0 to {workers - 1}", rank), hint="workers= is the number of all workers.")
    if _here.way is not None:
        raise DistError("This process is a worker already.", hint="call mx.dist.disconnect() first.")
    if _here.cluster is None:
        _here.cluster = engine().Cluster(address)
        atexit.register(disconnect)
    if rank is None:
        return
    place = None if folder is None else str(Path(folder).resolve())
    found = engine().Job(job or "job", workers, servers, place, mode, staleness, fsync, timeout, frozen_after, detached=True)
    _here.way = engine().join(found, rank)


def disconnect() -> None:
    """Undo ``connect``: a worker leaves its job, and a cluster that was started here ends.

    Raises
    ------
    WaitTimeoutError
        If a server does not answer in time.
    LostServerError
        If a server has ended for good, or is started again and again.
    """
    way, cluster, _here.way, _here.cluster = _here.way, _here.cluster, None, None
    atexit.unregister(disconnect)
    try:
        if way is not None:
            engine().part(way)
    finally:
        if cluster is not None:
            cluster.stop()


# --------------------------------------------------------------------------- the servers of a worker


@_named
def servers(job: str | None = None) -> list[ServerProcess]:
    """The servers of the run that this process is a worker of, or of a job of ``connect``, with their processes.

    Parameters
    ----------
    job : str, optional
        Name of a job in the cluster that ``connect`` has joined; its workers may have ended.

    Returns
    -------
    list of ServerProcess
        The servers by index, each with ``index``, ``pid`` and ``node``.  The list is empty if the job does not exist.

    Raises
    ------
    NoClusterError
        If this process is not a worker of a run or, with ``job``, has not joined a cluster.
    WaitTimeoutError
        If a server does not answer in time.

    Examples
    --------
    >>> mx.dist.servers()                                                # doctest: +SKIP
    [ServerProcess(index=0, pid=4711, node='…'), ServerProcess(index=1, pid=4712, node='…')]
    """
    found: list[ServerProcess] = current().processes() if job is None else engine().processes_of(_joined(job))
    return found


@_named
def stop_servers(job: str) -> int:
    """End the servers of a job of ``connect`` whose workers have all been killed before they could end the servers.

    The servers' journals remain in the job's folder.  A worker of the job that is still running gets a ``LostServerError``.

    Parameters
    ----------
    job : str
        Name of the job, in the cluster that ``connect`` has joined.

    Returns
    -------
    int
        Number of servers that were ended.

    Raises
    ------
    NoClusterError
        If this process has joined no cluster.

    Examples
    --------
    >>> mx.dist.connect("auto")                                          # doctest: +SKIP
    >>> mx.dist.stop_servers("job")                                      # doctest: +SKIP
    2
    """
    found = engine().servers_of(_joined(job))
    engine().stop((), found)
    return len(found)


def _joined(job: object) -> str:
    """The name of a job, in a process that has joined a cluster."""
    if not isinstance(job, str):
        raise DistError(expected("job", "the name of a job", job), hint="connect() calls it 'job' by default.")
    if _here.cluster is None:
        raise NoClusterError("This process has joined no cluster.", hint="call mx.dist.connect(address) first.")
    return job


@_named
def kill_server(index: int) -> None:
    """Kill the process of a server, as in a crash, to test that a program survives it.

    The server is restarted and continues from its journal.  Calls that need it wait until then.

    Parameters
    ----------
    index : int
        Index of the server, from 0.

    Raises
    ------
    NoClusterError
        If this process is not a worker of a run.
    DistError
        If there is no such server.
    LostDataError
        If the servers keep no journal.  The error is raised here, or by the next call that needs the server.
    """
    way = current()
    if not is_number_below(index, way.shards):
        raise DistError(expected("index", f"the number of a server, from 0 to {way.shards - 1}", index),
                        hint="mx.dist.servers() lists them.")
    way.kill(index)


# --------------------------------------------------------------------------- scripts


@dataclass(frozen=True)
class Script:
    """A script as ``python SCRIPT ARGUMENTS`` would run it."""

    path: str
    arguments: tuple[str, ...]
    place: str

    def __call__(self) -> None:
        """Run it."""
        with contextlib.suppress(OSError):  # another machine may not have the folder
            os.chdir(self.place)
        sys.argv, sys.path[0] = [self.path, *self.arguments], str(Path(self.path).resolve().parent)
        try:
            runpy.run_path(self.path, run_name="__main__")
        except SystemExit as leaving:
            if leaving.code not in (None, 0):
                raise


def parser() -> argparse.ArgumentParser:
    """The parser of ``sparsekit launch``."""
    found = argparse.ArgumentParser(
        prog="sparsekit launch", description="Run a script in several processes that train one model together.")
    found.add_argument("-n", "--workers", type=int, default=2, metavar="N", help="workers that run the script (default: 2)")
    found.add_argument("-s", "--servers", type=int, default=2, metavar="N", help="servers that keep the values (default: 2)")
    found.add_argument("--address", help="address of a running Ray cluster, or auto (default: a cluster of this command alone)")
    found.add_argument("--folder", type=Path, help="where servers keep their journals; the same folder continues a job that was "
                       "interrupted (default: a temporary one)")
    found.add_argument("--mode", choices=("sync", "async"), default="sync", help="whether a step waits for all workers")
    found.add_argument("--staleness", type=int, metavar="N", help="steps that a worker may be ahead of the slowest (async)")
    found.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="longest wait (default: 120)")
    found.add_argument("--restarts", type=int, default=3, metavar="N", help="how often a worker is restarted (default: 3)")
    found.add_argument("script", metavar="SCRIPT", help="Python script to run")
    found.add_argument("arguments", nargs=argparse.REMAINDER, help="everything after SCRIPT is passed to it")
    return found


def main(argv: Sequence[str]) -> int:
    """Run ``sparsekit launch``, and return 0, or 1 if a worker has failed."""
    given = parser().parse_args(argv)
    path = Path(given.script)
    if not path.is_file():
        raise DataFileError(f"There is no script {given.script}.", hint="put options before the script: launch -n 2 SCRIPT")
    script = Script(str(path.resolve()), tuple(given.arguments), str(Path.cwd()))
    try:
        run(script, given.workers, given.servers, given.folder, mode=given.mode, staleness=given.staleness,
            timeout=given.timeout, address=given.address, restarts=given.restarts)
    except LostWorkerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
