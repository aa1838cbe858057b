"""The process that runs this library for ``sparsekit bench``; the scripts of rivals answer to the same words.

It reads a command per line from standard input and answers with a line of JSON.  ``load CASE PATH WORD…`` sets up a case, such
as ``arrays:products``, and returns its forms by operation, each with the numbers that tell results apart.  ``time OPERATION
FORM`` measures one; ``under PROFILER …`` does it under a profiler.  ``moved``, ``value``, ``peak`` and ``bandwidth`` count
bytes.  The scripts of rivals know ``info``, ``load PATH WORD…``, ``time``, ``peak`` and ``mean``.
"""

from __future__ import annotations

import importlib
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..base.version import __version__
from ..profiler import Profiler

#: Seconds for which one measurement repeats the call, those under a profiler, and the most repetitions.
LONG_ENOUGH, PROFILED, MOST = 0.03, 0.1, 2000
#: Bytes of the arrays that are copied to measure memory bandwidth; far larger than caches.
COPIED_BYTES = 1 << 28


class Form(NamedTuple):
    """What is measured.

    Attributes
    ----------
    run : callable
    total : callable
        Gives the numbers of a result that tell it apart from other results.
    scale : float
        What the seconds of a call are multiplied with, such as 1e6 for microseconds.
    """

    run: Callable[[], Any]
    total: Callable[[Any], Sequence[float]] = lambda result: ()
    scale: float = 1e3


#: Forms by operation and name.
Forms = dict[str, dict[str, Form]]


def _torch_profiler(**options: bool) -> AbstractContextManager[object]:
    from torch import profiler  # type: ignore[import-not-found, unused-ignore]

    torch_profiler: AbstractContextManager[object] = profiler.profile(activities=[profiler.ProfilerActivity.CPU], **options)
    return torch_profiler


#: What may watch a measurement.
PROFILERS: dict[str, Callable[[], Any]] = {
    "off": nullcontext, "on": Profiler, "known": Profiler, "seen": lambda: Profiler(torch=True), "bare": _torch_profiler,
    "torch": lambda: _torch_profiler(record_shapes=True, profile_memory=True)}


class Worker:
    """The commands, and the forms that were loaded last."""

    def __init__(self) -> None:
        self.forms: Forms = {}
        self._cuda: Any = None  # Any: cupy's

    def info(self) -> dict[str, Any]:
        """Return names and versions."""
        return {"name": "sparsekit", "version": __version__, "python": platform.python_version()}

    def load(self, case: str, path: str, *words: str) -> dict[str, Any]:
        """Set up a case, run each form once, and return the numbers of its results."""
        self.forms = {}  # frees the last case before the next is set up
        module, _, function = case.partition(":")
        forms_of_case = getattr(importlib.import_module(f"sparsekit.bench.{module}"), function)(path, *words)
        self._cuda = importlib.import_module("cupy").cuda if "gpu" in words else None
        self.forms = forms_of_case
        return {"failed": {}, "forms": {operation: {name: [float(number) for number in form.total(form.run())]
                                                    for name, form in forms.items()}
                                        for operation, forms in forms_of_case.items()}}

    def time(self, operation: str, name: str = "") -> float:
        """Measure a form: one call if it takes long enough, else the median of three runs of ``LONG_ENOUGH`` seconds."""
        form = self.forms[operation][name.replace("_", " ")]
        spent, calls = 0.0, 0
        while spent < LONG_ENOUGH and calls < MOST:
            spent, calls = spent + self._seconds(form.run, 1), calls + 1
        taken = [spent] if calls == 1 else [self._seconds(form.run, calls) for _ in range(3)]
        return statistics.median(taken) / calls * form.scale

    def _seconds(self, run: Callable[[], object], calls: int) -> float:
        """Seconds that calls take, between two CUDA events on a GPU."""
        if self._cuda is None:
            start = time.perf_counter()
            for _ in range(calls):
                run()
            return time.perf_counter() - start
        before, after = self._cuda.Event(), self._cuda.Event()
        before.record()
        for _ in range(calls):
            run()
        after.record()
        after.synchronize()
        return float(self._cuda.get_elapsed_time(before, after)) / 1e3

    def under(self, profiler: str, operation: str, name: str = "") -> float:
        """Measure a form under a profiler, whose start and end do not count; ``known`` counts them, and the totals.

        Of PyTorch, the first call does not count either: in it, sparsekit finds the program's modules.  Twenty follow, because
        the rows of gradients are counted in few of them.
        """
        form, calls = self.forms[operation][name.replace("_", " ")], 0
        begun = time.perf_counter()
        with PROFILERS[profiler]() as seen:
            least = 20 if profiler in ("seen", "bare", "torch") else 1
            if least > 1:
                form.run()
            start = time.perf_counter()
            while calls < least or time.perf_counter() - start < PROFILED:
                form.run()
                calls += 1
            spent = time.perf_counter() - start
        if profiler == "known":
            _ = seen.totals
            spent = time.perf_counter() - begun
        return spent / calls * form.scale

    def operators(self, operation: str) -> int:
        """Return the operators that a call runs, those of PyTorch included."""
        with Profiler(torch="torch" in sys.modules) as seen:
            self.forms[operation][""].run()
        return sum(record["kind"] == "op" for record in seen.records)

    def moved(self, operation: str) -> int:
        """Return the bytes that an operation reads and writes, as the profiler counts them."""
        with Profiler() as seen:
            self.forms[operation][""].run()
        return sum(int(record["bytes"]) for record in seen.records if record["kind"] == "op")

    def value(self, operation: str) -> float:
        """Return what a form gives."""
        return float(self.forms[operation][""].run())

    def peak(self) -> int:
        """Return the peak memory of this process in bytes."""
        with open("/proc/self/status", encoding="ascii") as status:  # getrusage would count the parent's memory too
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

    def bandwidth(self, device: str = "cpu", size: str = str(COPIED_BYTES)) -> float:
        """Return the bytes per second that are copied between two arrays, by one thread on a CPU; reads and writes count."""
        library = np if device == "cpu" else importlib.import_module("cupy")
        self._cuda = None if device == "cpu" else library.cuda
        source = library.ones(int(size) // 8)
        target = library.empty_like(source)
        return 2 * int(source.nbytes) / min(self._seconds(lambda: target.__setitem__(slice(None), source), 1) for _ in range(5))

    def device(self) -> dict[str, str]:
        """Return the versions of what a GPU needs, and its name."""
        cupy: Any = importlib.import_module("cupy")
        runtime = cupy.cuda.runtime
        name = runtime.getDeviceProperties(0)["name"]
        return {"cupy": cupy.__version__, "CUDA runtime": str(runtime.runtimeGetVersion()), "CUDA driver":
                str(runtime.driverGetVersion()), "device": name.decode() if isinstance(name, bytes) else name}


def _mean_of(worker: object, least: str, command: str, *words: str) -> float:
    """The mean of what a command answers, called until the sum of that is ``least``: milliseconds of epochs, for instance."""
    values: list[float] = [getattr(worker, command)(*words)]
    while sum(values) < float(least):
        values.append(getattr(worker, command)(*words))
    return sum(values) / len(values)


def serve(worker: object) -> None:
    """Run commands, which are names of methods of ``worker``, until the end of input; ``mean LEAST COMMAND`` repeats one."""
    for line in sys.stdin:
        command, *words = line.split()
        try:
            answer = {"ok": _mean_of(worker, *words) if command == "mean" else getattr(worker, command)(*words)}
        except Exception as error:  # reported to the parent process
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def main() -> None:
    """Serve; what the processes of this library run."""
    serve(Worker())
