"""scipy.sparse on the array workloads of ``sparsekit bench``; see ``protocol.py``.

scipy has no row-sparse arrays: where one is needed, columns are renumbered by hand, with ``numpy.unique`` or
``numpy.searchsorted``, which is what a careful user would write.
"""

from __future__ import annotations

import sys

import numpy
import scipy
from protocol import Arrays, serve
from scipy import sparse


class Worker(Arrays):
    """Operations by operation and form."""

    def info(self):
        return {"name": "scipy", "version": scipy.__version__, "python": sys.version.split()[0]}

    def total(self, result):
        values = result[-1] if isinstance(result, tuple) else result
        values = values.data if sparse.issparse(values) else values
        return numpy.sum(values, dtype=numpy.float64), numpy.sum(numpy.abs(values), dtype=numpy.float64)

    def operations(self, parts):
        return conversions(parts) if "dense" in parts else products(parts)


def products(parts):
    shape = tuple(int(size) for size in parts["shape"])
    data, indices, indptr = parts["data"], parts["indices"], parts["indptr"]
    left = sparse.csr_matrix((data, indices.astype(numpy.int32), indptr.astype(numpy.int32)), shape=shape)
    right, turned, rows, kept = (parts[name] for name in ("right", "turned", "rows", "kept"))
    if shape[1] * right.shape[1] < 1 << 26:
        dense_result = {"dense_result": lambda: left.T @ turned}
    else:
        dense_result = {}

    def renumbered():
        columns, places = numpy.unique(left.indices, return_inverse=True)
        return columns, sparse.csr_matrix((data, places, left.indptr), shape=(shape[0], len(columns))).T @ turned

    def looked_up():
        places = numpy.searchsorted(rows, left.indices)
        return sparse.csr_matrix((data, places, left.indptr), shape=(shape[0], len(rows))) @ kept

    return {
        "csr_dense": {"matmul": lambda: left @ right},
        "csrT_dense": {"renumbered": renumbered, **dense_result},
        "csr_row_sparse": {"searchsorted": looked_up},
    }


def conversions(parts):
    dense, tall = parts["dense"], parts["tall"]
    matrix = sparse.csr_matrix(dense)
    rows = numpy.flatnonzero(tall.any(axis=1))
    kept = tall[rows]
    tall_matrix = sparse.csr_matrix(tall)

    def to_rows():
        found = numpy.flatnonzero(tall.any(axis=1))
        return found, tall[found]

    def from_rows():
        out = numpy.zeros_like(tall)
        out[rows] = kept
        return out

    def rows_to_csr():
        rank, columns = kept.nonzero()
        return sparse.csr_matrix((kept[rank, columns], (rows[rank], columns)), shape=tall.shape)

    def csr_to_rows():
        found = numpy.flatnonzero(numpy.diff(tall_matrix.indptr))
        return found, tall_matrix[found].toarray()

    return {
        "dense_csr": {"csr_matrix": lambda: sparse.csr_matrix(dense)},
        "csr_dense": {"toarray": matrix.toarray},
        "dense_row_sparse": {"numpy": to_rows},
        "row_sparse_dense": {"numpy": from_rows},
        "csr_row_sparse": {"by_hand": csr_to_rows},
        "row_sparse_csr": {"by_hand": rows_to_csr},
    }


serve(Worker())
