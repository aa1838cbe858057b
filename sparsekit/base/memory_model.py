"""What pieces of memory would take with other types, gradients, optimizer states or batches: arithmetic on their shapes only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .types import Shape

#: Roles of arrays that outlive a step, and of temporary ones.
LASTING, PASSING = ("parameter", "gradient", "optimizer state"), ("activation", "workspace")

INDICES = {"int32": 4, "int64": 8}
FLOATS = {"float16": 2, "float32": 4, "float64": 8}
_ITEMS = {**INDICES, **FLOATS, "bfloat16": 2, "int8": 1, "uint8": 1, "bool": 1}

#: Bytes from which the library computes a gradient straight into its buffer.
IN_PLACE = 1 << 16


class Kind(NamedTuple):
    """All that decides the size of a piece of memory.

    Attributes
    ----------
    role, owner : str
        What it serves as, and for whom.
    stype : str
    shape : tuple of int
        Of the whole array.
    component : str
        ``data``, ``indices`` or ``indptr``.
    part : tuple of int
        Shape of the component.
    dtype : str
    bytes : int
    """

    role: str
    owner: str
    stype: str
    shape: Shape
    component: str
    part: Shape
    dtype: str
    bytes: int


class Change(NamedTuple):
    """The changes that an estimate assumes.

    Attributes
    ----------
    index_dtype : {"int32", "int64"} or None
        Of the indices of all sparse arrays.
    value_dtype : {"float16", "float32", "float64"} or None
        Of all floating-point values.
    gradient : {"row_sparse", "default"}, mapping of str to these, or None
        Storage type of the gradients of parameters with more than one dimension: of all, or by parameter.
    lazy_state : bool
        Optimizer state only for rows that a gradient touched.
    batch_size : int or None
        Rows of a batch.
    """

    index_dtype: str | None = None
    value_dtype: str | None = None
    gradient: str | Mapping[str, str] | None = None
    lazy_state: bool = False
    batch_size: int | None = None

    def gradient_of(self, owner: str) -> str | None:
        """The storage type that the gradient of a parameter is to have; None if it stays what it is."""
        return self.gradient.get(owner) if isinstance(self.gradient, Mapping) else self.gradient


class Part(NamedTuple):
    """A component that a piece of memory would consist of, or that would come with it."""

    role: str
    stype: str
    component: str
    bytes: int


class Sizes:
    """The bytes of each kind of memory after a change.

    Parameters
    ----------
    change : Change
    kinds : iterable of Kind
        All kinds of the run.
    batch : int
        Rows of a batch as it was; 0 if unknown.
    known : mapping of str to int
        Rows that a row-sparse gradient stored at most, by parameter.
    bounds : mapping of int to int
        Length of a parameter -> rows of it that a batch reaches at most.
    rows : int or mapping, optional
        What to take instead, for all parameters or by parameter.
    data_sets : iterable of tuple
        Shapes of inputs of which batches are rows: they stay as they are.
    apart : iterable of tuple
        Shapes of row-sparse gradients whose dense ones would be made elsewhere and copied, not written in place.

    Attributes
    ----------
    notes : list of str
        Why the sizes are estimates.
    missing : list of str
        Parameters whose number of rows is unknown; they stay unchanged.
    """

    def __init__(self, change: Change, kinds: Iterable[Kind], batch: int = 0, known: Mapping[str, int] | None = None,
                 bounds: Mapping[int, int] | None = None, rows: int | Mapping[str, int] | None = None,
                 data_sets: Iterable[Sequence[int]] = (), apart: Iterable[Sequence[int]] = ()) -> None:
        kinds = list(kinds)
        self.change, self.batch, self.known, self.bounds, self.rows = change, batch, known or {}, bounds or {}, rows
        self.data_sets = {tuple(shape) for shape in data_sets}
        #: Shapes of dense gradients that would be row_sparse -> their parameters.
        self.thinner = {kind.shape: kind.owner for kind in kinds
                        if kind.role == "gradient" and kind.stype == "default" and len(kind.shape) > 1
                        and change.gradient_of(kind.owner) == "row_sparse"}
        # Of these the new gradient is among the kinds, and the buffer stands for the one before.
        self._apart = {kind.shape for kind in kinds if (kind.role, kind.stype) == ("workspace", "default")}
        self.notes: list[str] = []
        self.missing: list[str] = []
        self.factor = change.batch_size / batch if change.batch_size is not None and batch else 1.0
        if self.factor != 1.0 and any(kind.stype != "default" for kind in kinds):
            self.note("stored values and touched rows are assumed to grow with the batch; rows that samples share make them "
                      "fewer")
        lasting = {kind.shape for kind in kinds if kind.role in LASTING}
        if self.factor != 1.0 and any(kind.role in PASSING and kind.shape and kind.shape[0] not in (1, batch)
                                      and kind.shape not in lasting for kind in kinds):
            self.note("results whose length differs from the batch are assumed to stay unchanged")
        self._index = INDICES.get(change.index_dtype or "", 0)
        self._value = FLOATS.get(change.value_dtype or "", 0)
        self._denser(kinds, {tuple(shape) for shape in apart})

    def _denser(self, kinds: list[Kind], apart: set[Shape]) -> None:
        """Find the row_sparse gradients that would be dense, and which of them every backward pass would write in place."""
        gradients = {kind.owner: kind for kind in kinds
                     if (kind.role, kind.stype, kind.component) == ("gradient", "row_sparse", "data")
                     and self.change.gradient_of(kind.owner) == "default"}
        held = {kind.owner for kind in kinds if kind.role == "parameter"}
        #: Parameters -> shapes of their gradients that would be one array, there as long as the parameter.
        self.buffers = {owner: kind.shape for owner, kind in gradients.items() if owner in held and kind.shape not in apart
                        and math.prod(kind.shape) * self._item(kind) >= IN_PLACE}
        #: Shapes of gradients that would be dense -> whether they are written in place.
        self._wider = {kind.shape: owner in self.buffers for owner, kind in gradients.items()}

    def note(self, text: str) -> None:
        """Say something once."""
        if text not in self.notes:
            self.notes.append(text)

    def all(self, kinds: Iterable[Kind]) -> list[int]:
        """Bytes of each kind, and a note if arrays cross the size from which the library works otherwise."""
        pairs = [(kind, self.parts(kind)) for kind in kinds]
        if any((kind.bytes < IN_PLACE) != (sum(part.bytes for part in parts if part.role == kind.role) < IN_PLACE)
               for kind, parts in pairs if parts):
            self.note("some arrays become larger than 64 KiB, and gradients of that size are computed in place, without a copy")
        return [sum(part.bytes for part in parts) for _, parts in pairs]

    def parts(self, kind: Kind) -> tuple[Part, ...]:
        """What a piece of memory of this kind would consist of, and what would come with it."""
        role, owner, stype, shape, component, part, _, old = kind
        if self.change.lazy_state and role == "optimizer state" and stype == "default" and len(shape) > 1 and self._lazily(owner):
            rows = self.rows_of(owner, shape[0])
            if rows is not None:
                self.note("optimizer state is counted for the rows of one gradient; the rows of other batches add to it")
                return self._stored(rows, kind)
        thinner = role == "gradient" and stype == "default" and len(shape) > 1 and self.change.gradient_of(owner) == "row_sparse"
        if role == "workspace" and stype == "default" and shape in self.thinner:
            self.note("working memory with the shape of a gradient is assumed to be a new copy of that gradient")
            thinner, owner = True, self.thinner[shape]
        if thinner:
            rows = self.rows_of(owner, shape[0])
            if rows is not None:
                if shape not in self._apart:
                    self.note("the previous row_sparse gradient, which exists until the new one replaces it, is not counted")
                return self._stored(rows, kind)
        if stype == "row_sparse" and self._fuller(role, owner, shape):
            counted = component == "data" and not (owner in self.buffers if role == "gradient" else self._wider[shape])
            return (Part(role, "default", component, math.prod(shape) * self._item(kind)),) if counted else ()
        lengths = self._lengths(role, stype, shape, component, part)
        item = self._index if self._index and component != "data" else self._item(kind)
        size = int(old if lengths == part and item == item_size(kind) else math.prod(lengths) * item)
        return (Part(role, stype, component, size), *self._buffer(kind))

    def _fuller(self, role: str, owner: str, shape: Shape) -> bool:
        """Whether a row_sparse array would be dense, as a gradient or on its way to be one."""
        asked = role == "gradient" and self.change.gradient_of(owner) == "default"
        wider = asked or (role == "workspace" and shape in self._wider)
        if wider and not self._wider.get(shape):
            self.note("dense gradients that are computed separately and copied are counted as often as there were row_sparse "
                      "ones")
        return wider

    def _buffer(self, kind: Kind) -> tuple[Part, ...]:
        """The dense gradient that would come with a parameter: one array, which every backward pass writes to."""
        if kind.role != "parameter" or kind.component != "data" or kind.owner not in self.buffers:
            return ()
        return (Part("gradient", "default", "data", math.prod(self.buffers[kind.owner]) * self._item(kind)),)

    def rows_of(self, owner: str, length: int) -> int | None:
        """Rows that a row-sparse gradient of a parameter would store; None, and a note, if nothing tells."""
        name = owner or "a parameter"
        rows = self.rows.get(owner) if isinstance(self.rows, Mapping) else self.rows
        rows = self.known.get(owner) if rows is None else rows
        if rows is None and length in self.bounds:
            rows = self.bounds[length]
            self.note(f"the rows of {name} that a batch touches are bounded by its stored values")
        if rows is None:
            self.missing.append(owner)
            self.note(f"{name} does not change, because the rows that a batch touches are not known")
            return None
        return min(length, math.ceil(int(rows) * self.factor))

    def _stored(self, rows: int, kind: Kind) -> tuple[Part, ...]:
        return (Part(kind.role, "row_sparse", "data", rows * math.prod(kind.shape[1:]) * self._item(kind)),
                Part(kind.role, "row_sparse", "indices", rows * (self._index or 8)))

    def _lazily(self, owner: str) -> bool:
        """Whether a parameter's state would be kept by row: not if its gradient is dense, unless all are or rows were given."""
        if self.rows is not None or not self.known or owner in self.known:
            return True
        self.note(f"{owner or 'a parameter'}, whose gradient is dense, keeps its whole state")
        return False

    def _lengths(self, role: str, stype: str, shape: Shape, component: str, part: Shape) -> Shape:
        if self.factor == 1.0 or role in ("parameter", "optimizer state") or not shape or not part:
            return part
        if stype == "row_sparse":
            return (min(shape[0], math.ceil(part[0] * self.factor)), *part[1:])
        if shape[0] != self.batch or (role == "gradient" and stype == "default") or (role == "input" and shape in self.data_sets):
            return part
        if component == "indptr":
            return (math.floor(self.batch * self.factor + 0.5) + 1,)
        return (math.floor(part[0] * self.factor + 0.5), *part[1:])

    def _item(self, kind: Kind) -> int:
        return self._value if self._value and (kind.dtype in FLOATS or kind.dtype == "bfloat16") else item_size(kind)


