"""Profiler: time and memory of every operator, and the sparsity of its arrays.

``with sparsekit.Profiler() as prof:`` records; ``prof`` displays itself in a notebook and has
``prof.records``, ``prof.table()``, ``prof.memory``, ``prof.ledger``.  The functions that MXNet's
``profiler`` module has (``set_config``, ``set_state``, ``dumps`` …) work on one such object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy as _lazy
from .profile import Profile
from .profiler import Profiler, active

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Profile",
    "Profiler",
    "Task",
    "active",
    "compare",
    "diff",
    "dump",
    "dump_profile",
    "dumps",
    "expect",
    "load",
    "merge",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "schedule",
    "scope",
    "set_config",
    "set_kvstore_handle",
    "set_state",
]

_PLACES = {"load": "read_profile", "merge": "processes", "schedule": "schedules", "diff": "read_profile", "compare": "turns",
           "expect": "contracts"}


if TYPE_CHECKING:
    from .api import *  # noqa: F403
    from .contracts import expect
    from .processes import merge
    from .read_profile import diff, load
    from .schedules import schedule
    from .turns import compare
else:
    __getattr__, _ = _lazy(globals(), {name: f"profiler.{_PLACES.get(name, 'api')}:{name}" for name in __all__})


def __dir__() -> list[str]:
    return [*__all__]
