"""One step of a recurrent layer over a batch, and the gradient of one; arrays as in ``kernels/cpu/recurrent.py``."""

from __future__ import annotations

import numpy as np

from .arrays import kernel


def _sigmoid(values):
    """``1 / (1 + exp(-values))``, which overflows nowhere."""
    power = np.exp(-np.abs(values))
    share = 1 / (1 + power)
    return np.where(values < 0, power * share, share)


def _parts(gates, count):
    """The columns of each gate."""
    return np.split(gates, count, axis=1)


@kernel
def elman_forward(gates, recurrent, bias, rectified, hidden):
    """``hidden = f(gates + recurrent + bias)``, with ``f`` the rectifier or tanh."""
    sums = gates + recurrent + bias
    hidden[...] = np.where(sums < 0, sums.dtype.type(0), sums) if rectified else np.tanh(sums)


@kernel
def elman_backward(gradient, hidden, rectified, change):
    """The gradient of what ``elman_forward`` adds up, from that of ``hidden``."""
    change[...] = gradient * ((hidden > 0) if rectified else 1 - hidden * hidden)


@kernel
def lstm_forward(gates, recurrent, bias, before, bounds, stop, cell, hidden):
    """Gates from their sums, which they replace; the cell, kept within two bounds; and the hidden state.

    Where ``stop`` is set, a nan in the cell becomes the lower bound.
    """
    low, high = bounds
    gates += recurrent
    gates += bias
    entry, forget, new, leave = parts = _parts(gates, 4)
    for part in parts:
        part[...] = np.tanh(part) if part is new else _sigmoid(part)
    value = forget * before + entry * new
    value = np.where((value < low) | (value != value) if stop else value < low, low, value)
    cell[...] = np.where(value > high, high, value)
    hidden[...] = leave * np.tanh(cell)


@kernel
def lstm_backward(gradient, gradient_cell, gates, before, cell, bounds, change):
    """The gradients of the gates' sums; that of the cell, which is given, becomes that of the cell before."""
    low, high = bounds
    entry, forget, new, leave = _parts(gates, 4)
    first, second, third, fourth = _parts(change, 4)
    bent = np.tanh(cell)
    flow = np.where((low < cell) & (cell < high), gradient_cell + gradient * leave * (1 - bent * bent), cell.dtype.type(0))
    fourth[...] = gradient * bent * leave * (1 - leave)
    first[...] = flow * new * entry * (1 - entry)
    second[...] = flow * before * forget * (1 - forget)
    third[...] = flow * entry * (1 - new * new)
    gradient_cell[...] = flow * forget


@kernel
def gru_forward(gates, recurrent, bias, bias_recurrent, before, extra, hidden):
    """Gates from their sums, which they replace, and the hidden state; ``extra`` is what the reset gate multiplies."""
    two = 2 * hidden.shape[1]
    reset, update, new = _parts(gates, 3)
    recurrent[:, :two] += bias_recurrent[:two]
    gates[:, :two] = _sigmoid(gates[:, :two] + recurrent[:, :two] + bias[:two])
    extra[...] = recurrent[:, two:] + bias_recurrent[two:]
    new[...] = np.tanh(new + bias[two:] + reset * extra)
    hidden[...] = (1 - update) * new + update * before


@kernel
def gru_backward(gradient, gates, before, extra, change, change_recurrent):
    """The gradients of both halves of the gates' sums; that of the state becomes the part that passes by the gates."""
    two = 2 * before.shape[1]
    reset, update, new = _parts(gates, 3)
    first, second, third = _parts(change, 3)
    third[...] = gradient * (1 - update) * (1 - new * new)
    first[...] = third * extra * reset * (1 - reset)
    second[...] = gradient * (before - new) * update * (1 - update)
    change_recurrent[:, :two] = change[:, :two]
    change_recurrent[:, two:] = third * reset
    gradient *= update
