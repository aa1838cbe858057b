"""Random samplers: distributions with fixed parameters, with arrays of parameters, and like an array; shuffle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.dtypes import is_left_out
from ...base.errors import DTypeError, ShapeError, SparsekitError, expected
from ...base.rng import generator
from ...core import cost, infer
from ...core.op import REQUIRED, Op
from .. import samples
from .distributions import DISTRIBUTIONS, Distribution, at_most_below, uniform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import Kernels
    from .distributions import Parameter


REAL = ("float16", "float32", "float64")


def _kind(attrs: Attrs, allowed: tuple[str, ...] = REAL, default: str = "float32") -> DType:
    """The element type asked for; ``'None'`` is the default."""
    asked = attrs["dtype"]
    dtype = np.dtype(default if is_left_out(asked) else asked)
    if dtype.name not in allowed:
        raise DTypeError(expected("dtype", f"one of {', '.join(allowed)}", asked), hint="cast the result with astype().")
    return dtype


def sizes(shape: int | tuple[int, ...] | list[int] | None) -> tuple[int, ...]:
    """The attribute ``shape`` as a tuple; None and () mean no axes."""
    if shape is None:
        return ()
    dimensions = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if any(not isinstance(size, (int, np.integer)) or size < 0 for size in dimensions):
        raise ShapeError(expected("shape", "a tuple of integers", shape), hint="shape=(2, 3), for example.")
    return tuple(int(size) for size in dimensions)


def _given(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    if attrs["shape"] is None:
        raise ShapeError("no shape was given.", hint="shape=(2, 3); mx.nd.random draws one value by default.")
    return sizes(attrs["shape"])


def _check(distribution: Distribution, parameters: Sequence[Parameter]) -> None:
    if not np.all(distribution.fits(*parameters)):
        values = ", ".join(f"{name}={value!r}" if np.ndim(value) == 0 else f"{name} of shape {np.shape(value)}"
                           for name, value in zip(distribution.parameters, parameters, strict=True))
        raise SparsekitError(f"The parameters must meet {distribution.needs}, got {values}.", hint="check their values.")


def _numbers(name: str, distribution: Distribution, attrs: Attrs) -> list[float]:
    """The parameters among the attributes, as numbers."""
    values = [attrs[parameter] for parameter in distribution.parameters]
    for parameter, value in zip(distribution.parameters, values, strict=True):
        if not isinstance(value, (int, float, np.number)):
            raise DTypeError(f"{name}: {parameter} must be a number, got {value!r}.", hint="arrays of parameters go to sample_*.")
    if name == "negative_binomial" and values[0] != int(values[0]):
        raise DTypeError(f"{name}: k must be an integer, got {values[0]!r}.", hint="the generalized one takes real numbers.")
    _check(distribution, values)
    return values


def _drawn(k: Kernels, distribution: Distribution, size: tuple[int, ...], parameters: Sequence[Parameter], kind: DType) -> Array:
    wide: Sequence[Parameter] = [np.float64(value) for value in parameters] if kind == np.float64 else parameters
    try:
        values = np.asarray(distribution.draw(generator(), size, *wide)).astype(kind, copy=False)
    except ValueError as error:
        raise SparsekitError(f"The parameters are beyond what can be drawn: {error}.",
                             hint=f"it needs {distribution.needs}.") from None
    if distribution.draw is uniform and values.dtype.kind == "f":
        values = at_most_below(values, *parameters)
    return k.xp.asarray(values)


def _declare_fixed(name: str, distribution: Distribution, aliases: tuple[str, ...]) -> None:
    """``_random_name``: no inputs, a shape; and ``_random_name_like``: the shape and type of an array."""
    op = Op(f"_random_{name}", "", attrs={**distribution.parameters, "shape": None, "ctx": "", "dtype": "None"}, shape=_given,
            dtype=lambda dtypes, attrs: _kind(attrs), cost=cost.none, aliases=aliases, sample=lambda: [([], {"shape": (2, 3)})],
            random=True, saves=(), doc=distribution.doc)

    @op.forward(" -> default")
    def _(k: Kernels, attrs: Attrs) -> Array:
        return _drawn(k, distribution, _given([], attrs), _numbers(name, distribution, attrs), _kind(attrs))

    op.gradient(lambda F, g, out, attrs, want: ())
    like = Op(f"_random_{name}_like", "data", attrs=dict(distribution.parameters), shape=infer.unchanged, cost=cost.none,
              nondifferentiable=(0,), sample=samples.one(), random=True,
              doc=distribution.doc + "  As many as ``data`` holds, of its element type.")

    @like.forward("default -> default")
    def _(k: Kernels, data: Array, attrs: Attrs) -> Array:
        return _drawn(k, distribution, data.shape, _numbers(name, distribution, attrs), data.dtype)


def _sample_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    infer.same_shape(shapes, attrs)
    return (*shapes[0], *sizes(attrs["shape"]))


def host(array: Array) -> Array:
    """The values as a numpy array, brought from the device if they are there."""
    return array.get() if hasattr(array, "get") else array


def _declare_sampled(name: str, distribution: Distribution) -> None:
    """``_sample_name``: arrays of parameters; ``shape`` values for each entry."""
    names = distribution.arrays or tuple(distribution.parameters)
    op = Op(f"_sample_{name}", " ".join(names), attrs={"shape": (), "dtype": "None"}, shape=_sample_shape,
            dtype=lambda dtypes, attrs: _kind(attrs), cost=cost.none, aliases=(f"sample_{name}",),
            nondifferentiable=tuple(range(len(names))), random=True,
            sample=lambda: [([np.full(3, 0.5, np.float32)] * len(names), {"shape": (2,)})],
            doc=distribution.doc + "\n\nParameters are arrays of one shape; ``shape`` values are drawn for each entry.")

    @op.forward(f"{', '.join(['default'] * len(names))} -> default")
    def _(k: Kernels, *stores: *tuple[*tuple[Array, ...], Attrs]) -> Array:
        attrs, kind = stores[-1], _kind(stores[-1])
        each = sizes(attrs["shape"])
        parameters = [host(store) for store in stores[:-1]]
        _check(distribution, parameters)
        spread = [store.reshape(store.shape + (1,) * len(each)).astype(np.float64) for store in parameters]
        return _drawn(k, distribution, (*parameters[0].shape, *each), spread, kind)


for _name, _distribution in DISTRIBUTIONS.items():
    _declare_fixed(_name, _distribution, (f"random_{_name}", *((_name,) if _name in ("uniform", "normal") else ())))
    _declare_sampled(_name, _distribution)

WHOLE = ("int32", "int64")

randint = Op("_random_randint", "", attrs={"low": REQUIRED, "high": REQUIRED, "shape": None, "ctx": "", "dtype": "None"},
             shape=_given, dtype=lambda dtypes, attrs: _kind(attrs, WHOLE, "int32"), cost=cost.none,
             aliases=("random_randint",), random=True, sample=lambda: [([], {"low": 0, "high": 5, "shape": (2, 3)})], saves=(),
             doc="Whole numbers drawn evenly from low up to, not including, high.")
randint.gradient(lambda F, g, out, attrs, want: ())


@randint.forward(" -> default")
def _(k: Kernels, attrs: Attrs) -> Array:
    low, high, kind = attrs["low"], attrs["high"], _kind(attrs, WHOLE, "int32")
    if any(not isinstance(value, (int, np.integer)) for value in (low, high)):
        raise DTypeError(f"low and high of randint must be integers, got {low!r} and {high!r}.",
                         hint="uniform draws real numbers.")
    limits = np.iinfo(kind)
    if not limits.min <= low < high <= limits.max + 1:
        raise SparsekitError(f"low and high must meet {limits.min} <= low < high <= {limits.max + 1}, got {low} and {high}.",
                             hint="high itself is not drawn.")
    return k.xp.asarray(generator().integers(low, high, _given([], attrs), dtype=kind))


COUNTED = ("uint8", *WHOLE, *REAL)


def _multinomial_shape(shapes: list[Shape], attrs: Attrs) -> Shape | list[Shape]:
    data = shapes[0]
    if not data or not data[-1]:
        raise ShapeError(f"data must hold probabilities along its last axis, got shape {data}.",
                         hint="give one probability for each class.")
    result = (data[:-1] + sizes(attrs["shape"])) or (1,)
    return [result, result] if attrs["get_prob"] else result


def _multinomial_dtype(dtypes: list[DType], attrs: Attrs) -> DType | list[DType]:
    kind = _kind(attrs, COUNTED, "int32")
    return [kind, dtypes[0]] if attrs["get_prob"] else kind


multinomial = Op("_sample_multinomial", "data", attrs={"shape": (), "get_prob": False, "dtype": "int32"},
                 shape=_multinomial_shape, dtype=_multinomial_dtype, cost=cost.none,
                 outputs=lambda attrs: 2 if attrs["get_prob"] else 1, aliases=("sample_multinomial",), random=True,
                 sample=lambda: [([np.array([[0.25, 0.75, 0], [0, 0, 1]], np.float32)], {"shape": (4,), "get_prob": both})
                                 for both in (False, True)],
                 doc="""Places along the last axis, drawn with the probabilities there; ``shape`` of them for each row.

