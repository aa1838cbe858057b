"""The operator ``RNN``: a whole recurrent network of several layers, and its gradient.

Sources: Elman 1990 (``rnn_relu``, ``rnn_tanh``); Hochreiter and Schmidhuber 1997 (``lstm``); Sak, Senior and Beaufays 2014,
https://arxiv.org/abs/1402.1128 (its projection); Cho et al. 2014, https://arxiv.org/abs/1406.1078 (``gru``, with the reset
gate behind the product as in cuDNN).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...base.errors import DTypeError, ParameterError, RowIndexError, ShapeError, SparsekitError, UnknownNameError, expected
from ...base.rng import generator
from ...core import hooks
from ...core.op import REQUIRED, Op
from ..neural.softmax import floating, wide
from . import recurrent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core import cost
    from ...core.op import Want
    from ...core.partial_shapes import Partial
    from ...core.types import ArrayFunctions, ArrayObject, Arriving, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from .. import samples


class Recurrent(Op):
    """An operator whose fourth array is the lengths of the sequences where there is no cell, as in MXNet."""

    # Any: what the user gave, as in Op
    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Split a call's arguments into input arrays and attributes."""
        lengths = kwargs.get("sequence_length")
        if lengths is not None and kwargs.get("mode") != "lstm" and kwargs.get("state_cell") is None and len(args) < 4:
            kwargs = {**kwargs, "state_cell": lengths}
            del kwargs["sequence_length"]
        return super().arguments(args, kwargs)


def _check_attrs(attrs: Attrs) -> None:
    if attrs["mode"] not in recurrent.MODES:
        raise UnknownNameError.of("mode", attrs["mode"], recurrent.MODES)
    for name in ("state_size", "num_layers", *(["projection_size"] if attrs["projection_size"] is not None else [])):
        if not isinstance(attrs[name], (int, np.integer)) or attrs[name] < 1:
            raise ShapeError(expected(name, "an integer of at least 1", attrs[name]), hint=f"{name}=1, for example.")
    if attrs["projection_size"] is not None and attrs["mode"] != "lstm":
        raise SparsekitError(f"projection_size={attrs['projection_size']} was given for mode={attrs['mode']!r}.",
                             hint="only an lstm projects its states.")
    if not 0 <= attrs["p"] <= 1:
        raise ParameterError(expected("p", "from 0 to 1", attrs["p"]), hint="p is the share of values that are dropped.")
    low, high = attrs["lstm_state_clip_min"], attrs["lstm_state_clip_max"]
    if (low is None) != (high is None) or (low is not None and not low <= high):
        raise SparsekitError(f"lstm_state_clip_min is {low!r} and lstm_state_clip_max {high!r}.",
                             hint="give both, the smaller first, or neither.")


def _has_cell(attrs: Attrs) -> bool:
    return bool(attrs["mode"] == "lstm")


def _sizes(data: Shape, attrs: Attrs) -> recurrent.Sizes:
    projection = attrs["projection_size"]
    return recurrent.Sizes(
        attrs["mode"], int(data[2]), attrs["state_size"], attrs["state_size"] if projection is None else projection,
        attrs["num_layers"], 2 if attrs["bidirectional"] else 1, projection is not None, attrs["p"] > 0)


def _names(attrs: Attrs) -> list[str]:
    """The arrays that a call with these attributes takes."""
    return ["data", "parameters", "state", *(["state_cell"] if _has_cell(attrs) else []),
            *(["sequence_length"] if attrs["use_sequence_length"] else [])]


def _shape(shapes: list[Shape], attrs: Attrs) -> list[Shape]:
    _check_attrs(attrs)
    names = _names(attrs)
    if len(shapes) != len(names):
        raise SparsekitError(f"mode={attrs['mode']!r} with use_sequence_length={attrs['use_sequence_length']} takes "
                             f"{len(names)} arrays, and {len(shapes)} were given.", hint=f"they are {', '.join(names)}.")
    data = tuple(shapes[0])
    if len(data) != 3:
        raise ShapeError(f"data must have three axes, got shape {data}.", hint="it is (time, batch, inputs).")
    sizes = _sizes(data, attrs)
    rows = sizes.layers * sizes.directions
    wanted = {"parameters": (recurrent.parameter_count(sizes),), "state": (rows, data[1], sizes.width),
              "state_cell": (rows, data[1], sizes.hidden), "sequence_length": (data[1],)}
    for name, shape in zip(names[1:], shapes[1:], strict=True):
        if tuple(shape) != wanted[name]:
            raise ShapeError(f"{name} has shape {tuple(shape)}; data of shape {data} and these sizes need {wanted[name]}.",
                             hint="parameters are one vector: the weights of all layers, then their biases.")
    out = (*data[:2], sizes.width * sizes.directions)
    states = [wanted[name] for name in names[2:4] if name != "sequence_length"]
    return [out, *states, (recurrent.held_size(sizes, *data[:2]),)]


