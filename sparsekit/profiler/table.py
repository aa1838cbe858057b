"""Aggregate tables of a profile: by operator, layer, lane, storage types, line or notebook cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..base.formatting import counted, format_bytes, format_count, format_duration
from ..base.tables import html_table, text_table
from .group_by_line import FOLDED, FOLDED_LINE, NOWHERE, PLACES, by_line, cell_of
from .groups import COSTS, TIMES, grouped, put_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..base.types import Array
    from .columns import Columns
    from .group_by_line import CellMemory
    from .stored import Stored
    from .types import DeviceRow, Record, TotalRow

#: What rows may be grouped by, and which fields name a row then.
GROUPS: dict[str, tuple[str, ...]] = {
    "op": ("name", "lane"),
    "layer": ("layer", "lane"),
    "lane": ("lane",),
    "storage": ("name", "lane", "storage"),
    "op+layer": ("name", "lane", "layer"),
    "line": ("line",),
    "cell": ("cell",),
    "process": ("process", "lane"),
    "op+process": ("process", "name", "lane"),
}

#: What rows may be sorted by, and the field that means.
SORTS = {"total": "total", "self": "self", "avg": "mean", "mean": "mean", "min": "min", "max": "max",
         "count": "calls", "calls": "calls", "bytes": "bytes", "flops": "flops", "name": "name"}

#: A column: its title, the field that it shows, and what writes that.  Any: a value of the field
Column: TypeAlias = tuple[str, str, Callable[[Any], str]]

COLUMNS: tuple[Column, ...] = (
    ("calls", "calls", format_count), ("total", "total", format_duration), ("own time", "self", format_duration),
    ("mean", "mean", format_duration), ("min", "min", format_duration), ("max", "max", format_duration),
    ("moved", "bytes", format_bytes), ("useful FLOP", "flops", format_count),
)

#: What a cell has beside them.
MEMORY_COLUMNS: tuple[Column, ...] = (("peak memory", "peak", format_bytes), ("kept", "kept", format_bytes))

_TITLES = {"process": "process", "name": "operator", "lane": "lane", "layer": "layer", "storage": "storage types", "line": "line",
           "cell": "cell or file"}


class Table:
    """Rows that print as text in a terminal and as a plain table in a notebook.

    Attributes
    ----------
    columns : tuple of str
    rows : list of dict
        The numbers, with ``column -> value``; times in microseconds.
    footer : str
        A note on the numbers.
    """

    # Any: the fields of whatever the rows are
    def __init__(self, columns: tuple[str, ...], rows: Sequence[Mapping[str, Any]], cells: list[list[str]], footer: str,
                 caption: str = "") -> None:
        self.columns, self.rows, self.footer, self.caption = columns, rows, footer, caption
        self.cells = cells

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], columns: Iterable[Column], footer: str = "",  # Any: of each field its own
           caption: str = "") -> Table:
        """A table of rows whose columns say what they show: a field as ``write`` has it, and nothing where that is None."""
        shown = list(columns)
        cells = [["" if row[name] is None else write(row[name]) for _, name, write in shown] for row in rows]
        return cls(tuple(title for title, _, _ in shown), rows, cells, footer, caption)

    def __repr__(self) -> str:
        text = text_table(self.columns, self.cells)
        return f"{text}\n{self.footer}" if self.footer else text

    @property
    def _title(self) -> str:
        """The caption and the note as sentences."""
        return f"{self.caption}. {self.footer}" if self.caption and self.footer else self.caption or self.footer

    @property
    def html(self) -> str:
        """The table as plain HTML."""
        return html_table(self.columns, self.cells, self._title)

    def plain(self) -> dict[str, list[str] | list[list[str]] | str]:
        """The table as plain data for a report: ``columns rows caption``."""
        return {"columns": list(self.columns), "rows": self.cells, "caption": self._title}

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        return {"text/plain": repr(self), "text/html": self.html}

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:  # Any: as in rows
        return iter(self.rows)


def aggregate(columns: Columns, fields: tuple[str, ...]) -> list[TotalRow]:
    """Totals of all events by some of the fields that ``GROUPS`` names; times in microseconds."""
    by = tuple({"cell": "line", "process": "run"}.get(field, field) for field in fields)
    by_group = grouped(columns, *by) if "line" not in by else by_line(columns)
    names = list(zip(*(_names(columns, field, by_group[asked]) for field, asked in zip(fields, by, strict=True)), strict=True))
    groups = {name: number for number, name in enumerate(dict.fromkeys(names))}  # runs and cells may share a name
    place = np.array([groups[name] for name in names], np.int64)
    sums = {key: put_together(key, place, len(groups), by_group[key]).tolist() for key in (*TIMES, *COSTS)}
    # The fields that name a row are those of a grouping.
    return [{**dict(zip(fields, name, strict=True)), **_row({key: values[number] for key, values in sums.items()})}  # type: ignore[typeddict-item]
            for name, number in groups.items()]


def _names(columns: Columns, field: str, numbers: Array) -> list[str]:
    """What groups are called."""
    if field == "process":
        return [name or "this process" for name in columns.texts(columns.runs.name[numbers])]
    texts = [{FOLDED_LINE: FOLDED, 0: NOWHERE}.get(number) or columns.strings[number] for number in numbers.tolist()
             ] if field in PLACES else columns.texts(numbers)
    return [cell_of(text) for text in texts] if field == "cell" else texts


def _row(sums: dict[str, int]) -> TotalRow:
    return {"calls": sums["calls"], "total": sums["total"] / 1000, "self": sums["own"] / 1000, "min": sums["minimum"] / 1000,
            "max": sums["maximum"] / 1000, "mean": sums["total"] / max(1, sums["calls"]) / 1000, "bytes": sums["bytes"],
            "flops": sums["flops"], "dense_flops": sums["dense_flops"]}


def totals_table(columns: Columns, sort_by: str = "self", group_by: str = "op", ascending: bool | None = None,
                 rows: int | None = None, footer: str = "", memory: Mapping[str, CellMemory] | None = None,
                 own: TotalRow | None = None) -> Table:
    """Build the aggregate table; ``memory``, by the first field that names a row, adds columns, and ``own`` adds a row."""
    fields, key = GROUPS[group_by], SORTS[sort_by]
    totals = aggregate(columns, fields) + ([own] if own else [])
    shown_columns = (*COLUMNS, *MEMORY_COLUMNS) if memory else COLUMNS
    for row in totals if memory else ():
        row["peak"], row["kept"] = memory.get(str(_field(row, fields[0])), (0, 0))  # type: ignore[union-attr]  # else no rows
    if key == "name":
        key = fields[0]
    descending = key not in fields if ascending is None else not ascending
    totals.sort(key=lambda row: tuple(str(_field(row, field)) for field in fields))
    totals.sort(key=lambda row: _natural(_field(row, key)), reverse=descending)
    shown = totals if rows is None else totals[:rows]
    if len(shown) < len(totals):
        footer = f"{counted(len(totals) - len(shown), 'more row', 'are')} not shown. {footer}".strip()
    table = Table.of(shown, [*((_TITLES[field], field, str) for field in fields), *shown_columns], footer)
    table.rows = totals
    return table


def _field(row: TotalRow, name: str) -> float | str:
    # Names are those of GROUPS and SORTS.
    value: float | str = row[name]  # type: ignore[literal-required]
    return value


def _natural(value: float | str) -> Any:  # Any: a number, or a list of texts and numbers
    """What to sort by: ``In [10]`` comes after ``In [9]``."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", value)] if isinstance(value, str) else value


