"""The process that starts a cluster for another one, and ends it when that one says so or has ended, in whatever way.

It is run as a program, with the cluster's folder and options of ``ray start``, and a mark in its environment, which Ray's
processes inherit and no other program has.  It prints the address of the cluster and waits for the end of its input.  Then
it ends what is left of Ray, and removes the folder.  A process is ended if it has the mark: neither its name nor its command
tell whose it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

#: The variable of the environment that holds the mark.
MARK = "SPARSEKIT_CLUSTER"

#: Seconds after which processes that do not end are left alone.
LONGEST = 10.0

#: Where free ports are looked for, and the options that say the ports of Ray's processes.
LOOPBACK = "127.0.0.1"
PORTS = ("dashboard-agent-listen-port", "dashboard-agent-grpc-port", "metrics-export-port", "runtime-env-agent-port")

#: How often a cluster is begun, and how many seconds each of these may take.
TRIES, TRY = 3, 90.0

#: Seconds between two looks at what is left.
PAUSE = 0.02


def end_marked(mark: str) -> bool:
    """End each other process that was started with the mark; whether there was one, or may have been.

    Between two programs, a process shows neither its environment nor its command.
    """
    import psutil  # which is installed with Ray, and may be missing where Ray is

    any_marked = False
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has ended, or is another user's
            if process.pid == os.getpid():
                continue
            environment = process.environ()
            if environment.get(MARK) == mark:
                any_marked = True
                process.kill()  # the process that was looked at: psutil notices if its number is used again
            elif not environment and not process.cmdline() and process.exe():
                any_marked = True
    return any_marked


def end_all(mark: str) -> None:
    """End the processes that were started with the mark, also those that others start meanwhile."""
    end = time.monotonic() + LONGEST
    while end_marked(mark) and time.monotonic() < end:
        time.sleep(PAUSE)


def clean_up(folder: str, mark: str) -> None:
    """End the processes that were started with the mark, and remove the folder."""
    end_all(mark)
    shutil.rmtree(folder, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody uses now."""
    with contextlib.ExitStack() as held:
        places = [held.enter_context(socket.create_server((LOOPBACK, 0))) for _ in range(count)]
        return [int(server.getsockname()[1]) for server in places]


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
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=TRY)
            host = re.search(r"Local node IP: (\S+)", done.stdout)
            if done.returncode == 0 and host:
                return {"address": f"{host[1]}:{port}"}
            said = done.stdout[-2000:]
        except subprocess.TimeoutExpired:
            said = f"ray start has not ended within {TRY:.0f} s"
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
