"""The decorator that makes a Python function a lazily compiled kernel."""

from __future__ import annotations

import functools
import importlib
import itertools
import operator
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from ...base.environment import is_installed, kernels_asked, thread_count
from ...base.errors import DTypeError, MissingPackageError
from ...base.forking import across_fork, load
from ...base.signal_safe import undisturbed
from ...base.warn import warn_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future
    from types import ModuleType
    from typing import TypeAlias

    from numba.core.types.abstract import Type

    from ...base.types import Array, DType
    from ...base.workers import Threads

    #: What compiled kernels take.
    KernelArgument: TypeAlias = Array | float | np.number | tuple["KernelArgument", ...]

T = TypeVar("T")

_HALF = np.dtype(np.float16)

#: Called with (name, start, end) in nanoseconds after a compilation or the import of numba.
listeners: list[Callable[[str, int, int], None]] = []

#: Held while numba is imported, or a kernel is prepared or compiled.
_loading = threading.RLock()

#: The first version of numba that these kernels were written for, as in the package's requirements.
OLDEST_NUMBA = (0, 61)


class _Within(threading.local):
    """The times of compilations in this thread, which are reported when the outermost kernel is done."""

    times: list[tuple[str, int, int]] | None = None


_within = _Within()


def apart(name: str, work: Callable[[], T], module: str = "") -> T:
    """Import or compile something without interruption, and report the time to the listeners.

    An import that Ctrl-C cuts in half leaves a package that can never be imported again in this process, and a
    compilation leaves numba's tables half filled.  So neither is done where signals are handled; what a handler raised
    is raised afterwards.  Times are reported by the outermost call, since kernels compile kernels.  A kernel that its own
    ``module`` calls while it is imported is compiled in the calling thread: numba imports the module, and another thread
    would wait for ever.
    """
    outer = _within.times
    times: list[tuple[str, int, int]] = [] if outer is None else outer

    def timed() -> T:
        _within.times = times
        with _loading:
            start = time.perf_counter_ns()
            try:
                return work()
            finally:
                times.append((name, start, time.perf_counter_ns()))
                _within.times = outer

    try:
        imported = getattr(getattr(sys.modules.get(module), "__spec__", None), "_initializing", False)
        result: T = timed() if imported or outer is not None else undisturbed(timed)
        return result
    finally:
        if outer is None:
            for entry in times:
                for listener in listeners:
                    listener(*entry)


def why_numpy() -> str:
    """Why the kernels of the CPU are those in numpy; empty if they are numba's, which is imported to find out.

    A numba that is installed and cannot be used is reported once, in a warning.
    """
    if not _why:
        _why.append(_reason())
    return _why[0]


_why: list[str] = []


def _reason() -> str:
    asked = kernels_asked()
    if asked:
        return "SPARSEKIT_KERNELS is numpy" if asked == "numpy" else ""
    if not is_installed("numba"):
        return "numba is not installed"
    outcome = _numba_or_why()
    if not isinstance(outcome, str):
        return ""
    warn_user(f"Kernels in numpy are used, which are slower, since {outcome}.  {_INSTALL}", RuntimeWarning)
    return outcome


def numba() -> ModuleType:
    """numba, taught what kernels can say.

    Raises
    ------
    MissingPackageError
        If it is not installed, too old, or does not work with the other packages.
    """
    outcome = _numba_or_why()
    if isinstance(outcome, str):
        raise MissingPackageError(f"Kernels cannot be compiled, since {outcome}.", hint=_INSTALL)
    return outcome


def _numba_or_why() -> ModuleType | str:
    """numba, or why it cannot be used."""
    return _numba[0] if _numba else apart("import numba", _imported)


_numba: list[ModuleType | str] = []


def numba_works() -> bool:
    """Whether numba has been imported, and can be used."""
    return bool(_numba) and not isinstance(_numba[0], str)


def _imported() -> ModuleType | str:
    if not _numba:  # else another thread has imported it, for which this one waited
        _quiet()
        _numba.append(_taught())
    return _numba[0]


