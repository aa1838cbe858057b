"""How many rows of a gradient are non-zero: counted in PyTorch's dense gradients at some steps, shown as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..base.formatting import format_bytes, format_count, format_duration, format_percent
from .table import Table
from .torch_operators import is_torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .torch_types import TorchTensor
    from .types import Record

#: Name of the span in which the rows of a gradient are counted; its arguments are what was found.
COUNTED = "rows of a gradient"

#: Gradients of fewer bytes are not counted.
SMALLEST = 4096

#: Bytes of a gradient that are looked at in one go: one temporary array as large is made.
CHUNK = 1 << 22

#: What is said where backward passes ran, and no gradient was counted.
RETURNED = "of those that torch.autograd.grad and torch.func return, only the gradients of tables that are looked up are counted"

_COLUMNS = ("parameter", "layout", "shape", "non-zero", "counted", "bytes", "as rows", "saving")


class CountedRows(NamedTuple):
    """What was found of the gradients of one parameter.

    Attributes
    ----------
    parameter, module : str
        Its name, and the class of the module that has it.
    layout : str
        Storage type of the gradient.
    shape : tuple of int
    axis : str
        ``"rows"``, or ``"columns"`` of a weight that has more columns than rows, as a wide linear layer's has.  All axes but
        the first together are columns: those of a convolution are inputs and places of its kernel.
    most, least : int
        Non-zero ones in a dense gradient, different ones that a sparse gradient stores.
    times : int
        Gradients that were counted.
    bytes, as_rows : int
        What the largest gradient takes, and what its non-zero rows and their int64 numbers would take.
    stored : int
        Rows that a sparse gradient stores at most, those that it stores several times included; 0 of a dense gradient.
    passes : int
        Backward passes of the program until the last count, at least: as often a dense gradient is written.
    time : float
        Microseconds that the counting took.
    event : dict
        The record of the count that found most.
    """

    parameter: str
    module: str
    layout: str
    shape: tuple[int, ...]
    axis: str
    most: int
    least: int
    times: int
    bytes: int
    as_rows: int
    stored: int
    passes: int
    time: float
    event: Record

    @property
    def length(self) -> int:
        """Number of rows, or of columns."""
        return length_of(self.shape, self.axis)

    @property
    def mostly_zero(self) -> bool:
        """Whether a dense gradient is zero in more than three quarters of its rows, or columns."""
        return is_mostly_zero(self.layout, self.most, self.length)


def length_of(shape: Sequence[int], axis: str) -> int:
    """Number of rows of an array, or of its columns."""
    return math.prod(shape[1:]) if axis == "columns" else shape[0]


def is_mostly_zero(layout: str, nonzero: int, length: int) -> bool:
    """Whether so few of the rows of a gradient make it worth being sparse; one without any is of a weight that was not used."""
    return layout == "default" and 0 < 4 * nonzero < length


def is_due(number: int) -> bool:
    """Whether the ``number``-th gradient of a parameter is counted: the first, second, fourth, eighth and so on."""
    return number & (number - 1) == 0


def count_rows(gradient: TorchTensor) -> tuple[str, int]:
    """Which axis was counted, and how many rows or columns of a dense gradient hold a number that is not zero.

    What has more than two axes, as the weight of a convolution, is a matrix whose columns are all places of the others.  Every
    value is read once, in pieces of at most ``CHUNK`` bytes.
    """
    matrix = gradient.detach().flatten(1)
    rows, columns = matrix.shape
    step = max(1, CHUNK // max(1, columns * matrix.element_size()))
    pieces = (matrix[start: start + step] for start in range(0, rows, step))
    # The largest of the sizes is not a number where one is none, which is not zero either; any() takes five times as long.
    if columns <= rows:
        return "rows", sum(int(piece.abs().amax(1).ne(0).sum()) for piece in pieces)
    seen = None
    for piece in pieces:
        touched = piece.abs().amax(0).ne(0)
        seen = touched if seen is None else seen.logical_or_(touched)
    return "columns", int(seen.sum()) if seen is not None else 0


def stored_rows(gradient: TorchTensor) -> int:
    """How many different rows a sparse gradient stores; one that is not coalesced may store a row several times."""
    indices = gradient._indices()[0]
    return int(indices.shape[0] if gradient.is_coalesced() else indices.unique().shape[0])


def worth_counting(gradient: TorchTensor) -> bool:
    """Whether a dense gradient has rows, and is large enough to matter."""
    return bool(gradient.dim() > 1 and gradient.numel() * gradient.element_size() >= SMALLEST and not gradient.is_meta)


def counted_rows(records: Iterable[Record]) -> list[CountedRows]:
    """What was counted, by parameter, largest saving first."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record["name"] == COUNTED and isinstance(record["attrs"].get("parameter"), str):
            groups.setdefault(str(record["attrs"]["parameter"]), []).append(record)
    counts = [_together(of_one) for of_one in groups.values()]
    return sorted([count for count in counts if count is not None],
                  key=lambda count: (-(count.bytes - count.as_rows), count.parameter))


def _together(records: list[Record]) -> CountedRows | None:
    top = max(records, key=lambda record: _whole(record, "rows"))
    attrs = top["attrs"]
    sizes = attrs.get("shape")
    shape = tuple(size for size in sizes if isinstance(size, int)) if isinstance(sizes, list) else ()
    axis = "columns" if attrs.get("axis") == "columns" else "rows"
    if len(shape) < 2:
        return None  # a damaged trace
    most, size = _whole(top, "rows"), max(_whole(record, "size") for record in records)
    dense = str(attrs.get("layout")) == "default"
    length = length_of(shape, axis)
    as_rows = min(size, most * (size // length + 8)) if dense and length else size
    return CountedRows(str(attrs["parameter"]), str(attrs.get("module", "")), str(attrs.get("layout")), shape, axis, most,
                       min(_whole(record, "rows") for record in records), len(records), size, as_rows,
                       max(_whole(record, "stored") for record in records),
                       max(len(records), *(_whole(record, "pass") for record in records)),
                       sum(record["duration"] for record in records), top)


def _whole(record: Record, name: str) -> int:
    value = record["attrs"].get(name)
    return value if isinstance(value, int) else 0


def gradients_table(records: Iterable[Record]) -> Table:
    """The gradients that were counted, as a table."""
    records = list(records)
    counts = counted_rows(records)
    rows = [{name: value for name, value in count._asdict().items() if name != "event"} for count in counts]
    cells = [[count.parameter, "dense" if count.layout == "default" else count.layout, " × ".join(map(str, count.shape)),
              f"{_range(count)} of {format_count(count.length)} {count.axis}", format_count(count.times),
              format_bytes(count.bytes), format_bytes(count.as_rows) if count.layout == "default" else "", _saving(count)]
             for count in counts]
    spent = sum(count.time for count in counts)
    seen = any(map(is_torch, records))
    footer = (f"Counted in the 1st, 2nd, 4th, 8th … backward pass, in {format_duration(spent)}, in the profiler lane." if counts
              else "No gradient was counted: no backward pass gave a parameter a gradient of two axes and 4 kB or more; "
              f"{RETURNED}." if seen
              else "No gradient was counted: Profiler(torch=True) counts those of PyTorch.")
    return Table(_COLUMNS, rows, cells, footer, "Rows of gradients")


def _range(count: CountedRows) -> str:
    return format_count(count.most) if count.least == count.most else f"{format_count(count.least)} to {format_count(count.most)}"


def _saving(count: CountedRows) -> str:
    return format_percent(1 - count.as_rows / count.bytes) if count.layout == "default" and count.bytes > count.as_rows else ""
