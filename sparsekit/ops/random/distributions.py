"""The distributions of random operators: parameters, their conditions, and how to draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import TypeAlias

    from ...base.types import Array, Shape

    #: A parameter of a distribution: one for all values, or one for each.
    Parameter: TypeAlias = float | Array


class Distribution(NamedTuple):
    """A distribution: its parameters with their defaults and conditions, and how to draw.

    ``fits(*parameters)`` is true where they are valid, ``draw(rng, size, *parameters)`` gives float64 or float32;
    ``arrays`` names the parameters where they are arrays, which MXNet does differently for two of them.
    """

    parameters: dict[str, float]
    needs: str
    fits: Callable[..., bool | Array]
    draw: Callable[..., Array]
    doc: str
    arrays: tuple[str, ...] = ()


def uniform(rng: np.random.Generator, size: Shape, low: Parameter, high: Parameter) -> Array:
    """Values drawn evenly from low to high."""
    values: Array = rng.random(size, _fast(low, high))
    values *= high - low
    values += low
    return values


def at_most_below(values: Array, low: Parameter, high: Parameter) -> Array:
    """Even values after rounding to their type, which may have reached the upper bound."""
    top = np.asarray(high).astype(values.dtype)
    bounded: Array = np.minimum(values, np.maximum(np.nextafter(top, values.dtype.type(-np.inf)),
                                                   np.asarray(low).astype(values.dtype)))
    return bounded


def _normal(rng: np.random.Generator, size: Shape, loc: Parameter, scale: Parameter) -> Array:
    values: Array = rng.standard_normal(size, _fast(loc, scale))
    values *= scale
    values += loc
    return values


def _fast(*parameters: Parameter) -> type[np.float64 | np.float32]:
    """float32 where the parameters are plain numbers, which it holds, else their own precision."""
    return np.float64 if any(getattr(value, "dtype", None) == np.float64 for value in parameters) else np.float32


def _mixed_poisson(rng: np.random.Generator, size: Shape, mu: Parameter, alpha: Parameter) -> Array:
    """Poisson numbers whose rate is gamma distributed, with mean mu and variance alpha * mu**2."""
    mu, alpha = np.broadcast_arrays(mu, alpha)
    spread = np.where(alpha > 0, alpha, 1)
    rate = np.where(alpha > 0, rng.standard_gamma(1 / spread, size) * (mu * spread), mu)
    return rng.poisson(rate, size)


DISTRIBUTIONS = {
    "uniform": Distribution({"low": 0.0, "high": 1.0}, "low <= high, finite",
                            lambda low, high: (low <= high) & np.isfinite(high) & np.isfinite(low), uniform,
                            "Values drawn evenly from low up to, not including, high."),
    "normal": Distribution({"loc": 0.0, "scale": 1.0}, "scale >= 0", lambda loc, scale: scale >= 0, _normal,
                           "Values of a normal distribution with this mean and standard deviation.", ("mu", "sigma")),
    "gamma": Distribution({"alpha": 1.0, "beta": 1.0}, "alpha >= 0 and beta > 0",
                          lambda alpha, beta: (alpha >= 0) & (beta > 0),
                          lambda rng, size, alpha, beta: rng.standard_gamma(alpha, size) * beta,
                          "Values of a gamma distribution with shape alpha and scale beta."),
    "exponential": Distribution({"lam": 1.0}, "lam > 0", lambda lam: lam > 0,
                                lambda rng, size, lam: rng.standard_exponential(size) / lam,
                                "Values of an exponential distribution with rate lam."),
    "poisson": Distribution({"lam": 1.0}, "lam >= 0", lambda lam: lam >= 0,
                            lambda rng, size, lam: rng.poisson(lam, size),
                            "Numbers of a Poisson distribution with rate lam, as real numbers."),
    "negative_binomial": Distribution({"k": 1, "p": 1.0}, "k > 0 and 0 < p <= 1",
                                      lambda k, p: (k > 0) & (p > 0) & (p <= 1),
                                      lambda rng, size, k, p: rng.negative_binomial(k, p, size),
                                      "Numbers of failures before k successes, each of probability p."),
    "generalized_negative_binomial": Distribution(
        {"mu": 1.0, "alpha": 1.0}, "mu >= 0 and alpha >= 0", lambda mu, alpha: (mu >= 0) & (alpha >= 0), _mixed_poisson,
        "Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2."),
}
