"""Groups of operators as modules, ``mx.nd.linalg`` and the like, made from the registry by what their names begin with."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..base.lazy import lazy
from ..core.op import registry
from .functions import F

__all__ = ["GROUPS", "Group", "group"]

#: Name of each group, and what its operators' names begin with.
GROUPS: dict[str, tuple[str, ...]] = {
    "linalg": ("_linalg_", "linalg_"), "contrib": ("_contrib_",), "op": ("",), "_internal": ("_", ""),
}

#: Functions of groups that are not operators: where each is imported from when it is first used.
FUNCTIONS = {"contrib": {
    "rand_zipfian": "ndarray.random:rand_zipfian",
    **{name: f"compat.ndarray.control:{name}" for name in ("cond", "foreach", "while_loop")},
    **{name: f"compat.ndarray.multi_update:{name}" for name in (
        "multi_adamw_update", "multi_lamb_update", "multi_mp_adamw_update", "multi_mp_lamb_update")},
}}


class Group(types.ModuleType):
    """A module whose functions are the operators whose names begin with one of ``prefixes``.

    Parameters
    ----------
    name : str
        Below the library, such as ``ndarray.linalg``.
    prefixes : tuple of str
    functions : dict
        Functions that are not operators, as ``base.lazy`` takes them.
    make : callable
        ``make(operator, name)`` gives the function of that name; None if there is no such operator.
    """

    def __init__(self, name: str, prefixes: tuple[str, ...], functions: dict[str, str],
                 make: Callable[[str, str], Callable[..., Any] | None]) -> None:
        super().__init__(f"sparsekit.{name}", f"Operators of ``mx.{name.replace('ndarray', 'nd').replace('symbol', 'sym')}``.")
        self._prefixes, self._functions, self._make = prefixes, functions, make
        self._later = lazy(vars(self), functions)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("__") and name not in self._functions:
            for prefix in self._prefixes:
                made = self._make(prefix + name, name)
                if made is not None:
                    setattr(self, name, made)
                    return made
        found: Callable[..., Any] = self._later(name)
        return found

    def __dir__(self) -> list[str]:
        names = {name.removeprefix(prefix) for prefix in self._prefixes for name in registry if name.startswith(prefix)}
        return sorted(names.union(self._functions))


def _function(operator: str, name: str) -> Callable[..., Any] | None:
    return getattr(F, operator) if operator in registry else None


def group(name: str) -> Group:
    """The module of one group."""
    return Group(f"ndarray.{name}", GROUPS[name], FUNCTIONS.get(name, {}), _function)
