"""A user's step: what it holds, the texts that it was compiled from, and how it is sent to another process."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from ..base.errors import DTypeError, expected
from ..gluon.block import Block
from ..gluon.parameter import Parameter
from ..gluon.trainer import Trainer
from ..io.data import DataIter
from ..ndarray.ndarray import NDArray
from ..optimizer import Optimizer, Updater
from . import torch_programs
from .candidate import Candidate
from .send import Sender, Variant, contents_of, is_program
from .source import Texts
from .states import taken

T = TypeVar("T")

#: How a loop of a script that is cut short calls what cuts it.
LIMIT = "__import__('itertools').islice"

#: A matrix of which a smaller share is other than zero holds no numbers of rows.
MOSTLY_ZERO = 0.5

#: Whose arrays are no batch: weights, states, and data that are read batch by batch.
_OWNERS = (Block, Parameter, Trainer, Optimizer, Updater, DataIter)


class Snippet:
    """Statements of a cell or a script, as a step; what an expression at their end gives is the result.

    Parameters
    ----------
    file : str
        As code objects name it.
    text : str
        Of the whole cell or script.
    names : dict
        The globals.
    kind : type, optional
        Of the one statement that is the step, ``ast.For`` for instance; all statements by default.
    number : int
        Which one of them, in the order of the text.
    most : int, optional
        How often a ``for`` loop goes round at most.

    Attributes
    ----------
    parts : list of function
        The statements, and the expression.
    """

    def __init__(self, file: str, text: str, names: dict[str, Any], kind: type[ast.stmt] | None = None,  # Any: globals
                 number: int = 0, most: int | None = None) -> None:
        self._kind, self._number, self._most = kind, number, most
        # Code of a module, called as a function, runs with its globals as its variables.
        self.parts = [types.FunctionType(code, names) for code in self.compiled(text, file)]

    def statements(self, tree: ast.Module) -> list[ast.stmt]:
        """The statements in a tree of the text."""
        if self._kind is None:
            return tree.body
        nodes = [node for node in ast.walk(tree) if isinstance(node, self._kind)]
        return [sorted(nodes, key=lambda node: (node.lineno, node.col_offset))[self._number]]

    def compiled(self, text: str, file: str) -> list[types.CodeType]:
        """The code of the statements, in this text or an edited one, and that of an expression at their end."""
        statements = self.statements(ast.parse(text))
        for statement in statements if self._most is not None else ():
            if isinstance(statement, ast.For):
                statement.iter = ast.Call(ast.parse(LIMIT, mode="eval").body, [statement.iter, ast.Constant(self._most)], [])
        last = statements[-1] if statements else None
        trees: list[ast.Module | ast.Expression] = [ast.Module(statements, [])]
        if isinstance(last, ast.Expr):
            trees = [ast.Module(statements[:-1], []), ast.Expression(last.value)]
        return [compile(ast.fix_missing_locations(tree), file, "eval" if isinstance(tree, ast.Expression) else "exec",
                        dont_inherit=True) for tree in trees]

    def __call__(self) -> object:
        """Run the statements."""
        return [part() for part in self.parts][-1]


def cell_step(file: str, text: str, names: dict[str, Any]) -> Snippet:  # Any: globals
    """A cell of a notebook as a step.

    Parameters
    ----------
    file, text : str
        The cell, as its code names it.
    names : dict
        The notebook's globals.
    """
    return Snippet(file, text, names)


class Program(Texts):
    """A step and everything that it holds, which is read and never changed.

    Parameters
    ----------
    step : callable
        A function, method, ``partial`` or object, called without arguments; one call is one step, or a loop of several.

    Attributes
    ----------
    functions : list of function
        Those of the program itself that the step may call.
    snippet : Snippet or None
        The step, if it consists of statements.
    batch : list of tuple
        Arrays that every step reads as they are, a batch and its labels, each with how another one is made of it.

    Raises
    ------
    DTypeError
        If the step is not callable.
    NotSendable
        If something that the step holds cannot be sent to another process; the message names it.
    """

    def __init__(self, step: object) -> None:  # object: checked below
        if not callable(step):
            raise DTypeError(expected("step", "a function without arguments that makes one step", step),
                             hint="prof.try_fixes(lambda: train(net, batch)).")
        self.step: Callable[[], object] = step  # object: what it returns
        self.snippet = step if isinstance(step, Snippet) else None
        sender = Sender(self)
        sender.sent(step)
        self._objects, self._paths = sender.objects, sender.paths
        super().__init__([function for function in self.originals(types.FunctionType) if is_program(function.__globals__)])
        torch_programs.check_apart(self)
        aside = Sender(self)
        aside.sent([value for value in self._objects if isinstance(value, _OWNERS) or torch_programs.is_owner(value)
                    or hasattr(type(value), "__next__")])
        owned = {*map(id, aside.objects), *(id(array.grad) for array in self.originals(NDArray) if array._entry is not None)}
        self.batch = [(array, other) for array in self.originals(NDArray) if array._entry is None and id(array) not in owned
                      for other in _others(array)]
        self.batch += [(tensor, "numbers") for tensor in torch_programs.row_numbers(self) if id(tensor) not in owned]

    def sent(self, candidates: Sequence[Candidate] = ()) -> bytes:
        """The step by value, with remedies applied.

        Raises
        ------
        Inapplicable
            If the remedies cannot be applied to the text.
        """
        transposed = {id(weight) for candidate in candidates for weight in candidate.transposed}
        weights = [(id(value), name, id(value) in transposed, value) for value, name in self._weights()]
        changes = [candidate.change for candidate in candidates if candidate.change is not None]
        return Sender(self, [edit for candidate in candidates for edit in candidate.edits]).sent(
            Variant(self.step, changes, weights, self.batch, torch_programs.optimizers(self), taken()))

    def _weights(self) -> Iterator[tuple[Any, str]]:  # Any: parameters, arrays, tensors
        """What the step trains, with its names: parameters, arrays that have a gradient and belong to none, tensors."""
        owned = {id(array) for parameter in self.originals(Parameter) for array in parameter._arrays.values()}
        names = torch_programs.names_of_weights(self)
        for value in self._objects:
            if isinstance(value, Parameter):
                yield value, value.name
            elif isinstance(value, NDArray) and id(value) not in owned and value._entry is not None and value.grad is not None:
                yield value, self.path_of(value)
            elif torch_programs.is_weight(value):
                yield value, names.get(id(value)) or self.path_of(value)

    def originals(self, kind: type[T]) -> list[T]:
        """The objects of one class that the step holds, in the order in which they were met."""
        return [value for value in self._objects if isinstance(value, kind)]

    def made_at(self, module: object) -> None:
        """The place of the call that made a module: it was made before anything looked."""

    def variables(self, function: types.FunctionType) -> dict[str, Any]:  # Any: whatever they hold
        """The globals that a function sees, and the variables of functions around it that are no variables of its own."""
        own = set(function.__code__.co_varnames)
        return {name: value for name, value in {**function.__globals__, **contents_of(function)}.items() if name not in own}

    def path_of(self, original: object) -> str:
        """The variable that the program holds an object in; empty if it is a part of others."""
        return self._paths.get(id(original), "")


def _others(array: NDArray) -> Iterator[str]:
    """How another batch of the same kind is made of an array: its columns are moved on, or the numbers of rows that it has."""
    if array.stype == "csr":
        yield "columns"
    elif array.stype == "default" and array.size:
        values = array.asnumpy()
        if values.ndim == 2 and np.count_nonzero(values) < MOSTLY_ZERO * values.size:
            yield "columns"
        elif np.isfinite(values).all() and np.array_equal(values, np.floor(values)):
            yield "numbers"
