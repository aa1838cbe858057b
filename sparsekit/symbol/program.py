"""A symbol's graph as a list of steps, which run through the one way that operators run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import hooks
from ..core.dispatch import invoke
from ..core.op import Call
from ..ndarray.functions import invoke_update
from ..ops.update.update import Update
from .inference import adjusted_call
from .node import Entry, SymbolNode, order
from .shapes import Partial

if TYPE_CHECKING:
    from ..base.context import Context


__all__ = ["Program", "Step"]


class Step(NamedTuple):
    """One operator: what it reads and writes among the places of values, and what nobody reads afterwards."""

    node: SymbolNode
    call: Call
    function: Callable[..., Any]
    inputs: tuple[int, ...]
    output: int
    done: tuple[int, ...]


class Program:
    """The steps of a graph.

    Parameters
    ----------
    heads : sequence of entries
    shapes : dict, optional
        Inferred shapes, for operators that leave sizes open.

    Attributes
    ----------
    variables : list of SymbolNode
        Where each value comes from that the caller gives, in this order.
    """

    def __init__(self, heads: Sequence[Entry], shapes: dict[Entry, Partial] | None = None) -> None:
        nodes = order(heads)
        self.variables = [node for node in nodes if node.call is None]
        places: dict[SymbolNode, int] = {node: place for place, node in enumerate(self.variables)}
        self.count = len(self.variables)
        last: dict[int, int] = {}
        operators = [node for node in nodes if node.call is not None]
        for number, node in enumerate(operators):
            places[node] = self.count
            self.count += node.visible
            for source, place in node.inputs:
                last[places[source] + place] = number
        self.heads = [places[node] + place for node, place in heads]
        kept = {*range(len(self.variables)), *self.heads}
        done: dict[int, list[int]] = {}
        for place, number in last.items():
            if place not in kept:
                done.setdefault(number, []).append(place)
        self.steps = [self._step(node, places, tuple(done.get(number, ())), shapes or {})
                      for number, node in enumerate(operators)]

    def _step(self, node: SymbolNode, places: dict[SymbolNode, int], done: tuple[int, ...],
              shapes: dict[Entry, Partial]) -> Step:
        call: Any = node.call
        function = getattr(call.op, "invoke", None) or (invoke_update if isinstance(call.op, Update) else invoke)
        inputs = tuple(places[source] + place for source, place in node.inputs)
        return Step(node, adjusted_call(call, shapes.get((node, 0))), function, inputs, places[node], done)

    def run(self, given: Sequence[Any], ctx: Context, watch: Callable[[Step, tuple[Any, ...], list[Any]], None] | None = None
            ) -> list[Any]:
        """Compute the heads from the values of the variables; recorded if autograd records.

        Parameters
        ----------
        given : sequence of NDArray
            One for each of ``variables``.
        ctx : Context
            Where operators without inputs create.
        watch : callable, optional
            ``watch(step, inputs, outputs)`` sees every operator's arrays.
        """
        held: list[Any] = [*given, *[None] * (self.count - len(given))]
        state = hooks.state
        layer = state.layer
        try:
            for step in self.steps:
                node, call, function, inputs, output, done = step
                state.layer = node.name
                arrays = tuple([held[place] for place in inputs])
                made = function(call, arrays, None, ctx)
                if type(made) is list:
                    held[output:output + len(made)] = made
                else:
                    held[output] = made
                if watch is not None:
                    watch(step, arrays, made if type(made) is list else [made])
                for place in done:
                    held[place] = None
        finally:
            state.layer = layer
        return [held[place] for place in self.heads]
