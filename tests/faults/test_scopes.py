"""Context managers of the library put back what they changed, whichever instruction of theirs an interrupt arrives at."""

from __future__ import annotations

import ast
import collections
import contextlib
import dis
import functools
import gc
import os
import sys
import threading
import time
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit import autograd
from sparsekit.base import attributes, capture, context, naming, rng
from sparsekit.base.config import config
from sparsekit.base.files import written
from sparsekit.base.scoped import Scoped
from sparsekit.core import device, hooks, program, trace
from sparsekit.gluon.rnn import composed
from sparsekit.gluon.scope import Scope
from sparsekit.gluon.utils import HookHandle
from sparsekit.optimizer.updater import UpdateLane
from sparsekit.profiler import profiler, pytest_guard
from sparsekit.symbol.shapes import meaning

PACKAGE = Path(mx.__file__).parent

net = mx.gluon.nn.Dense(2, in_units=2)
net.initialize()
cell = mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.RNNCell(2))
trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
hooked = collections.OrderedDict()  # of which there are weak references
recording = mx.Profiler()


def handle():
    made = HookHandle()
    made.attach(hooked, print)
    return made


class Tracer:
    """As much of a tracer as a block of it looks at."""

    recording, ctx = True, mx.cpu()


TRACER = Tracer()

LOCKS = (type(threading.Lock()), type(threading.RLock()))

#: Context managers by the names of the functions and classes that make them.
CASES = {
    "Profiler": mx.Profiler,
    "Span": lambda: recording.span("part"),
    "scope": lambda: mx.profiler.scope("part"),
    "Promise": mx.profiler.expect,
    "np_shape": mx.util.np_shape,
    "environment": lambda: mx.test_utils.environment({"SPARSEKIT_SWEPT": "1", "HOME": None}),
    "_Switch": autograd.record,
    "TrainingStateScope": functools.partial(mx.contrib.autograd.TrainingStateScope, True),
    "ToldPlace": lambda: program.ToldPlace(None),
    "UpdateLane": UpdateLane,
    "set": lambda: config.set(densify="error", densify_limit=3, check_format=False),
    "using": lambda: rng.using(3),
    "bulk": lambda: mx.engine.bulk(3),
    "rehearsal": device.rehearsal,
    "_AtWork": lambda: trace._AtWork(TRACER),
    "aside": trace.aside,
    "_released": lambda: composed._released(cell.base_cell),
    "Scope": net.name_scope,
    "Prefix": lambda: mx.name.Prefix("a_"),
    "NameManager": mx.name.NameManager,
    "AttrScope": lambda: mx.AttrScope(a="b"),
    "Context": lambda: mx.cpu(1),
    "HookHandle": handle,
    "written": lambda: written("file"),
    "_Background": pytest_guard._Background,
}

#: Which are made with a base class that the others share, or only at work inside a case above.
SHARED = {"Scoped", "Assigned", "Pushed", "_Tracing", "_TraceContext"}

#: Context managers that put nothing back that others see, and why that is so.
EXCUSED = {
    "TrainingMonitor": "shows what it saw",
    "Origin": "processes that end when this one does", "Process": "as Origin", "_Forked": "as Origin",
    "failures_named": "names errors", "_named_errors": "names errors", "_failures": "names errors",
    "_code_of": "names errors",
    "open": "a file that is read", "lines": "a file that is read", "open_member": "a file that is read",
    "values_of": "an array of its own", "_Timed": "notes a time of its own",
    "_quiet": "the filters of Python's warnings, which Python's own catch_warnings puts back",
    "_folder": "a folder that the next command looks past", "stage": "a progress bar",
    "_drawing": "matplotlib's settings and the filters of warnings, which their own context managers put back",
    "discard_stderr": "a file descriptor, as MXNet's helper for tests does",
    "watched": "what a process that runs one step and ends lets the step do",
    "_as_main": "the main module of a command, which ends with it",
    "cluster_of": "processes of a cluster, which a watcher ends when this one is gone",
    "job_folder": "a folder within the cluster's, which goes with it or when the next cluster starts",
    "_at_work": "whether a recorder notes what its thread runs in PyTorch",
    "unseen": "PyTorch's modes, by PyTorch's own managers", "_outside": "as unseen",
    "recording_torch": "a finder of imports, in a command that an interrupt ends",
    "locked": "the lock of a file, which the system lets go when the file is dropped",
    "joined": "a process that ends with the block",
    "stoppable": "handlers of signals, in a command that an interrupt ends",
    "_as_it_was_if_refused": "the attributes of an estimator, which errors put back and an interrupt leaves as they are",
    "_uploads_refused": "cupy's allocator, which a ``finally`` puts back when a capture ends",
}


def all_state(folder):
    """Everything that the context managers change, comparable."""
    state = {name: value for name, value in hooks.state.__dict__.items() if name != "ignore_fp_errors"}
    return (hooks.sink, profiler.active(), state, repr(config), list(naming._local.stack), list(attributes._local.stack),
            list(context._current.stack), trace._current.tracer, getattr(Scope._current, "value", None), rng._override.generator,
            mx.engine._size, capture.state.rehearsed, dict(trainer.__dict__), cell.base_cell._modified,
            dict(hooked), meaning.zero_is_a_size, dict(os.environ), locked(),
            list(recording._run.open), sorted(set(os.listdir(folder)) - {"file", "lock"}), open_files(folder))


