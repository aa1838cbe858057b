"""Densities of distributions and their gradients: ``random_pdf_*``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.errors import ShapeError
from ...core.op import Op
from .. import samples
from ..elementwise.unary import _gammaln, from_scipy
from ..neural.softmax import floating, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.types import ArrayFunctions, ArrayObject, Given, Gradients
    from ...kernels.types import ArrayModule, Kernels


class Density(NamedTuple):
    """Logarithm of a density, and its derivatives by the sample (None if zero or undefined) and by each parameter."""

    parameters: tuple[str, ...]
    # Any: functions of arrays, as many as the distribution has parameters
    logarithm: Callable[..., Any]
    slopes: Callable[..., Any]  # Any: as above
    doc: str


#: Discrete distributions, whose samples have no gradient.
COUNTING = ("poisson", "negative_binomial", "generalized_negative_binomial")

_digamma = from_scipy("digamma")


def _binomial_log(xp: ArrayModule, x: Array, k: Array, p: Array) -> Array:
    logarithm: Array = _gammaln(xp, x + k) - _gammaln(xp, x + 1) - _gammaln(xp, k) + k * xp.log(p) + x * xp.log1p(-p)
    return logarithm


def _binomial_slopes(xp: ArrayModule, x: Array, k: Array, p: Array) -> tuple[None, Array, Array]:
    return None, _digamma(xp, x + k) - _digamma(xp, k) + xp.log(p), k / p - x / (1 - p)


def _general_log(xp: ArrayModule, x: Array, mu: Array, alpha: Array) -> Array:
    return _binomial_log(xp, x, 1 / alpha, 1 / (mu * alpha + 1))


def _general_slopes(xp: ArrayModule, x: Array, mu: Array, alpha: Array) -> tuple[None, Array, Array]:
    p = 1 / (mu * alpha + 1)
    _, by_k, by_p = _binomial_slopes(xp, x, 1 / alpha, p)
    return None, -by_p * alpha * p * p, -by_k / (alpha * alpha) - by_p * mu * p * p


def _dirichlet_log(xp: ArrayModule, x: Array, alpha: Array) -> Array:
    logarithm: Array = (xp.sum((alpha - 1) * xp.log(x), axis=-1) + _gammaln(xp, alpha.sum(axis=-1))
                        - xp.sum(_gammaln(xp, alpha), axis=-1))
    return logarithm


DENSITIES = {
    "uniform": Density(("low", "high"), lambda xp, x, low, high: -xp.log(high - low) + 0 * x,
                       lambda xp, x, low, high: (None, 1 / (high - low) + 0 * x, -1 / (high - low) + 0 * x),
                       "the uniform distribution from low to high; as in MXNet, samples outside have the same density"),
    "normal": Density(("mu", "sigma"),
                      lambda xp, x, mu, sigma: -0.5 * ((x - mu) / sigma) ** 2 - xp.log(sigma) - 0.5 * math.log(2 * math.pi),
                      lambda xp, x, mu, sigma: ((mu - x) / sigma**2, (x - mu) / sigma**2,
                                                (x - mu) ** 2 / sigma**3 - 1 / sigma),
                      "the normal distribution with mean mu and standard deviation sigma"),
    "gamma": Density(("alpha", "beta"), lambda xp, x, alpha, beta: (alpha * xp.log(beta) + (alpha - 1) * xp.log(x) - beta * x
                                                                    - _gammaln(xp, alpha)),
                     lambda xp, x, alpha, beta: ((alpha - 1) / x - beta, xp.log(beta) + xp.log(x) - _digamma(xp, alpha),
                                                 alpha / beta - x),
                     "the gamma distribution with shape alpha and rate beta"),
    "exponential": Density(("lam",), lambda xp, x, lam: xp.log(lam) - lam * x,
                           lambda xp, x, lam: (-lam + 0 * x, 1 / lam - x), "the exponential distribution with rate lam"),
    "poisson": Density(("lam",), lambda xp, x, lam: x * xp.log(lam) - _gammaln(xp, x + 1) - lam,
                       lambda xp, x, lam: (None, x / lam - 1), "the Poisson distribution with rate lam"),
    "negative_binomial": Density(("k", "p"), _binomial_log, _binomial_slopes,
                                 "the number of failures before k successes of probability p"),
    "generalized_negative_binomial": Density(("mu", "alpha"), _general_log, _general_slopes,
                                             "the negative binomial distribution with mean mu and variance mu + alpha * mu**2"),
    "dirichlet": Density(("alpha",), _dirichlet_log,
                         lambda xp, x, alpha: ((alpha - 1) / x, xp.log(x) + _digamma(xp, alpha.sum(axis=-1, keepdims=True))
                                               - _digamma(xp, alpha)),
                         "the Dirichlet distribution with concentrations alpha along the last axis"),
}


# Any: a function of shapes and attributes, as Op takes it
def _shape(name: str) -> Callable[..., Any]:
    """Parameters have the leftmost axes of the sample; those of a Dirichlet distribution also have its last axis."""
    kept = 1 if name == "dirichlet" else 0

    def shape(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
        sample, first = tuple(shapes[0]), tuple(shapes[1])
        count = len(first) - kept
        fits = count >= 0 and sample[:count] == first[:count] and (not kept or (
            len(sample) >= len(first) and sample[-1:] == first[-1:]))
        if not fits or any(tuple(other) != first for other in shapes[2:]):
            raise ShapeError(f"parameters of shapes {', '.join(map(str, shapes[1:]))} do not match a sample of shape {sample}.",
                             hint="pass parameters with the shape of the leftmost axes of the sample.")
        return (sample[:-1] or (1,)) if kept else sample

    return shape


# Any: arrays of numpy or cupy
def _spread(name: str, sample: Array, parameters: Sequence[Array]) -> list[Any]:
    """Reshape the parameters to broadcast to the sample."""
    if name == "dirichlet":
        return [store.reshape(store.shape[:-1] + (1,) * (sample.ndim - store.ndim) + store.shape[-1:]) for store in parameters]
    return [store.reshape(store.shape + (1,) * (sample.ndim - store.ndim)) for store in parameters]


def _declare(name: str, density: Density) -> None:
    inputs = ("sample", *density.parameters)
    op = Op(f"_random_pdf_{name}", " ".join(inputs), attrs={"is_log": False}, shape=_shape(name),
            dtype=lambda dtypes, attrs: dtypes[0], nondifferentiable=(0,) if name in COUNTING else (),
            aliases=(f"random_pdf_{name}",), sample=lambda: _samples(name, len(inputs)),
            doc=f"The density of {density.doc}.\n\nWith ``is_log=True``, its logarithm.")

    @op.forward(f"{', '.join(['default'] * len(inputs))} -> default")
    def _(k: Kernels, sample: Array, *arguments: *Given) -> Array:
        *stores, attrs = arguments
        floating(op.name, sample, *stores)
        x = wide(sample)
        values = density.logarithm(k.xp, x, *_spread(name, x, [wide(store) for store in stores]))
        values = values if attrs["is_log"] else k.xp.exp(values)
        return k.xp.asarray(values).reshape(op.shape([sample.shape, stores[0].shape], {})).astype(sample.dtype, copy=False)

    back = Op(f"_random_pdf_{name}_backward", " ".join(("g", *inputs)), shape=lambda shapes, attrs: shapes[1:],
              dtype=lambda dtypes, attrs: dtypes[1:], outputs=len(inputs), doc=f"The gradients of random_pdf_{name}.",
              sample=lambda: [([op_result, *arrays], {}) for arrays, _ in _samples(name, len(inputs))[:1]
                              for op_result in [np.ones(op.shape([array.shape for array in arrays], {}), np.float32)]])

    @back.forward(f"{', '.join(['default'] * (len(inputs) + 1))} -> default...")
    def _(k: Kernels, g: Array, sample: Array, *arguments: *Given) -> tuple[Array, ...]:
        x, parameters = wide(sample), [wide(store) for store in arguments[:-1]]
        slopes = density.slopes(k.xp, x, *_spread(name, x, parameters))
        g = wide(g).reshape((*x.shape[:-1], 1)) if name == "dirichlet" else wide(g)
        gradients = [k.xp.zeros(x.shape, sample.dtype) if slopes[0] is None else (g * slopes[0]).astype(sample.dtype, copy=False)]
        for store, slope in zip(arguments[:-1], slopes[1:], strict=True):
            gradients.append(_folded(g * slope, store.shape, name).astype(store.dtype, copy=False))
        return tuple(gradients)

    @op.gradient
    # Any: the arrays of the call, and its attributes
    def _(F: ArrayFunctions, g: ArrayObject, *arguments: Any) -> Gradients:
        *stores, out, attrs, _want = arguments
        g = g if attrs["is_log"] else F.elemwise_mul(g, out)
        return tuple(getattr(F, back.name)(g, *stores))


def _folded(slope: Array, shape: tuple[int, ...], name: str) -> Array:
    """Sum over the axes of the sample that a parameter does not have."""
    first = len(shape) - (name == "dirichlet")
    total: Array = slope.sum(axis=tuple(range(first, first + slope.ndim - len(shape)))).reshape(shape)
    return total


def _samples(name: str, count: int) -> samples.Samples:
    rng = np.random.default_rng(4)
    if name == "dirichlet":
        arrays = [rng.dirichlet((2, 3, 4), (2, 2)).astype(np.float32), rng.uniform(1, 3, (2, 3)).astype(np.float32)]
    else:
        arrays = [np.floor(rng.uniform(1, 9, (2, 3))).astype(np.float32)]
        arrays += [np.array(pair, np.float32) for pair in ([0.5, 2], [0.75, 0.25])[: count - 1]]
    if name == "uniform":
        arrays[2] = arrays[1] + arrays[2]
    return [(arrays, {"is_log": logarithm}) for logarithm in (False, True)]


for _name, _density in DENSITIES.items():
    _declare(_name, _density)
