"""The profile's own clock: nanoseconds since the start, standing still while paused."""

from __future__ import annotations

import bisect
import time


class Clock:
    """Maps ``time.perf_counter_ns()`` values to active time.

    The mapping never runs backwards nor faster than real time, so whatever nests in real time
    nests in the profile, and nothing can add up to more than the wall time.
    """

    def __init__(self) -> None:
        self._start = 0
        self._stops: list[int] = []
        self._resumes: list[int] = []
        self._active_before: list[int] = []
        self.running = False

    def start(self, now: int | None = None) -> None:
        """Let the clock run, for the first time or again."""
        now = time.perf_counter_ns() if now is None else now
        if not self._stops:
            self._start = now
        else:
            self._resumes.append(now)
        self.running = True

    def stop(self, now: int | None = None) -> None:
        """Let the clock stand still."""
        now = time.perf_counter_ns() if now is None else now
        self._active_before.append(self.at(now))
        self._stops.append(now)
        self.running = False

    def first_stretch(self) -> tuple[int, float]:
        """When the clock started, and how far it ran before it stood still for the first time."""
        return self._start, self._active_before[0] if self._active_before else float("inf")

    def at(self, now: int) -> int:
        """Active nanoseconds that had passed at ``now``."""
        place = bisect.bisect_right(self._stops, now)
        if place == 0:
            return max(0, now - self._start)
        done = self._active_before[place - 1]
        if place > len(self._resumes):
            return done
        return done + max(0, now - self._resumes[place - 1])

    def elapsed(self) -> int:
        """Active nanoseconds so far."""
        return self.at(time.perf_counter_ns()) if self.running else (self._active_before or [0])[-1]
