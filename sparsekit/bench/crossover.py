"""``sparsekit bench crossover``: the time of a training step by density, size and storage type, for the crossover explorer.

    sparsekit bench crossover --json sparsekit/widgets/static/crossover_grid.json

It is processor time of one thread, so that other processes affect it little.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import SparsekitError
from ..base.formatting import format_duration, format_share
from ..base.tables import text_table
from ..base.version import __version__
from ..widgets.crossover_model import FORMATS
from ..widgets.display import write_file

__all__ = ["CrossoverReport", "run"]

COMMAND = "sparsekit bench crossover --json FILE"
#: One thread in this library and in the BLAS of numpy.
ONE_THREAD = dict.fromkeys(("SPARSEKIT_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                            "NUMBA_NUM_THREADS"), "1")  # fmt: skip


class CrossoverReport:
    """The measured grid, with the error of interpolating in it.

    Parameters
    ----------
    axes : dict of str to list
        The values of each setting.
    times : dict of str to list of float or None
        Microseconds by storage type, over the product of the axes; None where the setting is too large.
    checks : list of [float, float]
        Measured and interpolated microseconds at other settings.
    """

    def __init__(self, axes: dict[str, list[Any]], times: dict[str, list[float | None]], checks: list[list[float]]) -> None:
        self.axes, self.times, self.checks = axes, times, checks

    def facts(self) -> dict[str, Any]:
        """Return the grid as plain data."""
        errors = sorted(abs(math.log(measured / estimated)) for measured, estimated in self.checks) or [0.0]
        return {
            "command": COMMAND, "version": __version__, "numpy": np.__version__, "machine": platform.machine(),
            "what": "forward product, gradient of the weight, SGD update",
            "axes": self.axes, "times": self.times, "checked": len(self.checks),
            "median_error": round(math.exp(errors[len(errors) // 2]) - 1, 3),
            "worst_error": round(math.exp(errors[-1]) - 1, 3),
        }  # fmt: skip

    def text(self) -> str:
        """Return a table of the measured times, and the error of the interpolation."""
        facts = self.facts()
        rows = []
        for kind in FORMATS:
            known = [value for value in self.times[kind] if value is not None]
            rows.append((kind, len(known), len(self.times[kind]) - len(known), format_duration(min(known)),
                         format_duration(max(known))))  # fmt: skip
        table = text_table(("storage", "measured", "too large", "fastest step", "slowest step"), rows)
        said = f"Checked at {len(self.checks)} other settings: off by {format_share(facts['median_error'])} in the median, "
        return f"Crossover grid\n{table}\n\n{said}{format_share(facts['worst_error'])} at worst."

    def save(self, path: Path) -> None:
        """Write the grid as compact JSON."""
        write_file(path, json.dumps(self.facts(), separators=(",", ":")) + "\n")


def run(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> CrossoverReport:
    """Measure steps of a layer with dense, csr and row-sparse storage on a grid of densities and sizes.

    Parameters
    ----------
    rivals : dict
        Must be empty.
    rounds : int
        Number of settings between the points of the grid at which the interpolation is checked; 0 for the default.
    quick : bool
        Use a small grid.
    """
    if rivals:
        raise SparsekitError("`bench crossover` compares only the storage types of this library.", hint="leave --rival out.")
    command = [sys.executable, "-m", "sparsekit.bench.crossover_worker", str(int(quick)), str(rounds or (3 if quick else 40))]
    done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True)
    if done.returncode:
        raise SparsekitError(f"The measuring process failed: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout)
    return CrossoverReport(found["axes"], found["times"], found["checks"])