Probabilities that do not sum to 1 are divided by their sum.  ``get_prob=True`` also returns the logarithms of the
probabilities of the drawn indices.  These have a gradient.""")


@multinomial.forward("default -> default", get_prob=False)
@multinomial.forward("default -> default, default", get_prob=True)
def _(k: Kernels, data: Array, attrs: Attrs) -> Array | tuple[Array, Array]:
    shapes = _multinomial_shape([data.shape], attrs)
    shape = shapes[0] if isinstance(shapes, list) else shapes
    kind = _kind(attrs, COUNTED, "int32")
    shares = host(data).reshape(-1, data.shape[-1])
    edges = np.cumsum(shares, axis=1, dtype=np.float64)
    if not (np.all(shares >= 0) and np.all(edges[:, -1] > 0) and np.isfinite(edges[:, -1]).all()):
        raise SparsekitError("Probabilities must be finite, not negative, and at least one of them above 0.",
                             hint="each row sums to 1.")
    each = math.prod(sizes(attrs["shape"]))
    drawn = np.stack([np.searchsorted(row, generator().random(each) * row[-1], side="right") for row in edges]) if len(
        edges) else np.zeros((0, each), np.int64)
    last = data.shape[-1] - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)
    drawn = np.minimum(drawn, last[:, None])
    places = k.xp.asarray(drawn.reshape(shape).astype(kind))
    if not attrs["get_prob"]:
        return places
    chances = np.take_along_axis(shares, drawn, axis=1)
    return places, k.xp.asarray(np.log(chances).reshape(shape).astype(data.dtype, copy=False))


@multinomial.gradient
def _(F: ArrayFunctions, g: ArrayObject | tuple[ArrayObject | None, ...], data: ArrayObject,
      out: ArrayObject | Sequence[ArrayObject], attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
    if not attrs["get_prob"] or g[1] is None:
        return F.zeros_like(data)
    return F._sample_multinomial_backward(g[1], data, out[0])


multinomial_backward = Op(
    "_sample_multinomial_backward", "g data drawn", cost=cost.each_taken(2), shape=lambda shapes, attrs: shapes[1],
    dtype=lambda dtypes, attrs: dtypes[1],
    sample=lambda: [([np.ones((2, 2), np.float32), np.full((2, 3), 0.25, np.float32), np.array([[0, 2], [1, 1]], np.float32)],
                     {})], doc="The gradient of logarithms of probabilities: ``g / data`` added up where it was drawn.")


@multinomial_backward.forward("default, default, default -> default")
def _(k: Kernels, g: Array, data: Array, drawn: Array, attrs: Attrs) -> Array:
    width = data.shape[-1]
    rows = data.reshape(-1, width)
    places = k.xp.clip(drawn.astype(np.int64), 0, width - 1).reshape(len(rows), -1)
    places = places + k.xp.arange(len(rows))[:, None] * width
    sums = k.xp.zeros(rows.size, np.float64)
    k.xp.add.at(sums, places.reshape(-1), g.reshape(-1).astype(np.float64))  # bincount adds in any order on a GPU
    gradient = k.xp.where(sums == 0, 0, sums / rows.reshape(-1))
    return gradient.reshape(data.shape).astype(data.dtype)


shuffle = Op("_shuffle", "data", shape=lambda shapes, attrs: [shapes[0], shapes[0][:1]], cost=cost.none, outputs=2, visible=1,
             dtype=lambda dtypes, attrs: [dtypes[0], np.dtype(np.int64)], aliases=("shuffle",), sample=samples.one(),
             random=True, saves=("out",), label="random.shuffle",
             doc="The data in a random order along the first axis; what is below it stays together.")


@shuffle.forward("default -> default, default")
def _(k: Kernels, data: Array, attrs: Attrs) -> tuple[Array, Array]:
    order = k.xp.asarray(generator().permutation(data.shape[0]))
    return data[order], order


shuffle.gradient(lambda F, g, data, out, attrs, want: F._shuffle_backward(g, out[1]))

shuffle_backward = Op("_shuffle_backward", "g order", shape=infer.unchanged, dtype=lambda dtypes, attrs: dtypes[0],
                      nondifferentiable=(1,), sample=lambda: [([samples.grid(), np.array([2, 0, 3, 1], np.float32)], {})],
                      cost=cost.none, label="the gradient of random.shuffle",
                      doc="Puts rows back where ``shuffle`` took them from.")


@shuffle_backward.forward("default, default -> default")
def _(k: Kernels, g: Array, order: Array, attrs: Attrs) -> Array:
    gradient = k.xp.empty_like(g)
    gradient[k.xp.clip(order.astype(np.int64), 0, max(0, len(g) - 1))] = g
    return gradient


def _candidates_shape(shapes: list[Shape], attrs: Attrs) -> list[Shape]:
    shape, classes = _given(shapes, attrs), attrs["range_max"]
    if len(shape) != 2:
        raise ShapeError(expected("shape", "(batches, samples)", attrs["shape"]), hint="shape=(1, 10), for example.")
    if not isinstance(classes, (int, np.integer)) or not shape[1] <= classes < 2**53:
        raise ShapeError(f"range_max must be at least {shape[1]}, the number of distinct samples, got {classes!r}.",
                         hint="it is the number of classes.")
    return [shape, shape[:1]]


unique_zipfian = Op(
    "_sample_unique_zipfian", "", attrs={"range_max": REQUIRED, "shape": None}, shape=_candidates_shape,
    dtype=lambda dtypes, attrs: [np.dtype(np.int64)] * 2, cost=cost.none, outputs=2, random=True,
    sample=lambda: [([], {"range_max": 9, "shape": (2, 3)})], saves=(),
    doc="""Distinct classes drawn with a probability that falls like a logarithm, and how many trials that took.

