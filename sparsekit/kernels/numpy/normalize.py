"""Softmax and layer normalization of the rows of a dense matrix."""

from __future__ import annotations

import numpy as np

from .arrays import kernel


@kernel
def softmax_rows(data, largest, out):
    """``exp(data - largest)`` over its sum, row by row; float32 (rows, columns), largest (rows,) finite."""
    np.exp(data - largest[:, None], out=out)
    out *= 1 / out.sum(axis=1, keepdims=True)


@kernel
def log_softmax_rows(data, largest, out):
    """Logarithm of ``softmax_rows``, computed without it."""
    np.subtract(data, largest[:, None], out=out)
    out -= np.log(np.exp(out).sum(axis=1, keepdims=True))


@kernel
def layer_norm_rows(data, gamma, beta, epsilon, out, mean, deviation):
    """Each row less its mean, over ``sqrt(variance + epsilon)``, times gamma plus beta; both are given back."""
    width = out.dtype.type(data.shape[1])
    mean[...] = data.sum(axis=1) / width
    centred = data - mean[:, None]
    deviation[...] = np.sqrt(np.einsum("ij,ij->i", centred, centred) / width + out.dtype.type(epsilon))
    out[...] = centred * (1 / deviation)[:, None] * gamma + beta
