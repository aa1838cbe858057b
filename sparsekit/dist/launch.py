"""Starting servers and workers: ``run`` for a function, ``launch`` for a script, ``connect`` for what is started elsewhere."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import functools
import os
import runpy
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

from ..base import displays
from ..base.checks import whole
from ..base.entry import entry
from ..base.errors import DataFileError, DistError, LostWorkerError, NoClusterError, UnsupportedError, expected
from ..base.forking import load
from ..base.platform import try_lock
from .messages import ServerProcess, Setup
from .transport import client_here, current, finish

Place: TypeAlias = "str | os.PathLike[str]"

_named = functools.partial(entry, callbacks=True)

#: How the names of temporary folders of snapshots begin, and the age of a lock in seconds from which on its maker holds it.
JOB, YOUNG = "sparsekit-job-", 2.0


def engine() -> ModuleType:
    """The module with Ray's part, imported on first use.

    Raises
    ------
    UnsupportedError
        Where processes do not fork: on Windows.
    """
    if not hasattr(os, "fork"):
        raise UnsupportedError("Training on many machines needs Linux or macOS.",
                               hint="use mx.kv.create('device') here, or the Windows Subsystem for Linux.")
    return load("sparsekit.dist.ray_cluster")


# --------------------------------------------------------------------------- the cluster of this process


#: The cluster that ``connect`` has started or joined, and the way to the servers of the job that it has joined.
_here = SimpleNamespace(cluster=None, way=None)


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
        resume: bool | Place | None = None, every: int | None = None, seconds: float | None = 30.0,
        staleness: int | None = None, timeout: float = 120.0, address: str | None = None, args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None, restarts: int = 3, frozen_after: float = 30.0, strict: bool = False,
        worker_options: Mapping[str, object] | None = None, server_options: Mapping[str, object] | None = None,
        profile: bool = False, place_within: float = 8.0) -> list[Any]:
    """Run a function in several processes that train one model together, and return what each of them returns.

    In each process, ``mx.kv.create("dist_sync")`` makes a store whose values are kept by the servers.  Its ``rank`` and
    ``num_workers`` determine the worker's part of the data.

    At the end of some steps, all servers write a snapshot.  When a process or a machine is lost, all workers start anew, and go
    on from the last snapshot.  Trainers, modules and estimators know when a step ends; a loop by hand says so by
    ``kv.resume()`` and ``kv.end_step()``.  Each worker begins with generators of random numbers of its own seed, which is the
    same each time that it starts.

    Parameters
    ----------
    fn : callable
        Function that each worker calls as ``fn(*args, **kwargs)``.
    workers, servers : int
        Numbers of processes.
    folder : path, optional
        Folder for snapshots, which all machines must reach.  A later ``run`` with the same folder continues the job, even with
        another number of servers.  The default is a temporary folder, which is removed at the end.
    resume : bool or path, optional
        With True the folder must contain a job to continue, and with False it must not.  By default both are allowed.  A path is
        the folder of a job to continue.
    every : int, optional
        Steps between two snapshots.
    seconds : float, optional
        Seconds between two snapshots, if ``every`` is not given; None takes none.  A snapshot that is due while another one is
        being written is skipped.
    staleness : int, optional
        Largest number of steps by which a worker may be ahead of the slowest worker with a store of the kind ``"dist_async"``;
        unlimited by default, and 64 where snapshots are taken.
    timeout : float
        Seconds after which a wait for a server or another worker raises an error.
    address : str, optional
        Address of a running Ray cluster, or ``"auto"`` for the one on this machine.  By default this process starts a cluster
        of its own.
    args, kwargs : optional
        Arguments of ``fn``, the same for all workers.
    restarts : int
        How often the run goes back to the same snapshot.
    frozen_after : float
        Seconds after which a process that does not answer is ended.
    strict : bool
        Whether each worker, and each server, must be on another machine.  By default they are if there are so many machines,
        else as far apart as possible.
    worker_options, server_options : dict, optional
        Options of Ray for these processes, such as ``{"num_cpus": 4}``.
    profile : bool
        Whether each worker records a profile while it runs the function.  The returned list then has an attribute ``profile``:
        one timeline of all workers and servers, on one clock.  It begins when the workers were last started.
    place_within : float
        Seconds in which the cluster must have room for all processes.

    Returns
    -------
    list
        The workers' results, in the order of ranks.

    Raises
    ------
    MissingPackageError
        If Ray is not installed.
    NoClusterError
        If there is no cluster at ``address``, or its head does not answer any more.
    NoRoomError
        If the cluster has no room for all processes.
    LostDataError
        If a machine does not see the folder, or no snapshot in it is whole.
    LostWorkerError
        If a worker raises an error, which is then the ``__cause__``, or a worker is lost and the run cannot go back.
    LostServerError
        If a server is lost and the run cannot go back.
    DistError
        If a worker ends with a ``DistError``, such as ``MismatchError``: that error.

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
    setup = Setup(workers, servers, None, "", every, seconds, staleness, timeout, profile).checked(
        frozen_after=frozen_after, place_within=place_within)
    if not callable(fn):
        raise DistError(expected("fn", "callable", fn), hint="pass the function itself, without calling it.")
    whole("restarts", restarts, error=DistError)
    snaps = every is not None or seconds is not None
    with cluster_of(address) as cluster, job_folder(folder, resume, snaps, cluster.folder) as place:
        setup = setup._replace(folder=place, token="" if place is None else new_token(place))
        options = engine().Options(dict(worker_options or {}), dict(server_options or {}), strict, frozen_after, place_within,
                                   restarts=restarts)
        function = functools.partial(fn, *args, **kwargs or {})
        program = engine().pickled(functools.partial(profiled, function) if profile else function)
        # Workers print to files if the cluster is this process's own; Ray shows what they print otherwise.
        within = cluster.folder and tempfile.TemporaryDirectory(prefix="output-", dir=cluster.folder)
        with within or contextlib.nullcontext() as output:
            driver = engine().Driver(setup, options, program, output)
            results: list[Any] = driver.results()
        return gathered(results, driver.told) if profile else results


