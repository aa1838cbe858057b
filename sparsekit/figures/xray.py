"""One batch from its csr rows to the lazy update: which weight rows it touches, and whose optimizer state is old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base import checks
from ..base.entry import entries
from ..base.errors import ParameterError, ShapeError, UnsupportedError, expected
from ..base.formatting import format_bytes, format_count, format_density, format_ratio, format_share, number
from .array import lattice
from .components import Parts, cell_text, len_of, read_array, take_slice
from .figure import Figure
from .interaction import Interaction, NumberField
from .marks import Axis, Cells, Line, Panel, Rect, Table
from .true_scale import row_marks, sides_of, true_marks

if TYPE_CHECKING:
    from ..base.types import Array

__all__ = ["xray"]

#: What is shown one by one: weight rows, batch rows, units.
ROWS, SAMPLES, UNITS = 10, 8, 4
#: Ages of a row's state in steps since its last update: name, and least age.
AGES = (("updated now", 0), ("1 step old", 1), ("2 to 3 steps old", 2), ("4 to 7 steps old", 4), ("8 or more steps old", 8))
#: Places along the rows of the weight, and batches that a page without Python offers.
PLACES, MOST_ANSWERS = 480, 6
#: Pixels of a weight row, of pictures at true scale, and of a line of ages.
ROW, PLACED, AGE = 28.0, 190.0, 22.0
COLUMNS = ("weight row", "batch rows", "gradient", "state before", "state after")


class _History(NamedTuple):
    """What is drawn: batches with the weight rows that each touches, and what is known of the last one's gradient."""

    parts: list[Parts]
    touched: list[Array]
    units: int
    gradient: Parts | None
    upstream: Array | None

    @property
    def features(self) -> int:
        """Rows of the weight."""
        return self.parts[0].columns

    def last_update(self, end: int) -> tuple[Array, Array]:
        """The weight rows that the first ``end`` batches touch, and for each the number of the last one that does."""
        if not end:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows, first = np.unique(np.concatenate(self.touched[:end][::-1]), return_index=True)
        return rows, np.repeat(np.arange(end)[::-1], [len(batch_rows) for batch_rows in self.touched[:end][::-1]])[first]


class _Row(NamedTuple):
    """A weight row: ``entries`` are the batch rows that store its column, with the value; ``age`` is -1 without a state."""

    row: int
    entries: list[tuple[int, float]]
    gradient: list[float] | None
    age: int

    @property
    def formula(self) -> str:
        """The gradient's row as a sum over batch rows: ``"2·g0 + g3"``, where ``gi`` is the output's gradient of row i."""
        words = [f"{'' if value == 1 else f'{cell_text(value)}·'}g{sample}" for sample, value in self.entries[:4]]
        return " + ".join(words) + (" + …" if len(self.entries) > 4 else "")

    @property
    def before(self) -> str:
        """How old its state is."""
        return "none" if self.age < 0 else f"{self.age} step{'' if self.age == 1 else 's'} old"


