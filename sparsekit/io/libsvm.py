"""LibSVM files: ``label index:value index:value …``, a line a row."""

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
    from .types import TextLike


__all__ = ["LibSVMReader", "load_libsvm", "save_libsvm"]


def label_lists(rows: Rows) -> list[tuple[float, ...]]:
    """The labels of every row, as tuples."""
    flat, starts = rows.labels.tolist(), [] if rows.label_indptr is None else rows.label_indptr.tolist()
    return [tuple(flat[start:stop]) for start, stop in itertools.pairwise(starts)]


def label_width(label_shape: object) -> int:
    """Number of labels a row, from ``label_shape``."""
    shape = (1,) if label_shape is None else np.atleast_1d(np.asarray(label_shape, dtype=np.int64)).tolist()
    if len(shape) != 1 or shape[0] < 1:
        raise ShapeError(expected("label_shape", "the shape of one row's labels, such as (1,)", label_shape),
                         hint="label_shape=(k,) reads k labels a row from a label file.")
    return int(shape[0])


def label_store(rows: Rows, width: int) -> Array | CSR:
    """What a label file gives: the leading numbers, or for more than one a matrix of its features."""
    return rows.labels if width == 1 else rows.csr(width)


def load_libsvm(source: TextLike, zero_based: bool | str = True, n_features: int | None = None, multilabel: bool = False,
                dtype: DTypeLike = "float32", query_id: bool = False, label_path: TextLike | None = None,
                label_shape: object = None) -> tuple[Any, ...]:
    """Read a LibSVM file into a CSR matrix and its labels.

    Plain, gzip and bz2 text; comments after ``#``; blank lines; ``qid:N``; any line ending.  Numbers
    are rounded correctly to ``dtype``; ``nan`` and ``inf`` are numbers.  Indices that do not ascend
    are sorted.

    Parameters
    ----------
    source : str, path, file object (binary or text) or iterable of lines
    zero_based : bool or "auto"
        Whether indices count from 0, as MXNet and ``save_libsvm`` have it, or from 1, as the
        LibSVM tools do.  "auto" takes a file for one-based if it has no index 0: a guess, which
        shifts a zero-based file whose first column happens to be empty.
    n_features : int, optional
        Columns of the matrix; default: as many as the largest index needs.
    multilabel : bool
        Lines have several labels, separated by commas, or none.
    dtype : {"float32", "float64"}
        Type of values and labels.
    query_id : bool
        Also return the query ids; every line must have one.
    label_path : like ``source``, optional
        A second file with the labels, line by line; labels in ``source`` are then ignored and may
        be absent.
    label_shape : tuple of one int, optional
        With ``label_path``: ``(1,)`` reads the number at the start of its lines, ``(k,)`` reads
        their ``index:value`` pairs as a matrix of k columns, as MXNet does.

    Returns
    -------
    data : CSRNDArray, shape (rows, n_features), int64 indices
    label : NDArray, shape (rows,); list of tuples if ``multilabel``; CSRNDArray for ``label_shape=(k,)``
    query_id : NDArray of int64, shape (rows,)
        Only if requested.

    Raises
    ------
    LibSVMError
        For a malformed line, with file, line, column and what is wrong.
    DataFileError
        If a file is missing, cut short or damaged.

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
        raise ShapeError(f"label_shape={label_shape} needs label_path.", hint="or read lists with multilabel=True.")
    found = [wrap(rows.csr(reader.width), cpu()), label if isinstance(label, list) else wrap(label, cpu())]
    if query_id:
        found.append(wrap(rows.queries, cpu()))
    if hooks.sink is not None:
        hooks.sink.span("load_libsvm", "io", start, time.perf_counter_ns(),
                        {"rows": len(rows), "nnz": int(rows.data.shape[0]), "bytes": rows.nbytes})
    return tuple(found)


def _label_file(data: LibSVMReader, rows: int, path: TextLike, shape: object, multilabel: bool,
                dtype: DTypeLike) -> list[tuple[float, ...]] | Array | CSR:
    width = label_width(shape)
    reader = LibSVMReader(path, True, width if width > 1 else None, multilabel, dtype)
    found = reader.read()
    if len(found) != rows:
        raise DataFileError(f"{data.name} has {rows} rows, but {reader.name} has {len(found)}.",
                            hint="the label file has one line for every line of the data file.")
    return label_lists(found) if multilabel else label_store(found, width)
