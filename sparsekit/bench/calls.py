"""``sparsekit bench dispatch`` and ``import``: the overhead of a call on tiny arrays, and the time of imports."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from ..base.errors import SparsekitError
from .harness import Bench, Session

__all__ = ["dispatch", "imports"]

WORKLOADS = {"add": "a + b, both 4 x 4", "chain": "record and backward of ten elementwise operations, 4 x 4"}

PROGRAM = "import time; {first}; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"


def _calls(session: Session) -> None:
    workers = session.start()
    for command, heading in WORKLOADS.items():
        measures = {name: partial(worker.ask, command) for name, worker in workers.items()}
        if command == "add" and "mxnet" in workers:
            measures["mxnet, waiting"] = partial(workers["mxnet"].ask, "add_waiting")
        session.table(heading, "µs", measures, session.against)


def _import_time(python: str, module: str, first: str = "pass") -> float:
    """Return the milliseconds to import ``module`` in a fresh process, after running ``first``."""
    command = [python, "-c", PROGRAM.format(first=first, module=module)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SparsekitError(
            f"{module} could not be imported by {python}.", hint=f"try {python} -c 'import {module}'."
        ) from error
    return float(done.stdout) * 1e3


def _imports(session: Session) -> None:
    own = sys.executable
    measures = {"sparsekit after numpy": partial(_import_time, own, "sparsekit", "import numpy"),
                "sparsekit": partial(_import_time, own, "sparsekit"), "numpy": partial(_import_time, own, "numpy")}
    session.table("import", "ms", measures | {name: partial(_import_time, python, name)
                                              for name, python in session.rivals.items()})


dispatch = Bench(
    "Measure one addition, and the recording and backward pass of ten operations, in microseconds.",
    "Cost of a call", (21, 3), _calls, (
        "chain: five times y = y * scale; y = y + shift, under record, then y.backward(); torch gets a head gradient.",
        "mxnet computes asynchronously: 'mxnet' waits for the last result only, 'mxnet, waiting' for each.",
    ))
imports = Bench(
    "Measure imports in fresh processes, in milliseconds.", "Import, each in a fresh process", (15, 2), _imports,
    ("sparsekit after numpy: the time of importing sparsekit in a process that has imported numpy.",))
