"""Kernels whose first operand is a dense array."""

from __future__ import annotations

from .jit import kernel


@kernel
def dense_dot_csr(left, data, indices, indptr, out):
    """``out += left · csr``; left (m, rows), out (m, columns or occurring columns) already cleared."""
    for row in range(left.shape[0]):
        for inner in range(left.shape[1]):
            value = left[row, inner]
            for place in range(indptr[inner], indptr[inner + 1]):
                out[row, indices[place]] += value * data[place]


@kernel
def dense_dot_csr_transposed(left, data, indices, indptr, out):
    """``out[...] = left · csrᵀ``; left (m, columns), out (m, rows)."""
    for row in range(left.shape[0]):
        for target in range(indptr.shape[0] - 1):
            total = out.dtype.type(0)
            for place in range(indptr[target], indptr[target + 1]):
                total += left[row, indices[place]] * data[place]
            out[row, target] = total
