"""What is looked up or computed when it is first used: names of a module that come from elsewhere, and properties."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .forking import load

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import FrameType, ModuleType

__all__ = ["OldModules", "add_lazy_names", "asker", "computed_once", "lazy", "old"]

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
            value = instance.__dict__[self._name] = self._function(instance)
            return value


def _names() -> ModuleType:
    """The table of MXNet's names: the one place where the library names ``compat``."""
    return load("sparsekit.compat.names")


def old(module: str, name: str) -> Callable[..., Any]:  # Any: whatever MXNet has under that name, which callers call
    """What MXNet has as ``name`` in a module, if a module does not have it itself.

    Raises
    ------
    UnknownNameError
        If it is not here; while it is being imported, an ``ImportError``.
    """
    if name.startswith("__") or asker().f_code.co_name == "_handle_fromlist":  # which imports a module of that name next
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    attribute: Callable[..., Any] = _names().find(module, name)  # Any: as above
    return attribute


def asker() -> FrameType:
    """The nearest caller outside the library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sparsekit":
        frame = frame.f_back
    return frame


class OldModules:
    """The finder that Python asks after all others: for paths of modules that only programs written for MXNet import."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # object: not looked at
        """How Python gets a module of MXNet that sparsekit has; None for any other name."""
        if not name.startswith("sparsekit."):
            return None
        spec: ModuleSpec | None = _names().spec(name)
        return spec


# Any: whatever a module may define; so a type checker takes each name's type from where the name is declared
def lazy(module: dict[str, Any], names: Mapping[str, str] | None = None,
         others: Iterable[str] = ()) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:  # Any: as above
    """The ``__getattr__`` and the ``__dir__`` of a module, which also has what MXNet's module of that name has.

    Parameters
    ----------
    module : dict
        The module's ``globals()``.
    names : dict, optional
        Name -> ``"module"`` or ``"module:attribute"``, below ``sparsekit``.
    others : iterable of str
        Further names to list.
    """
    targets = names or {}

    def __getattr__(name: str) -> object:  # object: what the module and the attribute name
        if name in targets:
            where, _, attribute = targets[name].partition(":")
            part = load(f"sparsekit.{where}")
            value = getattr(part, attribute) if attribute else part
        else:
            value = old(module["__name__"], name)
        module[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*module, *targets, *(name for name in others if not name.startswith("_")),
                       *_names().names_in(module["__name__"])})

    return __getattr__, __dir__


def add_lazy_names(module: dict[str, Any], names: Mapping[str, str] | None = None) -> None:  # Any: as above
    """Give a module the ``__getattr__`` and the ``__dir__`` that ``lazy`` makes; a type checker does not see them."""
    module["__getattr__"], module["__dir__"] = lazy(module, names)
