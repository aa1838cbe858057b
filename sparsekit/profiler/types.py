"""What profiles hold as plain data, field by field; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from typing import Any, NotRequired, Protocol, TypeAlias, TypedDict

from ..base.types import JSON
from .allocations import Origin


class ArrayRecord(TypedDict):
    """An array that an operator took or gave."""

    stype: str
    shape: list[int]
    dtype: str
    nnz: int
    density: float
    index_dtype: str | None
    bytes: int
    components: dict[str, int]
    rows: NotRequired[int]
    #: What it serves as (``parameter``, ``gradient``, ``activation`` …), and for whom if that outlasts the step.
    role: NotRequired[str]
    owner: NotRequired[str]


class _Event(TypedDict):
    """What events of one kind have in common, and what every event has."""

    name: str
    kind: str
    lane: str
    layer: str
    attrs: dict[str, JSON]
    fallback: bool
    became_dense: str
    inputs: list[ArrayRecord]
    outputs: list[ArrayRecord]
    bytes: int
    flops: int
    dense_flops: int
    line: str
    thread: int


class KindRecord(_Event):
    """Events of one kind."""

    origin: NotRequired[Origin]
    #: Whether its events make a sparse array dense, asked or not.
    converts: bool
    #: Numbers of the descriptions of inputs and outputs.
    taken: list[int]
    given: list[int]


class Record(_Event):
    """One event; times in microseconds."""

    start: float
    duration: float
    self: float
    depth: int
    node: int | None
    process: NotRequired[str]
    #: Number of the conversion to dense that the event is, or whose values it reads.
    conversion: NotRequired[int]


class MarkRecord(TypedDict):
    """A marker, or a value of a counter."""

    kind: str
    name: str
    time: float
    value: JSON
    unit: str
    thread: int
    line: NotRequired[str]


class Alive(TypedDict):
    """An array that was alive at the peak."""

    owner: str
    role: str
    stype: str
    shape: list[int]
    component: str
    dtype: str
    bytes: int
    layer: str


class Temporary(TypedDict):
    """Arrays that one operator of a layer made and freed inside its calls."""

    op: str
    layer: str
    arrays: int
    bytes: int
    most: int


#: An item of the recorder's flat list that stands for an array.  Any: the list holds items of all types.
NoteItem: TypeAlias = Any

#: Time, bytes, and bytes by role: a list, as it is in a file.
Sample: TypeAlias = list[Any]  # Any: the three have types of their own, which a list cannot say


class Memory(TypedDict):
    """The memory of a run."""

    devices: NotRequired[dict[str, dict[str, int]]]
    peak_bytes: int
    peak_time: float
    samples: list[Sample]
    idle_bytes: int
    at_peak: list[Alive]
    process_peak_bytes: int | None
    temporaries: list[Temporary]
    table_bytes: NotRequired[int]
    process_samples: NotRequired[list[list[float]]]


class TotalRow(TypedDict, total=False):
    """Totals of the events of one group, which has some of the first seven fields; times in microseconds.

    Those of a cell have ``peak`` and ``kept``, as in ``CellMemory``.
    """

    process: str
    name: str
    lane: str
    layer: str
    storage: str
    line: str
    cell: str
    calls: int
    total: float
    self: float
    min: float
    max: float
    mean: float
    bytes: int
    flops: int
    dense_flops: int
    peak: int
    kept: int


class Node(Protocol):
    """What a recorder reads of a node of the graph, or of what stands for one: the link of a gradient to its operator."""

    @property
    def id(self) -> int:
        """Running number."""


class Marked(Protocol):
    """What a recorder reads of an array object, and the mark that it leaves there."""

    _store: Any  # Any: a store, and ``Recorder`` asks what it is
    _layout: Any  # Any: what has a shape
    _seen: int


class DeviceRow(TypedDict):
    """Time of one operator on one GPU."""

    op: str
    context: str
    calls: int
    milliseconds: float
    queuing: float


class ChangeRow(TypedDict):
    """A row of ``Diff.rows``; pairs are before and after."""

    layer: str
    name: str
    lane: str
    change: str
    storage: str
    shapes: str
    calls: tuple[float, ...]
    bytes: tuple[float, ...]
    time: tuple[float, ...]
    flops: tuple[float, ...]
    by_calls: float
    by_bytes: float
    by_speed: float
    verdict: str


class TurnRow(TypedDict):
    """A row of ``Comparison.rows``."""

    name: str
    time: float
    calls: int
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str
    finding: str
    ratios: list[float]
    operators: NotRequired[int]
    bytes: NotRequired[int]
    peak: NotRequired[int]
    densified: NotRequired[int]