def item_size(kind: Kind) -> int:
    """Bytes of an element; of types of other libraries, as recorded."""
    return _ITEMS[kind.dtype] if kind.dtype in _ITEMS else kind.bytes // max(math.prod(kind.part), 1)


def batch_of(kinds: Iterable[Kind]) -> int:
    """Rows of a batch: the most frequent first length of what came in as data; 0 if nothing did."""
    counts: dict[int, int] = {}
    for kind in kinds:
        if kind.role == "input" and kind.shape:
            counts[kind.shape[0]] = counts.get(kind.shape[0], 0) + 1
    return max(counts, key=lambda rows: (counts[rows], -rows)) if counts else 0


def bounds_of(kinds: Iterable[Kind], together: Iterable[Kind], batch: int,
              data_sets: Iterable[Sequence[int]] = ()) -> dict[int, int]:
    """How many rows of a parameter a batch reaches at most, by the parameter's length: as many as csr batches store values.

    Parameters
    ----------
    kinds : iterable of Kind
        Of the whole run.
    together : iterable of Kind
        Of what was alive at one moment, of which the inputs of equal width may be parts of one batch.
    batch : int
    data_sets : iterable of tuple
        Shapes of inputs that are not batches.
    """
    sets = {tuple(shape) for shape in data_sets}
    largest: dict[int, int] = {}
    for width, stored in _stored_values(kinds, batch, sets):
        largest[width] = max(stored, largest.get(width, 0))
    sums: dict[int, int] = {}
    for width, stored in _stored_values(together, batch, sets):
        sums[width] = sums.get(width, 0) + stored
    return {width: max(largest.get(width, 0), sums.get(width, 0)) for width in sorted({*largest, *sums})}


def _stored_values(kinds: Iterable[Kind], batch: int, data_sets: set[Shape]) -> Iterable[tuple[int, int]]:
    """Width and stored values of csr batches: inputs, and slices of inputs, whose indices are views and take no memory."""
    for kind in kinds:
        shape = kind.shape
        if (kind.stype, kind.component) == ("csr", "data") and len(shape) == 2 and shape[0] == batch and kind.part and (
                kind.role == "activation" or (kind.role == "input" and shape not in data_sets)):
            yield shape[1], kind.part[0]
