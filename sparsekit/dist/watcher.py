"""The process that cleans up after a cluster when the process that has started it stops it or ends, in whatever way.

It is run as a program, with the cluster's folder and mark as its arguments, and waits for the end of its input.  Then it ends
what is left of Ray, two of whose processes would go on for a minute and a half, and removes the folder.  A process is Ray's if
it was started with the mark, a random word in its environment: neither its name nor its files tell whose it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

#: The variable of the environment that holds the mark.
MARK = "SPARSEKIT_CLUSTER"

#: Seconds after which processes that do not end are left alone.
LONGEST = 10.0

#: Seconds between two looks at what is left.
PAUSE = 0.02


def start_time(pid: int) -> int:
    """When a process of this machine was started, in ticks since the machine was."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()[19])


def end_process(pid: int, started: int) -> None:
    """End the process of this number if it is the one that was started then, as numbers are used again.

    Raises
    ------
    OSError
        If it has ended.
    """
    handle = None
    with contextlib.suppress(AttributeError, OSError):  # Linux before 5.3 has no handles of processes
        handle = os.pidfd_open(pid)
    try:
        if start_time(pid) != started:
            return
        if handle is None:
            os.kill(pid, signal.SIGKILL)
        else:  # the process that was looked at, even if the number is used again meanwhile
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        if handle is not None:
            os.close(handle)


def processes_of(mark: str) -> Iterator[tuple[int, int]]:
    """Number and start time of each process that was started with the mark; a start time of 0 if it cannot be told yet.

    Between two programs, a process shows neither its environment nor its command.
    """
    wanted = os.fsencode(f"{MARK}={mark}")
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            started, place = start_time(pid), Path(f"/proc/{pid}")
            environment = (place / "environ").read_bytes()
            if wanted in environment.split(b"\0"):
                yield pid, started
            elif not environment and not (place / "cmdline").read_bytes() and os.readlink(place / "exe"):
                yield pid, 0


def clean_up(folder: str, mark: str) -> None:
    """End the processes that were started with the mark, also those that others start meanwhile, and remove the folder."""
    end = time.monotonic() + LONGEST
    while (found := list(processes_of(mark))) and time.monotonic() < end:
        for pid, started in found:
            if started:
                with contextlib.suppress(OSError):
                    end_process(pid, started)
        time.sleep(PAUSE)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    clean_up(*sys.argv[1:])
