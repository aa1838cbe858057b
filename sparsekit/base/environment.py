"""Environment variables; an invalid value gives a warning."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys

from .warn import warn_user

__all__ = ["flag", "thread_count", "usable_cores", "why_numpy_kernels"]

#: The largest number of threads for kernels.
MOST_THREADS = 1024

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def flag(name: str, default: bool) -> bool:
    """Whether an environment variable is on: 1, true, yes and on are, 0, false, no and off are not.

    An empty variable counts as not set.  Any other value gives a warning, and the default is used.
    """
    given = os.environ.get(name, "")
    value = given.strip().lower()
    if value in _YES or (value.isascii() and value.isdigit() and value.strip("0")):
        return True
    if value in _NO:
        return False
    if value:
        warn_user(f"{name} must be 1 or 0, got {given!r}: {int(default)} is used.  Set it to 1 or 0, or unset it.")
    return default


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count() -> int:
    """Threads that large kernels are spread over: ``SPARSEKIT_NUM_THREADS``, else the usable cores.

    An invalid number of threads gives a warning, and the usable cores are used.
    """
    given, cores = os.environ.get("SPARSEKIT_NUM_THREADS", ""), usable_cores()
    value = given.strip()
    if not value:
        return cores
    if value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= MOST_THREADS and len(value) <= 9:
        return int(value)
    warn_user(f"SPARSEKIT_NUM_THREADS must be an integer from 1 to {MOST_THREADS}, got {given!r}: {cores} is used, the number of "
              "usable cores.  Set it to such a number, or unset it.")
    return cores


@functools.cache
def why_numpy_kernels() -> str:
    """Why the kernels of the CPU are those in numpy; empty if they are numba's.

    ``SPARSEKIT_KERNELS`` is ``numba`` or ``numpy``; without it they are numba's if it is installed, which is looked up
    without importing it.  An invalid value gives a warning, and counts as not set.
    """
    given = os.environ.get("SPARSEKIT_KERNELS", "")
    value = given.strip().lower()
    if value == "numpy":
        return f"SPARSEKIT_KERNELS is {value}"
    if value == "numba":
        return ""
    if value:
        warn_user(f"SPARSEKIT_KERNELS must be numba or numpy, got {given!r}: numba is used if it is installed.  Set it to one of "
                  "these, or unset it.")
    if "numba" in sys.modules:
        missing = sys.modules["numba"] is None  # which is how an import is blocked
    else:
        missing = importlib.util.find_spec("numba") is None
    return "numba is not installed" if missing else ""
