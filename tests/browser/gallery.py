"""Arrays and batches that displays are tried with, made without a library."""

from __future__ import annotations

from typing import Any

#: Runs in this process and in a notebook's kernel alike, so that both show the same.
MADE = '''
import math
import random

import numpy as np


def csr(rows, columns, stored, seed):
    """A csr array by its components, without a library."""
    places = np.sort(np.random.default_rng(seed).choice(rows * columns, stored, replace=False))
    return {"stype": "csr", "shape": (rows, columns), "data": (places % 7 + 0.5).astype("float32"),
            "indices": places % columns, "indptr": np.searchsorted(places, np.arange(rows + 1) * columns)}


SMALL, LARGE = csr(6, 12, 15, 0), csr(2000, 1_000_000, 30_000, 1)
ROWS = {"stype": "row_sparse", "shape": (10**9, 10**9), "data": np.broadcast_to(np.float32(1.5), (900, 10**9)),
        "indices": np.arange(900) ** 2 * 1234}
BATCHES = [csr(5, 40, 12, seed) for seed in range(10)]
UPSTREAM = np.random.default_rng(0).normal(size=(5, 2)).round(2)
'''
made: dict[str, Any] = {}
exec(MADE, made)