def _quiet() -> None:
    """Keep numba from logging what it compiles, at DEBUG some thousand lines a kernel, unless the user has chosen a level."""
    logging = importlib.import_module("logging")
    logger = logging.getLogger("numba")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def _taught() -> ModuleType | str:
    try:
        module = importlib.import_module("numba")
        version = tuple(map(int, re.findall(r"\d+", module.__version__)[:2]))
        if version < OLDEST_NUMBA:
            return f"numba {module.__version__} is installed, which is older than {'.'.join(map(str, OLDEST_NUMBA))}"
        if not module.config.DISABLE_JIT:
            _teach()
    except Exception as error:  # numba raises whatever it meets, of numpy's version for instance
        return f"numba cannot be imported ({type(error).__name__}: {error})"
    return module


def _teach() -> None:
    extending, types = importlib.import_module("numba.extending"), importlib.import_module("numba.types")

    @extending.typeof_impl.register(Kernel)  # a kernel met inside another kernel is its dispatcher
    def _(value: Kernel, _context: object) -> Type:  # object: numba's own, which is not read
        kind: Type = types.Dispatcher(value.dispatcher)
        return kind

    importlib.import_module("sparsekit.kernels.cpu.intrinsics").register()


_INSTALL = ("python -m pip install --upgrade sparsekit numba brings versions that fit each other; "
            "SPARSEKIT_KERNELS=numpy asks for the kernels in numpy.")


class _ReadOnly(Exception):
    """A kernel was called with read-only memory, for which nothing is compiled; it gets a copy."""


class Kernel:
    """A function compiled by numba when it is first called; compile time is reported apart."""

    #: Whether numba has refused float16 arguments; from then on they are widened before it is asked.
    _widens = False

    #: Of an optimizer's step: the function of one element, how many numbers it takes, and the step that threads share.
    formula: Callable[..., Any]  # Any: what the function takes and gives
    numbers: int
    shared: Kernel
    #: Of a kernel by ``shared_over``: what it was made of.
    body: Kernel
    alone: int

    # Any: numba takes the arguments and options of any function
    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self.targetoptions = function, options  # numba's names: it looks here for what it may write into a caller
        functools.update_wrapper(self, function)

    def __getattr__(self, name: str) -> Callable[..., Any]:  # Any: what the function takes and gives
        """numba's ``dispatcher`` of the function, made on first use.

        ``functools.cached_property`` may hold a lock, which would stay locked in a forked child.
        """
        if name != "dispatcher":
            raise AttributeError(name)
        if why_numpy():  # numpy's kernels leave errors in a line of text to one of these
            return self._interpreted
        numba()

        def prepare() -> Callable[..., Any]:  # Any: the same
            with _loading:
                if "dispatcher" not in self.__dict__:
                    self.dispatcher = self._prepared()
                return self.dispatcher

        dispatcher: Callable[..., Any] = prepare() if _within.times is not None else undisturbed(prepare)  # Any: the same
        return dispatcher

    def _prepared(self) -> Callable[..., Any]:  # Any: the same
        module = numba()
        if module.config.DISABLE_JIT:
            return self._interpreted
        kept = load("sparsekit.kernels.cpu.kept")  # with what only a compiled kernel needs
        jitted = module.njit(**{"nogil": True, **self.targetoptions, "cache": False})(self.py_func)
        if self.targetoptions.get("cache", True):
            jitted._cache = kept.Kept(self.py_func)
        compile_signature, name = jitted.compile, self.py_func.__name__

        def compile_and_tell(signature: tuple[Type, ...]) -> Callable[..., Any]:  # Any: what the function takes and gives
            kinds = _leaves(signature, module.types.BaseTuple)
            if any(isinstance(kind, module.types.Array) and not kind.mutable for kind in kinds):
                raise _ReadOnly
            earlier = jitted.overloads.get(signature)
            if earlier is not None:  # numba asks twice for a kernel that another one calls
                again: Callable[..., Any] = earlier.entry_point  # Any: the same
                return again
            compiled: Callable[..., Any] = apart(  # Any: the same
                name, lambda: compile_signature(signature), self.py_func.__module__)
            kept.warn_if_not_kept()
            return compiled

        jitted.compile = compile_and_tell
        dispatcher: Callable[..., Any] = jitted  # Any: the same
        return dispatcher

    def _interpreted(self, *arguments: object) -> Any:  # Any: what the function gives
        """Run the Python function uncompiled, as ``NUMBA_DISABLE_JIT=1`` requests for debugging, and where there is no numba."""
        if _has_halves(arguments):
            return widened(self, arguments)
        with np.errstate(all="ignore"):  # compiled code checks none of it
            return self.py_func(*arguments)

    def compile(self, types: tuple[Type, ...]) -> Callable[..., Any]:  # Any: what the function gives
        """Compile for these types.

        Returns what Python may call with arguments of exactly these types, which it does not look at: that takes 0.1 µs less.
        """
        dispatcher: Any = self.dispatcher  # Any: numba's, which has no types
        if not hasattr(dispatcher, "overloads"):  # the function itself
            return self.dispatcher
        if types not in dispatcher.overloads:
            dispatcher.compile(types)
        entry: Callable[..., Any] = dispatcher.overloads[types].entry_point  # Any: the same
        return entry

    # object: what nobody reads
    def run_and(self, then: Callable[[], object], *arguments: KernelArgument) -> int:
        """Run a kernel that gives a number, and call ``then``, with no signal's handler in between.

        ``map`` and what it calls are functions of C, and Python calls handlers between its own instructions.
        """
        try:
            calls: Any = functools.partial(self.dispatcher, *arguments), then  # Any: functions that give this or that
            number, _ = map(operator.call, calls)  # unpacked within one instruction
            return int(number)
        except SystemError as error:
            raise _hidden(error) or error from None
        except Exception as error:
            refused = _has_halves(arguments) if isinstance(error, NotImplementedError) else _refused(error)
            if not refused and not isinstance(error, _ReadOnly):
                raise
            result: int = self(*arguments)  # it has not run, and takes more this way
            then()
            return result

    def __call__(self, *arguments: object) -> Any:  # object, Any: what the function takes and gives
        """Compile for these types if that has not been done, and run."""
        if self._widens and _has_halves(arguments):
            return widened(self, arguments)
        try:
            return self.dispatcher(*arguments)
        except _ReadOnly:
            return self(*_each(_writeable, arguments))
        except Exception as error:
            if _has_halves(arguments):
                self._widens = _refused(error)
                return widened(self, arguments)
            hidden = _hidden(error)
            if hidden is not None:
                raise hidden from None
            if not _refused(error):
                raise
            kinds = ", ".join(str(getattr(value, "dtype", type(value).__name__)) for value in arguments)
            raise DTypeError(f"The kernel {self.py_func.__name__} takes no arguments of types {kinds}.",
                             hint="cast the values to float32 or float64 with astype().") from None


