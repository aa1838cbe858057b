"""The components of any sparse array as numpy arrays, and the grid of densities for its picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import UnsupportedError, expected

if TYPE_CHECKING:
    from ..base.types import Array

#: Stored values that are binned at a time; bounds the temporary memory.
CHUNK = 1 << 20
#: Stored values beyond which a picture is made from an evenly spaced sample, and says so.
MOST_BINNED = 20_000_000


class Parts(NamedTuple):
    """The components of one sparse array; ``data`` and the index arrays may still live elsewhere than in memory."""

    stype: str
    shape: tuple[int, ...]
    dtype: str
    index_dtype: str
    data: Any
    indices: Any
    indptr: Any

    @property
    def rows(self) -> int:
        """Rows of the array seen as a matrix."""
        return self.shape[0] if self.shape else 0

    @property
    def columns(self) -> int:
        """Columns of the array seen as a matrix: of a row_sparse array, all further axes together."""
        product = 1
        for size in self.shape[1:]:
            product *= size
        return product

    @property
    def stored(self) -> int:
        """Stored values, zeros among them counted."""
        return len_of(self.indices) * (1 if self.stype == "csr" else self.columns)

    @property
    def density(self) -> float:
        """Stored values over all elements."""
        size = self.rows * self.columns
        return self.stored / size if size else 0.0

    @property
    def components(self) -> dict[str, int]:
        """Bytes of each component, in the order of the storage."""
        names = ("data", "indices", "indptr") if self.stype == "csr" else ("data", "indices")
        widths = {"data": np.dtype(self.dtype).itemsize, "indices": np.dtype(self.index_dtype).itemsize}
        sizes = {"data": self.stored, "indices": len_of(self.indices), "indptr": self.rows + 1}
        return {name: sizes[name] * widths.get(name, widths["indices"]) for name in names}

    @property
    def dense_bytes(self) -> int:
        """Bytes of all elements, had they been stored."""
        return self.rows * self.columns * np.dtype(self.dtype).itemsize


class Grid(NamedTuple):
    """How many stored values lie in each block of ``height`` x ``width`` elements."""

    counts: np.ndarray
    height: int
    width: int
    #: The sampling stride: 1 if every stored value was counted, n if every n-th was.
    every: int


def len_of(array: object) -> int:
    """Length of a component."""
    shape = getattr(array, "shape", ())
    return int(shape[0]) if shape else 0


def read_array(array: object) -> Parts:
    """Read a csr or row_sparse array of this library, a csr matrix of scipy, or a mapping of components.

    Raises
    ------
    UnsupportedError
        If it is something else, such as a dense array.
    """
    if isinstance(array, Parts):
        return array
    get = array.get if isinstance(array, Mapping) else lambda name, default=None: getattr(array, name, default)
    stype = get("stype") or get("format")
    if stype not in ("csr", "row_sparse"):
        raise UnsupportedError(expected("The array", "csr or row_sparse", type(array)),
                               hint="give a csr or row_sparse array: tostype('csr') makes one.")  # fmt: skip
    data, indices, indptr = get("data"), get("indices"), get("indptr")
    shape = tuple(int(size) for size in get("shape") or ())
    if data is None or indices is None or (stype == "csr" and indptr is None):
        raise UnsupportedError("A component is missing.", hint="csr: data, indices, indptr; row_sparse: data, indices.")
    plain = [part if hasattr(part, "dtype") or part is None else np.asarray(part) for part in (data, indices, indptr)]
    return Parts(stype, shape, _name(plain[0]), _name(plain[1]), *plain)


def _name(part: Any) -> str:
    try:
        return str(np.dtype(part.dtype).name)
    except TypeError:
        return "float32"


def take_slice(part: Any, start: int, end: int, step: int = 1) -> np.ndarray:
    """``part[start:end:step]`` in this machine's memory; nothing else of it is copied."""
    piece = part[start:end] if end > start else part[:0]
    piece = piece.asnumpy() if hasattr(piece, "asnumpy") else piece.get() if hasattr(piece, "get") else np.asarray(piece)
    return np.asarray(piece)[::step]


def _chunks(part: object, start: int, end: int, step: int) -> Iterator[np.ndarray]:
    for low in range(start, end, CHUNK * step):
        yield take_slice(part, low, min(end, low + CHUNK * step), step)


