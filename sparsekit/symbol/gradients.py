"""Storage types of gradients, inferred by running the gradient rules of a whole graph abstractly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.spec import Spec, gradient_specs
from .node import Entry, SymbolNode, order

__all__ = ["gradient_stypes"]


def gradient_stypes(heads: Sequence[Entry], specs: dict[Entry, Spec]) -> dict[SymbolNode, str]:
    """The storage type in which each variable's gradient arrives, "default" for those that none reaches.

    The gradient at a head is taken to have the head's storage type.

    Parameters
    ----------
    specs : dict
        Shape, element type and storage type of every entry of the graph.
    """
    given: dict[Entry, Spec] = {}
    for head in heads:
        _add(given, head, specs[head])
    for node in reversed(order(heads)):
        call: Any = node.call
        if call is None or call.op.gradient_function is None:
            continue
        arrived = [given.get((node, place)) for place in range(node.visible)]
        if all(one is None for one in arrived):
            continue
        for entry, spec in zip(node.inputs, _through(node, arrived, specs), strict=False):
            if spec is not None:
                _add(given, entry, spec)
    return {entry[0]: spec.stype for entry, spec in given.items() if entry[0].call is None}


def _through(node: SymbolNode, arrived: list[Spec | None], specs: dict[Entry, Spec]) -> list[Spec | None]:
    """What the gradient rule makes of the gradients at the outputs."""
    call: Any = node.call
    inputs = tuple(specs[entry] for entry in node.inputs)
    head = arrived[0] if call.visible == 1 else None  # gradients of several outputs are taken to be dense
    found = gradient_specs(call.op, call.attrs, inputs, head)
    return [None if place in call.op.flat else spec for place, spec in enumerate(found)]


def _add(given: dict[Entry, Spec], entry: Entry, spec: Spec) -> None:
    """Gradients that meet are added: of equal storage types that stays, of others the sum is dense."""
    held = given.get(entry)
    given[entry] = spec if held is None or held.stype == spec.stype else spec._replace(stype="default")
