"""Random arrays: ``mx.random``, the functions of ``mx.nd.random`` and the seed of the shared generator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import rng as _rng
from .base.lazy import add_lazy_names
from .base.rng import generator
from .ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)

if TYPE_CHECKING:
    from .base.context import Context


__all__ = ["exponential", "gamma", "generalized_negative_binomial", "generator", "multinomial", "negative_binomial", "normal",
           "poisson", "randint", "randn", "seed", "shuffle", "uniform"]

add_lazy_names(globals())


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Seed the shared generator, which functions use without ``rng``; ``ctx`` is ignored, as all contexts share it."""
    _rng.seed(seed_state)
