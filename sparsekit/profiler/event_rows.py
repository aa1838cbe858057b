"""The events of a run: appended in the order of their ends, read in the order of their starts."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from .columns import NONE, SCHEMA, Ragged, dtype_of, empty, joined, mapped, taken_of
from .groups import Sums, sums_of
from .nesting import depths

if TYPE_CHECKING:
    from ..base.types import Array
    from .columns import Column

#: What is appended for each event: columns of the table ``events``, and the number of its inputs.
_APPENDED = ("kind", "start", "duration", "own", "net", "node", "inputs")

#: Columns that refer to other events.
_REFERENCES = ("conversion", "made_by")


class EventRows:
    """The table ``events`` while it grows.

    Events that have been read are columns, of which there is no second copy.  Later ones are plain numbers until the next
    reading, and refer to other events by their numbers in the order of arrival, as columns refer to rows.
    """

    def __init__(self) -> None:
        #: Number of events that ever came, which is the number of the next one.
        self.total = 0
        #: For each input of each event since the last reading, the number of the event that wrote it last, or ``NONE``.
        self.made_by = array("q")
        #: By the number of an event since then: bytes that it moved beside those of its kind, the number of the text of its
        #: arguments, and the number of the event that made dense what it reads.
        self.sparse_columns: dict[str, dict[int, int]] = {"moved": {}, "arguments": {}, "conversion": {}}
        self._latest = array("q")
        # Of each row, how many of those kept arrived before it.
        self._arrived = np.zeros(0, np.int64)
        self._columns = {name: empty(kind, 0) for name, kind in SCHEMA["events"].items()}

    def __len__(self) -> int:
        """Events that are kept."""
        return len(self._arrived) + len(self._latest) // len(_APPENDED)

    def append(self, kind: int, start: int, duration: int, own: int, net: int, node: int, inputs: int) -> None:
        """Add an event, after the makers of its inputs and what it has in ``sparse_columns``."""
        self._latest.extend((kind, start, duration, own, net, node, inputs))
        self.total += 1

    def columns(self, threads: Array) -> dict[str, Column]:
        """The table, whose arrays must not be changed; ``threads`` has the thread of each kind of event."""
        if self._latest:
            self._put_in_order(threads)
        return self._columns

    def fold(self, count: int, threads: Array) -> tuple[Sums, Array]:
        """Leave out the events that arrived first; give by kind the sums of their times, and of what they moved themselves."""
        columns: dict[str, Array] = self.columns(threads)  # type: ignore[assignment]  # all but one
        gone = self._arrived < count
        kind, moved = columns["kind"][gone], np.zeros(len(threads), np.int64)
        np.add.at(moved, kind, columns["moved"][gone])
        sums = sums_of(kind, len(threads), columns["net"][gone], columns["own"][gone])
        kept = np.flatnonzero(~gone)
        places = np.full(len(gone), NONE)
        places[kept] = np.arange(len(kept))
        self._hold({name: mapped(taken_of(values, kept), places) if name in _REFERENCES else taken_of(values, kept)
                    for name, values in columns.items()}, self._arrived[kept] - count)
        return sums, moved

    def _put_in_order(self, threads: Array) -> None:
        """Make columns of the latest events, together with the columns that there are; one by one, as they are large."""
        latest = np.frombuffer(self._latest, np.int64).reshape(-1, len(_APPENDED))

        def together(name: str) -> Column:
            """The rows that there are, then the latest; references say how many of those kept arrived before the other event."""
            older, new = self._columns[name], self._latest_column(name, latest, threads)
            return joined([mapped(older, self._arrived) if name in _REFERENCES else older, new]) if len(self._arrived) else new

        back = np.concatenate([np.argsort(self._arrived), np.arange(len(self._arrived), len(self))])
        start, duration, thread = (np.asarray(together(name))[back] for name in ("start", "duration", "thread"))
        depth = depths(thread, start, duration)
        order = np.lexsort((np.arange(len(depth)), thread, depth, start))
        del start, duration, thread
        rows, places = back[order], np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        columns: dict[str, Column] = {}
        for name in SCHEMA["events"]:
            if name == "depth":
                columns[name] = depth[order]
                continue
            values = together(name)
            if name in _REFERENCES:
                values = mapped(values, places)
            elif not np.any(values):
                columns[name] = np.zeros_like(values)  # which take no memory until they are written to
                continue
            columns[name] = taken_of(values, rows)
        self._hold(columns, order)
        self._latest, self.made_by, self.sparse_columns = array("q"), array("q"), {name: {} for name in self.sparse_columns}

    def _latest_column(self, name: str, latest: Array, threads: Array) -> Column:
        """A column of the latest events, in the order of arrival."""
        kind = dtype_of(SCHEMA["events"][name])
        number = dict(zip(_APPENDED, latest.T, strict=True))
        first = self.total - len(self)  # the number of the oldest event that is kept
        if name == "made_by":
            makers = np.frombuffer(self.made_by, np.int64) - first
            return Ragged(np.maximum(makers, NONE).astype(kind), np.cumsum(number["inputs"]))
        if name in self.sparse_columns:
            shift, nothing = (first, NONE) if name in _REFERENCES else (0, 0)
            values = np.full(len(latest), nothing, kind)
            by_event = self.sparse_columns[name]
            begin = self.total - len(latest)
            values[np.array([event - begin for event in by_event], np.int64)] = np.maximum(
                np.array([*by_event.values()], np.int64) - shift, nothing)
            return values
        if name == "thread":
            number[name] = threads[number["kind"]]
        return number[name].astype(kind) if name in number else np.zeros(len(latest), kind)

    def _hold(self, columns: dict[str, Column], arrived: Array) -> None:
        for values in columns.values():
            for part in values if isinstance(values, Ragged) else (values,):
                part.flags.writeable = False  # whoever reads the profile has these arrays too
        self._columns, self._arrived = columns, arrived
