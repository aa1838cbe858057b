"""The store of matrices in compressed sparse row format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import ShapeError
from .check import check_csr

if TYPE_CHECKING:
    from ..base.types import DType, DTypeLike, Indices, Shape, Values


class CSR:
    """A matrix in compressed sparse row format.

    Row ``i`` has the values ``data[indptr[i]:indptr[i + 1]]`` in the columns
    ``indices[indptr[i]:indptr[i + 1]]``, which are strictly increasing.

    Parameters
    ----------
    data : array, shape (nnz,)
    indices : array of int32 or int64, shape (nnz,)
    indptr : array of int32 or int64, shape (rows + 1,)
    shape : tuple of two ints
    check : bool
        Validate the components, in O(nnz).  Default True.

    Raises
    ------
    ShapeError
        If ``shape`` does not have two dimensions.
    SparseFormatError
        If the components do not form a canonical CSR matrix of this shape; the message names the wrong entry.
    """

    __slots__ = ("__weakref__", "_seen", "data", "indices", "indptr", "shape")
    stype = "csr"
    components = ("data", "indices", "indptr")

    data: Values
    indices: Indices
    indptr: Indices

    def __init__(self, data: Values, indices: Indices, indptr: Indices, shape: Shape, check: bool = True) -> None:
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape
        self._seen = 0  # set by a recorder, which identifies these components by it
        if check:
            if len(shape) != 2:
                raise ShapeError(f"A csr array must have two dimensions, not shape {shape}.", hint="reshape to (rows, columns).")
            check_csr(data, indices, indptr, shape)

    @property
    def dtype(self) -> DType:
        """Element type of ``data``."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """Number of stored values, including stored zeros."""
        return int(self.data.shape[0])

    @property
    def nbytes(self) -> int:
        """Total bytes of the three components."""
        return int(self.data.nbytes + self.indices.nbytes + self.indptr.nbytes)

    def copy(self) -> CSR:
        """A deep copy."""
        return CSR(self.data.copy(), self.indices.copy(), self.indptr.copy(), self.shape, check=False)

    def astype(self, dtype: DTypeLike) -> CSR:
        """A store with ``data`` converted to ``dtype``, which shares ``indices`` and ``indptr``."""
        return CSR(self.data.astype(dtype), self.indices, self.indptr, self.shape, check=False)

    def replace(self, other: CSR) -> None:
        """Replace the components by those of ``other``, in place."""
        self.data, self.indices, self.indptr, self._seen = other.data, other.indices, other.indptr, 0
