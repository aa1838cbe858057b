"""The softmax family: softmax, log_softmax, softmin, SoftmaxActivation, softmax_cross_entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...base.dtypes import is_left_out
from ...base.errors import DTypeError, RowIndexError, ShapeError, SparsekitError, UnknownNameError
from ...core import cost, infer
from ...core.op import Op
from ...core.partial_shapes import first_alike
from .. import samples
from ..indexing.positions import whole
from ..limits import dense_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Sparse, Store

#: Elements from which a compiled kernel is used: each process compiles or loads it once.
LARGE = 1 << 14


def floating(name: str, *stores: Store) -> None:
    """Raise for element types other than real numbers, as MXNet does."""
    for store in stores:
        if store.dtype.kind != "f":
            raise DTypeError(f"{name} takes real numbers, not {store.dtype}.", hint="cast it to float32 with astype().")


def wide(x: Array) -> Array:
    """The values to compute with: float16 as float32."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def checked_axis(axis: int, ndim: int) -> int:
    """One axis as a number from 0."""
    return infer.axes_of(int(axis), ndim)[0]


def along(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that lets a vector vary along one axis only."""
    return tuple(shape[place] if axis == place else 1 for axis in range(len(shape)))


def softmax_along(k: Kernels, x: Array, axis: int, log: bool = False, masked: bool = False) -> Array:
    """Softmax, or its logarithm, of real numbers along one axis.

    Parameters
    ----------
    masked : bool
        Whether -inf marks masked values, so that a slice of -inf only gives zeros.
    """
    xp = k.xp
    if not x.size:
        return x.copy()
    largest = x.max(axis=axis, keepdims=True)
    if (x.size >= LARGE and k.device == "cpu" and x.dtype == np.float32 and axis in (-1, x.ndim - 1)
            and x.flags.c_contiguous and not k.outside(largest - largest, 1)):  # not 0 where a largest is not finite
        out = np.empty_like(x)
        matrix = (-1, x.shape[-1])
        (k.log_softmax_rows if log else k.softmax_rows)(x.reshape(matrix), largest.reshape(-1), out.reshape(matrix))
        return out
    power = x - (xp.where(xp.isneginf(largest), 0, largest) if masked else largest)
    if log:
        power -= _log_of_sum(xp, power, axis)
        return power
    xp.exp(power, out=power)
    total = power.sum(axis=axis, keepdims=True)
    power /= xp.where(total == 0, 1, total) if masked else total
    return power


def _log_of_sum(xp: ArrayModule, power: Array, axis: int) -> Array:
    """Logarithm of the sum of exponentials of numbers whose largest is 0; in float64 its digits next to 0 count too."""
    powers = xp.exp(power)
    if power.dtype != np.float64:
        return xp.log(powers.sum(axis=axis, keepdims=True))
    top = xp.expand_dims(power.argmax(axis=axis), axis)
    xp.put_along_axis(powers, top, xp.take_along_axis(powers, top, axis) - 1, axis)  # 0, or nan
    return xp.log1p(powers.sum(axis=axis, keepdims=True))


def _masked(xp: ArrayModule, x: Array, length: Array, axis: int) -> Array:
    """x with -inf behind the first ``length`` values along the axis."""
    axis %= x.ndim
    places = xp.arange(x.shape[axis]).reshape(along(axis, x.shape))
    return xp.where(places < xp.expand_dims(whole(xp, length, "The length"), axis), x, -np.inf)


def _kind(attrs: Attrs, dtype: DType) -> DType:
    """Element type of the result: the requested one, else that of the data."""
    asked = attrs["dtype"]
    if is_left_out(asked):
        return dtype
    chosen: DType = np.dtype(asked)
    if chosen.kind != "f":
        raise DTypeError(f"dtype of a softmax must be float16, float32 or float64, got {chosen}.",
                         hint="leave dtype out for the type of the data.")
    return chosen


def _shape(shapes: list[Shape], attrs: Attrs, has_length: bool = False) -> Shape:
    data = shapes[0]
    axis = checked_axis(attrs["axis"], len(data))
    if attrs["temperature"] == 0:
        raise SparsekitError("temperature must not be 0.", hint="small temperatures approach a maximum; None means 1.")
    if len(shapes) > 1 and not attrs["use_length"]:
        raise SparsekitError("length was given, and use_length=False.", hint="set use_length=True as well.")
    if attrs["use_length"] and not has_length:
        raise SparsekitError("only softmax takes lengths.", hint="take the logarithm of softmax(data, length, …).")
    if attrs["use_length"]:
        if len(shapes) < 2:
            raise SparsekitError("use_length=True needs the array 'length'.", hint="softmax(data, length, use_length=True).")
        if tuple(shapes[1]) != data[:axis] + data[axis + 1:]:
            raise ShapeError(f"length has shape {shapes[1]}, not {data[:axis] + data[axis + 1:]}.",
                             hint="one length for each slice along the axis.")
    return data


def _declare(name: str, log: bool, sign: int, doc: str, inputs: str = "data",
             sample: Callable[[], samples.Samples] | None = None) -> Op:
    has_length = "length" in inputs
    op = Op(name, inputs, attrs={"axis": -1, "temperature": None, "dtype": None, "use_length": False},
            shape=lambda shapes, attrs: _shape(shapes, attrs, has_length), dtype=lambda dtypes, attrs: _kind(attrs, dtypes[0]),
            sample=sample or samples.one(), cost=cost.each(5), saves=("out",), input_rule=first_alike,
            wants=lambda attrs, name: bool(attrs["use_length"]), doc=doc)

    def forward(k: Kernels, x: Array, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
        attrs = arguments[-1]
        floating(name, x)
        kind = _kind(attrs, x.dtype)
        x = wide(x)
        factor = sign * (attrs["temperature"] or 1)
        if factor != 1:
            x = x / x.dtype.type(factor)
        if len(arguments) == 2:
            x = _masked(k.xp, x, arguments[0], attrs["axis"])
        return softmax_along(k, x, attrs["axis"], log, len(arguments) == 2).astype(kind, copy=False)

    def of_sparse(k: Kernels, x: Sparse, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:  # no value of a softmax is zero
        return forward(k, dense_of(k, x, name), *arguments)

    for stype, function in (("default", forward), ("csr|row_sparse", of_sparse)):
        op.forward(f"{stype}, default? -> default" if has_length else f"{stype} -> default")(function)
    return op


def _scaled(gradient: ArrayObject, attrs: Attrs, sign: int) -> ArrayObject:
    factor = sign * (attrs["temperature"] or 1)
    return gradient if factor == 1 else gradient / factor


def _buffer(want: Sequence[Want | None], attrs: Attrs, sign: int = 1) -> ArrayObject | None:
    """Where the gradient may be written straight away, unless it is to be scaled afterwards."""
    return want[0].out if want[0] and sign * (attrs["temperature"] or 1) == 1 else None


def _softmax_rule(F: ArrayFunctions, g: ArrayObject, out: ArrayObject, attrs: Attrs, want: Sequence[Want | None],
                  sign: int = 1) -> ArrayObject:
    return _scaled(F._softmax_backward(g, out, axis=attrs["axis"], out=_buffer(want, attrs, sign)), attrs, sign)


def _backward(name: str, formula: Callable[[ArrayModule, Array, Array, int], Array], doc: str) -> Op:
    """Declare the gradient of a softmax as one operator of ``g`` and its output."""
    op = Op(name, "g made", attrs={"axis": -1}, shape=infer.unchanged, cost=cost.each(4),
            saves=("g", "made"), doc=doc,
            sample=lambda: [([samples.grid(), samples.grid(seed=1, low=-2.0, high=-0.1)], {"axis": axis}) for axis in (-1, 0)])

    @op.forward("default, default -> default")
    def _(k: Kernels, g: Array, result: Array, attrs: Attrs, out: Array | None = None) -> Array:
        if not (result.size >= LARGE and attrs["axis"] in (-1, result.ndim - 1)
                and all(array.dtype == np.float32 and array.flags.c_contiguous for array in (g, result))):
            return formula(k.xp, wide(g), wide(result), attrs["axis"]).astype(np.result_type(g, result), copy=False)
        out, matrix = k.xp.empty_like(result) if out is None else out, (-1, result.shape[-1])
        getattr(k, f"{name[1:]}_rows")(g.reshape(matrix), result.reshape(matrix), out.reshape(matrix))
        return out

    return op


_backward("_softmax_backward", lambda xp, g, out, axis: out * (g - (g * out).sum(axis=axis, keepdims=True)),
          "``out * (g - sum(g * out))`` along an axis: the gradient of softmax, from its output.").gradient(
    lambda F, g, above, out, result, attrs, want: (
        want[0] and F._softmax_backward(g, out, axis=attrs["axis"]),
        want[1] and F.elemwise_sub(
            g * F.broadcast_sub(above, F.sum(above * out, axis=attrs["axis"], keepdims=True)),
            F.broadcast_mul(above, F.sum(g * out, axis=attrs["axis"], keepdims=True)))))

_backward("_log_softmax_backward", lambda xp, g, out, axis: g - xp.exp(out) * g.sum(axis=axis, keepdims=True),
          "``g - exp(out) * sum(g)`` along an axis: the gradient of log_softmax, from its output.").gradient(
    lambda F, g, above, out, result, attrs, want: (
        want[0] and F.broadcast_sub(g, F.sum(g * F.exp(out), axis=attrs["axis"], keepdims=True)),
        want[1] and F.negative(F.broadcast_mul(g * F.exp(out), F.sum(above, axis=attrs["axis"], keepdims=True)))))


softmax = _declare("softmax", False, 1, inputs="data length?", sample=lambda: [
    ([samples.grid()], {}), ([samples.grid()], {"axis": 0, "temperature": 2.0}),
    ([samples.grid(), np.array([4.5, 1.5, 0, 0.5])], {"use_length": True})], doc="""``exp(x) / sum(exp(x))`` along ``axis``.

The data are first divided by ``temperature``.  With ``use_length=True``, the softmax is taken over the first ``length`` values
along the axis, and the result is 0 for the others.  ``length`` has the shape of the data without the axis.""")
softmax.gradient(lambda F, g, data, length, out, attrs, want: (
    _softmax_rule(F, g, out, attrs, want), want[1] and F.sum(F.zeros_like(g), axis=attrs["axis"])))

softmin = _declare("softmin", False, -1, "Softmax of the negative data along ``axis``.")
softmin.gradient(lambda F, g, data, out, attrs, want: _softmax_rule(F, g, out, attrs, want, -1))

log_softmax = _declare("log_softmax", True, 1, "Logarithm of the softmax along ``axis``.")
log_softmax.gradient(lambda F, g, data, out, attrs, want: _scaled(
    F._log_softmax_backward(g, out, axis=attrs["axis"], out=_buffer(want, attrs)), attrs, 1))

MODES = ("instance", "channel")


def _activation_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    if attrs["mode"] not in MODES:
        raise UnknownNameError.of("mode of SoftmaxActivation", attrs["mode"], MODES)
    if attrs["mode"] == "channel" and len(shapes[0]) < 3:
        raise ShapeError(f"mode='channel' needs at least three axes; the data has shape {shapes[0]}.",
                         hint="axis 1 holds the channels; softmax(axis=1) takes any number of axes.")
    return shapes[0]


activation = Op("SoftmaxActivation", "data", attrs={"mode": "instance"}, shape=_activation_shape, cost=cost.each(5),
                sample=lambda: [([np.stack([samples.grid(), samples.grid(seed=1)])], {"mode": mode}) for mode in MODES],
                saves=("out",), input_rule=first_alike,
                doc="""Softmax over each sample's last axis (``mode='instance'``) or over axis 1 (``'channel'``).

Deprecated in MXNet; ``softmax`` does the same.""")


@activation.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    floating("SoftmaxActivation", x)
    return softmax_along(k, wide(x), _activation_axis(attrs)).astype(x.dtype, copy=False)


def _activation_axis(attrs: Attrs) -> int:
    return 1 if attrs["mode"] == "channel" else -1


activation.gradient(lambda F, g, data, out, attrs, want: _softmax_rule(
    F, g, out, {"axis": _activation_axis(attrs), "temperature": None}, want))


def _cross_entropy_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    data, label = shapes
    if len(data) != 2 or tuple(label) != data[:1]:
        raise ShapeError(f"data of shape {data} and label of shape {label} do not fit.",
                         hint="data is (batch, classes) and label (batch,).")
    return (1,)


cross_entropy = Op("softmax_cross_entropy", "data label", shape=_cross_entropy_shape, dtype=lambda dtypes, attrs: dtypes[0],
                   nondifferentiable=(1,), cost=cost.each_taken(5),
                   input_rule=lambda shapes, out, attrs: [shapes[0], shapes[0][:1] if shapes[0] else None],
                   sample=lambda: [([samples.grid(), np.array([1, 0, 4, 2], np.float32)], {})], saves=("data", "label"),
                   doc="""Cross entropy of the softmax of data (batch, classes) and labels (batch,), summed over the batch.""")


def _one_hot(xp: ArrayModule, label: Array, shape: tuple[int, ...]) -> Array:
    places = whole(xp, label, "softmax_cross_entropy: the label")
    if places.size and not (places.min() >= 0 and places.max() < shape[1]):
        wrong = places[(places < 0) | (places >= shape[1])][0]
        raise RowIndexError(f"Label {wrong} is out of range for {shape[1]} classes.", hint="classes are counted from 0.")
    hits: Array = places[:, None] == xp.arange(shape[1])
    return hits


@cross_entropy.forward("default, default -> default")
def _(k: Kernels, x: Array, label: Array, attrs: Attrs) -> Array:
    floating("softmax_cross_entropy", x)
    logs = softmax_along(k, wide(x), -1, log=True)
    total: Array = logs[_one_hot(k.xp, label, x.shape)].sum(keepdims=True)
    return -total.astype(x.dtype)


@cross_entropy.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, label: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    apart = F._label_apart(F.softmax(data), label)
    return F.broadcast_mul(apart, F.Reshape(g, shape=(1, 1))), None


label_apart = Op("_label_apart", "data label", shape=infer.unchanged, dtype=lambda dtypes, attrs: dtypes[0],
                 nondifferentiable=(1,), cost=cost.summed, sample=cross_entropy.sample, saves=(),
                 doc="The data (batch, classes), less 1 at each row's label.")
label_apart.gradient(lambda F, g, data, label, out, attrs, want: (g, None))


@label_apart.forward("default, default -> default")
def _(k: Kernels, x: Array, label: Array, attrs: Attrs) -> Array:
    return x - _one_hot(k.xp, label, x.shape)
