"""What pieces of memory would take with other types, gradients, optimizer states or batches: arithmetic on their shapes only.

``widgets/static/memory_what_if.js`` is the same in a browser; a test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["FLOATS", "INDICES", "IN_PLACE", "Change", "Kind", "Sizes", "batch_of", "bounds_of", "item_size", "kind_of"]

#: All that decides the size of a piece of memory: role, owner, storage type, shape, component, shape of the component,
#: element type, bytes.
Kind = tuple[str, str, str, tuple[int, ...], str, tuple[int, ...], str, int]

INDICES = {"int32": 4, "int64": 8}
FLOATS = {"float16": 2, "float32": 4, "float64": 8}
_ITEMS = {**INDICES, **FLOATS, "int8": 1, "uint8": 1, "bool": 1}

#: Bytes from which the library computes a gradient straight into its buffer.
IN_PLACE = 1 << 16


class Change(NamedTuple):
    """What would be otherwise.

    Attributes
    ----------
    index_dtype : {"int32", "int64"} or None
        Of the indices of all sparse arrays.
    value_dtype : {"float16", "float32", "float64"} or None
        Of all floating-point values.
    gradient : {"row_sparse", "default"} or None
        Storage type of the gradients of parameters with more than one dimension.
    lazy_state : bool
        Optimizer state only for rows that a gradient touched.
    batch_size : int or None
        Rows of a batch.
    """

    index_dtype: str | None = None
    value_dtype: str | None = None
    gradient: str | None = None
    lazy_state: bool = False
    batch_size: int | None = None


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

    Attributes
    ----------
    notes : list of str
        In how far the sizes are no exact ones.
    missing : list of str
        Parameters whose rows nothing tells; they stay as they are.
    """

    def __init__(self, change: Change, kinds: Iterable[Kind], batch: int = 0, known: Mapping[str, int] | None = None,
                 bounds: Mapping[int, int] | None = None, rows: Any = None) -> None:
        kinds = list(kinds)
        self.change, self.batch, self.known, self.bounds, self.rows = change, batch, known or {}, bounds or {}, rows
        #: Shapes of dense gradients that would be row_sparse -> their parameters.
        self.thinner = {kind[3]: kind[1] for kind in kinds if kind[0] == "gradient" and kind[2] == "default" and len(kind[3]) > 1
                        } if change.gradient == "row_sparse" else {}
        self.notes: list[str] = []
        self.missing: list[str] = []
        self.factor = change.batch_size / batch if change.batch_size is not None and batch else 1.0
        if self.factor != 1.0 and any(kind[2] != "default" for kind in kinds):
            self.note("stored values and touched rows are taken to grow with the batch; rows that samples share make them fewer")
        self._index = INDICES.get(change.index_dtype or "", 0)
        self._value = FLOATS.get(change.value_dtype or "", 0)

    def note(self, text: str) -> None:
        """Say something once."""
        if text not in self.notes:
            self.notes.append(text)

    def all(self, kinds: Iterable[Kind]) -> list[int]:
        """Bytes of each kind, and a note if arrays cross the size from which the library works otherwise."""
        kinds = list(kinds)
        found = [sum(size for _, size in self.parts(kind)) for kind in kinds]
        if any((kind[7] < IN_PLACE) != (new < IN_PLACE) for kind, new in zip(kinds, found, strict=True)):
            self.note("some arrays cross 64 KiB, from where gradients are computed in place and have no copy")
        return found

    def parts(self, kind: Kind) -> tuple[tuple[str, int], ...]:
        """Components and their bytes that a piece of memory of this kind would consist of: one, or values and row numbers."""
        role, owner, stype, shape, component, part, dtype, old = kind
        if self.change.lazy_state and role == "optimizer state" and stype == "default" and len(shape) > 1 and self._lazily(owner):
            rows = self.rows_of(owner, shape[0])
            if rows is not None:
                self.note("optimizer state is counted for the rows of one gradient: those of other batches come on top")
                return self._stored(rows, shape, dtype)
        thinner = role == "gradient" and len(shape) > 1
        if role == "workspace" and shape in self.thinner:
            self.note("working memory of a gradient's shape is taken to be that gradient on its way")
            thinner, owner = True, self.thinner[shape]
        if self.change.gradient == "row_sparse" and stype == "default" and thinner:
            rows = self.rows_of(owner, shape[0])
            if rows is not None:
                return self._stored(rows, shape, dtype)
        if self.change.gradient == "default" and role == "gradient" and stype == "row_sparse":
            return ((component, math.prod(shape) * self._item(dtype) if component == "data" else 0),)
        lengths = self._lengths(role, stype, shape, component, part)
        item = self._index if self._index and component != "data" else self._item(dtype)
        return ((component, int(old if lengths == part and item == item_size(dtype) else math.prod(lengths) * item)),)

    def stype(self, kind: Kind) -> str:
        """The storage type that it would have."""
        if len(self.parts(kind)) > 1:
            return "row_sparse"
        return "default" if self.change.gradient == "default" and kind[0] == "gradient" else kind[2]

    def rows_of(self, owner: str, length: int) -> int | None:
        """Rows that a row-sparse gradient of a parameter would store; None, and a note, if nothing tells."""
        name = owner or "a parameter"
        given = self.rows.get(owner) if isinstance(self.rows, Mapping) else self.rows
        given = self.known.get(owner) if given is None else given
        if given is None and length in self.bounds:
            given = self.bounds[length]
            self.note(f"the rows of {name} that a batch reaches are bounded by its stored values")
        if given is None:
            self.missing.append(owner)
            self.note(f"{name} stays as it is, since the rows that a batch reaches are not known")
            return None
        return min(length, math.ceil(int(given) * self.factor))

    def _stored(self, rows: int, shape: tuple[int, ...], dtype: str) -> tuple[tuple[str, int], ...]:
        return ("data", rows * math.prod(shape[1:]) * self._item(dtype)), ("indices", rows * (self._index or 8))

    def _lazily(self, owner: str) -> bool:
        """Whether a parameter's state would be kept by row: not if its gradient is dense, unless all are or rows were given."""
        if self.rows is not None or not self.known or owner in self.known:
            return True
        self.note(f"{owner or 'a parameter'}, whose gradient is dense, keeps its whole state")
        return False

    def _lengths(self, role: str, stype: str, shape: tuple[int, ...], component: str, part: tuple[int, ...]) -> tuple[int, ...]:
        if self.factor == 1.0 or role in ("parameter", "optimizer state") or not shape or not part:
            return part
        if stype == "row_sparse":
            return (min(shape[0], math.ceil(part[0] * self.factor)), *part[1:])
        if shape[0] != self.batch or (role == "gradient" and stype == "default"):
            return part
        if component == "indptr":
            return (math.floor(self.batch * self.factor + 0.5) + 1,)
        return (math.floor(part[0] * self.factor + 0.5), *part[1:])

    def _item(self, dtype: str) -> int:
        return self._value if self._value and dtype in FLOATS else item_size(dtype)


