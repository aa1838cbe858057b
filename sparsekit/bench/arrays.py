"""``sparsekit bench dot`` and ``convert``: products and conversions of sparse arrays, with equal results in all libraries."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray
from ..profiler import Profiler
from . import harness
from .harness import Bench, Contender, Report, Session, require_same
from .protocol import OwnWorker

if TYPE_CHECKING:
    from ..base.types import Array

__all__ = ["Worker", "convert", "dot", "measures_of", "moved_fact", "product_parts", "zipf"]

Parts = dict[str, Any]
Sections = list[tuple[str, Callable[[], Parts]]]

HEADINGS = {
    "csr_dense": "csr · dense", "csrT_dense": "csrᵀ · dense -> row_sparse", "csr_row_sparse": "csr · row_sparse",
}
CONVERSIONS = {
    "dense_csr": "dense -> csr", "csr_dense": "csr -> dense", "dense_row_sparse": "dense -> row_sparse",
    "row_sparse_dense": "row_sparse -> dense", "csr_row_sparse": "csr -> row_sparse", "row_sparse_csr": "row_sparse -> csr",
}


def zipf(random: np.random.Generator, size: tuple[int, ...], most: int, exponents: Array | float) -> Array:
    """Return ranks below ``most`` that follow Zipf's law with these exponents above 1, by the inverse of its integral."""
    power = 1 - np.asarray(exponents, float)
    ranks = (1 - random.random(size) * (1 - float(most + 1) ** power)) ** (1 / power) - 1
    found: Array = np.minimum(ranks.astype(np.int64), most - 1)
    return found


def product_parts(rows: int, columns: int, stored: int, width: int, hot: bool = False) -> Parts:
    """Return the components of a csr matrix with ``stored`` values in each row, and the arrays to multiply it with.

    Each of the values lies in a field of columns of its own.  Columns of a field are drawn alike, or by Zipf's law if ``hot``:
    the first fields then have one that is in most rows, as in data of advertisements.  ``right`` (columns, width) is dense,
    ``turned`` (rows, width) is multiplied with the transpose, ``kept`` are the rows of ``right`` whose column stores a value,
    and ``rows`` their indices.
    """
    random = np.random.default_rng(0)
    step = columns // stored
    drawn = (zipf(random, (rows, stored), step, np.linspace(2.5, 1.05, stored)) if hot
             else random.integers(0, step, (rows, stored)))
    indices = (drawn + np.arange(stored) * step).reshape(-1)
    right = random.standard_normal((columns, width), dtype=np.float32)
    occurring = np.unique(indices)
    return {
        "shape": np.array([rows, columns]), "data": random.standard_normal(rows * stored, dtype=np.float32),
        "indices": indices, "indptr": np.arange(0, rows * stored + 1, stored), "right": right,
        "turned": random.standard_normal((rows, width), dtype=np.float32), "rows": occurring, "kept": right[occurring],
    }  # fmt: skip


def conversion_parts(shape: tuple[int, int], density: float, tall: tuple[int, int], rows: int) -> Parts:
    """Return a dense matrix with a share of ``density`` nonzeros, and a tall one with ``rows`` nonzero rows."""
    random = np.random.default_rng(0)
    dense = random.standard_normal(shape, dtype=np.float32)
    dense[random.random(shape, dtype=np.float32) >= density] = 0
    high = np.zeros(tall, np.float32)
    high[random.choice(tall[0], rows, replace=False)] = random.standard_normal((rows, tall[1]), dtype=np.float32)
    return {"dense": dense, "tall": high}


#: Seconds for which one measurement repeats the call.
LONG_ENOUGH = 0.03
#: Bytes of the arrays that are copied to measure memory bandwidth; far larger than caches.
COPIED_BYTES = 1 << 28

Operations = dict[str, Callable[[], Any]]


def products(parts: dict[str, Any]) -> Operations:
    """Return products of a csr matrix: with a dense array, transposed with a dense array, and with a row_sparse array."""
    shape, dot = tuple(int(size) for size in parts["shape"]), ndarray.sparse.dot
    left = ndarray.sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    right, turned = ndarray.array(parts["right"]), ndarray.array(parts["turned"])
    rows = ndarray.sparse.row_sparse_array((parts["kept"], parts["rows"]), shape=(shape[1], right.shape[1]))
    return {"csr_dense": lambda: dot(left, right), "csrT_dense": lambda: dot(left, turned, transpose_a=True),
            "csr_row_sparse": lambda: dot(left, rows)}


def conversions(parts: dict[str, Any]) -> Operations:
    """Return the conversion for every pair of storage types."""
    dense, tall = ndarray.array(parts["dense"]), ndarray.array(parts["tall"])
    matrix, rows, columns = dense.tostype("csr"), tall.tostype("row_sparse"), tall.tostype("csr")
    return {"dense_csr": lambda: dense.tostype("csr"), "csr_dense": lambda: matrix.tostype("default"),
            "dense_row_sparse": lambda: tall.tostype("row_sparse"), "row_sparse_dense": lambda: rows.tostype("default"),
            "csr_row_sparse": lambda: columns.tostype("row_sparse"), "row_sparse_csr": lambda: rows.tostype("csr")}