def _hidden(error: Exception) -> BaseException | None:
    """The interrupt that numba has hidden in a SystemError, and that in another, if it is one."""
    cause = error.__cause__
    while cause is not None and not isinstance(cause, (KeyboardInterrupt, SystemExit)):
        cause = cause.__cause__
    return cause


def _refused(error: Exception) -> bool:
    """Whether numba did not compile a kernel, rather than the kernel failing."""
    return isinstance(error, NotImplementedError) or type(error).__module__.startswith("numba")


def _leaves(values: Iterable[object], tuples: type[Iterable[object]] = tuple) -> Iterator[object]:  # object: what kernels take
    """The values, or types of values, with those of tuples in place of these."""
    for value in values:
        if isinstance(value, tuples):
            yield from value
        else:
            yield value


# object: what kernels take
def _each(function: Callable[[object], object], values: tuple[object, ...]) -> tuple[object, ...]:
    """What a function gives for each of the values, and of those in tuples."""
    return tuple([_each(function, value) if isinstance(value, tuple) else function(value) for value in values])


def _has_halves(arguments: tuple[object, ...]) -> bool:  # object: the same
    return any(getattr(value, "dtype", None) == _HALF for value in _leaves(arguments))


def _writeable(value: object) -> object:  # object: the same
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value


def _wide(value: object) -> object:  # object: the same
    return value.astype(np.float32) if isinstance(value, (np.ndarray, np.generic)) and value.dtype == _HALF else value


