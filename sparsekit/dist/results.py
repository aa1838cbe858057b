"""What a run gives, and the profile of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import displays
from .transport import finish

__all__ = ["Results", "gathered", "profiled"]


class Results(list[Any]):  # Any: what the function of a run returns
    """The results of the workers, in the order of ranks.

    Attributes
    ----------
    profile : Profile or None
        One timeline of all workers and servers, if the run was profiled.
    """

    profile: Any = None  # Any: a Profile, which lies above


def profiled(program: Callable[[], object]) -> tuple[Any, bytes]:  # object, Any: whatever the function returns
    """Run a worker's function under a profiler, and send what its stores hold; its result and the trace."""
    def whole() -> object:  # object: as above
        result = program()
        finish()
        return result

    found: tuple[Any, bytes] = displays.call("traced", whole)  # Any: as above
    return found


def gathered(found: list[tuple[Any, bytes]], told: list[Any]) -> Results:  # Any: results, and plain data of servers
    """The results, with one profile of what all workers and servers did."""
    results = Results(result for result, _ in found)
    results.profile = displays.call("merged", [trace for _, trace in found], told)
    return results
