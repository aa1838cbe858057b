"""The vertices of a symbol's graph, and walks over them without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.op import Call
from ..ops.update.update import Update
from .mxnet_names import HIDDEN, output_names


class SymbolNode:
    """An operator with its inputs, or a variable.

    Attributes
    ----------
    name : str
    call : Call or None
        The operator and its attributes; None for a variable.
    written : str
        What files call the operator; "null" for a variable.
    inputs : tuple of (SymbolNode, int)
    params : dict of str
        The operator's attributes that were given, as text, under MXNet's names.
    attrs : dict of str
        All others; hidden ones as ``__key__``.
    one_shape : bool
        Whether the inputs have one shape where it is not known.
    """

    __slots__ = ("attrs", "call", "inputs", "name", "one_shape", "params", "written")

    def __init__(self, name: str, call: Call | None = None, inputs: Iterable[Entry] = (), written: str = "null",
                 params: dict[str, str] | None = None, attrs: dict[str, str] | None = None, one_shape: bool = False) -> None:
        self.name, self.call, self.written, self.one_shape = name, call, written, one_shape
        self.inputs = tuple(inputs)
        self.params, self.attrs = dict(params or {}), dict(attrs or {})

    @property
    def visible(self) -> int:
        """How many outputs a caller gets."""
        return 1 if self.call is None else self.call.visible

    def output_names(self) -> list[str]:
        """Names of the visible outputs, as MXNet lists them."""
        if self.call is None:
            return [self.name]
        return [f"{self.name}_{suffix}" for suffix in output_names(self.written, self.call)[: self.visible]]

    def input_names(self) -> list[str]:
        """What the operator calls its inputs."""
        if self.call is None:
            return []
        op = self.call.op
        return [f"{op.inputs[0]}{place}" for place in range(len(self.inputs))] if op.variadic else list(op.inputs)

    def listed_attributes(self) -> dict[str, str]:
        """All attributes as users see them: hidden ones under both of their names."""
        attributes = {**self.params}
        for name, value in self.attrs.items():
            attributes[name] = value
            if name.startswith("__") and name[2:-2] in HIDDEN:
                attributes[name[2:-2]] = value
        return attributes

    def __repr__(self) -> str:
        return f"<{self.name}>" if self.call is None else f"<{self.name}: {self.call.op.name}>"


Entry = tuple[SymbolNode, int]


def order(heads: Iterable[Entry]) -> list[SymbolNode]:
    """Every node that the heads depend on, inputs first and from the left, as MXNet orders arguments."""
    seen: set[SymbolNode] = set()
    nodes: list[SymbolNode] = []
    for head, _ in heads:
        stack: list[tuple[SymbolNode, int]] = [(head, 0)]
        while stack:
            node, place = stack.pop()
            if place == 0:
                if node in seen:
                    continue
                seen.add(node)
            if place < len(node.inputs):
                stack.append((node, place + 1))
                if node.inputs[place][0] not in seen:
                    stack.append((node.inputs[place][0], 0))
            else:
                nodes.append(node)
    return nodes


def auxiliary(nodes: Iterable[SymbolNode]) -> set[SymbolNode]:
    """The auxiliary states: variables that an operator writes to."""
    return {node.inputs[place][0] for node in nodes for place in states_of(node) if node.inputs[place][0].call is None}


def states_of(node: SymbolNode) -> list[int]:
    """The places of the inputs that an operator writes to, but for the weights of an optimizer's step."""
    call: Any = node.call
    if call is None or not call.op.mutates:
        return []
    weights = call.op.weights(call.attrs) if isinstance(call.op, Update) else ()
    return [place for place in call.op.written(call.attrs) if place not in weights and place < len(node.inputs)]


def variables(nodes: Iterable[SymbolNode]) -> tuple[list[SymbolNode], list[SymbolNode]]:
    """The arguments, and the auxiliary states, in order."""
    nodes = list(nodes)
    states = auxiliary(nodes)
    leaves = [node for node in nodes if node.call is None]
    return [node for node in leaves if node not in states], [node for node in leaves if node in states]


def rebuilt(heads: Iterable[Entry], replace: Callable[[SymbolNode, list[Entry]], Entry | SymbolNode]) -> list[Entry]:
    """The same graph of other nodes: ``replace(node, new_inputs)`` gives a node, or the entry that stands for it."""
    heads = list(heads)
    replacements: dict[SymbolNode, Entry | SymbolNode] = {}

    def entry(old: Entry) -> Entry:
        replacement = replacements[old[0]]
        return (replacement, old[1]) if isinstance(replacement, SymbolNode) else replacement

    for node in order(heads):
        replacements[node] = replace(node, [entry(source) for source in node.inputs])
    return [entry(head) for head in heads]


def copied(node: SymbolNode, inputs: Iterable[Entry]) -> SymbolNode:
    """A node like this one on other inputs."""
    return SymbolNode(node.name, node.call, inputs, node.written, node.params, node.attrs, node.one_shape)


def merged(heads: Iterable[Entry]) -> list[Entry]:
    """The same graph, in which operators that compute the same from the same inputs are one; heads stay apart.

    Operators that draw random numbers, write to their inputs, hold graphs or create arrays stay as they are.  So do output
    layers, each of which adds a gradient of its own.
    """
    heads = list(heads)
    ends = {node for node, _ in heads}
    first: dict[Any, SymbolNode] = {}  # Any: a call, attributes and inputs

    def replace(node: SymbolNode, inputs: list[Entry]) -> SymbolNode:
        call = node.call
        candidate = node if tuple(inputs) == node.inputs else copied(node, inputs)
        if call is None or not inputs or node in ends or call.op.random or call.op.mutates or hasattr(call.op, "invoke") \
                or call.op.own_gradient:
            return candidate
        return first.setdefault((call, tuple(sorted(node.attrs.items())), *inputs), candidate)

    return rebuilt(heads, replace)
