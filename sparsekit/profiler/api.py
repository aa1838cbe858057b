"""MXNet's profiler functions, over one ``Profiler`` object of the process.

``mx.profiler.set_config(...)``, ``set_state('run')``, ``dumps()`` and the rest keep their names and
arguments.  Unlike MXNet's, the file name may change between runs, ``dump()`` does not end anything,
and averages are averages.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, Self

from ..base.errors import ProfilerError, SparsekitError, UnknownNameError, UnsupportedError, expected
from ..base.formatting import format_count
from ..base.scoped import Scoped
from ..base.warn import warn_user
from ..core import hooks
from .arguments import flag, number, text, whole
from .mxnet_statistics import SORTS, Names, Statistics
from .profile_file import ENDINGS
from .profiler import CAPACITY, Profiler, active, check_options

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "scope",
    "set_config",
    "set_kvstore_handle",
    "set_state",
]

#: Every setting, with its default and what it does here.
SETTINGS: dict[str, tuple[Any, str]] = {
    "filename": ("profile.json", "trace that dump() writes, .json or .json.gz"),
    "profile_all": (False, "no effect: operators, memory and the rest are always recorded"),
    "profile_symbolic": (True, "no effect: programs of hybridized blocks record each operator"),
    "profile_imperative": (True, "no effect: operators are always recorded"),
    "profile_memory": (True, "no effect: memory is always recorded, exactly"),
    "profile_api": (False, "no effect: there is no C interface whose calls could be recorded"),
    "continuous_dump": (False, "write the trace when the program ends without dump(); setting a file name does the same"),
    "dump_period": (1.0, "no effect: a file written while recording would be part of what is recorded"),
    "aggregate_stats": (False, "no effect: dumps() can always be called"),
    "profile_process": ("worker", "only 'worker': kv.profile_servers() gives the profiles of servers"),
    "gpu_memory_profile_filename_prefix": ("", "no effect: GPU memory is in the trace"),
    "capacity": (CAPACITY, "events kept one by one before older ones become totals (sparsekit's own)"),
    "lines": (True, "note the user's lines (sparsekit's own)"),
}
#: The check of a setting, by the type of its default.
_KINDS: dict[type, Callable[[str, object], object]] = {  # object: what the user gave
    bool: flag, str: text, float: number, int: whole}

_config: dict[str, Any] = {  # Any: each setting has a type of its own
    name: default for name, (default, _) in SETTINGS.items()}
_names = Names()
_UNKNOWN = "<unk>:"


class _Shared:
    """The profiler that the functions of this module work on."""

    profiler: Profiler | None = None
    dumped = False


def set_config(**kwargs: object) -> None:  # object: settings of all types, which are checked
    """Set how the next run is profiled.

    Parameters
    ----------
    filename : str
        Trace file that ``dump`` writes.  The name ends in ``.json`` or ``.json.gz``; the default is ``profile.json``.  Once it
        is set, a program that ends without ``dump()`` writes the trace, as in MXNet.
    continuous_dump : bool
        With True, a program that ends without ``dump()`` writes the trace even if ``filename`` was never set.
    profile_process : {"worker"}
    capacity : int
        Number of single events that are kept (sparsekit's own setting).  Older events are kept as totals.
    lines : bool
        Record the line of user code that called each operator (sparsekit's own setting).
    **kwargs
        MXNet's other settings are accepted and have no effect, because everything is always recorded:
        ``profile_all``, ``profile_symbolic``, ``profile_imperative``, ``profile_memory``, ``profile_api``,
        ``dump_period``, ``aggregate_stats``, ``gpu_memory_profile_filename_prefix``.

    Raises
    ------
    UnknownNameError
        If there is no such setting, or ``profile_process`` is neither ``"worker"`` nor ``"server"``.
    UnsupportedError
        If ``profile_process`` is ``"server"``: a worker cannot profile servers.
    ProfilerError
        If the file name does not end in ``.json`` or ``.json.gz``, or a setting has a value of another type than its default.
    """
    _check_process(kwargs.get("profile_process", "worker"))
    for name, value in kwargs.items():
        UnknownNameError.check("profiler setting", name, SETTINGS)
        if name != "filename":
            _KINDS[type(SETTINGS[name][0])](name, value)
    filename = kwargs.get("filename", "profile.json")
    if not isinstance(filename, (str, os.PathLike)) or not str(filename).endswith((".json", ".json.gz")):
        raise ProfilerError(expected("filename", "a name that ends in .json or .json.gz", filename),
                            hint="filename='trace.json', for example.")
    check_options(kwargs.get("capacity", CAPACITY))
    _config.update(kwargs)
    if "filename" in kwargs or kwargs.get("continuous_dump"):
        atexit.unregister(_dump_at_exit)
        atexit.register(_dump_at_exit)


def _check_process(profile_process: object) -> None:  # object: what the user gave
    UnknownNameError.check("process", profile_process, ("worker", "server"))
    if profile_process == "server":
        raise UnsupportedError("Servers are not profiled by a worker's profiler.",
                               hint="mx.dist.run(…, profile=True) profiles workers and servers.")


def _dump_at_exit() -> None:
    held = _Shared.profiler
    if held is not None and not _Shared.dumped:
        held.stop()
        with contextlib.suppress(SparsekitError, OSError):  # at exit no caller could catch an error
            held.save(_config["filename"])


def set_kvstore_handle(handle: object) -> None:  # object: MXNet's handle, which has no effect
    """Accepted for compatibility with MXNet, without effect: what a key-value store exchanges with servers is always recorded."""


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Begin (``"run"``) or end (``"stop"``) profiling; a second run adds to the first until ``dumps(reset=True)``."""
    UnknownNameError.check("profiler state", state, ("run", "stop"))
    _check_process(profile_process)
    held = _Shared.profiler
    if state == "stop":
        if held is not None:
            held.stop()
        return
    _Shared.dumped = False
    if held is None:
        _Shared.profiler = Profiler(capacity=_config["capacity"], lines=_config["lines"]).start()
    elif held.state != "running":
        held.resume()


def pause(profile_process: str = "worker") -> None:
    """Stop recording until ``resume``."""
    _check_process(profile_process)
    held = _Shared.profiler
    if held is not None and held.state == "running":
        held.pause()


def resume(profile_process: str = "worker") -> None:
    """Record again after ``pause``."""
    _check_process(profile_process)
    held = _Shared.profiler
    if held is not None and held.state == "paused":
        held.resume()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace to the configured file name; ``finished`` also stops recording.

    If nothing was recorded since the start or the last ``dumps(reset=True)``, the trace has no events.
    """
    flag("finished", finished)
    _check_process(profile_process)
    held = _Shared.profiler
    if held is None:
        held = Profiler(capacity=_config["capacity"], lines=False).start()
        held.stop()
    elif finished:
        held.stop()
    held.save(_config["filename"])
    _Shared.dumped = True


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """MXNet's statistics as text: operators, and by domain its tasks, frames, counters and markers, and memory.

    A counter has the number of its values, the last value (``Total``), the smallest, the largest and the mean, all in the
    counter's own unit.  A marker has the number of times it was set.  ``Profile.table`` gives more detail on operators.

    Parameters
    ----------
    reset : bool
        Delete the records afterwards.
    format : {"table", "json"}
        The JSON text has MXNet's keys: ``Time`` by category and name, ``Memory``, ``Unit``.
    sort_by : {"total", "avg", "min", "max", "count"}
        Column that the rows of each category are sorted by.
    ascending : bool
        Whether the smallest value comes first.

    Returns
    -------
    str

    Raises
    ------
    UnknownNameError
        If ``format`` or ``sort_by`` is not one of those.
    ProfilerError
        If ``reset`` or ``ascending`` is neither True nor False.
    """
    UnknownNameError.check("format", format, ("table", "json"))
    UnknownNameError.check("sort key", sort_by, SORTS)
    flag("reset", reset)
    flag("ascending", ascending)
    held = _Shared.profiler
    statistics = Statistics(held, _names)
    statistics.sort(sort_by, ascending)
    if format == "json":
        text = statistics.json()
    else:
        text = "Nothing has been profiled.\n" if held is None else statistics.table(held._footer())
    if reset and held is not None:
        _restart(held)
    return text


def _restart(held: Profiler) -> None:
    running = held.state == "running"
    held.stop()
    _Shared.profiler = None
    if running:
        set_state("run")


def _deprecated(old: str, new: str) -> None:
    warn_user(f"profiler.{old}() is deprecated. Please use profiler.{new}() instead", DeprecationWarning)


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Deprecated in MXNet: use ``set_config``."""
    _deprecated("profiler_set_config", "set_config")
    UnknownNameError.check("mode", mode, ("symbolic", "imperative", "memory", "api", "all"))
    set_config(filename=filename, profile_all=mode == "all")


def profiler_set_state(state: str = "stop") -> None:
    """Deprecated in MXNet: use ``set_state``."""
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """Deprecated in MXNet: use ``dump``."""
    _deprecated("dump_profile", "dump")
    dump(True)


class Domain:
    """A group of tasks, frames, counters and markers under one name."""

    def __init__(self, name: str) -> None:
        self.name = text("name", name)

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """A counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A marker of this domain."""
        return Marker(self, name)


def _label(domain: Domain, name: str, kind: str = "") -> str:
    """What something of a domain is recorded by."""
    name = text("name", name)
    if not isinstance(domain, Domain):
        raise ProfilerError(expected("domain", "a Domain", domain), hint="profiler.Domain('training').new_task('epoch').")
    return _names.join(f"{domain}{kind}", name)


class _Named:
    """What has a name in a domain, and is recorded by both."""

    _kind = ""
    domain: Domain | None

    def __init__(self, domain: Domain, name: str) -> None:
        self.domain, self.name, self._label = domain, name, _label(domain, name, self._kind)

    def __str__(self) -> str:
        return self.name


class _Timed(_Named):
    """Something that is started and stopped, and appears as a span of the user's lane."""

    _start: int | None = None

    def start(self) -> None:
        """Begin."""
        self._start = time.perf_counter_ns()

    def stop(self) -> None:
        """End; without a profiler that records, nothing is noted."""
        start, self._start = self._start, None
        if start is not None and hooks.sink is not None:
            args = {"domain": self.domain.name} if self.domain is not None else {}
            hooks.sink.span(self._label, "user", start, time.perf_counter_ns(), args)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:  # object: Python's three, not used
        self.stop()


class Task(_Timed):
    """A piece of work: ``start`` and ``stop``, or a ``with`` block; recorded as ``domain::name``."""


class Frame(_Timed):
    """One round of something repeated: ``start`` and ``stop``, or a ``with`` block; recorded as ``domain,frame::name``."""

    _kind = ",frame"


class Event(_Timed):
    """A piece of work that belongs to no domain."""

    def __init__(self, name: str) -> None:
        self.domain, self.name = None, text("name", name)
        self._label = _names.alone("event", self.name)


class Counter(_Named):
    """A number that changes: ``set_value``, ``increment``, ``+=``; recorded as ``domain::name``."""

    def __init__(self, domain: Domain, name: str, value: float | None = None) -> None:
        super().__init__(domain, name)
        self.value: float = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: float) -> None:
        """Note a new value."""
        number("value", value, "a number", hint="of an array, value.asscalar() is the number.")
        self.value = value
        held = active()
        if held is not None:
            held.counter(self._label, value)

    def increment(self, delta: float = 1) -> None:
        """Add ``delta``."""
        number("delta", delta)
        self.set_value(self.value + delta)

    def decrement(self, delta: float = 1) -> None:
        """Subtract ``delta``."""
        number("delta", delta)
        self.set_value(self.value - delta)

    def __iadd__(self, delta: float) -> Self:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Self:
        self.decrement(delta)
        return self


class Marker(_Named):
    """An instant; recorded as ``domain::name``."""

    def mark(self, scope: str = "process") -> None:
        """Record this instant."""
        UnknownNameError.check("scope", scope, ("global", "process", "thread", "task", "marker"))
        held = active()
        if held is not None:
            held.marker(self._label, scope)


class scope(Scoped, ContextDecorator):
    """Give the operators of a block a layer name; inside another scope the names are joined, as in MXNet."""

    def __init__(self, name: str = _UNKNOWN, append_mode: bool = True) -> None:
        flag("append_mode", append_mode)
        self._label, self._joined = text("name", name).rstrip(":"), append_mode

    def _before(self) -> str:
        return hooks.state.layer

    def _enter(self, before: str) -> str:
        hooks.state.layer = f"{before}:{self._label}" if self._joined and before else self._label
        return hooks.state.layer

    def _leave(self, before: str, kind: type[BaseException] | None) -> None:
        hooks.state.layer = before


def autostart() -> None:
    """Profile the whole script: at its end print the table and write ``sparsekit-profile.npz``.

    The package calls this function when it is imported with ``SPARSEKIT_PROFILE=1``.  A value that ends in ``.npz`` is the name
    of the profile; other endings are those of ``Profile.save``.  ``0``, ``false``, ``no`` and ``off``
    switch profiling off.  A value other than these and ``1``, ``true``, ``yes`` and ``on`` gives a ``RuntimeWarning``, and the
    file has the default name.
    """
    asked = os.environ.get("SPARSEKIT_PROFILE", "")
    if asked.lower() in ("", "0", "false", "no", "off") or _Shared.profiler is not None or hooks.sink is not None:
        return
    name = asked if asked.endswith(ENDINGS) else "sparsekit-profile.npz"
    if name != asked and asked.lower() not in ("1", "true", "yes", "on"):
        warn_user(f"SPARSEKIT_PROFILE must be a name that ends in .npz, .html, .json or .json.gz, got {asked!r}: {name} will be "
                  "written.", RuntimeWarning)
    set_state("run")
    atexit.register(_finish, name)


def _finish(name: str) -> None:
    held = _Shared.profiler
    if held is None:
        return
    held.stop()
    print(f"\n{held.summary()}\n\n{held.table(rows=20)!r}", file=sys.stderr)
    try:
        print(f"Wrote {held.save(name)} ({format_count(held.events)} events)", file=sys.stderr)
    except (SparsekitError, OSError) as error:
        # The script has ended, and no caller could catch an error: print it.
        print(f"The profile {name!r} could not be written: {error}", file=sys.stderr)
