"""Memory of a changed model: the arrays of a run replayed with other types, gradients or batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..base.errors import ProfilerError, UnknownNameError
from ..base.formatting import format_bytes
from ..base.memory_model import FLOATS, INDICES, LASTING, Change, Sizes
from .arguments import flag, most_rows, whole
from .memory_timeline import Lives
from .table import Table
from .torch_gradients import COUNTED, counted_rows

if TYPE_CHECKING:
    from ..base.memory_model import Kind
    from .profile import Profile

#: What may be changed.
CHANGES = ("index_dtype", "value_dtype", "gradient", "lazy_state", "batch_size")

T = TypeVar("T")

GRADIENTS = ("row_sparse", "default")

#: Most rows of a batch or a gradient: bytes of what has more may not fit into 64 bits.
MOST_ROWS = 1 << 31


def what_if(profile: Profile, *, index_dtype: str | None = None, value_dtype: str | None = None,
            gradient: str | Mapping[str, str] | None = None, lazy_state: bool = False, batch_size: int | None = None,
            rows: int | Mapping[str, int] | None = None) -> WhatIf:
    """Compute the memory of a changed model without running it.

    Every array of the run gets its new size.  The allocations and frees are replayed in their order, so the peak may occur at
    a different moment.

    Parameters
    ----------
    profile : Profile
    index_dtype : {"int32", "int64"}, optional
        Type of the indices of all sparse arrays.
    value_dtype : {"float16", "float32", "float64"}, optional
        Type of all floating-point values.
    gradient : {"row_sparse", "default"} or dict, optional
        Storage type of the gradients of all parameters, or of those that a dict names: ``{"dense0_weight": "row_sparse"}``.
        The number of nonzero rows of a dense gradient is not known.  It is taken from ``rows``, or bounded by the
        number of values that a csr batch stores.  A parameter with neither keeps its gradient, and ``notes`` say so.  With
        "default", a row_sparse gradient becomes one dense array that every backward pass writes to.
    lazy_state : bool
        Keep optimizer state only for the rows that a gradient touched, together with their int64 row numbers.  This applies
        to parameters with row-sparse gradients, or to all parameters if there is none.  The number of rows is that of the
        largest gradient, so the result is a lower bound.
    batch_size : int, optional
        Number of rows of a batch.  The batch is the input of the forward pass, or the rows that are cut from it; ``batch`` is
        its recorded number of rows.  Arrays whose first axis has the length of the batch grow in proportion.  So do the stored
        values of sparse arrays and the rows of row-sparse gradients, on the assumption that further samples are like these.
        A data set that batches are cut from keeps its size.
    rows : int or dict, optional
        Number of rows that a gradient stores, for all parameters or by parameter.  The default is the number that
        ``Profiler(torch=True)`` counted.

    Returns
    -------
    WhatIf

    Raises
    ------
    UnknownNameError
        If a type is not one of those offered, or the run has no parameter of that name.
    ProfilerError
        If the profile is of several processes or of another profiler, if a necessary number is unknown, or if a number of rows is
        invalid.
    """
    for value, offered, noun in ((index_dtype, INDICES, "index type"), (value_dtype, FLOATS, "value type"),
                                 *((stype, GRADIENTS, "storage type of gradients") for stype in _values(gradient))):
        if value is not None:
            UnknownNameError.check(noun, value, offered)
    flag("lazy_state", lazy_state)
    for name, count, least in (("batch_size", batch_size, 1), *(("rows", each, 0) for each in _values(rows))):
        if count is not None:
            whole(name, count, least, MOST_ROWS, "it counts rows: 100, for example.")
    data = profile._data()
    if not data.has_lives:
        raise ProfilerError("This profile does not hold the lifetime of each array.",
                            hint="ask the profile of one process, recorded by mx.Profiler().")
    lives = data.lives
    _check_names(lives.kinds, gradient, rows)
    if gradient is not None and not any(kind.role in LASTING for kind in lives.kinds):
        raise ProfilerError("The profile holds no parameter, so it knows no gradient whose storage type could be another.",
                            hint="arrays of gluon's parameters and of executors are known as parameters; plain arrays are not.")
    batch, bounds = lives.batch, lives.bounds
    if batch_size is not None and not batch:
        raise ProfilerError("The profile holds no input array whose rows are the batch.",
                            hint="read batches with an iterator or a DataLoader, "
                            "so that they are known as inputs.")
    change = Change(index_dtype, value_dtype, gradient, lazy_state, batch_size)
    if rows is None and COUNTED in data.columns.strings:
        rows = {counted.parameter: counted.most for counted in counted_rows(profile.records)
                if counted.axis == "rows" and counted.layout == "default"} or None
    return WhatIf(lives, Sizes(change, lives.kinds, batch, profile.gradient_rows, bounds, rows, lives.data_sets, lives.apart))


def _values(argument: T | Mapping[str, T]) -> list[T]:
    return list(argument.values()) if isinstance(argument, Mapping) else [argument]


def _check_names(kinds: list[Kind], gradient: str | Mapping[str, str] | None, rows: int | Mapping[str, int] | None) -> None:
    """Raise for unknown names of parameters, and for parameters of fewer than two axes."""
    shapes = {kind.owner: kind.shape for kind in kinds if kind.role in LASTING}
    for name in (name for option in (gradient, rows) if isinstance(option, Mapping) for name in option):
        UnknownNameError.check("parameter", name, shapes)
        if len(shapes[name]) < 2:
            raise ProfilerError(f"{name!r} has shape {shapes[name]}: its gradient is dense.",
                                hint="name parameters with at least two axes.")


class WhatIf:
    """Memory before and after a change.

    Attributes
    ----------
    before, after : int
        Bytes at the peak.
    batch : int
        Recorded number of rows of a batch; 0 if it could not be determined.
    rows : list of dict
        Keys ``role owner before after``: bytes of the arrays that are alive at the peak, before and after the change.
    notes : list of str
        Why ``after`` is an estimate; empty if it is exact.
    parts : list of tuple of Part
        What each row of the table of holdings would consist of.
    """

    def __init__(self, lives: Lives, sizes: Sizes) -> None:
        old = np.array([kind.bytes for kind in lives.kinds], np.int64)
        new = np.array(sizes.all(lives.kinds), np.int64)
        asked = sizes.change.gradient if isinstance(sizes.change.gradient, Mapping) else ()
        unknown = [name for name in sizes.missing if name in asked]
        if unknown or (sizes.missing and sizes.rows is None and not (sizes.known or sizes.bounds)):
            owner = (unknown or sizes.missing)[0] or "a parameter"
            raise ProfilerError(f"How many rows a row_sparse gradient of {owner} stores is not known.",
                                hint="give rows=, for all parameters or as {name: rows}.")
        self.notes, self.batch = sizes.notes, sizes.batch
        self.change = {name: value for name, value in (*sizes.change._asdict().items(), ("rows", sizes.rows))
                       if value is not None and value is not False}
        self.before: int
        self.after: int
        (self.before, alive_before), (self.after, alive_after) = lives.peak(old), lives.peak(new)
        parts = [sizes.parts(kind) for kind in lives.kinds]
        self.parts = [parts[number] for number in lives.of_holding.tolist()]
        sums: dict[tuple[str, str], list[int]] = {}
        for number, kind in enumerate(lives.kinds):
            if alive_before[number]:
                sums.setdefault((kind.role, kind.owner), [0, 0])[0] += int(alive_before[number] * old[number])
            for part in parts[number] if alive_after[number] else ():
                sums.setdefault((part.role, kind.owner), [0, 0])[1] += int(alive_after[number] * part.bytes)
        self.rows = [{"role": role, "owner": owner, "before": before, "after": after}
                     for (role, owner), (before, after) in sorted(sums.items(), key=lambda item: (-max(item[1]), item[0]))]

    @property
    def saved(self) -> int:
        """Reduction of the peak in bytes; negative if the peak would be higher."""
        return self.before - self.after

    def summary(self) -> str:
        """The answer in a sentence, and how exact it is."""
        asked = ", ".join(f"{name}={value!r}{f' instead of {self.batch}' if name == 'batch_size' else ''}"
                          for name, value in self.change.items()) or "no change"
        text = f"With {asked} the peak is {format_bytes(self.after)} instead of {format_bytes(self.before)}"
        return f"{text}; {'; '.join(self.notes)}." if self.notes else f"{text}, exactly."

    def table(self, rows: int | None = None) -> Table:
        """Bytes by role and owner, before and after."""
        most_rows(rows)
        cells = [[str(row["role"]), str(row["owner"]), format_bytes(row["before"]), format_bytes(row["after"])]
                 for row in self.rows[:rows]]
        return Table(("role", "owner", "before", "after"), self.rows, cells, self.summary(), "Alive at the peak")

    def __repr__(self) -> str:
        return repr(self.table(20))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        return {"text/plain": repr(self), "text/html": self.table(40).html}
