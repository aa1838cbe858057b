"""Own time and depth of events that nest, from intervals alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..base.types import Array

#: Finished intervals remembered per thread before older ones are put together.
REMEMBERED = 8192

#: Events that are plain numbers of Python at a time.
CHUNK = 65_536


class Nesting:
    """Works out own time while events arrive in the order in which they ended.

    What an event contains has ended before it, so it lies on top of the stack of finished
    intervals.  Intervals of a stack are disjoint by construction; hence own time is never
    negative, and all own times of a thread add up to the time it was covered.
    """

    def __init__(self) -> None:
        # Per thread, flat, four numbers an interval: start, end, covered, of which compilation.  The garbage
        # collector does not track numbers.
        self._finished: dict[int, list[int]] = {}
        #: Starts of spans that are still open, per thread: intervals are not put together across them.
        self.open: dict[int, list[int]] = {}

    def add(self, thread: int, start: int, end: int, compiling: bool) -> tuple[int, int, int]:
        """Take one event; give its start, its own time and the compilation inside it.

        The start is moved if the interval overlaps an earlier one without containing it.
        """
        stack = self._finished.get(thread)
        if stack is None:
            stack = self._finished[thread] = []
        if not stack or (stack[-3] <= start and stack[-4] < start):  # nearly always: it comes after all before
            length = end - start
            stack += (start, end, length, length if compiling else 0)
            if len(stack) > 4 * REMEMBERED:
                self._join(thread, stack)
            return start, length, 0
        covered = compiled = 0
        reach = end
        while stack and stack[-4] >= start:
            _, last, inner, inner_compiled = stack[-4:]
            del stack[-4:]
            covered += inner
            if last > reach:
                reach = last
            compiled += inner_compiled
        if stack and stack[-3] > start:
            start = stack[-3]
        length = end - start
        if length < covered:
            length = covered
        stack += (start, reach if reach > start else start, length, length if compiling else compiled)
        if len(stack) > 4 * REMEMBERED:
            self._join(thread, stack)
        return start, length - covered, 0 if compiling else compiled

    def _join(self, thread: int, stack: list[int]) -> None:
        """Put older intervals together, except across the start of an open span."""
        borders = sorted(self.open.get(thread, ()))
        joined: list[int] = []
        border = 0
        for place in range(0, 2 * REMEMBERED, 4):
            start, end, covered, compiled = stack[place: place + 4]
            crossed = border
            while border < len(borders) and borders[border] <= start:
                border += 1
            if joined and crossed == border:
                joined[-3:] = end, joined[-2] + covered, joined[-1] + compiled
            else:
                joined += (start, end, covered, compiled)
        stack[: 2 * REMEMBERED] = joined

    def covered(self) -> dict[int, list[tuple[int, int, int]]]:
        """Start, end and covered time of the outermost intervals of each thread."""
        return {thread: [(stack[place], stack[place + 1], stack[place + 2]) for place in range(0, len(stack), 4)]
                for thread, stack in self._finished.items()}


def depths(threads: Array, starts: Array, durations: Array) -> Array:
    """How many events each event lies in; events are given in the order in which they ended."""
    depth = np.zeros(len(starts), np.int16)
    around: dict[int, list[tuple[int, int]]] = {}
    for end in range(len(starts), 0, -CHUNK):
        part = slice(max(0, end - CHUNK), end)
        columns = [column[part][::-1].tolist() for column in (threads, starts, starts + durations)]
        levels = [_enter(around.setdefault(thread, []), start, last) for thread, start, last in zip(*columns, strict=True)]
        depth[part] = levels[::-1]
    return depth


def _enter(stack: list[tuple[int, int]], start: int, end: int) -> int:
    """Put an interval on those that contain it; give their number."""
    # An event that contains this one ended after it and began no later.
    while stack and not (stack[-1][0] <= start and end <= stack[-1][1]):
        stack.pop()
    stack.append((start, end))
    return len(stack) - 1
