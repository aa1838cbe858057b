"""What a merged profile is made of: the data of each process, and the workers whose threads one process recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .columns import Columns, Strings, merged
from .stored import Part, Process, Stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..base.types import JSON, Array

#: Lanes whose events say of which worker they are.
_TELLING = ("exchange", "wait", "profiler")

#: Tables whose rows say on which thread something happened.
_THREADED = ("events", "ledger", "marks")


def combined(parts: Sequence[Part]) -> Columns:
    """The data of all processes together, with threads that no two of them share, and events in the order of their starts."""
    tables, first = [], 0
    for part in parts:
        columns, first = _numbered(part, first)
        tables.append(columns)
    together = merged(tables)
    events = together.events
    order = np.lexsort((np.arange(len(events)), events.thread, events.depth, events.start))
    return together.taken({"events": order})


def _numbered(part: Part, first: int) -> tuple[Columns, int]:
    """The data of one process, which its run is named after, with threads from ``first`` on; and what comes after those."""
    process, columns = part.process, part.data.columns
    threads = np.unique(np.concatenate([getattr(columns, table).thread for table in _THREADED]))
    threads = threads[threads >= 0]
    changes: dict[str, dict[str, Array]] = {}
    for table in _THREADED:
        own = getattr(columns, table).thread
        changes[table] = {"thread": np.where(own < 0, own, np.searchsorted(threads, own) + first).astype(np.int32)}
    about = {**part.data.about[0], "process": process.about}
    changes["runs"] = _run_of(columns, process, about)
    strings = Strings(columns.strings)
    for name, text in (("name", process.name), ("process", process.kind), ("about", json.dumps(about))):
        changes["runs"][name] = np.array([strings.number(text)], np.int32)
    renumbered = columns.changed(changes)
    return Columns(renumbered.tables, strings.all()), first + len(threads)


def _run_of(columns: Columns, process: Process, about: Mapping[str, JSON]) -> dict[str, Array]:
    error = -1 if process.error is None else round(process.error * 1000)
    return {"number": np.array([process.number]), "offset": np.array([round(process.offset * 1000)]), "error": np.array([error])}


def workers_of(data: Stored) -> list[Part]:
    """The workers whose threads one process's profile recorded."""
    ranks: dict[int, int] = {}
    if not any('"rank"' in text for text in data.columns.strings):  # no record need be made
        return []
    for record in data.records:
        rank = record["attrs"].get("rank")
        if record["lane"] in _TELLING and type(rank) is int:
            ranks.setdefault(record["thread"], rank)
    workers = []
    every = sorted(set(ranks.values()))
    for place, rank in enumerate(every):
        # What other threads did is the first one's.
        threads = [thread for thread in {record["thread"] for record in data.records}
                   if ranks.get(thread, -1 if place else rank) == rank]
        process = Process(f"worker {rank}", "worker", rank, 0.0, None, {"rank": rank})
        workers.append(Part(process, data if len(every) == 1 else _of_threads(data, threads, not place)))
    return workers


def _of_threads(data: Stored, threads: Sequence[int], first: bool) -> Stored:
    """What some threads did; what has no thread is the first one's."""
    columns, nothing = data.columns, np.zeros(0, np.int64)
    taken = {table: np.flatnonzero(np.isin(getattr(columns, table).thread, threads)) for table in _THREADED}
    if not first:
        taken |= dict.fromkeys(("folded", "changes", "process_memory", "temporaries", "gradient_rows"), nothing)
    part = columns.taken(taken)
    own = len(taken["events"])
    share = own / max(1, len(columns.events))
    runs = part.runs
    return Stored(part.changed({"runs": {
        "events": np.array([own + (data.folded if first else 0)]), "overhead": (runs.overhead * share).astype(np.int64),
        "more_marks": runs.more_marks * first}}))
