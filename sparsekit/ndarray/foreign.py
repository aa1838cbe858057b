"""Sparse arrays of PyTorch and JAX: their components as numpy arrays, and arrays of theirs from ours.

Neither library is imported for an array that comes in: who has such an array has imported it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np

from ..base.errors import ConversionError, DTypeError, ShapeError
from ..base.optional import optional_import
from ..storage import CSR
from ..storage.convert import row_ids
from ..storage.memory import LINE
from .arguments import is_tensor
from .sharing import outside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..base.types import Array, Foreign
    from ..storage.types import Sparse


class Parts(NamedTuple):
    """The components of a sparse array of another library, as numpy arrays over its memory where that is possible.

    Attributes
    ----------
    form : {"compressed", "places", "rows"}
        csr; values and their rows and columns; or stored rows.  Places and rows may repeat, and their values are summed.
    data : array
    indices : tuple of arrays
        ``(indices, indptr)``, ``(rows, columns)`` or ``(rows,)``.
    shape : tuple of int
    constant : bool
        Whether the other library never writes to the memory of the indices.
    """

    form: Literal["compressed", "places", "rows"]
    data: Array
    indices: tuple[Array, ...]
    shape: tuple[int, ...]
    constant: bool

    @property
    def nbytes(self) -> int:
        """Bytes of all components."""
        return sum(part.nbytes for part in (self.data, *self.indices))


def parts_of(source: Foreign) -> Parts:  # Any: an array of PyTorch or JAX
    """The components of a sparse array of PyTorch or JAX.

    Raises
    ------
    ConversionError
        If it has no values here: on a GPU, part of a graph of gradients, or traced.
    ShapeError
        If it has batches or dense dimensions that arrays here do not have.
    """
    return _of_torch(source) if is_tensor(source) == "torch" else _of_jax(source)


# PyTorch


def _of_torch(tensor: Foreign) -> Parts:
    layout, shape = str(tensor.layout).removeprefix("torch.sparse_"), tuple(map(int, tensor.shape))
    if tensor.device.type != "cpu":
        raise ConversionError(f"The tensor is on the device {tensor.device}.", hint="tensor.cpu() copies it.")
    if tensor.requires_grad:
        raise ConversionError("The tensor requires gradients, and PyTorch's gradients do not flow through this conversion.",
                              hint="tensor.detach() has the same values.")
    if layout == "coo":
        return _of_torch_coo(tensor, shape)
    if layout not in ("csr", "csc"):
        raise ConversionError(f"Tensors of the layout {tensor.layout} are not supported.",
                              hint="convert it with tensor.to_sparse_csr().")
    if len(shape) != 2:
        raise ShapeError(f"The {layout} tensor has batches or dense dimensions: its shape is {shape}.",
                         hint="convert one matrix after the other: tensor[0].")
    values = _from_torch(tensor.values())
    if layout == "csr":
        return Parts("compressed", values, (_from_torch(tensor.col_indices()), _from_torch(tensor.crow_indices())), shape, False)
    ends = _from_torch(tensor.ccol_indices())
    columns = np.repeat(np.arange(shape[1]), np.diff(ends))
    return Parts("places", values, (_from_torch(tensor.row_indices()), columns), shape, False)


def _of_torch_coo(tensor: Foreign, shape: tuple[int, ...]) -> Parts:
    sparse, dense = int(tensor.sparse_dim()), int(tensor.dense_dim())
    form = _form_of_places(sparse, dense, shape, "tensor", "torch.sparse.sum or indexing removes dimensions")
    # Those with an underscore also read a tensor that is not coalesced: its places repeat, and values there are summed.
    return Parts(form, _from_torch(tensor._values()), tuple(_from_torch(tensor._indices())), shape, False)


def _form_of_places(sparse: int, dense: int, shape: tuple[int, ...], name: str, hint: str) -> Literal["places", "rows"]:
    if sparse == 1:
        return "rows"
    if (sparse, dense) != (2, 0):
        raise ShapeError(f"A {name} of shape {shape} with {sparse} sparse and {dense} dense dimensions is neither csr nor "
                         "row_sparse.", hint=f"csr has two sparse dimensions and no other, row_sparse one, the first; {hint}.")
    return "places"


def _from_torch(tensor: Foreign) -> Array:
    try:
        array: Array = tensor.detach().numpy()
    except (TypeError, RuntimeError) as error:
        raise DTypeError(f"Values of {tensor.dtype} cannot be read: {error}.",
                         hint="tensor.float() casts them to float32.") from None
    return array


def to_torch(store: Sparse, shared: Iterable[str]) -> Foreign:  # Any: a tensor
    """A tensor of PyTorch, which shares the components that are named."""
    torch = optional_import("torch", "torch", "astorch()")
    values, *numbers = (torch.from_numpy(outside(getattr(store, name), name in shared)) for name in store.components)
    if isinstance(store, CSR):
        return torch.sparse_csr_tensor(numbers[1], numbers[0], values, size=store.shape, check_invariants=False)
    return torch.sparse_coo_tensor(numbers[0][None], values, size=store.shape, check_invariants=False, is_coalesced=True)


# JAX


def _of_jax(source: Foreign) -> Parts:
    shape, name = tuple(map(int, source.shape)), type(source).__name__
    if source.n_batch:
        raise ShapeError(f"The {name} of shape {shape} has {source.n_batch} batch dimensions.",
                         hint="convert one array after the other: x[0].")
    data, indices = _from_jax(source.data), _from_jax(source.indices)
    if name == "BCSR":
        if source.n_dense:
            raise ShapeError(f"The BCSR of shape {shape} has {source.n_dense} dense dimensions, and csr has none.",
                             hint="BCOO with one sparse dimension becomes row_sparse.")
        return _of_bcsr(data, indices, _from_jax(source.indptr), shape)
    form = _form_of_places(int(source.n_sparse), int(source.n_dense), shape, name, "x.todense() and sums remove dimensions")
    inside = (indices < np.asarray(shape[: indices.shape[1]])).all(axis=1)  # places outside are padding
    if not inside.all():
        data, indices = data[inside], indices[inside]
    return Parts(form, data, tuple(indices.T), shape, True)


def _of_bcsr(data: Array, indices: Array, indptr: Array, shape: tuple[int, ...]) -> Parts:
    """What lies behind the last row, and columns outside, are padding; columns may come in any order and repeat."""
    stored = int(indptr[-1]) if indptr.size else 0
    data, indices = data[:stored], indices[:stored]
    falls = np.flatnonzero(indices[1:] <= indices[:-1]) + 1
    if np.isin(falls, indptr).all() and not (indices >= shape[1]).any():
        return Parts("compressed", data, (indices, indptr), shape, True)
    rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
    inside = indices < shape[1]
    return Parts("places", data[inside], (rows[inside], indices[inside]), shape, True)


def _from_jax(array: Foreign) -> Array:
    try:
        return np.asarray(array)
    except Exception as error:  # the classes are JAX's own
        raise ConversionError(f"The array of JAX has no values that can be read: {str(error).splitlines()[0]}",
                              hint="convert it outside of jit, grad and vmap.") from None


def fit_for_jax(store: Sparse) -> Sparse:
    """The store with indices that JAX has: int32, unless its 64-bit types are switched on.

    Raises
    ------
    DTypeError
        If JAX would round the values, or has no indices that large.
    """
    jax = optional_import("jax", None, "asjax()")
    if jax.config.jax_enable_x64:
        return store
    if store.dtype.itemsize == 8:
        raise DTypeError(f"JAX rounds {store.dtype} to 32 bits.",
                         hint="x.astype('float32') does so here, jax.config.update('jax_enable_x64', True) keeps 64 bits.")
    if max(*store.shape, store.nnz) > np.iinfo(np.int32).max:
        raise DTypeError(f"The indices of an array of shape {tuple(store.shape)} do not fit into JAX's 32 bits.",
                         hint="jax.config.update('jax_enable_x64', True) gives it 64.")
    if store.indices.dtype == np.int32:
        return store
    narrow = [getattr(store, name).astype(np.int32) for name in store.components[1:]]
    kind: Foreign = type(store)
    return cast("Sparse", kind(store.data, *narrow, store.shape, check=False))


def jax_takes(part: Array) -> bool:
    """Whether JAX takes the memory as it is; it copies what does not begin at a cache line."""
    return bool(part.ctypes.data % LINE == 0)


def to_jax(store: Sparse, layout: str | None, shared: Iterable[str]) -> Foreign:  # Any: an array of JAX
    """A ``BCSR`` or ``BCOO`` of JAX, which shares the components that are named."""
    jax = optional_import("jax", None, "asjax()")
    sparse = optional_import("jax.experimental.sparse", None, "asjax()")
    data = _to_jax(jax, store.data, "data" in shared)
    if isinstance(store, CSR) and layout != "bcoo":
        numbers = [_to_jax(jax, getattr(store, name), name in shared) for name in store.components[1:]]
        return sparse.BCSR((data, *numbers), shape=store.shape, indices_sorted=True, unique_indices=True)
    places = (_to_jax(jax, np.stack([row_ids(store), store.indices], axis=1), False) if isinstance(store, CSR)
              else _to_jax(jax, store.indices[:, None], "indices" in shared))  # a view: an array of JAX would be copied
    return sparse.BCOO((data, places), shape=store.shape, indices_sorted=True, unique_indices=True)


def _to_jax(jax: Foreign, part: Array, share: bool) -> Foreign:
    return jax.dlpack.from_dlpack(outside(part, True)) if share else jax.numpy.array(part)
