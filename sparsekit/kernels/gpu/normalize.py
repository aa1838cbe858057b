"""Kernels that normalize each row of a dense matrix; the device functions are in ``normalize.cu``."""

from __future__ import annotations

from .launch import Kernel, pieces_of

_sum_powers = Kernel("sum_powers", "data data part* count count count count")
_softmax = Kernel("softmax", "data data part data* count count count count count")
_piece_moments = Kernel("piece_moments", "data part* part* count count count count")
_layer_norm = Kernel("layer_norm", "data part part data data data* data* data* count count count count number")


def _run_softmax(data, largest, out, logarithm):
    rows, width = data.shape
    pieces, lanes, parts = pieces_of(rows, width, out.dtype)
    if pieces > 1:
        _sum_powers(rows * pieces * lanes, data, largest, parts, rows, width, pieces, lanes)
    _softmax(rows * pieces * lanes, data, largest, parts, out, rows, width, pieces, lanes, logarithm)


def softmax_rows(data, largest, out):
    """``exp(data - largest)`` over its sum, row by row; (rows, columns), largest (rows,) finite."""
    _run_softmax(data, largest, out, False)


def log_softmax_rows(data, largest, out):
    """Logarithm of ``softmax_rows``, computed without it."""
    _run_softmax(data, largest, out, True)


def layer_norm_rows(data, gamma, beta, epsilon, out, mean, deviation):
    """Each row less its mean, over ``sqrt(variance + epsilon)``, times gamma plus beta; both are given back."""
    rows, width = data.shape
    pieces, lanes, totals, squares = pieces_of(rows, width, out.dtype, 2)
    if pieces > 1:
        _piece_moments(rows * pieces * lanes, data, totals, squares, rows, width, pieces, lanes)
    _layer_norm(rows * pieces * lanes, data, totals, squares, gamma, beta, out, mean, deviation, rows, width, pieces, lanes,
                epsilon)
