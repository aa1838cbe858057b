"""Blocks as symbols: ``hybrid_forward`` on symbols instead of arrays, and the export to files."""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING, Any

from .. import symbol
from ..base import nested
from ..base.checks import whole
from ..base.errors import DTypeError, ParameterError, ShapeError, SparsekitError, UnsupportedError
from ..base.warn import warn_user
from ..core.partial_shapes import complete, to_user
from ..ndarray.files import save as save_arrays
from ..ndarray.ndarray import NDArray
from ..symbol import Group, Symbol
from ..symbol.inference import shapes_of
from ..symbol.inspection import figure
from ..symbol.node import order
from ..symbol.shapes import from_user
from .utils import shape_is_known

if TYPE_CHECKING:
    from pathlib import Path

    from .block import Block, HybridBlock
    from .parameter import Parameter


def flatten(value: object, kind: type, label: str) -> tuple[list[Any], Any]:
    """Flatten nested lists: return their items and their structure.

    Raises
    ------
    DTypeError
        If it holds anything else.
    """
    items: list[Any] = []
    try:
        return items, nested.flatten(value, kind, items)
    except nested.Opaque as error:
        raise DTypeError(f"{label} has a {error} where a {kind.__name__} is expected.",
                         hint=f"give {kind.__name__}s, or lists of them.") from None


def holds_symbols(value: object) -> bool:
    """Whether there is a symbol among arguments that may be lists."""
    return any(isinstance(leaf, Symbol) for leaf in nested.leaves(value))


class _Way(threading.local):
    """How blocks run on symbols in this thread."""

    as_held = False


_way = _Way()


def as_held(x: object) -> bool:
    """Whether a layer that keeps a weight transposed computes with it as it is: on arrays, and for the picture of a graph.

    Other symbols, which go to files and to modules, have weights as every network has them.
    """
    return _way.as_held or not isinstance(x, Symbol)


def _variable_of(parameter: Parameter) -> Symbol:
    if parameter._is_transposed and _way.as_held:
        return symbol.var(parameter.name, shape=parameter.shape, dtype=parameter.dtype)
    variable: Symbol = parameter.var()
    return variable


def forward(block: HybridBlock, *args: object) -> object:
    """Call ``hybrid_forward`` with symbols: the parameters as variables, names inside with the block's prefix."""
    parameters = {name: _variable_of(parameter) for name, parameter in block._reg_params.items()}
    with block.name_scope():
        return block.hybrid_forward(symbol, *args, **parameters)


def infer_shapes(block: HybridBlock, args: tuple[Any, ...]) -> None:
    """Complete the shapes of a block's own parameters: the block runs once on symbols, whose shapes are inferred.

    Raises
    ------
    ShapeError
        If they do not follow from the inputs, or the block does not run on symbols.
    """
    own = {own_parameter.name: own_parameter for own_parameter in (*block._reg_params.values(), *block.params.values())}
    unknown = [name for name, parameter in own.items() if not shape_is_known(parameter.shape)]
    inputs: dict[str, Any] = {}
    try:
        result = forward(block, *_replaced(args, inputs))
        heads = _heads(result)
    except SparsekitError as error:
        raise _not_inferred(block, unknown, str(error)) from error
    except (AttributeError, TypeError, ValueError, KeyError, IndexError, ArithmeticError) as error:
        raise _not_inferred(block, unknown, f"hybrid_forward does not run on symbols: {type(error).__name__}: {error}") from error
    known_shapes = {name: from_user(parameter._outer_shape, name, zero_is_unknown=True)
                    for name, parameter in _all_parameters(block).items()}
    known_shapes |= {name: tuple(array.shape) for name, array in inputs.items()}
    leaves = [node for node in order(heads) if node.call is None]
    # Arrays that are added broadcast and symbols do not, so that an operator may fail here that will not on arrays.
    shapes = shapes_of(heads, {node: known_shapes[node.name] for node in leaves if node.name in known_shapes}, lenient=True)
    inferred = {node.name: shapes.get((node, 0)) for node in leaves}
    missing = [name for name in unknown if not complete(inferred.get(name))]
    if missing:
        raise _not_inferred(block, missing, "they do not follow from the inputs and the operators, or no operator uses them")
    for name in unknown:
        own[name]._learn(to_user(inferred[name]))


def _not_inferred(block: HybridBlock, unknown: list[str], why: str) -> ShapeError:
    return ShapeError(f"{block.name} has parameters whose shapes are not known, {', '.join(unknown)}: {why}.",
                      hint="give every size, or override infer_shape(self, *inputs) to set them.")


def _replaced(value: object, inputs: dict[str, Any]) -> Any:
    """Arguments with variables in the place of the arrays, which go to ``inputs`` by the variables' names."""
    if isinstance(value, NDArray):
        inputs[f"data{len(inputs)}"] = value
        return symbol.Variable(f"data{len(inputs) - 1}")
    if isinstance(value, dict):
        return {name: _replaced(item, inputs) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_replaced(item, inputs) for item in value]
        return items if isinstance(value, list) else type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _heads(result: object) -> list[Any]:
    """The entries of all symbols among the results."""
    if isinstance(result, Symbol):
        return list(result._entries)
    items = result.values() if isinstance(result, dict) else result if isinstance(result, (list, tuple)) else ()
    return [entry for item in items for entry in _heads(item)]


