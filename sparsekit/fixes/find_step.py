"""Which part of a script is a step of training, found in its text: a function, a loop, or a statement."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..gluon.train_step import TrainStep
from .program import Snippet


class FoundStep(NamedTuple):
    """A step of a script.

    Attributes
    ----------
    step : callable
    calls : int
        How often it is to be called.
    words : str
        What it is: ``"the function step in line 12"``.
    """

    step: Any  # Any: a function or a Snippet
    calls: int
    words: str


def steps_in(file: str, text: str, names: dict[str, Any], steps: int) -> Iterator[FoundStep]:  # Any: globals
    """What could be the step of a script that has run, the likeliest first.

    What trains contains a call of ``backward()`` or of a ``TrainStep``, or calls a function of the script that does.  First
    come functions without parameters that train outside of a loop, then the innermost loops of the script that train, those
    around them, and at last single statements.

    Parameters
    ----------
    file, text : str
        The script.
    names : dict
        Its globals after the run.
    steps : int
        Steps to make.
    """
    tree = ast.parse(text)
    trains = _Trains(tree, names)
    for node in tree.body:
        function = names.get(node.name) if isinstance(node, ast.FunctionDef) else None
        if (isinstance(node, ast.FunctionDef) and isinstance(function, types.FunctionType) and not _needs_arguments(node)
                and any(trains.itself(statement) for statement in node.body if not isinstance(statement, (ast.For, ast.While)))):
            yield FoundStep(function, steps, f"the function {node.name} in line {node.lineno}")
    loops = sorted((node for node in _at_top(tree) if isinstance(node, ast.For) and trains(node)),
                   key=lambda node: -sum(isinstance(outer, ast.For) and node in set(ast.walk(outer)) for outer in ast.walk(tree)))
    for node in loops:
        inner = any(other is not node and other in loops for other in ast.walk(node))
        yield FoundStep(_snippet(file, text, names, tree, node, 1 if inner else steps), 1,
                        f"the loop in line {node.lineno}, " + ("once" if inner else f"{steps} times"))
    for node in tree.body:
        if isinstance(node, (ast.Expr, ast.Assign, ast.If, ast.With)) and trains(node):
            yield FoundStep(_snippet(file, text, names, tree, node, None), 1, f"the statement in line {node.lineno}")


class _Trains:
    """Whether a part of the script trains."""

    def __init__(self, tree: ast.Module, names: dict[str, Any]) -> None:  # Any: globals
        self.names = names
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        self.functions: set[str] = set()
        while True:  # until no function is added that calls another one
            added = {node.name for node in functions if any(map(self, node.body))} - self.functions
            if not added:
                break
            self.functions |= added

    def __call__(self, node: ast.AST) -> bool:
        """Whether it trains, itself or by a function that it calls."""
        return self.itself(node) or any(_called(call) in self.functions for call in ast.walk(node) if isinstance(call, ast.Call))

    def itself(self, node: ast.AST) -> bool:
        """Whether there is a backward pass in it, or a call of a ``TrainStep``."""
        return any(_called(call) == "backward" or isinstance(self.names.get(_called(call)), TrainStep)
                   for call in ast.walk(node) if isinstance(call, ast.Call))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _needs_arguments(node: ast.FunctionDef) -> bool:
    parameters = node.args
    return (len(parameters.posonlyargs) + len(parameters.args) > len(parameters.defaults)
            or any(default is None for default in parameters.kw_defaults))


def _at_top(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a script that stand in no function or class."""
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield inner
            yield from _at_top(inner)


def _snippet(file: str, text: str, names: dict[str, Any], tree: ast.Module, node: ast.stmt,  # Any: globals
             most: int | None) -> Snippet:
    same = sorted((other for other in ast.walk(tree) if isinstance(other, type(node))),
                  key=lambda other: (other.lineno, other.col_offset))
    return Snippet(file, text, names, type(node), same.index(node), most)
