"""Kernels that normalize each row of a dense matrix in one pass over the cache: softmax and layer normalization."""

from __future__ import annotations

import numpy as np

from .intrinsic_names import sum_in_order
from .jit import kernel
from .thread_pool import share, shared_over

#: Elements for each thread, at least.
GRAIN = 1 << 18

#: Sums may be reordered, so that they are vectorized; nan and infinity keep their meaning.  Callers that are compiled apart, as
#: tables are, may get other bits.
FREE_ORDER = {"contract", "reassoc", "nsz"}


@kernel(fastmath={"contract"})
def _exp(value):
    """``exp`` of a float32 that is not positive, to 1 in 10**6, as straight-line code that compiles to vectors.

    2**k times a polynomial on ±log(2)/2, after S. L. Moshier, Cephes, ``expf``; zero below -87.
    """
    inside = max(value, np.float32(-87))
    power = np.floor(inside * np.float32(1.44269504088896) + np.float32(0.5))
    remainder = inside - power * np.float32(0.693359375) + power * np.float32(2.12194440e-4)
    polynomial = np.float32(1.9875691500e-4)
    polynomial = polynomial * remainder + np.float32(1.3981999507e-3)
    polynomial = polynomial * remainder + np.float32(8.3334519073e-3)
    polynomial = polynomial * remainder + np.float32(4.1665795894e-2)
    polynomial = polynomial * remainder + np.float32(1.6666665459e-1)
    polynomial = polynomial * remainder + np.float32(5.0000001201e-1)
    polynomial = polynomial * remainder * remainder + remainder + np.float32(1)
    scale = np.int32((np.int32(power) + np.int32(127)) << np.int32(23)).view(np.float32)
    return polynomial * scale if value >= np.float32(-87) else np.float32(0)


@kernel
def _softmax(data, largest, out, start, stop):
    for row in range(start, stop):
        top = largest[row]
        for column in range(data.shape[1]):
            out[row, column] = _exp(data[row, column] - top)
        share = np.float32(1) / sum_in_order(out[row])
        for column in range(data.shape[1]):
            out[row, column] *= share


@kernel
def _log_softmax(data, largest, out, start, stop):
    for row in range(start, stop):
        top = largest[row]
        for column in range(data.shape[1]):
            out[row, column] = _exp(data[row, column] - top)
        total = np.log(sum_in_order(out[row]))
        for column in range(data.shape[1]):
            out[row, column] = (data[row, column] - top) - total


@kernel(fastmath=FREE_ORDER)
def _sum(values):
    total = values.dtype.type(0)
    for place in range(values.shape[0]):
        total += values[place]
    return total


@kernel(fastmath=FREE_ORDER)
def _sum_of_squares(values, centre):
    total = values.dtype.type(0)
    for place in range(values.shape[0]):
        total += (values[place] - centre) * (values[place] - centre)
    return total


@kernel
def _layer_norm(data, gamma, beta, epsilon, mean, deviation, out, start, stop):
    width = out.dtype.type(data.shape[1])
    for row in range(start, stop):
        centre = _sum(data[row]) / width
        spread = np.sqrt(_sum_of_squares(data[row], centre) / width + epsilon)
        mean[row], deviation[row] = centre, spread
        share = out.dtype.type(1) / spread
        for column in range(data.shape[1]):
            out[row, column] = (data[row, column] - centre) * share * gamma[column] + beta[column]


softmax_shared, log_softmax_shared, layer_norm_shared = (
    shared_over(body, 2 * GRAIN, GRAIN) for body in (_softmax, _log_softmax, _layer_norm))


def softmax_rows(data, largest, out):
    """``exp(data - largest)`` over its sum, row by row; float32 (rows, columns), largest (rows,) finite."""
    share(softmax_shared, (data, largest, out))


def log_softmax_rows(data, largest, out):
    """Logarithm of ``softmax_rows``, computed without it."""
    share(log_softmax_shared, (data, largest, out))


def layer_norm_rows(data, gamma, beta, epsilon, out, mean, deviation):
    """Each row less its mean, over ``sqrt(variance + epsilon)``, times gamma plus beta; both are given back."""
    share(layer_norm_shared, (data, gamma, beta, out.dtype.type(epsilon), mean, deviation, out))