class Results(list[Any]):  # Any: what the function of a run returns
    """The results of the workers, in the order of ranks.

    Attributes
    ----------
    profile : Profile or None
        One timeline of all workers and servers, if the run was profiled.
    """

    profile: Any = None  # Any: a Profile, which lies above


def profiled(program: Callable[[], object]) -> tuple[Any, bytes]:  # object, Any: whatever the function returns
    """Run a worker's function under a profiler, and send what its stores hold; its result and the trace."""
    def run_and_finish() -> object:  # object: as above
        result = program()
        finish()
        return result

    traced: tuple[Any, bytes] = displays.call("traced", run_and_finish)  # Any: as above
    return traced


def gathered(pairs: list[tuple[Any, bytes]], told: list[Any]) -> Results:  # Any: results, and plain data of servers
    """The results, with one profile of what all workers and servers did."""
    results = Results(result for result, _ in pairs)
    results.profile = displays.call("merged", [trace for _, trace in pairs], told)
    return results


# --------------------------------------------------------------------------- the folder of a job


@contextlib.contextmanager
def job_folder(folder: Place | None, resume: bool | Place | None, snaps: bool = True, within: Path | None = None
               ) -> Iterator[str | None]:
    """The folder of the snapshots, None if there are none.

    A temporary one is made ``within`` the cluster's, which is removed also if this process is killed.  In a cluster that is not
    this process's own, the next run removes what a killed one has left.
    """
    if resume is not None and not isinstance(resume, bool):
        folder, resume = resume, True
    if resume and folder is None:
        raise DistError("resume=True needs a folder.", hint="pass resume=FOLDER.")
    for left in left_behind(Path(tempfile.gettempdir()), f"{JOB}*"):
        shutil.rmtree(left, ignore_errors=True)
    if folder is not None:
        with locked(Path(folder).resolve()) as job_path:
            there = any(job_path.glob("step-*.json"))
            if resume is True and not there:
                raise DataFileError(f"There is no run to continue in {job_path}.", hint="leave out resume= to start one.")
            if resume is False and there:
                raise DistError(f"There is a run in {job_path} already.",
                                hint="leave out resume= to continue it, or choose another folder.")
            yield str(job_path)
    elif snaps:
        with tempfile.TemporaryDirectory(prefix=JOB, dir=within) as temporary, locked(Path(temporary)):
            yield temporary
    else:
        yield None


def left_behind(place: Path, names: str) -> Iterator[Path]:
    """Folders whose processes were killed: nothing holds their locks."""
    for folder in place.glob(names):
        with contextlib.suppress(OSError), (folder / "lock").open("r+") as lock:
            if time.time() - os.fstat(lock.fileno()).st_mtime > YOUNG:  # another process may be about to lock it
                try_lock(lock.fileno())  # fails while the process that made it lives
                yield folder


def new_token(place: str) -> str:
    """The name of a new file in a folder, by which other machines show that they see it; those of earlier runs go."""
    for old in Path(place).glob("token-*"):
        old.unlink(missing_ok=True)
    token = f"token-{uuid.uuid4().hex}"
    (Path(place) / token).touch()
    return token


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
            try_lock(lock.fileno())
        except OSError as error:
            raise DistError(f"The folder {place} is in use by another run.",
                            hint="wait for it to end, or choose another folder.") from error
        yield place


# --------------------------------------------------------------------------- joining from outside


