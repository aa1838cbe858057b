"""Hybridized blocks: a block is traced once for each kind of input, and runs as a program from then on."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.changes import changes
from ..base.context import Context
from ..base.errors import GradientError, HybridizeWarning
from ..base.nested import Opaque, flatten, restore
from ..base.warn import warn_user
from ..core import hooks
from ..core.cached_op import CachedOp, kinds_of
from ..core.trace import ControlFlow, RunsInPython, Tracer, TracingError
from ..ndarray.functions import F
from ..ndarray.ndarray import NDArray
from .marks import Marks
from .parameter import Parameter
from .user_python import is_ours, reason_in, reason_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .block import HybridBlock

#: Programs that a block keeps; then it forgets them all.
REMEMBERED = 64

#: Calls in a row that a block may be traced anew at before it warns.
PATIENCE = 16


#: Types of arguments that select a program: each value gets a program of its own.
_SETTINGS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type, np.dtype, np.generic, Context, Enum)


_entry_of = operator.attrgetter("_entry")

#: The structure of one array, as ``flatten`` gives it.
_ONE = 1


def _array_of(source: NDArray | Parameter, ctx: Context) -> NDArray:
    return source.data(ctx) if isinstance(source, Parameter) else source


class _Made:
    """A program with the sources of its outside arrays, such as parameters.

    Arrays that are the same objects with the same graph entries as at the last run are not checked again.
    """

    __slots__ = ("arrays", "entries", "kinds", "mark", "program", "results", "sources")

    def __init__(self, sources: list[Any], program: CachedOp, results: object, ctx: Context) -> None:
        self.sources, self.program, self.results = sources, program, results
        self.mark: object = None
        self.arrays = [_array_of(source, ctx) for source in sources]
        self.entries = [array._entry for array in self.arrays]
        self.kinds = kinds_of(self.arrays)

    def arrays_now(self, ctx: Context) -> list[Any] | None:
        """The arrays of the sources, or None if the program is not for such."""
        mark = changes.mark
        if mark is self.mark and all(map(operator.is_, map(_entry_of, self.arrays), self.entries)):
            return self.arrays
        arrays: list[Any] = [_array_of(source, ctx) for source in self.sources]
        if kinds_of(arrays) != self.kinds:
            return None
        self.arrays, self.entries, self.mark = arrays, [array._entry for array in arrays], mark
        return arrays


class Programs:
    """The programs of one block, by kind of arguments."""

    def __init__(self) -> None:
        self._known: dict[Any, list[_Made | None]] = {}
        self._count = self._in_vain = 0
        #: The flattened arguments of the last trace, from which ``export`` takes the block's inputs.
        self.arguments: Any = None
        self._marks: Marks | None = None
        self._told: set[str] = set()
        #: Why the block must run in Python at every call, whatever the arguments.
        self._python = ""
        #: Why there is no program for some kinds of arguments.
        self._reasons: dict[Any, str] = {}  # Any: the same

    def __reduce__(self) -> tuple[type[Programs], tuple[()]]:
        return Programs, ()  # a copy of a block is traced by itself

    def run(self, block: HybridBlock, args: Sequence[Any]) -> object:
        """Call ``block.forward(*args)``, by a program if one was made for such arguments, and make it otherwise."""
        arrays: list[Any] = []
        structure: tuple[Hashable, ...] = ()
        try:
            for value in args:
                if isinstance(value, NDArray):  # as most are; ``flatten`` would do the same
                    arrays.append(value)
                    structure += len(arrays),
                else:
                    structure += flatten(value, NDArray, arrays, _SETTINGS),
        except Opaque as error:
            result = block.forward(*args)
            if str(error) != "Symbol":
                self._warn_once(f"{block.name} is hybridized, and runs as it is written because a {error} is among its "
                                "arguments.")
            return result
        if not arrays:
            return block.forward(*args)
        if self._marks is not None and self._marks.latest is not changes.mark and not self._marks.hold():
            self._forget(block.name)
        if self._python:
            self.arguments = structure
            return block.forward(*args)
        state, ctx = hooks.state, arrays[0]._layout.ctx
        key = (structure, state.training, state.recording, *kinds_of(arrays))
        for compiled in self._known.get(key, ()):
            if compiled is None:
                return block.forward(*args)
            others = compiled.arrays_now(ctx)
            if others is not None:
                self._in_vain = 0
                results = compiled.program(arrays + others)
                return results[0] if compiled.results == _ONE else restore(compiled.results, results)
        return self._make(key, block, args, structure, arrays, ctx)

    def _forget(self, name: str) -> None:
        """Forget all programs, because the block has changed; say so if that happens at every call."""
        self._in_vain += not self._python
        if self._in_vain == PATIENCE and self._marks is not None:
            changed = self._marks.difference()
            self._warn_once(f"{name} is hybridized, and was traced anew at each of the last {PATIENCE} calls because "
                       f"{changed} changes between them. Pass what changes as an argument, or leave out hybridize().")
        self._known.clear()
        self._reasons.clear()
        self._count, self._marks, self._python = 0, None, ""

    def _warn_once(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            warn_user(message, HybridizeWarning)

    def _make(self, key: object, block: HybridBlock, args: Sequence[Any], structure: object, arrays: list[Any],
              ctx: Context) -> object:
        self.arguments = structure
        if why := reason_in(block._children.values()):
            return self._in_python(block, args, why, [block])
        tracer = Tracer(ctx, hooks.state.recording)
        results: list[Any] = []
        try:
            with tracer.at_work():
                lifted = [tracer.lift(array, object()) for array in arrays]
                result = block.forward(*restore((tuple, structure), lifted))
            shape = flatten(result, NDArray, results, _SETTINGS)
            if tracer.refused is not None:
                raise tracer.refused
        except Opaque as error:
            return self._refused(key, block, args, tracer, f"It returns a {error}, not an array.")
        except Exception:
            if tracer.refused is None:
                raise
            return self._refused(key, block, args, tracer, tracer.refused.message)
        program = CachedOp(tracer, results, F)
        if isinstance(program.error, GradientError):  # an operator without a gradient is fine as long as no backward pass runs
            return self._refused(key, block, args, tracer, program.error.message)
        if program.error is not None and not isinstance(program.error, TracingError):
            raise program.error
        owners = self._mark_now(block, tracer).owners()
        sources = [owners.get(id(source), source) for source in tracer.sources[len(arrays):]]
        compiled = _Made(sources, program, shape, ctx)
        self._keep(key, compiled)
        return restore(shape, compiled.program(arrays + compiled.arrays))

    def _mark_now(self, block: HybridBlock, tracer: Tracer) -> Marks:
        """Remember what the blocks are that were met: what these change while they are traced changes no program."""
        self._marks = Marks([block, *tracer.met], self._marks)
        return self._marks

    def _in_python(self, block: HybridBlock, args: Sequence[Any], why: str, met: list[Any]) -> object:  # Any: as above
        """Run a block in Python, now and at all calls until what was met changes."""
        self._python, self._marks = why, Marks(met)
        return block.forward(*args)

    def _keep(self, key: object, compiled: _Made | None) -> None:
        if self._count >= REMEMBERED:
            self._known.clear()
            self._reasons.clear()
            self._count = 0
        self._count += 1
        self._known.setdefault(key, []).append(compiled)

    def _refused(self, key: object, block: HybridBlock, args: Sequence[Any], tracer: Tracer, why: str) -> object:
        """Run a block unhybridized, now and at later calls with such arguments, since no program can repeat it."""
        if isinstance(tracer.refused, RunsInPython):
            return self._in_python(block, args, why, [block, *tracer.met])
        self._mark_now(block, tracer)
        self._keep(key, None)
        self._reasons[key] = why
        if not isinstance(tracer.refused, ControlFlow):
            self._warn_once(f"{block.name} is hybridized, and runs as it is written because no program can repeat what it "
                       f"does. {why} Compute with operators of F only, or leave out hybridize().")
        return block.forward(*args)

    def explained(self, block: HybridBlock) -> list[dict[str, str]]:
        """The rows of ``explain`` of each program, one after the other, and why calls run without one."""
        rows = [row for variants in self._known.values() for variant in variants if variant is not None
                for row in variant.program.explained()]
        reasons = [why for why in ("" if is_ours(block.forward) else reason_of(block), self._python) if why]
        return rows + [{"pass": "", "op": "", "reason": why} for why in reasons or dict.fromkeys(self._reasons.values())]


def explain(block: object) -> list[dict[str, str]]:
    """Which operators of a hybridized block run without Python between them, and why others run by themselves.

    On a CPU, a *table* of compiled calls runs these operators.  On a GPU, captured CUDA graphs run them.

    Parameters
    ----------
    block : HybridBlock or TrainStep
        It must have been called before.  On a CPU the third call makes the table.  On a GPU the first call compiles kernels, and
        the second captures the graphs.

    Returns
    -------
    list of dict
        One row for each operator: ``pass`` ("forward", "backward" or "update"), ``op`` and ``reason``.  The reason is empty for
        operators in a table or graph.  A block that runs in Python has a row whose ``op`` is empty.  The list is empty for a
        block that is not hybridized.
    """
    own: list[dict[str, str]] | None = block.explain() if hasattr(block, "explain") else None
    programs = getattr(block, "_programs", None)
    return own if own is not None else [] if programs is None else programs.explained(block)
