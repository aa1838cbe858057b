"""Functions of ``mx.sym.contrib`` that are not operators of the registry."""

from __future__ import annotations

import math
from typing import Any

from .control import cond, foreach, while_loop
from .functions import F
from .random import uniform
from .symbol import Symbol

__all__ = ["cond", "foreach", "rand_zipfian", "while_loop"]


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Draw classes by a log-uniform distribution, and say how often each class is expected to be drawn.

    Class c has the probability (log(c + 2) - log(c + 1)) / log(range_max + 1).

    Parameters
    ----------
    true_classes : Symbol
        Vector of classes.
    num_sampled : int
        How many to draw, with repetitions.
    range_max : int
        Number of classes.

    Returns
    -------
    samples : Symbol
        int64, (num_sampled,).
    expected_count_true, expected_count_sample : Symbol
        float64, of the true classes and of the samples.
    """
    width = math.log(range_max + 1)
    drawn: Any = uniform(0, width, shape=(num_sampled,), dtype="float64")
    samples = F.Cast(F.exp(drawn) - 1, dtype="int64") % range_max

    def expected(classes: Symbol) -> Any:
        exact = F.Cast(classes, dtype="float64")
        return F.log((exact + 2) / (exact + 1)) / width * num_sampled

    return samples, expected(true_classes), expected(samples)
