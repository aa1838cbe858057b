"""Slices with steps, and elements taken by number, of dense and sparse arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import RowIndexError, ShapeError, UnknownNameError
from ...core import cost
from ...core.op import LOOKED_UP, REQUIRED, Op
from ...storage import CSR, RowSparse
from ...storage.convert import row_ids
from .. import samples
from ..limits import check_gradient
from ..sparse.sparse_indexing import (
    IndexRange,
    csr_column_steps,
    csr_columns,
    csr_from_places,
    csr_row_steps,
    csr_rows,
    place_csr_steps,
    place_row_steps,
    row_sparse_row_steps,
    row_sparse_rows,
    steps_of,
)
from .positions import CLIP, MODES, inside, named_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...base.types import Array, Attrs, Indices, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import Kernels
    from ...storage.types import Store


class Only:
    """A predicate on attribute values as a printable condition of a rule row."""

    def __init__(self, label: str, holds: Callable[[Any], bool]) -> None:  # Any: the value of any attribute
        self.label, self.holds = label, holds

    def __contains__(self, value: object) -> bool:  # object: the value of any attribute
        return bool(self.holds(value))

    def __repr__(self) -> str:
        return self.label


# slice


def _as_tuple(value: tuple[int | None, ...] | list[int | None] | int | None) -> tuple[int | None, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def box(shape: tuple[int, ...], attrs: Attrs) -> list[IndexRange]:
    """The positions of each axis that ``begin``, ``end`` and ``step`` stand for.

    Raises
    ------
    ShapeError
        If they name more axes than there are, differ in length, or a step is zero.
    """
    begin, end, step = _as_tuple(attrs["begin"]), _as_tuple(attrs["end"]), _as_tuple(attrs["step"] or ())
    if len(begin) > len(shape):
        raise ShapeError(f"begin={begin} has {len(begin)} entries, but shape {tuple(shape)} has {len(shape)} axes.",
                         hint="give at most one entry per axis.")
    if len(begin) != len(end) or len(step) not in (0, len(begin)):
        raise ShapeError(f"begin={begin}, end={end} and step={step} differ in length.",
                         hint="give one entry per axis, None for all.")
    if any(part is not None and not isinstance(part, (int, np.integer)) for part in (*begin, *end, *step)):
        raise ShapeError(f"begin, end and step must hold integers or None, got {begin}, {end} and {step}.",
                         hint="use integers or None.")
    if 0 in step:
        raise ShapeError(f"step must not contain 0, got {step}.", hint="a step is positive or negative.")
    parts = [slice(*bounds) for bounds in zip(begin, end, step or (None,) * len(begin), strict=True)]
    parts += [slice(None)] * (len(shape) - len(parts))
    return [steps_of(part, size) for part, size in zip(parts, shape, strict=True)]


def _index(steps: list[IndexRange]) -> tuple[slice, ...]:
    """numpy's slices for these positions."""
    return tuple(slice(start, stop if (stop := start + step * count) >= 0 else None, step) if count else slice(0, 0)
                 for start, step, count in steps)


def _box_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    return tuple(steps.size for steps in box(tuple(shapes[0]), attrs))


slice_op = Op("slice", "data", attrs={"begin": REQUIRED, "end": REQUIRED, "step": ()}, shape=_box_shape, cost=cost.none,
              selects=0, aliases=("crop",),
              sample=lambda: [([samples.grid()], attrs) for attrs in (
                  {"begin": (1,), "end": (3,)}, {"begin": (1, 1), "end": (3, 4)},
                  {"begin": (None, 3), "end": (None, None), "step": (2, -2)},
                  {"begin": (3, 0), "end": (None, 5), "step": (-1, 2)},
                  {"begin": (2, 1), "end": (2, 1)})], saves=("data",),
              doc="""The box from ``begin`` to ``end``, every ``step`` along each axis; None takes the whole of an axis.

Negative positions count from the end.  Positions beyond the ends are clipped.  Slices of sparse arrays stay sparse with any
step; MXNet makes a csr array dense for a step other than 1.""")


