"""Tables of a profile that are about some events: changes of storage type, transfers, work of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.formatting import format_bytes, format_count, format_duration
from .table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..core import hooks
    from .stored import Stored
    from .types import DeviceRow, Record, TotalRow

__all__ = ["conversions_table", "devices_table", "ledger_table", "transfers_table"]

_LEDGER = ("operator", "kind", "line", "from", "to", "shape", "bytes before", "bytes after", "times", "remedy")
_CONVERSIONS = ("operator", "line", "from", "to", "shape", "bytes before", "bytes after", "how", "times")


def ledger_table(data: Stored) -> Table:
    """Densifications grouped by operator, line, storage types and shape."""
    groups: dict[hooks.Densification, int] = {}
    for _, _, record in data.densifications:
        groups[record] = groups.get(record, 0) + 1
    for record, number in data.more_densifications.items():
        groups[record] = groups.get(record, 0) + number
    cells = [[r.op, r.kind, r.line, r.source, r.target, " × ".join(map(str, r.shape)), format_bytes(r.bytes_before),
              format_bytes(r.bytes_after), format_count(n), r.remedy] for r, n in groups.items()]
    rows = [{**record._asdict(), "times": number} for record, number in groups.items()]
    return Table(_LEDGER, rows, cells, "", "Sparse arrays that silently became dense")


def conversions_table(records: Iterable[Record]) -> Table:
    """Changes of storage type, by operator, line, types and shape: those that the program asks for, and others."""
    groups: dict[tuple[Any, ...], int] = {}  # Any: the columns
    for record in records:
        if record["lane"] == "convert" and record["kind"] == "op" and record["inputs"] and record["outputs"]:
            source, target = record["inputs"][0], record["outputs"][0]
            implicit = bool(record["became_dense"] or record["depth"] or record["attrs"].get("asked") is False)
            key = (record["name"], record["line"], source["stype"], target["stype"], tuple(source["shape"]), source["bytes"],
                   target["bytes"], "implicit" if implicit else "asked for")
            groups[key] = groups.get(key, 0) + 1
    rows = [dict(zip(_CONVERSIONS, (*key, number), strict=True)) for key, number in groups.items()]
    cells = [[*key[:4], " × ".join(map(str, key[4])), format_bytes(key[5]), format_bytes(key[6]), key[7],
              format_count(number)] for key, number in groups.items()]
    return Table(_CONVERSIONS, rows, cells, "", "Changes of storage type")


def transfers_table(totals: Iterable[TotalRow]) -> Table:
    """Copies between devices, from and to Python, numpy and scipy, and reads of data."""
    rows = [row for row in totals if row["lane"] in ("transfer", "io")]
    rows.sort(key=lambda row: (-row["bytes"], row["name"]))
    found = [{"name": row["name"], "lane": row["lane"], "calls": row["calls"], "bytes": row["bytes"], "total": row["total"],
              "rate": row["bytes"] / row["total"] * 1e6 if row["total"] else 0.0} for row in rows]
    cells = [[row["name"], row["lane"], format_count(row["calls"]), format_bytes(row["bytes"]), format_duration(row["total"]),
              f"{format_bytes(one['rate'])}/s"] for row, one in zip(rows, found, strict=True)]
    return Table(("transfer", "lane", "calls", "bytes", "time", "rate"), found, cells, "", "Bytes moved between places")


def devices_table(rows: Sequence[DeviceRow]) -> Table:
    """Time on GPUs, by operator and context."""
    cells = [[row["op"], row["context"], format_count(row["calls"]), format_duration(row["milliseconds"] * 1000),
              format_duration(row["queuing"] * 1000)] for row in rows]
    footer = "" if rows else "No work on a GPU was measured."
    return Table(("operator", "context", "calls", "time", "queuing"), rows, cells, footer, "Time on GPUs")
