"""The mark of the latest change of any block or parameter: what was derived from them need not look again while it stays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["MarkedDict", "changes"]


class _Changes:
    """``mark`` is another object after each change of an attribute of any block or parameter."""

    __slots__ = ("mark",)

    def __init__(self) -> None:
        self.mark = object()


changes = _Changes()


class MarkedDict(dict[Any, Any]):
    """A dict of a block's, which marks its changes."""


def _marking(name: str) -> Callable[..., Any]:
    plain = getattr(dict, name)

    @functools.wraps(plain)
    def method(self: MarkedDict, *args: object, **kwargs: object) -> object:
        try:
            return plain(self, *args, **kwargs)
        finally:
            changes.mark = object()

    return method


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(MarkedDict, _name, _marking(_name))
