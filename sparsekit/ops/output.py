"""Losses as operators, and output layers, whose gradient is that of a loss whatever comes from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import infer
from ..core.op import Op
from . import samples
from .unary import _sigmoid, _softplus

__all__ = ["regression"]


def regression(name: str, forward: Callable[..., Any], gradient: Callable[..., Any], doc: str) -> Op:
    """Declare a regression output: ``gradient(F, out, label)`` times grad_scale over the outputs of a sample."""
    op = Op(name, "data label", grad_scale=1.0, shape=lambda shapes, attrs: shapes[0],
            dtype=lambda dtypes, attrs: dtypes[0], sample=samples.pair(), doc=doc)

    @op.forward("default, * -> default")
    def _(k: Any, x: Any, label: Any, attrs: Any) -> Any:
        return forward(k.xp, x)

    @op.gradient
    def _(F: Any, g: Any, _data: Any, label: Any, out: Any, attrs: Any, want: Any) -> Any:
        outputs = max(1, label.size // max(1, label.shape[0])) if label.stype == "default" else label.shape[1]
        label = F.Reshape(label, shape=tuple(out.shape)) if label.stype == "default" else label
        return gradient(F, out, label) * (attrs["grad_scale"] / outputs), None

    return op


regression("LinearRegressionOutput", lambda xp, x: x.copy(), lambda F, out, label: F.elemwise_sub(out, label),
           "The data itself; the gradient is that of half the squared error, ``data - label``.")
regression("LogisticRegressionOutput", lambda xp, x: 1 / (1 + xp.exp(-x)), lambda F, out, label: F.elemwise_sub(out, label),
           "The logistic function; the gradient is that of the cross entropy, ``out - label``.")
regression("MAERegressionOutput", lambda xp, x: x.copy(), lambda F, out, label: F.sign(F.elemwise_sub(out, label)),
           "The data itself; the gradient is that of the absolute error, ``sign(data - label)``.")


sigmoid_cross_entropy = Op(
    "_sigmoid_cross_entropy", "data label", shape=infer.same_shape, dtype=lambda dtypes, attrs: dtypes[0],
    sample=samples.pair(),
    doc="""Cross entropy of a yes-or-no label and a logit, elementwise: ``log(1 + exp(data)) - data * label``.

Computed as ``max(data, 0) - data * label + log(1 + exp(-|data|))``, which never overflows.  The gradient for
the logit is ``sigmoid(data) - label``.  One operator, where MXNet composes eight.""")


@sigmoid_cross_entropy.forward("default, default -> default")
def _(k: Any, x: Any, label: Any, attrs: Any) -> Any:
    out = _softplus(k.xp, x)
    out -= x * label
    return out


@sigmoid_cross_entropy.gradient
def _(F: Any, g: Any, data: Any, label: Any, _out: Any, attrs: Any, want: Any) -> Any:
    return (want[0] and F._sigmoid_cross_entropy_backward(g, data, label),
            want[1] and F.negative(F.elemwise_mul(g, data)))


sigmoid_cross_entropy_backward = Op(
    "_sigmoid_cross_entropy_backward", "g data label", shape=infer.same_shape, dtype=lambda dtypes, attrs: dtypes[1],
    sample=lambda: [([samples.grid(seed=2), samples.grid(), samples.grid(seed=1)], {})],
    doc="``g * (sigmoid(data) - label)``: the gradient of the cross entropy for its logit.")


@sigmoid_cross_entropy_backward.forward("default, default, default -> default")
def _(k: Any, g: Any, x: Any, label: Any, attrs: Any) -> Any:
    out = _sigmoid(k.xp, x)
    out -= label
    out *= g
    return out


@sigmoid_cross_entropy_backward.gradient
def _(F: Any, g: Any, given: Any, data: Any, label: Any, _out: Any, attrs: Any, want: Any) -> Any:
    return (want[0] and F._sigmoid_cross_entropy_backward(g, data, label),
            want[1] and F._sigmoid_backward(F.elemwise_mul(g, given), F.sigmoid(data)),
            want[2] and F.negative(F.elemwise_mul(g, given)))
