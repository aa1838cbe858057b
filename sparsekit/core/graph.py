"""The graph that recording leaves behind, and the backward pass over it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..base.errors import GradientError
from . import hooks
from .op import Call, Want

__all__ = ["Node", "backward", "order"]

_numbers = itertools.count(1)


class Node:
    """One operator that was called, or one variable that gradients flow to.

    A node keeps stores, never arrays that point back at it, so that dropping the last result frees
    the graph at once.

    Attributes
    ----------
    call : Call or None
        None for a variable.
    inputs : tuple of (Node, int) or None
        Where each input came from; None for one that no gradient flows to.
    values, results : tuple or None
        The stores that the gradient needs.
    grad, grad_req : array, str
        Of a variable: the gradient buffer and "write", "add" or "null".
    layer : str
        Layer that the operator ran in.
    id : int
        Running number; the link between forward and backward in a profile.
    """

    __slots__ = ("__weakref__", "call", "ctx", "function", "grad", "grad_req", "id", "inputs", "layer", "name",
                 "released", "results", "values")

    def __init__(self, call: Call | None, inputs: tuple[Any, ...] = (), values: Any = None, results: Any = None) -> None:
        self.call, self.inputs, self.values, self.results = call, inputs, values, results
        self.id = next(_numbers)
        self.layer = hooks.state.layer
        self.grad: Any = None
        self.grad_req = "null"
        self.function: Any = None
        self.released = False
        self.ctx: Any = None
        self.name = ""


def order(heads: Iterable[Node]) -> list[Node]:
    """Nodes reachable from ``heads``, inputs before what uses them."""
    done: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(node, False) for node in heads]
    while stack:
        node, ready = stack.pop()
        if ready:
            done.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((entry[0], False) for entry in node.inputs if entry is not None and entry[0] not in seen)
    return done


def backward(
    heads: Sequence[tuple[Node, int]], gradients: Sequence[Any], F: Any, wrap: Callable[..., Any],
    retain: bool = False, variables: Sequence[Node] | None = None,
) -> dict[Node, Any]:
    """Send gradients from ``heads`` back to the variables.

    Parameters
    ----------
    heads : sequence of (Node, output number)
    gradients : sequence of arrays
        The gradient at each head.
    F : namespace
        Where gradient rules find operators.
    wrap : callable
        ``wrap(store, ctx, entry)`` makes an array of a saved store.
    retain : bool
        Keep the saved stores for another backward pass.
    variables : sequence of Node, optional
        Return the gradients of these instead of writing them to their buffers.

    Returns
    -------
    dict
        Gradient of each variable asked for.
    """
    nodes = order(node for node, _ in heads)
    waiting: dict[Node, list[Any]] = {}
    for (node, place), gradient in zip(heads, gradients, strict=True):
        _give(waiting, node, place, gradient, F)
    uses = _count_uses(nodes) if variables is None else {}
    found: dict[Node, Any] = {}
    state = hooks.state
    lane, layer = state.lane, state.layer
    state.lane = "backward"
    try:
        for node in reversed(nodes):
            given = waiting.pop(node, None)
            if given is None:
                continue
            if variables is not None and node in variables:
                found[node] = given[0]
            if node.call is None and node.function is None:
                if variables is None:
                    _deliver(node, given[0])
                continue
            state.layer, state.node = node.layer, node
            for entry, gradient in zip(node.inputs, _gradients_of(node, given, F, wrap, uses), strict=True):
                if entry is not None and gradient is not None:
                    _give(waiting, entry[0], entry[1], gradient, F)
            if not retain:
                node.values = node.results = None
                node.released = True
    finally:
        state.lane, state.layer, state.node = lane, layer, None
    return found


def _count_uses(nodes: list[Node]) -> dict[Node, int]:
    """How often each variable is used: a buffer may be written directly only if that is once."""
    uses: dict[Node, int] = {}
    for node in nodes:
        for entry in node.inputs:
            if entry is not None and entry[0].call is None:
                uses[entry[0]] = uses.get(entry[0], 0) + 1
    return uses


_ANY = Want()


def _want(entry: Any, uses: dict[Node, int]) -> Want | None:
    """What one input's gradient should be like: a variable's buffer decides, anything else takes what comes."""
    if entry is None:
        return None
    node = entry[0]
    if node.grad is None or node.call is not None:
        return _ANY
    sole = node.grad_req == "write" and uses.get(node) == 1
    return Want(node.grad.stype, node.grad if sole else None)


def _gradients_of(node: Node, given: list[Any], F: Any, wrap: Callable[..., Any], uses: dict[Node, int]) -> Any:
    if node.released:
        raise GradientError("This graph was already used for a backward pass, and its saved arrays are gone.",
                            hint="call backward(retain_graph=True) the first time.")
    if node.function is not None:
        return node.function(given)
    call: Any = node.call
    op = call.op
    rule = op.gradient_function
    if rule is None:
        raise GradientError(f"The operator {op.name!r} has no gradient.",
                            hint="take it out of the recorded part, or call .detach() on its result.")
    entries, ctx = node.inputs, node.ctx
    want = [_want(entry, uses) for entry in entries]
    if node.values is None:
        inputs: Any = [None] * len(entries)
    else:
        inputs = [wrap(store, ctx, entry) for store, entry in zip(node.values, entries, strict=True)]
    if op.outputs > 1:
        gradient: Any = tuple(given)
        out = node.results and tuple([wrap(store, ctx, (node, i)) for i, store in enumerate(node.results)])
    else:
        gradient = given[0]
        out = node.results and wrap(node.results[0], ctx, (node, 0))
    if op.variadic:
        made = rule(F, gradient, inputs, out, call.attrs, want)
    else:
        absent = len(op.inputs) - len(entries)
        if absent:
            inputs, want = inputs + [None] * absent, want + [None] * absent
        made = rule(F, gradient, *inputs, out, call.attrs, want)
    made = made if type(made) is tuple or type(made) is list else (made,)
    return made[: len(entries)]


def _give(waiting: dict[Node, list[Any]], node: Node, place: int, gradient: Any, F: Any) -> None:
    held = waiting.get(node)
    if held is None:
        count = 1 if node.call is None else node.call.op.outputs
        held = waiting[node] = [None] * max(count, place + 1)
    held[place] = gradient if held[place] is None else held[place] + gradient


def _deliver(node: Node, gradient: Any) -> None:
    """Put a variable's gradient into its buffer."""
    if node.grad is None or node.grad_req == "null" or gradient is node.grad:
        return
    node.grad._receive(gradient, add=node.grad_req == "add")
