"""Steps of a module on one executor, which run as one table from the third on."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..base.refusal import Refused
from ..core import hooks
from ..optimizer.compiled import BEFORE_LOWERING, CompiledStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.graph import Variable
    from ..symbol.executor import Executor
    from .steps import Steps

__all__ = ["Training"]


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
        self._runs = 0
        self._writers: list[tuple[Variable, Callable[[Variable], None]]] = []

    # Any: arrays
    def run(self, executor: Executor, steps: Steps, names: list[str], weights: list[list[Any]], gradients: list[list[Any]]
            ) -> bool:
        """Make a step as a table; False, and nothing has been done, if it must be made in Python."""
        if self.step is not None:
            results = None
            if self.step.updater is steps.updater and self.step.holds():
                results = self.step((), functools.partial(steps.update, names, weights, gradients))
            if results is not None:
                for variable, write in self._writers:
                    write(variable)
                executor.take(results)
                return True
            self.step, self._runs = None, BEFORE_LOWERING  # lowered anew at once: a setting or a state has changed
        self._runs += 1
        if self._runs <= BEFORE_LOWERING or self.reason:
            return False
        whole = executor.whole_step()
        if isinstance(whole, str):
            self.reason = whole
            return False
        updater: Any = steps.updater  # Any: an updater, since the caller has asked for it
        update = functools.partial(steps.update, names, weights, gradients)
        numbers = {steps.numbers[name]: name for name, given in zip(names, gradients, strict=True) if given[0] is not None}
        made = CompiledStep(whole, updater, numbers)
        before, hooks.state.training = hooks.state.training, True
        try:
            executor.take(whole.rehearse(whole.held))
        finally:
            hooks.state.training = before
        collected = steps.optimizer._collect(update, execute=True)
        try:
            made.lower(collected)
        except Refused as error:
            self.reason = str(error)
        else:
            self.step, self._writers = made, [(variable, write) for _, variable, write in whole.writers if write is not None]
        return True
