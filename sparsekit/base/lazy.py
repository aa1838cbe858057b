"""What is looked up or computed when it is first used: names of a module that come from elsewhere, and properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .forking import load

__all__ = ["computed_once", "lazy"]

if TYPE_CHECKING:
    from functools import cached_property as computed_once
else:

    class computed_once:
        """A property that is computed when it is first read, and kept.

        ``functools.cached_property`` holds a lock meanwhile before Python 3.12, which a forked child would find taken.
        """

        def __init__(self, function):
            self._function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            found = instance.__dict__[self._name] = self._function(instance)
            return found


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
