"""Operators of symbols outside the registry: they hold graphs, or call Python, and define their own inference."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import cost
from ...core.op import Op, Rule
from ...core.spec import Spec
from ...core.trace import abstract
from ...symbol.gradients import gradient_stypes
from ...symbol.inference import InferredGraph, dtypes_of, shapes_of, storage_of
from ...symbol.node import Entry, SymbolNode, auxiliary, order
from ...symbol.program import SymbolProgram
from ...symbol.shapes import Partial, to_user

if TYPE_CHECKING:
    from ...base.context import Context
    from ...base.types import Attrs, DType, Shape
    from ...core.op import Call
    from ...core.types import ArrayFunctions, ArrayObject
    from ...kernels.types import Kernels


__all__ = ["Composite", "Graph"]


class Composite(Op, ABC):
    """An operator of one symbol.

    Parameters
    ----------
    name : str
        What files call it.
    inputs : sequence of str
        Names of the inputs.
    suffixes : sequence of str
        What is appended to a node's name for each output.
    states : sequence of int
        Places of the inputs that it writes to.
    """

    def __init__(self, name: str, inputs: Sequence[str], suffixes: Sequence[str], states: Sequence[int] = (),
                 graphs: Sequence[Graph] = (), label: str = "") -> None:
        super().__init__(name, "", shape=self._shapes, dtype=self._dtypes, sample=tuple, doc="", cost=cost.none,
                         listed=False, mutates=tuple(states), nondifferentiable=tuple(states), outputs=len(suffixes))
        vars(self).update(inputs=tuple(inputs), needed=len(inputs),  # names that users give, of any characters
                          label=label or self.label)
        self.suffixes = tuple(suffixes)
        self.graphs = list(graphs)
        self.gradient(self._gradients)

    # methods that subclasses override

    @abstractmethod
    def infer_shapes(self, shapes: list[Partial]) -> tuple[list[Partial], list[Partial]]:
        """What is known of the inputs' shapes, and of the outputs'."""

    @abstractmethod
    def infer_dtypes(self, dtypes: list[Any]) -> list[Any]:
        """Element types of the outputs."""

    @abstractmethod
    def infer_stypes(self, stypes: tuple[str, ...]) -> list[str]:
        """Storage types of the outputs."""

    @abstractmethod
    def gradient_stypes(self, specs: list[Spec], outputs: list[Spec]) -> list[str]:
        """Storage types in which the gradients of the inputs arrive."""

    @abstractmethod
    def invoke(self, call: Call, arrays: tuple[Any, ...], out: object, ctx: Context) -> object:
        """The outputs for arrays: one, or a list."""

    # the interface of an operator

    def guess(self, shapes: list[Partial]) -> list[Partial]:
        """What is known of the inputs' shapes, given what is known of them."""
        return self.infer_shapes(shapes)[0]

    def _shapes(self, shapes: list[Any], attrs: Attrs) -> list[Shape] | Shape:
        made = [to_user(shape) for shape in self.infer_shapes(list(shapes))[1]]
        return made if len(self.suffixes) > 1 else made[0]

    def _dtypes(self, dtypes: list[Any], attrs: Attrs) -> list[DType] | DType:
        made = [np.dtype(dtype) for dtype in self.infer_dtypes(list(dtypes))]
        return made if len(made) > 1 else made[0]

    def find_rule(self, stypes: tuple[str, ...], attrs: Attrs) -> Rule:
        """A row that takes any storage types and passes them on."""
        return Rule(f"{', '.join(stypes)} -> {', '.join(self.infer_stypes(stypes))}", {}, _nothing)

    def _gradients(self, F: ArrayFunctions, g: object, *rest: Any) -> list[ArrayObject]:
        """Abstract gradients; real ones come from what the operator calls, which is recorded."""
        arrays, results = rest[:len(rest) - 3], rest[-3]
        specs = [Spec.of(array) for array in arrays]
        outputs = [Spec.of(array) for array in (results if isinstance(results, tuple) else (results,))]
        return [abstract(spec._replace(stype=stype))
                for spec, stype in zip(specs, self.gradient_stypes(specs, outputs), strict=True)]


def _nothing(k: Kernels, *stores: object) -> None:
    """Composites are called, not run as kernels."""


class Graph:
    """A graph inside an operator, its variables in the order of its inputs."""

    def __init__(self, heads: Sequence[Entry]) -> None:
        self.heads = list(heads)
        self.nodes = order(self.heads)
        self.leaves: list[SymbolNode] = [node for node in self.nodes if node.call is None]
        states = auxiliary(self.nodes)
        self.states = [place for place, node in enumerate(self.leaves) if node in states]
        self._program: SymbolProgram | None = None

    def shapes(self, given: Sequence[Partial]) -> tuple[list[Partial], list[Partial]]:
        """What is known of the variables' shapes, and of the heads'."""
        known = shapes_of(self.heads, dict(zip(self.leaves, given, strict=True)))
        return [known.get((node, 0)) for node in self.leaves], [known.get(head) for head in self.heads]

    def dtypes(self, given: Sequence[Any]) -> list[Any]:
        """Element types of the heads."""
        known = dtypes_of(self.heads, dict(zip(self.leaves, given, strict=True)))
        return [known.get(head, np.dtype(np.float32)) for head in self.heads]

    def stypes(self, given: Sequence[str]) -> list[str]:
        """Storage types of the heads."""
        known, _ = storage_of(self.heads, dict(zip(self.leaves, given, strict=True)))
        return [known[head] for head in self.heads]

    def gradient_stypes(self, given: Sequence[Spec]) -> list[str]:
        """Storage types in which the gradients of the variables arrive."""
        of = dict(zip(self.leaves, given, strict=True))
        facts = InferredGraph(self.heads, {node: spec.shape for node, spec in of.items()},
                      {node: spec.dtype for node, spec in of.items()}, {node: spec.stype for node, spec in of.items()})
        found = gradient_stypes(self.heads, facts.specs())
        return [found.get(node, "default") for node in self.leaves]

    def run(self, arrays: Sequence[Any], ctx: Context) -> list[Any]:
        """The heads, for an array for each variable; recorded if autograd records."""
        if self._program is None:
            self._program = SymbolProgram(self.heads, part=True)
        return list(self._program.run(arrays, ctx))
