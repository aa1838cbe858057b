"""Names of a module that are imported from elsewhere when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .forking import load

__all__ = ["lazy"]


def lazy(module: dict[str, Any], names: dict[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module.

    Parameters
    ----------
    module : dict
        The module's ``globals()``.
    names : dict
        Name -> ``"module"`` or ``"module:attribute"``, below ``sparsekit``.
    """

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        where, _, attribute = names[name].partition(":")
        found: Any = load(f"sparsekit.{where}")
        found = getattr(found, attribute) if attribute else found
        module[name] = found
        return found

    return get
