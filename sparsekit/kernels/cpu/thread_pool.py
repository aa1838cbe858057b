"""Threads that share the loop of one kernel, and wait for the next one without going to sleep at once.

Waking a sleeping thread takes 25 to 55 µs, longer than many a sparse product.  So a helper that has run out of work
spins on a word of memory for some 100 µs before it sleeps, as OpenMP's threads do.  The caller of a kernel does
not wait for helpers to wake: each thread that is awake claims pieces one by one.

A shared loop runs compiled code only, without the interpreter's lock.  The threads communicate through the
*shared_state*, an array of words that are read and written atomically.
"""

from __future__ import annotations

import importlib
import os
import threading
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import SparsekitError
from ...base.signal_safe import undisturbed
from .intrinsic_names import (
    ACTIVE,
    ARGUMENTS,
    AWAKE,
    COUNT,
    FAILED,
    FUNCTION,
    GRAIN,
    NEXT,
    add,
    pause,
    read,
    run_piece,
    take_down,
    write,
)
from .jit import kernel, worker_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.types import Array
    from .jit import Kernel


__all__ = ["lead", "share"]

#: ``NEXT`` while there is nothing to claim: beyond any count, and far from overflow.
CLOSED = 1 << 62

#: How often an idle helper looks at ``NEXT`` before it goes to sleep; each look pauses for 20 to 50 ns.
SPIN_LIMIT = 4000


@kernel
def _claim(shared_state):
    """Run pieces until none is left.  The shared_state describes a loop before its pieces can be claimed."""
    while True:
        piece = add(shared_state, NEXT, 1)
        if piece >= CLOSED:
            return
        grain, count = read(shared_state, GRAIN), read(shared_state, COUNT)
        start = piece * grain
        if start >= count:
            return
        if run_piece(read(shared_state, FUNCTION), read(shared_state, ARGUMENTS), start, min(start + grain, count)) != 0:
            add(shared_state, FAILED, 1)


@kernel
def lead(shared_state, count, grain):
    """Open the loop described by the shared_state, run pieces of it, close it, and wait for the pieces of other threads."""
    write(shared_state, COUNT, count)
    write(shared_state, GRAIN, grain)
    write(shared_state, FAILED, 0)
    write(shared_state, NEXT, 0)
    _claim(shared_state)
    write(shared_state, NEXT, CLOSED)
    while read(shared_state, ACTIVE) > 0:
        pause()
    return read(shared_state, FAILED)


@kernel
def _attend(shared_state, number, looks):
    """Run pieces, and spin until no piece has come for so many iterations."""
    looked = 0
    while looked < looks:
        piece = read(shared_state, NEXT)
        if piece < CLOSED and piece * read(shared_state, GRAIN) < read(shared_state, COUNT):  # their product would overflow
            add(shared_state, ACTIVE, 1)
            _claim(shared_state)
            add(shared_state, ACTIVE, -1)
            looked = 0
        else:
            looked += 1
            pause()
    write(shared_state, AWAKE + number * 8, 0)


def _new_shared_state(helpers: int) -> Array:
    shared_state = np.zeros(AWAKE + 8 * (helpers + 1), np.int64)
    shared_state[[NEXT, GRAIN]] = CLOSED, 1
    return shared_state


def _current_processor() -> Callable[[], int] | None:
    """A function that returns the processor of the calling thread, where threads can set their affinity; else None."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    ctypes = importlib.import_module("ctypes")
    found: Callable[[], int] | None = getattr(ctypes.CDLL(None), "sched_getcpu", None)
    return found


def _leave(processor: int) -> None:
    """Move the calling thread to another processor now, and then restore its affinity."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) > 1:
        try:
            os.sched_setaffinity(0, allowed - {processor})
            os.sched_setaffinity(0, allowed)
        except OSError:  # the other processors were taken away meanwhile
            return


class _Pool:
    """The helper threads of this process: one less than its thread count, since the calling thread works too."""

    def __init__(self) -> None:
        helpers = worker_count() - 1
        self.lock, self.shared_state = threading.Lock(), _new_shared_state(helpers)
        self.processor, self.leader = _current_processor(), -1
        # Locks serve as binary semaphores: signal handlers cannot interrupt their methods, as they can threading.Semaphore's.
        self.semaphores = [threading.Lock() for _ in range(helpers)]
        for number, semaphore in enumerate(self.semaphores):
            semaphore.acquire()
            thread = threading.Thread(target=self._help, args=(number,), name=f"sparsekit-{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more threads: the existing ones do the work
                del self.semaphores[number:]
                break

    def _help(self, number: int) -> None:
        while True:
            self.semaphores[number].acquire()
            if self.processor is not None and self.processor() == self.leader:
                _leave(self.leader)
            _attend(self.shared_state, number, SPIN_LIMIT)

    def wake(self) -> None:
        """Wake the helpers that sleep.

        In many a virtual machine Linux wakes a thread where its waker runs, though other processors are idle.  Each
        then keeps the other from running, and the leader falls back to what it can do alone, or less.
        """
        shared_state = self.shared_state
        for number, semaphore in enumerate(self.semaphores):
            if not shared_state[AWAKE + number * 8]:
                if self.processor is not None:
                    self.leader = self.processor()
                shared_state[AWAKE + number * 8] = 1
                semaphore.release()


_making = threading.Lock()
_pools: list[_Pool] = []


def _after_fork() -> None:
    """Make a new pool and lock: a forked child has no threads of its parent."""
    global _making
    _making = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _make() -> None:
    with _making:
        if not _pools:
            _pools.append(_Pool())


def _pool() -> _Pool:
    if not _pools:
        _attend(_new_shared_state(0), 0, 0)  # compiled by the calling thread, before helpers need it
        undisturbed(_make)
    return _pools[0]


def share(shared: Kernel, count: int, grain: int, *arguments: object) -> None:  # object: the kernel's own arguments
    """Run a kernel's loop over ``range(count)`` in pieces of ``grain``, with the helpers unless another thread has them.

    Parameters
    ----------
    shared : Kernel
        ``shared(shared_state, count, grain, *arguments)``, which calls ``put_up`` and gives what ``lead`` gives.
    """
    pool = _pool() if worker_count() > 1 and count > grain else None
    if pool is None or pool.lock.locked():
        shared_state = _new_shared_state(0)
        try:
            failed = shared(shared_state, count, grain, *arguments)
        finally:
            take_down(shared_state)
    else:
        with pool.lock:  # a `with` block cannot leave the lock held after an interrupt; it waits for a loop of another thread
            pool.wake()
            failed = shared(pool.shared_state, count, grain, *arguments)
    if failed:
        raise SparsekitError("A kernel failed in one of its threads.", hint="report this, it is a defect.")
