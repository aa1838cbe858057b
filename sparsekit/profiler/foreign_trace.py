"""Traces of other profilers: torch.profiler's, MXNet's, and any other in Chrome's format; nothing in them is trusted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..base.errors import FileFormatError
from .describe import storage
from .event_store import Key, Total
from .source import Stored, accounted

__all__ = ["read_foreign"]

#: Texts longer than this are cut.
LONGEST = 400

_DTYPES = {"float": "float32", "double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16", "long int": "int64",
           "long": "int64", "int": "int32", "short int": "int16", "signed char": "int8", "unsigned char": "uint8", "bool": "bool"}
_SIZES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}
_LANE_OF_CATEGORY = {"gpu_memcpy": "transfer", "gpu_memset": "transfer", "user_annotation": "user", "python_function": "user",
                     "gpu_user_annotation": "user", "Trace": "", "MXNET_C_API": "", "ac2g": ""}


def read_foreign(document: dict[str, Any], name: str) -> Stored:
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
    moments = [sample[0] for sample in memory["samples"]] + [mark["time"] for mark in marks]
    begin = min(min(span[0] for span in spans), min(moments, default=math.inf))
    # GPU streams and threads of several processes get small numbers in the order in which they appear.
    tracks: dict[Any, int] = {}
    for span in spans:
        tracks.setdefault(_track(span[2]), len(tracks))
    kept = sorted(spans, key=lambda span: (tracks[_track(span[2])], span[0], -span[1]))
    records = _nested(kept, tracks, begin, origin)
    records.sort(key=lambda record: (record["start"], record["depth"], record["thread"]))
    _shift(memory, marks, begin, tracks)
    wall = max(max(record["start"] + record["duration"] for record in records), *(round(now - begin, 3) for now in moments), 0.0)
    return Stored(records=records, memory=memory, gradient_rows={}, densifications=[], densified=0, marks=marks,
                  totals=_totals(records), wall=wall, folded=0, folded_totals={}, events=len(records), overhead=0.0,
                  accounted=accounted(records, {}, wall, 0.0), environment={"trace of": origin})


def _no_trace(name: str) -> FileFormatError:
    return FileFormatError(f"{name!r} is not a trace: it has no event with a name, a start and an end.",
                           hint="sparsekit reads its own traces, torch.profiler's, MXNet's, and others in Chrome's format.")


def _origin(document: dict[str, Any], events: list[Any]) -> str:
    if isinstance(document, dict) and "schemaVersion" in document:
        return "torch.profiler"
    categories = {event.get("cat") for event in events[:5000] if isinstance(event, dict) and isinstance(event.get("cat"), str)}
    return "mxnet.profiler" if "operator" in categories else "another profiler"


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or abs(value) > 1e18:
        return None
    return float(value)


def _text(value: Any) -> str:
    return str(value)[:LONGEST]


def _track(event: dict[str, Any]) -> Any:
    return _text(event.get("pid", 0)), _text(event.get("tid", 0))


def _spans(events: list[Any]) -> list[tuple[float, float, dict[str, Any]]]:
    """Start, duration and event of all that has both, from ``X`` events and pairs of ``B`` and ``E``."""
    found: list[tuple[float, float, dict[str, Any]]] = []
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
                open_.begin((kind, *_track(event)), start, event)
        else:
            begun = open_.end(("B" if kind == "E" else "b", *_track(event)), start, event.get("name"))
            if begun is not None:
                found.append((begun[0], start - begun[0], begun[1]))
    return found


class _Open:
    """What has begun and not ended, on each track; every beginning is looked at once however many stay open."""

    def __init__(self) -> None:
        # Start, event and whether it is still open; the same list stands among all of its track and those of its name.
        self._tracks: dict[Any, list[list[Any]]] = {}
        self._names: dict[Any, list[list[Any]]] = {}

    def begin(self, track: Any, start: float, event: dict[str, Any]) -> None:
        entry = [start, event, True]
        self._tracks.setdefault(track, []).append(entry)
        self._names.setdefault((track, str(event["name"])), []).append(entry)

    def end(self, track: Any, now: float, name: Any) -> list[Any] | None:
        """Close the innermost of that name, or without a name the innermost; MXNet's have names, and need not nest."""
        waiting = self._tracks.get(track, []) if name is None else self._names.get((track, str(name)), [])
        while waiting and not waiting[-1][2]:
            waiting.pop()
        if not waiting or now < waiting[-1][0]:
            return None
        entry = waiting.pop()
        entry[2] = False
        return entry


def _nested(spans: list[Any], tracks: dict[Any, int], begin: float, origin: str) -> list[dict[str, Any]]:
    """Records of the spans, which are sorted by track and start: how deep each lies, and its own time."""
    records: list[dict[str, Any]] = []
    stack: list[dict[str, Any]] = []
    describe: Callable[..., dict[str, Any]] = _torch if origin == "torch.profiler" else _other
    for start, duration, event in spans:
        thread = tracks[_track(event)]
        start = round(start - begin, 3)
        while stack and (stack[-1]["thread"] != thread or start >= stack[-1]["start"] + stack[-1]["duration"]):
            stack.pop()
        if stack:
            # What sticks out of what it began in is cut, as only a rounding could make it.
            duration = min(duration, stack[-1]["start"] + stack[-1]["duration"] - start)
        duration = round(max(duration, 0.0), 3)
        record = {"name": _text(event["name"]), "kind": "op", "lane": "forward", "start": start, "duration": duration,
                  "self": duration, "depth": len(stack), "layer": "", "node": None, "attrs": {}, "fallback": False,
                  "became_dense": "", "inputs": [],
                  "outputs": [], "bytes": 0, "flops": 0, "dense_flops": 0, "line": "", "thread": thread}
        args = event.get("args")
        record.update(describe(record["name"], _text(event.get("cat", "")), args if isinstance(args, dict) else {},
                               stack[-1]["lane"] if stack else ""))
        if stack:
            stack[-1]["self"] = max(0.0, round(stack[-1]["self"] - duration, 3))
        records.append(record)
        stack.append(record)
    return records


