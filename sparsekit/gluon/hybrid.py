"""Hybridized blocks: a block is traced once for each kind of input, and runs as a program from then on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from ..base.context import Context
from ..base.errors import GradientError, HybridizeWarning
from ..core import hooks
from ..core.program import Program
from ..core.trace import ControlFlow, Tracer, current
from ..ndarray.functions import F
from ..ndarray.ndarray import NDArray
from .parameter import Parameter
from .watch import Watch

__all__ = ["Programs", "cuda_graphs", "restore", "tracing"]

#: Programs that a block keeps; then it forgets them all.
REMEMBERED = 64

#: Calls in a row that a block may be traced anew at before it warns.
PATIENCE = 16


def tracing(block: object) -> bool:
    """Whether this thread traces a block now, of which ``block`` is a part then."""
    tracer = current()
    if tracer is None:
        return False
    tracer.blocks.append(block)
    return True


#: What may stand among the arguments of a program beside arrays: of each value there is a program of its own.
_SETTINGS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type, np.dtype, np.generic, Context, Enum)


class Opaque(Exception):
    """An argument or a result is something else than arrays, containers of these, and settings."""


def _flatten(value: Any, arrays: list[Any]) -> Any:
    """Put the arrays in a list, and give what tells how they lay: hashable.

    Raises
    ------
    Opaque
        If there is something that may change without becoming another object.
    """
    if isinstance(value, NDArray):
        arrays.append(value)
        return len(arrays)
    kind = type(value)
    if kind is list or isinstance(value, tuple):
        return kind, tuple([_flatten(item, arrays) for item in value])
    if isinstance(value, dict):
        return kind, tuple([(name, _flatten(item, arrays)) for name, item in value.items()])
    if isinstance(value, slice):
        return kind, tuple([_flatten(item, arrays) for item in (value.start, value.stop, value.step)])
    if isinstance(value, _SETTINGS):
        return None, value, kind, repr(value) if kind is float else None  # 1, 1.0 and True are equal, and so are 0.0 and -0.0
    raise Opaque(kind.__name__)


def restore(structure: Any, arrays: Sequence[Any]) -> Any:
    """What ``_flatten`` took apart, with these arrays."""
    if isinstance(structure, int):
        return arrays[structure - 1]
    kind, items = structure[:2]
    if kind is None:
        return items
    if issubclass(kind, dict):
        return kind((name, restore(item, arrays)) for name, item in items)
    made = [restore(item, arrays) for item in items]
    return made if kind is list else kind(*made) if hasattr(kind, "_fields") or kind is slice else kind(made)


def _kind(array: NDArray) -> tuple[Any, ...]:
    """What a program depends on of an array: layout, element type, and whether and where its gradient goes."""
    entry = array._entry
    if entry is None or not hooks.state.recording:
        return array._layout, array._store.dtype
    gradient = entry[0].grad
    return array._layout, array._store.dtype, "" if gradient is None else gradient.stype


def _array_of(source: object, ctx: Context) -> Any:
    return source.data(ctx) if isinstance(source, Parameter) else source


class _Made:
    """A program with what it was made for, beside its arguments: the arrays that it asks for at every run.

    Arrays that are the same objects with the same places in the graph as at the last run are not looked at again.
    """

    __slots__ = ("arrays", "entries", "kinds", "program", "results", "sources")

    def __init__(self, sources: list[Any], program: Program, results: object, ctx: Context) -> None:
        self.sources, self.program, self.results = sources, program, results
        self.arrays = [_array_of(source, ctx) for source in sources]
        self.entries = [array._entry for array in self.arrays]
        self.kinds = [_kind(array) for array in self.arrays]

    def arrays_now(self, ctx: Context) -> list[Any] | None:
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
        self._known: dict[Any, list[_Made | None]] = {}
        self._count = self._in_vain = 0
        #: The arguments of the last trace, taken apart: what ``export`` takes the block's inputs from.
        self.arguments: Any = None
        self._watch: Watch | None = None
        self._told: set[str] = set()

    def __reduce__(self) -> Any:
        return Programs, ()  # a copy of a block is traced by itself

    def run(self, block: Any, args: Sequence[Any]) -> Any:
        """Call ``block.forward(*args)``, by a program if one was made for such arguments, and make it otherwise."""
        arrays: list[Any] = []
        try:
            structure = tuple([_flatten(value, arrays) for value in args])
        except Opaque as error:
            made = block.forward(*args)
            if str(error) != "Symbol":
                self._warn_once(f"{block.name} is hybridized, and runs as it is written because a {error} is among its "
                                "arguments.")
            return made
        if not arrays:
            return block.forward(*args)
        if self._watch is not None and not self._watch.holds():
            self._forget(block.name)
        state, ctx = hooks.state, arrays[0]._layout.ctx
        key = (structure, state.training, state.recording, *[_kind(array) for array in arrays])
        for made in self._known.get(key, ()):
            if made is None:
                return block.forward(*args)
            others = made.arrays_now(ctx)
            if others is not None:
                self._in_vain = 0
                return restore(made.results, made.program(arrays + others))
        return self._make(key, block, args, structure, arrays, ctx)

    def _forget(self, name: str) -> None:
        """Forget all programs, because the block has changed; say so if that happens at every call."""
        self._in_vain += 1
        if self._in_vain == PATIENCE and self._watch is not None:
            what = self._watch.difference()
            self._warn_once(f"{name} is hybridized, and was traced anew at each of the last {PATIENCE} calls because "
                       f"{what} changes between them. Pass what changes as an argument, or leave out hybridize().")
        self._known.clear()
        self._count, self._watch = 0, None

    def _warn_once(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            warnings.warn(message, HybridizeWarning, stacklevel=hooks.user_depth() - 1)

    def _make(self, key: object, block: Any, args: Sequence[Any], structure: object, arrays: list[Any], ctx: Context) -> Any:
        self.arguments = structure
        tracer = Tracer(ctx, hooks.state.recording)
        results: list[Any] = []
        try:
            with tracer.at_work():
                given = [tracer.lift(array, object()) for array in arrays]
                made = block.forward(*restore((tuple, structure), given))
            shape = _flatten(made, results)
            if tracer.refused is not None:
                raise tracer.refused
        except Opaque as error:
            return self._refused(key, block, args, tracer, f"It gives a {error}, which is no array.")
        except Exception:
            if tracer.refused is None:
                raise
            return self._refused(key, block, args, tracer, tracer.refused.message)
        try:
            program = Program(tracer, results, F)
        except GradientError as error:  # an operator without a gradient does no harm where nobody asks for it
            return self._refused(key, block, args, tracer, error.message)
        watch = Watch(block, tracer.blocks)
        owners = {id(array): one for one in watch.parameters for array in one._arrays.values()}
        sources = [owners.get(id(source), source) for source in tracer.sources[len(arrays):]]
        found = _Made(sources, program, shape, ctx)
        self._keep(key, found, watch)
        return restore(shape, found.program(arrays + found.arrays))

    def _keep(self, key: object, made: _Made | None, watch: Watch) -> None:
        if self._count >= REMEMBERED:
            self._known.clear()
            self._count = 0
        self._count += 1
        self._known.setdefault(key, []).append(made)
        self._watch = watch

    def _refused(self, key: object, block: Any, args: Sequence[Any], tracer: Tracer, why: str) -> Any:
        """Run a block as it is written that no program can repeat: from now on, for such arguments."""
        self._keep(key, None, Watch(block, tracer.blocks))
        if not isinstance(tracer.refused, ControlFlow):
            self._warn_once(f"{block.name} is hybridized, and runs as it is written because no program can repeat what it "
                       f"does. {why} Compute with operators of F only, or leave out hybridize().")
        return block.forward(*args)

    def replayed(self) -> list[dict[str, str]]:
        """What each program says of its operators on a GPU, one after the other."""
        return [row for made in self._known.values() for one in made if one is not None for row in one.program.replayed()]


def cuda_graphs(block: object) -> list[dict[str, str]]:
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
