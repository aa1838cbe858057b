"""One batch from its csr rows to the lazy update: which weight rows it touches, and whose optimizer state is old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import ShapeError, UnsupportedError
from ..base.formatting import format_bytes, format_count, format_ratio, format_share
from ..figures.components import Parts, cell_text, len_of, read_array, take_slice
from .display import Display
from .options import whole
from .pack import plain
from .svg import Drawing, fit, heading, is_narrow, page_width, text_width, wrap
from .theme import INK, LINE, MUTED, SERIES, STRIPE, ink_on

__all__ = ["AGES", "xray_figure", "xray_payload"]

#: What is shown one by one: weight rows, batch rows, units.
ROWS, SAMPLES, UNITS = 10, 8, 4
#: A colour for each weight row shown, none of them twice.
ROW_COLORS = (*SERIES, "#332288", "#882255", "#44aa99", "#999933")
#: Batches that the live view can step through.
MOST_STEPS = 64
#: Ages of a row's state, in steps since its last update: name, least age, colour, letter.
AGES = (
    ("updated now", 0, "#08519c", "●"),
    ("1 step old", 1, "#6baed6", "1"),
    ("2 to 3 steps old", 2, "#f0e442", "2"),
    ("4 to 7 steps old", 4, "#e69f00", "4"),
    ("8 or more steps old", 8, "#e0661a", "8"),
)
#: Weights up to this many rows are shown row by row; larger ones as this many bars.
CELLS, BARS = 256, 64
NOTHING = "The batch stores nothing, so no row of the weight is touched."


class _States:
    """When each weight row was last updated; only rows that ever were take memory."""

    def __init__(self) -> None:
        self.rows, self.last = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def age(self, rows: np.ndarray, step: int) -> np.ndarray:
        """Steps since the last update before ``step``; -1 for rows that never had one."""
        if not len(self.rows):
            return np.full(len(rows), -1, np.int64)
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[place] == rows, step - self.last[place], -1)

    def update(self, rows: np.ndarray, step: int) -> None:
        """Note that these rows were updated."""
        merged = np.union1d(self.rows, rows)
        last = np.full(len(merged), step, np.int64)
        last[np.searchsorted(merged, self.rows)] = self.last
        last[np.searchsorted(merged, rows)] = step
        self.rows, self.last = merged, last


def _batches(batches: object) -> list[Parts]:
    listed = batches if isinstance(batches, (list, tuple)) else [batches]
    parts = [read_array(batch) for batch in listed]
    if not parts:
        raise UnsupportedError("gradient_xray() needs at least one batch.",
                               hint="give one csr array or a list of them, oldest first.")
    for part in parts:
        if part.stype != "csr":
            raise UnsupportedError(f"A batch must be csr, got {part.stype}.", hint="the X-ray steps through csr batches.")
        if part.columns != parts[0].columns:
            raise ShapeError(f"Batches must have equally many columns, got {parts[0].columns:,} and {part.columns:,}.",
                             hint="give batches of one model.")  # fmt: skip
    return parts


def _contributions(batch: Parts, shown: np.ndarray) -> dict[int, list[list[Any]]]:
    """Of each shown column, the batch rows that store it, with the value."""
    indices = take_slice(batch.indices, 0, batch.stored)
    found: dict[int, list[list[Any]]] = {}
    pointers = take_slice(batch.indptr, 0, batch.rows + 1)
    for column in shown.tolist():
        places = np.flatnonzero(indices == column)
        rows = np.searchsorted(pointers, places, side="right") - 1
        values = [take_slice(batch.data, int(at), int(at) + 1)[0] for at in places[:64]]
        found[column] = [[int(row), plain(value)] for row, value in zip(rows, values, strict=False)]
    return found


def _gradient(found: Mapping[int, list[list[Any]]], upstream: Any, given: Parts | None, units: int) -> dict[int, list[Any]]:
    """The first units of the gradient's shown rows: as given, or computed from the gradient of the output."""
    if given is not None:
        indices = take_slice(given.indices, 0, len_of(given.indices))
        rows = {}
        for column in found:
            place = int(np.searchsorted(indices, column))
            if place < len(indices) and indices[place] == column:
                rows[column] = plain(take_slice(given.data, place, place + 1).reshape(-1)[:units].tolist())
        return rows
    if upstream is None:
        return {}
    sums = {}
    for column, entries in found.items():
        total = np.zeros(min(units, upstream.shape[1]), dtype=np.float64)
        for row, value in entries:
            total = total + float(value) * upstream[row, :units]
        sums[column] = plain(total.tolist())
    return sums


