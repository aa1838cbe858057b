"""``sparsekit bench import``: the time of ``import sparsekit`` and of rivals, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from ..base.errors import SparsekitError
from .harness import Contender, Report, take_turns

__all__ = ["run"]

PROGRAM = "import time; {first}; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"


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


def run(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure imports in fresh processes, in milliseconds.

    Parameters are those of ``dispatch.run``.
    """
    rounds = rounds or (2 if quick else 15)
    report = Report("Import, each in a fresh process", rounds, NOTES)
    own = sys.executable
    contenders = [
        Contender("sparsekit after numpy", partial(_import_time, own, "sparsekit", "import numpy")),
        Contender("sparsekit", partial(_import_time, own, "sparsekit")),
        Contender("numpy", partial(_import_time, own, "numpy")),
    ]
    for name, python in rivals.items():
        contenders.append(Contender(name, partial(_import_time, python, name)))
    take_turns(contenders, rounds)
    report.add("import", "ms", contenders)
    return report


NOTES = ("sparsekit after numpy: the time of importing sparsekit in a process that has imported numpy.",)
