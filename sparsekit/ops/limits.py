"""Results of sparse arrays that are dense by nature: made without a fallback, up to the byte limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..core.dispatch import written_dense
from ..core.op import label_of
from ..storage import CSR, RowSparse, densify
from ..storage.check import check_room
from ..storage.convert import row_ids

if TYPE_CHECKING:
    from ..base.types import Array
    from ..core.types import ArrayObject
    from ..kernels.types import Kernels
    from ..storage.types import Sparse, Store


def check_gradient(name: str, data: ArrayObject) -> None:
    """Raise unless the gradient of ``name``, dense by nature, for the sparse array ``data`` stays within the limit."""
    if data.stype != "default":
        check_room(f"the gradient of {name} for a {data.stype} array", tuple(data.shape), data.dtype)


def dense_of(k: Kernels, store: Store, label: str) -> Array:
    """A dense array of the store, within the limit; a dense store is returned as it is."""
    if not isinstance(store, (CSR, RowSparse)):
        return store
    check_room(label, store.shape, store.dtype)
    return densify(store, k.xp)


def dense_inside(k: Kernels, store: Store, name: str) -> Array:
    """As ``dense_of``, in a kernel whose result is not that dense array: noted in the ledger."""
    if not isinstance(store, (CSR, RowSparse)):
        return store
    label = label_of(name)
    reason = f"{label} works on a dense copy of a {store.stype} array of shape {tuple(store.shape)}"
    remedy = f"give {label} arrays of equal shapes and storage types, or convert once with tostype('default') before"
    check_room(label, store.shape, store.dtype)
    dense: Array = written_dense(name, store, k, reason, remedy=remedy)
    return dense


def filled(k: Kernels, store: Sparse, label: str, function: Callable[[Array], Array]) -> Array:
    """Apply ``function`` with f(0) != 0 to every element of a sparse store; computed once for all absent elements."""
    absent, values = function(k.xp.zeros(1, store.dtype)), function(store.data)
    check_room(label, store.shape, values.dtype)
    out = k.xp.empty(store.shape, values.dtype)
    out.fill(absent[0])
    if isinstance(store, CSR):
        out[row_ids(store, k.xp), store.indices] = values
    else:
        out[store.indices] = values
    return out
