"""Dense results of sparse arrays that are dense by nature: made without a fallback, up to the byte limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.config import config
from ..base.errors import DensificationError
from ..core.labels import label
from ..storage import CSR, densify
from ..storage.convert import row_ids

__all__ = ["check_room", "dense_of", "filled"]


def check_room(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise unless a dense result of that shape stays within ``config.densify_limit``.

    Raises
    ------
    DensificationError
        If it does not, and ``config.densify`` is not ``"allow"``.
    """
    size = math.prod(int(extent) for extent in shape) * np.dtype(dtype).itemsize
    if size > config.densify_limit and config.densify != "allow":
        raise DensificationError(
            f"{label(name)}: the result of shape {tuple(shape)} is dense and would take {size:,} bytes, above "
            f"config.densify_limit of {config.densify_limit:,}.",
            hint="take a slice first, or raise sparsekit.config.densify_limit.")


def dense_of(k: Any, store: Any, name: str) -> Any:
    """A dense array of the store, within the limit; a dense store is returned as it is."""
    if not hasattr(store, "stype"):
        return store
    check_room(name, store.shape, store.dtype)
    return densify(store, k.xp)


def filled(k: Any, store: Any, name: str, function: Callable[[Any], Any]) -> Any:
    """``function`` of every element of a sparse store, where f(0) is not 0: computed once for all absent ones."""
    absent, values = function(k.xp.zeros(1, store.dtype)), function(store.data)
    check_room(name, store.shape, values.dtype)
    out = k.xp.empty(store.shape, values.dtype)
    out.fill(absent[0])
    if isinstance(store, CSR):
        out[row_ids(store, k.xp), store.indices] = values
    else:
        out[store.indices] = values
    return out
