"""The data of a profile as tables of columns: the same object while recording, read from a file, and merged from runs.

``SCHEMA`` is the only description of the data.  Empty tables, interning of texts, merging, selecting, and the file with its
checks all follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from ..base.types import Array

#: Table -> column -> kind.  ``text``: number of a text; ``-> t``: row of table ``t``, or ``NONE``; ``[x]``: a list of x for each
#: row.  A ``+`` marks what mostly grows from row to row, of which the file has the differences.  Times are in nanoseconds since
#: the start of the run, without the time in which the profiler was paused.
SCHEMA: Mapping[str, Mapping[str, str]] = {
    # A run, or a process of several; times of different runs are on one clock if they have an offset.
    "runs": {"name": "text", "process": "text", "number": "i8", "offset": "i8", "error": "i8", "wall": "i8", "overhead": "i8",
             "events": "i8", "more_marks": "i8", "about": "text"},
    # What is said of an array; equal ones share a row.  ``stored`` is -1 where nothing says how many values are stored.
    "arrays": {"stype": "text", "shape": "[i8]", "dtype": "text", "index_dtype": "text", "stored": "i8", "rows": "i8",
               "bytes": "i8", "components": "[text]", "sizes": "[i8]", "role": "text", "owner": "text"},
    # What events have in common.  ``attrs`` is JSON.
    "kinds": {"name": "text", "type": "text", "lane": "text", "layer": "text", "line": "text", "storage": "text", "attrs": "text",
              "became_dense": "text", "fallback": "i1", "converts": "i1", "bytes": "i8", "flops": "i8", "dense_flops": "i8",
              "inputs": "[-> arrays]", "outputs": "[-> arrays]"},
    # In the order of their starts, an event before those that it contains.  ``own`` is without the events inside, and ``net``
    # without compilation inside.  ``moved`` are bytes of this event alone, beside those of its kind; ``arguments`` is JSON, and
    # holds what differs from ``attrs`` of its kind.
    # ``made_by`` has for each input the event that wrote it last, ``conversion`` the one that made it dense.
    "events": {"run": "-> runs", "thread": "i4", "kind": "-> kinds", "start": "i8+", "duration": "i8", "own": "i8", "net": "i8",
               "depth": "i2", "node": "i8+", "moved": "i8", "arguments": "text", "conversion": "-> events",
               "made_by": "[-> events]"},
    # Exact sums of the events that are not kept.
    "folded": {"run": "-> runs", "name": "text", "lane": "text", "layer": "text", "storage": "text", "calls": "i8", "total": "i8",
               "own": "i8", "minimum": "i8", "maximum": "i8", "bytes": "i8", "flops": "i8", "dense_flops": "i8"},
    # Pieces of memory that are alike, and how many more (or less) of them there are from some time on.  ``met`` is 1 for pieces
    # that no operator made: they were there before, or came from another library.
    "holdings": {"role": "text", "owner": "text", "layer": "text", "stype": "text", "component": "text", "shape": "[i8]",
                 "part": "[i8]", "dtype": "text", "bytes": "i8"},
    "changes": {"run": "-> runs", "time": "i8+", "holding": "-> holdings", "count": "i8", "met": "i1"},
    # Sparse arrays that silently became dense.  Without a time, ``times`` of them were only counted.
    "ledger": {"run": "-> runs", "time": "i8", "thread": "i4", "times": "i8", "op": "text", "line": "text", "kind": "text",
               "source": "text", "target": "text", "shape": "[i8]", "bytes_before": "i8", "bytes_after": "i8", "reason": "text",
               "remedy": "text"},
    # Markers and values of counters; ``value`` is JSON.
    "marks": {"run": "-> runs", "time": "i8", "thread": "i4", "kind": "text", "name": "text", "value": "text", "unit": "text",
              "line": "text"},
    # What the whole process held, and what arrays operators made and freed inside.
    "process_memory": {"run": "-> runs", "time": "i8+", "bytes": "i8"},
    "temporaries": {"run": "-> runs", "op": "text", "layer": "text", "arrays": "i8", "bytes": "i8", "most": "i8"},
    "gradient_rows": {"run": "-> runs", "parameter": "text", "rows": "i8"},
}

_LONE = re.compile("[\ud800-\udfff]")

#: In a column of references: no row.
NONE = -1


class Ragged(NamedTuple):
    """A list for each row: those of row i are ``values[ends[i - 1]: ends[i]]``."""

    values: Array
    ends: Array

    def of(self, row: int) -> Array:
        """The list of one row."""
        return self.values[self.ends[row - 1] if row else 0: self.ends[row]]

    def lists(self) -> list[list[int]]:
        """All lists."""
        values, ends = self.values.tolist(), self.ends.tolist()
        return [values[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)] if ends else []

    def taken(self, rows: Array) -> Ragged:
        """The lists of some rows."""
        begins = np.concatenate([[0], self.ends[:-1]])[rows] if len(self.ends) else np.zeros(0, np.int64)
        lengths = self.ends[rows] - begins if len(self.ends) else begins
        ends = np.cumsum(lengths)
        places = np.repeat(begins - (ends - lengths), lengths)
        places += np.arange(len(places))
        return Ragged(self.values[places], ends.astype(np.int64))


#: A column of a table.
Column: TypeAlias = "Array | Ragged"

#: What a column may be made of: numbers, texts, or lists of either.  Any: which of these, its kind says.
Given: TypeAlias = "Sequence[Any] | Array | Ragged"


def plain_kind(kind: str) -> str:
    """The kind of the single values of a column."""
    return kind.strip("[]+")


def reference_of(kind: str) -> str | None:
    """The table that a column refers to; None if it refers to none."""
    kind = plain_kind(kind)
    return kind.removeprefix("-> ") if kind.startswith("-> ") else None


def dtype_of(kind: str) -> np.dtype[Any]:  # Any: an integer type
    """The element type of a column."""
    kind = plain_kind(kind)
    return np.dtype("<i4" if kind == "text" or kind.startswith("->") else f"<{kind}")


def writable(text: str) -> str:
    """The same with a replacement for each half of a surrogate pair, which no file and no page can have."""
    return text if text.isascii() else _LONE.sub("\N{REPLACEMENT CHARACTER}", text)


class Strings:
    """Texts and their numbers; number 0 is the empty text."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._numbers: dict[str, int] = {"": 0}
        for text in texts:
            self.number(text)

    def number(self, text: str) -> int:
        """The number of a text, as ``writable`` has it."""
        return self._numbers.setdefault(writable(text), len(self._numbers))

    def all(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self._numbers)


