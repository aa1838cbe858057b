"""Learning-rate schedules over the number of updates: ``mx.lr_scheduler``."""

from __future__ import annotations

import bisect
import functools
import itertools
import math

from .base.checks import whole
from .base.entry import entry_classes
from .base.errors import ParameterError, UnknownNameError, UnsupportedError, expected
from .base.naming import changed_settings

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


#: A number of updates.
_updates = functools.partial(whole, hint="it counts updates.")


def _decay_factor(factor: float) -> float:
    if factor > 1:
        raise ParameterError(expected("factor", "at most 1", factor), hint="a larger factor would increase the learning rate.")
    return factor


class LRScheduler:
    """Base class of the schedules: called with the number of updates, a schedule returns the learning rate.

    The rate depends on the number of updates alone.  A schedule may be called with any number first, and in any order.

    Parameters
    ----------
    base_lr : float
        Learning rate at the end of the warm-up.
    warmup_steps : int
        Number of updates of the warm-up.
    warmup_begin_lr : float
        Learning rate at the start of the warm-up, at most ``base_lr``.
    warmup_mode : {"linear", "constant"}
        Whether the learning rate grows linearly to ``base_lr`` or stays at ``warmup_begin_lr`` during the warm-up.
    """

    def __init__(self, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0,
                 warmup_mode: str = "linear") -> None:
        _updates("warmup_steps", warmup_steps)
        if warmup_begin_lr > base_lr:
            raise ParameterError(f"warmup_begin_lr must be at most base_lr={base_lr}, got {warmup_begin_lr}.",
                                 hint="a warm-up does not lower the learning rate.")
        if warmup_mode not in ("linear", "constant"):
            raise UnknownNameError.of("warm-up mode", warmup_mode, ("linear", "constant"))
        self.base_lr, self.warmup_steps, self.warmup_mode = base_lr, warmup_steps, warmup_mode
        self.warmup_begin_lr, self.warmup_final_lr = warmup_begin_lr, base_lr

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(changed_settings(self, {'pwr': 'power'}))})"

    def get_warmup_lr(self, num_update: int) -> float:
        """Return the learning rate of an update within the warm-up."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        share = num_update / self.warmup_steps
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * share

    def __call__(self, num_update: int) -> float:
        """Return the learning rate once the most often updated weight has had ``num_update`` updates."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        return self.after_warmup(num_update)

    def after_warmup(self, num_update: int) -> float:
        """Return the learning rate of an update after the warm-up; schedules override this or ``__call__``."""
        raise UnsupportedError(f"{type(self).__name__} does not define __call__().", hint="override __call__(num_update).")


#: Decays that are multiplied one by one, for the same rounding as MXNet; whole blocks of so many are a power.
BLOCK = 10_000


class _StepScheduler(LRScheduler):
    """Multiply ``base_lr`` by ``factor`` after some updates.

    As in MXNet, ``base_lr`` is the rate of the last call, and a program that changes it sets the rate from there on.
    """

    factor: float
    stop_factor_lr = -math.inf

    def _decays(self, num_update: int) -> int:
        """How often the rate has been multiplied by ``factor`` before an update."""
        return 0

    def after_warmup(self, num_update: int) -> float:
        """Return the learning rate."""
        reached: tuple[float, int, float, int] = vars(self).get("_reached", (self.base_lr, 0, self.base_lr, 0))
        first, before, rate, done = reached
        if self.base_lr != rate:  # it has been changed
            first, before, rate, done = self.base_lr, before + done, self.base_lr, 0
        decays = max(self._decays(num_update) - before, 0)
        if decays < done or decays // BLOCK != done // BLOCK:
            rate, done = first, decays - decays % BLOCK
            if done:
                rate = max(rate * max(self.factor, 0) ** done, self.stop_factor_lr)
        for _ in range(decays - done):
            rate = max(rate * self.factor, self.stop_factor_lr)
        self.base_lr, self._reached = rate, (first, before, rate, decays)
        return rate


