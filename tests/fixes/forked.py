"""Processes for ``try_fixes`` that are forked from one which has imported everything, where a test is not about how they start.

Each request of ``try_fixes`` gets a fresh interpreter, whose imports take more than all that it computes.  ``Forked`` stands
for ``subprocess.Popen`` there.  What it starts has the same program to run, the same pipes and a session of its own.
"""

from __future__ import annotations

import gc
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Self

#: What processes of the tests import.
MODULES = ("numba", "numpy.random", "sparsekit.fixes.runner", "sparsekit.gluon.nn", "sparsekit.kernels.cpu.warm",
           "sparsekit.optimizer")

#: What those import that run PyTorch, whose optimizers import ``torch._dynamo`` for their first step.
TORCH_MODULES = ("sparsekit.fixes.whole_run", "torch._dynamo")


class Origin:
    """The process that others are forked from."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-P", __file__, str(theirs.fileno()), *modules]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(one or os.getcwd() for one in sys.path)}
        with theirs:
            self._process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()])
        self.messages, self._socket = ours.makefile("r"), ours

    def fork(self, descriptors: list[int], environment: Mapping[str, str]) -> int:
        """The number of a new process that has these files as its input, output and errors."""
        given = json.dumps([os.getcwd(), dict(environment)]).encode()
        socket.send_fds(self._socket, [len(given).to_bytes(8, "big")], descriptors)
        self._socket.sendall(given)
        return int(self.messages.readline())

    def close(self) -> None:
        """End it."""
        self.messages.close()
        self._socket.close()
        self._process.wait()


class Forked:
    """What ``sparsekit.fixes.processes`` takes for a ``subprocess.Popen``."""

    def __init__(self, origin: Origin, environment: Mapping[str, str]) -> None:
        self._origin = origin
        self.returncode: int | None = None
        (read, given), (self._out, wrote), (self._err, told) = os.pipe(), os.pipe(), os.pipe()
        self.stdin: Any = os.fdopen(given, "wb", buffering=0)
        self.pid = origin.fork([read, wrote, told], environment)
        for one in (read, wrote, told):
            os.close(one)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait()
        os.close(self._out)
        os.close(self._err)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """What the process has written until it closed its files."""
        end, found = time.monotonic() + timeout, {self._out: b"", self._err: b""}
        with selectors.DefaultSelector() as selector:
            for one in found:
                selector.register(one, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(end - time.monotonic())
                if not ready:
                    raise subprocess.TimeoutExpired("forked", timeout)
                for key, _ in ready:
                    piece = os.read(key.fd, 1 << 16)
                    found[key.fd] += piece
                    if not piece:
                        selector.unregister(key.fd)
        self._wait()
        return found[self._out], found[self._err]

    def _wait(self) -> None:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(int(self._origin.messages.readline()))

    def kill(self) -> None:
        """End the process, if it has not ended."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def serve(connection: socket.socket) -> None:
    """Fork a process for each message until the tests end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    while True:
        size, descriptors, *_ = socket.recv_fds(connection, 8, 3)
        if not size:
            return
        given = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        pid = os.fork()
        if not pid:
            connection.close()
            begin(descriptors, *json.loads(given))
        for one in descriptors:
            os.close(one)
        connection.sendall(b"%d\n" % pid)
        connection.sendall(b"%d\n" % os.waitpid(pid, 0)[1])


def begin(descriptors: list[int], folder: str, environment: dict[str, str]) -> None:
    """Go on as ``python -m sparsekit.fixes.runner`` does."""
    os.setsid()
    for place, one in enumerate(descriptors):
        os.dup2(one, place)
        os.close(one)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = dict.fromkeys([*environment["PYTHONPATH"].split(os.pathsep), *sys.path])
    for module in (random, sys.modules["numpy.random"]):
        module.seed()  # as of a process of its own
    import_module("sparsekit.fixes.runner").main()
    os._exit(0)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        import_module(name)
    gc.freeze()  # what is imported is never garbage
    serve(socket.socket(fileno=int(sys.argv[1])))
