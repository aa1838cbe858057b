"""Compressed sparse rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import ShapeError
from .check import check_csr

if TYPE_CHECKING:
    from ..base.types import DType, DTypeLike, Indices, Shape, Values

__all__ = ["CSR"]


class CSR:
    """A matrix stored as compressed sparse rows.

    Row ``i`` has the values ``data[indptr[i]:indptr[i + 1]]`` in the columns
    ``indices[indptr[i]:indptr[i + 1]]``, which ascend and do not repeat.

    Parameters
    ----------
    data : array, shape (nnz,)
    indices : array of int32 or int64, shape (nnz,)
    indptr : array of int32 or int64, shape (rows + 1,)
    shape : tuple of two ints
    check : bool
        Validate the components, O(nnz).  Results of kernels pass False.

    Raises
    ------
    SparseFormatError
        If the components do not form a valid CSR matrix of that shape; the message names the wrong entry.
    """

    __slots__ = ("__weakref__", "_seen", "data", "indices", "indptr", "shape")
    stype = "csr"
    components = ("data", "indices", "indptr")

    data: Values
    indices: Indices
    indptr: Indices

    def __init__(self, data: Values, indices: Indices, indptr: Indices, shape: Shape, check: bool = True) -> None:
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape
        self._seen = 0  # by what a recorder knows these components again
        if check:
            if len(shape) != 2:
                raise ShapeError(f"A csr array has two dimensions, not shape {shape}.", hint="reshape to (rows, columns).")
            check_csr(data, indices, indptr, shape)

    @property
    def dtype(self) -> DType:
        """Element type of ``data``."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """Number of stored values, zeros among them counted."""
        return int(self.data.shape[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the three components together."""
        return int(self.data.nbytes + self.indices.nbytes + self.indptr.nbytes)

    def copy(self) -> CSR:
        """A deep copy."""
        return CSR(self.data.copy(), self.indices.copy(), self.indptr.copy(), self.shape, check=False)

    def astype(self, dtype: DTypeLike) -> CSR:
        """The same places with the values in another element type."""
        return CSR(self.data.astype(dtype), self.indices, self.indptr, self.shape, check=False)

    def replace(self, other: CSR) -> None:
        """Take over the components of ``other``, in place."""
        self.data, self.indices, self.indptr, self._seen = other.data, other.indices, other.indptr, 0
