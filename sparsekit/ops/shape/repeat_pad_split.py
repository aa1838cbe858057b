"""Arrays repeated, padded and split."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ShapeError, UnknownNameError, expected
from ...core import cost
from ...core.infer import axes_of
from ...core.op import REQUIRED, Op, joining
from .. import samples
from .shape import fresh, one_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, Shape
    from ...core.op import Want
    from ...core.partial_shapes import Partial
    from ...core.types import ArrayFunctions, ArrayObject, Arriving, Gradients
    from ...kernels.types import Kernels


def _padded(shape: tuple[int, ...], reps: int | list[int] | tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and repetitions with as many axes as the longer of the two."""
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    if any(not isinstance(count, (int, np.integer)) or count < 0 for count in reps):
        raise ShapeError(expected("reps", "integers of at least 0", reps), hint="reps=(2, 1), for example.")
    axes = max(len(shape), len(reps))
    return (1,) * (axes - len(shape)) + tuple(shape), (1,) * (axes - len(reps)) + reps


def _tiled(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    return tuple(size * count for size, count in zip(*_padded(shapes[0], attrs["reps"]), strict=True))


tile = Op("tile", "data", attrs={"reps": REQUIRED}, shape=_tiled, cost=cost.none,
          sample=lambda: [([samples.grid()], {"reps": reps}) for reps in (2, (2, 1, 3), ())], saves=("data",),
          doc="The whole array repeated ``reps`` times along each axis; a number is for the last axis.")


@tile.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return fresh(k.xp, k.xp.tile(x, attrs["reps"]))


@tile.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    shape, reps = _padded(tuple(data.shape), attrs["reps"])
    parts = tuple(size for pair in zip(reps, shape, strict=True) for size in pair)
    summed = F.sum(F._view(g, shape=parts), axis=tuple(range(0, len(parts), 2)))
    return F._view(summed, shape=tuple(data.shape))


def _repeated(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    if attrs["repeats"] < 0:
        raise ShapeError(expected("repeats", "at least 0", attrs["repeats"]), hint="repeats=2, for example.")
    if attrs["axis"] is None:
        return (math.prod(shapes[0]) * attrs["repeats"],)
    place = one_axis(attrs["axis"], len(shapes[0]))
    return (*shapes[0][:place], shapes[0][place] * attrs["repeats"], *shapes[0][place + 1:])


repeat = Op("repeat", "data", attrs={"repeats": REQUIRED, "axis": None}, shape=_repeated, cost=cost.none,
            sample=lambda: [([samples.grid()], {"repeats": 2, "axis": axis}) for axis in (None, 0, -1)], saves=("data",),
            doc="Each element repeated along ``axis``, or of the flattened array.")


@repeat.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return k.xp.repeat(x, attrs["repeats"], attrs["axis"])


@repeat.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    shape = tuple(data.shape) if attrs["axis"] is not None else (data.size,)
    place = one_axis(attrs["axis"] or 0, len(shape))
    parts = (*shape[: place + 1], attrs["repeats"], *shape[place + 1:])
    return F._view(F.sum(F._view(g, shape=parts), axis=place + 1), shape=tuple(data.shape))


_MODES = ("constant", "edge", "reflect")


def _widths(ndim: int, attrs: Attrs) -> list[tuple[int, int]]:
    widths = tuple(attrs["pad_width"])
    if len(widths) != 2 * ndim or any(width < 0 for width in widths):
        raise ShapeError(f"pad_width={widths} does not fit {ndim} axes.",
                         hint="give two numbers per axis, before and after, none negative.")
    return list(zip(widths[::2], widths[1::2], strict=True))


def _larger(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    shape, mode = tuple(shapes[0]), attrs["mode"]
    if mode not in _MODES:
        raise UnknownNameError.of("padding mode", mode, _MODES)
    widths = _widths(len(shape), attrs)
    for size, pair in zip(shape, widths, strict=True):
        if (mode == "reflect" and max(pair) >= max(size, 1)) or (mode == "edge" and not size and any(pair)):
            raise ShapeError(f"an axis of size {size} cannot be padded by {pair} in mode {mode!r}.",
                             hint="reflection pads by less than the axis is long.")
    return tuple(size + before + after for size, (before, after) in zip(shape, widths, strict=True))


pad = Op("Pad", "data", attrs={"mode": REQUIRED, "pad_width": REQUIRED, "constant_value": 0.0}, shape=_larger, cost=cost.none,
         aliases=("pad",), sample=lambda: [([samples.grid()], {"mode": mode, "pad_width": (1, 2, 0, 3)}) for mode in _MODES],
         saves=("data",),
         doc="""Borders of ``pad_width`` (before and after, axis by axis) around an array.

``mode`` is ``"constant"`` (filled with ``constant_value``), ``"edge"`` (the nearest edge value is repeated) or ``"reflect"``
(mirrored, without the edge).  The array may have any number of axes, and each may be padded.  MXNet pads only the last axes of
arrays with 4 or 5 axes.""")


@pad.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    options = {"constant_values": attrs["constant_value"]} if attrs["mode"] == "constant" else {}
    return k.xp.pad(x, _widths(x.ndim, attrs), mode=attrs["mode"], **options)


pad.gradient(lambda F, g, data, out, attrs, want: F._unpad(
    g, mode=attrs["mode"], pad_width=attrs["pad_width"], shape=tuple(data.shape)))

unpad = Op("_unpad", "data", attrs={"mode": REQUIRED, "pad_width": REQUIRED, "shape": REQUIRED},
           shape=lambda shapes, attrs: attrs["shape"], cost=cost.elementwise,
           sample=lambda: [([samples.grid()], {"mode": mode, "pad_width": (1, 1, 0, 2), "shape": (2, 3)}) for mode in _MODES],
           saves=(), doc="Borders folded back onto what they were copied from: the gradient of padding.")


@unpad.forward("default -> default")
def _(k: Kernels, g: Array, attrs: Attrs) -> Array:
    for axis, ((before, after), size) in enumerate(zip(_widths(g.ndim, attrs), attrs["shape"], strict=True)):
        folded = fresh(k.xp, k.xp.moveaxis(g, axis, 0)[before: before + size])
        if attrs["mode"] != "constant" and (before or after):
            source = np.pad(np.arange(size), (before, after), mode=attrs["mode"])
            turned = k.xp.moveaxis(g, axis, 0)
            for place in (*range(before), *range(before + size, before + size + after)):
                folded[source[place]] += turned[place]
        g = k.xp.moveaxis(folded, 0, axis)
    return fresh(k.xp, g)


unpad.gradient(lambda F, g, data, out, attrs, want: F.Pad(g, mode=attrs["mode"], pad_width=attrs["pad_width"]))


def _bounds(size: int, attrs: Attrs) -> list[int]:
    """Where the parts begin and end along the split axis."""
    if "num_outputs" in attrs or attrs["sections"]:
        count = attrs["num_outputs"] if "num_outputs" in attrs else attrs["sections"]
        if count < 1 or size % count:
            raise ShapeError(f"an axis of size {size} does not split into {count} equal parts.",
                             hint="split_v2 takes the places to split at.")
        return list(range(0, size + 1, size // count)) if size else [0] * (count + 1)
    bounds = [*(attrs["indices"] or (0,)), size]
    if bounds[0] != 0:
        raise ShapeError(f"indices={tuple(attrs['indices'])} must begin with 0, where the first part begins.",
                         hint="split_v2() takes the places to cut at, without that 0.")
    if any(low > high for low, high in itertools.pairwise(bounds)):
        raise ShapeError(f"an axis of size {size} cannot be split at {tuple(attrs['indices'][1:])}.",
                         hint="give ascending places from 0 to the size.")
    return bounds


def _parts(shapes: list[Shape], attrs: Attrs) -> Shape | list[Shape]:
    shape = tuple(shapes[0])
    axis = one_axis(attrs["axis"], len(shape))
    bounds = _bounds(shape[axis], attrs)
    sizes = [high - low for low, high in itertools.pairwise(bounds)]
    if attrs["squeeze_axis"]:
        if any(size != 1 for size in sizes):
            raise ShapeError(f"parts of sizes {sizes} cannot lose their axis.", hint="squeeze_axis needs parts of size 1.")
        part_shapes = [(shape[:axis] + shape[axis + 1:]) or (1,) for _ in sizes]
    else:
        part_shapes = [(*shape[:axis], size, *shape[axis + 1:]) for size in sizes]
    return part_shapes if len(part_shapes) > 1 else part_shapes[0]


def splitting(op: Op) -> Op:
    """Declare the kernel and the gradient of an operator that cuts along ``axis``."""

    @op.forward("default -> default...")
    def _(k: Kernels, x: Array, attrs: Attrs) -> Array | Sequence[Array]:
        part_shapes = _parts([x.shape], attrs)
        shapes = part_shapes if isinstance(part_shapes, list) else [part_shapes]
        axis = one_axis(attrs["axis"], x.ndim)
        bounds, before = _bounds(x.shape[axis], attrs), (slice(None),) * axis
        parts = tuple([fresh(k.xp, x[(*before, slice(low, high))]).reshape(shape)
                       for low, high, shape in zip(bounds, bounds[1:], shapes, strict=False)])
        return parts if len(parts) > 1 else parts[0]

    @op.gradient
    def _(F: ArrayFunctions, g: Arriving, data: ArrayObject,
          out: ArrayObject | Sequence[ArrayObject] | None, attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
        gradients = g if isinstance(g, tuple) else (g,)
        places = tuple(place for place, part in enumerate(gradients) if part is not None)
        axis = one_axis(attrs["axis"], len(data.shape))
        bounds = tuple(_bounds(data.shape[axis], attrs))
        return F._unsplit(*[gradients[place] for place in places], shape=tuple(data.shape), axis=axis,
                          bounds=tuple((bounds[place], bounds[place + 1]) for place in places))

    return op


def _split_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    """The data of which equal parts are known."""
    count, axis = attrs["num_outputs"], attrs["axis"]
    if out is None:
        return shapes
    if attrs["squeeze_axis"]:
        axis %= len(out) + 1
        return [(*out[:axis], count, *out[axis:])]
    axis %= len(out)
    return [(*out[:axis], None if out[axis] is None else out[axis] * count, *out[axis + 1:])]


splitting(Op("SliceChannel", "data", attrs={"num_outputs": REQUIRED, "axis": 1, "squeeze_axis": False}, shape=_parts,
             cost=cost.none, outputs=lambda attrs: attrs["num_outputs"], aliases=("split",), input_rule=_split_inputs,
             sample=lambda: [([samples.grid()], {"num_outputs": 5}), ([samples.grid()], {"num_outputs": 2, "axis": 0}),
                             ([samples.grid()], {"num_outputs": 5, "squeeze_axis": True}),
                             ([samples.grid()], {"num_outputs": 1})], saves=("data",),
             doc="Equal parts along ``axis``, as a list of arrays; just the array if there is one part."))

splitting(Op("_split_v2", "data", attrs={"indices": (), "axis": 0, "squeeze_axis": False, "sections": 0}, shape=_parts,
             cost=cost.none, outputs=lambda attrs: attrs["sections"] or max(1, len(attrs["indices"])),
             sample=lambda: [([samples.grid()], {"indices": (0, 1, 3)}), ([samples.grid()], {"sections": 5, "axis": 1})],
             saves=("data",),
             doc="Parts along ``axis``: ``sections`` equal ones, or those that begin at ``indices``, the first of which is 0."))

unsplit = Op("_unsplit", "*parts", attrs={"shape": REQUIRED, "axis": 0, "bounds": REQUIRED},
             shape=lambda shapes, attrs: attrs["shape"], cost=cost.none,
             sample=lambda: [([samples.grid(), samples.grid(seed=1)],
                              {"shape": (4, 12), "axis": 1, "bounds": ((0, 5), (7, 12))})], saves=("parts",),
             doc="Parts put back where they were cut from, zeros elsewhere: the gradient of splitting.")


@unsplit.forward("default... -> default")
@joining
def _(k: Kernels, *stores: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    parts, attrs = stores[:-1], stores[-1]
    shape = attrs["shape"]
    before = (slice(None),) * axes_of(attrs["axis"], len(shape))[0]
    out = k.xp.zeros(shape, parts[0].dtype)
    for part, (low, high) in zip(parts, attrs["bounds"], strict=True):
        place = out[(*before, slice(low, high))]
        place[...] = part.reshape(place.shape)
    return out


@unsplit.gradient
def _(F: ArrayFunctions, g: ArrayObject, parts: Sequence[ArrayObject], out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    before = (("slice", None, None, None),) * attrs["axis"]
    return [F._view(F._getitem(g, key=(*before, ("slice", low, high, None))), shape=tuple(part.shape))
            for part, (low, high) in zip(parts, attrs["bounds"], strict=True)]