@_named
def connect(address: str | None = None, job: str | None = None, rank: int | None = None, workers: int = 1, servers: int = 1,
            folder: Place | None = None, every: int | None = None, seconds: float | None = 30.0, staleness: int | None = None,
            timeout: float = 120.0, frozen_after: float = 30.0) -> None:
    """Start or join a Ray cluster for the following calls of ``run``; with ``rank`` also become a worker in this process.

    Call it once in a notebook to avoid that each ``run`` starts a cluster.

    Worker processes that another program starts, on one machine or on several, all call it with the same ``address``, ``job`` and
    numbers, and with their own ``rank``.  They can then make a store with ``mx.kv.create("dist_sync")``.  The first process
    starts the servers.  The servers end when every worker has called ``disconnect``; a process that exits normally calls it.
    With a ``folder``, the servers take snapshots.  If a server or a worker ends, the calls of all others raise an error, and
    whoever has started the workers starts all of them again; they go on from the last snapshot.

    Parameters
    ----------
    address : str, optional
        Address of a running Ray cluster, or ``"auto"`` for the one on this machine.  By default this process starts a cluster
        of its own.
    job : str, optional
        Common name of the job of these workers; ``"job"`` by default.
    rank : int, optional
        Number of this process among the workers, from 0.
    workers, servers, folder, every, seconds, staleness, timeout, frozen_after
        As in ``run``; without a folder there are no snapshots.

    Raises
    ------
    MissingPackageError
        If Ray is not installed.
    NoClusterError
        If there is no cluster at ``address``.
    DistError
        If an argument is invalid, this process is a worker already, or the servers refuse it, have lost data or do not answer.
    """
    setup = Setup(workers, servers, None, f"token-{job or 'job'}", every, seconds, staleness, timeout).checked(
        frozen_after=frozen_after)
    if rank is not None:
        whole("rank", rank, 0, workers - 1, "workers= is the number of all workers.", DistError)
    if _here.way is not None:
        raise DistError("This process is a worker already.", hint="call mx.dist.disconnect() first.")
    if _here.cluster is None:
        _here.cluster = engine().Cluster(address)
        atexit.register(disconnect)
    if rank is None:
        return
    if folder is not None:
        place = Path(folder).resolve()
        place.mkdir(parents=True, exist_ok=True)
        (place / setup.token).touch()
        setup = setup._replace(folder=str(place))
    _here.way = engine().join(job or "job", setup, engine().Options(frozen_after=frozen_after), rank)


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
    if job is None:
        return client_here().processes()
    processes: list[ServerProcess] = engine().servers_of(_joined(job))
    return processes


@_named
def stop_servers(job: str) -> int:
    """End the servers of a job of ``connect`` whose workers have all been killed before they could end the servers.

    The snapshots remain in the job's folder.  A worker of the job that is still running gets a ``LostServerError``.

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
    count: int = engine().stop_keeper(_joined(job))
    return count


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

    All workers go back to the last snapshot: this process ends at its next call that needs the server, and another one goes on.

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
    """
    way = current()
    way.kill(whole("index", index, 0, way.setup.servers - 1, "mx.dist.servers() lists them.", DistError))


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
    command = argparse.ArgumentParser(
        prog="sparsekit launch", description="Run a script in several processes that train one model together.")
    command.add_argument("-n", "--workers", type=int, default=2, metavar="N", help="workers that run the script (default: 2)")
    command.add_argument("-s", "--servers", type=int, default=2, metavar="N", help="servers that keep the values (default: 2)")
    command.add_argument("--address", help="address of a running Ray cluster, or auto (default: a cluster of this command alone)")
    command.add_argument("--folder", type=Path, help="where snapshots are written; the same folder continues a job that was "
                         "interrupted (default: a temporary one)")
    command.add_argument("--every", type=int, metavar="N", help="steps between two snapshots (default: --seconds)")
    command.add_argument("--seconds", type=float, default=30.0, metavar="S", help="seconds between two snapshots (default: 30)")
    command.add_argument("--staleness", type=int, metavar="N", help="steps that a worker may be ahead of the slowest (async)")
    command.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="longest wait (default: 120)")
    command.add_argument("--restarts", type=int, default=3, metavar="N",
                         help="how often the run goes back to one snapshot (default: 3)")
    command.add_argument("script", metavar="SCRIPT", help="Python script to run")
    command.add_argument("arguments", nargs=argparse.REMAINDER, help="everything after SCRIPT is passed to it")
    return command


def main(argv: Sequence[str]) -> int:
    """Run ``sparsekit launch``, and return 0, or 1 if a worker has failed."""
    options = vars(parser().parse_args(argv))
    path, arguments = Path(options.pop("script")), tuple(options.pop("arguments"))
    if not path.is_file():
        raise DataFileError(f"There is no script {path}.", hint="put options before the script: launch -n 2 SCRIPT")
    try:
        run(Script(str(path.resolve()), arguments, str(Path.cwd())), **options)
    except LostWorkerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
