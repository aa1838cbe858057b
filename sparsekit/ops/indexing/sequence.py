"""Batches of sequences of unequal lengths: masked, reversed, and their last entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ShapeError
from ...core import cost
from ...core.op import Op
from .. import samples
from ..shape.shape import first_dtype, fresh
from .positions import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradient, Gradients
    from ...kernels.types import ArrayModule, Kernels

_LAYOUT = """

``axis``, 0 or 1, is the time axis, and the other of the two is the batch axis.  With ``use_sequence_length=True``, the
vector ``sequence_length`` contains the number of valid steps of each sequence; numbers out of range are clipped.  Otherwise
every sequence has full length."""


def _check(shapes: list[Shape], attrs: Attrs) -> Shape:
    """The data's shape, if axis and lengths fit it."""
    shape, axis = tuple(shapes[0]), attrs["axis"]
    if axis not in (0, 1) or len(shape) < 2:
        raise ShapeError(f"axis must be 0 or 1 of an array of at least two axes, got axis {axis} of shape {shape}.",
                         hint="it is the axis of time; the other one counts the batch.")
    if (len(shapes) > 1) != bool(attrs["use_sequence_length"]):
        raise ShapeError("sequence_length and use_sequence_length=True need each other.", hint="give both or neither.")
    if len(shapes) > 1 and tuple(shapes[1]) != (shape[1 - axis],):
        raise ShapeError(f"sequence_length has shape {tuple(shapes[1])}, the batch {shape[1 - axis]} sequences.",
                         hint="give one length per sequence.")
    return shape


def lengths_of(xp: ArrayModule, x: Array, lengths: tuple[Array, ...], axis: int) -> Array:
    """The length of every sequence, int64, from 0 to the number of time steps."""
    steps, batch = x.shape[axis], x.shape[1 - axis]
    return xp.clip(whole(xp, lengths[0], "The sequence length"), 0, steps) if lengths else xp.full(batch, steps, np.int64)


def _samples(attrs: Attrs) -> Callable[[], samples.Samples]:
    def make() -> samples.Samples:
        cube = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
        cases = [([cube, np.array(lengths, np.float32)], {**attrs, "axis": axis, "use_sequence_length": True})
                 for axis, lengths in enumerate(([1.25, 2.25, 0.25], [2.25, 1.25]))]
        return [*cases, ([samples.grid()], dict(attrs))]

    return make


def _sequences(name: str, doc: str, shape: Callable[[list[Shape], Attrs], Shape], sample: Callable[[], samples.Samples], *,
               saves: tuple[str, ...] = ("sequence_length",), **attrs: float) -> Op:
    return Op(name, "data sequence_length?", attrs={"use_sequence_length": False, **attrs, "axis": 0}, shape=shape,
              dtype=first_dtype, sample=sample, cost=cost.none, selects=0, doc=doc + _LAYOUT, saves=saves,
              own_dtype=(1,), wants=lambda attrs, name: bool(attrs["use_sequence_length"]))


def _no_gradient(F: ArrayFunctions, length: ArrayObject | None, wanted: Want | None) -> Gradient:
    return wanted and length is not None and F.zeros_like(length)


mask = _sequences("SequenceMask", "``value`` in place of everything beyond the end of each sequence.", _check,
                  _samples({"value": -1.0}), value=0.0)


@mask.forward("default, default? -> default")
def _(k: Kernels, x: Array, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    attrs, axis = arguments[-1], arguments[-1]["axis"]
    out = fresh(k.xp, x)
    if len(arguments) > 1:
        beyond = k.xp.arange(x.shape[axis])[:, None] >= lengths_of(k.xp, x, arguments[:-1], axis)
        out[beyond if axis == 0 else beyond.T] = attrs["value"]
    return out


mask.gradient(lambda F, g, data, length, out, attrs, want: (
    want[0] and (F.SequenceMask(g, length, use_sequence_length=True, axis=attrs["axis"]) if length is not None else g),
    _no_gradient(F, length, want[1])))


def _last_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape = _check(shapes, attrs)
    if not shape[attrs["axis"]]:
        raise ShapeError(f"data must have at least one time step, got shape {shape}.",
                         hint="an empty sequence has no last entry.")
    return shape[1:] if attrs["axis"] == 0 else (shape[0], *shape[2:])


def _last_places(xp: ArrayModule, x: Array, lengths: tuple[Array, ...], axis: int) -> tuple[Array, Array]:
    """The last entry of every sequence; the first one of a sequence of length 0."""
    place, batch = xp.maximum(lengths_of(xp, x, lengths, axis) - 1, 0), xp.arange(x.shape[1 - axis])
    return (place, batch) if axis == 0 else (batch, place)


last = _sequences("SequenceLast", "The last entry of each sequence; the first one of an empty sequence, where MXNet reads "
                  "outside the array.", _last_shape, _samples({}), saves=("data", "sequence_length"))


@last.forward("default, default? -> default")
def _(k: Kernels, x: Array, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    return x[_last_places(k.xp, x, arguments[:-1], arguments[-1]["axis"])]


@last.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, length: ArrayObject | None, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    lengths = () if length is None else (length,)
    shared = {"axis": attrs["axis"], "use_sequence_length": attrs["use_sequence_length"]}
    return want[0] and F._sequence_last_backward(g, *lengths, **shared, shape=tuple(data.shape)), _no_gradient(F, length, want[1])


last_backward = Op(
    "_sequence_last_backward", "data sequence_length?", attrs={"use_sequence_length": False, "axis": 0, "shape": None},
    shape=lambda shapes, attrs: attrs["shape"], dtype=first_dtype, cost=cost.none,
    sample=lambda: [([samples.grid(3, 4), np.array([1.25, 2.25, 0.25], np.float32)],
                     {"shape": (2, 3, 4), "use_sequence_length": True})], saves=("sequence_length",),
    doc="Values put where the last entries came from, zeros elsewhere: the gradient of SequenceLast.")


@last_backward.forward("default, default? -> default")
def _(k: Kernels, g: Array, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    out = k.xp.zeros(arguments[-1]["shape"], g.dtype)
    out[_last_places(k.xp, out, arguments[:-1], arguments[-1]["axis"])] = g
    return out


@last_backward.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, length: ArrayObject | None, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    lengths = () if length is None else (length,)
    shared = {"axis": attrs["axis"], "use_sequence_length": attrs["use_sequence_length"]}
    return want[0] and F.SequenceLast(g, *lengths, **shared), _no_gradient(F, length, want[1])


turned = _sequences("SequenceReverse", "Each sequence in reverse; what lies beyond its end stays.  MXNet takes axis 0 only.",
                    _check, _samples({}))


@turned.forward("default, default? -> default")
def _(k: Kernels, x: Array, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    axis = arguments[-1]["axis"]
    lengths, steps = lengths_of(k.xp, x, arguments[:-1], axis), k.xp.arange(x.shape[axis])[:, None]
    source, batch = k.xp.where(steps < lengths, lengths - 1 - steps, steps), k.xp.arange(x.shape[1 - axis])
    return x[source, batch] if axis == 0 else x[batch[:, None], source.T]


turned.gradient(lambda F, g, data, length, out, attrs, want: (
    want[0] and F.SequenceReverse(g, *(() if length is None else (length,)), axis=attrs["axis"],
                                  use_sequence_length=attrs["use_sequence_length"]),
    _no_gradient(F, length, want[1])))
