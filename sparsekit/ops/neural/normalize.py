"""Normalization: BatchNorm, LayerNorm, InstanceNorm, GroupNorm, L2Normalization, LRN.

The first four are one computation: the mean and the variance over some axes of a view of the data, and a
scale and an offset that vary along one axis of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...base.errors import ParameterError, ShapeError, UnknownNameError, expected
from ...core import cost, hooks, infer
from ...core.op import REQUIRED, Op, Visits
from ...core.partial_shapes import channels, first_alike
from .. import samples
from .softmax import LARGE, along, checked_axis, floating, wide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.op import Want
    from ...core.partial_shapes import InputRule, Partial
    from ...core.types import ArrayFunctions, ArrayObject, Arriving, Gradients
    from ...kernels.types import ArrayModule, Kernels


class View(NamedTuple):
    """How an operator views its data: the shape, the axes of the statistics, and the axis of gamma and beta."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    place: int


def _batch_view(shape: Shape, attrs: Attrs) -> View:
    place = checked_axis(attrs["axis"], len(shape))
    return View(shape, tuple(axis for axis in range(len(shape)) if axis != place), place)


def _layer_view(shape: Shape, attrs: Attrs) -> View:
    place = checked_axis(attrs["axis"], len(shape))
    return View(shape, (place,), place)


def _instance_view(shape: Shape, attrs: Attrs) -> View:
    if len(shape) < 3:
        raise ShapeError(f"the data has shape {shape}, fewer than three axes.", hint="it is (batch, channels, space, …).")
    return View(shape, tuple(range(2, len(shape))), 1)


