"""Connectionist temporal classification: a loss for labels whose alignment with the data is unknown.

The algorithm is that of Graves et al. 2006, "Connectionist temporal classification",
https://www.cs.toronto.edu/~graves/icml_2006.pdf, with logarithms of the forward and backward variables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.errors import RowIndexError, ShapeError, SparsekitError, UnknownNameError
from ...core.cost import Meta
from ...core.op import Op
from ..indexing.positions import whole
from .softmax import floating, softmax_along, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Given, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ..samples import Samples

BLANKS = ("first", "last")


class CTCLoss(Op):
    """The operator; if only the label lengths are passed, they are its third array, as in MXNet."""

    # Any: what a call was given
    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Split a call's arguments into input arrays and attributes."""
        if kwargs.get("data_lengths") is None and kwargs.get("label_lengths") is not None and len(args) < 3:
            kwargs = {**kwargs, "data_lengths": kwargs["label_lengths"]}
            del kwargs["label_lengths"]
        return super().arguments(args, kwargs)


class Paths(NamedTuple):
    """Labels of a batch with blanks between them, of shape (batch, 2 * labels + 1), and the lengths of data and labels."""

    # Any: arrays of numpy or cupy
    symbols: Any
    data_lengths: Any  # Any: as above
    label_lengths: Any  # Any: as above


def _shape(shapes: Sequence[Shape], attrs: Attrs) -> list[Shape]:
    data, label = shapes[:2]
    if len(data) != 3 or len(label) != 2 or data[1] != label[0]:
        raise ShapeError(f"data of shape {data} and label of shape {label} do not match.",
                         hint="pass data of shape (time, batch, classes) and label of shape (batch, labels).")
    if label[1] > data[0] and not attrs["use_label_lengths"]:
        raise ShapeError(f"label has {label[1]} entries, but data has only {data[0]} time steps.",
                         hint="remove padding from label.")
    wanted = attrs["use_data_lengths"] + attrs["use_label_lengths"]
    if len(shapes) - 2 != wanted or any(tuple(shape) != (data[1],) for shape in shapes[2:]):
        raise SparsekitError(f"expected {wanted} arrays of {data[1]} lengths, got "
                             f"{', '.join(map(str, shapes[2:])) or 'none'}.",
                             hint="pass an array of shape (batch,) for each of use_data_lengths and use_label_lengths.")
    if attrs["blank_label"] not in BLANKS:
        raise UnknownNameError.of("blank_label", attrs["blank_label"], BLANKS)
    return [(data[1],), data]


def _paths(xp: ArrayModule, data: Array, label: Array, lengths: Sequence[Array], attrs: Attrs) -> Paths:
    steps, batch, classes = data.shape
    lengths = [whole(xp, length, "ctc_loss: the length") for length in lengths]
    data_lengths = lengths.pop(0) if attrs["use_data_lengths"] else xp.full(batch, steps, np.int64)
    label = label.astype(np.int64)
    blank, padding = (0, 0) if attrs["blank_label"] == "first" else (classes - 1, -1)
    ended = xp.concatenate([label == padding, xp.ones((batch, 1), bool)], axis=1)
    label_lengths = lengths.pop(0) if attrs["use_label_lengths"] else ended.argmax(axis=1)
    _check_range("data length", data_lengths, 0, steps)
    _check_range("label length", label_lengths, 0, label.shape[1])
    counts = xp.arange(label.shape[1]) < label_lengths[:, None]
    _check_range("label", label[counts], 0, classes - 1)  # the blank's own number too, as in MXNet
    symbols = xp.full((batch, 2 * label.shape[1] + 1), blank, np.int64)
    symbols[:, 1::2] = xp.where(counts, label, blank)
    return Paths(symbols, data_lengths, label_lengths)


def _check_range(name: str, values: Array, low: int, high: int) -> None:
    wrong = values[(values < low) | (values > high)]
    if wrong.size:
        raise RowIndexError(f"Each {name} must be from {low} to {high}, got {wrong[0]}.",
                            hint="labels are class numbers; blank_label='first' pads them with 0, and 'last' with -1.")


def _log_add(xp: ArrayModule, *terms: Array) -> Array:
    total = terms[0]
    for term in terms[1:]:
        total = xp.logaddexp(total, term)
    return total


def _behind(xp: ArrayModule, state: Array, steps: int) -> Array:
    """The state ``steps`` places earlier on the path, with -inf before its start."""
    return xp.concatenate([xp.full_like(state[:, :steps], -np.inf), state[:, :-steps]], axis=1)


def _sweep(xp: ArrayModule, scores: Array, symbols: Array, lasting: Array) -> Array:
    """Logarithms of the forward variables, of shape (time, batch, places); constant from time ``lasting`` on."""
    places = xp.arange(symbols.shape[1])
    two_back = xp.concatenate([xp.full_like(symbols[:, :2], -1), symbols[:, :-2]], axis=1)
    skips = (places % 2 == 1) & (symbols != two_back) & (symbols != symbols[:, :1])  # paths begin with a blank
    state = xp.where(places < 2, scores[0], -np.inf)
    states = [state]
    for step in range(1, scores.shape[0]):
        moved = _log_add(xp, state, _behind(xp, state, 1), xp.where(skips, _behind(xp, state, 2), -np.inf))
        state = xp.where((step < lasting)[:, None], moved + scores[step], state)
        states.append(state)
    return xp.stack(states)


