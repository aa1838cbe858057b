"""The profiler: an object that records while it runs, and is the profile afterwards."""

from __future__ import annotations

import statistics
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

from ..base.entry import entry_classes
from ..base.errors import ProfilerError, expected
from ..base.forking import across_fork, load
from ..base.scoped import Scoped
from ..core import hooks
from .arguments import flag, number, text, whole
from .event_buffer import COUNTER, MARKER
from .profile import Profile
from .schedules import Schedule
from .source import RecordedRun

if TYPE_CHECKING:
    from types import ModuleType

    from .stored import Stored
    from .torch_mode import Watch
    from .types import DeviceRow

#: Events kept one by one before the oldest are folded into totals.
CAPACITY = 1_000_000

_active: Profiler | None = None

#: A profiler in the background that gave way to the one that records now.
_aside: Profiler | None = None


def active() -> Profiler | None:
    """The profiler that records now, or None."""
    return _active if _active is not None and _active.state == "running" else None


# object: what the user gave, checked here
def check_options(capacity: object = CAPACITY, lines: object = True, torch: object = False) -> None:
    """Raise unless ``capacity`` is an integer of at least 2, and ``lines`` and ``torch`` are True or False."""
    whole("capacity", capacity, 2, hint=f"the default is {CAPACITY:,}.")
    flag("lines", lines, "lines=False records no lines, and costs less.")
    flag("torch", torch, "torch=True records PyTorch's operators too.")


