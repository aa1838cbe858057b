"""``LibSVMIter``: sparse batches of LibSVM files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import cpu
from ..base.entry import entries
from ..base.errors import DataFileError, ShapeError, expected
from ..core import hooks
from ..ndarray import wrap
from .data import DataBatch, DataDesc
from .libsvm import label_width
from .libsvm_reader import LibSVMReader, Rows
from .source import TextLike, check_batch
from .wrapping import FileIter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.context import Context
    from ..base.types import Array, DTypeLike


__all__ = ["LibSVMIter"]

#: Bytes of parsed rows up to which a file is kept in memory instead of being parsed in every epoch.
MEMORY_LIMIT = 64 << 20


class _Feed:
    """Sequential access to the rows of one file, which are kept in memory or parsed in every epoch."""

    def __init__(self, reader: LibSVMReader, held: Rows | None, skip: int = 0) -> None:
        self.reader, self._held, self._skip = reader, held, skip
        self._at = 0
        self._current: Rows | None = None
        self._chunks: Iterator[Rows] = iter(())
        self.rewind()

    def rewind(self) -> None:
        """Go back to the first row."""
        self._current, self._at, left = None, 0, self._skip
        self._chunks = iter(self.reader if self._held is None else [self._held])
        while left and (chunk := self._chunk()) is not None:
            self._at = min(left, len(chunk))
            left -= self._at

    def _chunk(self) -> Rows | None:
        """The chunk that contains the next row; None at the end of the file."""
        while self._current is None or self._at >= len(self._current):
            self._current, self._at = next(self._chunks, None), 0
            if self._current is None:
                return None
        return self._current

    def exhausted(self) -> bool:
        """Whether all rows have been taken."""
        return self._chunk() is None

    def take(self, count: int) -> Rows:
        """The next ``count`` rows, or fewer at the end of the file."""
        parts: list[Rows] = []
        while count and (chunk := self._chunk()) is not None:
            parts.append(chunk.part(self._at, min(self._at + count, len(chunk))))
            self._at += len(parts[-1])
            count -= len(parts[-1])
        return Rows.join(parts) if parts else self.reader.blank_rows(0)


class LibSVMIter(FileIter):
    """Iterate over a LibSVM file in CSR batches.

    Differences from MXNet: all LibSVM text that ``load_libsvm`` reads is accepted; an index outside ``data_shape`` raises
    instead of making an invalid array; ``round_batch=False`` works; a batch may be larger than the file; with ``num_parts``,
    the label file is split at the same rows.

    A file whose parsed rows fit ``memory_limit`` is parsed once.  A larger file is parsed in every epoch, in an amount of
    memory that does not depend on its size.  A batch owns its arrays in both cases.

    Parameters
    ----------
    data_libsvm : str, path, file object or iterable of lines
        Plain, gzip or bz2 text.
    data_shape : int or tuple of one int
        Number of features.
    batch_size : int
    label_libsvm : str, path, file object or iterable of lines, optional
        A second file with the labels; labels in the first file are then ignored.  With a ``label_shape`` of (k,), k > 1,
        the ``index:value`` pairs of a line are its labels, in a CSR array (batch_size, k); else the number at the start of
        the line is its label.
    label_shape : int or tuple of one int, optional
        Number of labels of a row.  Default 1; other values need ``label_libsvm``.
    round_batch : bool
        Fill the last batch with rows from the beginning, which the next epoch then skips.  If False, fill it with empty rows
        labelled 0, and start every epoch at the first row.  ``batch.pad`` counts the padding rows in both cases.
    num_parts, part_index : int
        Read one of several parts of about equal numbers of bytes; every row is in exactly one.
    zero_based : bool or "auto"
        Whether indices count from 0; "auto" as in ``load_libsvm``.  Default True.
    dtype : {"float32", "float64"}
    data_name, label_name : str
        Names in ``provide_data`` and ``provide_label``.
    memory_limit : int
        Bytes of parsed rows that may be kept in memory.  Default 64 MiB.
    prefetch_buffer, ctx : optional
        Accepted for compatibility with MXNet, without effect.

    Raises
    ------
    LibSVMError
        For a malformed line, with file, line and column.
    DataFileError
        If a file is missing, empty or truncated, or the label file has another number of rows.
    ShapeError
        If ``data_shape``, ``label_shape`` or ``batch_size`` is not a positive integer, or a batch would take more bytes than
        ``config.batch_limit``.

    Examples
    --------
    >>> import sparsekit as mx
    >>> lines = ["1 0:0.5 3:2", "0 1:1", "1 2:4"]
    >>> for batch in mx.io.LibSVMIter(data_libsvm=lines, data_shape=(4,), batch_size=2):
    ...     print(batch.data[0].stype, batch.label[0].asnumpy().tolist(), batch.pad)
    csr [1.0, 0.0] 0
    csr [1.0, 1.0] 1
    """

    def __init__(self, data_libsvm: TextLike, data_shape: object, batch_size: int, label_libsvm: TextLike | None = None,
                 label_shape: Sequence[int] | None = None, round_batch: bool = True, num_parts: int = 1, part_index: int = 0,
                 zero_based: bool | str = True, dtype: DTypeLike = "float32", data_name: str = "data",
                 label_name: str = "softmax_label", memory_limit: int = MEMORY_LIMIT,
                 prefetch_buffer: int | None = None, ctx: Context | None = None) -> None:
        super().__init__(_positive("batch_size", batch_size))
        check_batch("LibSVMIter", self.batch_size, 12 * self.batch_size)  # bytes of empty rows
        self._width = _positive("data_shape", data_shape)
        self._label_width = label_width(label_shape)
        labels = None if label_libsvm == "NULL" else label_libsvm
        apart = labels is not None
        if self._label_width > 1 and not apart:
            raise ShapeError(f"label_shape={label_shape} needs label_libsvm: a line of the data file has only one label.",
                             hint="put the labels into a second file: label_libsvm=….")
        self._round = bool(round_batch)
        start = time.perf_counter_ns()
        data = LibSVMReader(data_libsvm, zero_based, self._width, apart, dtype or "float32", False,
                            num_parts, part_index)
        label = None
        if labels is not None:
            label = LibSVMReader(labels, True, self._label_width if self._label_width > 1 else None,
                                 dtype=data.dtype)
        self._feeds, self._last_part = self._open(data, label, memory_limit), part_index == num_parts - 1
        self._dtype, self._at, self._ended, self._wrapped = data.dtype, 0, False, False
        shape = (self.batch_size,) if self._label_width == 1 else (self.batch_size, self._label_width)
        self.provide_data = [DataDesc(data_name, (self.batch_size, self._width), data.dtype.type)]
        self.provide_label = [DataDesc(label_name, shape, data.dtype.type)]
        if hooks.sink is not None:
            hooks.sink.span("LibSVMIter open", "io", start, time.perf_counter_ns(), {"file": data.name})

    def _open(self, data: LibSVMReader, label: LibSVMReader | None, limit: int) -> list[_Feed]:
        """Feeds of the data file and the label file, if any; a file that fits ``limit`` is kept in memory."""
        held = _held(data, limit)
        if held is not None and not len(held):
            raise DataFileError(f"{data.name} contains no rows.", hint="check the path, and that num_parts is not "
                                "larger than the number of rows.")
        if label is None:
            return [_Feed(data, held)]
        skip = data.rows_before()
        labels = None if held is None and label.source.reopenable else _held(label, limit)
        if labels is not None:
            labels, skip = labels.part(min(skip, len(labels)), len(labels)), 0
        return [_Feed(data, held), _Feed(label, labels, skip)]

    def reset(self) -> None:
        """Start the next epoch, after the rows that padded the last batch, else at the first row."""
        if not self._wrapped:
            self._rewind()
        self._ended = self._wrapped = False
        self.current_batch = None

    def _rewind(self) -> None:
        for feed in self._feeds:
            feed.rewind()
        self._at = 0

    def iter_next(self) -> bool:
        """Move to the next batch; return False at the end of the epoch."""
        sink = hooks.sink
        start = time.perf_counter_ns() if sink is not None else 0
        if self._ended:
            return False
        at = self._at
        data, label = self._take(self.batch_size)
        count = len(data)
        pad, index = self.batch_size - count, np.arange(at, at + count, dtype=np.uint64)
        if pad:
            self._ended = True
            if not count:
                self.current_batch = None
                return False
            data, label, index = self._fill(data, label, index, pad)
        store = label.labels if self._label_width == 1 else label.csr(self._label_width)
        arrays = wrap(data.csr(self._width), _CPU), wrap(store, _CPU)
        self.current_batch = DataBatch([arrays[0]], [arrays[1]], pad, index)
        if sink is not None:
            named = (arrays[0], self.provide_data[0].name), (arrays[1], self.provide_label[0].name)
            sink.read("LibSVMIter", start, named, {"rows": self.batch_size, "nnz": int(data.data.shape[0]), "pad": pad,
                                                   "bytes": data.nbytes})
        return True

    def _take(self, count: int) -> tuple[Rows, Rows]:
        """Up to ``count`` rows of the data file, and the rows with their labels, which are the same without a label file."""
        data = self._feeds[0].take(count)
        self._at += len(data)
        if len(self._feeds) == 1:
            return data, data
        label = self._feeds[1].take(len(data))
        if len(label) < len(data):
            raise _row_count_error(self._feeds[1].reader, "fewer", self._feeds[0].reader)
        if len(data) < count and self._last_part and not self._feeds[1].exhausted():
            raise _row_count_error(self._feeds[1].reader, "more", self._feeds[0].reader)
        return data, label

    def _fill(self, data: Rows, label: Rows, index: Array, pad: int) -> tuple[Rows, Rows, Any]:
        """Pad the last batch with ``pad`` rows."""
        if not self._round:
            data = Rows.join([data, self._feeds[0].reader.blank_rows(pad)])
            label = data if len(self._feeds) == 1 else Rows.join([label, self._feeds[1].reader.blank_rows(pad)])
            return data, label, index[0] + np.arange(self.batch_size, dtype=np.uint64)
        datas, labels, indices, rounds = [data], [label], [index], 0
        while pad:
            self._rewind()
            padding, padding_label = self._take(pad)
            times = pad // len(padding)  # more than one only if the batch is larger than the file
            check_batch(self._feeds[0].reader.name, self.batch_size, data.nbytes + padding.nbytes * times)
            datas.append(padding.repeated(times))
            labels.append(datas[-1] if padding_label is padding else padding_label.repeated(times))
            indices.append(np.tile(np.arange(len(padding), dtype=np.uint64), times))
            pad -= times * len(padding)
            rounds += times
        self._wrapped = rounds == 1
        joined = Rows.join(datas)
        return joined, joined if label is data else Rows.join(labels), np.concatenate(indices)

    def getindex(self) -> Any:
        """Row numbers of the current batch within the part, uint64 (batch_size,)."""
        return self._current().index


_CPU = cpu()


def _positive(name: str, shape: object) -> int:
    """The positive integer that ``shape`` is or contains."""
    sizes = np.atleast_1d(np.asarray(shape))
    if sizes.shape != (1,) or sizes.dtype.kind not in "iu" or int(sizes[0]) < 1:
        raise ShapeError(expected(name, "one integer of at least 1", shape), hint=f"{name}=(1000,) or 1000, for example.")
    return int(sizes[0])


def _row_count_error(label: LibSVMReader, how: str, data: LibSVMReader) -> DataFileError:
    return DataFileError(f"{label.name} has {how} rows than {data.name}.",
                         hint="the label file must have one line for each line of the data file.")


def _held(reader: LibSVMReader, limit: int) -> Rows | None:
    """All rows, if they fit ``limit`` bytes or the source can be read only once; else None."""
    return reader.read_within(limit) if reader.source.reopenable else reader.read()


entries(globals(), __all__)
