"""Profiles as bytes, which travel from the process that recorded them to the one that merges them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .processes import merge, server_profile
from .profiler import Profiler
from .read_trace import loaded
from .trace import written_trace

if TYPE_CHECKING:
    from .profile import Profile

__all__ = ["merged", "traced"]

T = TypeVar("T")


def traced(function: Callable[[], T]) -> tuple[T, bytes]:
    """Call a function under a profiler; gives its result and the trace."""
    with Profiler() as prof:
        result = function()
    stream = io.BytesIO()
    written_trace(prof, stream)
    return result, stream.getvalue()


def merged(traces: Sequence[bytes], told: Sequence[Mapping[str, Any]]) -> Profile:  # Any: plain data of servers
    """One profile of traces of workers and what servers tell."""
    workers = [loaded(trace, f"trace {place}") for place, trace in enumerate(traces)]
    return merge([*workers, *map(server_profile, told)])
