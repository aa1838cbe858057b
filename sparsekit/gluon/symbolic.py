"""Blocks as symbols: ``hybrid_forward`` on symbols in the place of arrays, and the files that come of it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

from .. import symbol
from ..base.errors import DTypeError, ParameterError, SparsekitError
from ..ndarray.files import save as save_arrays
from ..symbol import Group, Symbol
from ..symbol.inspection import figure
from ..symbol.node import order

__all__ = ["export", "flatten", "forward", "graph", "holds_symbols", "restore", "trace"]


def flatten(value: Any, kind: type, what: str) -> tuple[list[Any], Any]:
    """What a value that may be nested lists holds, and its structure.

    Raises
    ------
    DTypeError
        If it holds anything else.
    """
    if isinstance(value, kind):
        return [value], None
    if not isinstance(value, (list, tuple)):
        raise DTypeError(f"{what} has a {type(value).__name__} where a {kind.__name__} is expected.",
                         hint=f"give {kind.__name__}s, or lists of them.")
    found, structure = [], []
    for item in value:
        inner, shape = flatten(item, kind, what)
        found += inner
        structure.append(shape)
    return found, structure


def restore(items: Iterator[Any], structure: Any) -> Any:
    """The structure with these items; lists wherever there were lists or tuples."""
    return next(items) if structure is None else [restore(items, inner) for inner in structure]


def holds_symbols(value: Any) -> bool:
    """Whether there is a symbol among arguments that may be lists."""
    return isinstance(value, Symbol) or (isinstance(value, (list, tuple)) and any(map(holds_symbols, value)))


def forward(block: Any, x: Any, args: tuple[Any, ...]) -> Any:
    """Call ``hybrid_forward`` with symbols: the parameters as variables, names inside with the block's prefix."""
    parameters = {name: parameter.var() for name, parameter in block._reg_params.items()}
    with block.name_scope():
        return block.hybrid_forward(symbol, x, *args, **parameters)


def _inputs_of(block: Any) -> int:
    """How many arrays a call of a block needs: positional parameters without defaults that are none of its own arrays."""
    kind = type(block)
    if kind.__call__.__qualname__ != "Block.__call__":
        called, skipped = kind.__call__, 1  # self
    elif kind.forward.__qualname__ != "HybridBlock.forward":
        called, skipped = kind.forward, 1
    else:
        called, skipped = kind.hybrid_forward, 2  # self, and F
    named = [one for one in list(inspect.signature(called).parameters.values())[skipped:]
             if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return max(1, sum(one.default is one.empty and one.name not in block._reg_params for one in named))


def trace(block: Any) -> Symbol:
    """The symbol of a block; its inputs are called ``data``, or ``data0``, ``data1`` … if there are several."""
    count = _inputs_of(block)
    names = [*block._inputs] if hasattr(block, "_inputs") else ["data"] if count == 1 else [
        f"data{place}" for place in range(count)]
    made = block(*[symbol.Variable(name) for name in names])
    outputs, _ = flatten(made, Symbol, f"The result of {block.name}")
    return outputs[0] if len(outputs) == 1 else Group(outputs)


def graph(block: Any, given: tuple[Any, ...]) -> Any:
    """The display of a block's graph, with what its parameters and the caller say of arrays."""
    made = trace(block)
    parameters = block.collect_params()
    leaves = [node for node in order(made._entries) if node.call is None]
    inputs = sorted((node for node in leaves if node.name not in parameters), key=lambda node: (len(node.name), node.name))
    if len(given) > len(inputs):
        raise ParameterError(f"{block.name} was given {len(given)} inputs, and takes {len(inputs)}.",
                             hint=f"they are {', '.join(node.name for node in inputs)}.")
    facts = dict(zip(inputs, given, strict=False))
    known = {node: parameters[node.name] for node in leaves if node.name in parameters}
    for node, parameter in known.items():
        facts[node] = (tuple(parameter.shape or ()), parameter.dtype, parameter.stype) if parameter.shape else (
            parameter.dtype, parameter.stype)
    trained = {node: parameter.grad_stype for node, parameter in known.items() if parameter.grad_req != "null"}
    return figure(made._entries, facts, gradients=trained)


def export(block: Any, path: Any, epoch: int, remove_amp_cast: bool) -> tuple[str, str]:
    """Write a block's symbol and its parameters."""
    if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 0:
        raise SparsekitError(f"epoch is {epoch!r}.", hint="it is a whole number from 0, part of the file's name.")
    made = trace(block)
    arguments, states = set(made.list_arguments()), set(made.list_auxiliary_states())
    arrays = {}
    for name, parameter in block.collect_params().items():
        if name in arguments or name in states:
            arrays[f"{'arg' if name in arguments else 'aux'}:{name}"] = parameter._reduce()
        else:
            warnings.warn(f'Parameter "{name}" is not found in the graph.', stacklevel=3)
    files = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
    made.save(files[0], remove_amp_cast)
    save_arrays(files[1], arrays)
    return files
