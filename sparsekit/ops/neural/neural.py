"""Layers: FullyConnected, Activation, LeakyReLU, Dropout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ParameterError, ShapeError, SparsekitError, UnknownNameError, expected
from ...base.rng import generator
from ...core import cost, hooks, infer
from ...core.op import REQUIRED, Op
from ...core.partial_shapes import channels, first_alike
from .. import samples
from ..elementwise.unary import _sigmoid, _softplus, from_scipy, on_data, plain
from ..limits import check_gradient
from ..sparse.dot import product_at, values_as
from .softmax import LARGE, along, checked_axis, floating, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.op import Want
    from ...core.partial_shapes import Partial
    from ...core.types import ArrayFunctions, ArrayObject, Gradient, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ...storage import CSR, RowSparse
    from ...storage.types import Sparse


def _fc_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    data, weight = shapes[:2]
    if len(weight) != 2 or weight[0] != attrs["num_hidden"]:
        raise ShapeError(f"weight has shape {weight}; num_hidden={attrs['num_hidden']} needs ({attrs['num_hidden']}, inputs).",
                         hint="the weight of FullyConnected is (num_hidden, inputs).")
    inner = math.prod(data[1:]) if attrs["flatten"] else data[-1]
    if inner != weight[1]:
        raise ShapeError(f"data of shape {data} gives {inner} inputs, but weight has shape {weight}.",
                         hint="weight is (num_hidden, inputs).")
    if (len(shapes) > 2) == bool(attrs["no_bias"]):
        raise SparsekitError(f"bias was {'given' if attrs['no_bias'] else 'not given'}, and no_bias={attrs['no_bias']}.",
                             hint="no_bias=True goes without the array bias.")
    if len(shapes) > 2 and tuple(shapes[2]) not in ((attrs["num_hidden"],), (attrs["num_hidden"], 1)):
        raise ShapeError(f"bias has shape {shapes[2]}, not ({attrs['num_hidden']},).", hint="one bias per output.")
    return (data[0], attrs["num_hidden"]) if attrs["flatten"] else (*data[:-1], attrs["num_hidden"])


def _fc_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    data, weight, *bias = shapes
    if not data:
        return shapes
    sizes = data[1:] if attrs["flatten"] else data[-1:]
    inner = None if None in sizes else math.prod(sizes)
    if out and data[0] is None and len(data) > 1:
        data = (out[0], *data[1:])
    if len(data) == 2 and weight is not None and data[1] is None:
        data = (data[0], weight[1])
    return [data, (attrs["num_hidden"], inner), *[(attrs["num_hidden"], 1)[:len(shape or (0,))] for shape in bias]]


fully_connected = Op(
    "FullyConnected", "data weight bias?", attrs={"num_hidden": REQUIRED, "no_bias": False, "flatten": True}, shape=_fc_shape,
    cost=cost.fully_connected, unlimited=True, input_rule=_fc_inputs, wants=lambda attrs, name: not attrs["no_bias"],
    sample=lambda: [([samples.grid(), samples.grid(3, 5, seed=1), samples.grid(1, 3, seed=2)[0]], {"num_hidden": 3}),
                    ([samples.grid(), samples.grid(3, 5, seed=1)], {"num_hidden": 3, "no_bias": True})],
    saves=("data", "weight", "bias"),
    doc="""``data · weightᵀ + bias``: data (batch, inputs), weight (num_hidden, inputs), bias (num_hidden,).

