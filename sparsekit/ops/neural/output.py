"""Losses as operators, and output layers, whose gradient is that of a loss and ignores the head gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ShapeError, UnknownNameError
from ...core import cost, infer
from ...core.op import SHAPE_ONLY, Op
from ...core.partial_shapes import complete, first_alike, merged
from ...kernels import is_numpy
from ...storage import CSR, RowSparse
from .. import samples
from ..elementwise.unary import _sigmoid, on_data
from .softmax import along, floating, softmax_along, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.op import Want
    from ...core.partial_shapes import Partial
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import Kernels
    from ...storage.types import Sparse, Store


def first_dtype(dtypes: Sequence[DType], attrs: Attrs) -> DType:
    """The data's element type."""
    return dtypes[0]


def _regression_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    data, label = shapes
    if data[:1] != label[:1] or math.prod(data) != math.prod(label):
        raise ShapeError(f"label of shape {label} does not fit data of shape {data}.", hint="one label for each output.")
    return data


def _regression_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    data = merged(shapes[0], out)
    label = data[:1] if data is not None and len(data) == 2 and data[1] == 1 else data
    return [data, label if shapes[1] is None and complete(data) else shapes[1]]


def regression(name: str, forward: Callable[[Kernels, Array], Array],
               gradient: Callable[[ArrayFunctions, ArrayObject, ArrayObject], ArrayObject], doc: str,
               count: cost.Cost = cost.none) -> Op:
    """Declare a regression output: ``gradient(F, out, label)`` times grad_scale over the outputs of a sample."""
    op = Op(name, "data label", attrs={"grad_scale": 1.0}, shape=_regression_shape, dtype=first_dtype, nondifferentiable=(1,),
            own_gradient=True, sample=samples.pair(), cost=count, input_rule=_regression_inputs, doc=doc)

    @op.forward("default, * -> default", asked="the result is made of the prediction; the label counts in the gradient only")
    def _(k: Kernels, x: Array, label: Store, attrs: Attrs) -> Array:
        floating(name, x)
        return forward(k, x)

    @op.gradient
    def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, label: ArrayObject, out: ArrayObject, attrs: Attrs,
          want: Sequence[Want | None]) -> Gradients:
        outputs = max(1, math.prod(label.shape[1:]))
        label = label if tuple(label.shape) == tuple(out.shape) else F.Reshape(label, shape=tuple(out.shape))
        scale: float = attrs["grad_scale"] / outputs
        return gradient(F, out, label) * scale, None

    return op


def _side(F: ArrayFunctions, out: ArrayObject, label: ArrayObject) -> ArrayObject:
    """1 where the output is above the label, else -1, also where they agree, as in MXNet."""
    return F._greater_scalar(F.elemwise_sub(out, label), scalar=0.0) * 2.0 - 1.0


regression("LinearRegressionOutput", lambda k, x: x.copy(), lambda F, out, label: F.elemwise_sub(out, label),
           "The data itself; the gradient is that of half the squared error, ``data - label``.")
regression("LogisticRegressionOutput", _sigmoid, lambda F, out, label: F.elemwise_sub(out, label),
           "The logistic function; the gradient is that of the cross entropy, ``out - label``.", cost.elementwise)
regression("MAERegressionOutput", lambda k, x: x.copy(), _side,
           "The data itself; the gradient is that of the absolute error: 1 above the label, -1 elsewhere.")

NORMALIZATIONS = ("null", "batch", "valid")


def _checked_normalization(attrs: Attrs) -> None:
    if attrs["normalization"] not in NORMALIZATIONS:
        raise UnknownNameError.of("normalization", attrs["normalization"], NORMALIZATIONS)


def _rows(shape: tuple[int, ...], attrs: Attrs) -> tuple[tuple[int, ...], int]:
    """The shape and the axis that the softmax is taken over."""
    if attrs["multi_output"]:
        return shape, 1
    if attrs["preserve_shape"]:
        return shape, len(shape) - 1
    return (shape[0], math.prod(shape[1:])), 1


