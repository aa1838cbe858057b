"""Groups of operators as modules, ``mx.sym.linalg`` and the like, by the table that those of arrays have."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ..base.forking import load
from ..core.op import registry
from ..ndarray.namespaces import GROUPS as _ARRAY_GROUPS
from .functions import F, make_function
from .mxnet_names import is_known

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["GROUPS", "Group", "group"]

#: Name of each group, and what its operators' names begin with.
GROUPS = {**{name: prefixes for name, (prefixes, _) in _ARRAY_GROUPS.items()}, "sparse": ("_sparse_", "")}

#: Modules with functions that are not operators.
_EXTRA = {"contrib": ".contrib_functions"}


class Group(types.ModuleType):
    """A module whose functions are the operators whose names begin with one of ``prefixes``."""

    def __init__(self, name: str, prefixes: tuple[str, ...], extra: str = "") -> None:
        super().__init__(f"sparsekit.symbol.{name}", f"Operators of ``mx.sym.{name}``.")
        self._prefixes, self._extra = prefixes, extra

    def _functions(self) -> Any:
        return load(self._extra, __package__) if self._extra else None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("__"):
            extra = self._functions()
            if extra is not None and name in extra.__all__:
                return getattr(extra, name)
            for prefix in self._prefixes:
                if is_known(prefix + name):
                    made = make_function(prefix + name, name) if prefix else getattr(F, name)
                    setattr(self, name, made)
                    return made
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        names = {name.removeprefix(prefix) for prefix in self._prefixes for name in registry if name.startswith(prefix)}
        return sorted(names.union(self._functions().__all__ if self._extra else ()))


def group(name: str) -> Group:
    """The module of one group."""
    return Group(name, GROUPS[name], _EXTRA.get(name, ""))
