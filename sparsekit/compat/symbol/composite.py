"""Base of unregistered operators of symbols, which contain graphs or call Python, and define their own inference."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import cost
from ...core.op import Op, Rule
from ...core.partial_shapes import Partial, to_user
from ...core.spec import Spec
from ...core.trace import abstract
from ...symbol.gradients import gradient_stypes
from ...symbol.inference import InferredGraph, dtypes_of, shapes_of, storage_of
from ...symbol.node import Entry, SymbolNode, auxiliary, order
from ...symbol.program import SymbolProgram

if TYPE_CHECKING:
    from ...base.context import Context
    from ...base.types import Attrs, DType, Shape
    from ...core.op import Call
    from ...core.types import ArrayFunctions, ArrayObject
    from ...kernels.types import Kernels


class Composite(Op, ABC):
    """An operator that belongs to one node of a symbol.

    Parameters
    ----------
    name : str
        Name of the operator in files.
    inputs : sequence of str
        Names of the inputs.
    suffixes : sequence of str
        Suffix of the name of each output, after the name of the node.
    states : sequence of int
        Indices of the inputs that the operator updates in place.
    graphs : sequence of Graph
        Graphs that the operator contains.
    label : str
        Name of the operator in displays; ``name`` by default.
    """

    def __init__(self, name: str, inputs: Sequence[str], suffixes: Sequence[str], states: Sequence[int] = (),
                 graphs: Sequence[Graph] = (), label: str = "") -> None:
        super().__init__(name, "", shape=self._shapes, dtype=self._dtypes, sample=tuple, doc="", cost=cost.none,
                         listed=False, input_rule=self._inputs, mutates=tuple(states),
                         nondifferentiable=tuple(states), outputs=len(suffixes))
        vars(self).update(inputs=tuple(inputs), needed=len(inputs),  # names from users, which may have any characters
                          label=label or self.label)
        self.suffixes = tuple(suffixes)
        self.graphs = list(graphs)
        self.gradient(self._gradients)

    # methods that subclasses override

    @abstractmethod
    def infer_shapes(self, shapes: list[Partial]) -> tuple[list[Partial], list[Partial]]:
        """Infer the shapes of the inputs and of the outputs, as far as they are known."""

    @abstractmethod
    def infer_dtypes(self, dtypes: list[Any]) -> list[Any]:
        """Element types of the outputs."""

    @abstractmethod
    def infer_stypes(self, stypes: tuple[str, ...]) -> list[str]:
        """Storage types of the outputs."""

    @abstractmethod
    def gradient_stypes(self, specs: list[Spec], outputs: list[Spec]) -> list[str]:
        """Storage types of the gradients of the inputs."""

    @abstractmethod
    def invoke(self, call: Call, arrays: tuple[Any, ...], out: object, ctx: Context) -> object:
        """Compute the output, or the list of outputs, for arrays."""

    # the interface of an operator

    def _inputs(self, shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
        return self.infer_shapes(shapes)[0]

    def _shapes(self, shapes: list[Any], attrs: Attrs) -> list[Shape] | Shape:
        outputs = [to_user(shape) for shape in self.infer_shapes(list(shapes))[1]]
        return outputs if len(self.suffixes) > 1 else outputs[0]

    def _dtypes(self, dtypes: list[Any], attrs: Attrs) -> list[DType] | DType:
        outputs = [np.dtype(dtype) for dtype in self.infer_dtypes(list(dtypes))]
        return outputs if len(outputs) > 1 else outputs[0]

    def find_rule(self, stypes: tuple[str, ...], attrs: Attrs) -> Rule:
        """A rule for any storage types of the inputs."""
        return Rule(f"{', '.join(stypes)} -> {', '.join(self.infer_stypes(stypes))}", {}, _nothing)

    def _gradients(self, F: ArrayFunctions, g: object, *rest: Any) -> list[ArrayObject]:
        """Abstract gradients; autograd computes real ones from the recorded operators that ``invoke`` calls."""
        arrays, results = rest[:len(rest) - 3], rest[-3]
        specs = [Spec.of(array) for array in arrays]
        outputs = [Spec.of(array) for array in (results if isinstance(results, tuple) else (results,))]
        return [abstract(spec._replace(stype=stype))
                for spec, stype in zip(specs, self.gradient_stypes(specs, outputs), strict=True)]


def _nothing(k: Kernels, *stores: object) -> None:
    """The kernel of the rule, which is never called: ``invoke`` computes the outputs."""


class Graph:
    """A graph inside an operator; ``leaves`` are its variables, in the order of its inputs."""

    def __init__(self, heads: Sequence[Entry]) -> None:
        self.heads = list(heads)
        self.nodes = order(self.heads)
        self.leaves: list[SymbolNode] = [node for node in self.nodes if node.call is None]
        states = auxiliary(self.nodes)
        self.states = [place for place, node in enumerate(self.leaves) if node in states]
        self._program: SymbolProgram | None = None

    def shapes(self, leaf_shapes: Sequence[Partial]) -> tuple[list[Partial], list[Partial]]:
        """Infer the shapes of the variables and of the heads, as far as they are known."""
        by_entry = shapes_of(self.heads, dict(zip(self.leaves, leaf_shapes, strict=True)))
        return [by_entry.get((node, 0)) for node in self.leaves], [by_entry.get(head) for head in self.heads]

    def dtypes(self, leaf_dtypes: Sequence[Any]) -> list[Any]:
        """Element types of the heads."""
        by_entry = dtypes_of(self.heads, dict(zip(self.leaves, leaf_dtypes, strict=True)))
        return [by_entry.get(head, np.dtype(np.float32)) for head in self.heads]

    def stypes(self, leaf_stypes: Sequence[str]) -> list[str]:
        """Storage types of the heads."""
        by_entry, _ = storage_of(self.heads, dict(zip(self.leaves, leaf_stypes, strict=True)))
        return [by_entry[head] for head in self.heads]

    def gradient_stypes(self, specs: Sequence[Spec]) -> list[str]:
        """Storage types of the gradients of the variables."""
        of = dict(zip(self.leaves, specs, strict=True))
        facts = InferredGraph(self.heads, {node: spec.shape for node, spec in of.items()},
                      {node: spec.dtype for node, spec in of.items()}, {node: spec.stype for node, spec in of.items()})
        by_node = gradient_stypes(self.heads, facts.specs())
        return [by_node.get(node, "default") for node in self.leaves]

    def run(self, arrays: Sequence[Any], ctx: Context) -> list[Any]:
        """Compute the heads from an array for each variable; record the operators if autograd is recording."""
        if self._program is None:
            self._program = SymbolProgram(self.heads, part=True)
        return list(self._program.run(arrays, ctx))
