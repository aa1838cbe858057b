"""The product of two CSR matrices as a CSR matrix: every multiplication listed, sorted by place, and added up.

The way of expansion, sorting and compression of S. Dalton et al. 2015, https://doi.org/10.1145/2699470; it takes
memory for each multiplication.
"""

from __future__ import annotations

import numpy as np

from .csr import _rows_of
from .grouped import sum_groups
from .launch import xp


def csr_product(data, indices, indptr, right_data, right_indices, right_indptr, width):
    """data, indices and indptr of the product; ``width`` is the number of columns on the right."""
    k, rows, dtype = xp(), indptr.shape[0] - 1, np.result_type(data.dtype, right_data.dtype)
    counts = (right_indptr[1:] - right_indptr[:-1])[indices].astype(np.int64, copy=False)
    ends = k.cumsum(counts)
    total = int(ends[-1]) if ends.shape[0] else 0
    if total == 0:
        return k.zeros(0, dtype), k.zeros(0, np.int64), k.zeros(rows + 1, np.int64)
    source = k.searchsorted(ends, k.arange(total), side="right")
    other = right_indptr[indices[source]] + k.arange(total) - (ends - counts)[source]
    row, column = _rows_of(indptr, indices.shape[0])[source], right_indices[other].astype(np.int64, copy=False)
    order = k.argsort(column)
    order = order[k.argsort(row[order])]  # stable: by row, and by column within it
    row, column = row[order], column[order]
    first = k.ones(total, np.bool_)
    first[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    begin = k.flatnonzero(first)
    starts = k.append(begin, total)
    values = k.empty(begin.shape[0], dtype)
    products = data[source] * right_data[other]
    sum_groups(products, (None, starts, order), values, 1, False)
    return values, column[begin], k.searchsorted(row[begin], k.arange(rows + 1))