class Worker(OwnWorker):
    """The worker of this library, with the operations on the arrays that were loaded last; rivals use the same protocol.

    ``load FILE.npz`` lists the operations, ``time OPERATION`` measures one (microseconds per call), ``moved OPERATION`` returns
    the bytes that it moves, and ``bandwidth`` the copy rate of the memory (bytes per second).
    """

    def load(self, path: str) -> dict[str, Any]:
        """Read the arrays and return the operations, each with the sum and sum of magnitudes of its result."""
        self.operations: Operations = {}
        with np.load(path) as stored:
            parts = {name: stored[name] for name in stored.files}
        self.operations = conversions(parts) if "dense" in parts else products(parts)
        found = {}
        for name, function in self.operations.items():
            result = function()
            values = (result if result.stype == "default" else result.data).asnumpy()
            totals = np.sum(values, dtype=np.float64), np.sum(np.abs(values), dtype=np.float64)
            found[name] = {"": [float(number) for number in totals]}
        return {"forms": found, "failed": {}}

    def time(self, operation: str) -> float:
        """Return microseconds per call: the median of three runs of ``LONG_ENOUGH`` seconds, after one to warm up."""
        function = self.operations[operation]
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

    def moved(self, operation: str) -> int:
        """Return the bytes that the operation reads and writes, as the profiler counts them."""
        with Profiler() as prof:
            self.operations[operation]()
        return sum(int(record["bytes"]) for record in prof.records if record["kind"] == "op")

    def bandwidth(self) -> float:
        """Return the bytes per second that one thread copies between large arrays, counting reads and writes."""
        source = np.ones(COPIED_BYTES // 8)
        target = np.empty_like(source)
        taken = []
        for _ in range(5):
            start = time.perf_counter()
            np.copyto(target, source)
            taken.append(time.perf_counter() - start)
        return 2 * COPIED_BYTES / min(taken)


def measures_of(operation: str, workers: dict[str, harness.Worker], loaded: dict[str, Any]) -> dict[str, Callable[[], float]]:
    """Return what measures each form of an operation in each library, by name.

    Raises
    ------
    SparsekitError
        If one computes another result.
    """
    expected = loaded["sparsekit"]["forms"][operation][""]
    found: dict[str, Callable[[], float]] = {}
    for name, worker in workers.items():
        for form, totals in loaded[name]["forms"].get(operation, {}).items():
            require_same(f"{name} {form}", f"returns for {operation} the sums", totals, expected, atol=1e-3 * expected[1])
            found[f"{name} {form.replace('_', ' ')}".strip()] = partial(worker.ask, "time", operation, *([form] if form else []))
    return found


def _tables(session: Session, sections: Sections, headings: dict[str, str]) -> None:
    workers = session.start("arrays")
    own, path = workers["sparsekit"], session.folder / "arrays.npz"
    speed = session.bandwidth(own)
    for title, parts in sections:
        np.savez(path, **parts())
        loaded = {name: worker.ask("load", path) for name, worker in workers.items()}
        for name, answer in loaded.items():
            session.report.notes += [f"{title}: {name} cannot do {what}: {why}" for what, why in answer["failed"].items()]
        for operation in loaded["sparsekit"]["forms"]:
            measures = measures_of(operation, workers, loaded)
            session.table(f"{title}: {headings[operation]}", "µs", measures, session.against,
                          partial(moved_fact, own.ask("moved", operation), speed))


def moved_fact(moved: int, speed: float, contenders: list[Contender]) -> str:
    """The bytes that the first contender moves, and how fast that is beside a copy."""
    rate = moved / (Report.median(contenders[0]) * 1e-6)
    return f"sparsekit moves {moved:,} bytes at {rate / 1e9:.2f} GB/s, {rate / speed:.0%} of the copy rate"


def _products(session: Session) -> None:
    quick = session.quick
    kdd, features = (20_216_830, 1_000_000) if not quick else (20_000, 10_000)
    sections: Sections = [(f"{batch} x {kdd:,}, 36 per row, x 1", partial(product_parts, batch, kdd, 36, 1))
                          for batch in (64, 512, 8192)[: 1 if quick else 3]]
    sections.append((f"1,024 x {features:,}, 100 per row, x 128", partial(product_parts, 1024, features, 100, 128)))
    sections += [(f"{batch:,} x {columns:,}, {stored} per row by Zipf's law, x {width}",
                  partial(product_parts, batch, columns, stored, width, True))
                 for batch, columns, stored, width in ((64 if quick else 8192, kdd, 36, 1), (1024, features, 100, 128))]
    _tables(session, sections, HEADINGS)


def _conversions(session: Session) -> None:
    shape, tall, rows = ((2000, 5000), (100_000, 128), 1000) if not session.quick else ((50, 80), (200, 8), 10)
    sections: Sections = [
        (f"{shape[0]:,} x {shape[1]:,}, {density:.0%} stored; {tall[0]:,} x {tall[1]}, {rows:,} rows",
         partial(conversion_parts, shape, density, tall, rows)) for density in (0.01, 0.1)[: 1 if session.quick else 2]]
    _tables(session, sections, CONVERSIONS)


dot = Bench(
    # The widths are that of the KDD-2010 data set (times a vector) and a million columns (times 128).
    "Measure products of csr matrices with dense and row_sparse arrays, in microseconds.", "Products of sparse arrays", (11, 2),
    _products, (
        "csrᵀ · dense: every library returns the nonzero rows and their ascending, unique indices, as a gradient needs them.",
        "scipy and mkl renumber the columns with numpy.unique first; dense_result is scipy's plain left.T @ right.",
        "csr · row_sparse: the right side stores the rows that the product reads; rivals find them with searchsorted.",
    ))
convert = Bench(
    "Measure conversions between all storage types, in microseconds.", "Conversions of storage types", (11, 2), _conversions, (
        "row_sparse has no counterpart in scipy: numpy gathers and scatters the rows.",
        "csr <-> row_sparse convert the tall array; MXNet and PyTorch do not have these conversions.",
    ))
