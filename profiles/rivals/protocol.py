"""The line protocol of the rivals: a command a line on standard input, one JSON line back on standard output."""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy

#: Seconds that one measurement should take, by repeating the call.
LONG_ENOUGH = 0.03


def serve(worker) -> None:
    """Answer commands, which are methods of ``worker``, until ``quit`` or the end of input."""
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "quit":
            return
        try:
            answer = {"ok": mean_of(worker, *arguments) if command == "mean" else getattr(worker, command)(*arguments)}
        except Exception as error:  # the asker decides what to do about it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def mean_of(worker, least: str, command: str, *arguments: str) -> float:
    """The mean of what a command answers, called until the sum of that is ``least``: milliseconds of epochs, for instance."""
    values = [getattr(worker, command)(*arguments)]
    while sum(values) < float(least):
        values.append(getattr(worker, command)(*arguments))
    return sum(values) / len(values)


def peak_memory() -> int:
    """Bytes of memory that this process has had at most; Linux alone counts them from its start, not its parent's."""
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


class Arrays:
    """Operations on arrays from a file, each in one or several forms.

    A subclass defines ``info()``, ``operations(parts)`` and ``total(result)``: the first gives name and version,
    the second a dictionary of dictionaries of functions, by operation and form, the third two numbers that tell
    results apart.
    """

    def load(self, path: str) -> dict[str, object]:
        """Read the arrays; the forms of each operation that work, and why others do not."""
        self.forms = {}
        with numpy.load(path) as stored:
            parts = {name: stored[name] for name in stored.files}
        found, failed = {}, {}
        for operation, forms in self.operations(parts).items():
            for form, function in forms.items():
                try:
                    totals = self.total(function())
                except Exception as error:
                    failed[f"{operation}: {form}"] = f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:200]}"
                    continue
                self.forms[operation, form] = function
                found.setdefault(operation, {})[form] = [float(number) for number in totals]
        return {"forms": found, "failed": failed}

    def time(self, operation: str, form: str) -> float:
        """Microseconds a call, once threads and clocks are awake: the median of a few, each repeated long enough."""
        function = self.forms[operation, form]
        start, calls = time.perf_counter(), 0
        while time.perf_counter() - start < LONG_ENOUGH:
            function()
            calls += 1
        repeats = min(2000, calls)
        taken = []
        for _ in range(3):
            start = time.perf_counter()
            for _ in range(repeats):
                function()
            taken.append((time.perf_counter() - start) / repeats)
        return statistics.median(taken) * 1e6