def xray(batches: object, units: int | None = None, gradient: object = None, upstream: object = None, title: str = "") -> Figure:
    """Draw one batch from its csr rows to the lazy update of an optimizer.

    The figure shows the stored values of the batch (transposed, so that each of its rows is a column) beside the row-sparse
    gradient of the weight rows that they touch, then the whole batch and the touched rows at true scale, and below them every
    row of the weight by the age of its optimizer state.  The live view steps through the batches.

    Parameters
    ----------
    batches : csr array, or list of them
        The batch, of shape (samples, features).  Of a list, oldest first, the last batch is shown; the others determine the age
        of each row's state.
    units : int, optional
        Number of columns of the weight (features, units).  By default that of the given arrays, else 1.
    gradient : row_sparse array, optional
        The weight's gradient of the last batch, of shape (features, units).  Its values are shown, and its rows are compared
        with those that the batch touches.
    upstream : array, optional
        Gradient of the output, of shape (samples, units).  If ``gradient`` is not given, it is computed from this array.
    title : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    UnsupportedError
        If a batch is not csr, or the gradient not row_sparse.
    ShapeError
        If the batches have different numbers of columns, or the shape of another array does not match the last batch.
    ParameterError
        If ``units`` is not an integer of at least 1.
    """
    parts = _batches(batches)
    stored = read_array(gradient) if gradient is not None else None
    if stored is not None and stored.stype != "row_sparse":
        raise UnsupportedError(f"The gradient must be row_sparse, got {stored.stype}.",
                               hint="give the row_sparse gradient of the weight.")
    head: Any = upstream
    head = None if head is None else head.asnumpy() if hasattr(head, "asnumpy") else np.asarray(head)
    touched = [np.unique(take_slice(batch.indices, 0, batch.stored)).astype(np.int64) for batch in parts]
    history = _History(parts, touched, _units(units, parts[-1], stored, head), stored, head)
    shown, count = checks.text("title", title) or "What one batch does to the weight", len(parts)

    def step(values: Mapping[str, Any]) -> int:
        return int(values.get("batch", count)) - 1

    figure = _drawn(history, count - 1, shown)
    chosen = np.unique(np.linspace(1, count, min(count, MOST_ANSWERS)).astype(int)).tolist()
    inputs = (NumberField("batch", f"batch, of {count:,}", count, 1, count, whole=True),) if count > 1 else ()
    figure.interaction = Interaction(
        (lambda _, values: _drawn(history, step(values), shown)) if inputs else None,
        lambda key, values: _details(history, step(values), key), inputs,
        {f"batch {place}": {"batch": place} for place in reversed(chosen)} if inputs else {})  # fmt: skip
    return figure


def _batches(batches: object) -> list[Parts]:
    parts = [read_array(batch) for batch in (batches if isinstance(batches, (list, tuple)) else [batches])]
    if not parts:
        raise UnsupportedError("xray() needs at least one batch.", hint="give one csr array or a list of them, oldest first.")
    for part in parts:
        if part.stype != "csr":
            raise UnsupportedError(f"A batch must be csr, got {part.stype}.", hint="the X-ray steps through csr batches.")
        if part.columns != parts[0].columns:
            raise ShapeError(f"Batches must have equally many columns, got {parts[0].columns:,} and {part.columns:,}.",
                             hint="give batches of one model.")  # fmt: skip
    return parts


def _units(units: int | None, batch: Parts, gradient: Parts | None, upstream: Array | None) -> int:
    """Columns of the weight: the requested number, that of the given arrays, else one; they must be equal."""
    counts = {}
    if units is not None:
        count = -1.0 if isinstance(units, (bool, str, bytes)) else number(units, -1.0)
        if count < 1 or count != int(count):
            raise ParameterError(expected("units", "an integer of at least 1", units),
                                 hint="it is a number of columns of a weight.")
        counts["units="] = int(count)
    if gradient is not None:
        if gradient.rows != batch.columns:
            raise ShapeError(f"The gradient has {gradient.rows:,} rows, the batch {batch.columns:,} columns.",
                             hint="give the gradient of the weight that this batch is multiplied with.")  # fmt: skip
        counts["the gradient"] = gradient.columns
    if upstream is not None:
        if upstream.ndim != 2 or len(upstream) != batch.rows:
            raise ShapeError(f"upstream= has shape {upstream.shape}, the batch {batch.rows:,} rows.",
                             hint="give the gradient of the output, shape (samples, units).")  # fmt: skip
        counts["upstream="] = upstream.shape[1]
    if len(set(counts.values())) > 1:
        words = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        raise ShapeError(f"The numbers of units must agree, got {words}.", hint="leave out units= if the arrays determine it.")
    return max(1, next(iter(counts.values()), 1))


