"""The updates of a trainer's step as tables of compiled calls."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.forking import load
from ..core import hooks
from ..core.trace import Tracer
from ..optimizer.compiled import CompiledStep, RepeatedStep, reason_against
from ..optimizer.updater import UpdateLane

if TYPE_CHECKING:
    from ..optimizer.updater import Updater
    from .parameter import Parameter
    from .trainer import Trainer

#: A parameter to update with its number, and for each context the variable and its values.  Any: these two
Pending: TypeAlias = "tuple[int, Parameter, list[tuple[Any, Any]]]"

#: What a parameter multiplies the learning rate and the weight decay by.
FACTORS = operator.attrgetter("lr_mult", "wd_mult")

#: Sets of parameters that are kept; a trainer that updates others at each step runs in Python.
REMEMBERED = 4


class _Updates(RepeatedStep["Trainer", "Sequence[Pending]"]):
    """The updates of some parameters; they are traced a few times, as weights, buffers of gradients or states are replaced."""

    def __init__(self) -> None:
        super().__init__()
        # Any: variables, values and gradients, which must be the same at every step
        self._known: list[Any] = []

    def make(self, trainer: Trainer, pending: Sequence[Pending]) -> bool:
        """Make the updates by a table; False, and nothing has been done, if Python must."""
        before = self.step
        done = self.repeat(trainer._updaters[0], trainer, pending)
        if self.step is not before and self.step is not None:
            self._known = _objects(pending)
            self.tries += 1
        return done

    def _program(self, updater: Updater, trainer: Trainer, pending: Sequence[Pending]) -> CompiledStep:
        step_program = load("sparsekit.core.step_program").StepProgram(Tracer(trainer._contexts[0], False))
        return CompiledStep(step_program, updater, {index: parameter.name for index, parameter, _ in pending})

    def _made(self, step: CompiledStep, trainer: Trainer, pending: Sequence[Pending]) -> bool:
        if step is self.step and not all(map(operator.is_, _objects(pending), self._known)):
            return False

        def after(computed: bool, lost: bool) -> None:
            done = step.keys[:step.step_program.updated]
            for index, _, pairs in pending if step.step_program.updating else ():
                if len(done) == len(step.keys) or index in done:
                    pairs[0][0].fresh = False

        return step((), functools.partial(_update, step.updater, pending), _factors(pending), after=after) is not None


def _objects(pending: Sequence[Pending]) -> list[Any]:  # Any: as in ``_Updates``
    return [item for _, _, pairs in pending for item in (*pairs[0], pairs[0][0].grad)]


def _update(updater: Updater, pending: Sequence[Pending]) -> None:
    for index, _, pairs in pending:
        variable, values = pairs[0]
        updater(index, variable.grad, values)


def _factors(pending: Sequence[Pending]) -> list[tuple[float, float]]:
    return [FACTORS(parameter) for _, parameter, _ in pending]


class CompiledUpdates:
    """Tables for the updates of a trainer, by the parameters that are updated."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], _Updates] = {}

    def __reduce__(self) -> tuple[type[CompiledUpdates], tuple[()]]:
        return CompiledUpdates, ()  # the tables of a copy are made anew

    def run(self, trainer: Trainer, pending: Sequence[Pending]) -> bool:
        """Make the updates; False, and nothing has been done, if they must be made one by one."""
        indices = tuple([index for index, _, _ in pending])
        if not indices or reason_against(trainer.optimizer, True, trainer._contexts[0].device_type):
            return False
        updates = self._known.get(indices)
        if updates is None:
            if len(self._known) >= REMEMBERED:
                return False
            updates = self._known[indices] = _Updates()
        if hooks.sink is None:
            return updates.make(trainer, pending)
        with UpdateLane():
            return updates.make(trainer, pending)
