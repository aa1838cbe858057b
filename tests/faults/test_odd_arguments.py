"""Odd objects in the place of each argument of public classes: whatever they are, the error is one of the library's."""

from __future__ import annotations

from pathlib import Path

import programs
import pytest

from tests.sampling import seed

PROGRAM = Path(__file__).with_name("odd.py").read_text(encoding="utf-8")

#: Parts of the callables; one is run by default, and ``odd.py 0 1`` takes them all.
PARTS = 12


@pytest.mark.parametrize("part", [
    part if part == seed() % PARTS else pytest.param(part, marks=pytest.mark.thorough) for part in range(PARTS)])
def test_odd_arguments_of_constructors_and_methods(part):
    done = programs.run(PROGRAM, str(part), str(PARTS), memory=4000 * programs.MIB, timeout=400)
    assert done.check().splitlines() == ["done"], done.stderr[-500:]
    assert int(done.stderr.split()[-2]) > 700  # calls