def widened(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:  # Any: what the function takes
    """Run on float32 copies of the float16 arguments, which numba does not take, and write back what changed."""
    wide = _each(_wide, arguments)
    result = function(*wide)
    for value, copy in zip(_leaves(arguments), _leaves(wide), strict=True):
        if copy is not value and isinstance(value, np.ndarray) and value.flags.writeable:
            value[...] = copy  # beyond 65,504 is infinite, as in any float16 operation
    return result


def single_precision(function: Callable[..., T]) -> Callable[..., T]:
    """For a function that runs kernels in threads: float16 is widened once, before them."""

    @functools.wraps(function)
    def run(*arguments: Array) -> T:
        for value in arguments:
            if value.dtype is _HALF:  # the dtype is one object, so `is` suffices
                return widened(function, arguments)
        return function(*arguments)

    return run


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...  # Any, in all of these: what a kernel takes and gives
@overload
# Any: the same
def kernel(function: None = None, **options: bool | set[str] | str) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(function: Callable[..., Any] | None = None,  # Any: the same
           **options: bool | set[str] | str) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Make ``function`` a ``Kernel``; options go to ``numba.njit``."""
    if function is None:
        return lambda real: Kernel(real, options)
    return Kernel(function, options)


@functools.cache
def _pool() -> Threads:
    workers = load("sparsekit.base.workers")  # imports concurrent.futures, so only when it is needed
    pool: Threads = workers.Threads(worker_count() - 1, "sparsekit")  # the calling thread works too
    return pool


def _compiler_lock() -> Any:  # Any: the lock of numba's own, which has no types, or None
    compiler = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    return getattr(compiler, "_lock", None)


def _in_child() -> None:
    """Forget the pool: a forked child has none of its threads."""
    _pool.cache_clear()
    _scratch.in_pool = False


# A fork waits for running compilations: in a child they would never finish.
across_fork(lambda: _loading)
across_fork(_compiler_lock)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@functools.cache
def worker_count() -> int:
    """Threads that large kernels are spread over; one where they are interpreted or numpy's, as Python runs in one at a time."""
    return 1 if why_numpy() or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" else thread_count()


class _Scratch(threading.local):
    """The calling thread's working memory, by name, and whether it is one of the pool."""

    in_pool = False

    def __init__(self) -> None:
        self.held: dict[str, Array] = {}


_scratch = _Scratch()

#: Words of working memory that a thread keeps between calls under one name, at most: 64 MiB.
KEPT = 1 << 23

#: Elements of fresh memory for each thread that fills it, at least.
FILLED = 1 << 20


def scratch(name: str, words: int) -> Array:
    """Working memory of at least so many uint64 words, valid until the calling thread requests that name again.

    Fresh memory costs a page fault every 4 KiB, which for a sort is more than the sorting.
    """
    held = _scratch.held.get(name)
    if held is None or held.shape[0] < words:
        held = np.empty(max(words, 1024), np.uint64)
        if words <= KEPT:
            _scratch.held[name] = held
    return held


def take_clean(name: str, count: int, dtype: DType, value: float) -> Array:
    """Working memory of at least so many elements that all hold ``value``; the caller gives it back when they do again.

    What an error or an interrupt keeps from being given back is let go.
    """
    held = _scratch.held.pop(name + dtype.char, None)
    if held is not None and held.shape[0] >= count:
        return held
    array = np.empty(max(count, 1024), dtype)
    in_threads(lambda start, stop: array[start:stop].fill(value), array.shape[0], FILLED)
    return array


def give_back(name: str, held: Array) -> None:
    """Keep memory of ``take_clean`` for the next call, unless it is too large to keep."""
    if held.nbytes <= 8 * KEPT:
        _scratch.held[name + held.dtype.char] = held


def in_threads(work: Callable[[int, int], object], count: int, grain: int) -> None:  # object: what it gives is not read
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
            # The future exists before the piece is submitted: after an interrupt in between, `_finish` still waits for it.
            waiting.append(pool.promise())
            pool.put(waiting[-1], _inside, work, start, stop)
        work(edges[0], edges[1])
        for future, edge in zip(waiting, itertools.pairwise(edges[1:]), strict=True):
            try:
                future.result()
            except pool.Cancelled:  # the interpreter exits while other threads still run
                work(*edge)
    finally:
        _finish(waiting)


def _inside(work: Callable[[int, int], object], start: int, stop: int) -> None:  # object: as in in_threads
    """Run one piece in a thread of the pool; nested loops run serially, since all threads may be waiting."""
    before, _scratch.in_pool = _scratch.in_pool, True
    try:
        work(start, stop)
    finally:
        _scratch.in_pool = before


def _finish(waiting: list[Future[Any]]) -> None:  # Any: what pieces give, which nobody reads
    """Wait until no piece runs: after an error or an interrupt, a running piece would write to memory that is reused."""
    raised: BaseException | None = None
    for future in waiting:
        while not future.cancel() and not future.done():
            try:
                future.exception()
            except BaseException as error:  # raised by a signal handler
                raised = error
    if raised is not None:
        raise raised