class Profiler(Profile, Scoped):
    """Record every operator of the library: time, memory, storage types and sparsity.

    Parameters
    ----------
    capacity : int
        Number of single events that are kept, at least 2.  When there are more, the oldest are folded into exact totals.
    lines : bool
        Record the line of user code that called each operator.  This takes about half a microsecond per operator.
    schedule : Schedule, optional
        Record only some of the steps that ``step()`` ends; ``profiler.schedule(wait=…, warmup=…, active=…)`` makes one.
        The profiler then shows the profile of the latest round.
    on_ready : callable, optional
        ``on_ready(profile)`` is called with the profile of each round.  Without a schedule it is called once, when the
        profiler stops.
    torch : bool
        Also record PyTorch: the operators that this thread calls, and the operators of its backward passes.
        The profiler then also counts the nonzero rows of gradients; see ``gradients()``.

    Raises
    ------
    ProfilerError
        If an argument has a wrong type or value, or PyTorch is too old.  ``start()`` raises it if another profiler is
        recording, or if this one has been used before.
    MissingPackageError
        If ``torch=True`` and PyTorch is not installed.

    Examples
    --------
    >>> import sparsekit as mx
    >>> with mx.Profiler() as prof:
    ...     _ = mx.nd.ones((2, 3)) + 1
    >>> [record["lane"] for record in prof.records]
    ['forward', 'forward']
    """

    #: Whether it pauses while another profiler records, instead of refusing it.
    _gives_way = False

    def __init__(self, capacity: int = CAPACITY, lines: bool = True, schedule: Schedule | None = None,
                 on_ready: Callable[[Profile], object] | None = None,  # object: its result is not used
                 torch: bool = False) -> None:
        if schedule is not None and not isinstance(schedule, Schedule):
            raise ProfilerError(expected("schedule", "made by profiler.schedule", type(schedule)),
                                hint="profiler.schedule(wait=1, warmup=1, active=3) makes one.")
        if on_ready is not None and not callable(on_ready):
            raise ProfilerError(expected("on_ready", "a function of a profile", type(on_ready)),
                                hint="on_ready=print, for instance.")
        check_options(capacity, lines, torch)
        #: PyTorch, if its operators are recorded.
        self._torch = _torch_mode().torch_of() if torch else None
        self._watch: Watch | None = None
        self._run = RecordedRun(capacity, lines)
        super().__init__(self._run)
        self.state = "new"
        self._schedule, self._on_ready = schedule, on_ready
        self._step, self._began, self._phase = 0, 0, "active"
        self._latest: RecordedRun | None = None
        self._device_work: list[hooks.DeviceTimes] = []
        self._attached = self._ended = False

    def start(self) -> Profiler:
        """Begin to record."""
        if self.state in ("running", "paused"):
            raise ProfilerError("This profiler is recording already.",
                                hint="call stop() first; resume() comes after pause().")
        if self.state == "finished":
            raise ProfilerError("This profiler has recorded already, and is the profile of that run.",
                                hint="make a new Profiler() for a new run, or call resume() to add to this one.")
        set_aside()
        self._phase = "active" if self._schedule is None else self._schedule.phase(0)[0]
        if self._phase in ("warmup", "active"):
            try:
                self._begin()
            except BaseException:  # Ctrl-C: the caller cannot stop a profiler whose start was interrupted
                self._detach()
                self.state = "finished" if self.state == "running" else self.state
                raise
        elif hooks.sink is not None:
            raise _busy()
        self.state = "running"
        return self

    def _begin(self) -> None:
        self._attach()
        for reference, role, owner in list(hooks.owned.values()):
            array = reference()
            if array is not None:
                self._run.recorder.assign(array, role, owner, before=True)
        self._began = time.perf_counter_ns()

    def stop(self) -> Profiler:
        """End recording; stopping twice does no harm."""
        if self.state == "running":
            self._detach()
        if self.state in ("running", "paused"):
            self._ended, self.state = True, "finished"
        if self._ended:
            self._ended = False
            if self._schedule is not None and (self._phase == "warmup" or not self.events):
                # Nothing of a round that only warmed up is to be kept: the profile is that of the round before.
                self._run = self._source = self._latest or RecordedRun(self._run.log.capacity, self._run.recorder.lines)
            elif self._phase == "active":
                self._ready()
        return self

    def step(self) -> None:
        """End a step of the loop: record it as a span, and follow the schedule for the next step.

        Does nothing while the profiler does not record a loop: before ``start``, after ``stop``, while paused.
        """
        if self.state != "running":
            return
        now = time.perf_counter_ns()
        if self._phase == "active":
            self._run.recorder.span("step", "user", self._began, now, {"step": self._step})
            self._run.note_process(now)
        self._began = now
        self._step += 1
        if self._schedule is None:
            return
        before, self._phase = self._phase, self._schedule.phase(self._step)[0]
        last = self._schedule.phase(self._step - 1)[1] != self._schedule.phase(self._step)[1]
        if before == "active" and (self._phase != "active" or last):
            self._detach()
            self._ready()
            before = ""
        elif before == "warmup" and self._phase != "warmup":
            self._detach()
        if self._phase in ("warmup", "active") and self._phase != before:
            self._forget()
            self._begin()

    def _forget(self) -> None:
        """Begin anew, with nothing noted."""
        self._run = self._source = RecordedRun(self._run.log.capacity, self._run.recorder.lines)

    def _ready(self) -> None:
        self._latest = self._run
        if self._on_ready is not None:
            self._on_ready(Profile(self._run))

    def pause(self) -> Profiler:
        """Stop recording until ``resume``; the clock of the profile stops as well."""
        if self.state != "running":
            raise ProfilerError(f"A profiler that is {self.state} cannot pause.", hint="start() it first.")
        self._detach()
        self.state = "paused"
        return self

    def resume(self) -> Profiler:
        """Record again, after ``pause`` or ``stop``."""
        if self.state not in ("paused", "finished"):
            raise ProfilerError(f"A profiler that is {self.state} cannot resume.", hint="resume() comes after pause().")
        set_aside()
        if self._phase in ("warmup", "active"):
            self._attach()
            self._began = time.perf_counter_ns()
        self.state = "running"
        return self

    def _attach(self) -> None:
        global _active
        with _lock, hooks.sink_lock:
            if hooks.sink is not None or hooks.hidden is not None:
                raise _busy()
            self._run.note_process()
            self._run.clock.start()
            hooks.device_work.take()  # of a profiler before
            self._attached = True
            self._run.recorder.begin()
            hooks.sink = self._run.recorder
            hooks.origin = weakref.ref(self._run)
            _active = self
            self.state = "running"
            if self._torch is not None:
                self._watch = self._run.watch(self._torch)
                self._watch.begin()

    def _detach(self) -> None:
        global _active
        with _lock, hooks.sink_lock:
            if self._watch is not None:
                self._watch.end()
            if hooks.sink is self._run.recorder:
                hooks.sink = None
            if hooks.hidden is self._run.recorder:  # another thread traces
                hooks.hidden = None
            if self._attached:
                self._run.recorder.end()
                self._device_work.append(hooks.device_work.take())
                self._attached = False
            if self._run.clock.running:
                self._run.clock.stop()
                self._run.note_process()
            if _active is self:
                _active = None
        if not self._gives_way:
            call_back()

    def record_torch(self) -> None:
        """Record PyTorch too from now on, as ``torch=True`` does from the start.

        Raises
        ------
        MissingPackageError
            If PyTorch is not installed.
        ProfilerError
            If it is too old.
        """
        torch = _torch_mode().torch_of()
        with _lock, hooks.sink_lock:
            if self._torch is None:
                self._torch = torch
                if self._attached:
                    self._watch = self._run.watch(torch)
                    self._watch.begin()

    def _before(self) -> str:
        return self.state

    if TYPE_CHECKING:
        def __enter__(self) -> Self: ...

    def _enter(self, before: str) -> Self:
        self.start()
        return self

    def _leave(self, before: str, kind: type[BaseException] | None) -> None:
        if self.state in ("running", "paused") and before not in ("running", "paused"):
            self._detach()
            self._ended, self.state = True, "finished"

    def _after(self, before: str, kind: type[BaseException] | None) -> None:
        self.stop()

    def _data(self) -> Stored:
        run = self._run
        if not run.per_event and self.state in ("running", "paused", "finished") and (run.log.events or run.recorder.anything):
            running = run.clock.running
            if running:  # this work is not part of the run
                run.clock.stop()
            try:
                run.per_event = cost_of_event(run.recorder.lines)
                if run.watched is not None and run.watched.events:
                    run.per_torch_event = _cost_of_torch_event(run.recorder.lines)
            finally:
                if running:
                    run.clock.start()
        return super()._data()

    @property
    def _noting(self) -> bool:
        """Whether what happens now is noted: a schedule may run and wait."""
        return self.state == "running" and hooks.sink is self._run.recorder

    def span(self, name: str) -> Span:
        """Mark a part of the run, as a ``with`` block or a decorator."""
        name = text("name", name)
        return Span(self, name)

    def _device_rows(self) -> list[DeviceRow]:
        """Time on GPUs, the longest first."""
        sums: dict[tuple[str, str], tuple[int, float, float]] = {}
        for part in self._device_work:
            for key, added in part.sums().items():
                before = sums.get(key, (0, 0.0, 0.0))
                sums[key] = before[0] + added[0], before[1] + added[1], before[2] + added[2]
        rows: list[DeviceRow] = [
            {"op": op, "context": context, "calls": calls, "milliseconds": milliseconds, "queuing": queuing}
            for (op, context), (calls, milliseconds, queuing) in sums.items()]
        return sorted(rows, key=lambda row: (-float(row["milliseconds"]), row["op"], row["context"]))

    def marker(self, name: str, value: object = None) -> None:  # object: what the user marks
        """Mark this instant."""
        name = text("name", name)
        if self._noting:
            self._run.recorder.mark(MARKER, name, value)

    def counter(self, name: str, value: float, unit: str = "") -> None:
        """Record the new value of a quantity, in ``unit``."""
        name, unit = text("name", name), text("unit", unit, "unit='samples/s', for example.")
        number("value", value, "a number", hint="of an array, value.asscalar() is the number.")
        if self._noting:
            self._run.recorder.mark(COUNTER, name, value, unit)


