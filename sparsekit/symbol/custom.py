"""Operators of one's own in symbols; ``mx.operator`` has their classes, and puts ``Custom`` into ``mx.sym``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import FileFormatError, SparsekitError
from ..base.naming import current_names
from ..core.spec import Spec
from . import attr_text
from .compose import checked_attributes, written_attributes
from .composite import BUILDERS, Composite
from .functions import entry_of
from .mxnet_names import HIDDEN
from .node import Entry, SymbolNode
from .shapes import Partial, complete, from_user, to_user
from .symbol import Symbol

__all__ = ["CustomComposite", "make_custom"]


class CustomComposite(Composite):
    """What a ``CustomOpProp`` says, as an operator of a symbol.

    Parameters
    ----------
    prop : CustomOpProp
    op_type : str
    apply : callable
        ``apply(op_type, prop, arrays)`` runs it.
    """

    def __init__(self, prop: Any, op_type: str, apply: Callable[..., Any]) -> None:
        self.taken, self.kept = list(prop.list_arguments()), list(prop.list_auxiliary_states())
        count = len(self.taken)
        super().__init__("Custom", [*self.taken, *self.kept], list(prop.list_outputs()),
                         range(count, count + len(self.kept)))
        self.prop, self.op_type, self.apply = prop, op_type, apply
        vars(self)["label"] = f"Custom {op_type}"

    def infer_shapes(self, shapes: list[Partial]) -> tuple[list[Partial], list[Partial]]:
        """As the ``CustomOpProp`` says."""
        count = len(self.taken)
        if count and not complete(shapes[0]):
            return shapes, [None] * len(self.suffixes)  # what is written for known shapes of data would fail
        found = self.prop.infer_shape([list(to_user(shape)) for shape in shapes[:count]])
        inputs, outputs, kept = found if len(found) == 3 else (*found, [])
        if (len(inputs), len(outputs), len(kept)) != (count, len(self.suffixes), len(self.kept)):
            raise SparsekitError(f"infer_shape of {self.op_type!r} gives {len(inputs)}, {len(outputs)} and {len(kept)} shapes.",
                                 hint=f"it has {count} inputs, {len(self.suffixes)} outputs, {len(self.kept)} kept arrays.")
        return ([_shape(shape, name) for shape, name in zip((*inputs, *kept), self.inputs, strict=True)],
                [_shape(shape, name) for shape, name in zip(outputs, self.suffixes, strict=True)])

    def infer_dtypes(self, dtypes: list[Any]) -> list[Any]:
        """As the ``CustomOpProp`` says."""
        return list(self.prop.infer_type([dtype.type for dtype in dtypes[:len(self.taken)]])[1])

    def infer_stypes(self, stypes: tuple[str, ...]) -> list[str]:
        """As the ``CustomOpProp`` says."""
        return list(self.prop.infer_storage_type(list(stypes[:len(self.taken)]))[1])

    def gradient_stypes(self, specs: list[Spec], outputs: list[Spec]) -> list[str]:
        """As the ``CustomOpProp`` says."""
        count, given = len(self.taken), [spec.stype for spec in outputs]
        inputs = [spec.stype for spec in specs]
        found = self.prop.infer_storage_type_backward(given, inputs[:count], list(given), inputs[:count], inputs[count:])
        return [*found[3], *inputs[count:]]

    def invoke(self, call: Any, arrays: tuple[Any, ...], out: Any, ctx: Any) -> Any:
        """Run it on arrays."""
        return self.apply(self.op_type, self.prop, list(arrays))


def _shape(shape: Any, name: str) -> Partial:
    return from_user(tuple(shape), name) if shape else None


def make_custom(prop_of: Callable[[str, dict[str, str]], Any], apply: Callable[..., Any]) -> Callable[..., Symbol]:
    """``mx.sym.Custom``, given what makes a ``CustomOpProp`` and what runs one."""

    def build(params: dict[str, str], graphs: Any, count: int) -> Composite:
        settings = dict(params)
        op_type = settings.pop("op_type", None)
        if op_type is None:
            raise FileFormatError("Custom has no op_type.", hint="it names the operator.")
        made = CustomComposite(prop_of(op_type, settings), op_type, apply)
        if len(made.inputs) != count:
            raise FileFormatError(f"Custom {op_type!r} has {count} inputs, and is registered with {len(made.inputs)}.",
                                  hint="the file was written for another operator of this name.")
        return made

    BUILDERS["Custom"] = build

    def Custom(*args: Symbol, op_type: str, name: str | None = None, attr: dict[str, str] | None = None, **kwargs: Any) -> Symbol:
        """Call an operator that was registered by ``mx.operator.register``.

        Parameters
        ----------
        *args : Symbol
            Inputs and kept arrays in the order of ``list_arguments`` and ``list_auxiliary_states``, or by keyword.
            Variables are made for those that are left out.
        op_type : str
            The name it was registered by.
        name : str, optional
        **kwargs
            Anything else goes to the ``CustomOpProp`` as strings.
        """
        hidden = {key: kwargs.pop(key) for key in list(kwargs) if key in HIDDEN or (key[:2] == key[-2:] == "__")}
        given = {key: kwargs.pop(key) for key in list(kwargs) if isinstance(kwargs[key], Symbol)}
        settings = {key: attr_text.text(value) for key, value in kwargs.items()}
        op = CustomComposite(prop_of(op_type, settings), op_type, apply)
        entries = _inputs(op, args, given)
        name = current_names().get(name, "custom")
        user = checked_attributes(written_attributes({**(attr or {}), **hidden}))
        params = {"op_type": op_type, **settings}
        sources = [(SymbolNode(f"{name}_{key}", params=params, attrs=user), 0) if entry is None else entry
                   for key, entry in zip(op.inputs, entries, strict=True)]
        node = SymbolNode(name, op.bind({}), sources, "Custom", params, user)
        return Symbol([(node, place) for place in range(node.visible)])

    return Custom


def _inputs(op: CustomComposite, args: tuple[Any, ...], given: dict[str, Symbol]) -> list[Entry | None]:
    if len(args) > len(op.inputs):
        raise SparsekitError(f"Custom {op.op_type!r} takes the arrays {', '.join(op.inputs)}; {len(args)} were given.",
                             hint="give each once.")
    named = dict(zip(op.inputs, args, strict=False))
    twice, unknown = named.keys() & given.keys(), given.keys() - set(op.inputs)
    if twice or unknown:
        raise SparsekitError(f"Custom {op.op_type!r} takes the arrays {', '.join(op.inputs)}; {sorted(twice or unknown)[0]!r} is "
                             f"{'given twice' if twice else 'none of them'}.", hint="give each once.")
    named.update(given)
    return [None if named.get(key) is None else entry_of(named[key], key) for key in op.inputs]
