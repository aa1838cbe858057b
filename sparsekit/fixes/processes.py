"""Asking another process: a fresh interpreter for each request, which gets everything through a pipe and answers through one."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from ..base.errors import SparsekitError
from .observe import Run
from .runner import observed

__all__ = ["Lost", "asked", "observed_apart"]

T = TypeVar("T")


class Lost(SparsekitError):
    """The other process gave no answer; the message says why."""


def observed_apart(program: bytes, steps: int, turned: bool, limit: float) -> Run:
    """What ``runner.observed`` gives, in a fresh process that ends after ``limit`` seconds at most; raises as ``asked`` does."""
    return asked(observed, (program, steps, turned), limit)


def asked(function: Callable[..., T], arguments: tuple[Any, ...], limit: float) -> T:  # Any: what it takes
    """What a function of a module gives, in a fresh process.

    The process, and those that it has started, end with the answer, and with this one, however this one ends: it holds the end
    of a pipe that closes then.  There are no files.

    Parameters
    ----------
    function : callable
    arguments : tuple
    limit : float
        Seconds after which the process is ended.

    Raises
    ------
    Failure
        If the function fails.
    Lost
        If the process does not answer in time, or is ended by a signal.
    """
    reading, writing = os.pipe()
    environment = {"PYTHONHASHSEED": "0", **os.environ, "PYTHONPATH": os.pathsep.join(one or os.getcwd() for one in sys.path)}
    command = [sys.executable, "-P", "-m", "sparsekit.fixes.runner", str(reading)]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment, pass_fds=(reading,), start_new_session=True) as other:
            try:
                answer, said = other.communicate(pickle.dumps((function, arguments)), limit)
            except subprocess.TimeoutExpired:
                raise Lost(f"The process that ran the step did not end within {limit:g} seconds.",
                           hint="give try_fixes a shorter step, or more seconds: timeout=3600.") from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(other.pid, signal.SIGKILL)
    finally:
        os.close(reading)
        os.close(writing)
    try:
        found: T | SparsekitError = pickle.loads(answer)
    except (EOFError, pickle.UnpicklingError):
        raise Lost(f"The process that ran the step {_ending(other.returncode)}.{_last_line(said)}",
                   hint=_hint(other.returncode)) from None
    if isinstance(found, SparsekitError):
        raise found
    return found


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended without an answer, with status {status}"
    known = signal.Signals(-status).name if -status in list(signal.Signals) else f"signal {-status}"
    return f"was ended by {known}"


def _hint(status: int) -> str:
    if -status == signal.SIGKILL:
        return "the system does so when memory runs out: try a smaller model or batch."
    return "run the step in a process of its own, python train.py, to see what ends it."


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").split("\n")
    return "".join(f" It said: {line}" for line in [line for line in lines if line.strip()][-1:])
