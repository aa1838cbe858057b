"""What expressions in the text of a PyTorch program stand for: modules, and values that one line before has made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..torch_programs import torch_of
from .base import Look, Part, argument, constant, named

if TYPE_CHECKING:
    from ..source import Edit


def objects_at(look: Look, place: Part, node: ast.AST) -> list[Any]:  # Any: objects of the program
    """What an expression of names and attributes may stand for: ``self.embedding`` of each module with this function."""
    if isinstance(node, ast.Attribute):
        return [held for owner in objects_at(look, place, node.value) for held in _attribute(owner, node.attr)]
    if not isinstance(node, ast.Name):
        return []
    code, names = place.function.__code__, look.variables(place)
    if node.id in code.co_varnames[: min(1, code.co_argcount)]:
        owners = [module for module in look.program.originals(torch_of().nn.Module)
                 if any(place.function is vars(cls).get(code.co_name) for cls in type(module).__mro__)]
        if owners:
            return owners
    return [names[node.id]] if node.id in names else []


def _attribute(owner: object, name: str) -> Iterator[Any]:  # object, Any: whatever the program holds
    """The attribute of an object, if it has one; modules that import others when they are first asked are not asked."""
    if isinstance(owner, ModuleType):
        yield from [vars(owner)[name]] if name in vars(owner) else ()
        return
    with suppress(Exception):  # a property of the program runs its code
        yield getattr(owner, name)


def functional(look: Look, place: Part) -> str:
    """How the text can name ``torch.nn.functional``; empty if it cannot."""
    torch = torch_of()
    for module, rest in ((torch.nn.functional, ""), (torch.nn, ".functional"), (torch, ".nn.functional")):
        for name, value in look.variables(place).items():
            if value is module and name.isidentifier():
                return f"{name}{rest}"
    return ""


def unwrapped(place: Part, node: ast.expr) -> tuple[ast.expr, tuple[Edit, ...]]:
    """The expression that a variable stands for, with the edits that take its line away.

    The variable is assigned once and read once; otherwise the expression is the node itself.
    """
    if not isinstance(node, ast.Name):
        return node, ()
    uses = [inner for inner in ast.walk(place.node) if isinstance(inner, ast.Name) and inner.id == node.id]
    lines = [inner for inner in ast.walk(place.node) if isinstance(inner, ast.Assign) and len(inner.targets) == 1
             and isinstance(inner.targets[0], ast.Name) and inner.targets[0].id == node.id]
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
