"""Symbols and the operators on them: ``mx.sym``."""

from __future__ import annotations

from collections import ChainMap as _ChainMap
from typing import TYPE_CHECKING, Any

from ..base.lazy import lazy as _lazy
from ..core.op import registry as _registry
from . import random
from .arithmetic import FUNCTIONS as _FUNCTIONS
from .creation import arange, concatenate, eye, full, histogram, linspace, ones, split_v2, zeros
from .executor import Executor
from .functions import F as _F
from .mxnet_names import is_known as _is_known
from .namespaces import GROUPS as _GROUPS
from .namespaces import group as _group
from .symbol import Symbol, load_json
from .variables import Group, Variable, fromjson, load, var

globals().update(_FUNCTIONS)

if TYPE_CHECKING:  # stubs of what ``__getattr__`` makes, from the registry
    from ..compat.symbol.custom import Custom as Custom
    from . import _internal, contrib, linalg, op, sparse
    from .operators import *  # noqa: F403


_later, _listed = _lazy(globals(), others=_ChainMap[str, Any](_GROUPS, _registry))


def _made(name: str) -> Any:
    """An operator as a function, or a group of them as a module, made on first use."""
    if name in _GROUPS:
        attribute: Any = _group(name)
    elif not name.startswith("__") and _is_known(name):
        attribute = getattr(_F, name)
    else:
        return _later(name)
    globals()[name] = attribute
    return attribute


if not TYPE_CHECKING:
    __getattr__, __dir__ = _made, _listed


__all__ = [
    "Executor", "Group", "Symbol", "Variable", "arange", "concatenate", "eye", "fromjson", "full", "histogram", "linspace",
    "load", "load_json", "ones", "random", "split_v2", "var", "zeros", *_FUNCTIONS,
]
__all__ += sorted({name for name in _registry if not name.startswith("_")} - set(__all__))
