"""What GPU kernels cost, as far as it can be counted without a GPU: bytes touched, and the busiest thread's loads.

    python tests/gpu/costs.py            # the table
    python tests/gpu/costs.py --write    # and the record, profiles/gpu/costs.json, with the page of the documentation

The machine of ``simt.py`` counts, so that a result is the same on every run.  Times are predictions from the counts and
from figures of NVIDIA's for one H100; nothing is measured on a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside this one

import fake_cupy
import simt
from grid_arguments import NAMES, ON_HOST, Grid, grid_arguments

from sparsekit import kernels
from sparsekit.kernels import FILES, for_device
from sparsekit.kernels.gpu import formulas, launch

RECORD = Path(__file__).parents[2] / "profiles" / "gpu" / "costs.json"

#: Of an H100 (SXM): bytes a second of its memory and of its second cache, seconds that a load takes, and a launch.
MEMORY, CACHE, LATENCY, LAUNCH = 3.35e12, 5.5e12, 0.6e-6, 2.5e-6

#: Loads that a loop keeps on their way at once: NVIDIA's compiler unrolls such loops four times.
IN_FLIGHT = 4


class Batch(Grid):
    """A batch whose columns are drawn for each row: so many fields, each with a vocabulary of its own.

    The first fields have few values, of which one is in most rows; a Zipf law says how often each occurs.

    Parameters
    ----------
    rows, columns, width, fields : int
    hot : bool
        Whether columns follow the law; else all are as frequent.
    """

    def __init__(self, rows, columns, width, fields, hot):
        super().__init__(np.float32, np.int64, rows, columns, width)
        self.fields, self.hot = fields, hot

    def csr(self, rows=None, columns=None):
        if (rows or self.rows, columns or self.columns) != (self.rows, self.columns):
            return super().csr(rows, columns)
        sizes = np.full(self.fields, self.columns // self.fields)
        draws = self.rng.random((self.rows, self.fields))
        if self.hot:
            frequent = 1 / np.arange(1, sizes[0] + 1) ** np.linspace(2.5, 1.05, self.fields)[:, None]
            shares = np.cumsum(frequent, axis=1) / frequent.sum(axis=1, keepdims=True)
            ranks = np.stack([np.searchsorted(shares[field], draws[:, field]) for field in range(self.fields)], axis=1)
        else:
            ranks = (draws * sizes).astype(np.int64)
        indices = (np.minimum(ranks, sizes - 1) + np.arange(self.fields) * sizes[0]).astype(self.index)
        return self.dense(indices.size), indices.reshape(-1), np.arange(0, indices.size + 1, self.fields).astype(self.index)


SHAPES = {
    "tutorial": lambda columns: Batch(10, columns or 20_000, 128, 10, hot=False),
    "criteo": lambda columns: Batch(2048, columns or 39_000, 1, 39, hot=True),
    "criteo, 16 wide": lambda columns: Batch(2048, columns or 39_000, 16, 39, hot=True),
}

#: Kernels whose results are dense in all columns, which are fewer here.
DENSE = {"csr_to_dense": 390, "csr_to_rows": 390, "csr_add_dense": 390, "dense_dot_csr": 3900, "dense_dot_csr_transposed": 3900}

#: Kernels whose device functions another one starts on the same data.
SAME = {"csr_transposed_dot_dense", "update_rows", "update_dense", "update_other_rows", "csr_where", "csr_product"}


#: Kernels of layers, which are wider than one column.
LAYERS = {*FILES["activation"], *FILES["normalize"], *FILES["recurrent"]}


class Cost(NamedTuple):
    """One device function at one shape.

    ``touched`` is the number of bytes that it moves for each byte of the elements that it reads and writes, behind a small
    cache; ``longest`` the loads of the busiest thread; ``predicted`` microseconds; ``share`` that of the roofline,
    a launch and the elements' bytes at the memory's rate, in the prediction.
    """

    shape: str
    kernel: str
    function: str
    compulsory: int
    touched: float
    longest: int
    predicted: float
    share: float


def cost(shape, kernel, function, counts):
    """The cost that counts amount to."""
    moved = simt.SECTOR * (counts.fetched + counts.stored)
    least = counts.compulsory / MEMORY
    seconds = LAUNCH + max(simt.SECTOR * counts.distinct / MEMORY, moved / CACHE, counts.longest * LATENCY / IN_FLIGHT)
    return Cost(shape, kernel, function, counts.compulsory, round(moved / max(counts.compulsory, 1), 2), counts.longest,
                round(seconds * 1e6, 1), round((LAUNCH + least) / seconds, 2))


def noting(found, shape, kernel):
    """What adds the costs of device functions that a kernel starts to those found."""
    return lambda function, counts: found.append(cost(shape, kernel, function, counts))


def others(width):
    """Work of device functions that no kernel of ``NAMES`` starts at these shapes: products, functions of elements, long rows."""
    gpu, rng = for_device("gpu"), np.random.default_rng(0)
    k = gpu.xp

    def some(*shape):
        return fake_cupy.ndarray(rng.random(shape, np.float32))

    k._small_product(some(64, 64), some(64, width), 64, 64, width, None)
    k._small_product(some(64, 64), some(64, 64), 64, 64, 64, None)
    k._small_product(some(8, 4096), some(4096, 8), 8, 4096, 8, None)
    k.maximum.reduceat(some(64 * width), fake_cupy.ndarray(np.arange(0, 64 * width, 8)))
    k.add.reduceat(some(8192), fake_cupy.ndarray(np.array([0, 40, 4000])))
    for name, kernel in formulas.FORMULAS.items():
        k.formula(name, np.dtype(np.float32), *[some(512, width) for _ in kernel.parameters[:-2]])
    k.copy_each([(some(512), some(512)) for _ in range(4)])
    long, made = some(4, 8192), fake_cupy.ndarray(np.empty((4, 8192), np.float32))
    gpu.softmax_rows(long, some(4), made)
    gpu.softmax_backward_rows(long, made, fake_cupy.ndarray(np.empty((4, 8192), np.float32)))
    gamma = some(8192)
    gpu.layer_norm_rows(long, gamma, gamma, 1e-5, made, some(4), some(4))
    room = fake_cupy.ndarray(np.empty((4, 8192), np.float32))
    gpu.layer_norm_backward_rows(long, made, gamma, some(4), some(4), room, gamma, gamma)


def measure(library, shapes=tuple(SHAPES), names=None):
    """The costs of all device functions at these shapes."""
    found = []
    for shape in shapes:
        left_out = SAME | (LAYERS if SHAPES[shape](None).width == 1 else set())
        for kernel in names or [name for name in NAMES if name not in left_out]:
            at = SHAPES[shape](DENSE.get(kernel))
            library.counting = noting(found, shape, kernel)
            gpu, words = for_device("gpu"), inspect.signature(getattr(for_device("cpu"), kernel)).parameters
            given = [fake_cupy.ndarray(item) if isinstance(item, np.ndarray) and word not in ON_HOST else item
                     for word, item in zip(words, grid_arguments(kernel, at), strict=True)]
            getattr(gpu, kernel)(*given)
        library.counting = noting(found, shape, "others")
        if names is None:
            others(at.width)
    library.counting = None
    return found


def table(costs):
    """The costs as text."""
    heads = ("shape", "kernel", "device function", "bytes", "touched", "longest", "predicted us", "of roofline")
    lines = ["{:16} {:30} {:26} {:>11} {:>8} {:>8} {:>13} {:>12}".format(*heads)]
    lines += [f"{row.shape:16} {row.kernel:30} {row.function:26} {row.compulsory:11,} {row.touched:7.2f}x {row.longest:8,}"
              f" {row.predicted:13.1f} {row.share:11.0%}" for row in costs]
    return "\n".join(lines)


def record(costs):
    """The text of the record."""
    head = {"counted by": "python tests/gpu/costs.py --write", "verified on hardware": False,
            "predicted": "microseconds and share of the roofline, from the counts and the figures below; nothing is measured, "
                         "and shared memory, arithmetic and barriers are not counted",
            "H100": {"memory bytes a second": MEMORY, "second cache bytes a second": CACHE, "seconds a load": LATENCY,
                     "seconds a launch": LAUNCH, "loads in flight": IN_FLIGHT},
            "columns": list(Cost._fields)}
    rows = ",\n".join(f"    {json.dumps(list(row))}" for row in costs)
    return json.dumps(head, indent=2)[:-2] + f',\n  "costs": [\n{rows}\n  ]\n}}\n'


def page(costs):
    """The page of the documentation: of each device function the worst at each shape, as a table."""
    worst = {}
    for row in costs:
        key = row.function, row.shape
        before = worst.get(key, row)
        worst[key] = before._replace(touched=max(row.touched, before.touched), longest=max(row.longest, before.longest),
                                     share=min(row.share, before.share))
    lines = [PAGE, "| device function | " + " | ".join(SHAPES) + " |", "|---|" + "---|" * len(SHAPES)]
    for function in sorted({row.function for row in costs}):
        cells = [worst.get((function, shape)) for shape in SHAPES]
        lines.append(f"| `{function}` | " + " | ".join(
            "" if cell is None else f"{cell.share:.0%} · {cell.touched:.1f} · {cell.longest:,}" for cell in cells) + " |")
    return "\n".join(lines) + "\n"


#: What stands above the table.
PAGE = f"""# Predicted costs of GPU kernels

