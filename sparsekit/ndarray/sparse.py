"""Sparse arrays: ``mx.nd.sparse``."""

from __future__ import annotations

import builtins
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import displays
from ..base.arguments import strict
from ..base.entry import entry
from ..base.errors import ShapeError
from ..base.optional import scipy_part
from ..core import hooks
from ..core.dispatch import array_types, wrap
from ..core.op import registry
from ..ops.sparse.cast import check_stype
from ..storage import CSR, RowSparse, within_memory
from ..storage.memory import handed_out
from . import arithmetic
from .arguments import on, values_of
from .composed import transpose
from .functions import F
from .interchange import from_binsparse, read_only
from .ndarray import NDArray
from .sparse_creation import array, csr_matrix, empty, row_sparse_array, zeros
from .sparse_indexing import assign, select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from . import sparse_operators
    from .sparse_operators import *  # noqa: F403


__all__ = ["BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray", "array", "csr_matrix", "empty", "from_binsparse",
           "retain", "row_sparse_array", "transpose", "zeros"]
if TYPE_CHECKING:
    __all__ += sorted(sparse_operators.__all__)


class BaseSparseNDArray(NDArray):
    """Base of the sparse array classes."""

    __slots__ = ()

    @property
    def data(self) -> NDArray:
        """The stored values, sharing memory."""
        return wrap(self._store.data, self._ctx)

    @property
    def indices(self) -> NDArray:
        """Column of each stored value (csr), or the stored rows' numbers (row_sparse); shares memory, read-only.

        On a GPU, whose memory cannot be marked as read-only, it is a copy.  Kernels rely on indices that were
        validated when the array was made, so they cannot be written to.
        """
        return read_only(self._store.indices, self._ctx)

    @property
    def nnz(self) -> int:
        """Number of stored values, zeros among them counted."""
        return int(self._store.nnz)

    @property
    def density(self) -> float:
        """Stored values over all elements, 0 to 1."""
        return self.nnz / self.size if self.size else 0.0

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self._ctx}>"

    def _repr_html_(self) -> str:
        """A table of properties and a picture of the density of values; O(stored values), never dense."""
        try:
            return str(displays.call("array_html", self, str(self._ctx)))
        except Exception:  # a display must not raise: fall back to text
            from html import escape  # 1 ms, which importing sparsekit does without

            return f"<pre>{escape(repr(self).strip())}</pre>"

    def inspect(self, **options: object) -> Any:
        """A live view that links each stored value to its place in the matrix and in the components.

        Parameters
        ----------
        **options
            ``title``, as for ``sparsekit.widgets.inspect``.
        """
        return displays.call("inspect", self, **options)

    def check_format(self, full_check: bool = True) -> None:
        """Raise ``SparseFormatError`` if the components are not valid."""
        type(self._store)(*(getattr(self._store, name) for name in self._store.components), self.shape)

    def asscipy(self) -> Any:
        """A ``scipy.sparse.csr_matrix`` that shares the stored values.

        A csr array's ``data`` is not copied; its indices are, since scipy's methods in place change them and kernels
        rely on what was validated.  Before ``eliminate_zeros()`` and the like take a copy of the matrix, whose values
        they move.  The matrix of a row_sparse array is one of copies.

        Raises
        ------
        ShapeError
            If there are not two dimensions.
        InsufficientMemoryError
            If a row_sparse array has more rows than a csr matrix can in this memory.
        """
        sparse = scipy_part("sparse")  # loaded by this call only: importing sparsekit must not load scipy
        if self.ndim != 2:
            raise ShapeError(f"scipy matrices have two dimensions, not shape {self.shape}.", hint="reshape the dense array.")
        start = time.perf_counter_ns() if hooks.sink is not None else 0
        store = within_memory(self._on_host(), "csr")
        matrix = sparse.csr_matrix((handed_out(store.data), store.indices, store.indptr), shape=self.shape)
        for name in ("indices", "indptr"):
            if np.may_share_memory(getattr(matrix, name), getattr(store, name)):
                setattr(matrix, name, getattr(matrix, name).copy())
        if start:
            shared = matrix.data.nbytes if store is self._store and np.may_share_memory(matrix.data, store.data) else 0
            hooks.copied(self._ctx, "scipy", start, matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes - shared)
        return matrix

    def __getitem__(self, key: object) -> Any:  # Any: sparse again, or single elements as a dense array
        """Rows, or rows and columns, by numbers, slices with any step, lists and masks.

        An int keeps its axis: ``x[2]`` is an array of one row.  Numbers for both axes of a matrix give single elements
        as a dense array.
        """
        whole = isinstance(key, builtins.slice) and key == builtins.slice(None)
        return self if whole or key is Ellipsis else select(self, key)

    def __setitem__(self, key: object, value: object) -> None:
        """``x[:] = value``: a number, or an array of any storage type; that of the array stays."""
        assign(self, key, value)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse rows: ``data``, ``indices`` and ``indptr``.

    Row ``i`` has the values ``data[indptr[i]:indptr[i+1]]`` in the ascending columns
    ``indices[indptr[i]:indptr[i+1]]``.
    """

    __slots__ = ()
    stype = "csr"

    @property
    def indptr(self) -> NDArray:
        """Where each row starts among the stored values, shape (rows + 1,); shares memory, read-only; a copy on a GPU."""
        return read_only(self._store.indptr, self._ctx)


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which only the rows ``indices`` are stored, in ``data``; the rest is zero."""

    __slots__ = ()
    stype = "row_sparse"

    @strict
    def retain(self, indices: object) -> RowSparseNDArray:
        """Only these rows, by an array, a list or a numpy array of numbers; all others become absent."""
        return retain(self, indices)


for _name in ("asscipy", "__getitem__", "__setitem__"):
    setattr(BaseSparseNDArray, _name, entry(getattr(BaseSparseNDArray, _name)))

array_types[CSR] = CSRNDArray
array_types[RowSparse] = RowSparseNDArray


@entry
@strict
def retain(data: RowSparseNDArray, indices: object) -> RowSparseNDArray:
    """Only the given rows of a row_sparse array; all others become absent.

    Parameters
    ----------
    indices : NDArray, numpy array, list or int
        Numbers of rows, in any order; those of no row are left out.
    """
    if not isinstance(indices, NDArray) and isinstance(data, NDArray):
        numbers = np.atleast_1d(values_of(indices, default="int64"))
        indices = on(numbers, data.context)
    return F._sparse_retain(data, indices)


def cast_storage(data: NDArray, stype: str) -> NDArray:
    """The values in another storage type."""
    return F.cast_storage(data, stype=check_stype(stype))


add, subtract, multiply, divide = map(strict, (arithmetic.add, arithmetic.subtract, arithmetic.multiply, arithmetic.divide))


def _made(name: str) -> Callable[..., Any]:
    """Every operator is also reachable here, as in MXNet."""
    if name in registry:
        return getattr(F, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:
    __getattr__ = _made


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for name in registry if not name.startswith("_"))})
