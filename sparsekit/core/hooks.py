"""The recorder slot: the interface between the library and profilers.

``sink`` is None or a recorder.  A recorder has these methods, each called after the fact:

``op(plan, start, end, inputs, outputs, node)``
    One operator ran.  ``inputs`` and ``outputs`` are tuples of stores (numpy or cupy arrays,
    ``CSR``, ``RowSparse``); the recorder copies numbers from them and keeps no reference.
``call(plan, start, end, inputs, array, node)``
    The same for array objects and their one result, which may be marked (``_seen``) to be known again.
``span(name, lane, start, end, args)``
    Anything else that took time: a compilation, a transfer, a batch read, a message to servers and the wait for its answer.
``read(name, start, arrays, args)``
    A batch was read from ``start`` until now: a span of the io lane, whose ``arrays`` are pairs of an
    array and the name that it is an input by.
``densify(record, store)``
    A ``Densification`` happened, which made the dense ``store``.
``flowed(source, target)``
    Values of one dense store were copied to another without an operator.
``assign(array, role, owner, mark=0)``
    The NDArray ``array`` serves as ``role`` for ``owner`` from now on; ``mark`` is ``_seen`` of the store that its
    components come from.
``table(timed, ran, slots, arrays, left, results, stores, views, depth)``
    Operators of a table ran, as ``core.table.timed`` says; ``ran`` is their events, from where to where, and the number of
    the first recorded node, and ``depth`` that of the user's frame, if it is known.
``freed(token)``
    Nothing reads any more what the last run of a table kept in its memory.

Times are ``time.perf_counter_ns()`` values.
"""

from __future__ import annotations

import collections
import contextvars
import functools
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from ..base.forking import across_fork
from ..base.warn import user_frame

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from ..base.context import Context
    from ..base.types import Array, DType, Shape
    from ..storage.types import Store
    from .dispatch import Plan
    from .types import ArrayObject, Numbered, Sink

P = ParamSpec("P")
T = TypeVar("T")

LANES = ("forward", "backward", "update", "convert", "transfer", "compile", "io", "exchange", "wait", "serve", "apply",
         "snapshot", "user", "profiler")
ROLES = ("parameter", "gradient", "optimizer state", "input", "activation", "workspace")

#: Ends the name of a span of a custom operator's own code, and of the layer of the operators that this code calls.
CUSTOM = "::pure_python"

#: Kinds of densifications: no kernel takes the storage types, or the result is dense by nature.  Both are in the ledger.
FALLBACK, NATURAL = KINDS = ("fallback", "dense by nature")

#: Kind of an explicit conversion, which is not in the ledger.
ASKED = "asked"

sink: Sink | None = None

#: The recorder that a trace has taken away; it comes back after the trace unless it ends meanwhile.
hidden: Sink | None = None

#: Held while one of the two recorders changes.
sink_lock = threading.RLock()
across_fork(lambda: sink_lock)


