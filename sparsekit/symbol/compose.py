"""Calls on symbols: they make a node, and variables for missing inputs."""

from __future__ import annotations

import json
from typing import Any

from ..base.attributes import current_attributes
from ..base.errors import DTypeError, SparsekitError, UnknownNameError
from ..base.naming import current_names
from ..core.op import check_depth
from . import attr_text
from .mxnet_names import HIDDEN, PASSED_OVER, Spelling, adjusted
from .node import Entry, SymbolNode


def written_attributes(attr: dict[str, Any]) -> dict[str, str]:
    """Attributes of any type as the text that MXNet makes of them."""
    if not isinstance(attr, dict):
        raise DTypeError(f"attr is a {type(attr).__name__}.", hint="it is a dict of texts.")
    return {name: value if isinstance(value, str) else attr_text.text(value) for name, value in attr.items()}


def checked_attributes(attr: dict[str, str] | None) -> dict[str, str]:
    """A symbol's own attributes and those of the scopes around it, hidden ones as ``__key__``."""
    if attr is not None and not isinstance(attr, dict):
        raise DTypeError(f"attr is a {type(attr).__name__}.", hint="it is a dict of texts.")
    attributes = {}
    for name, value in current_attributes().get(attr).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise DTypeError(f"The attribute {name} is a {type(value).__name__}; Set Attr only accepts string values.",
                             hint=f"write {str(value)!r}.")
        attributes[f"__{name}__" if name in HIDDEN else name] = value
    return attributes


def make_node(spelling: Spelling, hint: str, inputs: list[Entry | None], attrs: dict[str, Any], name: str | None = None,
              attr: dict[str, Any] | None = None) -> SymbolNode:
    """The node of one call.

    Parameters
    ----------
    inputs : list of entries
        None stands for an input that becomes a variable.
    attrs : dict
        The operator's attributes, under MXNet's names.
    """
    own, params = _attributes(spelling, attrs)
    call = spelling.op.bind(own)
    user = checked_attributes(None if attr is None else written_attributes(attr))
    name = current_names().get(name, hint)
    node = SymbolNode(name, call, (), spelling.name, params, user, spelling.one_shape)
    node.inputs = complete_inputs(node, inputs)
    for key, (source, _) in zip(node.input_names(), node.inputs, strict=False):
        initial = call.op.initial.get(key) if node.written == call.op.name else None
        if initial is not None and source.call is None:  # as in MXNet, of variables that were given too
            source.attrs.setdefault("__init__", json.dumps(initial))
    return node


def _attributes(spelling: Spelling, attrs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The registry's attributes of a call, and the text of those given."""
    check_depth(attrs.values())
    own, params = dict(spelling.fixed), {}
    for name, value in attrs.items():
        key = spelling.renamed.get(name, name)
        if key in spelling.op.attrs:
            own[key] = value
        elif name not in PASSED_OVER:
            names = (*spelling.op.inputs, *spelling.op.attrs, "name", "attr")
            raise UnknownNameError.of(f"argument of {spelling.op.name}", name, names)
        params[name] = attr_text.text(value)
    return adjusted(spelling.op, own), params


def complete_inputs(node: SymbolNode, entries: list[Entry | None]) -> tuple[Entry, ...]:
    """The inputs of a node, with variables for those that are missing; optional ones as the attributes say."""
    call: Any = node.call
    op = call.op
    if op.variadic:
        if None in entries or not entries:
            raise SparsekitError(f"{node.name}: {op.name} was given no symbols.", hint=f"{op.name}(x, y, …)")
        return tuple(entry for entry in entries if entry is not None)
    inputs: list[Entry] = []
    for place, key in enumerate(op.inputs):
        entry = entries[place] if place < len(entries) else None
        if place >= op.needed and entry is None and (op.wants is None or not op.wants(call.attrs, key)):
            continue
        inputs.append((_variable(node, key), 0) if entry is None else entry)
    return tuple(inputs)


def _variable(node: SymbolNode, key: str) -> SymbolNode:
    """A variable for an input that was left out; like MXNet it carries the attributes of the call."""
    return SymbolNode(f"{node.name}_{key}", params=node.params, attrs=node.attrs)
