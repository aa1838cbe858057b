"""Layers: FullyConnected, Activation, the softmax family, Embedding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.errors import ShapeError, UnknownNameError
from ..core import cost, infer
from ..core.op import REQUIRED, Op
from ..storage import RowSparse
from . import samples
from .unary import _sigmoid, _softplus

__all__ = ["ACTIVATIONS", "fully_connected"]


def _fc_shape(shapes: Any, attrs: dict[str, Any]) -> tuple[int, ...]:
    data, weight = shapes[:2]
    if len(weight) != 2 or weight[0] != attrs["num_hidden"]:
        raise ShapeError(f"weight has shape {weight}; num_hidden={attrs['num_hidden']} needs ({attrs['num_hidden']}, inputs).",
                         hint="the weight of FullyConnected is (num_hidden, inputs).")
    inner = math.prod(data[1:]) if attrs["flatten"] else data[-1]
    if inner != weight[1]:
        raise ShapeError(f"data of shape {data} gives {inner} inputs, but weight has shape {weight}.",
                         hint="weight is (num_hidden, inputs).")
    if len(shapes) > 2 and tuple(shapes[2]) != (attrs["num_hidden"],):
        raise ShapeError(f"bias has shape {shapes[2]}, not ({attrs['num_hidden']},).", hint="one bias an output.")
    return (data[0], attrs["num_hidden"]) if attrs["flatten"] else (*data[:-1], attrs["num_hidden"])


fully_connected = Op(
    "FullyConnected", "data weight bias?", num_hidden=REQUIRED, no_bias=False, flatten=True, shape=_fc_shape,
    cost=cost.fully_connected,
    sample=lambda: [([samples.grid(), samples.grid(3, 5, seed=1), samples.grid(1, 3, seed=2)[0]], {"num_hidden": 3}),
                    ([samples.grid(), samples.grid(3, 5, seed=1)], {"num_hidden": 3, "no_bias": True})],
    doc="""``data · weightᵀ + bias``: data (batch, inputs), weight (num_hidden, inputs), bias (num_hidden,).

Beyond MXNet, csr data has a kernel of its own.  The gradient of the weight is then dense; a weight of shape
(inputs, units) with ``dot`` is what makes a row_sparse gradient possible, as ``gluon.nn.Dense`` does for
``weight_grad_stype='row_sparse'``.""")


def _flattened(x: Any, attrs: dict[str, Any]) -> Any:
    return x.reshape(x.shape[0], -1) if attrs["flatten"] and x.ndim != 2 else x


@fully_connected.forward("default, default, default? -> default")
def _(k: Any, x: Any, weight: Any, *rest: Any) -> Any:
    bias, attrs = (rest[0], rest[1]) if len(rest) == 2 else (None, rest[0])
    out = k.xp.matmul(_flattened(x, attrs), weight.T)
    if bias is not None:
        out += bias
    return out


@fully_connected.forward("csr, default, default? -> default")
def _(k: Any, x: Any, weight: Any, *rest: Any) -> Any:
    bias = rest[0] if len(rest) == 2 else None
    turned = k.xp.empty((weight.shape[0], x.shape[0]), weight.dtype)
    k.dense_dot_csr_transposed(np.ascontiguousarray(weight), x.data, x.indices, x.indptr, turned)
    out = k.xp.ascontiguousarray(turned.T)
    if bias is not None:
        out += bias
    return out


@fully_connected.forward("default, row_sparse, default? -> default")
def _(k: Any, x: Any, weight: Any, *rest: Any) -> Any:
    bias, attrs = (rest[0], rest[1]) if len(rest) == 2 else (None, rest[0])
    x = _flattened(x, attrs)
    out = k.xp.zeros((*x.shape[:-1], weight.shape[0]), np.result_type(x.dtype, weight.dtype))
    out[..., weight.indices] = k.xp.matmul(x, weight.data.T)
    if bias is not None:
        out += bias
    return out


@fully_connected.gradient
def _(F: Any, g: Any, data: Any, weight: Any, _bias: Any, _out: Any, attrs: Any, want: Any) -> Any:
    flat = data
    if data.stype == "default" and len(data.shape) != 2:
        inner = weight.shape[1]
        flat = F.Reshape(data, shape=(-1, inner))
        g = F.Reshape(g, shape=(-1, attrs["num_hidden"]))
    given = want[0] and F.dot(g, weight, forward_stype="default")
    if given is not None and flat is not data:
        given = F.Reshape(given, shape=tuple(data.shape))
    return (given, want[1] and F.dot(g, flat, transpose_a=True, forward_stype="default", out=want[1].out
                                     if want[1].stype in (None, "default") else None),
            want[2] and F.sum(g, axis=0))


ACTIVATIONS = ("relu", "sigmoid", "log_sigmoid", "tanh", "softrelu", "softsign")

activation = Op("Activation", "data", act_type=REQUIRED, shape=infer.unchanged,
                sample=lambda: [([samples.grid()], {"act_type": kind}) for kind in ACTIVATIONS],
                doc="The activation function named by ``act_type``: " + ", ".join(ACTIVATIONS) + ".")


def _activate(xp: Any, x: Any, kind: str) -> Any:
    if kind == "relu":
        return xp.maximum(x, 0)
    if kind == "sigmoid":
        return _sigmoid(xp, x)
    if kind == "tanh":
        return xp.tanh(x)
    if kind == "softrelu":
        return _softplus(xp, x)
    if kind == "log_sigmoid":
        return -_softplus(xp, -x)
    if kind == "softsign":
        return x / (1 + xp.abs(x))
    raise UnknownNameError.of("activation", kind, ACTIVATIONS)


@activation.forward("default -> default")
def _(k: Any, x: Any, attrs: Any) -> Any:
    return _activate(k.xp, x, attrs["act_type"])


@activation.gradient
def _(F: Any, g: Any, data: Any, out: Any, attrs: Any, want: Any) -> Any:
    kind = attrs["act_type"]
    if kind == "relu":
        return F._relu_backward(g, out)
    if kind == "sigmoid":
        return F._sigmoid_backward(g, out)
    if kind == "tanh":
        return g * (F.square(out) * -1.0 + 1)
    if kind == "softrelu":
        return F._softrelu_backward(g, data)
    if kind == "log_sigmoid":
        return g * F.sigmoid(F.negative(data))
    return g / F.square(F.abs(data) + 1)