class FactorScheduler(_StepScheduler):
    """Multiply the learning rate by ``factor`` every ``step`` updates, down to ``stop_factor_lr``.

    Parameters
    ----------
    step : int
        At least 1.
    factor : float
        At most 1.
    stop_factor_lr : float
        Lower bound of the learning rate.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode : as in ``LRScheduler``
    """

    def __init__(self, step: int, factor: float = 1, stop_factor_lr: float = 1e-8, base_lr: float = 0.01,
                 warmup_steps: int = 0, warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.step, self.factor, self.stop_factor_lr = _updates("step", step, 1), _decay_factor(factor), stop_factor_lr

    def _decays(self, num_update: int) -> int:
        return int(-(-num_update // self.step)) - 1


class MultiFactorScheduler(_StepScheduler):
    """Multiply the learning rate by ``factor`` after each of the updates listed in ``step``.

    Parameters
    ----------
    step : list of int
        Ascending numbers of updates, at least 1.
    factor : float
        At most 1.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode : as in ``LRScheduler``
    """

    def __init__(self, step: list[int], factor: float = 1, base_lr: float = 0.01, warmup_steps: int = 0,
                 warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, list) or not step or any(later <= earlier for earlier, later in itertools.pairwise(step)):
            raise ParameterError(expected("step", "a list of ascending integers of at least 1", step), hint="step=[1000, 2000]")
        self.step, self.factor = [_updates("step", number, 1) for number in step], _decay_factor(factor)

    def _decays(self, num_update: int) -> int:
        return bisect.bisect_left(self.step, num_update)


class _DecayScheduler(LRScheduler):
    """Decay from ``base_lr`` at the end of the warm-up to ``final_lr`` at update ``max_update``, and stay there.

    As in MXNet, the ``base_lr`` that it was made with counts, and the attribute ``base_lr`` is the rate of the last call.
    """

    def __init__(self, max_update: int, base_lr: float = 0.01, final_lr: float = 0, warmup_steps: int = 0,
                 warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.max_update, self.base_lr_orig, self.final_lr = _updates("max_update", max_update, 1), base_lr, final_lr
        self.max_steps = max_update - warmup_steps
        if self.max_steps < 1:
            raise ParameterError(f"max_update must be above warmup_steps={warmup_steps}, got {max_update}.",
                                 hint="max_update includes the updates of the warm-up.")

    def after_warmup(self, num_update: int) -> float:
        """Return the learning rate, which is ``final_lr`` after ``max_update``."""
        share = self.left((min(num_update, self.max_update) - self.warmup_steps) / self.max_steps)
        self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * share
        return self.base_lr

    def left(self, done: float) -> float:
        """Return the share of the decay that is left after the share ``done`` of the updates."""
        return 1 - done


class PolyScheduler(_DecayScheduler):
    """Decay polynomially: ``final_lr + (base_lr - final_lr) * (1 - done) ** pwr``.

    ``done`` is the share of the updates between the warm-up and ``max_update``.

    Parameters
    ----------
    max_update : int
        Number of updates at the end of the decay, including those of the warm-up.
    base_lr : float
    pwr : float
    final_lr : float
        Learning rate at ``max_update`` and after it.
    warmup_steps, warmup_begin_lr, warmup_mode : as in ``LRScheduler``
    """

    def __init__(self, max_update: int, base_lr: float = 0.01, pwr: float = 2, final_lr: float = 0, warmup_steps: int = 0,
                 warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def left(self, done: float) -> float:
        """``(1 - done) ** pwr``."""
        return float((1 - done) ** self.power)


class CosineScheduler(_DecayScheduler):
    """Decay along half a cosine: ``final_lr + (base_lr - final_lr) * (1 + cos(pi * done)) / 2``.

    ``done`` is the share of the updates between the warm-up and ``max_update``.

    Parameters
    ----------
    max_update : int
        Number of updates at the end of the decay, including those of the warm-up.
    base_lr : float
    final_lr : float
        Learning rate at ``max_update`` and after it.
    warmup_steps, warmup_begin_lr, warmup_mode : as in ``LRScheduler``
    """

    def left(self, done: float) -> float:
        """``(1 + cos(pi * done)) / 2``."""
        return (1 + math.cos(math.pi * done)) / 2


entry_classes(CosineScheduler, FactorScheduler, LRScheduler, MultiFactorScheduler, PolyScheduler)
