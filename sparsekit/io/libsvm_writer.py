"""Writing LibSVM text without loss: reading it returns the same bits."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ..base.arguments import unmasked
from ..base.context import cpu
from ..base.errors import DTypeError, ShapeError
from ..base.files import failures_named, written
from ..storage import CSR, RowSparse, convert
from ..storage.check import check_foreign

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ..base.types import Array

#: Number of pairs that are formatted at once.
PIECE_PAIRS = 1 << 16


def _host(array: object) -> Any:
    """The store of an ``NDArray`` in host memory; anything else is returned unchanged."""
    if hasattr(array, "as_in_context"):
        array = array.as_in_context(cpu())
    return getattr(array, "_store", array)


def _as_csr(data: object) -> CSR:
    """Convert an array, a store or a scipy matrix to the CSR matrix to write."""
    store = _host(data)
    if isinstance(store, CSR):
        return store
    if isinstance(store, RowSparse):
        return convert(store, "csr")
    if hasattr(store, "tocsr"):
        check_foreign(store)
        rows = store.tocsr()
        matrix = CSR(rows.data, rows.indices, rows.indptr, rows.shape, check=False)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
            matrix = CSR(rows.data, rows.indices, rows.indptr, rows.shape)
        return matrix
    dense = np.asarray(unmasked(store))
    if dense.ndim != 2 or dense.dtype.kind not in "fiub":
        raise ShapeError(f"data must be a matrix of numbers, not {dense.dtype} of shape {dense.shape}.",
                         hint="pass (rows, features); data.reshape((1, -1)) makes one row.")
    return convert(np.ascontiguousarray(dense), "csr")


def _exact(values: Array, subject: str) -> Array:
    """The numbers as a numpy array of a type whose text form is exact."""
    values = np.asarray(values)
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if values.dtype.kind not in "iub" and values.dtype not in (np.float32, np.float64):
        raise DTypeError(f"{subject} of type {values.dtype} cannot be written exactly.",
                         hint="convert to float32, float64 or int64 first.")
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def _labels(label: Array | CSR | Sequence[Any], rows: int) -> tuple[Any, Any]:
    """The concatenated labels of all rows, and the start of each row's labels."""
    store = _host(label)
    if isinstance(store, CSR) or hasattr(store, "tocsr"):
        indicator = _as_csr(store)
        on = indicator.data != 0
        flat = indicator.indices[on]
        starts = np.concatenate([[0], np.cumsum(on)])[indicator.indptr]
    elif isinstance(store, (list, tuple)) and any(isinstance(item, (list, tuple, set, np.ndarray)) for item in store):
        lists = [sorted(item) if isinstance(item, set) else list(np.atleast_1d(np.asarray(item))) for item in store]
        flat = np.array([value for item in lists for value in item])
        starts = np.cumsum([0, *map(len, lists)])
    else:
        flat = np.asarray(store)
        if flat.ndim == 2 and flat.shape[1] != 1:
            return _labels(_as_csr(flat), rows)
        flat = flat.reshape(-1)
        starts = np.arange(flat.size + 1)
    if starts.shape[0] != rows + 1:
        raise ShapeError(f"There are {rows} rows of data, but labels for {starts.shape[0] - 1}.",
                         hint="pass one label, or one list of labels, for each row.")
    return flat, starts.astype(np.int64)


def _opened(path: str | Path | BinaryIO) -> AbstractContextManager[Any]:
    """A file to write; a file object is returned unchanged and stays open."""
    return contextlib.nullcontext(path) if hasattr(path, "write") else written(path)


def _compressed(raw: BinaryIO, path: str | Path | BinaryIO) -> AbstractContextManager[Any]:
    """A file that writes to ``raw``, compressed according to the suffix of the name, with reproducible bytes."""
    name = "" if hasattr(path, "write") else os.fsdecode(path)
    if name.endswith(".gz"):
        return gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0)
    return bz2.BZ2File(raw, "wb") if name.endswith(".bz2") else contextlib.nullcontext(raw)


