"""Traces of other profilers: torch.profiler's, MXNet's, and any other in Chrome's format; nothing in them is trusted."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, NamedTuple

from ..base.errors import FileFormatError
from .columns import NONE, Strings, build
from .spans import Input, Spans
from .stored import Stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from ..base.types import JSON

    #: A JSON object.
    Object: TypeAlias = dict[str, JSON]

    #: Process and thread of an event, as text; of something begun also its kind.
    Track: TypeAlias = tuple[str, ...]

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
    origin, spans = _origin(document, events), _spans(events)
    if not spans:
        raise _no_trace(name)
    samples, marks = _samples(events), _marks(events)
    # Counters and marks may come before the first span and after the last.
    begin = min(itertools.chain((start for start, _, _ in spans), (now for now, _ in samples), (mark.time for mark in marks)))

    def at(moment: float) -> int:
        """Nanoseconds since the beginning."""
        return round((moment - begin) * 1000)

    # GPU streams and threads of several processes get small numbers in the order in which they appear.
    tracks: dict[Track, int] = {}
    for _, _, event in spans:
        tracks.setdefault(_track(event), len(tracks))
    describe = _torch if origin == "torch.profiler" else _other
    recorded = Spans()
    for start, duration, event in sorted(spans, key=lambda span: (tracks[_track(span[2])], span[0], -span[1])):
        thread, name, args = tracks[_track(event)], _text(event["name"]), event.get("args")
        around = recorded.around(thread, at(start))
        told = describe(name, _text(event.get("cat", "")), args if isinstance(args, dict) else {}, around)
        recorded.add(thread, at(start), round(duration * 1000), (name, told.kind, told.lane), told.inputs, told.node)
    times = [at(now) for now, _ in samples]
    wall = max([recorded.end] + times + [at(mark.time) for mark in marks])
    held = [0, *(size for _, size in samples)]
    return Stored(build(
        Strings(), runs={"wall": [wall], "events": [len(spans)], "error": [NONE],
                         "about": [json.dumps({"environment": {"trace of": origin}})]},
        **recorded.tables(),
        # Nothing says what was allocated, only how much there was: pieces of one byte.
        holdings={"role": ["workspace"], "bytes": [1]},
        changes={"run": [0] * len(times), "holding": [0] * len(times), "time": times,
                 "count": [after - before for before, after in itertools.pairwise(held)]},
        marks={"run": [0] * len(marks), "time": [at(mark.time) for mark in marks],
               "thread": [tracks.get(mark.track, 0) for mark in marks], "kind": [mark.kind for mark in marks],
               "name": [mark.name for mark in marks], "value": [json.dumps(mark.value) for mark in marks]}))


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
    spans: list[tuple[float, float, Object]] = []
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
                spans.append((start, duration, event))
        elif kind in ("B", "b"):
            if event.get("name") is not None:
                open_.begin((str(kind), *_track(event)), start, event)
        else:
            begun = open_.end(("B" if kind == "E" else "b", *_track(event)), start, event.get("name"))
            if begun is not None:
                spans.append((begun.start, start - begun.start, begun.event))
    return spans


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
    inputs: tuple[Input, ...] = ()
    node: int = NONE


def _torch(name: str, category: str, args: Object, outer: str) -> _Described:
    lane = _LANE_OF_CATEGORY.get(category, "forward")
    if name.startswith("autograd::engine") or outer == "backward":
        lane = "backward"
    elif name.startswith("Optimizer.step") or outer == "update":
        lane = "update"
    number = args.get("Sequence number")
    node = number if type(number) is int and 0 <= number < 1 << 53 and lane != "update" else NONE
    return _Described(lane, "span" if lane == "user" else "op", tuple(_inputs(args)), node)


def _inputs(args: Object) -> Iterator[Input]:
    """The arrays among the arguments of an operator of torch; those of sparse layouts look dense, as it records no layout."""
    shapes, types = args.get("Input Dims"), args.get("Input type")
    if not isinstance(shapes, list) or not isinstance(types, list):
        return
    for shape, type_ in zip(shapes[:64], types[:64], strict=False):
        dtype = _DTYPES.get(_text(type_))
        sizes = [n for n in shape if type(n) is int and 0 <= n < 1 << 53] if isinstance(shape, list) else []
        if dtype is None or not isinstance(shape, list) or len(shape) > 64 or len(sizes) < len(shape):
            continue
        size = math.prod(sizes)
        yield Input(tuple(sizes), dtype, min(size, 1 << 60), min(size * _SIZES.get(dtype, 1), 1 << 60))


def _other(name: str, category: str, args: Object, outer: str) -> _Described:
    """Operators of MXNet say what they are by their names; in a trace of anything else every event is the user's."""
    if category != "operator":
        return _Described("user", "span")
    if name.startswith("_backward"):
        return _Described("backward")
    if name.startswith("Copy"):
        return _Described("transfer")
    return _Described("update" if name.endswith("_update") else "forward")


def _samples(events: list[JSON]) -> list[tuple[float, int]]:
    """When how much was held: what torch says was allocated on the CPU, or MXNet's counters of its devices."""
    samples: list[tuple[float, int]] = []
    for event in events:
        args = event.get("args") if isinstance(event, dict) else None
        if not isinstance(event, dict) or not isinstance(args, dict):
            continue
        now = _number(event.get("ts"))
        if event.get("name") == "[memory]" and args.get("Device Type") == 0:
            held = _number(args.get("Total Allocated"))
        elif event.get("ph") == "C" and _text(event.get("name")).startswith("Memory: cpu"):
            held = _first_number(args)
        else:
            continue
        if now is not None and held is not None and 0 <= held < 1 << 60:
            samples.append((now, int(held)))
    return sorted(samples, key=lambda sample: sample[0])


def _first_number(args: Object) -> float | None:
    return next((number for number in map(_number, args.values()) if number is not None), None)


class _Mark(NamedTuple):
    """A marker, or a value of a counter."""

    time: float
    track: Track
    kind: str
    name: str
    value: float | None


def _marks(events: list[JSON]) -> list[_Mark]:
    """Markers and counters."""
    marks: list[_Mark] = []
    for event in events:
        if (not isinstance(event, dict) or event.get("ph") not in ("i", "I", "n", "C") or event.get("name") in (None, "[memory]")
                or event.get("cat") in ("MXNET_C_API", "Device Storage")):
            continue
        now, counts, args = _number(event.get("ts")), event.get("ph") == "C", event.get("args")
        value = _first_number(args) if counts and isinstance(args, dict) else None
        if now is not None and not (counts and value is None):
            marks.append(_Mark(now, _track(event), "counter" if counts else "marker", _text(event["name"]), value))
    return marks
