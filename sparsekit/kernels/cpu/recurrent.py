"""One step of a recurrent layer over a batch, and the gradient of one: what is left between the matrix products.

Arrays are (batch, features), in the order of gates that MXNet and cuDNN keep: input, forget, cell, output; reset, update, new.

A row is gone over several times, each time with one array written and few read: LLVM turns a loop into vectors only
where it can check cheaply that no two of its arrays overlap, and a row stays in the first cache.  ``error_model="numpy"``
keeps the test for a division by zero out of the loops, which would end that too.
"""

from __future__ import annotations

import math

import numpy as np

from .activation import _single_sigmoid
from .intrinsic_names import by_type
from .jit import kernel
from .normalize import _exp


@kernel(fastmath={"contract"}, error_model="numpy")
def _single_tanh(value):
    """``tanh`` of a float32 as straight-line code: a polynomial near zero, after S. L. Moshier, Cephes, ``tanhf``."""
    size, square = abs(value), value * value
    near = np.float32(-5.70498872745e-3)
    near = near * square + np.float32(2.06390887954e-2)
    near = near * square - np.float32(5.37397155531e-2)
    near = near * square + np.float32(1.33314422036e-1)
    near = near * square - np.float32(3.33332819422e-1)
    near = near * square * value + value
    power = _exp(np.float32(-2) * size)
    far = (np.float32(1) - power) / (np.float32(1) + power)
    far = far if value >= np.float32(0) else -far
    far = far if value == value else value  # nan stays what it is
    return near if size < np.float32(0.625) else far


@kernel(error_model="numpy")
def _double_sigmoid(value):
    """``1 / (1 + exp(-value))`` of a float64."""
    power = math.exp(-abs(value))
    share = 1 / (1 + power)
    return share if value >= 0 else power * share


@kernel(error_model="numpy")
def _double_tanh(value):
    """``tanh`` of a float64."""
    return math.tanh(value)


@kernel(fastmath={"contract"}, error_model="numpy")
def _sigmoid(value):
    return by_type(value, _single_sigmoid, _double_sigmoid)


@kernel(fastmath={"contract"}, error_model="numpy")
def _tanh(value):
    return by_type(value, _single_tanh, _double_tanh)


@kernel(fastmath={"contract"}, error_model="numpy")
def _sigmoid_of(sums, recurrent, bias):
    """``sigmoid(sums + recurrent + bias)`` in the place of ``sums``."""
    for place in range(sums.shape[0]):
        sums[place] = _sigmoid(sums[place] + recurrent[place] + bias[place])


@kernel(fastmath={"contract"}, error_model="numpy")
def _tanh_of(sums, recurrent, bias):
    """``tanh(sums + recurrent + bias)`` in the place of ``sums``."""
    for place in range(sums.shape[0]):
        sums[place] = _tanh(sums[place] + recurrent[place] + bias[place])


@kernel(fastmath={"contract"}, error_model="numpy")
def elman_forward(gates, recurrent, bias, rectified, hidden):
    """``hidden = f(gates + recurrent + bias)``, with ``f`` the rectifier or tanh."""
    zero = gates.dtype.type(0)
    for row in range(gates.shape[0]):
        sums, back, state = gates[row], recurrent[row], hidden[row]
        if rectified:
            for place in range(state.shape[0]):
                value = sums[place] + back[place] + bias[place]
                state[place] = zero if value < zero else value
        else:
            for place in range(state.shape[0]):
                state[place] = _tanh(sums[place] + back[place] + bias[place])


@kernel(fastmath={"contract"}, error_model="numpy")
def elman_backward(gradient, hidden, rectified, change):
    """The gradient of what ``elman_forward`` adds up, from that of ``hidden``."""
    zero, one = hidden.dtype.type(0), hidden.dtype.type(1)
    for row in range(hidden.shape[0]):
        above, value, changes = gradient[row], hidden[row], change[row]
        for place in range(changes.shape[0]):
            slope = (one if value[place] > zero else zero) if rectified else one - value[place] * value[place]
            changes[place] = above[place] * slope


