"""``CSVIter``: batches of files of comma-separated numbers."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.checks import whole
from ..base.context import cpu
from ..base.dtypes import element_type
from ..base.entry import entries
from ..base.errors import DataFileError, ShapeError, first_line
from ..ndarray import wrap
from ..ndarray.arguments import shape_of
from .data import DataBatch, DataDesc
from .source import TextLike, TextSource, check_batch
from .wrapping import FileIter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.context import Context
    from ..base.types import DTypeLike, Shape


__all__ = ["CSVIter"]


def _table(source: TextLike, shape: tuple[int, ...], dtype: DTypeLike) -> tuple[Any, str]:
    """All rows of a file, shape (rows, *shape), and the name of the file."""
    text = TextSource(source)
    text.check_options({"format": ("csv",)})
    with text.lines() as lines, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files without rows, which raise below
        try:
            table = np.loadtxt(lines, dtype=dtype, delimiter=",", ndmin=2)
        except DataFileError:
            raise
        except ValueError as error:
            raise DataFileError(f"{text.name} is not a table of numbers: {first_line(error)}.",
                                hint="each line must have the same count of numbers, separated by commas.") from None
    if not table.shape[0]:
        raise DataFileError(f"{text.name} contains no rows.", hint="check the path.")
    if table.shape[1] != math.prod(shape):
        raise ShapeError(f"A row of {text.name} has {table.shape[1]} numbers, but the shape {shape} needs {math.prod(shape)}.",
                         hint=f"declare ({table.shape[1]},), or a shape with as many elements.")
    return table.reshape(-1, *shape), text.name


class CSVIter(FileIter):
    """Iterate over a file of comma-separated numbers in dense batches; the whole file is kept in memory.

    Parameters
    ----------
    data_csv : str, path, file object or iterable of lines
        Plain, gzip or bz2 text.
    data_shape : int or tuple of int
        Shape of the row that a line contains.
    batch_size : int
    label_csv : str, path, file object or iterable of lines, optional
        A second file with the labels, line by line; without it, all labels are 0.
    label_shape : int or tuple of int
        Shape of the labels of a row.  Default (1,), for which labels have the shape (batch_size,).
    round_batch : bool
        Fill the last batch with rows from the beginning, which the next epoch then skips.  If False, fill it with zeros
        (MXNet fills it with values of the last batch).  ``batch.pad`` counts the padding rows in both cases.
    dtype : optional, default float32
    data_name, label_name : str
        Names in ``provide_data`` and ``provide_label``.
    prefetch_buffer, ctx : optional
        Accepted for compatibility with MXNet, without effect.

    Raises
    ------
    DataFileError
        If a file is missing, empty, damaged or not a table of numbers, or a line is longer than ``config.line_limit``.
    ShapeError
        If the number of values in a line does not match the shape, the files have different numbers of rows, ``batch_size`` is
        not an integer of at least 1, or a batch would take more bytes than ``config.batch_limit``.

    Examples
    --------
    >>> import sparsekit as mx
    >>> for batch in mx.io.CSVIter(["1,2", "3,4", "5,6"], data_shape=(2,), batch_size=2):
    ...     print(batch.data[0].asnumpy().tolist(), batch.pad)
    [[1.0, 2.0], [3.0, 4.0]] 0
    [[5.0, 6.0], [1.0, 2.0]] 1
    """

    def __init__(self, data_csv: TextLike, data_shape: object, batch_size: int, label_csv: TextLike | None = None,
                 label_shape: Sequence[int] | Shape = (1,), round_batch: bool = True, dtype: DTypeLike = None,
                 data_name: str = "data", label_name: str = "softmax_label", prefetch_buffer: int | None = None,
                 ctx: Context | None = None) -> None:
        super().__init__(whole("batch_size", batch_size, 1, error=ShapeError))
        kind, width = element_type(dtype), shape_of(label_shape)
        self._data, name = _table(data_csv, shape_of(data_shape), kind)
        count = len(self._data)
        labels = None if label_csv == "NULL" else label_csv
        self._label = _table(labels, width, kind)[0] if labels is not None else np.zeros((count, *width), kind)
        if len(self._label) != count:
            raise ShapeError(f"There are {count} rows of data, but {len(self._label)} of labels.",
                             hint="the label file must have one line for each line of the data file.")
        check_batch(name, self.batch_size, self.batch_size * (8 + self._data[:1].nbytes + self._label[:1].nbytes))
        if width == (1,):
            self._label = self._label.reshape(-1)
        self._round, self._at, self._start = bool(round_batch), 0, 0
        self.provide_data = [DataDesc(data_name, (self.batch_size, *self._data.shape[1:]), kind.type)]
        self.provide_label = [DataDesc(label_name, (self.batch_size, *self._label.shape[1:]), kind.type)]

    def reset(self) -> None:
        """Start the next epoch, after the rows that padded the last batch, else at the first row."""
        beyond = self._at - len(self._data)
        self._at = beyond if self._round and 0 < beyond < len(self._data) else 0
        self.current_batch = None

    def iter_next(self) -> bool:
        """Move to the next batch; return False at the end of the epoch."""
        count = len(self._data)
        if self._at >= count:
            return False
        places = np.arange(self._at, self._at + self.batch_size)
        pad = max(0, self._at + self.batch_size - count)
        data, label = self._data[places % count], self._label[places % count]
        if pad and not self._round:
            data[-pad:], label[-pad:] = 0, 0
        self._at += self.batch_size
        index = (places % count if self._round else places).astype(np.uint64)
        self.current_batch = DataBatch([wrap(data, cpu())], [wrap(label, cpu())], pad, index)
        return True


entries(globals(), __all__)
