"""The computation of a recurrent network, layer by layer: packed parameters, forward pass and backward pass.

The inputs of all steps are multiplied at once, and so are the gradients of the weights; a step multiplies the state
before it only, and one kernel does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.types import Array, Shape
    from ...kernels.types import Kernels

#: What the name of each gate's weights has behind ``i2h`` and ``h2h``, for each kind of network.
GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}

#: Number of gates of each kind of network.
MODES = {mode: len(gates) for mode, gates in GATES.items()}


class Sizes(NamedTuple):
    """The sizes of a network: its ``hidden`` units, and the ``width`` of the states, which a projection changes."""

    mode: str
    inputs: int
    hidden: int
    width: int
    layers: int
    directions: int
    projects: bool
    dropout: bool

    @property
    def sums(self) -> int:
        """Sums that one step of one layer computes for one sample."""
        return MODES[self.mode] * self.hidden

    def inputs_of(self, layer: int) -> int:
        """Number of inputs of a layer."""
        return self.inputs if layer == 0 else self.width * self.directions


class Weights(NamedTuple):
    """The parameters of one direction of one layer, or their gradients."""

    inputs: Array
    recurrent: Array
    projection: Array | None
    bias_inputs: Array
    bias_recurrent: Array


class Held(NamedTuple):
    """Arrays that the forward pass of one direction of one layer saves for the backward pass, each (steps, batch, …)."""

    gates: Array
    states: Array
    cells: Any   # Any: None but for an lstm
    hidden: Any  # Any: None without a projection
    extra: Any   # Any: None but for a gru


class Start(NamedTuple):
    """States before the first step, or the gradients of those behind the last, of one direction of one layer."""

    state: Array
    cell: Any  # Any: None but for an lstm


class Pass(NamedTuple):
    """Data common to all layers: kernels, sizes, bounds of the cell, and which samples each step is for."""

    k: Kernels
    sizes: Sizes
    bounds: Array
    stop: bool
    active: Array | None


def _cut(flat: Array, shapes: Iterator[Shape | None]) -> Iterator[Any]:  # Any: None in the place of an array for None
    """Consecutive pieces of a vector as arrays of these shapes; None for None."""
    start = 0
    for shape in shapes:
        if shape is None:
            yield None
            continue
        stop = start + math.prod(shape)
        yield flat[start:stop].reshape(shape)
        start = stop


def _weight_shapes(sizes: Sizes) -> Iterator[Shape | None]:
    """Shapes in their order: the weights of all layers and directions, then the biases of all."""
    for layer in range(sizes.layers):
        for _ in range(sizes.directions):
            yield sizes.sums, sizes.inputs_of(layer)
            yield sizes.sums, sizes.width
            yield (sizes.width, sizes.hidden) if sizes.projects else None
    for _ in range(2 * sizes.layers * sizes.directions):
        yield (sizes.sums,)


def _by_layer(sizes: Sizes, shapes_of: Callable[[Sizes], Iterator[Shape | None]]) -> int:
    """The elements of all shapes; every layer after the first adds equally many, so up to 2**62 layers are counted at once."""
    single, double = (sum(math.prod(shape) for shape in shapes_of(sizes._replace(layers=count)) if shape is not None)
                      for count in (1, 2))
    return int(single + (sizes.layers - 1) * (double - single))


def parameter_count(sizes: Sizes) -> int:
    """Length of the vector of all parameters."""
    return _by_layer(sizes, _weight_shapes)


def inputs_for(sizes: Sizes, count: int) -> int | None:
    """The number of inputs for which the vector has this length; None if there is none."""
    inputs, left = divmod(count - parameter_count(sizes._replace(inputs=0)), sizes.sums * sizes.directions)
    return inputs if not left and inputs > 0 else None


def parameters_in(sizes: Sizes, flat: Array) -> list[Weights]:
    """The parameters, as views of their vector, of each layer and direction."""
    pieces = list(_cut(flat, _weight_shapes(sizes)))
    count = sizes.layers * sizes.directions
    biases = pieces[3 * count:]
    return [Weights(*pieces[3 * place: 3 * place + 3], *biases[2 * place: 2 * place + 2]) for place in range(count)]


def gates_in(sizes: Sizes, flat: Array) -> Iterator[tuple[str, Array]]:
    """Yield the parameters of each gate, as views of the vector and in its order, with MXNet's names: ``l0_i2h_f_weight``."""
    gates, layers = GATES[sizes.mode], parameters_in(sizes, flat)
    for role in ("weight", "bias"):
        for place, parts in enumerate(layers):
            layer, direction = divmod(place, sizes.directions)
            both = (parts.inputs, parts.recurrent) if role == "weight" else (parts.bias_inputs, parts.bias_recurrent)
            for group, values in zip(("i2h", "h2h"), both, strict=True):
                for gate, piece in zip(gates, values.reshape(len(gates), sizes.hidden, *values.shape[1:]), strict=True):
                    yield f"{'lr'[direction]}{layer}_{group}{gate}_{role}", piece


