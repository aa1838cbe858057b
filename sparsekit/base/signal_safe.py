"""Work that signals cannot interrupt."""

from __future__ import annotations

import _frozen_importlib
import _imp
import _thread
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

#: Versions of Python whose import locks were looked at; with others they stay as an interrupt leaves them.
CHECKED = {(3, 11), (3, 12), (3, 13), (3, 14)}

#: Python's locks of the modules that are being imported: weak references, by the modules' names.
_module_locks: dict[str, Callable[[], Any]] = vars(_frozen_importlib).get("_module_locks", {})  # Any: importlib's own class


class _Going:
    """Held by a thread as long as it lives."""


class _Acting(threading.local):
    """The thread on whose behalf the calling thread works."""

    thread: int | None = None


_acting = _Acting()


def acting() -> int:
    """The thread that the calling one works for, itself by default.

    A lock that a thread holds while ``undisturbed`` runs its work must admit that work, so this thread counts as its owner.
    """
    return threading.get_ident() if _acting.thread is None else _acting.thread


def free_import_locks() -> None:
    """Release the locks that interrupted imports of the calling thread have left, so that other threads can import.

    Python takes and releases its import locks in Python code.  An interrupt between taking one and the ``try`` that
    releases it leaves it taken.  The thread itself can take it again, but every other thread waits for it forever.
    """
    if sys.version_info[:2] not in CHECKED or not (_module_locks or _imp.lock_held()):
        return
    importing = set()  # these locks belong to imports that have not ended
    frame = sys._getframe().f_back
    while frame is not None:
        if frame.f_globals is vars(_frozen_importlib):
            if frame.f_code.co_name in ("_get_module_lock", "cb"):  # called by a handler or a finalizer in there
                return
            importing.add(frame.f_locals.get("name"))
        frame = frame.f_back
    for name, reference in list(_module_locks.items()):
        lock = reference()
        while lock is not None and name not in importing and lock.owner == threading.get_ident():
            lock.release()
    while _imp.lock_held():
        try:
            _imp.release_lock()
        except RuntimeError:  # another thread has it
            return


def undisturbed(work: Callable[[], T]) -> T:
    """Do some work to its end, and give what it gives.

    Python runs the handlers of signals, that of Ctrl-C among them, in the main thread only.  So there the work is
    left to another thread, and what a handler raised meanwhile is raised when the work is done.

    Parameters
    ----------
    work : callable
        Without arguments.

    Raises
    ------
    MemoryError
        If no thread can be started for lack of memory.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: list[tuple[bool, Any]] = []  # Any: what the work gave, or the error that it raised, as the flag says
    caller = acting()
    begun, once, done = False, _thread.allocate_lock(), _thread.allocate_lock()

    def run(_: _Going | None) -> None:
        if not once.acquire(False):
            return  # started twice: a signal came after the first start and before it was noted
        try:
            before, _acting.thread = _acting.thread, caller
            try:
                outcome.append((True, work()))
            finally:
                _acting.thread = before
        except BaseException as error:
            outcome.append((False, error))
        finally:
            if done.locked():
                done.release()

    raised: BaseException | None = None
    going: _Going | None = _Going()
    alive = weakref.ref(going)
    done.acquire()
    while not outcome:
        try:
            free_import_locks()  # the work may import something
            if not begun:
                try:
                    _thread.start_new_thread(run, (going,))
                except RuntimeError:  # no threads any more, at the interpreter's end
                    run(None)
                begun = True
            going = None
            # With a timeout: an interrupt right after this would wait for work that is done already.
            done.acquire(timeout=0.05)
            if alive() is None and not outcome:  # without memory, Python gives a thread up before its first line
                outcome.append((False, MemoryError("no memory for a thread")))
        except BaseException as error:
            raised = error
    good, result = outcome.pop()
    if good and raised is None:
        return result  # type: ignore[no-any-return]  # the flag says that it is a T
    try:
        raise result if raised is None else raised
    finally:
        # An error's traceback has this frame, which must not have the error: what else it holds is to go with it.
        del result, raised
