"""Profiles as bytes, which travel from the process that recorded them to the one that merges them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from .processes import merge, server_profile
from .profile import Profile
from .profile_file import read_columns, write_columns
from .profiler import Profiler
from .stored import Stored

__all__ = ["merged", "traced"]

T = TypeVar("T")


def traced(function: Callable[[], T]) -> tuple[T, bytes]:
    """Call a function under a profiler; gives its result and the profile."""
    with Profiler() as prof:
        result = function()
    stream = io.BytesIO()
    write_columns(prof._data().columns, stream)
    return result, stream.getvalue()


def merged(profiles: Sequence[bytes], told: Sequence[Mapping[str, Any]]) -> Profile:  # Any: plain data of servers
    """One profile of those of workers and of what servers tell."""
    workers = [Profile(Stored(read_columns(io.BytesIO(profile), f"profile {place}"))) for place, profile in enumerate(profiles)]
    return merge([*workers, *map(server_profile, told)])
