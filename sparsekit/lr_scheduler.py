"""Learning rate schedules: ``mx.lr_scheduler``."""

from __future__ import annotations

import itertools
import math

from .base.entry import doors
from .base.errors import SparsekitError, UnknownNameError, expected
from .base.naming import changed_settings

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


def _positive(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SparsekitError(expected(name, "an integer of at least 1", value), hint="it counts updates.")
    return value


def _shrinking(factor: float) -> float:
    if factor > 1:
        raise SparsekitError(expected("factor", "at most 1", factor), hint="a larger factor would increase the learning rate.")
    return factor


class LRScheduler:
    """Base of all schedules: a callable that returns the learning rate for a number of updates.

    Parameters
    ----------
    base_lr : float
        Learning rate at the end of the warm-up.  Default 0.01.
    warmup_steps : int
        Number of updates in the warm-up.  Default 0.
    warmup_begin_lr : float
        Learning rate at the beginning of the warm-up.  Default 0.
    warmup_mode : {"linear", "constant"}
        Whether the learning rate grows linearly to ``base_lr`` or stays at ``warmup_begin_lr`` during the warm-up.

    Raises
    ------
    SparsekitError
        If ``warmup_steps`` is not an integer of at least 0, or ``warmup_begin_lr`` is above ``base_lr``.
    UnknownNameError
        If ``warmup_mode`` is unknown.
    """

    def __init__(self, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0,
                 warmup_mode: str = "linear") -> None:
        if isinstance(warmup_steps, bool) or not isinstance(warmup_steps, int) or warmup_steps < 0:
            raise SparsekitError(expected("warmup_steps", "an integer of at least 0", warmup_steps), hint="it counts updates.")
        if warmup_begin_lr > base_lr:
            raise SparsekitError(f"warmup_begin_lr must be at most base_lr={base_lr}, got {warmup_begin_lr}.",
                                 hint="pass a smaller warmup_begin_lr.")
        if warmup_mode not in ("linear", "constant"):
            raise UnknownNameError.of("warm-up mode", warmup_mode, ("linear", "constant"))
        self.base_lr, self.warmup_steps, self.warmup_mode = base_lr, warmup_steps, warmup_mode
        self.warmup_begin_lr, self.warmup_final_lr = warmup_begin_lr, base_lr

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(changed_settings(self, {'pwr': 'power'}))})"

    def get_warmup_lr(self, num_update: int) -> float:
        """The learning rate after ``num_update`` updates, within the warm-up."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        progress = num_update / self.warmup_steps
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * progress

    def __call__(self, num_update: int) -> float:
        """The learning rate; ``num_update`` is the largest number of updates of any weight."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        return self.after_warmup(num_update)

    def after_warmup(self, num_update: int) -> float:
        """The learning rate after the warm-up; a subclass overrides this method or ``__call__``."""
        raise SparsekitError(f"{type(self).__name__} does not define __call__().", hint="override __call__(num_update).")


#: Multiplications of a late first call that are made one by one; those before are made with one power.
ROUNDS = 10_000


