"""The weak references to an object, found without a crash of CPython 3.11.

That ``weakref.getweakrefs`` counts the references, makes a list, for which the garbage collector may run, and then reads as many
as it counted: if the collector has freed one of them, the process ends with a segmentation fault.  From CPython 3.12 on the
collector does not run there.
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
import weakref
from typing import Any

__all__ = ["weak_references"]


def _without_collector(subject: object) -> list[weakref.ref[Any]]:  # Any: whatever they refer to
    """As ``weakref.getweakrefs``, while the garbage collector is off.

    One unpacking makes both calls, so that no other thread runs, and switches it on, between them.
    """
    if not gc.isenabled():
        return weakref.getweakrefs(subject)
    calls: tuple[Any, ...] = gc.disable, functools.partial(weakref.getweakrefs, subject)  # Any: functions of different results
    found: list[weakref.ref[Any]]  # Any: as above
    try:
        _, found = map(operator.call, calls)
    finally:
        gc.enable()
    return found


weak_references = weakref.getweakrefs if sys.version_info >= (3, 12) else _without_collector
