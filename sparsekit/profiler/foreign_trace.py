"""Traces of other profilers: torch.profiler's, MXNet's, and any other in Chrome's format; nothing in them is trusted."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import FileFormatError
from .columns import NONE, Columns, Strings, build
from .stored import Stored

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..base.types import JSON
    from .columns import Given
    from .types import ArrayRecord, MarkRecord, Memory, Record, Sample

    #: A JSON object.
    Object: TypeAlias = dict[str, JSON]

    #: Process and thread of an event, as text; of something begun also its kind.
    Track: TypeAlias = tuple[str, ...]

__all__ = ["read_foreign"]

#: Texts longer than this are cut.
LONGEST = 400

_DTYPES = {"float": "float32", "double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16", "long int": "int64",
           "long": "int64", "int": "int32", "short int": "int16", "signed char": "int8", "unsigned char": "uint8", "bool": "bool"}
_SIZES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}
_LANE_OF_CATEGORY = {"gpu_memcpy": "transfer", "gpu_memset": "transfer", "user_annotation": "user", "python_function": "user",
                     "gpu_user_annotation": "user", "Trace": "", "MXNET_C_API": "", "ac2g": ""}


def read_foreign(document: JSON, name: str) -> Stored:
    """Turn the parsed content of a trace into the data of a profile.

    Parameters
    ----------
    document : dict or list
        The object form of the trace-event format, or its array form.
    name : str
        Of the file, for messages.

    Raises
    ------
    FileFormatError
        If it holds no event with a name, a beginning and an end.
    """
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise _no_trace(name)
    origin = _origin(document, events)
    spans = _spans(events)
    if not spans:
        raise _no_trace(name)
    memory, marks = _memory(events), _marks(events)
    # Counters and marks may come before the first span and after the last.
    moments = [sample[0] for sample in memory["samples"]] + [mark["time"] for mark, _ in marks]
    begin = min(min(span[0] for span in spans), min(moments, default=math.inf))
    # GPU streams and threads of several processes get small numbers in the order in which they appear.
    tracks: dict[Track, int] = {}
    for span in spans:
        tracks.setdefault(_track(span[2]), len(tracks))
    kept = sorted(spans, key=lambda span: (tracks[_track(span[2])], span[0], -span[1]))
    records = _nested(kept, tracks, begin, origin)
    records.sort(key=lambda record: (record["start"], record["depth"], record["thread"]))
    _shift(memory, marks, begin, tracks)
    wall = max(max(record["start"] + record["duration"] for record in records), *(round(now - begin, 3) for now in moments), 0.0)
    return Stored(_columns(records, memory, [mark for mark, _ in marks], wall, {"trace of": origin}))


def _no_trace(name: str) -> FileFormatError:
    return FileFormatError(f"{name!r} is not a trace: it has no event with a name, a start and an end.",
                           hint="sparsekit reads traces of torch.profiler, of MXNet, and others in Chrome's format.")


def _origin(document: JSON, events: list[JSON]) -> str:
    if isinstance(document, dict) and "schemaVersion" in document:
        return "torch.profiler"
    categories = {event.get("cat") for event in events[:5000] if isinstance(event, dict) and isinstance(event.get("cat"), str)}
    return "mxnet.profiler" if "operator" in categories else "another profiler"


def _number(value: JSON) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or abs(value) > 1e18:
        return None
    return float(value)


def _text(value: JSON) -> str:
    return str(value)[:LONGEST]


def _track(event: Object) -> Track:
    return _text(event.get("pid", 0)), _text(event.get("tid", 0))


def _spans(events: list[JSON]) -> list[tuple[float, float, Object]]:
    """Start, duration and event of all that has both, from ``X`` events and pairs of ``B`` and ``E``."""
    found: list[tuple[float, float, Object]] = []
    open_ = _Open()
    for event in events:
        if not isinstance(event, dict) or _LANE_OF_CATEGORY.get(_text(event.get("cat"))) == "":
            continue
        start, kind = _number(event.get("ts")), event.get("ph")
        # MXNet writes each operator twice, by its device and by its category.
        twice = kind in ("b", "e") and event.get("cat") == "operator"
        if start is None or twice or kind not in ("X", "B", "E", "b", "e"):
            continue
        if kind == "X":
            duration = _number(event.get("dur"))
            if duration is not None and duration >= 0 and event.get("name") is not None:
                found.append((start, duration, event))
        elif kind in ("B", "b"):
            if event.get("name") is not None:
                open_.begin((str(kind), *_track(event)), start, event)
        else:
            begun = open_.end(("B" if kind == "E" else "b", *_track(event)), start, event.get("name"))
            if begun is not None:
                found.append((begun.start, start - begun.start, begun.event))
    return found


class _Begun:
    """The beginning of an event, and whether it is still open."""

    __slots__ = ("event", "open", "start")

    def __init__(self, start: float, event: Object) -> None:
        self.start, self.event, self.open = start, event, True


class _Open:
    """What has begun and not ended, on each track; every beginning is looked at once however many stay open."""

    def __init__(self) -> None:
        # The same beginning stands among all of its track and those of its name.
        self._tracks: dict[Track, list[_Begun]] = {}
        self._names: dict[tuple[Track, str], list[_Begun]] = {}

    def begin(self, track: Track, start: float, event: Object) -> None:
        entry = _Begun(start, event)
        self._tracks.setdefault(track, []).append(entry)
        self._names.setdefault((track, str(event["name"])), []).append(entry)

    def end(self, track: Track, now: float, name: JSON) -> _Begun | None:
        """Close the innermost of that name, or without a name the innermost; MXNet's have names, and need not nest."""
        waiting = self._tracks.get(track, []) if name is None else self._names.get((track, str(name)), [])
        while waiting and not waiting[-1].open:
            waiting.pop()
        if not waiting or now < waiting[-1].start:
            return None
        entry = waiting.pop()
        entry.open = False
        return entry


