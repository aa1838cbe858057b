"""The streaming reader of LibSVM text, for ``load_libsvm`` and ``LibSVMIter``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from ..base.config import config
from ..base.errors import DataFileError, DTypeError, LibSVMError, ShapeError, UnknownNameError, expected
from ..base.warn import warn_user
from ..kernels import host_file
from ..kernels.cpu import libsvm_read as kernels
from ..kernels.cpu.jit import in_threads, worker_count
from ..storage import CSR
from .libsvm_errors import explain, malformed
from .source import TextLike, TextSource, line_too_long

if TYPE_CHECKING:
    from types import ModuleType

    from ..base.types import Array, DTypeLike, Indices

#: Bytes of text that are read at once, and the minimum for each thread.
CHUNK_BYTES, PIECE_BYTES = 1 << 22, 1 << 20
_ANY_WIDTH = 1 << 62
#: Bytes of a buffer after the text: for a missing newline at the end of the file, and for reads of the kernel beyond the text.
_MARGIN = 1 + kernels.SLACK
#: MXNet's option ``indexing_mode`` as ``zero_based``.
_MODES: dict[str, bool | str] = {"0": True, "1": False, "-1": "auto"}
#: Blanks behind the colon of a feature.
_LOOSE_COLON = re.compile(rb"(?<=\d):[ \t]+(?=[-+.\dnNiI])")
#: A label with a weight behind it, at the beginning of a line.
_LABEL_WEIGHT = re.compile(rb"(?m)^([ \t]*[-+.\deE]+):[-+.\deE]+(?=[\s#])")


@functools.cache
def _functions() -> ModuleType:
    """What reads text: compiled, or in numpy."""
    return host_file("libsvm_read")


class Rows:
    """Some rows of a LibSVM file.

    Attributes
    ----------
    labels : array, shape (rows,)
        With ``label_indptr``, the concatenated lists of labels.
    label_indptr : array of int64, shape (rows + 1,), or None
        Start of the labels of each row; None if each row has exactly one.
    indptr, indices : arrays of int64
    data : array, shape (stored,)
    queries : array of int64, shape (rows,), or None
        Query ids, if requested.
    """

    __slots__ = ("data", "indices", "indptr", "label_indptr", "labels", "queries")

    def __init__(self, labels: Array, label_indptr: Indices | None, indptr: Array, indices: Array, data: Array,
                 queries: Array | None) -> None:
        self.labels, self.label_indptr, self.queries = labels, label_indptr, queries
        self.indptr, self.indices, self.data = indptr, indices, data

    def __len__(self) -> int:
        return int(self.indptr.shape[0]) - 1

    @property
    def nbytes(self) -> int:
        """Total bytes of all components."""
        total = self.data.nbytes + self.indices.nbytes + self.indptr.nbytes + self.labels.nbytes
        for part in (self.label_indptr, self.queries):
            if part is not None:
                total += part.nbytes
        return int(total)

    def csr(self, width: int) -> CSR:
        """The features as a CSR matrix with ``width`` columns."""
        return CSR(self.data, self.indices, self.indptr, (len(self), width), check=False)

    def part(self, start: int, stop: int) -> Rows:
        """A copy of the rows from ``start`` to ``stop``, which owns its memory."""
        first, last = self.indptr.item(start), self.indptr.item(stop)
        labels, label_indptr, queries = self.labels[start:stop].copy(), self.label_indptr, self.queries
        if label_indptr is not None:
            label_indptr = label_indptr[start:stop + 1]
            labels = self.labels[label_indptr[0]:label_indptr[-1]].copy()
            label_indptr = label_indptr - label_indptr[0]
        return Rows(labels, label_indptr, self.indptr[start:stop + 1] - first, self.indices[first:last].copy(),
                    self.data[first:last].copy(), queries if queries is None else queries[start:stop].copy())

    def repeated(self, times: int) -> Rows:
        """The rows, repeated ``times`` times, at least once."""
        parts, doubled = [], self
        while times:
            if times & 1:
                parts.append(doubled)
            times >>= 1
            if times:
                doubled = Rows.join([doubled, doubled])
        return Rows.join(parts)

    @staticmethod
    def join(parts: list[Rows]) -> Rows:
        """The rows of all ``parts`` (at least one), in order."""
        if len(parts) == 1:
            return parts[0]

        def joined(name: str) -> Array:
            return np.concatenate([getattr(part, name) for part in parts])

        label_indptr = None if parts[0].label_indptr is None else _join_indptr([part.label_indptr for part in parts])
        return Rows(joined("labels"), label_indptr, _join_indptr([part.indptr for part in parts]),
                    joined("indices"), joined("data"), None if parts[0].queries is None else joined("queries"))


def _join_indptr(parts: list[Any]) -> Array:
    ends = np.cumsum([0, *(part[-1] for part in parts)])
    return np.concatenate([parts[0][:1], *(part[1:] + end for part, end in zip(parts, ends, strict=False))])


class _Scratch:
    """Buffers for the parsed values of up to ``length`` bytes of text."""

    def __init__(self, length: int) -> None:
        short, pairs = length // 2 + 2, length // 4 + 2  # the shortest row is "1\n", the shortest pair "1:1 "
        self.length = length
        self.labels, self.bits = np.empty(short, np.uint64), np.empty(pairs, np.uint64)
        self.label_indptr, self.indptr, self.queries = (np.empty(short, np.int64) for _ in range(3))
        self.indices = np.empty(pairs, np.int64)
        self.hard = np.empty((length // 20 + 2, 4), np.int64)


class _Parsed(NamedTuple):
    rows: int
    stored: int
    labels: int
    hard: int
    unsorted: bool
    lowest: int
    highest: int
    code: int
    offset: int


def _exact(text: str, dtype: DTypeLike) -> float:
    """The float nearest to a decimal number of any length."""
    value = np.float64(text)
    if dtype == np.float64 or not value or not np.isfinite(value):
        return float(value)
    exact, nearest = Decimal(text), Decimal(float(value))
    if exact != nearest and value.view(np.int64) % 2 == 0:
        # Rounded to odd: a double that is not exact never looks as if it were halfway between two float32.
        value = np.nextafter(value, np.inf if exact > nearest else -np.inf)
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _regular(text: bytes, multilabel: bool) -> tuple[bytes, bool]:
    """Lines in the usual form: without blanks behind colons and weights behind labels; and whether there were weights."""
    text = _LOOSE_COLON.sub(b":", text)
    if multilabel:
        return text, False
    text, weights = _LABEL_WEIGHT.subn(rb"\1", text)
    return text, weights > 0


class LibSVMReader:
    """Read LibSVM text in chunks, in an amount of memory that does not depend on the size of the file.

    Iterating yields ``Rows``.  Every iteration starts at the beginning if the source can be reopened: a path, a seekable
    file, or a list of lines.

    Parameters
    ----------
    source : str, path, file object or iterable of lines
        gzip and bz2 are recognized by content.
    zero_based : bool or "auto"
        Whether indices count from 0.  "auto": they do if any index is 0, as in scikit-learn.  Default True.
    n_features : int, optional
        Number of columns; a larger index raises.
    multilabel : bool
        A line may have several labels, separated by commas, or none.
    dtype : {"float32", "float64"}
    query_id : bool
        Every line must have a ``qid:N``.
    num_parts, part_index : int
        Read one of several parts of about equal numbers of bytes; every line is in exactly one.
    chunk_bytes : int
        Bytes of text that are read at once.

    Raises
    ------
    UnknownNameError, DTypeError, ShapeError
        If ``zero_based``, ``dtype``, or ``n_features`` or ``part_index``, is invalid.
    LibSVMError
        While iterating, for a malformed line, or a line longer than ``config.line_limit``; with file, line and column.
    DataFileError
        While iterating, if the source is missing or truncated.
    """

    def __init__(self, source: TextLike | TextSource, zero_based: bool | str = True, n_features: int | None = None,
                 multilabel: bool = False, dtype: DTypeLike = "float32", query_id: bool = False,
                 num_parts: int = 1, part_index: int = 0, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.source = source if isinstance(source, TextSource) else TextSource(source)
        if not isinstance(zero_based, (bool, np.bool_)) and zero_based != "auto":
            raise UnknownNameError.of("zero_based", zero_based, ("True", "False", "auto"))
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise DTypeError(f"dtype must be float32 or float64, got {self.dtype}.",
                             hint="read float32 and convert with astype.")
        if n_features is not None and n_features < 0:
            raise ShapeError(expected("n_features", "at least 0", n_features), hint="n_features is the number of columns.")
        if not 0 <= part_index < num_parts:
            raise ShapeError(f"Part {part_index} is out of range for {num_parts} parts.", hint="parts are numbered from 0.")
        self.source.check_options({"format": ("libsvm",), "indexing_mode": tuple(_MODES)})
        zero_based = _MODES[self.source.options["indexing_mode"]] if "indexing_mode" in self.source.options else zero_based
        self.zero_based, self.n_features, self.multilabel, self.query_id = zero_based, n_features, multilabel, query_id
        self._parts, self._part, self._chunk = int(num_parts), int(part_index), max(int(chunk_bytes), 16)
        self._mantissa = 23 if self.dtype == np.float32 else 52
        self._scratch: list[_Scratch] = []
        self._weighted = False
        self.lowest, self.highest = _ANY_WIDTH, -1

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return self.source.name

    def __iter__(self) -> Iterator[Rows]:
        if self.zero_based == "auto":
            self.resolve()
        return self._pass(0 if self.zero_based else 1, self.n_features)

    def resolve(self) -> None:
        """Decide ``zero_based="auto"`` by reading everything once."""
        if not self.source.reopenable:
            raise DataFileError(f"{self.name} can be read only once, so zero_based='auto' cannot look ahead.",
                                hint="pass zero_based=True or False, or use load_libsvm.")
        for _ in self._pass(0, None):
            pass
        self.zero_based = self.lowest < 1 or self.highest < 0

    def read(self) -> Rows:
        """Read everything."""
        return self._collect(None)[0]

    def read_within(self, limit: int) -> Rows | None:
        """Read everything; None if the rows take more than ``limit`` bytes."""
        rows, complete = self._collect(limit)
        return rows if complete else None

    def _collect(self, limit: int | None) -> tuple[Rows, bool]:
        guess = self.zero_based == "auto"
        base = 0 if self.zero_based else 1
        width = self.n_features if not guess or self.n_features is None else self.n_features + 1
        parts, kept = [], 0
        for rows in self._pass(base, width):
            parts.append(rows)
            kept += rows.nbytes
            if limit is not None and kept > limit:
                return rows, False
        everything = Rows.join(parts or [self.blank_rows(0)])
        if guess:
            self._resolve_base(everything)
        return everything, True

    def _resolve_base(self, rows: Rows) -> None:
        """Decide ``zero_based="auto"`` for rows that were read as if zero-based, and correct their indices."""
        self.zero_based = self.lowest < 1 or self.highest < 0
        if not self.zero_based:
            rows.indices -= 1
            self.lowest, self.highest = self.lowest - 1, self.highest - 1
        elif self.n_features is not None and self.highest >= self.n_features:
            if self.source.reopenable:
                for _ in self._pass(0, self.n_features):  # raises an error that contains the line
                    pass
            raise LibSVMError(f"{self.name}: index {self.highest} is outside the {self.n_features} declared features.",
                              hint="the file contains an index 0, so indices count from 0.")

    @property
    def width(self) -> int:
        """Number of columns: ``n_features``, else one more than the largest index read."""
        return self.n_features if self.n_features is not None else self.highest + 1

    def blank_rows(self, count: int) -> Rows:
        """Rows without features, with the label 0, or with empty lists of labels if ``multilabel``."""
        start = np.zeros(count + 1, np.int64)
        return Rows(np.zeros(0 if self.multilabel else count, self.dtype), start if self.multilabel else None, start,
                    np.empty(0, np.int64), np.empty(0, self.dtype),
                    np.zeros(count, np.int64) if self.query_id else None)

    def rows_before(self) -> int:
        """Number of rows in the parts before this one."""
        before = 0
        for part in range(self._part):
            earlier = LibSVMReader(self.source, self.zero_based, None, self.multilabel, self.dtype,
                                   num_parts=self._parts, part_index=part)
            before += sum(map(len, earlier._pass(0, None)))
        return before

    def _pass(self, base: int, width: int | None) -> Iterator[Rows]:
        """Parse the part of the file from its beginning."""
        self.lowest, self.highest = _ANY_WIDTH, -1
        begin, end = self._span()
        with self.source.open() as handle:
            position = 0
            if begin and handle.seekable():
                position = handle.seek(begin)
            blocks = _LineBlocks(handle, position, self._chunk, self.source)
            for text, start, stop in blocks.within(begin, end):
                yield from self._parse(blocks, text, start, stop, base, _ANY_WIDTH if width is None else width)

    def _span(self) -> tuple[int, int | None]:
        """Byte range of the part, which has the lines that start after the first bound and not after the second."""
        if self._parts == 1:
            return 0, None
        if not self.source.reopenable:
            raise DataFileError(f"{self.name} can be read only once, so it cannot be read in parts.",
                                hint="save it as a file.")
        total = self.source.size()
        step = -(-total // self._parts)
        return min(step * self._part, total), min(step * (self._part + 1), total)

    def _parse(self, blocks: _LineBlocks, text: Array, start: int, stop: int, base: int, width: int) -> Iterator[Rows]:
        edges = self._edges(text, start, stop)
        results: list[Any] = [None] * (len(edges) - 1)

        def work(first: int, last: int) -> None:
            for piece in range(first, last):
                results[piece] = self._parse_piece(text, edges[piece], edges[piece + 1], base, width,
                                                   self._scratch[piece])

        in_threads(work, len(results), 1)
        for place, first in enumerate(edges[:-1]):
            parsed, rows = results[place]
            if parsed.code in (kernels.BAD_LABEL, kernels.BAD_FEATURE):
                parsed, rows = self._parse_regular(text, first, edges[place + 1], base, width) or results[place]
            if parsed.code != kernels.FINISHED:
                raise self._error(blocks, text, parsed.code, parsed.offset, base, width)
            self.lowest, self.highest = min(self.lowest, parsed.lowest), max(self.highest, parsed.highest)
            if parsed.unsorted:
                self._sort(rows, blocks, text, first, base)
            if len(rows):
                yield rows

    def _edges(self, text: object, start: int, stop: int) -> list[int]:
        """Bounds of the pieces that threads parse, at line ends; also makes the buffers for each piece."""
        count = max(1, min(worker_count(), (stop - start) // PIECE_BYTES))
        edges = [start]
        for piece in range(1, count):
            edges.append(_functions().last_newline(text, edges[-1], start + (stop - start) * piece // count))
        edges.append(stop)
        for piece in range(count):
            length = edges[piece + 1] - edges[piece]
            if piece == len(self._scratch):
                self._scratch.append(_Scratch(0))
            if self._scratch[piece].length < length:
                self._scratch[piece] = _Scratch(0)  # free the old buffers before allocating larger ones
                self._scratch[piece] = _Scratch(length + length // 8)
        return edges

    def _parse_regular(self, text: Array, start: int, stop: int, base: int, width: int) -> tuple[_Parsed, Rows] | None:
        """Parse lines that are not written as usual, such as ``1:0.5 63: .50``; None if that is not what is wrong."""
        original = bytes(text[start:stop])
        lines, weights = _regular(original, self.multilabel)
        if lines == original:
            return None
        parsed, rows = self._parse_piece(np.frombuffer(lines + bytes(kernels.SLACK), np.uint8).copy(), 0, len(lines), base, width,
                                         _Scratch(len(lines)))
        if parsed.code != kernels.FINISHED:
            return None
        if weights and not self._weighted:
            self._weighted = True
            warn_user(f"{self.name} has labels with a colon and a number behind them. As in MXNet these are read as weights of "
                      "rows and left out. If they are features, the lines have no labels: read them with load_libsvm("
                      "multilabel=True), or with label_libsvm.")
        return parsed, rows

    def _parse_piece(self, text: Array, start: int, stop: int, base: int, width: int,
                     to: _Scratch) -> tuple[_Parsed, Rows]:
        parsed = _Parsed(*_functions().parse_rows(
            text, start, stop, base, width, self.multilabel, self.query_id, kernels.reading_powers(), self._mantissa,
            to.labels, to.label_indptr, to.indptr, to.indices, to.bits, to.queries, to.hard))
        rows = Rows(self._floats(to.labels[:parsed.labels]),
                    to.label_indptr[:parsed.rows + 1].copy() if self.multilabel else None,
                    to.indptr[:parsed.rows + 1].copy(), to.indices[:parsed.stored].copy(),
                    self._floats(to.bits[:parsed.stored]),
                    to.queries[:parsed.rows].copy() if self.query_id else None)
        for which, place, first, last in to.hard[:parsed.hard]:
            value = _exact(bytes(text[first:last]).decode("ascii"), self.dtype)
            (rows.data if which else rows.labels)[place] = value
        return parsed, rows

    def _floats(self, bits: Array) -> Array:
        return bits.astype(np.uint32).view(np.float32) if self._mantissa == 23 else bits.copy().view(np.float64)

    def _sort(self, rows: Rows, blocks: _LineBlocks, text: Array, start: int, base: int) -> None:
        """Sort the indices of every row; a repeated index raises."""
        row_of = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
        order = np.lexsort((rows.indices, row_of))
        rows.indices, rows.data = rows.indices[order], rows.data[order]
        repeated = np.flatnonzero((rows.indices[1:] == rows.indices[:-1]) & (row_of[1:] == row_of[:-1]))
        if repeated.size:
            at = int(repeated[0])
            offset = _find_repeated(text, start, int(row_of[at]), int(rows.indices[at]) + base)
            raise self._error(blocks, text, kernels.REPEATED, offset, base, 0)

    def _error(self, blocks: _LineBlocks, text: Array, code: int, offset: int, base: int, width: int) -> LibSVMError:
        first = int(_functions().last_newline(text, 0, offset))
        last = _line_end(text, first, text.size) - 1
        problem, hint = explain(code, bytes(text[first:last]), offset - first, base, width)
        name, line = self.source.at(blocks.lines_before(first) + 1)
        return malformed(name, line, offset - first + 1, problem, hint)


def _find_repeated(text: Array, start: int, row: int, index: int) -> int:
    """Position of the second occurrence of ``index`` in row number ``row`` of ``text[start:]``."""
    place = start
    for line in bytes(text[start:]).split(b"\n"):
        content = line.partition(b"#")[0]
        if content.strip():
            row -= 1
        if row < 0:
            mark, seen = str(index).encode(), 0
            at = 0
            for token in content.split():
                at = content.index(token, at)
                if token.partition(b":")[0].lstrip(b"0").rjust(1, b"0") == mark and b":" in token:
                    seen += 1
                    if seen == 2:
                        return place + at
                at += len(token)
            return place
        place += len(line) + 1
    return start


class _LineBlocks:
    """Reads blocks of whole lines of a file into one buffer, which is reused."""

    def __init__(self, handle: BinaryIO, position: int, size: int, source: TextSource) -> None:
        self._handle, self._position, self._source = handle, position, source
        self._counting, self._lines = not source.reopenable, 0  # else lines are counted when an error is found
        self._limit = config.line_limit
        self._text: Any = np.empty(min(size, self._limit + 1) + _MARGIN, np.uint8)

    def within(self, begin: int, end: int | None) -> Iterator[tuple[Any, int, int]]:
        """Yield (text, start, stop) of lines that start after byte ``begin`` (or at 0) and not after ``end``."""
        for text, stop in self._whole_lines():
            start = 3 if self._position == 0 and bytes(text[:3]) == b"\xef\xbb\xbf" and stop > 3 else 0
            if begin and self._position <= begin:
                start = _line_end(text, begin - self._position, stop)
            if end is not None and self._position + stop > end:
                stop = max(start, _line_end(text, max(end - self._position, 0), stop))
            if start < stop:
                yield text, start, stop
            if end is not None and self._position + stop > end:
                return

    def _whole_lines(self) -> Iterator[tuple[Any, int]]:
        filled = 0
        while True:
            room = memoryview(self._text)[filled:-_MARGIN]
            count = self._handle.readinto(room) if len(room) else 0  # type: ignore[attr-defined]
            filled += count
            if count and filled < self._text.size - _MARGIN:
                continue
            at_end = len(room) > 0 and count == 0
            if at_end and filled and self._text[filled - 1] != 10:
                self._text[filled] = 10
                filled += 1
            cut = int(_functions().last_newline(self._text, 0, filled))
            if cut:
                yield self._text, cut
                if self._counting:
                    self._lines += int(_functions().count_lines(self._text, 0, cut))
                self._position += cut
                self._text[:filled - cut] = self._text[cut:filled].copy()
                filled -= cut
            elif filled and not at_end:
                self._grow(filled)
            if at_end:
                return

    def _grow(self, filled: int) -> None:
        if filled > self._limit:
            error = line_too_long(self._source.name, self.lines_before(0) + 1)
            raise LibSVMError(error.message, hint=error.hint)
        longer = np.empty(min(2 * self._text.size, self._limit + 1 + _MARGIN), np.uint8)
        longer[:filled] = self._text[:filled]
        self._text = longer

    def lines_before(self, offset: int) -> int:
        """Number of newlines in the source before position ``offset`` of the buffer."""
        lines = self._lines + int(_functions().count_lines(self._text, 0, offset))
        if not self._counting:
            with self._source.open() as handle:
                left = self._position
                while left and (block := handle.read(min(left, 1 << 20))):
                    lines += block.count(b"\n")
                    left -= len(block)
        return lines


def _line_end(text: Array, place: int, stop: int) -> int:
    """Position after the first newline of ``text[place:stop]``; ``stop`` if there is none."""
    if place >= stop:
        return stop
    end = bytes(text[place:stop]).find(b"\n")
    return stop if end < 0 else place + end + 1
