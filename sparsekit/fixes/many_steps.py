"""Whether a fix still holds after many steps: the losses of a run without a profiler, beside those of the original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.formatting import counted, format_count
from .judge import CHANGES, HOLDS, REFUSED, TOLERANCE

if TYPE_CHECKING:
    from .observe import Run

#: Seconds that the original makes steps for, at most.
SECONDS = 60.0

#: Relative difference of a loss that rounding may grow to in many steps.
MANY_TOLERANCE = 1e-2

#: A loss counts as at least this share of the mean one.
LEAST_LOSS, TINY = 0.1, 1e-30

#: Losses that differ by less are called the same.
SAME = 1e-7

Values = npt.NDArray[Any]  # Any: numbers of any type


class ManySteps(NamedTuple):
    """What many steps gave.

    Attributes
    ----------
    steps : int
        Steps that were made.
    losses : list of tuple of float
        The mean of each tensor that a backward pass began at.
    ending : str
        How the script ended, in words; empty if it was cut short or ended well.
    """

    steps: int
    losses: list[tuple[float, ...]]
    ending: str


def number_of(values: Values) -> float:
    """The number that stands for a tensor: its mean."""
    return float(values.mean()) if values.size else 0.0


def compare_many(original: ManySteps, fixed: ManySteps, few: Run, few_fixed: Run | None) -> tuple[str, str]:
    """A verdict on many steps of a fix, and its reason.

    Parameters
    ----------
    original, fixed : ManySteps
    few : Run
        Steps of the original that were compared before.
    few_fixed : Run or None
        Those with the fix, if they are known.
    """
    if not (_begins(original, few) and (few_fixed is None or _begins(fixed, few_fixed))):
        return HOLDS, "later steps were not compared: the script goes on from what earlier runs of it wrote"
    steps = counted(fixed.steps, "step")
    if original.ending != fixed.ending:
        return REFUSED, f"after {steps}: {fixed.ending or 'it ends well, where the original fails'}"
    largest, number = _largest(_flat(original.losses), _flat(fixed.losses))
    if not largest <= MANY_TOLERANCE:
        return CHANGES, f"loss {format_count(number + 1)} of many steps differs, by a relative {largest:.0e}"
    return HOLDS, f"{steps}: " + (f"losses within {largest:.0e}" if largest > SAME else "the same losses")


def _begins(many: ManySteps, run: Run) -> bool:
    """Whether many steps begin as the few did."""
    few = [tuple(map(number_of, losses)) for losses in run.losses]
    return len(few) <= len(many.losses) and np.allclose(_flat(few), _flat(many.losses[:len(few)]), rtol=TOLERANCE, equal_nan=True)


def _flat(losses: Sequence[tuple[float, ...]]) -> list[float]:
    return [number for step_losses in losses for number in step_losses]


def _largest(original: Sequence[float], fixed: Sequence[float]) -> tuple[float, int]:
    """The largest relative difference of two lists of losses, and the place of the first that is too large."""
    if len(original) != len(fixed):
        return np.inf, min(len(original), len(fixed))
    expected, actual = np.array(original), np.array(fixed)
    least = LEAST_LOSS * float(np.abs(expected[np.isfinite(expected)]).mean()) if np.isfinite(expected).any() else 0.0
    same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
    apart = np.where(same, 0.0, np.abs(expected - actual) / np.maximum(np.abs(expected), max(least, TINY)))
    wrong = np.flatnonzero(~(apart <= MANY_TOLERANCE))
    return (float(apart[wrong[0]]), int(wrong[0])) if wrong.size else (float(apart.max(initial=0.0)), 0)
