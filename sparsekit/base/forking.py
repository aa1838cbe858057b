"""Locks that a fork acquires first, so that no lock in the child is held by a thread of the parent."""

from __future__ import annotations

import collections
import importlib
import operator
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from .signal_safe import acting

if TYPE_CHECKING:
    from types import ModuleType

    from .types import Lock

_locks: list[Callable[[], Lock | None]] = []

_acquire, _release = operator.methodcaller("acquire"), operator.methodcaller("release")

#: Held while a part of the library is imported on first use.  Python has a lock for each module, which stays locked in a
#: child if another thread of the parent was importing it.
_importing = threading.Lock()

#: The parts that have been imported, for which the lock need not be taken again.
_loaded: dict[str, ModuleType] = {}

#: The thread that holds it; a part may import another, also in work that is done undisturbed in another thread.
_importer = 0


class _Forking(threading.local):
    """What the calling thread holds while it forks."""

    def __init__(self) -> None:
        self.held: list[Lock | None] = []  # None, and the locks


_forking = _Forking()


def across_fork(lock: Callable[[], Lock | None]) -> None:
    """Register a lock that a forking thread acquires, so that the child gets consistent data and a free lock.

    Parameters
    ----------
    lock : callable
        Gives the lock, or None if there is none yet.  Locks are taken in the order in which they are named here: a
        thread that holds one may wait for those named later, and for no others.
    """
    _locks.append(lock)


def load(name: str, package: str | None = None) -> ModuleType:
    """Import a part of the library, as ``importlib.import_module`` does, while no thread forks.

    Parameters
    ----------
    name : str
    package : str, optional
        What a relative name is relative to.
    """
    global _importer
    loaded = _loaded.get(name)
    if loaded is not None and sys.modules.get(name) is loaded:
        return loaded
    if _importer == acting():
        return importlib.import_module(name, package)
    with _importing:  # nothing before it: an interrupt between taking a lock and the block would leave it taken
        _importer = acting()
        try:
            module = _loaded[name] = importlib.import_module(name, package)
            return module
        finally:
            _importer = 0


def _before() -> None:
    global _importer
    held = _forking.held
    if not held:
        held.append(None)
    # The import lock last: a thread that holds another lock may import something.
    wanted = [lock for lock in (*[reference() for reference in _locks], None if _importer == acting() else _importing)
              if lock is not None]
    interrupt = None
    while len(held) <= len(wanted):
        try:
            # One call of Python's own code: an interrupt cannot come between taking a lock and noting that.
            held.extend(filter(_acquire, wanted[len(held) - 1:]))
        except BaseException as error:
            interrupt = error
    if held[-1] is _importing:
        _importer = acting()
    if interrupt is not None:
        raise interrupt


def _after() -> None:
    global _importer
    held = _forking.held
    if not held:
        return
    if held[-1] is _importing:
        _importer = 0
    collections.deque(map(_release, iter(held.pop, None)), maxlen=0)  # one call too


if hasattr(os, "register_at_fork"):
    # Python goes on to fork when one of these is interrupted, so each is called twice; the second time does what is left.
    for _ in range(2):
        os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
