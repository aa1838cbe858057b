"""What a step does outside of itself, stopped before it happens: files that it writes, processes, the network.

Python tells audit hooks of such calls before they are made, and an error that a hook raises stops the call.  The hook is
installed in the processes that run steps, and in no other.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..base.errors import SparsekitError
from ..profiler.source_location import line_of
from .send import is_program
from .torch_programs import tell_of_files

#: The beginnings of the names of events that are effects whatever their arguments are -> what they do.
EFFECTS = {
    "os.remove": "deletes a file", "os.rename": "renames a file", "os.rmdir": "deletes a folder", "os.mkdir": "makes a folder",
    "os.link": "makes a link", "os.symlink": "makes a link", "os.truncate": "writes a file", "os.utime": "changes a file",
    "os.chdir": "changes the current folder", "os.ch": "changes a file", "os.putenv": "changes the environment",
    "os.unsetenv": "changes the environment", "os.system": "starts a process", "os.exec": "starts a process",
    "os.fork": "starts a process", "os.posix_spawn": "starts a process", "os.spawn": "starts a process",
    "os.kill": "sends a signal", "subprocess.Popen": "starts a process", "shutil.": "changes files",
    "tempfile.mk": "makes a file", "socket.connect": "uses the network", "socket.bind": "uses the network",
    "socket.send": "uses the network", "socket.getaddrinfo": "uses the network", "socket.gethostby": "uses the network",
    "urllib.Request": "uses the network", "http.client.connect": "uses the network", "ftplib.connect": "uses the network",
    "smtplib.connect": "uses the network", "sqlite3.connect": "opens a data base",
}

#: What changes a file, among the flags that one is opened with.
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

#: Packages that write for themselves: compiled kernels and modules, which change no result.
_CACHES = ("importlib", "_frozen_importlib_external", "_frozen_importlib", "numba", "llvmlite", "cupy", "ctypes", "matplotlib")


class SideEffect(SparsekitError):
    """A step was stopped before it did something outside of itself."""


class _Watch:
    """Whether a step runs, and what one was stopped from."""

    on = installed = False
    stopped: SideEffect | None = None


class _Busy(threading.local):
    """Whether the hook is at work in this thread already."""

    now = False


_watch, _busy = _Watch(), _Busy()


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """A block whose files, processes and connections raise ``SideEffect`` before they are made, in any thread."""
    if not _watch.installed:
        sys.addaudithook(_hook)
        tell_of_files()
        _watch.installed = True
    _watch.on = True
    try:
        yield
    finally:
        _watch.on = False
    if _watch.stopped is not None:  # the step has caught the error and gone on
        raise _watch.stopped


def _hook(event: str, arguments: tuple[Any, ...]) -> None:  # Any: what the events have
    if not _watch.on or _busy.now:
        return
    effect = _effect(event, arguments)
    if effect:
        _busy.now = True
        try:
            frame = _user_frame(sys._getframe(1))
            if frame is None:
                return
            where = line_of(frame.f_code, frame.f_lasti)
        finally:
            _busy.now = False
        _watch.stopped = SideEffect(f"The step {effect} at {where} ({event}).",
                                    hint="remove this from the step: the step runs repeatedly, and must not change anything "
                                         "outside.")
        raise _watch.stopped


def _effect(event: str, arguments: tuple[Any, ...]) -> str:  # Any: as above
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
        return f"writes the file {os.path.basename(str(arguments[0]))!r}" if flags & _WRITING else ""
    return next((effect for name, effect in EFFECTS.items() if event.startswith(name)), "")


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the program itself; None if a cache writes for itself."""
    innermost = None
    outer = frame
    while outer is not None:
        if str(outer.f_globals.get("__name__", "")).partition(".")[0] in _CACHES:
            return None
        if innermost is None and is_program(outer.f_globals):
            innermost = outer
        outer = outer.f_back
    return innermost or frame
