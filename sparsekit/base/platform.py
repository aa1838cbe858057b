"""What differs between Linux, macOS and Windows, each with a way that works everywhere.

Nothing else in the package names a function that one of these systems lacks, except the parts that start processes by Ray.
"""

from __future__ import annotations

import contextlib
import importlib
import mmap
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import NoReturn


def _module(name: str) -> ModuleType | None:
    """A module that not every system has, of the standard library or psutil; None where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_fcntl = _module("fcntl")

#: Flags for opening a file by its own name, not through a link, unchanged, and not for child processes.
OPEN_SAFELY: int = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_NOINHERIT", "O_BINARY"))

#: The signal that ends a process at once.
KILL = 9


def can_lock() -> bool:
    """Whether an open file can be locked, so that other processes see who writes it, and renamed or removed meanwhile."""
    return _fcntl is not None


def try_lock(descriptor: int) -> None:
    """Lock an open file until it is closed, or its process ends.

    Raises
    ------
    BlockingIOError
        If another process, or another opening of the file, holds the lock.
    OSError
        If this system, or the file's, has no locks.
    """
    if _fcntl is None:
        raise OSError("this system has no locks of open files")
    _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)


def user_number() -> int:
    """The number of the user of this process; 0 where users have none."""
    number: Callable[[], int] | None = getattr(os, "getuid", None)
    return 0 if number is None else number()


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process; True where files do not say."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def has_anonymous_files() -> bool:
    """Whether the system has files in memory that vanish with their last user."""
    return hasattr(os, "memfd_create")


def anonymous_file(name: str) -> int:
    """A descriptor of an empty file in memory, where ``has_anonymous_files()``."""
    make: Callable[[str], int] = getattr(os, "memfd_create")  # noqa: B009 - not an attribute on every system
    return make(name)


def usable_cores() -> int:
    """Cores that this process may run on."""
    allowed: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return os.cpu_count() or 1 if allowed is None else len(allowed(0))


def leave_processor(processor: int) -> None:
    """Move the calling thread to another processor now, and then restore its affinity; does nothing where a system has none."""
    allowed: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    allow: Callable[[int, set[int]], None] | None = getattr(os, "sched_setaffinity", None)
    if allowed is None or allow is None:
        return
    before = allowed(0)
    if len(before) > 1:
        with contextlib.suppress(OSError):  # the other processors were taken away meanwhile
            allow(0, before - {processor})
            allow(0, before)


def end_group(process: int) -> None:
    """Kill the group of processes that a process leads, or with 0 this one's own; nothing where there are no groups."""
    kill: Callable[[int, int], None] | None = getattr(os, "killpg", None)
    if kill is not None:
        with contextlib.suppress(ProcessLookupError):
            kill(process, KILL)


def before_leaving(work: Callable[[int], object]) -> Callable[[int], NoReturn]:  # object: its result is not used
    """Have ``os._exit`` do some work first, which gets the status; gives what ``os._exit`` was, for the caller to put back."""
    leave = os._exit

    def left(status: int) -> NoReturn:
        os._exit = leave
        try:
            work(status)
        finally:
            leave(status)
    os._exit = left
    return leave


def can_fork() -> bool:
    """Whether a process that has imported libraries may be forked: on macOS some of them hold threads by then."""
    return sys.platform == "linux"


def forked() -> int:
    """Fork this process, where ``can_fork()``: the number of the new one, which leads a session of its own; 0 there."""
    fork: Callable[[], int] = getattr(os, "fork")  # noqa: B009 - not an attribute on every system
    lead: Callable[[], int] = getattr(os, "setsid")  # noqa: B009 - as above
    pid = fork()
    if not pid:
        lead()
    return pid


def place_of(descriptor: int) -> str | int:
    """What ``open`` takes for an open file of this process: on Linux a path, which other processes may use, else a number."""
    return f"/proc/{os.getpid()}/fd/{descriptor}" if has_anonymous_files() else descriptor


def ended_by_system(status: int) -> bool:
    """Whether a process with this exit status was killed, as systems do when memory runs out."""
    return status == -KILL


def process_bytes() -> int | None:
    """Memory that the whole process holds now, in bytes; None where neither the system nor psutil says."""
    try:
        file = os.open("/proc/self/statm", os.O_RDONLY)  # a stream takes several times as long, and profilers begin and end often
        try:
            return int(os.read(file, 256).split()[1]) * mmap.PAGESIZE
        finally:
            os.close(file)
    except (OSError, ValueError, IndexError):
        return next(iter(by_psutil("memory_info", "rss")), None)


def process_peak_bytes() -> int | None:
    """Most memory that the whole process ever held, in bytes; None where neither the system nor psutil says."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/status", "rb") as stream:
        for line in stream:
            if line.startswith(b"VmHWM:"):  # getrusage would count the memory of the parent before the process began
                return int(line.split()[1]) * 1024
    resource = _module("resource")
    if resource is None:
        return next(iter(by_psutil("memory_info", "peak_wset")), None)
    peak = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak if sys.platform == "darwin" else peak * 1024


def by_psutil(asked: str, field: str) -> list[int]:
    """What psutil answers, where ipykernel or something else has installed it: a list of one number, or of none.

    Parameters
    ----------
    asked : {"memory_info", "virtual_memory"}
        Of this process, or of the machine.
    field : str
    """
    psutil = _module("psutil")
    if psutil is None:
        return []
    answer = psutil.virtual_memory() if asked == "virtual_memory" else psutil.Process().memory_info()
    return [int(getattr(answer, field))] if hasattr(answer, field) else []
