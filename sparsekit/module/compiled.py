"""Steps of a module on one executor, which run as one table from the third on."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..base.refusal import Refused
from ..optimizer.compiled import BEFORE_LOWERING, CompiledStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..symbol.executor import Executor
    from .steps import Steps

__all__ = ["Training"]

#: How often updates that do not take their arrays are traced.
MOST = 8


class Training:
    """Forward pass, backward pass and update on the arrays that are bound.

    Attributes
    ----------
    step : CompiledStep or None
    reason : str
        Why the steps run one operator at a time; empty if they do not, or not yet.
    """

    def __init__(self) -> None:
        self.step: CompiledStep | None = None
        self.reason = ""
        self._runs = self._refused = 0

    # Any: arrays
    def run(self, executor: Executor, steps: Steps, names: list[str], weights: list[list[Any]], gradients: list[list[Any]]
            ) -> bool:
        """Make a step as a table; False, and nothing has been done, if it must be made in Python."""
        update = functools.partial(steps.update, names, weights, gradients)
        if self.step is not None:
            if self.step.updater is steps.updater and self.step.holds() and self._made(self.step, executor, update):
                return True
            self.step, self._runs = None, BEFORE_LOWERING  # traced anew at once: a setting or a state has changed
        self._runs += 1
        if self._runs <= BEFORE_LOWERING or (self.reason and not 0 < self._refused < MOST):
            return False
        whole = executor.whole_step()
        if isinstance(whole, str):
            self.reason = whole
            return False
        updater: Any = steps.updater  # Any: an updater, since the caller has asked for it
        numbers = {steps.numbers[name]: name for name, given in zip(names, gradients, strict=True) if given[0] is not None}
        made = CompiledStep(whole, updater, numbers)
        try:
            done = self._made(made, executor, update)
        except Refused as error:  # Python tells of arrays that an update does not take, and they may be replaced
            self.reason, self._refused, self._runs = str(error), self._refused + 1, 0
            return False
        self.reason = whole.refused
        self.step = None if self.reason else made
        return done

    @staticmethod
    def _made(step: CompiledStep, executor: Executor, update: Callable[[], None]) -> bool:
        """Make a step by a program; False, and nothing has been done, if it must be traced anew."""
        whole = step.whole

        def after(computed: bool, lost: bool) -> None:
            if computed:
                for _, variable, write in whole.writers:
                    write(variable)
            if whole.left is not None:
                executor.take(whole.left)

        results = step((), update, after=after)
        if results is None:
            return False
        executor.take(results)
        return True
