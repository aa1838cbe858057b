"""Weak references: listed without a crash of CPython 3.11, and cleared without a lost interrupt.

That ``weakref.getweakrefs`` counts the references, makes a list, for which the garbage collector may run, and then reads as many
as it counted: if the collector has freed one of them, the process ends with a segmentation fault.  From CPython 3.12 on the
collector does not run there.

``WeakSet``, ``WeakMethod`` and the weak dictionaries run a function in Python when an object dies.  Python prints and forgets a
KeyboardInterrupt that arrives in there, so that Ctrl-C does nothing; ``Living`` runs none.
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Living(Generic[T]):
    """A set of objects that holds each as long as it lives."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[T]] = {}

    def add(self, subject: T) -> None:
        """Hold an object until it dies; what then runs is ``dict.pop``."""
        key = id(subject)
        self._known[key] = weakref.ref(subject, functools.partial(self._known.pop, key))

    def __contains__(self, subject: T) -> bool:
        reference = self._known.get(id(subject))
        return reference is not None and reference() is subject

    def __iter__(self) -> Iterator[T]:
        for reference in list(self._known.values()):
            subject = reference()
            if subject is not None:
                yield subject


def _without_collector(subject: object) -> list[weakref.ref[Any]]:  # Any: whatever they refer to
    """As ``weakref.getweakrefs``, while the garbage collector is off.

    One unpacking makes both calls, so that no other thread runs, and switches it on, between them.
    """
    if not gc.isenabled():
        return weakref.getweakrefs(subject)
    calls: tuple[Any, ...] = gc.disable, functools.partial(weakref.getweakrefs, subject)  # Any: functions of different results
    references: list[weakref.ref[Any]]  # Any: as above
    try:
        _, references = map(operator.call, calls)
    finally:
        gc.enable()
    return references


weak_references = weakref.getweakrefs if sys.version_info >= (3, 12) else _without_collector