Unlike in MXNet, csr data is not converted to dense.  The gradient of the weight is dense all the same.  For a row_sparse
gradient, use ``dot`` with a weight of shape (inputs, units), or ``gluon.nn.Dense`` with
``weight_grad_stype='row_sparse'``.""")


def _flattened(x: Array, attrs: Attrs) -> Array:
    return x.reshape(x.shape[0], -1) if attrs["flatten"] and x.ndim != 2 else x


@fully_connected.forward("default, default, default? -> default")
def _(k: Kernels, x: Array, weight: Array, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    return biased(k.xp.matmul(_flattened(x, arguments[-1]), weight.T), arguments[0] if len(arguments) == 2 else None)


def biased(out: Array, bias: Array | None) -> Array:
    """The result with the bias added, if there is one, of shape (n,) or (n, 1)."""
    if bias is None:
        return out
    if bias.dtype != out.dtype:
        out = out.astype(np.result_type(out.dtype, bias.dtype), copy=False)
    out += bias if bias.ndim == 1 else bias.reshape(-1)
    return out


@fully_connected.forward("csr, default, default? -> default")
def _(k: Kernels, x: CSR, weight: Array, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    bias = arguments[0] if len(arguments) == 2 else None
    turned = k.xp.empty((weight.shape[0], x.shape[0]), np.result_type(x.dtype, weight.dtype))
    k.dense_dot_csr_transposed(k.xp.ascontiguousarray(weight), values_as(x, turned), x.indices, x.indptr, turned)
    return biased(k.xp.ascontiguousarray(turned.T), bias)


@fully_connected.forward("default, row_sparse, default? -> default")
def _(k: Kernels, x: Array, weight: RowSparse, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    bias, attrs = arguments[0] if len(arguments) == 2 else None, arguments[-1]
    x = _flattened(x, attrs)
    out = k.xp.zeros((*x.shape[:-1], weight.shape[0]), np.result_type(x.dtype, weight.dtype))
    out[..., weight.indices] = k.xp.matmul(x, weight.data.T)
    return biased(out, bias)


@fully_connected.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, weight: ArrayObject, bias: ArrayObject | None,
      out: ArrayObject | None, attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
    flat = data
    if data.stype == "default" and len(data.shape) != 2:
        inner = weight.shape[1]
        flat = F.Reshape(data, shape=(-1, inner))
        g = F.Reshape(g, shape=(-1, attrs["num_hidden"]))
    gradient = want[0] and _data_gradient(F, g, data, weight, want[0])
    if gradient is not None and flat is not data:
        gradient = F.Reshape(gradient, shape=tuple(data.shape))
    return (gradient, want[1] and F.dot(g, flat, transpose_a=True, forward_stype="default", out=want[1].out
                                        if want[1].stype in (None, "default") else None),
            want[2] and bias is not None and _bias_gradient(F, g, bias))


def _data_gradient(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, weight: ArrayObject, want: Want) -> ArrayObject:
    if want.places is not None and weight.stype == "default":
        return product_at(F, g, F.transpose(weight), data, want.places)
    check_gradient("FullyConnected", data)
    return F.dot(g, weight, forward_stype="default")


def _bias_gradient(F: ArrayFunctions, g: ArrayObject, bias: ArrayObject) -> ArrayObject:
    gradient = F.sum(g, axis=0)
    return gradient if len(bias.shape) == 1 else F._view(gradient, shape=tuple(bias.shape))


ACTIVATIONS = ("relu", "sigmoid", "log_sigmoid", "tanh", "softrelu", "softsign")

activation = Op("Activation", "data", attrs={"act_type": REQUIRED}, shape=infer.unchanged,
                sample=lambda: [([samples.grid()], {"act_type": kind}) for kind in ACTIVATIONS],
                doc="The activation function named by ``act_type``: " + ", ".join(ACTIVATIONS) + ".")


def _activate(k: Kernels, x: Array, kind: str) -> Array:
    xp = k.xp
    if kind == "relu":
        return xp.maximum(x, 0)
    if kind == "sigmoid":
        return _sigmoid(k, x)
    if kind == "tanh":
        return xp.tanh(x)
    if kind == "softrelu":
        return _softplus(xp, x)
    if kind == "log_sigmoid":
        return -_softplus(xp, -x)
    if kind == "softsign":
        values: Array = x / (1 + xp.abs(x))
        return values
    raise UnknownNameError.of("activation", kind, ACTIVATIONS)


@activation.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    if x.dtype.kind != "f":
        floating("Activation", x)
    return _activate(k, x, attrs["act_type"])


for _stype in ("row_sparse", "csr"):
    @activation.forward(f"{_stype} -> {_stype}", act_type=("relu", "tanh", "softsign"))
    def _(k: Kernels, x: Sparse, attrs: Attrs) -> Sparse:
        floating("Activation", x)
        return on_data(x, _activate(k, x.data, attrs["act_type"]))


@activation.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    kind = attrs["act_type"]
    if kind == "relu":
        return F._relu_backward(g, out)
    if kind == "sigmoid":
        return F._sigmoid_backward(g, out)
    if kind == "tanh":
        return g * (F.square(plain(F, out)) * -1.0 + 1)
    if kind == "softrelu":
        return F._softrelu_backward(g, data)
    if kind == "log_sigmoid":
        return g * F.sigmoid(F.negative(data))
    return g / F.square(F.abs(plain(F, data)) + 1)


RECTIFIERS = ("leaky", "prelu", "elu", "selu", "gelu", "rrelu")

#: Klambauer et al. 2017, "Self-normalizing neural networks", https://arxiv.org/abs/1706.02515.
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def _leaky_shape(shapes: list[Shape], attrs: Attrs) -> Shape | list[Shape]:
    kind, data = attrs["act_type"], shapes[0]
    if kind not in RECTIFIERS:
        raise UnknownNameError.of("act_type of LeakyReLU", kind, RECTIFIERS)
    if (kind == "prelu") != (len(shapes) > 1):
        raise SparsekitError(f"act_type={kind!r} {'needs the array gamma' if kind == 'prelu' else 'takes no gamma'}.",
                             hint="only act_type='prelu' learns its slopes, and they are gamma.")
    if len(shapes) > 1:
        _slope_shape(data, tuple(shapes[1]))
    return [data, data] if kind == "rrelu" else data


def _slope_shape(data: tuple[int, ...], gamma: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which gamma, one slope, one a channel or one for each place of the first axes, meets the data."""
    if math.prod(gamma) == 1:
        return (1,) * len(data)
    if len(gamma) == 1 and len(data) > 1 and gamma[0] == data[1]:
        return along(1, data)
    if 1 < len(gamma) <= len(data) and all(size in (1, extent) for size, extent in zip(gamma, data, strict=False)):
        return gamma + (1,) * (len(data) - len(gamma))
    raise ShapeError(f"gamma of shape {gamma} does not fit data of shape {data}.",
                     hint="gamma holds one slope, one for each place of axis 1, or one for each place of the first axes.")


