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

    def time(self, operation):
        start = time.perf_counter()
        self._load(self.path, self.features)
        return time.perf_counter() - start

    def load(self, path, features):
        self.path, self.features = path, features
        data, label = self._load(path, features)
        sums = [data.shape[0], data.nnz, float(data.data.sum(dtype=numpy.float64)), float(label.sum())]
        return {"forms": {"read": {"": sums}}, "failed": {}}

    def peak(self):
        return peak_memory()


if __name__ == "__main__":
    serve(Worker())
