"""What other programs noted of their time, as the tables of a profile: of a server of a run, of another profiler."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

from .columns import NONE

if TYPE_CHECKING:
    from .columns import Given


class Input(NamedTuple):
    """A dense array that an operator took."""

    shape: tuple[int, ...]
    dtype: str
    stored: int
    bytes: int


@dataclass(slots=True)
class _Span:
    """A row of the table of events, and the lane that it is in."""

    lane: str
    thread: int
    kind: int
    start: int
    duration: int
    own: int
    depth: int
    node: int
    moved: int
    arguments: str


#: What a span says in the table of events.
_COLUMNS = tuple(field.name for field in fields(_Span))[1:]


class Spans:
    """Spans, each given after those of its thread that began before it, and the longest of those that began with it.

    Times are in nanoseconds.

    Attributes
    ----------
    end : int
        When the last of them ended.
    """

    def __init__(self) -> None:
        self.end = 0
        self._rows: list[_Span] = []
        self._stack: list[_Span] = []
        self._kinds: dict[tuple[str, str, str, tuple[int, ...]], int] = {}
        self._arrays: dict[Input, int] = {}

    def around(self, thread: int, start: int) -> str:
        """The lane of the innermost span that holds a moment; empty if none does."""
        stack = self._stack
        while stack and (stack[-1].thread != thread or start >= stack[-1].start + stack[-1].duration):
            stack.pop()
        return stack[-1].lane if stack else ""

    def add(self, thread: int, start: int, duration: int, words: tuple[str, str, str], inputs: tuple[Input, ...] = (),
            node: int = NONE, moved: int = 0, arguments: str = "") -> None:
        """Add a span, with its name, type and lane; what sticks out of the one that it began in is cut."""
        self.around(thread, start)
        if self._stack:
            outer = self._stack[-1]
            duration = max(0, min(duration, outer.start + outer.duration - start))
            outer.own = max(0, outer.own - duration)
        taken = tuple(self._arrays.setdefault(array, len(self._arrays)) for array in inputs)
        kind = self._kinds.setdefault((*words, taken), len(self._kinds))
        self._stack.append(_Span(words[2], thread, kind, start, duration, duration, len(self._stack), node, moved, arguments))
        self._rows.append(self._stack[-1])
        self.end = max(self.end, start + duration)

    def tables(self) -> dict[str, dict[str, Given]]:
        """The tables of events, of their kinds and of arrays."""
        rows = sorted(self._rows, key=lambda row: (row.start, row.depth, row.thread))
        arrays = list(self._arrays)
        events: dict[str, Given] = {name: [getattr(row, name) for row in rows] for name in _COLUMNS}
        names, types, lanes, inputs = zip(*self._kinds, strict=True) if self._kinds else ((), (), (), ())
        return {
            "arrays": {"stype": ["default"] * len(arrays), "rows": [NONE] * len(arrays), "components": [["data"]] * len(arrays),
                       "sizes": [[array.bytes] for array in arrays],
                       **{name: [getattr(array, name) for array in arrays] for name in Input._fields}},
            "kinds": {"name": names, "type": types, "lane": lanes, "inputs": inputs,
                      "bytes": [sum(arrays[place].bytes for place in taken) for taken in inputs],
                      "storage": [f"{', '.join(['default'] * len(taken))} ->" if taken else "" for taken in inputs]},
            "events": {**events, "run": [0] * len(rows), "net": events["duration"]}}
