"""What a distributed run moved between workers and servers, as a picture and as tables, and who waited for whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..base.errors import ProfilerError
from ..base.formatting import format_bytes, format_count, format_duration, format_share
from ..figures.cable import Crossed, Server, cable_figure
from .parts import workers_of
from .stored import Part
from .table import Table

if TYPE_CHECKING:
    from ..figures.figure import Figure
    from .stored import Stored
    from .table import Column
    from .types import Record

#: What is added up of each key in an exchange.
SUMS = ("pushes", "rows_pushed", "bytes_pushed", "pulls", "rows_pulled", "bytes_pulled")


def worker_parts(data: Stored) -> list[Part]:
    """The workers of a profile; a profile that was not merged is that of one."""
    if data.parts:
        return [part for part in data.parts if part.process.kind == "worker"]
    return workers_of(data)


def exchanges(records: Iterable[Record]) -> Iterator[Record]:
    """The calls of servers that say what they moved."""
    return (record for record in records if record["lane"] == "exchange" and "servers" in record["attrs"])


def distributed(data: Stored) -> Distributed:
    """Add up what a run moved.

    Raises
    ------
    ProfilerError
        If the profile has no exchange with a server.
    """
    if not any(True for _ in exchanges(data.records)):
        raise ProfilerError("The profile holds nothing that was exchanged with servers.",
                            hint="profile a worker that uses mx.kv.create('dist_sync'), or run with profile=True.")
    return Distributed(data)


class Distributed:
    """Bytes and times that a distributed run spent on exchanges: ``figure()``, and tables that also have plain ``rows``.

    Bytes count the arrays exactly: gradients, values and row numbers.  They leave out headers.  Times are in microseconds.

    Attributes
    ----------
    processes : Table
        One row for each process: round trips, bytes sent and received, and the largest possible error of its clock.  A worker
        also has the time of its exchanges and waits.  A server also has the time of its work, of optimizer steps and of
        beginning snapshots, and the number of duplicate pushes.
    keys : Table
        One row for each key and worker: pushes and pulls, their rows and bytes, and the share of the rows that a pull
        asks for.  Asynchronous gradients also have their mean and largest staleness: the number of updates by other workers
        that the gradient does not include.
    waits : Table
        How often, and for how many microseconds, a worker waited for other workers.
    servers : Table
        One row for each server: the bytes that workers exchanged with it, and the time of its work.
    balance : float
        Bytes of the server with the most traffic, divided by the mean over servers; 1 means an even load.
    """

    def __init__(self, data: Stored) -> None:
        self._workers = worker_parts(data)
        self._servers = [part for part in data.parts if part.process.kind == "server"]
        self._loads = self._by_server()
        loads = [bytes_ for bytes_, _ in self._loads.values()]
        self.balance = max(loads) * len(loads) / sum(loads) if sum(loads) else 1.0
        self.processes, self.keys = self._process_table(), self._key_table()
        self.waits, self.servers = self._wait_table(), self._server_table()

    def figure(self) -> Figure:
        """Draw what a step of a worker moves: the rows that cross against the whole table, at true scale, by server.

        Raises
        ------
        ProfilerError
            If the workers moved nothing of a key, or the profile does not have the sizes of tables.
        """
        for figure in self._pictures():
            return figure
        raise ProfilerError("The profile does not have what a step moved of a table.",
                            hint="profile a worker that pulls or pushes a key.")

    def _pictures(self) -> list[Figure]:
        """The picture, or none for a profile that does not have what it shows."""
        tables = list(self._crossed())
        return [cable_figure(tables)] if tables else []

    def _crossed(self) -> Iterator[Crossed]:
        """The mean step of each key, over steps and workers."""
        by_key: dict[object, list[dict[str, Any]]] = {}  # object: a key; Any: plain data
        for _, data in self._workers:
            for record in exchanges(data.records):
                for entry in _dicts(record["attrs"].get("keys", [])):
                    if "by_server" in entry and entry["bytes_pulled"] + entry["bytes_pushed"]:
                        by_key.setdefault(entry["key"], []).append(entry)
        for key, some in by_key.items():
            parts = [part for entry in some for part in _lists(entry["by_server"]) if len(part) == 4]
            pulls, pushes = (max(1, sum(entry[name] for entry in some)) for name in ("pulls", "pushes"))
            servers = {}
            for at in sorted({part[0] for part in parts}):
                own = [part for part in parts if part[0] == at]
                rows = sum(part[2] for part in own) / pulls, sum(part[3] for part in own) / pushes
                servers[at] = Server(f"server {at}", own[0][1], *rows)
            ways = [(sum(entry[f"rows_{way}"] for entry in some) / count, sum(entry[f"bytes_{way}"] for entry in some) / count,
                     "dense" if any(entry.get(f"{way}_whole") for entry in some) else "sparse")
                    for way, count in (("pulled", pulls), ("pushed", pushes))]
            yield Crossed(str(key), some[0]["rows"], some[0]["bytes"], ways[0], ways[1], list(servers.values()))

    def _by_server(self) -> dict[int, tuple[int, int]]:
        """Bytes and round trips of each server, as the workers count them."""
        by_server: dict[int, tuple[int, int]] = {}
        count = 0
        for _, data in self._workers:
            for record in exchanges(data.records):
                for server, sent, received in _lists(record["attrs"]["servers"]):
                    before = by_server.get(server, (0, 0))
                    by_server[server] = before[0] + sent + received, before[1] + 1
        count = max([*by_server, *(part.process.number for part in self._servers)], default=-1) + 1
        return {server: by_server.get(server, (0, 0)) for server in range(count)}

    def _process_table(self) -> Table:
        rows = [*map(self._worker_row, self._workers), *map(_server_row, self._servers)]
        times: list[Column] = [(name, name, format_duration) for name in ("exchange", "waiting", "work", "apply", "snapshot")]
        return Table.of(rows, [
            ("process", "process", str), ("round trips", "round_trips", format_count), ("sent", "sent", format_bytes),
            ("received", "received", format_bytes), *times, ("duplicates", "duplicates", format_count),
            ("clock", "clock_error", lambda error: f"±{format_duration(error)}")],
            " ".join(self._missing()), "Exchanges of each process")

    def _missing(self) -> Iterator[str]:
        """Sentences about what is not in the table of processes."""
        if folded := sum(data.folded for _, data in self._workers):
            yield f"{format_count(folded)} older events are not in these tables."
        if dropped := sum(int(_number(part.process.about.get("dropped"))) for part in self._servers):
            yield f"Servers kept only their latest spans: {format_count(dropped)} are missing."

    def _worker_row(self, part: Part) -> dict[str, Any]:  # Any: the fields of a row
        process, data = part
        exchanged = list(exchanges(data.records))
        waits = [record for record in data.records if record["lane"] == "wait"]
        about = [record["attrs"] for record in exchanged]
        # Any: plain data of the record
        sent, received = (sum(int(_number(attrs.get(name))) for attrs in about) for name in ("sent", "received"))
        return {"process": process.name, "round_trips": len(exchanged), "sent": sent, "received": received,
                "exchange": sum(record["duration"] for record in exchanged),
                "waiting": sum(record["duration"] for record in waits),
                "work": None, "apply": None, "snapshot": None, "duplicates": None, "clock_error": process.error}

    def _key_table(self) -> Table:
        stale = self._staleness()
        sums: dict[tuple[str, object], dict[str, Any]] = {}  # object: a key; Any: plain data
        for process, data in self._workers:
            for record in exchanges(data.records):
                for entry in _dicts(record["attrs"].get("keys", [])):
                    row = sums.setdefault((process.name, entry["key"]), {
                        "process": process.name, "key": entry["key"], "rows": entry["rows"], **dict.fromkeys(SUMS, 0),
                        "staleness": None, "most_stale": None})
                    for name in SUMS:
                        row[name] += entry[name]
            for key, lags in stale.items():
                if key[0] == process.number and (process.name, key[1]) in sums:
                    sums[process.name, key[1]] |= {"staleness": sum(lags) / len(lags), "most_stale": max(lags)}
        rows = sorted(sums.values(), key=lambda row: (-row["bytes_pushed"] - row["bytes_pulled"], row["process"],
                                                      str(row["key"])))
        columns = ("process", "key", "pushes", "rows", "pushed", "pulls", "rows", "pulled", "rows asked", "staleness")
        cells = [[row["process"], repr(row["key"]), format_count(row["pushes"]), format_count(row["rows_pushed"]),
                  format_bytes(row["bytes_pushed"]), format_count(row["pulls"]), format_count(row["rows_pulled"]),
                  format_bytes(row["bytes_pulled"]),
                  f"{format_share(row['rows_pulled'], row['rows'] * row['pulls'])} of {format_count(row['rows'])}"
                  if row["pulls"] and row["rows"] else "",
                  "" if row["staleness"] is None else f"{row['staleness']:.2g} (at most {row['most_stale']})"] for row in rows]
        return Table(columns, rows, cells, "", "Bytes moved by key")

    def _staleness(self) -> dict[tuple[int, object], list[int]]:  # object: a key
        """Steps of others that each gradient of a worker had not seen, where servers said so."""
        lags: dict[tuple[int, object], list[int]] = {}  # object: as above
        for process, data in self._servers:
            for record in data.records if process.about.get("mode") == "async" else ():
                rank, stale = record["attrs"].get("rank"), record["attrs"].get("stale")
                if record["lane"] == "apply" and isinstance(rank, int) and isinstance(stale, int):
                    lags.setdefault((rank, record["attrs"].get("key")), []).append(stale)
        return lags

    def _wait_table(self) -> Table:
        sums: dict[tuple[str, tuple[int, ...]], list[float]] = {}
        for process, data in self._workers:
            for record in data.records:
                ranks = record["attrs"].get("ranks")
                if record["lane"] == "wait" and isinstance(ranks, list):
                    entry = sums.setdefault((process.name, tuple(int(_number(rank)) for rank in ranks)), [0, 0.0, 0.0])
                    entry[0] += 1
                    entry[1] += record["duration"]
                    entry[2] = max(entry[2], record["duration"])
        rows = [{"process": name, "ranks": list(ranks), "waits": int(count), "time": time, "longest": longest}
                for (name, ranks), (count, time, longest) in sorted(sums.items())]
        return Table.of(rows, [
            ("process", "process", str),
            ("waited for", "ranks", lambda ranks: f"worker{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"),
            ("times", "waits", format_count), ("time", "time", format_duration), ("longest", "longest", format_duration)],
            caption="Waiting times between workers")

    def _server_table(self) -> Table:
        works = {part.process.number: _server_row(part) for part in self._servers}
        mean = sum(load for load, _ in self._loads.values()) / max(1, len(self._loads))
        # Any: the fields of a row
        rows: list[dict[str, Any]] = [
            {"server": server, "bytes": load, "round_trips": trips, "load": load / mean if mean else 1.0,
             **{name: works[server][name] if server in works else None for name in ("work", "apply", "snapshot", "rows_held")}}
            for server, (load, trips) in self._loads.items()]
        times: list[Column] = [(name, name, format_duration) for name in ("work", "apply", "snapshot")]
        return Table.of(rows, [
            ("server", "server", "server {}".format), ("round trips", "round_trips", format_count),
            ("bytes", "bytes", format_bytes), ("of the mean", "load", "{:.2f}".format), *times,
            ("rows held", "rows_held", format_count)],
            f"The server with the most bytes has {self.balance:.2f} times the mean.", "Load of the servers")

    def tables(self) -> list[Table]:
        """The tables that have rows."""
        return [table for table in (self.processes, self.keys, self.waits, self.servers) if len(table)]

    def sections(self) -> list[object]:  # object: a report shows displays and tables
        """The picture, if there is one, and the tables, for a page."""
        return [*self._pictures(), *(table.plain() for table in self.tables())]

    def __repr__(self) -> str:
        said = [figure.alt for figure in self._pictures()]
        return "\n\n".join([*said, *(f"{table.caption}\n{table!r}" for table in self.tables())])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        shown = [*(figure.html() for figure in self._pictures()), *(table.html for table in self.tables())]
        return {"text/plain": repr(self), "text/html": "\n".join(shown)}


def _server_row(part: Part) -> dict[str, Any]:  # Any: the fields of a row
    process, data = part
    times = {lane: sum(record["duration"] for record in data.records if record["lane"] == lane)
             for lane in ("serve", "apply", "snapshot")}
    moved = [sizes for record in data.records if isinstance(sizes := record["attrs"].get("moved"), list)]
    held = sum(int(_number(pair[1])) for pair in _lists(process.about.get("rows", [])))
    return {"process": process.name, "round_trips": len(moved), "received": sum(int(_number(amounts[0])) for amounts in moved),
            "sent": sum(int(_number(amounts[1])) for amounts in moved), "exchange": None, "waiting": None, "work": times["serve"],
            "apply": times["apply"], "snapshot": times["snapshot"], "duplicates": int(_number(process.about.get("duplicates"))),
            "clock_error": process.error, "rows_held": held}


def _number(value: object) -> float:  # object: plain data, of a file perhaps
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


# Any: as above
def _lists(value: object) -> Sequence[Any]:  # object: plain data, of a file perhaps
    return [item for item in value if isinstance(item, list)] if isinstance(value, list) else []


# Any: as above
def _dicts(value: object) -> Sequence[Any]:  # object: plain data, of a file perhaps
    wanted = {"key", "rows", *SUMS}
    return [item for item in value if isinstance(item, dict) and wanted <= item.keys()] if isinstance(value, list) else []
