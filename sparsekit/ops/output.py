"""Output layers: operators whose gradient is that of a loss, whatever comes from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.op import Op
from . import samples

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
