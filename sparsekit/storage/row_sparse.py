"""The store of arrays of which only some rows are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .check import check_row_sparse

if TYPE_CHECKING:
    from ..base.types import DType, DTypeLike, Indices, Shape, Values


class RowSparse:
    """An array of which only some rows are stored: ``dense[indices[i]] == data[i]``, and all other rows are zero.

    Parameters
    ----------
    data : array, shape (stored rows, *shape[1:])
    indices : array of int32 or int64, shape (stored rows,)
        Strictly increasing.
    shape : tuple of int
    check : bool
        Validate the components, in O(stored rows).  Default True.

    Raises
    ------
    SparseFormatError
        If the components do not form a valid row-sparse array of this shape; the message names the wrong entry.
    """

    __slots__ = ("__weakref__", "_seen", "data", "indices", "shape")
    stype = "row_sparse"
    components = ("data", "indices")

    data: Values
    indices: Indices

    def __init__(self, data: Values, indices: Indices, shape: Shape, check: bool = True) -> None:
        self.data, self.indices, self.shape = data, indices, shape
        self._seen = 0  # set by a recorder, which identifies these components by it
        if check:
            check_row_sparse(data, indices, shape)

    @property
    def dtype(self) -> DType:
        """Element type of ``data``."""
        return self.data.dtype

    @property
    def complete(self) -> bool:
        """Whether all rows are stored; False if that is not known, as in a table of calls."""
        stored = self.indices.shape[0]
        return isinstance(stored, int) and stored == self.shape[0]

    @property
    def nnz(self) -> int:
        """Number of stored values, including stored zeros."""
        return int(self.data.size)

    @property
    def nbytes(self) -> int:
        """Total bytes of the two components."""
        return int(self.data.nbytes + self.indices.nbytes)

    def copy(self) -> RowSparse:
        """A deep copy."""
        return RowSparse(self.data.copy(), self.indices.copy(), self.shape, check=False)

    def astype(self, dtype: DTypeLike) -> RowSparse:
        """A store with ``data`` converted to ``dtype``, which shares ``indices``."""
        return RowSparse(self.data.astype(dtype), self.indices, self.shape, check=False)

    def replace(self, other: RowSparse) -> None:
        """Replace the components by those of ``other``, in place."""
        self.data, self.indices, self._seen = other.data, other.indices, 0
