"""The worker of this library for ``sparsekit bench dot`` and ``convert``; rivals use the same protocol.

``load FILE.npz`` lists the operations, ``time OPERATION`` measures one (microseconds per call), ``moved OPERATION`` returns
the bytes that it moves, and ``bandwidth`` the copy rate of the memory (bytes per second).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import sparsekit as mx

from .protocol import OwnWorker, serve

__all__ = ["Worker"]

#: Seconds for which one measurement repeats the call.
LONG_ENOUGH = 0.03
#: Bytes of the arrays that are copied to measure memory bandwidth; far larger than caches.
COPIED_BYTES = 1 << 28

Operations = dict[str, Callable[[], Any]]


def products(parts: dict[str, Any]) -> Operations:
    """Return products of a csr matrix: with a dense array, transposed with a dense array, and with a row_sparse array."""
    shape, dot = tuple(int(size) for size in parts["shape"]), mx.nd.sparse.dot
    left = mx.nd.sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    right, turned = mx.nd.array(parts["right"]), mx.nd.array(parts["turned"])
    rows = mx.nd.sparse.row_sparse_array((parts["kept"], parts["rows"]), shape=(shape[1], right.shape[1]))
    return {"csr_dense": lambda: dot(left, right), "csrT_dense": lambda: dot(left, turned, transpose_a=True),
            "csr_row_sparse": lambda: dot(left, rows)}


def conversions(parts: dict[str, Any]) -> Operations:
    """Return the conversion for every pair of storage types."""
    dense, tall = mx.nd.array(parts["dense"]), mx.nd.array(parts["tall"])
    matrix, rows, columns = dense.tostype("csr"), tall.tostype("row_sparse"), tall.tostype("csr")
    return {"dense_csr": lambda: dense.tostype("csr"), "csr_dense": lambda: matrix.tostype("default"),
            "dense_row_sparse": lambda: tall.tostype("row_sparse"), "row_sparse_dense": lambda: rows.tostype("default"),
            "csr_row_sparse": lambda: columns.tostype("row_sparse"), "row_sparse_csr": lambda: rows.tostype("csr")}


class Worker(OwnWorker):
    """The operations on the arrays that were loaded last."""

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
        with mx.Profiler() as prof:
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


if __name__ == "__main__":
    serve(Worker())
