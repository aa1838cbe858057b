"""What expressions in the text of a PyTorch program stand for: modules, and values that one line before has made."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..torch_programs import torch_of
from .base import Look, argument, constant, named

if TYPE_CHECKING:
    from ..source import Edit, Source

__all__ = ["Place", "functional", "objects_at", "over_places", "places", "unwrapped"]


class Place(NamedTuple):
    """A part of a program's text: its source, its node, its function if it is one, and the names that it sees."""

    source: Source
    node: ast.AST
    function: types.FunctionType | None
    names: dict[str, Any]  # Any: variables


def places(look: Look) -> Iterator[Place]:
    """The text of what the step runs, with the names that each part sees."""
    functions = {id(node): function for function, _, node in look.functions()}
    for source, node in look.parts():
        function = functions.get(id(node))
        if function is None:
            yield Place(source, node, None, {} if look.program.snippet is None else look.program.snippet.parts[0].__globals__)
        else:
            yield Place(source, node, function, {**function.__globals__, **_cells(function)})


def _cells(function: types.FunctionType) -> dict[str, Any]:  # Any: variables
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def objects_at(look: Look, place: Place, node: ast.AST) -> list[Any]:  # Any: objects of the program
    """What an expression of names and attributes may stand for: ``self.embedding`` of each module with this function."""
    if isinstance(node, ast.Attribute):
        return [getattr(one, node.attr) for one in objects_at(look, place, node.value) if hasattr(one, node.attr)]
    if not isinstance(node, ast.Name):
        return []
    function = place.function
    if function is not None and node.id == next(iter(function.__code__.co_varnames[: function.__code__.co_argcount]), ""):
        return [module for module in look.program.originals(torch_of().nn.Module)
                if any(function is vars(cls).get(function.__name__) for cls in type(module).__mro__)]
    if function is not None and node.id in function.__code__.co_varnames:
        return []
    return [place.names[node.id]] if node.id in place.names else []


def functional(place: Place) -> str:
    """How the text can name ``torch.nn.functional``; empty if it cannot."""
    torch = torch_of()
    for module, rest in ((torch.nn.functional, ""), (torch.nn, ".functional"), (torch, ".nn.functional")):
        for name, value in place.names.items():
            if value is module and name.isidentifier():
                return f"{name}{rest}"
    return ""


def unwrapped(place: Place, node: ast.expr) -> tuple[ast.expr, tuple[Edit, ...]]:
    """The expression that a variable stands for, with the edits that take its line away.

    The variable is assigned once and read once; otherwise the expression is the node itself.
    """
    if not isinstance(node, ast.Name):
        return node, ()
    uses = [one for one in ast.walk(place.node) if isinstance(one, ast.Name) and one.id == node.id]
    lines = [one for one in ast.walk(place.node) if isinstance(one, ast.Assign) and len(one.targets) == 1
             and isinstance(one.targets[0], ast.Name) and one.targets[0].id == node.id]
    if len(uses) != 2 or len(lines) != 1:
        return node, ()
    return lines[0].value, (place.source.without(lines[0]),)


def over_places(call: ast.expr, names: tuple[str, ...]) -> tuple[str, ast.expr] | None:
    """``(name, x)`` of a reduction over the second axis: ``x.sum(1)``, ``x.mean(dim=1)``, ``torch.sum(x, 1)``."""
    if not isinstance(call, ast.Call) or named(call) not in names or not isinstance(call.func, ast.Attribute):
        return None
    torch = isinstance(call.func.value, ast.Name) and call.func.value.id == "torch"
    first = int(torch)
    axis = argument(call, first, "dim") or argument(call, first, "axis")
    minus = isinstance(axis, ast.UnaryOp) and isinstance(axis.op, ast.USub) and constant(axis.operand) == 2
    if len(call.args) + len(call.keywords) != first + 1 or not (minus or constant(axis) == 1):
        return None
    return named(call), call.args[0] if torch else call.func.value
