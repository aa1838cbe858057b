"""Products and conversions of sparse arrays, beside rivals: the same arrays, checked to give the same result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from ..base.errors import SparsekitError
from .harness import Contender, Report, Worker, start_all, take_turns

__all__ = ["convert", "dot"]

Parts = dict[str, Any]
Sections = list[tuple[str, Callable[[], Parts]]]

HEADINGS = {
    "csr_dense": "csr · dense", "csrT_dense": "csrᵀ · dense -> row_sparse", "csr_row_sparse": "csr · row_sparse",
}
CONVERSIONS = {
    "dense_csr": "dense -> csr", "csr_dense": "csr -> dense", "dense_row_sparse": "dense -> row_sparse",
    "row_sparse_dense": "row_sparse -> dense", "csr_row_sparse": "csr -> row_sparse", "row_sparse_csr": "row_sparse -> csr",
}


def product_parts(rows: int, columns: int, stored: int, width: int) -> Parts:
    """A csr matrix with ``stored`` values in each row, and what it is multiplied with.

    ``right`` (columns, width) is dense, ``turned`` (rows, width) goes with the transpose, and ``kept`` are the
    rows of ``right`` that occur as columns, ``rows`` their numbers.
    """
    random = np.random.default_rng(0)
    step = columns // stored
    indices = (random.integers(0, step, (rows, stored)) + np.arange(stored) * step).reshape(-1)
    right = random.standard_normal((columns, width), dtype=np.float32)
    occurring = np.unique(indices)
    return {
        "shape": np.array([rows, columns]), "data": random.standard_normal(rows * stored, dtype=np.float32),
        "indices": indices, "indptr": np.arange(0, rows * stored + 1, stored), "right": right,
        "turned": random.standard_normal((rows, width), dtype=np.float32), "rows": occurring, "kept": right[occurring],
    }  # fmt: skip


def conversion_parts(shape: tuple[int, int], density: float, tall: tuple[int, int], rows: int) -> Parts:
    """A dense matrix with few values, and a tall one with few rows."""
    random = np.random.default_rng(0)
    dense = random.standard_normal(shape, dtype=np.float32)
    dense[random.random(shape, dtype=np.float32) >= density] = 0
    high = np.zeros(tall, np.float32)
    high[random.choice(tall[0], rows, replace=False)] = random.standard_normal((rows, tall[1]), dtype=np.float32)
    return {"dense": dense, "tall": high}


def _agree(own: list[float], other: list[float]) -> bool:
    """Whether two results have the same sum and sum of magnitudes, to rounding."""
    return bool(np.allclose(own, other, rtol=1e-3, atol=1e-3 * own[1]))


def _contenders(operation: str, workers: dict[str, Worker], loaded: dict[str, Any]) -> Iterator[Contender]:
    """All libraries that support it, in every form; a form that gives another result is an error."""
    expected = loaded["sparsekit"]["forms"][operation][""]
    for name, worker in workers.items():
        for form, totals in loaded[name]["forms"].get(operation, {}).items():
            if not _agree(expected, totals):
                raise SparsekitError(f"{name} {form} gives {totals} for {operation}, sparsekit {expected}.",
                                     hint="what is compared must compute the same; check the rival's script.")
            arguments = [form] if form else []
            yield Contender(f"{name} {form.replace('_', ' ')}".strip(), partial(worker.ask, "time", operation, *arguments))


def _run(title: str, sections: Sections, headings: dict[str, str], notes: tuple[str, ...], rivals: dict[str, str],
         rounds: int) -> Report:
    report = Report(title, rounds, notes)
    with tempfile.TemporaryDirectory(prefix="sparsekit-bench-") as folder, ExitStack() as stack:
        workers = start_all(report, rivals, stack, "arrays")
        own = workers["sparsekit"]
        speed = own.ask("bandwidth")
        report.notes.append(f"memory: one thread copies {speed / 1e9:.1f} GB/s, reads and writes counted.")
        path = os.path.join(folder, "arrays.npz")
        for title_of_shape, parts in sections:
            np.savez(path, **parts())
            loaded = {name: worker.ask("load", path) for name, worker in workers.items()}
            for name, answer in loaded.items():
                report.notes += [f"{title_of_shape}: {name} cannot do {what}: {why}" for what, why in answer["failed"].items()]
            for operation in loaded["sparsekit"]["forms"]:
                contenders = list(_contenders(operation, workers, loaded))
                take_turns(contenders, rounds)
                moved = own.ask("moved", operation)
                rate = moved / (report.median(contenders[0]) * 1e-6)
                report.add(f"{title_of_shape}: {headings[operation]}", "µs", contenders,
                           against="sparsekit" if rivals else "",
                           fact=f"sparsekit moves {moved:,} bytes, {rate / 1e9:.2f} GB/s: {rate / speed:.0%} of memory's")
    return report


def dot(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure products at the width of the KDD-2010 data set times a vector, and of a million columns times 128.

    Parameters
    ----------
    rivals : dict of str to str
        Rivals and the Python executables that have them.
    rounds : int
        0 for the default.
    quick : bool
        Small arrays and few rounds.
    """
    kdd, features = (20_216_830, 1_000_000) if not quick else (20_000, 10_000)
    sections: Sections = [(f"{batch} x {kdd:,}, 36 a row, x 1", partial(product_parts, batch, kdd, 36, 1))
                          for batch in (64, 512, 8192)[: 1 if quick else 3]]
    sections.append((f"1,024 x {features:,}, 100 a row, x 128", partial(product_parts, 1024, features, 100, 128)))
    return _run("Products of sparse arrays", sections, HEADINGS, DOT_NOTES, rivals, rounds or (2 if quick else 11))


def convert(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure conversions between all storage types; parameters as for ``dot``."""
    shape, tall, rows = ((2000, 5000), (100_000, 128), 1000) if not quick else ((50, 80), (200, 8), 10)
    sections: Sections = [
        (f"{shape[0]:,} x {shape[1]:,}, {density:.0%} stored; {tall[0]:,} x {tall[1]}, {rows:,} rows",
         partial(conversion_parts, shape, density, tall, rows)) for density in (0.01, 0.1)[: 1 if quick else 2]]
    return _run("Conversions of storage types", sections, CONVERSIONS, CONVERT_NOTES, rivals, rounds or (2 if quick else 11))


DOT_NOTES = (
    "csrᵀ · dense: everybody gives the rows that occur and their numbers ascending, each once, as a gradient needs.",
    "scipy and mkl renumber the columns with numpy.unique first; dense_result is scipy's plain left.T @ right.",
    "csr · row_sparse: the right side stores the rows that occur; rivals look them up with searchsorted.",
)
CONVERT_NOTES = (
    "row_sparse has no counterpart in scipy: the rows are picked and put with numpy.",
    "csr <-> row_sparse are conversions of the tall array, which MXNet and PyTorch do not have.",
)
