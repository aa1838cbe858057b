"""Odd objects in the place of each argument of what is public: whatever they are, the error is one of the library's."""

from __future__ import annotations

from pathlib import Path

import programs
import pytest

from tests.sampling import seed

PROGRAM = Path(__file__).with_name("odd.py").read_text(encoding="utf-8")

#: Parts of the callables that the program finds, and of those that it lists; one of each is run by default, and
#: ``odd.py found 0 1`` takes them all.
PARTS, LISTED = 12, 3


def run(*arguments: str) -> int:
    """The number of calls of the program, which found nothing."""
    done = programs.run(PROGRAM, *arguments, memory=4000 * programs.MIB, timeout=400)
    assert done.check().splitlines() == ["done"], done.stderr[-500:]
    return int(done.stderr.split()[-2])


def one_of(parts: int) -> list[object]:
    """The parts, of which all but one are thorough."""
    return [part if part == seed() % parts else pytest.param(part, marks=pytest.mark.thorough) for part in range(parts)]


@pytest.mark.parametrize("part", one_of(PARTS))
def test_odd_arguments_of_constructors_and_methods(part):
    assert run("found", str(part), str(PARTS)) > 700


@pytest.mark.parametrize("part", one_of(LISTED))
def test_objects_of_many_kinds_for_constructors_and_readers(part):
    assert run("listed", str(part), str(LISTED)) > 200