class Table:
    """The columns of one table by name: numpy arrays, and ``Ragged`` where a row has a list."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = dict(columns)

    def __getattr__(self, name: str) -> Any:  # Any: an array or a Ragged, as SCHEMA says
        columns = self.__dict__.get("_columns", {})
        if name not in columns:
            raise AttributeError(f"This table has no column {name!r}; it has {', '.join(columns)}.")
        return columns[name]

    def __dir__(self) -> list[str]:
        return [*self._columns]

    def __len__(self) -> int:
        first = next(iter(self._columns.values()))
        return len(first.ends) if isinstance(first, Ragged) else len(first)

    def __repr__(self) -> str:
        return f"<{len(self):,} rows of {', '.join(self._columns)}>"

    def items(self) -> Iterable[tuple[str, Column]]:
        """The columns with their names."""
        return self._columns.items()


class Columns:
    """All tables of a profile.

    Parameters
    ----------
    tables : mapping of str to Table
        One for each of ``SCHEMA``.
    strings : list of str
        The texts that columns of numbers stand for.
    """

    def __init__(self, tables: Mapping[str, Table], strings: list[str]) -> None:
        self.strings = strings
        self.tables = dict(tables)
        for name, table in self.tables.items():
            setattr(self, name, table)

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Table: ...

    def texts(self, numbers: Array) -> list[str]:
        """The texts that some numbers stand for."""
        return [self.strings[number] for number in np.asarray(numbers).tolist()]

    def where_text(self, holds: Iterable[str]) -> Array:
        """By the number of each text, whether it is one of these."""
        wanted = set(holds)
        return np.array([text in wanted for text in self.strings], bool)

    def only(self, run: int) -> Columns:
        """One of several runs."""
        rows = {table: np.flatnonzero(getattr(self, table).run == run) for table, columns in SCHEMA.items() if "run" in columns}
        return self.taken({**rows, "runs": np.array([run])})

    def changed(self, changes: Mapping[str, Mapping[str, Column]]) -> Columns:
        """The same with other columns in some tables."""
        tables = {name: Table({**dict(table.items()), **changes.get(name, {})}) for name, table in self.tables.items()}
        return Columns(tables, self.strings)

    def taken(self, taken: Mapping[str, Array]) -> Columns:
        """The same with these rows of some tables, in this order; what referred to other rows refers to none."""
        places = {}
        for name, kept in taken.items():
            places[name] = np.full(len(getattr(self, name)), NONE)
            places[name][kept] = np.arange(len(kept))
        tables = {}
        for name, table in self.tables.items():
            rows = taken.get(name)
            columns: dict[str, Column] = {}
            for column, values in table.items():
                if rows is not None:
                    values = taken_of(values, rows)
                target = reference_of(SCHEMA[name][column])
                columns[column] = mapped(values, places[target]) if target in places else values
            tables[name] = Table(columns)
        return Columns(tables, self.strings)


def taken_of(values: Column, rows: Array) -> Column:
    """Some rows of a column."""
    return values.taken(rows) if isinstance(values, Ragged) else values[rows]


def mapped(values: Column, places: Array) -> Column:
    """References after their rows have moved to other places."""
    if isinstance(values, Ragged):
        return Ragged(_mapped(values.values, places), values.ends)
    return _mapped(values, places)


def _mapped(values: Array, places: Array) -> Array:
    if not len(places):
        return np.full_like(values, NONE)
    return np.where(values < 0, values, places[values]).astype(values.dtype)


def build(strings: Strings, **tables: Mapping[str, Given]) -> Columns:
    """Tables of what is given by table and column: numbers, texts, or lists of them; texts may be given as their numbers.

    Columns that are not given are filled with zeros, with ``NONE`` where they are references, and with empty lists.
    """
    built = {}
    for name, columns in SCHEMA.items():
        values = tables.get(name, {})
        rows = len(next(iter(values.values()))) if values else 0
        built[name] = Table({column: _column(kind, values[column], strings) if column in values else empty(kind, rows)
                             for column, kind in columns.items()})
    return Columns(built, strings.all())


def _column(kind: str, values: Given, strings: Strings) -> Column:
    if isinstance(values, Ragged):
        return Ragged(values.values.astype(dtype_of(kind), copy=False), values.ends)
    if isinstance(values, np.ndarray):
        return values.astype(dtype_of(kind), copy=False)
    if kind.startswith("["):
        flat = [item for row in values for item in row]
        ends = np.cumsum([len(row) for row in values], dtype=np.int64)
        return Ragged(_array(kind, flat, strings), ends)
    return _array(kind, values, strings)


def _array(kind: str, values: Sequence[Any], strings: Strings) -> Array:  # Any: as in Given
    if plain_kind(kind) == "text":
        values = [strings.number(text) for text in values]
    return np.array(values, dtype_of(kind))


def empty(kind: str, rows: int) -> Column:
    """A column that says nothing of its rows."""
    if kind.startswith("["):
        return Ragged(np.zeros(0, dtype_of(kind)), np.zeros(rows, np.int64))
    return np.full(rows, NONE if reference_of(kind) else 0, dtype_of(kind))


def merged(parts: Sequence[Columns]) -> Columns:
    """The tables of several profiles in one: rows follow each other, and references move along."""
    strings = Strings()
    numbers = [np.array([strings.number(text) for text in part.strings], np.int32) for part in parts]
    tables = {}
    for name, columns in SCHEMA.items():
        together: dict[str, Column] = {}
        for column, kind in columns.items():
            shifts = _shifts(parts, reference_of(kind))
            pieces = [_renumbered(getattr(getattr(part, name), column), kind, numbers[place], shifts[place])
                      for place, part in enumerate(parts)]
            together[column] = joined(pieces)
        tables[name] = Table(together)
    return Columns(tables, strings.all())


def _shifts(parts: Sequence[Columns], target: str | None) -> list[int]:
    """By how much references of each part move."""
    lengths = [len(getattr(part, target)) if target else 0 for part in parts]
    return [sum(lengths[:place]) for place in range(len(parts))]


def _renumbered(values: Column, kind: str, numbers: Array, shift: int) -> Column:
    if isinstance(values, Ragged):
        moved = _renumbered(values.values, plain_kind(kind), numbers, shift)
        return Ragged(moved if not isinstance(moved, Ragged) else moved.values, values.ends)
    if plain_kind(kind) == "text":
        return numbers[values]
    return np.where(values < 0, values, values + shift).astype(values.dtype) if shift else values


def joined(columns: Sequence[Column]) -> Column:
    """The rows of several columns of a kind, after each other."""
    first = columns[0]
    if not isinstance(first, Ragged):
        return np.concatenate([column for column in columns if not isinstance(column, Ragged)])
    lists = [column for column in columns if isinstance(column, Ragged)]
    begins = np.cumsum([0, *(len(column.values) for column in lists)])
    return Ragged(np.concatenate([column.values for column in lists]),
                  np.concatenate([column.ends + begin for column, begin in zip(lists, begins, strict=False)]))
