"""The updates of a trainer's step as tables of compiled calls."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.changes import changes
from ..base.forking import load
from ..core import hooks
from ..core.trace import Tracer
from ..optimizer.compiled import CompiledStep, RepeatedStep, reason_now, reason_of
from ..optimizer.updater import UpdateLane

if TYPE_CHECKING:
    from ..optimizer.updater import Updater
    from .parameter import Parameter
    from .trainer import Trainer

#: A parameter to update with its number, and for each context the variable and its values.  Any: these two
Pending: TypeAlias = "tuple[int, Parameter, list[tuple[Any, Any]]]"

#: What a parameter multiplies the learning rate and the weight decay by.
FACTORS = operator.attrgetter("lr_mult", "wd_mult")

_index_of = operator.itemgetter(0)

#: Sets of parameters that are kept; a trainer that updates others at each step runs in Python.
REMEMBERED = 4


class _Updates(RepeatedStep["Trainer", "Sequence[Pending]"]):
    """The updates of some parameters; they are traced a few times, as weights, buffers of gradients or states are replaced."""

    def __init__(self) -> None:
        super().__init__()
        # Any: variables, values and gradients, which must be the same at every step
        self._known: list[Any] = []

    def _program(self, updater: Updater, trainer: Trainer, pending: Sequence[Pending]) -> CompiledStep:
        step_program = load("sparsekit.core.step_program").StepProgram(Tracer(trainer._contexts[0], False))
        return CompiledStep(step_program, updater, {index: parameter.name for index, parameter, _ in pending})

    def _made(self, step: CompiledStep, trainer: Trainer, pending: Sequence[Pending]) -> bool:
        new, factors = step is not self.step, []
        objects: list[Any] = []  # Any: as above
        for _, parameter, pairs in pending:
            variable, values = pairs[0]
            objects += variable, values, variable.grad
            factors.append(FACTORS(parameter))
        if not new and not all(map(operator.is_, objects, self._known)):
            return False

        def after(computed: bool, lost: bool) -> None:
            done = step.keys[:step.step_program.updated]
            for index, _, pairs in pending if step.step_program.updating else ():
                if len(done) == len(step.keys) or index in done:
                    pairs[0][0].fresh = False

        made = step((), functools.partial(_update, step.updater, pending), factors, after) is not None
        if new and step.step_program.updates:
            self._known, self.tries = objects, self.tries + 1
        return made


def _update(updater: Updater, pending: Sequence[Pending]) -> None:
    for index, _, pairs in pending:
        variable, values = pairs[0]
        updater(index, variable.grad, values)


class CompiledUpdates:
    """Tables for the updates of a trainer, by the parameters that are updated."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], _Updates] = {}

    def __reduce__(self) -> tuple[type[CompiledUpdates], tuple[()]]:
        return CompiledUpdates, ()  # the tables of a copy are made anew

    def run(self, trainer: Trainer, pending: Sequence[Pending]) -> bool:
        """Make the updates; False, and nothing has been done, if they must be made one by one."""
        indices = tuple(map(_index_of, pending))
        if not indices or reason_now(trainer._contexts[0].device_type):
            return False
        updates = self._known.get(indices)
        step = None if updates is None else updates.step
        if (step is None or step.latest is not changes.settings) and reason_of(trainer._optimizer, True):
            return False
        if updates is None:
            if len(self._known) >= REMEMBERED:
                return False
            updates = self._known[indices] = _Updates()
        if hooks.sink is None:
            return updates.repeat(trainer._updaters[0], trainer, pending)
        with UpdateLane():
            return updates.repeat(trainer._updaters[0], trainer, pending)