def _held_shapes(sizes: Sizes, steps: int, batch: int) -> Iterator[Shape | None]:
    def of(width: int, needed: bool = True) -> Shape | None:
        return (steps, batch, width) if needed else None

    for _ in range(sizes.layers * sizes.directions):
        yield of(sizes.sums)
        yield of(sizes.width)
        yield of(sizes.hidden, sizes.mode == "lstm")
        yield of(sizes.hidden, sizes.projects)
        yield of(sizes.hidden, sizes.mode == "gru")
    for _ in range(sizes.layers - 1):
        yield of(sizes.width * sizes.directions, sizes.dropout)


def held_size(sizes: Sizes, steps: int, batch: int) -> int:
    """Length of the vector that the forward pass leaves for the backward pass."""
    return _by_layer(sizes, lambda some: _held_shapes(some, steps, batch))


def held_in(sizes: Sizes, flat: Array, steps: int, batch: int) -> tuple[list[Held], list[Array | None]]:
    """What is held, as views of its vector: of each layer and direction, and the dropout masks between layers."""
    pieces = list(_cut(flat, _held_shapes(sizes, steps, batch)))
    count = sizes.layers * sizes.directions
    return [Held(*pieces[5 * place: 5 * place + 5]) for place in range(count)], pieces[5 * count:]


def _order(direction: int, steps: int) -> range:
    return range(steps) if direction == 0 else range(steps - 1, -1, -1)


def _rows(array: Array) -> Array:
    """All steps of all samples as rows of one matrix."""
    return array.reshape(-1, array.shape[-1])


# Forward


def forward(run: Pass, data: Array, weights: Sequence[Weights], starts: Sequence[Start], held: Sequence[Held],
            masks: Sequence[Array | None]) -> tuple[Array, list[Start]]:
    """The output of the last layer and the last states of each layer and direction; ``held`` is filled."""
    xp, sizes, ends = run.k.xp, run.sizes, []
    for layer in range(sizes.layers):
        if layer and masks[layer - 1] is not None:
            data = data * masks[layer - 1]
        outputs = []
        for direction in range(sizes.directions):
            place = layer * sizes.directions + direction
            order = _order(direction, data.shape[0])
            ends.append(_forward_layer(run, data, weights[place], starts[place], held[place], order))
            outputs.append(_masked(run, held[place].states))
        data = outputs[0] if len(outputs) == 1 else xp.concatenate(outputs, axis=2)
    return data, ends


def _masked(run: Pass, states: Array) -> Array:
    """Zeros where a sample has ended; the states themselves where none does."""
    return states if run.active is None else states * run.active[:, :, None]


