"""Asking another process: one for each request, which gets everything through a pipe and answers through one."""

from __future__ import annotations

import contextlib
import pickle
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import IO, Any, TypeVar

from ..base.errors import SparsekitError
from ..base.platform import end_group, ended_by_system
from .observe import Run
from .origin import Process, fresh
from .runner import observed

T = TypeVar("T")


class Lost(SparsekitError):
    """The other process gave no answer; the message says why."""


def observed_apart(program: bytes, steps: int, turned: bool, limit: float, start: Callable[[], Process] = fresh) -> Run:
    """What ``runner.observed`` gives, in a process that ends after ``limit`` seconds at most; raises as ``asked`` does."""
    return asked(observed, (program, steps, turned), limit, start)


def asked(function: Callable[..., T], arguments: tuple[Any, ...], limit: float,  # Any: what it takes
          start: Callable[[], Process] = fresh) -> T:
    """What a function of a module gives, in a process of its own.

    The process, and those that it has started where the system has groups of processes, end with the answer, and with this one,
    however this one ends: its input, which stays open, closes then.  There are no files.

    Parameters
    ----------
    function : callable
    arguments : tuple
    limit : float
        Seconds after which the process is ended.
    start : callable
        Starts the process.

    Raises
    ------
    Failure
        If the function fails.
    Lost
        If the process does not answer in time, or is ended by a signal.
    """
    with start() as other:
        pipe, other.stdin = other.stdin, None  # ``communicate`` would close it
        assert pipe is not None
        giving = threading.Thread(target=_give, args=(pipe, pickle.dumps((function, arguments))), daemon=True)
        giving.start()
        try:
            answer, said = other.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise Lost(f"The process that ran the step did not end within {limit:g} seconds.",
                       hint="give try_fixes a shorter step, or more seconds: timeout=3600.") from None
        finally:
            end_group(other.pid)
            other.kill()
            giving.join()
            pipe.close()
    try:
        result: T | SparsekitError = pickle.loads(answer)
    except (EOFError, pickle.UnpicklingError):
        status = other.returncode or 0
        raise Lost(f"The process that ran the step {_ending(status)}.{_last_line(said)}", hint=_hint(status)) from None
    if isinstance(result, SparsekitError):
        raise result
    return result


def _give(pipe: IO[bytes], request: bytes) -> None:
    """Write a request; a process that has ended takes no more."""
    left = memoryview(request)
    with contextlib.suppress(OSError):
        while left:
            left = left[pipe.write(left):]


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended without an answer, with status {status}"
    name = signal.Signals(-status).name if -status in list(signal.Signals) else f"signal {-status}"
    return f"was ended by {name}"


def _hint(status: int) -> str:
    if ended_by_system(status):
        return "the system does so when memory runs out: try a smaller model or batch."
    return "run the step in a process of its own, python train.py, to see what ends it."


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").split("\n")
    return "".join(f" It said: {line}" for line in [line for line in lines if line.strip()][-1:])