def _rows(history: _History, step: int) -> list[_Row]:
    """The weight rows that are shown one by one, with what is known of each."""
    batch = history.parts[step]
    indices, pointers = take_slice(batch.indices, 0, batch.stored), take_slice(batch.indptr, 0, batch.rows + 1)
    updated, last = history.last_update(step)
    shown_rows = []
    for column in _shown(batch, history.touched[step], indices).tolist():
        places = np.flatnonzero(indices == column)[:64]
        samples = np.searchsorted(pointers, places, side="right") - 1
        entries = [(int(sample), take_slice(batch.data, place, place + 1)[0].item())
                   for sample, place in zip(samples.tolist(), places.tolist(), strict=True)]
        at = int(np.searchsorted(updated, column))
        age = step - int(last[at]) if at < len(updated) and updated[at] == column else -1
        shown_rows.append(_Row(column, entries, _gradient(history, step, column, entries), age))
    return shown_rows


def _shown(batch: Parts, touched: Array, indices: Array) -> Array:
    """Of the weight rows that the batch rows shown use, some that several use, the rest evenly."""
    first = int(take_slice(batch.indptr, min(batch.rows, SAMPLES), min(batch.rows, SAMPLES) + 1)[0])
    used = np.unique(indices[:first]).astype(np.int64) if first else touched
    if len(used) <= ROWS:
        return used if len(used) == len(touched) else _evenly(np.union1d(used, _evenly(touched, ROWS - len(used))), ROWS)
    uses = np.bincount(np.searchsorted(touched, indices), minlength=len(touched))[np.searchsorted(touched, used)]
    several = used[np.argsort(-uses, kind="stable")[: ROWS // 3]]
    several = several[uses[np.searchsorted(used, several)] > 1]
    return np.union1d(several, _evenly(np.setdiff1d(used, several), ROWS - len(several)))


def _evenly(values: Array, count: int) -> Array:
    return values[np.unique(np.linspace(0, len(values) - 1, min(len(values), max(count, 0))).astype(np.int64))]


def _gradient(history: _History, step: int, row: int, entries: Sequence[tuple[int, float]]) -> list[float] | None:
    """The first units of a row of the last batch's gradient: as given, or computed from the gradient of the output."""
    if step != len(history.parts) - 1:
        return None
    if history.gradient is not None:
        stored = take_slice(history.gradient.indices, 0, len_of(history.gradient.indices))
        at = int(np.searchsorted(stored, row))
        return take_slice(history.gradient.data, at, at + 1).reshape(-1)[:UNITS].tolist() if row in stored[at: at + 1] else None
    if history.upstream is None:
        return None
    total: list[float] = sum((float(value) * history.upstream[sample, :UNITS] for sample, value in entries),
                             np.zeros(min(history.units, UNITS))).tolist()
    return total


def _ages(history: _History, step: int) -> list[Array]:
    """The weight rows whose state is of each of the ages after a step."""
    rows, last = history.last_update(step + 1)
    ends = [least for _, least in AGES]
    return [rows[(step - last >= low) & (step - last < high)] for low, high in pairwise([*ends, 1 << 62])]


def _drawn(history: _History, step: int, title: str) -> Figure:
    batch, touched, rows, ages = history.parts[step], history.touched[step], _rows(history, step), _ages(history, step)
    marks = row_marks(touched, history.features) if history.features and len(touched) else None
    table = [(f"{row.row:,}", ", ".join(str(sample) for sample, _ in row.entries[:8]) + (", …" if len(row.entries) > 8 else ""),
              row.formula + _values(row, history.units), row.before, "updated now") for row in rows]  # fmt: skip
    if len(touched) > len(rows):
        table.append((f"{format_count(len(touched) - len(rows))} more", "", "", "", "updated now"))
    figure = Figure(title, _finding(history, step, ages), table=Table(COLUMNS, table, "From the batch to the lazy update"))
    if not rows:
        figure.notes = ("The batch stores nothing, so no row of the weight is touched.",)
        return figure
    _pipeline(figure, history, batch, rows)
    sides, density = sides_of(batch), format_density(batch.density)
    _placed(figure, (float(batch.columns), float(batch.rows)), true_marks(batch), f"The batch at true scale: {density} is blue",
            sides[0] / sides[1])  # fmt: skip
    _placed(figure, (1.0, 1.0), marks.boxes if marks else (), f"Its rows of the weight, of {format_count(history.features)}", 1.0)
    _raster(figure, history, ages)
    samples = min(batch.rows, SAMPLES)
    said = []
    if len(rows) < len(touched) or samples < batch.rows:
        said.append(f"Above are {format_count(len(rows))} of {format_count(len(touched))} touched weight rows and "
                    f"{format_count(samples)} of {format_count(batch.rows)} batch rows.")
    wide = history.features / PLACES
    said += [f"In the lines of ages, a mark is {format_count(wide)} rows wide."] if wide > 1 else []
    figure.notes = [*said, *([f"The square has the rows of the weight line by line. {marks.words}"] if marks else ())]
    return figure


def _values(row: _Row, units: int) -> str:
    if row.gradient is None:
        return ""
    return f" = ({', '.join(cell_text(value) for value in row.gradient)}{', …' if units > len(row.gradient) else ''})"


def _pipeline(figure: Figure, history: _History, batch: Parts, rows: Sequence[_Row]) -> None:
    """The stored values of the batch beside the gradient's rows, a line for each weight row."""
    samples, units, down = min(batch.rows, SAMPLES), min(history.units, UNITS), float(len(rows))
    figure.panels = [Panel((0.0, float(samples)), (0.0, down), ROW * down, "The batch, transposed", 0.55, rows=True),
                     Panel((0.0, float(units)), (0.0, down), ROW * down, "The row-sparse gradient", 0.45, rows=True)]
    names = tuple((place + 0.5, f"weight row {row.row:,}") for place, row in enumerate(rows))
    states = tuple((place + 0.5, f"state: {row.before} → now") for place, row in enumerate(rows))
    figure.add(lattice(0, 0, 0, len(rows), samples), Axis(0, "left", ticks=names), Axis(1, "left", ticks=names),
               Axis(1, "right", ticks=states),
               Axis(0, "bottom", ticks=tuple((sample + 0.5, f"row {sample}") for sample in range(samples)), grid=False),
               Axis(1, "bottom", ticks=tuple((unit + 0.5, f"unit {unit}") for unit in range(units)), grid=False))  # fmt: skip
    for place, row in enumerate(rows):
        key, values = f"row {row.row}", row.gradient or []
        said = f"weight row {row.row:,}: {row.formula}{_values(row, history.units)}; state {row.before} → now"
        for sample, value in row.entries:
            if sample < samples:
                figure.add(Rect(0, "sparse", sample + 0.03, sample + 0.97, place + 0.1, place + 0.9,
                                f"csr row {sample}, column {row.row:,}: {cell_text(value)}", key, cell_text(value)))  # fmt: skip
        figure.add(*(Rect(1, "sparse", unit + 0.03, unit + 0.97, place + 0.1, place + 0.9, said, key, cell_text(value))
                     for unit, value in enumerate(values)))  # fmt: skip
        if not values:
            figure.add(Rect(1, "sparse", 0.03, units - 0.03, place + 0.1, place + 0.9, said, key, row.formula))


def _placed(figure: Figure, size: tuple[float, float], boxes: Sequence[tuple[float, float, float, float]], title: str,
            aspect: float) -> None:  # fmt: skip
    """Where something is in a whole, at true scale or as much larger as the words say."""
    panel, (across, down) = len(figure.panels), size
    figure.panels.append(Panel((0.0, across), (0.0, down), PLACED, title, 0.5, aspect=aspect))
    corners = np.array([(x * across, (x + w) * across, y * down, (y + h) * down) for x, y, w, h in boxes]).reshape(-1, 4)
    figure.add(Cells(panel, "sparse", corners),
               Line(panel, "muted", [0.0, across, across, 0.0, 0.0], [0.0, 0.0, down, down, 0.0], width=0.8))  # fmt: skip


def _raster(figure: Figure, history: _History, ages: Sequence[Array]) -> None:
    """Every row of the weight at its place from left to right, in the line of its state's age."""
    panel, wide = len(figure.panels), max(1.0, history.features / PLACES)
    names = [name for name, _ in AGES]
    title = f"Age of the optimizer state of all {format_count(history.features)} rows, first rows on the left"
    figure.panels.append(Panel((0.0, float(history.features)), (0.0, len(ages) + 1.0), AGE * (len(ages) + 1), title, rows=True))
    for place, rows in enumerate(ages):
        left = np.unique(np.floor(rows / wide)) * wide
        boxes = np.column_stack([left, left + wide, np.full_like(left, place + 0.15), np.full_like(left, place + 0.85)])
        words = f"{names[place]}: {format_count(len(rows))} rows"
        figure.add(Cells(panel, "sparse" if not place else "muted", boxes, words, f"age {place}"))
    never = history.features - sum(len(rows) for rows in ages)
    counts = [*(len(rows) for rows in ages), never]
    said = tuple((place + 0.5, f"{format_count(count)} rows") for place, count in enumerate(counts))
    figure.add(Axis(panel, "left", ticks=tuple((place + 0.5, name) for place, name in enumerate([*names, "no state yet"]))),
               Axis(panel, "right", ticks=said))  # fmt: skip


def _finding(history: _History, step: int, ages: Sequence[Array]) -> str:
    batch, touched, features = history.parts[step], len(history.touched[step]), history.features
    value = np.dtype(batch.dtype).itemsize
    # The library numbers the rows of a gradient with int64, whatever the batch has.
    size, dense = touched * (history.units * value + 8), features * history.units * value
    words = (f"{format_count(batch.rows)} csr rows with {format_count(batch.stored)} stored values touch {format_count(touched)} "
             f"of {format_count(features)} weight rows ({format_share(touched, features)}): the row-sparse gradient takes "
             f"{format_bytes(size)}")
    if dense > size > 0:
        words += f" instead of {format_bytes(dense)}, {format_ratio(dense / size)} less"
    new = len(np.setdiff1d(history.touched[step], history.last_update(step)[0]))
    words += (f". The lazy update updates the optimizer state of these rows, {format_count(new)} of them for the first time; "
              f"{format_count(sum(map(len, ages[1:])))} rows keep an older state, "
              f"{format_count(features - sum(map(len, ages)))} have none yet.")
    stored = history.gradient if step == len(history.parts) - 1 else None
    if stored is not None and not np.array_equal(history.touched[step], take_slice(stored.indices, 0, len_of(stored.indices))):
        words += " The given gradient does not store the rows that the batch touches."
    return words


def _details(history: _History, step: int, key: str) -> dict[str, str] | None:
    """What a live view says of a weight row, with the numbers of its sum, or of an age."""
    kind, _, name = key.partition(" ")
    if kind == "age" and name in "01234" and len(name) == 1:
        rows = _ages(history, step)[int(name)]
        listed = ", ".join(f"{row:,}" for row in rows[:40].tolist())
        return {AGES[int(name)][0]: f"{listed}{', …' if len(rows) > 40 else ''}"}
    weight_row = next((candidate for candidate in _rows(history, step) if kind == "row" and str(candidate.row) == name), None)
    if weight_row is None:
        return None
    said = {"weight row": f"{weight_row.row:,}",
            "stored by": "csr rows " + ", ".join(str(sample) for sample, _ in weight_row.entries[:20]),
            "gradient": weight_row.formula}  # fmt: skip
    if weight_row.gradient is not None and history.upstream is not None:
        heads = [f"{cell_text(value)}·({', '.join(cell_text(element) for element in history.upstream[sample, :UNITS].tolist())})"
                 for sample, value in weight_row.entries[:4]]
        said["with numbers"] = (" + ".join(heads) + (" + …" if len(weight_row.entries) > 4 else "")
                                + _values(weight_row, history.units))  # fmt: skip
    elif weight_row.gradient is not None:
        said["gradient"] += _values(weight_row, history.units)
    return {**said, "optimizer state": f"{weight_row.before} → updated now"}


entries(globals(), __all__)
