"""The line protocol of the workers of this library: one command per line, answered with a line of JSON."""

from __future__ import annotations

import importlib
import json
import platform
import sys
from typing import Any

from ..base.version import __version__

__all__ = ["OwnWorker", "main", "peak_bytes", "serve"]


class OwnWorker:
    """Base class of the workers of this library."""

    def info(self) -> dict[str, Any]:
        """Return names and versions."""
        return {"name": "sparsekit", "version": __version__, "python": platform.python_version()}


def peak_bytes() -> int:
    """Return the peak memory of this process in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:  # getrusage would count the parent's memory too
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def _mean_of(worker: object, least: str, command: str, *arguments: str) -> float:
    """The mean of what a command answers, called until the sum of that is ``least``: milliseconds of epochs, for instance."""
    values: list[float] = [getattr(worker, command)(*arguments)]
    while sum(values) < float(least):
        values.append(getattr(worker, command)(*arguments))
    return sum(values) / len(values)


def serve(worker: object) -> None:
    """Run commands, which are names of methods of ``worker``, until the end of input; ``mean LEAST COMMAND`` repeats one."""
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            answer = {"ok": _mean_of(worker, *arguments) if command == "mean" else getattr(worker, command)(*arguments)}
        except Exception as error:  # reported to the parent process
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def main(module: str) -> None:
    """Serve the ``Worker`` of a module of this package; what the processes of this library run."""
    serve(importlib.import_module(f"sparsekit.bench.{module}").Worker())
