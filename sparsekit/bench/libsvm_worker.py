"""The worker of this library for ``sparsekit bench libsvm``; rivals use the same protocol.

``read FORM FILE FEATURES`` reads the file once (seconds), ``sums`` returns its totals (rows, stored values, sum of values,
sum of labels), and ``peak`` reads it and returns the peak memory of the process (bytes).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

import sparsekit as mx

from .protocol import OwnWorker, peak_bytes, serve

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = ["Worker"]

BATCH = 128


class Worker(OwnWorker):
    """Reads a file with ``LibSVMIter`` or ``load_libsvm``."""

    def _batches(self, form: str, path: str, features: str) -> Iterable[tuple[Any, Any, int]]:
        """Yield data, labels and number of padded rows of each batch; ``load_libsvm`` has a single one."""
        if form == "load_libsvm":
            data, label = mx.io.load_libsvm(path, n_features=int(features))
            yield data, label, 0
            return
        for batch in mx.io.LibSVMIter(path, int(features), BATCH, memory_limit=0):
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


if __name__ == "__main__":
    serve(Worker())
