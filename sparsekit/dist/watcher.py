"""The process that cleans up after a cluster when the process that has started it stops it or ends, in whatever way.

It is run as a program, with the cluster's folder as its argument, and waits for the end of its input.  Then it ends what is left
of Ray, two of whose processes would go on for a minute and a half, and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator

#: Seconds after which processes that do not end are left alone.
LONGEST = 10.0

#: Seconds between two looks at what is left.
PAUSE = 0.02


def has_file_in(pid: str, folder: str) -> bool:
    """Whether a process has a file of a folder open."""
    folder = os.path.realpath(folder)
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{name}").startswith(f"{folder}/"):
                return True
    return False


def processes_of_ray(folder: str) -> Iterator[tuple[int, bool]]:
    """Ray's processes that use a folder, and whether each shows its name.

    Their commands name the folder until they call themselves "ray::" and something; they have files open in it from their start.
    Between two programs, a process shows no name.
    """
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read()
            named = os.fsencode(folder) in words and b"/ray/" in words
            if int(pid) != os.getpid() and (named or (words[:5] in (b"", b"ray::") and has_file_in(pid, folder))):
                yield int(pid), bool(words)


def clean_up(folder: str) -> None:
    """End Ray's processes that use a folder, also those that others start meanwhile, and remove it."""
    end = time.monotonic() + LONGEST
    while (found := list(processes_of_ray(folder))) and time.monotonic() < end:
        for pid, named in found:
            if named:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    clean_up(sys.argv[1])
