"""Intel MKL through sparse_dot_mkl on the products of ``sparsekit bench dot``; see ``protocol.py``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if "MKL_RT" not in os.environ:
    found = sorted(Path(sys.prefix).glob("lib*/libmkl_rt.so*"))
    if found:
        os.environ["MKL_RT"] = str(found[-1])

import numpy
import sparse_dot_mkl
from protocol import Arrays, serve
from scipy import sparse


class Worker(Arrays):
    """Operations by operation and form."""

    def info(self):
        version = getattr(sparse_dot_mkl, "__version__", "?")
        return {"name": "sparse_dot_mkl", "version": version, "python": sys.version.split()[0]}

    def total(self, result):
        values = result[-1] if isinstance(result, tuple) else result
        return numpy.sum(values, dtype=numpy.float64), numpy.sum(numpy.abs(values), dtype=numpy.float64)

    def operations(self, parts):
        if "dense" in parts:
            return {}
        shape = tuple(int(size) for size in parts["shape"])
        data, indices, indptr = (parts["data"], parts["indices"].astype(numpy.int32), parts["indptr"].astype(numpy.int32))
        left = sparse.csr_matrix((data, indices, indptr), shape=shape)
        right, turned, rows, kept = (parts[name] for name in ("right", "turned", "rows", "kept"))
        product = sparse_dot_mkl.dot_product_mkl

        def renumbered():
            columns, places = numpy.unique(indices, return_inverse=True)
            short = sparse.csr_matrix((data, places.astype(numpy.int32), indptr), shape=(shape[0], len(columns)))
            return columns, product(short.T, turned)

        def looked_up():
            places = numpy.searchsorted(rows, indices).astype(numpy.int32)
            return product(sparse.csr_matrix((data, places, indptr), shape=(shape[0], len(rows))), kept)

        return {
            "csr_dense": {"dot_product_mkl": lambda: product(left, right)},
            "csrT_dense": {"renumbered": renumbered},
            "csr_row_sparse": {"searchsorted": looked_up},
        }


serve(Worker())
