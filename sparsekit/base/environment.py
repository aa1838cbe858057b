"""Environment variables; an invalid value gives a warning."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys

from .platform import usable_cores
from .warn import warn_user

#: The largest number of threads for kernels.
MOST_THREADS = 1024

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def flag(name: str, default: bool) -> bool:
    """Whether an environment variable is on: 1, true, yes and on are, 0, false, no and off are not.

    An empty variable counts as not set.  Any other value gives a warning, and the default is used.
    """
    text = os.environ.get(name, "")
    value = text.strip().lower()
    if value in _YES or (value.isascii() and value.isdigit() and value.strip("0")):
        return True
    if value in _NO:
        return False
    if value:
        warn_user(f"{name} must be 1 or 0, got {text!r}: {int(default)} is used.  Set it to 1 or 0, or unset it.",
                  RuntimeWarning)
    return default


def thread_count() -> int:
    """Threads that large kernels are spread over: ``SPARSEKIT_NUM_THREADS``, else the usable cores.

    An invalid number of threads gives a warning, and the usable cores are used.
    """
    text, cores = os.environ.get("SPARSEKIT_NUM_THREADS", ""), usable_cores()
    value = text.strip()
    if not value:
        return cores
    if value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= MOST_THREADS and len(value) <= 9:
        return int(value)
    warn_user(f"SPARSEKIT_NUM_THREADS must be an integer from 1 to {MOST_THREADS}, got {text!r}: {cores} is used, the number of "
              "usable cores.  Set it to such a number, or unset it.", RuntimeWarning)
    return cores


@functools.cache
def kernels_asked() -> str:
    """The kernels of the CPU that ``SPARSEKIT_KERNELS`` asks for, ``numba`` or ``numpy``; empty if it is not set.

    An invalid value gives a warning, and counts as not set.
    """
    text = os.environ.get("SPARSEKIT_KERNELS", "")
    value = text.strip().lower()
    if value in ("", "numba", "numpy"):
        return value
    warn_user(f"SPARSEKIT_KERNELS must be numba or numpy, got {text!r}: numba is used if it is installed.  Set it to one of "
              "these, or unset it.", RuntimeWarning)
    return ""


def is_installed(package: str) -> bool:
    """Whether a package can be found, which is looked up without importing it."""
    if package in sys.modules:
        return sys.modules[package] is not None  # None is how an import is blocked
    return importlib.util.find_spec(package) is not None
