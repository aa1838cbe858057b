"""Sparse arrays: ``mx.nd.sparse``."""

from __future__ import annotations

import builtins
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import displays
from ..base.arguments import strict
from ..base.entry import entry
from ..base.errors import ConversionError, ShapeError, UnknownNameError
from ..base.lazy import lazy
from ..base.optional import scipy_part
from ..core import hooks
from ..core.dispatch import array_types, wrap
from ..core.op import registry
from ..ops.sparse.cast import check_stype
from ..storage import CSR, RowSparse, within_memory
from . import arithmetic
from .arguments import on, values_of
from .composed import transpose
from .foreign import fit_for_jax, jax_takes, to_jax, to_torch
from .functions import F
from .interchange import from_binsparse, read_only
from .ndarray import NDArray
from .sharing import check_copy, outside
from .sparse_assignment import assign
from .sparse_creation import array, csr_matrix, empty, row_sparse_array, zeros
from .sparse_indexing import select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..base.types import Foreign
    from ..storage.types import Sparse
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

        Indices are validated when the array is made, and kernels rely on this, so they cannot be written to.  On a GPU, where
        memory cannot be marked as read-only, the result is a copy.
        """
        return read_only(self._store.indices, self._ctx)

    @property
    def nnz(self) -> int:
        """Number of stored values, zeros among them counted."""
        return int(self._store.nnz)

    @property
    def density(self) -> float:
        """Stored values divided by all elements, 0 to 1."""
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

    def inspect(self, title: str = "Inside the array") -> Any:  # Any: a display, a layer above
        """A picture of where the values lie, at true scale, and of the components with pointers.

        A small array is drawn number by number.  ``live()`` gives the same picture to click and, of a small array, to edit: the
        components follow, and the array itself stays as it is.  Drawing takes O(stored values) time, and nothing becomes dense.

        Parameters
        ----------
        title : str

        Returns
        -------
        figures.kit.Figure
        """
        return displays.call("array_figure", self, title)

    def check_format(self, full_check: bool = True) -> None:
        """Raise ``SparseFormatError`` if the components are not valid."""
        type(self._store)(*(getattr(self._store, name) for name in self._store.components), self.shape)

    def asscipy(self, spmatrix: bool = False, copy: bool | None = None) -> Foreign:
        """A ``scipy.sparse.csr_array`` that shares the stored values.

        The values of a csr array are shared.  Its indices are copied, because in-place methods of scipy change indices, and
        kernels rely on validated ones.  The copies are int32 if the numbers fit, as scikit-learn requires.  Copy the matrix
        before you call ``eliminate_zeros()`` or a similar method: these methods move values within the shared memory.
        For a row_sparse array, everything is copied.

        Parameters
        ----------
        spmatrix : bool
            Return scipy's older class ``csr_matrix``, whose ``*`` and ``**`` are matrix products, as MXNet's ``asscipy`` does.
        copy : bool, optional
            True copies everything.  False also shares the indices, which must then not be changed.

        Raises
        ------
        ShapeError
            If the array does not have two dimensions.
        ConversionError
            If ``copy=False``, and the array is row_sparse or on a GPU.
        InsufficientMemoryError
            If a row_sparse array has more rows than a csr matrix can have in the available memory.
        """
        sparse = scipy_part("sparse")  # loaded by this call only: importing sparsekit must not load scipy
        self._check_matrix()
        start = time.perf_counter_ns() if hooks.sink is not None else 0
        store = within_memory(self._on_host(), "csr")
        shared = self._shared(store, copy, ("data",))
        narrow = copy is not False and all(size < 2**31 for size in (*self.shape, store.data.size))
        data, indices, indptr = (getattr(store, name).astype(np.int32) if narrow and name != "data"
                                 else outside(getattr(store, name), name in shared) for name in store.components)
        matrix = (sparse.csr_matrix if spmatrix else sparse.csr_array)((data, indices, indptr), shape=self.shape)
        for name, part in (("indices", indices), ("indptr", indptr)):  # scipy narrows those that fit int32
            if copy is False and not np.may_share_memory(getattr(matrix, name), part):
                setattr(matrix, name, part)
        matrix.has_canonical_format = True
        self._gave("scipy", start, store, shared)
        return matrix

    def tocoo(self) -> Foreign:
        """A ``scipy.sparse.coo_array`` that shares the stored values of a csr array; rows and columns are copies."""
        return self.asscipy().tocoo(copy=False)

    def astorch(self, copy: bool | None = None) -> Foreign:
        """A sparse tensor of PyTorch that shares the stored values: csr as ``sparse_csr``, row_sparse as ``sparse_coo``.

        Writing to the tensor's values changes the array.  Its indices are copied, because PyTorch can write to them, and
        kernels rely on validated indices.  The tensor of a row_sparse array is coalesced.  Its first dimension is sparse, and
        the others are dense.

        Parameters
        ----------
        copy : bool, optional
            True copies everything.  False also shares the indices, which must then not be changed.

        Returns
        -------
        torch.Tensor
            A tensor on the CPU that does not require gradients.

        Raises
        ------
        MissingPackageError
            If PyTorch is not installed.
        ConversionError
            If ``copy=False``, and the array is on a GPU.
        """
        start = time.perf_counter_ns() if hooks.sink is not None else 0
        store: Sparse = self._on_host()  # type: ignore[assignment]  # this array is sparse
        shared = self._shared(store, copy, ("data",))
        tensor = to_torch(store, shared)
        self._gave("torch", start, store, shared)
        return tensor

    def asjax(self, layout: str | None = None, copy: bool | None = None) -> Foreign:
        """A sparse array of JAX: csr as ``BCSR`` or ``BCOO``, row_sparse as ``BCOO`` with one sparse dimension.

        The values are copied, because JAX assumes that its arrays never change.  Indices are shared if JAX has their element
        type (int32, or int64 under ``jax_enable_x64``) and they begin at a cache line.  The indices of a csr array in a ``BCOO``
        are always copied, because a ``BCOO`` stores them as pairs.

        Parameters
        ----------
        layout : {"bcsr", "bcoo"}, optional
            By default ``"bcsr"`` for csr.  Row_sparse arrays have only ``"bcoo"``.
        copy : bool, optional
            True copies everything.  False also shares the values; the array must then not be written to.

        Raises
        ------
        MissingPackageError
            If JAX is not installed.
        DTypeError
            If JAX would round 64-bit values, or an index does not fit into JAX's index type.
        ConversionError
            If ``copy=False``, and a component must be copied.
        """
        layouts = ("bcsr", "bcoo") if self.stype == "csr" else ("bcoo",)
        if layout is not None and layout not in layouts:
            raise UnknownNameError.of(f"layout of {self.stype} arrays in JAX", layout, layouts)
        start = time.perf_counter_ns() if hooks.sink is not None else 0
        own: Sparse = self._on_host()  # type: ignore[assignment]  # this array is sparse
        store = fit_for_jax(own)
        takes = tuple(name for name in store.components if jax_takes(getattr(store, name)))
        pairs = (self.stype, layout) == ("csr", "bcoo")
        why = ("JAX has int32 indices" if store is not own else "a BCOO stores places as pairs of numbers" if pairs
               else "JAX needs memory that begins at a cache line" if takes != store.components else None)
        shared = self._shared(store, copy, () if pairs else tuple(name for name in takes if name != "data"), why)
        result = to_jax(store, layout, shared)
        self._gave("jax", start, store, shared)
        return result

    def _check_matrix(self) -> None:
        if self.ndim != 2:
            raise ShapeError(f"scipy matrices have two dimensions, not shape {self.shape}.", hint="reshape the dense array.")

    def _shared(self, store: Sparse, copy: bool | None, safe: tuple[str, ...], why: str | None = None) -> tuple[str, ...]:
        """The components of ``store`` that another library gets as they are.

        ``safe`` are those that it may have anyway, and ``why`` says why it cannot have all of them, if so.
        """
        own = [name for name in store.components if getattr(store, name) is getattr(self._store, name, None)]
        if check_copy(copy) is False:
            if len(own) < len(store.components) and why is None:
                why = f"this {self.stype} array on {self._ctx} has no such components"
            if why is not None:
                raise ConversionError(f"copy=False: {why}.",
                                      hint="leave out copy=, or convert the array first: tostype(), index_dtype=.")
            return store.components
        return () if copy is True else tuple(name for name in own if name in safe)

    def _gave(self, library: str, start: int, store: Sparse, shared: tuple[str, ...]) -> None:
        """Note the copied bytes for a recorder."""
        if start:
            hooks.copied(self._ctx, library, start, store.nbytes - builtins.sum(getattr(store, name).nbytes for name in shared))

    def __getitem__(self, key: object) -> Any:  # Any: sparse again, or single elements as a dense array
        """Rows, or rows and columns, by numbers, slices with any step, lists and masks.

        An int keeps its axis: ``x[2]`` is an array of one row.  Numbers for both axes of a matrix give single elements
        as a dense array.
        """
        is_whole = isinstance(key, builtins.slice) and key == builtins.slice(None)
        return self if is_whole or key is Ellipsis else select(self, key)

    def __setitem__(self, key: object, value: object) -> None:
        """``x[key] = value``: a number, or an array of any storage type; that of the array stays.

        ``x[:]`` takes all, ``x[2]`` a row, ``x[1, 3]`` an element; slices, lists and masks as in ``x[key]``.  Nothing becomes
        dense: what is not zero is stored, what becomes zero is not.  Each call takes time for all stored values, so assign
        many rows or elements at once: ``x[rows, columns] = values``.

        Raises
        ------
        ShapeError
            If the value does not have the shape of what is assigned to, nor broadcasts to it.
        GradientError
            If the array, or the value for a part of it, is recorded.
        """
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
    _num_aux = 2  # arrays of indices, as programs for MXNet ask

    @property
    def indptr(self) -> NDArray:
        """Where each row starts among the stored values, shape (rows + 1,); shares memory, read-only; a copy on a GPU."""
        return read_only(self._store.indptr, self._ctx)


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which only the rows ``indices`` are stored, in ``data``; the rest is zero."""

    __slots__ = ()
    stype = "row_sparse"
    _num_aux = 1

    @strict
    def retain(self, indices: object) -> RowSparseNDArray:
        """Only these rows, by an array, a list or a numpy array of numbers; all others become absent."""
        return retain(self, indices)


for _name in ("asjax", "asscipy", "astorch", "tocoo", "__getitem__", "__setitem__"):
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
        Row numbers in any order.  Numbers of rows that the array does not store are ignored.
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
    return getattr(F, name) if name in registry else _later(name)


_later, _listed = lazy(globals(), others=registry)
if not TYPE_CHECKING:
    __getattr__, __dir__ = _made, _listed