def _softmax_output_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    data, label = shapes
    _checked_normalization(attrs)
    if len(data) < 2:
        raise ShapeError(f"data must have an axis for the classes, got shape {data}.", hint="data is (batch, classes, …).")
    view, axis = _rows(data, attrs)
    fitting = [view[:axis] + view[axis + 1:], data]
    if attrs["multi_output"]:
        fitting.append((data[0], 1, *data[2:]))
    if tuple(label) not in fitting:
        raise ShapeError(f"label has shape {label}; data of shape {data} takes {' or '.join(map(str, fitting))}.",
                         hint="preserve_shape=True has the classes on the last axis, multi_output=True on axis 1.")
    return data


SOFTMAX_OUTPUT = {"grad_scale": 1.0, "ignore_label": -1.0, "multi_output": False, "use_ignore": False,
                  "preserve_shape": False, "normalization": "null", "out_grad": False, "smooth_alpha": 0.0}


def _label_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    data = merged(shapes[0], out)
    if not data or shapes[1] is not None:
        return [data, shapes[1]]
    if attrs.get("multi_output"):
        return [data, (data[0], *data[2:])]
    return [data, data[:-1] if attrs.get("preserve_shape") else data[:1]]


softmax_output = Op(
    "SoftmaxOutput", "data label", attrs=SOFTMAX_OUTPUT, shape=_softmax_output_shape, dtype=first_dtype, nondifferentiable=(1,),
    aliases=("Softmax",), cost=cost.each(5), sample=lambda: [([samples.grid(), np.array([1, 0, 4, 2], np.float32)], {})],
    saves=("label", "out"), own_gradient=True, input_rule=_label_inputs,
    doc="""Softmax of the data; the gradient is that of the cross entropy with the label, ``out - label``.

By default the softmax is taken over all axes from axis 1 on.  With ``multi_output=True`` it is taken over axis 1 only, and with
``preserve_shape=True`` over the last axis.  The label has one class for each softmax, or the shape of the data with
probabilities.

The gradient is multiplied by ``grad_scale``.  For classes it is divided by the number of labels (``normalization='batch'``), or
by the number of labels that are not ``ignore_label`` (``'valid'``); without ``normalization``, ``multi_output=True`` divides it
by the number of labels of a sample.  With ``use_ignore=True``, samples with the label ``ignore_label`` have no gradient.  For a
label outside the classes, the gradient is ``out``.  Label smoothing moves the probability ``smooth_alpha`` from the class to
all others.  With ``out_grad=True`` the gradient is multiplied by the gradient of the output; MXNet multiplies it by the
output.""")


@softmax_output.forward("default, default -> default")
def _(k: Kernels, x: Array, label: Array, attrs: Attrs) -> Array:
    floating("SoftmaxOutput", x)
    view, axis = _rows(x.shape, attrs)
    return softmax_along(k, wide(x).reshape(view), axis).reshape(x.shape).astype(x.dtype, copy=False)


@softmax_output.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, label: ArrayObject, out: ArrayObject, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    gradient = F._softmax_output_backward(out, label, **attrs)
    return F.elemwise_mul(gradient, g) if attrs["out_grad"] else gradient, None


softmax_output_backward = Op("_softmax_output_backward", "result label", attrs=SOFTMAX_OUTPUT, shape=infer.unchanged,
                             dtype=first_dtype, sample=softmax_output.sample, label="the gradient of SoftmaxOutput",
                             doc="The gradient of SoftmaxOutput, from its output.")


