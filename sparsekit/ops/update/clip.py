"""Clipping of gradients by their global norm, as operators of a training step that is traced as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.warn import warn_user
from ...core import cost
from ...core.apart import NORM
from ...core.op import Op
from ...storage import RowSparse
from ..samples import grid

if TYPE_CHECKING:
    from ...base.types import Array, Attrs
    from ...kernels.types import ArrayModule, Kernels

#: Not listed: it takes dense and row-sparse gradients in any order.
clip_factor = Op(
    "_clip_factor", "*data", shape=lambda shapes, attrs: (1,), dtype=lambda dtypes, attrs: np.dtype(np.float64),
    cost=cost.each(2), listed=False, sample=lambda: [([grid(), np.ones(1)], {})], reads_back=NORM, lane="update",
    asked="it is one number",
    doc="Gradients, then the largest norm that they may have together, float64 of shape (1,): what ``clip_global_norm`` "
        "multiplies them by.")


@clip_factor.forward("default|row_sparse... -> default")
def _(k: Kernels, *arguments: object) -> Array:  # object: stores, and the attributes, of which there are none
    gradients: Any = arguments[:-2]  # Any: stores
    limit: Any = arguments[-2]  # Any: an array
    total = sum(_square(k.xp, store.data if isinstance(store, RowSparse) else store) for store in gradients)
    norm = k.xp.sqrt(total)
    if k.outside(norm - norm, 1):  # not 0 where the norm is infinite or nan
        warn_user("nan or inf is detected. Clipping results will be undefined.", UserWarning)
    scale = limit / (norm + 1e-8)
    factor: Array = k.xp.where(scale >= 1, 1.0, scale)
    return factor


def _square(xp: ArrayModule, values: Array) -> Array:
    """The sum of squares as ``multi_sum_sq`` rounds it, in float64."""
    flat = values.reshape(-1)
    wide = flat.astype(np.float32) if flat.dtype.itemsize < 4 else flat
    return xp.dot(wide, wide).astype(np.float32).astype(np.float64)


scaled = Op("_scaled", "data factor", shape=lambda shapes, attrs: shapes[0], dtype=lambda dtypes, attrs: dtypes[0],
            listed=False, sample=lambda: [([grid(), np.ones(1)], {})], lane="update",
            doc="An array times one number, in the type and the storage type of the array.")


@scaled.forward("default, default -> default")
def _(k: Kernels, data: Array, factor: Array, attrs: Attrs) -> Array:
    product: Array = (data * factor.astype(data.dtype)).reshape(data.shape)
    return product


@scaled.forward("row_sparse, default -> row_sparse")
def _(k: Kernels, data: RowSparse, factor: Array, attrs: Attrs) -> RowSparse:
    return RowSparse(data.data * factor.astype(data.dtype), data.indices, data.shape, check=False)
