"""Threads that share the loop of one kernel, and wait for the next one without going to sleep at once.

Waking a sleeping thread takes 25 to 55 µs, longer than many a sparse product.  So a helper that has run out of work
watches a word of memory for some 100 µs before it sleeps, as OpenMP's threads do; and whoever calls a kernel does
not wait for helpers to wake: pieces are claimed one by one, by whoever is awake.

While a loop is shared all is compiled code, without the interpreter's lock.  What passes between the threads is the
*board*, an array of words that are read and written as atomics.
"""

from __future__ import annotations

import importlib
import os
import threading
from typing import Any

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

__all__ = ["lead", "share"]

#: ``NEXT`` while there is nothing to claim: beyond any count, and far from overflow.
CLOSED = 1 << 62

#: How often an idle helper looks at ``NEXT`` before it goes to sleep; each look pauses for 20 to 50 ns.
LOOKS = 4000


@kernel
def _claim(board):
    """Run pieces until none is left.  What a claimed piece belongs to was on the board before it could be claimed."""
    while True:
        piece = add(board, NEXT, 1)
        if piece >= CLOSED:
            return
        grain, count = read(board, GRAIN), read(board, COUNT)
        start = piece * grain
        if start >= count:
            return
        if run_piece(read(board, FUNCTION), read(board, ARGUMENTS), start, min(start + grain, count)) != 0:
            add(board, FAILED, 1)


@kernel
def lead(board, count, grain):
    """Open the loop that is on the board, take part, close it, and wait for who still runs a piece."""
    write(board, COUNT, count)
    write(board, GRAIN, grain)
    write(board, FAILED, 0)
    write(board, NEXT, 0)
    _claim(board)
    write(board, NEXT, CLOSED)
    while read(board, ACTIVE) > 0:
        pause()
    return read(board, FAILED)


@kernel
def _attend(board, number, looks):
    """A helper's time awake: run pieces, and watch for more until nothing has come for so many looks."""
    looked = 0
    while looked < looks:
        piece = read(board, NEXT)
        if piece < CLOSED and piece * read(board, GRAIN) < read(board, COUNT):  # their product would overflow
            add(board, ACTIVE, 1)
            _claim(board)
            add(board, ACTIVE, -1)
            looked = 0
        else:
            looked += 1
            pause()
    write(board, AWAKE + number * 8, 0)


def _empty_board(helpers: int) -> Any:
    board = np.zeros(AWAKE + 8 * (helpers + 1), np.int64)
    board[[NEXT, GRAIN]] = CLOSED, 1
    return board


def _current_processor() -> Any:
    """The function that tells the processor that the calling thread runs on, where threads may choose theirs."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    ctypes: Any = importlib.import_module("ctypes")
    return getattr(ctypes.CDLL(None), "sched_getcpu", None)


def _leave(processor: int) -> None:
    """Have the calling thread run on another processor than this one, now, and from then on where it may."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) > 1:
        try:
            os.sched_setaffinity(0, allowed - {processor})
            os.sched_setaffinity(0, allowed)
        except OSError:  # the processors that are left were taken away meanwhile
            return


class _Crew:
    """The helpers of this process: one less than its threads, since who asks for the work takes part."""

    def __init__(self) -> None:
        helpers = worker_count() - 1
        self.lock, self.board = threading.Lock(), _empty_board(helpers)
        self.processor, self.leader = _current_processor(), -1
        # Locks, which are released to ring: no signal's handler can come in between, as it can into a semaphore's methods.
        self.bells = [threading.Lock() for _ in range(helpers)]
        for number, bell in enumerate(self.bells):
            bell.acquire()
            thread = threading.Thread(target=self._help, args=(number,), name=f"sparsekit-{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more of them: those that are there do the work
                del self.bells[number:]
                break

    def _help(self, number: int) -> None:
        while True:
            self.bells[number].acquire()
            if self.processor is not None and self.processor() == self.leader:
                _leave(self.leader)
            _attend(self.board, number, LOOKS)

    def wake(self) -> None:
        """Ring for the helpers that sleep.

        In many a virtual machine Linux wakes a thread where its waker runs, though other processors are idle.  Each
        then keeps the other from running, and the leader falls back to what it can do alone, or less.
        """
        board = self.board
        for number, bell in enumerate(self.bells):
            if not board[AWAKE + number * 8]:
                if self.processor is not None:
                    self.leader = self.processor()
                board[AWAKE + number * 8] = 1
                bell.release()


_making = threading.Lock()
_crews: list[_Crew] = []


def _after_fork() -> None:
    """The threads of the parent did not come along, nor did who may have held the lock."""
    global _making
    _making = threading.Lock()
    _crews.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _make() -> None:
    with _making:
        if not _crews:
            _crews.append(_Crew())


def _crew() -> _Crew:
    if not _crews:
        _attend(_empty_board(0), 0, 0)  # compiled by who asks, before threads need it
        undisturbed(_make)
    return _crews[0]


def share(shared: Any, count: int, grain: int, *arguments: Any) -> None:
    """Run a kernel's loop over ``range(count)`` in pieces of ``grain``, with the helpers unless another thread has them.

    Parameters
    ----------
    shared : Kernel
        ``shared(board, count, grain, *arguments)``, which calls ``put_up`` and gives what ``lead`` gives.
    """
    crew = _crew() if worker_count() > 1 and count > grain else None
    if crew is None or crew.lock.locked():
        board = _empty_board(0)
        try:
            failed = shared(board, count, grain, *arguments)
        finally:
            take_down(board)
    else:
        with crew.lock:  # which no interrupt can leave taken; should another thread be first, its loop is waited for
            crew.wake()
            failed = shared(crew.board, count, grain, *arguments)
    if failed:
        raise SparsekitError("A kernel failed in one of its threads.", hint="report this, it is a defect.")