def _torch(name: str, category: str, args: dict[str, Any], outer: str) -> dict[str, Any]:
    lane = _LANE_OF_CATEGORY.get(category, "forward")
    if name.startswith("autograd::engine") or outer == "backward":
        lane = "backward"
    elif name.startswith("Optimizer.step") or outer == "update":
        lane = "update"
    number = args.get("Sequence number")
    made: dict[str, Any] = {"lane": lane, "kind": "span" if lane == "user" else "op", "inputs": _inputs(args)}
    if type(number) is int and 0 <= number < 1 << 53 and lane != "update":
        made["node"] = number
    made["bytes"] = sum(array["bytes"] for array in made["inputs"])
    return made


def _inputs(args: dict[str, Any]) -> list[dict[str, Any]]:
    """The arrays among the arguments of an operator of torch; those of sparse layouts look dense, as it records no layout."""
    shapes, types = args.get("Input Dims"), args.get("Input type")
    if not isinstance(shapes, list) or not isinstance(types, list):
        return []
    found = []
    for shape, type_ in zip(shapes[:64], types[:64], strict=False):
        dtype = _DTYPES.get(_text(type_))
        if dtype is None or not isinstance(shape, list) or len(shape) > 64 or any(
                type(n) is not int or not 0 <= n < 1 << 53 for n in shape):
            continue
        size = math.prod(shape)
        stored = min(size * _SIZES.get(dtype, 1), 1 << 60)
        found.append({"stype": "default", "shape": shape, "dtype": dtype, "nnz": min(size, 1 << 60), "density": 1.0,
                      "index_dtype": None, "bytes": stored, "components": {"data": stored}})
    return found


def _other(name: str, category: str, args: dict[str, Any], outer: str) -> dict[str, Any]:
    """Operators of MXNet say what they are by their names; in a trace of anything else every event is the user's."""
    if category != "operator":
        return {"lane": "user", "kind": "span"}
    if name.startswith("_backward"):
        return {"lane": "backward"}
    if name.startswith("Copy"):
        return {"lane": "transfer"}
    return {"lane": "update" if name.endswith("_update") else "forward"}


def _shift(memory: dict[str, Any], marks: list[dict[str, Any]], begin: float, tracks: dict[Any, int]) -> None:
    """Let times count from ``begin``, and number the threads of marks."""
    for sample in memory["samples"]:
        sample[0] = round(sample[0] - begin, 3)
    if memory["samples"]:
        memory["peak_time"] = round(memory["peak_time"] - begin, 3)
    for mark in marks:
        mark["time"], mark["thread"] = round(mark["time"] - begin, 3), tracks.get(mark["thread"], 0)


def _memory(events: list[Any]) -> dict[str, Any]:
    """The curve of what torch says was allocated on the CPU, or MXNet's counters of its devices; times as they stand there."""
    samples: list[list[Any]] = []
    for event in events:
        if not isinstance(event, dict) or not isinstance(event.get("args"), dict):
            continue
        args, now = event["args"], _number(event.get("ts"))
        if event.get("name") == "[memory]" and args.get("Device Type") == 0:
            held = _number(args.get("Total Allocated"))
        elif event.get("ph") == "C" and _text(event.get("name")).startswith("Memory: cpu"):
            held = next((found for found in map(_number, args.values()) if found is not None), None)
        else:
            continue
        if now is not None and held is not None and 0 <= held < 1 << 60:
            samples.append([now, int(held), {"workspace": int(held)}])
    samples.sort(key=lambda sample: sample[0])
    peak = max(samples, key=lambda sample: sample[1], default=[0.0, 0, {}])
    return {"peak_bytes": peak[1], "peak_time": peak[0], "samples": samples, "idle_bytes": 0, "at_peak": [],
            "process_peak_bytes": None, "temporaries": [], "process_samples": []}


def _marks(events: list[Any]) -> list[dict[str, Any]]:
    """Markers and counters, with times and threads as they stand there."""
    found = []
    for event in events:
        if (not isinstance(event, dict) or event.get("ph") not in ("i", "I", "n", "C") or event.get("name") in (None, "[memory]")
                or event.get("cat") in ("MXNET_C_API", "Device Storage")):
            continue
        now, counts = _number(event.get("ts")), event.get("ph") == "C"
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        value = next((number for number in map(_number, args.values()) if number is not None), None) if counts else None
        if now is not None and not (counts and value is None):
            found.append({"kind": "counter" if counts else "marker", "name": _text(event["name"]),
                          "time": now, "value": value, "unit": "", "thread": _track(event)})
    return found


def _totals(records: list[dict[str, Any]]) -> dict[Key, Total]:
    totals: dict[Key, Total] = {}
    for record in records:
        key = Key(record["name"], record["lane"], "", storage(record["inputs"], record["outputs"]))
        totals.setdefault(key, Total()).add(round(record["duration"] * 1000), round(record["self"] * 1000), record)
    return totals
