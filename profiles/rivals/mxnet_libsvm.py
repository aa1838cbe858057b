"""MXNet 1.9.1's LibSVMIter, for ``sparsekit bench libsvm``; see ``protocol.py``."""

from __future__ import annotations

import sys
import time

import mxnet as mx
import numpy
from protocol import peak_memory, serve

BATCH = 128


class Worker:
    """Reads a file batch by batch."""

    def info(self):
        return {"name": "mxnet", "version": mx.__version__, "python": sys.version.split()[0], "form": "LibSVMIter"}

    def _batches(self, path, features):
        return mx.io.LibSVMIter(data_libsvm=path, data_shape=(int(features),), batch_size=BATCH)

    def time(self, operation):
        start = time.perf_counter()
        for _ in self._batches(self.path, self.features):
            pass
        mx.nd.waitall()
        return time.perf_counter() - start

    def load(self, path, features):
        self.path, self.features = path, features
        total = numpy.zeros(4)
        for batch in self._batches(path, features):
            rows = BATCH - batch.pad
            data, label = batch.data[0], batch.label[0].asnumpy()[:rows]
            values = data.data.asnumpy()[:int(data.indptr[rows].asscalar())]
            total += rows, values.size, values.sum(dtype=numpy.float64), label.sum(dtype=numpy.float64)
        return {"forms": {"read": {"": total.tolist()}}, "failed": {}}

    def peak(self):
        return peak_memory()


if __name__ == "__main__":
    serve(Worker())