def _held_type(dtype: DType) -> DType:
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _dtypes(dtypes: list[DType], attrs: Attrs) -> list[DType]:
    return [dtypes[0]] * (2 + _has_cell(attrs)) + [_held_type(dtypes[0])]


def _cost(attrs: Attrs, inputs: Sequence[cost.Meta], outputs: Sequence[cost.Meta]) -> tuple[int, int]:
    """A multiplication and an addition for each parameter, step and sample."""
    work = 2 * math.prod(inputs[0]["shape"][:2]) * math.prod(inputs[1]["shape"])
    return work, work


def _sample() -> samples.Samples:
    rng = np.random.default_rng(7)
    cases = []
    for mode, layers, both, projection, lengths in (
            ("lstm", 1, False, 2, False), ("lstm", 2, True, None, True), ("gru", 2, True, None, False),
            ("rnn_tanh", 2, False, None, False), ("rnn_relu", 1, True, None, False)):
        attrs = {"state_size": 3, "num_layers": layers, "bidirectional": both, "mode": mode, "projection_size": projection,
                 "state_outputs": True, "use_sequence_length": lengths}
        sizes = _sizes((4, 2, 2), {**attrs, "p": 0})
        rows = layers * (1 + both)
        shapes = [(4, 2, 2), (recurrent.parameter_count(sizes),), (rows, 2, sizes.width)]
        shapes += [(rows, 2, 3)] if mode == "lstm" else []
        arrays = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
        cases.append(([*arrays, *([np.array([2, 4], np.float32)] if lengths else [])], attrs))
    return cases


_ATTRS: Attrs = {
    "state_size": REQUIRED, "num_layers": REQUIRED, "bidirectional": False, "mode": REQUIRED, "p": 0.0,
    "state_outputs": False, "projection_size": None, "lstm_state_clip_min": None, "lstm_state_clip_max": None,
    "lstm_state_clip_nan": False, "use_sequence_length": False}


def _inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    data = shapes[0]
    if data is None or len(data) != 3:
        return [None] * len(shapes)
    directions, projection = 2 if attrs["bidirectional"] else 1, attrs["projection_size"]
    rows, hidden = attrs["num_layers"] * directions, attrs["state_size"]
    width = hidden if projection is None else projection
    inputs: list[Partial] = [data, (None,), (rows, data[1], width)]
    if data[2] is not None:
        sizes = recurrent.Sizes(attrs["mode"], data[2], hidden, width, attrs["num_layers"], directions, projection is not None,
                                False)
        inputs[1] = (recurrent.parameter_count(sizes),)
    if attrs["mode"] == "lstm":
        inputs.append((rows, data[1], hidden))
    if attrs["use_sequence_length"]:
        inputs.append((data[1],))
    return inputs


def _wants(attrs: Attrs, name: str) -> bool:
    return bool(attrs["mode"] == "lstm" if name == "state_cell" else attrs["use_sequence_length"])


rnn = Recurrent(
    "RNN", "data parameters state state_cell? sequence_length?", attrs=_ATTRS, shape=_shape, dtype=_dtypes,
    input_rule=_inputs, wants=_wants, cost=_cost, sample=_sample, outputs=lambda attrs: 3 + _has_cell(attrs),
    visible=lambda attrs: 2 + _has_cell(attrs) if attrs["state_outputs"] else 1, nondifferentiable=(4,),
    random=lambda attrs, training: training and attrs["p"] > 0 and attrs["num_layers"] > 1,
    doc="""A recurrent network of several layers over sequences (time, batch, inputs).

``mode`` is ``rnn_relu``, ``rnn_tanh``, ``lstm`` or ``gru``.  ``state`` and, for an lstm, ``state_cell`` are the states before
the first step, of shape (layers * directions, batch, state_size).  The result has the shape (time, batch, directions *
state_size).  With ``state_outputs``, the last states are returned too.

``parameters`` is one vector.  It begins with the weights: for each layer and direction those of the inputs, of the state, and
of the projection if there is one.  The biases follow: for each layer and direction those of the inputs and of the state.  The
order of the gates is input, forget, cell, output (lstm) and reset, update, new (gru).

In training, the share ``p`` of the values between layers is dropped.  ``projection_size`` is the width of the projected
states of an lstm.  ``lstm_state_clip_min`` and ``lstm_state_clip_max`` bound the cell; with ``lstm_state_clip_nan``, the lower
bound replaces nan.  With ``use_sequence_length``, ``sequence_length``, of shape (batch,), is the number of valid steps of each
sample.  Outputs after the last valid step are zero, the last states are those of the last valid step, and the backward
direction starts there.

On the CPU, MXNet 1.9.1 ignores lengths and bounds, and cannot train projections.""")