def item_size(dtype: str) -> int:
    """Bytes of an element."""
    return _ITEMS[dtype] if dtype in _ITEMS else int(np.dtype(dtype).itemsize)


def kind_of(role: str, owner: str, stype: str, shape: tuple[int, ...], component: str, dtype: str, size: int) -> Kind:
    """The kind of a component of an array, from what a table of memory says of it.

    Where the element type is not said, it follows from the bytes of a dense array, and is float32 for values and int64
    for indices of others.
    """
    if component != "data":
        dtype = dtype if dtype in INDICES else "int64"
        return role, owner, stype, shape, component, (size // INDICES[dtype],), dtype, size
    count = math.prod(shape)
    if not _known(dtype):
        each = size // count if stype == "default" and count and size % count == 0 else 4
        dtype = {1: "int8", 2: "float16", 8: "float64"}.get(each, "float32")
    item = item_size(dtype)
    part: tuple[int, ...] = (size // item,)
    wide = math.prod(shape[1:])
    if stype == "default" and count * item == size:
        part = shape
    elif stype == "row_sparse" and len(shape) > 1 and wide:
        part = (size // item // wide, *shape[1:])
    return role, owner, stype, shape, component, part, dtype, size


def _known(dtype: str) -> bool:
    try:
        return bool(dtype) and np.dtype(dtype).itemsize > 0
    except TypeError:
        return False


def batch_of(kinds: Iterable[Kind]) -> int:
    """Rows of a batch: the most frequent first length of what came in as data; 0 if nothing did."""
    counts: dict[int, int] = {}
    for role, _, _, shape, *_ in kinds:
        if role == "input" and shape:
            counts[shape[0]] = counts.get(shape[0], 0) + 1
    return max(counts, key=lambda rows: (counts[rows], -rows)) if counts else 0


def bounds_of(kinds: Iterable[Kind], together: Iterable[Kind], batch: int) -> dict[int, int]:
    """How many rows of a parameter a batch reaches at most, by the parameter's length: as many as csr batches store values.

    Parameters
    ----------
    kinds : iterable of Kind
        Of the whole run.
    together : iterable of Kind
        Of what was alive at one moment, of which the inputs of equal width may be parts of one batch.
    batch : int
    """
    found: dict[int, int] = {}
    for width, stored in _stored_values(kinds, batch):
        found[width] = max(stored, found.get(width, 0))
    sums: dict[int, int] = {}
    for width, stored in _stored_values(together, batch):
        sums[width] = sums.get(width, 0) + stored
    return {width: max(found.get(width, 0), sums.get(width, 0)) for width in sorted({*found, *sums})}


def _stored_values(kinds: Iterable[Kind], batch: int) -> Iterable[tuple[int, int]]:
    for role, _, stype, shape, component, part, *_ in kinds:
        if (role, stype, component) == ("input", "csr", "indices") and len(shape) == 2 and shape[0] == batch and part:
            yield shape[1], part[0]
