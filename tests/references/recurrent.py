"""Recurrent networks of several layers, step by step."""

import numpy as np
import scipy.special as special

from . import add, first

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def _sizes(width, state_size, num_layers, bidirectional, mode, projection):
    """Shapes of the weights of each layer and direction, then those of the biases, as they lie in the vector."""
    out, gates, directions = projection or state_size, GATES[mode], 1 + bool(bidirectional)
    weights, biases = [], []
    for layer in range(num_layers):
        for _ in range(directions):
            weights += [(gates * state_size, width if layer == 0 else out * directions), (gates * state_size, out)]
            weights += [(projection, state_size)] if projection else []
            biases += [(gates * state_size,)] * 2
    return weights, biases


def _step(mode, x, hidden, cell, wx, wh, bx, bh, clip):
    left, right = x @ wx.T + bx, hidden @ wh.T + bh
    if mode == "gru":
        (r, z, n), (rh, zh, nh) = (np.split(one, 3, -1) for one in (left, right))
        reset, update = special.expit(r + rh), special.expit(z + zh)
        return (1 - update) * np.tanh(n + reset * nh) + update * hidden, None
    if mode == "lstm":
        i, f, c, o = np.split(left + right, 4, -1)
        cell = special.expit(f) * cell + special.expit(i) * np.tanh(c)
        cell = np.clip(cell, *clip) if clip[0] is not None else cell
        return special.expit(o) * np.tanh(cell), cell
    return (np.tanh(left + right) if mode == "rnn_tanh" else np.maximum(left + right, 0)), None


def recurrent(x, parameters, state, *rest, state_size, num_layers, bidirectional, mode, p, state_outputs, projection_size,
              lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan, use_sequence_length, data_grad=True):
    """The outputs of every step, the last states and, of an LSTM, the last cells."""
    cells = rest[0] if mode == "lstm" else [None] * len(state)
    lengths = rest[-1].astype(int) if use_sequence_length else [len(x)] * x.shape[1]
    weights, biases = _sizes(x.shape[2], state_size, num_layers, bidirectional, mode, projection_size)
    place, parts = 0, []
    for shape in weights + biases:
        count = int(np.prod(shape))
        parts.append(parameters[place: place + count].reshape(shape))
        place += count
    directions, each = 1 + bool(bidirectional), 3 if projection_size else 2
    biases = parts[each * num_layers * directions:]
    last_states, last_cells, clip = [], [], (lstm_state_clip_min, lstm_state_clip_max)
    for layer in range(num_layers):
        width = projection_size or state_size
        made = np.zeros((*x.shape[:2], width * directions))
        for direction in range(directions):
            row = layer * directions + direction
            wx, wh, *project = parts[each * row: each * (row + 1)]
            states, ends = np.array(state[row]), None if mode != "lstm" else np.array(cells[row])
            for sample, length in enumerate(lengths):
                hidden, cell = states[sample], None if ends is None else ends[sample]
                for time in (range(length) if direction == 0 else reversed(range(length))):
                    hidden, cell = _step(mode, x[time, sample], hidden, cell, wx, wh, *biases[2 * row: 2 * row + 2], clip)
                    hidden = hidden @ project[0].T if project else hidden
                    made[time, sample, direction * width: (direction + 1) * width] = hidden
                states[sample] = hidden
                if ends is not None:
                    ends[sample] = cell
            last_states.append(states)
            last_cells.append(ends)
        x = made
    found = [x, np.array(last_states)] + ([np.array(last_cells)] if mode == "lstm" else [])
    return found if state_outputs else found[0]


add("RNN", recurrent, dtype=first)
