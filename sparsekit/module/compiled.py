"""Steps of a module on one executor, which run as one table from the third on."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..optimizer.compiled import CompiledStep, RepeatedStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..symbol.executor import Executor
    from .steps import Steps

__all__ = ["Training"]

class Training(RepeatedStep):
    """Forward pass, backward pass and update on the arrays that are bound."""

    # Any: arrays
    def run(self, executor: Executor, steps: Steps, names: list[str], weights: list[list[Any]], gradients: list[list[Any]]
            ) -> bool:
        """Make a step as a table; False, and nothing has been done, if it must be made in Python."""
        update = functools.partial(steps.update, names, weights, gradients)
        updater: Any = steps.updater  # Any: an updater, since the caller has asked for it

        def program() -> CompiledStep | str:
            whole = executor.whole_step()
            if isinstance(whole, str):
                return whole
            return CompiledStep(whole, updater, {steps.numbers[name]: name for name, given in zip(names, gradients, strict=True)
                                                 if given[0] is not None})

        return self.repeat(updater, program, lambda step: self._made(step, executor, update))

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
