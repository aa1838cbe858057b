"""What a run gives, and the profile of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..base import displays
from .transport import finish

__all__ = ["Profiled", "Results"]


class Results(list[Any]):  # Any: what the function of a run returns
    """The results of the workers, in the order of ranks.

    Attributes
    ----------
    profile : Profile or None
        One timeline of all workers and servers, if the run was profiled.
    """

    profile: Any = None  # Any: a Profile, which lies above


@dataclass(frozen=True)
class Profiled:
    """A function that a worker runs under a profiler; gives its result and the trace."""

    program: Callable[..., object]  # object: whatever it returns

    def __call__(self) -> tuple[Any, bytes]:  # Any: whatever the function returns
        """Run it, and send what its stores hold."""
        found: tuple[Any, bytes] = displays.call("traced", self._whole)
        return found

    def _whole(self) -> object:  # object: whatever it returns
        result = self.program()
        finish()
        return result

    @staticmethod
    def gather(found: list[tuple[Any, bytes]], told: list[Any]) -> Results:  # Any: plain data of servers
        """The results, with one profile of what all workers and servers did."""
        results = Results(result for result, _ in found)
        results.profile = displays.call("merged", [trace for _, trace in found], told)
        return results
