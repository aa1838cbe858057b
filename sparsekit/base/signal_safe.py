"""Work that signals cannot interrupt."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["acting", "undisturbed"]

T = TypeVar("T")


class _Acting(threading.local):
    """The thread on whose behalf the calling thread works."""

    thread: int | None = None


_acting = _Acting()


def acting() -> int:
    """The thread that the calling one works for, itself by default.

    A lock that a thread holds while ``undisturbed`` runs its work must admit that work, so this thread counts as its owner.
    """
    return threading.get_ident() if _acting.thread is None else _acting.thread


def undisturbed(work: Callable[[], T]) -> T:
    """Do some work to its end, and give what it gives.

    Python runs the handlers of signals, that of Ctrl-C among them, in the main thread only.  So there the work is
    left to another thread, and what a handler raised meanwhile is raised when the work is done.

    Parameters
    ----------
    work : callable
        Without arguments.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: list[tuple[bool, Any]] = []  # Any: what the work gave, or the error that it raised, as the flag says
    caller = acting()
    begun, once, done = False, _thread.allocate_lock(), _thread.allocate_lock()

    def run() -> None:
        if not once.acquire(False):
            return  # started twice: a signal came after the first start and before it was noted
        before, _acting.thread = _acting.thread, caller
        try:
            outcome.append((True, work()))
        except BaseException as error:
            outcome.append((False, error))
        finally:
            _acting.thread = before

    raised: BaseException | None = None
    done.acquire()
    while not outcome:
        try:
            if not begun:
                try:
                    _thread.start_new_thread(_and_release, (run, done))
                except RuntimeError:  # no threads any more, at the interpreter's end
                    run()
                begun = True
            # With a timeout: an interrupt right after this would wait for work that is done already.
            done.acquire(timeout=0.05)
        except BaseException as error:
            raised = error
    good, found = outcome.pop()
    if good and raised is None:
        return found  # type: ignore[no-any-return]  # the flag says that it is a T
    try:
        raise found if raised is None else raised
    finally:
        # An error's traceback has this frame, which must not have the error: what else it holds is to go with it.
        del found, raised


def _and_release(run: Callable[[], None], lock: _thread.LockType) -> None:
    run()
    if lock.locked():
        lock.release()
