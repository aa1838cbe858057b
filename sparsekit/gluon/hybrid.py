"""Hybridized blocks: a block is traced once for each kind of input, and runs as a program from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.errors import SparsekitError
from ..core import hooks
from ..core.program import Program
from ..core.trace import Tracer, current
from ..ndarray.functions import F
from ..ndarray.ndarray import NDArray
from .parameter import Parameter

__all__ = ["Programs", "cuda_graphs", "tracing"]

#: Programs that a block keeps; then it forgets them all.
REMEMBERED = 64


def tracing() -> bool:
    """Whether this thread traces a block now."""
    return current() is not None


def _flatten(value: Any, arrays: list[Any]) -> Any:
    """Put the arrays in a list, and give what tells how they lay: hashable."""
    if isinstance(value, NDArray):
        arrays.append(value)
        return len(arrays)
    if isinstance(value, (list, tuple)):
        return type(value) is list, tuple([_flatten(item, arrays) for item in value])
    try:
        hash(value)
    except TypeError:
        raise SparsekitError(f"A hybridized block was given a {type(value).__name__}, which is no array.",
                             hint="pass arrays, lists of arrays, numbers or strings.") from None
    return None, value


def _restore(structure: Any, arrays: Sequence[Any]) -> Any:
    """What ``_flatten`` took apart, with these arrays."""
    if isinstance(structure, int):
        return arrays[structure - 1]
    kind, items = structure
    if kind is None:
        return items
    made = [_restore(item, arrays) for item in items]
    return made if kind else tuple(made)


def _kind(array: Any) -> tuple[Any, ...]:
    """What a program depends on of an array: layout, element type, and whether and where its gradient goes."""
    entry = array._entry
    if entry is None or not hooks.state.recording:
        return array._layout, array._store.dtype
    gradient = entry[0].grad
    return array._layout, array._store.dtype, "" if gradient is None else gradient.stype


def _array_of(source: Any, ctx: Any) -> Any:
    return source.data(ctx) if isinstance(source, Parameter) else source


class _Made:
    """A program with what it was made for, beside its arguments: the arrays that it asks for at every run.

    Arrays that are the same objects with the same places in the graph as at the last run are not looked at again.
    """

    __slots__ = ("arrays", "entries", "kinds", "program", "results", "sources")

    def __init__(self, sources: list[Any], program: Program, results: Any, ctx: Any) -> None:
        self.sources, self.program, self.results = sources, program, results
        self.arrays = [_array_of(source, ctx) for source in sources]
        self.entries = [array._entry for array in self.arrays]
        self.kinds = [_kind(array) for array in self.arrays]

    def arrays_now(self, ctx: Any) -> list[Any] | None:
        """The arrays of the sources, or None if the program is not for such."""
        arrays: list[Any] = [source._arrays.get(ctx) if isinstance(source, Parameter) else source for source in self.sources]
        for array, known, entry in zip(arrays, self.arrays, self.entries, strict=True):
            if array is not known or array._entry is not entry:
                break
        else:
            return arrays
        arrays = [_array_of(source, ctx) for source in self.sources]
        if [_kind(array) for array in arrays] != self.kinds:
            return None
        self.arrays, self.entries = arrays, [array._entry for array in arrays]
        return arrays


class Programs:
    """The programs of one block, by what they were made for."""

    def __init__(self) -> None:
        self._known: dict[Any, list[_Made]] = {}
        self._count = 0

    def run(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Call ``function(*args)``, by a program if one was made for such arguments, and make it otherwise."""
        arrays: list[Any] = []
        structure = tuple([_flatten(value, arrays) for value in args])
        if not arrays:
            return function(*args)
        state, ctx = hooks.state, arrays[0]._layout.ctx
        key = (structure, state.training, state.recording, *[_kind(array) for array in arrays])
        for made in self._known.get(key, ()):
            others = made.arrays_now(ctx)
            if others is not None:
                return _restore(made.results, made.program(arrays + others))
        return self._make(key, function, structure, arrays, ctx)

    def _make(self, key: Any, function: Callable[..., Any], structure: Any, arrays: list[Any], ctx: Any) -> Any:
        tracer = Tracer(ctx, hooks.state.recording)
        with tracer.at_work():
            given = [tracer.lift(array, object()) for array in arrays]
            made = function(*_restore((False, structure), given))
        results: list[Any] = []
        shape = _flatten(made, results)
        found = _Made(tracer.sources[len(arrays):], Program(tracer, results, F), shape, ctx)
        if self._count >= REMEMBERED:
            self._known.clear()
            self._count = 0
        self._count += 1
        self._known.setdefault(key, []).append(found)
        return _restore(shape, found.program(arrays + found.arrays))

    def replayed(self) -> list[dict[str, str]]:
        """What each program says of its operators on a GPU, one after the other."""
        return [row for made in self._known.values() for one in made for row in one.program.replayed()]


def cuda_graphs(block: Any) -> list[dict[str, str]]:
    """Which operators of a hybridized block a GPU replays from captured CUDA graphs, and why others run by themselves.

    Parameters
    ----------
    block : HybridBlock
        After some calls: the first compiles, the second captures.

    Returns
    -------
    list of dict
        A row an operator: ``pass`` ("forward" or "backward"), ``op``, and ``reason``, which is empty for what is replayed.
        Nothing for a block that is not hybridized, or has run on CPUs only.
    """
    programs = getattr(block, "_programs", None)
    return [] if programs is None else programs.replayed()
