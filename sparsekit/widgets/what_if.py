"""The peak with other types, gradients, states or batches: recomputed exactly without a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import UnknownNameError
from ..base.formatting import format_bytes, format_ratio, number
from ..base.memory_model import FLOATS, INDICES, LASTING, Change, Kind, Sizes, batch_of, bounds_of, item_size, kind_of
from .display import Display
from .memory import Alive, alive_of, memory_payload
from .memory_bars import peaks_figure
from .pack import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SWITCHES", "RecordedMemory", "Supposed", "alive_if", "live_memory", "run_of", "what_if_figure"]

#: The changes that are drawn by default, one at a time: text and options.
SWITCHES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("int32 indices", {"index_dtype": "int32"}), ("float16 values", {"value_dtype": "float16"}),
    ("row-sparse gradients", {"gradient": "row_sparse"}), ("dense gradients", {"gradient": "default"}),
    ("lazy state", {"lazy_state": True}), ("half the batch", {"batch": 0.5}), ("twice the batch", {"batch": 2.0}),
)  # fmt: skip


class RecordedMemory(NamedTuple):
    """The recorded data from which the memory of a changed run is computed.

    Attributes
    ----------
    alive : list of Alive
        At the recorded peak.
    numbers : list of int
        The kind of each of these.
    kinds : list of Kind
    moments : list of list of (int, int), or None
        Numbers of kinds and how many of each were alive, at each moment that may be the peak; None if only the
        recorded one is known.
    batch : int
    known : dict
        Parameter -> rows of its gradient.
    bounds : dict
        Length of a parameter -> rows that a batch reaches at most.
    data_sets : list of tuple
        Shapes of inputs of which batches are rows.
    apart : list of tuple
        Shapes of row-sparse gradients that no product wrote.
    """

    alive: list[Alive]
    numbers: list[int]
    kinds: list[Kind]
    moments: list[list[tuple[int, int]]] | None
    batch: int
    known: dict[str, int]
    bounds: dict[int, int]
    data_sets: list[tuple[int, ...]]
    apart: list[tuple[int, ...]]


class Supposed(NamedTuple):
    """What would be alive at the peak: the components, why they are estimates, and whether the peak moves."""

    alive: list[Alive]
    notes: list[str]
    elsewhere: bool

    @property
    def bytes(self) -> float:
        """Their sum."""
        return sum(item.bytes for item in self.alive)


def run_of(memory: Mapping[str, Any] | None) -> RecordedMemory:
    """Read what a profile says of its memory.

    Parameters
    ----------
    memory : dict
        ``prof.memory``.  It may also say ``gradient_rows``, how many rows of each parameter a batch touches at most, and
        ``lives``, the moments of the run that may be its peak.
    """
    memory = memory if isinstance(memory, Mapping) else {}
    found = alive_of(memory)
    rows = [_kind(item, raw) for item, raw in found]
    kinds, moments, batch, bounds, sets, apart = _lives(memory.get("lives"))
    if moments is None:
        batch = batch_of(rows)
        bounds = bounds_of(rows, rows, batch)
    numbers = {kind: place for place, kind in enumerate(kinds)}
    places = [numbers.setdefault(kind, len(numbers)) for kind in rows]
    said = memory.get("gradient_rows")
    known = {str(owner): int(number(rows)) for owner, rows in said.items()} if isinstance(said, Mapping) else {}
    known.update({kind.owner: kind.part[0] for kind in rows if kind.owner not in known
                  and (kind.role, kind.stype, kind.component) == ("gradient", "row_sparse", "indices")})
    return RecordedMemory([item for item, _ in found], places, list(numbers), moments, batch, known, bounds, sets, apart)


def _kind(item: Alive, raw: Mapping[str, Any]) -> Kind:
    owner = str(raw.get("owner") or "") if item.role in LASTING else ""
    return kind_of(item.role, owner, item.stype or "default", _shape(item.shape), item.component, str(raw.get("dtype") or ""),
                   int(item.bytes))


def _shape(value: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(max(0, int(number(axis))) for axis in value)
    except TypeError:
        return ()


def _lives(found: Any) -> tuple[
    list[Kind], list[list[tuple[int, int]]] | None, int, dict[int, int], list[tuple[int, ...]],
    list[tuple[int, ...]]
]:  # fmt: skip
    """The moments that a profiler gives; those of a file are validated."""
    try:
        kinds = [Kind(str(role), str(owner), str(stype), tuple(map(int, shape)), str(component), tuple(map(int, part)),
                      str(dtype), int(size)) for role, owner, stype, shape, component, part, dtype, size in found["kinds"]]
        moments = [[(int(kind), int(count)) for kind, count in moment] for moment in found["moments"]]
        bounds = {int(length): int(rows) for length, rows in found["bounds"].items()}
        sets, apart = ([tuple(map(int, shape)) for shape in found.get(name, [])] for name in ("data_sets", "apart"))
        numbers = (number for one in moments for number, _ in one)
        if any(item_size(kind.dtype) < 1 for kind in kinds) or any(not 0 <= number < len(kinds) for number in numbers):
            return [], None, 0, {}, [], []
        return kinds, moments, int(found["batch"]), bounds, sets, apart
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        return [], None, 0, {}, [], []


def alive_if(run: RecordedMemory, index_dtype: str | None = None, value_dtype: str | None = None, gradient: str | None = None,
             lazy_state: bool = False, batch: float = 1.0) -> Supposed:  # fmt: skip
    """Give what would be alive at the peak with other choices, component by component.

    Parameters
    ----------
    run : RecordedMemory
        ``run_of(memory)``.
    index_dtype : {"int32", "int64"}, optional
    value_dtype : {"float16", "float32", "float64"}, optional
    gradient : {"row_sparse", "default"}, optional
        Storage type of the gradients of matrices.  A gradient changes only if the rows that a batch touches are known or bounded.
    lazy_state : bool
        Keep optimizer state only for the rows that a batch touches.  A real run adds the rows of further batches.
    batch : float
        Factor of the batch size; the result is rounded to whole rows.
    """
    if index_dtype is not None and index_dtype not in INDICES:
        raise UnknownNameError.of("index type", index_dtype, INDICES)
    if value_dtype is not None and value_dtype not in FLOATS:
        raise UnknownNameError.of("element type", value_dtype, FLOATS)
    rows = max(1, math.floor(run.batch * batch + 0.5)) if batch != 1.0 else None
    change = Change(index_dtype, value_dtype, gradient, lazy_state, rows)
    sizes = Sizes(change, run.kinds, run.batch, run.known, run.bounds, data_sets=run.data_sets, apart=run.apart)
    each = sizes.all(run.kinds)
    there = sum(each[place] for place in run.numbers)
    best = max(run.moments or [], key=lambda moment: sum(each[kind] * count for kind, count in moment), default=[])
    elsewhere = sum(each[kind] * count for kind, count in best) > there
    recorded = ((item, run.kinds[place], 1) for item, place in zip(run.alive, run.numbers, strict=True))
    items = _named(run, best) if elsewhere else recorded
    alive = [item._replace(role=part.role, stype=part.stype, component=part.component, bytes=float(part.bytes * count))
             for item, kind, count in items for part in sizes.parts(kind) if part.bytes > 0]
    return Supposed(alive, sizes.notes, elsewhere)


def _named(run: RecordedMemory, moment: Iterable[tuple[int, int]]) -> Iterator[tuple[Alive, Kind, int]]:
    """What was alive at another moment; names and layers are those of arrays alike at the recorded peak."""
    names = dict(zip(reversed(run.numbers), reversed(run.alive), strict=True))
    layers = {item.owner: item.layer for item in run.alive}
    for place, count in moment:
        role, owner, stype, shape, component, *_ = kind = run.kinds[place]
        alike = names.get(place) or Alive(owner or "(unnamed)", role, stype, shape, component, 0.0, layers.get(owner, ""))
        yield alike, kind, count


def live_memory(memory: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give ``prof.memory`` as the live view takes it: with what its switches recompute."""
    run = run_of(memory)
    kinds = [{"role": role, "owner": owner, "stype": stype, "shape": shape, "component": component, "part": part,
              "item": item_size(dtype), "floating": dtype in FLOATS, "bytes": size}
             for role, owner, stype, shape, component, part, dtype, size in run.kinds]
    model = {"kinds": kinds, "numbers": run.numbers, "moments": run.moments, "batch": run.batch, "known": run.known,
             "bounds": run.bounds, "data_sets": run.data_sets, "apart": run.apart}
    return {**memory_payload(memory), "model": plain(model)}


