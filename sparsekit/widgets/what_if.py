"""What the peak would have been with other types, gradients, states or batches: recomputed exactly, nothing is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..base.errors import UnknownNameError
from .display import Display
from .memory import Alive, alive_of, memory_payload
from .memory_bars import peaks_figure
from .pack import plain
from .units import format_bytes, format_ratio, number

__all__ = ["SWITCHES", "Holding", "alive_if", "holdings", "live_memory", "what_if_figure"]

VALUES = {"float16": 2, "float32": 4, "float64": 8}
INDICES = {"int32": 4, "int64": 8}
_SIZES = {**VALUES, **INDICES, "int8": 1, "uint8": 1, "bool": 1}
#: Roles of arrays whose first axis is the batch.
BATCHED = ("input", "activation")

#: What is changed, one switch at a time, where nothing is asked for: words and options.
SWITCHES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("int32 indices", {"index_dtype": "int32"}), ("float16 values", {"value_dtype": "float16"}),
    ("row-sparse gradients", {"gradient": "row_sparse"}), ("dense gradients", {"gradient": "default"}),
    ("lazy state", {"lazy_state": True}), ("half the batch", {"batch": 0.5}), ("twice the batch", {"batch": 2.0}),
)  # fmt: skip


class Holding(NamedTuple):
    """One array alive at the peak, in elements: what its bytes are computed from.

    ``value_size`` and ``index_size`` are bytes of an element; ``touched`` the rows that a batch touches of it, None if unknown,
    ``exact`` whether that is known or only an upper bound.
    """

    owner: str
    role: str
    layer: str
    stype: str
    shape: tuple[int, ...]
    value_size: float
    index_size: float
    values: float
    indices: float
    indptr: float
    touched: float | None
    exact: bool
    batched: bool
    floating: bool


def _size(shape: Sequence[int]) -> int:
    product = 1
    for axis in shape:
        product *= axis
    return product


def _shape(value: Any) -> tuple[int, ...]:
    try:
        return tuple(max(0, int(number(axis))) for axis in value)
    except TypeError:
        return ()


def _item_sizes(stype: str, shape: tuple[int, ...], parts: Mapping[str, float], known: Mapping[str, str]) -> tuple[float, float]:
    """Bytes of a value and of an index: as each component's type says, else as they follow from the bytes and the shape."""
    value = _SIZES.get(known.get("data", ""), 0)
    index = INDICES.get(known.get("indices") or known.get("indptr") or "", 0)
    if stype == "csr" and shape and parts.get("indptr"):
        index = index or round(parts["indptr"] / (shape[0] + 1))
        value = value or (round(parts.get("data", 0) * index / parts["indices"]) if parts.get("indices") else 0)
    if stype == "default" and _size(shape):
        exact = parts.get("data", 0) / _size(shape)
        value = value or (int(exact) if exact in (1, 2, 4, 8) else 0)
    if stype == "row_sparse" and parts.get("indices") and shape and not index:
        value = value or 4
        stored = parts.get("data", 0) / (max(1, _size(shape[1:])) * value)
        index = round(parts["indices"] / stored) if stored else 0
    return float(value or 4), float(index if index in (4, 8) else 8)


def holdings(memory: Mapping[str, Any] | None) -> list[Holding]:
    """Put the components alive at the peak together to arrays, with the sizes of their elements.

    Parameters
    ----------
    memory : dict
        ``prof.memory``.  Entries of ``at_peak`` may also say the ``dtype`` of their component, and
        ``gradient_rows`` how many rows of each parameter a batch touches at most.
    """
    memory = memory if isinstance(memory, Mapping) else {}
    groups: dict[Any, tuple[Mapping[str, Any], dict[str, float], dict[str, str]]] = {}
    seen: Counter[Any] = Counter()
    for item, raw in alive_of(memory):
        alike = (item.owner, item.role, item.layer, item.stype, str(item.shape))
        # A gradient and its copy on the way to it are two arrays alike: the second of a component belongs to the second.
        seen[alike, item.component] += 1
        _, parts, types = groups.setdefault((*alike, seen[alike, item.component]), (raw, {}, {}))
        parts[item.component] = item.bytes
        types[item.component] = str(raw.get("dtype") or "")
    batch = _batch_size([(item, raw) for item, raw in alive_of(memory)])
    found = []
    for (owner, role, layer, stype, *_), (raw, parts, types) in groups.items():
        shape = _shape(raw.get("shape", ()))
        value, index = _item_sizes(stype, shape, parts, types)
        found.append(Holding(
            owner, role, layer, stype, shape, value, index, parts.get("data", 0.0) / value, parts.get("indices", 0.0) / index,
            parts.get("indptr", 0.0) / index, None, True, role in BATCHED and bool(shape) and shape[0] == batch,
            types.get("data", "") in ("", *VALUES)))  # fmt: skip
    return _with_touched(found, memory.get("gradient_rows"))


def _batch_size(alive: Sequence[tuple[Alive, Mapping[str, Any]]]) -> int:
    inputs = [_shape(item.shape) for item, _ in alive if item.role == "input" and _shape(item.shape)]
    sparse = [_shape(item.shape) for item, _ in alive if item.role == "input" and item.stype == "csr" and _shape(item.shape)]
    return (sparse or inputs or [(0,)])[0][0]


