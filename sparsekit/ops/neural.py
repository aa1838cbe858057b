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


def _softmax(xp: Any, x: Any, attrs: dict[str, Any], log: bool) -> Any:
    x = x / attrs["temperature"] if attrs["temperature"] else x
    shifted = x - x.max(axis=attrs["axis"], keepdims=True)
    power = xp.exp(shifted)
    total = power.sum(axis=attrs["axis"], keepdims=True)
    return shifted - xp.log(total) if log else power / total


softmax = Op("softmax", "data", axis=-1, temperature=None, shape=infer.unchanged, sample=samples.one(),
             doc="``exp(x) / sum(exp(x))`` along ``axis``.")
softmax.forward("default -> default")(lambda k, x, attrs: _softmax(k.xp, x, attrs, log=False))
softmax.gradient(lambda F, g, _data, out, attrs, want: _scaled(
    out * F.broadcast_sub(g, F.sum(g * out, axis=attrs["axis"], keepdims=True)), attrs))

log_softmax = Op("log_softmax", "data", axis=-1, temperature=None, shape=infer.unchanged, sample=samples.one(),
                 doc="Logarithm of the softmax along ``axis``.")
log_softmax.forward("default -> default")(lambda k, x, attrs: _softmax(k.xp, x, attrs, log=True))
log_softmax.gradient(lambda F, g, _data, out, attrs, want: _scaled(
    g - F.broadcast_mul(F.exp(out), F.sum(g, axis=attrs["axis"], keepdims=True)), attrs))


def _scaled(gradient: Any, attrs: dict[str, Any]) -> Any:
    return gradient / attrs["temperature"] if attrs["temperature"] else gradient


embedding = Op("Embedding", "data weight", input_dim=REQUIRED, output_dim=REQUIRED, sparse_grad=False, cost=cost.none, flat=(0,),
               shape=lambda shapes, attrs: (*shapes[0], *shapes[1][1:]), dtype=lambda dtypes, attrs: dtypes[1],
               sample=lambda: [([np.array([[0, 3], [1, 1]], np.float32), samples.grid()],
                                {"input_dim": 4, "output_dim": 5, "sparse_grad": sparse}) for sparse in (False, True)],
               doc="""The rows of ``weight`` that ``data`` names; indices beyond the ends are clipped, as in MXNet.

With ``sparse_grad=True`` the gradient of the weight is row_sparse and stores the rows looked up.""")
embedding.attrs["dtype"] = "float32"


def _looked_up(xp: Any, data: Any, size: int) -> Any:
    return xp.clip(data.astype(np.int64), 0, size - 1)


@embedding.forward("default, default -> default")
def _(k: Any, data: Any, weight: Any, attrs: Any) -> Any:
    return weight[_looked_up(k.xp, data, weight.shape[0])]


@embedding.forward("default, row_sparse -> default")
def _(k: Any, data: Any, weight: Any, attrs: Any) -> Any:
    wanted = _looked_up(k.xp, data, weight.shape[0])
    if not weight.indices.size:
        return k.xp.zeros((*wanted.shape, *weight.shape[1:]), weight.dtype)
    place = k.xp.minimum(k.xp.searchsorted(weight.indices, wanted), weight.indices.size - 1)
    made = weight.data[place]
    made[weight.indices[place] != wanted] = 0
    return made


@embedding.gradient
def _(F: Any, g: Any, data: Any, weight: Any, _out: Any, attrs: Any, want: Any) -> Any:
    sparse = attrs["sparse_grad"] or (want[1] and want[1].stype == "row_sparse")
    return None, want[1] and F._embedding_backward(g, data, shape=tuple(weight.shape), sparse=bool(sparse))


embedding_backward = Op("_embedding_backward", "g data", shape=lambda shapes, attrs: attrs["shape"],
                        dtype=lambda dtypes, attrs: dtypes[0], cost=cost.elementwise,
                        sample=lambda: [([np.ones((2, 2, 5), np.float32), np.array([[0, 3], [1, 1]], np.float32)],
                                         {"shape": (4, 5), "sparse": sparse}) for sparse in (False, True)],
                        doc="Gradient rows summed by the index they were looked up with.")
embedding_backward.attrs = {"shape": None, "sparse": False}


@embedding_backward.forward("default, default -> row_sparse", sparse=True)
def _(k: Any, g: Any, data: Any, attrs: Any) -> Any:
    shape = attrs["shape"]
    rows, ranks = k.unique_with_rank(_looked_up(k.xp, data, shape[0]).reshape(-1))
    out = k.xp.zeros((rows.shape[0], *shape[1:]), g.dtype)
    width = math.prod(shape[1:])
    k.add_rows(np.ascontiguousarray(g).reshape(-1, width), ranks, g.dtype.type(1), out.reshape(-1, width))
    return RowSparse(out, rows, shape, check=False)


@embedding_backward.forward("default, default -> default", sparse=False)
def _(k: Any, g: Any, data: Any, attrs: Any) -> Any:
    shape = attrs["shape"]
    out = k.xp.zeros(shape, g.dtype)
    width = math.prod(shape[1:])
    k.add_rows(np.ascontiguousarray(g).reshape(-1, width), _looked_up(k.xp, data, shape[0]).reshape(-1),
               g.dtype.type(1), out.reshape(-1, width))
    return out