def _ends(paths: Paths, places: Array) -> Array:
    """Mask of the places where a path may end: its last label, and the blank after it."""
    last = 2 * paths.label_lengths[:, None]
    ends: Array = (places == last) | (places == last - 1)
    return ends


def _reversed(xp: ArrayModule, array: Array, lengths: Array, axis: int) -> Array:
    """Reverse the first ``lengths`` entries of each sample along an axis; the other entries are unchanged."""
    places = xp.arange(array.shape[axis])
    places = xp.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    if axis == 1:
        return xp.take_along_axis(array, places, 1)
    return xp.take_along_axis(array, places.T[:, :, None], 0)


# Any: arrays of numpy or cupy
def _occupancy(xp: ArrayModule, scores: Array, paths: Paths) -> tuple[Any, Any, Any]:
    """Loss of each sample, probability of each place of its path at each time, and mask of the times with a gradient."""
    symbols, data_lengths, label_lengths = paths
    places = xp.arange(symbols.shape[1])
    path_lengths = 2 * label_lengths + 1
    before = _sweep(xp, scores, symbols, data_lengths)
    ends = xp.where(_ends(paths, places), before[-1], -np.inf)
    total = _log_add(xp, *(ends[:, place] for place in places))
    total = xp.where(data_lengths > 0, total, xp.where(label_lengths == 0, 0, -np.inf))
    turned = xp.stack([_reversed(xp, step, path_lengths, 1) for step in _reversed(xp, scores, data_lengths, 0)])
    after = _sweep(xp, turned, _reversed(xp, symbols, path_lengths, 1), data_lengths)
    after = _reversed(xp, xp.stack([_reversed(xp, step, path_lengths, 1) for step in after]), data_lengths, 0)
    reached = (xp.arange(scores.shape[0])[:, None] < data_lengths) & np.isfinite(total)
    share = before + after - scores - total[:, None]
    inside = reached[:, :, None] & (places < path_lengths[:, None])
    return -total, xp.exp(xp.where(inside, share, -np.inf)), reached


# Any: as above
def _loss_and_gradient(k: Kernels, data: Array, label: Array, lengths: Sequence[Array], attrs: Attrs) -> tuple[Any, Any]:
    xp = k.xp
    logs = softmax_along(k, wide(data), 2, log=True)
    paths = _paths(xp, data, label, lengths, attrs)
    steps = xp.broadcast_to(paths.symbols, (data.shape[0], *paths.symbols.shape))
    loss, share, reached = _occupancy(xp, xp.take_along_axis(logs, steps, 2), paths)
    gradient = xp.exp(logs)
    for place in range(paths.symbols.shape[1]):
        at = paths.symbols[:, place]
        gradient[:, xp.arange(len(at)), at] -= share[:, :, place]
    return loss, xp.where(reached[:, :, None], gradient, 0)


def _sample() -> Samples:
    data = np.random.default_rng(3).uniform(-1, 1, (5, 2, 4)).astype(np.float32)
    label = np.array([[1, 1], [3, 0]], np.float32)
    return [([data, label], {}), ([data, label, np.array([4.5, 3.5], np.float32), np.array([2.5, 1.5], np.float32)],
                                  {"use_data_lengths": True, "use_label_lengths": True})]


def _cost(attrs: Attrs, inputs: list[Meta], outputs: list[Meta]) -> tuple[int, int]:
    """A softmax, and two passes over the paths; each adds logarithms twice (three operations each), and multiplies once."""
    steps, batch, classes = inputs[0]["shape"]
    work = steps * batch * (5 * classes + 2 * 7 * (2 * inputs[1]["shape"][1] + 1))
    return work, work


ctc_loss = CTCLoss(
    "CTCLoss", "data label data_lengths? label_lengths?",
    attrs={"use_data_lengths": False, "use_label_lengths": False, "blank_label": "first"}, shape=_shape,
    dtype=lambda dtypes, attrs: dtypes[0], outputs=2, visible=1, sample=_sample, cost=_cost, nondifferentiable=(1,),
    wants=lambda attrs, name: bool(attrs[f"use_{name}"]),
    saves=("data_lengths", "label_lengths", "out"), aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"),
    doc="""Connectionist temporal classification: the negative log-likelihood of labels under all alignments.

The data has shape (time, batch, classes), and a softmax is applied to it.  Labels (batch, labels) are class numbers.
``blank_label='first'`` reserves class 0 for the blank, and pads labels with 0; ``'last'`` reserves the last class, and pads
with -1.  ``data_lengths`` and ``label_lengths`` (batch,) are the numbers of valid time steps and labels.  Labels without a
possible alignment have an infinite loss and no gradient.""")


@ctc_loss.forward("default, default, default?, default? -> default, default")
def _(k: Kernels, data: Array, label: Array, *arguments: *Given) -> tuple[Array, Array]:
    floating("CTCLoss", data)
    loss, gradient = _loss_and_gradient(k, data, label, arguments[:-1], arguments[-1])
    return loss.astype(data.dtype, copy=False), gradient.astype(data.dtype, copy=False)


@ctc_loss.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, label: ArrayObject, data_lengths: ArrayObject,
      label_lengths: ArrayObject, out: ArrayObject, attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
    above = F.broadcast_mul(F.ones_like(out[1]), F.Reshape(g, shape=(1, -1, 1)))
    return (F._masked(above, out[1]), None, want[2] and F.zeros_like(data_lengths), want[3] and F.zeros_like(label_lengths))
