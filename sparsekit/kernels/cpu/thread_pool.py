"""Threads that share the loop of one kernel, and wait for the next one without going to sleep at once.

Waking a sleeping thread takes 25 to 55 µs, longer than many a sparse product.  So a helper that has run out of work
spins on a word of memory for some 100 µs before it sleeps, as OpenMP's threads do.  The caller of a kernel does
not wait for helpers to wake: each thread that is awake claims pieces one by one.

A shared loop runs compiled code only, without the interpreter's lock: kernels wake the helpers, so that tables of calls
have them too.  The threads communicate through the *shared_state*, an array of words that are read and written atomically.
There is one in a process, which lies where it is as long as that lives.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import SparsekitError
from ...base.platform import leave_processor
from ...base.signal_safe import undisturbed
from .intrinsic_names import (
    ACQUIRE,
    ACTIVE,
    ARGUMENTS,
    AWAKE,
    COUNT,
    FAILED,
    FUNCTION,
    GRAIN,
    HELPERS,
    LEADER,
    LOCK,
    NEXT,
    OWNED,
    PROCESSOR,
    RELEASE,
    WORKERS,
    add,
    call_words,
    pause,
    put_up,
    read,
    run_piece,
    swap,
    write,
)
from .jit import kernel, numba, worker_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.types import Array
    from .jit import Kernel, KernelArgument

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
def _wake(shared_state):
    """Wake the helpers that sleep.

    In many a virtual machine Linux wakes a thread where its waker runs, though other processors are idle.  Each
    then keeps the other from running, and the leader falls back to what it can do alone, or less.
    """
    for number in range(read(shared_state, HELPERS)):
        awake = AWAKE + number * 8
        if read(shared_state, awake) == 0:
            write(shared_state, LEADER, _current_processor(shared_state))
            write(shared_state, awake, 1)
            call_words(read(shared_state, RELEASE), read(shared_state, awake + LOCK), 0)


@kernel
def _current_processor(shared_state):
    """The processor of the calling thread; -1 where that is not known."""
    function = read(shared_state, PROCESSOR)
    return call_words(function, 0, 0) & 0xFFFFFFFF if function != 0 else -1


@kernel
def spread(shared_state, count, grain, body, arguments):
    """Run a loop over ``range(count)``, in pieces of ``grain`` with the helpers unless another thread has them.

    Parameters
    ----------
    body, arguments : int
        What ``put_up`` returned in the calling kernel, for the function that runs the pieces.

    Returns
    -------
    int
        1 if no helpers have been started that could have taken part, else 0.

    Raises
    ------
    RuntimeError
        If a piece failed.
    """
    helpers = read(shared_state, HELPERS) if count > grain else 0
    if helpers <= 0 or not swap(shared_state, OWNED, 0, 1):
        failed = run_piece(body, arguments, 0, count)
    else:
        _wake(shared_state)
        write(shared_state, FUNCTION, body)
        write(shared_state, ARGUMENTS, arguments)
        write(shared_state, COUNT, count)
        write(shared_state, GRAIN, grain)
        write(shared_state, FAILED, 0)
        write(shared_state, NEXT, 0)
        _claim(shared_state)
        write(shared_state, NEXT, CLOSED)
        while read(shared_state, ACTIVE) > 0:
            pause()
        failed = read(shared_state, FAILED)
        write(shared_state, OWNED, 0)
    if failed != 0:
        raise RuntimeError
    return int(helpers < 0)


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


@kernel
def _help(shared_state, number, looks):
    """Sleep, and run pieces when woken, again and again; returns when woken on the processor of the leader."""
    while True:
        call_words(read(shared_state, ACQUIRE), read(shared_state, AWAKE + number * 8 + LOCK), 1)
        processor = _current_processor(shared_state)
        if processor >= 0 and processor == read(shared_state, LEADER):
            return
        _attend(shared_state, number, looks)


def _run_helper(state: Array, number: int) -> None:
    while True:
        _help(state, number, SPIN_LIMIT)
        leave_processor(int(state[LEADER]))
        _attend(state, number, SPIN_LIMIT)


_making = threading.Lock()
_states: list[Array] = []


def shared_state() -> Array:
    """The words that the threads of this process share."""
    if not _states:
        with _making:
            if not _states:
                _states.append(_new_state())
    return _states[0]


def _new_state() -> Array:
    workers = worker_count()
    state = np.zeros(AWAKE + 8 * workers, np.int64)
    state[[NEXT, GRAIN, WORKERS, HELPERS]] = CLOSED, 1, workers, -1 if workers > 1 else 0
    return state


def _after_fork() -> None:
    """Forget the helpers: a forked child has no threads of its parent."""
    global _making
    _making = threading.Lock()
    for state in _states:
        state[:] = _new_state()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _address(name: str, library: ctypes.CDLL) -> int:
    """Where a function of C is; 0 if there is none."""
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 if hasattr(library, name) else 0


def _compile() -> None:
    """Compile what helpers run, so that none of them does: the process may end, or fork, at any time."""
    types = numba().types
    for function in (_help, _attend):
        function.compile((types.Array(types.int64, 1, "C"), types.int64, types.int64))


def _start() -> None:
    """Start the helper threads: one less than the thread count, since the calling thread works too."""
    state = shared_state()
    with _making:
        if state[HELPERS] >= 0:
            return
        python = ctypes.pythonapi  # whose locks need no interpreter's lock, and signal handlers do not interrupt them
        python.PyThread_allocate_lock.restype = ctypes.c_void_p
        state[[ACQUIRE, RELEASE]] = [_address(f"PyThread_{name}_lock", python) for name in ("acquire", "release")]
        if hasattr(os, "sched_setaffinity"):
            state[PROCESSOR] = _address("sched_getcpu", ctypes.CDLL(None))
        started = 0
        for number in range(int(state[WORKERS]) - 1):
            lock = python.PyThread_allocate_lock()
            python.PyThread_acquire_lock(ctypes.c_void_p(lock), 0)
            state[AWAKE + number * 8 + LOCK] = lock
            thread = threading.Thread(target=_run_helper, args=(state, number), name=f"sparsekit-{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more threads: the existing ones do the work
                break
            started += 1
        state[HELPERS] = started


def shared_over(body: Kernel, alone: int, grain: int) -> Kernel:
    """Make the kernel ``(shared_state, arguments)`` that threads share from ``body(*arguments, start, stop)``.

    Parameters
    ----------
    body : Kernel
        Computes these rows, or elements, of its last argument, each by itself.
    alone, grain : int
        Elements below which one thread does them all, and about how many one piece has.
    """

    def shared(shared_state, inputs):
        function, arguments = put_up(body, inputs)
        rows, size = inputs[-1].shape[0], inputs[-1].size
        return spread(shared_state, rows, rows if size < alone else max(1, grain * rows // size), function, arguments)

    shared.__name__ = shared.__qualname__ = f"{body.py_func.__name__}_shared"
    shared_kernel = kernel(shared)
    shared_kernel.body, shared_kernel.alone = body, alone
    return shared_kernel


# object: what nobody reads
def share(shared: Kernel, *arguments: KernelArgument, then: Callable[[], object] | None = None) -> None:
    """Run a kernel that spreads its loop.

    Parameters
    ----------
    shared : Kernel
        ``shared(shared_state, *arguments)``, which returns what ``spread`` does.
    then : callable, optional
        As for ``Kernel.run_and``.
    """
    try:
        if shared(shared_state(), *arguments) if then is None else shared.run_and(then, shared_state(), *arguments):
            _compile()
            undisturbed(_start)
    except RuntimeError:
        raise SparsekitError("A kernel failed in one of its threads.", hint="report this, it is a defect.") from None