# --------------------------------------------------------------------------- tables about some events


def by_shape(shape: Sequence[int]) -> str:
    """A shape as tables write it."""
    return " × ".join(map(str, shape))


_SIZES: tuple[Column, ...] = (("shape", "shape", by_shape), ("bytes before", "bytes_before", format_bytes),
                              ("bytes after", "bytes_after", format_bytes))


def ledger_table(data: Stored) -> Table:
    """Densifications grouped by operator, line, storage types and shape; a sparse array's bytes vary from batch to batch."""
    groups: dict[tuple[Any, ...], list[tuple[int, int]]] = {}  # Any: the fields
    kept = Counter(record for _, _, record in data.densifications)
    for record, number in (*kept.items(), *data.more_densifications.items()):
        key = (record.op, record.kind, record.line, record.source, record.target, record.shape, record.bytes_after, record.remedy)
        groups.setdefault(key, []).append((record.bytes_before, number))
    rows = []
    for key, found in groups.items():
        least, most = (format_bytes(choose(size for size, _ in found)) for choose in (min, max))
        rows.append({**dict(zip(("op", "kind", "line", "source", "target", "shape", "bytes_after", "remedy"), key, strict=True)),
                     "bytes_before": max(size for size, _ in found), "times": sum(number for _, number in found),
                     "before": most if least == most else f"{least} to {most}"})
    return Table.of(rows, [
        ("operator", "op", str), ("kind", "kind", str), ("line", "line", str), ("from", "source", str), ("to", "target", str),
        ("shape", "shape", by_shape), ("bytes before", "before", str), ("bytes after", "bytes_after", format_bytes),
        ("times", "times", format_count), ("remedy", "remedy", str)],
        caption="Sparse arrays that silently became dense")


