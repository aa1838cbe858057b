"""Random programs that train give the same in every way; ``python tests/steps/check.py`` runs more of them."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from sparsekit.optimizer import optimizer
from tests.sampling import seed

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for the modules beside this one, which are not tests

import check  # noqa: E402
from step_programs import Program, draw  # noqa: E402

#: Programs that are run: always the same by default, and others with each ``--all``.
SOME, MANY = 100, 2600


def without_interrupts(numbers: range) -> list[int]:
    return [number for number in numbers if "interrupt(" not in str(draw(number))]


@pytest.mark.parametrize("first", range(0, SOME, 50))
def test_some_programs_give_the_same_in_every_way(first: int) -> None:
    found = [check.check(number) for number in without_interrupts(range(first, first + 50))]
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("first", range(SOME, MANY, 250))
def test_many_programs_give_the_same_in_every_way(first: int) -> None:
    first += seed() * MANY
    found = [check.check(number) for number in without_interrupts(range(first, first + 250))]
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.compiled
@pytest.mark.parametrize("way", ["TrainStep", "hybridize"])
def test_an_interrupted_step_is_made_or_not_made(way: str) -> None:
    layers = "nn.Dense(width, in_units=width)", "nn.BatchNorm(in_channels=width)", "nn.Dense(2, in_units=width)"
    program = Program(way, "dense", 4, layers, "L2Loss", "adam", (), (*["train(8, 1)"] * 4, "interrupt(8, 2, line=1)"))
    lines = [(*program.lines[:-1], f"interrupt(8, 2, line={line})", "train(8, 3)") for line in range(20, 701, 45)]
    found = [check.run(dataclasses.replace(program, lines=one)) for one in lines]
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.thorough
@pytest.mark.compiled
def test_a_defect_that_is_put_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer, "is_zero", lambda rate: False)  # steps that divide by the rate are made at a rate of 0
    numbers = [number for number in without_interrupts(range(MANY)) if "'ftrl'" in str(draw(number))]
    assert any(check.run(draw(number)) for number in numbers)
