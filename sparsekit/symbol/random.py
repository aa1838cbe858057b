"""Symbols of random arrays: ``mx.sym.random``.

Parameters are all numbers or all symbols; for symbols, ``shape`` values are drawn for each of their entries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.dtypes import element_type, is_left_out
from ..base.errors import DTypeError
from ..base.lazy import add_lazy_names
from ..ops.random.distributions import DISTRIBUTIONS
from .functions import F, make_function
from .symbol import Symbol

if TYPE_CHECKING:
    from ..base.types import DTypeLike, Scalar, ShapeLike


__all__ = ["exponential", "exponential_like", "gamma", "gamma_like", "generalized_negative_binomial",
           "generalized_negative_binomial_like", "multinomial", "negative_binomial", "negative_binomial_like", "normal",
           "normal_like", "poisson", "poisson_like", "randint", "randn", "shuffle", "uniform", "uniform_like"]

add_lazy_names(globals())


def _draw(name: str, parameters: tuple[Any, ...], shape: ShapeLike | str | None, dtype: DTypeLike,
          kwargs: dict[str, Any]) -> Symbol:
    symbols = [isinstance(value, Symbol) for value in parameters]
    attributes = {**({} if is_left_out(dtype) else {"dtype": element_type(dtype).name}), **kwargs}
    if all(symbols):
        return getattr(F, f"_sample_{name}")(*parameters, **({} if shape is None else {"shape": shape}),
                                             **attributes)
    if any(symbols) or not all(isinstance(value, (int, float, np.number)) for value in parameters):
        kinds = " and ".join(type(value).__name__ for value in parameters)
        raise DTypeError(f"The parameters of {name} must be all numbers or all symbols, got {kinds}.",
                         hint="mx.sym.full makes a symbol of a number.")
    named = dict(zip(DISTRIBUTIONS[name].parameters, parameters, strict=True))
    return getattr(F, f"_random_{name}")(**named, **({} if shape is None else {"shape": shape}), **attributes)


def uniform(low: Scalar | Symbol = 0, high: Scalar | Symbol = 1, shape: ShapeLike | str | None = None, dtype: DTypeLike = None,
            **kwargs: object) -> Symbol:
    """Values drawn evenly from low up to, not including, high."""
    return _draw("uniform", (low, high), shape, dtype, kwargs)


def normal(loc: Scalar | Symbol = 0, scale: Scalar | Symbol = 1, shape: ShapeLike | str | None = None, dtype: DTypeLike = None,
           **kwargs: object) -> Symbol:
    """Values of a normal distribution with mean loc and standard deviation scale."""
    return _draw("normal", (loc, scale), shape, dtype, kwargs)


def randn(*shape: int, **kwargs: Any) -> Symbol:
    """Values of a normal distribution; the shape comes first, as in ``randn(2, 3)``."""
    loc, scale, dtype = kwargs.pop("loc", 0), kwargs.pop("scale", 1), kwargs.pop("dtype", None)
    return _draw("normal", (loc, scale), shape or None, dtype, kwargs)


def gamma(alpha: Scalar | Symbol = 1, beta: Scalar | Symbol = 1, shape: ShapeLike | str | None = None, dtype: DTypeLike = None,
          **kwargs: object) -> Symbol:
    """Values of a gamma distribution with shape alpha and scale beta."""
    return _draw("gamma", (alpha, beta), shape, dtype, kwargs)


def exponential(scale: float | Symbol = 1, shape: ShapeLike | str | None = None, dtype: DTypeLike = None,
                **kwargs: object) -> Symbol:
    """Values of an exponential distribution with mean scale."""
    return _draw("exponential", (1.0 / scale,), shape, dtype, kwargs)


def poisson(lam: Scalar | Symbol = 1, shape: ShapeLike | str | None = None, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """Numbers of a Poisson distribution with rate lam."""
    return _draw("poisson", (lam,), shape, dtype, kwargs)


def negative_binomial(k: Scalar | Symbol = 1, p: Scalar | Symbol = 1, shape: ShapeLike | str | None = None,
                      dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """Numbers of failures before k successes, each of probability p."""
    return _draw("negative_binomial", (k, p), shape, dtype, kwargs)


def generalized_negative_binomial(mu: Scalar | Symbol = 1, alpha: Scalar | Symbol = 1, shape: ShapeLike | str | None = None,
                                  dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """Numbers of a negative binomial distribution with mean mu and variance ``mu + alpha * mu**2``."""
    return _draw("generalized_negative_binomial", (mu, alpha), shape, dtype, kwargs)


def randint(low: Scalar | Symbol, high: Scalar | Symbol, shape: ShapeLike | str | None = None, dtype: DTypeLike = None,
            **kwargs: object) -> Symbol:
    """Whole numbers drawn evenly from low up to, not including, high."""
    attributes = {**({} if shape is None else {"shape": shape}), **({} if dtype is None else {"dtype": element_type(dtype).name})}
    return F._random_randint(low=low, high=high, **attributes, **kwargs)


def multinomial(data: Symbol, shape: ShapeLike | str | None = None, get_prob: bool = True, dtype: DTypeLike = "int32",
                **kwargs: object) -> Symbol:
    """Places along the last axis of ``data``, drawn with the probabilities there; with ``get_prob``, their logarithms too."""
    sizes = {} if shape is None else {"shape": shape}
    return F._sample_multinomial(data, get_prob=get_prob, dtype=element_type(dtype).name, **sizes, **kwargs)


def shuffle(data: Symbol, **kwargs: object) -> Symbol:
    """The data in a random order along the first axis."""
    return F._shuffle(data, **kwargs)


def _like(name: str) -> Callable[..., Symbol]:
    function = make_function(f"_random_{name}_like", f"{name}_like")

    def like(data: Symbol, **kwargs: object) -> Symbol:
        return function(data, **kwargs)

    like.__name__ = like.__qualname__ = f"{name}_like"
    like.__doc__ = f"{DISTRIBUTIONS[name].doc}  The result has the shape and the element type of ``data``."
    return like


uniform_like, normal_like, gamma_like, exponential_like = map(_like, ("uniform", "normal", "gamma", "exponential"))
poisson_like, negative_binomial_like, generalized_negative_binomial_like = map(
    _like, ("poisson", "negative_binomial", "generalized_negative_binomial"))


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Draw classes by a log-uniform distribution, and say how often each class is expected to be drawn.

    Class c has the probability (log(c + 2) - log(c + 1)) / log(range_max + 1).

    Parameters
    ----------
    true_classes : Symbol
        Vector of classes.
    num_sampled : int
        Number of draws; repetitions are possible.
    range_max : int
        Number of classes.

    Returns
    -------
    samples : Symbol
        The drawn classes, int64, of shape (num_sampled,).
    expected_count_true, expected_count_sample : Symbol
        Expected counts of the true classes and of the samples, float64.
    """
    width = math.log(range_max + 1)
    drawn: Any = uniform(0, width, shape=(num_sampled,), dtype="float64")
    samples = F.Cast(F.exp(drawn) - 1, dtype="int64") % range_max

    def expected(classes: Symbol) -> Any:
        exact = F.Cast(classes, dtype="float64")
        return F.log((exact + 2) / (exact + 1)) / width * num_sampled

    return samples, expected(true_classes), expected(samples)
