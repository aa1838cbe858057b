"""Sources of symbols: variables, groups and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.dtypes import element_type
from ..base.errors import DTypeError, UnknownNameError, expected
from ..core.partial_shapes import to_user
from . import attr_text, files
from .compose import checked_attributes, written_attributes
from .node import SymbolNode
from .shapes import declared
from .symbol import Symbol, load_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..base.types import DTypeLike, Shape


def var(name: str, attr: dict[str, str] | None = None, shape: str | Shape | None = None, lr_mult: float | None = None,
        wd_mult: float | None = None, dtype: DTypeLike = None, init: object = None, stype: str | None = None,
        profiler_scope: str | None = None, **kwargs: object) -> Symbol:
    """A symbol that an array is bound to.

    Parameters
    ----------
    name : str
    attr : dict of str, optional
        Attributes.
    shape : tuple of int, int or str, optional
        Sizes of 0 or -1 are unknown.  A shape that is passed to ``infer_shape`` or a bind method takes precedence.
    lr_mult, wd_mult : float, optional
        Factors of the learning rate and the weight decay.
    dtype : optional
        Element type.
    init : Initializer or str, optional
        Initializer of the variable, which takes precedence over that of ``init_params``.
    stype : {"default", "row_sparse", "csr"}, optional
        Storage type.
    profiler_scope : str, optional
    **kwargs
        Further attributes, whose names begin and end with two underscores.  Their values are stored as text.

    Examples
    --------
    >>> mx.sym.Variable("weight", stype="row_sparse", shape=(100, 1))
    <Symbol weight>
    """
    if not isinstance(name, str):
        raise DTypeError(f"Expect a string for variable `name`, not a {type(name).__name__}.", hint="mx.sym.Variable('data')")
    attrs = checked_attributes(attr)
    if shape is not None:
        attrs["__shape__"] = shape if isinstance(shape, str) else attr_text.text(to_user(declared(shape, name)))
        declared(attrs["__shape__"], name)
    for key, value in (("lr_mult", lr_mult), ("wd_mult", wd_mult), ("profiler_scope", profiler_scope)):
        if value is not None:
            attrs[f"__{key}__"] = attr_text.text(value)
    if dtype is not None:
        attrs["__dtype__"] = _code(attr_text.DTYPE_CODES, element_type(dtype).name, "element type")
    if stype is not None:
        attrs["__storage_type__"] = _code(attr_text.STYPE_CODES, stype, "storage type")
    if init is not None:
        attrs["__init__"] = _described(init)
    for key, text in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise UnknownNameError(f"Attribute name={key} is not supported.",
                                   hint="additional attributes start and end with double underscores, as __yourattr__.")
        attrs.update(checked_attributes(written_attributes({key: text})))
    return Symbol([(SymbolNode(name, attrs=attrs), 0)])


Variable = var


def _code(codes: dict[str, int], value: str, kind: str) -> str:
    if value not in codes:
        raise UnknownNameError.of(kind, value, codes)
    return str(codes[value])


def _described(init: object) -> str:
    """An initializer as files hold it: its name and its settings."""
    if isinstance(init, str):
        return init
    if not hasattr(init, "dumps"):
        raise DTypeError(expected("init", "an Initializer or its name", type(init)), hint="init=mx.init.Zero(), for example.")
    return str(init.dumps())


def Group(symbols: list[Any] | Sequence[Symbol] | Symbol | tuple[Any, ...], create_fn: type[Symbol] = Symbol) -> Symbol:
    """One symbol with the outputs of several."""
    members = list(symbols) if isinstance(symbols, (list, tuple, Symbol)) else []
    if not members or any(not isinstance(symbol, Symbol) for symbol in members):
        raise DTypeError("Expected a list of symbols as input.", hint="mx.sym.Group([a, b])")
    return Symbol([entry for symbol in members for entry in symbol._entries])


def load(fname: str | Path) -> Symbol:
    """The symbol in a file, ours or MXNet's.

    Raises
    ------
    DataFileError
        If the file is missing or damaged.
    """
    return Symbol(files.read_file(fname))


fromjson = load_json