def _all_parameters(block: HybridBlock) -> dict[str, Any]:
    """By their names; of blocks in lists and dicts of one's own too, which ``collect_params`` would warn of."""
    return {parameter.name: parameter for parameter in block._collect_params_with_prefix().values()} | dict(block.params.items())


def _inputs_of(block: Block) -> int:
    """How many arrays a call of a block needs: positional parameters without defaults, except the names of its own parameters."""
    kind: Any = type(block)
    if kind.__call__.__qualname__ != "Block.__call__":
        called, skipped = kind.__call__, 1  # self
    elif kind.forward.__qualname__ != "HybridBlock.forward":
        called, skipped = kind.forward, 1
    else:
        called, skipped = kind.hybrid_forward, 2  # self, and F
    named = [parameter for parameter in list(inspect.signature(called).parameters.values())[skipped:]
             if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    return max(1, sum(parameter.default is parameter.empty and parameter.name not in block._reg_params for parameter in named))


def trace(block: Block) -> Symbol:
    """The symbol of a block; its inputs are called ``data``, or ``data0``, ``data1`` … if there are several.

    They are those of the call that a hybridized block was last traced for, or else those of its signature.

    Raises
    ------
    UnsupportedError
        If the block does not run on symbols.
    """
    names = getattr(block, "_inputs", None)
    programs = getattr(block, "_programs", None)
    arguments = None if names is not None or programs is None else programs.arguments
    if names is None:
        count = _inputs_of(block) if arguments is None else _arrays_in(arguments)
        names = ["data"] if count == 1 else [f"data{place}" for place in range(count)]
    inputs = [symbol.Variable(name) for name in names]
    try:
        result = block(*(inputs if arguments is None else nested.restore((tuple, arguments), inputs)))
    except SparsekitError:
        raise
    except (AttributeError, TypeError, ValueError, KeyError, IndexError, ArithmeticError) as error:
        raise UnsupportedError(f"{block.name} does not run on {len(inputs)} symbols, {', '.join(names)}: {type(error).__name__}: "
                               f"{error}.", hint="hybrid_forward must compute with operators of F only; hybridize() "
                               "and call the block once if it takes another number of inputs.") from error
    outputs, _ = flatten(result, Symbol, f"The result of {block.name}")
    if not any(map(len, outputs)):
        raise UnsupportedError(f"{block.name} returns no arrays, and a symbol needs outputs.",
                               hint="return the results from hybrid_forward.")
    return outputs[0] if len(outputs) == 1 else Group(outputs)


def _arrays_in(structure: tuple[Any, ...]) -> int:
    """How many arrays arguments had that were taken apart."""
    return max(1, _last_array(structure))


def _last_array(structure: int | tuple[Any, ...]) -> int:
    if isinstance(structure, int) and not isinstance(structure, bool):
        return structure
    return max(map(_last_array, structure), default=0) if isinstance(structure, tuple) and structure[:1] != (None,) else 0


def graph(block: HybridBlock, facts_of_inputs: tuple[Any, ...]) -> Any:  # Any: a figure, which is above this
    """The display of a block's graph, with what its parameters and the caller say of arrays."""
    _way.as_held = True
    try:
        outputs = trace(block)
    finally:
        _way.as_held = False
    parameters = block.collect_params()
    leaves = [node for node in order(outputs._entries) if node.call is None]
    inputs = sorted((node for node in leaves if node.name not in parameters), key=lambda node: (len(node.name), node.name))
    if len(facts_of_inputs) > len(inputs):
        raise ParameterError(f"{block.name} was given {len(facts_of_inputs)} inputs, and takes {len(inputs)}.",
                             hint=f"they are {', '.join(node.name for node in inputs)}.")
    facts = dict(zip(inputs, facts_of_inputs, strict=False))
    parameter_of = {node: parameters[node.name] for node in leaves if node.name in parameters}
    for node, parameter in parameter_of.items():
        facts[node] = (tuple(parameter.shape or ()), parameter.dtype, parameter.stype) if parameter.shape else (
            parameter.dtype, parameter.stype)
    trained = {node: parameter.grad_stype for node, parameter in parameter_of.items() if parameter.grad_req != "null"}
    return figure(outputs._entries, facts, gradients=trained)


def export(block: HybridBlock, path: str | Path, epoch: int, remove_amp_cast: bool) -> tuple[str, str]:
    """Write a block's symbol and its parameters."""
    whole("epoch", epoch, hint="it is part of the file's name.")
    outputs = trace(block)
    arguments, states = set(outputs.list_arguments()), set(outputs.list_auxiliary_states())
    arrays = {}
    for name, parameter in block.collect_params().items():
        if name in arguments or name in states:
            arrays[f"{'arg' if name in arguments else 'aux'}:{name}"] = parameter._for_file()
        else:
            warn_user(f'Parameter "{name}" is not found in the graph.')
    files = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
    outputs.save(files[0], remove_amp_cast)
    save_arrays(files[1], arrays)
    return files
