"""LibSVM files, which have one line ``label index:value index:value …`` for each row."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import cpu
from ..base.errors import DataFileError, ShapeError, expected
from ..core import hooks
from ..ndarray import wrap
from .libsvm_reader import LibSVMReader, Rows
from .libsvm_writer import save_libsvm

if TYPE_CHECKING:
    from ..base.types import Array, DTypeLike
    from ..storage import CSR
    from .source import TextLike


__all__ = ["LibSVMReader", "load_libsvm", "save_libsvm"]


def label_lists(rows: Rows) -> list[tuple[float, ...]]:
    """The labels of every row, as tuples."""
    flat, starts = rows.labels.tolist(), [] if rows.label_indptr is None else rows.label_indptr.tolist()
    return [tuple(flat[start:stop]) for start, stop in itertools.pairwise(starts)]


def label_width(label_shape: object) -> int:
    """Number of labels of a row, from ``label_shape``."""
    shape = (1,) if label_shape is None else np.atleast_1d(np.asarray(label_shape, dtype=np.int64)).tolist()
    if len(shape) != 1 or shape[0] < 1:
        raise ShapeError(expected("label_shape", "the shape of one row's labels, such as (1,)", label_shape),
                         hint="label_shape=(k,) reads k labels for each row from a label file.")
    return int(shape[0])


def label_store(rows: Rows, width: int) -> Array | CSR:
    """The labels of a label file: the first number of each line, or a CSR matrix of its pairs if ``width`` is above 1."""
    return rows.labels if width == 1 else rows.csr(width)


def load_libsvm(source: TextLike, zero_based: bool | str = True, n_features: int | None = None, multilabel: bool = False,
                dtype: DTypeLike = "float32", query_id: bool = False, label_path: TextLike | None = None,
                label_shape: object = None) -> tuple[Any, ...]:
    """Read a LibSVM file into a CSR matrix and its labels.

    The text may be plain, gzip or bz2, with any line ending, comments after ``#``, blank lines and ``qid:N``, blanks behind
    colons, and weights of rows (``label:weight``), which are left out with a warning, as in MXNet.  Numbers are
    rounded correctly to ``dtype``, and may be ``nan`` and ``inf``.  Indices need not be sorted.

    Parameters
    ----------
    source : str, path, file object (binary or text) or iterable of lines
        A string may also have MXNet's form: ``a.txt;b.txt``, a folder, ``file://`` before a path, and options behind ``?``,
        of which ``indexing_mode`` (1, 0, or -1 for "auto") replaces ``zero_based``.
    zero_based : bool or "auto"
        Whether indices count from 0, as in MXNet and ``save_libsvm``, or from 1, as in the LibSVM tools.  "auto" treats a
        file without an index 0 as one-based, which is wrong for a zero-based file with an empty first column.  Default True.
    n_features : int, optional
        Number of columns of the matrix; default: one more than the largest index.
    multilabel : bool
        Lines have several labels, separated by commas, or none.
    dtype : {"float32", "float64"}
        Type of values and labels.
    query_id : bool
        Also return the query ids; every line must have one.
    label_path : like ``source``, optional
        A second file with the labels, line by line; labels in ``source`` are then ignored and may be missing.
    label_shape : int or tuple of one int, optional
        With ``label_path``: ``(1,)`` reads the number at the start of each line; ``(k,)`` reads the ``index:value`` pairs as
        a matrix of k columns, as MXNet does.

    Returns
    -------
    data : CSRNDArray, shape (rows, n_features), int64 indices
    label : NDArray, shape (rows,); list of tuples if ``multilabel``; CSRNDArray for ``label_shape=(k,)``
    query_id : NDArray of int64, shape (rows,)
        Only if requested.

    Raises
    ------
    LibSVMError
        For a malformed line, with file, line and column.
    DataFileError
        If a file is missing, truncated or damaged, or the label file has another number of rows.
    ShapeError
        If ``label_shape`` is invalid, or needs ``label_path``.

    Examples
    --------
    >>> import sparsekit as mx
    >>> data, label = mx.io.load_libsvm(["1 0:0.5 3:2  # a comment", "0 1:1e-3"])
    >>> data.shape, data.stype, label.asnumpy().tolist()
    ((2, 4), 'csr', [1.0, 0.0])
    """
    start = time.perf_counter_ns()
    reader = LibSVMReader(source, zero_based, n_features, multilabel or label_path is not None, dtype, query_id)
    rows = reader.read()
    label: Any = label_lists(rows) if multilabel else rows.labels
    if label_path is not None:
        label = _label_file(reader, len(rows), label_path, label_shape, multilabel, dtype)
    elif label_width(label_shape) != 1:
        raise ShapeError(f"label_shape={label_shape} needs label_path.", hint="multilabel=True reads lists of labels.")
    results = [wrap(rows.csr(reader.width), cpu()), label if isinstance(label, list) else wrap(label, cpu())]
    if query_id:
        results.append(wrap(rows.queries, cpu()))
    if hooks.sink is not None:
        hooks.sink.span("load_libsvm", "io", start, time.perf_counter_ns(),
                        {"rows": len(rows), "nnz": int(rows.data.shape[0]), "bytes": rows.nbytes})
    return tuple(results)


def _label_file(data: LibSVMReader, rows: int, path: TextLike, shape: object, multilabel: bool,
                dtype: DTypeLike) -> list[tuple[float, ...]] | Array | CSR:
    width = label_width(shape)
    reader = LibSVMReader(path, True, width if width > 1 else None, multilabel, dtype)
    rows_read = reader.read()
    if len(rows_read) != rows:
        raise DataFileError(f"{data.name} has {rows} rows, but {reader.name} has {len(rows_read)}.",
                            hint="the label file must have one line for each line of the data file.")
    return label_lists(rows_read) if multilabel else label_store(rows_read, width)
