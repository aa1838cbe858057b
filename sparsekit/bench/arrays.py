"""Operations on arrays for ``sparsekit bench``: the arrays, the same for all libraries, and what is done with them here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import sparsekit as mx

from ..base.optional import scipy_part
from .worker import Form, Forms

if TYPE_CHECKING:
    from ..base.context import Context
    from ..base.types import Array
    from ..ndarray.ndarray import NDArray

Parts = dict[str, Any]


def zipf(random: np.random.Generator, size: tuple[int, ...], most: int, exponents: Array | float) -> Array:
    """Return ranks below ``most`` that follow Zipf's law with these exponents above 1, by the inverse of its integral."""
    power = 1 - np.asarray(exponents, float)
    ranks = (1 - random.random(size) * (1 - float(most + 1) ** power)) ** (1 / power) - 1
    drawn: Array = np.minimum(ranks.astype(np.int64), most - 1)
    return drawn


def product_parts(rows: int, columns: int, stored: int, width: int, hot: bool = False) -> Parts:
    """Return the components of a csr matrix with ``stored`` values in each row, and the arrays to multiply it with.

    Each of the values lies in a field of columns of its own.  Columns of a field are drawn alike, or by Zipf's law if ``hot``:
    the first fields then have one that is in most rows, as in data of advertisements.  ``right`` (columns, width) is dense,
    ``turned`` (rows, width) is multiplied with the transpose, ``kept`` are the rows of ``right`` whose column stores a value,
    and ``rows`` their indices.
    """
    random = np.random.default_rng(0)
    step = columns // stored
    drawn = (zipf(random, (rows, stored), step, np.linspace(2.5, 1.05, stored)) if hot
             else random.integers(0, step, (rows, stored)))
    indices = (drawn + np.arange(stored) * step).reshape(-1)
    right = random.standard_normal((columns, width), dtype=np.float32)
    occurring = np.unique(indices)
    return {
        "shape": np.array([rows, columns]), "data": random.standard_normal(rows * stored, dtype=np.float32),
        "indices": indices, "indptr": np.arange(0, rows * stored + 1, stored), "right": right,
        "turned": random.standard_normal((rows, width), dtype=np.float32), "rows": occurring, "kept": right[occurring],
    }  # fmt: skip


def conversion_parts(shape: tuple[int, int], density: float, tall: tuple[int, int], rows: int) -> Parts:
    """Return a dense matrix with a share of ``density`` nonzeros, and a tall one with ``rows`` nonzero rows."""
    random = np.random.default_rng(0)
    dense = random.standard_normal(shape, dtype=np.float32)
    dense[random.random(shape, dtype=np.float32) >= density] = 0
    high = np.zeros(tall, np.float32)
    high[random.choice(tall[0], rows, replace=False)] = random.standard_normal((rows, tall[1]), dtype=np.float32)
    return {"dense": dense, "tall": high}


def transfer_parts(rows: int, columns: int, density: float) -> Parts:
    """Return a dense matrix with a share of ``density`` nonzeros, and its components as csr."""
    random = np.random.default_rng(0)
    dense = np.zeros((rows, columns), np.float32)
    places = np.sort(random.choice(dense.size, int(dense.size * density), replace=False))
    dense.reshape(-1)[places] = 1 + random.random(places.shape[0], dtype=np.float32)
    return {"dense": dense, "data": dense.reshape(-1)[places], "indices": places % columns,
            "indptr": np.searchsorted(places, np.arange(rows + 1) * columns)}


def gradient_parts(rows: int, width: int, stored: int, count: int, hot: bool = False) -> Parts:
    """Return the rows and values of gradients of a weight; Zipf's law draws the rows if ``hot``."""
    random = np.random.default_rng(0)
    places = [np.sort(_rows(random, rows, stored, hot)) for _ in range(count)]
    values = random.standard_normal((count, stored, width), dtype=np.float32)
    return {"shape": np.array([rows, width]), "rows": np.array(places), "values": values}


def _rows(random: np.random.Generator, rows: int, stored: int, hot: bool) -> Array:
    """The rows that one gradient stores, in any order."""
    others: Array = random.choice(rows, stored, replace=False)
    if not hot:
        return others
    drawn = zipf(random, (4 * stored,), rows, 1.05)
    distinct, first = np.unique(np.concatenate([drawn, others]), return_index=True)
    rows_of_batch: Array = distinct[np.argsort(first)[:stored]]
    return rows_of_batch


def _read(path: str, words: tuple[str, ...]) -> tuple[Parts, Context]:
    """The arrays of a file, and the device that they are for: the GPU if a word says so."""
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}, mx.gpu(0) if "gpu" in words else mx.cpu()


def _sums(array: NDArray) -> tuple[float, float]:
    """Return sum and sum of magnitudes of an array's stored values."""
    kept: Any = array  # Any: an array of either kind
    values = (kept if array.stype == "default" else kept.data).asnumpy()
    return np.sum(values, dtype=np.float64), np.sum(np.abs(values), dtype=np.float64)


def _forms(functions: dict[str, Callable[[], Any]]) -> Forms:
    """One form of each operation, in microseconds."""
    return {name: {"": Form(function, _sums, 1e6)} for name, function in functions.items()}