def _leaky_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    return channels(1)(shapes, out, attrs) if len(shapes) > 1 else [out]


leaky_relu = Op(
    "LeakyReLU", "data gamma?", attrs={"act_type": "leaky", "slope": 0.25, "lower_bound": 0.125, "upper_bound": 0.334},
    shape=_leaky_shape, input_rule=_leaky_inputs, wants=lambda attrs, name: attrs["act_type"] == "prelu",
    initial={"gamma": ("Constant", {"value": 0.25})}, outputs=lambda attrs: 2 if attrs["act_type"] == "rrelu" else 1, visible=1,
    dtype=lambda dtypes, attrs: dtypes[0], random=lambda attrs, training: training and attrs["act_type"] == "rrelu",
    sample=lambda: [*(([samples.grid()], {"act_type": kind}) for kind in RECTIFIERS if kind not in ("prelu", "rrelu")),
                    ([samples.grid(), samples.grid(1, 5, seed=1)[0]], {"act_type": "prelu"}),
                    ([samples.grid(), np.full(1, 0.5, np.float32)], {"act_type": "prelu"})],
    doc="""Rectifiers with nonzero results for negative values, by ``act_type``.

``leaky``: ``slope * x``; ``prelu``: ``gamma * x``, one slope or one per channel, learnt; ``elu``: ``slope * (exp(x) - 1)``;
``selu``: the same, scaled so that it normalizes itself; ``gelu``: ``x`` times the normal distribution function of ``x``,
for positive values too; ``rrelu``: a slope drawn for each value from lower_bound to upper_bound while training, and
their mean otherwise.""")


