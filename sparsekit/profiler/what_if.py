"""Memory as it would be: the arrays of a run replayed with other types, gradients or batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..base.errors import ProfilerError, UnknownNameError
from . import words
from .lives import Kind
from .table import Table

__all__ = ["CHANGES", "WhatIf", "what_if"]

#: What may be changed.
CHANGES = ("index_dtype", "value_dtype", "gradient", "lazy_state", "batch_size")

#: Bytes from which the library computes a gradient straight into its buffer.
IN_PLACE = 1 << 16

_SIZES = {"int32": 4, "int64": 8, "float16": 2, "float32": 4, "float64": 8}
_FLOATS = ("float16", "float32", "float64")


def what_if(profile: Any, *, index_dtype: str | None = None, value_dtype: str | None = None, gradient: str | None = None,
            lazy_state: bool = False, batch_size: int | None = None, rows: int | Mapping[str, int] | None = None) -> WhatIf:
    """Work out the memory of a changed model without running it.

    Every array that lived during the run gets the size that it would have, and the allocations and frees are
    replayed in their order, so the peak may come at another moment.

    Parameters
    ----------
    profile : Profile
    index_dtype : {"int32", "int64"}, optional
        Of the indices of all sparse arrays.
    value_dtype : {"float16", "float32", "float64"}, optional
        Of all floating-point values.
    gradient : {"row_sparse", "default"}, optional
        Storage type of the gradients of parameters.  The rows of one that was dense are not known: give ``rows``.
    lazy_state : bool
        Optimizer state only for rows that a gradient touched, with their int64 numbers, of parameters with row-sparse
        gradients; needs ``rows`` if none was.  The most rows of one gradient are taken, so that it is a lower bound.
    batch_size : int, optional
        Rows of a batch.  Arrays whose first length is the batch's become longer in proportion; so do the stored
        values of sparse ones and the rows of row-sparse gradients, as if further samples were like these.
    rows : int or dict, optional
        Rows that a gradient stores, of all parameters or by parameter.

    Returns
    -------
    WhatIf

    Raises
    ------
    UnknownNameError
        If a type is none of those offered.
    ProfilerError
        If the profile comes from a file, which holds no single allocations, or a number is missing.
    """
    for value, offered, what in ((index_dtype, ("int32", "int64"), "index type"), (value_dtype, _FLOATS, "value type"),
                                 (gradient, ("row_sparse", "default"), "storage type of gradients")):
        if value is not None and value not in offered:
            raise UnknownNameError.of(what, value, offered)
    if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1):
        raise ProfilerError(f"batch_size={batch_size!r} is no number of rows.", hint="give a positive integer.")
    find = profile._data().lives
    lives = None if find is None else find()
    if lives is None:
        raise ProfilerError("This profile does not hold the life of each array.",
                            hint="ask the profiler itself, not a trace; beyond some millions of arrays profile fewer steps.")
    change = _Change(index_dtype, value_dtype, gradient, lazy_state, batch_size, rows, profile, lives.kinds)
    return WhatIf(lives, change)


class _Change:
    """The size that a piece of memory would have."""

    def __init__(self, index_dtype: Any, value_dtype: Any, gradient: Any, lazy_state: bool, batch_size: Any, rows: Any,
                 profile: Any, kinds: Iterable[Kind]) -> None:
        self.index_dtype, self.value_dtype, self.gradient, self.lazy_state = index_dtype, value_dtype, gradient, lazy_state
        self.asked = {name: value for name, value in (("index_dtype", index_dtype), ("value_dtype", value_dtype),
                      ("gradient", gradient), ("lazy_state", lazy_state), ("batch_size", batch_size), ("rows", rows)) if value}
        self.rows, self.known = rows, profile.gradient_rows
        #: Shapes of dense gradients that would be row_sparse -> their parameters.
        self.thinner = {kind[3]: kind[1] for kind in kinds if kind[0] == "gradient" and kind[2] == "default" and len(kind[3]) > 1
                        } if gradient == "row_sparse" else {}
        self.notes: list[str] = []
        self.batch = _batch_of(kinds) if batch_size is not None else 0
        self.factor = batch_size / self.batch if batch_size is not None else 1.0
        if self.factor != 1.0 and any(kind[2] != "default" for kind in kinds):
            self.note("stored values and touched rows are taken to grow with the batch; rows that samples share make them fewer")

    def note(self, text: str) -> None:
        """Say, once, in how far the result is no exact one."""
        if text not in self.notes:
            self.notes.append(text)

    def rows_of(self, owner: str, length: int) -> int:
        """Rows that a gradient of a parameter stores."""
        given = self.rows.get(owner) if isinstance(self.rows, Mapping) else self.rows
        if given is None:
            given = self.known.get(owner)
            if given is None:
                raise ProfilerError(f"How many rows a row_sparse gradient of {owner or 'a parameter'} stores is not known.",
                                    hint="give rows=, for all parameters or as {name: rows}.")
        return min(length, math.ceil(int(given) * self.factor))

    def _lazily(self, owner: str) -> bool:
        """Whether a parameter's state would be kept by row: not if its gradient is dense, unless all are or rows were given."""
        if self.rows is not None or not self.known or owner in self.known:
            return True
        self.note(f"{owner or 'a parameter'}, whose gradient is dense, keeps its whole state")
        return False

    def size(self, kind: Kind) -> int:
        """Bytes of a piece of this kind in the changed model."""
        role, owner, stype, shape, component, part, dtype, old = kind
        if self.lazy_state and role == "optimizer state" and stype == "default" and len(shape) > 1 and self._lazily(owner):
            self.note("optimizer state is counted for the rows of one gradient: those of other batches come on top")
            rows = self.rows_of(owner, shape[0])
            return rows * (math.prod(shape[1:]) * self._item(dtype) + _SIZES[self.index_dtype or "int64"])
        thinner = role == "gradient" and len(shape) > 1
        if role == "workspace" and shape in self.thinner:
            self.note("working memory of a gradient's shape is taken to be that gradient on its way")
            thinner, owner = True, self.thinner[shape]
        if self.gradient == "row_sparse" and stype == "default" and thinner:
            rows = self.rows_of(owner, shape[0])
            return rows * (math.prod(shape[1:]) * self._item(dtype) + _SIZES[self.index_dtype or "int64"])
        if self.gradient == "default" and role == "gradient" and stype == "row_sparse":
            return math.prod(shape) * self._item(dtype) if component == "data" else 0
        lengths = self._lengths(role, stype, shape, component, part)
        item = _SIZES[self.index_dtype] if self.index_dtype and component != "data" else self._item(dtype)
        same = lengths == part and item == self._old_item(dtype)
        return int(old if same else math.prod(lengths) * item)

    def _lengths(self, role: str, stype: str, shape: Any, component: str, part: Any) -> Any:
        if self.factor == 1.0 or role in ("parameter", "optimizer state") or not shape:
            return part
        if stype == "row_sparse":
            return (min(shape[0], math.ceil(part[0] * self.factor)), *part[1:])
        if shape[0] != self.batch or (role == "gradient" and stype == "default"):
            return part
        if component == "indptr":
            return (round(self.batch * self.factor) + 1,)
        return (round(part[0] * self.factor), *part[1:]) if part else part

    def _item(self, dtype: str) -> int:
        return _SIZES[self.value_dtype] if self.value_dtype and dtype in _FLOATS else self._old_item(dtype)

    @staticmethod
    def _old_item(dtype: str) -> int:
        return _SIZES[dtype] if dtype in _SIZES else int(np.dtype(dtype).itemsize)


