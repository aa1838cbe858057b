"""Reading a trace back: nothing in the file is trusted."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from ..base.entry import entry
from ..base.errors import DataFileError
from ..base.files import path_of
from ..core import hooks
from .event_store import Key, Total
from .foreign_trace import read_foreign
from .parts import Part, Process, combined, totals_of
from .profile import Profile
from .source import Stored

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..base.types import JSON
    from .types import Alive, ArrayRecord, MarkRecord, Memory, Record, Sample, Temporary

    #: A JSON object.
    Object: TypeAlias = dict[str, JSON]


__all__ = ["MAX_BYTES", "MAX_EVENTS", "load_trace", "loaded"]

#: Largest trace that is read, after decompression.
MAX_BYTES = 1 << 30

#: Bytes that are read at once.
BLOCK = 1 << 20

#: Most processes that a trace may have.
MAX_PROCESSES = 10_000

#: Most events that are read.
MAX_EVENTS = 5_000_000

_ORIGIN = "traces are written by prof.save_trace(), `sparsekit profile` and SPARSEKIT_PROFILE=1."


@entry
def load_trace(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> Profile:
    """Read a trace that sparsekit wrote, or torch.profiler, MXNet or another profiler in Chrome's format.

    Parameters
    ----------
    path : path
        A ``.json`` or ``.json.gz`` file.
    max_bytes : int
        Largest decompressed size, in bytes, that is read.

    Returns
    -------
    Profile
        It has the records, memory, ledger and displays of the saved profile.  Fields that other profilers do not record are
        empty: storage types, bytes written, layers.

    Raises
    ------
    DataFileError
        If the file is missing, truncated, too large, or not a trace.
    """
    path = path_of(path)
    name = Path(path).name
    return _profile(_parse(_read(path, name, max_bytes), name), name)


def loaded(content: bytes, name: str) -> Profile:
    """The profile that a compressed trace of this library holds, which another process sent.

    Raises
    ------
    DataFileError
        If it is not a trace.
    """
    return _profile(_parse(_unpacked(io.BytesIO(content), name, MAX_BYTES), name), name)


def _profile(document: JSON, name: str) -> Profile:
    other = document.get("otherData") if isinstance(document, dict) else None
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(other, dict) or not isinstance(events, list) or other.get("format") != "sparsekit-trace":
        count = document if isinstance(document, list) else events
        if isinstance(count, list) and len(count) > MAX_EVENTS:
            raise _too_many(name, len(count))
        return Profile(read_foreign(document, name))
    if other.get("version") != 1:
        raise DataFileError(f"{name!r} is a trace of version {other.get('version')!r}; this sparsekit reads version 1.",
                            hint="update sparsekit.")
    if len(events) > MAX_EVENTS:
        raise _too_many(name, len(events))
    return Profile(_processes(name, other, events) if "processes" in other else _Reader(name, other, events).stored())


def _processes(name: str, other: Object, events: list[JSON]) -> Stored:
    """The data of a trace of several processes."""
    reader = _Reader(name, other, [])
    described = reader.items(other, "processes")
    if not 0 < len(described) <= MAX_PROCESSES:
        raise reader.wrong(f"'processes' must be from 1 to {MAX_PROCESSES}")
    found: list[list[JSON]] = [[] for _ in described]
    for place, event in enumerate(events):
        reader.place = place
        number = event.get("pid") if isinstance(event, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= len(found):
            raise reader.wrong("'pid' must be the number of a process")
        found[number - 1].append(event)
    reader.place = -1
    parts = []
    for about, own in zip(described, found, strict=True):
        process = reader.process(about)
        part = _Reader(name, about, own).stored()
        for record in part.records:
            record["process"] = process.name
        parts.append(Part(process, part))
    return combined(parts)


def _too_many(name: str, count: int) -> DataFileError:
    return DataFileError(f"{name!r} has {count:,} events, more than {MAX_EVENTS:,}.", hint="profile less at once.")


def _read(path: str, name: str, most: int) -> bytes:
    try:
        with open(path, "rb") as stream:
            return _unpacked(stream, name, most)
    except DataFileError:
        raise
    except OSError as error:
        raise DataFileError(f"{name!r} cannot be read: {error.strerror or error}.", hint=_ORIGIN) from error


def _unpacked(stream: BinaryIO, name: str, most: int) -> bytes:
    """What a file holds, unpacked if it is packed; memory is taken for what is there, once it is known to be little enough."""
    try:
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        if packed:
            stream = cast("BinaryIO", gzip.GzipFile(fileobj=stream))  # cast: it has the methods
        size = 0
        while size <= most and (block := stream.read(BLOCK)):
            size += len(block)
        if size > most:
            raise DataFileError(f"{name!r} is larger than {most:,} bytes when unpacked.",
                                hint="load_trace(path, max_bytes=…) reads more.")
        stream.seek(0)
        return stream.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFileError(f"{name!r} is truncated or damaged: {error}.", hint="write the trace again.") from error


def _parse(content: bytes, name: str) -> JSON:
    try:
        found: JSON = json.loads(content, parse_constant=_refuse)
        return found
    except json.JSONDecodeError as error:
        truncated = error.pos >= len(error.doc.rstrip()) - 1 or error.msg.startswith("Unterminated")
        what = "ends too early: it is truncated" if truncated and content.strip() else f"is not valid JSON: {error.msg}"
        raise DataFileError(f"{name!r} {what} (line {error.lineno}).", hint=_ORIGIN) from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise DataFileError(f"{name!r} is not valid JSON: {type(error).__name__}.", hint=_ORIGIN) from error


def _refuse(constant: str) -> None:
    raise ValueError(constant)


class _Reader:
    """Turns the plain content of a trace into the data of a profile, checking each field it takes."""

    def __init__(self, name: str, other: Object, events: list[JSON]) -> None:
        self.name, self.other, self.events = name, other, events
        self.place = -1

    def wrong(self, what: str) -> DataFileError:
        """The error for a field that is not what it must be."""
        where = f"event {self.place} of {self.name!r}" if self.place >= 0 else f"{self.name!r}"
        return DataFileError(f"{where} is damaged: {what}.", hint="write the trace again.")

    def stored(self) -> Stored:
        records: list[Record] = []
        densifications: list[tuple[float, int, hooks.Densification]] = []
        marks: list[MarkRecord] = []
        for place, event in enumerate(self.events):
            self.place = place
            if not isinstance(event, dict):
                raise self.wrong("it is not an object")
            kind = event.get("ph")
            if kind == "X":
                records.append(self.record(event))
            elif kind == "i" and event.get("cat") == "convert":
                densifications.append((self.number(event, "ts"), self.thread(event), self.densification(event)))
            elif kind in ("i", "C") and event.get("cat") == "user":
                marks.append(self.mark(event, "counter" if kind == "C" else "marker"))
        self.place = -1
        folded = dict(map(self.total, self.items(self.other, "folded_totals")))
        return Stored(
            records=records, densifications=densifications, marks=marks, memory=self.memory(),
            gradient_rows={name: int(self.number(self.mapping(self.other, "gradient_rows"), name))
                           for name in self.mapping(self.other, "gradient_rows")},
            totals=totals_of(records, folded), folded_totals=folded,
            environment={str(k): str(v) for k, v in self.mapping(self.other, "environment").items()},
            **{field: self.number(self.other, field) for field in ("wall", "accounted", "overhead")},
            **{field: int(self.number(self.other, field)) for field in ("folded", "events", "densified")})

    def process(self, about: Object) -> Process:
        """What is said of one process."""
        kind, error, offset = self.text(about, "kind"), about.get("error"), about.get("offset")
        if kind not in ("worker", "server", "process"):
            raise self.wrong("'kind' must be that of a process")
        if isinstance(offset, bool) or not isinstance(offset, (int, float)) or not abs(offset) < 1e18:
            raise self.wrong("'offset' must be a number")
        return Process(self.text(about, "name"), kind, int(self.number(about, "number")), offset,
                       None if error is None else self.number(about, "error"), self.mapping(about, "about"))

    def number(self, mapping: Object, field: str) -> float:
        value = mapping.get(field)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e18:
            raise self.wrong(f"{field!r} must be a number from 0 to 1e18")
        return value

    def text(self, mapping: Object, field: str) -> str:
        value = mapping.get(field)
        if not isinstance(value, str) or len(value) > 10_000:
            raise self.wrong(f"{field!r} must be text of at most 10,000 characters")
        return value

    def items(self, mapping: Object, field: str) -> list[Object]:
        value = mapping.get(field)
        found = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
        if not isinstance(value, list) or len(found) < len(value):
            raise self.wrong(f"{field!r} must be a list of objects")
        return found

    def mapping(self, mapping: Object, field: str) -> Object:
        value = mapping.get(field)
        if not isinstance(value, dict):
            raise self.wrong(f"{field!r} must be an object")
        return value

    def thread(self, event: Object) -> int:
        return max(0, int(self.number(event, "tid")) - 1)

    def record(self, event: Object) -> Record:
        args = self.mapping(event, "args")
        lane, node, kind = str(event.get("cat")), args.get("node"), str(args.get("kind"))
        if lane not in hooks.LANES:
            raise self.wrong(f"'cat' must be a lane, got {lane[:40]!r}")
        if kind not in ("op", "span") or not (node is None or (isinstance(node, int) and not isinstance(node, bool))):
            raise self.wrong("'kind' must be 'op' or 'span', and 'node' an integer or null")
        record: Record = {
            "name": self.text(event, "name"), "kind": kind, "lane": lane, "start": self.number(event, "ts"),
            "duration": self.number(event, "dur"), "self": self.number(args, "self"),
            "depth": int(self.number(args, "depth")), "layer": self.text(args, "layer"), "node": node,
            "attrs": self.mapping(args, "attrs"), "fallback": args.get("fallback") is True,
            "became_dense": self.kind(args, "became_dense", hooks.FALLBACK if args.get("fallback") is True else ""),
            "inputs": self.arrays(args, "inputs"), "outputs": self.arrays(args, "outputs"),
            "bytes": int(self.number(args, "bytes")), "flops": int(self.number(args, "flops")),
            "dense_flops": int(self.number(args, "dense_flops")),
            "line": self.text(args, "line"), "thread": self.thread(event),
        }
        if "conversion" in args:
            record["conversion"] = int(self.number(args, "conversion"))
        return record

    def arrays(self, args: Object, field: str) -> list[ArrayRecord]:
        return [self.array(item) for item in self.items(args, field)]

    def array(self, item: Object) -> ArrayRecord:
        index_dtype = item.get("index_dtype")
        made: ArrayRecord = {
            "stype": self.text(item, "stype"), "shape": self.sizes(item), "dtype": self.text(item, "dtype"),
            "nnz": int(self.number(item, "nnz")), "density": self.number(item, "density"),
            "index_dtype": index_dtype if index_dtype is None else self.text(item, "index_dtype"),
            "bytes": int(self.number(item, "bytes")),
            "components": {str(name): int(self.number(self.mapping(item, "components"), name))
                           for name in self.mapping(item, "components")},
        }
        if "rows" in item:
            made["rows"] = int(self.number(item, "rows"))
        return made

    def sizes(self, item: Object) -> list[int]:
        shape = item.get("shape")
        sizes = [n for n in shape if type(n) is int and n >= 0] if isinstance(shape, list) else []
        if not isinstance(shape, list) or len(shape) > 64 or len(sizes) < len(shape):
            raise self.wrong("'shape' must be a list of sizes")
        return sizes

    def densification(self, event: Object) -> hooks.Densification:
        args = self.mapping(event, "args")
        texts = {field: self.text(args, field) for field in ("op", "line", "source", "target", "reason", "remedy")}
        return hooks.Densification(shape=tuple(self.sizes(args)), bytes_before=int(self.number(args, "bytes_before")),
                                   bytes_after=int(self.number(args, "bytes_after")), **texts,
                                   kind=self.kind(args, "kind", hooks.FALLBACK))

    def kind(self, args: Object, field: str, missing: str) -> str:
        """The kind of a densification; traces of early versions have none."""
        found = args.get(field, missing)
        if found not in ("", *hooks.KINDS):
            raise self.wrong(f"{field!r} must be a kind of densification")
        return str(found)

    def mark(self, event: Object, kind: str) -> MarkRecord:
        value = self.mapping(event, "args").get("value")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.wrong("'value' is not finite")
        return {"kind": kind, "name": self.text(event, "name"), "time": self.number(event, "ts"), "value": value,
                "unit": self.text(event, "unit") if "unit" in event else "", "thread": self.thread(event),
                "line": self.text(event, "line") if "line" in event else ""}

    def total(self, item: Object) -> tuple[Key, Total]:
        made = Total()
        for name in Total.__slots__:
            setattr(made, name, int(self.number(item, name)))
        return Key(*(self.text(item, field) for field in Key._fields)), made

    def memory(self) -> Memory:
        found = self.mapping(self.other, "memory")
        peak = found.get("process_peak_bytes")
        devices = {str(name): {str(what): int(self.number(self.mapping(self.mapping(found, "devices"), name), what))
                               for what in self.mapping(self.mapping(found, "devices"), name)}
                   for name in (self.mapping(found, "devices") if "devices" in found else ())}
        made: Memory = {
            "peak_bytes": int(self.number(found, "peak_bytes")), "peak_time": self.number(found, "peak_time"),
            "samples": [self.sample(sample) for sample in self.listed(found, "samples")],
            "idle_bytes": int(self.number(found, "idle_bytes")),
            "at_peak": [self.alive(item) for item in self.items(found, "at_peak")],
            "process_peak_bytes": peak if peak is None else int(self.number(found, "process_peak_bytes")),
            # Traces of early versions have neither.
            "temporaries": [self.temporary(item) for item in self.items({"temporaries": [], **found}, "temporaries")],
            "process_samples": [self.sample([*pair, {}])[:2] if isinstance(pair, list) else self.sample(pair)
                                for pair in self.listed({"process_samples": [], **found}, "process_samples")],
        }
        if "table_bytes" in found:
            made["table_bytes"] = int(self.number(found, "table_bytes"))
        if "found" in found:
            made = {"found": [self.sample([*pair, {}])[:2] if isinstance(pair, list) else self.sample(pair)
                              for pair in self.listed(found, "found")], **made}
        return {"devices": devices, **made} if devices else made

    def temporary(self, item: Object) -> Temporary:
        return {"op": self.text(item, "op"), "layer": self.text(item, "layer"), "arrays": int(self.number(item, "arrays")),
                "bytes": int(self.number(item, "bytes")), "most": int(self.number(item, "most"))}

    def listed(self, mapping: Object, field: str) -> list[JSON]:
        value = mapping.get(field)
        if not isinstance(value, list):
            raise self.wrong(f"{field!r} must be a list")
        return value

    def sample(self, sample: JSON) -> Sample:
        if not isinstance(sample, list) or len(sample) != 3 or not isinstance(sample[2], dict):
            raise self.wrong("a memory sample must be [time, bytes, roles]")
        fields: Object = {"time": sample[0], "bytes": sample[1]}
        roles = {str(role): int(self.number(sample[2], role)) for role in sample[2]}
        return [self.number(fields, "time"), int(self.number(fields, "bytes")), roles]

    def alive(self, item: Object) -> Alive:
        return {"owner": self.text(item, "owner"), "role": self.text(item, "role"), "stype": self.text(item, "stype"),
                "shape": self.sizes(item), "component": self.text(item, "component"),
                "dtype": self.text(item, "dtype") if "dtype" in item else "",
                "bytes": int(self.number(item, "bytes")), "layer": self.text(item, "layer")}
