"""Clipping of gradients by their global norm, as one operator of a training step that runs as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.warn import warn_user
from ...core import cost, infer
from ...core.op import Op
from ...storage import RowSparse
from ..samples import grid

if TYPE_CHECKING:
    from ...base.types import Array
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Store

__all__ = ["clip_global_norm"]

#: Not listed: it takes dense and row-sparse gradients in any order, and gives each in its storage type.
clip_global_norm = Op(
    "_clip_global_norm", "*data", shape=infer.unchanged, outputs=1, cost=cost.each(3), lane="backward", listed=False,
    sample=lambda: [([grid(), np.ones(1)], {})],
    doc="Gradients, then the largest norm that they may have together, float64 of shape (1,): what ``clip_global_norm`` leaves.")


@clip_global_norm.forward("default... -> default...")
def _(k: Kernels, *given: object) -> Sequence[Store]:  # object: stores, and the attributes, of which there are none
    gradients: Any = given[:-2]  # Any: stores
    limit: Any = given[-2]  # Any: an array
    total = sum(_square(k.xp, store.data if isinstance(store, RowSparse) else store) for store in gradients)
    norm = k.xp.sqrt(total)
    if k.outside(norm - norm, 1):  # not 0 where the norm is infinite or nan
        warn_user("nan or inf is detected. Clipping results will be undefined.", UserWarning)
    scale = limit / (norm + 1e-8)
    factor = k.xp.where(scale >= 1, 1.0, scale)
    return tuple([_scaled(store, factor) for store in gradients])


def _square(xp: ArrayModule, values: Array) -> Array:
    """The sum of squares as ``multi_sum_sq`` rounds it, in float64."""
    flat = values.reshape(-1)
    wide = flat.astype(np.float32) if flat.dtype.itemsize < 4 else flat
    return xp.dot(wide, wide).astype(np.float32).astype(np.float64)


def _scaled(store: Store, factor: Array) -> Store:
    if isinstance(store, RowSparse):
        return RowSparse(store.data * factor.astype(store.dtype), store.indices, store.shape, check=False)
    made: Array = (store * factor.astype(store.dtype)).reshape(store.shape)
    return made