def _active(xp: ArrayModule, lengths: Array, steps: int) -> Array | None:
    """Which samples each step is for, (time, batch); None if it is for all."""
    wrong = lengths[~((lengths >= 0) & (lengths < steps + 1))]
    if wrong.size:
        raise RowIndexError(f"RNN: the sequence length {wrong[0]} is not from 0 to {steps}.", hint="lengths count steps of data.")
    counts = lengths.astype(np.int64)
    return None if (counts == steps).all() else xp.arange(steps)[:, None] < counts


class _Problem:
    """The arrays of a call, as what ``recurrent`` computes with."""

    def __init__(self, k: Kernels, arrays: Sequence[Array], attrs: Attrs) -> None:
        _check_types(arrays, attrs)
        inputs = dict(zip(_names(attrs), arrays, strict=True))
        steps, batch = arrays[0].shape[:2]
        dtype = _held_type(arrays[0].dtype)
        self.sizes = _sizes(arrays[0].shape, attrs)
        self.data, self.flat = (k.xp.ascontiguousarray(wide(inputs[name])) for name in ("data", "parameters"))
        self.weights = recurrent.parameters_in(self.sizes, self.flat)
        self.starts = starts_of(k.xp, inputs["state"], inputs.get("state_cell"))
        low, high = (-np.inf, np.inf) if attrs["lstm_state_clip_min"] is None else (
            attrs["lstm_state_clip_min"], attrs["lstm_state_clip_max"])
        lengths = inputs.get("sequence_length")
        active = None if lengths is None else _active(k.xp, lengths, steps)
        stop = bool(attrs["lstm_state_clip_nan"] and attrs["lstm_state_clip_min"] is not None)
        self.run = recurrent.Pass(k, self.sizes, k.xp.array([low, high], dtype), stop, active)
        self.steps, self.batch, self.dtype = steps, batch, dtype


def starts_of(xp: ArrayModule, state: Array, cell: Array | None) -> list[recurrent.Start]:
    """The states of each layer and direction."""
    state = xp.ascontiguousarray(wide(state))
    cells = [None] * len(state) if cell is None else list(xp.ascontiguousarray(wide(cell)))
    return [recurrent.Start(*pair) for pair in zip(state, cells, strict=True)]


def _check_types(arrays: Sequence[Array], attrs: Attrs) -> None:
    floating("RNN", arrays[0])
    for name, array in zip(_names(attrs)[:3 + _has_cell(attrs)], arrays, strict=False):
        if array.dtype != arrays[0].dtype:
            raise DTypeError(f"RNN: {name} is {array.dtype}, and data {arrays[0].dtype}.", hint="cast one with astype().")


def _drop(masks: list[Array | None], p: float) -> list[Array | None]:
    """The masks to use: drawn in training; else ones are left for the backward pass, and nothing is multiplied."""
    for mask in masks:
        if mask is not None:
            mask[...] = 1
            if hooks.state.training:
                mask[...] = (generator().random(mask.shape, np.float32) >= p) * mask.dtype.type(1 / (1 - p) if p < 1 else 0)
    return masks if hooks.state.training else [None] * len(masks)


