"""Random programs that train give the same in every way; ``python tests/steps/check.py`` runs more of them."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from sparsekit import lr_scheduler
from sparsekit.gluon import hybrid, train_step, user_python
from sparsekit.optimizer import optimizer, states, updater
from sparsekit.optimizer.adaptive import _Adaptive
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


@pytest.mark.compiled
def test_an_operator_that_python_runs_may_leave_nothing_that_a_table_reads() -> None:
    """Of two such operators, the table took the arrays of one for those of the other, and read where there were none."""
    layers = ("Scaled()", "Writes('update', parameter=True)", "nn.Dense(width, in_units=width, activation='relu')",
              "Applied('F.broadcast_mul(x, F.expand_dims(F.pick(x, F.argmax(x, axis=1), axis=1), axis=1))')",
              "nn.Dense(2, in_units=width)")
    lines = "train(8, 89)", "rate(0.0)", "train(8, 71, odd='empty', look=False)", "train(8, 22, look=False)", "train(8, 30)"
    options = ("wd", 0.1), ("momentum", 0.9), ("learning_rate", 0.0)
    assert not check.run(Program("TrainStep", "both", 4, layers, "L1Loss", "sgd", options, lines))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "Alarm", "TimeoutError"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("way", ["TrainStep", "hybridize"])
def test_a_compiled_step_may_be_interrupted_at_many_lines(way: str, optimizer: str, kind: str) -> None:
    layers = "nn.Dense(width, in_units=width)", "nn.BatchNorm(in_channels=width)", "nn.Dense(2, in_units=width)"
    for line in range(1, 2500, 3 if kind == "KeyboardInterrupt" else 15):
        lines = (*["train(8, 1)"] * 5, f"interrupt(8, 2, line={line}, kind={kind})", "train(8, 3)")
        assert not check.run(Program(way, "dense", 4, layers, "L2Loss", optimizer, (), lines)), line


def frozen_python(patch: pytest.MonkeyPatch) -> None:
    """A1: no block is known to have Python of a user's."""
    patch.setattr(user_python, "reason_of", lambda block: "")
    patch.setattr(hybrid, "reason_in", lambda blocks: "")
    patch.setattr(train_step, "reason_in", lambda blocks: "")
    patch.setattr(sys.modules["sparsekit.gluon.block"], "reason_of", lambda block: "")
    patch.setattr(sys.modules["sparsekit.gluon.block"], "is_ours", lambda function: True)


def dense_states(patch: pytest.MonkeyPatch) -> None:
    """A3: states are dense, also where updates are lazy."""
    patch.setattr(_Adaptive, "create_state", lambda self, index, weight: tuple(
        self._zeros(weight, None if self._like_weight else "default") for _ in range(self._states)))
    patch.setattr(updater, "_for_lazy", lambda optimizer, state, weight: state)


def unsaved_sums(patch: pytest.MonkeyPatch) -> None:
    """A4: sums of gradients are not saved."""
    of = states.Progress.of
    patch.setattr(states.Progress, "of", lambda optimizer: of(optimizer)._replace(sums={}))


def schedules_that_start_late(patch: pytest.MonkeyPatch) -> None:
    """A5: what is first called after its end gives the rate that it begins with."""
    plain = lr_scheduler._DecayScheduler.after_warmup
    patch.setattr(lr_scheduler._DecayScheduler, "after_warmup",
                  lambda self, number: plain(self, number) if number <= self.max_update else self.base_lr)


def divided_by_zero(patch: pytest.MonkeyPatch) -> None:
    """A5: steps that divide by the rate are made at a rate of 0."""
    patch.setattr(optimizer, "is_zero", lambda rate: False)


def failures_that_count(patch: pytest.MonkeyPatch) -> None:
    """B3: a step that failed counts as one after which steps are compiled."""
    plain = train_step.TrainStep._step

    def step(self: Any, key: Any, *given: Any) -> Any:
        runs = self._runs.get(key, 0)
        self._runs[key] = runs + 1
        return plain(self, key, *given)

    patch.setattr(train_step.TrainStep, "_step", step)


#: Defects that are put back, and what is in a program that may show it.
DEFECTS = {
    frozen_python: ("Reads(",), dense_states: ("row_sparse", "lazy_update=True"),
    unsaved_sums: ("lbsgd", "batch_scale", "resume()"), schedules_that_start_late: ("final_lr", "num_update=100"),
    divided_by_zero: ("'ftrl'",), failures_that_count: ("times=2",)}


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_that_are_put_back_are_found(defect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words, numbers = DEFECTS[defect], without_interrupts(range(MANY))
    numbers = [number for number in numbers if all(word in str(draw(number)) for word in words)]
    defect(monkeypatch)
    assert any(check.run(draw(number)) for number in numbers), "of so many programs, some show it"
