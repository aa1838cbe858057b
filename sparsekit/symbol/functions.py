"""The operators as functions of symbols, made from the registry on first use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..base.errors import DTypeError, ShapeError, SparsekitError
from ..core.function import describe, split_behind
from ..core.op import REQUIRED, Op
from .compose import make_node
from .mxnet_names import HIDDEN, Spelling, spelling_of
from .node import Entry
from .symbol import Symbol

#: Outputs of one operator, beyond which their list alone would take more memory than any array.
MOST_OUTPUTS = 1 << 20


def entry_of(value: Symbol, what: str) -> Entry:
    """The one output of a symbol that is an input."""
    if not isinstance(value, Symbol):
        raise DTypeError(f"Argument {what} must be Symbol instances, but got {value!r:.60}.",
                         hint="a number goes by an operator such as x + 1; mx.sym.full makes a symbol of one.")
    if len(value._entries) != 1:
        raise ShapeError(f"Argument {what} is a symbol of {len(value._entries)} outputs; an input is one.",
                         hint="take one by number, x[0], or all of them by *x where any number is taken.")
    return value._entries[0]


def split_arguments(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Entry | None], dict[str, Any]]:
    """The inputs of a call, None for those left out, and its attributes."""
    if op.variadic:
        args = tuple(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        return [entry_of(value, f"{op.inputs[0]}{place}") for place, value in enumerate(args)], kwargs
    names = (*op.inputs, *op.attrs)
    if len(args) > len(names):
        raise SparsekitError(f"{op.name} takes at most {len(names)} arguments, {len(args)} were given.",
                             hint=f"its arguments are {', '.join(names)}.")
    arguments = dict(zip(names, args, strict=False))
    twice = arguments.keys() & kwargs.keys()
    if twice:
        raise SparsekitError(f"{op.name} was given the argument {twice.pop()!r} twice.", hint="give it once.")
    arguments.update(kwargs)
    inputs = []
    for name in op.inputs:
        value = arguments.pop(name, None)
        inputs.append(None if value is None else entry_of(value, name))
    return inputs, arguments


def make_function(name: str, label: str | None = None) -> Callable[..., Any]:
    """An operator as a function of symbols.

    Parameters
    ----------
    name : str
        The operator, as MXNet or the registry calls it.
    label : str, optional
        What the function is called, and by it the symbols it makes; ``name`` by default.
    """
    spelling = spelling_of(name)
    op, label = spelling.op, label or name
    hint = label.lower()

    def function(*args: object, **kwargs: object) -> Symbol:  # object: the operator checks them
        if not op.variadic:
            args = split_behind(op, args, kwargs, ("name", "attr", "out"))
        arguments: dict[str, Any] = kwargs
        name, attr, _ = (arguments.pop(key, None) for key in ("name", "attr", "out"))
        inputs, attrs = split_arguments(op, args, arguments)
        hidden = {key: attrs.pop(key) for key in list(attrs) if key in HIDDEN or (key[:2] == key[-2:] == "__")}
        node = make_node(spelling, hint, inputs, attrs, name, {**(attr or {}), **hidden} if hidden else attr)
        if node.visible > MOST_OUTPUTS:
            raise ShapeError(f"{label} would have {node.visible:,} outputs.", hint=f"a symbol has at most {MOST_OUTPUTS:,}.")
        return Symbol([(node, place) for place in range(node.visible)])

    function.__name__ = function.__qualname__ = label
    function.__module__ = "sparsekit.symbol"
    function.__doc__ = describe(op).replace(": NDArray", ": Symbol").replace(
        "out : Symbol, optional\n    Receives the result.", "name : str, optional\n    Made from the operator's name by default.")
    function.__signature__ = _signature(spelling)  # type: ignore[attr-defined]
    return function


def _signature(spelling: Spelling) -> inspect.Signature:
    """As MXNet has it: every input may be left out, and so may the name."""
    op = spelling.op
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    ours = {value: key for key, value in spelling.renamed.items()}
    if op.variadic:
        first = [inspect.Parameter(op.inputs[0], inspect.Parameter.VAR_POSITIONAL)]
        kind = inspect.Parameter.KEYWORD_ONLY
    else:
        first = [inspect.Parameter(name, kind, default=None) for name in op.inputs]
    attrs = [inspect.Parameter(ours.get(name, name), kind, default=inspect.Parameter.empty if default is REQUIRED and (
        op.variadic or not op.inputs) else default) for name, default in op.attrs.items() if name not in spelling.fixed]
    attrs.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty and not (op.variadic or op.inputs))
    last = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in ("name", "attr", "out")]
    return inspect.Signature([*first, *attrs, *last])


class Functions:
    """Namespace of all operators on symbols, under MXNet's names and the registry's."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = make_function(name)
        setattr(self, name, function)
        return function


F: Any = Functions()
