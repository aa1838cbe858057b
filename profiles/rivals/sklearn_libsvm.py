"""scikit-learn's load_svmlight_file, for ``sparsekit bench libsvm``; see ``protocol.py``."""

from __future__ import annotations

import sys
import time

import numpy
import sklearn
from protocol import peak_memory, serve
from sklearn.datasets import load_svmlight_file


class Worker:
    """Reads a file into one matrix."""

    def info(self):
        return {"name": "sklearn", "version": sklearn.__version__, "python": sys.version.split()[0],
                "form": "load_svmlight_file"}

    def _load(self, path, features):
        return load_svmlight_file(path, n_features=int(features), dtype=numpy.float32, zero_based=True)

    def read(self, form, path, features):
        start = time.perf_counter()
        self._load(path, features)
        return time.perf_counter() - start

    def sums(self, form, path, features):
        data, label = self._load(path, features)
        return [data.shape[0], data.nnz, float(data.data.sum(dtype=numpy.float64)), float(label.sum())]

    def peak(self, form, path, features):
        self.read(form, path, features)
        return peak_memory()


if __name__ == "__main__":
    serve(Worker())