class _Described(NamedTuple):
    """What the name and the arguments of an event tell."""

    lane: str
    kind: str = "op"
    inputs: tuple[ArrayRecord, ...] = ()
    node: int | None = None


def _nested(spans: list[tuple[float, float, Object]], tracks: dict[Track, int], begin: float, origin: str) -> list[Record]:
    """Records of the spans, which are sorted by track and start: how deep each lies, and its own time."""
    records: list[Record] = []
    stack: list[Record] = []
    describe = _torch if origin == "torch.profiler" else _other
    for start, duration, event in spans:
        thread = tracks[_track(event)]
        start = round(start - begin, 3)
        while stack and (stack[-1]["thread"] != thread or start >= stack[-1]["start"] + stack[-1]["duration"]):
            stack.pop()
        if stack:
            # What sticks out of what it began in is cut, as only a rounding could make it.
            duration = min(duration, stack[-1]["start"] + stack[-1]["duration"] - start)
        duration = round(max(duration, 0.0), 3)
        args = event.get("args")
        found = describe(_text(event["name"]), _text(event.get("cat", "")), args if isinstance(args, dict) else {},
                         stack[-1]["lane"] if stack else "")
        record: Record = {
            "name": _text(event["name"]), "kind": found.kind, "lane": found.lane, "start": start, "duration": duration,
            "self": duration, "depth": len(stack), "layer": "", "node": found.node, "attrs": {}, "fallback": False,
            "became_dense": "", "inputs": list(found.inputs), "outputs": [],
            "bytes": sum(array["bytes"] for array in found.inputs), "flops": 0, "dense_flops": 0, "line": "", "thread": thread}
        if stack:
            stack[-1]["self"] = max(0.0, round(stack[-1]["self"] - duration, 3))
        records.append(record)
        stack.append(record)
    return records


def _torch(name: str, category: str, args: Object, outer: str) -> _Described:
    lane = _LANE_OF_CATEGORY.get(category, "forward")
    if name.startswith("autograd::engine") or outer == "backward":
        lane = "backward"
    elif name.startswith("Optimizer.step") or outer == "update":
        lane = "update"
    number = args.get("Sequence number")
    node = number if type(number) is int and 0 <= number < 1 << 53 and lane != "update" else None
    return _Described(lane, "span" if lane == "user" else "op", tuple(_inputs(args)), node)


def _inputs(args: Object) -> list[ArrayRecord]:
    """The arrays among the arguments of an operator of torch; those of sparse layouts look dense, as it records no layout."""
    shapes, types = args.get("Input Dims"), args.get("Input type")
    if not isinstance(shapes, list) or not isinstance(types, list):
        return []
    found: list[ArrayRecord] = []
    for shape, type_ in zip(shapes[:64], types[:64], strict=False):
        dtype = _DTYPES.get(_text(type_))
        sizes = [n for n in shape if type(n) is int and 0 <= n < 1 << 53] if isinstance(shape, list) else []
        if dtype is None or not isinstance(shape, list) or len(shape) > 64 or len(sizes) < len(shape):
            continue
        size = math.prod(sizes)
        stored = min(size * _SIZES.get(dtype, 1), 1 << 60)
        found.append({"stype": "default", "shape": sizes, "dtype": dtype, "nnz": min(size, 1 << 60), "density": 1.0,
                      "index_dtype": None, "bytes": stored, "components": {"data": stored}})
    return found


def _other(name: str, category: str, args: Object, outer: str) -> _Described:
    """Operators of MXNet say what they are by their names; in a trace of anything else every event is the user's."""
    if category != "operator":
        return _Described("user", "span")
    if name.startswith("_backward"):
        return _Described("backward")
    if name.startswith("Copy"):
        return _Described("transfer")
    return _Described("update" if name.endswith("_update") else "forward")


def _shift(memory: Memory, marks: list[tuple[MarkRecord, Track]], begin: float, tracks: dict[Track, int]) -> None:
    """Let times count from ``begin``, and number the threads of marks."""
    for sample in memory["samples"]:
        sample[0] = round(sample[0] - begin, 3)
    if memory["samples"]:
        memory["peak_time"] = round(memory["peak_time"] - begin, 3)
    for mark, track in marks:
        mark["time"], mark["thread"] = round(mark["time"] - begin, 3), tracks.get(track, 0)


