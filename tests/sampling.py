"""Samples of sweeps that are too long to run whole: always the same by default, others with each ``pytest --all``."""

from __future__ import annotations

import os
import secrets
import zlib
from collections.abc import Iterable
from typing import Any

import pytest

#: The variable of the environment that has the seed, so that the processes of ``-n`` choose alike.
VARIABLE = "SPARSEKIT_TESTS_SEED"


def choose(another: bool) -> None:
    """Settle the seed of this session, unless it is given: 0, or another one."""
    os.environ.setdefault(VARIABLE, str(secrets.randbelow(10**6)) if another else "0")


def seed() -> int:
    """The seed of this session."""
    return int(os.environ.get(VARIABLE, "0"))


def chosen(name: str, one_in: int) -> bool:
    """Whether a case is in the sample, as one in so many is.

    It depends on the case's name and the seed alone, so a new case changes nothing for the others.
    """
    return zlib.crc32(f"{seed()} {name}".encode()) % one_in == 0


def some(cases: Iterable[Any], one_in: int, always: Iterable[Any] = ()) -> list[Any]:
    """The cases for ``parametrize``, of which all but a sample, and those that are always run, are left to ``--all``.

    A case is a value, a tuple of values or a ``pytest.param``; its name, which ``always`` may have, is its id or first value.
    """
    found = []
    for case in cases:
        values, marks = getattr(case, "values", case), getattr(case, "marks", ())
        values = values if isinstance(values, tuple) else (values,)
        name = getattr(case, "id", None) or str(values[0])
        runs = name in always or chosen(name, one_in)
        found.append(pytest.param(*values, marks=marks if runs else (*marks, pytest.mark.thorough), id=getattr(case, "id", None)))
    return found