def products(path: str, *words: str) -> Forms:
    """Products of a csr matrix, and on a GPU the gradient of an embedding that looks up the matrix's columns."""
    parts, ctx = _read(path, words)
    shape, dot = tuple(int(size) for size in parts["shape"]), mx.nd.sparse.dot
    left = mx.nd.sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=shape, ctx=ctx)
    right, turned = mx.nd.array(parts["right"], ctx=ctx), mx.nd.array(parts["turned"], ctx=ctx)
    forms = {"csr_dense": lambda: dot(left, right), "csrT_dense": lambda: dot(left, turned, transpose_a=True)}
    if ctx == mx.cpu():
        rows = mx.nd.sparse.row_sparse_array((parts["kept"], parts["rows"]), shape=(shape[1], right.shape[1]))
        return _forms({**forms, "csr_row_sparse": lambda: dot(left, rows)})
    looking = mx.nd.array(parts["indices"], ctx=ctx, dtype="int64")
    slopes = mx.nd.repeat(turned, repeats=looking.shape[0] // turned.shape[0], axis=0)
    right.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        looked_up = mx.nd.Embedding(looking, right, input_dim=shape[1], output_dim=right.shape[1], sparse_grad=True)

    def gradient() -> object:
        mx.autograd.backward([looked_up], [slopes], retain_graph=True)
        return right.grad

    return _forms({**forms, "embedding_gradient": gradient})


def conversions(path: str, *words: str) -> Forms:
    """The conversion for every pair of storage types."""
    parts, _ = _read(path, words)
    dense, tall = mx.nd.array(parts["dense"]), mx.nd.array(parts["tall"])
    matrix, rows, columns = dense.tostype("csr"), tall.tostype("row_sparse"), tall.tostype("csr")
    return _forms({"dense_csr": lambda: dense.tostype("csr"), "csr_dense": lambda: matrix.tostype("default"),
                   "dense_row_sparse": lambda: tall.tostype("row_sparse"), "row_sparse_dense": lambda: rows.tostype("default"),
                   "csr_row_sparse": lambda: columns.tostype("row_sparse"), "row_sparse_csr": lambda: rows.tostype("csr")})


def transfers(path: str, *words: str) -> Forms:
    """Copies of a matrix to the device and back, dense and as csr."""
    parts, ctx = _read(path, words)
    here, host = mx.nd.array(parts["dense"], ctx=mx.cpu()), mx.cpu()
    sparse = mx.nd.sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=here.shape, ctx=host)
    pairs = {"dense_in": (here, ctx), "csr_in": (sparse, ctx), "dense_out": (here.as_in_context(ctx), host),
             "csr_out": (sparse.as_in_context(ctx), host)}
    return _forms({name: partial(array.as_in_context, target) for name, (array, target) in pairs.items()})


OPTIMIZERS: dict[str, tuple[str, dict[str, float]]] = {
    "sgd": ("sgd", {"learning_rate": 0.01}), "momentum": ("sgd", {"learning_rate": 0.01, "momentum": 0.9}),
    "adam": ("adam", {"learning_rate": 0.001}), "adagrad": ("adagrad", {"learning_rate": 0.01})}
#: Number of states of the weight's size for each optimizer.
STATES = {"sgd": 0, "momentum": 1, "adam": 2, "adagrad": 1}


def updates(path: str, *words: str) -> Forms:
    """Lazy steps of optimizers, with each gradient in turn; told apart by how much they change a weight of ones."""
    parts, ctx = _read(path, words)
    shape = tuple(int(size) for size in parts["shape"])
    gradients = [mx.nd.sparse.row_sparse_array((data, rows), shape=shape, ctx=ctx)
                 for data, rows in zip(parts["values"], parts["rows"], strict=True)]
    return {name: {"": _stepping(name, mx.nd.ones(shape, ctx=ctx), gradients)} for name in words if name in OPTIMIZERS}


def _stepping(name: str, weight: NDArray, gradients: list[Any]) -> Form:
    kind, settings = OPTIMIZERS[name]
    updater = mx.optimizer.get_updater(mx.optimizer.create(kind, **settings))

    def run() -> None:
        for gradient in gradients:
            updater(0, gradient, weight)

    return Form(run, lambda _: [float(np.abs(weight.asnumpy() - 1).sum(dtype=np.float64))], 1e6 / len(gradients))


def compulsory_bytes(operation: str, parts: Mapping[str, Any]) -> int:
    """Return the bytes that an operation must read and write at least: each row that it needs once.  0 for an epoch."""
    if operation in STATES:
        rows, width = parts["values"].shape[1:]
        return int(rows * (8 + 4 * width * (1 + 2 * (1 + STATES[operation]))))
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


def right_sums(operation: str, parts: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return sum and sum of magnitudes of what an operation gives, by numpy and scipy; None for what has no rule here."""
    if operation.startswith(("dense_", "csr_in", "csr_out")) and "dense" in parts:
        result = parts["dense"]
    elif operation in ("csr_dense", "csrT_dense", "embedding_gradient"):
        data = np.ones_like(parts["data"]) if operation == "embedding_gradient" else parts["data"]
        places = np.searchsorted(parts["rows"], parts["indices"])
        shape = parts["turned"].shape[0], parts["rows"].shape[0]
        matrix = scipy_part("sparse").csr_matrix((data, places, parts["indptr"]), shape)
        result = matrix @ parts["kept"] if operation == "csr_dense" else matrix.T @ parts["turned"]
    else:
        return None
    return float(np.sum(result, dtype=np.float64)), float(np.sum(np.abs(result), dtype=np.float64))