@softmax_output_backward.forward("default, default -> default")
def _(k: Kernels, result: Array, label: Array, attrs: Attrs) -> Array:
    xp, kind = k.xp, result.dtype
    if result.shape == label.shape:
        apart: Array = (wide(result) - label) * attrs["grad_scale"]
        return apart.astype(kind, copy=False)
    view, axis = _rows(result.shape, attrs)
    label = label.reshape((*view[:axis], 1, *view[axis + 1:]))
    hit = label.astype(np.int64) == xp.arange(view[axis]).reshape(along(axis, view))
    alpha = attrs["smooth_alpha"]
    wanted = xp.where(hit, 1 - alpha, alpha / max(1, view[axis] - 1)) * xp.any(hit, axis=axis, keepdims=True) if alpha else hit
    gradient: Array = wide(result).reshape(view) - wanted
    valid = label != attrs["ignore_label"]
    if attrs["use_ignore"]:
        gradient = gradient * valid
    gradient = gradient * (attrs["grad_scale"] / _divisor(view, valid, attrs))
    return gradient.reshape(result.shape).astype(kind, copy=False)


def _divisor(view: tuple[int, ...], valid: Array, attrs: Attrs) -> float:
    """What the gradient is divided by; the places of one sample share it in the multi-output form."""
    if attrs["normalization"] == "valid":
        return max(1, int(valid.sum()))
    batch = (view[0] if attrs["multi_output"] else valid.size) if attrs["normalization"] == "batch" else 1
    return max(1, batch * (math.prod(view[2:]) if attrs["multi_output"] else 1))


def _svm_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    data, label = shapes
    if len(data) != 2 or tuple(label) != data[:1]:
        raise ShapeError(f"data of shape {data} and label of shape {label} do not fit.",
                         hint="data is (batch, classes) and label (batch,).")
    return data


SVM_OUTPUT = {"margin": 1.0, "regularization_coefficient": 1.0, "use_linear": False}

svm_output = Op("SVMOutput", "data label", attrs=SVM_OUTPUT, shape=_svm_shape, dtype=first_dtype, nondifferentiable=(1,),
                cost=cost.none, sample=softmax_output.sample, saves=("data", "label"), own_gradient=True,
                input_rule=_label_inputs,
                doc="""The data itself; the gradient is that of the hinge loss of a support vector machine.

The loss is squared, or with ``use_linear=True`` as it is: each score should be ``margin`` above zero for the label's
class and below for the others.""")
svm_output.gradient(lambda F, g, data, label, out, attrs, want: (F._svm_output_backward(data, label, **attrs), None))


@svm_output.forward("default, default -> default")
def _(k: Kernels, x: Array, label: Array, attrs: Attrs) -> Array:
    floating("SVMOutput", x)
    return x.copy()


svm_output_backward = Op("_svm_output_backward", "data label", attrs=SVM_OUTPUT, shape=infer.unchanged, dtype=first_dtype,
                         sample=softmax_output.sample, label="the gradient of SVMOutput",
                         doc="The gradient of SVMOutput, from its data.")


@svm_output_backward.forward("default, default -> default")
def _(k: Kernels, x: Array, label: Array, attrs: Attrs) -> Array:
    hit = label.astype(np.int64)[:, None] == k.xp.arange(x.shape[1])
    side = k.xp.where(hit, -1, 1).astype(x.dtype)
    short = attrs["margin"] + side * x
    slope = (short > 0) if attrs["use_linear"] else 2 * k.xp.maximum(short, 0)
    gradient: Array = side * slope * attrs["regularization_coefficient"]
    return gradient.astype(x.dtype, copy=False)


def _make_loss_shape(shapes: list[Shape], attrs: Attrs) -> Shape:
    _checked_normalization(attrs)
    return shapes[0]


loss = Op("MakeLoss", "data", attrs={"grad_scale": 1.0, "valid_thresh": 0.0, "normalization": "null"}, shape=_make_loss_shape,
          cost=cost.none, sample=samples.one(), saves=("data",), own_gradient=True, input_rule=first_alike,
          doc="""The data itself, as a loss: its gradient is ``grad_scale``, whatever the gradient from above.

It is divided by the batch size (``normalization='batch'``) or by the number of values above ``valid_thresh`` (``'valid'``).""")


