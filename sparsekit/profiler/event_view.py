"""Views of the events of a profile for displays, without keeping a dictionary for each event."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .event_store import NO_NODE
from .nesting import depths

if TYPE_CHECKING:
    from .event_store import Log
    from .source import Stored
    from .types import Record


__all__ = ["Brief", "aside"]


def aside(data: Stored) -> Stored:
    """A copy of the data whose records are freed with it; records that exist already stay."""
    return copy.copy(data)


class Brief:
    """A snapshot of the events of a log.

    Gone through, they are pairs: a record that several share, and the event's own start, duration, own time and node.
    A record of its own would take three times as much memory.  Events are in the order of the records; what else differs
    from call to call, arguments, bytes moved and conversions, is in a record of its own.  It may be gone through again and again.
    """

    def __init__(self, log: Log) -> None:
        self._log, self._columns = log, log.columns()

    def records(self) -> list[Record]:
        """A record for each event."""
        return self._log.records(self._columns)

    def __len__(self) -> int:
        return len(self._columns[1])

    def __contains__(self, item: object) -> bool:  # object: as in any container
        return any(pair == item for pair in self)

    def __iter__(self) -> Iterator[tuple[Record, tuple[float, float, float, int | None]]]:
        log, (first, starts, durations, owns, kinds, nodes) = self._log, self._columns
        known = log._kinds
        threads = [known[kind]["thread"] for kind in kinds]
        depth = depths(threads, starts, durations)
        shared: dict[int, Record] = {}
        for i in sorted(range(len(starts)), key=lambda i: (starts[i], depth[i], threads[i], i)):
            number, kind = first + i, kinds[i]
            record: Record | None
            if number in log._arguments or number in log._moved or number in log._conversions:
                record = log._record(number, starts[i], durations[i], owns[i], known[kind], nodes[i], depth[i])
            else:
                record = shared.get(kind)
                if record is None:
                    record = shared[kind] = log._record(number, 0, 0, 0, known[kind], NO_NODE, 0)
            yield record, (starts[i] / 1000, durations[i] / 1000, owns[i] / 1000, None if nodes[i] == NO_NODE else nodes[i])
