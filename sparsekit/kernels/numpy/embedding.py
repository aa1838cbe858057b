"""The kernel of an embedding's gradient."""

from __future__ import annotations

import numpy as np

from .arrays import add_product, kernel


@kernel
def sum_rows_grouped(data, starts, places, targets, out):
    """``out[targets[i]]`` = sum of the rows of data in group i: ``data[places[starts[i]:starts[i + 1]]]``."""
    sums = np.full((targets.shape[0], out.shape[1]), -0.0).astype(out.dtype)  # to which a zero of either sign is added as it is
    add_product(np.ones(places.shape[0], out.dtype), places.astype(np.int64), starts.astype(np.int64), data, sums)
    out[targets] = sums