class FactorScheduler(LRScheduler):
    """Multiply the learning rate by ``factor`` every ``step`` updates, down to ``stop_factor_lr``.

    Parameters
    ----------
    step : int
        Number of updates between changes, at least 1.
    factor : float
        At most 1.
    stop_factor_lr : float
        Lower bound of the learning rate.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode : as in ``LRScheduler``
    """

    def __init__(self, step: int, factor: float = 1, stop_factor_lr: float = 1e-8, base_lr: float = 0.01,
                 warmup_steps: int = 0, warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.step, self.factor, self.stop_factor_lr = _positive("step", step), _shrinking(factor), stop_factor_lr
        self.count = 0

    def after_warmup(self, num_update: int) -> float:
        """The learning rate; a call for a later update changes the results for earlier ones, as in MXNet."""
        if num_update > self.count + self.step:
            rounds = -(-(num_update - self.count) // self.step) - 1
            self.count += rounds * self.step
            if rounds > ROUNDS:
                self.base_lr, rounds = max(self.base_lr * self.factor ** float(rounds - ROUNDS), self.stop_factor_lr), ROUNDS
            for _ in range(int(rounds)):  # one by one, for the same rounding as MXNet
                self.base_lr = max(self.base_lr * self.factor, self.stop_factor_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiply the learning rate by ``factor`` after each of the updates listed in ``step``.

    Parameters
    ----------
    step : list of int
        Numbers of updates, strictly increasing, at least 1.
    factor : float
        At most 1.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode : as in ``LRScheduler``
    """

    def __init__(self, step: list[int], factor: float = 1, base_lr: float = 0.01, warmup_steps: int = 0,
                 warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, list) or not step or any(later <= earlier for earlier, later in itertools.pairwise(step)):
            raise SparsekitError(expected("step", "a list of ascending integers of at least 1", step), hint="step=[1000, 2000]")
        self.step, self.factor = [_positive("step", number) for number in step], _shrinking(factor)
        self.cur_step_ind = self.count = 0

    def after_warmup(self, num_update: int) -> float:
        """The learning rate; a call for a later update changes the results for earlier ones, as in MXNet."""
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
        return self.base_lr


class _Decay(LRScheduler):
    """Base of schedules from ``base_lr`` at the end of the warm-up to ``final_lr`` at ``max_update`` and after it."""

    def __init__(self, max_update: int, base_lr: float, final_lr: float, warmup_steps: int, warmup_begin_lr: float,
                 warmup_mode: str) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.max_update, self.base_lr_orig, self.final_lr = _positive("max_update", max_update), base_lr, final_lr
        self.max_steps = max_update - warmup_steps
        if self.max_steps < 1:
            raise SparsekitError(f"max_update must be above warmup_steps={warmup_steps}, got {max_update}.",
                                 hint="max_update includes the updates of the warm-up.")

    def after_warmup(self, num_update: int) -> float:
        """The learning rate; it is constant after ``max_update``."""
        if num_update <= self.max_update:
            share = self.remaining((num_update - self.warmup_steps) / self.max_steps)
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * share
        return self.base_lr

    def remaining(self, done: float) -> float:
        """The remaining fraction of ``base_lr - final_lr`` after the fraction ``done`` of the updates."""
        return 1 - done


class PolyScheduler(_Decay):
    """Polynomial decay: ``final_lr + (base_lr - final_lr) * (1 - done) ** pwr``, where ``done`` is the fraction of updates.

    Parameters
    ----------
    max_update : int
        Last update of the decay, counted from the beginning of the warm-up.
    base_lr : float
    pwr : float, default 2
    final_lr : float
        Learning rate at ``max_update`` and after it.
    warmup_steps, warmup_begin_lr, warmup_mode : as in ``LRScheduler``
    """

    def __init__(self, max_update: int, base_lr: float = 0.01, pwr: float = 2, final_lr: float = 0, warmup_steps: int = 0,
                 warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def remaining(self, done: float) -> float:
        """``(1 - done) ** pwr``."""
        return float((1 - done) ** self.power)


class CosineScheduler(_Decay):
    """Cosine decay: ``final_lr + (base_lr - final_lr) * (1 + cos(pi * done)) / 2``, where ``done`` is the fraction of updates.

    Parameters
    ----------
    max_update : int
        Last update of the decay, counted from the beginning of the warm-up.
    base_lr : float
    final_lr : float
        Learning rate at ``max_update`` and after it.
    warmup_steps, warmup_begin_lr, warmup_mode : as in ``LRScheduler``
    """

    def __init__(self, max_update: int, base_lr: float = 0.01, final_lr: float = 0, warmup_steps: int = 0,
                 warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def remaining(self, done: float) -> float:
        """``(1 + cos(pi * done)) / 2``."""
        return (1 + math.cos(math.pi * done)) / 2


doors(CosineScheduler, FactorScheduler, LRScheduler, MultiFactorScheduler, PolyScheduler)
