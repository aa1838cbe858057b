"""``get_symbol``, which converts a recorded computation to a symbol: ``mx.autograd.get_symbol``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import GradientError, UnsupportedError
from ..core.arrays import require_arrays
from ..symbol.compose import make_node
from ..symbol.mxnet_names import spelling_of
from ..symbol.node import Entry, SymbolNode
from ..symbol.symbol import Symbol

if TYPE_CHECKING:
    from ..ndarray.ndarray import NDArray

__all__ = ["get_symbol"]

#: MXNet's names of internal operators.
_PUBLIC = {"_view": "Reshape"}


def get_symbol(x: NDArray) -> Symbol:
    """The symbol of the recorded computation of ``x``.

    Arrays with ``attach_grad()`` become variables ``var0``, ``var1`` ….  Each use of another array becomes a new variable
    ``null0``, ``null1`` ….  Operators are named ``node_0``, ``node_1`` ….

    Parameters
    ----------
    x : NDArray

    Raises
    ------
    GradientError
        If ``x`` was not computed while recording.
    UnsupportedError
        If the computation contains a hybridized block or an ``autograd.Function``, which symbols do not support.
    """
    require_arrays([x], "x")
    if x._entry is None:
        raise GradientError("get_symbol() was called on an array that was not computed while recording.",
                            hint="compute it inside `with mx.autograd.record():`, from arrays with attach_grad().")
    made: dict[Any, SymbolNode] = {}
    counts = {"var": 0, "null": 0, "node_": 0}

    def name(kind: str) -> str:
        counts[kind] += 1
        return f"{kind}{counts[kind] - 1}"

    for node in _inputs_first(x._entry[0]):
        call = node.call
        if call is None and node.function is None:
            made[node] = SymbolNode(name("var"))
            continue
        if call is None:
            raise UnsupportedError("get_symbol() does not support a recorded hybridized block or Function.",
                                   hint="record the block before hybridize(), or call export().")
        spelling = spelling_of(_PUBLIC.get(call.op.name, call.op.name))
        ours = {key: theirs for theirs, key in spelling.renamed.items()}
        given = {ours.get(key, key): value for key, value in call.attrs.items()
                 if key not in spelling.fixed and _differs(value, call.op.attrs.get(key))}
        inputs: list[Entry | None] = [
            (made[source[0]], source[1]) if source is not None else
            (SymbolNode(name("null")), 0) if call.op.variadic or place < call.op.needed else None
            for place, source in enumerate(node.inputs)]
        made[node] = make_node(spelling, "", inputs, given, name("node_"))
    return Symbol([(made[x._entry[0]], x._entry[1])])


def _inputs_first(head: SymbolNode) -> list[Any]:
    """A node and all nodes on which it depends, in topological order: the ids of inputs are smaller."""
    found, waiting = {head}, [head]
    while waiting:
        for source in waiting.pop().inputs or ():
            if source is not None and source[0] not in found:
                found.add(source[0])
                waiting.append(source[0])
    return sorted(found, key=lambda node: node.id)


def _differs(value: object, default: object) -> bool:
    return type(value) is not type(default) or bool(value != default)