``shape`` is (batches, samples of each).  Class ``c`` of ``range_max`` is drawn with the probability
``log((c + 2) / (c + 1)) / log(range_max + 1)``, again and again, until there are enough distinct ones; they come in the order
in which they were first drawn.  With ``t`` trials, the class is expected ``1 - (1 - p) ** t`` times: what a sampled softmax
corrects its logits by (Jean et al. 2015, https://arxiv.org/abs/1412.2007).""")


def _distinct(classes: int, count: int) -> tuple[Array, int]:
    """The first distinct classes that are drawn, and the trials up to the last of them."""
    drawn, size = np.empty(0, np.int64), math.log(classes + 1.0)
    while True:
        draws = np.expm1(generator().random(2 * count + 16) * size).astype(np.int64)
        drawn = np.concatenate([drawn, np.minimum(draws, classes - 1)])
        first = np.sort(np.unique(drawn, return_index=True)[1])
        if len(first) >= count:
            return drawn[first[:count]], int(first[count - 1]) + 1 if count else 0


@unique_zipfian.forward(" -> default, default")
def _(k: Kernels, attrs: Attrs) -> tuple[Array, Array]:
    batches, count = sizes(attrs["shape"])
    draws = [_distinct(int(attrs["range_max"]), count) for _ in range(batches)]
    samples = np.array([classes for classes, _ in draws], np.int64).reshape(batches, count)
    return k.xp.asarray(samples), k.xp.asarray(np.array([trials for _, trials in draws], np.int64))


unique_zipfian.gradient(lambda F, g, out, attrs, want: ())