_lock = threading.RLock()
across_fork(lambda: _lock)


def set_aside() -> None:
    """Pause the profiler that records now, if it gives way, until ``call_back``."""
    global _aside
    running = active()
    if running is not None and running._gives_way:
        _aside = running.pause()


def call_back() -> None:
    """Let the profiler that gave way record again."""
    global _aside
    waiting, _aside = _aside, None
    if waiting is not None and waiting.state == "paused":
        waiting.resume()


def _busy() -> ProfilerError:
    return ProfilerError("Another profiler is recording.",
                         hint="only one can record at a time: stop() it, or leave its `with` block, first. "
                              "mx.profiler.active() returns it; prof.span('name') marks a part of a profile.")


class Span(Scoped, ContextDecorator):
    """A part of a run that the user named; nothing happens while the profiler does not record."""

    def __init__(self, profiler: Profiler, name: str) -> None:
        self._profiler, self.name = profiler, name

    def _recreate_cm(self) -> Span:
        return Span(self._profiler, self.name)

    def _before(self) -> tuple[int, int]:
        return threading.get_ident(), time.perf_counter_ns()

    def _enter(self, before: tuple[int, int]) -> Self:
        self._profiler._run.open.append(before)
        return self

    def _leave(self, before: tuple[int, int], kind: type[BaseException] | None) -> None:
        opened = self._profiler._run.open
        if before in opened:
            opened.remove(before)

    def _after(self, before: tuple[int, int], kind: type[BaseException] | None) -> None:
        if self._profiler._noting:
            self._profiler._run.recorder.span(self.name, "user", before[1], time.perf_counter_ns(), {})


@cache
def cost_of_event(lines: bool) -> float:
    """Nanoseconds that recording one operator takes here: two clock readings, the call, and the freeing."""
    import numpy as np

    run = RecordedRun(CAPACITY, lines)
    plan: Any = SimpleNamespace(op=None, attrs={}, fallback=False)  # Any: as much of a plan as a recorder looks at
    layout = SimpleNamespace(shape=(8, 8))

    def array() -> Any:  # Any: as much of an array as a recorder looks at
        return SimpleNamespace(_store=np.empty((8, 8), np.float32), _layout=layout, _seen=0)

    left, right = array(), array()
    call, clock = run.recorder.call, time.perf_counter_ns

    def loop(noted: bool, count: int = 2000) -> int:
        begin = clock()
        for _ in range(count):
            result = array()
            if noted:
                start = clock()
                call(plan, start, clock(), (left, right), result, None)
        return clock() - begin

    costs = [(loop(True) - loop(False)) / 2000 for _ in range(5)]
    run.recorder.end()
    return max(0.0, statistics.median(costs))


@cache
def _cost_of_torch_event(lines: bool) -> float:
    """Nanoseconds that recording one operator of PyTorch takes here."""
    run = RecordedRun(CAPACITY, lines)
    return float(_torch_mode().cost_of_torch_event(run.recorder))


def _torch_mode() -> ModuleType:
    """What watches PyTorch, which is imported when it is asked for."""
    return load("sparsekit.profiler.torch_mode")


entry_classes(Profiler)
