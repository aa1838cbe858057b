"""``sparsekit bench libsvm``: the speed and peak memory of reading LibSVM text, beside MXNet and scikit-learn."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import io
from ..io import save_libsvm
from ..storage import CSR
from .harness import Session
from .rows import Row, Table, Who
from .worker import Form, Forms

if TYPE_CHECKING:
    from collections.abc import Iterable


class Workload(NamedTuple):
    """Rows, features, and mean number of stored values per row."""

    rows: int
    features: int
    stored: int


#: About 100 megabytes of text: 14.5 bytes per value, 520 per row.
WORKLOAD, QUICK = Workload(200_000, 1_000_000, 36), Workload(500, 1_000, 12)
#: Ending of the file that warms up a reader, whose peak memory is the baseline; and how many times fewer rows it has.
SMALLER = (".small", 10)


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


def _write(workload: Workload, path: str) -> dict[str, float]:
    """Write the text, and a smaller one beside it, and return the megabytes."""
    write_text(path + SMALLER[0], workload._replace(rows=workload.rows // SMALLER[1]))
    return {"size": write_text(path, workload) / 1e6}


#: Rows of a batch of ``LibSVMIter``.
BATCH = 128


def reading(path: str, features: str, form: str) -> Forms:
    """Reading the file with ``LibSVMIter`` or ``load_libsvm``; told apart by rows, values, and sums of values and labels."""
    def batches() -> Iterable[tuple[Any, Any, int]]:  # Any: arrays
        if form == "load_libsvm":
            yield *io.load_libsvm(path, n_features=int(features)), 0
            return
        for batch in io.LibSVMIter(path, int(features), BATCH, memory_limit=0):
            yield batch.data[0], batch.label[0], batch.pad or 0

    def read() -> None:
        for _ in batches():
            pass

    def sums(_: object) -> list[float]:
        total = np.zeros(4)
        for data, label, pad in batches():
            data, label = data[:data.shape[0] - pad], label[:label.shape[0] - pad]
            values = data._store.data
            total += data.shape[0], values.size, values.sum(dtype=np.float64), label._store.sum(dtype=np.float64)
        sums_of_file: list[float] = total.tolist()
        return sums_of_file

    return {"read": {"": Form(read, sums, 1.0)}}


def libsvm(session: Session) -> list[Row]:
    """Reading LibSVM text, each reader in a process, so that its peak memory can be measured."""
    workload = QUICK if session.quick else WORKLOAD
    text = f"MB, {workload.rows:,} x {workload.features:,}, about {workload.stored} values per row"
    tables = (Table("{size:.0f} " + text, "read", "MB/s", amount="size"),
              Table(f"peak memory above that for a file {SMALLER[1]} times smaller", once="peak"))
    own = {f"sparsekit {form}": Who((form,)) for form in ("LibSVMIter", "load_libsvm")}
    return [Row("libsvm:reading", tables, partial(_write, workload), (workload.features,), own, "libsvm", rtol=1e-5,
                formed=True, smaller=SMALLER[0])]