def conversions_table(records: Iterable[Record]) -> Table:
    """Changes of storage type, by operator, line, types and shape: those that the program asks for, and others."""
    columns: list[Column] = [(name, name, str) for name in ("operator", "line", "from", "to")]
    columns += [*((title, title, write) for title, _, write in _SIZES), ("how", "how", str), ("times", "times", format_count)]
    groups: dict[tuple[Any, ...], int] = {}  # Any: the columns
    for record in records:
        if record["lane"] == "convert" and record["kind"] == "op" and record["inputs"] and record["outputs"]:
            source, target = record["inputs"][0], record["outputs"][0]
            implicit = bool(record["became_dense"] or record["depth"] or record["attrs"].get("asked") is False)
            key = (record["name"], record["line"], source["stype"], target["stype"], tuple(source["shape"]), source["bytes"],
                   target["bytes"], "implicit" if implicit else "asked for")
            groups[key] = groups.get(key, 0) + 1
    rows = [dict(zip([name for name, _, _ in columns], (*key, number), strict=True)) for key, number in groups.items()]
    return Table.of(rows, columns, caption="Changes of storage type")


def transfers_table(totals: Iterable[TotalRow]) -> Table:
    """Copies between devices, from and to Python, numpy and scipy, and reads of data."""
    rows = [{**{name: row[name] for name in ("name", "lane", "calls", "bytes", "total")},
             "rate": row["bytes"] / row["total"] * 1e6 if row["total"] else 0.0}
            for row in totals if row["lane"] in ("transfer", "io")]
    return Table.of(sorted(rows, key=lambda row: (-row["bytes"], row["name"])), [
        ("transfer", "name", str), ("lane", "lane", str), ("calls", "calls", format_count), ("bytes", "bytes", format_bytes),
        ("time", "total", format_duration), ("rate", "rate", lambda rate: f"{format_bytes(rate)}/s")],
        caption="Bytes moved between places")


def devices_table(rows: Sequence[DeviceRow]) -> Table:
    """Time on GPUs, by operator and context."""
    columns: list[Column] = [("operator", "op", str), ("context", "context", str), ("calls", "calls", format_count)]
    columns += [(title, name, lambda milliseconds: format_duration(milliseconds * 1000))
                for title, name in (("time", "milliseconds"), ("queuing", "queuing"))]
    return Table.of(rows, columns, "" if rows else "No work on a GPU was measured.", "Time on GPUs")
