"""Names of a module that are imported from elsewhere when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .forking import load

__all__ = ["lazy"]


# Any: whatever a module may define; so a type checker takes each name's type from where the name is declared
def lazy(module: dict[str, Any], names: dict[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module.

    Parameters
    ----------
    module : dict
        The module's ``globals()``.
    names : dict
        Name -> ``"module"`` or ``"module:attribute"``, below ``sparsekit``.
    """

    def __getattr__(name: str) -> object:  # object: what the module and the attribute name
        if name not in names:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        where, _, attribute = names[name].partition(":")
        part = load(f"sparsekit.{where}")
        found = getattr(part, attribute) if attribute else part
        module[name] = found
        return found

    return __getattr__
