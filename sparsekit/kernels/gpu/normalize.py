"""Kernels that normalize each row of a dense matrix; the device functions are in ``normalize.cu``."""

from __future__ import annotations

from .launch import Kernel, lanes_for

__all__ = ["layer_norm_rows", "log_softmax_rows", "softmax_rows"]

_softmax = Kernel("softmax", "data data data* count count count count")
_layer_norm = Kernel("layer_norm", "data data data data* data* data* count count count number")


def _run_softmax(data, largest, out, logarithm):
    (rows, width), lanes = data.shape, lanes_for(data.shape[1])
    _softmax(rows * lanes, data, largest, out, rows, width, lanes, logarithm)


def softmax_rows(data, largest, out):
    """``exp(data - largest)`` over its sum, row by row; (rows, columns), largest (rows,) finite."""
    _run_softmax(data, largest, out, False)


def log_softmax_rows(data, largest, out):
    """Logarithm of ``softmax_rows``, computed without it."""
    _run_softmax(data, largest, out, True)


def layer_norm_rows(data, gamma, beta, epsilon, out, mean, deviation):
    """Each row less its mean, over ``sqrt(variance + epsilon)``, times gamma plus beta; both are given back."""
    (rows, width), lanes = data.shape, lanes_for(data.shape[1])
    _layer_norm(rows * lanes, data, gamma, beta, out, mean, deviation, rows, width, lanes, epsilon)
