"""Small mistakes planted into the text of the kernels: the machine, or the comparison with the CPU, notices every one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import simt
from grid_arguments import Grid
from test_grids import SCHEDULES, TOLERANCE, assert_reduced, assert_same, run, wanted

from sparsekit.kernels.gpu import launch

pytestmark = pytest.mark.thorough


class Mutant(NamedTuple):
    """A mistake, as ``mutants.toml`` has it."""

    mistake: str
    kernel: str
    text: str
    instead: str
    noticed: str
    width: int = 33
    rows: int | None = None
    value: str = "float32"


FILE = Path(__file__).with_name("mutants.toml")
MUTANTS = [Mutant(**row) for row in tomllib.loads(FILE.read_text(encoding="utf-8"))["mutants"]]


@pytest.fixture
def mutated(stand_in, machine, monkeypatch):
    """Puts a library of changed text in the place of the kernels'."""

    def put(mutant):
        text = launch.library()
        assert text.count(mutant.text) == 1, f"the text to be changed stands there {text.count(mutant.text)} times"
        library = simt.Library(machine, text.replace(mutant.text, mutant.instead))
        monkeypatch.setattr(launch, "_compiled", library.compiled)
        return library

    return put


def assert_right(library, kernel, width, value, rows=None):
    """The kernel does what its CPU twin does, with the same bits under all schedules."""
    if kernel.endswith(".reduceat"):
        assert_reduced(library, kernel.removesuffix(".reduceat"), value)
        return
    made = [run(library, schedule, kernel, Grid(value, np.int64, rows, width=width)) for schedule in SCHEDULES]
    for found in made:
        assert_same(found, wanted(kernel, width, False, rows), TOLERANCE[value])
    same = all([part.tobytes() for part in other] == [part.tobytes() for part in made[0]] for other in made[1:])
    assert same, "the bits differ from schedule to schedule"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.mistake.replace(" ", "-"))
def test_a_mistake_is_noticed(mutated, mutant):
    library = mutated(mutant)
    with pytest.raises(AssertionError, match=mutant.noticed):
        assert_right(library, mutant.kernel, mutant.width, mutant.value, mutant.rows)


def test_nothing_is_noticed_where_nothing_is_wrong(mutated):
    """What raises in the tests above is the mistake."""
    library = mutated(Mutant("a word", "gelu", "// The lanes of the team", "// The lanes of this team", ""))
    for kernel in sorted({mutant.kernel for mutant in MUTANTS}):
        assert_right(library, kernel, 33, "float32")
