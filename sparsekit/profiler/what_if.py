"""Memory as it would be: the arrays of a run replayed with other types, gradients or batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base.errors import ProfilerError, UnknownNameError
from ..base.sizes import FLOATS, INDICES, Change, Sizes
from . import words
from .table import Table

__all__ = ["CHANGES", "WhatIf", "what_if"]

#: What may be changed.
CHANGES = ("index_dtype", "value_dtype", "gradient", "lazy_state", "batch_size")


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
        Storage type of the gradients of parameters.  The rows of one that was dense are not known: give ``rows``, or
        what a csr batch stores is taken as their bound, and parameters without one stay as they are; ``notes`` say so.
    lazy_state : bool
        Optimizer state only for rows that a gradient touched, with their int64 numbers, of parameters with row-sparse
        gradients, or of all if none was.  The most rows of one gradient are taken, so that it is a lower bound.
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
        If the profile comes from a file, which holds no single allocations, or if nothing tells a number that is needed.
    """
    for value, offered, what in ((index_dtype, INDICES, "index type"), (value_dtype, FLOATS, "value type"),
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
    batch, bounds = lives.batch, lives.bounds(profile.memory["at_peak"])
    if batch_size is not None and not batch:
        raise ProfilerError("No input was seen whose rows are the batch.", hint="read batches with an iterator or a DataLoader, "
                            "so that they are known as inputs.")
    change = Change(index_dtype, value_dtype, gradient, lazy_state, batch_size)
    return WhatIf(lives, Sizes(change, lives.kinds, batch, profile.gradient_rows, bounds, rows))


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

    def __init__(self, lives: Any, sizes: Sizes) -> None:
        old = np.array([kind[7] for kind in lives.kinds], np.int64)
        new = np.array(sizes.all(lives.kinds), np.int64)
        if sizes.missing and not (sizes.rows or sizes.known or sizes.bounds):
            owner = sizes.missing[0] or "a parameter"
            raise ProfilerError(f"How many rows a row_sparse gradient of {owner} stores is not known.",
                                hint="give rows=, for all parameters or as {name: rows}.")
        self.notes = sizes.notes
        self.change = {name: value for name, value in (*sizes.change._asdict().items(), ("rows", sizes.rows)) if value}
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