def _forward_layer(run: Pass, data: Array, weights: Weights, start: Start, held: Held, order: range) -> Start:
    xp, batch = run.k.xp, data.shape[1]
    xp.matmul(_rows(data), weights.inputs.T, out=_rows(held.gates))
    recurrent = xp.empty((batch, run.sizes.sums), data.dtype)
    step, turned = _stepper(run, weights, held, recurrent), weights.recurrent.T
    state, cell = start
    for time in order:
        xp.matmul(state, turned, out=recurrent)
        step(time, state, cell)
        if run.active is not None:
            _hold(~run.active[time], (held.states[time], state), *([] if cell is None else [(held.cells[time], cell)]))
        state, cell = held.states[time], None if cell is None else held.cells[time]
    return Start(state, cell)


def _hold(ended: Array, *pairs: tuple[Array, Array]) -> None:
    """Give samples that have ended the values that they had."""
    for now, before in pairs:
        now[ended] = before[ended]


def _stepper(run: Pass, weights: Weights, held: Held, recurrent: Array
             ) -> Callable[[int, Array, Any], None]:  # Any: the cell, as in Start
    """A function of the time and the states before it that computes the states of that time."""
    k, mode = run.k, run.sizes.mode
    bias = weights.bias_inputs + weights.bias_recurrent
    if mode == "gru":
        return lambda time, state, cell: k.gru_forward(
            held.gates[time], recurrent, weights.bias_inputs, weights.bias_recurrent, state, held.extra[time],
            held.states[time])
    if mode != "lstm":
        return lambda time, state, cell: k.elman_forward(
            held.gates[time], recurrent, bias, mode == "rnn_relu", held.states[time])
    hidden = held.states if weights.projection is None else held.hidden

    def step(time: int, state: Array, cell: Array) -> None:
        k.lstm_forward(held.gates[time], recurrent, bias, cell, run.bounds, run.stop, held.cells[time],
                       hidden[time])
        if weights.projection is not None:
            k.xp.matmul(hidden[time], weights.projection.T, out=held.states[time])

    return step


# Backward


def backward(run: Pass, head: Array, ends: Sequence[Start], data: Array, weights: Sequence[Weights], starts: Sequence[Start],
             held: Sequence[Held], masks: Sequence[Array | None], gradients: Sequence[Weights],
             first: bool) -> tuple[Array | None, list[Start]]:
    """The gradients of the data (None unless ``first``) and of the first states; ``gradients`` gets the weights'.

    ``head`` and ``ends`` are the gradients of what ``forward`` gives; those of ``ends`` are overwritten.
    """
    sizes = run.sizes
    begins: list[Start] = [ends[0]] * len(ends)
    for layer in range(sizes.layers - 1, -1, -1):
        below: Array | None = None
        inputs = data if layer == 0 else _inputs(run, layer, held, masks)
        for direction in range(sizes.directions):
            place = layer * sizes.directions + direction
            above = _masked(run, head[:, :, direction * sizes.width: (direction + 1) * sizes.width])
            changes, begins[place] = _backward_steps(
                run, above, ends[place], weights[place], starts[place], held[place], direction, gradients[place])
            _weight_gradients(run, changes, inputs, starts[place], held[place], direction, gradients[place])
            if layer or first:
                share = run.k.xp.matmul(_rows(changes[0]), weights[place].inputs).reshape(inputs.shape)
                below = share if below is None else below + share
        if below is None:
            return None, begins
        head = below
        if layer and masks[layer - 1] is not None:
            head *= masks[layer - 1]
    return head, begins


def _inputs(run: Pass, layer: int, held: Sequence[Held], masks: Sequence[Array | None]) -> Array:
    """What a layer above the first was computed from."""
    start = (layer - 1) * run.sizes.directions
    below = [_masked(run, saved.states) for saved in held[start: start + run.sizes.directions]]
    data = below[0] if len(below) == 1 else run.k.xp.concatenate(below, axis=2)
    return data if masks[layer - 1] is None else data * masks[layer - 1]