@loss.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    floating("MakeLoss", x)
    return x.copy()


for _stype in ("row_sparse", "csr"):
    @loss.forward(f"{_stype} -> {_stype}")
    def _(k: Kernels, x: Sparse, attrs: Attrs) -> Sparse:
        floating("MakeLoss", x)
        return on_data(x, x.data.copy())


@loss.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    return F._make_loss_backward(data, **attrs)


loss_backward = Op("_make_loss_backward", "data", attrs=dict(loss.attrs), shape=infer.unchanged, sample=samples.one(),
                   doc="The gradient of MakeLoss.")


@loss_backward.forward("* -> default", asked=SHAPE_ONLY)
def _(k: Kernels, x: Store, attrs: Attrs) -> Array:
    divisor = 1
    if attrs["normalization"] == "batch":
        divisor = x.shape[0]
    elif attrs["normalization"] == "valid":
        stored: Array = x.data if isinstance(x, (CSR, RowSparse)) else x
        absent = math.prod(x.shape) - stored.size if attrs["valid_thresh"] < 0 else 0
        divisor = int((stored > attrs["valid_thresh"]).sum()) + absent
    return k.xp.full(x.shape, attrs["grad_scale"] / max(1, divisor), x.dtype)


sigmoid_cross_entropy = Op(
    "_sigmoid_cross_entropy", "data label", shape=infer.same_shape, dtype=first_dtype, sample=samples.pair(),
    saves=("data", "label"),
    doc="""Cross entropy of a yes-or-no label and a logit, elementwise: ``log(1 + exp(data)) - data * label``.

Computed as ``max(data, 0) - data * label + log(1 + exp(-|data|))``, which never overflows.  The gradient for
the logit is ``sigmoid(data) - label``.  One operator, where MXNet composes eight.""")


@sigmoid_cross_entropy.forward("default, default -> default")
def _(k: Kernels, x: Array, label: Array, attrs: Attrs) -> Array:
    floating("the sigmoid cross entropy", x)
    if not is_numpy(k.xp):
        return k.xp.formula("cross_entropy", x.dtype, x, label)
    label = label.astype(x.dtype, copy=False)
    out = k.xp.maximum(x, 0)
    out -= x * label
    out += k.xp.log1p(k.xp.exp(-k.xp.abs(x)))  # last, since it may be smaller than a digit of the others
    return out


@sigmoid_cross_entropy.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, label: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    return (want[0] and F._sigmoid_cross_entropy_backward(g, data, label),
            want[1] and F.negative(F.elemwise_mul(g, data)))


sigmoid_cross_entropy_backward = Op(
    "_sigmoid_cross_entropy_backward", "g data label", shape=infer.same_shape, dtype=lambda dtypes, attrs: dtypes[1],
    sample=lambda: [([samples.grid(seed=2), samples.grid(), samples.grid(seed=1)], {})], saves=("g", "data", "label"),
    doc="``g * (sigmoid(data) - label)``: the gradient of the cross entropy for its logit.")


@sigmoid_cross_entropy_backward.forward("default, default, default -> default")
def _(k: Kernels, g: Array, x: Array, label: Array, attrs: Attrs) -> Array:
    floating("the gradient of the sigmoid cross entropy", x)
    if not is_numpy(k.xp):
        return k.xp.formula("cross_entropy_slope", x.dtype, g, x, label)
    out = _sigmoid(k, x)
    out -= label.astype(out.dtype, copy=False)
    out *= g
    return out


@sigmoid_cross_entropy_backward.gradient
def _(F: ArrayFunctions, g: ArrayObject, above: ArrayObject, data: ArrayObject, label: ArrayObject, out: ArrayObject | None,
      attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
    return (want[0] and F._sigmoid_cross_entropy_backward(g, data, label),
            want[1] and F._sigmoid_backward(F.elemwise_mul(g, above), F.sigmoid(data)),
            want[2] and F.negative(F.elemwise_mul(g, above)))
