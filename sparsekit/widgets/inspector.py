"""Data of the live array inspector: the binned picture, and stored values to step through."""

from __future__ import annotations

from typing import Any

import numpy as np

from .components import Parts, len_of, read_array, take_slice
from .pack import plain
from .spy import array_finding, is_small
from .true_scale import marks_of

__all__ = ["MOST_ENTRIES", "inspector_payload"]

#: Stored values that the view can step through; of larger arrays, evenly spaced rows.
MOST_ENTRIES = 4000
#: Columns of a row_sparse array that the view can step through.
MOST_COLUMNS = 128
#: Neighbouring rows that are chosen together, so that there is something to see around each value.
TOGETHER = 9
#: Rows of which the whole indptr is shown.
FEW_ROWS = 200
#: Rows among which those to step through are chosen; more than that are not looked at one by one.
MOST_ROWS = 2_000_000


def inspector_payload(array: object) -> dict[str, Any]:
    """Give an array as plain data for the live inspector, whose size does not grow with the array's.

    Parameters
    ----------
    array : csr or row_sparse array
        As for ``array_figure``.

    Returns
    -------
    dict
        ``stype``, ``shape`` (as a matrix), ``full_shape``, ``dtype``, ``index_dtype``, ``stored``, ``components``,
        ``marks`` (what is covered: left, top, width and height as shares of the picture), ``scale`` (how much larger than true
        that is, in words) and ``lines``:
        of each row that can be stepped through its number, the position of its first stored value, the columns and the
        values of what it stores, and how many it stores.
    """
    parts = read_array(array)
    marks = marks_of(parts) if parts.rows * parts.columns else None
    lines = _csr_lines(parts) if parts.stype == "csr" else _row_lines(parts)
    sent = sum(len(line[2]) for line in lines)
    return {
        "stype": parts.stype,
        "shape": [parts.rows, parts.columns],
        "full_shape": plain(parts.shape),
        "dtype": parts.dtype,
        "index_dtype": parts.index_dtype,
        "stored": parts.stored,
        "stored_rows": len_of(parts.indices) if parts.stype == "row_sparse" else None,
        "components": plain(parts.components),
        "marks": [[round(share, 6) for share in box] for box in marks.boxes] if marks else [],
        "scale": marks.words if marks else "",
        "lines": lines,
        "indptr": take_slice(parts.indptr, 0, parts.rows + 1).tolist()
        if parts.stype == "csr" and parts.rows <= FEW_ROWS else None,
        "whole": sent == parts.stored,
        "finding": array_finding(parts) + (f" {marks.words}" if marks and marks.words and not is_small(parts) else ""),
    }


def _values(piece: np.ndarray) -> list[Any]:
    """Values for JSON; those that are not finite become text."""
    return [value if isinstance(value, int) else plain(value) for value in piece.tolist()]


def _spaced(candidates: np.ndarray, sizes: np.ndarray, budget: int) -> np.ndarray:
    """Choose evenly spaced groups of neighbours whose sizes stay within the budget."""
    if not len(candidates):
        return candidates
    typical = max(1.0, float(sizes.mean()))
    count = min(len(candidates), max(1, int(budget / typical)))
    groups = np.linspace(0, max(0, len(candidates) - TOGETHER), max(1, count // TOGETHER)).astype(np.int64)
    chosen = np.unique(np.minimum((groups[:, None] + np.arange(TOGETHER)).ravel(), len(candidates) - 1))
    if count == len(candidates):
        chosen = np.arange(count)
    fits = np.cumsum(np.minimum(sizes[chosen], budget)) <= budget * 1.5
    fits[0] = True
    return candidates[chosen[fits]]


def _csr_lines(parts: Parts) -> list[list[Any]]:
    if not parts.rows or not parts.stored:
        return []
    looked = min(parts.rows, MOST_ROWS)
    pointers = take_slice(parts.indptr, 0, looked + 1).astype(np.int64)
    filled = np.flatnonzero(np.diff(pointers))
    lines = []
    for row in _spaced(filled, np.diff(pointers)[filled], MOST_ENTRIES):
        start, end = int(pointers[row]), int(pointers[row + 1])
        some = min(end, start + MOST_ENTRIES)
        columns, values = take_slice(parts.indices, start, some), take_slice(parts.data, start, some)
        lines.append([int(row), start, columns.tolist(), _values(values), end - start])
    return lines


def _row_lines(parts: Parts) -> list[list[Any]]:
    count, wide = len_of(parts.indices), parts.columns
    if not count or not wide:
        return []
    shown = min(wide, MOST_COLUMNS)
    places = _spaced(np.arange(count), np.full(count, shown), MOST_ENTRIES)
    lines = []
    for place in places.tolist():
        row = int(take_slice(parts.indices, place, place + 1)[0])
        values = take_slice(parts.data, place, place + 1).reshape(-1)[:shown]
        lines.append([row, place, list(range(shown)), _values(values), wide])
    return lines
