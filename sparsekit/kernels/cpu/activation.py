"""Sigmoid, GELU and the gradients of softmax and layer normalization, in one pass over the memory each; float32."""

from __future__ import annotations

import threading

import numpy as np

from .intrinsic_names import dot_in_order, sum_in_order
from .jit import in_threads, kernel
from .normalize import FREE_ORDER, GRAIN, _exp
from .thread_pool import share, shared_over

_ROOT_HALF, _PEAK = np.float32(0.7071067811865476), np.float32(0.3989422804014327)


@kernel(fastmath={"contract"}, error_model="numpy")
def _single_sigmoid(value):
    """``1 / (1 + exp(-value))`` of a float32, which overflows nowhere."""
    power = _exp(-abs(value))
    share = np.float32(1) / (np.float32(1) + power)
    share = share if value >= np.float32(0) else power * share
    return share if value == value else value  # nan stays what it is


@kernel(fastmath={"contract"}, error_model="numpy")
def _normal(value):
    """The normal distribution function, to 1 in 10**6 of it, as straight-line code that compiles to vectors.

    Half of ``erfc``, after W. H. Press et al., Numerical Recipes, section 6.2: a Chebyshev fit of its logarithm.  numpy's
    error model leaves out the check for a division by zero, which would stand in the way.
    """
    size = abs(value) * _ROOT_HALF
    part = np.float32(1) / (np.float32(1) + np.float32(0.5) * size)
    polynomial = np.float32(0.17087277)
    polynomial = polynomial * part - np.float32(0.82215223)
    polynomial = polynomial * part + np.float32(1.48851587)
    polynomial = polynomial * part - np.float32(1.13520398)
    polynomial = polynomial * part + np.float32(0.27886807)
    polynomial = polynomial * part - np.float32(0.18628806)
    polynomial = polynomial * part + np.float32(0.09678418)
    polynomial = polynomial * part + np.float32(0.37409196)
    polynomial = polynomial * part + np.float32(1.00002368)
    polynomial = polynomial * part - np.float32(1.26551223)
    beyond = np.float32(0.5) * part * _exp(polynomial - size * size)
    return beyond if value < np.float32(0) else np.float32(1) - beyond


@kernel(fastmath={"contract"}, error_model="numpy")
def _sigmoid(data, out, start, stop):
    data, out = data[start:stop], out[start:stop]
    for place in range(data.shape[0]):
        out[place] = _single_sigmoid(data[place])


@kernel(fastmath={"contract"}, error_model="numpy")
def _gelu(data, out, start, stop):
    data, out = data[start:stop], out[start:stop]
    for place in range(data.shape[0]):
        value = data[place]
        out[place] = value * _normal(value)


@kernel(fastmath={"contract"}, error_model="numpy")
def _gelu_backward(above, data, out, start, stop):
    above, data, out = above[start:stop], data[start:stop], out[start:stop]
    for place in range(data.shape[0]):
        value = data[place]
        bell = _PEAK * _exp(np.float32(-0.5) * value * value)
        out[place] = above[place] * (_normal(value) + value * bell)


@kernel
def _softmax_backward(above, result, out, start, stop):
    for row in range(start, stop):
        total = dot_in_order(above[row], result[row])
        for column in range(result.shape[1]):
            out[row, column] = result[row, column] * (above[row, column] - total)


@kernel
def _log_softmax_backward(above, result, out, start, stop):
    for row in range(start, stop):
        total = sum_in_order(above[row])
        for column in range(result.shape[1]):
            out[row, column] = above[row, column] - _exp(result[row, column]) * total


@kernel(fastmath=FREE_ORDER)
def _layer_norm_backward(above, data, gamma, mean, share, out, scale, offset, start, stop):
    width = np.float32(data.shape[1])
    for row in range(start, stop):
        centre, factor, first, second = mean[row], share[row], np.float32(0), np.float32(0)
        for column in range(data.shape[1]):
            standard = (data[row, column] - centre) * factor
            weighted = above[row, column] * gamma[column]
            first += weighted
            second += weighted * standard
            scale[column] += above[row, column] * standard
            offset[column] += above[row, column]
        first, second = first / width, second / width
        for column in range(data.shape[1]):
            standard = (data[row, column] - centre) * factor
            out[row, column] = (above[row, column] * gamma[column] - first - standard * second) * factor


@kernel(fastmath={"contract"}, error_model="numpy")
def _relu_slope(above, result, out, start, stop):
    above, result, out = above[start:stop], result[start:stop], out[start:stop]
    for place in range(result.shape[0]):
        value = result[place]
        slope = above[place] * np.float32(value > np.float32(0))
        out[place] = slope if value == value else value  # nan stays what it is


relu_slope_shared, softmax_backward_shared, log_softmax_backward_shared = (
    shared_over(body, 2 * GRAIN, GRAIN) for body in (_relu_slope, _softmax_backward, _log_softmax_backward))
sigmoid_shared, gelu_shared, gelu_backward_shared = (
    shared_over(body, GRAIN // 2, GRAIN // 4) for body in (_sigmoid, _gelu, _gelu_backward))


def relu_slope(above, result, out):
    """``above`` where the output of relu is positive, ``0 * above`` elsewhere, nan where that is nan; float32 (elements,)."""
    share(relu_slope_shared, (above, result, out))


def sigmoid(data, out):
    """``1 / (1 + exp(-x))``; float32 (elements,)."""
    share(sigmoid_shared, (data, out))


def gelu(data, out):
    """``x`` times the normal distribution function of ``x``; float32 (elements,)."""
    share(gelu_shared, (data, out))


def gelu_backward(above, data, out):
    """``above`` times the derivative of ``gelu`` at ``data``; float32 (elements,)."""
    share(gelu_backward_shared, (above, data, out))


def softmax_backward_rows(above, result, out):
    """``made * (above - sum(above * made))``, row by row; float32 (rows, columns)."""
    share(softmax_backward_shared, (above, result, out))


def log_softmax_backward_rows(above, result, out):
    """``above - exp(made) * sum(above)``, row by row; float32 (rows, columns)."""
    share(log_softmax_backward_shared, (above, result, out))


def layer_norm_backward_rows(above, data, gamma, mean, share, out, scale, offset):
    """Gradients of a layer normalization along rows: of the data into out, of gamma and beta added to scale and offset."""
    guard = threading.Lock()

    def work(start, stop):
        parts = np.zeros_like(scale), np.zeros_like(offset)
        _layer_norm_backward(above, data, gamma, mean, share, out, *parts, start, stop)
        with guard:
            scale[...] += parts[0]
            offset[...] += parts[1]

    rows, width = data.shape
    if rows * width < 2 * GRAIN:
        work(0, rows)
    else:
        in_threads(work, rows, max(1, GRAIN // max(1, width)))
