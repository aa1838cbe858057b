"""The decorator that makes a Python function a lazily compiled kernel."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import DTypeError

__all__ = ["Kernel", "in_threads", "kernel", "listeners", "scratch", "single_precision"]

_HALF = np.dtype(np.float16)

#: Called with (name, start, end) in nanoseconds after a compilation or the import of numba.
listeners: list[Callable[[str, int, int], None]] = []


def _told(name: str, work: Callable[[], Any]) -> Any:
    start = time.perf_counter_ns()
    try:
        return work()
    finally:
        end = time.perf_counter_ns()
        for listener in listeners:
            listener(name, start, end)


#: Held by who imports numba or prepares a kernel for it.
_loading = threading.RLock()


@functools.cache
def _numba() -> Any:
    """numba, taught that a ``Kernel`` met inside another kernel is its dispatcher."""
    numba = _told("import numba", lambda: importlib.import_module("numba"))
    extending = importlib.import_module("numba.extending")
    types = importlib.import_module("numba.types")

    @extending.typeof_impl.register(Kernel)
    def _(value: Kernel, _context: Any) -> Any:
        return types.Dispatcher(value.dispatcher)

    importlib.import_module("sparsekit.kernels.cpu.native").teach()
    return numba


class _ReadOnly(Exception):
    """A kernel was called with memory that cannot be written to, for which nothing is compiled: it gets a copy."""


class Kernel:
    """A function compiled by numba when it is first called; compile time is reported apart."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function, self._options = function, options
        functools.update_wrapper(self, function)

    def __getattr__(self, name: str) -> Any:
        """numba's ``dispatcher`` of the function, made when it is first asked for.

        ``functools.cached_property`` has a lock of its own, which a forked child may find taken for ever.
        """
        if name != "dispatcher":
            raise AttributeError(name)
        with _loading:
            if "dispatcher" not in self.__dict__:
                self.dispatcher = self._prepared()
        return self.dispatcher

    def _prepared(self) -> Any:
        numba = _numba()
        made = numba.njit(**{"cache": True, "nogil": True, **self._options})(self._function)
        compile_signature, name = made.compile, self._function.__name__

        def compile_and_tell(signature: Any) -> Any:
            if any(isinstance(kind, numba.types.Array) and not kind.mutable for kind in signature):
                raise _ReadOnly
            return _told(name, lambda: compile_signature(signature))

        made.compile = compile_and_tell
        return made

    def __call__(self, *arguments: Any) -> Any:
        """Compile for these types if that has not been done, and run."""
        try:
            return self.dispatcher(*arguments)
        except _ReadOnly:
            return self(*[value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value
                          for value in arguments])
        except Exception as error:
            if any(getattr(value, "dtype", None) == _HALF for value in arguments):
                return widened(self, arguments)
            hidden = error.__cause__  # numba hides an interrupt in a SystemError, and that in another
            while hidden is not None:
                if isinstance(hidden, (KeyboardInterrupt, SystemExit)):
                    raise hidden from None
                hidden = hidden.__cause__
            if not (isinstance(error, NotImplementedError) or type(error).__module__.startswith("numba")):
                raise
            kinds = ", ".join(str(getattr(value, "dtype", type(value).__name__)) for value in arguments)
            raise DTypeError(f"The kernel {self._function.__name__} takes no arguments of types {kinds}.",
                             hint="cast the values to float32 or float64 with astype().") from None


def widened(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Run on float32 copies of the float16 arguments, which numba does not take, and write back what changed."""
    wide = [value.astype(np.float32) if getattr(value, "dtype", None) == _HALF else value for value in arguments]
    result = function(*wide)
    for value, copy in zip(arguments, wide, strict=True):
        if copy is not value and isinstance(value, np.ndarray) and value.flags.writeable:
            value[...] = copy  # beyond 65,504 is infinite, as in any float16 operation
    return result


def single_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """For a function that runs kernels in threads: float16 is widened once, before them."""

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        for value in arguments:
            if value.dtype is _HALF:  # one object, and asking so costs nothing
                return widened(function, arguments)
        return function(*arguments)

    return run


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make ``function`` a ``Kernel``; options go to ``numba.njit``."""
    if function is None:
        return lambda real: Kernel(real, options)
    return Kernel(function, options)


@functools.cache
def _pool() -> Any:
    futures: Any = importlib.import_module("concurrent.futures")
    return futures.ThreadPoolExecutor(max_workers=worker_count(), thread_name_prefix="sparsekit")


def _locks() -> list[Any]:
    """What a fork must not find in another thread's hands: the compiler, and who imports it."""
    compiler = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    return [_loading] if compiler is None else [_loading, compiler._lock]


def _before_fork() -> None:
    """Wait for compilations under way: a child would meet them half done, and their locks taken for ever."""
    _forking.locks = _locks()
    for lock in _forking.locks:
        lock.acquire()


def _after_fork() -> None:
    for lock in reversed(_forking.locks):
        lock.release()


def _in_child() -> None:
    """The threads of the parent did not come along."""
    _after_fork()
    _pool.cache_clear()
    _scratch.in_pool = False


_forking = threading.local()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


@functools.cache
def worker_count() -> int:
    """Threads that large kernels are spread over: ``SPARSEKIT_NUM_THREADS``, else the usable cores."""
    asked = os.environ.get("SPARSEKIT_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Scratch(threading.local):
    """The calling thread's working memory, by name, and whether it is one of the pool."""

    in_pool = False

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}


_scratch = _Scratch()

#: Words of working memory that a thread keeps between calls under one name, at most: 64 MiB.
KEPT = 1 << 23


def scratch(name: str, words: int) -> Any:
    """Working memory of at least so many uint64 words, valid until the calling thread asks for that name again.

    Fresh memory costs a page fault every 4 KiB, which for a sort is more than the sorting.
    """
    held = _scratch.held.get(name)
    if held is None or held.shape[0] < words:
        held = np.empty(max(words, 1024), np.uint64)
        if words <= KEPT:
            _scratch.held[name] = held
    return held


def in_threads(work: Callable[[int, int], Any], count: int, grain: int) -> None:
    """Call ``work(start, stop)`` over ``range(count)`` in pieces of at least ``grain``, several at a time.

    Kernels release the interpreter lock, so plain threads run them in parallel.  numba's own
    threading layers are not used: one kills forked children, another aborts the process when two
    threads enter it.  The pool belongs to the process that made it, so a forked child gets its own.
    """
    pieces = 1 if _scratch.in_pool else min(worker_count(), count // max(grain, 1))
    if pieces <= 1:
        work(0, count)
        return
    edges = [count * piece // pieces for piece in range(pieces + 1)]
    pool, waiting = _pool(), []
    try:
        for start, stop in itertools.pairwise(edges[1:]):
            waiting.append(pool.submit(_inside, work, start, stop))
        work(edges[0], edges[1])
        for future in waiting:
            future.result()
    finally:
        _finish(waiting)


def _inside(work: Callable[[int, int], Any], start: int, stop: int) -> None:
    """One piece in a thread of the pool; what it shares out in turn it does alone, since all threads may wait for it."""
    _scratch.in_pool = True
    work(start, stop)


def _finish(waiting: list[Any]) -> None:
    """Return when no piece runs any more: after an error or an interrupt the others would write to memory in use again."""
    for future in waiting:
        while not future.cancel() and not future.done():
            try:
                future.exception()
            except KeyboardInterrupt:
                continue  # one is under way already
