"""Storage types of gradients, inferred by running the gradient rules of a whole graph abstractly."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, TypeAlias

from ..base.errors import DensificationError
from ..core.op import Op
from ..core.spec import Spec
from ..core.trace import gradient_specs
from ..ndarray.functions import F
from .node import Entry, SymbolNode, order

#: A node that gradients pass through, and the gradients of its inputs.
Flow: TypeAlias = tuple[SymbolNode, list[Spec | None]]


def gradient_stypes(heads: Sequence[Entry], specs: dict[Entry, Spec],
                    fallbacks: dict[SymbolNode, list[tuple[Op, tuple[Spec, ...]]]] | None = None,
                    wanted: Container[SymbolNode] | None = None,
                    refused: dict[SymbolNode, DensificationError] | None = None,
                    flows: list[Flow] | None = None) -> dict[SymbolNode, str]:
    """The storage type in which each variable's gradient arrives, "default" for those that none reaches.

    The gradient at a head is taken to have the head's storage type.

    Parameters
    ----------
    specs : dict
        Shape, element type and storage type of every entry of the graph.
    fallbacks : dict, optional
        Receives, for nodes whose gradient rules make sparse arrays dense, the operators that do, with their inputs.
    wanted : container of SymbolNode, optional
        The variables whose gradients are computed; all if not given.
    refused : dict, optional
        Receives the errors of gradients that are dense by nature and beyond the limit; without it the first is raised.
    flows : list, optional
        Receives each node that gradients pass through, with the gradients of its inputs, None for those without one.
    """
    useful = None if wanted is None else _leading_to(heads, wanted)
    gradients: dict[Entry, Spec] = {}
    for head in heads:
        _add(gradients, head, specs[head])
    for node in reversed(order(heads)):
        call: Any = node.call
        if call is None or call.op.gradient_function is None:
            continue
        arrived = [gradients.get((node, place)) for place in range(node.visible)]
        if all(gradient is None for gradient in arrived):
            continue
        noted: list[tuple[Op, tuple[Spec, ...]]] = []
        try:
            passed, noted = _through(node, arrived, specs, useful)
        except DensificationError as error:
            if refused is None:
                raise
            refused[node] = error
            passed = [specs[entry]._replace(stype="default") for entry in node.inputs]  # what else follows from it is shown
        if flows is not None:
            flows.append((node, passed))
        if noted and fallbacks is not None:
            fallbacks[node] = noted
        for entry, spec in zip(node.inputs, passed, strict=False):
            if spec is not None:
                _add(gradients, entry, spec)
    return {entry[0]: spec.stype for entry, spec in gradients.items() if entry[0].call is None}


def _leading_to(heads: Sequence[Entry], wanted: Container[SymbolNode]) -> set[SymbolNode]:
    """The nodes that are computed from one of these variables, and these themselves."""
    nodes: set[SymbolNode] = set()
    for node in order(heads):
        if node in wanted or any(source in nodes for source, _ in node.inputs):
            nodes.add(node)
    return nodes


def _through(node: SymbolNode, arrived: list[Spec | None], specs: dict[Entry, Spec], useful: set[SymbolNode] | None
             ) -> tuple[list[Spec | None], list[tuple[Op, tuple[Spec, ...]]]]:
    """What the gradient rule makes of the gradients at the outputs, and the operators in it that make sparse arrays dense."""
    call: Any = node.call
    inputs = tuple(specs[entry] for entry in node.inputs)
    head = arrived[0] if call.visible == 1 else None  # gradients of several outputs are taken to be dense
    want = [place not in call.op.nondifferentiable and (useful is None or source in useful)
            for place, (source, _) in enumerate(node.inputs)]
    if not any(want):
        return [None] * len(want), []
    gradients, noted = gradient_specs(call, inputs, F, head, None if useful is None else want)
    return [spec if wanted else None for wanted, spec in zip(want, gradients, strict=False)], noted


def _add(gradients: dict[Entry, Spec], entry: Entry, spec: Spec) -> None:
    """Gradients that meet are added: of equal storage types that stays, of others the sum is dense."""
    held = gradients.get(entry)
    gradients[entry] = spec if held is None or held.stype == spec.stype else spec._replace(stype="default")
