"""Chrome traces, which a profile writes for Perfetto.

The file is the object form of the trace-event format: complete ``X`` events with all that a record
holds in ``args``, ``M`` names, ``C`` memory counters, ``i`` instants, and ``s``/``f`` arrows from a
forward operator to its backward ones.  A merged profile has a process of the format for each of its own.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO, TypeAlias

    from .profile import Profile
    from .stored import Stored
    from .types import MarkRecord, Record

    #: One event of the file, or another object of it.
    Event: TypeAlias = Mapping[str, object]  # object: whatever JSON can say, and records, which are of that kind

PROCESS, NAME = 1, "sparsekit"

_ARGUMENTS = ("kind", "self", "depth", "layer", "node", "attrs", "fallback", "became_dense", "conversion", "inputs", "outputs",
              "bytes", "flops", "dense_flops", "line")


def write_trace(profile: Profile, stream: IO[bytes], compressed: bool) -> None:
    """Write a profile as a Chrome trace."""
    # No name and no time in the header: the same profile gives the same bytes.
    packed = gzip.GzipFile("", "wb", 6, stream, mtime=0) if compressed else nullcontext(stream)
    with packed as to:
        _write_text(profile, io.TextIOWrapper(to, encoding="utf-8", newline="\n", write_through=True))


def _write_text(profile: Profile, stream: io.TextIOWrapper) -> None:
    data = profile._data()
    stream.write('{"displayTimeUnit": "ms",\n"otherData": ')
    stream.write(_json(_other(data)))
    stream.write(',\n"traceEvents": [\n')
    separator = ""
    for event in _all_events(data):
        stream.write(separator + _json(event))
        separator = ",\n"
    stream.write("\n]}\n")
    stream.flush()
    stream.detach()


def _json(value: Event) -> str:
    # Perfetto does not put escaped surrogate pairs together, so characters are written as they are.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _all_events(data: Stored) -> Iterator[Event]:
    """The events of a profile, those of several processes one process after the other."""
    if not data.parts:
        yield from trace_events(data)
    for number, (process, own) in enumerate(data.parts, PROCESS):
        yield from trace_events(own, number, process.name)


def _other(data: Stored) -> Event:
    """What no event says."""
    return {"written by": "sparsekit", "units": {"ts": "us", "dur": "us", "memory": "bytes"},
            "clock": "monotonic, from the start of the profile", "environment": data.environment, "wall": data.wall,
            "accounted": data.accounted, "events": data.events, "folded": data.folded,
            "processes": [process._asdict() for process, _ in data.parts]}


def trace_events(data: Stored, process: int = PROCESS, name: str = NAME) -> Iterator[Event]:
    """The events of one process, one plain dict each."""
    yield from _names(data, process, name)
    first = min((record["thread"] for record in data.records), default=0) if name != NAME else 0
    for record in data.records:
        yield {"name": record["name"], "cat": record["lane"], "ph": "X", "ts": record["start"],
               "dur": record["duration"], "pid": process, "tid": record["thread"] + 1,
               "args": {name: value for name, value in record.items() if name in _ARGUMENTS}}
    yield from _arrows(data.records, process)
    for now, total, roles in data.memory.get("samples", ()):
        yield {"name": "memory (bytes)", "ph": "C", "ts": now, "pid": process, "tid": first + 1,
               "args": roles or {"total": total}}
    for now, thread, densified in data.densifications:
        yield {"name": "densification", "cat": "convert", "ph": "i", "s": "t", "ts": now, "pid": process,
               "tid": thread + 1, "args": {**densified._asdict(), "shape": list(densified.shape)}}
    for mark in data.marks:
        yield _mark(mark, process)


def _names(data: Stored, process: int, name: str) -> Iterator[Event]:
    yield {"name": "process_name", "ph": "M", "pid": process, "tid": 0, "args": {"name": name}}
    if name != NAME:
        yield {"name": "process_sort_index", "ph": "M", "pid": process, "tid": 0, "args": {"sort_index": process}}
    threads = sorted({record["thread"] for record in data.records} | ({0} if name == NAME else set()))
    for thread in threads:
        tid = thread + 1
        words = "operators" if thread == threads[0] else f"operators, thread {tid}"
        yield {"name": "thread_name", "ph": "M", "pid": process, "tid": tid, "args": {"name": words}}
        yield {"name": "thread_sort_index", "ph": "M", "pid": process, "tid": tid, "args": {"sort_index": tid}}


def _arrows(records: list[Record], process: int) -> Iterator[Event]:
    """An arrow from each forward operator to the outermost operators of its gradient."""
    forward: dict[int, Record] = {}
    number = 0
    for record in records:
        node = record["node"]
        if node is None:
            continue
        if record["lane"] != "backward":
            forward.setdefault(node, record)
            continue
        source = forward.get(node)
        if source is None:
            continue
        number += 1
        common = {"name": "gradient", "cat": "gradient", "pid": process,
                  "id": number if process == PROCESS else f"{process}.{number}"}
        yield {**common, "ph": "s", "ts": source["start"], "tid": source["thread"] + 1}
        yield {**common, "ph": "f", "bp": "e", "ts": record["start"], "tid": record["thread"] + 1}


def _mark(mark: MarkRecord, process: int) -> Event:
    common = {"name": mark["name"], "cat": "user", "ts": mark["time"], "pid": process, "tid": mark["thread"] + 1,
              "line": mark.get("line", "")}
    value = mark["value"]
    if mark["kind"] == "counter" and isinstance(value, (int, float)) and math.isfinite(value):
        return {**common, "ph": "C", "args": {"value": value}, "unit": mark.get("unit", "")}
    return {**common, "ph": "i", "s": "t", "args": {"value": value}}
