"""cupyx.scipy.sparse, which calls cuSPARSE, on the workloads of ``sparsekit bench gpu``; see ``gpu_protocol.py``.

It has no row-sparse arrays and no gradients: columns are renumbered with ``cupy.unique``, rows added up with
``cupyx.scatter_add``, steps written by hand, as a careful user would.
"""

from __future__ import annotations

import math
import sys

import cupy
import cupyx
import numpy
from cupyx.scipy import sparse
from gpu_protocol import Device, serve


class Worker(Device):
    """Operations by operation and form."""

    def info(self):
        runtime = cupy.cuda.runtime
        return {"name": "cupy", "version": cupy.__version__, "python": sys.version.split()[0],
                "more": {"CUDA runtime": str(runtime.runtimeGetVersion()), "cuSPARSE": str(cupy.cuda.cusparse.getVersion(
                    cupy.cuda.device.get_cusparse_handle()))}}

    def event(self):
        return cupy.cuda.Event()

    def elapsed(self, before, after):
        return cupy.cuda.get_elapsed_time(before, after)

    def wait(self):
        cupy.cuda.get_current_stream().synchronize()

    def total(self, result):
        values = result[-1] if isinstance(result, tuple) else result
        values = values.data if hasattr(values, "indptr") else values
        values = numpy.asarray(values.get() if hasattr(values, "get") else values, numpy.float64)
        return values.sum(), abs(values).sum()

    def products(self, parts):
        shape = tuple(int(size) for size in parts["shape"])
        data, indices, indptr = (cupy.asarray(parts[name]) for name in ("data", "indices", "indptr"))
        right, turned = cupy.asarray(parts["right"]), cupy.asarray(parts["turned"])
        left = sparse.csr_matrix((data, indices.astype(cupy.int32), indptr.astype(cupy.int32)), shape=shape)
        slopes = cupy.repeat(turned, len(indices) // len(turned), axis=0)

        def renumbered():
            columns, places = cupy.unique(left.indices, return_inverse=True)
            narrow = sparse.csr_matrix((data, places.astype(cupy.int32), left.indptr), shape=(shape[0], len(columns)))
            return columns, narrow.T @ turned

        def added():
            columns, places = cupy.unique(indices, return_inverse=True)
            out = cupy.zeros((len(columns), slopes.shape[1]), slopes.dtype)
            cupyx.scatter_add(out, places, slopes)
            return columns, out

        return {"csr_dense": {"matmul": lambda: left @ right}, "csrT_dense": {"renumbered": renumbered},
                "embedding_gradient": {"unique_scatter_add": added}}

    def updates(self, parts):
        shape = tuple(int(size) for size in parts["shape"])
        pairs = [(cupy.asarray(rows), cupy.asarray(values)) for rows, values in zip(parts["rows"], parts["values"], strict=True)]

        def sgd(weight, states, rows, values, count):
            weight[rows] -= 0.01 * values

        def adam(weight, states, rows, values, count):
            mean = 0.9 * states[0][rows] + 0.1 * values
            variance = 0.999 * states[1][rows] + 0.001 * values * values
            states[0][rows], states[1][rows] = mean, variance
            weight[rows] -= 0.001 * math.sqrt(1 - 0.999**count) / (1 - 0.9**count) * mean / (cupy.sqrt(variance) + 1e-8)

        found = {}
        for name, step, count in (("sgd", sgd, 0), ("adam", adam, 2)):
            states = [cupy.zeros(shape, cupy.float32) for _ in range(count)]
            found[name] = {"by_hand": self.stepping(step, cupy.ones(shape, cupy.float32), states, pairs)}
        return found

    def transfers(self, parts):
        from scipy import sparse as host

        dense = parts["dense"]
        matrix = host.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=dense.shape)
        there, matrix_there = cupy.asarray(dense), sparse.csr_matrix(matrix)
        return {"dense_in": {"asarray": lambda: cupy.asarray(dense)}, "csr_in": {"csr_matrix": lambda: sparse.csr_matrix(matrix)},
                "dense_out": {"get": there.get}, "csr_out": {"get": matrix_there.get}}

    def epochs(self, parts):
        raise NotImplementedError("cupyx has no gradients")


if __name__ == "__main__":
    serve(Worker())