def _backward_steps(run: Pass, above: Array, end: Start, weights: Weights, start: Start, held: Held, direction: int,
                    gradients: Weights) -> tuple[tuple[Array, Array], Start]:
    """The gradients of the sums, of inputs and of states, and those of the first states; latest step first."""
    xp, order = run.k.xp, _order(direction, above.shape[0])
    change = xp.empty_like(held.gates)
    recurrent = xp.empty_like(held.gates) if held.extra is not None else change
    totals = xp.empty(above.shape, held.gates.dtype) if weights.projection is not None else None
    back = _unstepper(run, weights, held, change, recurrent)
    state, cell = end
    for place in range(len(order) - 1, -1, -1):
        time = order[place]
        before = (start if place == 0 else Start(held.states[order[place - 1]],
                                                 None if cell is None else held.cells[order[place - 1]]))
        state = state + above[time]
        if totals is not None:
            totals[time] = state
        # Any: as in Start
        kept: tuple[Array, Array, Any] | None = None if run.active is None else (
            ~run.active[time], state.copy(), None if cell is None else cell.copy())
        passed = back(time, state, cell, before)
        if kept is not None:
            change[time][kept[0]] = recurrent[time][kept[0]] = 0
        state = xp.matmul(recurrent[time], weights.recurrent)
        if passed is not None:
            state += passed
        if kept is not None:
            _hold(kept[0], (state, kept[1]), *([] if cell is None else [(cell, kept[2])]))
            if totals is not None:
                totals[time][kept[0]] = 0
    if totals is not None:
        xp.matmul(_rows(totals).T, _rows(held.hidden), out=gradients.projection)
    return (change, recurrent), Start(state, cell)


def _unstepper(run: Pass, weights: Weights, held: Held, change: Array, recurrent: Array
               ) -> Callable[[int, Array, Any, Start], Array | None]:  # Any: the cell, as in Start
    """A function of the time, the gradients of its states and the states before it; it fills the gradients of the sums.

    What it gives back is the part of the state's gradient that goes to the state before past all weights, or None.
    """
    k, mode = run.k, run.sizes.mode

    def lstm(time: int, state: Array, cell: Array, before: Start) -> None:
        hidden = state if weights.projection is None else k.xp.matmul(state, weights.projection)
        k.lstm_backward(hidden, cell, held.gates[time], before.cell, held.cells[time], run.bounds, change[time])

    def gru(time: int, state: Array, cell: None, before: Start) -> Array:
        k.gru_backward(state, held.gates[time], before.state, held.extra[time], change[time], recurrent[time])
        return state

    def elman(time: int, state: Array, cell: None, before: Start) -> None:
        k.elman_backward(state, held.states[time], mode == "rnn_relu", change[time])

    # Any: the same
    ways: dict[str, Callable[[int, Array, Any, Start], Array | None]] = {"lstm": lstm, "gru": gru}
    return ways.get(mode, elman)


def _weight_gradients(run: Pass, changes: tuple[Array, Array], inputs: Array, start: Start, held: Held, direction: int,
                      gradients: Weights) -> None:
    """One product over all steps for each weight."""
    xp = run.k.xp
    change, recurrent = changes
    befores = xp.empty_like(held.states)
    befores[0 if direction == 0 else -1] = start.state
    if direction == 0:
        befores[1:] = held.states[:-1]
    else:
        befores[:-1] = held.states[1:]
    xp.matmul(_rows(change).T, _rows(inputs), out=gradients.inputs)
    xp.matmul(_rows(recurrent).T, _rows(befores), out=gradients.recurrent)
    _rows(change).sum(axis=0, out=gradients.bias_inputs)
    if recurrent is change:
        gradients.bias_recurrent[...] = gradients.bias_inputs
    else:
        _rows(recurrent).sum(axis=0, out=gradients.bias_recurrent)
