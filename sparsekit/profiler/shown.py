"""What displays take of a profile of very many events, without a dictionary of each that stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .log import NO_NODE
from .nesting import depths

__all__ = ["brief", "passing"]


@contextmanager
def passing(data: Any) -> Iterator[Any]:
    """Let go of records that are made meanwhile; those that were asked for before stay."""
    made = data._records
    try:
        yield data
    finally:
        if callable(made):
            data._records = made


def brief(data: Any, log: Any) -> Any:
    """The records if they are there, else for each event a record that it shares, and its own start, duration and own time.

    A record of its own would take three times as much memory.  Events are in the order of the records; what differs from call
    to call, but for times, is in records of their own: arguments and bytes moved.  Forward and backward are not linked.
    """
    return data.records if log is None or not callable(data._records) else _briefly(log)


def _briefly(log: Any) -> Iterator[tuple[dict[str, Any], tuple[float, float, float]]]:
    first, starts, durations, owns, kinds, _ = log.columns()
    known = log._kinds
    threads = [known[kind]["thread"] for kind in kinds]
    depth = depths(threads, starts, durations)
    shared: dict[int, dict[str, Any]] = {}
    for i in sorted(range(len(starts)), key=lambda i: (starts[i], depth[i], threads[i], i)):
        number, kind = first + i, kinds[i]
        if number in log._arguments or number in log._moved:
            record = log._record(number, starts[i], durations[i], owns[i], known[kind], NO_NODE, depth[i])
        else:
            record = shared.get(kind)
            if record is None:
                record = shared[kind] = log._record(number, 0, 0, 0, known[kind], NO_NODE, 0)
        yield record, (starts[i] / 1000, durations[i] / 1000, owns[i] / 1000)