def _with_touched(found: list[Holding], said: Any) -> list[Holding]:
    """Learn how many rows of each parameter a batch touches: from its gradient, from the profile, or bounded by the batch."""
    known = {a.owner: a.indices for a in found if a.role == "gradient" and a.stype == "row_sparse"}
    known.update({str(k): number(v) for k, v in said.items()} if isinstance(said, Mapping) else {})
    batches = [a for a in found if a.role == "input" and a.stype == "csr" and len(a.shape) == 2]
    result = []
    for a in found:
        stored = a.role == "gradient" and a.stype == "row_sparse"
        rows, exact = a.indices if stored else known.get(a.owner), True
        if rows is None and len(a.shape) >= 2:
            bound = [b.indices for b in batches if b.shape[1] == a.shape[0]]
            rows, exact = (min(float(a.shape[0]), sum(bound)), False) if bound else (None, True)
        result.append(a._replace(touched=rows, exact=exact))
    return result


def alive_if(found: Sequence[Holding], index_dtype: str | None = None, value_dtype: str | None = None,
             gradient: str | None = None, lazy_state: bool = False, batch: float = 1.0) -> list[Alive]:  # fmt: skip
    """Give what would be alive at the same moment with other choices, component by component.

    Parameters
    ----------
    found : list of Holding
        ``holdings(memory)``.
    index_dtype : {"int32", "int64"}, optional
    value_dtype : {"float16", "float32", "float64"}, optional
    gradient : {"row_sparse", "default"}, optional
        How gradients of matrices are stored, where the rows that a batch touches are known or bounded.
    lazy_state : bool
        Keep optimizer state only for the rows that a batch touches; it grows with the rows ever touched.
    batch : float
        The batch, times this.
    """
    if index_dtype is not None and index_dtype not in INDICES:
        raise UnknownNameError.of("index type", index_dtype, INDICES)
    if value_dtype is not None and value_dtype not in VALUES:
        raise UnknownNameError.of("element type", value_dtype, VALUES)
    result = []
    for a in found:
        values, indices, indptr = _elements(a, gradient, lazy_state, batch)
        stype = "default" if not indices and not indptr and a.stype == "row_sparse" else \
            "row_sparse" if indices and a.stype == "default" else a.stype  # fmt: skip
        value = VALUES[value_dtype] if value_dtype and a.floating else a.value_size
        index = INDICES[index_dtype] if index_dtype else a.index_size
        for component, size in (("data", values * value), ("indices", indices * index), ("indptr", indptr * index)):
            if size > 0:
                result.append(Alive(a.owner, a.role, stype, list(a.shape), component, size, a.layer))
    return result


def _elements(a: Holding, gradient: str | None, lazy: bool, batch: float) -> tuple[float, float, float]:
    """Numbers of values, indices and row pointers."""
    values, indices, indptr = a.values, a.indices, a.indptr
    if a.batched:
        values, indices = values * batch, indices * batch
        indptr = (indptr - 1) * batch + 1 if indptr else 0.0
    if len(a.shape) < 2 or a.touched is None or a.role not in ("gradient", "optimizer state"):
        return values, indices, indptr
    wide = float(_size(a.shape[1:]))
    rows = min(float(a.shape[0]), a.touched * batch)
    if a.role == "gradient":
        stored = a.stype == "row_sparse" if gradient is None else gradient == "row_sparse"
    else:
        stored = a.stype == "row_sparse" or lazy
        rows = min(float(a.shape[0]), max(rows, a.indices))
    return (rows * wide, rows, 0.0) if stored else (a.shape[0] * wide, 0.0, 0.0)


def live_memory(memory: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give ``prof.memory`` as the live view takes it: with the arrays that its switches recompute."""
    arrays = [plain(holding._asdict()) for holding in holdings(memory)]
    return {**memory_payload(memory), "arrays": arrays}


def what_if_figure(memory: Mapping[str, Any] | None, title: str = "", **options: Any) -> Display:
    """Draw what the peak would have been with other types, gradients, states or batches.

    Parameters
    ----------
    memory : dict
        ``prof.memory``.
    title : str, optional
    **options
        As for ``alive_if``, drawn as "as asked"; without any, one bar for each of ``SWITCHES``.

    Returns
    -------
    Display
        The picture and a table with one row for each choice.

    Raises
    ------
    UnknownNameError
        If there is no such element or index type.
    """
    found = holdings(memory)
    runs = {"as it was": alive_if(found)}
    for words, choice in ([("as asked", options)] if options else SWITCHES):
        changed = alive_if(found, **choice)
        if options or sum(item.bytes for item in changed) != sum(item.bytes for item in runs["as it was"]):
            runs[words] = changed
    totals = {name: sum(item.bytes for item in alive) for name, alive in runs.items()}
    before = totals["as it was"]
    finding = "No memory was recorded."
    if before > 0:
        best = min(totals, key=lambda name: totals[name])
        finding = f"What was alive at the peak took {format_bytes(before)}"
        others = [name for name in totals if name != "as it was"]
        if best != "as it was":
            factor = f", {format_ratio(before / totals[best])} less" if totals[best] else ""
            finding += f"; with {best} it would take {format_bytes(totals[best])}{factor}"
        elif others:
            finding += f"; with {others[0]} it would take {format_bytes(totals[others[0]])}"
        finding += "."
        if any(not a.exact and a.touched is not None and a.role in ("gradient", "optimizer state") for a in found):
            finding += " Rows that a batch touches are bounded by its stored values."
    return peaks_figure(runs, str(title) or "What if", finding)