def _batch_of(kinds: Iterable[Kind]) -> int:
    """Rows of a batch: the first length of what came in as data."""
    counts: dict[int, int] = {}
    for role, _, _, shape, *_ in kinds:
        if role == "input" and shape:
            counts[shape[0]] = counts.get(shape[0], 0) + 1
    if not counts:
        raise ProfilerError("No input was seen whose rows are the batch.", hint="read batches with an iterator or a DataLoader, "
                            "so that they are known as inputs.")
    return max(counts, key=lambda rows: (counts[rows], -rows))


class WhatIf:
    """Memory as it was and as it would be.

    Attributes
    ----------
    before, after : int
        Bytes at the peak.
    rows : list of dict
        Keys ``role owner before after``: bytes of what was alive at either peak.
    notes : list of str
        In how far ``after`` is no exact number; empty if it is.
    """

    def __init__(self, lives: Any, change: _Change) -> None:
        old = np.array([kind[7] for kind in lives.kinds], np.int64)
        new = np.array([change.size(kind) for kind in lives.kinds], np.int64)
        if ((old < IN_PLACE) != (new < IN_PLACE)).any():
            change.note("some arrays cross 64 KiB, from where gradients are computed in place and have no copy")
        self.change, self.notes = change.asked, change.notes
        self.before: int
        self.after: int
        (self.before, alive_before), (self.after, alive_after) = lives.peak(old), lives.peak(new)
        sums: dict[tuple[str, str], list[int]] = {}
        for number, kind in enumerate(lives.kinds):
            if alive_before[number] or alive_after[number]:
                held = sums.setdefault((kind[0], kind[1]), [0, 0])
                held[0] += int(alive_before[number] * old[number])
                held[1] += int(alive_after[number] * new[number])
        self.rows = [{"role": role, "owner": owner, "before": before, "after": after}
                     for (role, owner), (before, after) in sorted(sums.items(), key=lambda item: (-max(item[1]), item[0]))]

    @property
    def saved(self) -> int:
        """Bytes that the peak would be lower; negative if it would be higher."""
        return self.before - self.after

    def summary(self) -> str:
        """The answer in a sentence, and how exact it is."""
        asked = ", ".join(f"{name}={value!r}" for name, value in self.change.items()) or "no change"
        text = f"With {asked} the peak is {words.bytes_(self.after)} instead of {words.bytes_(self.before)}"
        return f"{text}; {'; '.join(self.notes)}." if self.notes else f"{text}, exactly."

    def table(self, rows: int | None = None) -> Table:
        """Bytes by role and owner, before and after."""
        cells = [[str(row["role"]), str(row["owner"]), words.bytes_(row["before"]), words.bytes_(row["after"])]
                 for row in self.rows[:rows]]
        return Table(("role", "owner", "before", "after"), self.rows, cells, self.summary(), "Alive at the peak")

    def __repr__(self) -> str:
        return repr(self.table(20))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.table(40).html}
