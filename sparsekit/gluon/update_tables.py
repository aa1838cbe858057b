"""The updates of a trainer's step as tables of compiled calls."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.forking import load
from ..base.refusal import Refused
from ..core import hooks
from ..core.trace import Tracer
from ..optimizer.compiled import BEFORE_LOWERING, CompiledStep, reason_against
from ..optimizer.updater import UpdateLane

if TYPE_CHECKING:
    from ..optimizer.updater import Updater
    from .parameter import Parameter
    from .trainer import Trainer

__all__ = ["FACTORS", "Pending", "UpdateTables"]

#: A parameter to update with its number, and for each context the variable and its values.  Any: these two
Pending: TypeAlias = "tuple[int, Parameter, list[tuple[Any, Any]]]"

#: What a parameter multiplies the learning rate and the weight decay by.
FACTORS = operator.attrgetter("lr_mult", "wd_mult")

#: Sets of parameters that are kept; a trainer that updates others at each step runs in Python.
REMEMBERED = 4

#: How often the updates of a set are lowered, since a weight, a gradient's buffer or a state has been replaced.
MOST = 8


class _Updates:
    """The updates of some parameters.

    Attributes
    ----------
    runs, lowered : int
        How often they were made in Python, and traced.
    step : CompiledStep or None
    """

    def __init__(self) -> None:
        self.runs = self.lowered = 0
        self.step: CompiledStep | None = None
        # Any: variables, values and gradients, which must be the same at every step
        self._known: list[Any] = []

    def make(self, trainer: Trainer, pending: Sequence[Pending]) -> bool:
        """Make the updates by a table; False, and nothing has been done, if Python must."""
        step, known = self.step, _objects(pending)
        if step is not None:
            if (step.updater is trainer._updaters[0] and step.holds() and all(map(operator.is_, known, self._known))
                    and self._made(step, pending)):
                return True
            self.step, self.runs = None, BEFORE_LOWERING  # traced anew at once
        self.runs += 1
        if self.runs <= BEFORE_LOWERING or self.lowered >= MOST:
            return False
        whole = load("sparsekit.core.step_program").StepProgram(Tracer(trainer._contexts[0], False))
        step = CompiledStep(whole, trainer._updaters[0], {index: parameter.name for index, parameter, _ in pending})
        try:
            self._made(step, pending)
        except Refused:  # an update does not take its arrays, of which Python tells
            self.lowered += 1
            self.runs = 0
            return False
        if whole.refused:
            self.lowered = MOST
        elif whole.updates:  # not if all rates are 0
            self.lowered += 1
            self.step, self._known = step, _objects(pending)
        return True

    def _made(self, step: CompiledStep, pending: Sequence[Pending]) -> bool:
        def after(computed: bool, lost: bool) -> None:
            done = step.keys[:step.whole.updated]
            for index, _, pairs in pending if step.whole.updating else ():
                if len(done) == len(step.keys) or index in done:
                    pairs[0][0].fresh = False

        return step((), functools.partial(_update, step.updater, pending), _factors(pending), after=after) is not None


def _objects(pending: Sequence[Pending]) -> list[Any]:  # Any: as in ``_Updates``
    return [one for _, _, pairs in pending for one in (*pairs[0], pairs[0][0].grad)]


def _update(updater: Updater, pending: Sequence[Pending]) -> None:
    for index, _, pairs in pending:
        variable, values = pairs[0]
        updater(index, variable.grad, values)


def _factors(pending: Sequence[Pending]) -> list[tuple[float, float]]:
    return [FACTORS(parameter) for _, parameter, _ in pending]


class UpdateTables:
    """Tables for the updates of a trainer, by the parameters that are updated."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], _Updates] = {}

    def __reduce__(self) -> tuple[type[UpdateTables], tuple[()]]:
        return UpdateTables, ()  # the tables of a copy are made anew

    def run(self, trainer: Trainer, pending: Sequence[Pending]) -> bool:
        """Make the updates; False, and nothing has been done, if they must be made one by one."""
        indices = tuple([index for index, _, _ in pending])
        if not indices or reason_against(trainer.optimizer, True, trainer._contexts[0].device_type):
            return False
        found = self._known.get(indices)
        if found is None:
            if len(self._known) >= REMEMBERED:
                return False
            found = self._known[indices] = _Updates()
        if hooks.sink is None:
            return found.make(trainer, pending)
        with UpdateLane():
            return found.make(trainer, pending)