def what_if_figure(memory: Mapping[str, Any] | None, title: str = "", **options: float | str) -> Display:
    """Draw what the peak would have been with other types, gradients, states or batches.

    Parameters
    ----------
    memory : dict
        ``prof.memory``.
    title : str, optional
    **options
        ``index_dtype``, ``value_dtype``, ``gradient``, ``lazy_state`` and ``batch``, as for ``alive_if``: the bar "as chosen"
        shows their result.  Without options, there is one bar for each of ``SWITCHES``.

    Returns
    -------
    Display
        The picture and a table with one row for each choice.

    Raises
    ------
    UnknownNameError
        If an element type or an index type is unknown.
    """
    run = run_of(memory)
    runs = {"as recorded": alive_if(run)}
    for words, choice in ([("as chosen", options)] if options else SWITCHES):
        changed = alive_if(run, **choice)
        if options or changed.bytes != runs["as recorded"].bytes:
            runs[words] = changed
    return peaks_figure({name: one.alive for name, one in runs.items()}, str(title) or "What if", _finding(run, runs))


def _finding(run: RecordedMemory, runs: Mapping[str, Supposed]) -> str:
    totals = {name: one.bytes for name, one in runs.items()}
    before = totals["as recorded"]
    if before <= 0:
        return "No memory was recorded."
    best = min(totals, key=lambda name: totals[name])
    finding = f"The arrays alive at the peak took {format_bytes(before)}"
    others = [name for name in totals if name != "as recorded"]
    if best != "as recorded":
        factor = f", {format_ratio(before / totals[best])} less" if totals[best] else ""
        finding += f"; with {best} it would take {format_bytes(totals[best])}{factor}"
    elif others:
        finding += f"; with {others[0]} it would take {format_bytes(totals[others[0]])}"
    notes = Counter(note for one in runs.values() for note in one.notes)
    return ". ".join([finding, *(note[:1].upper() + note[1:] for note in notes)]) + "."