def _pieces(indptr: Array, label_starts: Array) -> Iterator[tuple[int, int]]:
    """Row ranges of about ``PIECE_PAIRS`` entries, including labels and line ends."""
    rows = indptr.shape[0] - 1
    filled = indptr + label_starts + np.arange(rows + 1)
    start = 0
    while start < rows:
        stop = int(np.searchsorted(filled, filled[start] + PIECE_PAIRS, side="right")) - 1
        stop = min(max(stop, start + 1), rows)
        yield start, stop
        start = stop


def save_libsvm(path: str | Path, data: object, label: Array | Sequence[Any], zero_based: bool = True,
                query_id: Sequence[int] | None = None, comment: str | None = None) -> None:
    """Write rows and labels as LibSVM text without loss.

    Every stored value is written, including stored zeros, with the fewest digits from which the same float is read.  The
    file appears under its name only when it is complete.

    Parameters
    ----------
    path : str, path or binary file object
        A name that ends in ``.gz`` or ``.bz2`` makes a compressed file.
    data : CSRNDArray, RowSparseNDArray, NDArray, scipy sparse matrix or numpy array, shape (rows, features)
        The file does not contain the number of features: pass ``n_features`` when reading.
    label : array of shape (rows,) or (rows, 1); list of lists; or indicator matrix (rows, classes)
        Lists and indicators make a multi-label file.
    zero_based : bool
        Whether indices count from 0, as in MXNet, or from 1, as in the LibSVM tools.  Default True.
    query_id : array of non-negative integers, shape (rows,), optional
        Written as ``qid:N``.
    comment : str, optional
        Written before the data, each line after a ``#``.

    Raises
    ------
    ShapeError
        If there is not one label, or list of labels, and one query id for each row, or ``data`` is not a matrix.
    DTypeError
        If text cannot represent the values exactly.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> import sparsekit as mx
    >>> text = io.BytesIO()
    >>> mx.io.save_libsvm(text, np.array([[0, 1.5], [2, 0]]), [1, 0])
    >>> print(text.getvalue().decode(), end="")
    1 1:1.5
    0 0:2
    """
    matrix = _as_csr(data)
    rows = matrix.shape[0]
    labels, starts = _labels(label, rows)
    queries = _queries(query_id, rows)
    with failures_named(path), _opened(path) as raw, _compressed(raw, path) as file:
        for line in (comment or "").splitlines():
            file.write(f"# {line}\n".encode())
        for text in _formatted(matrix, _exact(labels, "labels"), starts, queries, 0 if zero_based else 1):
            file.write(text)


def _queries(query_id: Sequence[int] | None, rows: int) -> Array:
    if query_id is None:
        return np.empty(0, np.int64)
    queries = np.asarray(query_id.asnumpy() if hasattr(query_id, "asnumpy") else query_id)
    if queries.shape != (rows,) or queries.dtype.kind not in "iu" or (rows and int(queries.min()) < 0):
        raise ShapeError(f"query_id must be {rows} non-negative integers, one for each row, got {queries.dtype} "
                         f"of shape {queries.shape}.", hint="pass the group number of each row.")
    return queries.astype(np.int64)


def _texts(values: Array) -> list[str]:
    """The shortest decimal text of each number from which the same number is read, without ".0" at the end."""
    return [text.removesuffix(".0") for text in values.astype(np.dtypes.StringDType()).tolist()]


def _formatted(matrix: CSR, labels: Array, starts: Array, queries: Array, base: int) -> Iterator[bytes]:
    """Yield the text in pieces."""
    values, indptr = _exact(matrix.data, "values"), matrix.indptr.astype(np.int64)
    for start, stop in _pieces(indptr, starts):
        first, last = indptr[start], indptr[stop]
        columns = (matrix.indices[first:last].astype(np.int64) + base).tolist()
        pairs = [f"{column}:{text}" for column, text in zip(columns, _texts(values[first:last]), strict=True)]
        classes = _texts(labels[starts[start]:starts[stop]])
        lines = []
        for row in range(start, stop):
            words = pairs[indptr[row] - first:indptr[row + 1] - first]
            if queries.size:
                words.insert(0, f"qid:{queries[row]}")
            if starts[row] < starts[row + 1]:
                words.insert(0, ",".join(classes[starts[row] - starts[start]:starts[row + 1] - starts[start]]))
            lines.append(" ".join(words or [f"{base}:0"]) + "\n")  # readers skip a blank line
        yield "".join(lines).encode()
