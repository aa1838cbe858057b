"""MXNet 1.9.1 on the array workloads of ``sparsekit bench``; see ``protocol.py``."""

from __future__ import annotations

import sys

import mxnet as mx
import numpy
from protocol import Arrays, serve


def waiting(function):
    """The function, and its result there: MXNet computes asynchronously."""

    def run():
        result = function()
        result.wait_to_read()
        return result

    return run


class Worker(Arrays):
    """Operations by operation and form."""

    def info(self):
        return {"name": "mxnet", "version": mx.__version__, "python": sys.version.split()[0]}

    def total(self, result):
        values = (result if result.stype == "default" else result.data).asnumpy()
        return numpy.sum(values, dtype=numpy.float64), numpy.sum(numpy.abs(values), dtype=numpy.float64)

    def operations(self, parts):
        return conversions(parts) if "dense" in parts else products(parts)


def products(parts):
    shape = tuple(int(size) for size in parts["shape"])
    sparse, dot = mx.nd.sparse, mx.nd.sparse.dot
    left = sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    right, turned = mx.nd.array(parts["right"]), mx.nd.array(parts["turned"])
    rows = sparse.row_sparse_array((parts["kept"], parts["rows"]), shape=(shape[1], right.shape[1]))
    return {
        "csr_dense": {"dot": waiting(lambda: dot(left, right))},
        "csrT_dense": {"dot": waiting(lambda: dot(left, turned, transpose_a=True))},
        "csr_row_sparse": {"dot": waiting(lambda: dot(left, rows))},
    }


def conversions(parts):
    dense, tall = mx.nd.array(parts["dense"]), mx.nd.array(parts["tall"])
    matrix, rows = dense.tostype("csr"), tall.tostype("row_sparse")
    return {
        "dense_csr": {"tostype": waiting(lambda: dense.tostype("csr"))},
        "csr_dense": {"tostype": waiting(lambda: matrix.tostype("default"))},
        "dense_row_sparse": {"tostype": waiting(lambda: tall.tostype("row_sparse"))},
        "row_sparse_dense": {"tostype": waiting(lambda: rows.tostype("default"))},
    }


serve(Worker())
