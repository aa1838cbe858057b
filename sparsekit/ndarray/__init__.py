"""Arrays and the operators on them: ``mx.nd``."""

from __future__ import annotations

import types as _types
from collections import ChainMap as _ChainMap
from typing import TYPE_CHECKING, Any

from ..base.arguments import strict as _strict
from ..base.lazy import lazy as _lazy
from ..core.dispatch import wrap
from ..core.op import registry as _registry
from . import methods as _methods  # gives the arrays their operators
from . import random, sparse
from .arithmetic import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)
from .composed import concatenate, histogram, moveaxis, onehot_encode, split_v2, transpose
from .creation import arange, array, empty, eye, from_numpy, full, linspace, ones, waitall, zeros
from .files import load, load_frombuffer, save
from .functions import F as _F
from .interchange import from_dlpack, to_dlpack_for_read, to_dlpack_for_write
from .namespaces import GROUPS as _GROUPS
from .namespaces import group as _group
from .ndarray import NDArray
from .random import FLAT as _FLAT
from .random import flat as _flat
from .sparse import BaseSparseNDArray, CSRNDArray, RowSparseNDArray

if TYPE_CHECKING:  # stubs of what ``__getattr__`` makes, from the registry
    from ..compat.operator import Custom as Custom
    from . import _internal, contrib, linalg, op
    from .operators import *  # noqa: F403

_later, _listed = _lazy(globals(), others=_ChainMap[str, Any](_GROUPS, _registry))


def _made(name: str) -> Any:
    """An operator as a function, or a group of them as a module, made on first use."""
    if name in _GROUPS:
        attribute: Any = _group(name)
    elif name in _FLAT:
        attribute = _flat(name)
    elif name in _registry:
        attribute = getattr(_F, name)
    else:
        return _later(name)
    globals()[name] = attribute
    return attribute


if not TYPE_CHECKING:
    __getattr__, __dir__ = _made, _listed


__all__ = [
    "BaseSparseNDArray", "CSRNDArray", "NDArray", "RowSparseNDArray", "add", "arange", "array", "concatenate",
    "divide", "empty", "equal", "eye", "from_dlpack", "from_numpy", "full", "greater", "greater_equal", "histogram",
    "lesser", "lesser_equal", "linspace", "load", "load_frombuffer", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "modulo", "moveaxis", "multiply", "not_equal", "onehot_encode", "ones", "power", "random",
    "save", "sparse", "split_v2", "subtract", "to_dlpack_for_read", "to_dlpack_for_write", "transpose", "true_divide", "waitall",
    "wrap", "zeros",
]
# Operators of the arrays call the functions behind these, which cost a call less.
for _name in __all__:
    if isinstance(globals()[_name], _types.FunctionType) and not hasattr(globals()[_name], "__wrapped__"):
        globals()[_name] = _strict(globals()[_name])

__all__ += sorted({name for name in _registry if not name.startswith("_")} - set(__all__))
