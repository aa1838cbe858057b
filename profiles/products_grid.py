"""csrᵀ · dense over a grid of stored counts, columns and widths, in turns with scipy.

    python profiles/products_grid.py                                       the whole grid
    python profiles/products_grid.py --stored 2e4 2e6 --columns 1e6 --width 1 8 --json grid.json

Each row of a table is a matrix with 20 values a row, or somewhat fewer under Zipf's law, where a column that is drawn
twice for a row counts once; indices are int64 here and int32 in scipy, as each has them by default.  The times are
minima over runs in turns, in one process.  scipy's rival is its dense result, ``left.T @ right``, where that has at
most ``LARGEST`` bytes; beyond, it is what one would write by hand: ``numpy.unique`` and the product of the renumbered
matrix.  This library returns the rows of the columns that occur, and their numbers.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import sparsekit as mx
from sparsekit.bench.harness import processor
from sparsekit.kernels.cpu.jit import worker_count

STORED = (20_000, 200_000, 2_000_000, 20_000_000)
COLUMNS = (10**5, 10**6, 10**7, 10**8, 10**9)
WIDTHS = (1, 8, 64)
ROW = 20
#: Bytes of scipy's dense result, and of the dense operand or this library's result, up to which a point is measured.
LARGEST = 1 << 29
#: Exponent of Zipf's law.
EXPONENT = 1.1
#: Seconds that the runs of a point take at least, and the fewest runs of each library.
LONG_ENOUGH, FEWEST = 0.4, 5


def matrix(stored: int, columns: int, law: str, seed: int = 0) -> sparse.csr_matrix:
    """A random matrix whose columns are drawn uniformly or by Zipf's law, the first column most often."""
    random = np.random.default_rng(seed)
    rows = stored // ROW
    if law == "uniform":
        drawn = random.integers(0, columns, (rows, ROW), dtype=np.int32)
    else:  # by inversion of the continuous law, whose density is column ** -EXPONENT
        power = 1 - EXPONENT
        least = (columns + 1.0) ** power
        drawn = ((1 - random.random((rows, ROW)) * (1 - least)) ** (1 / power) - 1).astype(np.int64)
        drawn = np.minimum(drawn, columns - 1).astype(np.int32)
    drawn.sort(axis=1)
    kept = np.ones(drawn.shape, bool)
    np.not_equal(drawn[:, 1:], drawn[:, :-1], out=kept[:, 1:])
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    indices = drawn[kept]
    data = random.standard_normal(indices.shape[0], dtype=np.float32)
    return sparse.csr_matrix((data, indices, indptr), shape=(rows, columns))


def rival(left: sparse.csr_matrix, right: np.ndarray) -> tuple[str, Callable[[], Any]]:
    """The name of what scipy does, and a function that does it."""
    if left.shape[1] * right.shape[1] * 4 <= LARGEST:
        return "dense", lambda: left.T @ right

    def renumbered() -> tuple[np.ndarray, np.ndarray]:
        columns, places = np.unique(left.indices, return_inverse=True)
        few = sparse.csr_matrix((left.data, places, left.indptr), shape=(left.shape[0], len(columns)))
        return columns, few.T @ right

    return "renumbered", renumbered


def same(own: Any, other: Any) -> bool:
    """Whether both results hold the same rows, up to rounding."""
    columns, data = own.indices.asnumpy(), own.data.asnumpy()
    if isinstance(other, tuple):
        expected, values = other
        return bool(np.array_equal(columns, expected) and np.allclose(data, values, rtol=1e-3, atol=1e-3))
    return bool(np.allclose(data, other[columns], rtol=1e-3, atol=1e-3)
                and np.isclose(np.abs(other).sum(dtype=np.float64), np.abs(data).sum(dtype=np.float64), rtol=1e-4))


def measure(stored: int, columns: int, width: int, law: str, patience: float) -> dict[str, Any]:
    """The fastest run of each library at one point of the grid, in milliseconds."""
    left = matrix(stored, columns, law)
    right = np.random.default_rng(1).standard_normal((left.shape[0], width), dtype=np.float32)
    own_left = mx.nd.sparse.csr_matrix((left.data, left.indices.astype(np.int64), left.indptr.astype(np.int64)),
                                       shape=left.shape)
    own_right = mx.nd.array(right)
    name, other = rival(left, right)

    def own() -> Any:
        return mx.nd.sparse.dot(own_left, own_right, transpose_a=True)

    result = own()
    if not same(result, other()):
        raise SystemExit(f"results differ at {stored:,} stored, {columns:,} columns, width {width}, {law}")
    distinct = result.shape[0] and int(result.indices.shape[0])
    del result
    times: dict[str, list[float]] = {"own": [], "other": []}
    began = time.perf_counter()
    while len(times["own"]) < FEWEST or time.perf_counter() - began < patience:
        for who, function in (("own", own), ("other", other)):
            start = time.perf_counter()
            made = function()
            times[who].append((time.perf_counter() - start) * 1e3)
            del made
    best = {who: min(values) for who, values in times.items()}
    return {"stored": int(left.nnz), "columns": columns, "width": width, "law": law, "distinct": distinct,
            "own_ms": best["own"], "scipy_ms": best["other"], "scipy": name, "ratio": best["own"] / best["other"],
            "own_ns_per_stored": best["own"] * 1e6 / left.nnz}


def main() -> None:
    parser = argparse.ArgumentParser(description="csrᵀ · dense -> row_sparse beside scipy, on a grid")
    parser.add_argument("--stored", nargs="+", type=float, default=STORED)
    parser.add_argument("--columns", nargs="+", type=float, default=COLUMNS)
    parser.add_argument("--width", nargs="+", type=int, default=WIDTHS)
    parser.add_argument("--law", nargs="+", choices=("uniform", "zipf"), default=("uniform", "zipf"))
    parser.add_argument("--patience", type=float, default=LONG_ENOUGH, help="seconds for each point, at least")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    print(f"{worker_count()} threads; scipy has one")
    print(f"{'stored':>11} {'columns':>13} {'width':>5} {'law':8} {'distinct':>11} {'own ms':>9} {'scipy ms':>9} "
          f"{'ratio':>6} {'ns/stored':>9}  scipy's")
    found = []
    for width, law, columns, stored in itertools.product(options.width, options.law, options.columns, options.stored):
        if stored * width * 4 > LARGEST:
            continue
        row = measure(int(stored), int(columns), width, law, options.patience)
        found.append(row)
        print(f"{row['stored']:11,} {row['columns']:13,} {width:5} {law:8} {row['distinct']:11,} {row['own_ms']:9.3f} "
              f"{row['scipy_ms']:9.3f} {row['ratio']:6.2f} {row['own_ns_per_stored']:9.2f}  {row['scipy']}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"processor": processor(), "threads": worker_count(), "points": found}, file, indent=1)


if __name__ == "__main__":
    main()
