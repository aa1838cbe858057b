"""Sigmoid, GELU and the gradients of softmax and layer normalization; the device functions are in ``activation.cu``."""

from __future__ import annotations

from .formulas import FORMULAS
from .launch import Kernel, pieces_of

_gelu = Kernel("gelu", "data data* count")
_gelu_backward = Kernel("gelu_backward", "data data data* count")
_sum_slopes = Kernel("sum_slopes", "data data part* count count count count count")
_softmax_backward = Kernel("softmax_backward", "data data part data* count count count count count")
_piece_slopes = Kernel("piece_slopes", "data data data data data part* part* count count count count")
_layer_norm_backward = Kernel("layer_norm_backward", "data data data data data part part data* count count count count")


def relu_slope(above, result, out):
    """``above`` where the output of relu is positive, ``0 * above`` elsewhere, nan where that is nan; (elements,)."""
    FORMULAS["relu_slope"](result.shape[0], above, result, out, result.shape[0])


def sigmoid(data, out):
    """``1 / (1 + exp(-x))``; (elements,)."""
    FORMULAS["sigmoid"](data.shape[0], data, out, data.shape[0])


def gelu(data, out):
    """``x`` times the normal distribution function of ``x``; (elements,)."""
    _gelu(data.shape[0], data, out, data.shape[0])


def gelu_backward(above, data, out):
    """``above`` times the derivative of ``gelu`` at ``data``; (elements,)."""
    _gelu_backward(data.shape[0], above, data, out, data.shape[0])


def _run_softmax(above, result, out, logarithm):
    rows, width = result.shape
    pieces, lanes, parts = pieces_of(rows, width, out.dtype)
    if pieces > 1:
        _sum_slopes(rows * pieces * lanes, above, result, parts, rows, width, pieces, lanes, logarithm)
    _softmax_backward(rows * pieces * lanes, above, result, parts, out, rows, width, pieces, lanes, logarithm)


def softmax_backward_rows(above, result, out):
    """``made * (above - sum(above * made))``, row by row; (rows, columns)."""
    _run_softmax(above, result, out, False)


def log_softmax_backward_rows(above, result, out):
    """``above - exp(made) * sum(above)``, row by row; (rows, columns)."""
    _run_softmax(above, result, out, True)


def layer_norm_backward_rows(above, data, gamma, mean, share, out, scale, offset):
    """Gradients of a layer normalization along rows: of the data into out, of gamma and beta added to scale and offset."""
    rows, width = data.shape
    pieces, lanes, plain, standard = pieces_of(rows, width, out.dtype, 2)
    if pieces > 1:
        _piece_slopes(rows * pieces * lanes, above, data, gamma, mean, share, plain, standard, rows, width, pieces, lanes)
    _layer_norm_backward(rows * pieces * lanes, above, data, gamma, mean, share, plain, standard, out, rows, width, pieces, lanes)
    scale += (above * (data - mean.reshape(-1, 1)) * share.reshape(-1, 1)).sum(axis=0)
    offset += above.sum(axis=0)
