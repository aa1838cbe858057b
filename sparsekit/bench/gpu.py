"""``sparsekit bench gpu``: products, gradients, optimizer steps, transfers and an epoch, beside cuSPARSE (cupyx) and PyTorch.

Times are measured between two CUDA events on the stream.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..base.context import gpu, require
from ..base.errors import SparsekitError
from ..base.optional import scipy_part
from . import epoch, update
from .arrays import product_parts
from .harness import Bench, Contender, Report, Session, Worker, require_same, start_own, start_rivals

__all__ = ["run"]

HEADINGS = {
    "csr_dense": "csr · dense", "csrT_dense": "csrᵀ · dense -> row_sparse", "embedding_gradient": "gradient of an embedding",
    "sgd": "SGD", "adam": "Adam", "dense_in": "dense to the device", "csr_in": "csr to the device",
    "dense_out": "dense to the host", "csr_out": "csr to the host", "epoch": "training epoch",
}


class Section(NamedTuple):
    """One workload: its title, its kind (a key of the worker's ``KINDS``), and a function that writes its arrays to a file."""

    title: str
    kind: str
    write: Callable[[str], None]


def _products(rows: int, columns: int, stored: int, width: int, hot: bool = False) -> Section:
    law = " by Zipf's law" if hot else ""
    title = f"{rows:,} x {columns:,}, {stored} per row{law}, x {width}"
    return Section(title, "products", lambda path: np.savez(path, **product_parts(rows, columns, stored, width, hot)))


def _updates(workload: update.Workload) -> Section:
    return Section(workload.title, "updates", lambda path: update.write_gradients(path, workload))


def _transfers(rows: int, columns: int, density: float) -> Section:
    def write(path: str) -> None:
        random = np.random.default_rng(0)
        dense = np.zeros((rows, columns), np.float32)
        places = np.sort(random.choice(dense.size, int(dense.size * density), replace=False))
        dense.reshape(-1)[places] = 1 + random.random(places.shape[0], dtype=np.float32)
        indptr = np.searchsorted(places, np.arange(rows + 1) * columns)
        np.savez(path, dense=dense, data=dense.reshape(-1)[places], indices=places % columns, indptr=indptr)

    return Section(f"{rows:,} x {columns:,}, {density:.0%} stored", "transfers", write)


def _epochs(workload: epoch.Workload) -> Section:
    def write(path: str) -> None:
        with tempfile.TemporaryDirectory(prefix="sparsekit-bench-") as folder:
            os.replace(epoch.write_data(folder, workload), path)

    return Section("{:,} x {:,}, {} values per row, batches of {}, layers of 128, 8, 1".format(*workload), "epochs", write)


def sections(quick: bool) -> list[Section]:
    """Return all workloads; small ones if ``quick``."""
    if quick:
        return [_products(32, 400, 4, 8), _products(200, 400, 4, 8, hot=True),
                _updates(update.Workload(100, 8, 10, 3)), _transfers(50, 40, 0.1),
                _epochs(epoch.Workload(samples=20, features=200, stored=4, batch_size=5))]
    return [_products(8192, 20_216_830, 36, 1), _products(1024, 1_000_000, 100, 128), _products(65_536, 1_000_000, 32, 128),
            _products(8192, 20_216_830, 36, 1, hot=True), _products(65_536, 1_000_000, 32, 128, hot=True),
            _updates(update.Workload(1_000_000, 128, 10_000, 16)), _updates(update.Workload(4_000_000, 128, 200_000, 4)),
            _updates(update.Workload(1_000_000, 128, 10_000, 16, hot=True)), _transfers(20_000, 10_000, 0.01),
            _epochs(epoch.Workload())]


def compulsory_bytes(operation: str, parts: dict[str, Any]) -> int:
    """Return the bytes that an operation must read and write at least: each row that it needs once.  0 for an epoch."""
    if operation in ("sgd", "adam"):
        rows, width = parts["values"].shape[1:]
        return int(rows * (8 + 4 * width * (1 + 2 * (1 if operation == "sgd" else 3))))
    if operation.startswith(("dense_", "csr_in", "csr_out")) and "dense" in parts:
        names = ("dense",) if operation.startswith("dense") else ("data", "indices", "indptr")
        return sum(int(parts[name].nbytes) for name in names)
    if operation == "epoch":
        return 0
    distinct, width, stored = parts["rows"].shape[0], parts["right"].shape[1], parts["data"].shape[0]
    matrix = sum(int(parts[name].nbytes) for name in ("data", "indices", "indptr"))
    if operation == "csr_dense":
        return int(matrix + distinct * width * 4 + parts["turned"].nbytes)
    if operation == "csrT_dense":
        return int(matrix + parts["turned"].nbytes + distinct * (width * 4 + 8))
    return int(stored * 8 + stored * width * 4 + distinct * (width * 4 + 8))


def right_sums(operation: str, parts: dict[str, Any]) -> tuple[float, float] | None:
    """Return sum and sum of magnitudes of what an operation gives, by numpy and scipy; None for what has no rule here."""
    if operation.startswith(("dense_", "csr_in", "csr_out")) and "dense" in parts:
        made = parts["dense"]
    elif operation in ("csr_dense", "csrT_dense", "embedding_gradient"):
        data = np.ones_like(parts["data"]) if operation == "embedding_gradient" else parts["data"]
        places = np.searchsorted(parts["rows"], parts["indices"])
        shape = parts["turned"].shape[0], parts["rows"].shape[0]
        matrix = scipy_part("sparse").csr_matrix((data, places, parts["indptr"]), shape)
        made = matrix @ parts["kept"] if operation == "csr_dense" else matrix.T @ parts["turned"]
    else:
        return None
    return float(np.sum(made, dtype=np.float64)), float(np.sum(np.abs(made), dtype=np.float64))


def _measures(operation: str, workers: dict[str, Worker], loaded: dict[str, Any], parts: dict[str, Any]
              ) -> dict[str, Callable[[], float]]:
    """Return what measures each form of an operation; raise ``SparsekitError`` if a library computes another result."""
    expected, right = next(iter(loaded["sparsekit"]["forms"][operation].values())), right_sums(operation, parts)
    if right is not None and not np.allclose(right, expected, rtol=2e-3, atol=2e-3 * abs(right[-1])):
        raise SparsekitError(f"sparsekit returns sums {expected} for {operation}, numpy and scipy {list(right)}.",
                             hint="this is a defect of the kernels for GPUs: please report it with the device's name.")
    found: dict[str, Callable[[], float]] = {}
    for name, worker in workers.items():
        for form, totals in loaded[name]["forms"].get(operation, {}).items():
            require_same(f"{name} {form}", f"returns for {operation} the sums", totals, expected, 2e-3, 2e-3 * abs(expected[-1]))
            found[f"{name} {form.replace('_', ' ')}"] = partial(worker.ask, "time", operation, form)
    return found


def _measure(session: Session, section: Section, workers: dict[str, Worker], path: str, speed: float) -> None:
    section.write(path)
    with np.load(path) as stored:
        parts = {name: stored[name] for name in stored.files}
    loaded: dict[str, Any] = {name: worker.ask("load", path, section.kind) for name, worker in workers.items()}
    for name, answer in loaded.items():
        session.report.notes += [f"{section.title}: {name} cannot do {what}: {why}" for what, why in answer["failed"].items()]
    for operation in loaded["sparsekit"]["forms"]:
        measures = _measures(operation, workers, loaded, parts)
        moved, first = compulsory_bytes(operation, parts), next(iter(measures))

        def fact(contenders: list[Contender], moved: int = moved) -> str:
            rate = moved / (Report.median(contenders[0]) * 1e-6)
            beside = f", {rate / speed:.0%} of the device's copy rate" if section.kind != "transfers" else ""
            return f"{contenders[0].name}: at least {moved:,} bytes at {rate / 1e9:.2f} GB/s{beside}" if moved else ""

        session.table(f"{section.title}: {HEADINGS[operation]}", "µs", measures, first if len(measures) > 1 else "", fact)


def _tables(session: Session) -> None:
    require(gpu(0))
    own = session.stack.enter_context(start_own("gpu_worker"))
    workers = {"sparsekit": own, **start_rivals(session.rivals, session.stack, "gpu")}
    for name, worker in workers.items():
        facts = dict(worker.ask("info"))
        session.report.versions[name] = facts["version"]
        session.report.versions.update({f"{name}: {what}": text for what, text in facts["more"].items()})
    speed = own.ask("bandwidth")
    session.report.notes.append(f"memory: a copy on the device moves {speed / 1e9:.0f} GB/s, counting reads and writes.")
    for section in sections(session.quick):
        _measure(session, section, workers, os.path.join(session.folder, "arrays.npz"), speed)


NOTES = (
    "times are measured between two CUDA events on the stream, over calls that take about 30 ms together.",
    "at least so many bytes: all components of sparse arrays, and every row of a dense array that is needed, once.",
    "csrᵀ · dense, gradient of an embedding: nonzero rows with their ascending, unique indices.",
    "SGD, Adam: a step with one gradient, on a weight and states that stay on the device; gradients take turns.",
    "epoch: the batches are parsed and on the device beforehand; 'hybridized' replays CUDA graphs where shapes allow.",
    "transfers: from and to pageable host memory.",
    "results of products, gradients and transfers agree with numpy's and scipy's, and all with the rivals', or the bench stops.",
)
run = Bench("Measure products, optimizer steps, transfers and an epoch on ``gpu(0)``, in microseconds.", "Sparse work on a GPU",
            (11, 2), _tables, NOTES)