@kernel(fastmath={"contract"}, error_model="numpy")
def lstm_forward(gates, recurrent, bias, before, bounds, stop, cell, hidden):
    """Gates from their sums, which they replace; the cell, kept within two bounds; and the hidden state.

    Where ``stop`` is set, a nan in the cell becomes the lower bound.
    """
    width, low, high = cell.shape[1], bounds[0], bounds[1]
    two, three = 2 * width, 3 * width
    for row in range(cell.shape[0]):
        sums, back, old, now, state = gates[row], recurrent[row], before[row], cell[row], hidden[row]
        _sigmoid_of(sums[:two], back[:two], bias[:two])
        _tanh_of(sums[two:three], back[two:three], bias[two:three])
        _sigmoid_of(sums[three:], back[three:], bias[three:])
        entry, forget, new, leave = sums[:width], sums[width:two], sums[two:three], sums[three:]
        for place in range(width):
            value = forget[place] * old[place] + entry[place] * new[place]
            value = low if value < low or (stop and value != value) else value
            now[place] = high if value > high else value
        for place in range(width):
            state[place] = leave[place] * _tanh(now[place])


@kernel(fastmath={"contract"}, error_model="numpy")
def lstm_backward(gradient, gradient_cell, gates, before, cell, bounds, change):
    """The gradients of the gates' sums; that of the cell, which is given, becomes that of the cell before."""
    width, low, high = cell.shape[1], bounds[0], bounds[1]
    one, zero = cell.dtype.type(1), cell.dtype.type(0)
    for row in range(cell.shape[0]):
        above, flow, gate, old, now, changes = gradient[row], gradient_cell[row], gates[row], before[row], cell[row], change[row]
        entry, forget, new, leave = gate[:width], gate[width:2 * width], gate[2 * width:3 * width], gate[3 * width:]
        first, second, third, fourth = (
            changes[:width], changes[width:2 * width], changes[2 * width:3 * width], changes[3 * width:])
        for place in range(width):
            fourth[place] = _tanh(now[place])
        for place in range(width):
            bent = fourth[place]
            total = flow[place] + above[place] * leave[place] * (one - bent * bent)
            flow[place] = total if low < now[place] and now[place] < high else zero
        for place in range(width):
            fourth[place] = above[place] * fourth[place] * leave[place] * (one - leave[place])
        for place in range(width):
            first[place] = flow[place] * new[place] * entry[place] * (one - entry[place])
        for place in range(width):
            second[place] = flow[place] * old[place] * forget[place] * (one - forget[place])
        for place in range(width):
            third[place] = flow[place] * entry[place] * (one - new[place] * new[place])
        for place in range(width):
            flow[place] *= forget[place]


@kernel(fastmath={"contract"}, error_model="numpy")
def gru_forward(gates, recurrent, bias, bias_recurrent, before, extra, hidden):
    """Gates from their sums, which they replace, and the hidden state; ``extra`` is what the reset gate multiplies."""
    width, one = hidden.shape[1], hidden.dtype.type(1)
    two = 2 * width
    for row in range(hidden.shape[0]):
        sums, back, old, own, state = gates[row], recurrent[row], before[row], extra[row], hidden[row]
        outer, inner = bias[two:], bias_recurrent[two:]
        reset, update, new, fresh = sums[:width], sums[width:two], sums[two:], back[two:]
        for place in range(two):
            back[place] += bias_recurrent[place]
        _sigmoid_of(sums[:two], back[:two], bias[:two])
        for place in range(width):
            own[place] = fresh[place] + inner[place]
        for place in range(width):
            new[place] = _tanh(new[place] + outer[place] + reset[place] * own[place])
        for place in range(width):
            state[place] = (one - update[place]) * new[place] + update[place] * old[place]


@kernel(fastmath={"contract"}, error_model="numpy")
def gru_backward(gradient, gates, before, extra, change, change_recurrent):
    """The gradients of both halves of the gates' sums; that of the state becomes the part that passes by the gates."""
    width, one = before.shape[1], before.dtype.type(1)
    two = 2 * width
    for row in range(before.shape[0]):
        above, gate, old, own, changes, back = (
            gradient[row], gates[row], before[row], extra[row], change[row], change_recurrent[row])
        reset, update, new = gate[:width], gate[width:two], gate[two:]
        first, second, third = changes[:width], changes[width:two], changes[two:]
        for place in range(width):
            third[place] = above[place] * (one - update[place]) * (one - new[place] * new[place])
        for place in range(width):
            first[place] = third[place] * own[place] * reset[place] * (one - reset[place])
        for place in range(width):
            second[place] = above[place] * (old[place] - new[place]) * update[place] * (one - update[place])
        back[:two] = changes[:two]
        for place in range(width):
            back[two + place] = third[place] * reset[place]
        for place in range(width):
            above[place] *= update[place]