def _memory(events: list[JSON]) -> Memory:
    """The curve of what torch says was allocated on the CPU, or MXNet's counters of its devices; times as they stand there."""
    samples: list[Sample] = []
    for event in events:
        args = event.get("args") if isinstance(event, dict) else None
        if not isinstance(event, dict) or not isinstance(args, dict):
            continue
        now = _number(event.get("ts"))
        if event.get("name") == "[memory]" and args.get("Device Type") == 0:
            held = _number(args.get("Total Allocated"))
        elif event.get("ph") == "C" and _text(event.get("name")).startswith("Memory: cpu"):
            held = next((found for found in map(_number, args.values()) if found is not None), None)
        else:
            continue
        if now is not None and held is not None and 0 <= held < 1 << 60:
            samples.append([now, int(held), {"workspace": int(held)}])
    samples.sort(key=lambda sample: sample[0])
    peak: Sample = max(samples, key=lambda sample: sample[1], default=[0.0, 0, {}])
    return {"peak_bytes": peak[1], "peak_time": peak[0], "samples": samples, "idle_bytes": 0, "at_peak": [],
            "process_peak_bytes": None, "temporaries": [], "process_samples": []}


def _marks(events: list[JSON]) -> list[tuple[MarkRecord, Track]]:
    """Markers and counters with their tracks, times as they stand there."""
    found: list[tuple[MarkRecord, Track]] = []
    for event in events:
        if (not isinstance(event, dict) or event.get("ph") not in ("i", "I", "n", "C") or event.get("name") in (None, "[memory]")
                or event.get("cat") in ("MXNET_C_API", "Device Storage")):
            continue
        now, counts = _number(event.get("ts")), event.get("ph") == "C"
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        value = next((number for number in map(_number, args.values()) if number is not None), None) if counts else None
        if now is not None and not (counts and value is None):
            found.append(({"kind": "counter" if counts else "marker", "name": _text(event["name"]), "time": now, "value": value,
                           "unit": "", "thread": 0}, _track(event)))
    return found


def _columns(records: list[Record], memory: Memory, marks: list[MarkRecord], wall: float, environment: dict[str, str]) -> Columns:
    """All of it as columns."""
    kinds: dict[tuple[Any, ...], int] = {}  # Any: name, type, lane, bytes and inputs of a kind of event
    arrays: dict[tuple[Any, ...], int] = {}  # Any: shape, element type, values and bytes of an array
    events: list[list[int]] = []
    for record in records:
        taken = tuple(arrays.setdefault((tuple(array["shape"]), array["dtype"], array["nnz"], array["bytes"]), len(arrays))
                      for array in record["inputs"])
        kind = kinds.setdefault((record["name"], record["kind"], record["lane"], record["bytes"], taken), len(kinds))
        node = NONE if record["node"] is None else record["node"]
        events.append([record["thread"], kind, _ns(record["start"]), _ns(record["duration"]), _ns(record["self"]),
                       _ns(record["duration"]), record["depth"], node])
    names = ("thread", "kind", "start", "duration", "own", "net", "depth", "node")
    found: dict[str, Given] = {name: [event[place] for event in events] for place, name in enumerate(names)}
    held = [0, *(sample[1] for sample in memory["samples"])]
    return build(
        Strings(), runs={"wall": [_ns(wall)], "events": [len(records)], "error": [NONE],
                         "about": [json.dumps({"environment": environment})]},
        arrays={"stype": ["default"] * len(arrays), "shape": [array[0] for array in arrays],
                "dtype": [array[1] for array in arrays], "stored": [array[2] for array in arrays],
                "rows": [NONE] * len(arrays), "bytes": [array[3] for array in arrays],
                "components": [["data"]] * len(arrays), "sizes": [[array[3]] for array in arrays]},
        kinds={"name": [kind[0] for kind in kinds], "type": [kind[1] for kind in kinds], "lane": [kind[2] for kind in kinds],
               "bytes": [kind[3] for kind in kinds], "inputs": [kind[4] for kind in kinds],
               "storage": [f"{', '.join(['default'] * len(kind[4]))} ->" if kind[4] else "" for kind in kinds]},
        events={**found, "run": [0] * len(events)},
        # Nothing says what was allocated, only how much there was: pieces of one byte.
        holdings={"role": ["workspace"], "bytes": [1]},
        changes={"run": [0] * (len(held) - 1), "holding": [0] * (len(held) - 1),
                 "time": [_ns(sample[0]) for sample in memory["samples"]],
                 "count": [after - before for before, after in itertools.pairwise(held)]},
        marks={"run": [0] * len(marks), "time": [_ns(mark["time"]) for mark in marks],
               "thread": [mark["thread"] for mark in marks], "kind": [mark["kind"] for mark in marks],
               "name": [mark["name"] for mark in marks],
               "value": [json.dumps(mark["value"]) for mark in marks]})


def _ns(microseconds: float) -> int:
    return round(microseconds * 1000)
