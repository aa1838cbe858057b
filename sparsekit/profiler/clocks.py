"""How far the clocks of processes are apart, from questions and answers between them.

A worker notes what the clock of a server showed within a span: when it asked, and when the answer came.  The server read its
clock in between, whatever the ways there and back took.  So each answer bounds the difference of the clocks from both sides,
by at most half of the round trip from the middle, as in the Network Time Protocol.  The bounds of several answers are put
together as long as they agree; clocks that drift, or a profiler that was paused, begin a new stretch.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .types import Record

__all__ = ["Answer", "Offset", "answers_of", "difference", "offset_of"]

#: Microseconds by which bounds may miss each other because numbers are rounded.
SLACK = 0.01


class Answer(NamedTuple):
    """Bounds of what another clock is ahead of a process's own time; microseconds.

    Attributes
    ----------
    time : float
        When, on the own clock.
    low, high : float
    """

    time: float
    low: float
    high: float


class _Stretch(NamedTuple):
    start: float
    low: float
    high: float


class Offset:
    """What has to be added to the times of a process, stretch by stretch.

    Parameters
    ----------
    stretches : list
        Without any, nothing is known, and nothing is added.
    """

    def __init__(self, stretches: list[_Stretch]) -> None:
        self._starts = [stretch.start for stretch in stretches]
        self._values = [(stretch.low + stretch.high) / 2 for stretch in stretches] or [0.0]
        #: Half of the widest bounds, in microseconds; None if nothing is known.
        self.error: float | None = max((stretch.high - stretch.low) / 2 for stretch in stretches) if stretches else None

    def at(self, time: float) -> float:
        """What is to be added at a time."""
        return self._values[max(0, bisect.bisect_right(self._starts, time) - 1)]


def offset_of(answers: Iterable[Answer]) -> Offset:
    """The offset that answers give: as few stretches as their bounds allow."""
    stretches: list[_Stretch] = []
    for time, low, high in sorted(answers):
        if stretches and max(stretches[-1].low, low) <= min(stretches[-1].high, high) + SLACK:
            last = stretches[-1]
            low, high = max(last.low, low), min(last.high, high)
            stretches[-1] = _Stretch(last.start, min(low, high), max(low, high))
        else:
            stretches.append(_Stretch(time, low, high))
    return Offset(stretches)


def answers_of(records: Iterable[Record]) -> dict[int, list[Answer]]:
    """What the records of a worker say of the clock of each server, in microseconds of that clock."""
    found: dict[int, list[Answer]] = {}
    for record in records:
        server, shown = record["attrs"].get("server"), record["attrs"].get("shown")
        if record["lane"] == "profiler" and type(server) is int and isinstance(shown, float):
            start, end, there = record["start"], record["start"] + record["duration"], shown * 1e6
            found.setdefault(server, []).append(Answer(start, there - end, there - start))
    return found


def difference(reference: Iterable[Answer], other: Iterable[Answer]) -> list[Answer]:
    """Bounds of what a reference clock is ahead of another one, from one worker's answers of both; times are the other's."""
    found = []
    asked = list(reference)
    for time, low, high in other:
        near = min(asked, key=lambda answer: abs(answer.time - time), default=None)
        if near is not None:
            found.append(Answer(time + (low + high) / 2, near.low - high, near.high - low))
    return found