@rnn.forward("default, default, default, default?, default? -> default...")
def _(k: Kernels, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Sequence[Array]:
    arrays, attrs = arguments[:-1], arguments[-1]
    problem = _Problem(k, arrays, attrs)
    left = k.xp.empty(recurrent.held_size(problem.sizes, problem.steps, problem.batch), problem.dtype)
    held, masks = recurrent.held_in(problem.sizes, left, problem.steps, problem.batch)
    out, ends = recurrent.forward(problem.run, problem.data, problem.weights, problem.starts, held,
                                  _drop(masks, attrs["p"]))
    dtype = arrays[0].dtype
    states = [k.xp.stack(list(parts)).astype(dtype, copy=False) for parts in zip(*ends, strict=True) if parts[0] is not None]
    out = out.copy() if k.xp.may_share_memory(out, left) else out  # the saved states must not change with the result
    return (out.astype(dtype, copy=False), *states, left)


@rnn.gradient
def _(F: ArrayFunctions, g: Arriving, data: ArrayObject, parameters: ArrayObject, state: ArrayObject,
      state_cell: ArrayObject | None, sequence_length: ArrayObject | None, out: Sequence[ArrayObject], attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    heads = [F.zeros_like(out[place]) if head is None else head
             for place, head in enumerate(g if isinstance(g, tuple) else (g,))]
    arrays = [array for array in (data, parameters, state, state_cell, sequence_length) if array is not None]
    gradients = [*F._rnn_backward(*heads, *arrays, out[-1], data_grad=want[0] is not None, **attrs)]
    padded = [*gradients, *(F.zeros_like(array) for array in arrays[len(gradients):])]
    return (*padded, *[None] * (5 - len(padded)))


# The gradient as an operator

#: Arrays, or the shapes or element types of arrays.
Part = TypeVar("Part")


def _split(parts: Sequence[Part], attrs: Attrs) -> tuple[Sequence[Part], Sequence[Part], Part]:
    """Gradients from above, the arrays of the forward call, and what it left."""
    heads = 2 + _has_cell(attrs) if attrs["state_outputs"] else 1
    return parts[:heads], parts[heads:-1], parts[-1]


def _backward_shape(shapes: list[Shape], attrs: Attrs) -> list[Shape]:
    _check_attrs(attrs)
    data, *others = _split(shapes, attrs)[1][:3 + _has_cell(attrs)]
    return [data if attrs["data_grad"] else (0,), *others]


def _backward_sample() -> samples.Samples:
    attrs = {**rnn.bind({"state_size": 2, "num_layers": 1, "mode": "gru"}).attrs, "data_grad": True}
    sizes = _sizes((2, 1, 2), attrs)
    shapes = [(2, 1, 2), (2, 1, 2), (recurrent.parameter_count(sizes),), (1, 1, 2), (recurrent.held_size(sizes, 2, 1),)]
    rng = np.random.default_rng(3)
    return [([rng.uniform(0, 1, shape).astype(np.float32) for shape in shapes], attrs)]


rnn_backward = Op(
    "_rnn_backward", "*arrays", attrs={**_ATTRS, "data_grad": True}, shape=_backward_shape,
    outputs=lambda attrs: 3 + _has_cell(attrs), sample=_backward_sample,
    dtype=lambda dtypes, attrs: [_split(dtypes, attrs)[1][0]] * (3 + _has_cell(attrs)),
    cost=lambda attrs, inputs, outputs: (
        2 * _cost(attrs, _split(inputs, attrs)[1], outputs)[0],) * 2,
    gradient_hint="gradients of gradients go through gluon.rnn's cells, with unroll()", label="the gradient of RNN",
    doc="""Gradients of ``RNN``: of its data (empty unless ``data_grad``), parameters and first states.

Takes the gradients of its results, its arrays, and what it left.""")


@rnn_backward.forward("default... -> default...")
def _(k: Kernels, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Sequence[Array]:
    attrs = arguments[-1]
    heads, arrays, left = _split(arguments[:-1], attrs)
    problem, xp = _Problem(k, arrays, attrs), k.xp
    held, masks = recurrent.held_in(problem.sizes, xp.ascontiguousarray(left), problem.steps, problem.batch)
    flat = xp.empty(problem.flat.shape, problem.dtype)
    gradients = recurrent.parameters_in(problem.sizes, flat)
    last = heads[1:] if attrs["state_outputs"] else [xp.zeros_like(array) for array in arrays[2: 3 + _has_cell(attrs)]]
    ends = starts_of(xp, *(xp.array(array) for array in last), *(() if _has_cell(attrs) else (None,)))
    below, begins = recurrent.backward(problem.run, wide(heads[0]), ends, problem.data, problem.weights, problem.starts, held,
                                       masks, gradients, attrs["data_grad"])
    below = xp.empty(0, problem.dtype) if below is None else below
    states = [xp.stack(list(parts)) for parts in zip(*begins, strict=True) if parts[0] is not None]
    return tuple(part.astype(arrays[0].dtype, copy=False) for part in (below, flat, *states))