class _State(threading.local):
    """What the calling thread is doing.

    ``lane`` and ``layer`` say where its operators belong, ``node`` is the forward node whose gradient
    is being computed, ``called`` is the name that the user gave the operator called last, ``caller`` is
    where the user called what runs now, as ``caller()`` gives it, or None if that must be looked up,
    ``recording`` and ``training`` are autograd's switches, ``tracing`` whether operators are noted rather
    than run, ``thread`` is its identifier.

    ``ignore_fp_errors(function, *arguments)`` calls a kernel without numpy's warnings of division by zero, overflow
    and the like: results are infinite or nan there, as IEEE 754 says.  numpy keeps that setting in a context
    variable, so it is set once for each thread in a context of our own, which users' code never runs in;
    entering it takes a twentieth of the time of ``np.errstate``.
    """

    # What a finalizer or a signal's handler finds that runs before ``__init__`` has, which is when a thread first asks.
    lane, layer = "forward", ""
    caller: tuple[CodeType, int] | None = None
    called: str | None = None
    node: Numbered | None = None
    recording = training = tracing = False
    thread = 0

    @staticmethod
    def ignore_fp_errors(function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a kernel as described above, in more time."""
        with np.errstate(all="ignore"):
            return function(*arguments, **keywords)

    def __init__(self) -> None:
        # All in the instance, and first: ``__dict__`` is read once an event, in the time of one attribute.
        held = vars(self)
        held.update(_AT_FIRST)
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        held["ignore_fp_errors"] = context.run
        held["thread"] = threading.get_ident()


#: What a thread's state begins with.
_AT_FIRST = {name: getattr(_State, name) for name in (
    "lane", "layer", "caller", "called", "node", "recording", "training", "tracing", "thread", "ignore_fp_errors")}


state = _State()


def ignore_fp_errors(function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
    """Call a kernel without numpy's warnings, also from a signal handler or finalizer that interrupts another kernel."""
    try:
        return state.ignore_fp_errors(function, *arguments, **keywords)
    except RuntimeError as error:
        if not interrupts(error):
            raise
        return function(*arguments, **keywords)


def interrupts(error: RuntimeError) -> bool:
    """Whether the thread's quiet context could not be entered, because a kernel that runs in it was interrupted."""
    return str(error).startswith("cannot enter context")


class Piece(NamedTuple):
    """A dense array of a table.

    Attributes
    ----------
    buffer : int
        The table's buffer that it lies in; -1 if it lies elsewhere.
    owner : tuple of (int, int)
        Slot and component whose memory it lies in then; a slot of -1 for a constant.
    lengths : tuple of (int, int)
        For each axis the number of the size that it is a multiple of, and that multiple; -1 and the length if it is fixed.
    shape : tuple of int or None
        If all lengths are fixed.
    dtype : dtype
    """

    buffer: int
    owner: tuple[int, int]
    lengths: tuple[tuple[int, int], ...]
    shape: Shape | None
    dtype: DType


class Recipe(NamedTuple):
    """The store of a slot.

    Attributes
    ----------
    stype : str
    shape : tuple of int
        Of a sparse store.
    pieces : tuple of Piece
        Its components, or itself.
    same : int
        Slot of the dense array that it is, or its own if a run brings it; -1 if it is another.
    parameter : str
        Name of the parameter whose gradient it is; empty for others.
    """

    stype: str
    shape: Shape
    pieces: tuple[Piece, ...]
    same: int
    parameter: str


class Event(NamedTuple):
    """An operator of a table.

    Attributes
    ----------
    plan : Plan
    lane, layer, link
        As in ``trace.Note``.
    inputs, outputs : tuple of int
        Slots.
    freed : tuple of int
        Buffers that nothing uses afterwards.
    """

    plan: Plan
    lane: str
    layer: str
    link: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    freed: tuple[int, ...]


class Account(Protocol):
    """What the operators of a table are; ``table.timed`` makes it."""

    recipes: dict[int, Recipe]
    constants: dict[int, Recipe]
    kept: frozenset[int]

    def read(self, noted: bytes) -> tuple[int, Array, list[int]]:
        """When a run began, when each operator did and the last one ended, and the sizes."""


class Timed(Protocol):
    """A table that tells of its runs; see ``table.timed.TimedRows``."""

    token: object  # object: stands for the table's memory
    #: Of this run, and the number of its first recorded node.
    events: tuple[Event, ...]
    first: int

    @property
    def reserved(self) -> int:
        """The bytes that it keeps between runs."""
    @property
    def account(self) -> Account:
        """What its operators are."""
    @property
    def readings(self) -> Array:
        """Int64 numbers, whose bytes ``Account.read`` takes."""


class Densification(NamedTuple):
    """One implicit conversion of a sparse array to a dense one.

    Attributes
    ----------
    op : str
        Operator that made it.
    line : str
        The user's line, ``file:line`` or ``In [3]:7``.
    source, target : str
        Storage types before and after.
    shape : tuple of int
    bytes_before, bytes_after : int
    reason : str
    remedy : str
        What to write instead.
    kind : str
        ``"fallback"``: the operator has no kernel for the storage types, so its input was made dense.
        ``"dense by nature"``: the result of the operator is dense whatever the kernel, as that of ``csr + 1`` is, or the
        array that was written to is.  ``"asked"``: an explicit conversion, such as ``tostype("default")``; these are not in
        the ledger, but ``why_dense()`` reports them.
    """

    op: str
    line: str
    source: str
    target: str
    shape: Shape
    bytes_before: int
    bytes_after: int
    reason: str
    remedy: str
    kind: str = FALLBACK


class DeviceWork(NamedTuple):
    """What an operator did on a GPU while a profiler recorded.

    Attributes
    ----------
    op : str
    context : str
    milliseconds : callable
        Gives the time between two events on the device's stream; waits for the second.
    queuing : float
        Milliseconds that the processor took to queue it.  A device that is done sooner waits between the two events.
    """

    op: str
    context: str
    milliseconds: Callable[[], float]
    queuing: float = 0.0


#: Memory use of each GPU: name of the context -> function that returns bytes by name.
device_memory: dict[str, Callable[[], dict[str, int]]] = {}

#: Synchronization of each GPU: name of the context -> function that waits for all queued work.
device_waits: dict[str, Callable[[], None]] = {}


class DeviceTimes:
    """Times of operators on GPUs, by operator and context.

    The latest ones are kept as pairs of events, because reading their time would wait for the device.  When there are
    many, the older half is read and summed up, so that nothing is lost however long a run is.
    """

    #: Work whose events are kept.
    MOST = 10_000

    def __init__(self) -> None:
        self._latest: list[DeviceWork] = []
        self._sums: dict[tuple[str, str], tuple[int, float, float]] = {}
        self._lock = threading.RLock()

    def append(self, work: DeviceWork) -> None:
        """Note the work of one operator."""
        with self._lock:
            self._latest.append(work)
            if len(self._latest) >= self.MOST:
                self._sum_up(self.MOST // 2)

    def _sum_up(self, count: int) -> None:
        """Read the oldest; what an error of the device keeps from being read stays where it is."""
        done = 0
        try:
            for work in self._latest[:count]:
                calls, milliseconds, queuing = self._sums.get((work.op, work.context), (0, 0.0, 0.0))
                self._sums[work.op, work.context] = calls + 1, milliseconds + work.milliseconds(), queuing + work.queuing
                done += 1
        finally:
            del self._latest[:done]

    def __len__(self) -> int:
        """Number of operators noted."""
        with self._lock:
            return len(self._latest) + sum(calls for calls, *_ in self._sums.values())

    def sums(self) -> dict[tuple[str, str], tuple[int, float, float]]:
        """Calls, milliseconds and those of queuing by operator and context; waits for the device."""
        with self._lock:
            self._sum_up(len(self._latest))
            return dict(self._sums)

    def take(self) -> DeviceTimes:
        """Return all that was noted, and forget it."""
        taken = DeviceTimes()
        with self._lock:
            taken._latest, self._latest = self._latest, []
            taken._sums, self._sums = self._sums, {}
        return taken


#: Work on GPUs that was timed while a profiler recorded.
device_work = DeviceTimes()

#: The latest densifications of this process, profiled or not.
ledger: collections.deque[Densification] = collections.deque(maxlen=10_000)

#: Dense stores that were made of sparse ones, as long as they live: id of the store -> (weak reference, record).
densified: dict[int, tuple[weakref.ref[Array], Densification]] = {}

#: The latest recording, whose ``origin_of(store)`` returns where a store came from, or None; None before the first.
#: Any: the profiler's class of a recording, a layer above.
origin: weakref.ref[Any] | None = None

#: Arrays with a lasting role: id of the array -> (weak reference, role, owner).
owned: dict[int, tuple[weakref.ref[ArrayObject], str, str]] = {}


def assign(array: ArrayObject, role: str, owner: str) -> None:
    """Note that ``array`` (an NDArray) serves as ``role`` for ``owner``, as long as it lives."""
    key = id(array)
    # No Python code runs when the array dies, where an interrupt would be swallowed: owned.pop(key, reference).
    owned[key] = (weakref.ref(array, functools.partial(owned.pop, key)), role, owner)
    if sink is not None:
        sink.assign(array, role, owner)


def note_made(store: Array, record: Densification) -> None:
    """Remember what made a dense store of a sparse one, for ``why_dense()``, as long as the store lives."""
    key = id(store)
    try:
        # As in ``assign``: no Python code runs when the store dies.
        densified[key] = (weakref.ref(store, functools.partial(densified.pop, key)), record)
    except TypeError:  # cupy's arrays of some versions take no weak reference
        return


def made_from(store: Store | None) -> Densification | None:
    """The latest record of what made this dense store, or the memory that it is a view of, of a sparse one."""
    while store is not None:
        entry = densified.get(id(store))
        if entry is not None and entry[0]() is store:
            return entry[1]
        store = getattr(store, "base", None)
    return None


def flowed(source: Array, target: Array) -> None:
    """Note that values of a dense store were copied to another one without an operator, for ``why_dense()``."""
    record = made_from(source) if densified else None
    if record is not None:
        note_made(target, record)
    if sink is not None:
        sink.flowed(source, target)


def copied(source: Context | str, target: Context | str, start: int, size: int) -> None:
    """Note that ``size`` bytes were copied, from ``start`` until now; for callers that saw a recorder when they began.

    ``source`` and ``target`` are contexts, or names of libraries: ``"numpy"``.  A single number, such as
    a loss that is printed, is not noted, unless the copy waits for a GPU.
    """
    if sink is not None and (size > 8 or "gpu" in (getattr(source, "device_type", ""), getattr(target, "device_type", ""))):
        sink.span(f"copy {source} -> {target}", "transfer", start, time.perf_counter_ns(), {"bytes": size})


#: Packages whose frames are skipped between the user's code and the library's.
_NOT_USERS = ("sparsekit", "contextlib", "numba", "functools", "torch")

#: What names of files begin with that torch.fx and torch.compile give the code that they make of the user's.
_GENERATED = "<eval_with_key>"

#: File names of code objects -> whether they are the library's own.
_inner: dict[str, bool] = {}


#: ``inner(file name)`` says whether code of that file is the library's own; None before its first use.
inner = _inner.get


def caller(frame: FrameType | None = None, depth: int = 2) -> tuple[CodeType, int] | None:
    """Code and instruction of the nearest frame outside sparsekit; the line is computed later.

    Parameters
    ----------
    frame : frame, optional
        Where to begin.
    depth : int
        Where to begin otherwise: 2 for the caller's caller.  Python makes an object for each frame that is looked
        at, so a caller that knows the number of the library's frames in between passes it.
    """
    if frame is None:
        try:
            frame = sys._getframe(depth)
        except ValueError:  # fewer frames than usual
            frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        hidden = inner(code.co_filename)
        if hidden is None:
            module = frame.f_globals.get("__name__", "")
            hidden = _inner[code.co_filename] = (module.partition(".")[0] in _NOT_USERS
                                                 or code.co_filename.startswith(_GENERATED))
        if not hidden:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def user_line() -> str:
    """Where the nearest caller in the user's program stands, as ``file:line`` or ``In [3]:7``."""
    frame = user_frame()
    if frame is None:
        return ""
    cell = frame.f_globals.get("In")
    name = frame.f_code.co_filename
    if isinstance(cell, list) and ("ipykernel" in name or name.startswith("<ipython-input")):
        return f"In [{len(cell) - 1}]:{frame.f_lineno}"
    return f"{name.replace(chr(92), '/').rpartition('/')[2]}:{frame.f_lineno}"
