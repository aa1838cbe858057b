"""A symbol's graph, lowered to the programs that hybridized blocks run.

Operators that hold graphs or call Python run between programs, as do those whose shapes depend on values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..base.errors import SparsekitError
from ..core import cached_op, hooks
from ..core.dispatch import invoke
from ..core.op import Call
from ..core.trace import TRACE, Tracer, TracingError
from ..ndarray.functions import F, invoke_update
from ..ops.update.update import Update
from .inference import adjusted_call, leaves_open, shapes_of
from .node import Entry, SymbolNode, order

if TYPE_CHECKING:
    from ..base.context import Context
    from ..base.types import Shape

#: ``watch(node, call, inputs)`` gives what ``call(inputs)`` does, the outputs of an operator; it may look at both.
Watch = Callable[[SymbolNode, Callable[[Sequence[Any]], list[Any]], Sequence[Any]], list[Any]]

#: Programs that are kept of one segment, and calls for one set of shapes; then all are forgotten.
REMEMBERED = 64


class _Segment:
    """Operators that run as one program, or one that runs by itself.

    Attributes
    ----------
    alone : bool
    inputs, outputs : list of entry
        What it reads from outside, and what is read of it outside.
    done : list of entry
        What nothing reads afterwards.
    lowered : dict
        The programs, by the kinds of the inputs.
    """

    __slots__ = ("alone", "done", "inputs", "lowered", "nodes", "outputs")

    def __init__(self, nodes: list[SymbolNode], alone: bool) -> None:
        self.nodes, self.alone = nodes, alone
        inside = set(nodes)
        self.inputs = list(dict.fromkeys(entry for node in nodes for entry in node.inputs if entry[0] not in inside))
        if alone:
            self.inputs = list(nodes[0].inputs)
        self.outputs: list[Entry] = []
        self.done: list[Entry] = []
        self.lowered: dict[Any, cached_op.CachedOp] = {}


class SymbolProgram:
    """What runs a graph.

    Parameters
    ----------
    heads : sequence of entries
    part : bool
        Whether the graph is a part of another, so that gradients are summed in the order of the operators of the whole.

    Attributes
    ----------
    variables : list of SymbolNode
        Where each value comes from that the caller gives, in this order.
    operators : list of SymbolNode
    """

    def __init__(self, heads: Sequence[Entry], part: bool = False) -> None:
        nodes = order(heads)
        self.heads, self._part = list(heads), part or any(node.call is None for node, _ in heads)
        self.variables = [node for node in nodes if node.call is None]
        self.operators = [node for node in nodes if node.call is not None]
        self._alone = {node for node in self.operators if hasattr(node.call.op, "invoke")}  # type: ignore[union-attr]
        self._segments = self._split()
        self._open = leaves_open(heads)
        self._adjusted: dict[Any, dict[SymbolNode, Call]] = {}

    def __deepcopy__(self, memo: object) -> SymbolProgram:
        """Another one of the same graph, which lowers it anew."""
        return SymbolProgram(self.heads, self._part)

    def _split(self) -> list[_Segment]:
        """The operators in as few segments as can be."""
        groups: list[list[SymbolNode]] = []
        for before, node in zip((None, *self.operators), self.operators, strict=False):
            if before is None or node in self._alone or before in self._alone:
                groups.append([])
            groups[-1].append(node)
        segments = [_Segment(nodes, nodes[0] in self._alone) for nodes in groups]
        read = dict.fromkeys(self.heads)
        for segment in reversed(segments):
            segment.done = [entry for entry in dict.fromkeys(segment.inputs) if entry not in read]
            inside = set(segment.nodes)
            segment.outputs = [entry for entry in read if entry[0] in inside]
            read.update(dict.fromkeys(segment.inputs))
        return segments

    def run(self, values: Sequence[Any], ctx: Context, watch: Watch | None = None) -> list[Any]:
        """Compute the heads from the values of the variables; recorded if autograd records.

        Parameters
        ----------
        values : sequence of NDArray
            One for each of ``variables``.
        ctx : Context
            Where operators without inputs create.
        watch : callable, optional
            Calls each operator; then they run one by one, and not as programs.
        """
        held: dict[Entry, Any] = {(node, 0): array for node, array in zip(self.variables, values, strict=True)}
        shapes = tuple([tuple(array.shape) for array in values]) if self._open else ()
        if ctx is TRACE or watch is not None:
            for _ in self._called(self.operators, held, ctx, shapes, watch):
                pass
            return [held[head] for head in self.heads]
        segments, at = self._segments, 0
        while at < len(segments):
            segment = segments[at]
            arrays = [held[entry] for entry in segment.inputs]
            try:
                if segment.alone:
                    for _ in self._called(segment.nodes, held, ctx, shapes):
                        pass
                else:
                    results = self._lowered(segment, arrays, ctx, shapes)(arrays)
                    held.update(zip(segment.outputs, results, strict=True))
            except _ReadsValues as reads:
                self._alone.add(reads.node)
                segments = self._segments = self._split()
                continue
            for entry in segment.done:
                held.pop(entry, None)
            at += 1
        return [held[head] for head in self.heads]

    # Any: arrays
    def whole(self, values: Sequence[Any], ctx: Context) -> tuple[Tracer, list[Any], list[int], list[int]] | None:
        """All heads traced as one program; None if that takes several, or a head is a variable.

        Returns
        -------
        tracer : Tracer
        results : list of NDArray
            Traced.
        inputs : list of int
            Which of ``variables`` each of the tracer's arrays is.
        outputs : list of int
            Which of the results each head is.
        """
        if len(self._segments) != 1 or self._segments[0].alone:
            return None
        segment = self._segments[0]
        if any(head not in segment.outputs for head in self.heads):
            return None
        held = {(node, 0): place for place, node in enumerate(self.variables)}
        shapes = tuple([tuple(array.shape) for array in values]) if self._open else ()
        tracer, results = self._traced(segment, [values[held[entry]] for entry in segment.inputs], ctx, shapes)
        return (tracer, results, [held[entry] for entry in segment.inputs],
                [segment.outputs.index(head) for head in self.heads])

    def _call(self, node: SymbolNode, shapes: tuple[Shape, ...]) -> Call:
        """The call of a node, with the sizes that it leaves open."""
        call: Any = node.call
        if not self._open:
            return call
        if shapes not in self._adjusted:
            if len(self._adjusted) >= REMEMBERED:
                self._adjusted.clear()
            known_shapes = shapes_of(self.heads, dict(zip(self.variables, shapes, strict=True)))
            self._adjusted[shapes] = {
                operator: adjusted_call(operator.call, known_shapes.get((operator, 0)))  # type: ignore[arg-type]
                for operator in self.operators}
        return self._adjusted[shapes][node]

    def _called(self, nodes: Iterable[SymbolNode], held: dict[Entry, Any], ctx: Context, shapes: tuple[Shape, ...],
                watch: Watch | None = None) -> Iterable[SymbolNode]:
        """Call operators on the arrays that are held, one after the other."""
        state = hooks.state
        layer = state.layer
        try:
            for node in nodes:
                state.layer = node.name
                call = functools.partial(_outputs_of, self._call(node, shapes), ctx)
                inputs = [held[entry] for entry in node.inputs]
                outputs = call(inputs) if watch is None else watch(node, call, inputs)
                held.update({(node, place): array for place, array in enumerate(outputs)})
                yield node
        finally:
            state.layer = layer

    def _lowered(self, segment: _Segment, arrays: list[Any], ctx: Context, shapes: tuple[Shape, ...]) -> cached_op.CachedOp:
        """The program of a segment for such arrays."""
        state = hooks.state
        key = (ctx, shapes, state.training, state.recording, *cached_op.kinds_of(arrays))
        lowered = segment.lowered.get(key)
        if lowered is None:
            if len(segment.lowered) >= REMEMBERED:
                segment.lowered.clear()
            lowered = segment.lowered[key] = self._lower(segment, arrays, ctx, shapes)
        return lowered

    def _lower(self, segment: _Segment, arrays: list[Any], ctx: Context, shapes: tuple[Shape, ...]) -> cached_op.CachedOp:
        tracer, results = self._traced(segment, arrays, ctx, shapes)
        return cached_op.CachedOp(tracer, results, F, self._part or len(self._segments) > 1)

    # Any: arrays
    def _traced(self, segment: _Segment, arrays: list[Any], ctx: Context, shapes: tuple[Shape, ...]) -> tuple[Tracer, list[Any]]:
        """A segment traced on such arrays, and its results."""
        if any(array._ctx is not ctx for array in arrays):
            places = ", ".join(dict.fromkeys(str(array._ctx) for array in arrays))
            raise SparsekitError(f"The arrays of a symbol live on different contexts: {places}.",
                                 hint="bring them together with as_in_context(ctx).")
        tracer = Tracer(ctx, hooks.state.recording)
        at = 0
        with tracer.at_work():
            held = {entry: tracer.lift(array, object()) for entry, array in zip(segment.inputs, arrays, strict=True)}
            try:
                for _ in self._called(segment.nodes, held, TRACE, shapes):
                    at += 1
            except TracingError:
                raise _ReadsValues(segment.nodes[at]) from None
        return tracer, [held[entry] for entry in segment.outputs]


class _ReadsValues(Exception):
    """A node needs values to say what it gives."""

    def __init__(self, node: SymbolNode) -> None:
        super().__init__(node)
        self.node = node


def _outputs_of(call: Call, ctx: Context, arrays: Sequence[Any]) -> list[Any]:
    """The outputs of an operator."""
    function = getattr(call.op, "invoke", None) or (invoke_update if isinstance(call.op, Update) else invoke)
    outputs = function(call, tuple(arrays), None, ctx)
    return outputs if type(outputs) is list else [outputs]
