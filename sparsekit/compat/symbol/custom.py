"""Custom operators in symbols: ``mx.sym.Custom``.  ``mx.operator`` has their base classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import FileFormatError, SparsekitError
from ...base.naming import current_names
from ...core.partial_shapes import Partial, complete, to_user
from ...core.spec import Spec
from ...symbol import attr_text
from ...symbol.compose import checked_attributes, written_attributes
from ...symbol.functions import entry_of
from ...symbol.mxnet_names import HIDDEN
from ...symbol.node import Entry, SymbolNode
from ...symbol.shapes import from_user
from ...symbol.symbol import Symbol
from ..operator import apply, prop_of
from .composite import Composite

if TYPE_CHECKING:
    from ...base.context import Context


class CustomComposite(Composite):
    """An operator of a symbol that is defined by a ``CustomOpProp``.

    Parameters
    ----------
    op_type : str
        Name with which the operator is registered.
    settings : dict
        Arguments of the ``CustomOpProp``.
    """

    def __init__(self, op_type: str, settings: dict[str, str]) -> None:
        prop = prop_of(op_type, settings)
        self.taken, self.kept = list(prop.list_arguments()), list(prop.list_auxiliary_states())
        count = len(self.taken)
        super().__init__("Custom", [*self.taken, *self.kept], list(prop.list_outputs()),
                         range(count, count + len(self.kept)), label=f"Custom {op_type}")
        self.prop, self.op_type = prop, op_type

    def infer_shapes(self, shapes: list[Partial]) -> tuple[list[Partial], list[Partial]]:
        """By ``infer_shape`` of the ``CustomOpProp``."""
        count = len(self.taken)
        if count and not complete(shapes[0]):
            return shapes, [None] * len(self.suffixes)  # user code requires the shape of the first input
        lists = self.prop.infer_shape([list(to_user(shape)) for shape in shapes[:count]])
        inputs, outputs, kept = lists if len(lists) == 3 else (*lists, [])
        if (len(inputs), len(outputs), len(kept)) != (count, len(self.suffixes), len(self.kept)):
            raise SparsekitError(f"infer_shape of {self.op_type!r} returned {len(inputs)}, {len(outputs)} and {len(kept)} "
                                 f"shapes, but the operator has {count} inputs, {len(self.suffixes)} outputs and "
                                 f"{len(self.kept)} auxiliary states.",
                                 hint="return a shape for each.")
        return ([_shape(shape, name) for shape, name in zip((*inputs, *kept), self.inputs, strict=True)],
                [_shape(shape, name) for shape, name in zip(outputs, self.suffixes, strict=True)])

    def infer_dtypes(self, dtypes: list[Any]) -> list[Any]:
        """By ``infer_type`` of the ``CustomOpProp``."""
        return list(self.prop.infer_type([dtype.type for dtype in dtypes[:len(self.taken)]])[1])

    def infer_stypes(self, stypes: tuple[str, ...]) -> list[str]:
        """By ``infer_storage_type`` of the ``CustomOpProp``."""
        return list(self.prop.infer_storage_type(list(stypes[:len(self.taken)]))[1])

    def gradient_stypes(self, specs: list[Spec], outputs: list[Spec]) -> list[str]:
        """By ``infer_storage_type_backward`` of the ``CustomOpProp``."""
        count, stypes = len(self.taken), [spec.stype for spec in outputs]
        inputs = [spec.stype for spec in specs]
        lists = self.prop.infer_storage_type_backward(stypes, inputs[:count], list(stypes), inputs[:count], inputs[count:])
        return [*lists[3], *inputs[count:]]

    def invoke(self, call: Any, arrays: tuple[Any, ...], out: Any, ctx: Context) -> Any:
        """Compute the outputs."""
        return apply(self.op_type, self.prop, list(arrays))


def _shape(shape: Any, name: str) -> Partial:
    return from_user(tuple(shape), name) if shape else None


def read_custom(params: dict[str, str], graphs: list[list[Entry]], count: int) -> CustomComposite:
    """Make the operator of a ``Custom`` node from a file."""
    settings = dict(params)
    op_type = settings.pop("op_type", None)
    if op_type is None:
        raise FileFormatError("A Custom node must have op_type.", hint="check that the file is complete.")
    operator = CustomComposite(op_type, settings)
    if len(operator.inputs) != count:
        raise FileFormatError(f"Custom {op_type!r} has {count} inputs in the file, but is registered with "
                              f"{len(operator.inputs)}.", hint="register the operator for which the file was written.")
    return operator


def Custom(*args: Symbol, op_type: str, name: str | None = None, attr: dict[str, str] | None = None, **kwargs: Any) -> Symbol:
    """Apply an operator that is registered by ``mx.operator.register``.

    Parameters
    ----------
    *args : Symbol
        Inputs and auxiliary states in the order of ``list_arguments`` and ``list_auxiliary_states``, or by keyword.
        Missing ones become new variables.
    op_type : str
        Name with which the operator is registered.
    name : str, optional
        Name of the node.
    attr : dict, optional
        Attributes of the node.
    **kwargs
        Other arguments are passed to the ``CustomOpProp`` as strings.
    """
    hidden = {key: kwargs.pop(key) for key in list(kwargs) if key in HIDDEN or (key[:2] == key[-2:] == "__")}
    symbols = {key: kwargs.pop(key) for key in list(kwargs) if isinstance(kwargs[key], Symbol)}
    settings = {key: attr_text.text(value) for key, value in kwargs.items()}
    op = CustomComposite(op_type, settings)
    entries = _inputs(op, args, symbols)
    name = current_names().get(name, "custom")
    user = checked_attributes(written_attributes({**(attr or {}), **hidden}))
    params = {"op_type": op_type, **settings}
    sources = [(SymbolNode(f"{name}_{key}", params=params, attrs=user), 0) if entry is None else entry
               for key, entry in zip(op.inputs, entries, strict=True)]
    node = SymbolNode(name, op.bind({}), sources, "Custom", params, user)
    return Symbol([(node, place) for place in range(node.visible)])


def _inputs(op: CustomComposite, args: tuple[Any, ...], symbols: dict[str, Symbol]) -> list[Entry | None]:
    if len(args) > len(op.inputs):
        raise SparsekitError(f"Custom {op.op_type!r} requires the arrays {', '.join(op.inputs)}, got {len(args)}.",
                             hint="pass each array once.")
    named = dict(zip(op.inputs, args, strict=False))
    twice, unknown = named.keys() & symbols.keys(), symbols.keys() - set(op.inputs)
    if twice or unknown:
        raise SparsekitError(f"Custom {op.op_type!r} requires the arrays {', '.join(op.inputs)}, got "
                             f"{sorted(twice or unknown)[0]!r}{' twice' if twice else ''}.", hint="pass each array once.")
    named.update(symbols)
    return [None if named.get(key) is None else entry_of(named[key], key) for key in op.inputs]
