"""Profiles of several processes on one clock: workers and servers of a distributed run, or any profiles side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.errors import ProfilerError, expected
from .clocks import Answer, Offset, answers_of, difference, offset_of
from .nesting import Nesting, depths
from .parts import NO_MEMORY, Part, Process, combined, share, totals_of, workers_of
from .profile import Profile
from .read_trace import load_trace
from .source import Stored, environment

if TYPE_CHECKING:
    from ..base.types import JSON
    from .types import MarkRecord, Memory, Record

    #: One profile, or the name of a trace.
    Run: TypeAlias = Profile | str | os.PathLike[str]

__all__ = ["merge", "server_profile"]

def merge(profiles: Mapping[str, Run] | Iterable[Run]) -> Profile:
    """Put profiles of several processes on one timeline.

    While a worker of a distributed run is profiled, it compares its clock with the servers' clocks.  ``merge`` converts all times
    to the clock of the first server, and ``processes`` gives the possible error of each process.  If no profile knows a
    server's clock, every profile begins at 0.

    Parameters
    ----------
    profiles : list of Profile or path, or mapping of str to them
        Profiles or trace files of workers and servers (``kv.profile_servers()`` gives those of servers).  Merged profiles are
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
        If a file is not a trace.

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
    named = list(profiles.items()) if isinstance(profiles, Mapping) else [("", run) for run in profiles]
    found = [part for place, (name, run) in enumerate(named) for part in _taken_apart(_loaded(run), name, place)]
    if not found:
        raise ProfilerError("There is no profile to merge.", hint="pass a list of profiles.")
    names = [part.process.name for part in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ProfilerError(f"Two profiles of {twice} cannot be merged.",
                            hint="pass one of each process, or a mapping with names.")
    found.sort(key=lambda part: (("worker", "server", "process").index(part.process.kind), part.process.number))
    return Profile(combined(_numbered(_aligned(found))))


def _loaded(run: object) -> Profile:  # object: what the user gave, checked here
    if isinstance(run, Profile):
        return run
    if not isinstance(run, (str, os.PathLike)):
        raise ProfilerError(expected("Each part", "a profile or the name of a trace", type(run)),
                            hint="mx.profiler.merge([prof, 'other.json']), for example.")
    return load_trace(run)


def _taken_apart(profile: Profile, name: str, number: int) -> list[Part]:
    """The processes of a profile: those it was merged of, or the workers whose threads it recorded."""
    data = profile._data()
    if data.parts:
        return list(data.parts)
    return workers_of(data) or [Part(Process(name or f"process {number}", "process", number, 0.0, None, {}), data)]


# --------------------------------------------------------------------------- one clock


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
    known = [offset.at(0.0) for part, offset in zip(parts, offsets, strict=True) if offset.error is not None
             and part.process.kind == "worker"]
    zero = min(known, default=0.0)
    length = max((part.data.wall + offset.at(part.data.wall) - zero for part, offset in zip(parts, offsets, strict=True)
                  if part.process.kind == "worker"), default=float("inf"))
    return [_moved(part, offset, zero, length) for part, offset in zip(parts, offsets, strict=True)]


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
    unknown, server = offset.error is None, part.process.kind == "server"

    def at(time: float) -> float:
        return time if unknown else round(max(0.0, time + offset.at(time) - zero), 3)

    data = part.data
    records: list[Record] = []
    for record in data.records:
        start = at(record["start"])
        end = record["start"] + record["duration"] + (0.0 if unknown else offset.at(record["start"]) - zero)
        if not server or (end >= 0.0 and start <= length):
            cut = max(0.0, start - (end - record["duration"])) if server and not unknown else 0.0
            own = max(0.0, record["self"] - cut)
            records.append({**record, "start": start, "duration": record["duration"] - cut, "self": own})
    marks: list[MarkRecord] = [{**mark, "time": at(mark["time"])} for mark in data.marks]
    memory: Memory = {**data.memory, "peak_time": at(data.memory["peak_time"]),
                      "samples": [[at(time), *more] for time, *more in data.memory["samples"]]}
    if "process_samples" in memory:
        memory["process_samples"] = [[at(time), held] for time, held in memory["process_samples"]]
    wall = min(data.wall, length) if server else data.wall
    moved = Stored(
        records=records, memory=memory, gradient_rows=data.gradient_rows, densified=data.densified, marks=marks,
        densifications=[(at(time), thread, one) for time, thread, one in data.densifications],
        more_marks=data.more_marks, more_densifications=data.more_densifications,
        totals=totals_of(records, data.folded_totals) if server else data.totals, wall=wall,
        accounted=share(records, wall) if server else data.accounted, folded=data.folded, folded_totals=data.folded_totals,
        events=len(records) + data.folded if server else data.events, overhead=data.overhead, environment=data.environment)
    start = 0.0 if unknown else round(offset.at(0.0) - zero, 3)
    error = None if offset.error is None else math.ceil(offset.error * 1000) / 1000
    return Part(part.process._replace(offset=part.process.offset + start, error=error), moved)


# --------------------------------------------------------------------------- one profile


def _numbered(parts: list[Part]) -> list[Part]:
    """The same with threads that no two processes share, and the name of the process in each event."""
    found, first = [], 0
    for process, data in parts:
        known: dict[int, int] = {}

        def thread(own: int, known: dict[int, int] = known, first: int = first) -> int:
            return known.setdefault(own, first + len(known))

        records: list[Record] = [{**record, "thread": thread(record["thread"]), "process": process.name}
                                 for record in data.records]
        marks: list[MarkRecord] = [{**mark, "thread": thread(mark["thread"])} for mark in data.marks]
        densifications = [(time, thread(own), one) for time, own, one in data.densifications]
        found.append(Part(process, Stored(**{**_fields(data), "records": records, "marks": marks,
                                             "densifications": densifications})))
        first += len(known)
    return found


def _fields(data: Stored) -> dict[str, Any]:  # Any: each field has a type of its own
    return {name: getattr(data, name) for name in (
        "memory", "gradient_rows", "densified", "more_marks", "more_densifications", "totals", "wall", "accounted", "folded",
        "folded_totals", "events", "overhead", "environment")}


# --------------------------------------------------------------------------- servers


def server_profile(told: Mapping[str, Any]) -> Profile:  # Any: plain data of a server
    """The profile of a server, from what it tells: its spans since it was started, and what it counted.

    Parameters
    ----------
    told : dict
        What the method ``profile`` of a server gives.
    """
    began = float(told["began"])
    spans = sorted(told["spans"], key=lambda span: (span[6], -span[5]))
    nesting = Nesting()
    starts, durations, owns = [], [], []
    for span in spans:
        start, end = (round((time - began) * 1e9) for time in span[5:7])
        start, own, _ = nesting.add(0, max(0, start), max(0, end), False)
        starts.append(start)
        durations.append(max(0, end) - start)
        owns.append(own)
    depth = depths([0] * len(starts), starts, durations)
    order = sorted(range(len(starts)), key=lambda place: (starts[place], depth[place], place))
    records = [_record_of(spans[i], starts[i], durations[i], owns[i], depth[i]) for i in order]
    wall = (float(told["clock"]) - began) * 1e6
    about = {name: value for name, value in told.items() if name != "spans"}
    number = int(told["index"])
    data = Stored(records=records, memory=NO_MEMORY, gradient_rows={}, densifications=[], densified=0, marks=[],
                  totals=totals_of(records, {}), wall=wall, accounted=share(records, wall), folded=0, folded_totals={},
                  events=len(records), overhead=0.0, environment=environment())
    return Profile(combined(_numbered([Part(Process(f"server {number}", "server", number, 0.0, None, about), data)])))


def _record_of(span: Sequence[Any], start: int, duration: int, own: int, depth: int) -> Record:  # Any: plain data
    lane, what, key, rank, step, _, _, size, more = span
    about: dict[str, JSON] = {"bytes": size}
    for name, value in (("rank", rank), ("key", key), ("step", step), ("stale" if lane == "apply" else "moved", more)):
        if value is not None:
            about[name] = value
    name = {"serve": "serve" if what == "exchange" else f"serve {what}"}.get(lane, what)
    return {"name": name, "kind": "span", "lane": lane, "start": start / 1000, "duration": duration / 1000, "self": own / 1000,
            "depth": depth, "layer": "", "node": None, "attrs": about, "fallback": False, "became_dense": "", "inputs": [],
            "outputs": [], "bytes": int(size), "flops": 0, "dense_flops": 0, "line": "", "thread": 0}
