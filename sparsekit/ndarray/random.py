"""Random arrays: ``mx.nd.random``, and the same as ``mx.random``.

Parameters are all numbers or all arrays; for arrays, ``shape`` values are drawn for each of their entries.  Every
function takes ``rng``, a ``numpy.random.Generator`` or a seed, in place of the shared generator, which
``mx.random.seed`` restarts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arguments import strict
from ..base.context import Context
from ..base.dtypes import is_left_out
from ..base.entry import entries
from ..base.errors import ArgumentError, DTypeError, ParameterError, ShapeError, SparsekitError, expected
from ..base.lazy import add_lazy_names
from ..base.rng import using
from ..core.dispatch import invoke
from ..core.op import find
from ..ops.random.distributions import DISTRIBUTIONS
from .creation import context_of, shape_of
from .functions import F
from .ndarray import NDArray

if TYPE_CHECKING:
    from ..base.types import DTypeLike, Scalar, ShapeLike


__all__ = ["exponential", "exponential_like", "gamma", "gamma_like", "generalized_negative_binomial",
           "generalized_negative_binomial_like", "multinomial", "negative_binomial", "negative_binomial_like", "normal",
           "normal_like", "poisson", "poisson_like", "randint", "randn", "shuffle", "uniform", "uniform_like"]

add_lazy_names(globals())


def _type_name(dtype: DTypeLike) -> str:
    return "None" if is_left_out(dtype) else np.dtype(dtype).name


def _created(op_name: str, attrs: dict[str, Any], shape: ShapeLike | None, dtype: DTypeLike, ctx: Context | None,
             out: NDArray | None, rng: object) -> NDArray:
    """Run a sampler without inputs on a context; ``out`` gives the shape and the type that were left out."""
    if out is not None:
        shape = out.shape if shape is None else shape
        dtype = out.dtype if dtype is None else dtype
        if shape_of(shape) != out.shape:
            raise ShapeError(f"shape is {shape!r}, and out has shape {out.shape}.", hint="leave shape out.")
    call = find(op_name).bind({**attrs, "shape": shape_of(1 if shape is None else shape), "dtype": _type_name(dtype)})
    with using(rng):
        return invoke(call, (), out, out.context if out is not None else context_of(ctx))


def _draw(name: str, parameters: tuple[Any, ...], shape: ShapeLike | tuple[Any, ...] | None, dtype: DTypeLike,
          ctx: Context | None, out: NDArray | None, rng: object) -> NDArray:
    arrays = [isinstance(value, NDArray) for value in parameters]
    if all(arrays):
        call = find(f"_sample_{name}").bind({"shape": () if shape is None else shape_of(shape), "dtype": _type_name(dtype)})
        with using(rng):
            return invoke(call, parameters, out)
    if any(arrays) or not all(isinstance(value, (int, float, np.number)) for value in parameters):
        kinds = " and ".join(type(value).__name__ for value in parameters)
        raise DTypeError(f"The parameters of {name} must be all numbers or all arrays, got {kinds}.",
                         hint="mx.nd.full makes an array of a number.")
    names = DISTRIBUTIONS[name].parameters
    numbers = [value.item() if isinstance(value, np.generic) else value for value in parameters]
    return _created(f"_random_{name}", dict(zip(names, numbers, strict=True)), shape, dtype, ctx, out, rng)


@strict
def uniform(low: Scalar | NDArray = 0.0, high: Scalar | NDArray = 1.0, shape: ShapeLike | None = None, dtype: DTypeLike = None,
            ctx: Context | None = None, out: NDArray | None = None, rng: object = None) -> NDArray:
    """Values drawn evenly from low up to, not including, high.

    Parameters
    ----------
    low, high : float or NDArray
    shape : int or tuple of int, optional
        Shape of the result; by default one value.  If the parameters are arrays, this many values are drawn for each entry;
        by default one.
    dtype : {"float32", "float16", "float64"}, optional
        Element type of the result; float32 by default.
    ctx : Context, optional
        Context of the result.  If the parameters are arrays, it is theirs.
    out : NDArray, optional
        Array that receives the result.
    rng : int or numpy.random.Generator, optional
        Seed or generator; by default the library's shared generator.
    """
    return _draw("uniform", (low, high), shape, dtype, ctx, out, rng)


@strict
def normal(loc: Scalar | NDArray = 0.0, scale: Scalar | NDArray = 1.0, shape: ShapeLike | None = None, dtype: DTypeLike = None,
           ctx: Context | None = None, out: NDArray | None = None, rng: object = None) -> NDArray:
    """Values of a normal distribution with mean loc and standard deviation scale; parameters as for ``uniform``."""
    return _draw("normal", (loc, scale), shape, dtype, ctx, out, rng)


@strict
def randn(*shape: ShapeLike, loc: Scalar | NDArray = 0.0, scale: Scalar | NDArray = 1.0, dtype: DTypeLike = None,
          ctx: Context | None = None, out: NDArray | None = None, rng: object = None) -> NDArray:
    """Values of a normal distribution; the shape comes first, as in ``randn(2, 3)``."""
    return _draw("normal", (loc, scale), shape or None, dtype, ctx, out, rng)


@strict
def gamma(alpha: Scalar | NDArray = 1.0, beta: Scalar | NDArray = 1.0, shape: ShapeLike | None = None, dtype: DTypeLike = None,
          ctx: Context | None = None, out: NDArray | None = None, rng: object = None) -> NDArray:
    """Values of a gamma distribution with shape alpha and scale beta; parameters as for ``uniform``."""
    return _draw("gamma", (alpha, beta), shape, dtype, ctx, out, rng)


@strict
def exponential(scale: Scalar | NDArray = 1.0, shape: ShapeLike | None = None, dtype: DTypeLike = None,
                ctx: Context | None = None, out: NDArray | None = None, rng: object = None) -> NDArray:
    """Values of an exponential distribution with mean scale; parameters as for ``uniform``."""
    rate: Any = scale
    if isinstance(scale, (int, float, np.number)):
        if not scale > 0:
            raise ParameterError(expected("scale", "above 0", scale), hint="it is the mean of the distribution.")
        rate = 1 / float(scale)
    elif isinstance(scale, NDArray):
        rate = F._rdiv_scalar(scale, scalar=1.0)
    return _draw("exponential", (rate,), shape, dtype, ctx, out, rng)


@strict
def poisson(lam: Scalar | NDArray = 1.0, shape: ShapeLike | None = None, dtype: DTypeLike = None, ctx: Context | None = None,
            out: NDArray | None = None, rng: object = None) -> NDArray:
    """Numbers of a Poisson distribution with rate lam, as real numbers; parameters as for ``uniform``."""
    return _draw("poisson", (lam,), shape, dtype, ctx, out, rng)


@strict
def negative_binomial(k: Scalar | NDArray = 1, p: Scalar | NDArray = 1.0, shape: ShapeLike | None = None, dtype: DTypeLike = None,
                      ctx: Context | None = None, out: NDArray | None = None, rng: object = None) -> NDArray:
    """Numbers of failures before k successes, each of probability p; parameters as for ``uniform``."""
    return _draw("negative_binomial", (k, p), shape, dtype, ctx, out, rng)


@strict
def generalized_negative_binomial(mu: Scalar | NDArray = 1.0, alpha: Scalar | NDArray = 1.0, shape: ShapeLike | None = None,
                                  dtype: DTypeLike = None, ctx: Context | None = None, out: NDArray | None = None,
                                  rng: object = None) -> NDArray:
    """Numbers of a negative binomial distribution with mean mu and variance ``mu + alpha * mu**2``."""
    return _draw("generalized_negative_binomial", (mu, alpha), shape, dtype, ctx, out, rng)


@strict
def randint(low: Scalar | NDArray, high: Scalar | NDArray, shape: ShapeLike | None = None, dtype: DTypeLike = None,
            ctx: Context | None = None, out: NDArray | None = None, rng: object = None) -> NDArray:
    """Whole numbers drawn evenly from low up to, not including, high; int32 by default, else int64."""
    bounds = [value.item() if isinstance(value, np.generic) else value for value in (low, high)]
    return _created("_random_randint", {"low": bounds[0], "high": bounds[1]}, shape, dtype, ctx, out, rng)


@strict
def multinomial(data: NDArray, shape: ShapeLike | None = None, get_prob: bool = False, out: NDArray | None = None,
                dtype: DTypeLike = "int32", rng: object = None) -> NDArray | list[NDArray]:
    """Places along the last axis of ``data``, drawn with the probabilities there.

    Parameters
    ----------
    data : NDArray
        Probabilities along the last axis.
    shape : int or tuple of int, optional
        Number of draws for each distribution, as a shape that follows the leading axes of ``data``.  By default one draw,
        without an additional axis.
    get_prob : bool
        Also return the logarithms of the probabilities of the draws.  These have a gradient.
    """
    attrs = {"shape": () if shape is None else shape_of(shape), "get_prob": bool(get_prob), "dtype": _type_name(dtype)}
    with using(rng):
        return invoke(find("_sample_multinomial").bind(attrs), (data,), out)


@strict
def shuffle(data: NDArray, out: NDArray | None = None, rng: object = None) -> NDArray:
    """The data in a random order along the first axis."""
    with using(rng):
        return F._shuffle(data, out=out)


def _like(name: str) -> Callable[..., NDArray]:
    """A sampler that takes its shape and element type from an array."""
    def like(data: NDArray, *parameters: object, rng: object = None, **attrs: object) -> NDArray:
        with using(rng):
            return getattr(F, f"_random_{name}_like")(data, *parameters, **attrs)

    like.__name__ = like.__qualname__ = f"{name}_like"
    like.__doc__ = f"{DISTRIBUTIONS[name].doc}  The result has the shape and the element type of ``data``."
    return like


uniform_like, normal_like, gamma_like, exponential_like = map(_like, ("uniform", "normal", "gamma", "exponential"))
poisson_like, negative_binomial_like, generalized_negative_binomial_like = map(
    _like, ("poisson", "negative_binomial", "generalized_negative_binomial"))


@strict
def rand_zipfian(true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None,
                 rng: object = None) -> tuple[NDArray, NDArray, NDArray]:
    """Classes drawn with a probability that falls like a logarithm, and how often the true and the drawn are expected.

    The probability of a class is ``log((class + 2) / (class + 1)) / log(range_max + 1)``.

    Returns
    -------
    samples : NDArray of int64, shape (num_sampled,)
    expected_true, expected_sampled : NDArray of float64
    """
    if range_max < 1:
        raise SparsekitError(f"range_max must be at least 1, got {range_max}.", hint="range_max is the number of classes.")
    size = float(np.log(range_max + 1))
    drawn = F.Cast(F.expm1(uniform(0.0, size, (num_sampled,), "float64", ctx, rng=rng)), dtype="int64") % range_max

    def expected(classes: NDArray) -> NDArray:
        places = F.Cast(classes, dtype="float64")
        return F.log((places + 2.0) / (places + 1.0)) * (num_sampled / size)

    return drawn, expected(true_classes.as_in_context(drawn.context)), expected(drawn)


#: Samplers without inputs under the names that MXNet has for them beside ``mx.nd.random``.
FLAT = frozenset(("uniform", "normal", *(start + name for name in (*DISTRIBUTIONS, "randint")
                                         for start in ("_random_", "random_"))))


def flat(name: str) -> Callable[..., Any]:
    """``mx.nd.random_uniform`` and the like: a sampler as MXNet's operator, which needs a shape and takes a text as ctx."""
    op = find(name)

    def function(*args: object, **kwargs: Any) -> NDArray:
        out, rng, _ = kwargs.pop("out", None), kwargs.pop("rng", None), kwargs.pop("name", None)
        attributes = op.arguments(args, kwargs)[1]
        unknown = [key for key in attributes if key not in op.attrs]
        if unknown:
            raise ArgumentError.of(f"argument of {name}", unknown[0], (*op.inputs, *op.attrs, "out", "name"))
        shape, dtype, ctx = attributes.pop("shape", None), attributes.pop("dtype", None), attributes.pop("ctx", None)
        if shape is None and out is None:
            raise ShapeError(f"{name} needs a shape.", hint=f"{name}(…, shape=(2, 3)).")
        return _created(op.name, attributes, shape, None if dtype == "None" else dtype, _place(ctx), out, rng)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = op.doc
    return function


def _place(ctx: Context | str | None) -> Context | None:
    """A context; MXNet writes it as text here, ``'cpu(0)'``."""
    if not isinstance(ctx, str):
        return ctx
    match = re.fullmatch(r"(cpu|gpu|cpu_pinned)\((\d+)\)", ctx)
    if ctx and not match:
        raise ParameterError(expected("ctx", "a Context or its name", ctx), hint="write 'cpu(0)', or give mx.cpu().")
    return Context(match[1], int(match[2])) if match else None


entries(globals(), __all__)
