"""``sparsekit bench libsvm``: the speed and peak memory of reading LibSVM text, beside MXNet and scikit-learn."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import io
from ..io import save_libsvm
from ..storage import CSR
from . import harness
from .harness import Bench, Session, require_same, start_rivals
from .protocol import OwnWorker, peak_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Worker", "run"]


class Workload(NamedTuple):
    """Rows, features, and mean number of stored values per row."""

    rows: int
    features: int
    stored: int


#: About 100 megabytes of text: 14.5 bytes per value, 520 per row.
WORKLOAD, QUICK = Workload(200_000, 1_000_000, 36), Workload(500, 1_000, 12)
#: How many times fewer rows the file has that warms up a reader; its peak memory is the baseline for the large file.
SMALLER = 10


def write_text(path: str, workload: Workload) -> int:
    """Write rows whose columns are distributed like words, a few frequent and many rare, and return the size in bytes."""
    random = np.random.default_rng(0)
    lengths = random.poisson(workload.stored, workload.rows)
    rows = np.repeat(np.arange(workload.rows), lengths)
    columns = (workload.features * random.random(len(rows)) ** 3).astype(np.int64)
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    kept = np.ones(len(rows), bool)
    kept[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    indptr = np.searchsorted(rows[kept], np.arange(workload.rows + 1))
    values = random.random(int(kept.sum()), np.float32).round(6)
    matrix = CSR(values, columns[kept], indptr, (workload.rows, workload.features))
    save_libsvm(path, matrix, random.integers(0, 2, workload.rows).astype(np.float32))
    return os.path.getsize(path)


#: Rows of a batch of ``LibSVMIter``.
BATCH = 128


class Worker(OwnWorker):
    """The worker of this library, which reads a file with ``LibSVMIter`` or ``load_libsvm``; rivals use the same protocol.

    ``read FORM FILE FEATURES`` reads the file once (seconds), ``sums`` returns its totals (rows, stored values, sum of values,
    sum of labels), and ``peak`` reads it and returns the peak memory of the process (bytes).
    """

    def _batches(self, form: str, path: str, features: str) -> Iterable[tuple[Any, Any, int]]:
        """Yield data, labels and number of padded rows of each batch; ``load_libsvm`` has a single one."""
        if form == "load_libsvm":
            data, label = io.load_libsvm(path, n_features=int(features))
            yield data, label, 0
            return
        for batch in io.LibSVMIter(path, int(features), BATCH, memory_limit=0):
            yield batch.data[0], batch.label[0], batch.pad or 0

    def read(self, form: str, path: str, features: str) -> float:
        """Return the seconds to read the file."""
        start = time.perf_counter()
        for _ in self._batches(form, path, features):
            pass
        return time.perf_counter() - start

    def sums(self, form: str, path: str, features: str) -> list[float]:
        """Return the numbers of rows and stored values, the sum of values and the sum of labels."""
        total = np.zeros(4)
        for data, label, pad in self._batches(form, path, features):
            data, label = data[:data.shape[0] - pad], label[:label.shape[0] - pad]
            values = data._store.data
            total += data.shape[0], values.size, values.sum(dtype=np.float64), label._store.sum(dtype=np.float64)
        return total.tolist()

    def peak(self, form: str, path: str, features: str) -> int:
        """Read the file and return the peak memory of the process in bytes."""
        self.read(form, path, features)
        return peak_bytes()


def _workers(session: Session) -> dict[str, tuple[harness.Worker, str]]:
    """Start a process for each reader, so that its peak memory can be measured, and return workers and forms by name."""
    found: dict[str, tuple[harness.Worker, str]] = {}
    for form in ("LibSVMIter", "load_libsvm"):
        found[f"sparsekit {form}"] = session.own("libsvm"), form
    for name, worker in start_rivals(session.rivals, session.stack, "libsvm").items():
        form = str(worker.ask("info")["form"])
        found[f"{name} {form}"] = worker, form
    return found


def _tables(session: Session) -> None:
    workload = QUICK if session.quick else WORKLOAD
    small, large = os.path.join(session.folder, "small.libsvm"), os.path.join(session.folder, "large.libsvm")
    write_text(small, workload._replace(rows=workload.rows // SMALLER))
    size = write_text(large, workload)
    workers = _workers(session)
    for name, (worker, _) in workers.items():
        session.report.versions[name.partition(" ")[0]] = worker.ask("info")["version"]
    peaks = {name: [worker.ask("peak", form, path, workload.features) for path in (small, large)]
             for name, (worker, form) in workers.items()}
    check({name: worker.ask("sums", form, large, workload.features) for name, (worker, form) in workers.items()})
    session.table(f"{size / 1e6:.0f} MB, {workload.rows:,} x {workload.features:,}, about {workload.stored} values per row",
                  "MB/s", {name: partial(_speed, worker, form, large, workload.features, size)
                           for name, (worker, form) in workers.items()},
                  against="sparsekit LibSVMIter" if session.rivals else "")
    session.once(f"peak memory above that for a file {SMALLER} times smaller", "MB",
                 {name: (after - before) / 1e6 for name, (before, after) in peaks.items()})


def _speed(worker: harness.Worker, form: str, path: str, features: int, size: int) -> float:
    return float(size / 1e6 / worker.ask("read", form, path, features))


def check(sums: dict[str, list[float]]) -> None:
    """Raise ``SparsekitError`` if a reader has read other data."""
    for name, found in sums.items():
        require_same(name, "reads rows, values, sum of values and sum of labels as", found, sums["sparsekit LibSVMIter"], 1e-5)


NOTES = (
    "larger is faster; the file is in the page cache, so disks are not measured.",
    "LibSVMIter: csr batches of 128 rows, streamed with the default threads of each library; batches are not used.",
    "load_libsvm and sklearn's load_svmlight_file: the whole file as one float32 matrix.",
)
run = Bench("Measure reading 100 MB of LibSVM text from the page cache, in MB/s, and the peak memory.", "Reading LibSVM text",
            (11, 2), _tables, NOTES)
