"""A few threads that work ahead: what they raise reaches whoever waits, and no program's end waits for them long."""

from __future__ import annotations

import atexit
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["Threads"]

#: Seconds that the end of the program gives to work in progress.
PATIENCE = 2.0

_alive: weakref.WeakSet[Threads] = weakref.WeakSet()


def _serve(tasks: queue.SimpleQueue[Any]) -> None:
    """Do one task after another until None comes; holds nothing between tasks."""
    while (task := tasks.get()) is not None:
        future, function, arguments = task
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function(*arguments))
            except BaseException as error:  # the waiting thread raises it
                future.set_exception(error)
        del task, future, function, arguments


class Threads:
    """Daemon threads that take tasks in turn.

    They are no threads of ``concurrent.futures``, whose tasks the end of the program waits for however long
    they take: a reader may hang on a pipe that nobody writes to.

    Parameters
    ----------
    count : int
    name : str
        What their names begin with.
    """

    def __init__(self, count: int, name: str) -> None:
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=_serve, args=(self._tasks,), name=f"{name}-{number}", daemon=True)
                         for number in range(count)]
        self._end = weakref.finalize(self, _dismiss, self._tasks, count)
        self._end.atexit = False
        for thread in self._threads:
            thread.start()
        _alive.add(self)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a task done; the future gives its result, or raises its error with its traceback."""
        future: Future[Any] = Future()
        self._tasks.put((future, function, arguments))
        return future

    def close(self, patience: float | None = None) -> None:
        """Drop tasks that have not begun, and wait for the others, ``patience`` seconds at most."""
        while True:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                break
            if task is not None:
                task[0].cancel()
        self._end()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(patience)


def _dismiss(tasks: queue.SimpleQueue[Any], count: int) -> None:
    for _ in range(count):
        tasks.put(None)


@atexit.register
def _close_all() -> None:
    for threads in list(_alive):
        threads.close(PATIENCE)
