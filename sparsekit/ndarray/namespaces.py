"""Groups of operators as modules, ``mx.nd.linalg`` and the like, made from the registry by what their names begin with."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from ..base.lazy import lazy
from ..core.op import registry
from .functions import F

#: Name of each group, and what its operators' names begin with.
GROUPS: dict[str, tuple[str, ...]] = {
    "linalg": ("_linalg_", "linalg_"), "contrib": ("_contrib_",), "op": ("",), "_internal": ("_", ""),
}


class Group(types.ModuleType):
    """A module whose functions are the operators whose names begin with one of ``prefixes``.

    Parameters
    ----------
    name : str
        Below the library, such as ``ndarray.linalg``.
    prefixes : tuple of str
    make : callable
        ``make(operator, name)`` gives the function of that name; None if there is no such operator.
    """

    def __init__(self, name: str, prefixes: tuple[str, ...],
                 make: Callable[[str, str], Callable[..., Any] | None]) -> None:
        super().__init__(f"sparsekit.{name}", f"Operators of ``mx.{name.replace('ndarray', 'nd').replace('symbol', 'sym')}``.")
        self._prefixes, self._make = prefixes, make
        self._later, self._listed = lazy(vars(self))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("__"):
            for prefix in self._prefixes:
                function = self._make(prefix + name, name)
                if function is not None:
                    setattr(self, name, function)
                    return function
        result: Callable[..., Any] = self._later(name)
        return result

    def __dir__(self) -> list[str]:
        own = {name.removeprefix(prefix) for prefix in self._prefixes for name in registry if name.startswith(prefix)}
        return sorted(own.union(names for names in self._listed() if not names.startswith("_")))


def _function(operator: str, name: str) -> Callable[..., Any] | None:
    return getattr(F, operator) if operator in registry else None


def _same(operator: str, name: str) -> Callable[..., Any] | None:
    """The function of that name in ``mx.nd``, which may be another than the operator's own."""
    return getattr(sys.modules[__package__], name) if operator in registry else None


def group(name: str) -> Group:
    """The module of one group."""
    return Group(f"ndarray.{name}", GROUPS[name], _same if name == "op" else _function)
