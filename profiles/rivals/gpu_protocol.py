"""What the rivals of ``sparsekit bench gpu`` share: loading, checking, and times between two CUDA events."""

from __future__ import annotations

import time

import numpy
from protocol import serve

__all__ = ["Device", "serve"]

#: Seconds that one measurement should take, by repeating the call, and most repetitions.
LONG_ENOUGH, MOST = 0.03, 2000


class Device:
    """Operations on arrays from a file, each in one or several forms.

    A subclass defines ``info``, ``event``, ``elapsed`` (milliseconds), ``wait``, ``total`` (two numbers that tell results
    apart) and, for each kind of workload, a method that gives functions by operation and form.
    """

    def load(self, path, kind):
        """Read the arrays; the forms of each operation that work, and why others do not."""
        self.forms, found, failed = {}, {}, {}
        with numpy.load(path) as stored:
            parts = {name: stored[name] for name in stored.files}
        try:
            operations = getattr(self, kind)(parts)
        except NotImplementedError as error:
            return {"forms": {}, "failed": {kind: str(error)}}
        for operation, forms in operations.items():
            for form, function in forms.items():
                try:
                    result = function()
                    totals = function.moved() if hasattr(function, "moved") else self.total(result)
                except Exception as error:
                    failed[f"{operation}: {form}"] = f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:200]}"
                    continue
                self.forms[operation, form] = function
                found.setdefault(operation, {})[form] = [float(number) for number in totals]
        return {"forms": found, "failed": failed}

    def stepping(self, step, weight, states, pairs):
        """A function that takes a step with the next gradient; its ``moved`` tells how far all have moved the weight."""
        count = [0]

        def run():
            count[0] += 1
            rows, values = pairs[(count[0] - 1) % len(pairs)]
            step(weight, states, rows, values, count[0])

        def moved():
            for _ in pairs[1:]:
                run()
            distance = self.total(weight - 1)[1]
            return distance, distance

        run.moved = moved
        return run

    def time(self, operation, form):
        """Microseconds a call between two events, over calls that take long enough together."""
        function = self.forms[operation, form]
        function()
        self.wait()
        start = time.perf_counter()
        function()
        self.wait()
        repeats = max(1, min(MOST, int(LONG_ENOUGH / max(time.perf_counter() - start, 1e-6))))
        before, after = self.event(), self.event()
        before.record()
        for _ in range(repeats):
            function()
        after.record()
        after.synchronize()
        return float(self.elapsed(before, after)) / repeats * 1e3