@leaky_relu.forward("default, default? -> default...")
def _(k: Kernels, x: Array, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array | tuple[Array, Array]:
    attrs, xp = arguments[-1], k.xp
    kind, dtype = attrs["act_type"], x.dtype
    floating("LeakyReLU", x)
    x = wide(x)
    if kind == "gelu":
        return _gelu(k, x).astype(dtype, copy=False)
    if kind in ("elu", "selu"):
        curve = xp.expm1(xp.minimum(x, 0)) * x.dtype.type(attrs["slope"] if kind == "elu" else SELU_ALPHA)
        scaled: Array = xp.where(x > 0, x, curve) * x.dtype.type(1 if kind == "elu" else SELU_SCALE)
        return scaled.astype(dtype, copy=False)
    slope = arguments[0].reshape(_slope_shape(x.shape, arguments[0].shape)) if len(arguments) == 2 else _slopes(xp, x, attrs)
    result = x * slope
    result = xp.maximum(x, result, out=result) if kind == "leaky" and 0 <= slope <= 1 else xp.where(x > 0, x, result)
    result = result.astype(dtype, copy=False)
    return (result, slope.astype(dtype, copy=False)) if kind == "rrelu" else result


def _by_kernel(*arrays: Array) -> bool:
    return arrays[0].size >= LARGE and all(array.dtype == np.float32 and array.flags.c_contiguous for array in arrays)


_erfc = from_scipy("erfc")


def _normal(xp: ArrayModule, x: Array) -> Array:
    """The normal distribution function."""
    probabilities: Array = x.dtype.type(0.5) * _erfc(xp, x * x.dtype.type(-math.sqrt(0.5)))  # 1 + erf would cancel far below zero
    return probabilities


def _gelu(k: Kernels, x: Array) -> Array:
    if not _by_kernel(x):
        return x * _normal(k.xp, x)
    out = k.xp.empty_like(x)
    k.gelu(x.reshape(-1), out.reshape(-1))
    return out


gelu_backward = Op("_gelu_backward", "g data", shape=infer.same_shape, sample=samples.pair(), saves=("g", "data"),
                   doc="The gradient of gelu: ``g`` times the distribution function and ``data`` times the density at ``data``.")


@gelu_backward.forward("default, default -> default")
def _(k: Kernels, g: Array, x: Array, attrs: Attrs, out: Array | None = None) -> Array:
    if not _by_kernel(g, x):
        g, x, dtype = wide(g), wide(x), np.result_type(g, x)
        bell = k.xp.exp(x * x * x.dtype.type(-0.5)) * x.dtype.type(1 / math.sqrt(2 * math.pi))
        gradient: Array = g * (_normal(k.xp, x) + x * bell)
        return gradient.astype(dtype, copy=False)
    out = k.xp.empty_like(x) if out is None else out
    k.gelu_backward(g.reshape(-1), x.reshape(-1), out.reshape(-1))
    return out


@gelu_backward.gradient
def _(F: ArrayFunctions, g: ArrayObject, above: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    bell = F.exp(F.square(data) * -0.5) * (1 / math.sqrt(2 * math.pi))
    return (want[0] and F._gelu_backward(g, data),
            want[1] and g * above * bell * (F.square(data) * -1.0 + 2.0))


def _slopes(xp: ArrayModule, x: Array, attrs: Attrs) -> Array | np.floating[Any]:  # Any: numpy's own parameter
    if attrs["act_type"] == "leaky":
        slope: np.floating[Any] = x.dtype.type(attrs["slope"])  # Any: the same
        return slope
    low, high = attrs["lower_bound"], attrs["upper_bound"]
    if not hooks.state.training:
        return xp.full(x.shape, (low + high) / 2, x.dtype)
    return xp.asarray(generator().uniform(low, high, x.shape).astype(x.dtype))


@leaky_relu.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, gamma: ArrayObject | None, out: Any,  # Any: for rrelu, two arrays
      attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
    kind = attrs["act_type"]
    slope: float = attrs["slope"]
    if kind == "gelu":
        return F._gelu_backward(g, plain(F, data), out=want[0] and want[0].out)
    above = F._relu_backward(g, data)
    below = g - above
    if kind == "prelu" and gamma is not None:
        return _learnt_slope_gradients(F, above, below, data, gamma, want)
    if kind == "leaky":
        return above + below * slope
    if kind == "rrelu":
        return above + F._masked(below, out[1])
    result: ArrayObject = out
    if kind == "elu":
        return above + below * (result + slope)
    return above * SELU_SCALE + below * (result + SELU_SCALE * SELU_ALPHA)


def _learnt_slope_gradients(F: ArrayFunctions, above: ArrayObject, below: ArrayObject, data: ArrayObject, gamma: ArrayObject,
                            want: Sequence[Want | None]) -> tuple[Gradient, Gradient]:
    shape = _slope_shape(tuple(data.shape), tuple(gamma.shape))
    gradient = want[0] and above + F.broadcast_mul(below, F.Reshape(gamma, shape=shape))
    axes = tuple(axis for axis, size in enumerate(shape) if size == 1)
    summed = want[1] and F.elemwise_mul(below, data)
    if summed is not None and axes:
        summed = F.sum(summed, axis=axes)
    return gradient, want[1] and F.Reshape(summed, shape=tuple(gamma.shape))


masked = Op("_masked", "data mask", shape=infer.unchanged, dtype=lambda dtypes, attrs: dtypes[0], nondifferentiable=(1,),
            sample=samples.pair(), saves=("mask",), doc="The data times a mask of its shape, through which no gradient flows.")
masked.forward("default, default -> default")(lambda k, x, mask, attrs: (x * mask).astype(x.dtype, copy=False))
masked.gradient(lambda F, g, data, mask, out, attrs, want: (F._masked(g, mask), None))

DROPOUT_MODES = ("training", "always")


def _dropout_shape(shapes: list[Shape], attrs: Attrs) -> list[Shape]:
    if not 0 <= attrs["p"] <= 1:
        raise ParameterError(expected("p", "from 0 to 1", attrs["p"]), hint="p is the share of elements that are dropped.")
    if attrs["mode"] not in DROPOUT_MODES:
        raise UnknownNameError.of("mode of Dropout", attrs["mode"], DROPOUT_MODES)
    for axis in attrs["axes"]:
        checked_axis(axis, len(shapes[0]))
    return [shapes[0], shapes[0]]


dropout = Op("Dropout", "data", attrs={"p": 0.5, "mode": "training", "axes": (), "cudnn_off": False}, shape=_dropout_shape,
             outputs=2, visible=1, input_rule=first_alike,
             random=lambda attrs, training: attrs["p"] > 0 and (training or attrs["mode"] == "always"),
             sample=lambda: [([samples.grid()], {}), ([samples.grid()], {"p": 0.2, "mode": "always"})], saves=("out",),
             doc="""A share ``p`` of the values set to zero, the rest divided by ``1 - p``: while training, or always.

Elements along ``axes`` are dropped or kept together.  In prediction, the result is the data, unless ``mode`` is "always".""")


@dropout.forward("default -> default, default")
def _(k: Kernels, x: Array, attrs: Attrs) -> tuple[Array, Array]:
    floating("Dropout", x)
    if not attrs["p"] or not (hooks.state.training or attrs["mode"] == "always"):
        return x.copy(), k.xp.broadcast_to(k.xp.ones((), x.dtype), x.shape)
    mask = _kept(k.xp, x, attrs)
    masked: Array = x * mask
    return masked, mask


def _kept(xp: ArrayModule, x: Array, attrs: Attrs) -> Array:
    """Zero, or one over the share kept, for each value."""
    keep = 1 - attrs["p"]
    axes = {axis % x.ndim for axis in attrs["axes"]}
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    mask = (generator().random(shape, np.float32) < keep).astype(x.dtype)
    mask *= x.dtype.type(1 / keep if keep else 0)
    return xp.broadcast_to(xp.asarray(mask), x.shape)


dropout.gradient(lambda F, g, data, out, attrs, want: F._masked(g, out[1]))