def bin_density(array: object, most: int | tuple[int, int] = 64) -> Grid:
    """Count stored values in at most ``most`` x ``most`` blocks, in O(stored values) and O(most²) memory.

    Parameters
    ----------
    array : csr or row_sparse array, or Parts
    most : int or tuple of int
        Most blocks along each axis, or down and across.

    Returns
    -------
    Grid
        Counts, int64, shape (blocks down, blocks across), and the elements that a block spans.
    """
    parts = read_array(array)
    limits = most if isinstance(most, tuple) else (most, most)
    height, width = (max(1, -(-size // limit)) for size, limit in zip((parts.rows, parts.columns), limits, strict=True))
    down, across = -(-parts.rows // height), -(-parts.columns // width)
    counts = np.zeros((down, across), dtype=np.int64)
    if not counts.size or not parts.stored:
        return Grid(counts, height, width, 1)
    every = -(-len_of(parts.indices) // MOST_BINNED)
    (_bin_csr if parts.stype == "csr" else _bin_rows)(parts, counts, (height, width), every)
    return Grid(counts, height, width, every)


def _bin_csr(parts: Parts, counts: np.ndarray, block: tuple[int, int], every: int) -> None:
    """Only as many entries of indptr are read as there are blocks down."""
    height, width = block
    down, across = counts.shape
    edges = [min(i * height, parts.rows) for i in range(down + 1)]
    positions = [int(take_slice(parts.indptr, edge, edge + 1)[0]) for edge in edges]
    for i in range(down):
        for piece in _chunks(parts.indices, positions[i], positions[i + 1], every):
            binned = np.bincount(np.clip(piece // width, 0, across - 1), minlength=across)
            counts[i] += binned * every
        if every > 1:
            # Totals by block row are known exactly; only their spread is estimated.
            exact, seen = positions[i + 1] - positions[i], int(counts[i].sum())
            counts[i] = counts[i] * exact // seen if seen else 0


def _bin_rows(parts: Parts, counts: np.ndarray, block: tuple[int, int], every: int) -> None:
    height, width = block
    down, across = counts.shape
    widths = np.full(across, width, dtype=np.int64)
    widths[-1] = parts.columns - width * (across - 1)
    for piece in _chunks(parts.indices, 0, len_of(parts.indices), every):
        binned = np.bincount(np.clip(piece // height, 0, down - 1), minlength=down)
        counts += (binned * every)[:, None] * widths


def cell_text(value: object) -> str:
    """Write one stored value in at most seven characters or so."""
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return f"{number:.3g}" if math.isfinite(number) else str(number)
    return f"{value}"


def entries_from(parts: Parts, start: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of the stored values from a position to another; few pointers are read."""
    if parts.stype == "csr":
        columns, values = take_slice(parts.indices, start, end), take_slice(parts.data, start, end)
        first = position(parts.indptr, parts.rows + 1, start) - 1
        pointers = take_slice(parts.indptr, first, min(first + 100_000, parts.rows + 1))
        return first + np.searchsorted(pointers, np.arange(start, start + len(columns)), side="right") - 1, columns, values
    wide = max(parts.columns, 1)
    first, last = start // wide, -(-end // wide)
    stored = take_slice(parts.indices, first, last)
    pieces = [take_slice(parts.data, row, row + 1).reshape(-1)[max(start - row * wide, 0) : end - row * wide]
              for row in range(first, first + len(stored))]  # fmt: skip
    elements = np.concatenate(pieces) if pieces else np.zeros(0)
    places = np.arange(start, start + len(elements))
    return stored[places // wide - first] if len(stored) else places, places % wide, elements


def position(part: Array, count: int, wanted: int) -> int:
    """Position of the first of ``count`` sorted values that is greater than ``wanted``, reading few of them."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if int(take_slice(part, middle, middle + 1)[0]) > wanted:
            high = middle
        else:
            low = middle + 1
    return low


def elements_around(parts: Parts, size: tuple[int, int], place: int = -1) -> tuple[int, int, list[tuple[int, int]]]:
    """The elements around a stored value, or around the one in the middle of the storage.

    Returns
    -------
    row, column : int
        The first row and column of a window of at most ``size`` elements, down and across.
    stored : list of (row, column)
        What is stored in the window.
    """
    middle = len_of(parts.indices) // 2 if place < 0 else place if parts.stype == "csr" else place // max(parts.columns, 1)
    index = int(take_slice(parts.indices, middle, middle + 1)[0])
    csr = parts.stype == "csr"
    row, column = index, max(place, 0) % max(parts.columns, 1)
    if csr:
        row, column = position(parts.indptr, parts.rows + 1, middle) - 1, index
    top, left = (max(0, min(at - length // 2, total - length)) for at, length, total in
                 ((row, size[0], parts.rows), (column, size[1], parts.columns)))
    rows = range(top, min(top + size[0], parts.rows))
    if not csr:
        first = position(parts.indices, len_of(parts.indices), top - 1)
        stored = {int(number) for number in take_slice(parts.indices, first, first + size[0])}
        across = range(left, min(left + size[1], parts.columns))
        return top, left, [(number, at) for number in rows if number in stored for at in across]
    pointers = take_slice(parts.indptr, top, rows[-1] + 2)
    elements = []
    for number, start, end in zip(rows, pointers.tolist(), pointers[1:].tolist(), strict=False):
        columns = take_slice(parts.indices, start, end)
        elements += [(number, int(at)) for at in columns[(columns >= left) & (columns < left + size[1])]]
    return top, left, elements