@functools.cache
def locks(modules):
    """The locks that the library's modules and their objects hold, by name."""
    found = {}
    for module in [module for name, module in sys.modules.items() if name.startswith("sparsekit.")]:
        for name, value in vars(module).items():
            parts = getattr(value, "__dict__", {}) if type(value).__module__.startswith("sparsekit.") else {}
            for what, lock in [(name, value), *((f"{name}.{part}", one) for part, one in parts.items())]:
                if isinstance(lock, LOCKS):
                    found[f"{module.__name__}.{what}"] = lock
    return found


def locked():
    """The locks that are held: another thread would wait for ever."""
    return [name for name, lock in locks(len(sys.modules)).items() if not repr(lock).startswith("<unlocked")]


def open_files(folder):
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sorted(path for path in found if path.startswith(str(folder)))


@functools.cache
def leaving(code):
    """Where a ``with`` statement calls ``__exit__(None, None, None)``: Python looks for signals before these instructions and
    after them, never between."""
    found, instructions = set(), list(dis.get_instructions(code))
    for place, first in enumerate(instructions):
        nones = [one for one in instructions[place:place + 3] if one.opname == "LOAD_CONST" and one.argval is None]
        if first.opname == "LOAD_CONST" and len(nones) == 3:
            last = next(one for one in instructions[place + 3:] if one.opname == "CALL")
            found.update(range(nones[0].offset, last.offset + 1))
    return found


class Interrupt:
    """Raises KeyboardInterrupt at one instruction of a context manager's own code, or call of what it calls, counted from 1.

    Only where Python may do so too: not between the end of a ``with`` block and its ``__exit__``.
    """

    def __init__(self, manager, place):
        self.left = place
        self.own = {getattr(sys.modules[cls.__module__], "__file__", "") for cls in type(manager).__mro__}

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.startswith((str(PACKAGE), contextlib.__file__)):
            return None
        frame.f_trace_opcodes = frame.f_code.co_filename in self.own
        if event == "call" or (event == "opcode" and frame.f_lasti not in leaving(frame.f_code)):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
        return self


def run(manager, place):
    """Whether an interrupt came while a block was entered or left; what it raised, kept as a notebook keeps it."""
    interrupt, reached = Interrupt(manager, place), False
    try:
        sys.settrace(interrupt)
        with manager:
            reached = True
    except KeyboardInterrupt as error:
        if not reached:
            hooked.clear()  # HookHandle.attach put it there, not the block
        return error
    finally:
        sys.settrace(None)
    return None


@pytest.mark.parametrize("name", CASES)
def test_an_interrupt_at_any_instruction_leaves_nothing_changed(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hooks, "owned", dict([*hooks.owned.items()][:1]))  # other tests' parameters would each add places
    recording.__init__()
    hooked.clear()
    if name == "Span":
        recording.start()
    gc.collect()
    gc.disable()  # the collector would run finalizers of other tests' objects, and Python ignores an interrupt in a finalizer
    try:
        with CASES[name]():  # what is loaded when it is first used has been loaded then
            pass
        expected, place, kept = all_state(tmp_path), 0, []
        while True:
            place += 1
            manager = CASES[name]()
            error = run(manager, place)
            if error is None:
                break
            kept.append(error)
            found = all_state(tmp_path)
            deadline = time.monotonic() + 60
            while found != expected and name == "written" and time.monotonic() < deadline:
                time.sleep(0.01)  # undisturbed work ends in a thread of its own
                found = all_state(tmp_path)
            assert found == expected, place
            assert place < 5000
        assert place > 20
    finally:
        gc.enable()
        recording.stop()


@pytest.mark.parametrize("name", CASES)
def test_a_block_is_entered_and_left_by_hand(name, tmp_path, monkeypatch):
    """As frameworks do, and people in two cells of a notebook: ``__exit__`` is looked up when the block has begun."""
    monkeypatch.chdir(tmp_path)
    recording.__init__()
    hooked.clear()
    if name == "Span":
        recording.start()
    try:
        with CASES[name]():
            pass
        expected = all_state(tmp_path)
        for _ in range(2):
            manager = CASES[name]()
            manager.__enter__()
            manager.__exit__(None, None, None)
            assert all_state(tmp_path) == expected
    finally:
        recording.stop()


def managers():
    """Names of all functions and classes of the package that make context managers, from its sources."""
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in ("course", "bench", "notebooks", "examples"):
            continue  # tools for people, which an interrupt ends
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found = any(getattr(one, "name", "") == "__exit__" for one in node.body)
                found = found or any(ast.unparse(one) in KINDS for one in node.bases)
            elif isinstance(node, ast.FunctionDef):
                found = any(ast.unparse(one).endswith("contextmanager") for one in node.decorator_list)
                found = found or getattr(node.returns, "id", getattr(node.returns, "value", "")) == "Assigned"
            else:
                found = False
            if found:
                yield node.name


def kinds(cls):
    return {cls.__name__}.union(*map(kinds, cls.__subclasses__()))


KINDS = kinds(Scoped)


def test_every_context_manager_of_the_library_is_swept_or_excused():
    found = set(managers())
    assert sorted(found - CASES.keys() - SHARED - EXCUSED.keys()) == []
    assert sorted((CASES.keys() | SHARED | EXCUSED.keys()) - found - KINDS) == []
