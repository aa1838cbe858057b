"""``get_symbol``, which converts a recorded computation to a symbol: ``mx.autograd.get_symbol``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.errors import GradientError, UnsupportedError
from ..core.arrays import require_arrays
from ..core.graph import ProgramNode
from ..symbol.compose import make_node
from ..symbol.mxnet_names import spelling_of
from ..symbol.node import Entry, SymbolNode
from ..symbol.symbol import Symbol

if TYPE_CHECKING:
    from ..core.cached_op import CachedOp
    from ..core.op import Call
    from ..ndarray.ndarray import NDArray

#: MXNet's names of internal operators.
_PUBLIC = {"_view": "Reshape"}


def get_symbol(x: NDArray) -> Symbol:
    """The symbol of the recorded computation of ``x``.

    Arrays with ``attach_grad()`` become variables ``var0``, ``var1`` ….  Each use of another array becomes a new variable
    ``null0``, ``null1`` ….  Operators are named ``node_0``, ``node_1`` …; those of hybridized blocks are listed one by one.

    Parameters
    ----------
    x : NDArray

    Raises
    ------
    GradientError
        If ``x`` was not computed while recording.
    UnsupportedError
        If the computation contains an ``autograd.Function``, which symbols do not support.
    """
    require_arrays([x], "x")
    if x._entry is None:
        raise GradientError("get_symbol() was called on an array that was not computed while recording.",
                            hint="compute it inside `with mx.autograd.record():`, from arrays with attach_grad().")
    writer = _Writer()
    entries: dict[Entry, Entry] = {}
    for node in _inputs_first(x._entry[0]):
        if node.call is None and node.function is None:
            entries[node, 0] = writer.variable("var")
            continue
        inputs = [None if source is None else entries[source] for source in node.inputs]
        if node.call is not None:
            results = writer.operator(node.call, inputs)
        elif isinstance(node, ProgramNode):
            results = writer.program(node.program, inputs)
        else:
            raise UnsupportedError("get_symbol() does not support a recorded autograd.Function.",
                                   hint="use operators in its place, or write it as a CustomOp and a symbol.")
        entries.update({(node, place): entry for place, entry in enumerate(results)})
    return Symbol([entries[x._entry]])


class _Writer:
    """Makes nodes of symbols, named by counting."""

    def __init__(self) -> None:
        self._counts = {"var": 0, "null": 0, "node_": 0}

    def _name(self, kind: str) -> str:
        self._counts[kind] += 1
        return f"{kind}{self._counts[kind] - 1}"

    def variable(self, kind: str) -> Entry:
        """A new variable."""
        return SymbolNode(self._name(kind)), 0

    def operator(self, call: Call, inputs: Sequence[Entry | None]) -> list[Entry]:
        """The results of an operator; None among the inputs is an array that has no place in the graph."""
        spelling = spelling_of(_PUBLIC.get(call.op.name, call.op.name))
        ours = {key: theirs for theirs, key in spelling.renamed.items()}
        attributes = {ours.get(key, key): value for key, value in call.attrs.items()
                      if key not in spelling.fixed and _differs(value, call.op.attrs.get(key))}
        sources = [self.variable("null") if source is None and (call.op.variadic or place < call.op.needed) else source
                   for place, source in enumerate(inputs)]
        node = make_node(spelling, "", sources, attributes, self._name("node_"))
        return [(node, place) for place in range(call.outputs)]

    def program(self, program: CachedOp, inputs: Sequence[Entry | None]) -> list[Entry]:
        """The results of a hybridized block: its operators one by one."""
        held = dict(zip(program.inputs, inputs, strict=True))
        for slot in {slot for step in program.steps for slot in step.inputs}.difference(
                held, *[step.outputs for step in program.steps]):
            held[slot] = None  # a constant
        for step in program.steps:
            held.update(zip(step.outputs, self.operator(step.call, [held[slot] for slot in step.inputs]), strict=True))
        return [held[slot] or self.variable("null") for slot in program.outputs]


def _inputs_first(head: SymbolNode) -> list[Any]:
    """A node and all nodes on which it depends, in topological order: the ids of inputs are smaller."""
    nodes, waiting = {head}, [head]
    while waiting:
        for source in waiting.pop().inputs or ():
            if source is not None and source[0] not in nodes:
                nodes.add(source[0])
                waiting.append(source[0])
    return sorted(nodes, key=lambda node: node.id)


def _differs(value: object, default: object) -> bool:
    return type(value) is not type(default) or bool(value != default)
