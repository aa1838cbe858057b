"""Parameters and names of a network in files, in MXNet's layout; nothing in them is executed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.changes import MarkedDict
from ..base.errors import DataFileError, ParameterError, SparsekitError, first_line, shown
from ..base.files import write_whole
from ..base.naming import NameManager
from ..ndarray.files import load as load_arrays
from ..ndarray.files import save as save_arrays
from ..symbol import Variable
from . import symbolic
from .parameter import load_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..base.context import Context
    from .block import Block

# parameters


def save_parameters(block: Block, filename: str | Path, deduplicate: bool) -> None:
    """Write the parameters of a block under the names of their attributes."""
    parameters = block._collect_params_with_prefix()
    if deduplicate:
        parameters = {name: parameter for parameter, name in {parameter: name for name, parameter in parameters.items()}.items()}
    save_arrays(filename, {name: parameter._for_file() for name, parameter in parameters.items()})


def load_parameters(block: Block, filename: str | Path, ctx: Context | Sequence[Context] | None, allow_missing: bool,
                    ignore_extra: bool, cast_dtype: bool, dtype_source: str) -> None:
    """Read parameters; names without a dot are those of the parameters themselves, as old files have them."""
    arrays = load_arrays(filename)
    wanted = block._collect_params_with_prefix()
    if not arrays and not wanted:
        return
    if not isinstance(arrays, dict):
        raise ParameterError(f"The arrays of file '{filename}' have no names.", hint="it was not written by save_parameters.")
    if not any("." in name for name in arrays) and not arrays.keys() <= wanted.keys():
        block.collect_params().load_dict(arrays, ctx, allow_missing, ignore_extra, block.prefix, filename, cast_dtype,
                                         dtype_source)
        return
    load_all(wanted, arrays, f"file '{filename}'", ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)


# names


def save(block: Block, prefix: str) -> None:
    """Write the names of a block and all below, and the parameters."""
    model: dict[str, Any] = {}
    _describe(block, [0], model, False)
    write_whole(f"{prefix}-model.json", json.dumps(model).encode())
    block.save_parameters(f"{prefix}-model.params")


def _describe(block: Block, count: list[int], structure: dict[str, Any], inside: bool) -> None:
    """Put a block into the structure, under its class and a running number; one inside a hybridized block is not listed."""
    children: dict[str, str] = {}
    entry = structure[_key(block, count)] = {"orig_name": block.name}
    if hasattr(block, "hybrid_forward"):
        graph = None if inside or getattr(block, "_programs", None) is None else _graph(block)
        entry.update(graph or {}, hybridized=graph is not None)
        inside = inside or graph is not None
    entry["children"] = children
    for name, child in block._children.items():
        count[0] += 1
        children[child.name] = name
        _describe(child, count, entry, inside)


def _graph(block: Block) -> dict[str, Any] | None:
    """The graph of a hybridized block as MXNet keeps it, which runs it when it is loaded; None if it has no symbol."""
    try:
        with NameManager():
            outputs = symbolic.trace(block)
    except SparsekitError:
        return None
    parameters = block.collect_params()
    inputs = [name for name in outputs.list_inputs() if name not in parameters]
    count = len(outputs)
    return {"in_format": [0] * len(inputs), "out_format": 0 if count == 1 else [0] * count,
            "inputs": [Variable(name).tojson() for name in inputs], "symbol": outputs.tojson()}


def _key(block: object, count: list[int]) -> str:
    return f"{type(block).__name__.lower()}{count[0]}"


def load(block: Block, prefix: str) -> None:
    """Give a block and all below the names they had, and read the parameters."""
    path = f"{prefix}-model.json"
    try:
        with open(path, encoding="utf-8") as file:
            model = json.load(file)
        saved = _saved(block, [0], model)
    except OSError as error:
        raise DataFileError(f"{path} cannot be read: {error.strerror}.", hint="give the prefix that save() was given.") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParameterError(f"{path} does not describe this network: {first_line(error)}.",
                             hint="make the same blocks in the same order as before save().") from error
    for each in reversed(saved):  # what is inside a block before the block
        each.restore()
    block.load_parameters(f"{prefix}-model.params")


@dataclass
class _Saved:
    """What a file says of one block."""

    block: Block
    name: str
    children: dict[str, Block]
    hybridized: bool

    def restore(self) -> None:
        block = self.block
        block._name = self.name
        held = block.params._params
        block.params._params = {f"{block.name}_{name.removeprefix(block.params.prefix)}": value for name, value in held.items()}
        if self.hybridized:
            block.hybridize()
        block._children = MarkedDict(self.children)


def _saved(block: Block, count: list[int], structure: dict[str, Any]) -> list[_Saved]:
    """What a file says of a block and of all below, read whole before any of them changes."""
    described = structure[_key(block, count)]
    children: dict[str, Block] = {}
    below: list[_Saved] = []
    for child in block._children.values():
        count[0] += 1
        inside = _saved(child, count, described)
        children[described["children"][inside[0].name]] = child
        below += inside
    name = described["orig_name"]
    if not all(isinstance(text, str) for text in (name, *children)):
        raise TypeError(f"{shown(name)} and {shown(list(children))} are not all names")
    if len(children) != len(block._children):
        raise ValueError(f"two blocks in {shown(name)} have one name")
    return [_Saved(block, name, children, bool(described.get("hybridized"))), *below]
