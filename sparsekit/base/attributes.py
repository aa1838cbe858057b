"""Attributes that every symbol made inside a ``with`` block carries: ``mx.AttrScope``."""

from __future__ import annotations

import threading

from .errors import DTypeError, expected
from .scoped import Innermost, Pushed

__all__ = ["AttrScope", "current_attributes"]


class AttrScope(Pushed):
    """``with AttrScope(ctx_group="dev1", lr_mult="0.1"):`` gives these attributes to every symbol made inside.

    Inner blocks override outer ones; attributes given to a symbol directly override both.

    Parameters
    ----------
    **kwargs : str
        Attributes, text only, as they are written to files.

    Raises
    ------
    DTypeError
        If a value is not a string.
    """

    def __init__(self, **kwargs: str) -> None:
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise DTypeError(expected(f"The attribute {name}", "a string", type(value)),
                                 hint=f"write {name}={str(value)!r}.")
        self._attr = kwargs

    current = Innermost(lambda: _local.stack, "The innermost scope of the calling thread; setting it replaces that scope.")

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """The attributes of the scope, overridden by those of a symbol."""
        return {**self._attr, **(attr or {})}

    def _stack(self) -> list[AttrScope]:
        return _local.stack

    def _pushed(self) -> AttrScope:
        return AttrScope(**{**_local.stack[-1]._attr, **self._attr})


class _Local(threading.local):
    def __init__(self) -> None:
        self.stack: list[AttrScope] = [AttrScope()]


_local: _Local = _Local()


def current_attributes() -> AttrScope:
    """The innermost scope of this thread, with what the outer ones add."""
    return _local.stack[-1]
