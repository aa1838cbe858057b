"""Sigmoid, GELU and the gradients of softmax and layer normalization; float32."""

from __future__ import annotations

import numpy as np

from .arrays import kernel, scipy

_PEAK = np.float32(0.3989422804014327)


def _normal(values):
    """The normal distribution function."""
    return scipy("special").ndtr(values)


@kernel
def relu_slope(above, result, out):
    """``above`` where the output of relu is positive, ``0 * above`` elsewhere, nan where that is nan; float32 (elements,)."""
    np.multiply(above, result > 0, out=out)
    np.copyto(out, result, where=np.isnan(result))


@kernel
def sigmoid(data, out):
    """``1 / (1 + exp(-x))``; float32 (elements,)."""
    np.negative(data, out=out)
    np.exp(out, out=out)
    out += 1
    np.reciprocal(out, out=out)


@kernel
def gelu(data, out):
    """``x`` times the normal distribution function of ``x``; float32 (elements,)."""
    np.multiply(data, _normal(data), out=out)


@kernel
def gelu_backward(above, data, out):
    """``above`` times the derivative of ``gelu`` at ``data``; float32 (elements,)."""
    bell = _PEAK * np.exp(np.float32(-0.5) * data * data)
    out[...] = above * (_normal(data) + data * bell)


@kernel
def softmax_backward_rows(above, result, out):
    """``made * (above - sum(above * made))``, row by row; float32 (rows, columns)."""
    out[...] = result * (above - np.einsum("ij,ij->i", above, result)[:, None])


@kernel
def log_softmax_backward_rows(above, result, out):
    """``above - exp(made) * sum(above)``, row by row; float32 (rows, columns)."""
    out[...] = above - np.exp(result) * above.sum(axis=1, keepdims=True)


@kernel
def layer_norm_backward_rows(above, data, gamma, mean, share, out, scale, offset):
    """Gradients of a layer normalization along rows: of the data into out, of gamma and beta added to scale and offset."""
    width, factor = np.float32(data.shape[1]), share[:, None]
    standard, weighted = (data - mean[:, None]) * factor, above * gamma
    scale += np.einsum("ij,ij->j", above, standard)
    offset += above.sum(axis=0)
    first, second = weighted.sum(axis=1) / width, np.einsum("ij,ij->i", weighted, standard) / width
    out[...] = (weighted - first[:, None] - standard * second[:, None]) * factor
