"""Profiles of several processes on one clock: workers and servers of a distributed run, or any profiles side by side."""

from __future__ import annotations

import bisect
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ..base.errors import ProfilerError, expected
from .columns import NONE, Columns, Strings, build
from .parts import combined, workers_of
from .profile import Profile
from .profile_file import read_columns, write_columns
from .profiler import Profiler
from .read_profile import loaded
from .source import environment
from .spans import Spans
from .stored import Part, Process, Stored

if TYPE_CHECKING:
    from ..base.types import JSON, Array
    from .read_profile import Run
    from .types import Record

T = TypeVar("T")

#: Microseconds by which bounds of a clock may miss each other because numbers are rounded.
SLACK = 0.01


def merge(profiles: Mapping[str, Run] | Iterable[Run]) -> Profile:
    """Put profiles of several processes on one timeline.

    While a worker of a distributed run is profiled, it compares its clock with the servers' clocks.  ``merge`` converts all times
    to the clock of the first server, and ``processes`` gives the possible error of each process.  If no profile knows a
    server's clock, every profile begins at 0.

    Parameters
    ----------
    profiles : list of Profile or path, or mapping of str to them
        Profiles, or files of them, of workers and servers (``kv.profile_servers()`` gives those of servers).  Merged profiles are
        taken apart first.  The keys of a mapping name the processes that are neither workers nor servers.

    Returns
    -------
    Profile
        Its ``processes``, ``process(name)`` and ``distributed()`` describe the processes, and its records have a key
        ``process``.

    Raises
    ------
    ProfilerError
        If no profile is given, or two are of the same worker or server.
    DataFileError
        If a file is not a profile.

    Examples
    --------
    >>> import sparsekit as mx
    >>> with mx.Profiler() as one:
    ...     _ = mx.nd.ones((2, 3)) + 1
    >>> with mx.Profiler() as other:
    ...     _ = mx.nd.ones((2, 3)) * 2
    >>> both = mx.profiler.merge({"one": one, "other": other})
    >>> [process.name for process in both.processes]
    ['one', 'other']
    """
    if isinstance(profiles, Profile) or not isinstance(profiles, (Mapping, Iterable)):
        raise ProfilerError(expected("profiles", "a list of profiles, or a mapping of names to them", profiles),
                            hint='mx.profiler.merge({"one": prof, "other": another}), for example.')
    named = list(profiles.items()) if isinstance(profiles, Mapping) else [("", run) for run in profiles]
    parts = [part for place, (name, run) in enumerate(named) for part in _taken_apart(loaded(run), name, place)]
    if not parts:
        raise ProfilerError("There is no profile to merge.", hint="pass a list of profiles.")
    names = [part.process.name for part in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ProfilerError(f"Two profiles of {twice} cannot be merged.",
                            hint="pass one of each process, or a mapping with names.")
    parts.sort(key=lambda part: (("worker", "server", "process").index(part.process.kind), part.process.number))
    return Profile(Stored(combined(_aligned(parts))))


def _taken_apart(profile: Profile, name: str, number: int) -> list[Part]:
    """The processes of a profile: those it was merged of, or the workers whose threads it recorded."""
    data = profile._data()
    if data.parts:
        return list(data.parts)
    return workers_of(data) or [Part(Process(name or f"process {number}", "process", number, 0.0, None, {}), data)]


# --------------------------------------------------------------------------- one clock

# A worker notes what the clock of a server showed within a span: when it asked, and when the answer came.  The server read its
# clock in between, whatever the ways there and back took.  So each answer bounds the difference of the clocks from both sides,
# by at most half of the round trip from the middle, as in the Network Time Protocol.  The bounds of several answers are put
# together as long as they agree; clocks that drift, or a profiler that was paused, begin a new stretch.


class Answer(NamedTuple):
    """Bounds of what another clock is ahead of a process's own time, from one answer, or from some that agree; microseconds.

    Attributes
    ----------
    time : float
        When, on the own clock; of several answers when the first came.
    low, high : float
    """

    time: float
    low: float
    high: float


class Offset:
    """What has to be added to the times of a process, stretch by stretch.

    Parameters
    ----------
    stretches : list
        Without any, nothing is known, and nothing is added.
    """

    def __init__(self, stretches: list[Answer]) -> None:
        self._starts = [stretch.time for stretch in stretches]
        self._values = [(stretch.low + stretch.high) / 2 for stretch in stretches] or [0.0]
        #: Half of the widest bounds, in microseconds; None if nothing is known.
        self.error: float | None = max((stretch.high - stretch.low) / 2 for stretch in stretches) if stretches else None

    def at(self, time: float) -> float:
        """What is to be added at a time."""
        return self._values[max(0, bisect.bisect_right(self._starts, time) - 1)]


def offset_of(answers: Iterable[Answer]) -> Offset:
    """The offset that answers give: as few stretches as their bounds allow."""
    stretches: list[Answer] = []
    for time, low, high in sorted(answers):
        if stretches and max(stretches[-1].low, low) <= min(stretches[-1].high, high) + SLACK:
            last = stretches.pop()
            time, (low, high) = last.time, sorted((max(last.low, low), min(last.high, high)))
        stretches.append(Answer(time, low, high))
    return Offset(stretches)


def answers_of(records: Iterable[Record]) -> dict[int, list[Answer]]:
    """What the records of a worker say of the clock of each server, in microseconds of that clock."""
    answers: dict[int, list[Answer]] = {}
    for record in records:
        server, shown = record["attrs"].get("server"), record["attrs"].get("shown")
        if record["lane"] == "profiler" and type(server) is int and isinstance(shown, float):
            start, end, there = record["start"], record["start"] + record["duration"], shown * 1e6
            answers.setdefault(server, []).append(Answer(start, there - end, there - start))
    return answers


def difference(reference: Iterable[Answer], other: Iterable[Answer]) -> list[Answer]:
    """Bounds of what a reference clock is ahead of another one, from one worker's answers of both; times are the other's."""
    bounds = []
    asked = list(reference)
    for time, low, high in other:
        near = min(asked, key=lambda answer: abs(answer.time - time), default=None)
        if near is not None:
            bounds.append(Answer(time + (low + high) / 2, near.low - high, near.high - low))
    return bounds


def _aligned(parts: list[Part]) -> list[Part]:
    """The same with times on one clock, which begins when the first of them does."""
    asked = {place: answers for place, part in enumerate(parts)
             if part.process.kind == "worker" and (answers := answers_of(part.data.records))}
    if not asked:  # they say nothing of each other, or were put on one clock before
        return parts
    reference = min(min(answers) for answers in asked.values())
    offsets: list[Offset] = []
    for place, part in enumerate(parts):
        if place in asked:
            offsets.append(offset_of(asked[place].get(reference, ())))
        elif part.process.kind == "server":
            offsets.append(_of_server(part.process, reference, asked.values()))
        else:
            offsets.append(offset_of(()))
    starts = [offset.at(0.0) for part, offset in zip(parts, offsets, strict=True) if offset.error is not None
              and part.process.kind == "worker"]
    zero = min(starts, default=0.0)
    length = max((part.data.wall + offset.at(part.data.wall) - zero for part, offset in zip(parts, offsets, strict=True)
                  if part.process.kind == "worker"), default=float("inf"))
    return [part if offset.error is None else _moved(part, offset, zero, length)
            for part, offset in zip(parts, offsets, strict=True)]


def _of_server(process: Process, reference: int, asked: Iterable[Mapping[int, list[Answer]]]) -> Offset:
    """What a server's own times lack to those of the reference: nothing for itself, else what workers that asked both say."""
    began = _microseconds(process)
    if process.number == reference:
        return offset_of([Answer(float("-inf"), began, began)])
    return offset_of([Answer(time - began, low + began, high + began) for answers in asked
                      for time, low, high in difference(answers.get(reference, ()), answers.get(process.number, ()))])


def _microseconds(process: Process) -> float:
    began = process.about.get("began")
    return float(began) * 1e6 - process.offset if isinstance(began, (int, float)) else 0.0


def _moved(part: Part, offset: Offset, zero: float, length: float) -> Part:
    """A process with its times on the common clock; what a server did outside the workers' profiles is left out."""
    columns = part.data.columns

    def at(times: Array) -> Array:
        """Nanoseconds on the common clock; what has no time, which is negative, stays so."""
        moved = times + np.array([offset.at(time / 1000) - zero for time in times.tolist()]) * 1000
        return np.where(times < 0, times, np.maximum(np.round(moved), 0)).astype(np.int64)

    changes: dict[str, dict[str, Array]] = {
        table: {"time": at(getattr(columns, table).time)} for table in ("changes", "ledger", "marks", "process_memory")}
    events = columns.events
    start = at(events.start)
    changes["events"] = {"start": start}
    if part.process.kind == "server":
        changes |= _within(columns, start, events.start, offset, zero, length)
    moved = columns.changed(changes)
    if part.process.kind == "server":
        moved = moved.taken({"events": np.flatnonzero((moved.events.duration >= 0) & (moved.events.start <= length * 1000))})
        moved = moved.changed({"runs": {"events": np.array([len(moved.events) + part.data.folded])}})
    begin = round(offset.at(0.0) - zero, 3)
    error = math.ceil((offset.error or 0.0) * 1000) / 1000
    return Part(part.process._replace(offset=part.process.offset + begin, error=error), Stored(moved))


def _within(columns: Columns, start: Array, before: Array, offset: Offset, zero: float, length: float
            ) -> dict[str, dict[str, Array]]:
    """Events of a server without what comes before the workers' profiles: less than nothing is left of what ended before."""
    events = columns.events
    ends = before + events.duration + np.array([offset.at(time / 1000) - zero for time in before.tolist()]) * 1000
    left = np.round(ends).astype(np.int64) - start
    cut = np.maximum(events.duration - left, 0)
    wall = columns.runs.wall if math.isinf(length) else np.minimum(columns.runs.wall, round(length * 1000))
    return {"events": {"start": start, "duration": events.duration - cut, "own": np.maximum(events.own - cut, 0),
                       "net": np.maximum(events.net - cut, 0)}, "runs": {"wall": wall}}


# --------------------------------------------------------------------------- servers


def server_profile(told: Mapping[str, Any]) -> Profile:  # Any: plain data of a server
    """The profile of a server, from what it tells: its spans since it was started, and what it counted.

    Parameters
    ----------
    told : dict
        What the method ``profile`` of a server gives.
    """
    began = float(told["began"])
    spans = Spans()
    for span in sorted(told["spans"], key=lambda span: (span[5], -span[6])):
        start, end = (max(0, round((time - began) * 1e9)) for time in span[5:7])
        spans.add(0, start, end - start, (_name_of(span), "span", span[0]), moved=int(span[7]),
                  arguments=json.dumps(_arguments_of(span)))
    about = {name: value for name, value in told.items() if name != "spans"}
    number = int(told["index"])
    columns = build(
        Strings(), runs={"wall": [round((float(told["clock"]) - began) * 1e9)], "events": [len(told["spans"])], "error": [NONE],
                         "about": [json.dumps({"environment": environment()})]}, **spans.tables())
    part = Part(Process(f"server {number}", "server", number, 0.0, None, about), Stored(columns))
    return Profile(Stored(combined([part])))


def _name_of(span: Sequence[Any]) -> str:  # Any: plain data
    """What a span of a server is called."""
    lane, action = span[:2]
    name: str = {"serve": "serve" if action == "exchange" else f"serve {action}"}.get(lane, action)
    return name


def _arguments_of(span: Sequence[Any]) -> dict[str, JSON]:  # Any: as above
    """What a span of a server says of itself."""
    lane, _, key, rank, step, _, _, size, extra = span
    about: dict[str, JSON] = {"bytes": size}
    for name, value in (("rank", rank), ("key", key), ("step", step), ("stale" if lane == "apply" else "moved", extra)):
        if value is not None:
            about[name] = value
    return about


# --------------------------------------------------------------------------- as bytes


def traced(function: Callable[[], T]) -> tuple[T, bytes]:
    """Call a function under a profiler; gives its result and the profile."""
    with Profiler() as prof:
        result = function()
    stream = io.BytesIO()
    write_columns(prof._data().columns, stream)
    return result, stream.getvalue()


def merged(profiles: Sequence[bytes], told: Sequence[Mapping[str, Any]]) -> Profile:  # Any: plain data of servers
    """One profile of those of workers and of what servers tell."""
    workers = [Profile(Stored(read_columns(io.BytesIO(profile), f"profile {place}"))) for place, profile in enumerate(profiles)]
    return merge([*workers, *map(server_profile, told)])
