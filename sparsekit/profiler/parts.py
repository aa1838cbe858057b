"""What a merged profile is made of: the data of each process, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .describe import storage
from .event_store import Key, Total
from .nesting import without_compilation
from .source import Stored

if TYPE_CHECKING:
    from ..base.types import JSON
    from .types import Memory, Record

__all__ = ["NO_MEMORY", "Part", "Process", "ProcessKey", "combined", "process_totals", "share", "totals_of", "workers_of"]


#: Lanes whose events say of which worker they are.
_TELLING = ("exchange", "wait", "profiler")

#: What no memory was recorded of.
NO_MEMORY: Memory = {"peak_bytes": 0, "peak_time": 0.0, "samples": [], "idle_bytes": 0, "at_peak": [], "process_peak_bytes": None,
                     "temporaries": [], "process_samples": []}


class Process(NamedTuple):
    """One process of a merged profile.

    Attributes
    ----------
    name : str
        ``"worker 0"``, ``"server 1"``, or what ``merge`` was told.
    kind : {"worker", "server", "process"}
    number : int
        Rank of a worker, index of a server, else the place among the others.
    offset : float
        Microseconds from the start of the merged profile to that of this process's own; negative if it began before.
    error : float or None
        Largest possible error of its times, in microseconds, relative to the first server's clock; None if unknown.
    about : dict
        Plain data about the process: the counts of a server, or the ``rank`` of a worker.
    """

    name: str
    kind: str
    number: int
    offset: float
    error: float | None
    about: dict[str, JSON]


class Part(NamedTuple):
    """The data of one process; times are those of the merged profile."""

    process: Process
    data: Stored


def combined(parts: Sequence[Part]) -> Stored:
    """The data of all processes together; memory is that of the process that held the most."""
    every = [part.data for part in parts]
    totals: dict[Key, Total] = {}
    folded: dict[Key, Total] = {}
    for data in every:
        for into, some in ((totals, data.totals), (folded, data.folded_totals)):
            for key, total in some.items():
                into.setdefault(key, Total()).merge(total)
    more: dict[Any, int] = {}  # Any: densifications
    for data in every:
        for one, number in data.more_densifications.items():
            more[one] = more.get(one, 0) + number
    records = sorted((record for data in every for record in data.records),
                     key=lambda record: (record["start"], record["depth"], record["thread"]))
    worked = [part.data for part in parts if part.process.kind != "server"] or every
    walls = sum(data.wall for data in worked)
    return Stored(
        records=records, totals=totals, folded_totals=folded, parts=list(parts),
        memory=max((data.memory for data in every), key=lambda memory: memory["peak_bytes"]),
        gradient_rows={name: max(data.gradient_rows.get(name, 0) for data in every)
                       for name in dict.fromkeys(name for data in every for name in data.gradient_rows)},
        densifications=sorted((one for data in every for one in data.densifications), key=lambda one: one[:2]),
        marks=sorted((mark for data in every for mark in data.marks), key=lambda mark: (mark["time"], mark["thread"])),
        more_marks=sum(data.more_marks for data in every), more_densifications=more,
        wall=max([max(0.0, part.process.offset) + part.data.wall for part in parts]
                 + [record["start"] + record["duration"] for record in records]),
        accounted=sum(data.accounted * data.wall for data in worked) / walls if walls else 1.0,
        **{name: sum(getattr(data, name) for data in every) for name in ("densified", "folded", "events", "overhead")},
        environment={name: version for data in reversed(every) for name, version in data.environment.items()})


class ProcessKey(NamedTuple):
    """The key of a total of one process."""

    process: str
    lane: str
    name: str


def process_totals(data: Stored) -> dict[ProcessKey, Total]:
    """Totals by process, lane and name."""
    totals: dict[ProcessKey, Total] = {}
    for process, own in data.parts:
        for key, total in own.totals.items():
            totals.setdefault(ProcessKey(process.name, key.lane, key.name), Total()).merge(total)
    return totals


def workers_of(data: Stored) -> list[Part]:
    """The workers whose threads one process's profile recorded."""
    ranks: dict[int, int] = {}
    for record in data.records:
        rank = record["attrs"].get("rank")
        if record["lane"] in _TELLING and type(rank) is int:
            ranks.setdefault(record["thread"], rank)
    found = []
    for place, rank in enumerate(sorted(set(ranks.values()))):
        # What other threads did is the first one's.
        threads = {record["thread"] for record in data.records if ranks.get(record["thread"], -1 if place else rank) == rank}
        process = Process(f"worker {rank}", "worker", rank, 0.0, None, {"rank": rank})
        found.append(Part(process, data if len(set(ranks.values())) == 1 else _of_threads(data, threads, not place)))
    return found


def _of_threads(data: Stored, threads: set[int], first: bool) -> Stored:
    """What some threads did; what has no thread is the first one's."""
    records = [record for record in data.records if record["thread"] in threads]
    folded = data.folded_totals if first else {}
    return Stored(
        records=records, memory=data.memory if first else NO_MEMORY, gradient_rows=data.gradient_rows if first else {},
        densifications=[one for one in data.densifications if one[1] in threads],
        densified=sum(1 for one in data.densifications if one[1] in threads),
        marks=[mark for mark in data.marks if mark["thread"] in threads], totals=totals_of(records, folded), wall=data.wall,
        accounted=share(records, data.wall), folded=data.folded if first else 0, folded_totals=folded,
        events=len(records) + (data.folded if first else 0), overhead=data.overhead * len(records) / max(1, len(data.records)),
        environment=data.environment)


def totals_of(records: list[Record], folded: Mapping[Key, Total]) -> dict[Key, Total]:
    """Totals as they were: an operator's time without the compilation inside it."""
    totals: dict[Key, Total] = {}
    for key, total in folded.items():
        totals.setdefault(key, Total()).merge(total)
    for record, net in zip(records, without_compilation(records), strict=True):
        key = Key(record["name"], record["lane"], record["layer"], storage(record["inputs"], record["outputs"]))
        totals.setdefault(key, Total()).add(net, round(record["self"] * 1000), record)
    return totals


def share(records: list[Record], wall: float) -> float:
    """Share of the wall time in which outermost events ran."""
    return min(1.0, sum(record["self"] for record in records if record["lane"] != "user") / wall) if wall else 1.0
