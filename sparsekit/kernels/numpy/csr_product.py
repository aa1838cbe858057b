"""The product of two CSR matrices as a CSR matrix, by scipy."""

from __future__ import annotations

import numpy as np

from .arrays import find, kernel, matrix, places_of, row_of_each


def csr_product(data, indices, indptr, right_data, right_indices, right_indptr, width):
    """data, indices and indptr of the product; ``width`` is the number of columns on the right."""
    sums, *places = _product(data, indices, indptr, right_data, right_indices, right_indptr, width)
    return sums.astype(np.result_type(data, right_data), copy=False), *places


@kernel
def _product(data, indices, indptr, right_data, right_indices, right_indptr, width):
    """``csr_product``, float16 in float32: scipy leaves out sums that are zero, so the places are those of matrices of ones."""
    dtype, inner, one = np.result_type(data, right_data), right_indptr.shape[0] - 1, np.ones(1, np.float32)
    sums, stored = [
        matrix(left, indices, indptr, inner) @ matrix(right, right_indices, right_indptr, width)
        for left, right in ((data.astype(dtype, copy=False), right_data.astype(dtype, copy=False)),
                            (one.repeat(data.shape[0]), one.repeat(right_data.shape[0])))]
    sums.sort_indices()
    stored.sort_indices()
    out = np.zeros(stored.nnz, dtype)
    if sums.nnz == stored.nnz:
        out[...] = sums.data
    else:
        (present, every), _ = places_of(
            indptr.shape[0], *[(row_of_each(product.indptr), product.indices) for product in (sums, stored)])
        out[find(present, every)[0]] = sums.data
    return out, stored.indices.astype(np.int64), stored.indptr.astype(np.int64)
