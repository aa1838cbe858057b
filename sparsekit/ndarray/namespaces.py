"""Groups of operators as modules, ``mx.nd.linalg`` and the like, made from the registry by what their names begin with."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ..base.forking import load
from ..core.op import registry
from .functions import F

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["GROUPS", "Group", "group"]

#: Name of each group, what its operators' names begin with, and a module with functions that are not operators.
GROUPS: dict[str, tuple[tuple[str, ...], str]] = {
    "linalg": (("_linalg_", "linalg_"), ""),
    "contrib": (("_contrib_",), ".contrib_functions"),
    "op": (("",), ""),
    "_internal": (("_", ""), ""),
}


class Group(types.ModuleType):
    """A module whose functions are the operators whose names begin with one of ``prefixes``."""

    def __init__(self, name: str, prefixes: tuple[str, ...], extra: str = "") -> None:
        super().__init__(f"sparsekit.ndarray.{name}", f"Operators of ``mx.nd.{name}``.")
        self._prefixes, self._extra = prefixes, extra

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        made = self._function(name)
        setattr(self, name, made)
        return made

    def _function(self, name: str) -> Any:
        if self._extra:
            module = load(self._extra, __package__)
            if name in module.__all__:
                return getattr(module, name)
        for prefix in self._prefixes:
            if prefix + name in registry:
                return getattr(F, prefix + name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        own = load(self._extra, __package__).__all__ if self._extra else []
        names = {name.removeprefix(prefix) for prefix in self._prefixes for name in registry if name.startswith(prefix)}
        return sorted(names.union(own))


def group(name: str) -> Group:
    """The module of one group."""
    prefixes, extra = GROUPS[name]
    return Group(name, prefixes, extra)
