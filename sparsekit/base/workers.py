"""A pool of daemon threads: errors reach the waiting caller, and the end of the program does not wait for them long."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeAlias, TypeVar, TypeVarTuple

from .signal_safe import free_import_locks
from .weak_references import Living

#: Seconds that the end of the program gives to work in progress.
PATIENCE = 2.0

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

#: A future, and the function and the arguments that give its result.  Any: tasks of all kinds stand in one queue.
_Task: TypeAlias = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]  # Any: as above

_alive: Living[Threads] = Living()


def _serve(tasks: queue.SimpleQueue[_Task | None]) -> None:
    """Do one task after another until None comes; holds nothing between tasks."""
    while (task := tasks.get()) is not None:
        _do(*task)
        del task


def _do(future: Future[T], function: Callable[[*Ts], T], arguments: tuple[*Ts]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(function(*arguments))
        except BaseException as error:  # the waiting thread raises it
            future.set_exception(error)


class Threads:
    """Daemon threads that take tasks in turn.

    ``concurrent.futures`` is not used: the interpreter waits for its tasks at exit, and a reader may hang on a pipe
    without a writer.

    Threads do not survive a fork, and a program's end closes them.  The first task that comes after either starts
    new ones.  Where the system allows no thread, the calling thread runs the task.

    Parameters
    ----------
    count : int
    name : str
        What their names begin with.
    """

    #: The error of waiting for a task that was dropped because the program ends.
    Cancelled = CancelledError

    def __init__(self, count: int, name: str) -> None:
        self._count, self._name = count, name
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        # Only a few puts, which no lock and no thread can hold up: a finalizer must not wait.
        self._end = weakref.finalize(self, _dismiss, self._tasks, self._count)
        self._end.atexit = False
        for number in range(self._count):
            thread = threading.Thread(target=_serve, args=(self._tasks,), name=f"{self._name}-{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more of them
                break
            self._threads.append(thread)
        _alive.add(self)

    def submit(self, function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        """Run a task in a thread; the future returns its result, or raises its error with its traceback."""
        future: Future[T] = Future()
        self.put(future, function, *arguments)
        return future

    def promise(self) -> Future[Any]:  # Any: whatever is put for it
        """A future for ``put``."""
        return Future()

    def put(self, future: Future[T], function: Callable[[*Ts], T], *arguments: *Ts) -> None:
        """Run a task for a future that the caller made, so that the caller can wait for it after an interrupt."""
        if not self._end.alive or self._process != os.getpid():
            self._start()
        if self._threads:
            free_import_locks()
            self._tasks.put((future, function, arguments))
        else:
            _do(future, function, arguments)

    def close(self, patience: float | None = None) -> None:
        """Drop tasks that have not begun, and wait for the others, ``patience`` seconds at most."""
        if self._process != os.getpid():
            return  # they are the parent's
        while True:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                break
            if task is not None:
                task[0].cancel()
        self._end.detach()
        _dismiss(self._tasks, self._count)  # also if they were dismissed before: that may have been taken from the queue above
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(patience)


def _dismiss(tasks: queue.SimpleQueue[_Task | None], count: int) -> None:
    for _ in range(count):
        tasks.put(None)


@atexit.register
def _close_all() -> None:
    for threads in _alive:
        threads.close(PATIENCE)
