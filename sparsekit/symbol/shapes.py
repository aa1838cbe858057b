"""Inference of an input's shape from outputs and other inputs: weights from data, labels from predictions.

Shapes here are tuples in which None stands for a size that is not known, or None where not even their number is.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from ..base.errors import ShapeError, expected
from ..base.literal import literal
from ..core import infer
from ..core.op import Call
from ..ops.recurrent import recurrent
from ..ops.update.update import Update

__all__ = ["Partial", "complete", "declared", "from_user", "guess_inputs", "merged", "to_user"]

Partial = tuple[Any, ...] | None
Guess = Callable[[list[Partial], Partial, dict[str, Any]], list[Partial]]


def complete(shape: Partial) -> TypeGuard[tuple[int, ...]]:
    """Whether every size is known."""
    return shape is not None and None not in shape


def merged(left: Partial, right: Partial) -> Partial:
    """Merge two partially known shapes.

    Raises
    ------
    ShapeError
        If they contradict each other.
    """
    if left is None or right is None or left == right:
        return right if left is None else left
    if len(left) != len(right) or any(None not in (one, other) and one != other
                                      for one, other in zip(left, right, strict=True)):
        raise ShapeError(f"{to_user(left)} and {to_user(right)}")
    return tuple(other if one is None else one for one, other in zip(left, right, strict=True))


class _Meaning(threading.local):
    """What a size of 0 means in a shape that users give or read: unknown, or inside ``mx.util.np_shape`` a size."""

    zero_is_a_size = False


meaning = _Meaning()


def from_user(shape: object, name: str, zero_is_unknown: bool | None = None) -> Partial:
    """A shape as users give it, where -1 and None are unknown, and 0 unless ``np_shape`` says otherwise."""
    if shape is None:
        return None
    if isinstance(shape, np.ndarray) and shape.ndim == 1:
        shape = tuple(shape.tolist())
    if not isinstance(shape, (tuple, list)) or not all(
            size is None or (hasattr(size, "__index__") and not isinstance(size, bool)) for size in shape):
        raise ShapeError(f"Arguments need to be shapes (tuple), but {name!r} is {shape!r:.60}.", hint=f"{name}=(2, 3)")
    if any(size is not None and int(size) < -1 for size in shape):
        raise ShapeError(expected(f"The shape of {name}", "a tuple of integers of at least -1", tuple(shape)),
                         hint="0 and -1 stand for unknown sizes.")
    if zero_is_unknown is None:
        zero_is_unknown = not meaning.zero_is_a_size
    unknown = (0, -1) if zero_is_unknown else (-1,)
    return tuple(None if size is None or int(size) in unknown else int(size) for size in shape)


def declared(shape: object, name: str) -> Partial:
    """A shape as declarations give it: also a number for one axis, or the text of a shape."""
    found = literal(shape.strip()) if isinstance(shape, str) else shape
    alone = hasattr(found, "__index__") and not isinstance(found, (bool, np.ndarray))
    return from_user((found,) if alone else found, name)


def to_user(shape: Partial) -> tuple[int, ...]:
    """A shape as users read it, where 0 is unknown (-1 inside ``np_shape``), and () if nothing is known."""
    unknown = -1 if meaning.zero_is_a_size else 0
    return () if shape is None else tuple(unknown if size is None else size for size in shape)


def _all_alike(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    shape = out
    for one in ins:
        shape = merged(shape, one)
    return [shape] * len(ins)


def _first_alike(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    return [out, *ins[1:]]


def _fully_connected(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    data, weight, *bias = ins
    inner = None
    if data is not None and data:
        rest = data[1:] if attrs["flatten"] else data[-1:]
        inner = None if None in rest else math.prod(rest)
    if data and out and data[0] is None and len(data) > 1:
        data = (out[0], *data[1:])
    if data is not None and len(data) == 2 and weight is not None and data[1] is None:
        data = (data[0], weight[1])
    return [data, (attrs["num_hidden"], inner), *[(attrs["num_hidden"],)] * len(bias)]


def _channels(attribute: int | str) -> Guess:
    """Vectors with a value for each entry of one axis of the data."""
    def guess(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
        axis = attrs[attribute] if isinstance(attribute, str) else attribute
        data = merged(ins[0], out)
        size = data[axis] if data is not None and -len(data) <= axis < len(data) else None
        return [data, *[(size,)] * (len(ins) - 1)]

    return guess


def _embedding(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    return [out[:-1] if out else None, (attrs["input_dim"], attrs["output_dim"])]


def _label(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    data = merged(ins[0], out)
    if not data or ins[1] is not None:
        return [data, ins[1]]
    if attrs.get("multi_output"):
        return [data, (data[0], *data[2:])]
    return [data, data[:-1] if attrs.get("preserve_shape") else data[:1]]


def _regression(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    data = merged(ins[0], out)
    label = data[:1] if data is not None and len(data) == 2 and data[1] == 1 else data
    return [data, label if ins[1] is None and complete(data) else ins[1]]


def _recurrent(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    data, guesses = ins[0], [None] * len(ins)
    if data is None or len(data) != 3:
        return list(guesses)
    directions, projection = 2 if attrs["bidirectional"] else 1, attrs["projection_size"]
    rows, hidden = attrs["num_layers"] * directions, attrs["state_size"]
    width = hidden if projection is None else projection
    found: list[Partial] = [data, (None,), (rows, data[1], width)]
    if data[2] is not None:
        sizes = recurrent.Sizes(attrs["mode"], data[2], hidden, width, attrs["num_layers"], directions, projection is not None,
                                False)
        found[1] = (recurrent.parameter_count(sizes),)
    if attrs["mode"] == "lstm":
        found.append((rows, data[1], hidden))
    if attrs["use_sequence_length"]:
        found.append((data[1],))
    return found


def _joined(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    known = [shape for shape in (*ins, out) if shape is not None]
    if not known or not known[0]:
        return ins
    axis = attrs["dim"] % len(known[0])
    common: Partial = None
    for shape in known:
        common = merged(common, tuple(None if place == axis else size for place, size in enumerate(shape)))
    sizes = [None if shape is None else shape[axis] for shape in ins]
    if out is not None and out[axis] is not None and sizes.count(None) == 1:
        sizes[sizes.index(None)] = out[axis] - sum(size for size in sizes if size is not None)
    assert common is not None
    return [(*common[:axis], size, *common[axis + 1:]) for size in sizes]


def _stacked(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    part = None
    if out is not None:
        axis = attrs["axis"] % len(out)
        part = (*out[:axis], *out[axis + 1:])
    return _all_alike(ins, part, attrs)


def _where(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    return [ins[0], *_all_alike(ins[1:], out, attrs)]


def _transposed_axes(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    if out is None:
        return ins
    axes = attrs["axes"] or tuple(range(len(out)))[::-1]
    found: list[Any] = [None] * len(out)
    for place, axis in enumerate(axes):
        found[axis] = out[place]
    return [tuple(found)]


def _split(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    """The data of which equal parts are known."""
    count, axis = attrs["num_outputs"], attrs["axis"]
    if out is None:
        return ins
    if attrs["squeeze_axis"]:
        axis %= len(out) + 1
        return [(*out[:axis], count, *out[axis:])]
    axis %= len(out)
    return [(*out[:axis], None if out[axis] is None else out[axis] * count, *out[axis + 1:])]


def _reshaped(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    """The one size that is missing, from the number of values."""
    data = ins[0]
    if data is None or out is None or not complete(out) or data.count(None) != 1:
        return ins
    known, total = math.prod(size for size in data if size is not None), math.prod(out)
    if not known or total % known:
        return ins
    return [tuple(total // known if size is None else size for size in data)]


def _expanded(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    if not out:
        return ins
    axis = attrs["axis"] % len(out)
    return [(*out[:axis], *out[axis + 1:])]


def _swapped(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    if out is None:
        return ins
    found = list(out)
    one, other = attrs["dim1"] % len(out), attrs["dim2"] % len(out)
    found[one], found[other] = found[other], found[one]
    return [tuple(found)]


def _groups(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    return [out, (attrs["num_groups"],), (attrs["num_groups"],)]


def _product(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    """The axis that two arrays share in ``dot``: the last of the left one and the first of the right one, unless turned."""
    return _shared(ins, 0 if attrs["transpose_a"] else -1, -1 if attrs["transpose_b"] else 0)


def _products(ins: list[Partial], out: Partial, attrs: dict[str, Any]) -> list[Partial]:
    """As ``_product``, for ``batch_dot``; the batch is shared too."""
    made = _shared(ins, 1 if attrs["transpose_a"] else 2, 2 if attrs["transpose_b"] else 1)
    return _shared(made, 0, 0)


def _shared(ins: list[Partial], left_axis: int, right_axis: int) -> list[Partial]:
    left, right = ins
    if not left or not right:
        return ins
    size = right[right_axis] if left[left_axis] is None else left[left_axis]
    return [_with(left, left_axis, size), _with(right, right_axis, size)]


def _with(shape: tuple[Any, ...], axis: int, size: int | None) -> Partial:
    made = list(shape)
    made[axis] = size if made[axis] is None else made[axis]
    return tuple(made)


_GUESSES: dict[str, Guess] = {
    "dot": _product, "batch_dot": _products,
    "FullyConnected": _fully_connected, "BatchNorm": _channels("axis"), "LayerNorm": _channels("axis"),
    "InstanceNorm": _channels(1), "GroupNorm": _groups, "Embedding": _embedding, "_contrib_SparseEmbedding": _embedding,
    "SoftmaxOutput": _label, "SVMOutput": _label, "RNN": _recurrent, "concat": _joined, "stack": _stacked, "where": _where,
    **dict.fromkeys(("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"), _regression),
    **dict.fromkeys(("L2Normalization", "LRN", "Dropout", "SoftmaxActivation", "MakeLoss", "softmax", "log_softmax", "softmin",
                     "reverse", "Activation", "sort", "cumsum"), _first_alike),
    "LeakyReLU": lambda ins, out, attrs: _channels(1)(ins, out, attrs) if len(ins) > 1 else [out],
    "transpose": _transposed_axes, "SliceChannel": _split, "Reshape": _reshaped, "expand_dims": _expanded, "SwapAxis": _swapped,
    "softmax_cross_entropy": lambda ins, out, attrs: [ins[0], ins[0][:1] if ins[0] else None],
}


def guess_inputs(call: Call, ins: list[Partial], out: Partial, one_shape: bool) -> list[Partial]:
    """What each input's shape must be, given the other inputs and the first output.

    Raises
    ------
    ShapeError
        If they contradict each other.
    """
    op: Any = call.op
    if hasattr(op, "guess"):  # an operator that is made of others
        made: list[Partial] = op.guess(ins)
        return made
    if one_shape or op.shape is infer.same_shape:
        return _all_alike(ins, out, call.attrs)
    found = _GUESSES.get(op.name)
    if found is not None:
        try:
            return found(ins, out, call.attrs)
        except (IndexError, ZeroDivisionError):  # no such axis: the operator's own rule says so when all is known
            return ins
    if op.shape is infer.unchanged:
        return _first_alike(ins, out, call.attrs)
    if isinstance(op, Update) and not op.group and op.inputs[-1] != "rescale_grad" and not op.name.endswith("phase2"):
        return _all_alike(ins, out, call.attrs)
    return ins
