"""The process that measures the crossover grid with one thread and prints it as JSON."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..widgets.crossover_model import FORMATS, Grid, Setting, estimate_time

if TYPE_CHECKING:
    from ..ndarray.sparse import CSRNDArray

AXES: dict[str, list[Any]] = {
    "dtype": ["float32", "float64"], "index_dtype": ["int32", "int64"], "rows": [1_000, 10_000, 100_000, 1_000_000],
    "units": [1, 8, 32, 128], "batch": [8, 64, 512], "density": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0],
}  # fmt: skip
QUICK: dict[str, list[Any]] = {
    "dtype": ["float32"], "index_dtype": ["int64"], "rows": [100, 1_000], "units": [1, 8], "batch": [4, 16],
    "density": [1e-3, 1e-1],
}  # fmt: skip
#: Settings beyond these limits are not measured; the explorer extrapolates there and marks the values.
MOST_STORED, MOST_DENSE_BYTES, MOST_WORK = 1_500_000, 600_000_000, 2e10
PATIENCE, QUICK_PATIENCE = 0.06, 0.005  # seconds of repetitions for each setting


def _random_csr(setting: Setting, random: np.random.Generator) -> CSRNDArray:
    import sparsekit as mx

    cells = setting.batch * setting.rows
    wanted = setting.stored
    places = np.arange(cells) if wanted >= cells else np.unique(random.integers(0, cells, wanted))
    indptr = np.searchsorted(places, np.arange(setting.batch + 1) * setting.rows)
    values = random.standard_normal(len(places)).astype(setting.dtype)
    return mx.nd.sparse.csr_matrix((values, places % setting.rows, indptr), shape=(setting.batch, setting.rows),
                                   dtype=setting.dtype, index_dtype=setting.index_dtype)  # fmt: skip


def _step(kind: str, setting: Setting, random: np.random.Generator) -> Callable[[], None]:
    """Return a function that runs a step of a linear layer: forward product, gradient of the weight, SGD update."""
    import sparsekit as mx

    weight = mx.nd.zeros((setting.rows, setting.units), dtype=setting.dtype)
    upstream = mx.nd.ones((setting.batch, setting.units), dtype=setting.dtype)
    batch: Any
    if kind == "dense":
        batch = mx.nd.ones((setting.batch, setting.rows), dtype=setting.dtype)
    else:
        batch = _random_csr(setting, random)
    form = {"row_sparse": "row_sparse", "csr": "default"}.get(kind)

    def step() -> None:
        mx.nd.dot(batch, weight).wait_to_read()
        options: dict[str, Any] = {"forward_stype": form} if form else {}
        gradient = mx.nd.dot(batch, upstream, transpose_a=True, **options)
        mx.nd.sgd_update(weight, gradient, lr=0.01, out=weight)
        weight.wait_to_read()

    return step


def measure(kind: str, setting: Setting, random: np.random.Generator, patience: float = PATIENCE) -> float | None:
    """Return the processor time of the fastest of several steps in microseconds, or None if the setting is too large."""
    dense = kind == "dense"
    value = np.dtype(setting.dtype).itemsize
    work = setting.batch * setting.rows * setting.units if dense else setting.stored * setting.units
    if work > MOST_WORK or (dense and setting.batch * setting.rows * value > MOST_DENSE_BYTES):
        return None
    if setting.rows * setting.units * value > 2 * MOST_DENSE_BYTES or (not dense and setting.stored > MOST_STORED):
        return None
    step = _step(kind, setting, random)
    step()
    found: list[float] = []
    began = time.perf_counter()
    while len(found) < 3 or (time.perf_counter() - began < patience and len(found) < 300):
        # Processor time excludes the time of other processes.
        start = time.process_time_ns()
        step()
        found.append((time.process_time_ns() - start) / 1e3)
        if time.perf_counter() - began > 10 * patience:
            break
    return min(found)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def _grid(axes: dict[str, list[Any]], random: np.random.Generator, patience: float) -> dict[str, list[float | None]]:
    times: dict[str, list[float | None]] = {kind: [] for kind in FORMATS}
    for values in itertools.product(*axes.values()):
        setting = Setting(**dict(zip(axes, values, strict=True)))
        for kind in ("csr", "row_sparse"):
            times[kind].append(_rounded(measure(kind, setting, random, patience)))
    # The dense step depends neither on density nor on index type, so it is measured once for each size.
    for dtype, rows, units, batch in itertools.product(*(axes[name] for name in ("dtype", "rows", "units", "batch"))):
        setting = Setting(dtype, "int64", rows, units, batch, 1.0)
        times["dense"].append(_rounded(measure("dense", setting, random, patience)))
    return times


def _checks(grid: Grid, random: np.random.Generator, count: int, patience: float) -> list[list[float]]:
    """Measure and estimate the time at random settings between the points of the grid."""
    found: list[list[float]] = []
    while len(found) < count:
        between = {name: float(np.exp(random.uniform(*np.log([grid.axes[name][0], grid.axes[name][-1]]))))
                   for name in ("rows", "units", "batch", "density")}  # fmt: skip
        kind = str(random.choice(FORMATS))
        setting = Setting(grid.axes["dtype"][0], grid.axes["index_dtype"][-1], round(between["rows"]),
                          round(between["units"]), round(between["batch"]), between["density"])  # fmt: skip
        measured, (estimated, beyond) = measure(kind, setting, random, patience), estimate_time(grid, kind, setting)
        if measured is not None and estimated is not None and not beyond:
            found.append([measured, estimated])
    return found


def main() -> None:
    """Measure the grid and check the interpolation; arguments: quick (0 or 1) and the number of settings to check."""
    quick, count = sys.argv[1] == "1", int(sys.argv[2])
    random = np.random.default_rng(0)
    axes, patience = (QUICK, QUICK_PATIENCE) if quick else (AXES, PATIENCE)
    times = _grid(axes, random, patience)
    print(json.dumps({"axes": axes, "times": times, "checks": _checks(Grid(axes, times), random, count, patience)}))


if __name__ == "__main__":
    main()
