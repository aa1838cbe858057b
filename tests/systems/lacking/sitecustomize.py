"""Makes Python on Linux lack what other systems lack, in this process and in those that it starts.

Python imports a module of this name when it begins, if its folder is in ``PYTHONPATH``.  With ``SPARSEKIT_SYSTEM=windows`` files
that this process holds open cannot be renamed, replaced or removed either, and processes begin by spawn alone.
"""

from __future__ import annotations

import builtins
import io
import os
import signal
import sys
import types

SYSTEM = os.environ.get("SPARSEKIT_SYSTEM", "")

#: Of os and signal, what macOS lacks, and what Windows lacks besides.
LINUX = ("memfd_create", "sched_getaffinity", "sched_setaffinity", "pidfd_open", "getxattr", "fdatasync", "posix_fallocate")
POSIX = ("fork", "forkpty", "register_at_fork", "geteuid", "sysconf", "setsid", "killpg", "getpgid",
         "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "mkfifo", "getloadavg")
SIGNALS = ("SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD", "setitimer", "alarm", "pthread_sigmask", "pthread_kill")
MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")


def _hide_proc() -> None:
    """No file below /proc can be opened."""
    real, real_open = os.open, builtins.open

    def hidden(path: object) -> bool:
        try:
            place = os.fspath(path)  # type: ignore[call-overload]
            return place.startswith("/proc/") and place != "/proc/self/maps"  # which threadpoolctl reads
        except TypeError:
            return False

    def open_descriptor(path, *given, **named):
        if hidden(path):
            raise FileNotFoundError(2, "No such file or directory", path)
        return real(path, *given, **named)

    def open_file(path, *given, **named):
        if hidden(path):
            raise FileNotFoundError(2, "No such file or directory", path)
        return real_open(path, *given, **named)

    os.open = open_descriptor
    builtins.open = io.open = open_file


def _psutil() -> types.ModuleType:
    """What is asked of psutil, with the names that it has on Windows; the real one reads /proc."""
    from types import SimpleNamespace

    made = types.ModuleType("psutil")
    made.Process = lambda: SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=123 << 20, peak_wset=456 << 20))
    made.virtual_memory = lambda: SimpleNamespace(available=7 << 30)
    return made


def _hold_open_files() -> None:
    """What this process holds open stays where it is."""
    listed, linked = os.listdir, os.readlink

    def refuse(path: object) -> None:
        place = os.path.realpath(os.fspath(path))  # type: ignore[arg-type]
        for name in listed("/proc/self/fd"):
            try:
                if linked(f"/proc/self/fd/{name}") == place:
                    raise PermissionError(13, "The process cannot access the file because it is being used", place)
            except FileNotFoundError:
                pass

    def guarded(real, paths):
        def call(*given, **named):
            for path in given[:paths]:
                if not isinstance(path, int) and "dir_fd" not in named:
                    refuse(path)
            return real(*given, **named)
        return call

    for name, paths in (("replace", 2), ("rename", 2), ("unlink", 1), ("remove", 1)):
        setattr(os, name, guarded(getattr(os, name), paths))


def _spawn_alone() -> None:
    """The other ways to begin a process of ``multiprocessing`` need ``fork``."""
    from multiprocessing import context

    for name in ("fork", "forkserver"):
        context._concrete_contexts.pop(name, None)
    context._default_context._default_context = context._concrete_contexts["spawn"]
    type(context._default_context).get_all_start_methods = lambda self: ["spawn"]
    import multiprocessing

    multiprocessing.get_all_start_methods = lambda: ["spawn"]


if SYSTEM:
    import filelock  # noqa: F401 - which asks the system once how to lock

    _held = os.name == "posix" and SYSTEM == "windows"
    if _held:
        _hold_open_files()
    _hide_proc()
    sys.modules["psutil"] = _psutil()
    for name in (*LINUX, *(POSIX if _held else ())):
        if hasattr(os, name):
            delattr(os, name)
    if _held:
        for name in SIGNALS:
            if hasattr(signal, name):
                delattr(signal, name)
        for name in MODULES:
            sys.modules[name] = None  # type: ignore[assignment]
        _spawn_alone()
