"""The process that starts a cluster for another one, and ends it when that one says so or has ended, in whatever way.

It is run as a program, with the cluster's folder and options of ``ray start``, and a mark in its environment, which Ray's
processes inherit and no other program has.  It prints the address of the cluster and waits for the end of its input.  Then
it ends what is left of Ray, and removes the folder.  A process is ended if it has the mark, by its number and the time when
it was started: neither its name nor its command tell whose it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

#: The signal that ends a process at once.
KILL = 9

#: The variable of the environment that holds the mark.
MARK = "SPARSEKIT_CLUSTER"

#: Seconds after which processes that do not end are left alone.
LONGEST = 10.0

#: Where free ports are looked for, the options that say the ports of Ray's processes, and how often a cluster is begun.
LOOPBACK = "127.0.0.1"
PORTS = ("dashboard-agent-listen-port", "dashboard-agent-grpc-port", "metrics-export-port", "runtime-env-agent-port")
TRIES = 3

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
    opened: Callable[[int], int] | None = getattr(os, "pidfd_open", None)  # of Linux, from 5.3 on
    with contextlib.suppress(OSError):
        handle = None if opened is None else opened(pid)
    try:
        if start_time(pid) != started:
            return
        if handle is None:
            os.kill(pid, KILL)
        else:  # the process that was looked at, even if the number is used again meanwhile
            send: Callable[[int, int], None] = getattr(signal, "pidfd_send_signal", os.kill)  # what has handles has it too
            send(handle, KILL)
    finally:
        if handle is not None:
            os.close(handle)


def processes_of(mark: str) -> Iterator[tuple[int, int]]:
    """Number and start time of each other process that was started with the mark; a start time of 0 if it cannot be told yet.

    Between two programs, a process shows neither its environment nor its command.
    """
    wanted = os.fsencode(f"{MARK}={mark}")
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            started, place = start_time(pid), Path(f"/proc/{pid}")
            environment = (place / "environ").read_bytes()
            if pid == os.getpid():
                continue
            if wanted in environment.split(b"\0"):
                yield pid, started
            elif not environment and not (place / "cmdline").read_bytes() and os.readlink(place / "exe"):
                yield pid, 0


def end_all(mark: str) -> None:
    """End the processes that were started with the mark, also those that others start meanwhile."""
    end = time.monotonic() + LONGEST
    while (found := list(processes_of(mark))) and time.monotonic() < end:
        for pid, begun in found:
            if begun:
                with contextlib.suppress(OSError):
                    end_process(pid, begun)
        time.sleep(PAUSE)


def clean_up(folder: str, mark: str) -> None:
    """End the processes that were started with the mark, and remove the folder."""
    end_all(mark)
    shutil.rmtree(folder, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody uses now."""
    with contextlib.ExitStack() as held:
        places = [held.enter_context(socket.create_server((LOOPBACK, 0))) for _ in range(count)]
        return [int(one.getsockname()[1]) for one in places]


def started(folder: str, options: Sequence[str]) -> dict[str, str]:
    """Start a cluster: its address, or what was said of why it has not started.

    Ray gives a machine up whose processes take long to say which ports they have chosen, as on a busy one: so these are given.
    """
    said = ""
    for _ in range(TRIES):
        port, *others = free_ports(1 + len(PORTS))
        command = [sys.executable, "-P", "-m", "ray.scripts.scripts", "start", "--head", f"--port={port}", f"--temp-dir={folder}",
                   *options,
                   *(f"--{name}={number}" for name, number in zip(PORTS, others, strict=True))]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        host = re.search(r"Local node IP: (\S+)", done.stdout)
        if done.returncode == 0 and host:
            return {"address": f"{host[1]}:{port}"}
        said = done.stdout[-2000:]
        end_all(os.environ[MARK])
    return {"error": said}


def main(folder: str, *options: str) -> None:
    """Start a cluster, say where it is, and end it when the input ends."""
    answer = started(folder, options)
    with contextlib.suppress(OSError):
        print(json.dumps(answer), flush=True)
    sys.stdin.buffer.read()
    clean_up(folder, os.environ[MARK])


if __name__ == "__main__":
    main(*sys.argv[1:])
