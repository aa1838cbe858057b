"""One step of a recurrent layer over a batch, and the gradient of one; the device functions are in ``recurrent.cu``."""

from __future__ import annotations

from .launch import Kernel

_elman_forward = Kernel("elman_forward", "data data data data* count count count")
_elman_backward = Kernel("elman_backward", "data data data* count count")
_lstm_forward = Kernel("lstm_forward", "data* data data data data* data* count count count number number")
_lstm_backward = Kernel("lstm_backward", "data data* data data data data* count count number number")
_gru_forward = Kernel("gru_forward", "data* data* data data data data* data* count count")
_gru_backward = Kernel("gru_backward", "data* data data data data* data* count count")


def elman_forward(gates, recurrent, bias, rectified, hidden):
    """``hidden = f(gates + recurrent + bias)``, with ``f`` the rectifier or tanh."""
    _elman_forward(hidden.size, gates, recurrent, bias, hidden, *hidden.shape, bool(rectified))


def elman_backward(gradient, hidden, rectified, change):
    """The gradient of what ``elman_forward`` adds up, from that of ``hidden``."""
    _elman_backward(hidden.size, gradient, hidden, change, hidden.size, bool(rectified))


def lstm_forward(gates, recurrent, bias, before, bounds, stop, cell, hidden):
    """Gates from their sums, which they replace; the cell, kept within two bounds; and the hidden state.

    Where ``stop`` is set, a nan in the cell becomes the lower bound.  The bounds lie in ordinary memory.
    """
    _lstm_forward(cell.size, gates, recurrent, bias, before, cell, hidden, *cell.shape, bool(stop), *bounds.tolist())


def lstm_backward(gradient, gradient_cell, gates, before, cell, bounds, change):
    """The gradients of the gates' sums; that of the cell, which is given, becomes that of the cell before."""
    _lstm_backward(cell.size, gradient, gradient_cell, gates, before, cell, change, *cell.shape, *bounds.tolist())


def gru_forward(gates, recurrent, bias, bias_recurrent, before, extra, hidden):
    """Gates from their sums, which they replace, and the hidden state; ``extra`` is what the reset gate multiplies."""
    _gru_forward(hidden.size, gates, recurrent, bias, bias_recurrent, before, extra, hidden, *hidden.shape)


def gru_backward(gradient, gates, before, extra, change, change_recurrent):
    """The gradients of both halves of the gates' sums; that of the state becomes the part that passes by the gates."""
    _gru_backward(before.size, gradient, gates, before, extra, change, change_recurrent, *before.shape)
