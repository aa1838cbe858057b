"""Records -> one compact block of columns that a browser reads without parsing every event."""

from __future__ import annotations

import gzip
import json
import math
from array import array as Column
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..base.errors import UnknownNameError
from ..base.formatting import number
from .describe import STORAGE, arrays, by_nature, storage_kind
from .lanes import STORAGE_COLORS
from .layout import APART, Event, clean, culprits, place_rows, training_steps, typical_window
from .marks import KINDS, Mark, read_marks
from .processes import step_window
from .theme import lane_order

__all__ = ["CLOCKS", "checked_clock", "pack_timeline", "plain"]

_MAGIC = b"SKC1"
#: How several runs have times: each its own, or one for all.
CLOCKS = ("own", "common")
_NOTHING: dict[str, Any] = {}
#: Values remembered by their address: those of a run are few, those of a file are all different.
MOST_KNOWN = 50_000


def plain(value: object, depth: int = 6) -> Any:
    """Copy ``value`` into what JSON can say; anything else becomes its text, never an error."""
    if value is None or isinstance(value, (bool, str)):
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
    if isinstance(value, (int, np.integer)):
        return int(value) if abs(int(value)) < 1 << 53 else float(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else str(value)
    if depth and isinstance(value, Mapping):
        return {str(key): plain(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, (list, tuple)):
        return [plain(item, depth - 1) for item in value]
    return plain(str(value))


class _Names:
    """Distinct values, numbered as they come."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.values: list[Any] = []

    def find(self, key: object, build: Callable[[], Any]) -> int:
        """Give the number of ``key``; the first time, keep what ``build`` gives for it."""
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.values)
            self.values.append(build())
        return found

    def text(self, value: str) -> int:
        """Give the number of a string."""
        return self.find(str(value), lambda: plain(str(value)))


def _key(array: Mapping[str, Any]) -> object:
    """A hashable key of an array description, without writing it as JSON."""
    try:
        key = (tuple(array["shape"]), *(array.get(name) for name in _FIELDS), tuple(array["components"].items()))
        hash(key)
    except (AttributeError, KeyError, TypeError):
        return json.dumps(_array(array))
    return key


_FIELDS = ("stype", "dtype", "nnz", "density", "index_dtype", "bytes", "rows")


def _array(array: Mapping[str, Any]) -> list[Any]:
    """Put one array's description in the order that timeline.js reads."""
    keys = ("stype", "shape", "dtype", "nnz", "density", "index_dtype", "bytes", "components", "rows")
    return [plain(array.get(key)) for key in keys]


def _lightest(found: Sequence[Mapping[str, Any]]) -> float:
    """Lowest density among an event's arrays; -1 where it has none."""
    densities = [number(array.get("density"), 1.0) for array in found]
    return min(densities, default=-1.0)


class _Columns:
    """All events of all runs, column by column."""

    def __init__(self) -> None:
        self.strings, self.arrays, self.attributes = _Names(), _Names(), _Names()
        # Number of what was looked up before, with the value itself, so that no address comes twice.
        self._known: dict[int, tuple[int, Any]] = {}
        # Numbers of the sizes that are written: a list's would take ten times as much.
        self.data: dict[str, Any] = {name: Column(_CODES[kind]) for name, kind in _KINDS.items()}

    def add_marks(self, marks: Sequence[Mark], origin: float) -> None:
        """Append what happened at an instant."""
        for mark in marks:
            for name, value in (("kind", KINDS.index(mark.kind)), ("time", mark.time - origin), ("value", mark.value),
                                ("name", self.strings.text(mark.name)), ("words", self.strings.text(mark.words)),
                                ("unit", self.strings.text(mark.unit))):  # fmt: skip
                self.data[f"mark_{name}"].append(value)

    def add(self, run: int, event: Event, lane: int, row: int, origin: float, culprit: int) -> None:
        """Append one event; ``culprit`` is the position of the one that made dense what it reads, or -1."""
        record, data = event.record, self.data
        sides = arrays(event, "inputs"), arrays(event, "outputs")
        node = event.node
        values = {
            "run": run,
            "lane": lane,
            "row": row,
            "start": event.start - origin,
            "duration": event.duration,
            "own": event.own,
            "name": self.strings.text(event.name),
            "layer": self.strings.text(event.layer),
            "line": self.strings.text(record.get("line") or ""),
            "node": int(number(node, -1)) if node is not None and abs(number(node, -1)) < 1 << 31 else -1,
            "culprit": culprit,
            "storage": storage_kind(event),
            "fallback": 2 if by_nature(event) else int(event.fallback),
            "bytes": number(record.get("bytes")),
            "flops": number(record.get("flops")),
            "dense_flops": number(record.get("dense_flops")),
            "density": _lightest([*sides[0], *sides[1]]),
            "attributes": self._number(record.get("attrs") or _NOTHING, self._attributes),
            "inputs": len(sides[0]),
            "first_array": len(data["array"]),
        }
        for name, value in values.items():
            data[name].append(value)
        for array in (*sides[0], *sides[1]):
            data["array"].append(self._number(array, self._described))

    def _number(self, value: object, find: Callable[[Any], int]) -> int:
        """Look a value up by its address first: calls of one kind share their descriptions."""
        known = self._known.get(id(value))
        if known is None:
            known = find(value), value
            if len(self._known) < MOST_KNOWN:
                self._known[id(value)] = known
        return known[0]

    def _attributes(self, value: dict[str, Any]) -> int:
        attributes = plain(value)
        return self.attributes.find(json.dumps(attributes, sort_keys=True), lambda: attributes)

    def _described(self, array: Mapping[str, Any]) -> int:
        return self.arrays.find(_key(array), partial(_array, array))


_KINDS = {
    "run": "u1",
    "lane": "u1",
    "row": "u1",
    "start": "f8",
    "duration": "f8",
    "own": "f8",
    "name": "u4",
    "layer": "u4",
    "line": "u4",
    "node": "i4",
    "culprit": "i4",
    "storage": "u1",
    "fallback": "u1",
    "bytes": "f8",
    "flops": "f8",
    "dense_flops": "f8",
    "density": "f4",
    "attributes": "u4",
    "inputs": "u2",
    "first_array": "u4",
    "array": "u4",
    "mark_kind": "u1",
    "mark_time": "f8",
    "mark_value": "f8",
    "mark_name": "u4",
    "mark_words": "u4",
    "mark_unit": "u4",
}

#: How an array of the standard library calls a size.
_CODES = {"u1": "B", "u2": "H", "u4": "I", "i4": "i", "f4": "f", "f8": "d"}


def checked_clock(clock: str) -> str:
    """Give ``clock`` back if it is a way in which several runs have times.

    Raises
    ------
    UnknownNameError
        If it is not.
    """
    if clock not in CLOCKS:
        raise UnknownNameError.of("clock", clock, CLOCKS)
    return clock


def pack_timeline(runs: Mapping[str, Iterable[Mapping[str, Any]] | None],
                  marks: Iterable[Mapping[str, Any]] | None = None, clock: str = "own") -> bytes:  # fmt: skip
    """Pack the records of one or several runs, each starting at time 0, for the live timeline.

    Parameters
    ----------
    runs : mapping of str to iterable of dict
        Name of each run -> its records; at most 250 runs.
    marks : iterable of dict, optional
        What happened at an instant, as for ``timeline_figure``; of one run only.
    clock : {"own", "common"}
        Whether each run starts at time 0, or only the first event of all.

    Returns
    -------
    bytes
        gzip of ``b"SKC1"``, the length of a JSON header (uint32), the header, and the
        columns, little endian, each starting at a multiple of 8 bytes.
    """
    cleaned = {str(name): clean(records) for name, records in list(runs.items())[:250]}
    lanes = lane_order(event.lane for events in cleaned.values() for event in events)[:250]
    columns = _Columns()
    origins = [_origin(events) for events in cleaned.values()]
    if checked_clock(clock) == "common":
        origins = [min((events[0].start for events in cleaned.values() if events), default=0.0)] * len(cleaned)
    found = read_marks(marks) if len(cleaned) == 1 else []
    if found and not any(cleaned.values()):
        origins = [found[0].time]
    columns.add_marks(found, origins[0] if origins else 0.0)
    for run, events in enumerate(cleaned.values()):
        origin, before = origins[run], len(columns.data["run"])
        for event, row, culprit in zip(events, place_rows(events), culprits(events), strict=True):
            # Hostile input could name more lanes than a byte holds: the last takes what is left.
            lane = lanes.index(event.lane) if event.lane in lanes else len(lanes) - 1
            columns.add(run, event, lane, row, origin, culprit + before if culprit >= 0 else -1)
    header = {
        "runs": [plain(name) for name in cleaned],
        "clock": clock,
        "lanes": [plain(name) for name in lanes],
        "view": _view(list(cleaned.values()), origins, clock),
        "storage_types": [[name, *look] for name, look in zip(STORAGE, STORAGE_COLORS, strict=True)],
        "strings": columns.strings.values,
        "array_table": columns.arrays.values,
        "attributes": columns.attributes.values,
    }
    return _blocks(header, columns.data)


def _origin(events: Sequence[Event]) -> float:
    """Time 0 of a run: where the work starts, so that runs line up however long each compiled before."""
    return next((event.start for event in events if event.lane not in APART), events[0].start if events else 0.0)


def _view(runs: Sequence[list[Event]], origins: Sequence[float], clock: str) -> list[float]:
    """What the live view opens on: one run as its static picture does, several on the longest of their first steps."""
    if clock == "common":
        window = step_window(runs, "auto")
        return [window.start - origins[0], window.end - origins[0]] if window.reason else [0.0, 0.0]
    if len(runs) == 1:
        window = typical_window(runs[0])
        return [window.start - origins[0], window.end - origins[0]] if window.reason else [0.0, 0.0]
    found = [(training_steps(events), origin) for events, origin in zip(runs, origins, strict=True)]
    if not found or any(len(some) < 3 for some, _ in found):
        return [0.0, 0.0]
    return [0.0, max(some[1].start - origin for some, origin in found)]


def _blocks(header: dict[str, Any], data: Mapping[str, Any]) -> bytes:
    packed = {name: np.asarray(values, dtype=f"<{_KINDS[name]}") for name, values in data.items()}
    # Offsets depend on the header's length and the header holds the offsets: write them at a fixed width.
    places = {name: [_KINDS[name], "0" * 12, len(values)] for name, values in packed.items()}
    size = len(_json({**header, "columns": places}))
    offset = start = -(-(8 + size) // 8) * 8
    body = bytearray()
    for name, values in packed.items():
        places[name][1] = offset
        raw = values.tobytes()
        padding = b"\0" * (-len(raw) % 8)
        body += raw + padding
        offset += len(raw) + len(padding)
    text = _json({**header, "columns": places}).ljust(size)
    head = _MAGIC + len(text).to_bytes(4, "little") + text
    return gzip.compress(head.ljust(start, b"\0") + bytes(body), compresslevel=6, mtime=0)


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()
