"""``print_summary`` and ``plot_network``, which show a symbol as a table or a graph: ``mx.viz``."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.errors import DTypeError, ParameterError, ShapeError, UnknownNameError
from ..symbol.inspection import figure
from ..symbol.node import SymbolNode, order
from ..symbol.symbol import Symbol

__all__ = ["plot_network", "print_summary"]

COLUMNS = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")

#: Suffixes of the names of variables that ``plot_network`` omits.
WEIGHTS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean")

Shapes = Mapping[str, tuple[int, ...]]


def plot_network(symbol: Symbol, title: str = "plot", save_format: str = "pdf", shape: Mapping[str, Any] | None = None,
                 dtype: Mapping[str, Any] | None = None, node_attrs: object = None, hide_weights: bool = True,
                 stype: Mapping[str, str] | None = None) -> Any:
    """Draw the graph of a network, with the storage type, shape and size of every array.  Graphviz is not required.

    Parameters
    ----------
    symbol : Symbol
    title : str
    save_format, node_attrs : optional
        Options of Graphviz, which have no effect.  Call ``save("network.svg")`` on the result to write a file.
    shape, dtype, stype : dict, optional
        Shapes, element types and storage types of variables by name.
    hide_weights : bool
        Omit dense variables whose names end like those of weights, for example in ``_weight``.  Default True.

    Returns
    -------
    figures.kit.Figure
        As returned by ``Symbol.graph``.

    Raises
    ------
    DTypeError
        If ``symbol`` is not a Symbol.
    UnknownNameError
        If a name is not the name of a variable.
    """
    _check(symbol)
    leaves = {node.name: node for node in order(symbol._entries) if node.call is None}
    facts: dict[SymbolNode, list[Any]] = {}
    for mapping in (shape, dtype, stype):
        for name, value in (mapping or {}).items():
            if name not in leaves:
                raise UnknownNameError.of("argument", name, leaves)
            facts.setdefault(leaves[name], []).append(value)

    def weight(node: SymbolNode, kind: str) -> bool:
        return hide_weights and kind == "default" and node.name.endswith(WEIGHTS)

    return figure(symbol._entries, {node: tuple(values) for node, values in facts.items()}, str(title), weight, halves=1)


def _check(symbol: Symbol) -> None:
    if not isinstance(symbol, Symbol):
        raise DTypeError(f"symbol must be Symbol, not a {type(symbol).__name__}.", hint="pass a network defined with mx.sym.")


def print_summary(symbol: Symbol, shape: Mapping[str, Any] | None = None, line_length: int = 120,
                  positions: Sequence[float] = (.44, .64, .74, 1.)) -> None:
    """Print a table of the layers of a network, with output shapes and numbers of parameters.

    Parameters
    ----------
    symbol : Symbol
    shape : dict of tuple, optional
        Shapes of variables by name.  Without them, the table has no shapes, and most numbers of parameters are wrong.
    line_length : int
        Number of characters per line.
    positions : sequence of four numbers
        Ends of the columns, as fractions of the line or as numbers of characters.

    Raises
    ------
    DTypeError
        If ``symbol`` is not a Symbol.
    ShapeError
        If the other shapes cannot be inferred from ``shape``.
    ParameterError
        If the number of ``positions`` is not four.
    """
    _check(symbol)
    if len(positions) != len(COLUMNS):
        raise ParameterError(f"positions must have {len(COLUMNS)} numbers, got {len(positions)}.",
                             hint="pass one number for each column.")
    ends = [int(line_length * end) for end in positions] if positions[-1] <= 1 else [int(end) for end in positions]
    written = json.loads(symbol.tojson())
    nodes, heads = written["nodes"], set(written["heads"][0])
    shapes = None if shape is None else _shapes(symbol, shape)
    lines, total = ["_" * line_length, _line(COLUMNS, ends), "=" * line_length], 0
    for number, node in enumerate(nodes):
        if node["op"] == "null" and number > 0:
            continue
        shown = node["op"] != "null" or number in heads
        before, channels = _before(node, nodes, heads, shapes)
        count = _parameters(node, channels, shapes)
        total += count
        size = "x".join(map(str, (shapes or {}).get(_key(node), ())[1:])) if shown else ""
        lines.append(_line((f"{node['name']}({node['op']})", size, count, before[0] if before else ""), ends))
        lines += [_line(("", "", "", name), ends) for name in before[1:]]
        lines.append(("=" if number == len(nodes) - 1 else "_") * line_length)
    print("\n".join([*lines, f"Total params: {total}", "_" * line_length]))


def _shapes(symbol: Symbol, input_shapes: Mapping[str, Any]) -> Shapes:
    """Shapes of all outputs in the graph by name."""
    internals = symbol.get_internals()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the error below reports incomplete shapes
        shapes = internals.infer_shape(**input_shapes)[1]
    if shapes is None:
        unknown = [name for name, size in zip(symbol.list_inputs(), symbol.get_internals().infer_shape_partial(**input_shapes)[1],
                                              strict=False) if not size or 0 in size]
        raise ShapeError("Input shape is incomplete.", hint=f"pass the shapes of {', '.join(unknown or symbol.list_inputs())}.")
    return dict(zip(internals.list_outputs(), shapes, strict=True))


def _line(fields: Sequence[Any], ends: Sequence[int]) -> str:
    line = ""
    for field, end in zip(fields, ends, strict=True):
        line = f"{line}{field}"[:end].ljust(end)
    return line


def _key(node: Mapping[str, Any]) -> str:
    return str(node["name"]) if node["op"] == "null" else f"{node['name']}_output"


def _before(node: Mapping[str, Any], nodes: Sequence[Any], heads: set[int], shapes: Shapes | None) -> tuple[list[str], int]:
    """Names of the layers whose outputs are the inputs of a layer, and the total number of their features."""
    names, features = [], 0
    for place, *_ in node.get("inputs", ()):
        source = nodes[place]
        if source["op"] != "null" or place in heads:
            names.append(source["name"])
            features += sum(((shapes or {}).get(_key(source), ())[1:])[:1])
    return names, features


def _parameters(node: Mapping[str, Any], features: int, shapes: Shapes | None) -> int:
    """Number of parameters of a layer; 0 for types of layers that MXNet does not count."""
    attrs = node.get("attrs", {})
    if node["op"] == "FullyConnected":
        return (features + int(attrs.get("no_bias") != "True")) * int(attrs["num_hidden"])
    if node["op"] == "Embedding":
        return int(attrs["input_dim"]) * int(attrs["output_dim"])
    if node["op"] == "BatchNorm" and shapes is not None:
        return 2 * int(shapes[_key(node)][1])
    if node["op"] == "Convolution":
        count = features * int(attrs["num_filter"]) // int(attrs.get("num_group", "1"))
        for size in re.findall(r"\d+", attrs["kernel"]):
            count *= int(size)
        return count + (0 if attrs.get("no_bias") == "True" else int(attrs["num_filter"]))
    return 0