def _span(features: int) -> int:
    """Rows that one cell or bar of the map stands for."""
    return 1 if features <= CELLS else -(-features // BARS)


def _map(states: _States, step: int, features: int) -> list[list[Any]]:
    """Rows of each age in each block of rows: ``[block, [rows of the first of AGES, ...]]`` where there are any."""
    classes = np.searchsorted([least for _, least, _, _ in AGES], step - states.last, side="right") - 1
    blocks, place = np.unique(states.rows // _span(features), return_inverse=True)
    counts = np.bincount(place * len(AGES) + classes, minlength=len(blocks) * len(AGES)).reshape(-1, len(AGES))
    return [[block, ages] for block, ages in zip(blocks.tolist(), counts.tolist(), strict=True)]


def _shown(batch: Parts, touched: np.ndarray) -> np.ndarray:
    """The weight rows shown one by one: of those that the batch rows shown use, some that several use, the rest evenly."""
    indices = take_slice(batch.indices, 0, batch.stored)
    first = int(take_slice(batch.indptr, min(batch.rows, SAMPLES), min(batch.rows, SAMPLES) + 1)[0])
    used = np.unique(indices[:first]).astype(np.int64) if first else touched
    if len(used) <= ROWS:
        return used if len(used) == len(touched) else _evenly(np.union1d(used, _evenly(touched, ROWS - len(used))), ROWS)
    uses = np.bincount(np.searchsorted(touched, indices), minlength=len(touched))[np.searchsorted(touched, used)]
    several = used[np.argsort(-uses, kind="stable")[: ROWS // 3]]
    several = several[uses[np.searchsorted(used, several)] > 1]
    return np.union1d(several, _evenly(np.setdiff1d(used, several), ROWS - len(several)))


def _evenly(values: np.ndarray, count: int) -> np.ndarray:
    return values[np.unique(np.linspace(0, len(values) - 1, min(len(values), max(count, 0))).astype(np.int64))]


def _step(batch: Parts, step: int, states: _States, facts: dict[str, Any]) -> dict[str, Any]:
    touched = np.unique(take_slice(batch.indices, 0, batch.stored)).astype(np.int64)
    shown = _shown(batch, touched) if len(touched) else touched
    found = _contributions(batch, shown)
    before = dict(zip(shown.tolist(), states.age(shown, step).tolist(), strict=True))
    known = len(states.rows)
    states.update(touched, step)
    ages = step - states.last
    classes = [int(((ages >= least) & (ages < bound)).sum())
               for (_, least, _, _), bound in zip(AGES, [*(age[1] for age in AGES[1:]), 1 << 62], strict=True)]  # fmt: skip
    units, value, index = facts["units"], facts["value_bytes"], facts["index_bytes"]
    gradient = _gradient(found, facts.get("upstream") if facts["last"] else None,
                         facts.get("gradient") if facts["last"] else None, UNITS)  # fmt: skip
    return {
        "rows": batch.rows,
        "stored": batch.stored,
        "touched": len(touched),
        "new": len(states.rows) - known,
        "lines": [{"row": row, "from": found[row], "before": before[row], "gradient": gradient.get(row)}
                  for row in shown.tolist()],
        "upstream": _heads(found, facts["upstream"]) if facts["last"] and facts["upstream"] is not None else {},
        "bytes": len(touched) * (units * value + index),
        "dense_bytes": facts["features"] * units * value,
        "ages": classes,
        "never": facts["features"] - len(states.rows),
        "map": _map(states, step, facts["features"]),
        "batch_bytes": sum(batch.components.values()),
        "agrees": _agrees(touched, facts.get("gradient")) if facts["last"] else None,
    }


def _heads(found: Mapping[int, list[list[Any]]], upstream: np.ndarray) -> dict[str, list[Any]]:
    """The first units of the gradient of the output, for the batch rows that the shown weight rows come from."""
    rows = sorted({row for entries in found.values() for row, _ in entries})
    return {str(row): plain(upstream[row, :UNITS].tolist()) for row in rows}


def _agrees(touched: np.ndarray, gradient: Parts | None) -> bool | None:
    if gradient is None:
        return None
    return bool(np.array_equal(touched, take_slice(gradient.indices, 0, len_of(gradient.indices))))


def _units(units: int | None, batch: Parts, gradient: Parts | None, upstream: np.ndarray | None) -> int:
    """Columns of the weight: the requested number, that of the given arrays, else one; they must be equal."""
    found = {} if units is None else {"units=": whole("units", units, "columns of a weight")}
    if gradient is not None:
        if gradient.rows != batch.columns:
            raise ShapeError(f"The gradient has {gradient.rows:,} rows, the batch {batch.columns:,} columns.",
                             hint="give the gradient of the weight that this batch is multiplied with.")  # fmt: skip
        found["the gradient"] = gradient.columns
    if upstream is not None:
        if upstream.ndim != 2 or len(upstream) != batch.rows:
            raise ShapeError(f"upstream= has shape {upstream.shape}, the batch {batch.rows:,} rows.",
                             hint="give the gradient of the output, shape (samples, units).")  # fmt: skip
        found["upstream="] = upstream.shape[1]
    if len(set(found.values())) > 1:
        words = ", ".join(f"{name} {count:,}" for name, count in found.items())
        raise ShapeError(f"The numbers of units must agree, got {words}.", hint="leave out units= if the arrays determine it.")
    return max(1, next(iter(found.values()), 1))


def xray_payload(batches: object, units: int | None = None, gradient: object = None, upstream: object = None) -> dict[str, Any]:
    """Give what the X-ray shows as plain data; arguments as for ``xray_figure``."""
    parts = _batches(batches)[-MOST_STEPS:]
    earlier = len(batches) - len(parts) if isinstance(batches, (list, tuple)) else 0
    states = _States()
    if earlier:
        for i, batch in enumerate(_batches(batches)[:earlier]):
            states.update(np.unique(take_slice(batch.indices, 0, batch.stored)).astype(np.int64), i)
    given = read_array(gradient) if gradient is not None else None
    if given is not None and given.stype != "row_sparse":
        raise UnsupportedError(f"The gradient must be row_sparse, got {given.stype}.",
                               hint="give the row_sparse gradient of the weight.")
    head = None if upstream is None else upstream.asnumpy() if hasattr(upstream, "asnumpy") else np.asarray(upstream)
    facts: dict[str, Any] = {
        "features": parts[0].columns, "units": _units(units, parts[-1], given, head),
        "value_bytes": np.dtype(parts[0].dtype).itemsize,
        # The library numbers the rows of a gradient with int64, whatever the batch has.
        "index_bytes": np.dtype(np.int64).itemsize, "gradient": given, "upstream": head,
    }  # fmt: skip
    steps = []
    for i, batch in enumerate(parts):
        facts["last"] = i == len(parts) - 1
        steps.append({**_step(batch, earlier + i, states, facts), "number": earlier + i + 1})
    return {
        "features": facts["features"],
        "units": facts["units"],
        "span": _span(facts["features"]),
        "blocks": -(-facts["features"] // _span(facts["features"])),
        "ages": [[name, color, letter] for name, _, color, letter in AGES],
        "steps": steps,
        "shown": {"samples": SAMPLES, "units": UNITS},
        "colors": list(ROW_COLORS),
    }


def _finding(data: Mapping[str, Any]) -> str:
    step, features = data["steps"][-1], data["features"]
    words = f"{format_count(step['rows'])} csr rows with {format_count(step['stored'])} stored values touch "
    share = format_share(step["touched"], features)
    words += f"{format_count(step['touched'])} of {format_count(features)} weight rows ({share})"
    words += f": the row-sparse gradient takes {format_bytes(step['bytes'])}"
    if step["dense_bytes"] > step["bytes"] > 0:
        words += f" instead of {format_bytes(step['dense_bytes'])}, {format_ratio(step['dense_bytes'] / step['bytes'])} less"
    stale = sum(step["ages"][1:])
    words += f". The lazy update updates the optimizer state of these rows, {format_count(step['new'])} of them for the "
    words += f"first time; {format_count(stale)} rows keep an older state, {format_count(step['never'])} have none yet."
    if step["agrees"] is False:
        words += " The given gradient does not store the rows that the batch touches."
    return words


def xray_figure(batches: object, units: int | None = None, gradient: object = None, upstream: object = None,
                title: str = "") -> Display:  # fmt: skip
    """Draw one batch from its csr rows to the lazy update of an optimizer.

    From left to right, the picture shows the batch (transposed, so that each of its rows is a column), the weight rows of its
    columns, the row-sparse gradient of these rows, and the age of their optimizer state.  Below, it shows the age of the state
    of every row of the weight.

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
    Display
        The picture and a table with one line for each weight row shown.

    Raises
    ------
    UnsupportedError
        If a batch is not csr, or the gradient not row_sparse.
    ShapeError
        If the batches have different numbers of columns, or the shape of another array does not match the last batch.
    ParameterError
        If ``units`` is not an integer of at least 1.
    """
    data = xray_payload(batches, units, gradient, upstream)
    finding = _finding(data)
    columns = ("weight row", "batch rows", "gradient", "state before", "state after")
    return Display(lambda: _picture(data, str(title) or "What one batch does to the weight", finding), finding, columns,
                   _table(data), "From the batch to the lazy update")


def _picture(data: Mapping[str, Any], title: str, finding: str) -> str:
    drawing = Drawing(page_width())
    y = heading(drawing, title, finding, 3) + 9
    y = (_stacked if is_narrow() else _pipeline)(drawing, data, y)
    return drawing.finish(_staleness(drawing, data, y + 12), finding)


def _stacked(drawing: Drawing, data: Mapping[str, Any], y: float) -> float:
    """The same from top to bottom: each touched row with what the batch stores in its column, its gradient and its state."""
    step = data["steps"][-1]
    if not step["lines"]:
        return drawing.note(y + 16, NOTHING, 12.5) + 14
    for i, line in enumerate(step["lines"]):
        if i % 2 == 0:
            drawing.rect(12, y, drawing.width - 24, 63, STRIPE, rx=3.0)
        color, x = ROW_COLORS[i], 20.0
        drawing.text(x, y + 18, f"weight row {line['row']:,}", size=12, font_weight="bold")
        drawing.text(drawing.width - 20, y + 18, f"state {age_words(line['before'])} → now", size=11.5, text_anchor="end",
                     font_weight=None if line["before"] < 0 else "bold")  # fmt: skip
        for row, value in line["from"]:
            words = f"{cell_text(value)} in batch row {row}"
            wide = text_width(words, 11) + 12
            if x + wide > drawing.width - 34:
                drawing.text(x, y + 37, "…", size=12)
                break
            drawing.rect(x, y + 24, wide, 18, color, rx=2.0)
            drawing.text(x + 6, y + 37, words, size=11, fill=ink_on(color))
            x += wide + 4
        values = f" = ({', '.join(cell_text(value) for value in line['gradient'])})" if line["gradient"] else ""
        drawing.text(20, y + 57, fit(f"gradient {formula(line['from'], 3)}{values}", drawing.width - 40, 12), size=12, fill=MUTED)
        y += 64
    return _how_much(drawing, step, step["rows"], y)


def _how_much(drawing: Drawing, step: Mapping[str, Any], samples: int, y: float) -> float:
    """Say how much of the batch is drawn, if it is not all; give where that ends."""
    if step["touched"] == len(step["lines"]) and step["rows"] == samples:
        return y
    words = f"Shown are {format_count(len(step['lines']))} of {format_count(step['touched'])} touched weight rows "
    return drawing.note(y + 16, f"{words}and {format_count(samples)} of {format_count(step['rows'])} batch rows.") - 10


def formula(entries: Sequence[Sequence[Any]], most: int = 4) -> str:
    """A gradient's row as a sum over batch rows: ``"2·g0 + g3"``, where ``gi`` is the output's gradient of row i."""
    words = [("" if value == 1 else f"{cell_text(value)}·") + f"g{row}" for row, value in entries[:most]]
    return " + ".join(words) + (" + …" if len(entries) > most else "")


def age_words(age: int) -> str:
    """How old a row's state is, in words."""
    return "none" if age < 0 else f"{age} step{'' if age == 1 else 's'} old"


def _table(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    step = data["steps"][-1]
    rows: list[tuple[str, ...]] = []
    for line in step["lines"]:
        values = line["gradient"]
        shown = formula(line["from"])
        if values is not None:
            more = ", …" if data["units"] > len(values) else ""
            shown += " = (" + ", ".join(cell_text(value) for value in values) + more + ")"
        samples = ", ".join(str(row) for row, _ in line["from"][:8]) + (", …" if len(line["from"]) > 8 else "")
        rows.append((f"{line['row']:,}", samples, shown, age_words(line["before"]), "updated now"))
    rest = step["touched"] - len(rows)
    return [*rows, (f"{format_count(rest)} more", "", "", "", "updated now")] if rest > 0 else rows


def _pipeline(drawing: Drawing, data: Mapping[str, Any], top: float) -> float:
    step = data["steps"][-1]
    samples, units = min(step["rows"], SAMPLES), min(data["units"], UNITS)
    left = (20.0, 130.0, 130.0 + 34 * SAMPLES + 40, 712.0, 866.0)
    heads = ((left[1], "1  the batch, transposed", "each column is one csr row"),
             (left[2], "2  weight rows", "one per column"),
             (left[3] - 140, "3  row-sparse gradient", "sum over the batch rows"),
             (left[4], "4  lazy update", "state before → after"))
    for x, name, note in heads:
        drawing.text(x, top + 16, name, size=13.5, font_weight="bold")
        drawing.text(x, top + 31, note, size=11, fill=MUTED)
    y = top + 44
    drawing.text(left[0], y + 10, "weight row", size=11, fill=MUTED)
    for i in range(samples):
        drawing.text(left[1] + 34 * i + 16, y + 10, f"row {i}", size=10, fill=MUTED, text_anchor="middle")
    y += 16
    if not step["lines"]:
        drawing.text(left[1], y + 16, NOTHING, size=12.5)
        return y + 30
    for i, line in enumerate(step["lines"]):
        if i % 2 == 0:
            drawing.rect(12, y, drawing.width - 24, 27, STRIPE, rx=3.0)
        _line(drawing, line, i, left, y, (samples, units))
        y += 28
    return _how_much(drawing, step, samples, y)


def _line(drawing: Drawing, line: Mapping[str, Any], i: int, left: Sequence[float], y: float, shown: tuple[int, int]) -> None:
    samples, units = shown
    color = ROW_COLORS[i]
    drawing.text(left[0], y + 18, fit(f"{line['row']:,}", 104, 12), size=12, font_weight="bold")
    stored = dict(line["from"])
    for s in range(samples):
        x = left[1] + 34 * s
        if s in stored:
            drawing.rect(x, y + 3, 31, 21, color, rx=2.0)
            words = fit(cell_text(stored[s]), 30, 10.5)
            drawing.text(x + 15.5, y + 17.5, words, size=10.5, fill=ink_on(color), text_anchor="middle")
        else:
            drawing.rect(x, y + 3, 31, 21, "none", stroke=LINE, rx=2.0)
    drawing.text(left[2] - 26, y + 18, "→", size=14, fill=MUTED)
    for u in range(units):
        drawing.rect(left[2] + 24 * u, y + 3, 22, 21, color, rx=2.0)
    drawing.text(left[2] + 24 * units + 4, y + 18, "→", size=14, fill=MUTED)
    x = left[3] - 140
    words = formula(line["from"], 3)
    drawing.text(x, y + 18, fit(words, 145 if line["gradient"] else 270, 12), size=12)
    if line["gradient"]:
        values = ", ".join(cell_text(value) for value in line["gradient"])
        x += min(145.0, text_width(fit(words, 145, 12), 12)) + 6
        drawing.text(x, y + 18, fit(f"= ({values})", left[4] - x - 10, 12), size=12, fill=MUTED)
    weight = None if line["before"] < 0 else "bold"
    drawing.text(left[4], y + 18, f"{age_words(line['before'])} → now", size=12, font_weight=weight)


def _staleness(drawing: Drawing, data: Mapping[str, Any], top: float) -> float:
    """Draw the age of every row's state: a cell for each row, or a bar for each block of rows, split by age."""
    step = data["steps"][-1]
    words = f"State of all {format_count(data['features'])} rows"
    if data["span"] > 1:
        words += f", first rows on the left: each bar is {format_count(data['span'])} rows, split by the age of their state"
    for line in wrap(words, drawing.width - 40, 13, 4):
        drawing.text(20, top + 14, line, size=13, font_weight="bold")
        top += 17
    top -= 17
    y = (_cells if data["span"] == 1 else _bars)(drawing, data, step, top + 24) + 14
    x = 20.0
    entries = [(name, color, letter, count) for (name, _, color, letter), count in zip(AGES, step["ages"], strict=True)]
    for name, color, letter, count in [*entries, ("no state yet", "none", "", step["never"])]:
        label = f"{name}: {format_count(count)}"
        if x + 30 + text_width(label, 11.5) > drawing.width:
            x, y = 20.0, y + 20
        drawing.rect(x, y - 10, 14, 14, color, stroke=LINE if color == "none" else None)
        if letter:
            drawing.text(x + 7, y + 1, letter, size=9, fill=ink_on(color), text_anchor="middle")
        drawing.text(x + 19, y + 1, label, size=11.5, fill=INK if count else MUTED)
        x += 30 + text_width(label, 11.5)
    return y + 18


def _cells(drawing: Drawing, data: Mapping[str, Any], step: Mapping[str, Any], top: float) -> float:
    side = 14.6
    across = min(64, int((drawing.width - 40) / side))
    found = {block: ages.index(1) for block, ages in step["map"]}
    for block in range(data["blocks"]):
        x, y = 20 + side * (block % across), top + 17 * (block // across)
        if block in found:
            _, _, color, letter = AGES[found[block]]
            drawing.rect(x, y, side - 1.5, 15, color)
            drawing.text(x + side / 2 - 0.7, y + 11, letter, size=9, fill=ink_on(color), text_anchor="middle")
        else:
            drawing.rect(x, y, side - 1.5, 15, "none", stroke=LINE, stroke_width=0.7)
    return top + 17 * -(-data["blocks"] // across)


def _bars(drawing: Drawing, data: Mapping[str, Any], step: Mapping[str, Any], top: float) -> float:
    """The newest states at the bottom; rows without state stay empty."""
    tall, wide = 72.0, min(14.6, (drawing.width - 40) / data["blocks"])
    drawing.rect(20, top, wide * data["blocks"], tall, "none", stroke=LINE, stroke_width=0.7)
    boxes: list[list[tuple[float, float, float, float]]] = [[] for _ in AGES]
    letters = []
    for block, ages in step["map"]:
        y, rows = top + tall, min(data["span"], data["features"] - block * data["span"])
        for age, count in enumerate(ages):
            high = tall * count / rows
            y -= high
            if high > 0.2:
                boxes[age].append((20 + wide * block, y, wide - min(1.5, 0.2 * wide), high))
            if high > 11 and wide > 9:
                letters.append((20 + wide * (block + 0.5) - 0.7, y + high / 2 + 3.5, age))
    for (_, _, color, _), found in zip(AGES, boxes, strict=True):
        drawing.boxes(found, color)
    for x, y, age in letters:
        _, _, color, letter = AGES[age]
        drawing.text(x, y, letter, size=9, fill=ink_on(color), text_anchor="middle")
    return top + tall
