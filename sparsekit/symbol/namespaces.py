"""Groups of operators as modules, ``mx.sym.linalg`` and the like, by the table that those of arrays have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ndarray.namespaces import GROUPS as _ARRAY_GROUPS
from ..ndarray.namespaces import Group
from .functions import F, make_function
from .mxnet_names import is_known

#: Name of each group, and what its operators' names begin with.
GROUPS = {**_ARRAY_GROUPS, "sparse": ("_sparse_", "")}


def _function(operator: str, name: str) -> Callable[..., Any] | None:
    if not is_known(operator):
        return None
    return make_function(operator, name) if operator != name else getattr(F, name)


def group(name: str) -> Group:
    """The module of one group."""
    return Group(f"symbol.{name}", GROUPS[name], _function)
