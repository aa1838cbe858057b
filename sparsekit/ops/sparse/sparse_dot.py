"""Rows of ``dot`` for two sparse operands in every transposition, and for row_sparse operands.

csr · csr gives csr, where MXNet makes both dense; ``forward_stype="default"`` gives a dense result.  A product with a
row_sparse operand touches only the rows it stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.op import find
from ...storage import CSR
from ...storage.check import check_room
from ..limits import dense_inside
from .dot import dense_product, values_as
from .sparse_indexing import csr_columns, csr_rows, renumbered, transposed

if TYPE_CHECKING:
    from ...base.types import Array, Attrs
    from ...kernels.types import Kernels
    from ...storage import RowSparse
    from ...storage.types import Store

dot = find("dot")
ANY = (None, "default")


def csr_times_csr(k: Kernels, left: CSR, right: CSR) -> CSR:
    """The product of two csr matrices as csr, in the time of its multiplications."""
    width = right.shape[1]
    occurring = None
    if width > 8 * (left.nnz + right.nnz) + (1 << 16):  # a buffer for every column would cost more than the product
        occurring, ranks = k.unique_with_rank(right.indices)
        occurring = occurring.astype(right.indices.dtype, copy=False)
        right = CSR(right.data, ranks, right.indptr, (right.shape[0], occurring.shape[0]), check=False)
    dtype = np.result_type(left.dtype, right.dtype)
    computed = np.dtype(np.float32) if dtype == np.float16 else dtype  # kernels do not take float16
    values, right_values = (store.data.astype(computed, copy=False) for store in (left, right))
    data, indices, indptr = k.csr_product(values, left.indices, left.indptr, right_values, right.indices, right.indptr,
                                          right.shape[1])
    return CSR(data.astype(dtype, copy=False), indices if occurring is None else occurring[indices], indptr,
               (left.shape[0], width), check=False)


def _transpose_operands(k: Kernels, left: CSR, right: CSR, attrs: Attrs) -> tuple[CSR, CSR]:
    """Both operands, transposed by the attributes; columns of a long inner axis that only one operand stores are dropped."""
    if attrs["transpose_b"]:
        if left.shape[0 if attrs["transpose_a"] else 1] > 8 * (left.nnz + right.nnz) + (1 << 16) and not attrs["transpose_a"]:
            left, inner = renumbered(k, left, right.indices)
            right = CSR(right.data, inner, right.indptr, (right.shape[0], left.shape[1]), check=False)
        right = transposed(k, right)
    return transposed(k, left) if attrs["transpose_a"] else left, right


@dot.forward("csr, csr -> csr", forward_stype=(None, "csr"))
def _(k: Kernels, left: CSR, right: CSR, attrs: Attrs) -> CSR:
    return csr_times_csr(k, *_transpose_operands(k, left, right, attrs))


@dot.forward("csr, csr -> default", forward_stype="default")
def _(k: Kernels, left: CSR, right: CSR, attrs: Attrs) -> Array:
    left, right = _transpose_operands(k, left, right, attrs)
    out = _room(k, (left.shape[0], right.shape[1]), left, right, filled=False)
    k.csr_dot_csr(values_as(left, out), left.indices, left.indptr, values_as(right, out), right.indices, right.indptr, out)
    return out


def _room(k: Kernels, shape: tuple[int, ...], left: Store, right: Store, filled: bool = True) -> Array:
    dtype = np.result_type(left.dtype, right.dtype)
    check_room("dot", shape, dtype)
    return (k.xp.zeros if filled else k.xp.empty)(shape, dtype)


def _matrix(k: Kernels, array: Array, turn: bool) -> Array:
    return k.xp.ascontiguousarray(array.T if turn else array)


def _plain(k: Kernels, left: Store, right: Store, attrs: Attrs) -> Array:
    """The dense product, for operands that are not matrices."""
    product: Array = dense_product(k, dense_inside(k, left, "dot"), dense_inside(k, right, "dot"), attrs)
    return product


@dot.forward("row_sparse, default -> default", transpose_a=False, forward_stype=ANY)
def _(k: Kernels, left: RowSparse, right: Array, attrs: Attrs) -> Array:
    if len(left.shape) != 2 or right.ndim > 2:
        return _plain(k, left, right, attrs)
    product = k.xp.matmul(left.data, right.T if attrs["transpose_b"] else right)
    out = _room(k, (left.shape[0], *product.shape[1:]), left, right)
    out[left.indices] = product
    return out


@dot.forward("default, row_sparse -> default", transpose_b=True, forward_stype=ANY)
def _(k: Kernels, left: Array, right: RowSparse, attrs: Attrs) -> Array:
    if left.ndim != 2 or len(right.shape) != 2:
        return _plain(k, left, right, attrs)
    left = left.T if attrs["transpose_a"] else left
    out = _room(k, (left.shape[0], right.shape[0]), left, right)
    out[:, right.indices] = k.xp.matmul(left, right.data.T)
    return out


@dot.forward("default, csr -> default", transpose_a=True, forward_stype=None)
def _(k: Kernels, left: Array, right: CSR, attrs: Attrs) -> Array:
    left = _matrix(k, left, True)
    out = _room(k, (left.shape[0], right.shape[int(not attrs["transpose_b"])]), left, right)
    product = k.dense_dot_csr_transposed if attrs["transpose_b"] else k.dense_dot_csr
    product(left, values_as(right, out), right.indices, right.indptr, out)
    return out


@dot.forward("csr, row_sparse -> default", transpose_b=True, forward_stype=ANY)
def _(k: Kernels, left: CSR, right: RowSparse, attrs: Attrs) -> Array:
    rows = left.shape[1] if attrs["transpose_a"] else left.shape[0]
    out = _room(k, (rows, right.shape[0]), left, right)
    part = k.xp.zeros((rows, right.indices.shape[0]), out.dtype)
    product = k.csr_transposed_dot_dense if attrs["transpose_a"] else k.csr_dot_dense
    product(values_as(left, part), left.indices, left.indptr, _matrix(k, right.data, True), part)
    out[:, right.indices] = part
    return out


@dot.forward("row_sparse, row_sparse -> default", forward_stype=ANY)
def _(k: Kernels, left: RowSparse, right: RowSparse, attrs: Attrs) -> Array:
    if len(left.shape) != 2 or len(right.shape) != 2:
        return _plain(k, left, right, attrs)
    first, second = left.data, right.data
    if attrs["transpose_a"] == attrs["transpose_b"]:  # one operand's rows meet the other's columns
        first, second = (first.T, second[:, left.indices].T) if attrs["transpose_a"] else (first[:, right.indices], second)
    elif attrs["transpose_a"]:
        _, mine, other = k.shared_rows(left.indices, right.indices)
        first, second = first[mine].T, second[other]
    else:
        second = second.T
    rows, columns = left.shape[int(attrs["transpose_a"])], right.shape[int(not attrs["transpose_b"])]
    out = _room(k, (rows, columns), left, right)
    product = k.xp.matmul(first, second)
    if attrs["transpose_a"] and attrs["transpose_b"]:
        out[:, right.indices] = product
    elif attrs["transpose_a"]:
        out[:] = product
    else:
        out[(left.indices[:, None], right.indices) if attrs["transpose_b"] else left.indices] = product
    return out


@dot.forward("row_sparse, csr -> default", forward_stype=ANY)
def _(k: Kernels, left: RowSparse, right: CSR, attrs: Attrs) -> Array:
    turn_left, turn_right = attrs["transpose_a"], attrs["transpose_b"]
    if turn_left:  # only what meets the stored rows counts
        right = csr_columns(k, right, left.indices) if turn_right else csr_rows(k, right, left.indices)
    data = _matrix(k, left.data, turn_left)
    part = _room(k, (data.shape[0], right.shape[int(not turn_right)]), left, right)
    product = k.dense_dot_csr_transposed if turn_right else k.dense_dot_csr
    product(data, values_as(right, part), right.indices, right.indptr, part)
    if turn_left:
        return part
    out = _room(k, (left.shape[0], part.shape[1]), left, right)
    out[left.indices] = part
    return out
