"""Locks that a fork waits for: a child must not find one taken by a thread that it does not have."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["across_fork"]

_locks: list[Callable[[], Any]] = []


class _Forking(threading.local):
    """What the calling thread holds while it forks."""

    held: tuple[Any, ...] = ()


_forking = _Forking()


def across_fork(lock: Callable[[], Any]) -> None:
    """Have a lock held by who forks, so that what it guards is whole in the child, and the lock free.

    Parameters
    ----------
    lock : callable
        Gives the lock, or None if there is none yet.  Locks are taken in the order in which they are named here: a
        thread that holds one may wait for those named later, and for no others.
    """
    _locks.append(lock)


def _before() -> None:
    held = []
    for lock in [given() for given in _locks]:
        if lock is not None:
            lock.acquire()
            held.append(lock)
    _forking.held = tuple(held)


def _after() -> None:
    held, _forking.held = _forking.held, ()
    for lock in reversed(held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