**Predicted, not measured**: these kernels have not run on a GPU yet. A simulated GPU in the tests executes them and counts their
memory accesses. `profiles/gpu/costs.json` has the counts of each kernel, and tests compare the kernels with these counts.

Each cell has three figures. Each figure is the worst value of all kernels that start the device function at that shape:

- the predicted share of the roofline. This is the ideal time divided by the predicted time. The ideal time is one launch
  ({LAUNCH * 1e6:g} µs) plus the transfer of the necessary bytes at {MEMORY / 1e12:g} TB/s. The predicted time is the
  launch plus the longest of three times: memory traffic, traffic of the L2 cache at {CACHE / 1e12:g} TB/s, and the loads of
  the busiest thread at {LATENCY * 1e6:g} µs each, with {IN_FLIGHT} loads in flight;
- the number of bytes moved per necessary byte;
- the loads of the busiest thread.

The figures of the device are NVIDIA's for one H100. The prediction does not count shared memory, arithmetic and barriers, so
a share is an upper bound. The tutorial's shape has 10 rows of 10 stored values and is 128 wide. Criteo's shapes have 2,048
rows of 39 fields, whose columns follow Zipf's law, and are 1 and 16 wide.
"""

#: Where it is.
PAGE_FILE = Path(__file__).parents[2] / "sparsekit" / "docs" / "gpu_costs.md"


@contextlib.contextmanager
def library():
    """The device functions, behind cupy's stand-in, in a process that does nothing else."""
    sys.modules.update(fake_cupy.modules())
    with tempfile.TemporaryDirectory() as folder:
        made = simt.Library(simt.Machine(Path(folder)))
        made.prepare([("float32", "int64")])
        before, launch._compiled = launch._compiled, made.compiled
        kernels._loaded.pop("gpu", None)
        try:
            yield made
        finally:
            launch._compiled = before


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write profiles/gpu/costs.json, and the page of the docs")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="KERNEL", help="some kernels")
    chosen = parser.parse_args()
    with library() as made:
        costs = measure(made, names=chosen.only)
    print(table(costs))
    if chosen.write:
        RECORD.write_text(record(costs), encoding="utf-8")
        PAGE_FILE.write_text(page(costs), encoding="utf-8")


if __name__ == "__main__":
    main()