@slice_op.forward("default -> default")
def _slice_dense(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return x[_index(box(x.shape, attrs))].copy()


@slice_op.forward("csr -> csr")
def _slice_csr(k: Kernels, x: CSR, attrs: Attrs) -> CSR:
    rows, columns = box(x.shape, attrs)
    if columns == IndexRange(0, 1, x.shape[1]):
        return csr_row_steps(k, x, rows)
    return csr_column_steps(k, x if rows == IndexRange(0, 1, x.shape[0]) else csr_row_steps(k, x, rows), columns)


@slice_op.forward("row_sparse -> row_sparse")
def _slice_row_sparse(k: Kernels, x: RowSparse, attrs: Attrs) -> RowSparse:
    rows, *columns = box(x.shape, attrs)
    kept = row_sparse_row_steps(x, rows, k.xp)
    shape = (kept.shape[0], *(steps.size for steps in columns))
    data = k.xp.array(kept.data[(slice(None), *_index(columns))], order="C")
    return RowSparse(data, kept.indices, shape, check=False)


@slice_op.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    return F._slice_backward(_in_type(F, g, want[0]), shape=tuple(data.shape), begin=attrs["begin"], end=attrs["end"],
                             step=attrs["step"])


def _in_type(F: ArrayFunctions, g: ArrayObject, want: Want | None) -> ArrayObject:
    """The gradient of a part in the storage type of the whole's buffer, so that the whole never becomes dense."""
    if want is None or want.stype in (None, "default", g.stype) or g.stype != "default":
        return g
    if want.stype == "csr" and len(g.shape) != 2:
        return g  # the part has other than two axes, so only a fallback gives it
    return F.cast_storage(g, stype=want.stype)


def _around(shapes: list[Shape], attrs: Attrs) -> Shape:
    """The shape that the values are a part of, which the box must agree with."""
    shape: Shape = attrs["shape"]
    part = _box_shape([shape], attrs)
    if part != tuple(shapes[0]):
        raise ShapeError(f"values must have the shape of the slice, {part}, got {tuple(shapes[0])}.",
                         hint="give the slice's own attributes.")
    return shape


slice_backward = Op("_slice_backward", "data", attrs={"shape": REQUIRED, "begin": REQUIRED, "end": REQUIRED, "step": ()},
                    cost=cost.none, shape=_around,
                    sample=lambda: [([samples.grid()[1:3, 1:4].copy()], {"shape": (4, 5), "begin": (1, 1), "end": (3, 4)}),
                                    ([samples.grid(seed=3)[:, :2].copy()],
                                     {"shape": (4, 5), "begin": (3, 3), "end": (None, 0), "step": (-1, -2)})], saves=(),
                    doc="Values put into an array of zeros where ``slice`` took them from: its gradient.")


@slice_backward.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(attrs["shape"], x.dtype)
    out[_index(box(attrs["shape"], attrs))] = x
    return out


@slice_backward.forward("csr -> csr")
def _(k: Kernels, x: CSR, attrs: Attrs) -> CSR:
    rows, columns = box(attrs["shape"], attrs)
    return place_csr_steps(k, x, rows, columns, attrs["shape"])


@slice_backward.forward("row_sparse -> row_sparse")
def _(k: Kernels, x: RowSparse, attrs: Attrs) -> RowSparse:
    rows, *columns = box(attrs["shape"], attrs)
    data = k.xp.zeros((x.data.shape[0], *attrs["shape"][1:]), x.dtype)
    data[(slice(None), *_index(columns))] = x.data
    return place_row_steps(RowSparse(data, x.indices, (x.shape[0], *attrs["shape"][1:]), check=False), rows, attrs["shape"], k.xp)


slice_backward.gradient(lambda F, g, data, out, attrs, want: F.slice(
    g, begin=attrs["begin"], end=attrs["end"], step=attrs["step"]))

# slice_axis


def axis_of(axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    if not isinstance(axis, (int, np.integer)) or not -ndim <= axis < ndim:
        raise ShapeError(f"axis {axis!r} is out of range for an array of {ndim} dimensions.",
                         hint=f"axes run from {-ndim} to {ndim - 1}.")
    return int(axis) % ndim


def _axis_steps(shape: tuple[int, ...], attrs: Attrs) -> tuple[int, IndexRange]:
    axis, begin, end = axis_of(attrs["axis"], len(shape)), attrs["begin"], attrs["end"]
    size = shape[axis]
    start, stop = begin + size * (begin < 0), size if end is None else end + size * (end < 0)
    if not 0 <= start <= stop <= size:
        raise ShapeError(f"begin={begin} and end={end} must enclose a part of the {size} entries of axis {axis}.",
                         hint=f"begin comes before end, and both lie between {-size} and {size}; slice() cuts at the ends.")
    return axis, IndexRange(start, 1, stop - start)


def _as_box(shape: tuple[int, ...], attrs: Attrs) -> dict[str, tuple[int | None, ...]]:
    """The attributes of ``slice`` that do the same."""
    axis, (start, _, count) = _axis_steps(shape, attrs)
    return {"begin": (None,) * axis + (start,), "end": (None,) * axis + (start + count,), "step": ()}


slice_axis = Op("slice_axis", "data", attrs={"axis": REQUIRED, "begin": REQUIRED, "end": REQUIRED}, cost=cost.none, selects=0,
                shape=lambda shapes, attrs: _box_shape(shapes, _as_box(tuple(shapes[0]), attrs)),
                sample=lambda: [([samples.grid()], {"axis": 0, "begin": 1, "end": 3}),
                                ([samples.grid()], {"axis": -1, "begin": -4, "end": None})], saves=("data",),
                doc="The part of one axis from ``begin`` to ``end``; negative positions count from the end.")

for _stype, _slice in (("default", _slice_dense), ("csr", _slice_csr), ("row_sparse", _slice_row_sparse)):
    @slice_axis.forward(f"{_stype} -> {_stype}")
    def _(k: Kernels, x: Store, attrs: Attrs, _slice: Callable[..., Store] = _slice) -> Store:
        return _slice(k, x, _as_box(tuple(x.shape), attrs))


@slice_axis.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    shape = tuple(data.shape)
    return F._slice_backward(_in_type(F, g, want[0]), shape=shape, **_as_box(shape, attrs))


# take

def numbers_in(k: Kernels, indices: Indices, size: int, mode: str) -> Array:
    """Indices as int64 inside ``size``, by clipping, wrapping or raising."""
    if mode not in MODES:
        raise UnknownNameError.of("mode of take", mode, MODES)
    return inside(k, indices, size, mode, "take: the index")


def _taken_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    axis = axis_of(attrs["axis"], len(shapes[0]))
    return (*shapes[0][:axis], *shapes[1], *shapes[0][axis + 1:])


def _take_samples() -> samples.Samples:
    wanted = np.array([2, 0, 3, 3, -1, 9], np.float32)
    return [([samples.grid(), wanted], {"axis": axis, "mode": mode}) for axis in (0, 1, -1) for mode in ("clip", "wrap")] + [
        ([samples.grid(), np.array([3, 1], np.int64)], {"axis": 0, "mode": "raise"})]


def _taken_rows(inputs: Sequence[ArrayObject], attrs: Attrs, rows: int) -> Array | None:
    return named_rows(inputs[1], rows) if attrs["axis"] == 0 and attrs["mode"] == "clip" else None


take = Op("take", "a indices", attrs={"axis": 0, "mode": CLIP}, shape=_taken_shape, dtype=lambda dtypes, attrs: dtypes[0],
          own_dtype=(1,), nondifferentiable=(1,), cost=cost.none, selects=0, sample=_take_samples, saves=("a", "indices"),
          rows_read={0: _taken_rows},
          doc="""The entries of one axis that ``indices`` names, in that order.

Indices outside the axis are clipped to its ends (``mode="clip"``), wrapped around (``"wrap"``), or raise an error
(``"raise"``).  Fractions are truncated.  NaN is an error in every mode, and infinity with ``"wrap"``.  Clipping without an
explicit ``mode`` gives an ``IndexWarning`` (``config.indices``).

The result for a sparse array has the same storage type; ``indices`` must then have one dimension.""")


def _row_of_indices(indices: Array) -> None:
    if indices.ndim != 1:
        raise ShapeError(f"take from a sparse array needs indices of one dimension, not of shape {tuple(indices.shape)}.",
                         hint="take with indices.reshape(-1).")


@take.forward("default, default -> default")
def _(k: Kernels, x: Array, indices: Array, attrs: Attrs) -> Array:
    axis = axis_of(attrs["axis"], x.ndim)
    return k.xp.take(x, numbers_in(k, indices, x.shape[axis], attrs["mode"]), axis=axis)


@take.forward("csr, default -> csr")
def _(k: Kernels, x: CSR, indices: Array, attrs: Attrs) -> CSR:
    _row_of_indices(indices)
    axis = axis_of(attrs["axis"], 2)
    wanted = numbers_in(k, indices, x.shape[axis], attrs["mode"])
    return (csr_columns if axis else csr_rows)(k, x, wanted)


@take.forward("row_sparse, default -> row_sparse")
def _(k: Kernels, x: RowSparse, indices: Array, attrs: Attrs) -> RowSparse:
    _row_of_indices(indices)
    axis = axis_of(attrs["axis"], len(x.shape))
    wanted = numbers_in(k, indices, x.shape[axis], attrs["mode"])
    if axis == 0:
        return row_sparse_rows(x, wanted, k.xp)
    shape = (*x.shape[:axis], wanted.shape[0], *x.shape[axis + 1:])
    return RowSparse(k.xp.take(x.data, wanted, axis=axis), x.indices, shape, check=False)


@take.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, indices: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    axis = axis_of(attrs["axis"], len(data.shape))
    sparse = axis == 0 and g.stype == "default" and want[0] is not None and want[0].stype == "row_sparse"
    g = g if sparse else _in_type(F, g, want[0])
    return F._take_backward(g, indices, shape=tuple(data.shape), axis=axis, mode=str(attrs["mode"]), sparse=sparse), None


def _taken_from(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    """The shape of the source of ``take``, after a check that it fits the number of values."""
    shape = tuple(attrs["shape"])
    axis = axis_of(attrs["axis"], len(shape))
    taken = (*shape[:axis], *shapes[1], *shape[axis + 1:])
    if math.prod(taken) != math.prod(shapes[0]):
        raise ShapeError(f"values must have the shape of the result of take from shape {shape}, {taken}, got {tuple(shapes[0])}.",
                         hint="give the attributes of take itself.")
    return shape


take_backward = Op("_take_backward", "data indices", attrs={"shape": REQUIRED, "axis": 0, "mode": "clip", "sparse": False},
                   cost=cost.reduction, dtype=lambda dtypes, attrs: dtypes[0], nondifferentiable=(1,), shape=_taken_from,
                   sample=lambda: [([samples.grid(3, 5), np.array([2, 0, 2], np.float32)], {"shape": (4, 5), "sparse": sparse})
                                   for sparse in (False, True)] + [
                       ([samples.grid(4, 3), np.array([2, 0, 2], np.float32)], {"shape": (4, 5), "axis": 1})],
                   saves=("indices",), doc="Values added into an array of zeros where ``take`` took them from: its gradient.")


def _rows_added(k: Kernels, g: Array, rows: Array, shape: tuple[int, ...], count: int) -> Array:
    """Rows of ``g`` added into ``count`` rows of zeros at the numbers ``rows``."""
    out = k.xp.zeros((count, *shape[1:]), g.dtype)
    width = math.prod(shape[1:])
    k.add_rows(k.xp.ascontiguousarray(g).reshape(rows.size, width), rows.reshape(-1), g.dtype.type(1), out.reshape(count, width))
    return out


@take_backward.forward("default, default -> row_sparse", sparse=True)
def _(k: Kernels, g: Array, indices: Array, attrs: Attrs) -> RowSparse:
    shape = attrs["shape"]
    rows, ranks = k.unique_with_rank(numbers_in(k, indices, shape[0], attrs["mode"]).reshape(-1))
    return RowSparse(_rows_added(k, g, ranks, shape, rows.shape[0]), rows, shape, check=False)


@take_backward.forward("default, default -> default", sparse=False)
def _(k: Kernels, g: Array, indices: Array, attrs: Attrs) -> Array:
    shape, axis = attrs["shape"], attrs["axis"]
    wanted = numbers_in(k, indices, shape[axis], attrs["mode"])
    if axis == 0:
        return _rows_added(k, g, wanted, shape, shape[0])
    out = k.xp.zeros(shape, g.dtype)
    k.xp.add.at(out, (slice(None),) * axis + (wanted,), g)
    return out


@take_backward.forward("csr, default -> csr")
def _(k: Kernels, g: CSR, indices: Array, attrs: Attrs) -> CSR:
    wanted = numbers_in(k, indices, attrs["shape"][attrs["axis"]], attrs["mode"])
    row, column = row_ids(g, k.xp), g.indices
    row, column = (row, wanted[column]) if attrs["axis"] else (wanted[row], column)
    return csr_from_places(row, column, g.data, attrs["shape"], k.xp)


@take_backward.forward("row_sparse, default -> row_sparse")
def _(k: Kernels, g: RowSparse, indices: Array, attrs: Attrs) -> RowSparse:
    shape, axis = attrs["shape"], attrs["axis"]
    wanted = numbers_in(k, indices, shape[axis], attrs["mode"])
    if axis == 0:
        rows, ranks = k.unique_with_rank(wanted[g.indices])
        return RowSparse(_rows_added(k, g.data, ranks, shape, rows.shape[0]), rows, shape, check=False)
    out = k.xp.zeros((g.data.shape[0], *shape[1:]), g.dtype)
    k.xp.add.at(out, (slice(None),) * axis + (wanted,), g.data)
    return RowSparse(out, g.indices, shape, check=False)


take_backward.gradient(lambda F, g, data, indices, out, attrs, want: (
    F.take(g, indices, axis=attrs["axis"], mode=attrs["mode"]), None))

# single elements

values_at = Op("_values_at", "data rows columns", cost=cost.none, selects=0, nondifferentiable=(1, 2),
               dtype=lambda dtypes, attrs: dtypes[0], shape=lambda shapes, attrs: shapes[1],
               sample=lambda: [([samples.grid(), np.array([3, 0, 0, 1]), np.array([4, 1, 1, 2])], {})],
               saves=("data", "rows", "columns"),
               doc="The elements of a matrix at the places (rows[i], columns[i]); indices are int64 and inside the matrix.")


def _places(shape: tuple[int, ...], rows: Array, columns: Array) -> tuple[Array, Array]:
    """Row and column numbers, flat, checked to be inside the matrix."""
    if len(shape) != 2 or rows.shape != columns.shape:
        raise ShapeError(f"{tuple(rows.shape)} rows and {tuple(columns.shape)} columns of shape {tuple(shape)}.",
                         hint="give as many rows as columns of a matrix.")
    for part, size in ((rows, shape[0]), (columns, shape[1])):
        if part.size and (int(part.min()) < 0 or int(part.max()) >= size):
            raise RowIndexError(f"Indices from {part.min()} to {part.max()} are outside the {size} entries of the axis.",
                                hint=f"they run from 0 to {size - 1} here.")
    return rows.reshape(-1).astype(np.int64, copy=False), columns.reshape(-1).astype(np.int64, copy=False)


@values_at.forward("default, default, default -> default")
def _(k: Kernels, x: Array, rows: Array, columns: Array, attrs: Attrs) -> Array:
    return x[_places(x.shape, rows, columns)].reshape(rows.shape)


@values_at.forward("csr, default, default -> default", asked=LOOKED_UP)
def _(k: Kernels, x: CSR, rows: Array, columns: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(rows.size, x.dtype)
    k.csr_values_at(x.data, x.indices, x.indptr, *_places(x.shape, rows, columns), out)
    return out.reshape(rows.shape)


@values_at.forward("row_sparse, default, default -> default", asked=LOOKED_UP)
def _(k: Kernels, x: RowSparse, rows: Array, columns: Array, attrs: Attrs) -> Array:
    flat_rows, flat_columns = _places(x.shape, rows, columns)
    out = k.xp.zeros(rows.size, x.dtype)
    stored = row_sparse_rows(x, flat_rows, k.xp)
    out[stored.indices] = stored.data[k.xp.arange(stored.indices.shape[0]), flat_columns[stored.indices]]
    return out.reshape(rows.shape)


@values_at.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, rows: ArrayObject, columns: ArrayObject, out: ArrayObject | None,
      attrs: Attrs, want: Sequence[Want | None]) -> Gradients:
    stype = "csr" if want[0] is not None and want[0].stype == "csr" else "default"
    if stype == "default":
        check_gradient("picking values", data)
    return F._place_values(g, rows, columns, shape=tuple(data.shape), stype=stype), None, None


place_values = Op("_place_values", "data rows columns", attrs={"shape": REQUIRED, "stype": "default"}, cost=cost.none,
                  nondifferentiable=(1, 2), dtype=lambda dtypes, attrs: dtypes[0], shape=lambda shapes, attrs: attrs["shape"],
                  sample=lambda: [([samples.grid()[0], np.array([3, 0, 0, 1, 2]), np.array([4, 1, 1, 2, 0])],
                                   {"shape": (4, 5), "stype": stype}) for stype in ("default", "csr")],
                  saves=("rows", "columns"),
                  doc="Values added into a matrix of zeros at places: the gradient of picking them.")


@place_values.forward("default, default, default -> default", stype="default")
def _(k: Kernels, x: Array, rows: Array, columns: Array, attrs: Attrs) -> Array:
    out = k.xp.zeros(attrs["shape"], x.dtype)
    k.xp.add.at(out, _places(attrs["shape"], rows, columns), x.reshape(-1))
    return out


@place_values.forward("default, default, default -> csr", stype="csr")
def _(k: Kernels, x: Array, rows: Array, columns: Array, attrs: Attrs) -> CSR:
    return csr_from_places(*_places(attrs["shape"], rows, columns), x.reshape(-1), attrs["shape"], k.xp)


place_values.gradient(lambda F, g, data, rows, columns, out, attrs, want: (F._values_at(g, rows, columns), None, None))