def _group_view(shape: Shape, attrs: Attrs) -> View:
    groups = attrs["num_groups"]
    if len(shape) < 3:
        raise ShapeError(f"the data has shape {shape}, fewer than three axes.", hint="it is (batch, channels, space, …).")
    if groups < 1 or shape[1] % groups:
        raise ShapeError(f"num_groups must divide the number of channels, {shape[1]}, got {groups}.",
                         hint="num_groups=1 is one group.")
    return View((shape[0], groups, shape[1] // groups, *shape[2:]), tuple(range(2, len(shape) + 1)), 1)


def _check_vectors(view: View, shapes: list[Shape], names: tuple[str, ...]) -> None:
    size = view.shape[view.place]
    for name, shape in zip(names, shapes[1:], strict=False):
        if tuple(shape) != (size,):
            raise ShapeError(f"{name} has shape {shape}, not ({size},).", hint="one value for each channel or group.")


def _centred(xp: ArrayModule, x: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """The data less their mean over some axes, the mean, and the variance."""
    mean = x.mean(axis=axes, keepdims=True)
    out = x - mean
    return out, mean, xp.square(out).mean(axis=axes, keepdims=True)


def _scaled(out: Array, share: Array, gamma: Array | None, beta: Array, view: View) -> Array:
    """``out * share * gamma + beta``, in the place of ``out``."""
    vector = along(view.place, view.shape)
    out *= share if gamma is None else share * gamma.reshape(vector)
    out += beta.reshape(vector)
    return out


backward = Op(
    "_normalize_backward", "g data gamma mean share constant?", attrs={"view": REQUIRED, "fix_gamma": False}, outputs=3,
    cost=cost.each(13),
    shape=lambda shapes, attrs: [
shapes[1], shapes[2], shapes[2]], dtype=lambda dtypes, attrs: [dtypes[1], dtypes[2], dtypes[2]],
    sample=lambda: [([samples.grid(seed=2), samples.grid(), np.arange(1, 6, dtype=np.float32),
                      np.zeros((1, 5), np.float32), np.ones((1, 5), np.float32)],
                     {"view": ((4, 5), (0,), 1)})],
    doc="""Gradients of a normalization for data, gamma and beta.

``mean`` and ``share`` (one over the deviation) are those of the forward pass; ``constant`` is 1 where they do not
depend on the data, as with global statistics.""")


@backward.forward("default, default, default, default, default, default? -> default, default, default")
def _(k: Kernels, g: Array, data: Array, gamma: Array, mean: Array, share: Array,
      *arguments: *tuple[*tuple[Array, ...], Attrs]) -> tuple[Array, Array, Array]:
    attrs, view = arguments[-1], View(*arguments[-1]["view"])
    vector = along(view.place, view.shape)
    others = tuple(axis for axis in range(len(view.shape)) if axis != view.place)
    x, above = wide(data).reshape(view.shape), wide(g).reshape(view.shape)
    if len(arguments) < 2 and not attrs["fix_gamma"] and x.size >= LARGE and _by_rows(view, x, above, gamma):
        return _fused_gradients(k, above, x, gamma, mean, share, data.shape)
    standard = (x - mean) * share
    scale, offset = (above * standard).sum(axis=others), above.sum(axis=others)
    if attrs["fix_gamma"]:
        scale[...] = 0
    else:
        above = above * gamma.reshape(vector)
    gradient = above
    if len(arguments) < 2 or not arguments[0][0]:
        gradient = above - above.mean(axis=view.axes, keepdims=True)
        gradient -= standard * (above * standard).mean(axis=view.axes, keepdims=True)
    gradient = gradient * share
    return (gradient.reshape(data.shape).astype(data.dtype, copy=False), scale.astype(gamma.dtype, copy=False),
            offset.astype(gamma.dtype, copy=False))


def _by_rows(view: View, *arrays: Array) -> bool:
    """Whether a compiled kernel may normalize these along their last axis."""
    last = len(view.shape) - 1
    return bool(view.axes == (last,) == (view.place,) and all(
        array.dtype == np.float32 and array.flags.c_contiguous for array in arrays))


def _fused_gradients(k: Kernels, above: Array, x: Array, gamma: Array, mean: Array, share: Array,
                     shape: Shape) -> tuple[Array, Array, Array]:
    matrix = (-1, x.shape[-1])
    out, scale, offset = k.xp.empty_like(x), k.xp.zeros_like(gamma), k.xp.zeros_like(gamma)
    k.layer_norm_backward_rows(above.reshape(matrix), x.reshape(matrix), gamma, mean.reshape(-1), share.reshape(-1),
                               out.reshape(matrix), scale, offset)
    return out.reshape(shape), scale, offset


def _first(g: Arriving) -> ArrayObject | None:
    """The gradient of the result itself; none flows through the statistics."""
    return g[0] if isinstance(g, tuple) else g


def _each_its_own(name: str, inputs: str, view_of: Callable[[Shape, Attrs], View], sample: Callable[[], samples.Samples],
                  doc: str, attrs: Attrs, input_rule: InputRule) -> Op:
    """Declare a normalization of each sample; the mean and the deviation are outputs, seen if ``output_mean_var``."""
    def shape(shapes: list[Shape], attrs: Attrs) -> list[Shape]:
        view = view_of(shapes[0], attrs)
        _check_vectors(view, shapes, ("gamma", "beta"))
        statistics = _statistics_shape(name, shapes[0], view)
        return [shapes[0], statistics, statistics]

    op = Op(name, inputs, attrs=attrs, shape=shape, dtype=lambda dtypes, attrs: [dtypes[0]] * 3, outputs=3, sample=sample,
            doc=doc, visible=lambda attrs: 3 if attrs.get("output_mean_var") else 1, cost=cost.each(7),
            saves=("data", "gamma", "out"), input_rule=input_rule)

    @op.forward("default, default, default -> default...")
    def _(k: Kernels, data: Array, gamma: Array, beta: Array, attrs: Attrs) -> Sequence[Array]:
        floating(name, data, gamma, beta)
        view = view_of(data.shape, attrs)
        x = wide(data)
        if view.axes == (x.ndim - 1,) == (view.place,) and x.size >= LARGE and x.flags.c_contiguous:
            out, mean, deviation = _fused(k, x, gamma, beta, attrs["eps"])
        else:
            out, mean, variance = _centred(k.xp, x.reshape(view.shape), view.axes)
            deviation = k.xp.sqrt(variance + x.dtype.type(attrs["eps"]))
            out = _scaled(out, 1 / deviation, gamma, beta, view)
        statistics = _statistics_shape(name, data.shape, view)
        return tuple(part.reshape(shape).astype(data.dtype, copy=False) for part, shape in (
            (out, data.shape), (mean, statistics), (deviation, statistics)))

    @op.gradient
    def _(F: ArrayFunctions, g: Arriving, data: ArrayObject, gamma: ArrayObject, beta: ArrayObject, out: Sequence[ArrayObject],
          attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
        own = _first(g)
        if own is None:
            return None, None, None
        view = view_of(tuple(data.shape), attrs)
        kept = tuple(1 if axis in view.axes else size for axis, size in enumerate(view.shape))
        mean, deviation = (F.Reshape(part, shape=kept) for part in out[1:])
        return tuple(F._normalize_backward(own, data, gamma, mean, F.reciprocal(deviation), view=tuple(view)))

    return op


def _statistics_shape(name: str, shape: Shape, view: View) -> tuple[int, ...]:
    """A group's statistics are (batch, groups); a layer's keep the axis, as 1."""
    if name == "LayerNorm":
        return tuple(1 if axis in view.axes else size for axis, size in enumerate(shape))
    return tuple(view.shape[:2])


def _fused(k: Kernels, x: Array, gamma: Array, beta: Array, epsilon: float) -> tuple[Array, Array, Array]:
    """Layer normalization along the last axis, one pass a row."""
    rows = x.reshape(-1, x.shape[-1])
    out, mean, deviation = k.xp.empty_like(rows), k.xp.empty(len(rows), x.dtype), k.xp.empty(len(rows), x.dtype)
    k.layer_norm_rows(rows, gamma.astype(x.dtype, copy=False), beta.astype(x.dtype, copy=False), epsilon, out, mean, deviation)
    return out, mean, deviation


def _vectors(size: int) -> list[Array]:
    return [np.linspace(0.5, 1.5, size, dtype=np.float32), np.linspace(-1, 1, size, dtype=np.float32)]


def _cube() -> Array:
    return np.random.default_rng(7).uniform(-2, 2, (2, 3, 4)).astype(np.float32)


layer_norm = _each_its_own(
    "LayerNorm", "data gamma beta", _layer_view, lambda: [([_cube(), *_vectors(4)], {}), ([_cube(), *_vectors(3)], {"axis": 1})],
    """``(data - mean) / sqrt(variance + eps) * gamma + beta``, with mean and variance along ``axis``.

With ``output_mean_var=True`` the mean and the deviation come too; no gradient flows through them.""",
    {"axis": -1, "eps": 1e-5, "output_mean_var": False}, channels("axis"))

_each_its_own("InstanceNorm", "data gamma beta", _instance_view, lambda: [([_cube(), *_vectors(3)], {})],
              "Normalizes each channel of each sample of data (batch, channels, space, …); gamma and beta (channels,).",
              {"eps": 1e-3}, channels(1))


def _group_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    return [out, (attrs["num_groups"],), (attrs["num_groups"],)]


group_norm = _each_its_own(
    "GroupNorm", "data gamma beta", _group_view, lambda: [([_cube(), *_vectors(3)], {"num_groups": 3}),
                                                          ([_cube(), *_vectors(1)], {})],
    """Normalizes each group of channels of each sample; gamma and beta have a value for each group, as in MXNet 1.9.1.

With ``output_mean_var=True`` the mean and the deviation (batch, num_groups) come too.""",
    {"num_groups": 1, "eps": 1e-5, "output_mean_var": False}, _group_inputs)


def _batch_shape(shapes: list[Shape], attrs: Attrs) -> list[Shape]:
    view = _batch_view(shapes[0], attrs)
    _check_vectors(view, shapes, ("gamma", "beta", "moving_mean", "moving_var"))
    if attrs["eps"] < 0:
        raise ParameterError(expected("eps", "at least 0", attrs["eps"]),
                             hint="eps avoids a division by zero; it is 1e-3 by default.")
    return [shapes[0], shapes[1], shapes[1], (1,)]


def _batch_dtypes(dtypes: list[DType], attrs: Attrs) -> list[DType]:
    inner = _batch_input_dtype(1, dtypes[0], attrs)
    return [dtypes[0], inner, inner, inner]


def _batch_input_dtype(place: int, dtype: DType, attrs: Attrs) -> DType:
    """The vectors stay float32 for float16 data."""
    return np.dtype(np.float32) if place and dtype == np.float16 else dtype


def _batch_cost(attrs: Attrs, inputs: Sequence[cost.Meta], outputs: Sequence[cost.Meta]) -> tuple[int, int]:
    """As each normalization; the moving statistics need not be computed."""
    return cost.each(4 if attrs["use_global_stats"] else 7)(attrs, inputs, outputs)


class _Averaging(Op):
    """The record of an operator that writes moving averages in training."""

    def visits(self, attrs: Attrs, stypes: Sequence[str], training: bool) -> Visits:
        touched = super().visits(attrs, stypes, training)
        if attrs.get("fix_gamma"):
            del touched.reads[1]
        return touched if training and not attrs.get("use_global_stats") else touched._replace(writes={})


batch_norm = _Averaging(
    "BatchNorm", "data gamma beta moving_mean moving_var",
    attrs={"eps": 1e-3, "momentum": 0.9, "fix_gamma": True, "use_global_stats": False, "output_mean_var": False, "axis": 1,
           "cudnn_off": False, "min_calib_range": None, "max_calib_range": None},
    mutates=(3, 4), nondifferentiable=(3, 4), shape=_batch_shape, dtype=_batch_dtypes, outputs=4, cost=_batch_cost,
    input_rule=channels("axis"), input_dtype=_batch_input_dtype,
    initial={"moving_mean": ("zero", {}), "moving_var": ("one", {})},
    visible=lambda attrs: 3 if attrs["output_mean_var"] else 1, aliases=("BatchNorm_v1",),
    sample=lambda: [([samples.grid(), *_vectors(5), np.zeros(5, np.float32), np.ones(5, np.float32)], {"fix_gamma": fixed})
                    for fixed in (True, False)], saves=("data", "gamma", "out"),
    doc="""Normalizes each channel by its mean and variance over the batch while training, by the moving ones otherwise.

In training, the operator updates the statistics: ``moving_mean = momentum * moving_mean + (1 - momentum) * mean``, and
``moving_var`` likewise.  MXNet updates them in the backward pass.  With ``fix_gamma=True``, the default, gamma counts as 1 and
has a zero gradient; MXNet also overwrites it.  ``output_mean_var=True`` also returns the mean and one over the deviation.""")


@batch_norm.forward("default, default, default, default, default -> default...")
def _(k: Kernels, data: Array, gamma: Array, beta: Array, moving_mean: Array, moving_var: Array, attrs: Attrs) -> Sequence[Array]:
    floating("BatchNorm", data, gamma, beta, moving_mean, moving_var)
    view, x = _batch_view(data.shape, attrs), wide(data)
    vector = along(view.place, view.shape)
    own = hooks.state.training and not attrs["use_global_stats"]
    if own:
        out, mean, variance = _centred(k.xp, x, view.axes)
        for moving, batch in ((moving_mean, mean), (moving_var, variance)):
            added = (batch.reshape(-1) * (1 - attrs["momentum"])).astype(moving.dtype, copy=False)
            moving[...] = moving * moving.dtype.type(attrs["momentum"]) + added  # at once, as an interrupt may come
    else:
        mean, variance = (part.reshape(vector).astype(x.dtype, copy=False) for part in (moving_mean, moving_var))
        out = x - mean
    share: Array = 1 / k.xp.sqrt(variance + x.dtype.type(attrs["eps"]))
    out = _scaled(out, share, None if attrs["fix_gamma"] else gamma.astype(x.dtype, copy=False),
                  beta.astype(x.dtype, copy=False), view)
    return (out.astype(data.dtype, copy=False), mean.reshape(-1).copy(), share.reshape(-1),
            k.xp.full(1, not own, x.dtype))


@batch_norm.gradient
def _(F: ArrayFunctions, g: Arriving, data: ArrayObject, gamma: ArrayObject, beta: ArrayObject, moving_mean: ArrayObject,
      moving_var: ArrayObject, out: Sequence[ArrayObject], attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
    own = _first(g)
    if own is None:
        return None, None, None, None, None
    view = _batch_view(tuple(data.shape), attrs)
    vector = along(view.place, view.shape)
    mean, share = (F.Reshape(part, shape=vector) for part in out[1:3])
    gradients = F._normalize_backward(own, data, gamma, mean, share, out[3], view=tuple(view), fix_gamma=attrs["fix_gamma"])
    return (*gradients, None, None)


LENGTH_MODES = ("instance", "channel", "spatial")


def _length_axes(shape: tuple[int, ...], attrs: Attrs) -> tuple[int, ...]:
    mode = attrs["mode"]
    if mode not in LENGTH_MODES:
        raise UnknownNameError.of("mode of L2Normalization", mode, LENGTH_MODES)
    if mode != "instance" and len(shape) < 3:
        raise ShapeError(f"mode={mode!r} needs at least three axes; the data has shape {shape}.",
                         hint="mode='instance' takes any number of axes.")
    everything = tuple(range(1, len(shape)))
    return {"instance": everything, "channel": (1,), "spatial": everything[1:]}[mode]


def _length_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    _length_axes(shapes[0], attrs)
    return shapes[0]


lengths = Op("L2Normalization", "data", attrs={"eps": 1e-10, "mode": "instance"}, shape=_length_shape, cost=cost.each(3),
             sample=lambda: [([_cube()], {"mode": mode}) for mode in LENGTH_MODES], input_rule=first_alike,
             doc="""The data divided by its Euclidean length, ``sqrt(sum(data**2) + eps)``.

The norm is taken over each sample (``instance``), over axis 1 at each position (``channel``), or over each channel
(``spatial``).""")


@lengths.forward("default -> default")
def _(k: Kernels, data: Array, attrs: Attrs) -> Array:
    floating("L2Normalization", data)
    x = wide(data)
    axes = _length_axes(x.shape, attrs)
    squares = k.xp.square(x)
    total = squares.sum(axis=axes, keepdims=True) if axes else squares
    return (x / k.xp.sqrt(total + x.dtype.type(attrs["eps"]))).astype(data.dtype, copy=False)


@lengths.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    axes = _length_axes(tuple(data.shape), attrs)

    def total(array: ArrayObject) -> ArrayObject:
        return F.sum(array, axis=axes, keepdims=True) if axes else array

    share = F.rsqrt(total(F.square(data)) + attrs["eps"])
    return F.broadcast_mul(g - F.broadcast_mul(out, total(g * out)), share)


window = Op("_channel_window_sum", "data", attrs={"size": REQUIRED}, shape=infer.unchanged, cost=cost.each(2),
            sample=lambda: [([_cube()], {"size": 3})], saves=(), doc="Sums over a window of axis 1, centred on each place.")


@window.forward("default -> default")
def _window_sum(k: Kernels, x: Array, attrs: Attrs) -> Array:
    half, channels = attrs["size"] // 2, x.shape[1]
    sums = k.xp.concatenate([k.xp.zeros_like(x[:, :1]), k.xp.cumsum(x, axis=1, dtype=x.dtype)], axis=1)
    places = k.xp.arange(channels)
    totals = sums[:, k.xp.minimum(places + half + 1, channels)] - sums[:, k.xp.maximum(places - half, 0)]
    return k.xp.ascontiguousarray(totals)


window.gradient(lambda F, g, data, out, attrs, want: F._channel_window_sum(g, size=attrs["size"]))


def _response_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    if len(shapes[0]) < 2 or attrs["nsize"] < 1:
        raise ShapeError(f"LRN with nsize={attrs['nsize']} of data of shape {shapes[0]} has no window.",
                         hint="axis 1 holds the channels, and nsize, odd, is a number of them.")
    return shapes[0]


response = Op("LRN", "data", attrs={"alpha": 1e-4, "beta": 0.75, "knorm": 2.0, "nsize": REQUIRED}, shape=_response_shape,
              cost=cost.each(7), sample=lambda: [([_cube()], {"nsize": 3, "alpha": 0.5})], input_rule=first_alike,
              doc="Local response normalization: over ``(knorm + alpha / nsize * squares)**beta``, summed nsize channels wide.")


def _response(F: ArrayFunctions, data: ArrayObject, attrs: Attrs) -> ArrayObject:
    share: float = attrs["alpha"] / attrs["nsize"]
    knorm: float = attrs["knorm"]
    return F._channel_window_sum(F.square(data), size=attrs["nsize"]) * share + knorm


@response.forward("default -> default")
def _(k: Kernels, data: Array, attrs: Attrs) -> Array:
    floating("LRN", data)
    x = wide(data)
    total = _window_sum(k, x * x, {"size": attrs["nsize"]})
    base: Array = total * x.dtype.type(attrs["alpha"] / attrs["nsize"]) + x.dtype.type(attrs["knorm"])
    scaled: Array = x * base ** x.dtype.type(-attrs["beta"])
    return scaled.astype(data.dtype, copy=False)


@response.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    base = _response(F, data, attrs)
    share = F._power_scalar(base, scalar=-attrs["beta"])
    mixed = F._channel_window_sum(g * out / base, size=attrs["nsize"])
    slope: float = 2 * attrs["alpha"] * attrs["beta"] / attrs["nsize"]
    return g * share - data * mixed * slope


def _average_shape(shapes: list[Shape], attrs: Attrs) -> list[Shape]:
    data, average = shapes
    if len(data) != 2 or tuple(average) != tuple(data[1:]):
        raise ShapeError(f"data of shape {tuple(data)} and moving_avg of shape {tuple(average)} do not fit.",
                         hint="data is (batch, units), and moving_avg has one number per unit.")
    return [data, average]


sparse_activation = _Averaging(
    "IdentityAttachKLSparseReg", "data moving_avg", attrs={"sparseness_target": 0.1, "penalty": 0.001, "momentum": 0.9},
    mutates=(1,), nondifferentiable=(1,), shape=_average_shape, outputs=2, visible=1,
    dtype=lambda dtypes, attrs: [dtypes[0]] * 2,
    sample=lambda: [([1 / (1 + np.exp(-samples.grid())), np.full(5, 0.5, np.float32)], {"penalty": 0.5})], saves=("out",),
    doc="""The data itself, activations between 0 and 1, whose gradient keeps most of them small.

The backward pass adds the gradient of a penalty: ``penalty`` times the Kullback-Leibler divergence between each unit's mean
activation and ``sparseness_target``, which is ``penalty * ((1 - target) / (1 - average) - target / average)``.  In training,
the operator updates ``moving_avg``, one number per unit: ``momentum * moving_avg + (1 - momentum) * average``.  MXNet updates it
in the backward pass, and has this operator for symbols only.""")


@sparse_activation.forward("default, default -> default...")
def _(k: Kernels, data: Array, average: Array, attrs: Attrs) -> Sequence[Array]:
    floating("IdentityAttachKLSparseReg", data, average)
    if hooks.state.training:
        average *= average.dtype.type(attrs["momentum"])
        average += (wide(data).mean(axis=0) * (1 - attrs["momentum"])).astype(average.dtype, copy=False)
    return data.copy(), average.astype(data.dtype)


@sparse_activation.gradient
def _(F: ArrayFunctions, g: Arriving, data: ArrayObject | None, moving: ArrayObject | None, out: Sequence[ArrayObject],
      attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
    target, average = attrs["sparseness_target"], F.Reshape(out[1], shape=(1, -1))
    slope = F._rdiv_scalar(F._rminus_scalar(average, scalar=1.0), scalar=1 - target) - F._rdiv_scalar(average, scalar=target)
    return F.broadcast_add(_first(g), slope * attrs["penalty"]), None
