"""Operators as ordinary functions with real signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.errors import SparsekitError
from . import hooks
from .op import REQUIRED, Op

if TYPE_CHECKING:
    import inspect


# Any: a user's arguments
def split_behind(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], behind: tuple[str, ...]) -> tuple[Any, ...]:
    """The operator's own positional arguments; those behind them, in MXNet's order, go to ``kwargs``.

    Where the last argument is one that MXNet takes by its name alone, what cannot be its value is the first argument behind.
    """
    end = len(op.inputs) + len(op.attrs)
    if _by_name(op) and len(args) >= end:
        end -= isinstance(args[end - 1], str) or hasattr(args[end - 1], "shape")
    if behind[0] != "out" and any(hasattr(value, "list_arguments") for value in args[end:]):
        return args  # symbols are inputs: the caller says that they are too many
    for name, value in zip(behind, args[end:], strict=False):
        if value is not None and kwargs.setdefault(name, value) is not value:
            raise SparsekitError(f"{op.label} was given the argument {name!r} twice.", hint="give it once.")
    return args[:end] + args[end + len(behind):]  # the rest is too many, which the caller says


def _by_name(op: Op) -> bool:
    """Whether MXNet does not list the operator's last argument: ``lazy_update`` of its steps, ``lower`` of ``potrf``."""
    return [*op.attrs][-1:] in (["lazy_update"], ["lower"])


# Any: arrays or symbols, or lists of either, as the interpreter's ``invoke`` gives them
def make_function(op: Op, invoke: Callable[..., Any], module: str, name: str | None = None) -> Callable[..., Any]:
    """A function that calls ``op`` through an interpreter's ``invoke(call, inputs, out, ctx)``."""
    count = len(op.inputs)
    most = 1 << 62 if op.variadic else count + len(op.attrs) - _by_name(op)
    plain = None if op.variadic or REQUIRED in op.attrs.values() else op.bind({})

    def function(*args: object, **kwargs: object) -> object:  # object: the operator checks them
        if not kwargs and plain is not None and len(args) == count:
            return invoke(plain, args)
        if len(args) > most:
            args = split_behind(op, args, kwargs, ("out", "name"))
        out = kwargs.pop("out", None)
        name = kwargs.pop("name", None)
        if name is not None:
            hooks.state.called = name  # type: ignore[assignment]  # the user's, of whatever type, and text where it is shown
            if not kwargs and plain is not None and len(args) == count:
                return invoke(plain, args, out)
        if kwargs and not op.variadic and len(args) == count:
            return invoke(op.bind(kwargs), args, out)
        arrays, attrs = op.arguments(args, kwargs)
        return invoke(op.bind(attrs), arrays, out)

    function.__name__ = function.__qualname__ = name or op.name
    function.__module__ = module
    function.__doc__ = describe(op)
    function.__signature__ = _signature(op)  # type: ignore[attr-defined]  # which inspect.signature() looks for
    return function


def _signature(op: Op) -> inspect.Signature:
    import inspect  # imported by the first function made: `import sparsekit` stays fast

    kind: inspect._ParameterKind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if op.variadic:
        first = [inspect.Parameter(op.inputs[0], inspect.Parameter.VAR_POSITIONAL)]
        kind = inspect.Parameter.KEYWORD_ONLY
    else:
        first = [inspect.Parameter(name, kind, default=inspect.Parameter.empty if place < op.needed else None)
                 for place, name in enumerate(op.inputs)]
    attrs, optional = [], len(op.inputs) > op.needed
    for name, default in op.attrs.items():
        needed = default is REQUIRED and not optional
        optional = optional or not needed
        attrs.append(inspect.Parameter(name, kind, default=inspect.Parameter.empty if needed else default))
    return inspect.Signature([*first, *attrs, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)])


def describe(op: Op) -> str:
    """The docstring of an operator: a summary, its parameters, and the table of storage types."""
    lines = [op.doc, "", "Parameters", "----------"]
    for place, name in enumerate(op.inputs):
        lines.append(f"{name} : NDArray{'' if place < op.needed else ', optional'}")
    for name, default in op.attrs.items():
        lines.append(f"{name} : {'required' if default is REQUIRED else f'default {default!r}'}")
    lines += ["out : NDArray, optional", "    Receives the result.", "", "Notes", "-----",
              "Storage types, first row that fits; any other combination computes dense and warns::", ""]
    lines += [f"    {rule!r}" for rule in op.rules]
    if op.gradient_function is None:
        lines += ["", "No gradient flows through this operator."]
    return "\n".join(lines)
