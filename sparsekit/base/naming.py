"""Automatic names, ``dense0``, ``dense1`` …, and how an object of settings prints."""

from __future__ import annotations

import inspect
import threading

from .scoped import Innermost, Pushed

__all__ = ["NameManager", "Prefix", "changed_settings", "current_names", "settings"]


class NameManager(Pushed):
    """Hands out names by counting within each hint; a ``with`` block makes it the current one."""

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    current = Innermost(lambda: _local.stack, "The innermost name manager of the calling thread; setting it replaces that one.")

    def get(self, name: str | None, hint: str) -> str:
        """``name`` itself if given, else ``hint`` with the next number."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def _stack(self) -> list[NameManager]:
        return _local.stack


class Prefix(NameManager):
    """A name manager that puts ``prefix`` before every name."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """As in ``NameManager``, with the prefix."""
        return self._prefix + super().get(name, hint)


class _Local(threading.local):
    def __init__(self) -> None:
        self.stack: list[NameManager] = [NameManager()]


_local: _Local = _Local()


def current_names() -> NameManager:
    """The innermost name manager of this thread."""
    return _local.stack[-1]


def settings(cls: type) -> dict[str, object]:  # object: a default may be anything
    """Arguments that a class and its bases take, but for what they only pass on, with their defaults.

    One without a default has ``...``.  ``inspect.signature`` would see one ``__init__`` only.
    """
    result: dict[str, object] = {}  # object: as the result
    for base in cls.__mro__:
        made_by = base.__dict__.get("__init__")
        if made_by is None:
            continue
        function = inspect.unwrap(made_by)
        if not hasattr(function, "__code__"):
            continue
        code = function.__code__
        names = code.co_varnames[1:code.co_argcount]
        defaults = function.__defaults__ or ()
        arguments = dict.fromkeys(names, ...) | dict(zip(names[len(names) - len(defaults):], defaults, strict=True))
        arguments |= dict.fromkeys(code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount], ...)
        arguments |= function.__kwdefaults__ or {}
        result |= {name: default for name, default in arguments.items() if name not in result}
    return result


# object: of any class, which says what its arguments are
def changed_settings(holder: object, aliases: dict[str, str], left_out: tuple[str, ...] = ()) -> list[str]:
    """``name=value`` of each argument whose value, an attribute named like it or by ``aliases``, is not the default."""
    shown = []
    for name, default in settings(type(holder)).items():
        value = getattr(holder, name if hasattr(holder, name) else aliases.get(name, name), default)
        if name not in left_out and value is not ... and value != default:
            shown.append(f"{name}={value!r}")
    return shown
