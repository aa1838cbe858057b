"""What other processes are asked in ``test_origin.py``."""

from __future__ import annotations

import os
import random
import sys
from typing import NamedTuple


class Place(NamedTuple):
    """Where and how a process runs."""

    process: int
    parent: int
    folder: str
    mark: str | None
    path: list[str]
    numbers: list[float]


def place(variable: str) -> Place:
    """Where this process runs, and with what value of a variable of the environment."""
    numbers = [random.random() for _ in range(4)]
    return Place(os.getpid(), os.getppid(), os.getcwd(), os.environ.get(variable), list(sys.path), numbers)


def modules() -> list[str]:
    """All modules that are imported here."""
    return list(sys.modules)
